"""A whole cluster: network, control plane, node groups, Karpenter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eks_hardware._cdk import Construct, ITerraformDependable
from eks_hardware.constructs.cluster import Cluster
from eks_hardware.constructs.efa import EfaSecurityGroup
from eks_hardware.constructs.iam import IamSettings, Role
from eks_hardware.constructs.karpenter import Karpenter
from eks_hardware.constructs.network import Network
from eks_hardware.constructs.node_groups import NodeEnvironment, NodeGroup, NodeGroupKind, Nodes, managed_node_group
from eks_hardware.constructs.pod_identity import PodIdentityRole
from eks_hardware.constructs.storage import ElasticFileSystem, LustreFileSystem
from eks_hardware.iam_policies.document import assumed_by_ec2
from eks_hardware.resolve import ResolvedStorage, ResolvedStrategy


class Platform(Construct):
    """All AWS resources of a strategy, created in the order that AWS requires.

    Creates: what :class:`Network`, :class:`Cluster`, :class:`Role`, :class:`EfaSecurityGroup`, :class:`NodeGroup`,
    :class:`Karpenter`, :class:`PodIdentityRole`, :class:`LustreFileSystem` and :class:`ElasticFileSystem` create, where
    the strategy needs them.

    Args:
        scope: parent construct or stack.
        id_: construct id, part of the Terraform addresses.
        resolved: the strategy (``eks_hardware.resolve.resolve``).
        define_node_group: function that defines the nodes of each group; by default a managed node group.

    Examples:
        >>> platform = Platform(stack, "platform", resolved=resolved)
        >>> platform.node_groups["system"].resource.add_override("timeouts.create", "60m")
        >>> sorted(platform.cluster.addons)[0]
        'coredns'
    """

    network: Network
    """The VPC."""
    cluster: Cluster
    """The control plane."""
    node_environment: NodeEnvironment
    """Settings that all nodes of the platform share, for nodes that you define yourself."""
    node_role: Role
    """The role of managed nodes."""
    efa: EfaSecurityGroup | None
    """The security group of EFA interfaces, if any group or pool has EFA."""
    karpenter: Karpenter | None
    """Karpenter's AWS resources, if the strategy has Karpenter."""
    service_roles: Mapping[str, PodIdentityRole]
    """Roles of charts that call AWS, by chart key, except Karpenter's."""
    lustre: LustreFileSystem | None
    """The Lustre file system, if the strategy has one."""
    efs: ElasticFileSystem | None
    """The EFS file system, if the strategy has one."""
    ready_nodes: Sequence[ITerraformDependable]
    """Depend on these to wait for nodes that can run any pod."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        resolved: ResolvedStrategy,
        define_node_group: NodeGroupKind = managed_node_group,
    ) -> None:
        super().__init__(scope, id_)
        iam = IamSettings(resolved.provider.iam_path, resolved.provider.permissions_boundary_arn)
        self.network = Network(self, "network", resolved=resolved.network, iam=iam)
        self.cluster = Cluster(self, "cluster", resolved=resolved.cluster, network=self.network.ref, iam=iam)
        self._define_environment(resolved, iam)
        self._nodes = {
            group.name: define_node_group(
                self, f"nodes-{group.name}", resolved=group, environment=self.node_environment
            )
            for group in resolved.node_groups
        }
        self.ready_nodes = tuple(
            each
            for group in resolved.node_groups
            if not group.tainted and group.desired_size > 0
            for each in self._nodes[group.name].ready
        )
        self.cluster.add_addons_after(self.ready_nodes)
        self._define_pod_roles(resolved, iam)
        self._define_file_systems(resolved.storage)
        # Resources that Karpenter and its nodes use.
        of_karpenter = (self.karpenter, self.efa, self.lustre, self.efs)
        self._release_parts: dict[str, Sequence[Construct]] = {
            **{key: [role] for key, role in self.service_roles.items()},
            "karpenter": [part for part in of_karpenter if part is not None],
        }

    def _define_environment(self, resolved: ResolvedStrategy, iam: IamSettings) -> None:
        self.node_role = Role(
            self,
            "node-role",
            name=resolved.node_role_name,
            description=f"Managed node groups of the EKS cluster {resolved.name}",
            assume_role_policy=assumed_by_ec2(resolved.partition),
            policy_arns=resolved.node_policy_arns,
            settings=iam,
        )
        self.efa = None
        if resolved.efa_security_group_name:
            self.efa = EfaSecurityGroup(self, "efa", name=resolved.efa_security_group_name, vpc_id=self.network.vpc_id)
        self.node_environment = NodeEnvironment(
            cluster=self.cluster.ref,
            network=self.network.ref,
            role=self.node_role,
            efa_security_group_id=self.efa.security_group_id if self.efa else None,
            iam=iam,
        )

    def _define_pod_roles(self, resolved: ResolvedStrategy, iam: IamSettings) -> None:
        cluster, region = self.cluster.ref, resolved.region
        self.karpenter = None
        if resolved.karpenter:
            self.karpenter = Karpenter(
                self,
                "karpenter",
                resolved=resolved.karpenter,
                cluster=cluster,
                cluster_name=resolved.name,
                region=region,
                node_pools=resolved.node_pools,
                iam=iam,
            )
        self.service_roles = {
            role.key: PodIdentityRole(
                self, f"service-role-{role.key}", resolved=role, cluster=cluster, region=region, iam=iam
            )
            for role in resolved.kubernetes.service_roles
        }

    def _define_file_systems(self, storage: ResolvedStorage) -> None:
        network, cluster = self.network.ref, self.cluster.ref
        self.lustre = self.efs = None
        if storage.fsx_lustre:
            self.lustre = LustreFileSystem(
                self, "lustre", resolved=storage.fsx_lustre, network=network, cluster=cluster
            )
        if storage.efs:
            self.efs = ElasticFileSystem(self, "efs", resolved=storage.efs, network=network, cluster=cluster)

    @property
    def node_groups(self) -> Mapping[str, NodeGroup]:
        """The managed node groups by name."""
        return {name: each for name, each in self._nodes.items() if isinstance(each, NodeGroup)}

    @property
    def nodes(self) -> Mapping[str, Nodes]:
        """The nodes by group name, of every kind, including those of :meth:`add_nodes`."""
        return dict(self._nodes)

    def release_parts(self, name: str) -> Sequence[Construct]:
        """Return the constructs that a Helm release uses; they are created before the release and destroyed after it.

        Args:
            name: name of the release.
        """
        return self._release_parts.get(name, ())

    def add_nodes(self, name: str, nodes: Nodes) -> None:
        """Make Helm releases wait for nodes that are not in the strategy.

        Call this method before the releases are defined, for example in ``Extension.resources``.

        Args:
            name: name of the node group.
            nodes: nodes created with :attr:`node_environment`.

        Raises:
            ValueError: ``NODE_GROUP_NAME`` if the name is in use.
        """
        if name in self._nodes:
            raise ValueError(f"NODE_GROUP_NAME {self.node.path}: there is already a group {name}; choose another name")
        self._nodes[name] = nodes
        self.ready_nodes = (*self.ready_nodes, *nodes.ready)

    def add_release_parts(self, name: str, *parts: Construct) -> None:
        """Make a Helm release depend on constructs that it uses, so that they are destroyed after the release.

        Call this method before the releases are defined, for example in ``Extension.resources``.

        Args:
            name: name of the release, from the strategy or your own.
            parts: constructs; the release depends on every resource below them.
        """
        self._release_parts[name] = [*self.release_parts(name), *parts]

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
from eks_hardware.iam_policies.document import assumed_by_service
from eks_hardware.resolve import ResolvedStrategy


class Platform(Construct):
    """Defines everything that a strategy asks for in AWS, in the order that AWS needs.

    Creates: what :class:`Network`, :class:`Cluster`, :class:`Role`, :class:`EfaSecurityGroup`, :class:`NodeGroup`,
    :class:`Karpenter`, :class:`PodIdentityRole`, :class:`LustreFileSystem` and :class:`ElasticFileSystem` create, as
    far as the strategy asks for them.

    Args:
        scope: the construct or stack that it belongs to.
        id_: its name there, part of the addresses.
        resolved: the strategy (``eks_hardware.resolve.resolve``).
        define_node_group: defines the nodes of each group; by default a managed node group.

    Examples:
        >>> platform = Platform(stack, "platform", resolved=resolved)
        >>> platform.node_groups["system"].resource.add_override("timeouts.create", "60m")
        >>> sorted(platform.cluster.addons)[0]
        'coredns'
    """

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
        self._network = Network(self, "network", resolved=resolved.network, iam=iam)
        self._cluster = Cluster(self, "cluster", resolved=resolved.cluster, network=self._network.ref, iam=iam)
        self._node_role = Role(
            self,
            "node-role",
            name=resolved.node_role_name,
            description=f"Managed node groups of the EKS cluster {resolved.name}",
            assume_role_policy=assumed_by_service("ec2.amazonaws.com"),
            policy_arns=resolved.node_policy_arns,
            settings=iam,
        )
        self._efa = efa = (
            EfaSecurityGroup(self, "efa", name=resolved.efa_security_group_name, vpc_id=self._network.vpc_id)
            if resolved.efa_security_group_name
            else None
        )
        self._node_environment = NodeEnvironment(
            cluster=self._cluster.ref,
            network=self._network.ref,
            role=self._node_role,
            efa_security_group_id=efa.security_group_id if efa else None,
            iam=iam,
        )
        self._nodes = {
            group.name: define_node_group(
                self, f"nodes-{group.name}", resolved=group, environment=self._node_environment
            )
            for group in resolved.node_groups
        }
        self._ready_nodes = tuple(
            each
            for group in resolved.node_groups
            if not group.tainted and group.desired_size > 0
            for each in self._nodes[group.name].ready
        )
        self._cluster.add_addons_after(self._ready_nodes)
        self._karpenter = (
            Karpenter(
                self,
                "karpenter",
                resolved=resolved.karpenter,
                cluster=self._cluster.ref,
                cluster_name=resolved.name,
                region=resolved.region,
                node_pools=resolved.node_pools,
                iam=iam,
            )
            if resolved.karpenter
            else None
        )
        self._service_roles = {
            each.key: PodIdentityRole(
                self,
                f"service-role-{each.key}",
                resolved=each,
                cluster=self._cluster.ref,
                region=resolved.region,
                iam=iam,
            )
            for each in resolved.kubernetes.service_roles
        }
        storage = resolved.storage
        network, cluster = self._network.ref, self._cluster.ref
        self._lustre = (
            LustreFileSystem(self, "lustre", resolved=storage.fsx_lustre, network=network, cluster=cluster)
            if storage.fsx_lustre
            else None
        )
        self._efs = (
            ElasticFileSystem(self, "efs", resolved=storage.efs, network=network, cluster=cluster)
            if storage.efs
            else None
        )
        # What Karpenter acts with, and what its nodes hold on to.
        of_karpenter = (self._karpenter, efa, self._lustre, self._efs)
        self._release_parts: dict[str, Sequence[Construct]] = {
            **{key: [role] for key, role in self._service_roles.items()},
            "karpenter": [part for part in of_karpenter if part is not None],
        }

    @property
    def network(self) -> Network:
        """The VPC."""
        return self._network

    @property
    def cluster(self) -> Cluster:
        """The control plane."""
        return self._cluster

    @property
    def node_groups(self) -> Mapping[str, NodeGroup]:
        """The managed node groups by name."""
        return {name: each for name, each in self._nodes.items() if isinstance(each, NodeGroup)}

    @property
    def nodes(self) -> Mapping[str, Nodes]:
        """The nodes by name of their group, of whatever kind; those of :meth:`add_nodes`, too."""
        return dict(self._nodes)

    @property
    def node_environment(self) -> NodeEnvironment:
        """What nodes of the platform share: for nodes that you define yourself."""
        return self._node_environment

    @property
    def node_role(self) -> Role:
        """The role of managed nodes."""
        return self._node_role

    @property
    def efa(self) -> EfaSecurityGroup | None:
        """The security group of EFA interfaces, if any group or pool has some."""
        return self._efa

    @property
    def karpenter(self) -> Karpenter | None:
        """Karpenter's AWS side, if the strategy asks for it."""
        return self._karpenter

    @property
    def service_roles(self) -> Mapping[str, PodIdentityRole]:
        """Roles of charts that call AWS, by the key of the chart; Karpenter's is its own."""
        return dict(self._service_roles)

    @property
    def lustre(self) -> LustreFileSystem | None:
        """The Lustre file system, if the strategy asks for it."""
        return self._lustre

    @property
    def efs(self) -> ElasticFileSystem | None:
        """The EFS file system, if the strategy asks for it."""
        return self._efs

    @property
    def ready_nodes(self) -> Sequence[ITerraformDependable]:
        """What waits for nodes that any pod may run on waits for these."""
        return self._ready_nodes

    def release_parts(self, name: str) -> Sequence[Construct]:
        """The parts of the AWS side that a Helm release works with, made before it and destroyed after it.

        Args:
            name: of the release.
        """
        return self._release_parts.get(name, ())

    def add_nodes(self, name: str, nodes: Nodes) -> None:
        """Let Helm releases wait for nodes that the strategy does not know.

        Call it before the releases are defined (``Extension.resources`` is).

        Args:
            name: of their group.
            nodes: made with :attr:`node_environment`.

        Raises:
            ValueError: ``NODE_GROUP_NAME`` when there is a group of that name.
        """
        if name in self._nodes:
            raise ValueError(f"NODE_GROUP_NAME {self.node.path}: there is a group {name} already; choose another name")
        self._nodes[name] = nodes
        self._ready_nodes = (*self._ready_nodes, *nodes.ready)

    def add_release_parts(self, name: str, *parts: Construct) -> None:
        """Let a Helm release wait for parts that it works with, and destroy these after it.

        Call it before the releases are defined (``Extension.resources`` is).

        Args:
            name: of the release, one of the strategy's or one that you add.
            parts: constructs; every resource below them counts.
        """
        self._release_parts[name] = [*self.release_parts(name), *parts]

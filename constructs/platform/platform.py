"""A whole cluster: network, control plane, node groups, Karpenter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eks_hardware._cdk import Construct, ITerraformDependable
from eks_hardware.config.policies.document import assumed_by_service
from eks_hardware.config.resolve import ResolvedStrategy
from eks_hardware.constructs.cluster import Cluster
from eks_hardware.constructs.efa import EfaSecurityGroup
from eks_hardware.constructs.iam import IamSettings, Role
from eks_hardware.constructs.karpenter import Karpenter
from eks_hardware.constructs.network import Network
from eks_hardware.constructs.node_groups import NodeGroup
from eks_hardware.constructs.pod_identity import PodIdentityRole
from eks_hardware.constructs.storage import ElasticFileSystem, LustreFileSystem


class Platform(Construct):
    """Defines everything that a strategy asks for, in the order that AWS needs.

    Args:
        resolved: the strategy (``eks_hardware.config.resolve.resolve``).
    """

    def __init__(self, scope: Construct, id_: str, *, resolved: ResolvedStrategy) -> None:
        super().__init__(scope, id_)
        iam = IamSettings(resolved.provider.iam_path, resolved.provider.permissions_boundary_arn)
        self._network = Network(self, "network", resolved=resolved.network, iam=iam)
        self._cluster = Cluster(self, "cluster", resolved=resolved.cluster, network=self._network.ref, iam=iam)
        role = Role(
            self,
            "node-role",
            name=resolved.node_role_name,
            description=f"Managed node groups of the EKS cluster {resolved.name}",
            assume_role_policy=assumed_by_service("ec2.amazonaws.com"),
            policy_arns=resolved.node_policy_arns,
            settings=iam,
        )
        efa = (
            EfaSecurityGroup(self, "efa", name=resolved.efa_security_group_name, vpc_id=self._network.vpc_id)
            if resolved.efa_security_group_name
            else None
        )
        self._node_groups = {
            group.name: NodeGroup(
                self,
                f"nodes-{group.name}",
                resolved=group,
                cluster=self._cluster.ref,
                network=self._network.ref,
                role=role,
                efa_security_group_id=efa.security_group_id if efa else None,
            )
            for group in resolved.node_groups
        }
        self._ready_nodes = tuple(
            each
            for group in resolved.node_groups
            if not group.tainted and group.desired_size > 0
            for each in self._node_groups[group.name].ready
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
        return dict(self._node_groups)

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
        """The parts of the AWS side that a Helm release works with, made before it and destroyed after it."""
        return self._release_parts.get(name, ())

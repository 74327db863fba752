"""Karpenter's AWS resources on a cluster that another stack or tool owns."""

from __future__ import annotations

from eks_hardware._cdk import Construct
from eks_hardware.adoption import ResolvedAdoption
from eks_hardware.constructs.cluster import ClusterRef
from eks_hardware.constructs.efa import EfaSecurityGroup
from eks_hardware.constructs.iam import IamSettings
from eks_hardware.constructs.karpenter.claims import claim
from eks_hardware.constructs.karpenter.karpenter import Karpenter, define_placement_groups
from eks_hardware.kubernetes.references import Reference


class AdoptedKarpenter(Construct):
    """The AWS resources of node pools, and if needed of Karpenter, on a cluster that another stack or tool owns.

    The cluster must use access entries (authentication mode ``API`` or ``API_AND_CONFIG_MAP``) and have the add-on
    ``eks-pod-identity-agent``.

    Creates: the resources of :class:`Karpenter`, unless ``node_role_name`` is set because Karpenter is already
    installed; for pools with EFA ``aws_security_group`` with ``aws_vpc_security_group_ingress_rule`` and
    ``aws_vpc_security_group_egress_rule``, and ``aws_placement_group``.

    Args:
        scope: parent construct or stack.
        id_: construct id, part of the Terraform addresses.
        adoption: the cluster and the pools, from an adoption file (``eks_hardware.adoption``).
        cluster: the cluster.
        node_role_name: node role of the installed Karpenter; the cluster must have an access entry for this role.
        iam: path and permissions boundary of roles and policies; by default those in the adoption file.

    Raises:
        ValueError: ``ADOPTION_COLLISION`` if another adoption of the cluster in this app installs Karpenter too, has a
            pool of the same name, or has EFA pools and the same ``suffix``.

    Examples:
        >>> cluster = ClusterRef.from_existing(stack, "cluster", name=adoption.name)
        >>> AdoptedKarpenter(stack, "karpenter", adoption=adoption, cluster=cluster).karpenter is not None
        True
    """

    karpenter: Karpenter | None
    """Karpenter, if this construct creates it."""
    adoption: ResolvedAdoption
    """The cluster and the pools."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        adoption: ResolvedAdoption,
        cluster: ClusterRef,
        node_role_name: str | None = None,
        iam: IamSettings | None = None,
    ) -> None:
        super().__init__(scope, id_)
        provider = adoption.provider
        self.adoption = adoption
        self._refuse_collisions(installs=node_role_name is None)
        self._cluster = cluster
        self._node_role_name = node_role_name
        self.karpenter = None
        if adoption.efa_security_group_name:
            EfaSecurityGroup(self, "efa", name=adoption.efa_security_group_name, vpc_id=adoption.vpc_id)
        if node_role_name:
            define_placement_groups(self, adoption.node_pools)
        else:
            self.karpenter = Karpenter(
                self,
                "karpenter",
                resolved=adoption.karpenter,
                cluster=cluster,
                cluster_name=adoption.name,
                region=adoption.region,
                node_pools=adoption.node_pools,
                tag_security_group=not adoption.security_group_ids,
                iam=iam or IamSettings(provider.iam_path, provider.permissions_boundary_arn),
            )

    def _refuse_collisions(self, *, installs: bool) -> None:
        adoption = self.adoption
        if installs:
            claim(self, adoption, "installation of", ["Karpenter"], "set node_role_name in all adoptions but one")
        claim(self, adoption, "NodePool", [pool.name for pool in adoption.node_pools], "rename one of the pools")
        if adoption.efa_security_group_name:
            name = adoption.efa_security_group_name
            claim(self, adoption, "security group", [name], "set another suffix in one of the adoption files")

    @property
    def references(self) -> dict[Reference, str]:
        """Values of the references in charts and objects, for ``HelmReleases``."""
        if self.karpenter:
            return self.karpenter.references
        return {Reference.CLUSTER_NAME: self._cluster.name, Reference.KARPENTER_NODE_ROLE: self._node_role_name or ""}

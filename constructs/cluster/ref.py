"""A cluster as other constructs see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eks_hardware._cdk import Construct, DataAwsEksCluster, ITerraformDependable


@dataclass(frozen=True)
class ClusterRef:
    """Refers to an EKS cluster; every value but the name may be a token.

    Attributes:
        name: name of the cluster.
        security_group_id: the security group that EKS makes and puts on every node.
        endpoint: URL of the Kubernetes API.
        certificate_authority: base64 certificate of the API.
        service_cidr: network of Kubernetes services.
        before_nodes: what nodes need to become Ready (add-ons, their identities), destroyed after them.

    Examples:
        >>> shared = ClusterRef.from_existing(stack, "shared-cluster", name="shared")
        >>> shared.name
        'shared'
    """

    name: str
    security_group_id: str
    endpoint: str
    certificate_authority: str
    service_cidr: str
    before_nodes: Sequence[ITerraformDependable] = ()

    @classmethod
    def from_existing(cls, scope: Construct, id_: str, *, name: str) -> ClusterRef:
        """Look up a cluster that another stack or tool owns.

        Creates: data source ``aws_eks_cluster``.

        Args:
            scope: the construct or stack that the data source belongs to.
            id_: its name there, part of the address.
            name: name of the cluster.
        """
        found = DataAwsEksCluster(scope, id_, name=name)
        return cls(
            name=name,
            security_group_id=found.vpc_config.get(0).cluster_security_group_id,
            endpoint=found.endpoint,
            certificate_authority=found.certificate_authority.get(0).data,
            service_cidr=found.kubernetes_network_config.get(0).service_ipv4_cidr,
        )

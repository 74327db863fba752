"""A reference to a cluster, for other constructs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eks_hardware._cdk import Construct, DataAwsEksCluster, ITerraformDependable


@dataclass(frozen=True)
class ClusterRef:
    """A reference to an EKS cluster; every value except the name may be a token.

    Attributes:
        name: name of the cluster.
        security_group_id: the security group that EKS creates and attaches to every node.
        endpoint: URL of the Kubernetes API.
        certificate_authority: the API's certificate in base64.
        service_cidr: CIDR of Kubernetes services.
        before_nodes: resources that nodes need to become Ready (add-ons and their Pod Identity resources). They are
            destroyed after the nodes.

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
            scope: parent construct or stack of the data source.
            id_: construct id, part of the Terraform address.
            name: name of the cluster.
        """
        existing = DataAwsEksCluster(scope, id_, name=name)
        return cls(
            name=name,
            security_group_id=existing.vpc_config.get(0).cluster_security_group_id,
            endpoint=existing.endpoint,
            certificate_authority=existing.certificate_authority.get(0).data,
            service_cidr=existing.kubernetes_network_config.get(0).service_ipv4_cidr,
        )

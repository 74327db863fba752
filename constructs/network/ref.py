"""A reference to a network, for other constructs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from eks_hardware._cdk import ITerraformDependable


@dataclass(frozen=True)
class NetworkRef:
    """A reference to a VPC and its subnets by zone id; values may be tokens.

    Attributes:
        vpc_id: the VPC.
        private_subnet_ids: subnets of nodes.
        control_plane_subnet_ids: subnets of the control plane's interfaces, in two or more zones.
        pod_subnet_ids: subnets of pods with custom networking; empty without it.
        egress: resources that nodes need to reach AWS (routes, endpoints). They are destroyed after the nodes.

    Examples:
        >>> theirs = NetworkRef.from_existing(
        ...     vpc_id="vpc-0123456789abcdef0",
        ...     private_subnet_ids={"usw2-az1": "subnet-0000000000000000a", "usw2-az2": "subnet-0000000000000000b"},
        ... )
        >>> theirs.control_plane_subnet_ids["usw2-az2"]
        'subnet-0000000000000000b'
    """

    vpc_id: str
    private_subnet_ids: Mapping[str, str]
    control_plane_subnet_ids: Mapping[str, str]
    pod_subnet_ids: Mapping[str, str] = field(default_factory=dict)
    egress: Sequence[ITerraformDependable] = ()

    @classmethod
    def from_existing(
        cls,
        *,
        vpc_id: str,
        private_subnet_ids: Mapping[str, str],
        control_plane_subnet_ids: Mapping[str, str] | None = None,
        pod_subnet_ids: Mapping[str, str] | None = None,
    ) -> NetworkRef:
        """Refer to an existing VPC.

        Args:
            vpc_id: the VPC.
            private_subnet_ids: subnets of nodes by zone id.
            control_plane_subnet_ids: subnets of the control plane's interfaces; by default the private ones.
            pod_subnet_ids: subnets of pods with custom networking; by default none.
        """
        return cls(vpc_id, private_subnet_ids, control_plane_subnet_ids or private_subnet_ids, pod_subnet_ids or {})

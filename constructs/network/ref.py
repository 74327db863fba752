"""A network as other constructs see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from eks_hardware._cdk import ITerraformDependable


@dataclass(frozen=True)
class NetworkRef:
    """A VPC and its subnets by zone id; values may be tokens.

    Attributes:
        vpc_id: the VPC.
        private_subnet_ids: subnets for nodes.
        control_plane_subnet_ids: subnets for the control plane's interfaces, in two zones or more.
        pod_subnet_ids: subnets for pods with custom networking, empty without.
        egress: what nodes need before they can reach AWS (routes, endpoints), destroyed after them.
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
        """Refer to a VPC that someone else owns; without control-plane subnets the private ones are used."""
        return cls(vpc_id, private_subnet_ids, control_plane_subnet_ids or private_subnet_ids, pod_subnet_ids or {})

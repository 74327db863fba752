"""Pod subnets, NAT and interface endpoints that follow from the network section of a strategy."""

from __future__ import annotations

from collections.abc import Sequence

from eks_hardware import facts
from eks_hardware.models import NetworkSpec


def has_pod_subnets(network: NetworkSpec) -> bool:
    """Return whether pods have their own subnets (VPC CNI custom networking)."""
    return network.pod_cidr is not None or bool(network.existing and network.existing.pod_subnets)


def nat_mode(network: NetworkSpec) -> str:
    """Return the NAT gateways of a VPC that the stack creates: ``none``, ``single`` or ``one-per-zone``."""
    if network.nat_gateways is not None:
        return network.nat_gateways
    return "none" if network.private else "single"


def interface_endpoints(network: NetworkSpec, addons: Sequence[str]) -> tuple[str, ...]:
    """Return the services with an interface endpoint in a VPC that the stack creates."""
    if network.existing:
        return ()
    if network.interface_endpoints is not None:
        return tuple(sorted(set(network.interface_endpoints)))
    if nat_mode(network) != "none":
        return ()
    known = facts.eks()["interface_endpoints"]
    of_addons = {service for addon in addons for service in known["addons"].get(addon, ())}
    return tuple(sorted({*known["nodes"], *of_addons}))

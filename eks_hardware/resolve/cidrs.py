"""Subnet CIDRs that cannot overlap and never change.

A VPC is divided into eight equal blocks, one for each zone number that a region can have (``usw2-az3`` has the third),
whether the zone is used or not. Within its block::

    |            private (half)            | public (1/8) | control plane (1/128) ... reserve |

Adding or removing a zone does not change any other subnet.
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache

_ZONE_BITS = 3

LARGEST_VPC_PREFIX = 16
SMALLEST_VPC_PREFIX = 22
"""Below /22 a zone's public subnet would be smaller than /28, the smallest that AWS allows."""

SMALLEST_POD_PREFIX = 21
POD_RANGE = ipaddress.IPv4Network("100.64.0.0/10")
"""RFC 6598, the range that EKS documents for pods:
https://docs.aws.amazon.com/eks/latest/best-practices/custom-networking.html
"""

_SMALLEST_SUBNET_PREFIX = 28


@lru_cache(maxsize=1024)
def zone_block(cidr: str, zone_id: str) -> ipaddress.IPv4Network:
    """Return a zone's eighth of a network."""
    number = int(zone_id.rpartition("-az")[2])
    return _parts(ipaddress.IPv4Network(cidr), _ZONE_BITS)[number - 1]


@lru_cache(maxsize=1024)
def _parts(network: ipaddress.IPv4Network, bits: int) -> tuple[ipaddress.IPv4Network, ...]:
    return tuple(network.subnets(prefixlen_diff=bits))


def private(cidr: str, zone_id: str) -> str:
    """Return the first half of a zone's block."""
    return str(_parts(zone_block(cidr, zone_id), 1)[0])


def _second_half_eighth(cidr: str, zone_id: str, index: int) -> ipaddress.IPv4Network:
    return _parts(zone_block(cidr, zone_id), 3)[4 + index]


def public(cidr: str, zone_id: str) -> str:
    """Return an eighth of a zone's block, for load balancers and a NAT gateway."""
    return str(_second_half_eighth(cidr, zone_id, 0))


def control_plane(cidr: str, zone_id: str) -> str:
    """Return a small subnet for the control plane's interfaces; EKS requires 6 addresses and recommends 16.

    Source: https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html
    """
    eighth = _second_half_eighth(cidr, zone_id, 1)
    prefix = max(eighth.prefixlen, min(_SMALLEST_SUBNET_PREFIX, eighth.prefixlen + 4))
    return str(next(eighth.subnets(new_prefix=prefix)))


def pods(cidr: str, zone_id: str) -> str:
    """Return a zone's whole block of the pod network."""
    return str(zone_block(cidr, zone_id))

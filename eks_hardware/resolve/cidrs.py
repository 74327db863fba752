"""Subnet CIDRs that cannot overlap and never change.

A VPC is divided into eight equal blocks, one for each zone number that a region can have (``usw2-az3`` has the third),
whether the zone is used or not. Within its block::

    |            private (half)            | public (1/8) | control plane (1/128) ... reserve |

Adding or removing a zone does not change any other subnet.
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache

from eks_hardware import facts

_SPLIT = facts.choices()["subnets"]
_ADDRESSES = facts.eks()["subnet_addresses"]
LARGEST_VPC_PREFIX = _ADDRESSES["largest_prefix"]
SMALLEST_VPC_PREFIX = _ADDRESSES["smallest_prefix"] - _SPLIT["zone_bits"] - _SPLIT["public_bits"]
"""Below /22 a zone's public subnet would be smaller than /28, the smallest that AWS allows."""

SMALLEST_POD_PREFIX = 21
POD_RANGE = ipaddress.IPv4Network(facts.eks()["pod_range"]["cidr"])


@lru_cache(maxsize=1024)
def zone_block(cidr: str, zone_id: str) -> ipaddress.IPv4Network:
    """Return a zone's eighth of a network."""
    number = int(zone_id.rpartition("z")[2])  # of usw2-az1, and of use1-wl1-bos-wlz1 before a rule refuses it
    return _parts(ipaddress.IPv4Network(cidr), _SPLIT["zone_bits"])[number - 1]


@lru_cache(maxsize=1024)
def _parts(network: ipaddress.IPv4Network, bits: int) -> tuple[ipaddress.IPv4Network, ...]:
    return tuple(network.subnets(prefixlen_diff=bits))


def private(cidr: str, zone_id: str) -> str:
    """Return the first half of a zone's block."""
    return str(_parts(zone_block(cidr, zone_id), _SPLIT["private_bits"])[0])


def _after_private(cidr: str, zone_id: str, index: int) -> ipaddress.IPv4Network:
    """Return a part of a zone's block after the private subnet, by its index."""
    bits = _SPLIT["public_bits"]
    return _parts(zone_block(cidr, zone_id), bits)[(1 << (bits - _SPLIT["private_bits"])) + index]


def public(cidr: str, zone_id: str) -> str:
    """Return an eighth of a zone's block, for load balancers and a NAT gateway."""
    return str(_after_private(cidr, zone_id, 0))


def control_plane(cidr: str, zone_id: str) -> str:
    """Return a small subnet for the control plane's interfaces; EKS requires 6 addresses and recommends 16.

    Source: https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html
    """
    part = _after_private(cidr, zone_id, 1)
    wanted = zone_block(cidr, zone_id).prefixlen + _SPLIT["control_plane_bits"]
    prefix = max(part.prefixlen, min(_ADDRESSES["smallest_prefix"], wanted))
    return str(next(part.subnets(new_prefix=prefix)))


def pods(cidr: str, zone_id: str) -> str:
    """Return a zone's whole block of the pod network."""
    return str(zone_block(cidr, zone_id))

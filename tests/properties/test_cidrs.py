"""Subnet CIDRs: inside the VPC, without overlaps, of a valid size, and fixed for each zone."""

from __future__ import annotations

import ipaddress
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eks_hardware.resolve import SubnetRole, cidrs, resolve
from helpers.strategies import strategy

ZONES = [f"usw2-az{number}" for number in range(1, 9)]
PREFIXES = range(cidrs.LARGEST_VPC_PREFIX, cidrs.SMALLEST_VPC_PREFIX + 1)


def vpc(prefix: int, number: int) -> str:
    """Return the ``number``th network of that size in 10.0.0.0/8."""
    size = 2 ** (32 - prefix)
    start = int(ipaddress.IPv4Address("10.0.0.0"))
    return f"{ipaddress.IPv4Address(start + number % 2 ** (prefix - 8) * size)}/{prefix}"


VPCS = st.builds(vpc, st.sampled_from(PREFIXES), st.integers(0, 2**14))


@pytest.mark.parametrize(
    ("cidr", "zone", "private", "public", "control_plane"),
    [
        ("10.0.0.0/16", "usw2-az1", "10.0.0.0/20", "10.0.16.0/22", "10.0.20.0/26"),
        ("10.0.0.0/16", "usw2-az8", "10.0.224.0/20", "10.0.240.0/22", "10.0.244.0/26"),
        ("10.0.0.0/20", "usw2-az2", "10.0.2.0/24", "10.0.3.0/26", "10.0.3.64/28"),
        ("10.1.4.0/22", "usw2-az1", "10.1.4.0/26", "10.1.4.64/28", "10.1.4.80/28"),
    ],
)
def test_table(cidr: str, zone: str, private: str, public: str, control_plane: str) -> None:
    assert (private, public, control_plane) == (
        cidrs.private(cidr, zone),
        cidrs.public(cidr, zone),
        cidrs.control_plane(cidr, zone),
    )


@settings(max_examples=30, deadline=None)
@given(VPCS)
def test_subnets_are_legal_and_apart(cidr: str) -> None:
    network = ipaddress.IPv4Network(cidr)
    subnets = [
        ipaddress.IPv4Network(of_zone(cidr, zone))
        for zone in ZONES
        for of_zone in (cidrs.private, cidrs.public, cidrs.control_plane)
    ]
    assert all(subnet.subnet_of(network) for subnet in subnets)
    assert all(cidrs.LARGEST_VPC_PREFIX <= subnet.prefixlen <= 28 for subnet in subnets)
    assert not any(one.overlaps(other) for one, other in combinations(subnets, 2))


@settings(max_examples=20, deadline=None)
@given(st.integers(16, 21), st.integers(0, 2**11))
def test_pods_are_in_their_range(prefix: int, number: int) -> None:
    start = int(cidrs.POD_RANGE.network_address) + number % 2 ** (prefix - 10) * 2 ** (32 - prefix)
    cidr = f"{ipaddress.IPv4Address(start)}/{prefix}"
    subnets = [ipaddress.IPv4Network(cidrs.pods(cidr, zone)) for zone in ZONES]
    assert all(subnet.subnet_of(ipaddress.IPv4Network(cidr)) for subnet in subnets)
    assert all(subnet.subnet_of(cidrs.POD_RANGE) and subnet.prefixlen <= 28 for subnet in subnets)
    assert not any(one.overlaps(other) for one, other in combinations(subnets, 2))


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from(ZONES[:4]), min_size=2, max_size=4, unique=True), VPCS)
def test_a_subnet_depends_on_its_zone_alone(zones: list[str], cidr: str) -> None:
    network = {"zones": zones, "cidr": cidr, "pod_cidr": "100.64.0.0/16"}
    subnets = resolve(strategy(network=network)).network.subnets
    everywhere = resolve(strategy(network={**network, "zones": ZONES[:4]})).network.subnets
    assert set(zones) == {subnet.zone_id for subnet in subnets}
    # The control plane is in the first two zones of the list, so their order matters.
    placed = {subnet.key: subnet.cidr for subnet in subnets if subnet.role is not SubnetRole.CONTROL_PLANE}
    assert placed.items() <= {subnet.key: subnet.cidr for subnet in everywhere}.items()
    assert len({subnet.key for subnet in subnets}) == len(subnets) == 3 * len(zones) + 2
    assert {subnet.role for subnet in subnets} == set(SubnetRole)

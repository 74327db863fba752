"""Resolved values as lines and as plain data."""

from __future__ import annotations

import json
from pathlib import Path
from types import MappingProxyType
from typing import Any

from eks_hardware.catalogue import Hardware, load
from eks_hardware.explain import lines, plain, sections
from eks_hardware.resolve import (
    BlockDevice,
    CapacityTarget,
    GpuShares,
    Resolved,
    ResolvedAccessEntry,
    ResolvedTaint,
)
from helpers.cases import in_one_test
from helpers.paths import SHIPPED, SPECIAL
from helpers.strategies import resolved_of

KEY = "arn:aws:kms:us-west-2:111122223333:key/a"
ROLE = "arn:aws:iam::111122223333:role/a"
VIEW = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy"


def efa_layout(name: str) -> tuple[Any, ...]:
    return load().get(name).efa_interfaces


CASES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "none": (None, ("-",)),
    "empty": ((), ("-",)),
    "no": (False, ("no",)),
    "number": (250, ("250",)),
    "kind": (Hardware.TRAINIUM, ("trainium",)),
    "list": (("usw2-az1", "usw2-az2"), ("usw2-az1", "usw2-az2")),
    "map": (MappingProxyType({"a": "b", "c": "d"}), ("a=b", "c=d")),
    "nested": (MappingProxyType({"kubelet": MappingProxyType({"maxPods": 250})}), ("kubelet:", "  maxPods: 250")),
    "EFA of p5": (
        efa_layout("p5.48xlarge"),
        ("33 interfaces, 32 EFA", "(0,0) interface", "(0,1) efa-only", "(1..31,0) efa-only"),
    ),
    "EFA on one card": (efa_layout("g6.8xlarge"), ("2 interfaces, 1 EFA", "(0,0) interface", "(0,1) efa-only")),
    "taints": (
        (ResolvedTaint("nvidia.com/gpu", "true", "NoSchedule"), ResolvedTaint("a", "", "PreferNoSchedule")),
        ("nvidia.com/gpu=true:NoSchedule", "a:PreferNoSchedule"),
    ),
    "disks": (
        (BlockDevice("/dev/xvda", 4, "gp3", None, None, None), BlockDevice("/dev/xvdb", 200, "io2", 9000, None, KEY)),
        ("/dev/xvda 4 GiB gp3, encrypted", "/dev/xvdb 200 GiB io2, 9,000 IOPS, encrypted", f"  with {KEY}"),
    ),
    "reservation": (CapacityTarget("cr-1", None), ("cr-1",)),
    "shares": (
        GpuShares("all-1g.10gb", "nvidia.com/mig-1g.10gb", 7, "1g.10gb"),
        ("all-1g.10gb: 7 x nvidia.com/mig-1g.10gb per GPU",),
    ),
    "access": (
        (ResolvedAccessEntry("dev", ROLE, ("devs",), ((VIEW, ("a", "b")),)),),
        (f"dev: {ROLE}", "  AmazonEKSViewPolicy in a, b", "  groups devs"),
    ),
    "ports": (((988, 988), (1018, 1023)), ("988", "1018-1023")),
}


@in_one_test(("value", "expected"), CASES.values(), ids=CASES)
def test_lines(value: Any, expected: tuple[str, ...]) -> None:
    assert lines(value) == expected


@in_one_test("file", sorted([*SHIPPED.glob("*.yaml"), *SPECIAL.glob("*.yaml")]), ids=lambda file: file.stem)
def test_everything_that_is_resolved_is_shown_once(file: Path) -> None:
    resolved = resolved_of(file)
    shown = [(section.path, row.field) for section in sections(resolved) for row in section.rows]
    assert len(shown) == len(set(shown))
    assert len(shown) == sum(1 for _ in leaves(resolved))
    for section in sections(resolved):
        for row in section.rows:
            json.dumps(plain(row.value))
            assert row.lines
            # A class without its own format would print like Python prints it.
            assert not any("(" in line and "=" in line and line.endswith(")") for line in row.lines)


def leaves(part: Resolved) -> Any:
    """Return every resolved value that contains no resolved object."""
    for _, value, _ in part.explained():
        items = list(value.values()) if hasattr(value, "values") else value
        within = [
            each for each in (items if isinstance(items, tuple | list) else [items]) if isinstance(each, Resolved)
        ]
        if not within:
            yield value
        for each in within:
            yield from leaves(each)

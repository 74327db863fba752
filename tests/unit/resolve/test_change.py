"""Values that a program changes after they were resolved."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import pytest

from eks_hardware.explain.sections import Row, sections
from eks_hardware.resolve import BlockDevice, ResolvedStrategy, change
from helpers.cases import in_one_test
from helpers.paths import SHIPPED, SPECIAL
from helpers.strategies import resolved_of

FILES = sorted([*SHIPPED.glob("*.yaml"), *SPECIAL.glob("*.yaml")])


@pytest.fixture(scope="module")
def mixed() -> ResolvedStrategy:
    return resolved_of(SHIPPED / "mixed-hardware.yaml")


def places_and_rows(resolved: ResolvedStrategy) -> Iterator[tuple[str, Row]]:
    """Return every path that ``eks-hardware explain`` prints."""
    for section in sections(resolved):
        yield from ((f"{section.path}.{row.field}", row) for row in section.rows)


@in_one_test("file", FILES, ids=lambda file: file.stem)
def test_every_place_that_explain_prints_can_be_changed(file: Any) -> None:
    """To its current value: the value has the field's type, and only the reason changes."""
    resolved = resolved_of(file)
    found = dict(places_and_rows(resolved))
    changed = change(resolved, {place: row.value for place, row in found.items()}, because="ours")
    assert changed == resolved
    assert {place: str(row.reason) for place, row in places_and_rows(changed)} == dict.fromkeys(found, "ours [caller]")


# Path, value, and how it is read back.
CHANGES: dict[str, tuple[Any, Any]] = {
    "strategy.node_role_name": ("ours", lambda it: it.node_role_name),
    "network.gateway_endpoints": (["s3", "dynamodb"], lambda it: list(it.network.gateway_endpoints)),
    "cluster.log_retention_days": (7, lambda it: it.cluster.log_retention_days),
    "cluster.addons.coredns.version": (
        "v1",
        lambda it: {each.name: each for each in it.cluster.addons}["coredns"].version,
    ),
    "node_groups[gpu-training].metadata_hop_limit": (2, lambda it: it.node_groups[1].metadata_hop_limit),
    "node_groups[gpu-training].labels": ({"a": "b"}, lambda it: dict(it.node_groups[1].labels)),
    "karpenter.queue_name": ("ours", lambda it: it.karpenter.queue_name),
    "karpenter.node_pools[gpu-inference].weight": (5, lambda it: it.node_pools[0].weight),
    "karpenter.node_pools[gpu-inference].disruption.expire_after": (
        "24h",
        lambda it: it.node_pools[0].disruption.expire_after,
    ),
    "kubernetes.karpenter_replicas": (3, lambda it: it.kubernetes.karpenter_replicas),
    "kubernetes.charts.karpenter.version": ("1.0.0", lambda it: it.kubernetes.charts["karpenter"].version),
    "aws.helm_version": ("3.1.2", lambda it: it.provider.helm_version),
}


@in_one_test("place", CHANGES)
def test_a_change_arrives_and_nothing_else_is_another(mixed: ResolvedStrategy, place: str) -> None:
    value, read = CHANGES[place]
    changed = change(mixed, {place: value}, because="we know better")
    assert read(changed) == value != read(mixed)
    before, after = dict(places_and_rows(mixed)), dict(places_and_rows(changed))
    assert {each for each in before if before[each] != after[each]} == {place}
    assert str(after[place].reason) == "we know better [caller]"


def test_several_changes_and_the_reason_for_none_given(mixed: ResolvedStrategy) -> None:
    changed = change(mixed, {"node_groups[system].min_size": 3, "node_groups[system].desired_size": 3})
    (group,) = (each for each in changed.node_groups if each.name == "system")
    assert (group.min_size, group.desired_size) == (3, 3)
    assert str(group.why("min_size")) == "changed by the caller [caller]"


def test_what_goes_in_is_frozen(mixed: ResolvedStrategy) -> None:
    group = mixed.node_groups[0].changed(user_data={"kubelet": {"flags": ["--v=4"]}})
    assert group.user_data == MappingProxyType({"kubelet": MappingProxyType({"flags": ("--v=4",)})})
    assert isinstance(group.user_data["kubelet"], MappingProxyType)


def test_data_may_be_written_as_maps(mixed: ResolvedStrategy) -> None:
    disk: Any = {"device_name": "/dev/xvda", "size_gib": 500, "volume_type": "gp3"}
    rest: Any = {"iops": None, "throughput_mibps": None, "kms_key_arn": None}
    group = mixed.node_groups[0].changed(block_devices=[{**disk, **rest}])
    assert group.block_devices == (BlockDevice(**disk, **rest),)


REFUSED = {
    "node_groups[gpu-trainin].max_size": (1, "SETTING_UNKNOWN", r"did you mean node_groups\[gpu-training\]"),
    "node_groups[gpu-training].max_sice": (1, "SETTING_UNKNOWN", "did you mean max_size"),
    "node_groups[gpu-training].reasons": ({}, "SETTING_UNKNOWN", "no such field"),
    "node_groups[gpu-training].max_size": ("many", "SETTING_TYPE", "must have the field's type, got 'many': .*integer"),
    "node_groups[gpu-training].taints": ([{"key": "a"}], "SETTING_TYPE", r"taints: .*\[0\]\.value: field required"),
    "node_groups[gpu-training]": (1, "SETTING_UNKNOWN", "name one of its fields"),
    "node_groups[gpu-training].labels.team": (
        "a",
        "SETTING_UNKNOWN",
        r"change node_groups\[gpu-training\]\.labels as a whole$",
    ),
    "region": ("us-east-1", "SETTING_UNKNOWN", "strategy"),
}


@in_one_test("place", REFUSED)
def test_what_cannot_be_changed_is_reported(mixed: ResolvedStrategy, place: str) -> None:
    value, code, said = REFUSED[place]
    with pytest.raises(ValueError, match=f"(?s)^{code} .*{said}"):
        change(mixed, {place: value})

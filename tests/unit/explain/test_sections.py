"""Reasons and sources of derived values, in every shipped strategy and in those for the rest."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from eks_hardware.explain import KINDS, Row
from eks_hardware.resolve import Origin
from helpers.cases import in_one_test
from helpers.explained import FILES, explained


def kinds_and_rows(name: str) -> Iterator[tuple[str, str, Row]]:
    """Return kind and path of each value, and the value."""
    for section in explained(FILES[name]):
        for row in section.rows:
            yield section.kind, f"{section.path} {row.field}", row


@in_one_test("name", FILES)
def test_a_reason_is_more_than_a_word(name: str) -> None:
    assert [(place, row.reason.text) for _, place, row in kinds_and_rows(name) if " " not in row.reason.text] == []


@in_one_test("name", FILES)
def test_what_is_of_the_catalogue_names_its_row(name: str) -> None:
    without = [
        place
        for _, place, row in kinds_and_rows(name)
        if row.reason.origin is Origin.CATALOGUE and not row.reason.source
    ]
    assert without == []


SOURCED = {
    "groups": (
        "hardware architecture ami_type release_version kubernetes_version capacity_type zone_ids "
        "labels taints efa_interfaces placement_group_name block_devices instance_store max_pods user_data "
        "metadata_hop_limit instance_tags"
    ),
    "pools": (
        "hardware architecture ami_version instance_types zone_ids subnet_ids labels taints "
        "efa_interfaces network_interfaces efa_security_group_name placement_group_name block_devices instance_store "
        "kubelet user_data limits overlays metadata_hop_limit tags disruption.consolidation_policy "
        "disruption.consolidate_after disruption.expire_after disruption.budgets disruption.termination_grace_period"
    ),
    "addons": "name before_nodes configuration service_account namespace role_name policy_arns statements",
    "charts": "key chart repository version",
    "network": "zone_ids control_plane_zone_ids gateway_endpoints pod_cidr",
    "cluster": "kubernetes_version partition custom_networking support_type deletion_protection",
    "provider": "version helm_version",
}
"""Return the values whose reason names a data file's row or a page, unless the strategy states them."""


@in_one_test("name", FILES)
def test_sources(name: str) -> None:
    fields = {(kind, field) for kind, names in SOURCED.items() for field in names.split()}
    without = [
        place
        for kind, place, row in kinds_and_rows(name)
        if (kind, row.field) in fields
        and row.derived
        and not row.reason.source
        and not (row.field == "zone_ids" and "no zone data" in row.reason.text)
    ]
    assert without == []


def test_fields_that_have_sources_exist() -> None:
    """A renamed field would not be tested any more."""
    there = {
        (section.kind, row.field) for file in FILES.values() for section in explained(file) for row in section.rows
    }
    assert {(kind, field) for kind, names in SOURCED.items() for field in names.split()} <= there


def reason(name: str, path: str, field: str) -> tuple[str, str, str | None]:
    (row,) = [
        row for section in explained(FILES[name]) if section.path == path for row in section.rows if row.field == field
    ]
    return row.reason.origin.value, row.reason.text, row.reason.source


SYSTEM = "node_groups[system]"
ADDONS = "facts/addons.json addons"
EKS = "https://docs.aws.amazon.com/eks/latest/userguide"


@in_one_test(
    ("name", "path", "field", "origin", "text", "source"),
    [
        (
            "mixed-hardware",
            "cluster.addons.vpc-cni",
            "configuration",
            "rule",
            "network policies are enforced, and prefixes instead of single addresses allow more pods per node",
            f"{EKS}/cni-network-policy.html; {EKS}/cni-increase-ip-addresses.html",
        ),
        (
            "pod-network",
            "cluster.addons.vpc-cni",
            "configuration",
            "rule",
            "pods have their own subnets",
            f"{EKS}/cni-custom-network.html",
        ),
        (
            "mixed-hardware",
            "cluster.addons.eks-node-monitoring-agent",
            "configuration",
            "rule",
            "its DCGM agent must also run on tainted GPU nodes",
            f"{ADDONS}.eks-node-monitoring-agent, https://github.com/aws/containers-roadmap/issues/2567",
        ),
        (
            "mixed-hardware",
            "cluster.addons.coredns",
            "configuration",
            "default",
            "the add-on's own defaults",
            f"{ADDONS}.coredns",
        ),
        ("mixed-hardware", SYSTEM, "efa_interfaces", "default", "efa is not enabled; m", "instances.json row m"),
        ("mixed-hardware", SYSTEM, "desired_size", "default", "equal to min_size, 2", None),
        ("mixed-hardware", SYSTEM, "kubernetes_version", "rule", "the cluster's version", "API_CreateNodegroup"),
        (
            "mixed-hardware",
            SYSTEM,
            "ami_family",
            "default",
            "AL2023 unless the strategy sets",
            "facts/choices.json operating_system.family",
        ),
        ("mixed-hardware", SYSTEM, "taints", "rule", "no accelerator to protect with a taint", "(no accelerator)"),
        ("mixed-hardware", SYSTEM, "block_devices", "rule", "room for images", "facts/karpenter.json block_devices"),
    ],
)
def test_a_reason(name: str, path: str, field: str, origin: str, text: str, source: str | None) -> None:
    found, words, row = reason(name, path, field)
    assert found == origin
    assert text in words
    assert row is None if source is None else source in (row or "")


@in_one_test(
    ("field", "value"),
    [("ami_type", ("CUSTOM",)), ("ami_version", ("-",)), ("image_id", None)],
    ids=lambda each: str(each),
)
def test_an_image_of_ones_own_is_what_the_strategy_says(field: str, value: tuple[str, ...] | None) -> None:
    found = [
        row
        for section in explained(FILES["accelerators-own-image"])
        for row in section.rows
        if row.field == field and any(each.field == "image_id" and each.is_set for each in section.rows)
    ]
    assert found
    for row in found:
        assert not row.derived
        assert value is None or row.lines == value


def test_taints_that_are_written_out_are_the_strategys() -> None:
    found = {
        (row.reason.origin.value, row.is_set)
        for section in explained(FILES["labels-and-taints"])
        for row in section.rows
        if row.field == "taints"
    }
    assert ("strategy", True) in found


PARTS = {
    "platform-options": ("kubernetes.service_roles[aws-load-balancer-controller]", "kubernetes.charts.kueue"),
    "storage": ("storage", "storage.fsx_lustre", "storage.efs"),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_that_no_shipped_strategy_has(name: str) -> None:
    paths = [section.path for section in explained(FILES[name])]
    assert {*PARTS[name]} <= {*paths}
    assert len(paths) == len(set(paths))


@in_one_test("name", FILES)
def test_kinds(name: str) -> None:
    assert {section.kind for section in explained(FILES[name])} <= set(KINDS)

"""Constructs that get one section of a strategy check it: every rule says whether it is among those that they check."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from eks_hardware import section_checks
from eks_hardware.catalogue import load
from eks_hardware.findings import Finding
from eks_hardware.loader import parse_strategy
from eks_hardware.models import Strategy
from eks_hardware.rules import RULES, Context, check, check_part, examples
from eks_hardware.rules.explanations import BASE, Explanation, explanations, is_whole
from eks_hardware.validation import load_strategy
from helpers.cases import in_one_test
from helpers.paths import TESTS
from helpers.strategies import TODAY, resolved_shipped

DEPENDS = {
    "the network": """
        KARPENTER_OVERLAY_OFF KARPENTER_PRIVATE_PRICE KARPENTER_PRIVATE_PRICE_SOME POOL_NO_ZONE POOL_OVERLAP
        POOL_OVERLAP_EFA POOL_OVERLAP_UNLIKE SERVICE_CIDR
    """,
    "a new network; a group gets subnets that exist": """
        LOCAL_ZONE_SUBNET
    """,
    "charts": """
        AUTOSCALER_MISSING AUTOSCALER_TAKES_GROUP CHART_KUBERNETES_VERSION CONTROLLER_NO_WAY_OUT
        FIELD_NO_EFFECT GPU_OPERATOR_BOTTLEROCKET KUBERNETES_API_PRIVATE KUBERNETES_NO_ADMIN
        KUBERNETES_PRIVATE_CHARTS KUEUE_TAINTS MIG_NEEDS_OPERATOR MONITOR_NO_OPERATOR PLACEMENT_NOWHERE PODS_TOO_FEW
        SOFTWARE_INCOMPLETE
    """,
    "all nodes": """
        ACCELERATOR_OPEN ADDON_VERSION ADDON_WIRING KARPENTER_NO_ROOM NODES_ALL_TAINTED NODE_REPAIR_NO_AGENT
        POD_SUBNET_MISSING REPLICAS_APART SUBNET_NODES SUBNET_PODS SYSTEM_NO_ROOM SYSTEM_TIGHT ULTRASERVER_KUBERNETES
        VOLUME_DRIVER_KEPT_OFF
    """,
    "the Kubernetes version": """
        POOL_AMI_KUBERNETES
    """,
    "storage": """
        FSX_BOTTLEROCKET STORAGE_ADDON_OFF
    """,
    "the add-ons": """
        NETWORK_NO_WAY_OUT
    """,
    "the role that deploys": """
        ACCESS_ENTRY_CREATOR
    """,
}
"""Rules about a section of a construct, by the other part of the strategy that they depend on."""

NO_EXAMPLE = {"EFA_UNKNOWN_LAYOUT", "POLICY_SIZE", "USER_DATA_SIZE"}
"""Rules that no short example can break; their tables break them."""

_GROUPS = 4
"""Number of groups of a strategy that are checked; the others are like them."""

OF_CONSTRUCTS = ("node_groups", "karpenter", "network", "cluster", "region")
"""Sections and fields that constructs get."""


def example(explained: Explanation) -> Strategy:
    base, over = (explained.breaks, "") if is_whole(explained.breaks) else (BASE, explained.breaks)
    return parse_strategy(base, file="example.yaml", over=over).strategy


def checks(strategy: Strategy) -> Iterator[Callable[[], tuple[Finding, ...]]]:
    """Yield the checks of the constructs for the sections of a strategy."""
    named = {"path": "team/it", "cluster_name": strategy.name, "region": strategy.region}
    existing = strategy.network.existing
    zones = existing.private_subnets if existing else Context(strategy, load()).zone_choice().zone_ids
    pods_apart = strategy.network.pod_cidr or (existing and existing.pod_subnets)
    for group in strategy.node_groups[:_GROUPS]:
        yield lambda group=group: section_checks.check_group(  # type: ignore[misc]
            group,
            path="team/it",
            kubernetes_version=strategy.cluster.kubernetes_version,
            vpc_id=None,
            private_subnet_ids=dict.fromkeys(zones, ""),
            pod_subnet_ids=dict.fromkeys(zones, "") if pods_apart else {},
        )[1]
    if strategy.karpenter:
        yield partial(section_checks.check_pools, strategy.karpenter, **named)
    yield partial(section_checks.check_network, strategy.network, **named)
    yield partial(section_checks.check_cluster, strategy.cluster, **named)


def raised_codes(found: Callable[[], tuple[Finding, ...]]) -> set[str]:
    try:
        return {each.code for each in found()}
    except ValueError as error:
        return {line.partition(" ")[0] for line in str(error).splitlines()}


def judged_alone(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the rules that a construct finds in the example that breaks them."""
    found = set()
    for code, explained in explanations().items():
        if code in RULES and explained.breaks:
            today = explained.today or TODAY
            with monkeypatch.context() as patched:
                patched.setattr(section_checks, "check_part", partial(check_part, today=today))
                patched.setattr(sys.modules[check_part.__module__], "RULES", {code: RULES[code]})
                found |= {code} & set().union(*map(raised_codes, checks(example(explained))))
    return found


def about_constructs() -> set[str]:
    """Return the rules that find something in a section that a construct gets."""
    return {
        code
        for code, explained in explanations().items()
        if code in RULES and any(each.path.startswith(OF_CONSTRUCTS) for each in examples.found(explained))
    }


def test_every_rule_is_judged_on_a_construct_or_says_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new rule about such a section needs nothing here, unless it depends on the rest of the strategy."""
    found = judged_alone(monkeypatch)
    assert about_constructs() - found == {code for those in DEPENDS.values() for code in those.split()}
    assert found <= about_constructs()
    assert {code for code in RULES if not explanations()[code].breaks} == NO_EXAMPLE


@in_one_test("file", sorted((TESTS / "corpus" / "good").glob("*.yaml")), ids=lambda file: file.stem)
def test_a_construct_finds_nothing_that_the_whole_strategy_does_not_have(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(section_checks, "check_part", partial(check_part, today=TODAY))
    strategy = load_strategy(file).strategy
    whole = {each.code for each in check(strategy, today=TODAY)}
    assert set().union(*map(raised_codes, checks(strategy))) <= whole


@in_one_test(
    ("changes", "fault"),
    [
        ({"min_size": 5, "desired_size": 2}, "must not decrease"),
        ({"max_size": 0, "desired_size": 0}, "not all be 0"),
        ({"zone_ids": ()}, "zone_ids"),
        ({"instance_types": ()}, "instance_types"),
        ({"architecture": "arm64"}, "architecture must be that of p5.48xlarge"),
        ({"ami_type": "AL2023_x86_64_STANDARD"}, "use AL2023_x86_64_NVIDIA or BOTTLEROCKET"),
        ({"instance_types": ("m7i.large",), "ami_type": "AL2023_x86_64_STANDARD"}, "m7i.large has no EFA"),
        ({"capacity_type": "CAPACITY_BLOCK"}, "capacity_target"),
    ],
)
def test_a_resolved_group_that_was_changed(changes: dict[str, Any], fault: str) -> None:
    group = resolved_shipped("gpu-training").node_groups[1]
    assert list(section_checks.misfits(replace(group, instance_types=("p99.metal",)))) == []
    assert any(re.search(fault, each) for each in section_checks.misfits(replace(group, **changes)))

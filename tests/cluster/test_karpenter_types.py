"""Karpenter's code and ours agree on the resources for pods, for every type that a pool can name."""

from __future__ import annotations

from helpers.cluster_programs import programs
from helpers.karpenter_types import FAMILIES, SETTINGS, Listed, amounts_that_differ, not_described


def test_karpenter_expects_of_every_type_what_we_say() -> None:
    program, listed = programs("karpenter-types")["karpenter-types"], Listed.read()
    unexplained = [
        str(each)
        for family in FAMILIES
        for setting in SETTINGS
        for each in amounts_that_differ(program, family, setting)
        if not listed.explains(each)
    ]
    assert unexplained == [], "explain them in tests/cluster/karpenter_types.yaml, or mend them"
    assert listed.without_difference() == []


def test_every_type_that_is_not_compared_is_listed() -> None:
    assert {name for family in FAMILIES for name in not_described(family)} == Listed.read().not_described

"""The catalogue agrees with records that others made of EC2's instance types, or the difference has a reason."""

from __future__ import annotations

from collections.abc import Callable

from helpers.cluster_programs import programs
from helpers.second_sources import Reasons, comparisons, listed_differences


def test_every_difference_is_listed_with_its_reason(golden: Callable[[str, str], None]) -> None:
    tables = programs("karpenter-tables")["karpenter-tables"]
    reasons = Reasons.read()
    text = listed_differences(comparisons(tables), reasons)
    assert [line for line in text.splitlines() if "NO REASON" in line] == []
    assert reasons.unused() == []
    golden("catalogue/second_sources.txt", text)

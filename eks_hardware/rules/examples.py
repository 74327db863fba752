"""The findings of ``validate`` for the examples of the explanations."""

from __future__ import annotations

import datetime

from eks_hardware.findings import Finding, StrategyError
from eks_hardware.loader import parse_strategy
from eks_hardware.rules.check import check_loaded
from eks_hardware.rules.explanations import BASE, EXAMPLE, Explanation, is_whole


def found(explanation: Explanation) -> list[Finding]:
    """Return the findings of ``validate`` for ``explanation.breaks`` that have its code."""
    return [finding for finding in findings(explanation.breaks, explanation.today) if finding.code == explanation.code]


def findings(text: str, today: datetime.date | None = None) -> list[Finding]:
    """Return the findings in an example."""
    try:
        base, over = (text, "") if is_whole(text) else (BASE, text)
        loaded = parse_strategy(base, file=EXAMPLE, over=over)
    except StrategyError as error:
        return list(error.findings)
    # Examples have no lock file, which would contain the hardware for their workload.
    return [finding for finding in check_loaded(loaded, today=today) if finding.code != "WORKLOAD_UNCHOSEN"]

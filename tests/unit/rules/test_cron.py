"""Cron schedules: the ones that Karpenter accepts."""

from __future__ import annotations

import pytest

from eks_hardware.rules.cron import cron_fault
from helpers.cases import in_one_test


@pytest.mark.parametrize(
    "schedule",
    [
        "@daily",
        "* * * * *",
        "0 8 * * mon-fri",
        "*/15 0-23/2 1,15 JAN-Dec 0",
        "59 23 31 12 6",
        "5/10 0 1 1 sun",
    ],
)
def test_taken(schedule: str) -> None:
    assert cron_fault(schedule) is None


@in_one_test(
    ("schedule", "says"),
    [
        ("60 * * * *", "minute"),
        ("* 24 * * *", "hour"),
        ("* * 0 * *", "day of the month"),
        ("* * 32 * *", "day of the month"),
        ("* * * 13 *", "month"),
        ("* * * * 7", "day of the week"),
        ("* * * mon *", "month"),
        ("* * * * jan", "day of the week"),
        ("5-1 * * * *", "range"),
        ("* * * * fri-mon", "range"),
        ("1-2-3 * * * *", "range"),
        ("*/0 * * * *", "step"),
        ("*/ * * * *", "step"),
        ("1,,2 * * * *", "minute"),
        ("- * * * *", "minute"),
        ("* * * *", "must have five fields"),
    ],
)
def test_refused(schedule: str, says: str) -> None:
    assert says in (cron_fault(schedule) or "")

"""Cron schedules: the ones that Karpenter accepts."""

from __future__ import annotations

from eks_hardware.rules.cron import cron_fault, longest_minutes
from helpers.cases import in_one_test


@in_one_test(
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


DAY = 24 * 60


@in_one_test(
    ("windows", "longest"),
    [
        ([("0 0 * * *", 720), ("0 12 * * *", 720)], None),
        ([("0 0 * * *", 720), ("0 12 * * *", 719)], DAY - 1),
        ([("0 0-23/6 * * *", 360)], None),
        ([("0 5/6 * * *", 360)], None),
        ([("@hourly", 60)], None),
        ([("@weekly", 7 * DAY)], None),
        ([("@monthly", 31 * DAY)], None),
        ([("@monthly", 30 * DAY)], 60 * DAY),
        ([("* * * * *", 60)], None),
        ([("0 0 1,15 * mon", DAY)], 2 * DAY),
        ([("0 0 29 FEB *", 60)], 60),
    ],
)
def test_longest_time(windows: list[tuple[str, int]], longest: int | None) -> None:
    assert longest_minutes(windows) == longest

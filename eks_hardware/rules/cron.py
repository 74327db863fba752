"""Cron schedules as Karpenter parses them (https://pkg.go.dev/github.com/robfig/cron/v3, ``ParseStandard``)."""

from __future__ import annotations

import calendar
from collections.abc import Mapping

from eks_hardware.printable import quoted

_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if number}
_DAYS = {name: number for number, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
_FIELDS: tuple[tuple[str, int, int, Mapping[str, int]], ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of the month", 1, 31, {}),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 6, _DAYS),
)


def cron_fault(schedule: str) -> str | None:
    """Return the fault of a schedule with five fields; None for a valid one, or for a name such as ``@daily``.

    >>> cron_fault("0 8 * * mon-fri"), cron_fault("0 25 * * *")
    (None, 'the hour must be 0 to 23, got 25')
    """
    if schedule.startswith("@"):
        return None
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        return f"must have five fields (minute, hour, day, month and day of the week), got {quoted(schedule)}"
    for text, (noun, low, high, names) in zip(fields, _FIELDS, strict=True):
        for part in text.split(","):
            if fault := _fault(part, noun, low, high, names):
                return fault
    return None


def _fault(part: str, noun: str, low: int, high: int, names: Mapping[str, int]) -> str | None:
    span, slash, step = part.partition("/")
    if slash and not (step.isdecimal() and int(step)):
        return f"the step must be a whole number of at least 1, got {quoted(part)}; write for example */15"
    if span == "*":
        return None
    ends = []
    for text in span.split("-"):
        number = names.get(text.lower(), int(text) if text.isdecimal() else None)
        if number is None or not low <= number <= high:
            return f"the {noun} must be {low} to {high}, got {quoted(text or part)}"
        ends.append(number)
    if len(ends) > 2 or ends != sorted(ends):
        return f"a range must start with its lower end, got {quoted(part)}"
    return None

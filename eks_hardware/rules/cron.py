"""Cron schedules as Karpenter parses them (https://pkg.go.dev/github.com/robfig/cron/v3, ``ParseStandard``)."""

from __future__ import annotations

import calendar
import datetime
from collections.abc import Iterable, Mapping

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
    (None, 'the hour must be 0 to 23, got "25"')
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
        return f"the step must be a whole number of at least 1, got {quoted(part)}; write */15, for example"
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


# --- when a schedule is active

_NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * sun",
    "@monthly": "0 0 1 * *",
    "@annually": "0 0 1 1 *",
    "@yearly": "0 0 1 1 *",
}
# The two years from this day include a leap day.
_FIRST_DAY = datetime.date(2027, 1, 1)
_DAY_MINUTES = 24 * 60
_PLAIN_DAYS, _ALL_DAYS = 28, 2 * 366


def longest_minutes(windows: Iterable[tuple[str, int]]) -> int | None:
    """Return the longest time that schedules cover without a gap, in minutes; None if they cover all time.

    Each window is a valid schedule and its duration in minutes. Windows that touch or overlap count as one.

    >>> longest_minutes([("0 0 * * *", 720), ("0 12 * * *", 720)])
    >>> longest_minutes([("0 8 * * mon-fri", 600)])
    600
    """
    given = [(_NAMED.get(schedule, schedule).split(), length) for schedule, length in windows]
    plain = all(fields[2] == fields[3] == "*" and length < 7 * _DAY_MINUTES for fields, length in given)
    days = _PLAIN_DAYS if plain else _ALL_DAYS
    spans = sorted(span for fields, length in given for span in _spans(fields, length, days))
    longest = end = start = 0
    # The first third only carries over windows that started earlier; do not count it.
    counted = days * _DAY_MINUTES // 3
    gap = not spans
    for first, last in spans:
        if first > end:
            gap = gap or end >= counted
            start = first
        end = max(end, last)
        longest = max(longest, end - start)
    return longest if gap or end < days * _DAY_MINUTES else None


def _spans(fields: list[str], length: int, days: int) -> list[tuple[int, int]]:
    """Return the start and end of each time in which a schedule is active, in minutes from the first day."""
    minutes, hours, dates, months, weekdays = (
        _numbers(text, low, high, names) for text, (_, low, high, names) in zip(fields, _FIELDS, strict=True)
    )
    within: list[tuple[int, int]] = []
    for first in sorted(60 * hour + minute for hour in hours for minute in minutes):
        if within and first <= within[-1][1]:
            within[-1] = (within[-1][0], first + length)
        else:
            within.append((first, first + length))
    # With a date and a day of the week, either is enough.
    both = not fields[2].startswith("*") and not fields[4].startswith("*")
    spans = []
    for number in range(days):
        day = _FIRST_DAY + datetime.timedelta(number)
        on_date, on_weekday = day.day in dates, day.isoweekday() % 7 in weekdays
        if day.month in months and ((on_date or on_weekday) if both else (on_date and on_weekday)):
            spans += [(number * _DAY_MINUTES + first, number * _DAY_MINUTES + last) for first, last in within]
    return spans


def _numbers(text: str, low: int, high: int, names: Mapping[str, int]) -> set[int]:
    """Return the numbers that a valid field names."""
    numbers: set[int] = set()
    for part in text.split(","):
        span, slash, step = part.partition("/")
        ends = [names[end.lower()] if end.lower() in names else int(end) for end in span.split("-") if end != "*"]
        first, last = (ends[0], ends[-1]) if ends else (low, high)
        # A single number with a step goes on to the end of the field.
        last = high if slash and len(ends) == 1 else last
        numbers |= set(range(first, last + 1, int(step) if slash else 1))
    return numbers

"""The age of the prices of a cost."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import NamedTuple

from eks_hardware.cost.model import CostLine, StrategyCost


class OldestPrice(NamedTuple):
    """The oldest dated price that a cost uses, with the line that uses it.

    Examples:
        >>> import datetime
        >>> oldest = oldest_price(cost_of(resolved), datetime.date(2026, 11, 25))
        >>> oldest is not None and oldest.days > 90
        True
    """

    line: CostLine
    as_of: str
    source: str
    days: int


def oldest_price(cost: StrategyCost, today: datetime.date) -> OldestPrice | None:
    """Return the oldest price with a date; None if no price has one. A month counts from its first day."""
    dated = [(day, line, source) for line in cost.lines for day, source in _dated(line)]
    if not dated:
        return None
    as_of, line, source = min(dated, key=lambda price: first_day(price[0]))
    return OldestPrice(line, as_of, source, (today - first_day(as_of)).days)


def first_day(as_of: str) -> datetime.date:
    """Return the first day of a date, month or year: ``2025-11`` -> 2025-11-01."""
    year, *rest = map(int, as_of.split("-"))
    return datetime.date(year, *[*rest, 1, 1][:2])


def _dated(line: CostLine) -> Iterator[tuple[str, str]]:
    for figure in (line.figure, line.figure_at_max, line.ceiling):
        if figure and figure.as_of != "undated":
            yield figure.as_of, figure.source

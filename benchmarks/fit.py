"""``python -m benchmarks.fit``: find constants of the speed models that fit the calibration rows better.

Prints every fitted constant of ``config/performance/accelerators.json`` with the number of calibration rows that depend
on it, its value, and the value that lowers the loss. Reserved rows are not read. Write changed constants into
the file by hand, with the number of rows and the day.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.estimates import HALVES, half
from benchmarks.report import table
from eks_hardware import facts
from eks_hardware.advisor.measured.estimates import outcome
from eks_hardware.advisor.measured.outcomes import Outcome
from eks_hardware.advisor.speed import estimate
from eks_hardware.facts.schemas.measurements import MeasurementRow

NAMES = ("share", "half_width", "microseconds", "link_share", "gb_per_second")
_SPEEDS = ("serving-throughput", "serving-latency", "decode", "encoder-throughput", "training-speed")
_SWEEPS = 12
_STEP = 1.15
_MOST = 0.95  # the largest share of a peak
# The logarithm of the ratio (1.25) at which a row's weight is halved, so that outliers have little influence.
_TOLERANCE = 0.22
# Moving a constant by a factor of e^0.5 adds 0.4 to the loss, so that a few rows do not move it far.
_FREEDOM, _PRICE = 0.5, 0.4


@dataclass(kw_only=True)
class Constant:
    """A fitted number in a data row, which is changed in place."""

    row: dict[str, Any]
    name: str
    before: float
    rows: list[MeasurementRow] = field(default_factory=list)  # the rows that depend on the constant

    @property
    def value(self) -> float:
        """The current value."""
        return float(self.row[self.name])

    @property
    def price(self) -> float:
        """The loss for having moved from the initial value."""
        return _PRICE * (math.log(self.value / self.before) / _FREEDOM) ** 2

    def moved(self, factor: float) -> None:
        """Multiply the value, but keep a share below the peak."""
        value = self.value * factor
        self.row[self.name] = min(value, _MOST) if self.name in ("share", "link_share") else value


def calibration_rows() -> list[MeasurementRow]:
    """Return the calibration rows of speeds with an estimate, without 4-bit weights, whose share is our choice."""
    rows = (row for file in facts.measurements().values() for row in file["rows"])
    return [
        row
        for row in rows
        if half(row["id"]) == HALVES[0]
        and row["kind"] in _SPEEDS
        and row["precision"] != "int4"
        and outcome(row).estimate is not None
    ]


def loss(row: MeasurementRow) -> float:
    """Return a row's loss, which is zero for a correct estimate."""
    ratio = _outcome(row).ratio
    assert ratio is not None
    return math.log1p((math.log(ratio) / _TOLERANCE) ** 2)


def _outcome(row: MeasurementRow) -> Outcome:
    """Return a row's outcome with the current constants."""
    estimate.forget()
    return outcome(row)


def constants(rows: Sequence[MeasurementRow]) -> list[Constant]:
    """Return the fitted constants with the rows that depend on them."""
    data = facts.performance()
    sources: list[Any] = [*data["utilization"], *data["delays"]]
    found = [
        Constant(row=row, name=name, before=row[name])
        for row in sources
        for name in NAMES
        if row.get(name) and row["source"].startswith("fitted to")
    ]
    estimates = [_outcome(row).estimate for row in rows]
    for each in found:
        each.row[each.name] = each.before * 0.8
        each.rows = [row for row, before in zip(rows, estimates, strict=True) if _outcome(row).estimate != before]
        each.row[each.name] = each.before
    return found


def improve(found: Sequence[Constant]) -> None:
    """Change one constant after another while that lowers the loss of the rows that depend on it."""
    steps = [_STEP] * len(found)
    for _ in range(_SWEEPS):
        for index, each in enumerate(found):
            now, value = sum(map(loss, each.rows)) + each.price, each.value
            for factor in (steps[index], 1 / steps[index]):
                each.moved(factor)
                if sum(map(loss, each.rows)) + each.price < now - 1e-9:
                    break
                each.row[each.name] = value
            else:
                steps[index] **= 0.6


def main() -> int:
    rows = calibration_rows()
    before = sum(map(loss, rows))
    found = constants(rows)
    improve(found)
    cells = (
        (
            each.row["step"],
            ", ".join(each.row.get("accelerators", [each.row["kind"]])),
            each.name,
            str(len(each.rows)),
            f"{each.before:.3g}",
            f"{each.value:.3g}",
        )
        for each in found
    )
    print("\n".join(table(("step", "chips", "constant", "rows", "now", "better"), cells)))
    print(f"\nloss of {len(rows)} calibration rows: {before:.1f}, with the better constants {sum(map(loss, rows)):.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A measured row next to the estimate for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.measurements import MeasurementRow

MEMORY = ("memory-training", "memory-inference")
_TRAINING = ("memory-training", "training-speed")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A measured row and the estimate for it."""

    row: MeasurementRow
    chip: str
    estimate: float | None  # in the unit of the row; for `fits`, the needed share of the available memory
    reason: str | None = None  # why there is no estimate

    @property
    def ratio(self) -> float | None:
        """Estimate / measured; None without an estimate, and for `fits`."""
        return None if self.estimate is None or self.row["kind"] == "fits" else self.estimate / self.row["figure"]

    @property
    def speed_ratio(self) -> float | None:
        """Estimated / measured speed: above 1 the estimate is too fast, also in rows that measure a time."""
        return 1 / self.ratio if self.ratio and self.row["unit"].startswith("ms") else self.ratio

    def within(self, factor: float) -> bool:
        """Return whether the estimate is within a factor of the measurement, or correct about what fits."""
        if self.ratio is None:
            return self.estimate is not None and (self.estimate <= 1) is self.row["figure"]
        return 1 / factor <= self.ratio <= factor


def trains(row: MeasurementRow) -> bool:
    """Return whether a row measures training."""
    return row["kind"] in _TRAINING or (row["kind"] == "fits" and "output_tokens" not in row)

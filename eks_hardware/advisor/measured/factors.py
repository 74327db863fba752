"""Correction factors for speed and memory, from the rows of a user's measurements that are closest to a request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Literal

from eks_hardware.advisor.measured.outcomes import MEMORY, Outcome, trains
from eks_hardware.advisor.model import MemoryPart
from eks_hardware.catalogue import InstanceType, load

if TYPE_CHECKING:
    from eks_hardware.advisor.model import Request, Shape

Work = Literal["training", "prompt", "generation", "encoder", "answer", "memory of training", "memory of inference"]

_WORK: dict[str, Work] = {
    "memory-training": "memory of training",
    "memory-inference": "memory of inference",
    "serving-throughput": "answer",
    "decode": "generation",
    "encoder-throughput": "encoder",
    "training-speed": "training",
}
_EDGE = 1.0001  # the smallest ratio of needed to available memory that does not fit


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A measured row with the estimate for it."""

    outcome: Outcome
    shape: Shape

    @property
    def kind(self) -> InstanceType:
        """The row's instance type."""
        return load().get(self.outcome.row["instance_type"])

    @property
    def work(self) -> Work:
        """The kind of work that the row measures; `answer` is prompt and generation together."""
        row = self.outcome.row
        if row["kind"] == "fits":
            return "memory of training" if trains(row) else "memory of inference"
        if row["kind"] == "serving-latency":
            return "prompt" if row["unit"] == "ms to the first token" else "answer"
        return _WORK[row["kind"]]

    @property
    def ratio(self) -> float | None:
        """Measured / estimated speed or memory; None for `fits`, and without an estimate."""
        ratio = self.outcome.ratio if self.outcome.row["kind"] in MEMORY else self.outcome.speed_ratio
        return 1 / ratio if ratio else None


@dataclass(frozen=True, kw_only=True)
class Factor:
    """Measured divided by estimated, and the number of rows that the ratio is based on."""

    value: float
    rows: int


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The measurements of a user, next to the estimates."""

    file: str
    rows: tuple[Compared, ...]

    def speed(self, work: Work, request: Request, kind: InstanceType) -> Factor | None:
        """Return measured / estimated speed on a type's accelerator: the median of the closest rows; None without rows.

        The closest rows have the same model, method, precision and KV cache, as far as any row does. Without rows for
        prompts or generation, rows for whole answers are used.
        """
        of_chip = [row for row in self.rows if row.ratio and _chip(row.kind) == _chip(kind)]
        rows = [row for row in of_chip if row.work == work]
        if not rows and work in ("prompt", "generation"):
            rows = [row for row in of_chip if row.work == "answer"]
        return _median(_closest(rows, request))

    def memory(self, request: Request, kind: InstanceType, *, training: bool) -> Factor | None:
        """Return measured / estimated memory on the same kind of hardware: the median of the closest rows.

        Memory depends more on the software than on the accelerator: without a row for the same accelerator, rows for
        others are used. Rows of kind ``fits`` move the factor just far enough for the estimate to agree with them.
        """
        work: Work = "memory of training" if training else "memory of inference"
        rows = [
            row for row in self.rows if row.work == work and row.outcome.estimate and row.kind.hardware is kind.hardware
        ]
        rows = [row for row in rows if _chip(row.kind) == _chip(kind)] or rows
        closest = _closest(rows, request)
        factor = _median(closest)
        value = factor.value if factor else 1.0
        for row in closest:
            share, fits = row.outcome.estimate or 0.0, row.outcome.row["figure"]
            if row.outcome.row["kind"] == "fits":
                value = min(value, 1 / share) if fits else max(value, _EDGE / share)
        return Factor(value=value, rows=len(closest)) if closest else None

    def off(self) -> Iterator[tuple[str, Work, Factor]]:
        """Yield accelerator, work, and measured / estimated of all rows, in the order of the file."""
        groups: dict[tuple[str, Work], list[Compared]] = {}
        for row in self.rows:
            if row.ratio:
                groups.setdefault((row.outcome.chip, row.work), []).append(row)
        for (chip, work), rows in groups.items():
            if factor := _median(rows):
                yield chip, work, factor


def measured_difference(
    request: Request, kind: InstanceType, parts: Sequence[MemoryPart], *, training: bool
) -> tuple[MemoryPart, ...]:
    """Return the memory that measurements add to an estimate or subtract from it; empty without measurements."""
    factor = request.measured.memory(request, kind, training=training) if request.measured else None
    if factor is None:
        return ()
    gib = (factor.value - 1) * sum(part.gib for part in parts)
    return (MemoryPart("measured", gib, f"{said(factor)} of memory"),)


def said(factor: Factor) -> str:
    """Return a factor in words."""
    rows = f"{factor.rows} measured row{'s' if factor.rows > 1 else ''}"
    return f"{factor.value:.2f} times the estimate, from {rows}"


def _median(rows: Sequence[Compared]) -> Factor | None:
    ratios = [row.ratio for row in rows if row.ratio]
    return Factor(value=median(ratios), rows=len(ratios)) if ratios else None


def _closest(rows: Sequence[Compared], request: Request) -> Sequence[Compared]:
    """Return the rows with the same model, method, precision and KV cache; skip a condition that no row meets."""
    workload, shape = request.workload, request.shape
    alike: tuple[Callable[[Compared], bool], ...] = (
        lambda row: _dimensions(row.shape) == _dimensions(shape),
        lambda row: (row.outcome.row.get("method") or "full") == (workload.method or "full"),
        lambda row: row.outcome.row["precision"] == (workload.precision or shape.quantized_to or "bf16"),
        lambda row: row.outcome.row.get("kv_cache") == workload.kv_cache_precision,
    )
    for test in alike:
        rows = [row for row in rows if test(row)] or rows
    return rows


def _dimensions(shape: Shape) -> tuple[int, ...]:
    return shape.parameters, shape.layers, shape.hidden_size


def _chip(kind: InstanceType) -> tuple[str, int] | None:
    chip = kind.accelerator
    return None if chip is None else (chip.name, round(chip.memory_gib_each or 0))

"""``python -m benchmarks.calibrate``: how far the advisor's estimates are from published measurements.

    python -m benchmarks.calibrate [--rows PATTERN] [--accept]

Prints two halves: the rows that may calibrate the estimates, and the rows that are reserved for this comparison.
``--rows`` prints individual rows. ``--accept`` writes the tables to ``docs/guides/accuracy.md``, and raises the floors
in ``benchmarks/accuracy.json``, which a test compares with the reserved rows.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import median

from benchmarks import workspace
from benchmarks.estimates import HALVES, half, outcomes
from benchmarks.goals import far_off_reasons, far_rows, goals, reasons
from benchmarks.report import BEGIN, END, table
from eks_hardware.advisor.measured.outcomes import MEMORY, Outcome
from eks_hardware.catalogue import Hardware, load

FLOORS = Path(__file__).with_name("accuracy.json")
PAGE = workspace.ROOT / "docs" / "guides" / "accuracy.md"
WIDTH = 100
WITHIN = (1.25, 1.5, 2.0)


@dataclass(frozen=True, kw_only=True)
class Shares:
    """The accuracy of the estimates for some rows."""

    rows: int
    within: tuple[float, ...]  # shares of the rows within each factor of WITHIN
    ratios: tuple[float, ...]  # ascending; empty for `fits`

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of a table row: number of rows, median, range, shares."""
        middle = f"{median(self.ratios):.2f}" if self.ratios else ""
        spread = f"{self.ratios[0]:.2f} to {self.ratios[-1]:.2f}" if self.ratios else ""
        return (str(self.rows), middle, spread, *(f"{share:.0%}" for share in self.within))


def shares(found: Iterable[Outcome]) -> Shares:
    """Return the accuracy over the rows that have an estimate."""
    rated = [each for each in found if each.estimate is not None]
    return Shares(
        rows=len(rated),
        within=tuple(sum(each.within(factor) for each in rated) / max(1, len(rated)) for factor in WITHIN),
        ratios=tuple(sorted(each.ratio for each in rated if each.ratio is not None)),
    )


def reserved(found: Iterable[Outcome]) -> list[Outcome]:
    """Return the outcomes that must not be used to calibrate the estimates."""
    return [each for each in found if half(each.row["id"]) == HALVES[1]]


def by_kind(found: Iterable[Outcome]) -> dict[str, Shares]:
    """Return the accuracy by kind of measurement."""
    return _grouped(found, lambda each: each.row["kind"])


def by_chip(found: Iterable[Outcome]) -> dict[str, Shares]:
    """Return the accuracy of estimated speeds by chip."""
    speeds = (each for each in found if each.row["kind"] not in (*MEMORY, "fits"))
    return _grouped(speeds, lambda each: each.chip)


def _grouped(found: Iterable[Outcome], key: Callable[[Outcome], str]) -> dict[str, Shares]:
    groups: dict[str, list[Outcome]] = {}
    for each in found:
        if each.estimate is not None:
            groups.setdefault(key(each), []).append(each)
    return {name: shares(groups[name]) for name in sorted(groups)}


# --- report


def report(found: Sequence[Outcome]) -> str:
    """Return the tables in Markdown, at most 100 columns wide."""
    head = ("rows", "median", "range", *(f"{factor:g}x" for factor in WITHIN))
    rated = sum(each.estimate is not None for each in found)
    parts = [f"{len(found)} rows, {rated} with an estimate. Median and range: estimate / measured."]
    for name in HALVES:
        of_half = [each for each in found if half(each.row["id"]) == name]
        parts += [
            f"**{name.capitalize()}**, all kinds:",
            _table(("kind", *head), ((kind, *each.cells) for kind, each in by_kind(of_half).items())),
            f"**{name.capitalize()}**, speeds by chip:",
            _table(("chip", *head), ((chip, *each.cells) for chip, each in by_chip(of_half).items())),
            _memory_errors(of_half),
        ]
    goals_of = _table(("what", "goal", "result", "met"), (each[:4] for each in goals(reserved(found))))
    parts += ["**Goals**, reserved rows, as estimated / measured speed:", goals_of]
    if missed := [_filled(each) for each in reasons(reserved(found))]:
        parts += ["Goals that are not met, and why:", "\n".join(missed)]
    far = map(_filled, far_rows(reserved(found)))
    chips = (_filled(f"- {each['chip']}: {each['why']}") for each in far_off_reasons()["chips"])
    parts += [
        "Reserved rows off by more than 1.5 times, or 20% of memory, as estimated / measured speed, and why:",
        "\n".join(far),
        "Chips whose median is outside 0.9 to 1.1, and why:",
        "\n".join(chips),
    ]
    return "\n\n".join([*parts, "Rows without an estimate:", _missing(found), _uncovered(found)])


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return "\n".join(table(heads, iter(rows)))


def _memory_errors(found: Iterable[Outcome]) -> str:
    errors = [abs(each.ratio - 1) for each in found if each.ratio is not None and each.row["kind"] in MEMORY]
    if not errors:
        return "No row of memory has an estimate."
    return f"Memory, {len(errors)} rows: the median error is {median(errors):.0%}, the largest {max(errors):.0%}."


def _missing(found: Iterable[Outcome]) -> str:
    reasons: dict[str, list[str]] = {}
    for each in found:
        if each.reason:
            reasons.setdefault(each.reason, []).append(each.row["id"])
    lines = (f"- {reason}: {', '.join(names)}" for reason, names in sorted(reasons.items()))
    return "\n".join(map(_filled, lines))


def _filled(line: str) -> str:
    return textwrap.fill(line, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _uncovered(found: Iterable[Outcome]) -> str:
    rated = {each.chip for each in found if each.estimate is not None}
    sold = {
        kind.accelerator.name
        for kind in load().select()
        if kind.accelerator and kind.hardware is not Hardware.OTHER and not kind.withdrawn
    }
    return f"Chips without a row that has an estimate: {', '.join(sorted(sold - rated)) or 'none'}."


def _single(found: Iterable[Outcome], pattern: str) -> str:
    def cells(each: Outcome) -> tuple[str, ...]:
        name, measured = each.row["id"], f"{each.row['figure']:g}"
        if each.estimate is None:
            return name, measured, "", each.reason or ""
        return name, measured, f"{each.estimate:.4g}", "" if each.ratio is None else f"{each.ratio:.2f}"

    matching = (each for each in found if fnmatchcase(each.row["id"], pattern))
    return _table(("row", "measured", "estimate", "ratio"), (cells(each) for each in matching))


def accept(found: Sequence[Outcome]) -> None:
    """Write the tables to the page, and raise the floors of kinds whose reserved rows improved."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n\n{report(found)}\n\n{END}{after}", encoding="utf-8")
    floors = json.loads(FLOORS.read_text(encoding="utf-8"))
    for kind, each in by_kind(reserved(found)).items():
        now = [math.floor(share * 1000) / 1000 for share in each.within]
        old = floors["reserved"].get(kind, now)
        floors["reserved"][kind] = [max(pair) for pair in zip(old, now, strict=True)]
    FLOORS.write_text(json.dumps(floors, indent=2) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.calibrate", description="Compare the advisor's estimates with measurements."
    )
    parser.add_argument("--rows", metavar="PATTERN", help="print the rows with these IDs, such as 'trn1-*'")
    parser.add_argument("--accept", action="store_true", help="write the page and raise the floors")
    options = parser.parse_args()
    found = outcomes()
    print(_single(found, options.rows) if options.rows else report(found))
    if options.accept:
        accept(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The tables of ``docs/explanation/policy-and-prices.md``: figures of older documents, and of today's catalogue."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from eks_hardware.catalogue import InstanceType, load
from eks_hardware.cost import PURCHASES, Figure, instance_figure
from helpers.paths import ROOT, TESTS

GUIDE = ROOT / "docs" / "explanation" / "policy-and-prices.md"
_MARK = re.compile(r"<!-- table: ([a-z-]+) -->\n(?:\|.*\n)*<!-- end -->\n")

# Bytes per parameter of mixed-precision training with Adam: bf16 weights and gradients, and 12 for the optimizer.
# https://arxiv.org/abs/1910.02054
_TRAINING_BYTES = 16
_GIB = 1024**3


@cache
def older_figures() -> Any:
    """Return the figures of the documents."""
    return json.loads((TESTS / "unit" / "cost" / "documents.json").read_text(encoding="utf-8"))


def guide() -> str:
    """Return the guide with every table regenerated and its text unchanged."""
    return _MARK.sub(_table, GUIDE.read_text(encoding="utf-8"))


def tables() -> list[str]:
    """Return the names of the guide's tables."""
    return _MARK.findall(GUIDE.read_text(encoding="utf-8"))


def _table(found: re.Match[str]) -> str:
    return f"<!-- table: {found[1]} -->\n" + "\n".join(TABLES[found[1]]()) + "\n<!-- end -->\n"


def price(type_name: str) -> Figure:
    """Return today's On-Demand price in the region of the documents."""
    figure = instance_figure(load(), type_name, older_figures()["region"])
    assert figure is not None, type_name
    return figure


def saving(gpu: float, other: float) -> int:
    """Return how many percent cheaper ``other`` is."""
    return round((1 - other / gpu) * 100)


def notes(row: Any) -> Iterator[str]:
    """Return the notes on the types of a comparison."""
    for side in (row["gpu"], row["other"]):
        kind = load().get(side["type"])
        if kind.withdrawn:
            yield f"`{kind.name}`: {kind.withdrawn}."
        needed = row.get("training_parameters", 0) * _TRAINING_BYTES / _GIB
        if needed > side["count"] * _memory(kind):
            several = f"{side['count']} x " if side["count"] > 1 else ""
            yield (
                f"`{several}{kind.name}` is too small: it has {side['count'] * _memory(kind):,.0f} GiB, "
                f"and training needs {needed:,.0f} GiB at {_TRAINING_BYTES} bytes per parameter, without activations."
            )


def _memory(kind: InstanceType) -> float:
    assert kind.accelerator
    assert kind.accelerator.memory_gib_total
    return kind.accelerator.memory_gib_total


def _comparison(title: str, other: str) -> Iterator[str]:
    (table,) = (each for each in older_figures()["comparisons"] if each["title"] == title)
    yield f"| workload | GPU, then | now | {other}, then | now | cheaper by, then | now | |"
    yield "|---|--:|--:|--:|--:|--:|--:|---|"
    for row in table["rows"]:
        now = [side["count"] * price(side["type"]).usd_per_hour for side in (row["gpu"], row["other"])]
        names = [f"{side['count']} x {side['type']}" for side in (row["gpu"], row["other"])]
        yield (
            f"| {row['workload']} | {names[0]} {_usd(row['gpu']['usd_per_hour'])} | {_usd(now[0])} "
            f"| {names[1]} {_usd(row['other']['usd_per_hour'])} | {_usd(now[1])} "
            f"| {row['saving_percent']}% | **{saving(*now)}%** | {' '.join(notes(row))} |"
        )


def _selections() -> Iterator[str]:
    yield "| type | recommended for | memory, then | accelerators now | host now | price, then | now | then to now |"
    yield "|---|---|---|---|--:|--:|--:|--:|"
    for table in older_figures()["selections"]:
        for row in table["rows"]:
            kind, now = load().get(row["type"]), price(row["type"]).usd_per_hour
            chip = kind.accelerator
            assert chip
            change = round((now / row["usd_per_hour"] - 1) * 100, 1)
            changed = f"{change:+g}%" if abs(change) >= 0.5 else "unchanged"
            yield (
                f"| {kind.name}{' (withdrawn)' if kind.withdrawn else ''} | {row['for'].replace('<', '&lt;')} "
                f"| {row['memory']} "
                f"| {chip.count} x {chip.name}, {chip.memory_gib_each:g} GiB each | {kind.memory_gib:g} GiB "
                f"| {_usd(row['usd_per_hour'])} | {_usd(now)} | {changed} |"
            )


def _list_prices() -> Iterator[str]:
    yield "| GPU | list price, then | on EC2 | one GPU per hour, now | hours of it for the list price |"
    yield "|---|--:|---|--:|--:|"
    for row in older_figures()["list_prices"]:
        if row["type"] is None:
            yield f"| {row['gpu']} | {row['quote']} | not offered | - | - |"
            continue
        chip = load().get(row["type"]).accelerator
        assert chip
        hourly = price(row["type"]).usd_per_hour / chip.count
        hours = " to ".join(f"{each / hourly:,.0f}" for each in row["usd"] if each)
        more = " and more" if row["usd"][1] is None else ""
        yield f"| {row['gpu']} | {row['quote']} | {row['type']}, {chip.count} GPUs | {_usd(hourly)} | {hours}{more} |"


def _claims() -> Iterator[str]:
    yield "| then | an hour of | instead of | cheaper by, now |"
    yield "|---|---|---|--:|"
    for row in older_figures()["claims"]:
        sides = [row["other"], row["gpu"]]
        now = [side["count"] * price(side["type"]).usd_per_hour for side in sides]
        yield f'| "{row["quote"]}" | {sides[0]["type"]} | {sides[1]["type"]} | {saving(now[1], now[0])}% |'


def _purchases() -> Iterator[str]:
    yield f"| type | {' | '.join(each.replace('-', ' ') for each in PURCHASES)} |"
    yield "|---|" + "--:|" * len(PURCHASES)
    names = [row["type"] for table in older_figures()["selections"] for row in table["rows"]]
    compared = [
        row[side]["type"]
        for each in older_figures()["comparisons"]
        for row in each["rows"]
        for side in row
        if side in ("gpu", "other")
    ]
    for name in dict.fromkeys([*names, *compared]):
        figures = [instance_figure(load(), name, older_figures()["region"], purchase) for purchase in PURCHASES]
        cells = " | ".join(_usd(figure.usd_per_hour) if figure else "unknown" for figure in figures)
        yield f"| {name} | {cells} |"


def _usd(value: float) -> str:
    return f"{value:,.0f}.00" if value >= 100 and value == int(value) else f"{value:,.3f}".rstrip("0").rstrip(".")


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "training": lambda: _comparison("Training Cost Comparison", "Trainium"),
    "inference": lambda: _comparison("Inference Cost Comparison", "Inferentia"),
    "selections": _selections,
    "list-prices": _list_prices,
    "claims": _claims,
    "purchases": _purchases,
}

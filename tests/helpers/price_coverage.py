"""The accelerated types that are sold in a region and have no price there, for ``docs/guides/cost.md``.

``make price-coverage`` prints them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from eks_hardware.catalogue import load
from eks_hardware.cost import Purchase, instance_figure
from helpers.paths import ROOT

GUIDE = ROOT / "docs" / "guides" / "cost.md"
_MARK = re.compile(r"<!-- prices without a source -->\n.*?<!-- end -->\n", re.DOTALL)
_WAYS: dict[Purchase, str] = {"on-demand": "On-Demand", "spot": "Spot", "capacity-block": "Capacity Blocks"}


class Cell(NamedTuple):
    """A way to buy a type in a region, with whether its price is known."""

    purchase: Purchase
    type_name: str
    region: str
    known: bool


def cells() -> Iterator[Cell]:
    """Yield every way to buy an accelerated type, in each region that offers the type."""
    catalogue = load()
    for name in catalogue.names:
        kind = catalogue.get(name)
        if kind.accelerator is None:
            continue
        for region in catalogue.offered_regions(name):
            for purchase in _WAYS:
                if purchase in kind.usage_classes:
                    known = instance_figure(catalogue, name, region, purchase) is not None
                    yield Cell(purchase, name, region, known)


def guide() -> str:
    """Return the guide with its list regenerated and its text unchanged."""
    section = "\n".join(["<!-- prices without a source -->", *_lines(), "<!-- end -->", ""])
    return _MARK.sub(lambda _: section, GUIDE.read_text(encoding="utf-8"))


def _lines() -> Iterator[str]:
    every = list(cells())
    yield "| bought as | prices | unknown |"
    yield "|---|--:|--:|"
    for words, of, unknown in _by_way(every):
        yield f"| {words} | {len(of)} | {len(unknown)} |"
    unknown_of_all = sum(not cell.known for cell in every)
    yield f"| all | {len(every)} | {unknown_of_all} ({unknown_of_all / len(every):.0%}) |"
    yield ""
    yield "| bought as | types | regions without a price |"
    yield "|---|---|---|"
    for words, _, unknown in _by_way(every):
        yield from (f"| {words} | `{types}` | `{regions}` |" for types, regions in _named(unknown))


def _by_way(every: list[Cell]) -> Iterator[tuple[str, list[Cell], list[Cell]]]:
    for purchase, words in _WAYS.items():
        of = [cell for cell in every if cell.purchase == purchase]
        yield words, of, [cell for cell in of if not cell.known]


def _named(unknown: list[Cell]) -> Iterator[tuple[str, str]]:
    """Yield the sizes of each family that lack a price in the same regions."""
    regions: dict[str, list[str]] = {}
    for cell in unknown:
        regions.setdefault(cell.type_name, []).append(cell.region)
    sizes: dict[tuple[str, str], list[str]] = {}
    for name, where in regions.items():
        family, _, size = name.partition(".")
        sizes.setdefault((family, " ".join(where)), []).append(size)
    for (family, names), found in sizes.items():
        all_sizes = ",".join(found)
        yield f"{family}.{all_sizes if len(found) == 1 else '{' + all_sizes + '}'}", names


if __name__ == "__main__":
    print("\n".join(_lines()))

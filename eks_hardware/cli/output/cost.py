"""The cost of a strategy as text of 80 columns and as JSON."""

from __future__ import annotations

import datetime
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from eks_hardware import field_paths
from eks_hardware.catalogue import load
from eks_hardware.cli.output import console, table
from eks_hardware.cli.output.narrow import fitted
from eks_hardware.cost import (
    HOURS_PER_MONTH,
    LEVELS,
    NO_SAVINGS_PLANS,
    PURCHASES,
    Commitment,
    CostLine,
    Level,
    Purchase,
    StrategyCost,
    commitment,
    instance_figure,
    oldest_price,
    why_outdated,
    why_unknown,
)
from eks_hardware.cost.model import sum_of
from eks_hardware.cost.price_estimate import PriceEstimate, PriceEstimates
from eks_hardware.printable import counted, joined, usd
from eks_hardware.resolve import ResolvedStrategy
from eks_hardware.spellings import capacity_words

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_UNDATED = "undated"
_PARTS = 16
_PARTS_PER_NODE = 3
"""Number of node prices that are listed. ``_PARTS`` is the number of groups, pools and sections on one screen."""
_NOT_IN_JSON = ("short_name", "capacity_types")
"""Fields that repeat a part of ``name``."""
_COMMITMENTS: dict[str, dict[Purchase, str]] = {
    "reserved": {"reserved-1y": "1 year", "reserved-3y": "3 years"},
    "Savings Plans": {"savings-plan-1y": "1 year", "savings-plan-3y": "3 years"},
}
_COLUMNS: dict[Purchase, str] = {
    "on-demand": "\nOn-\nDemand",
    "spot": "\n\nSpot",
    "capacity-block": "\nCapacity\nBlock",
    "reserved-1y": "\nReserved\n1 year",
    "reserved-3y": "\nReserved\n3 years",
    "savings-plan-1y": "Savings\nPlan\n1 year",
    "savings-plan-3y": "Savings\nPlan\n3 years",
}


# --- JSON


def content(resolved: ResolvedStrategy, cost: StrategyCost) -> dict[str, object]:
    """Return the cost with stable keys. An unknown price is null."""
    return {
        "strategy": cost.name,
        "region": cost.region,
        "currency": "USD",
        "hours_per_month": HOURS_PER_MONTH,
        "totals": {
            level: {
                "usd_per_hour": cost.usd_per_hour(level),
                "usd_per_month": cost.usd_per_month(level),
                "at_least": bool(cost.unknown(level)),
                "usd_per_hour_at_most": cost.usd_per_hour_at_most(level),
                "unknown": [line.path for line in cost.unknown(level)],
            }
            for level in LEVELS
        },
        "lines": [_line_content(line) for line in cost.lines],
        "purchases": [dict(_purchase_content(name, cost.region)) for name in _types(resolved, cost)],
        "commitments": _commitment_content(cost),
        "oldest_price": _oldest_content(cost),
        "estimated_prices": [
            {"instance_type": name, "usd_per_hour": found.usd_per_hour, "how": found.how}
            for name, found in _estimates(cost).items()
        ],
        "not_counted": list(cost.not_counted),
    }


def _oldest_content(cost: StrategyCost) -> dict[str, object] | None:
    oldest = oldest_price(cost, datetime.date.today())
    return oldest and {"path": oldest.line.path, "as_of": oldest.as_of, "days": oldest.days, "source": oldest.source}


def _commitment_content(cost: StrategyCost) -> dict[str, object] | None:
    committed = commitment(cost, load())
    return committed and {
        "level": committed.level,
        "usd_per_hour": {"on-demand": committed.on_demand, **committed.by_term},
        "on_demand_types": {term: list(names) for term, names in committed.left_out.items()},
    }


def _line_content(line: CostLine) -> dict[str, object]:
    known = {name: value for name, value in asdict(line).items() if name not in _NOT_IN_JSON}
    return {
        **known,
        "usd_per_hour": {level: line.usd_per_hour(level) for level in LEVELS},
        "usd_per_hour_at_most": {level: line.usd_per_hour_at_most(level) for level in LEVELS},
    }


def _purchase_content(type_name: str, region: str) -> Iterator[tuple[str, object]]:
    yield "instance_type", type_name
    for purchase in PURCHASES:
        figure = instance_figure(load(), type_name, region, purchase)
        why = {"why": why_unknown(load(), type_name, region, purchase)}
        yield purchase, asdict(figure) if figure else {"usd_per_hour": None, **why}


def _types(resolved: ResolvedStrategy, cost: StrategyCost) -> list[str]:
    """Return all instance types of the node groups, and, for each pool, the type that its cost is based on."""
    groups = [name for group in resolved.node_groups for name in group.instance_types]
    counted = [line.instance_type for line in cost.lines if line.instance_type]
    return list(dict.fromkeys([*groups, *counted]))


# --- text


def show(resolved: ResolvedStrategy, cost: StrategyCost, *, everything: bool) -> None:
    """Print each part with its cost, and the totals, on one screen; with ``everything`` each line and its source."""
    out = console()
    out.print(f"{cost.name}, {cost.region}: US dollars per hour", markup=False, style="bold")
    out.print()
    if everything:
        _show_everything(out, resolved, cost)
        return
    out.print(fitted(_parts_table(cost), out))
    if starting := _starting_at_0(cost):
        _print_list(out, "Cost at the minimum size", starting)
    bounded = cost.usd_per_hour_at_most("max") is not None
    title = 'Price unknown; "at most" uses On-Demand prices' if bounded else "Not in the totals: the price is unknown"
    _print_list(out, title, _unpriced(cost, _PARTS))
    _print_list(out, "With a commitment, no upfront", list(_commitments(cost)))
    _print_list(out, "Not shown without --all", [_left_out(resolved, cost)])
    _print_age(out, cost)


def _show_everything(out: Console, resolved: ResolvedStrategy, cost: StrategyCost) -> None:
    out.print(fitted(_lines_table(cost), out))
    out.print()
    out.print("Instance prices by purchasing option, US dollars per hour", style="bold")
    out.print()
    out.print(fitted(_purchases_table(_types(resolved, cost), cost.region), out))
    for title, texts in (
        ("With a commitment, no upfront", _commitments(cost)),
        ("Assumptions", _notes(cost)),
        ("Unknown prices", _unknowns(resolved, cost)),
        ("Price sources", _sources(resolved, cost)),
        ("Not included", cost.not_counted),
    ):
        _print_list(out, title, list(texts))
    _print_age(out, cost)


def _print_age(out: Console, cost: StrategyCost) -> None:
    if oldest := oldest_price(cost, datetime.date.today()):
        out.print()
        text = f"Oldest price: {oldest.as_of}, {oldest.days} days ago ({_label(oldest.line.path)})"
        out.print(text, markup=False, soft_wrap=True)


def _print_list(out: Console, title: str, texts: Sequence[str]) -> None:
    if not texts:
        return
    out.print()
    out.print(title, style="bold")
    for text in texts:
        lines = textwrap.wrap(text, out.width, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)
        out.print("\n".join(lines), markup=False, soft_wrap=True)


def _lines_table(cost: StrategyCost) -> Table:
    lines_table = table(("Item", "Quantity", *LEVELS), right=("Quantity", *LEVELS), fold=("Item",))
    label = ""
    for line in cost.lines:
        if _label(line.path) != label:
            label = _label(line.path)
            lines_table.add_row(label, style="bold")
        lines_table.add_row(f"  {line.name}{_at_max(line)}", _units(line), *_amounts([line]))
    _add_totals(lines_table, cost)
    return lines_table


def _add_totals(lines_table: Table, cost: StrategyCost) -> None:
    lines_table.add_row()
    for name, hours in (("hour", 1), (f"month ({HOURS_PER_MONTH} hours)", HOURS_PER_MONTH)):
        cells = [_total(cost, level, hours) for level in LEVELS]
        lines_table.add_row(f"Total per {name}", "", *cells, style="bold")


def _parts_table(cost: StrategyCost) -> Table:
    """Return a row for each group, pool and section. If there are many, the least expensive ones share a row."""
    parts: dict[str, list[CostLine]] = {}
    for line in cost.lines:
        parts.setdefault(_label(line.path), []).append(line)
    by_cost = sorted(parts, key=lambda label: sum_of(parts[label], "max"), reverse=True)
    small = by_cost[_PARTS:] if len(parts) > _PARTS + 1 else []
    parts_table = table(("Item", "Quantity", *LEVELS), right=("Quantity", *LEVELS), fold=("Item",))
    for label, lines in parts.items():
        if label not in small:
            units = _units(lines[0]) if lines[0].kind == "instances" else ""
            parts_table.add_row(f"{label}: {_named(lines)}", units, *_amounts(lines))
    if small:
        parts_table.add_row(f"{len(small)} more items", "", *_amounts([line for each in small for line in parts[each]]))
    _add_totals(parts_table, cost)
    return parts_table


def _named(lines: Sequence[CostLine]) -> str:
    """Return the name of a part's first line, and the number of other lines except volumes."""
    first = lines[0]
    more = sum(line.kind != "volumes" for line in lines[1:])
    if first.kind != "instances":
        return f"{first.short_name} + {more} more" if more else first.short_name
    # The cost at max is that of On-Demand nodes, even for pools that prefer Spot.
    bought = "" if "on-demand" in first.capacity_types else f" {capacity_words(first.capacity_types)}"
    return f"{first.short_name}{bought}{_at_max(first)}"


def _at_max(line: CostLine) -> str:
    return f", at max {line.instance_type_at_max}" if line.instance_type_at_max else ""


def _amounts(lines: Sequence[CostLine]) -> list[str]:
    """Return the known cost of some lines at each level; ``+`` marks that a part of it is unknown."""

    def amount(level: Level) -> str:
        total, unknown = sum_of(lines, level), any(line.is_unknown(level) for line in lines)
        # The price of the nodes is missing: the price of their disks alone would mislead.
        if unknown and lines[0].usd_per_hour(level) is None:
            bounds = [line.usd_per_hour_at_most(level) for line in lines]
            return usd(None) if None in bounds else f"<={usd(sum(bound or 0.0 for bound in bounds))}"
        return f"{_usd(total)}+" if unknown else _usd(total)

    return [amount(level) for level in LEVELS]


def _left_out(resolved: ResolvedStrategy, cost: StrategyCost) -> str:
    """Return what ``--all`` adds."""
    parts = [
        "volumes of each group",
        *(["Spot and reserved prices"] if _types(resolved, cost) else []),
        counted(len(list(_notes(cost))), "assumption"),
        counted(len(list(_sources(resolved, cost))), "price source"),
        f"{len(cost.not_counted)} kinds of cost are not in the totals, such as data transfer",
    ]
    return ", ".join(parts)


def _total(cost: StrategyCost, level: Level, hours: int) -> str:
    text = cost.in_words(level, lambda each: usd(each, None if hours == 1 else 0), hours=hours, between="\n")
    return text.replace("at least ", "at least\n").replace("at most ", "at most\n")


def _purchases_table(types: Sequence[str], region: str) -> Table:
    rows = {
        name: {purchase: instance_figure(load(), name, region, purchase) for purchase in PURCHASES} for name in types
    }
    known: list[Purchase] = [purchase for purchase in PURCHASES if any(row[purchase] for row in rows.values())]
    names = [_COLUMNS[purchase] for purchase in known]
    purchases_table = table(("\n\nInstance type", *names), right=names, fold=("\n\nInstance type",))
    for name, row in rows.items():
        purchases_table.add_row(
            name, *(_usd(figure.usd_per_hour if figure else None) for figure in map(row.get, known))
        )
    return purchases_table


def _notes(cost: StrategyCost) -> Iterator[str]:
    """Yield each note once, after the lines that it applies to."""
    about: dict[str, list[str]] = {}
    for line in cost.lines:
        if line.note:
            about.setdefault(line.note, []).append(_label(line.path))
    for note, labels in about.items():
        yield f"{', '.join(dict.fromkeys(labels))}: {note}"


def _unknowns(resolved: ResolvedStrategy, cost: StrategyCost) -> Iterator[str]:
    """Yield items that the totals exclude, and types with outdated reserved prices."""
    yield from _unpriced(cost)
    for name in _types(resolved, cost):
        if why := why_outdated(load(), name):
            yield why
    yield f"Savings Plans: {NO_SAVINGS_PLANS}"


def _commitments(cost: StrategyCost) -> Iterator[str]:
    """Yield one line with the cost of the On-Demand nodes under each commitment, if any of these prices is known."""
    committed = commitment(cost, load())
    if committed is None or not any(committed.by_term.values()):
        return

    now = usd(committed.on_demand * HOURS_PER_MONTH, 0)
    parts = "; ".join(_commitment_words(committed, title, terms) for title, terms in _COMMITMENTS.items())
    yield f"nodes at {committed.level} that run all month: On-Demand {now}; {parts}"


def _commitment_words(found: Commitment, title: str, terms: Mapping[Purchase, str]) -> str:
    """Return ``reserved 543 for 1 year, 373 for 3``, with the types that have no price and count On-Demand."""
    if all(found.by_term[term] is None for term in terms):
        return f"{title} unknown"
    shown = []
    for term, years in terms.items():
        value = found.by_term[term]
        rest = _staying(found.left_out[term]) if value else ""
        shown.append(f"{usd(value and value * HOURS_PER_MONTH, 0)} for {years}{rest}")
    return f"{title} {', '.join(shown)}"


def _staying(types: Sequence[str]) -> str:
    return f" ({joined(types, 'and')} {'stays' if len(types) == 1 else 'stay'} On-Demand)" if types else ""


def _starting_at_0(cost: StrategyCost) -> list[str]:
    """Return the always-on cost, and the price of each node of groups and pools that start without nodes."""
    later = [line for line in cost.lines if line.kind == "instances" and line.units["max"] and not line.units["min"]]
    if not later:
        return []
    figures = {line.instance_type_at("max") or line.short_name: (line.figure_at("max"), line.ceiling) for line in later}
    prices = [
        f"{name} {'' if known else 'at most '}{usd(each.usd_per_hour)}"
        for name, (known, ceiling) in figures.items()
        if (each := known or ceiling)
    ]
    shown = [*prices[:_PARTS_PER_NODE], *([f"{more} more"] if (more := len(prices) - _PARTS_PER_NODE) > 0 else [])]
    always = " ".join(_total(cost, "min", HOURS_PER_MONTH).split())
    price = f" per hour while it runs: {', '.join(shown)}" if shown else " while it runs"
    return [
        f"{always} per month is the always-on part: groups and pools with a minimum of 0 have no nodes",
        f"each node adds its price{price}",
    ]


def _unpriced(cost: StrategyCost, most: int | None = None) -> list[str]:
    """Return the items whose price is unknown, with estimates; ``most`` limits their number."""
    estimates = _estimates(cost)
    items = [
        f"{_label(line.path)}: {', '.join(_about(name, estimates) for name in line.unpriced) or line.name}"
        f"{_of_block(line)}"
        for line in cost.unknown("max")
    ]
    return items if most is None or len(items) <= most else [*items[:most], f"{len(items) - most} more"]


def _estimates(cost: StrategyCost) -> dict[str, PriceEstimate]:
    """Return the estimated On-Demand prices of instance types that have no price in the region."""
    estimates = PriceEstimates(load())
    names = dict.fromkeys(name for line in cost.unknown("max") for name in line.unpriced)
    missing = (name for name in names if instance_figure(load(), name, cost.region, "on-demand") is None)
    return {name: found for name in missing if (found := estimates.of(name, cost.region))}


def _about(name: str, estimates: Mapping[str, PriceEstimate]) -> str:
    found = estimates.get(name)
    return f"{name}, On-Demand about {usd(found.usd_per_hour)} ({found.how})" if found else name


def _of_block(line: CostLine) -> str:
    """Return what is unknown about a Capacity Block without an AWS account."""
    if line.capacity_types == ("reserved",) and line.figure:
        return " as a Capacity Block, which you pay for when you buy it; the totals use the On-Demand price"
    if "capacity-block" not in line.capacity_types:
        return ""
    return "; you pay for the block when you buy it, and only `eks-hardware doctor` reads its size from AWS"


def _sources(resolved: ResolvedStrategy, cost: StrategyCost) -> Iterator[str]:
    """Yield every price source with its notes, oldest first."""
    notes: dict[tuple[str, str], list[str]] = {}
    for line in cost.lines:
        if line.figure and line.kind != "instances":
            notes.setdefault((line.figure.as_of, line.figure.source), [])
    for name in _types(resolved, cost):
        for purchase in PURCHASES:
            if figure := instance_figure(load(), name, cost.region, purchase):
                said = notes.setdefault((figure.as_of, figure.source), [])
                # Notes on Spot prices are about zones, and notes on Capacity Blocks are assumptions.
                if figure.note and purchase not in ("spot", "capacity-block") and figure.note not in said:
                    said.append(figure.note)
    for as_of, source in sorted(notes, key=lambda key: (key[0] == _UNDATED, key)):
        yield "; ".join([f"{as_of}: {source}", *notes[as_of, source]])


def _label(path: str) -> str:
    """Return a label: ``karpenter.node_pools[gpu].disk`` -> ``pool gpu``, ``node_groups[gpu]`` -> ``group gpu``."""
    if name := field_paths.name_of_item(path):
        return f"{'pool' if 'pool' in field_paths.list_of(path) else 'group'} {name}"
    return field_paths.section(path)


def _units(line: CostLine) -> str:
    """Return ``2/2/4``, or one number if it is the same at every level."""
    numbers = [f"{units:.4g}" for units in line.units.values()]
    return numbers[0] if len(set(numbers)) == 1 else "/".join(numbers)


def _usd(value: float | None) -> str:
    return "-" if value == 0 else usd(value)

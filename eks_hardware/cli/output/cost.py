"""What a strategy costs, as text of 80 columns and as content for JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from eks_hardware import field_paths

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from eks_hardware.cost import CostLine, Level, Purchase, StrategyCost
    from eks_hardware.resolve import ResolvedStrategy

_UNKNOWN = "unknown"
_UNDATED = "undated"
_COLUMNS: dict[Purchase, str] = {
    "on-demand": "on\ndemand",
    "spot": "\nspot",
    "reserved-1y": "reserved\n1 year",
    "reserved-3y": "reserved\n3 years",
    "savings-plan-1y": "plan\n1 year",
    "savings-plan-3y": "plan\n3 years",
}


# --- JSON


def content(resolved: ResolvedStrategy, cost: StrategyCost) -> dict[str, Any]:
    """The cost with stable keys; null is a price that no source has."""
    from eks_hardware.cost import HOURS_PER_MONTH, LEVELS

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
                "unknown": [line.path for line in cost.unknown(level)],
            }
            for level in LEVELS
        },
        "lines": [_line_content(line) for line in cost.lines],
        "purchases": [dict(_purchase_content(name, cost.region)) for name in _types(resolved, cost)],
        "not_counted": list(cost.not_counted),
    }


def _line_content(line: CostLine) -> dict[str, Any]:
    from dataclasses import asdict

    from eks_hardware.cost import LEVELS

    return {**asdict(line), "usd_per_hour": {level: line.usd_per_hour(level) for level in LEVELS}}


def _purchase_content(type_name: str, region: str) -> Iterator[tuple[str, Any]]:
    from dataclasses import asdict

    from eks_hardware.catalogue import load
    from eks_hardware.cost import PURCHASES, instance_figure, why_unknown

    yield "instance_type", type_name
    for purchase in PURCHASES:
        figure = instance_figure(load(), type_name, region, purchase)
        why = {"why": why_unknown(load(), type_name, region, purchase)}
        yield purchase, asdict(figure) if figure else {"usd_per_hour": None, **why}


def _types(resolved: ResolvedStrategy, cost: StrategyCost) -> list[str]:
    """Every type of a node group, and of a pool the one that it is counted with."""
    groups = [name for group in resolved.node_groups for name in group.instance_types]
    counted = [line.instance_type for line in cost.lines if line.instance_type]
    return list(dict.fromkeys([*groups, *counted]))


# --- text


def show(resolved: ResolvedStrategy, cost: StrategyCost) -> None:
    """Print the lines, the totals and their sources."""
    from rich.console import Console

    console = Console(highlight=False)
    console.print(f"{cost.name}, {cost.region}: US dollars an hour", markup=False, style="bold")
    console.print()
    console.print(_lines_table(cost))
    console.print()
    console.print("Ways to buy an instance, US dollars an hour", style="bold")
    console.print()
    console.print(_purchases_table(_types(resolved, cost), cost.region))
    for title, texts in (
        ("What is assumed", _notes(cost)),
        ("What has no price", _unknowns(resolved, cost)),
        ("Where prices are from", _sources(resolved, cost)),
        ("What is not counted", cost.not_counted),
    ):
        _print_list(console, title, list(texts))


def _print_list(console: Console, title: str, texts: Sequence[str]) -> None:
    import textwrap

    if not texts:
        return
    console.print()
    console.print(title, style="bold")
    for text in texts:
        lines = textwrap.wrap(text, console.width, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)
        console.print("\n".join(lines), markup=False, soft_wrap=True)


def _lines_table(cost: StrategyCost) -> RenderableType:
    from rich.table import Table

    from eks_hardware.cost import HOURS_PER_MONTH, LEVELS

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("Paid for", overflow="fold")
    table.add_column("Units", justify="right", no_wrap=True)
    for level in LEVELS:
        table.add_column(level, justify="right", no_wrap=True)
    label = ""
    for line in cost.lines:
        if _label(line.path) != label:
            label = _label(line.path)
            table.add_row(label, style="bold")
        cells = [_usd(line.usd_per_hour(level)) + ("+" if _is_part(line, level) else "") for level in LEVELS]
        table.add_row(f"  {line.name}", _units(line), *cells)
    table.add_row()
    for name, hours in (("an hour", 1), (f"a month of {HOURS_PER_MONTH} hours", HOURS_PER_MONTH)):
        cells = [_total(cost, level, hours) for level in LEVELS]
        table.add_row(f"Together {name}", "", *cells, style="bold")
    return table


def _is_part(line: CostLine, level: Level) -> bool:
    """Whether a line has a price that is not the whole."""
    return line.is_unknown(level) and line.figure_at(level) is not None


def _total(cost: StrategyCost, level: Level, hours: int) -> str:
    usd = cost.usd_per_hour(level) * hours
    shown = f"{usd:,.3f}" if hours == 1 else f"{usd:,.0f}"
    return f"at least\n{shown}" if cost.unknown(level) else shown


def _purchases_table(types: Sequence[str], region: str) -> RenderableType:
    from rich.table import Table

    from eks_hardware.catalogue import load
    from eks_hardware.cost import PURCHASES, instance_figure

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("\nType", overflow="fold")
    for purchase in PURCHASES:
        table.add_column(_COLUMNS[purchase], justify="right", no_wrap=True)
    for name in types:
        figures = [instance_figure(load(), name, region, purchase) for purchase in PURCHASES]
        table.add_row(name, *(_usd(figure.usd_per_hour) if figure else _UNKNOWN for figure in figures))
    return table


def _notes(cost: StrategyCost) -> Iterator[str]:
    """Each note once, with the lines that it is about."""
    about: dict[str, list[str]] = {}
    for line in cost.lines:
        if line.note:
            about.setdefault(line.note, []).append(_label(line.path))
    for note, labels in about.items():
        yield f"{', '.join(dict.fromkeys(labels))}: {note}"


def _unknowns(resolved: ResolvedStrategy, cost: StrategyCost) -> Iterator[str]:
    """What is left out of the sums, and reserved prices that are known and no longer hold."""
    from eks_hardware.catalogue import load
    from eks_hardware.cost import NO_SAVINGS_PLANS, outdated

    for line in cost.unknown("max"):
        yield f"{_label(line.path)}: {', '.join(line.unpriced) or line.name}"
    for name in _types(resolved, cost):
        if why := outdated(load(), name):
            yield why
    yield f"savings plans: {NO_SAVINGS_PLANS}"


def _sources(resolved: ResolvedStrategy, cost: StrategyCost) -> Iterator[str]:
    """Every source that a figure is from, the oldest first, with what is to be said of its figures."""
    from eks_hardware.catalogue import load
    from eks_hardware.cost import PURCHASES, instance_figure

    notes: dict[tuple[str, str], list[str]] = {}
    for line in cost.lines:
        if line.figure and line.kind != "instances":
            notes.setdefault((line.figure.as_of, line.figure.source), [])
    for name in _types(resolved, cost):
        for purchase in PURCHASES:
            if figure := instance_figure(load(), name, cost.region, purchase):
                said = notes.setdefault((figure.as_of, figure.source), [])
                # What is said of a spot price is about its zones.
                if figure.note and purchase != "spot" and figure.note not in said:
                    said.append(figure.note)
    for as_of, source in sorted(notes, key=lambda key: (key[0] == _UNDATED, key)):
        yield "; ".join([f"{as_of}: {source}", *notes[as_of, source]])


def _label(path: str) -> str:
    """``karpenter.node_pools[gpu].disk`` -> ``pool gpu``, ``node_groups[gpu]`` -> ``group gpu``"""
    if name := field_paths.name_of_item(path):
        return f"{'pool' if 'pool' in field_paths.list_of(path) else 'group'} {name}"
    return field_paths.section(path)


def _units(line: CostLine) -> str:
    """``2/2/4``, or one number where it is the same at every level."""
    numbers = [f"{units:.4g}" for units in line.units.values()]
    return numbers[0] if len(set(numbers)) == 1 else "/".join(numbers)


def _usd(value: float | None) -> str:
    if value is None:
        return _UNKNOWN
    return f"{value:,.3f}" if value else "-"

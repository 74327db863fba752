"""The tables of the page: cost, quotas, findings, and every derived value with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from eks_hardware.cost import HOURS_PER_MONTH, LEVELS, CostLine, Level, StrategyCost
from eks_hardware.explain import Row, sections
from eks_hardware.findings import Finding
from eks_hardware.html_report.html import Child, Html, joined, tag
from eks_hardware.html_report.report import falls_short
from eks_hardware.quotas import QuotaNeed
from eks_hardware.resolve import ResolvedStrategy
from eks_hardware.validation.terminal import counted

UNKNOWN = "unknown"
_NO_VALUE = "–"
_MOST_LINES = 40
"""Longer values are cut: user data may have 16 KiB."""


@dataclass(frozen=True)
class Column:
    """A column; numbers stand on the right."""

    label: str
    numeric: bool = False


def table(caption: str, columns: Sequence[Column], rows: Iterable[Sequence[Child]], foot: Child = None) -> Html:
    """A table that a narrow screen shows as one block a row; roles keep it a table for screen readers then."""
    head = tag(
        "tr",
        (
            tag("th", each.label, scope="col", role="columnheader", class_="number" if each.numeric else None)
            for each in columns
        ),
        role="row",
    )
    return tag(
        "table",
        tag("caption", caption),
        tag("thead", head, role="rowgroup"),
        tag("tbody", (_row(columns, cells) for cells in rows), role="rowgroup"),
        tag("tfoot", foot, role="rowgroup") if foot else None,
        role="table",
    )


def _row(columns: Sequence[Column], cells: Sequence[Child]) -> Html:
    first, *others = cells
    return tag(
        "tr",
        tag("th", first, scope="row", role="rowheader"),
        (
            tag("td", cell, role="cell", data_label=column.label, class_="number" if column.numeric else None)
            for column, cell in zip(columns[1:], others, strict=True)
        ),
        role="row",
    )


# -- cost


def usd(value: float | None) -> str:
    """US dollars an hour; ``unknown`` for None."""
    return UNKNOWN if value is None else f"${value:,.3f}"


def usd_per_month(value: float) -> str:
    """Whole US dollars."""
    return f"${value:,.0f}"


_AT = {"min": "At min", "desired": "As desired", "max": "At max"}


def cost_table(cost: StrategyCost) -> Html:
    """What each line costs an hour at min, desired and max, and all together."""
    columns = [Column("Item"), Column("USD an hour each", True), *(Column(_AT[level], True) for level in LEVELS)]
    rows = [[_item(line), _each(line), *(_at(line, level) for level in LEVELS)] for line in cost.lines]
    sums = {
        "An hour": [usd(cost.usd_per_hour(level)) for level in LEVELS],
        f"A month of {HOURS_PER_MONTH} hours": [usd_per_month(cost.usd_per_month(level)) for level in LEVELS],
    }
    foot = [
        _row(columns, [name, "", *(_at_least(cost, level, sum_) for level, sum_ in zip(LEVELS, cells, strict=True))])
        for name, cells in sums.items()
    ]
    return table("Cost by the hour", columns, rows, foot)


def _at_least(cost: StrategyCost, level: Level, words: str) -> Child:
    """A sum, and whether it leaves something out."""
    lines = cost.unknown(level)
    if not lines:
        return words
    return [words, tag("span", f"and {counted(len(lines), 'line')} without a price", class_="small")]


def _item(line: CostLine) -> Child:
    return [
        line.name,
        tag("span", line.path, class_="code small"),
        tag("span", line.note, class_="small") if line.note else None,
        tag("span", f"without a price: {', '.join(line.unpriced)}", class_="small") if line.unpriced else None,
    ]


def _each(line: CostLine) -> Child:
    figure, dearest = line.figure, line.dearest
    low = usd(figure.usd_per_hour if figure else None)
    if not dearest or dearest == figure:
        return low
    return [low, tag("span", f"{usd(dearest.usd_per_hour)} at max", class_="small")]


def _at(line: CostLine, level: Level) -> Child:
    units = line.units[level]
    if not units:
        return _NO_VALUE
    return [usd(line.usd_per_hour(level)), tag("span", f"{_units(units)} ×", class_="small")]


def _units(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"


def price_sources(cost: StrategyCost) -> Html:
    """Where prices were read, with the day that they are of."""
    figures = {
        (figure.as_of, figure.source): None
        for line in cost.lines
        for figure in (line.figure, line.dearest)
        if figure is not None
    }
    return tag("ul", (tag("li", f"{as_of}: ", _source(source)) for as_of, source in sorted(figures)), class_="small")


def _source(text: str) -> Html:
    """A link where it is an address and nothing else."""
    if text.startswith("https://") and " " not in text:
        return tag("a", text, href=text, rel="noreferrer")
    return tag("span", text)


# -- quotas


def quota_table(needs: Sequence[QuotaNeed]) -> Html:
    """What is needed of each quota, beside what a new account has."""
    columns = [
        Column("Quota"),
        Column("Needed at most", True),
        Column("While updating", True),
        Column("New account", True),
        Column("To do"),
    ]
    return table("Service quotas with every group and pool at its most", columns, map(_quota, needs))


def _quota(need: QuotaNeed) -> Sequence[Child]:
    unit = f", {need.unit}" if need.unit and need.unit not in need.name else ""
    made_of_parts = need.counts_vcpus or (falls_short(need) and len(need.parts) > 1)
    return [
        [
            f"{need.name}{unit}",
            tag("span", f"{need.code or 'no code'}, {need.service}", class_="code small"),
            (tag("span", f"{part.path}: {part.text}", class_="small") for part in need.parts if made_of_parts),
        ],
        quantity(need.needed),
        f"+{quantity(need.surge)}" if need.surge else _NO_VALUE,
        UNKNOWN if need.default is None else quantity(need.default),
        tag("strong", "raise", class_="raise") if falls_short(need) else _verdict(need),
    ]


def _verdict(need: QuotaNeed) -> str:
    return "look it up" if need.default is None else "enough"


def quantity(value: float) -> str:
    """A number with at most one decimal: ``1,536``, ``2.3``."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


# -- findings


def findings_lists(findings: Sequence[Finding]) -> Html:
    """Warnings, and those that the strategy accepts with its reason."""
    shown = [each for each in findings if not each.ignored]
    ignored = [each for each in findings if each.ignored]
    return joined(
        [
            tag("ul", map(_finding, shown), class_="findings") if shown else None,
            tag("h3", "Accepted") if ignored else None,
            tag("ul", map(_finding, ignored), class_="findings accepted") if ignored else None,
        ]
    )


def _finding(finding: Finding) -> Html:
    return tag(
        "li",
        tag("span", f"{finding.severity.value} {finding.code}", class_="code label"),
        tag("span", finding.path, class_="code") if finding.path else None,
        tag("p", finding.message),
        tag("p", tag("strong", "Accepted: "), finding.ignored) if finding.ignored else None,
    )


# -- derived values

_SHOWN = ("strategy", "network", "cluster", "groups", "karpenter", "pools", "storage")
"""Parts of the resolved strategy: those about hardware and what it stands on."""


def settings(resolved: ResolvedStrategy) -> Iterator[Html]:
    """One fold for each group, pool and other part, with a table of its values."""
    for section in sections(resolved):
        if section.kind in _SHOWN:
            values: dict[bool, list[Row]] = {True: [], False: []}
            for row in section.rows:
                values[row.is_set].append(row)
            yield _fold(section.path, values[True], values[False])


def _fold(path: str, rows: Sequence[Row], unset: Sequence[Row]) -> Html:
    columns = [Column("Setting"), Column("Value"), Column("Why"), Column("From")]
    without = "; ".join(f"{row.field} ({row.reason.text})" for row in unset)
    return tag(
        "details",
        tag(
            "summary",
            tag("span", path, class_="code"),
            tag("span", f"{counted(len(rows), 'value')}, {sum(row.derived for row in rows)} derived", class_="small"),
        ),
        table(path, columns, map(_setting, rows)) if rows else None,
        tag("p", f"Without a value: {without}", class_="small") if unset else None,
    )


def _breakable(name: str) -> Child:
    """A name that a narrow column breaks between its words."""
    first, *others = name.split("_")
    return [first, (["_", tag("wbr"), each] for each in others)]


def _setting(row: Row) -> Sequence[Child]:
    lines = row.lines
    more = f"\n… {len(lines) - _MOST_LINES} more lines" if len(lines) > _MOST_LINES else ""
    source = row.reason.source
    return [
        tag("span", _breakable(row.field), class_="code"),
        tag("span", "\n".join(lines[:_MOST_LINES]) + more, class_="code value"),
        [row.reason.text, tag("span", _source(source), class_="small") if source else None],
        tag("span", row.reason.origin.value, class_=f"origin {row.reason.origin.value}"),
    ]

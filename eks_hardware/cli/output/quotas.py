"""The Service Quotas that a strategy needs, as text and as rows for JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

from eks_hardware import field_paths
from eks_hardware.cli.output.narrow import paragraph
from eks_hardware.printable import number
from eks_hardware.quotas import Part, QuotaNeed, quota_needs
from eks_hardware.resolve import resolve

if TYPE_CHECKING:
    from eks_hardware.models import Strategy

_COLUMN = 9
_NUMBERS = 3 * _COLUMN + 2
"""Width of a row's three numbers and its mark."""
_NARROWEST = 30
"""Minimum width of the names in a table. On a narrower terminal, rows become paragraphs."""
_HEADERS = ("maximum", "+update", "default")
_MORE = "*"


class _Row(NamedTuple):
    """A row of the table: the name, its indentations, the numbers and the mark."""

    name: str
    first: str
    others: str
    numbers: tuple[str, str, str]
    mark: str = ""

    def wrapped(self, columns: int) -> list[str]:
        return textwrap.wrap(
            self.name,
            columns,
            initial_indent=self.first,
            subsequent_indent=self.others,
            break_long_words=False,
            break_on_hyphens=False,
        )


def quota_table(strategy: Strategy, columns: int) -> str:
    """Return a table of every quota that a strategy needs. The strategy must have passed the rules."""
    needs = quota_needs(strategy, resolve(strategy))
    title = f"{strategy.name}, {strategy.region}: quotas with every group and pool at its maximum size"
    rows = [row for need in needs for row in _rows_of(need)]
    names = min(columns - _NUMBERS, max(len(row.first) + len(row.name) for row in rows))
    fits = names >= _NARROWEST and all(len(line) <= names for row in rows for line in row.wrapped(names))
    shown = _table(rows, names) if fits else _paragraphs(rows, columns)
    lines = (
        *textwrap.wrap(title, columns, break_long_words=False, break_on_hyphens=False),
        "",
        *shown,
        "",
        *_notes(needs, columns),
    )
    return "\n".join(lines)


def quotas_as_json(strategy: Strategy) -> dict[str, Any]:
    """Return the same quotas with stable keys, for JSON."""
    needs = quota_needs(strategy, resolve(strategy))
    return {"strategy": strategy.name, "region": strategy.region, "quotas": [_as_json(need) for need in needs]}


def _as_json(need: QuotaNeed) -> dict[str, object]:
    return {
        "kind": need.key,
        "service_code": need.service,
        "quota_code": need.code,
        "name": need.name,
        "unit": need.unit or None,
        "needed": need.needed,
        "surge": need.surge,
        "default": need.default,
        "parts": [asdict(part) for part in need.parts],
        "source": need.source,
    }


def _rows_of(need: QuotaNeed) -> Iterator[_Row]:
    unit = f" ({need.unit})" if need.unit and need.unit not in need.name else ""
    default = "?" if need.default is None else number(need.default)
    name = f"{need.code or '-':10}  {need.name}{unit}"
    yield _Row(name, "", " " * 12, _numbers(need, default), _MORE if need.above_default else "")
    if need.counts_vcpus or (need.above_default and len(need.parts) > 1):
        for part in need.parts:
            yield _Row(f"{_label(part.path)}: {part.text}", "  ", "    ", _numbers(part))


def _numbers(need: QuotaNeed | Part, default: str = "") -> tuple[str, str, str]:
    return number(need.needed), f"+{number(need.surge)}" if need.surge else "", default


def _table(rows: Sequence[_Row], names: int) -> Iterator[str]:
    for row in (_Row("", "", "", _HEADERS), *rows):
        first, *more = row.wrapped(names) or [""]
        numbers = "".join(f"{text:>{_COLUMN}}" for text in row.numbers)
        yield f"{first:<{names}}{numbers} {row.mark}".rstrip()
        yield from more


def _paragraphs(rows: Sequence[_Row], columns: int) -> Iterator[str]:
    for row in rows:
        yield from row.wrapped(columns)
        *fields, last = [(header, text) for header, text in zip(_HEADERS, row.numbers, strict=True) if text]
        marked = (last[0], f"{last[1]} {row.mark}".rstrip())
        yield from paragraph([*fields, marked], columns, indent=f"{row.first}  ")


def _label(path: str) -> str:
    """Return a label: ``karpenter.node_pools[gpu].disk`` -> ``pool gpu``, ``node_groups[gpu]`` -> ``gpu``."""
    name = field_paths.name_of_item(path)
    return f"{'pool ' if 'pool' in field_paths.list_of(path) else ''}{name}" if name else path


_NOTES = {
    "updating": "+update: extra nodes while EKS updates every node group at once; "
    "`update: {strategy: minimal}` starts none",
    "default": "default: quota of a new account; * means too low. `eks-hardware doctor FILE` checks your account's "
    "quotas",
    "both": "a pool with Spot and On-Demand capacity counts in full toward both quotas, with its largest type; "
    "Karpenter can exceed a pool's limits when it starts many nodes at once",
    "?": "?: the default quota is unknown",
}


def _notes(needs: tuple[QuotaNeed, ...], columns: int) -> Iterator[str]:
    pools = any("node_pools[" in part.path for need in needs for part in need.parts)
    applies = {
        "updating": any(need.surge for need in needs),
        "default": True,
        "both": pools,
        "?": any(need.default is None for need in needs),
    }
    for name, text in _NOTES.items():
        if applies[name]:
            yield from textwrap.wrap(text, columns, subsequent_indent="  ", break_on_hyphens=False)

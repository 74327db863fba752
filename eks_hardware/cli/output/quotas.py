"""The Service Quotas that a strategy needs, as text of 80 columns and as rows for JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from eks_hardware import field_paths
from eks_hardware.printable import number
from eks_hardware.quotas import QuotaNeed, quota_needs
from eks_hardware.resolve import resolve

if TYPE_CHECKING:
    from eks_hardware.models import Strategy

_WIDTH = 80
_COLUMN = 9
_NAMES = _WIDTH - 3 * _COLUMN - 2
_MORE = "*"


def quota_table(strategy: Strategy) -> str:
    """Return a table of every quota that a strategy needs. The strategy must have passed the rules."""
    return "\n".join(_lines(strategy))


def quota_rows(strategy: Strategy) -> dict[str, Any]:
    """Return the same rows with stable keys, for JSON."""
    return {"strategy": strategy.name, "region": strategy.region, "quotas": [_row(need) for need in _needs(strategy)]}


def _needs(strategy: Strategy) -> tuple[QuotaNeed, ...]:
    return quota_needs(strategy, resolve(strategy))


def _row(need: QuotaNeed) -> dict[str, Any]:
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


def _lines(strategy: Strategy) -> Iterator[str]:
    needs = _needs(strategy)
    title = f"{strategy.name}, {strategy.region}: quotas with every group and pool at its maximum size"
    yield from textwrap.wrap(title, _WIDTH)
    yield ""
    yield _line("", "maximum", "+update", "default")
    for need in needs:
        yield from _lines_of(need)
    yield ""
    yield from _notes(needs)


def _lines_of(need: QuotaNeed) -> Iterator[str]:
    unit = f" ({need.unit})" if need.unit and need.unit not in need.name else ""
    first, *more = textwrap.wrap(f"{need.code or '-':10}  {need.name}{unit}", _NAMES, subsequent_indent=" " * 12)
    default = "?" if need.default is None else number(need.default)
    above = need.default is not None and need.needed + need.surge > need.default
    yield _line(first, number(need.needed), _surge(need.surge), default, _MORE if above else "")
    yield from more
    if need.counts_vcpus or (above and len(need.parts) > 1):
        for part in need.parts:
            text = f"{_label(part.path)}: {part.text}"
            first, *more = textwrap.wrap(text, _NAMES, initial_indent="  ", subsequent_indent="    ")
            yield _line(first, number(part.needed), _surge(part.surge), "")
            yield from more


def _line(name: str, needed: str, surge: str, default: str, mark: str = "") -> str:
    numbers = "".join(f"{each:>{_COLUMN}}" for each in (needed, surge, default))
    return f"{name:<{_NAMES}}{numbers} {mark}".rstrip()


def _label(path: str) -> str:
    """Return a label: ``karpenter.node_pools[gpu].disk`` -> ``pool gpu``, ``node_groups[gpu]`` -> ``gpu``."""
    name = field_paths.name_of_item(path)
    return f"{'pool ' if 'pool' in field_paths.list_of(path) else ''}{name}" if name else path


def _surge(value: float) -> str:
    return f"+{number(value)}" if value else ""


_NOTES = {
    "updating": "+update: extra nodes while EKS updates every node group at once; "
    "`update: {strategy: minimal}` starts none",
    "default": "default: quota of a new account; * too low. `eks-hardware doctor FILE` checks the quotas of yours",
    "both": "a pool with Spot and On-Demand capacity counts in full toward both quotas, with its largest type; "
    "Karpenter can exceed a pool's limits when it starts many nodes at once",
    "?": "?: the default quota is unknown",
}


def _notes(needs: tuple[QuotaNeed, ...]) -> Iterator[str]:
    pools = any("node_pools[" in part.path for need in needs for part in need.parts)
    applies = {
        "updating": any(need.surge for need in needs),
        "default": True,
        "both": pools,
        "?": any(need.default is None for need in needs),
    }
    for name, text in _NOTES.items():
        if applies[name]:
            yield from textwrap.wrap(text, _WIDTH, subsequent_indent="  ")

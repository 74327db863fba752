"""The page: ``templates/page.html.j2`` with the data of a report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from eks_hardware.cost import HOURS_PER_MONTH
from eks_hardware.cost.model import sum_of
from eks_hardware.html_report.report import SMALL, Report
from eks_hardware.printable import counted, number, usd, visible

_TEMPLATES = Path(__file__).with_name("templates")


def report_page(report: Report) -> str:
    """Render a self-contained HTML page, without network access or scripts.

    The same report produces the same text, so pages can be committed next to the strategy and compared.
    """
    return _environment().get_template("page.html.j2").render(report=report)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "breakable": _breakable,
        "columns": _columns,
        "counted": counted,
        "dollars": dollars,
        "number": number,
    }
    environment.globals["sum_of"] = sum_of
    environment.globals |= {"HOURS_PER_MONTH": HOURS_PER_MONTH, "SMALL": SMALL}
    environment.globals |= {"dollars": dollars, "whole_dollars": lambda value: dollars(value, 0)}
    return environment


def _breakable(text: str) -> Markup:
    """Allow line breaks after punctuation, so that words stay whole in narrow columns."""
    return Markup("<wbr>").join(re.split(r"(?<=[-/.:=_])", text))


def _columns(zone_ids: Sequence[str], zones: Sequence[str]) -> list[int]:
    """Return the numbers of the columns of zones in the diagram, from 1."""
    return [zones.index(zone) + 1 for zone in zone_ids]


def dollars(value: float | None, digits: int | None = None) -> str:
    """Return ``$12.30``; ``unknown`` for None."""
    return usd(value) if value is None else f"${usd(value, digits)}"


def _visible(value: object) -> object:
    """Escape invisible characters in texts, except line breaks."""
    return type(value)(visible(value, kept="\n")) if isinstance(value, str) else value

"""``eks-hardware rules``: the rules that check strategies, and what each code means."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import click

from eks_hardware.cli import completers, parameters
from eks_hardware.cli.errors import exit_codes, refuse_unknown
from eks_hardware.cli.output import print_json
from eks_hardware.cli.streams import terminal_width

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_hardware.rules.explanations import Explanation


@click.command(epilog=exit_codes())
@click.argument(
    "code", required=False, shell_complete=completers.rule_codes, help="Code to explain; default: list all codes."
)
@parameters.output_format()
def rules(code: str | None, format_: str) -> None:
    """List the rules that check strategies, or explain one code with an example and its fix.

    \b
    Examples:
      eks-hardware rules
      eks-hardware rules EFA_UNSUPPORTED
    """
    from eks_hardware.rules.explanations import explanations

    known, as_json = explanations(), format_ == "json"
    if code is None:
        _list(list(known.values()), as_json)
        return
    name = code.upper().replace("-", "_")
    refuse_unknown("CODE", name, tuple(known), "`eks-hardware rules` lists the codes")
    explanation_of = known[name]
    if as_json:
        example = {
            "why": explanation_of.why,
            "breaks": explanation_of.breaks,
            "fixed": explanation_of.fixed,
            "says": _says(explanation_of),
        }
        print_json(_row(explanation_of) | example)
    else:
        click.echo(_explained(explanation_of))


def _list(known: list[Explanation], as_json: bool) -> None:
    if as_json:
        print_json({"rules": [_row(explanation) for explanation in known]})
        return
    for line in _lines(known, terminal_width()):
        click.echo(line)


def _lines(known: list[Explanation], width: int) -> Iterator[str]:
    """Yield the codes by area: in columns, or on a narrow terminal each summary below its code."""
    from eks_hardware.explain.columns import columns, widest, wrapped
    from eks_hardware.rules.reference_page import TITLES

    first = widest(explanation.code for explanation in known) + 1
    second = widest(explanation.severity.value for explanation in known) + 1
    third = width - first - second - 2
    is_wide = third >= max(first, widest(word for explanation in known for word in explanation.summary.split()))
    for area in dict.fromkeys(explanation.area for explanation in known):
        yield click.style(TITLES[area].replace("`", ""), bold=True)
        rules = [
            (explanation.code, explanation.severity.value, explanation.summary)
            for explanation in known
            if explanation.area == area
        ]
        if is_wide:
            yield from columns(rules, (first, second, third))
        else:
            for code, severity, summary in rules:
                yield from (code, *(f"  {line}" for line in wrapped(f"{severity}: {summary}", width - 2)))
        yield ""
    warnings = sum(explanation.severity.value == "warning" for explanation in known)
    yield from wrapped(f"{len(known)} codes: {len(known) - warnings} errors, {warnings} warnings", width)
    yield from wrapped("`eks-hardware rules CODE` shows an example and its fix", width)


def _row(each: Explanation) -> dict[str, object]:
    return {
        "code": each.code,
        "severity": each.severity.value,
        "area": each.area,
        "summary": each.summary,
        "source": each.source,
    }


def _says(each: Explanation) -> list[str]:
    """Return what validate prints for the example, without the position."""
    from dataclasses import replace

    from eks_hardware.rules.examples import found

    if each.example:
        return [each.example]
    return [str(replace(finding, position=None)) for finding in found(each)]


def _explained(each: Explanation) -> str:
    """Return the explanation as text for a terminal."""
    from eks_hardware.rules.explanations import is_whole

    parts = [f"{each.code}  {each.severity.value}, {each.area}", _sentence(each.summary)]
    parts.append(_wrapped(each.why))
    if each.breaks:
        where = "For example:" if is_whole(each.breaks) else "For example, in a strategy with a group `system`:"
        parts.append(f"{where}\n\n" + textwrap.indent(each.breaks.rstrip("\n"), "  "))
    parts.append("Output:\n\n" + "\n".join(_wrapped(said, "  ") for said in _says(each)))
    if each.fixed:
        parts.append("Fixed:\n\n" + textwrap.indent(each.fixed.rstrip("\n"), "  "))
    parts.append(f"Source: {each.source}")
    return "\n\n".join(parts)


def _wrapped(text: str, indent: str = "") -> str:
    width = min(terminal_width(), 100)
    return textwrap.fill(
        text, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _sentence(summary: str) -> str:
    """Return a summary as a sentence. Names of fields keep their case."""
    first = summary.partition(" ")[0]
    return f"{summary if '_' in first else summary[0].upper() + summary[1:]}."

"""Derived values as tables for a terminal, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from eks_hardware.cli.streams import terminal_width

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_hardware.explain import Row, Section

_NAME_WIDTH = 24
_LEAST_WIDTH = 20
_GAP = "  "


def _rows(section: Section, *, derived: bool) -> list[Row]:
    return [row for row in section.rows if row.derived or not derived]


def content(section: Section, *, derived: bool) -> dict[str, object]:
    """Return a section with stable keys; with ``derived`` only derived values."""
    from eks_hardware.explain import plain

    return {
        "kind": section.kind,
        "path": section.path,
        "values": [
            {
                "field": row.field,
                "value": plain(row.value),
                "origin": row.reason.origin.value,
                "reason": row.reason.text,
                "source": row.reason.source,
            }
            for row in _rows(section, derived=derived)
        ],
    }


def show(chosen: Sequence[Section], *, derived: bool) -> None:
    """Print sections; with ``derived`` only derived values."""
    width = terminal_width()
    shown = [(section, rows) for section in chosen if (rows := _rows(section, derived=derived))]
    for index, (section, rows) in enumerate(shown):
        if index:
            click.echo()
        click.secho(section.path, bold=True)
        notes: dict[str, int] = {}
        for line in _table([row for row in rows if row.is_set], notes, width):
            click.echo(line)
        for line in _below(rows, notes, width):
            click.secho(line, dim=True)


def show_parts(sections: Sequence[Section]) -> None:
    """Print one line per part at the end, where the reader of a long output sees it."""
    from eks_hardware.explain.columns import wrapped

    width = terminal_width()
    heading = "parts (show one with --section NAME, or a kind: addons, groups, pools, charts)"
    click.secho("\n" + "\n".join(wrapped(heading, width)), bold=True)
    widest = max(len(section.path) for section in sections)
    for section in sections:
        count, derived = len(section.rows), sum(row.derived for row in section.rows)
        numbers = f"{count:2} value{' ' if count == 1 else 's'}, {derived:2} derived"
        if widest + len(_GAP + numbers) <= width:
            click.echo(f"{section.path:{widest}}{_GAP}{numbers}")
        else:
            click.echo(f"{section.path}\n{_GAP}{' '.join(numbers.split())}")


def _table(rows: Sequence[Row], notes: dict[str, int], width: int) -> Iterator[str]:
    """Yield lines with each field, its value and its reason. Sources are numbered in ``notes`` and listed below.

    On a narrow terminal, values and reasons are below the fields.
    """
    from eks_hardware.explain.columns import columns, widest

    cells = []
    for row in rows:
        why = "strategy" if not row.derived else f"{row.reason.origin.value}: {row.reason.text}"
        why += _mark(row, notes)
        cells.append((row.field, row.lines, why))
    names = [_broken(field) for field, _, _ in cells]
    first = widest(line for name in names for line in name)
    rest = width - first - 2
    if rest >= 2 * _LEAST_WIDTH:
        together = ((name, value, why) for name, (_, value, why) in zip(names, cells, strict=True))
        yield from columns(together, (first, rest // 2, rest - rest // 2))
        return
    for field, value, why in cells:
        yield field
        yield from columns([("", value)], (1, width - 2))
        yield from columns([("", why)], (3, width - 4))


def _mark(row: Row, notes: dict[str, int]) -> str:
    """Return the number of a row's source in ``notes`` after a space, or an empty text if it has none."""
    return f" [{notes.setdefault(row.reason.source, len(notes) + 1)}]" if row.reason.source else ""


def _broken(field: str) -> list[str]:
    """Return a name, split before its last part if it is long: ``instance_type_in_``, ``  launch_template``."""
    if len(field) <= _NAME_WIDTH:
        return [field]
    cut = max(field.rfind(mark, 0, _NAME_WIDTH) for mark in "_.") + 1
    return [field[:cut], f"  {field[cut:]}"] if cut else [field]


def _below(rows: Sequence[Row], notes: dict[str, int], width: int) -> Iterator[str]:
    """Yield the fields without a value, each with its reason, and then the sources. Links are not broken."""
    from eks_hardware.explain.columns import wrapped

    if unset := [f"{row.field} ({row.reason.text}{_mark(row, notes)})" for row in rows if not row.is_set]:
        yield from wrapped(f"without a value: {'; '.join(unset)}", width, indent="  ", whole_words=True)
    for source, number in notes.items():
        mark = f"[{number}] "
        first, *more = wrapped(source, width - len(mark), whole_words=True)
        yield from (f"{mark}{first}", *(f"    {line}" for line in more))

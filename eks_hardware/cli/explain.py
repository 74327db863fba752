"""``eks-hardware explain``: every value that follows from a strategy, and which rule or table row it follows from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_hardware.explain import Row, Section

_NAME_WIDTH = 24
_LEAST_WIDTH = 20
_KINDS = "strategy, network, cluster, addons, groups, karpenter, pools, charts, storage, provider"


def explain(
    strategy: Annotated[str, typer.Argument(help="A strategy file, or the name of one that would become a stack.")],
    overlay: Annotated[
        list[str] | None,
        typer.Option("--overlay", help="Name of an overlay to lay over the file; may be repeated.", metavar="NAME"),
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option("--group", help="Only this node group; may be repeated.", metavar="NAME")
    ] = None,
    pool: Annotated[
        list[str] | None, typer.Option("--pool", help="Only this node pool; may be repeated.", metavar="NAME")
    ] = None,
    section: Annotated[
        list[str] | None,
        typer.Option(
            "--section",
            help=f"Only this part, or all of a kind; may be repeated. Kinds: {_KINDS}.",
            metavar="NAME",
        ),
    ] = None,
    derived: Annotated[bool, typer.Option("--derived", help="Leave out what the file itself says.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Show everything that is derived from a strategy: value, why, and the rule or table row; then a list of its parts.

    Exit code 0; 1 with errors in the strategy, which are shown as validate shows them; 2 for wrong usage.
    """
    from eks_hardware.cli.strategies import resolved_strategy
    from eks_hardware.explain import KINDS, sections

    resolved = resolved_strategy(strategy, overlay)
    _known("--group", group, [each.name for each in resolved.node_groups], resolved.name)
    _known("--pool", pool, [each.name for each in resolved.node_pools], resolved.name)
    every = sections(resolved)
    for part in section or ():
        if part not in KINDS and part not in {each.path for each in every}:
            kinds = ", ".join(KINDS)
            raise typer.BadParameter(
                f"--section {part}: {resolved.name} has no such part; choose a kind ({kinds}) "
                "or a part by its name, as explain lists them at its end without --section"
            )
    chosen = [each for each in every if _chosen(each, group or (), pool or (), section or ())]
    if as_json:
        content = {
            "strategy": resolved.name,
            "region": resolved.region,
            "sections": [_as_json(each, derived=derived) for each in chosen],
        }
        typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
        return
    _print(chosen, derived=derived)
    if not (group or pool or section):
        _print_parts(chosen)


def _known(option: str, wanted: Sequence[str] | None, names: Sequence[str], strategy: str) -> None:
    for each in wanted or ():
        if each not in names:
            there = f"it has {', '.join(names)}" if names else "it has none"
            raise typer.BadParameter(f"{option} {each}: {strategy} has no such one; {there}")


def _chosen(section: Section, groups: Sequence[str], pools: Sequence[str], parts: Sequence[str]) -> bool:
    if not groups and not pools and not parts:
        return True
    by_name = {"groups": groups, "pools": pools}.get(section.kind, ())
    return section.kind in parts or section.path in parts or section.name in by_name


def _rows(section: Section, *, derived: bool) -> list[Row]:
    return [row for row in section.rows if row.derived or not derived]


def _as_json(section: Section, *, derived: bool) -> dict[str, Any]:
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


def _print(chosen: Sequence[Section], *, derived: bool) -> None:
    import shutil

    width = shutil.get_terminal_size().columns
    first = True
    for section in chosen:
        rows = _rows(section, derived=derived)
        if not rows:
            continue
        if not first:
            typer.echo()
        first = False
        typer.secho(section.path, bold=True)
        notes: dict[str, int] = {}
        for line in _table([row for row in rows if row.is_set], notes, width):
            typer.echo(line)
        for line in _below(rows, notes, width):
            typer.secho(line, dim=True)


def _print_parts(sections: Sequence[Section]) -> None:
    """One line a part, behind the last of them: where a reader of a long text is."""
    typer.secho("\nparts (one alone: --section 'NAME'; or a kind: addons, groups, pools, charts)", bold=True)
    width = max(len(each.path) for each in sections)
    for each in sections:
        count = len(each.rows)
        derived = sum(row.derived for row in each.rows)
        typer.echo(f"{each.path:{width}}  {count:2} value{' ' if count == 1 else 's'}, {derived:2} derived")


def _table(rows: Sequence[Row], notes: dict[str, int], width: int) -> Iterator[str]:
    """Field, value, why. Sources are numbered in ``notes``, and are listed below."""
    from eks_hardware.explain.columns import columns, widest

    cells = []
    for row in rows:
        why = "strategy" if not row.derived else f"{row.reason.origin.value}: {row.reason.text}"
        why += _mark(row, notes)
        cells.append((_broken(row.field), row.lines, why))
    first = widest(line for name, _, _ in cells for line in name)
    rest = max(width - first - 2, 2 * _LEAST_WIDTH)
    return columns(cells, (first, rest // 2, rest - rest // 2))


def _mark(row: Row, notes: dict[str, int]) -> str:
    """The number of a row's source in ``notes``, behind a blank; nothing without a source."""
    return f" [{notes.setdefault(row.reason.source, len(notes) + 1)}]" if row.reason.source else ""


def _broken(field: str) -> list[str]:
    """A name with its last part below where it is long: ``instance_type_in_``, ``  launch_template``."""
    if len(field) <= _NAME_WIDTH:
        return [field]
    cut = max(field.rfind(mark, 0, _NAME_WIDTH) for mark in "_.") + 1
    return [field[:cut], f"  {field[cut:]}"] if cut else [field]


def _below(rows: Sequence[Row], notes: dict[str, int], width: int) -> Iterator[str]:
    """What has no value, each with its reason; then the sources, in which links stay whole."""
    from eks_hardware.explain.columns import wrapped

    if unset := [f"{row.field} ({row.reason.text}{_mark(row, notes)})" for row in rows if not row.is_set]:
        yield from wrapped(f"without a value: {'; '.join(unset)}", width, indent="  ", whole_words=True)
    for source, number in notes.items():
        mark = f"[{number}] "
        first, *more = wrapped(source, width - len(mark), whole_words=True)
        yield from (f"{mark}{first}", *(f"    {line}" for line in more))

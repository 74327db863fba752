"""``eks-hardware lock``: choose the hardware for the workloads of strategies, and keep the choice in lock files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

import click
from click.exceptions import Exit

from eks_hardware.cli import completers, parameters
from eks_hardware.cli.errors import FAILED, exit_codes, fail, fail_with, refuse_unknown, say
from eks_hardware.cli.output import print_json

if TYPE_CHECKING:
    from eks_hardware.advisor.strategies.lock import Entry, LockError
    from eks_hardware.advisor.strategies.relock import Choice, Relocked
    from eks_hardware.loader import LoadedStrategy


@click.command(epilog=exit_codes("errors in a strategy, or --check finds a difference"))
@click.argument(
    "files",
    nargs=-1,
    shell_complete=completers.strategies,
    help="Strategy files or names; default: all strategies that become stacks.",
)
@parameters.overlays("each file")
@click.option("--check", is_flag=True, help="Write nothing; exit with code 1 if today's choice differs.")
@click.option("--upgrade", is_flag=True, help="Also choose again for workloads that are already locked.")
@click.option(
    "--group", "groups", multiple=True, metavar="NAME", help="Upgrade only this group or pool; can be repeated."
)
@parameters.output_format(text="Format of the result on stdout; the lock file does not depend on it.")
def lock(
    files: tuple[str, ...], overlays: tuple[str, ...], check: bool, upgrade: bool, groups: tuple[str, ...], format_: str
) -> None:
    """Choose hardware for `workload: {...}`, and write it to FILE.lock.json next to the strategy.

    Locked choices are kept: a newer catalogue changes them only with --upgrade. Commit the lock file: validate and
    cdktf synth read it. If there are errors, nothing is written.

    \b
    Examples:
      eks-hardware lock my-cluster.yaml
      eks-hardware lock --check
      eks-hardware lock my-cluster.yaml --upgrade --group serving
    """
    from eks_hardware.advisor.strategies.lock import LockError

    if check and upgrade:
        raise click.UsageError("--check and --upgrade cannot be combined: --check writes nothing; remove one of them")
    if groups and not upgrade:
        raise click.UsageError("--group requires --upgrade; add --upgrade")
    strategies, laid_over = _read(files, overlays)
    _refuse_unknown(groups, strategies)
    relocked = _relocked(strategies, laid_over, upgrade=groups or ("all" if upgrade else ()), compare=check)
    if not check:
        try:
            for loaded, locked in relocked:
                changed = _write(loaded, locked)
                if format_ == "text":
                    _show_written(loaded, locked, changed=changed)
        except LockError as error:
            _refuse(error)
    if format_ == "json":
        print_json({"files": [_content(loaded, locked) for loaded, locked in relocked]})
    elif check:
        for loaded, locked in relocked:
            _compare(loaded, locked)
    if check and any(_is_behind(locked) for _, locked in relocked):
        raise Exit(FAILED)


def _read(files: Sequence[str], overlays: Sequence[str]) -> tuple[Sequence[LoadedStrategy], list[str]]:
    """Return the strategies, without running rules: most rules need the hardware."""
    from eks_hardware.loader import discover, read_strategies
    from eks_hardware.loader.discovery import named_strategy, read_environment

    named, default_overlays = read_environment(os.environ)
    laid_over = list(overlays) or default_overlays
    paths = discover([named_strategy(file, named) for file in files] if files else named)
    reading = read_strategies(paths, laid_over)
    if reading.findings:
        fail_with(reading.findings)
    return reading.strategies, laid_over


def _refuse_unknown(groups: Sequence[str], strategies: Sequence[LoadedStrategy]) -> None:
    from eks_hardware.advisor.strategies.questions import described_nodes

    names = {node.name for strategy in strategies for node in described_nodes(strategy).values()}
    for group in groups:
        refuse_unknown("--group", group, sorted(names))


def _relocked(
    strategies: Sequence[LoadedStrategy], overlays: list[str], *, upgrade: Sequence[str], compare: bool
) -> list[tuple[LoadedStrategy, Relocked]]:
    """Return the new content of every lock file, before any is written."""
    from eks_hardware.advisor.strategies.lock import LockError
    from eks_hardware.advisor.strategies.relock import relock
    from eks_hardware.findings import Finding, StrategyError

    relocked: list[tuple[LoadedStrategy, Relocked]] = []
    findings: list[Finding] = []
    for loaded in strategies:
        try:
            relocked.append((loaded, relock(loaded, overlays=overlays, upgrade=upgrade, compare=compare)))
        except StrategyError as error:
            findings.extend(error.findings)
        except LockError as error:
            _refuse(error)
    if findings:
        fail_with(findings)
    return relocked


def _write(loaded: LoadedStrategy, relocked: Relocked) -> bool:
    """Write the lock file if there is something to lock, and return whether it changed."""
    from eks_hardware.advisor.strategies.lock import lock_path, write

    if loaded.path is None or not (relocked.choices or relocked.removed):
        return False
    return write(lock_path(loaded.path), relocked.entries)


def _show_written(loaded: LoadedStrategy, relocked: Relocked, *, changed: bool) -> None:
    from eks_hardware.advisor.strategies.lock import lock_path
    from eks_hardware.loader.yaml_files import display_name

    if not (relocked.choices or relocked.removed):
        _tell_nothing(loaded)
    elif loaded.path is not None:
        _tell(relocked, {"new": "chosen", "kept": "kept", "changed": "changed"}, "removed: no longer used")
        name = display_name(lock_path(loaded.path))
        if not relocked.entries:
            say(f"{name} removed: it has no entries left")
        else:
            say(f"{name} written; commit it" if changed else f"{name} is up to date")


def _is_changed(relocked: Relocked) -> bool:
    """Return whether the choices in the new lock file differ from those in the old one."""
    return bool(relocked.removed) or any(choice.state != "kept" for choice in relocked.choices)


def _is_behind(relocked: Relocked) -> bool:
    """Return whether the lock file is out of date, or would be different today."""
    return _is_changed(relocked) or any(choice.differs_today for choice in relocked.choices)


def _compare(loaded: LoadedStrategy, relocked: Relocked) -> None:
    """Show how today's choices differ from the locked ones."""
    if not (relocked.choices or relocked.removed):
        _tell_nothing(loaded)
        return
    words = {"new": "not locked; today", "kept": "locked", "changed": "outdated; today"}
    _tell(relocked, words, "no longer used")
    if _is_changed(relocked):
        say(f"{loaded.file}: the lock file is out of date; run `eks-hardware lock {loaded.file}`")
    elif _is_behind(relocked):
        say(f"{loaded.file}: `eks-hardware lock --upgrade {loaded.file}` would change locked choices")
    else:
        say(f"{loaded.file}: the locked choices are the same as today's")


def _content(loaded: LoadedStrategy, relocked: Relocked) -> dict[str, object]:
    from eks_hardware.advisor.strategies.lock import as_json

    def entry(each: Entry | None) -> dict[str, object] | None:
        return None if each is None else as_json(each)

    return {
        "file": loaded.file,
        "changed": _is_changed(relocked),
        "choices": [
            {
                "path": choice.path,
                "state": choice.state,
                "why": list(choice.why),
                "locked": entry(choice.entry),
                "before": entry(choice.before),
                "today": entry(choice.today),
                "differs_today": choice.differs_today,
            }
            for choice in relocked.choices
        ],
        "removed": [each.path for each in relocked.removed],
    }


def _tell(relocked: Relocked, words: Mapping[str, str], gone: str) -> None:
    for choice in relocked.choices:
        say("\n".join(_lines(choice, words[choice.state])))
    for entry in relocked.removed:
        say(f"{entry.path}  {gone}")


def _tell_nothing(loaded: LoadedStrategy) -> None:
    say(f"{loaded.file}: nothing to lock: no group or pool has `workload: {{...}}`")


def _lines(choice: Choice, text: str) -> Iterator[str]:
    from eks_hardware.printable import shown

    yield f"{choice.path}  {text}: {_hardware(choice.entry)}"
    if choice.before and choice.before.chosen != choice.entry.chosen:
        yield f"  was {_hardware(choice.before)}"
    for reason_text in choice.why:
        yield f"  {shown(reason_text, 200)}"
    if choice.state == "kept" and choice.today and choice.differs_today:
        yield f"  today: {_hardware(choice.today)}"


def _hardware(entry: Entry) -> str:
    """Return ``2 x p4d.24xlarge with EFA, on-demand, 65.55 USD/h (2026-10)``."""
    from eks_hardware.printable import shown, usd

    chosen, then = entry.chosen, entry.at_the_time
    number = f"{chosen.nodes} x " if chosen.nodes > 1 else ""
    price = "price unknown" if then.usd_per_hour is None else f"{usd(then.usd_per_hour)} USD/h"
    as_of = f" ({shown(then.price_as_of, 40)})" if then.usd_per_hour is not None and then.price_as_of else ""
    efa = " with EFA" if chosen.efa else ""
    return f"{number}{', '.join(chosen.instance_types)}{efa}, {' or '.join(chosen.capacity)}, {price}{as_of}"


def _refuse(error: LockError) -> NoReturn:
    from eks_hardware.findings import Finding, Position

    if error.code == "LOCK_UNWRITABLE":
        fail(f"{error.file}: {error.message}")
    fail_with([Finding(error.code, "", error.message, position=Position(error.file))])

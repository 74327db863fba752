"""Shell completion for arguments and options. Modules are imported only when the shell requests completion."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from eks_hardware.models import Strategy

Completer = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


def strategies(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete files, and the names of strategies: those that become stacks, and the shipped ones."""
    from click.shell_completion import CompletionItem

    from eks_hardware.loader.discovery import known_strategies, read_environment

    known = known_strategies(read_environment(os.environ).paths)
    return [CompletionItem(incomplete, type="file"), *_beginning(incomplete, known)]


def overlays(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete overlays: those next to the strategies that become stacks, and the shipped ones."""
    from eks_hardware.loader.discovery import default_folder
    from eks_hardware.loader.overlays import known_overlays, overlay_folders

    return _beginning(incomplete, known_overlays(overlay_folders(default_folder() / "any.yaml")))


def rule_codes(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete codes of findings, in upper or lower case."""
    from eks_hardware.rules.explanations import explanations

    return _beginning(incomplete.upper(), explanations())


def from_catalogue(name: str) -> Completer:
    """Complete ``families``, ``accelerators``, ``regions`` or ``names`` of the hardware catalogue."""

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from eks_hardware.catalogue import load

        return _beginning(incomplete, getattr(load(), name))

    return complete


def kinds_of_hardware(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete kinds of hardware, such as ``nvidia-gpu``."""
    from eks_hardware.catalogue import Hardware

    return _beginning(incomplete, (kind.value for kind in Hardware))


def parts_of_strategy(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the kinds of parts that ``explain`` shows."""
    from eks_hardware.explain import KINDS

    return _beginning(incomplete, KINDS)


def groups(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the node groups of the strategy that the command line names."""
    return _beginning(incomplete, _groups_of(_named(ctx)))


def pools(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the node pools of the strategy that the command line names."""
    return _beginning(incomplete, _pools_of(_named(ctx)))


def groups_and_pools(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the node groups and node pools of the strategy that the command line names."""
    named = _named(ctx)
    return [*_beginning(incomplete, _groups_of(named)), *_beginning(incomplete, _pools_of(named))]


def _groups_of(named: list[Strategy]) -> Iterator[str]:
    return (group.name for strategy in named for group in strategy.node_groups)


def _pools_of(named: list[Strategy]) -> Iterator[str]:
    from eks_hardware.models.node_lists import pools_of

    return (pool.name for strategy in named for pool in pools_of(strategy))


def _named(ctx: click.Context) -> list[Strategy]:
    """Return the strategy that the command line names; empty if it names none, or one with errors."""
    from eks_hardware.findings import StrategyError
    from eks_hardware.loader.discovery import named_strategy, read_environment
    from eks_hardware.loader.strategies import read_strategy

    # Click leaves arguments unparsed after an option without its value.
    name = ctx.params.get("strategy") or next(iter(ctx.args), None)
    if name is None:
        return []
    try:
        return [read_strategy(named_strategy(name, read_environment(os.environ).paths)).strategy]
    except StrategyError:
        return []


def models(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete files and public model names; after a slash, names with their organization."""
    from click.shell_completion import CompletionItem

    from eks_hardware.advisor.shapes.public import rows

    known = [row["repository"] for row in rows().values()] if "/" in incomplete else rows()
    return [CompletionItem(incomplete, type="file"), *_beginning(incomplete, known)]


def words_of(*fields: str) -> Completer:
    """Complete the values of ``workload`` fields."""

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from eks_hardware.models import WorkloadSpec

        properties = WorkloadSpec.model_json_schema()["properties"]
        choices = [
            word
            for schema in (properties[field] for field in fields)
            for part in (schema, schema.get("items", {}), *schema.get("anyOf", ()))
            for word in part.get("enum", [part["const"]] if "const" in part else [])
        ]
        return _beginning(incomplete, choices)

    return complete


def _beginning(incomplete: str, words: Iterable[str]) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(word) for word in sorted(set(words)) if word.startswith(incomplete)]

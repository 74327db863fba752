"""``eks-hardware explain``: every value derived from a strategy, with the rule or table row behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from eks_hardware.cli import completers, parameters
from eks_hardware.cli.errors import exit_codes, refuse_unknown
from eks_hardware.cli.output import print_json
from eks_hardware.cli.parameters import Function

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_hardware.explain import Section

_KINDS = "strategy, network, cluster, addons, groups, karpenter, pools, charts, storage, provider"


def _only(option: str, parameter: str, complete: completers.Completer, text: str) -> Callable[[Function], Function]:
    return click.option(option, parameter, multiple=True, metavar="NAME", shell_complete=complete, help=text)


@click.command(epilog=exit_codes("errors in the strategy"))
@parameters.strategy()
@parameters.overlays("the file")
@_only("--group", "groups", completers.groups, "Only this node group; can be repeated.")
@_only("--pool", "pools", completers.pools, "Only this node pool; can be repeated.")
@_only(
    "--section",
    "parts",
    completers.parts_of_strategy,
    f"Only this part, or all parts of a kind; can be repeated. Kinds: {_KINDS}.",
)
@click.option("--derived", is_flag=True, help="Omit values that the file sets.")
@parameters.output_format()
def explain(
    strategy: str,
    overlays: tuple[str, ...],
    groups: tuple[str, ...],
    pools: tuple[str, ...],
    parts: tuple[str, ...],
    derived: bool,
    format_: str,
) -> None:
    """Show every value derived from a strategy, with its reason and the rule or table row behind it.

    \b
    Examples:
      eks-hardware explain mixed-hardware --group gpu-training
      eks-hardware explain my-cluster.yaml --section network --derived
    """
    from eks_hardware.cli.checked_strategy import checked
    from eks_hardware.cli.output import explanation
    from eks_hardware.explain import KINDS, sections
    from eks_hardware.resolve import resolve

    resolved = resolve(checked(strategy, overlays).strategy)
    for group in groups:
        refuse_unknown("--group", group, [node_group.name for node_group in resolved.node_groups])
    for pool in pools:
        refuse_unknown("--pool", pool, [node_pool.name for node_pool in resolved.node_pools])
    every = sections(resolved)
    for part in parts:
        hint = f"choose a kind ({', '.join(KINDS)}) or a part; explain without --section ends with a list of parts"
        refuse_unknown("--section", part, [*KINDS, *(section.path for section in every)], hint)
    chosen = [section for section in every if _chosen(section, groups, pools, parts)]
    if format_ == "json":
        content = {
            "strategy": resolved.name,
            "region": resolved.region,
            "sections": [explanation.content(section, derived=derived) for section in chosen],
        }
        print_json(content)
        return
    explanation.show(chosen, derived=derived)
    if not (groups or pools or parts):
        explanation.show_parts(chosen)


def _chosen(section: Section, groups: Sequence[str], pools: Sequence[str], parts: Sequence[str]) -> bool:
    if not groups and not pools and not parts:
        return True
    by_name = {"groups": groups, "pools": pools}.get(section.kind, ())
    return section.kind in parts or section.path in parts or section.name in by_name

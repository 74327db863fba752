"""Run the rules over a strategy, whole or in part."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from eks_hardware import field_paths
from eks_hardware.catalogue import Catalogue, load
from eks_hardware.findings import Finding, Position, Severity
from eks_hardware.loader import LoadedStrategy, Remains
from eks_hardware.models import Strategy
from eks_hardware.models.node_lists import NODE_LISTS, UNCHOSEN, lists_of, unchosen, without

# Importing a module registers its rules.
from eks_hardware.rules import (  # noqa: F401
    access,
    addon_values,
    addons,
    budget,
    capacity,
    chart_needs,
    charts,
    cluster,
    containerd,
    corefile,
    delivery,
    drivers,
    edge_zones,
    frameworks,
    gpu,
    hardware,
    identifiers,
    idle,
    ignore,
    images,
    karpenter,
    kubelet,
    kubelet_flags,
    kubelet_settings,
    needs,
    network,
    node_pools,
    node_settings,
    overlap,
    placement,
    platform,
    quantities,
    running,
    storage,
    system_room,
    taints,
    unused,
    user_data,
    user_data_overrides,
    workload,
)
from eks_hardware.rules.registry import RULES, Context, Watched


def check(
    strategy: Strategy, catalogue: Catalogue | None = None, *, today: datetime.date | None = None
) -> list[Finding]:
    """Return every finding of every rule, without positions, errors first.

    Ignored warnings are included, with the reason in ``ignored``. If the hardware of a group or pool has not been
    chosen, a finding says so, and the rest of the strategy is still checked.
    """
    context = Context(strategy, catalogue or load(), today or datetime.date.today())
    findings = _partly(context, frozenset(), frozenset()) if unchosen(strategy) else _all(context)
    return sorted(findings, key=_errors_first)


def _errors_first(finding: Finding) -> tuple[bool, str, str]:
    return finding.severity is Severity.WARNING, finding.path, finding.code


def _all(context: Context) -> list[Finding]:
    findings = []
    for rule in sorted(RULES.values(), key=lambda rule: rule.last):
        for path, message in rule.check(context):
            reason = ""
            if rule.severity is Severity.WARNING and not rule.last:
                context.warned.append((rule.code, path))
                reason = ignore.reason(context.strategy, rule.code, path)
            findings.append(Finding(rule.code, path, message, rule.severity, ignored=reason))
    return findings


def _partly(
    whole: Context, sections: AbstractSet[str], lists: AbstractSet[str], independent: AbstractSet[str] = frozenset()
) -> list[Finding]:
    """Return the findings without some sections and node lists, and without nodes whose hardware is not chosen."""
    left_open = unchosen(whole.strategy)
    rest = dataclasses.replace(whole, strategy=without(whole.strategy, left_open))
    return [
        *(Finding("WORKLOAD_UNCHOSEN", f"{path}.workload", UNCHOSEN) for path in left_open),
        *_rest(rest, sections, lists | lists_of(left_open), independent),
    ]


def _rest(
    part: Context, sections: AbstractSet[str], lists: AbstractSet[str], independent: AbstractSet[str]
) -> Iterator[Finding]:
    """Yield the findings in a part of a strategy that do not depend on the missing parts.

    ``sections`` are missing entirely; ``lists``, from :data:`NODE_LISTS`, are missing groups or pools. Findings with
    the codes in ``independent`` depend on neither.
    """
    unread = {*lists, *map(field_paths.section, lists)}
    for rule in RULES.values():
        if rule.last or (rule.all_nodes and lists):
            continue
        # One context per rule: a cached value would hide which sections the rule reads.
        watched = Watched(part.strategy)
        for path, message in rule.check(watched.context(part.catalogue, part.today)):
            # A rule is a generator: a finding depends only on the sections that were read before it.
            if watched.read & sections:
                break
            inside = field_paths.name_of_item(path) and field_paths.list_of(path) in NODE_LISTS
            if inside or rule.code in independent or not watched.read & unread:
                ignorable = rule.severity is Severity.WARNING and "ignore" not in sections
                reason = ignore.reason(part.strategy, rule.code, path) if ignorable else ""
                yield Finding(rule.code, path, message, rule.severity, ignored=reason)


def check_part(
    strategy: Strategy,
    *,
    lists: AbstractSet[str],
    sections: AbstractSet[str] = frozenset(),
    independent: AbstractSet[str] = frozenset(),
    catalogue: Catalogue | None = None,
    today: datetime.date | None = None,
) -> list[Finding]:
    """Like :func:`check`, for a strategy without some ``sections``, or without some of :data:`NODE_LISTS`.

    No finding depends on missing sections, groups or pools; each group or pool that is present is checked on its own.
    The caller guarantees that findings with the codes in ``independent`` do not depend on the missing parts, although
    their rules read them.
    """
    context = Context(strategy, catalogue or load(), today or datetime.date.today())
    return sorted(_partly(context, sections, lists, independent), key=_errors_first)


def check_remains(remains: Remains, *, today: datetime.date | None = None) -> list[Finding]:
    """Return the findings in the readable part of a file that do not depend on the rest.

    Rules that read a missing section report nothing. If groups or pools are missing, or their hardware has not been
    chosen, only findings about a single other group or pool are returned.
    """
    loaded = remains.loaded
    context = Context(loaded.strategy, load(), today or datetime.date.today())
    return _placed(_partly(context, remains.sections, remains.lists), loaded)


def check_loaded(loaded: LoadedStrategy, *, today: datetime.date | None = None) -> list[Finding]:
    """Like :func:`check`, with the position in the file for each finding, in file order."""
    findings = _placed(check(loaded.strategy, today=today), loaded)
    return sorted(findings, key=lambda finding: finding.position or Position(loaded.file))


def _placed(findings: list[Finding], loaded: LoadedStrategy) -> list[Finding]:
    """Return the findings with their positions in the file."""
    return [dataclasses.replace(finding, position=loaded.source.locate(finding.path)) for finding in findings]

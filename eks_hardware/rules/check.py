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
from eks_hardware.rules import access as _access
from eks_hardware.rules import addons as _addons
from eks_hardware.rules import budget as _budget
from eks_hardware.rules import capacity as _capacity
from eks_hardware.rules import charts as _charts
from eks_hardware.rules import cluster as _cluster
from eks_hardware.rules import delivery as _delivery
from eks_hardware.rules import drivers as _drivers
from eks_hardware.rules import frameworks as _frameworks
from eks_hardware.rules import gpu as _gpu
from eks_hardware.rules import hardware as _hardware
from eks_hardware.rules import ignore as _ignore
from eks_hardware.rules import images as _images
from eks_hardware.rules import karpenter as _karpenter
from eks_hardware.rules import needs as _needs
from eks_hardware.rules import network as _network
from eks_hardware.rules import node_pools as _node_pools
from eks_hardware.rules import node_settings as _node_settings
from eks_hardware.rules import overlap as _overlap
from eks_hardware.rules import platform as _platform
from eks_hardware.rules import storage as _storage
from eks_hardware.rules import user_data as _user_data
from eks_hardware.rules import user_data_overrides as _user_data_overrides
from eks_hardware.rules import workload as _workload
from eks_hardware.rules.registry import RULES, Context, Watched

# Importing a module registers its rules.
_MODULES = (
    _access,
    _addons,
    _budget,
    _capacity,
    _charts,
    _cluster,
    _delivery,
    _drivers,
    _frameworks,
    _gpu,
    _hardware,
    _ignore,
    _images,
    _karpenter,
    _needs,
    _network,
    _node_pools,
    _node_settings,
    _overlap,
    _platform,
    _storage,
    _user_data,
    _user_data_overrides,
    _workload,
)


def check(
    strategy: Strategy, catalogue: Catalogue | None = None, *, today: datetime.date | None = None
) -> list[Finding]:
    """Return every finding of every rule, without positions, errors first.

    A warning that the strategy ignores is among them, with the reason as ``ignored``. Where the hardware of a group
    or pool has not been chosen, that is said, and what is wrong in the rest.
    """
    catalogue, today = catalogue or load(), today or datetime.date.today()
    if left_open := unchosen(strategy):
        rest = without(strategy, left_open)
        findings = [
            *(Finding("WORKLOAD_UNCHOSEN", f"{path}.workload", UNCHOSEN) for path in left_open),
            *_rest(rest, frozenset(), lists_of(left_open), catalogue, today),
        ]
    else:
        findings = _all(Context(strategy, catalogue, today))
    return sorted(findings, key=lambda finding: (finding.severity is Severity.WARNING, finding.path, finding.code))


def _all(context: Context) -> list[Finding]:
    findings = []
    for each in sorted(RULES.values(), key=lambda each: each.last):
        for path, message in each.check(context):
            reason = ""
            if each.severity is Severity.WARNING and not each.last:
                context.warned.append((each.code, path))
                reason = _ignore.reason(context.strategy, each.code, path)
            findings.append(Finding(each.code, path, message, each.severity, ignored=reason))
    return findings


def _rest(
    strategy: Strategy, sections: AbstractSet[str], lists: AbstractSet[str], catalogue: Catalogue, today: datetime.date
) -> Iterator[Finding]:
    """What is found in a part of a strategy, as far as it does not depend on the rest.

    Args:
        strategy: the part.
        sections: names of sections that are left out.
        lists: those of :data:`NODE_LISTS` that lack groups or pools.
    """
    unread = {*lists, *map(field_paths.section, lists)}
    for each in RULES.values():
        if each.last:
            continue
        # A context of its own: what another rule looked up is not seen a second time.
        watched = Watched(strategy)
        found = list(each.check(watched.context(catalogue, today)))
        if watched.read & sections:
            continue
        for path, message in found:
            inside = field_paths.name_of_item(path) and field_paths.list_of(path) in NODE_LISTS
            if inside or not watched.read & unread:
                ignorable = each.severity is Severity.WARNING and "ignore" not in sections
                reason = _ignore.reason(strategy, each.code, path) if ignorable else ""
                yield Finding(each.code, path, message, each.severity, ignored=reason)


def check_part(
    strategy: Strategy,
    *,
    lists: AbstractSet[str],
    catalogue: Catalogue | None = None,
    today: datetime.date | None = None,
) -> list[Finding]:
    """Like :func:`check`, for a strategy of which some of :data:`NODE_LISTS` are not known.

    What is said does not depend on groups or pools that are not there; a single one that is there is judged.
    """
    catalogue, today = catalogue or load(), today or datetime.date.today()
    left_open = unchosen(strategy)
    findings = [
        *(Finding("WORKLOAD_UNCHOSEN", f"{path}.workload", UNCHOSEN) for path in left_open),
        *_rest(without(strategy, left_open), frozenset(), lists | lists_of(left_open), catalogue, today),
    ]
    return sorted(findings, key=lambda finding: (finding.severity is Severity.WARNING, finding.path, finding.code))


def check_remains(remains: Remains, *, today: datetime.date | None = None) -> list[Finding]:
    """What is wrong in the part of a file that could be read, as far as it does not depend on the rest.

    A rule counts where it looked at no section that is left out; where groups or pools are left out, or their hardware
    has not been chosen, only what it says about a single other one.
    """
    loaded = remains.loaded
    left_open = unchosen(loaded.strategy)
    found = [
        *(Finding("WORKLOAD_UNCHOSEN", f"{path}.workload", UNCHOSEN) for path in left_open),
        *_rest(
            without(loaded.strategy, left_open),
            remains.sections,
            remains.lists | lists_of(left_open),
            load(),
            today or datetime.date.today(),
        ),
    ]
    return [dataclasses.replace(each, position=loaded.source.locate(each.path)) for each in found]


def check_loaded(loaded: LoadedStrategy, *, today: datetime.date | None = None) -> list[Finding]:
    """Like :func:`check`, with the place in the file beside each finding, in the order of the file."""
    findings = [
        dataclasses.replace(each, position=loaded.source.locate(each.path))
        for each in check(loaded.strategy, today=today)
    ]
    return sorted(findings, key=lambda finding: finding.position or Position(loaded.file))

"""Rules: what cannot work, found in the file, before anything is deployed."""

from __future__ import annotations

import datetime
from collections.abc import Iterable

from eks_hardware.config.catalogue import Catalogue, load
from eks_hardware.config.errors import Finding, Position, Severity, StrategyError
from eks_hardware.config.loader import LoadedStrategy
from eks_hardware.config.models import Strategy
from eks_hardware.config.rules import charts as _charts
from eks_hardware.config.rules import cluster as _cluster
from eks_hardware.config.rules import delivery as _delivery
from eks_hardware.config.rules import gpu as _gpu
from eks_hardware.config.rules import hardware as _hardware
from eks_hardware.config.rules import karpenter as _karpenter
from eks_hardware.config.rules import node_pools as _node_pools
from eks_hardware.config.rules import overlap as _overlap
from eks_hardware.config.rules import platform as _platform
from eks_hardware.config.rules import storage as _storage
from eks_hardware.config.rules.registry import RULES, Context, Rule

__all__ = ["RULES", "Context", "Rule", "check", "check_loaded", "checked"]

# Importing a module registers its rules.
_MODULES = (_charts, _cluster, _delivery, _gpu, _hardware, _karpenter, _node_pools, _overlap, _platform, _storage)


def check(
    strategy: Strategy, catalogue: Catalogue | None = None, *, today: datetime.date | None = None
) -> list[Finding]:
    """Return every finding of every rule, without positions, errors first."""
    context = Context(strategy, catalogue or load(), today or datetime.date.today())
    findings = [
        Finding(each.code, path, message, each.severity)
        for each in RULES.values()
        for path, message in each.check(context)
    ]
    return sorted(findings, key=lambda finding: (finding.severity is Severity.WARNING, finding.path, finding.code))


def check_loaded(loaded: LoadedStrategy) -> list[Finding]:
    """Like :func:`check`, with the place in the file beside each finding, in the order of the file."""
    findings = [
        Finding(each.code, each.path, each.message, each.severity, loaded.source.locate(each.path))
        for each in check(loaded.strategy)
    ]
    return sorted(findings, key=lambda finding: finding.position or Position(loaded.file))


def checked(loaded: Iterable[LoadedStrategy]) -> list[tuple[LoadedStrategy, tuple[Finding, ...]]]:
    """Pair each strategy with its warnings.

    Raises:
        StrategyError: with the findings of all strategies, when one of them has an error.
    """
    pairs = [(each, tuple(check_loaded(each))) for each in loaded]
    findings = [finding for _, of_file in pairs for finding in of_file]
    if any(finding.severity is Severity.ERROR for finding in findings):
        raise StrategyError(findings)
    return pairs

"""What a rule is, and the list of all rules.

A rule is a generator over a :class:`Context` that yields ``(path, message)`` for each place that breaks it. The
decorator gives it a stable code, a severity, a one-line summary and the source of the fact behind it.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from eks_hardware.config.catalogue import Catalogue, InstanceType
from eks_hardware.config.errors import Severity
from eks_hardware.config.models import NodeGroup, Strategy
from eks_hardware.config.resolve import zones

Breach = tuple[str, str]
"""Path of the field at fault, and the message."""


@dataclass(frozen=True)
class Context:
    """What rules look at."""

    strategy: Strategy
    catalogue: Catalogue
    today: datetime.date = field(default_factory=datetime.date.today)

    @property
    def region_known(self) -> bool:
        return self.strategy.region in self.catalogue.regions

    def types(self, group: NodeGroup) -> tuple[InstanceType, ...]:
        """The group's instance types that the catalogue knows."""
        found = (self.catalogue.find(name) for name in group.instance_types)
        return tuple(kind for kind in found if kind is not None)

    def zone_choice(self) -> zones.ZoneChoice:
        """The zones of the network; only groups whose types are all known take part."""
        groups = [group for group in self.strategy.node_groups if len(self.types(group)) == len(group.instance_types)]
        return zones.choose(self.strategy.network, groups, self.strategy.region, self.catalogue)


@dataclass(frozen=True)
class Rule:
    """A rule with what is said about it in lists and documentation."""

    code: str
    severity: Severity
    summary: str
    source: str
    check: Callable[[Context], Iterator[Breach]]


RULES: dict[str, Rule] = {}


def rule(
    code: str, summary: str, source: str, *, severity: Severity = Severity.ERROR
) -> Callable[[Callable[[Context], Iterator[Breach]]], Callable[[Context], Iterator[Breach]]]:
    """Register a generator as the rule ``code``."""

    def register(check: Callable[[Context], Iterator[Breach]]) -> Callable[[Context], Iterator[Breach]]:
        if code in RULES:
            raise ValueError(f"two rules are called {code}")
        RULES[code] = Rule(code, severity, summary, source, check)
        return check

    return register


def group_path(group: NodeGroup, *rest: str) -> str:
    """Path of a field of a node group: ``node_groups[gpu].instance_types[0]``."""
    return ".".join([f"node_groups[{group.name}]", *rest])

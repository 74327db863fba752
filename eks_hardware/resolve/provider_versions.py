"""The lowest AWS provider version that supports a strategy."""

from __future__ import annotations

from eks_hardware import facts, field_paths
from eks_hardware.data import Cited
from eks_hardware.models import Strategy
from eks_hardware.versions import numbers


def provider_floor(strategy: Strategy) -> tuple[str, str]:
    """Return the lowest AWS provider version that supports the strategy, and the reason for it."""
    floor, reason = cited_floor(strategy)
    return floor.value, reason


def _since(setting: str) -> Cited[str]:
    return facts.eks.cite(lambda file: file["provider_versions"]["since"][setting]["version"])


def cited_floor(strategy: Strategy) -> tuple[Cited[str], str]:
    """Like :func:`provider_floor`, with the source of the version."""
    floor = facts.eks.cite(lambda file: file["provider_versions"]["lowest"])
    reason = "the lowest release that the tests cover"
    groups = [field_paths.item("node_groups", group.name) for group in strategy.node_groups if group.update.strategy]
    fields = {
        "deletion_protection": None if strategy.cluster.deletion_protection is None else "cluster.deletion_protection",
        "control_plane_scaling_config": (
            None if strategy.cluster.control_plane_tier == "standard" else "cluster.control_plane_tier"
        ),
        "update_strategy": f"{groups[0]}.update.strategy" if groups else None,
    }
    for setting in facts.eks()["provider_versions"]["since"]:
        since = _since(setting)
        if fields[setting] and numbers(since.value) > numbers(floor.value):
            floor, reason = since, f"{fields[setting]} requires it"
    return floor, reason

"""A comparison as JSON, with stable keys."""

from __future__ import annotations

import math
from dataclasses import asdict

from eks_hardware.cost import HOURS_PER_MONTH, LEVELS, Level
from eks_hardware.diff.compare import Changes
from eks_hardware.diff.messages import difference, pool_sentence, sentence
from eks_hardware.diff.plan import Action, ResourceChange


def as_json(changes: Changes) -> dict[str, object]:
    """Return all changes, including every resource; ``counts`` and ``resources`` are None if not compared."""
    count = changes.count()
    return {
        "before": {"strategy": changes.before.name, "region": changes.before.region},
        "after": {"strategy": changes.after.name, "region": changes.after.region},
        "state": changes.state,
        "changed": changes.any,
        "counts": None if changes.not_compared else {action.value: count[action] for action in Action},
        "notes": list(changes.notes),
        "hardware": [asdict(hardware) for hardware in changes.hardware],
        "capacity": asdict(changes.capacity),
        "cost": _cost(changes),
        "resources": None if changes.not_compared else [_resource(resource) for resource in changes.resources],
        "node_pools": [{**asdict(pool), "sentence": str(pool_sentence(pool))} for pool in changes.pools],
    }


def _cost(changes: Changes) -> dict[str, object]:
    cost = changes.cost
    return {
        "currency": "USD",
        **{
            f"usd_per_{unit}": {level: dict(zip(("before", "after"), read(level), strict=True)) for level in LEVELS}
            for unit, read in (("hour", cost.usd_per_hour), ("month", cost.usd_per_month))
        },
        "usd_per_hour_at_most": {
            level: {"before": cost.before.usd_per_hour_at_most(level), "after": cost.after.usd_per_hour_at_most(level)}
            for level in LEVELS
        },
        "change_usd_per_month": {level: _bounds(changes, level) for level in LEVELS},
        "unknown": {"before": list(cost.unknown_before), "after": list(cost.unknown_after)},
    }


def _bounds(changes: Changes, level: Level) -> dict[str, float | None]:
    """Return the bounds of a change in cost; None where there is no bound."""
    bounds = (each * HOURS_PER_MONTH for each in changes.cost.bounds(level))
    return {
        name: round(each, 2) if math.isfinite(each) else None
        for name, each in zip(("at_least", "at_most"), bounds, strict=True)
    }


def _resource(change: ResourceChange) -> dict[str, object]:
    return {
        "address": change.resource.address,
        "type": change.resource.type,
        "stack": change.resource.stack or None,
        "field": change.resource.owner,
        "action": change.action.value,
        "own": change.own,
        "causes": [
            {
                "argument": cause.argument,
                "replaces": cause.replaces,
                "through": cause.through.address if cause.through else None,
                "text": difference(cause),
            }
            for cause in change.causes
        ],
        "sentence": str(sentence(change)),
    }

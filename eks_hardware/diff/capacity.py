"""Changes in capacity: nodes, limits, accelerators and vCPU quotas at the maximum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from eks_hardware import field_paths
from eks_hardware.catalogue import Catalogue
from eks_hardware.models import Strategy
from eks_hardware.models.node_lists import pools_of
from eks_hardware.quotas import quota_needs
from eks_hardware.resolve import ResolvedStrategy, accelerator_resource


@dataclass(frozen=True)
class Amount:
    """An amount before and after the change, such as the number of A100s; None if there is no such item."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class CapacityChange:
    """Changes at the maximum: nodes of groups and limits of pools, devices by accelerator, vCPUs by quota."""

    nodes: tuple[Amount, ...]
    accelerators: tuple[Amount, ...]
    vcpu_quotas: tuple[Amount, ...]

    @property
    def amounts(self) -> tuple[Amount, ...]:
        """All changed amounts."""
        return (*self.nodes, *self.accelerators, *self.vcpu_quotas)


@dataclass(frozen=True)
class Side:
    """One of two strategies."""

    strategy: Strategy
    resolved: ResolvedStrategy


def capacity_change(before: Side, after: Side, catalogue: Catalogue) -> CapacityChange:
    """Return all changes in capacity."""
    return CapacityChange(
        nodes=_differing(_nodes(before), _nodes(after)),
        accelerators=_differing(_accelerators(before, catalogue), _accelerators(after, catalogue)),
        vcpu_quotas=_differing(_quotas(before, catalogue), _quotas(after, catalogue)),
    )


def _differing(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Amount, ...]:
    names = dict.fromkeys((*after, *before))
    return tuple(
        Amount(name, before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)
    )


def _nodes(side: Side) -> dict[str, str]:
    sizes = {
        f"{field_paths.node_group(group.name)} min/desired/max": (
            f"{group.min_size}/{'autoscaled' if group.autoscaled else group.desired_size}/{group.max_size}"
        )
        for group in side.resolved.node_groups
    }
    for pool in side.resolved.node_pools:
        limits = ", ".join(f"{amount} {name}" for name, amount in pool.limits.items())
        sizes[f"{field_paths.node_pool(pool.name)} limits"] = limits or "none"
    return sizes


def _accelerators(side: Side, catalogue: Catalogue) -> dict[str, str]:
    """Return the maximum number of devices by accelerator, from the types of groups and the limits of pools."""
    counts: dict[str, int] = {}
    for group in side.resolved.node_groups:
        devices = [chip for name in group.instance_types if (chip := catalogue.get(name).accelerator)]
        if devices:
            name = ", ".join(sorted({device.name for device in devices}))
            counts[name] = counts.get(name, 0) + group.max_size * max(device.count for device in devices)
    for pool, resolved in zip(pools_of(side.strategy), side.resolved.node_pools, strict=True):
        limits = {str(name): amount for name, amount in pool.limits.items()}
        limit = limits.get(accelerator_resource(resolved.hardware) or "")
        if limit is not None:
            devices = [chip for name in resolved.instance_types if (chip := catalogue.get(name).accelerator)]
            name = ", ".join(sorted({device.name for device in devices}))
            counts[name] = counts.get(name, 0) + int(limit)
    return {f"{name} at max": str(count) for name, count in counts.items()}


def _quotas(side: Side, catalogue: Catalogue) -> dict[str, str]:
    return {
        f"{need.code or '-'} {need.name}": f"{need.needed:,.0f}"
        for need in quota_needs(side.strategy, side.resolved, catalogue)
        if need.counts_vcpus
    }

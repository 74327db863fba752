"""Rules about Karpenter's node pools: hardware, limits, capacity, disruption, labels and tags.

``hardware`` and ``cluster`` have the rules shared with node groups, with one code for both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eks_hardware import facts, field_paths
from eks_hardware.catalogue import InstanceType
from eks_hardware.models import NodePoolSpec, PoolReservation
from eks_hardware.printable import quoted
from eks_hardware.resolve.extended_resources import accelerator_resource
from eks_hardware.resolve.pool_types import candidates, counted_by_karpenter, known_to_karpenter, left_out
from eks_hardware.rules.cron import cron_fault
from eks_hardware.rules.hardware import (
    any_offered,
    has_both,
    listed_types,
    mixed_architecture,
    mixed_hardware,
    no_zone,
    not_offered,
    nowhere_near,
)
from eks_hardware.rules.quantities import whole_number
from eks_hardware.rules.registry import (
    Breach,
    Context,
    error,
    hardware_field,
    in_domain,
    label_path,
    limit_path,
    node_path,
    warning,
)
from eks_hardware.spellings import CAPACITY
from eks_hardware.suggestions import did_you_mean, several
from eks_hardware.units import GIB, amount

# --- which types


@error("POOL_FAMILY_UNKNOWN")
def _family_unknown(context: Context) -> Iterator[Breach]:
    families = context.catalogue.families
    for pool in context.pools:
        for path, family in field_paths.items(node_path(pool, "instance_families"), pool.instance_families):
            if family in families:
                continue
            if reason := context.catalogue.unsupported(family):
                yield path, f"{family} cannot be an EKS node: {reason}; choose another family"
            else:
                hint = did_you_mean(family, families, "see 'eks-hardware instances'")
                yield path, f"{quoted(family)} is not a known instance family; {hint}"


@warning("POOL_TYPE_NOT_OFFERED")
def _type_not_offered(context: Context) -> Iterator[Breach]:
    for node, path, kind in not_offered(context):
        if isinstance(node, NodePoolSpec) and any_offered(context, node):
            yield path, f"{nowhere_near(context, kind)}; Karpenter uses the pool's other types"


@error("POOL_ACCELERATOR_UNKNOWN")
def _accelerator_unknown(context: Context) -> Iterator[Breach]:
    for pool in context.pools:
        if pool.accelerator and not candidates(pool, context.catalogue):
            hint = did_you_mean(pool.accelerator, context.catalogue.accelerators)
            yield node_path(pool, "accelerator"), f"{quoted(pool.accelerator)} is not a known accelerator; {hint}"


@error("POOL_SIZE_UNKNOWN")
def _size_unknown(context: Context) -> Iterator[Breach]:
    for pool in context.pools:
        sizes = {kind.size for kind in candidates(pool, context.catalogue)}
        for path, size in field_paths.items(node_path(pool, "instance_sizes"), pool.instance_sizes):
            if sizes and size not in sizes:
                of = " or ".join(pool.instance_families) or str(pool.accelerator)
                yield path, f"{of} has no size {quoted(size)}; {did_you_mean(size, sizes)}"


def _left_out(context: Context, pool: NodePoolSpec, kinds: Sequence[InstanceType]) -> str:
    """Return why types are not in the pool, by reason: ``p5.4xlarge: no EFA``."""
    by_reason: dict[str, list[str]] = {}
    for kind in kinds:
        if reason := left_out(pool, kind, context.strategy.region, context.catalogue):
            by_reason.setdefault(reason, []).append(kind.name)
    # The size is given as a reason only if there is no other.
    reasons = {reason: names for reason, names in by_reason.items() if reason != "another size"} or by_reason
    return "; ".join(f"{several(names)}: {reason}" for reason, names in reasons.items())


@error("POOL_NO_TYPE")
def _no_type(context: Context) -> Iterator[Breach]:
    for pool in context.pools:
        kinds = candidates(pool, context.catalogue)
        # POOL_SIZE_UNKNOWN reports unknown sizes.
        sized = [kind for kind in kinds if not pool.instance_sizes or kind.size in pool.instance_sizes]
        if context.region_known and sized and not context.pool_types(pool):
            yield (
                node_path(pool, hardware_field(pool)),
                f"Karpenter can launch none of these types ({_left_out(context, pool, sized)}); choose other hardware "
                "or another region",
            )


@warning("POOL_FAMILY_EMPTY")
def _family_empty(context: Context) -> Iterator[Breach]:
    for pool in context.pools:
        types = context.types(pool)
        for path, family in field_paths.items(node_path(pool, "instance_families"), pool.instance_families):
            kinds = context.catalogue.select(family=family)
            if types and kinds and not any(kind.family == family for kind in types):
                yield path, f"{family} adds no type to this pool ({_left_out(context, pool, kinds)}); remove it"


@error("POOL_TYPE_UNSUPPORTED")
def _type_unsupported(context: Context) -> Iterator[Breach]:
    for pool in context.pools:
        for path, kind in listed_types(context, pool):
            if not known_to_karpenter(kind):
                yield (
                    path,
                    f"Karpenter does not recognize the accelerators of {kind.name} and would use an image without "
                    "their driver; use a node group",
                )


@error("POOL_MIXED_ARCHITECTURE")
def _mixed_architecture(context: Context) -> Iterator[Breach]:
    yield from mixed_architecture(context, context.pools)


@error("POOL_MIXED_HARDWARE")
def _mixed_hardware(context: Context) -> Iterator[Breach]:
    yield from mixed_hardware(context, context.pools)


@warning("POOL_BOTH_ARCHITECTURES")
def _both_architectures(context: Context) -> Iterator[Breach]:
    for pool in context.pools:
        if len({kind.architecture for kind in context.types(pool)}) > 1 and has_both(context, pool):
            yield (
                node_path(pool, hardware_field(pool)),
                "pods start on x86_64 and arm64 nodes, and an image for one architecture fails on the other; use "
                "images for both, select kubernetes.io/arch in the pods, or make two pools",
            )


@error("POOL_NO_ZONE")
def _no_zone(context: Context) -> Iterator[Breach]:
    yield from no_zone(context, context.pools)


# --- limits

_COUNTED = ("nodes", "nvidia.com/gpu", "aws.amazon.com/neuron")


def _negative(given: str | int) -> bool:
    # A quantity that is written as text is never negative.
    return isinstance(given, int) and given < 0


def _needs(kind: InstanceType) -> dict[str, float]:
    """Return how much of its pool's limits one node of a type uses, in the units of the strategy."""
    return {resource: float(count) for resource, count in counted_by_karpenter(kind, None).items()}


@warning("POOL_LIMIT_MISSING")
def _limit_missing(context: Context) -> Iterator[Breach]:
    for pool in context.pools:
        needs = {kind.name: _needs(kind) for kind in context.types(pool)}
        if not needs:
            continue
        counted = accelerator_resource(context.types(pool)[0].hardware) or "cpu"
        fix = f"add {counted}: {max(int(need.get(counted, 0)) for need in needs.values())}, for example"
        bounds = [resource for resource in pool.limits if any(resource in need for need in needs.values())]
        if not bounds:
            yield node_path(pool, "limits"), f"without a limit, the pool can grow to the account's quota; {fix}"
        elif "/" in counted and not {counted, "nodes"} & set(bounds):
            most, name = max((_allowed(each, pool.limits, counted), name) for name, each in needs.items())
            allowed = f" (up to {most} with {name})" if most else ""
            yield (
                node_path(pool, "limits"),
                f"{' and '.join(bounds)} {'limits' if len(bounds) == 1 else 'limit'} the number of {counted} only "
                f"indirectly{allowed}; {fix}",
            )


def _allowed(needs: Mapping[str, float], limits: Mapping[Any, str | int], counted: str) -> int:
    """Return how much of a resource nodes of one type can have within the other limits; 0 without such limits."""
    if any(map(_negative, limits.values())):
        return 0
    nodes = [float(amount(given)) // needs[resource] for resource, given in limits.items() if resource in needs]
    return int(min(nodes, default=0) * needs.get(counted, 0))


@error("POOL_LIMIT_FOREIGN")
def _limit_foreign(context: Context) -> Iterator[Breach]:
    for pool in context.pools:
        kinds = context.types(pool)
        for resource in pool.limits:
            if kinds and "/" in resource and resource != accelerator_resource(kinds[0].hardware):
                yield limit_path(pool, resource), f"{kinds[0].name} has no {resource}; remove this limit"


@error("POOL_LIMIT_QUANTITY")
def _limit_quantity(context: Context) -> Iterator[Breach]:
    for pool in context.pools:
        for resource, given in pool.limits.items():
            if _negative(given):
                yield (
                    limit_path(pool, resource),
                    f"must be at least 0, got {given}; set a total for all nodes",
                )
            elif resource in _COUNTED and not str(given).isdigit():
                yield limit_path(pool, resource), whole_number(given)


@error("POOL_LIMIT_SMALL")
def _limit_small(context: Context) -> Iterator[Breach]:
    for pool in context.pools:
        needs = {kind.name: _needs(kind) for kind in context.types(pool)}
        if not needs or any(map(_negative, pool.limits.values())):
            continue
        limits = {str(resource): float(amount(given)) for resource, given in pool.limits.items()}
        if any(_fits(need, limits) for need in needs.values()):
            continue
        least = {resource: min(need.get(resource, 0.0) for need in needs.values()) for resource in limits}
        alone = [resource for resource, most in limits.items() if least[resource] > most]
        for resource in alone:
            smallest = next(name for name, each in needs.items() if each.get(resource, 0.0) == least[resource])
            yield (
                limit_path(pool, resource),
                f"must be at least {_shown(resource, least[resource])}, enough for one {smallest}; raise the limit, or "
                "choose smaller types",
            )
        if not alone:
            yield node_path(pool, "limits"), "no type of the pool fits within all these limits; raise the limits"


def _fits(needs: Mapping[str, float], limits: Mapping[str, float]) -> bool:
    return all(needs.get(resource, 0.0) <= most for resource, most in limits.items())


def _shown(resource: str, number: float) -> str:
    return f"{number / GIB:.0f}Gi" if resource == "memory" else f"{number:.0f}"


# --- capacity


def _sold(kind: InstanceType, capacity: str) -> bool:
    # Another account may share a reservation of types that are not on sale.
    return capacity == "reserved" or CAPACITY[capacity].usage_class in kind.usage_classes


@error("POOL_CAPACITY_UNSOLD")
def _capacity_unsold(context: Context) -> Iterator[Breach]:
    for pool in context.pools:
        kinds = context.types(pool)
        for path, capacity in field_paths.items(node_path(pool, "capacity"), pool.capacity):
            if kinds and not any(_sold(kind, capacity) for kind in kinds):
                ways = sorted({way for kind in kinds for way in kind.usage_classes})
                yield path, f"EC2 does not sell the pool's types as {capacity}; use {' or '.join(ways)}"


@warning("POOL_TYPE_UNSOLD")
def _type_unsold(context: Context) -> Iterator[Breach]:
    for pool in context.pools:
        kinds = context.types(pool)
        sold = [kind for kind in kinds if any(_sold(kind, capacity) for capacity in pool.capacity)]
        for path, kind in listed_types(context, pool):
            if sold and kind not in sold and not kind.withdrawn:
                yield (
                    path,
                    f"EC2 sells {kind.name} as {' or '.join(kind.usage_classes)}, so this pool never launches this "
                    "type; remove it, or add such a capacity",
                )


def _reservations(pool: NodePoolSpec) -> Iterator[tuple[str, PoolReservation]]:
    return field_paths.items(node_path(pool, "reservations"), pool.reservations)


@error("POOL_RESERVATION_ZONE")
def _reservation_zone(context: Context) -> Iterator[Breach]:
    for pool in context.pools:
        for path, reservation in _reservations(pool):
            if pool.zones and reservation.zone and reservation.zone not in pool.zones:
                yield (
                    f"{path}.zone",
                    f"{reservation.zone} is not one of the pool's zones ({', '.join(pool.zones)}), so the reservation "
                    "is never used; add the zone, or remove 'zones'",
                )
        # Otherwise the pool would use the first zone that offers the type.
        if pool.efa and pool.reservations and not (pool.zones or any(each.zone for each in pool.reservations)):
            yield (
                node_path(pool, "reservations[0]"),
                "with EFA all nodes are in one zone, and tags do not say which zone the reservation is in; add the "
                "reservation's zone",
            )


@error("POOL_RESERVATION_TAGS")
def _reservation_tags(context: Context) -> Iterator[Breach]:
    most = facts.karpenter()["tags"]["selector_max"]
    for pool in context.pools:
        for path, reservation in _reservations(pool):
            if len(reservation.tags) > most:
                yield f"{path}.tags", f"must have at most {most} tags for Karpenter, got {len(reservation.tags)}"
            for key, value in reservation.tags.items():
                if not value:
                    yield f"{path}.tags[{key}]", "Karpenter rejects an empty value; add the tag's value"


@error("POOL_RESERVATION_DUPLICATE")
def _reservation_duplicate(context: Context) -> Iterator[Breach]:
    first: dict[str, tuple[str, str | None]] = {}
    for pool in context.pools:
        listed: set[str] = set()
        for path, reservation in _reservations(pool):
            if reservation.id is None:
                continue
            # Several pools can use one reservation.
            where, zone = first.setdefault(reservation.id, (pool.name, reservation.zone))
            if zone != reservation.zone:
                yield (
                    f"{path}.zone",
                    f"a reservation is in one zone, but pool {where} sets {zone or 'no zone'} for {reservation.id}; "
                    "correct one of them",
                )
            elif reservation.id in listed:
                yield f"{path}.id", f"{reservation.id} is listed twice; remove one of them"
            listed.add(reservation.id)


@warning("POOL_RESERVATION_TYPES")
def _reservation_types(context: Context) -> Iterator[Breach]:
    for pool in context.pools:
        only_reserved = not {"on-demand", "spot"} & set(pool.capacity)
        kinds = context.types(pool)
        if (
            only_reserved
            and all(reservation.id for reservation in pool.reservations)
            and len(kinds) > len(pool.reservations)
        ):
            yield (
                node_path(pool, hardware_field(pool)),
                f"a reservation is for one instance type, but the pool has {len(pool.reservations)} for {len(kinds)} "
                "types; keep only the reserved types, list a reservation for each, or add on-demand",
            )


# --- disruption, labels, tags

_UNDERUTILIZED = "when-empty-or-underutilized"


@warning("POOL_DISRUPTION_TRAINING")
def _disruption(context: Context) -> Iterator[Breach]:
    for pool in context.pools:
        if pool.purpose != "training":
            continue
        if pool.disruption.consolidation == _UNDERUTILIZED:
            yield (
                node_path(pool, "disruption.consolidation"),
                "Karpenter stops jobs on nodes that are not full, and the jobs lose their work since the last "
                "checkpoint; use when-empty",
            )
        if pool.disruption.expire_after not in (None, "never"):
            yield (
                node_path(pool, "disruption.expire_after"),
                f"Karpenter removes a node after {pool.disruption.expire_after}, even if a job runs and budgets forbid "
                "it; use never",
            )
        if pool.disruption.termination_grace_period:
            yield (
                node_path(pool, "disruption.termination_grace_period"),
                "Karpenter removes drifted nodes even if their pods are marked do-not-disrupt, and kills the pods "
                f"after {pool.disruption.termination_grace_period}; remove this",
            )
        # A budget with a schedule allows maintenance on purpose.
        busy = ("Drifted", *(("Underutilized",) if pool.disruption.consolidation == _UNDERUTILIZED else ()))
        held = {
            reason
            for budget in pool.disruption.budgets or ()
            if int(budget.nodes.rstrip("%")) == 0
            for reason in budget.reasons or busy
        }
        loose = [reason for reason in busy if reason not in held]
        if pool.disruption.budgets is not None and loose:
            yield (
                node_path(pool, "disruption.budgets"),
                f"these budgets replace the derived ones, so Karpenter may remove busy nodes ({', '.join(loose)}); add "
                "{nodes: '0', reasons: [Underutilized, Drifted]}",
            )


@error("POOL_LABEL_RESTRICTED")
def _labels(context: Context) -> Iterator[Breach]:
    fact = facts.karpenter()["labels"]
    keys = {*fact["keys"].values(), "kubernetes.io/hostname"}
    for pool in context.pools:
        for key in pool.labels:
            if key in keys or in_domain(key, fact["restricted_domains"]):
                yield label_path(pool, key), f"Karpenter sets or rejects {key}; use a key in your own domain"


@error("POOL_TAG_RESTRICTED")
def _pool_tags(context: Context) -> Iterator[Breach]:
    fact = facts.karpenter()["tags"]
    given = [("tags", context.strategy.tags)] if context.pools else []
    given += [(node_path(pool, "tags"), pool.tags) for pool in context.pools]
    for path, tags in given:
        for key in tags:
            if key in fact["restricted"] or key.startswith(tuple(fact["restricted_prefixes"])):
                yield field_paths.item(path, key), f"Karpenter sets {key} itself and rejects it here; use another key"


@error("POOL_BUDGET_SCHEDULE")
def _budget_schedule(context: Context) -> Iterator[Breach]:
    for pool in context.pools:
        for path, budget in field_paths.items(node_path(pool, "disruption.budgets"), pool.disruption.budgets or ()):
            if budget.schedule and (fault := cron_fault(budget.schedule)):
                yield f"{path}.schedule", fault

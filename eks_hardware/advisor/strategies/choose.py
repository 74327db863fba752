"""Pass the workload of a group or pool to the recommender, and put its choice into fields of a strategy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import get_args

from eks_hardware import field_paths, software
from eks_hardware.advisor.model import Candidate, Miss, Recommendation
from eks_hardware.advisor.strategies.lock import AtTheTime, Chosen, Entry
from eks_hardware.advisor.strategies.questions import Node, Question, QuestionError
from eks_hardware.catalogue import Catalogue, InstanceType, load
from eks_hardware.findings import Finding
from eks_hardware.models import Needs, NetworkSpec, NodeGroupSpec, NodePoolSpec, WorkloadSpec
from eks_hardware.resolve import known_to_karpenter
from eks_hardware.resolve.node import AMI_PREFIXES
from eks_hardware.resolve.pool_types import node_capacity
from eks_hardware.spellings import DEFAULT_FORMAT, Capacity, Precision
from eks_hardware.units import amount

Recommender = Callable[..., Recommendation]
"""``recommend(request, catalogue=..., only=...)``."""

_MOST_TYPES = 5
"""Maximum number of instance types in a Spot group. More would include types that differ too much from the best one."""

# Gate of the nearest miss -> the field to change, below the group or pool.
_FIELD_OF_GATE = {
    "BF16": "workload.precision",
    "FP8": "workload.precision",
    "INT8": "workload.precision",
    "FLASH_ATTENTION": "workload.attention",
    "FRAMEWORK": "workload.framework",
    "EFA": "efa",
    "AMI": "ami",
    "PURCHASE": "workload.purchase",
    "LATENCY": "workload.latency",
}


def choose(
    question: Question,
    network: NetworkSpec,
    *,
    overlays: tuple[str, ...] = (),
    recommender: Recommender | None = None,
    catalogue: Catalogue | None = None,
) -> Entry:
    """Return the recommender's choice for a group or pool today, within the zones of the network.

    Raises:
        QuestionError: WORKLOAD_NOTHING_FITS.
    """
    if recommender is None:
        # Imported here: a strategy with a lock file does not need the recommender.
        from eks_hardware.advisor.recommend import recommend

        recommender = recommend
    catalogue = catalogue or load()
    only = tuple(_allowed(question, network, catalogue))
    if not only:
        raise _no_type(question)
    recommendation = recommender(question.request, catalogue=catalogue, only=only)
    if not recommendation.candidates:
        raise _nothing_fits(question, recommendation)
    best = recommendation.candidates[0]
    return Entry(
        path=question.path,
        overlays=overlays,
        asked=dict(question.asked),
        chosen=_chosen(question, recommendation),
        at_the_time=AtTheTime(
            catalogue=catalogue.source,
            policy=recommendation.branch,
            score=round(best.score, 1),
            usd_per_hour=best.usd_per_hour,
            price_as_of=best.price_as_of,
        ),
    )


# --- allowed types


def _allowed(question: Question, network: NetworkSpec, catalogue: Catalogue) -> Iterator[str]:
    """Yield the types for the group or pool: offered in its zones, and with an AMI for its operating system."""
    region = question.request.regions[0]
    wanted, usable = set(question.zone_ids), _zones_of(network)
    for kind in _offered(catalogue, region):
        offered = catalogue.offered(kind.name, region)
        if (
            wanted.issubset(offered)
            and (wanted or not usable or not usable.isdisjoint(offered))
            and _has_image(question.node, kind)
            and (kind.efa_interfaces or not question.node.efa)
            and (isinstance(question.node, NodeGroupSpec) or known_to_karpenter(kind))
        ):
            yield kind.name


@lru_cache(maxsize=8)
def _offered(catalogue: Catalogue, region: str) -> tuple[InstanceType, ...]:
    return catalogue.select(region=region)


def _zones_of(network: NetworkSpec) -> set[str]:
    """Return the zones of a network; empty if the network uses the zones that its groups need."""
    if network.existing:
        return set(network.existing.private_subnets)
    return set() if isinstance(network.zones, int) else set(network.zones)


def _has_image(node: Node, kind: InstanceType) -> bool:
    if node.ami.image_id:
        return True
    if isinstance(node, NodeGroupSpec) and node.ami.type:
        return node.ami.type in kind.ami_types
    prefix = AMI_PREFIXES[node.ami.family]
    return any(ami_type.startswith(prefix) for ami_type in kind.ami_types)


# --- the choice


def _chosen(question: Question, recommendation: Recommendation) -> Chosen:
    best = recommendation.candidates[0]
    bought: tuple[Capacity, ...] = question.capacity
    if isinstance(question.node, NodeGroupSpec):
        index = question.capacity.index(best.purchase) if best.purchase in question.capacity else 0
        bought = (question.capacity[index],)
    names, efa = types_and_efa(recommendation, best, spot="spot" in bought)
    needs = needs_of(question.request.workload, best)
    return Chosen(instance_types=names, capacity=bought, nodes=best.nodes, efa=efa, needs=needs)


def types_and_efa(recommendation: Recommendation, best: Candidate, *, spot: bool) -> tuple[tuple[str, ...], bool]:
    """Return the types for a candidate, and whether its nodes use EFA.

    Spot needs several types: others with the same devices, in the order of the ranking. EFA does not connect nodes of
    different types.
    """
    efa = recommendation.request.efa
    if efa is None:
        efa = best.fit.nodes > 1 and bool(best.fit.kind.efa_interfaces)
    names = [best.fit.kind.name]
    if spot and not efa:
        names += [
            candidate.fit.kind.name for candidate in recommendation.candidates if _alike(candidate) == _alike(best)
        ]
    return tuple(dict.fromkeys(names))[:_MOST_TYPES], efa


def _alike(each: Candidate) -> tuple[object, ...]:
    """Return the key of candidates that can replace each other."""
    kind, chip = each.fit.kind, each.fit.kind.accelerator
    devices = (chip.name, chip.count, chip.fraction) if chip else (kind.vcpus,)
    return each.region, each.purchase, kind.architecture, each.fit.nodes, each.fit.replicas_per_node, devices


def needs_of(workload: WorkloadSpec, best: Candidate) -> Needs:
    """Return a workload's requirements on its nodes, for the rules. On CPU nodes, the framework is the only one.

    The precision is omitted if the accelerator computes in another format: always for 4-bit weights, and for 8-bit
    weights if it does not support their format.
    """
    kind, fit = best.fit.kind, best.fit
    precision = workload.precision or DEFAULT_FORMAT
    said: dict[str, str] = {}
    if workload.framework:
        said["framework"] = workload.framework
    if kind.accelerator is None:
        return Needs.model_validate(said)
    if precision in get_args(Precision) and software.computes(kind, precision) is not False:
        said["precision"] = precision
    if workload.attention:
        said["attention"] = workload.attention
    if fit.nodes > 1:
        said["distributed"] = "multi-node"
    elif fit.devices > 1 and workload.trains:
        said["distributed"] = "single-node"
    return Needs.model_validate(said)


def too_few_nodes(path: str, node: Node, chosen: Chosen, catalogue: Catalogue | None = None) -> Finding | None:
    """Return WORKLOAD_NODES if a group or pool cannot have enough nodes for one job or replica."""
    described = node.described
    what = "one job" if described and described.trains else "one replica"
    if described and described.users:
        what = "the model's users"
    needs = f"{what} {'need' if what.endswith('users') else 'needs'} {chosen.nodes} nodes of {chosen.instance_types[0]}"
    if isinstance(node, NodeGroupSpec):
        if chosen.nodes <= node.scaling.max:
            return None
        message = f"{needs} at a time, but max is {node.scaling.max}; set max: {chosen.nodes} or more"
        return Finding("WORKLOAD_NODES", field_paths.below(path, "scaling", "max"), message)
    least_limits = _least_limits(node, chosen, catalogue or load())
    for resource, given in node.limits.items():
        least = least_limits.get(resource)
        if least and amount(given) < least:
            message = f"{needs} at a time, with {least} {resource} in total, but the limit is {given}; raise it"
            return Finding("WORKLOAD_NODES", field_paths.below(path, "limits", resource), message)
    return None


def _least_limits(pool: NodePoolSpec, chosen: Chosen, catalogue: Catalogue) -> dict[str, int]:
    """Return how much of each limit, except memory, the nodes of one job need. Memory is the last to run out."""
    kind = catalogue.find(chosen.instance_types[0])
    # POOL_LIMIT_SMALL checks single nodes, and another rule checks negative limits.
    if kind is None or chosen.nodes == 1 or any(isinstance(given, int) and given < 0 for given in pool.limits.values()):
        return {}
    counted = node_capacity(kind)
    return {name: int(counted[name] * chosen.nodes) for name in pool.limits if name in counted and name != "memory"}


# --- nothing fits


def _no_type(question: Question) -> QuestionError:
    field, region = "ami", question.request.regions[0]
    message = f"no type in {region} has an AMI for these nodes; choose another region, or set image_id to your own AMI"
    if question.zone_ids:
        field, zones = "zones", ", ".join(question.zone_ids)
        message = f"{region} offers no type with an AMI for these nodes in {zones}; choose other zones"
    return QuestionError("WORKLOAD_NOTHING_FITS", field_paths.below(question.path, field), message)


def _nothing_fits(question: Question, recommendation: Recommendation) -> QuestionError:
    field = "workload"
    message = "no hardware fits this workload; use a smaller model or a lower precision"
    if recommendation.nearest:
        nearest = recommendation.nearest[0]
        field = _field(nearest)
        remedy = f"; {nearest.remedy.rstrip('.')}" if nearest.remedy else ""
        message = f"nothing fits; closest is {nearest.kind.name}: {nearest.text.rstrip('.')}{remedy}"
    return QuestionError("WORKLOAD_NOTHING_FITS", field_paths.below(question.path, *field_paths.split(field)), message)


def _field(miss: Miss) -> str:
    """Return the field below the group or pool to change for the closest type to fit."""
    if miss.missing_gib is not None:
        return "workload.model"
    failed = (gate.code for gate in miss.gates if gate.passed is False)
    return next((_FIELD_OF_GATE[code] for code in failed if code in _FIELD_OF_GATE), "workload")

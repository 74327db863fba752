"""Ask the recommender what a group or pool asks, and put its answer into the fields of a strategy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from eks_hardware import software
from eks_hardware.advisor.model import Candidate, Miss, Recommendation
from eks_hardware.advisor.strategies.lock import AtTheTime, Chosen, Entry
from eks_hardware.advisor.strategies.questions import Node, Question
from eks_hardware.catalogue import Catalogue, InstanceType, load
from eks_hardware.findings import Finding
from eks_hardware.models import Needs, NetworkSpec, NodeGroupSpec, NodePoolSpec, WorkloadSpec
from eks_hardware.models.node_template import Capacity
from eks_hardware.resolve import known_to_karpenter
from eks_hardware.resolve.node import AMI_PREFIXES
from eks_hardware.resolve.node_pools import node_capacity
from eks_hardware.units import amount

Recommender = Callable[..., Recommendation]
"""``recommend(request, catalogue=..., only=...)``."""

_MOST_TYPES = 5
"""Types of a spot group; more of them are ever less like the best one."""

# Gate of the nearest miss -> the field to change, below the group or pool.
_FIELD_OF_GATE = {
    "BF16": "workload.precision",
    "FP8": "workload.precision",
    "INT8": "workload.precision",
    "PRECISION": "workload.precision",
    "FLASH_ATTENTION": "workload.attention",
    "FRAMEWORK": "workload.framework",
    "EFA": "efa",
    "AMI": "ami",
    "CAPACITY": "capacity",
    "PURCHASE": "workload.purchase",
    "LATENCY": "workload.latency",
}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the recommender would choose today.

    Attributes:
        candidate: the winner.
        entry: the answer as the lock file keeps it.
    """

    candidate: Candidate
    entry: Entry


class NothingFitsError(Exception):
    """No hardware does what is asked.

    Attributes:
        finding: why, with what comes nearest; without a position.
    """

    def __init__(self, finding: Finding) -> None:
        self.finding = finding
        super().__init__(str(finding))


def choose(
    question: Question,
    network: NetworkSpec,
    *,
    overlays: tuple[str, ...] = (),
    recommender: Recommender | None = None,
    catalogue: Catalogue | None = None,
) -> Answer:
    """What the recommender chooses for a group or pool today.

    Args:
        question: what is asked.
        network: of the strategy; its zones bound the choice.
        overlays: for the entry.
        recommender: for tests; :func:`eks_hardware.advisor.recommend.recommend` by default.
        catalogue: the packaged one by default.

    Raises:
        NothingFitsError: WORKLOAD_NOTHING_FITS.
    """
    catalogue = catalogue or load()
    only = tuple(_allowed(question, network, catalogue))
    if not only:
        raise NothingFitsError(_no_type(question))
    found = (recommender or _recommender())(question.request, catalogue=catalogue, only=only)
    if not found.candidates:
        raise NothingFitsError(_nothing_fits(question, found))
    best = found.candidates[0]
    return Answer(
        candidate=best,
        entry=Entry(
            path=question.path,
            overlays=overlays,
            asked=dict(question.asked),
            chosen=_chosen(question, found),
            at_the_time=AtTheTime(
                catalogue=catalogue.source,
                policy=found.branch,
                score=round(best.score, 1),
                usd_per_hour=best.usd_per_hour,
                price_as_of=best.price_as_of,
            ),
        ),
    )


def _recommender() -> Recommender:
    # Here and not at the top: who has a lock file needs none.
    from eks_hardware.advisor.recommend import recommend

    return recommend


# --- what may be chosen


def _allowed(question: Question, network: NetworkSpec, catalogue: Catalogue) -> Iterator[str]:
    """Types that the group or pool takes: its zones have them, and there is an image of its operating system."""
    region = question.request.regions[0]
    usable = _zones_of(network)
    for kind in _offered(catalogue, region):
        offered = set(catalogue.offered(kind.name, region))
        if (
            offered >= set(question.zone_ids)
            and (question.zone_ids or not usable or offered & usable)
            and _has_image(question.node, kind)
            and (kind.efa_interfaces or not question.node.efa)
            and (isinstance(question.node, NodeGroupSpec) or known_to_karpenter(kind))
        ):
            yield kind.name


@lru_cache(maxsize=8)
def _offered(catalogue: Catalogue, region: str) -> tuple[InstanceType, ...]:
    return catalogue.select(region=region)


def _zones_of(network: NetworkSpec) -> set[str]:
    """The zones of a network that names them; empty for one that takes what its groups need."""
    if network.existing:
        return set(network.existing.private_subnets)
    return set() if isinstance(network.zones, int) else set(network.zones)


def _has_image(node: Node, kind: InstanceType) -> bool:
    if node.ami.image_id:
        return True
    if isinstance(node, NodeGroupSpec) and node.ami.type:
        return node.ami.type in kind.ami_types
    return any(each.startswith(AMI_PREFIXES[node.ami.family]) for each in kind.ami_types)


# --- the answer


def _chosen(question: Question, found: Recommendation) -> Chosen:
    best = found.candidates[0]
    kind, nodes = best.fit.kind, best.fit.nodes
    said = question.request.efa
    efa = said if said is not None else nodes > 1 and bool(kind.efa_interfaces)
    bought: tuple[Capacity, ...] = question.capacity
    if isinstance(question.node, NodeGroupSpec):
        index = question.capacity.index(best.purchase) if best.purchase in question.capacity else 0
        bought = (question.capacity[index],)
    names: tuple[str, ...] = (kind.name,)
    if "spot" in bought and not efa:
        names = interchangeable(found.candidates, best)
    return Chosen(
        instance_types=names, capacity=bought, nodes=nodes, efa=efa, needs=needs_of(question.request.workload, best)
    )


def interchangeable(candidates: Sequence[Candidate], best: Candidate) -> tuple[str, ...]:
    """A candidate's type and others with the same accelerators, in the order of the ranking: spot wants a choice."""
    names = {best.fit.kind.name: None}
    for fit in (each.fit for each in candidates if (each.region, each.purchase) == (best.region, best.purchase)):
        alike = (
            _devices(fit.kind) == _devices(best.fit.kind)
            and fit.kind.architecture == best.fit.kind.architecture
            and fit.nodes == best.fit.nodes
            and fit.replicas_per_node == best.fit.replicas_per_node
        )
        if alike:
            names[fit.kind.name] = None
    return tuple(names)[:_MOST_TYPES]


def _devices(kind: InstanceType) -> tuple[str, int, float | None]:
    accelerator = kind.accelerator
    return (accelerator.name, accelerator.count, accelerator.fraction) if accelerator else ("", kind.vcpus, None)


def needs_of(workload: WorkloadSpec, best: Candidate) -> Needs:
    """What a workload demands of its nodes, for the rules about them.

    4-bit weights are computed with in another format, and 8-bit ones too where the accelerator lacks theirs.
    """
    kind, fit = best.fit.kind, best.fit
    precision = workload.precision or "bf16"
    said: dict[str, str] = {}
    if precision != "int4" and software.computes(kind, precision) is not False:
        said["precision"] = precision
    if workload.framework:
        said["framework"] = workload.framework
    if workload.attention:
        said["attention"] = workload.attention
    if fit.nodes > 1:
        said["distributed"] = "multi-node"
    elif fit.devices > 1 and workload.trains:
        said["distributed"] = "single-node"
    return Needs.model_validate(said)


def too_few_nodes(path: str, node: Node, chosen: Chosen, catalogue: Catalogue | None = None) -> Finding | None:
    """WORKLOAD_NODES, where a group or pool may not have as many nodes as one job, or one replica, takes."""
    needs = f"one {'job' if _trains(node) else 'replica'} takes {chosen.nodes} nodes of {chosen.instance_types[0]}"
    if isinstance(node, NodeGroupSpec):
        if chosen.nodes <= node.scaling.max:
            return None
        message = f"{needs} at once, and max is {node.scaling.max}; set max: {chosen.nodes} or more"
        return Finding("WORKLOAD_NODES", f"{path}.scaling.max", message)
    least_limits = _least_limits(node, chosen, catalogue or load())
    for resource, given in node.limits.items():
        least = least_limits.get(resource)
        if least and amount(given) < least:
            message = f"{needs} at once, with {least} {resource} together, and the limit is {given}; raise it"
            bracketed = f"limits[{resource}]" if "/" in resource else f"limits.{resource}"
            return Finding("WORKLOAD_NODES", f"{path}.{bracketed}", message)
    return None


def _least_limits(pool: NodePoolSpec, chosen: Chosen, catalogue: Catalogue) -> dict[str, int]:
    """What the nodes of one job count for against each limit, but memory: it is the last to run out."""
    kind = catalogue.find(chosen.instance_types[0])
    # Of one node POOL_LIMIT_SMALL speaks; a limit below zero has a rule of its own, too.
    if kind is None or chosen.nodes == 1 or any(isinstance(given, int) and given < 0 for given in pool.limits.values()):
        return {}
    counted = node_capacity(kind)
    return {name: int(counted[name] * chosen.nodes) for name in pool.limits if name in counted and name != "memory"}


def _trains(node: Node) -> bool:
    return bool(node.described and node.described.trains)


# --- where nothing fits


def _no_type(question: Question) -> Finding:
    region = question.request.regions[0]
    if question.zone_ids:
        message = f"no type is offered in {', '.join(question.zone_ids)} of {region} with an image for these nodes"
        return Finding("WORKLOAD_NOTHING_FITS", f"{question.path}.zones", f"{message}; take other zones")
    message = f"no type of {region} has an image for these nodes; take another region, or image_id for one of your own"
    return Finding("WORKLOAD_NOTHING_FITS", f"{question.path}.ami", message)


def _nothing_fits(question: Question, found: Recommendation) -> Finding:
    if not found.nearest:
        message = "no hardware does this; make the model smaller, or the precision lower"
        return Finding("WORKLOAD_NOTHING_FITS", f"{question.path}.workload", message)
    nearest = found.nearest[0]
    remedy = f"; {nearest.remedy.rstrip('.')}" if nearest.remedy else ""
    message = f"nothing fits; nearest is {nearest.kind.name}: {nearest.text.rstrip('.')}{remedy}"
    return Finding("WORKLOAD_NOTHING_FITS", f"{question.path}.{_field(nearest)}", message)


def _field(miss: Miss) -> str:
    """The field to change so that the nearest would fit."""
    if miss.missing_gib is not None:
        return "workload.model"
    failed = (gate.code for gate in miss.gates if gate.passed is False)
    return next((_FIELD_OF_GATE[code] for code in failed if code in _FIELD_OF_GATE), "workload")

"""What a group or pool with ``workload: {...}`` asks the recommender, in a form that can be compared and kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias

from eks_hardware import field_paths
from eks_hardware.advisor.model import Request, ShapeError
from eks_hardware.advisor.shapes.shape import shape_of
from eks_hardware.advisor.strategies.lock import Asked, Entry
from eks_hardware.findings import Finding
from eks_hardware.loader import LoadedStrategy
from eks_hardware.models import NodeGroupSpec, NodePoolSpec, WorkloadSpec
from eks_hardware.models.node_lists import nodes_by_path
from eks_hardware.models.nodes import Capacity
from eks_hardware.models.workload import count
from eks_hardware.resolve import zones

Node: TypeAlias = NodeGroupSpec | NodePoolSpec

_UNRESERVED: tuple[Capacity, ...] = ("on-demand", "spot")
_COUNTS = ("parameters", "active_parameters", "training_tokens")
# What says how a shape was found, not what it is; and a word that nothing is computed from.
_NOT_ASKED = frozenset(("estimated", "source"))


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a group or pool asks."""

    path: str
    node: Node
    request: Request  # the question as the recommender takes it
    capacity: tuple[Capacity, ...]  # how nodes may be bought, from the group or pool or from its workload
    zone_ids: tuple[str, ...]  # a type has to be in every one of these zones; empty for any
    asked: Asked  # the question as the lock file keeps it


class QuestionError(Exception):
    """A group or pool whose question makes no sense, or for which there is no hardware.

    Attributes:
        finding: why, without a position.
    """

    def __init__(self, code: str, path: str, message: str) -> None:
        self.finding = Finding(code, path, message)
        super().__init__(str(self.finding))


def described_nodes(loaded: LoadedStrategy) -> Mapping[str, Node]:
    """The groups and pools that say what is to run on them, by path."""
    return {path: node for path, node in nodes_by_path(loaded.strategy).items() if node.described}


def question_of(loaded: LoadedStrategy, path: str, node: Node) -> Question:
    """What a group or pool asks.

    Raises:
        QuestionError: WORKLOAD_SPOT, WORKLOAD_CAPACITY, or what is wrong with its model.
    """
    workload = node.described
    if workload is None:
        raise ValueError(f"{path} describes no workload")
    capacity = _capacity(path, node, workload)
    try:
        shape = shape_of(workload.model, folder=loaded.path.parent if loaded.path else Path())
    except ShapeError as error:
        field = field_paths.below(path, "workload", "model", error.field)
        raise QuestionError(error.code, field, error.message) from None
    demand = zones.of_node_group(node) if isinstance(node, NodeGroupSpec) else zones.of_node_pool(node, ())
    zone_ids = tuple(sorted(set(demand.pinned)))
    # The software of the containers is asked for once, whether the workload or `needs` names it.
    filled_in = {
        "purchase": capacity,
        "framework": workload.framework or node.needs.framework,
        "attention": workload.attention or node.needs.attention,
    }
    request = Request(
        workload=workload.model_copy(update=filled_in),
        shape=shape,
        regions=(loaded.strategy.region,),
        efa=node.efa if "efa" in node.model_fields_set else None,
    )
    return Question(
        path=path,
        node=node,
        request=request,
        capacity=capacity,
        zone_ids=zone_ids,
        asked=_asked(request, node, zone_ids),
    )


def _capacity(path: str, node: Node, workload: WorkloadSpec) -> tuple[Capacity, ...]:
    """How nodes may be bought: as the group or pool says, or else as its workload does."""
    if "capacity" not in node.model_fields_set:
        bought = tuple(sorted(set(_UNRESERVED).intersection(workload.purchase), key=workload.purchase.index))
        if not bought:
            reserved = workload.purchase[0]
            message = (
                f"{reserved} nodes come from a reservation, whose id and zone the workload does not say; add capacity: "
                f"{reserved} and the reservation beside it"
            )
            raise QuestionError("WORKLOAD_CAPACITY", field_paths.below(path, "workload", "purchase"), message)
        return bought
    own = (node.capacity,) if isinstance(node, NodeGroupSpec) else node.capacity
    if "spot" in own and not workload.interruptible:
        message = (
            "spot takes nodes away at two minutes' notice, and the workload does not say that it survives that; add "
            "interruptible: true to it, or take spot out"
        )
        raise QuestionError("WORKLOAD_SPOT", field_paths.below(path, "capacity"), message)
    foreign = [each for each in own if each not in workload.purchase]
    if foreign and "purchase" in workload.model_fields_set:
        message = (
            f"nodes are bought as {foreign[0]} here, and the workload's purchase has only "
            f"{', '.join(workload.purchase)}; make the two agree, or keep one of them"
        )
        raise QuestionError("WORKLOAD_CAPACITY", field_paths.below(path, "capacity"), message)
    return own


def _asked(request: Request, node: Node, zone_ids: tuple[str, ...]) -> Asked:
    """The question in flat fields. Defaults are left out, so that saying one asks the same question."""
    workload = request.workload
    said = workload.model_dump(mode="json", exclude_defaults=True, exclude={"model", "purchase"})
    if workload.model.hf_config is None:
        model = workload.model.model_dump(mode="json", exclude_none=True)
    else:
        # What the file says, not where it is: a changed file is another question, a moved one is not.
        model = {each.name: getattr(request.shape, each.name) for each in fields(request.shape)}
        model = {name: value for name, value in model.items() if value is not None and name not in _NOT_ASKED}
    ami = node.ami.model_dump(mode="json", exclude_defaults=True, include={"family", "type", "image_id"})
    asked = {
        "region": request.regions[0],
        "capacity": workload.purchase,
        "zones": zone_ids,
        "efa": request.efa,
        **_flat("ami", ami),
        **_flat("workload", said),
        **_flat("model", model),
    }
    return {name: value for name, value in asked.items() if value is not None and value != ()}


def _flat(prefix: str, value: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, each in value.items():
        if isinstance(each, Mapping):
            found |= _flat(f"{prefix}.{name}", each)
        else:
            found[f"{prefix}.{name}"] = count(each) if name in _COUNTS and isinstance(each, str) else each
    return found


def answer_in(entries: Sequence[Entry], question: Question) -> Entry | None:
    """The locked answer to a question, whichever overlays it was asked with."""
    return next((each for each in entries if each.path == question.path and each.asked == dict(question.asked)), None)


def differences(asked: Asked, locked: Asked) -> tuple[str, ...]:
    """What is asked otherwise than when the choice was made, in words; nothing where it is the same question."""
    names = sorted({*asked, *locked})
    return tuple(
        f"{name} is {_shown(asked.get(name))}, was {_shown(locked.get(name))}"
        for name in names
        if asked.get(name) != locked.get(name)
    )


def _shown(value: object) -> str:
    if value is None:
        return "not said"
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)

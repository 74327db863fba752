"""The question that ``workload: {...}`` of a group or pool asks the recommender, in a comparable form."""

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
from eks_hardware.models.workload import count
from eks_hardware.resolve import zones
from eks_hardware.spellings import Capacity

Node: TypeAlias = NodeGroupSpec | NodePoolSpec

_UNRESERVED: tuple[Capacity, ...] = ("on-demand", "spot")
_COUNTS = ("parameters", "active_parameters", "training_tokens")
# Fields about the origin of a shape, which do not affect the result, and one that changes only with the parameters.
_NOT_ASKED = frozenset(("estimated", "source", "expert_layers"))


@dataclass(frozen=True, kw_only=True)
class Question:
    """The question of a group or pool."""

    path: str
    node: Node
    request: Request  # the question for the recommender
    capacity: tuple[Capacity, ...]  # allowed capacity types, from the group or pool, or from its workload
    zone_ids: tuple[str, ...]  # all of these zones must offer a type; empty for any
    asked: Asked  # the question as stored in the lock file


class QuestionError(Exception):
    """Raised when the question of a group or pool is contradictory, or no hardware fits it.

    Attributes:
        finding: the finding, without a position.
    """

    def __init__(self, code: str, path: str, message: str) -> None:
        self.finding = Finding(code, path, message)
        super().__init__(str(self.finding))


def described_nodes(loaded: LoadedStrategy) -> Mapping[str, Node]:
    """Return the groups and pools with a workload, by path."""
    return {path: node for path, node in nodes_by_path(loaded.strategy).items() if node.described}


def question_of(loaded: LoadedStrategy, path: str, node: Node) -> Question:
    """Return the question of a group or pool.

    Raises:
        QuestionError: WORKLOAD_SPOT, WORKLOAD_CAPACITY, or errors in its model.
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
    # The framework is part of the question, whether the workload or `needs` names it.
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
    """Return the allowed capacity types: of the group or pool, otherwise of its workload."""
    if "capacity" not in node.model_fields_set:
        reserved = next((each for each in workload.purchase if each not in _UNRESERVED), None)
        if reserved:
            others = f", or remove {reserved}" if len(workload.purchase) > 1 else ""
            message = (
                f"{reserved} nodes need a reservation, but a workload has no field for its id and zone; add "
                f"capacity: {reserved} and reservation to the group or pool{others}"
            )
            raise QuestionError("WORKLOAD_CAPACITY", field_paths.below(path, "workload", "purchase"), message)
        return tuple(dict.fromkeys(workload.purchase))
    own = (node.capacity,) if isinstance(node, NodeGroupSpec) else node.capacity
    if "spot" in own and not workload.interruptible:
        message = (
            "AWS can interrupt Spot nodes with two minutes' notice, but the workload is not interruptible; add "
            "interruptible: true to it, or remove spot"
        )
        raise QuestionError("WORKLOAD_SPOT", field_paths.below(path, "capacity"), message)
    foreign = [each for each in own if each not in workload.purchase]
    if foreign and "purchase" in workload.model_fields_set:
        message = (
            f"capacity is {foreign[0]}, but the workload's purchase allows only "
            f"{', '.join(workload.purchase)}; set both to the same value, or remove one of them"
        )
        raise QuestionError("WORKLOAD_CAPACITY", field_paths.below(path, "capacity"), message)
    return own


def _asked(request: Request, node: Node, zone_ids: tuple[str, ...]) -> Asked:
    """Return the question as flat fields. Defaults are omitted, so stating a default does not change the question."""
    workload = request.workload
    said = workload.model_dump(mode="json", exclude_defaults=True, exclude={"model", "purchase"})
    if workload.model.hf_config is None and workload.model.name is None:
        model = workload.model.model_dump(mode="json", exclude_none=True)
    else:
        # The content, not the path or name: a changed file is another question, a moved file is not.
        model = {field.name: getattr(request.shape, field.name) for field in fields(request.shape)}
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


def _flat(prefix: str, value: Mapping[str, object]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, each in value.items():
        if isinstance(each, Mapping):
            flat |= _flat(f"{prefix}.{name}", each)
        elif isinstance(each, list):  # the lock file is read with tuples
            flat[f"{prefix}.{name}"] = tuple(each)
        else:
            flat[f"{prefix}.{name}"] = count(each) if name in _COUNTS and isinstance(each, str) else each
    return flat


def answer_in(entries: Sequence[Entry], question: Question) -> Entry | None:
    """Return the locked answer to a question, with any overlays."""
    return next(
        (entry for entry in entries if entry.path == question.path and entry.asked == dict(question.asked)), None
    )


def differences(asked: Asked, locked: Asked) -> tuple[str, ...]:
    """Return the differences between a question and a locked one, in words; empty if they are the same."""
    names = sorted({*asked, *locked})
    return tuple(
        f"{name} is {_shown(asked.get(name))}, was {_shown(locked.get(name))}"
        for name in names
        if asked.get(name) != locked.get(name)
    )


def _shown(value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)

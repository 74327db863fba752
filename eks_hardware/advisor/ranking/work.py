"""The amount of work: tokens of a run, its longest duration, and the requests of users."""

from __future__ import annotations

import math
from typing import Literal

from eks_hardware import facts
from eks_hardware.advisor.fitting.defaults import answer_tokens
from eks_hardware.advisor.model import Request
from eks_hardware.advisor.ranking.policy import way_of
from eks_hardware.models.workload import Latency, WorkloadSpec, count, hours

_HOURS_PER_DAY = 24
_MS = 1000


def run_tokens(request: Request) -> int | None:
    """Return the tokens of a run: those of the workload, or the assumed ones; None for work that is not a run."""
    workload = request.workload
    if workload.training_tokens:
        return count(workload.training_tokens)
    assumed = facts.ranking()["run"]["assumed"].get(way_of(workload))
    if assumed is None:
        return None
    each = assumed.get("tokens_per_parameter")
    return each * request.shape.parameters if each else assumed.get("tokens")


def is_planned(workload: WorkloadSpec) -> bool:
    """Return whether the duration of a training run matters: the workload sets its tokens or a time limit."""
    return workload.trains and bool(workload.training_tokens or workload.within)


def compared_per(workload: WorkloadSpec) -> Literal["node", "device"] | None:
    """Return the unit whose speed counts for a training run without a token count, a time limit or a number of nodes.

    Pre-training fills nodes. Fine-tuning often fits one device, and more devices of any type are faster.
    """
    if not workload.trains or is_planned(workload) or workload.nodes:
        return None
    return "device" if workload.task == "fine-tuning" else "node"


def longest_hours(workload: WorkloadSpec) -> float:
    """Return the longest duration of a run."""
    if workload.within:
        return hours(workload.within)
    return facts.ranking()["run"]["longest_days"]["value"] * _HOURS_PER_DAY


def in_flight(request: Request) -> int:
    """Return how many user requests are in progress at the same time.

    A user waits for an answer, then thinks. The share of users who wait is the time of an answer, at the slowest speed
    that meets the targets, divided by the time of an answer plus a pause.
    """
    workload, rules = request.workload, facts.ranking()["users"]
    users = workload.users or 1
    think = rules["think_seconds"]["value"] if workload.think_seconds is None else workload.think_seconds
    target = _pace(request)
    answer = answer_tokens(request)
    takes = ((target.first_token_ms or 0) + answer * (target.per_token_ms or 0)) / _MS
    return max(1, math.ceil(users * takes / (takes + think)))


def at_pace(request: Request, sequences: int) -> Request:
    """Return the request for one replica that serves users: a number of sequences, with latency targets or defaults."""
    fields = {"concurrent_sequences": sequences, "latency": _pace(request)}
    return request.with_workload(**fields)


def _pace(request: Request) -> Latency:
    """Return the workload's targets, and defaults for missing ones."""
    rules, said = facts.ranking()["users"], request.workload.latency
    first = said and said.first_token_ms
    if request.shape.generates is False:
        return Latency(first_token_ms=first or rules["answer_ms"]["value"])
    return Latency(
        first_token_ms=first or rules["first_token_ms"]["value"],
        per_token_ms=(said and said.per_token_ms) or rules["per_token_ms"]["value"],
    )

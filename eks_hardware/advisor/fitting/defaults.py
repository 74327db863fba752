"""Defaults for fields that a workload omits (``config/facts/memory.json``, ``inference``)."""

from __future__ import annotations

from eks_hardware import facts
from eks_hardware.advisor.model import Request
from eks_hardware.models import WorkloadSpec


def context_length(workload: WorkloadSpec) -> int:
    """Return the context length in tokens: prompt and output."""
    return workload.context_length or facts.memory()["inference"]["defaults"]["context_length"]


def context_of(request: Request) -> int:
    """Return the context length in tokens, or an encoder's input length, capped at the model's maximum.

    A context length that the workload sets for a generating model is not capped.
    """
    workload, shape = request.workload, request.shape
    length = context_length(workload)
    stretched = workload.context_length is not None and shape.generates is not False
    return length if stretched else min(length, shape.max_context_length or length)


def answer_tokens(request: Request) -> int:
    """Return the length of an answer in tokens; 0 for a model that does not generate.

    With users, this is the average: the workload's, or a typical length of at most half of the context. Without users,
    it is half of the context.
    """
    workload, context = request.workload, context_of(request)
    if request.shape.generates is False:
        return 0
    if not workload.users:
        return max(context - max(context // 2, 1), 1)
    return workload.answer_tokens or min(max(context // 2, 1), facts.ranking()["users"]["answer_tokens"]["value"])


def prompt_tokens(request: Request) -> int:
    """Return the length of a prompt in tokens.

    With users, this is the average: the workload's or a typical length, capped at the context that the answer leaves.
    Without users, it is half of the context.
    """
    workload, context = request.workload, context_of(request)
    if not workload.users:
        return max(context // 2, 1)
    average = workload.prompt_tokens or facts.ranking()["users"]["prompt_tokens"]["value"]
    return max(min(context - answer_tokens(request), average), 1)


def concurrent_sequences(workload: WorkloadSpec) -> int:
    """Return how many sequences one replica processes concurrently."""
    defaults = facts.memory()["inference"]["defaults"]
    default = defaults["sequences_batch" if workload.serving == "batch" else "sequences_real_time"]
    return workload.concurrent_sequences or default


def batch_size(workload: WorkloadSpec) -> int:
    """Return the number of sequences per device in a training step."""
    return workload.batch_size or facts.memory()["inference"]["defaults"]["batch_size"]


def sequence_length(request: Request) -> int:
    """Return the tokens of a training sequence: the workload's, or the default capped at the model's maximum."""
    default = facts.memory()["inference"]["defaults"]["sequence_length"]
    return request.workload.sequence_length or min(default, request.shape.max_context_length or default)

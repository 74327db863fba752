"""Properties of every answer of the recommender over the real catalogue, for any workload."""

from __future__ import annotations

import itertools
import random
from typing import Any, NamedTuple

import pytest

from eks_hardware import facts
from eks_hardware.advisor.model import Candidate, Recommendation
from helpers.advisor import CHAT, EMBEDDINGS, PRETRAINING, answer, families, priced
from helpers.cases import in_one_test


@pytest.mark.parametrize("budget", ["cost", "balanced", "performance"])
@pytest.mark.parametrize("said", [CHAT, PRETRAINING, EMBEDDINGS], ids=["chat", "pretraining", "embeddings"])
def test_a_family_never_falls_by_becoming_cheaper(
    monkeypatch: pytest.MonkeyPatch, said: dict[str, Any], budget: str
) -> None:
    before = families(answer(**said, budget=budget))
    for family in before[:6]:
        priced(monkeypatch, family, 0.7)
        assert families(answer(**said, budget=budget)).index(family) <= before.index(family)


@in_one_test("budget", ["cost", "balanced", "performance"])
@in_one_test("purchase", [("on-demand",), ("spot", "on-demand")])
@in_one_test(
    "work",
    [
        {"task": "inference", "model": {"parameters": "8B"}, "framework": "vllm"},
        {"task": "inference", "model": {"parameters": "8B"}, "context_length": 500_000, "framework": "vllm"},
        {"task": "inference", "model": {"parameters": "70B"}, "concurrent_sequences": 16, "context_length": 8192},
        {"task": "inference", "model": {"parameters": "671B", "active_parameters": "37B"}, "precision": "fp8"},
        {"task": "inference", "serving": "batch", "model": {"parameters": "110M", "architecture": "bert"}},
        {"task": "training", "model": {"parameters": "7B"}, "training_tokens": "100B"},
        {"task": "training", "model": {"parameters": "70B"}, "training_tokens": "1T"},
        {"task": "fine-tuning", "method": "qlora", "model": {"parameters": "8B"}, "training_tokens": "100M"},
        {"task": "development", "model": {"parameters": "1B"}},
    ],
    ids=lambda work: "-".join(str(each) for each in (work["task"], *work["model"].values())),
)
def test_nothing_stands_before_what_is_cheaper_faster_and_simpler(
    work: dict[str, Any], purchase: tuple[str, ...], budget: str
) -> None:
    found = answer("us-west-2", "us-east-1", **work, budget=budget, purchase=purchase, interruptible=True)
    assert found.candidates
    basis = basis_of_all(found)
    ranked = [figures for each in found.candidates if (figures := Figures.of(each, basis))]
    for place, each in enumerate(ranked[:FIRST]):
        for later in ranked[place + 1 :]:
            assert not is_plainly_better(later, each), (each, later)


FIRST = 40
"""Candidates that are compared with all below them."""


class Figures(NamedTuple):
    """Figures for the comparison of candidates.

    ``cost`` uses the answer's basis. ``speed`` is that of a run, or else of a replica.
    """

    name: str
    cost: float
    speed: float
    nodes: int
    maturity: str

    @classmethod
    def of(cls, each: Candidate, basis: str) -> Figures | None:
        cost, fit = getattr(each, basis), each.fit
        if cost is None or each.tokens_per_second is None or each.replicas:
            return None
        copies = 1 if each.hours is not None else fit.replicas_per_node
        return cls(fit.kind.name, cost, each.tokens_per_second / copies, fit.nodes, each.maturity)


def basis_of_all(found: Recommendation) -> str:
    """Return the cost figure that the answer says it compares."""
    said = next(note for note in found.notes if note.startswith("costs are compared"))
    words = {"per run": "usd_per_run", "per hour": "usd_per_hour"}
    return next(figure for word, figure in words.items() if word in said)


def is_plainly_better(one: Figures, other: Figures) -> bool:
    """Return whether it is 10% cheaper and faster, with no more nodes and software at least as mature."""
    return (
        one.cost < 0.9 * other.cost
        and one.speed > 1.1 * other.speed
        and one.nodes <= other.nodes
        and one.maturity in (other.maturity, "mature")
    )


# --- many random requests


def random_request(chance: random.Random) -> dict[str, Any]:
    """Return a request that an engineer could make."""
    task = chance.choice(["training", "fine-tuning", "inference", "inference", "inference", "development"])
    said: dict[str, Any] = {"task": task, "budget": chance.choice(["cost", "balanced", "performance"])}
    size = round(10 ** chance.uniform(7.3, 11.9))
    said["model"] = {"parameters": str(size)}
    if size < 1e9 and chance.random() < 0.5:
        said["model"]["architecture"] = chance.choice(["bert", "vit"])
    if task == "fine-tuning":
        said["method"] = chance.choice(["full", "lora", "qlora"])
    if task in ("training", "fine-tuning") and chance.random() < 0.5:
        said["training_tokens"] = str(round(10 ** chance.uniform(7, 12)))
    if task == "inference":
        if chance.random() < 0.3:
            said["serving"] = "batch"
        elif chance.random() < 0.3:
            said["users"] = chance.randint(1, 500)
        else:
            said["concurrent_sequences"] = 2 ** chance.randint(0, 6)
        said["precision"] = chance.choice(["bf16", "fp8", "int4", None])
        said["context_length"] = 2 ** chance.randint(9, 16)
    if chance.random() < 0.3:
        said |= {"purchase": chance.choice([["spot"], ["spot", "on-demand"]]), "interruptible": True}
    said["software"] = chance.choice([None, "any", "mature"])
    return {name: value for name, value in said.items() if value is not None}


SEED = 17
REQUESTS = [random_request(random.Random(SEED + number)) for number in range(80)]


@in_one_test("said", REQUESTS, ids=str)
def test_the_first_place_is_within_the_limit_and_nothing_stands_above_what_is_better(said: dict[str, Any]) -> None:
    found = answer("us-west-2", "us-east-1", **said)
    if not found.candidates:
        assert found.unreasonable or found.nearest
        return
    basis, limit = basis_of_all(found), facts.ranking()["limits"][said["budget"]]  # type: ignore[literal-required]
    development = said["task"] == "development"
    sure = [each for each in found.candidates if development or each.tokens_per_second is not None]
    costs = [cost for each in sure if (cost := getattr(each, basis)) is not None]
    first = getattr(found.candidates[0], basis)
    if costs:
        assert first is not None
        assert first <= limit * min(costs) * 1.0001
    assert not (said.get("software", "supported") == "mature" and any(c.maturity != "mature" for c in found.candidates))
    scores = [each.score for each in found.candidates]
    assert all(before >= after - 0.01 for before, after in itertools.pairwise(scores))
    ranked = [figures for each in found.candidates if (figures := Figures.of(each, basis))]
    for place, each in enumerate(ranked[:FIRST]):
        for later in ranked[place + 1 :]:
            assert not is_plainly_better(later, each), (each, later)

"""Properties of every answer of the recommender over the real catalogue, for any workload."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

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
    for place, each in enumerate(ranked):
        for later in ranked[place + 1 :]:
            assert not is_plainly_better(later, each), (each, later)


class Figures(NamedTuple):
    """Figures for the comparison of candidates; ``cost`` uses the answer's basis, ``speed`` is that of a replica."""

    name: str
    cost: float
    speed: float
    nodes: int
    maturity: str

    @classmethod
    def of(cls, each: Candidate, basis: str) -> Figures | None:
        cost, fit = getattr(each, basis), each.fit
        if cost is None or each.tokens_per_second is None:
            return None
        return cls(fit.kind.name, cost, each.tokens_per_second / fit.replicas_per_node, fit.nodes, each.maturity)


def basis_of_all(found: Recommendation) -> str:
    """Return the cost figure that the answer says it compares."""
    said = next(note for note in found.notes if note.startswith("costs are compared"))
    words = {"per run": "usd_per_run", "per million": "usd_per_million_tokens", "per hour": "usd_per_hour"}
    return next(figure for word, figure in words.items() if word in said)


def is_plainly_better(one: Figures, other: Figures) -> bool:
    """Return whether it is 10% cheaper and faster, with no more nodes and software at least as mature."""
    return (
        one.cost < 0.9 * other.cost
        and one.speed > 1.1 * other.speed
        and one.nodes <= other.nodes
        and one.maturity in (other.maturity, "mature")
    )

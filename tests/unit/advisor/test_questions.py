"""Questions that engineers ask, and the answers that a colleague would sign."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from eks_hardware import facts
from eks_hardware.advisor.model import Prominent
from eks_hardware.advisor.ranking.policy import branch_for
from eks_hardware.advisor.recommend import best_of_families
from helpers.advisor import answer, asking
from helpers.cases import in_one_test

ASKED: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    Path(__file__).with_name("questions.yaml").read_text(encoding="utf-8")
)


def check(question: dict[str, Any]) -> None:
    best = best_of_families(answer(*question.get("regions", ()), **question["ask"]).candidates)
    assert best, "nothing fits"
    families = [each.fit.kind.family for each in best]
    first = best[0]
    is_cpu = first.fit.kind.accelerator is None
    assert families[0] in question.get("first", ()) or (is_cpu and question.get("cpu")), families[:5]
    if "second" in question:
        assert families[1] in question["second"], families[:5]
    assert not {*families[:3]} & {*question.get("never", ())}, families[:5]
    assert not {*families} & {*question.get("absent", ())}, families
    assert first.nodes <= question.get("most_nodes", first.nodes), first.nodes
    if "usd_per_hour" in question:
        assert first.usd_per_hour is not None
        assert first.usd_per_hour <= question["usd_per_hour"], (first.fit.kind.name, first.usd_per_hour)


@in_one_test("question", ASKED["laughable"], ids=lambda each: each["name"])
def test_no_answer_is_laughable(question: dict[str, Any]) -> None:
    check(question)


@in_one_test("question", ASKED["questions"], ids=lambda each: each["name"])
def test_the_first_place_is_one_that_a_colleague_would_sign(question: dict[str, Any]) -> None:
    check(question)


def test_there_are_enough_questions_each_with_a_reason() -> None:
    assert len(ASKED["questions"]) >= 28
    for each in (*ASKED["laughable"], *ASKED["questions"]):
        assert each["why"], each["name"]
        assert each.get("first") or each.get("cpu"), each["name"]
        # Longer lists can hardly fail.
        assert all(len(each.get(place, ())) <= 3 for place in ("first", "second")), each["name"]
    tasks = {each["ask"]["task"] for each in ASKED["questions"]}
    assert tasks == {"training", "fine-tuning", "inference", "development"}


def test_each_branch_of_the_selection_guide_has_a_question() -> None:
    asked = {branch_for(asking(*each.get("regions", ()), **each["ask"])).id for each in ASKED["questions"]}
    branches = {branch["id"] for tree in facts.selection_guide()["trees"] for branch in tree["branches"]}
    assert branches - asked == set()


@in_one_test(
    ("architecture", "what"),
    [("resnet", "a convolutional network"), ("flux", "a diffusion model"), ("xgboost", "a model of decision trees")],
)
def test_the_answer_says_that_an_architecture_is_not_estimated(architecture: str, what: str) -> None:
    found = answer(task="inference", model={"parameters": "25M", "architecture": architecture})
    said = f"{what} is not estimated: the figures are for a transformer of the same size; measure your own"
    assert said in [note for note in found.notes if isinstance(note, Prominent)]


@in_one_test("architecture", ["bert", "vit", "llama", None])
def test_transformers_are_estimated(architecture: str | None) -> None:
    found = answer(task="inference", model={"parameters": "86M", "architecture": architecture})
    assert not [note for note in found.notes if "not estimated" in note]


@pytest.mark.parametrize("task", ["training", "inference"])
def test_what_is_sold_for_inference_trains_if_the_request_allows_nothing_else(task: str) -> None:
    found = answer(task=task, model={"parameters": "110M"}, framework="jax", only=("inf2",))
    assert bool(found.candidates)

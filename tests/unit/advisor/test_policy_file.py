"""A policy of the user: its file, its faults, and its place in the ranking."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from eks_hardware import data
from eks_hardware.advisor.model import Request
from eks_hardware.advisor.ranking import policy, policy_file
from eks_hardware.advisor.ranking.policy_file import PolicyFile, read_policy
from eks_hardware.advisor.recommend import recommend
from eks_hardware.findings import StrategyError
from eks_hardware.models import json_schema
from helpers.advisor import request_for
from helpers.cases import in_one_test
from helpers.recommend_command import run

BRANCH: dict[str, Any] = {"id": "small", "quote": "Small models on L40S", "names": {"families": ["g6e"]}}
TREE: dict[str, Any] = {"id": "serving", "when": {"tasks": ["inference"]}, "branches": [BRANCH]}
POLICY: dict[str, Any] = {"version": 1, "name": "platform policy", "trees": [TREE]}
ASKED = ("--task", "inference", "--model", "llama-3.1-8b", "--region", "us-west-2")


def of_trees(**said: Any) -> str:
    return yaml.safe_dump(POLICY | said, sort_keys=False)


def policy_request(request: Request, own: policy.Policy) -> Request:
    return replace(request, policy=own)


def of_branch(**said: Any) -> str:
    return of_trees(trees=[TREE | {"branches": [BRANCH | said]}])


# --- the file


def test_the_shipped_policy_is_such_a_file() -> None:
    assert read_policy(data.FOLDER / "policy" / "selection_guide.json") == policy.shipped()


def test_the_schema_of_policies_is_up_to_date() -> None:
    written = policy_file.SCHEMA_PATH.read_text(encoding="utf-8")
    assert written == json_schema.render(PolicyFile, "policy")


def test_every_condition_of_a_policy_can_be_written() -> None:
    assert set(policy_file.When.model_fields) == set(policy._CONDITIONS)


TODAY = {"text": "it is withdrawn", "source": "aws", "as_of": "2026-11"}
WRONG: dict[str, tuple[str, str, str]] = {
    "family": (
        of_branch(names={"families": ["g6x"]}),
        "trees[0].branches[0].names.families",
        'must be a family, got "g6x"; did you mean g6?',
    ),
    "substitute": (of_branch(instead=["g99z"]), "trees[0].branches[0].instead", 'must be a family, got "g99z"'),
    "hardware": (of_branch(names={"hardware": ["tpu"]}), "trees[0].branches[0].names.hardware[0]", "must be one of"),
    "kind": (
        of_branch(when={"kinds": ["transformr"]}),
        "trees[0].branches[0].when.kinds",
        'must be a kind of model, got "transformr"; did you mean transformer?',
    ),
    "condition": (of_branch(when={"task": ["inference"]}), "trees[0].branches[0].when.task", "did you mean tasks?"),
    "task": (
        of_trees(trees=[TREE | {"when": {"tasks": ["serving"]}}]),
        "trees[0].when.tasks[0]",
        "must be one of training, fine-tuning, inference, development",
    ),
    "document": (
        of_trees(trees=[TREE | {"document": "wiki"}]),
        "trees[0].document",
        "must be a key of 'documents', got \"wiki\"; add a key of 'documents'",
    ),
    "source": (of_branch(today=TODAY), "trees[0].branches[0].today.source", "must be a key of 'sources'"),
    "quote": (
        of_trees(trees=[TREE | {"branches": [{"id": "x", "names": {}}]}]),
        "trees[0].branches[0].quote",
        "required field quote is missing; add it",
    ),
    "no trees": (of_trees(trees=[]), "trees", "must have at least 1 item"),
    "same id": (
        of_trees(trees=[TREE | {"branches": [BRANCH, BRANCH]}]),
        "trees[0].branches[1].id",
        'must be unique, got "small" twice; rename one of them',
    ),
    "caution": (
        of_trees(cautions=[BRANCH | {"id": "c", "names": {"families": ["p99"]}}]),
        "cautions[0].names.families",
        "must be a family",
    ),
}


@in_one_test("name", WRONG)
def test_a_wrong_policy_is_refused_with_its_line(name: str) -> None:
    text, path, message = WRONG[name]
    with pytest.raises(StrategyError) as caught:
        read_policy(text)
    finding = caught.value.findings[0]
    assert (finding.path, message in finding.message) == (path, True), finding
    assert finding.position is not None
    assert finding.position.line > 1


# --- the ranking


def test_its_branch_decides_about_the_part_of_the_score() -> None:
    request = request_for("llama-3.1-8b", context_length=4096)
    own = read_policy(of_trees())
    found = recommend(policy_request(request, own))
    assert (found.branch, found.branch_quote) == ("small", "Small models on L40S")
    by_family = {each.fit.kind.family: each for each in reversed(found.candidates)}
    assert by_family["g6e"].scores["policy"] == 1.0
    assert by_family["g6e"].policy == "small"
    assert "recommended by the platform policy" in by_family["g6e"].reasons
    assert by_family["g5"].scores["policy"] == 0.4, "the same kind of hardware"


def test_work_without_a_branch_is_ranked_without_the_policy() -> None:
    request = request_for("llama-3.1-8b", task="fine-tuning", method="lora")
    found = recommend(policy_request(request, read_policy(of_trees())))
    assert (found.branch, found.branch_quote) == ("none", "")
    assert all(each.scores["policy"] == 0.0 and each.policy is None for each in found.candidates)
    texts = [*found.notes, *(reason for each in found.candidates for reason in each.reasons)]
    assert [text for text in texts if "policy" in text or "selection guide" in text] == []


def test_it_warns_of_hardware_with_its_own_words() -> None:
    caution = {"id": "old", "quote": "No A10G for new services", "names": {"families": ["g5"]}}
    found = recommend(policy_request(request_for("llama-3.1-8b"), read_policy(of_trees(cautions=[caution]))))
    of_g5 = next(each for each in found.candidates if each.fit.kind.family == "g5")
    assert 'the platform policy warns: "No A10G for new services" (platform policy)' in of_g5.reasons
    assert of_g5.scores["policy"] == 0.0


@in_one_test("budget", ["cost", "balanced", "performance"])
def test_a_policy_moves_nothing_of_twice_the_price_up(budget: str) -> None:
    """No type passes another of half its price that is at least as fast."""
    request = request_for("llama-3.1-70b", context_length=8192, concurrent_sequences=8, budget=budget)
    own = read_policy(of_branch(names={"families": ["p4d", "p4de", "p5e", "g5", "p6-b300"]}))
    found = recommend(policy_request(request, own)).candidates
    priced = [each for each in found if each.usd_per_hour and each.tokens_per_second and each.maturity == "mature"]
    assert len(priced) > 10
    passed = [
        (one.fit.kind.name, other.fit.kind.name)
        for place, one in enumerate(priced)
        for other in priced[place + 1 :]
        if (one.usd_per_hour or 0) >= 2 * (other.usd_per_hour or 0)
        and (one.tokens_per_second or 0) <= (other.tokens_per_second or 0)
        and one.fit.nodes >= other.fit.nodes
    ]
    assert passed == []


# --- the command


def test_a_policy_is_shown_when_it_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(of_trees(), encoding="utf-8")
    assert 'policy "Small models on L40S"' in " ".join(run(*ASKED, "--policy", file).out.split())
    plain = run(*ASKED).out
    assert "guide" not in plain
    assert "policy" not in plain
    assert "guide " in run(*ASKED, "--explain").out
    content = json.loads(run(*ASKED, "--policy", file, "--json").out)
    assert (content["policy"]["branch"], content["policy"]["document"]) == ("small", "platform policy")


def test_the_printed_policy_is_the_shipped_one(tmp_path: Path) -> None:
    printed = run("--print-policy")
    assert (printed.code, printed.err) == (0, "")
    file = tmp_path / "policy.json"
    file.write_text(printed.out, encoding="utf-8")
    with_it = json.loads(run(*ASKED, "--policy", file, "--json").out)
    assert with_it == json.loads(run(*ASKED, "--json").out)


def test_a_wrong_policy_ends_the_command(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(of_branch(names={"families": ["g6x"]}), encoding="utf-8")
    found = run(*ASKED, "--policy", file)
    assert (found.code, found.out) == (1, "")
    assert f"{file}:" in found.err
    assert "did you mean g6?" in found.err

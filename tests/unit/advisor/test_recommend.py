"""The recommender over the real catalogue: sensible recommendations, and reasons for the rejected types."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest

from eks_hardware import facts
from eks_hardware.advisor import recommend as module
from eks_hardware.advisor.fitting.defaults import answer_tokens, prompt_tokens
from eks_hardware.advisor.model import Candidate, Recommendation
from eks_hardware.advisor.ranking.work import in_flight, run_tokens
from eks_hardware.advisor.ranking.workload_file import DEFAULT_REGIONS
from eks_hardware.advisor.recommend import best_of_families, cheaper_way, recommend, unknown_of
from eks_hardware.advisor.strategies.strategy_text import Settings
from eks_hardware.advisor.strategies.write import strategy_yaml
from eks_hardware.catalogue import load
from eks_hardware.cost.price_estimate import PriceEstimates
from helpers.advisor import CHAT, EMBEDDINGS, PRETRAINING, answer, asking, families, priced
from helpers.cases import in_one_test
from helpers.paths import ROOT


def of_family(found: Recommendation, family: str) -> Candidate:
    return next(each for each in found.candidates if each.fit.kind.family == family)


def why_not(found: Recommendation) -> dict[str, str]:
    return {each.family: each.code for each in found.rejections}


# --- recommendations


def test_a_chat_model_is_served_cheaply_on_one_gpu_that_holds_it() -> None:
    found = answer(**CHAT, budget="cost")
    best = found.candidates[0]
    assert (best.fit.kind.name, best.fit.nodes, best.fit.devices) == ("g6e.xlarge", 1, 1)
    assert best.fit.memory_gib < best.fit.available_gib
    assert best.reasons[0] == "lowest cost per hour"
    assert best.zone_ids
    assert {"g4dn": "BF16", "g5g": "BF16", "p3": "WITHDRAWN"}.items() <= why_not(found).items()


def test_discontinued_software_is_left_out_and_named() -> None:
    found = answer(**CHAT, budget="cost")
    assert (found.branch, found.branch_quote) == ("latency-cost", "Cost-Optimized → AWS Inferentia (Inf2)")
    assert why_not(found)["inf2"] == "SOFTWARE"
    assert found.notes[0].startswith("the selection guide recommends other instance types")
    assert "2.31" in found.notes[0]
    inferentia = of_family(answer(**CHAT, budget="cost", software="any"), "inf2")
    assert (inferentia.scores["policy"], inferentia.policy, inferentia.maturity) == (1, "latency-cost", "archived")


def test_discontinued_software_is_better_than_nothing() -> None:
    assert answer(**CHAT, only=("inf2",)).candidates
    found = answer(**CHAT, only=("inf2",), software="mature")
    assert found.candidates == ()
    assert why_not(found) == {"inf2": "SOFTWARE"}


def test_only_mature_software() -> None:
    said: dict[str, Any] = {
        "task": "inference",
        "serving": "batch",
        "model": {"parameters": "110M", "architecture": "bert"},
    }
    assert of_family(answer(**said), "inf2").maturity == "beta"
    assert any("software: mature" in each for each in of_family(answer(**said), "inf2").reasons)
    assert {each.maturity for each in answer(**said, software="mature").candidates} == {"mature"}


@in_one_test(("tokens", "noted"), [(16, True), (127, True), (128, False), (16384, False)])
def test_a_context_that_lacks_its_k_is_noted_first(tokens: int, noted: bool) -> None:
    found = answer(**{**CHAT, "context_length": tokens})
    note = f"the context is {tokens} tokens; if you meant {tokens}k, set {tokens * 1024}"
    assert (found.notes[0] == note) == noted


@in_one_test("tokens", [50_000_000, 1_000_000_000, 10_000_000_000])
def test_with_budget_cost_the_price_decides(tokens: int) -> None:
    """Neither a faster type at a higher price nor the documents' choice comes before a cheaper one."""
    found = answer(task="fine-tuning", method="lora", model={"parameters": "8B"}, training_tokens=tokens, budget="cost")
    first = [each for each in best_of_families(found.candidates) if each.maturity == "mature"]
    costs = [each.usd_per_run for each in first if each.usd_per_run is not None]
    assert first[0].fit.kind.family == "g6e"
    assert all(one <= 1.001 * other for one, other in pairwise(costs))


def test_the_guide_has_the_weights_of_the_data() -> None:
    guide = (ROOT / "docs" / "guides" / "recommend.md").read_text(encoding="utf-8").splitlines()
    weights = facts.ranking()["weights"]
    for part in ("cost", "policy", "maturity", "speed"):
        label = "[selection guide]" if part == "policy" else part
        line = next(line for line in guide if line.startswith(f"| {label}") and line.endswith("% |"))
        assert line.split(" | ")[2:] == [
            f"{weights['cost'][part]:.0%}",
            f"{weights['balanced'][part]:.0%}",
            f"{weights['performance'][part]:.0%} |",
        ]


def test_flash_attention_leaves_turing_and_volta_out() -> None:
    found = answer(**CHAT | {"precision": "fp16", "attention": "flash-attention-2"})
    assert why_not(found)["g4dn"] == "FLASH_ATTENTION"
    assert "g5" in families(found)


def test_trainium_with_pytorch_xla_is_last_years_software() -> None:
    """PyTorch/XLA training works only up to Neuron 2.29: it fits, but does not count as mature."""
    found = answer(**PRETRAINING | {"framework": "pytorch-xla"}, budget="cost")
    best = of_family(found, "trn1")
    assert best.scores["policy"] == 1
    assert best.maturity in ("maintenance", "archived")
    assert any("2.29" in each for each in best.reasons)
    assert why_not(found)["p4d"] == "FRAMEWORK"


def test_trainium_has_no_pytorch_of_its_own_but_in_a_beta() -> None:
    found = answer("us-east-2", **PRETRAINING, budget="cost")
    assert found.branch == "medium-training-cost"
    assert why_not(found)["trn1"] == "FRAMEWORK"
    assert of_family(found, "trn2").maturity == "beta"
    assert "public beta" in found.notes[0]
    assert found.candidates[0].maturity == "mature"


def test_maximum_performance_is_the_h100_and_what_came_after() -> None:
    found = answer(task="training", model={"parameters": "70B"}, budget="performance")
    assert found.branch_quote == "Maximum Performance → NVIDIA H100 (P5)"
    assert set(families(found)[:2]) <= {"p5", "p5e", "p5en", "p6-b200", "p6-b300"}
    assert all(each.fit.kind.supports_efa for each in found.candidates[:3])


def test_more_nodes_of_a_slow_type_are_not_faster() -> None:
    """Six nodes with A100 are faster than two with H100, which any number of nodes could be."""
    found = answer(task="training", model={"parameters": "70B"}, budget="performance")
    nodes = {each.fit.kind.family: each.fit.nodes for each in best_of_families(found.candidates)}
    assert nodes["p4d"] > nodes["p5"]
    assert families(found).index("p5") < families(found).index("p4d")


def test_adapters_of_a_large_model_need_no_eight_nodes() -> None:
    best = answer(task="fine-tuning", method="lora", model={"parameters": "70B"}).candidates[0]
    assert best.fit.nodes == 1


def test_a_run_is_compared_by_what_the_whole_of_it_costs() -> None:
    found = answer(**PRETRAINING, budget="cost")
    best = found.candidates[0]
    assert best.hours
    assert best.usd_per_hour
    assert best.usd_per_run == pytest.approx(best.hours * best.usd_per_hour)
    cheapest = min(each.usd_per_run for each in found.candidates if each.usd_per_run)
    assert best.usd_per_run == pytest.approx(cheapest, rel=0.05)


def test_small_models_for_development_take_a_small_gpu_or_a_cpu() -> None:
    found = answer(task="development", model={"parameters": "350M"})
    assert found.branch == "development"
    assert {each.fit.kind.hardware.value for each in found.candidates} >= {"cpu", "nvidia-gpu"}
    assert found.candidates[0].usd_per_hour
    assert found.candidates[0].usd_per_hour < 1
    assert all(each.usd_per_hour for each in found.candidates if each.fit.kind.hardware.value == "cpu")


def test_cpus_are_current_general_families_of_some_size() -> None:
    found = answer(**EMBEDDINGS)
    cpus = [each.fit.kind for each in found.candidates if each.fit.kind.accelerator is None]
    assert cpus
    assert all(kind.family[0] in "cmr" and kind.family[1] in "789" and kind.vcpus >= 8 for kind in cpus)
    assert not any(kind.burstable or kind.bare_metal or kind.withdrawn for kind in cpus)
    assert any(each.code == "CPU" and "8B" in each.text for each in answer(**CHAT).rejections)


# --- prices


def test_an_unknown_price_neither_wins_nor_loses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Types keep their places, because the estimate is close to the price."""
    before = [each.fit.kind.name for each in best_of_families(answer(**CHAT).candidates)]
    priced(monkeypatch, "g6e", None)
    found = answer(**CHAT)
    assert [each.fit.kind.name for each in best_of_families(found.candidates)] == before
    unpriced = of_family(found, "g6e")
    known = load().price(unpriced.fit.kind.name, "us-west-2")
    assert known is not None
    assert unpriced.about is not None
    assert unpriced.about.usd_per_hour == pytest.approx(known.usd_per_hour, rel=0.02)
    assert (unpriced.usd_per_hour, unpriced.usd_per_million_tokens, unpriced.price_as_of) == (None, None, None)
    assert unpriced.reasons[0].endswith("at an estimated price")
    assert any("the price of g6e" in each and "about" in each for each in unpriced.reasons)
    assert all(each.about is None for each in found.candidates if each.usd_per_hour is not None)


def test_the_estimate_is_the_price_elsewhere_times_the_ratio_of_the_regions() -> None:
    estimates = PriceEstimates(load())
    b200 = estimates.of("p6-b200.48xlarge", "eu-west-3")
    assert b200 is not None
    lowest = load().price("p6-b200.48xlarge", b200.cheapest)
    assert lowest is not None
    assert b200.ratio is not None
    assert 1.1 < b200.ratio < 1.5  # Paris is more expensive than Virginia
    assert b200.usd_per_hour == lowest.usd_per_hour * b200.ratio
    g6 = load().price("g6.xlarge", "eu-west-3")
    assert g6 is not None
    guessed = estimates.of("g6.xlarge", "eu-west-3")
    assert guessed is not None
    assert guessed.usd_per_hour == pytest.approx(g6.usd_per_hour, rel=0.15)
    assert estimates.of("p5e.48xlarge", "us-west-2") is None
    china = estimates.of("g5.xlarge", "cn-north-1")
    assert china is not None
    assert china.how == "the median of other regions"


def test_what_has_no_price_anywhere_is_not_first_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    priced(monkeypatch, "g6e", None)
    monkeypatch.setattr(PriceEstimates, "of", lambda *_: None)
    found = answer(**CHAT, budget="cost")
    unpriced = of_family(found, "g6e")
    assert (unpriced.usd_per_hour, unpriced.usd_per_million_tokens, unpriced.price_as_of) == (None, None, None)
    assert unpriced.reasons[0] == "price unknown"
    assert any("the price of g6e" in each for each in unpriced.reasons)
    assert found.candidates[0].usd_per_hour is not None
    places = [each.usd_per_hour is None for each in found.candidates]
    assert not all(places[places.index(True) :])  # neither first, nor last for that alone


def test_without_any_price_there_is_an_answer_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "instance_figure", lambda *_, **__: None)
    found = answer(**CHAT, budget="cost")
    assert found.candidates
    assert all(each.usd_per_hour is None for each in found.candidates)


def test_without_any_price_in_the_region_those_of_other_regions_decide() -> None:
    """Not the fastest: one of the 8 B300 of a node for a model of 8B."""
    for region in ("mx-central-1", "cn-north-1"):
        found = answer(region, **CHAT)
        assert found.candidates[0].usd_per_hour is None
        assert found.candidates[0].fit.kind.family in ("g5", "g6", "g6e")


def test_spot_is_a_snapshot() -> None:
    found = answer(**PRETRAINING, purchase=["spot", "on-demand"], interruptible=True)
    assert {each.purchase for each in found.candidates} == {"spot", "on-demand"}
    both = {each.purchase: each.usd_per_hour for each in found.candidates if each.fit.kind.name == "p5.48xlarge"}
    assert both["spot"] < both["on-demand"]  # type: ignore[operator]
    assert any("snapshot" in each for each in found.notes)


def test_a_capacity_block_has_its_own_price_or_at_most_the_on_demand_price() -> None:
    found = answer(**PRETRAINING, purchase=["capacity-block"])
    assert all(each.fit.kind.supports_capacity_block for each in found.candidates)
    first = found.candidates[0]
    on_demand = answer(**PRETRAINING, only=(first.fit.kind.name,)).candidates[0].usd_per_hour
    assert not first.price_at_most
    assert first.usd_per_hour is not None
    assert on_demand is not None
    assert first.usd_per_hour < on_demand
    of_p5 = ("p5.48xlarge",)
    bounded = answer("ca-central-1", **PRETRAINING, purchase=["capacity-block"], only=of_p5).candidates[0]
    assert bounded.price_at_most
    assert bounded.usd_per_hour == answer("ca-central-1", **PRETRAINING, only=of_p5).candidates[0].usd_per_hour
    assert any("Capacity Block price" in each for each in bounded.reasons)
    assert why_not(found)["g5"] == "PURCHASE"


# --- latency


def test_too_slow_is_out_and_more_devices_are_tried() -> None:
    found = answer(**CHAT | {"concurrent_sequences": 1, "latency": {"per_token_ms": 15}})
    best = of_family(found, "g5")
    assert best.fit.devices > 1
    assert any("to meet the latency target" in each for each in best.reasons)
    impossible = answer(**CHAT | {"latency": {"per_token_ms": 0.01}}, only=("nvidia-gpu",))
    assert impossible.candidates == ()
    assert why_not(impossible)["g6e"] == "LATENCY"
    assert {gate.code for gate in impossible.nearest[0].gates} == {"LATENCY"}
    assert impossible.nearest[0].remedy


def test_what_has_to_answer_in_time_is_not_proposed_where_nobody_knows_how_long_it_takes() -> None:
    """A guess would be locked, and would cost money."""
    said = {"task": "inference", "model": {"parameters": "110M", "architecture": "bert"}, "precision": "fp16"}
    assert answer(**said, only=("g5g",)).candidates
    found = answer(**said, latency={"first_token_ms": 1000}, only=("g5g",))
    assert found.candidates == ()
    assert why_not(found) == {"g5g": "LATENCY"}
    assert "measure it first" in found.nearest[0].text


def test_an_impossible_latency_has_no_answer() -> None:
    found = answer(**CHAT, latency={"per_token_ms": 0.0001})
    assert found.candidates == ()
    assert {each.code for each in found.rejections if each.accelerator} >= {"LATENCY"}


# --- unreasonable choices


def test_spot_of_which_no_price_is_known_costs_no_more_than_on_demand() -> None:
    """A p6-b300 at its Spot price is not a good answer for a model that a g5.xlarge serves for a dollar."""
    found = answer(**CHAT, purchase=("spot",), interruptible=True)
    first = found.candidates[0]
    assert first.fit.kind.family.startswith("g")
    # No source has Spot prices of us-gov-west-1.
    found = answer("us-gov-west-1", **CHAT, purchase=("spot",), interruptible=True, only=("g6",))
    assert any("Spot prices of g6" in each for each in found.notes)
    bounded = found.candidates[0]
    assert bounded.price_at_most
    assert bounded.usd_per_hour == answer("us-gov-west-1", **CHAT, only=("g6",)).candidates[0].usd_per_hour
    assert any("its upper limit, is used" in each for each in bounded.reasons)


def test_a_small_run_takes_small_hardware() -> None:
    """Not eight of the largest GPUs for a few minutes."""
    work: dict[str, Any] = {
        "task": "fine-tuning",
        "method": "qlora",
        "model": {"parameters": "8B"},
        "training_tokens": "100M",
    }
    found = answer(**work, budget="cost")
    assert (found.candidates[0].usd_per_hour or 0) < 10
    whole = next(each for each in found.candidates if (each.hours or 0) < 1)
    assert whole.usd_per_run == pytest.approx(whole.usd_per_hour)


# --- runs in time


RUN: dict[str, Any] = {"task": "training", "model": {"parameters": "70B"}, "training_tokens": "15T"}


def test_a_run_of_years_is_not_recommended_and_the_output_says_what_it_takes() -> None:
    found = answer(**RUN)
    assert found.candidates == ()
    plan = found.unreasonable
    assert plan
    assert f"it takes {plan.fit.nodes} x {plan.fit.kind.name} to finish in" in plan.text
    assert plan.fit.nodes > facts.ranking()["run"]["most_nodes"]["value"]
    assert plan.usd_per_run
    assert plan.remedy == f"--nodes {plan.fit.nodes}"
    accepted = answer(**RUN, nodes=plan.fit.nodes).candidates[0]
    assert accepted.nodes == plan.fit.nodes
    assert (accepted.hours or 0) <= 90 * 24


@in_one_test("within", ["7d", "30d", "120d"])
def test_a_run_takes_the_fewest_nodes_that_finish_in_time(within: str) -> None:
    found = answer(**PRETRAINING, within=within)
    assert all(each.hours and each.hours <= int(within[:-1]) * 24 for each in found.candidates)
    nodes = {each.fit.kind.name: each.nodes for each in found.candidates}
    longer = {each.fit.kind.name: each.nodes for each in answer(**PRETRAINING, within="360d").candidates}
    assert all(longer.get(name, 0) <= count for name, count in nodes.items())
    assert why_not(found).get("g5g", "PLAN") in ("PLAN", "MEMORY")  # no EFA to join nodes


def test_a_number_of_nodes_is_kept_and_too_few_say_how_many_it_takes() -> None:
    found = answer(**PRETRAINING, nodes=4)
    assert {each.nodes for each in found.candidates} == {4}
    assert all(each.fit.kind.supports_efa for each in found.candidates)
    few = answer(**RUN, nodes=64, within="60d")
    assert few.candidates == ()
    assert few.unreasonable
    assert few.unreasonable.fit.nodes > 64
    assert "the request has 64 nodes" in few.unreasonable.text


def test_too_few_nodes_say_the_plan_with_the_fewest_nodes_rather_than_hundreds_of_cheap_ones() -> None:
    found = answer(task="training", model={"parameters": "8B"}, training_tokens="15T", nodes=4)
    assert found.unreasonable
    accepted = answer(task="training", model={"parameters": "8B"}, training_tokens="15T")
    assert found.unreasonable.nodes == min(each.nodes for each in accepted.candidates)


def test_pre_training_on_t4_costs_several_times_as_much_as_on_a100() -> None:
    """Cape Town sells T4 alone, whose weights cross the PCIe of a node; Ireland has eight A100 with NVLink."""
    cape, ireland = (
        answer(region, task="training", model={"parameters": "7B"}, training_tokens="100B").candidates[0]
        for region in ("af-south-1", "eu-west-1")
    )
    assert (cape.fit.kind.family, ireland.fit.kind.family) == ("g4dn", "p4d")
    assert cape.usd_per_run > 5 * ireland.usd_per_run  # type: ignore[operator]
    assert any("PCIe" in each and "fitted" in each for each in cape.assumptions)


def test_too_few_nodes_say_the_fewest_that_the_run_fits_on() -> None:
    """Not the number that is cheapest per token, which spreads the experts."""
    asked: Any = {"task": "fine-tuning", "method": "full", "model": {"name": "deepseek-v3"}}
    few = answer(**asked, nodes=2, training_tokens="1B", only=("p6-b200",))
    found = re.search(r"the run needs ([0-9]+) nodes", few.nearest[0].text)
    assert found
    enough = answer(**asked, nodes=int(found[1]), training_tokens="1B", only=("p6-b200",))
    assert [each.nodes for each in enough.candidates] == [int(found[1])]


def test_an_amount_of_work_that_is_not_given_is_assumed() -> None:
    found = answer(task="training", model={"parameters": "1B"}).candidates[0]
    assert run_tokens(asking("us-west-2", task="training", model={"parameters": "1B"})) == 20e9
    assert found.hours
    assert found.usd_per_run
    adapters = answer(task="fine-tuning", method="lora", model={"parameters": "8B"}).candidates[0]
    assert run_tokens(asking("us-west-2", task="fine-tuning", method="lora", model={"parameters": "8B"})) == 20e6
    assert adapters.hours
    assert adapters.usd_per_run == pytest.approx(max(1, adapters.hours) * (adapters.usd_per_hour or 0))


@in_one_test(
    ("region", "said", "first", "below"),
    [
        ("eu-west-1", {"method": "qlora", "model": {"name": "qwen3-32b"}, "sequence_length": 16384}, "p4d", "g5"),
        ("eu-west-1", {"method": "qlora", "model": {"parameters": "13B"}, "sequence_length": 8192}, "p4d", "g4dn"),
        ("us-west-2", {"method": "qlora", "model": {"parameters": "8B"}, "budget": "performance"}, "p5", "g7e"),
        ("us-west-2", {"method": "qlora", "model": {"parameters": "8B"}, "budget": "cost"}, "g6e", "p5"),
        ("us-west-2", {"method": "lora", "model": {"parameters": "1B"}}, "g6", "p5"),
    ],
)
def test_fine_tuning_without_tokens_is_compared_by_the_cost_of_a_run(
    region: str, said: dict[str, Any], first: str, below: str
) -> None:
    """A card that is cheap per hour may cost several times more per token; small models keep small GPUs."""
    found = best_of_families(answer(region, task="fine-tuning", **said).candidates)
    families_ = [each.fit.kind.family for each in found]
    assert families_[0] == first, families_
    assert below in families_[1:]


# --- regions


def test_a_region_whose_offers_no_source_lists_says_so() -> None:
    said: Any = {"task": "inference", "model": {"name": "qwen2.5-7b"}}
    assert "describe-instance-type-offerings --region cn-north-1" in " ".join(answer("cn-north-1", **said).notes)
    assert "describe-instance-type-offerings" not in " ".join(answer("us-gov-west-1", **said).notes)


def test_the_lowest_cost_is_that_of_known_speed_if_a_cpu_costs_less() -> None:
    found = answer("eu-west-1", task="inference", model={"name": "clip-vit-large-patch14"}).candidates
    known = [each for each in found if each.tokens_per_second is not None]
    assert min(each.usd_per_hour or 0 for each in found) < min(each.usd_per_hour or 0 for each in known)
    assert "lowest cost per hour of known speed" in " ".join(known[0].reasons)


# --- users


USED: dict[str, Any] = {"task": "inference", "model": {"name": "llama-3.1-8b"}, "context_length": 4096}


def test_more_users_cost_more_and_every_replica_is_paid() -> None:
    before = 0.0
    for users in (1, 50, 500, 5000):
        found = answer(**USED, users=users, budget="cost").candidates
        first = found[0]
        assert first.usd_per_hour is not None
        assert first.usd_per_hour >= before
        before = first.usd_per_hour
        for each in found:
            assert each.replicas
            assert each.nodes == each.fit.nodes_for(each.replicas)
    assert any((each.replicas or 0) > 1 for each in found)


def test_replicas_that_fit_a_node_come_before_nodes_that_are_joined() -> None:
    """One replica for all users would need two nodes of p5en."""
    many: dict[str, Any] = {
        "task": "inference",
        "model": {"name": "Qwen/Qwen3-32B"},
        "context_length": 32768,
        "users": 200,
        "answer_tokens": 16384,
    }
    found = {each.fit.kind.name: each for each in answer(**many).candidates}
    p5en = found["p5en.48xlarge"]
    assert (p5en.replicas, p5en.nodes, p5en.fit.nodes) == (2, 2, 1)
    assert len(found) > 3


def test_users_who_think_longer_need_less() -> None:
    request = asking("us-west-2", **USED, users=100)
    slow = asking("us-west-2", **USED, users=100, think_seconds=600)
    never = asking("us-west-2", **USED, users=100, think_seconds=0)
    assert 1 < in_flight(slow) < in_flight(request) < in_flight(never) == 100


def test_answers_have_a_typical_length_unless_the_file_says_otherwise() -> None:
    """Not half of a long context, for which 96 of 100 users would wait."""
    asked: dict[str, Any] = {**USED, "users": 100}
    short, long = (asking("us-west-2", **{**asked, "context_length": each}) for each in (16_384, 131_072))
    assert answer_tokens(short) == answer_tokens(long) == 211
    assert in_flight(short) == in_flight(long) < 50
    assert answer_tokens(asking("us-west-2", **{**asked, "context_length": 256})) == 128
    said = asking("us-west-2", **{**asked, "context_length": 16_384}, answer_tokens=8_192)
    assert (answer_tokens(said), in_flight(said)) == (8_192, 94)


@in_one_test(
    ("context", "said", "tokens"),
    [
        (16_384, {"users": 100}, 1_155),
        (1_024, {"users": 100}, 813),
        (2_048, {"users": 100, "answer_tokens": 2_000}, 48),
        (16_384, {"users": 100, "prompt_tokens": 8_000}, 8_000),
        (16_384, {"concurrent_sequences": 8}, 8_192),
    ],
)
def test_prompts_of_users_have_a_typical_length_that_leaves_room_for_the_answer(
    context: int, said: dict[str, Any], tokens: int
) -> None:
    assert prompt_tokens(asking("us-west-2", **{**USED, "context_length": context, **said})) == tokens


@in_one_test(
    ("said", "note"),
    [
        (
            {"prompt_tokens": 8_000},
            "a prompt and its answer have 8211 tokens, but the context has 4096: set context_length to at least 8211",
        ),
        (
            {"answer_tokens": 5_000, "context_length": 4_096},
            "a prompt and its answer have 5001 tokens, but the context has 4096: set context_length to at least 5001",
        ),
        (
            {"model": {"name": "bert-large"}, "prompt_tokens": 300, "answer_tokens": 20},
            "prompt_tokens and answer_tokens have no effect, because the model generates no tokens",
        ),
        ({"prompt_tokens": 8_000, "context_length": 8_211}, None),
        ({"answer_tokens": 2_000}, None),
        ({"model": {"name": "bert-large"}}, None),
    ],
)
def test_lengths_that_the_context_has_no_room_for_are_named(said: dict[str, Any], note: str | None) -> None:
    usual = {name: value for name, value in USED.items() if name != "context_length"}
    notes = answer(**{**usual, "users": 100, **said}).notes
    found = [each for each in notes if each.startswith("a prompt and its answer") or " no effect, " in each]
    assert found == ([note] if note else [])


@in_one_test("users", [20, 100, 600, 3_000])
@in_one_test("model", ["llama-3.1-8b", "llama-3.1-70b", "qwen3-30b-a3b"])
def test_replicas_answer_all_users_and_read_their_prompts_in_time(model: str, users: int) -> None:
    """A server generates nothing while it reads prompts: 500 users of 70B keep eight A100 busy with prompts alone."""
    found = answer(**{**USED, "model": {"name": model}, "users": users}).candidates
    request = asking("us-west-2", **{**USED, "model": {"name": model}, "users": users})
    answers = in_flight(request) * answer_tokens(request) / 12.55  # 2 s to the first token, and 211 x 50 ms
    assert found
    for each in found:
        assert each.tokens_per_second is not None
        assert each.tokens_per_second >= answers * 0.99, each.fit.kind.name


# --- cheaper formats and methods


def test_a_smaller_cache_is_suggested_where_it_halves_the_price() -> None:
    """32 sequences of 128k need ten times the memory of the weights: smaller weights change little."""
    long: dict[str, Any] = {
        "task": "inference",
        "model": {"name": "llama-3.3-70b"},
        "context_length": 131_072,
        "concurrent_sequences": 32,
    }
    text = cheaper_way(answer(**long)) or ""
    assert text.startswith("kv_cache_precision: fp8 in a workload file costs ")
    assert "kv_cache" not in (cheaper_way(answer(**long, kv_cache_precision="fp8")) or "")


def test_a_format_that_halves_the_price_is_suggested_with_its_caveat() -> None:
    said: dict[str, Any] = {
        "task": "inference",
        "model": {"name": "llama-3.1-70b"},
        "precision": "bf16",
        "budget": "cost",
    }
    text = cheaper_way(answer(**said))
    assert text
    assert text.startswith("--precision ")
    assert "on your own data" in text
    assert cheaper_way(answer(task="inference", model={"parameters": "100M"})) is None
    adapters = cheaper_way(answer(task="fine-tuning", method="lora", model={"name": "llama-3.1-70b"}))
    assert adapters is None or "--task qlora" in adapters
    assert "--task lora" in (cheaper_way(answer(task="fine-tuning", model={"name": "llama-3.1-70b"})) or "")


# --- types that are not recommended


def test_every_family_has_a_candidate_or_a_reason() -> None:
    found = answer(**CHAT)
    catalogue = load()
    accelerated = {name.partition(".")[0] for name in catalogue.names if catalogue.get(name).accelerator}
    assert accelerated == {*families(found), *(each.family for each in found.rejections if each.accelerator)}
    assert all(each.text and each.code for each in found.rejections)


@in_one_test(
    ("said", "family", "code", "says"),
    [
        (CHAT, "p3", "WITHDRAWN", "2026"),
        (CHAT, "g4dn", "BF16", "T4"),
        (CHAT, "p6e-gb200", "PURCHASE", "capacity-block"),
        (CHAT, "trn2u", "OFFERED", "only in"),
        (CHAT, "vt1", "HARDWARE", "U30"),
        (PRETRAINING, "g6f", "FRACTION", "L4"),
        (PRETRAINING | {"model": {"parameters": "70B"}}, "g5g", "MEMORY", "GiB"),
    ],
)
def test_a_rejection_has_the_decisive_reason(said: dict[str, Any], family: str, code: str, says: str) -> None:
    (found,) = (each for each in answer(**said).rejections if each.family == family)
    assert found.code == code
    assert says in found.text


def test_nothing_fits_and_the_nearest_says_what_to_change() -> None:
    found = answer(task="inference", model={"parameters": "20T"})
    assert found.candidates == ()
    missing = [each.missing_gib for each in found.nearest]
    assert all(missing)
    assert missing == sorted(missing)  # type: ignore[type-var]
    assert len({each.kind.family for each in found.nearest}) == len(found.nearest)
    assert any(each.remedy and "int4" in each.remedy for each in found.nearest)


# --- regions and allowed types


def test_regions_are_compared() -> None:
    found = answer("us-west-2", "ap-northeast-1", **CHAT, budget="cost")
    prices = {each.region: each.usd_per_hour for each in found.candidates if each.fit.kind.name == "g6e.xlarge"}
    assert prices["us-west-2"] < prices["ap-northeast-1"]  # type: ignore[operator]
    assert found.candidates[0].region == "us-west-2"
    assert why_not(answer("eu-west-1", **CHAT))["g6e"] == "OFFERED"


def test_the_first_region_wins_where_all_cost_the_same() -> None:
    for regions in (("us-east-1", "us-west-2"), ("us-west-2", "us-east-1")):
        assert answer(*regions, **CHAT).candidates[0].region == regions[0]


@in_one_test(
    ("only", "expected"),
    [
        (("g6e",), {"g6e"}),
        (("l40s",), {"g6e"}),
        (("L40S", "p5.4xlarge"), {"g6e", "p5"}),
        (("p5e*",), {"p5e", "p5en"}),
        (("inferentia",), {"inf2"}),
    ],
)
def test_what_to_choose_from(only: tuple[str, ...], expected: set[str]) -> None:
    assert set(families(answer(**CHAT, only=only))) == expected


def test_cpus_that_are_asked_for_are_tried_whatever_the_size() -> None:
    assert answer(task="inference", model={"parameters": "8B"}, only=("cpu",)).candidates


def test_a_word_that_means_nothing_has_a_suggestion() -> None:
    ((word, near), (_, kinds)) = unknown_of(load(), ("g6e", "h1000", "GPU"))
    assert word == "h1000"
    assert "h100" in near
    assert kinds == ("nvidia-gpu",)


def test_one_size_of_a_family_is_enough() -> None:
    found = answer(**CHAT)
    best = best_of_families(found.candidates)
    assert len({each.fit.kind.family for each in best}) == len(best)
    sizes = {each.fit.kind.name for each in found.candidates if each.fit.kind.family == "g6e"}
    assert len(sizes) > 3
    cheapest = min(
        each.usd_per_hour for each in found.candidates if each.fit.kind.family == "g6e" and each.usd_per_hour
    )
    assert of_family(found, "g6e").usd_per_hour == cheapest


# --- internals


def test_the_answer_is_the_same_every_time() -> None:
    request = asking(*DEFAULT_REGIONS, **CHAT)
    assert recommend(request) == recommend(request)


# --- comments in a written strategy


def test_comments_are_sentences() -> None:
    found = answer(**EMBEDDINGS, precision="int8")
    on_cpus = next(each for each in found.candidates if each.fit.kind.architecture == "x86_64" and not each.fit.devices)
    text = strategy_yaml(found, Settings(public_cidrs=()), name="demo", candidate=found.candidates.index(on_cpus))
    comments = {line.removeprefix("# ") for line in map(str.strip, text.splitlines()) if line.startswith("# ")}
    assert "An x86_64 CPU has kernels for int8 weights, which compute in 16 bits." in comments
    assert [each for each in comments if each.endswith(".") and each[0].islower()] == []

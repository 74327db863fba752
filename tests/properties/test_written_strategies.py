"""A recommended strategy is valid, resolvable and explained; files are written only if none exists."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from eks_hardware.advisor.model import Candidate, Recommendation, Request
from eks_hardware.advisor.recommend import recommend
from eks_hardware.advisor.shapes.shape import shape_of
from eks_hardware.advisor.strategies.starters import KINDS, Kind, purposes, starter_groups
from eks_hardware.advisor.strategies.strategy_text import Settings, WriteError, strategy_text
from eks_hardware.advisor.strategies.write import name_of, strategy_yaml, write_new
from eks_hardware.catalogue import load
from eks_hardware.findings import Severity
from eks_hardware.loader import parse_strategy
from eks_hardware.models import Strategy, WorkloadSpec
from eks_hardware.new_project import FILES, template
from eks_hardware.resolve import resolve
from eks_hardware.rules import check
from helpers.cases import in_one_test
from helpers.locking import candidate
from helpers.strategies import TODAY

OURS = Settings(public_cidrs=("93.184.216.34/32",))
REGIONS = ("us-west-2", "us-east-1", "eu-west-1")


def workload(parameters: str, task: str, **fields: Any) -> WorkloadSpec:
    return WorkloadSpec.model_validate({"task": task, "model": {"parameters": parameters}, **fields})


# One for each of the documents' decisions, and special cases of the writer: large weights, Spot, chips that need an
# SDK.
WORKLOADS = {
    "large training, cost": workload("70B", "training", budget="cost", framework="pytorch"),
    "large training on Trainium": workload("70B", "training", budget="cost", framework="pytorch-xla"),
    "large training, performance": workload("405B", "training", budget="performance"),
    "medium training": workload("7B", "training", training_tokens="15B"),
    "adapters": workload("8B", "fine-tuning", method="lora"),
    "low latency": workload("8B", "inference", framework="vllm", attention="flash-attention-2"),
    "throughput": workload("70B", "inference", serving="batch", budget="cost"),
    "8-bit": workload("405B", "inference", precision="fp8"),
    "spot": workload("8B", "inference", serving="batch", interruptible=True, purchase=("spot", "on-demand")),
    "reserved": workload("70B", "training", purchase=("reserved", "capacity-block")),
    "4-bit": workload("70B", "inference", precision="int4"),
    "small": workload("110M", "inference", budget="cost"),
    "development": workload("1B", "development", precision="fp16"),
}

# Findings about hardware far down the ranking, or about Spot: reported, but the strategy is still written.
TRUE_OF_SOME = {
    "DISTRIBUTED_SLOW",
    "EFA_SPOT",
    "INFERENTIA_ARCHIVED",
    "NEEDS_FRAMEWORK_STATUS",
    "SPOT_ONE_TYPE",
    "TRAINING_INFERENTIA",
}


@cache
def recommended(name: str) -> Recommendation:
    given = WORKLOADS[name]
    # The text for a candidate depends on its region only by name, so one workload for several is enough.
    regions = REGIONS if name == "low latency" else REGIONS[:1]
    return recommend(Request(workload=given, shape=shape_of(given.model), regions=regions))


@cache
def written_yaml(name: str, index: int) -> str:
    return strategy_yaml(recommended(name), OURS, name="demo", candidate=index)


@cache
def recommended_strategies(name: str) -> tuple[tuple[Candidate, Strategy], ...]:
    return tuple(
        (each, parse_strategy(written_yaml(name, index)).strategy)
        for index, each in enumerate(recommended(name).candidates)
    )


def unexpected_codes(strategy: Strategy) -> set[str]:
    """Return the codes of the warnings; there are no errors."""
    found = check(strategy, today=TODAY)
    errors = [str(each) for each in found if each.severity is Severity.ERROR]
    assert errors == []
    return {each.code for each in found}


@in_one_test("name", WORKLOADS)
def test_every_candidate_is_a_valid_strategy(name: str) -> None:
    found = recommended_strategies(name)
    assert found
    for each, strategy in found:
        assert unexpected_codes(strategy) <= TRUE_OF_SOME
        assert strategy.region == each.region
        assert strategy.node_groups[1].instance_types[0] == each.fit.kind.name
        assert strategy.node_groups[1].scaling.max >= each.fit.nodes


@in_one_test("name", WORKLOADS)
def test_the_best_of_each_kind_of_hardware_resolves(name: str) -> None:
    best = {each.fit.kind.hardware: strategy for each, strategy in reversed(recommended_strategies(name))}
    for strategy in best.values():
        group = resolve(strategy).node_groups[1]
        assert group.instance_types == strategy.node_groups[1].instance_types


@in_one_test("name", sorted(set(WORKLOADS) - {"spot"}))
def test_there_is_nothing_to_warn_of_in_the_best(name: str) -> None:
    assert unexpected_codes(parse_strategy(written_yaml(name, 0)).strategy) == set()


def test_several_nodes_have_efa_and_room_for_one_job() -> None:
    training = recommended("large training, performance")
    group = parse_strategy(written_yaml("large training, performance", 0)).strategy.node_groups[1]
    assert training.candidates[0].fit.nodes > 1
    assert (group.scaling.min, group.scaling.max) == (0, training.candidates[0].fit.nodes)
    assert group.efa
    assert group.needs.distributed == "multi-node"
    assert group.purpose == "training"


def test_what_needs_an_older_sdk_gets_an_image_with_its_driver() -> None:
    found = [
        strategy.node_groups[1]
        for each, strategy in recommended_strategies("large training on Trainium")
        if each.fit.kind.family == "trn1"
    ]
    assert found
    assert all(each.needs.neuron_sdk and each.ami.release_version for each in found)


def test_spot_has_a_choice_of_types() -> None:
    found = {
        each.fit.kind.name: strategy.node_groups[1]
        for each, strategy in recommended_strategies("spot")
        if each.purchase == "spot"
    }
    assert found["g6e.2xlarge"].capacity == "spot"
    assert len(found["g6e.2xlarge"].instance_types) == 5
    assert found["g6e.48xlarge"].instance_types == ("g6e.48xlarge",)


def test_a_reservation_is_there_to_be_put_in() -> None:
    text = written_yaml("reserved", 0)
    group = parse_strategy(text).strategy.node_groups[1]
    assert group.capacity in ("reserved", "capacity-block")
    assert group.reservation
    assert "with your own" in text


def test_large_weights_have_room_on_the_disk() -> None:
    for each, strategy in recommended_strategies("8-bit"):
        if each.fit.kind.instance_store is None:
            assert (strategy.node_groups[1].disk.size_gib or 0) > 2 * 405e9 / 2**30


def test_the_comments_say_why() -> None:
    text = written_yaml("low latency", 0)
    best = recommended("low latency").candidates[0]
    assert f"# Number 1 of {len(recommended('low latency').candidates)}: {best.fit.kind.name}" in text
    assert f"{best.fit.memory_gib:.1f} of {best.fit.available_gib:.1f} GiB" in text
    assert f"{best.usd_per_hour:,.2f} USD per hour" in text
    assert best.price_as_of in text if best.price_as_of else True
    assert max(map(len, text.splitlines())) <= 120


def test_no_comment_becomes_more_than_one() -> None:
    found = recommended("low latency")
    shape = dataclasses.replace(found.request.shape, architecture="x\nevil: true", estimated=("a\n- b\u2028c",))
    request = dataclasses.replace(found.request, shape=shape)
    text = strategy_yaml(dataclasses.replace(found, request=request), OURS, name="demo")
    assert "evil" in text
    assert parse_strategy(text).strategy == parse_strategy(written_yaml("low latency", 0)).strategy


@pytest.mark.parametrize("name", ["true", "123", "1e3", "null", "on", "0x1F", "a-b_c", "1.5".replace(".", "_")])
def test_a_name_stays_text(name: str) -> None:
    assert parse_strategy(strategy_yaml(recommended("small"), OURS, name=name)).strategy.name == name


@pytest.mark.parametrize("name", ["", "a b", "-a", "../a", "a" * 101, "${x}", "a\n"])
def test_what_cannot_be_a_name_is_refused(name: str) -> None:
    with pytest.raises(WriteError, match="must be at most 100 letters"):
        strategy_yaml(recommended("small"), OURS, name=name)


@pytest.mark.parametrize("index", [-1, 10_000])
def test_there_is_no_such_candidate(index: int) -> None:
    with pytest.raises(WriteError, match="there is no candidate"):
        strategy_yaml(recommended("small"), OURS, name="demo", candidate=index)


def test_of_nothing_there_is_nothing_to_write() -> None:
    with pytest.raises(WriteError, match="nothing fits"):
        strategy_yaml(dataclasses.replace(recommended("small"), candidates=()), OURS, name="demo")


def test_a_price_that_nobody_knows_is_unknown() -> None:
    found = dataclasses.replace(recommended("small"), candidates=(candidate("g6.xlarge", usd_per_hour=None),))
    assert "Price in us-west-2: unknown." in strategy_yaml(found, OURS, name="demo")


# --- first strategies by hardware


STARTERS: list[tuple[Kind, str | None]] = [(kind, purpose) for kind in KINDS for purpose in purposes(kind) or (None,)]


@pytest.mark.parametrize(("kind", "purpose"), STARTERS)
def test_a_first_strategy_is_valid_wherever_its_hardware_is(kind: Kind, purpose: str | None) -> None:
    regions = []
    for region in load().regions:
        try:
            groups = starter_groups(kind, purpose, region)
        except WriteError:
            continue
        regions.append(region)
        strategy = parse_strategy(strategy_text("demo", region, groups, OURS)).strategy
        read = load().offerings_known(region) == "zone"
        assert unexpected_codes(strategy) == (set() if read else {"REGION_OFFERINGS_UNREAD"})
        resolve(strategy)
    assert "us-east-1" in regions


SETTINGS = {
    "public": OURS,
    "private": Settings(public_cidrs=(), admins=("arn:aws:iam::111122223333:role/platform",), state_bucket="our-state"),
}


@in_one_test("settings", SETTINGS)
def test_overlays_of_a_new_project_suit_every_first_strategy(settings: str) -> None:
    overlays = [template(each.template) for each in FILES if each.path.startswith("overlays/")]
    assert len(overlays) == 2
    texts = [
        strategy_text("demo", "us-east-1", starter_groups(kind, purpose, "us-east-1"), SETTINGS[settings])
        for kind, purpose in STARTERS
    ]
    texts += [
        strategy_yaml(recommended(name), SETTINGS[settings], name="demo", candidate=index)
        for name in WORKLOADS
        for index in {
            each.fit.kind.hardware: i for i, each in reversed([*enumerate(recommended(name).candidates)])
        }.values()
    ]
    for text in texts:
        strategy = parse_strategy(text).strategy
        assert strategy.cluster.endpoint.public_cidrs == SETTINGS[settings].public_cidrs
        before = unexpected_codes(strategy)
        for overlay in overlays:
            over = parse_strategy(text, over=overlay).strategy
            assert over != strategy
            assert unexpected_codes(over) <= before
            resolve(over)


def test_mixed_has_what_the_region_has() -> None:
    names = {region: {each.name for each in starter_groups("mixed", None, region)} for region in REGIONS}
    assert {"gpu-training", "trainium-training", "inferentia-inference"} <= names["us-west-2"]
    assert "trainium-training" not in names["eu-west-1"]


def test_another_region_is_named_where_one_has_nothing() -> None:
    with pytest.raises(WriteError, match=r"eu-west-1 offers none of trn1\.32xlarge.* us-east-2"):
        starter_groups("trainium", "training", "eu-west-1")


def test_hardware_is_for_something() -> None:
    with pytest.raises(WriteError, match="must be inference or development, got training"):
        starter_groups("inferentia", "training", "us-west-2")


# --- files


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    file = tmp_path / "demo.yaml"
    write_new(file, "one\n")
    with pytest.raises(WriteError, match="--force"):
        write_new(file, "two\n")
    assert file.read_text(encoding="utf-8") == "one\n"
    write_new(file, "two\n", force=True)
    assert file.read_text(encoding="utf-8") == "two\n"
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    other, file = tmp_path / "other", tmp_path / "demo.yaml"
    other.write_text("mine", encoding="utf-8")
    file.symlink_to(other)
    with pytest.raises(WriteError):
        write_new(file, "two\n")
    write_new(file, "two\n", force=True)
    assert (other.read_text(encoding="utf-8"), file.is_symlink()) == ("mine", False)


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("place", ["missing/demo.yaml", "file/demo.yaml", "folder"])
def test_an_unwritable_place_is_reported(tmp_path: Path, place: str, force: bool) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(WriteError):
        write_new(tmp_path / place, "one\n", force=force)
    assert {each.name for each in tmp_path.rglob("*")} == {"file", "folder"}


def test_an_interrupted_write_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        write_new(tmp_path / "demo.yaml", "name: \udcff\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("file", "name"), [("a/llm.yaml", "llm"), ("LLM_2.YML", "LLM_2")])
def test_a_file_names_its_strategy(file: str, name: str) -> None:
    assert name_of(Path(file)) == name


@pytest.mark.parametrize("file", ["llm", "llm.json", "my llm.yaml", ".yaml", "a.b.yaml"])
def test_some_files_cannot(file: str) -> None:
    with pytest.raises(WriteError):
        name_of(Path(file))

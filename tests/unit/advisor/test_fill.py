"""``workload: {...}`` in a strategy: the request, the lock file, and findings if the two differ."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from eks_hardware import loader
from eks_hardware.advisor.model import Gate, Miss
from eks_hardware.advisor.strategies import lock
from eks_hardware.advisor.strategies.fill import fill
from eks_hardware.advisor.strategies.relock import Relocked, relock
from eks_hardware.catalogue import load
from eks_hardware.findings import Finding, StrategyError
from eks_hardware.resolve import resolve
from eks_hardware.rules import check
from eks_hardware.validation import Validation, load_strategy
from eks_hardware.validation import validate as validate_with
from helpers.advisor import config_file
from helpers.cases import in_one_test
from helpers.findings import codes
from helpers.locking import WORKLOAD, FakeRecommender, candidate, group_line, pool_lines, write_strategy
from helpers.strategies import TODAY, write_overlay

G6E = FakeRecommender("g6e.xlarge")
TWO_NODES = FakeRecommender(candidate("p4d.24xlarge", nodes=2))
TRAINING = "{task: training, model: {parameters: 13B}}"
SPOT = "{task: inference, model: {parameters: 8B}, purchase: [spot, on-demand], interruptible: true}"


def validate_filled(file: Path, recommender: FakeRecommender = G6E, overlays: tuple[str, ...] = ()) -> Validation:
    return validate_with([file], overlays, today=TODAY, fill=partial(fill, recommender=recommender))


def write_lock(
    file: Path, recommender: FakeRecommender = G6E, overlays: tuple[str, ...] = (), **options: Any
) -> Relocked:
    loaded = loader.read_strategy(file, overlays=overlays)
    found = relock(loaded, overlays=overlays, recommender=recommender, **options)
    lock.write(lock.lock_path(file), found.entries)
    return found


def only(found: Validation) -> Finding:
    (finding,) = found.shown
    return finding


# --- the life of a choice


def test_without_a_lock_file_it_says_what_would_be_chosen(tmp_path: Path) -> None:
    file = write_strategy(tmp_path, group_line())
    finding = only(validate_filled(file))
    assert (finding.code, finding.path) == ("LOCK_MISSING", "node_groups[llm].workload")
    assert "g6e.xlarge" in finding.message
    assert f"eks-hardware lock {finding.position.file if finding.position else ''}" in finding.message
    assert "demo.lock.json" in finding.message
    assert finding.position
    assert finding.position.line == 8


def test_with_one_the_group_is_as_if_its_types_were_written_there(tmp_path: Path) -> None:
    file = write_strategy(tmp_path, group_line())
    write_lock(file)
    found = validate_filled(file)
    assert found.shown == ()
    ((loaded, _),) = found.strategies
    group = loaded.strategy.node_groups[1]
    assert group.instance_types == ("g6e.xlarge",)
    assert group.described
    assert (group.efa, group.capacity) == (False, "on-demand")
    assert (group.needs.precision, group.needs.framework) == ("bf16", "vllm")
    resolved = {each.name: each for each in resolve(loaded.strategy).node_groups}["llm"]
    assert (resolved.instance_types, resolved.workload) == (("g6e.xlarge",), "inference")
    assert "lock file" in resolved.reasons["instance_types"].text


def test_a_pool_is_filled_too(tmp_path: Path) -> None:
    file = write_strategy(tmp_path, pool_lines())
    assert codes(validate_filled(file).shown) == [("LOCK_MISSING", "karpenter.node_pools[llm].workload")]
    write_lock(file)
    found = validate_filled(file)
    assert found.shown == ()
    assert resolve(found.strategies[0][0].strategy).node_pools[0].instance_types == ("g6e.xlarge",)


OTHER_CATALOGUE = FakeRecommender("g7e.2xlarge")


def test_a_newer_catalogue_changes_nothing_that_is_locked(tmp_path: Path) -> None:
    file = write_strategy(tmp_path, group_line())
    write_lock(file)
    before = lock.lock_path(file).read_bytes()
    assert validate_filled(file, OTHER_CATALOGUE).shown == ()
    assert OTHER_CATALOGUE.asked == []
    (choice,) = write_lock(file, OTHER_CATALOGUE).choices
    assert (choice.state, lock.lock_path(file).read_bytes()) == ("kept", before)
    (choice,) = relock(loader.read_strategy(file), recommender=OTHER_CATALOGUE, compare=True).choices
    assert (choice.state, choice.differs_today) == ("kept", True)
    (choice,) = write_lock(file, OTHER_CATALOGUE, upgrade="all").choices
    assert choice.state == "changed"
    assert validate_filled(file).strategies[0][0].strategy.node_groups[1].instance_types == ("g7e.2xlarge",)


def test_an_upgrade_can_be_of_one_group(tmp_path: Path) -> None:
    file = write_strategy(tmp_path, group_line("a"), group_line("b"))
    write_lock(file)
    found = write_lock(file, FakeRecommender("g6e.2xlarge"), upgrade=["b"])
    assert {each.path: each.state for each in found.choices} == {"node_groups[a]": "kept", "node_groups[b]": "changed"}
    groups = validate_filled(file).strategies[0][0].strategy.node_groups
    assert [each.instance_types[0] for each in groups] == ["m6i.xlarge", "g6e.xlarge", "g6e.2xlarge"]


CHANGES = {
    "the size": ({"workload": WORKLOAD.replace("8B", "70B")}, "model.parameters is 70000000000, was 8000000000"),
    "the framework": ({"workload": WORKLOAD.replace("vllm", "tgi")}, "workload.framework is tgi, was vllm"),
    "the budget": ({"workload": WORKLOAD[:-1] + ", budget: cost}"}, "workload.budget is cost"),
    "EFA": ({"efa": "true"}, "efa is true, was not set"),
    "the capacity": (
        {"workload": WORKLOAD[:-1] + ", interruptible: true}", "capacity": "spot"},
        "capacity is spot, was on-demand",
    ),
    "zones": ({"zones": "[usw2-az1]"}, "zones is usw2-az1, was not set"),
    "the image": ({"ami": "{family: bottlerocket}"}, "ami.family is bottlerocket, was not set"),
    "attention": ({"needs": "{attention: flash-attention-2}"}, "workload.attention is flash-attention-2"),
}


@in_one_test(("fields", "said"), CHANGES.values(), ids=CHANGES)
def test_another_question_needs_another_answer(tmp_path: Path, fields: dict[str, str], said: str) -> None:
    file = write_strategy(tmp_path, group_line())
    write_lock(file)
    write_strategy(tmp_path, group_line(**fields))
    finding = only(validate_filled(file, FakeRecommender("g6e.2xlarge")))
    assert (finding.code, finding.path) == ("LOCK_OUTDATED", "node_groups[llm].workload")
    assert said in finding.message
    assert "g6e.xlarge is locked" in finding.message
    assert "g6e.2xlarge today" in finding.message
    write_lock(file, FakeRecommender("g6e.2xlarge"))
    assert "LOCK_OUTDATED" not in dict(codes(validate_filled(file).shown))
    assert len(lock.read(lock.lock_path(file))) == 1


SAME = {
    "digits": {"workload": WORKLOAD.replace("8B", "8000000000")},
    "a default that is stated": {"workload": WORKLOAD[:-1] + ", budget: balanced, purchase: [on-demand]}"},
    "more nodes": {"scaling": "{min: 1, max: 9}"},
    "a label": {"labels": "{team: research}"},
    "the framework in the other place": {
        "workload": WORKLOAD.replace(", framework: vllm", ""),
        "needs": "{framework: vllm}",
    },
}


@in_one_test("fields", SAME.values(), ids=SAME)
def test_the_same_question_in_other_words_has_the_same_answer(tmp_path: Path, fields: dict[str, str]) -> None:
    file = write_strategy(tmp_path, group_line())
    write_lock(file)
    write_strategy(tmp_path, group_line(**fields))
    assert codes(validate_filled(file).shown) == []


def test_unused_answers_are_named_and_removed(tmp_path: Path) -> None:
    file = write_strategy(tmp_path, group_line("old"), group_line("new"))
    write_lock(file)
    write_strategy(tmp_path, group_line("new"))
    finding = only(validate_filled(file))
    assert (finding.code, finding.severity.value) == ("LOCK_UNUSED", "warning")
    assert "node_groups[old]" in finding.message
    assert finding.position
    assert finding.position.file.endswith("demo.lock.json")
    assert [each.path for each in write_lock(file).removed] == ["node_groups[old]"]
    assert validate_filled(file).shown == ()


def test_a_strategy_that_asks_nothing_has_no_lock_file(tmp_path: Path) -> None:
    file = write_strategy(tmp_path, group_line())
    write_lock(file)
    write_strategy(tmp_path)
    assert [code for code, _ in codes(validate_filled(file).shown)] == ["LOCK_UNUSED"]
    write_lock(file)
    assert not lock.lock_path(file).exists()
    # Other files with the same name do not matter.
    lock.lock_path(file).write_text("{}", encoding="utf-8")
    assert validate_filled(file).shown == ()


def test_a_broken_lock_file_is_one_error(tmp_path: Path) -> None:
    file = write_strategy(tmp_path, group_line("a"), group_line("b"))
    lock.lock_path(file).write_text('{"lockfileVersion": 3}', encoding="utf-8")
    assert codes(validate_filled(file).shown) == [("LOCK_INVALID", "")]


def test_a_lock_file_that_is_edited_by_hand_is_judged_as_a_strategy_is(tmp_path: Path) -> None:
    """At the workload, because the types are nowhere else."""
    file = write_strategy(tmp_path, group_line())
    write_lock(file)
    path = lock.lock_path(file)
    path.write_text(path.read_text(encoding="utf-8").replace("g6e.xlarge", "g9.xlarge"), encoding="utf-8")
    finding = only(validate_filled(file))
    assert (finding.code, finding.path) == ("INSTANCE_TYPE_UNKNOWN", "node_groups[llm].instance_types[0]")
    assert finding.position
    line = file.read_text(encoding="utf-8").splitlines()[finding.position.line - 1]
    assert line[finding.position.column - 1 :].startswith("{task: inference")


# --- overlays


def test_each_overlay_has_an_answer_to_what_it_asks(tmp_path: Path) -> None:
    file = write_strategy(tmp_path, group_line())
    write_overlay("east", "region: us-east-1\n", tmp_path)
    write_overlay("tagged", "tags: {team: research}\n", tmp_path)
    write_lock(file)
    assert codes(validate_filled(file, overlays=("tagged",)).shown) == []
    finding = only(validate_filled(file, overlays=("east",)))
    assert finding.code == "LOCK_OUTDATED"
    assert "region is us-east-1, was us-west-2" in finding.message
    assert "--overlay east`" in finding.message
    write_lock(file, FakeRecommender("g5.2xlarge"), overlays=("east",))
    for overlays, name in (((), "g6e.xlarge"), (("tagged",), "g6e.xlarge"), (("east",), "g5.2xlarge")):
        found = validate_filled(file, overlays=overlays)
        assert found.shown == ()
        assert found.strategies[0][0].strategy.node_groups[1].instance_types == (name,)


def test_locking_one_overlay_leaves_the_others_alone(tmp_path: Path) -> None:
    file = write_strategy(tmp_path, group_line())
    write_overlay("east", "region: us-east-1\n", tmp_path)
    write_lock(file)
    write_lock(file, overlays=("east",))
    write_strategy(tmp_path, group_line(workload=WORKLOAD.replace("8B", "70B")))
    write_lock(file)
    assert [each.overlays for each in lock.read(lock.lock_path(file))] == [(), ("east",)]
    assert codes(validate_filled(file).shown) == []
    assert [code for code, _ in codes(validate_filled(file, overlays=("east",)).shown)] == ["LOCK_OUTDATED"]


# --- filled-in values


def node_of(file: Path, recommender: FakeRecommender) -> Any:
    write_lock(file, recommender)
    strategy = validate_filled(file, recommender).strategies[0][0].strategy
    return strategy.karpenter.node_pools[0] if strategy.karpenter else strategy.node_groups[1]


def test_several_nodes_are_joined_by_efa(tmp_path: Path) -> None:
    node = node_of(write_strategy(tmp_path, group_line(workload=TRAINING)), TWO_NODES)
    assert node.efa
    assert node.needs.distributed == "multi-node"


def test_what_the_strategy_says_itself_stays(tmp_path: Path) -> None:
    said = {"efa": "false", "needs": "{precision: fp32, distributed: single-node}"}
    node = node_of(write_strategy(tmp_path, group_line(workload=TRAINING, **said)), TWO_NODES)
    assert (node.efa, node.needs.precision, node.needs.distributed) == (False, "fp32", "single-node")
    assert TWO_NODES.asked[-1].efa is False


@in_one_test(
    ("precision", "name", "need"),
    [
        ("int4", "g6e.xlarge", None),
        ("mxfp4", "p6-b200.48xlarge", None),
        ("nvfp4", "p6-b200.48xlarge", "nvfp4"),
        ("nvfp4", "g6e.xlarge", None),
        ("fp8", "g6e.xlarge", "fp8"),
        ("fp8", "g5.xlarge", None),
    ],
)
def test_only_formats_that_are_computed_in_are_needed(
    tmp_path: Path, precision: str, name: str, need: str | None
) -> None:
    workload = f"{{task: inference, model: {{parameters: 8B}}, precision: {precision}}}"
    node = node_of(write_strategy(tmp_path, group_line(workload=workload)), FakeRecommender(name))
    assert node.needs.precision == need


def spot(*names: str) -> FakeRecommender:
    return FakeRecommender(*(candidate(name, purchase="spot") for name in names))


RANKED = (
    "g6.xlarge",
    "g5.xlarge",
    "g6.2xlarge",
    "g6.12xlarge",
    "g6.4xlarge",
    "g6.8xlarge",
    "g6.16xlarge",
    "gr6.4xlarge",
)


def test_a_spot_group_has_several_types_with_the_same_accelerators(tmp_path: Path) -> None:
    node = node_of(write_strategy(tmp_path, group_line(workload=SPOT)), spot(*RANKED))
    assert node.capacity == "spot"
    assert node.instance_types == ("g6.xlarge", "g6.2xlarge", "g6.4xlarge", "g6.8xlarge", "g6.16xlarge")


def test_a_spot_pool_too_and_it_keeps_both_ways_to_buy(tmp_path: Path) -> None:
    node = node_of(write_strategy(tmp_path, pool_lines(workload=SPOT)), spot(*RANKED))
    assert node.capacity == ("spot", "on-demand")
    assert len(node.instance_types) == 5


def test_the_capacity_of_the_group_is_what_is_asked(tmp_path: Path) -> None:
    recommender = FakeRecommender("g6.xlarge")
    file = write_strategy(tmp_path, group_line(workload=SPOT, capacity="on-demand"))
    assert node_of(file, recommender).capacity == "on-demand"
    assert recommender.asked[0].workload.purchase == ("on-demand",)


# --- restrictions of the choice


def names_for(file: Path) -> set[str]:
    recommender = FakeRecommender("g6e.xlarge")
    relock(loader.read_strategy(file), recommender=recommender)
    return set(recommender.only)


def test_zones_restrict_the_choice(tmp_path: Path) -> None:
    everything = names_for(write_strategy(tmp_path, group_line()))
    in_az4 = names_for(write_strategy(tmp_path, group_line(zones="[usw2-az4]")))
    catalogue = load()
    assert in_az4 == {name for name in everything if "usw2-az4" in catalogue.offered(name, "us-west-2")}
    assert 0 < len(in_az4) < len(everything)
    file = write_strategy(tmp_path, group_line(), "network: {zones: [usw2-az4, usw2-az1]}\n")
    assert in_az4 < names_for(file) < everything


def test_a_reservation_restricts_it_to_its_zone(tmp_path: Path) -> None:
    reservation = "{id: cr-0123456789abcdef0, zone: usw2-az4}"
    fields = {"capacity": "reserved", "reservation": reservation, "update": "{strategy: minimal}"}
    in_az4 = names_for(write_strategy(tmp_path, group_line(zones="[usw2-az4]")))
    assert names_for(write_strategy(tmp_path, group_line(**fields))) == in_az4


def test_images_restrict_it(tmp_path: Path) -> None:
    bottlerocket = names_for(write_strategy(tmp_path, group_line(ami="{family: bottlerocket}")))
    arm = names_for(write_strategy(tmp_path, group_line(ami="{type: AL2023_ARM_64_NVIDIA}")))
    catalogue = load()
    assert all("BOTTLEROCKET" in " ".join(catalogue.get(name).ami_types) for name in bottlerocket)
    assert {catalogue.get(name).architecture for name in arm} == {"arm64"}


def test_karpenter_restricts_it(tmp_path: Path) -> None:
    group, pool = (names_for(write_strategy(tmp_path, part)) for part in (group_line(), pool_lines()))
    assert pool < group


# --- impossible requests


def test_more_nodes_at_once_than_there_may_be(tmp_path: Path) -> None:
    file = write_strategy(tmp_path, group_line(workload=TRAINING, scaling="{max: 1}"))
    found = {each.code: each for each in validate_filled(file, TWO_NODES).shown}
    assert set(found) == {"LOCK_MISSING", "WORKLOAD_NODES"}
    assert found["WORKLOAD_NODES"].path == "node_groups[llm].scaling.max"
    assert "set max: 2" in found["WORKLOAD_NODES"].message
    with pytest.raises(StrategyError, match="WORKLOAD_NODES"):
        write_lock(file, TWO_NODES)


def test_fewer_nodes_than_when_it_was_locked(tmp_path: Path) -> None:
    file = write_strategy(tmp_path, group_line(workload=TRAINING))
    write_lock(file, TWO_NODES)
    write_strategy(tmp_path, group_line(workload=TRAINING, scaling="{max: 1}"))
    found = validate_filled(file, TWO_NODES)
    assert ("WORKLOAD_NODES", "node_groups[llm].scaling.max") in codes(found.shown)
    assert {code for code, _ in codes(found.shown)} <= {"WORKLOAD_NODES", "EFA_ONE_NODE"}


@in_one_test(
    ("limits", "path"),
    [
        ("{nvidia.com/gpu: 8}", "limits[nvidia.com/gpu]"),
        ("{nvidia.com/gpu: 16, nodes: 1}", "limits.nodes"),
        ("{nvidia.com/gpu: 16, cpu: 100}", "limits.cpu"),
        ("{nvidia.com/gpu: 16}", None),
        ("{nvidia.com/gpu: -1}", None),
    ],
)
def test_a_pool_s_limits_hold_one_job(tmp_path: Path, limits: str, path: str | None) -> None:
    file = write_strategy(tmp_path, pool_lines(workload=TRAINING, limits=limits))
    places = [path for code, path in codes(validate_filled(file, TWO_NODES).shown) if code == "WORKLOAD_NODES"]
    assert places == ([f"karpenter.node_pools[llm].{path}"] if path else [])


CAPACITIES = {
    "Spot for uninterruptible work": ({"capacity": "spot"}, ("WORKLOAD_SPOT", "capacity")),
    "another way than the workload's": (
        {"capacity": "spot", "workload": WORKLOAD[:-1] + ", purchase: [on-demand], interruptible: true}"},
        ("WORKLOAD_CAPACITY", "capacity"),
    ),
    "a reservation that is not named": (
        {"workload": WORKLOAD[:-1] + ", purchase: [capacity-block]}"},
        ("WORKLOAD_CAPACITY", "workload.purchase"),
    ),
    "a reservation as the second choice": (
        {"workload": WORKLOAD[:-1] + ", purchase: [on-demand, reserved]}"},
        ("WORKLOAD_CAPACITY", "workload.purchase"),
    ),
}


@in_one_test(("fields", "expected"), CAPACITIES.values(), ids=CAPACITIES)
def test_capacity_and_workload_agree(tmp_path: Path, fields: dict[str, str], expected: tuple[str, str]) -> None:
    finding = only(validate_filled(write_strategy(tmp_path, group_line(**fields))))
    assert (finding.code, finding.path) == (expected[0], f"node_groups[llm].{expected[1]}")


def miss(gib: float | None = None, *gates: str) -> Miss:
    return Miss(
        kind=load().get("p5.48xlarge"),
        missing_gib=gib,
        gates=tuple(Gate(code=code, passed=False, text="no", source="x") for code in gates),
        text="it misses 12 GiB a device.",
        remedy="take fp8 weights",
    )


@in_one_test(
    ("nearest", "field"),
    [
        ((miss(12.0),), "workload.model"),
        ((miss(None, "BF16"),), "workload.precision"),
        ((miss(None, "FLASH_ATTENTION"),), "workload.attention"),
        ((miss(None, "WITHDRAWN"),), "workload"),
        ((), "workload"),
    ],
)
def test_where_nothing_fits_it_says_what_comes_nearest(tmp_path: Path, nearest: tuple[Miss, ...], field: str) -> None:
    finding = only(validate_filled(write_strategy(tmp_path, group_line()), FakeRecommender(nearest=nearest)))
    assert (finding.code, finding.path) == ("WORKLOAD_NOTHING_FITS", f"node_groups[llm].{field}")
    if nearest:
        assert "p5.48xlarge: it misses 12 GiB a device; take fp8 weights" in finding.message


def test_no_zone_has_anything(tmp_path: Path) -> None:
    file = write_strategy(tmp_path, group_line(zones="[usw2-az1, use1-az1]"))
    assert ("WORKLOAD_NOTHING_FITS", "node_groups[llm].zones") in codes(validate_filled(file).shown)


def test_an_unknown_region_is_reported_once(tmp_path: Path) -> None:
    file = write_strategy(tmp_path, group_line())
    file.write_text(file.read_text(encoding="utf-8").replace("us-west-2", "us-west-9"), encoding="utf-8")
    assert {code for code, _ in codes(validate_filled(file).shown)} == {"REGION_UNKNOWN"}


# --- config.json


def hf_config(folder: Path, **changes: Any) -> None:
    content = json.loads(config_file("llama-3.1-8b").read_text(encoding="utf-8")) | changes
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(content), encoding="utf-8")


FROM_FILE = "{task: inference, model: {hf_config: llama/config.json}}"


def test_a_config_is_read_from_where_the_strategy_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    hf_config(tmp_path / "llama")
    file = write_strategy(tmp_path, group_line(workload=FROM_FILE))
    recommender = FakeRecommender("g6e.xlarge")
    write_lock(file, recommender)
    assert 7.9e9 < recommender.asked[0].shape.parameters < 8.1e9
    assert validate_filled(file).shown == ()


def test_a_config_that_changes_is_another_question_and_one_that_moves_is_not(tmp_path: Path) -> None:
    hf_config(tmp_path / "llama")
    file = write_strategy(tmp_path, group_line(workload=FROM_FILE))
    write_lock(file)
    hf_config(tmp_path / "moved")
    write_strategy(tmp_path, group_line(workload=FROM_FILE.replace("llama", "moved")))
    assert validate_filled(file).shown == ()
    hf_config(tmp_path / "moved", torch_dtype="bfloat16", transformers_version="5.0.0")
    assert validate_filled(file).shown == ()
    hf_config(tmp_path / "moved", num_hidden_layers=80)
    finding = only(validate_filled(file))
    assert finding.code == "LOCK_OUTDATED"
    assert "model.layers is 80, was 32" in finding.message


def test_another_spelling_of_a_public_model_is_the_same_question(tmp_path: Path) -> None:
    named = "{task: inference, model: {name: llama-3.1-8b}}"
    file = write_strategy(tmp_path, group_line(workload=named))
    write_lock(file)
    write_strategy(tmp_path, group_line(workload=named.replace("llama-3.1", "meta-llama/Llama-3.1")))
    assert validate_filled(file).shown == ()
    write_strategy(tmp_path, group_line(workload=named.replace("8b", "70b")))
    finding = only(validate_filled(file))
    assert finding.code == "LOCK_OUTDATED"
    assert "model.active_parameters is 70553706496, was 8030261248" in finding.message


@in_one_test("text", [None, "[]", "{", '{"model_type": "nobody-knows-it"}'])
def test_a_config_that_says_nothing_is_found_where_it_is_named(tmp_path: Path, text: str | None) -> None:
    (tmp_path / "llama").mkdir()
    if text is not None:
        (tmp_path / "llama" / "config.json").write_text(text, encoding="utf-8")
    finding = only(validate_filled(write_strategy(tmp_path, group_line(workload=FROM_FILE))))
    assert finding.path.startswith("node_groups[llm].workload.model")
    assert finding.position
    assert finding.position.line == 8


# --- the rest of the strategy


WRONG = "  - {name: wrong, instance_types: [p5.49xlarge], scaling: {max: 2}}\n"
FAULTY = "  - {name: faulty, instance_types: [m7i.large], scalling: {max: 2}}\n"
UNKNOWN_TYPE = ("INSTANCE_TYPE_UNKNOWN", "node_groups[wrong].instance_types[0]")


def test_what_is_not_locked_does_not_hide_what_else_is_wrong(tmp_path: Path) -> None:
    found = codes(validate_filled(write_strategy(tmp_path, group_line(), WRONG)).shown)
    assert found == [("LOCK_MISSING", "node_groups[llm].workload"), UNKNOWN_TYPE]


def test_a_faulty_group_does_not_hide_what_is_not_locked(tmp_path: Path) -> None:
    found = codes(validate_filled(write_strategy(tmp_path, group_line(), WRONG, FAULTY)).shown)
    assert ("LOCK_MISSING", "node_groups[llm].workload") in found
    assert UNKNOWN_TYPE in found


def test_a_faulty_group_does_not_make_its_choice_unused(tmp_path: Path) -> None:
    file = write_strategy(tmp_path, group_line("a"), group_line("b"))
    write_lock(file)
    write_strategy(tmp_path, group_line("a"), group_line("b", scalling="{max: 2}"))
    assert {code for code, _ in codes(validate_filled(file).shown)} == {"FIELD_UNKNOWN"}


def test_only_described_groups_that_are_all_open(tmp_path: Path) -> None:
    text = "version: 1\nname: demo\nregion: us-west-2\ncluster: {kubernetes_version: '1.30'}\nnode_groups:\n"
    file = tmp_path / "demo.yaml"
    file.write_text(text + group_line(), encoding="utf-8")
    assert {"LOCK_MISSING", "KUBERNETES_VERSION_UNSUPPORTED"} <= {
        code for code, _ in codes(validate_filled(file).shown)
    }


def test_ignored_warnings_stay_ignored_while_a_choice_is_open(tmp_path: Path) -> None:
    ignore = "ignore: [{code: ENDPOINT_OPEN, path: cluster, reason: a sandbox without data}]\n"
    file = write_strategy(tmp_path, group_line(), ignore)
    text = file.read_text(encoding="utf-8")
    opened = text.replace("true}", "true, endpoint: {public_cidrs: [0.0.0.0/0]}}")
    file.write_text(opened, encoding="utf-8")
    assert [code for code, _ in codes(validate_filled(file).shown)] == ["LOCK_MISSING"]


# --- without the advisor


def test_the_core_says_that_nothing_is_chosen(tmp_path: Path) -> None:
    file = write_strategy(tmp_path, group_line(), WRONG, pool_lines("pool"))
    strategy = loader.read_strategy(file).strategy
    found = [(each.code, each.path) for each in check(strategy, today=TODAY)]
    assert {
        ("WORKLOAD_UNCHOSEN", "node_groups[llm].workload"),
        ("WORKLOAD_UNCHOSEN", "karpenter.node_pools[pool].workload"),
        UNKNOWN_TYPE,
    } == set(found)
    with pytest.raises(ValueError, match="is not chosen yet"):
        resolve(strategy)


def test_a_library_loads_what_is_locked(tmp_path: Path) -> None:
    file = write_strategy(tmp_path, group_line())
    with pytest.raises(StrategyError, match="LOCK_MISSING"):
        load_strategy(file)
    write_lock(file)
    assert resolve(load_strategy(file).strategy).node_groups[1].instance_types == ("g6e.xlarge",)

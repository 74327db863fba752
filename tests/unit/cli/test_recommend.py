"""``eks-hardware recommend``: the answers for eight typical workloads, JSON, files, strategies, and errors."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from eks_hardware import facts
from eks_hardware.cli import app, cluster_settings
from eks_hardware.validation import validate
from helpers.advisor import config_file
from helpers.cases import in_one_test
from helpers.recommend_command import asked, run

US = "region: us-west-2"
CHAT = f"""\
version: 1
{US}
task: inference
model: {{parameters: 8B, architecture: llama}}
context_length: 8192
concurrent_sequences: 16
framework: vllm
precision: bf16
budget: cost
"""
# Options, or the text of a file.
WORKLOADS = {
    "chat-8b": CHAT,
    "lora-70b": "{version: 1, task: fine-tuning, method: lora, model: {parameters: 70B}, "
    "regions: [us-west-2, us-east-1]}",
    "pretraining-7b-cost": "{version: 1, task: training, model: {parameters: 7B}, framework: pytorch, budget: cost, "
    "training_tokens: 100B, region: us-east-2}",
    "pretraining-70b-performance": "--task training --model 70B --priority performance --region us-west-2",
    "bert-real-time": "{version: 1, task: inference, model: {parameters: 110M, architecture: bert}, precision: fp16, "
    "context_length: 512, latency: {first_token_ms: 20}, region: us-east-1}",
    "embeddings-batch": "{version: 1, task: inference, serving: batch, model: {parameters: 335M, architecture: bert}, "
    "context_length: 512, budget: cost, region: us-east-1}",
    "development-1b": "--task development --model 1B --region eu-west-1",
    "impossible": "--task inference --model 20T --region us-west-2",
}


@in_one_test("columns", range(50, 81, 5))
@in_one_test("more", [(), ("--all",)])
def test_every_width_shows_every_column(columns: int, more: tuple[str, ...]) -> None:
    said = run("--task", "inference", "--model", "8B", *more, COLUMNS=str(columns)).out.splitlines()
    assert max(map(len, said)) <= columns
    header = next((line.strip() for line in said if line.strip().startswith("#")), None)
    names = ["Accelerator", "Memory GiB", "$/h", "$/M tok", "Score"]
    if header:
        assert re.split(r"\s{2,}", header) == ["#", "Instance type", *names]
    else:
        choice = " ".join(said[said.index("✓ 1 g5.xlarge") :][1:3])
        assert re.search(".*".join(map(re.escape, names)), choice)
    assert header or columns < 80
    regions = [line for line in said if "ap-northeast-" in line]
    assert all("ap-northeast-1" in line for line in regions)


def test_without_network_the_ranking_is_shown_before_the_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_settings, "caller_address", lambda: None)
    file = tmp_path / "llm.yaml"
    code, out, err = run("--task", "inference", "--model", "8B", "-o", file)
    assert (code, file.exists()) == (2, False)
    assert out.startswith("Inference: 8B parameters")
    assert err.startswith(
        "error: --api-access is missing, and https://checkip.amazonaws.com did not return your address"
    )
    assert "; add --api-access with your networks (such as 93.184.216.34/32), or --api-access private" in err
    assert run("--task", "inference", "--model", "8B", "-o", file, "--api-access", "private").code == 0


def test_at_a_terminal_the_ranking_is_shown_before_the_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_settings, "caller_address", lambda: None)
    monkeypatch.setattr(sys.modules["eks_hardware.cli.commands.recommend"], "at_terminal", lambda: True)
    arguments = ["recommend", "--task", "inference", "--model", "8B", "--no-project", "-o", str(tmp_path / "llm.yaml")]
    done = CliRunner().invoke(app, arguments, input="\n1\n93.184.216.34\n", env={"COLUMNS": "80"})
    assert done.exit_code == 0
    assert done.output.index("Inference: 8B") < done.output.index("Networks with access to the Kubernetes API")
    assert done.output.count('or private, got "') == 2
    stopped = run(*arguments[1:-1], tmp_path / "other.yaml", stdin="")
    assert (stopped.code, (tmp_path / "other.yaml").exists()) == (130, False)
    assert stopped.out.startswith("Inference: 8B")
    assert stopped.err.endswith("\nInterrupted; nothing was written.\n")


ASSUMED = {
    "--task inference --model 8B": "Assumed: --concurrency 1, --context 4096, --precision bf16, --capacity on-demand, "
    "--priority balanced, --region us-east-1 and 4 more",
    "--task inference --model 8B --concurrency 2 --context 8k --precision fp8 --region us-west-2 --priority cost": (
        "Assumed: --capacity on-demand"
    ),
    "--task training --model 8B --capacity on-demand --region us-west-2": "Assumed: --context 2048, --tokens 160B, "
    "--precision bf16, --priority balanced",
}


@in_one_test("options", ASSUMED)
def test_the_defaults_of_other_options_are_shown(options: str) -> None:
    lines = run(*options.split(), COLUMNS="200").out.splitlines()
    assert lines[1] == ASSUMED[options]


def test_without_options_left_nothing_is_assumed() -> None:
    options = (
        "--task training --model 8B --tokens 1B --context 8k --precision bf16 --capacity on-demand --budget cost "
        "--region us-west-2"
    )
    assert "Assumed" not in run(*options.split()).out


@pytest.mark.parametrize("priority", ["balanced", "cost"])
def test_the_on_demand_price_is_the_ceiling_and_an_unknown_price_is_shown(priority: str) -> None:
    options = f"--task training --model 70B --priority {priority} --top 30"
    blocks = "--region ca-central-1 --capacity capacity-block"  # where no Capacity Block has a known price
    shown = run(*f"{options} {blocks}".split(), COLUMNS="200").out
    assert "<=" in next(line for line in shown.splitlines() if line.startswith("✓ 1"))
    assert "(<=: On-Demand)" in shown
    assert "at most" in shown.splitlines()[-1]
    shown = run(*f"{options} --region us-west-2 --capacity on-demand".split(), COLUMNS="200").out
    assert re.search(r"Price unknown: .*p5e\.48xlarge.*Ranked at the usual price for the same memory", shown)


def test_an_estimated_price_ranks_and_is_marked_everywhere() -> None:
    """B200 without a price in Paris is compared with many L4."""
    for options in (
        "--task training --model 7B --tokens 100B --region eu-west-3",
        "--task inference --model llama-3.1-70b --precision fp8 --users 300 --region eu-west-3",
    ):
        shown = run(*options.split(), COLUMNS="200").out
        first = next(line for line in shown.splitlines() if line.startswith("✓ 1"))
        assert "p6-b200.48xlarge" in first
        assert first.count("~") == 2
        assert "Price unknown: p6-b200.48xlarge in eu-west-3. ~ is an estimate" in shown
        assert ": price unknown, about $" in shown.splitlines()[-1]
        ((one, *_), *_) = [recommended_json(options)["candidates"]]
        assert (one["usd_per_hour"], one["usd_per_run"], one["price_as_of"]) == (None, None, None)
        assert one["about"]["usd_per_hour"] > 100
        assert "its price in us-east-1" in one["about"]["how"]


def recommended_json(text: str, *more: str) -> dict[str, Any]:
    code, stdout, _ = asked(text, *more, "--format", "json")
    assert code in (0, 1)
    read: dict[str, Any] = json.loads(stdout)
    return read


def first_candidate(text: str) -> dict[str, Any]:
    found: dict[str, Any] = recommended_json(text)["candidates"][0]
    return found


# --- output


@in_one_test("name", WORKLOADS)
def test_typical_workloads(name: str, golden: Callable[[str, str], None]) -> None:
    code, text, _ = asked(WORKLOADS[name])
    assert code == (1 if name == "impossible" else 0)
    assert max(map(len, text.splitlines())) <= 80
    assert len(text.splitlines()) <= 24
    if not code:
        first = recommended_json(WORKLOADS[name])["candidates"][0]
        assert re.match(rf"✓ .*{re.escape(first['instance_type'])}\b.*: \$[\d.,]+/h", text.splitlines()[-1])
    golden(f"recommend/{name}.txt", f"{text}\n")


@pytest.mark.parametrize("name", ["chat-8b", "lora-70b"])
def test_every_reason(name: str, golden: Callable[[str, str], None]) -> None:
    code, text, _ = asked(WORKLOADS[name], "--all", "--top", "3")
    assert code == 0
    golden(f"recommend/{name}-explained.txt", f"{text}\n")


@in_one_test(
    ("name", "families"),
    [
        ("chat-8b", {"g6e"}),
        ("lora-70b", {"p4d", "g6e", "g7e"}),
        ("pretraining-7b-cost", {"p5", "p5en", "p6-b200"}),
        ("pretraining-70b-performance", {"p5", "p6-b200", "p6-b300"}),
        ("embeddings-batch", {"g6", "g6e", "inf2"}),
        ("bert-real-time", {"g4dn", "g5", "g6"}),
        ("development-1b", {"g4dn"}),
    ],
)
def test_what_is_first_is_what_an_engineer_would_take(name: str, families: set[str]) -> None:
    assert first_candidate(WORKLOADS[name])["family"] in families


def test_a_plan_that_is_not_reasonable_says_what_it_takes() -> None:
    code, text, _ = asked("--task training --model 70B --tokens 15T --within 60d --region us-west-2")
    assert code == 1
    said = " ".join(text.split())
    assert re.search(r"Nothing reasonable: it takes \d+ x \S+ to finish in \d+ days, for .* USD; the limit is", said)
    assert re.search(r"--nodes \d+ accepts this plan\.$", said)
    plan = recommended_json("--task training --model 70B --tokens 15T --within 60d --region us-west-2")["unreasonable"]
    assert plan["nodes"] > 64
    assert recommended_json(f"--task training --model 70B --tokens 15T --nodes {plan['nodes']}")["candidates"]


def test_users_replace_the_concurrency_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "workload.yaml"
    file.write_text(CHAT, encoding="utf-8")
    workload = recommended_json(f"--from {file} --users 50")["request"]["workload"]
    assert workload["users"] == 50
    assert "concurrent_sequences" not in workload


def test_no_control_characters_when_piped() -> None:
    _, text, _ = asked(CHAT)
    assert "\x1b" not in text


def test_what_nothing_holds() -> None:
    code, text, _ = asked(WORKLOADS["impossible"])
    assert code == 1
    assert "Nothing fits" in text
    assert re.search(r"needs [0-9.]+ GiB more per device", text)
    assert "with int4 weights" in text


def test_json_has_everything() -> None:
    found = recommended_json(CHAT)
    keys = {"version", "request", "policy", "candidates", "rejections", "nearest", "notes", "unreasonable", "cheaper"}
    assert set(found) == keys
    assert found["policy"]["quote"] == "Cost-Optimized → AWS Inferentia (Inf2)"
    best = found["candidates"][0]
    assert best["rank"] == 1
    assert best["alternatives"]
    assert sum(part["gib"] for part in best["memory"]) == pytest.approx(best["memory_gib"])
    assert {"BF16", "WITHDRAWN"} <= {each["code"] for each in found["rejections"]}
    assert len({each["family"] for each in found["candidates"]}) == len(found["candidates"])


def test_json_of_nothing() -> None:
    code, stdout, _ = asked(WORKLOADS["impossible"], "--format", "json")
    found = json.loads(stdout)
    assert code == 1
    assert found["candidates"] == []
    assert found["nearest"][0]["missing_gib"] > 0


# --- strategies


def test_the_strategy_that_is_written_is_valid(tmp_path: Path) -> None:
    file = tmp_path / "llm.yaml"
    code, _, said = asked(CHAT, "--output", str(file))
    assert code == 0
    assert "g6e.xlarge" in said
    found = validate([file], [])
    assert found.errors == ()
    ((loaded, _),) = found.strategies
    assert loaded.strategy.name == "llm"
    assert loaded.strategy.region == "us-west-2"
    assert "g6e.xlarge" in {name for group in loaded.strategy.node_groups for name in group.instance_types}


def test_another_one_of_the_table_is_written(tmp_path: Path) -> None:
    file = tmp_path / "second.yaml"
    second = recommended_json(CHAT)["candidates"][1]["instance_type"]
    assert asked(CHAT, "--output", str(file), "--pick", "2")[0] == 0
    assert second in file.read_text(encoding="utf-8")
    assert "name: second" in file.read_text(encoding="utf-8")


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    file = tmp_path / "llm.yaml"
    file.write_text("mine", encoding="utf-8")
    code, _, said = asked(CHAT, "--output", str(file))
    assert (code, file.read_text(encoding="utf-8")) == (2, "mine")
    assert "--force" in said
    assert asked(CHAT, "--output", str(file), "--force")[0] == 0
    assert file.read_text(encoding="utf-8") != "mine"


def test_nothing_is_written_where_nothing_fits(tmp_path: Path) -> None:
    file = tmp_path / "none.yaml"
    assert asked(WORKLOADS["impossible"], "--output", str(file))[0] == 1
    assert not file.exists()


# --- files


def test_a_file_says_the_same_as_options(tmp_path: Path) -> None:
    file = tmp_path / "workload.yaml"
    file.write_text("{version: 1, region: us-west-2, task: inference, model: {parameters: 8B}, budget: cost}")
    options = "--task inference --model 8B --region us-west-2 --budget cost"
    assert recommended_json(f"--from {file}") == recommended_json(options)


def test_options_go_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "workload.yaml"
    file.write_text(CHAT, encoding="utf-8")
    found = recommended_json(f"--from {file} --context 4096 --region eu-west-1 --region us-east-1")
    assert found["request"]["workload"]["context_length"] == 4096
    assert found["request"]["workload"]["framework"] == "vllm"
    assert found["request"]["regions"] == ["eu-west-1", "us-east-1"]


@in_one_test(
    ("text", "place", "code"),
    [
        (CHAT.replace("8192", "-1"), "5:17", "FIELD_RANGE"),
        (CHAT.replace("framework", "framwork"), "7:1", "FIELD_UNKNOWN"),
        (CHAT.replace("us-west-2", "us-west-9"), "2:9", "REGION_UNKNOWN"),
        (CHAT.replace("parameters: 8B", "hf_config: none.json"), "4:20", "HF_CONFIG_MISSING"),
        (CHAT + "regions: [us-east-1]\n", "10:10", "WORKLOAD_REGIONS"),
        (CHAT.replace("version: 1\n", ""), "1:1", "FIELD_MISSING"),
        (CHAT + "training_tokens: 1B\n", "10:18", "WORKLOAD_FIELD"),
        (CHAT + "only: [g6e, g55]\n", "10:13", "FIELD_VALUE"),
    ],
)
def test_errors_in_a_file_have_a_place(tmp_path: Path, text: str, place: str, code: str) -> None:
    file = tmp_path / "workload.yaml"
    file.write_text(text, encoding="utf-8")
    exit_code, _, said = run("--from", file)
    assert exit_code == 1
    assert f"workload.yaml:{place}: error {code}" in said


def test_a_size_in_a_smaller_unit() -> None:
    request = ("--task", "inference", "--region", "us-west-2", "--json")
    small, large = (json.loads(run(*request, "--model", size)[1]) for size in ("80000M", "80B"))
    assert small["candidates"] == large["candidates"]


def test_a_config_of_hugging_face_is_found_beside_the_file(tmp_path: Path) -> None:
    shutil.copyfile(config_file("llama-3.1-8b"), tmp_path / "config.json")
    file = tmp_path / "workload.yaml"
    file.write_text(CHAT.replace("parameters: 8B, architecture: llama", "hf_config: config.json"), encoding="utf-8")
    beside = recommended_json(f"--from {file}")
    given_it = recommended_json(f"--task inference --model {tmp_path / 'config.json'} --region us-west-2")
    for found in (beside, given_it):
        assert 8.0e9 < found["request"]["model"]["parameters"] < 8.1e9
        assert found["request"]["model"]["estimated"] == []


def test_a_public_model_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = ("--task", "inference", "--region", "us-west-2", "--context", "8k")
    done = run(*options, "--model", "meta-llama/Llama-3.1-70B-Instruct", "-o", "llm.yaml", "--api-access", "private")
    assert done.out.startswith("Inference: llama-3.1-70b (70.6B llama), real-time, context 8192")
    assert "# Serving llama-3.1-70b with 70.6B parameters" in (tmp_path / "llm.yaml").read_text(encoding="utf-8")
    file = tmp_path / "workload.yaml"
    file.write_text("{version: 1, region: us-west-2, task: inference, model: {name: qwen3 32b}}", encoding="utf-8")
    found = recommended_json(f"--from {file}")
    assert found["request"]["model"]["source"] == "Qwen/Qwen3-32B"
    assert found["request"]["model"]["layers"] == 64
    file.write_text(file.read_text(encoding="utf-8").replace("32b", "33b"), encoding="utf-8")
    code, _, said = run("--from", file)
    assert code == 1
    assert 'error MODEL_NAME model.name: must be a public model, got "qwen3 33b"' in " ".join(said.split())


def test_a_model_option_replaces_the_model_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "workload.yaml"
    for model in ("parameters: 70B, layers: 80", "name: llama-3.1-70b"):
        file.write_text(f"{{version: 1, region: us-west-2, task: inference, model: {{{model}}}}}", encoding="utf-8")
        named = recommended_json(f"--from {file} --model gemma-2-9b")["request"]["model"]
        assert (named["layers"], named["source"]) == (42, "google/gemma-2-9b")
        assert recommended_json(f"--from {file} --model 80B")["request"]["model"]["parameters"] == 80e9


def test_a_file_takes_precedence_over_a_public_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = {**facts.public_models()["models"]["qwen3-0.6b"]["config"], "num_hidden_layers": 14}
    Path("qwen3-0.6b").write_text(json.dumps(config), encoding="utf-8")
    found = recommended_json("--task inference --model qwen3-0.6b --region us-west-2")
    assert (found["request"]["model"]["layers"], found["request"]["model"]["source"]) == (14, "config.json")


@in_one_test("method", ["full", "lora", "qlora"])
def test_a_method_of_fine_tuning_is_a_task(method: str, tmp_path: Path) -> None:
    workload = recommended_json(f"--task {method} --model 1B --region us-west-2")["request"]["workload"]
    assert (workload["task"], workload["method"]) == ("fine-tuning", method)
    file = tmp_path / "workload.yaml"
    file.write_text("{version: 1, region: us-west-2, task: fine-tuning, model: {parameters: 1B}}", encoding="utf-8")
    assert recommended_json(f"--from {file} --task {method}")["request"]["workload"]["method"] == method


# --- wrong usage


@in_one_test(
    ("text", "says"),
    [
        ("", "--task and --model, or --from FILE"),
        ("--task inference", "--model"),
        ("--task inferense --model 8B", 'did you mean inference?'),
        ("--task inference --model lama-3-70b", 'a config.json, got "lama-3-70b"; did you mean llama-3-70b'),
        ("--task inference --model llama-3", "did you mean llama-3.1-8b, "),
        ("--task inference --model llama-3.1-7b", "did you mean llama-3.1-70b"),
        ("--task inference --model eight", "must be parameters such as 8B, a public model or a config.json, got"),
        ("--task lora --model 8B --precision int4", "error: --precision must be"),
        ("--task inference --model 0B", 'error: --model: "0B" is not a valid number of parameters'),
        ("--task inference --model 8X", "error: --model must be a number such as 8B"),
        ("--task inference --model 99999999T", "error: --model must be a number such as 8B"),
        ("--task inference --model 8B --context -1", "error: --context must be"),
        ("--task inference --model 8B --context 99999999999999999999", "error: --context must be"),
        ("--task inference --model 8B --concurrency 0", "error: --concurrency must be"),
        ("--task inference --model 8B --concurrency 4 --users 5", "must not be set together with --users, got both"),
        ("--task training --model 8B --users 5", "error: --users: is only for"),
        ("--task training --model 8B --within 5", "error: --within must be"),
        ("--task lora --model 8B --within 5d", "error: --within: requires --tokens; set it, or remove --within"),
        ("--task inference --model 8B --nodes 5", "error: --nodes: is only for"),
        ("--task inference --model 8B --software mature", "error: unknown option --software"),
        ("--task training --model 8B --context 0", "error: --context must be at least 1, got 0"),
        ("--task inference --model 8B --capacity cash", "error: --capacity must be one of"),
        ("--task inference --model 8B --precision fp9", 'did you mean fp8?'),
        ("--task training --model 8B --precision int4", "error: --precision must be"),
        ("--task inference --model 8B --region us-west-9", "did you mean us-west-2"),
        ("--task inference --model 8B --region mars", "--region"),
        ("--task inference --model 8B --pick 2", "--pick requires --output"),
        ("--task inference --model 8B --force", "--force requires --output"),
        ("--task inference --model 8B --output x.yaml --pick 99", "--pick must be from 1 to"),
        ("--task inference --model 8B --output x.txt", "NAME.yaml"),
    ],
)  # fmt: skip
def test_wrong_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, said = run(*text.split())
    assert code == 2
    assert says in said
    assert list(tmp_path.iterdir()) == []


def test_a_config_that_is_not_there() -> None:
    code, _, said = run("--task", "inference", "--model", "nowhere/config.json")
    assert code == 2
    assert "nowhere/config.json does not exist; fix the path" in said


def test_spot_says_that_the_work_survives_losing_a_node(tmp_path: Path) -> None:
    found = recommended_json("--task training --model 8B --region us-west-2 --capacity spot")
    assert found["request"]["workload"]["interruptible"] is True
    file = tmp_path / "workload.yaml"
    file.write_text("{version: 1, task: training, model: {parameters: 8B}, interruptible: false}", encoding="utf-8")
    code, _, said = run("--from", file, "--capacity", "spot")
    assert (code, "error: --capacity" in said) == (2, True)


def test_only_neuron_is_trainium_and_inferentia() -> None:
    found = recommended_json(
        "version: 1\ntask: inference\nmodel: {name: llama-3.1-8b}\nsoftware: any\nonly: [neuron]\n"
    )
    families = {each["instance_type"].partition(".")[0] for each in found["candidates"]}
    assert {"inf2", "trn2"} <= families
    assert all(family.startswith(("inf", "trn")) for family in families)


def test_only_the_hardware_of_a_file() -> None:
    found = recommended_json(CHAT + "only: [g6e, h100]\n")
    assert {each["accelerator"] for each in found["candidates"]} <= {"L40S", "H100"}
    assert found["candidates"]


def test_a_context_can_be_in_thousands_and_millions() -> None:
    arguments = ("--task", "inference", "--model", "8b", "--region", "us-west-2", "--context")
    assert run(*arguments, "16k").out == run(*arguments, "16384").out
    assert run(*arguments, "1M").out == run(*arguments, "1048576").out
    refused = run(*arguments, "16x")
    assert (refused.code, 'must be a whole number such as 8192 or 16k, got "16x"' in refused.err) == (2, True)


def test_the_context_of_training_is_the_length_of_a_sequence(tmp_path: Path) -> None:
    file = tmp_path / "qlora.yaml"
    text = "version: 1\ntask: fine-tuning\nmethod: qlora\nmodel: {parameters: 70B}\nregion: us-west-2\n"
    file.write_text(text + "sequence_length: 28672\n", encoding="utf-8")
    shown = run("--task", "qlora", "--model", "70B", "--region", "us-west-2", "--context", "28k").out
    assert (shown, "context 28672" in shown) == (run("--from", file).out, True)
    file.write_text(text + "sequence_length: 4096\n", encoding="utf-8")
    assert run("--from", file, "--context", "28k").out == shown


def test_options_fill_what_a_file_lacks(tmp_path: Path) -> None:
    file = tmp_path / "workload.yaml"
    file.write_text("version: 1\nregion: us-west-2\n", encoding="utf-8")
    options = ("--task", "lora", "--model", "llama-3.1-8b")
    assert run("--from", file, *options).out == run(*options, "--region", "us-west-2").out
    code, _, said = run("--from", file, "--task", "inference")
    assert (code, "required field model is missing" in said, "fields task" in said) == (1, True, False)
    file.write_text("version: 1\ntask: inference\nmodel: {name: llama-3.1-8b}\n", encoding="utf-8")
    assert "(8.03B llama), lora;" in run("--from", file, "--task", "lora").out


def test_the_package_for_newer_neuron_chips_is_named(tmp_path: Path) -> None:
    """torch-neuron, which has a similar name, is for Inf1."""
    file = tmp_path / "workload.yaml"
    file.write_text(
        "{version: 1, task: inference, model: {parameters: 8B}, framework: torch-neuronx}", encoding="utf-8"
    )
    assert run("--from", file).err.partition("\n")[0].endswith("did you mean pytorch-xla?")


def test_weights_in_fp8_on_an_a100_are_a_caution() -> None:
    options = "--task inference --model llama-3.1-405b --precision fp8 --region us-west-2"
    shown = " ".join(run(*options.split()).out.split())
    assert "p4de.24xlarge in us-west-2" in shown
    assert "caution no fp8 arithmetic: A100 (8.0) has kernels for fp8 weights, which compute in 16 bits" in shown


def test_a_context_beyond_the_models_is_said_without_explain() -> None:
    for options, tokens, longest in (
        ("--task inference --model qwen2.5-7b --context 1M", 1_048_576, 131_072),
        ("--task inference --model bert-base --context 4096", 4096, 512),
        ("--task lora --model bert-base --context 4096", 4096, 512),
    ):
        shown = " ".join(run(*options.split()).out.split())
        assert f"the request has {tokens} tokens of context, but the model supports {longest}: choose" in shown
    assert "but the model supports" not in run("--task", "inference", "--model", "qwen2.5-7b", "--context", "128k").out


def test_serving_over_several_nodes_is_a_caution_beside_others() -> None:
    """Also if the fit is tight, which is said first."""
    options = "--task inference --model deepseek-v3 --precision bf16 --region eu-west-1"
    shown = " ".join(run(*options.split()).out.split())
    assert re.search(r"✓ \d x p4d\.24xlarge in eu-west-1", shown)
    assert "caution tight fit: " in shown
    assert re.search(r"; over \d nodes: a replica on several nodes needs its own launcher", shown)


def test_a_run_of_less_than_an_hour_costs_an_hour_and_says_so() -> None:
    options = "--task full --model llama-3.1-8b --tokens 20M --region us-east-1 --priority cost"
    shown = run(*options.split()).out
    last = shown.splitlines()[-1]
    assert (
        found := re.search(r": \$([0-9.]+)/h, \$([0-9.]+) \(([0-9.]+ hours|minutes), counted as 1 hour\)$", last)
    ), last
    assert found[1] == found[2]


def test_gpus_without_bf16_train_in_fp16(tmp_path: Path) -> None:
    """The line names the others: the choice has a caution."""
    asked = ("--task", "lora", "--model", "8B", "--region", "eu-west-1", "--top", "30")
    line = "Training there needs fp16 with loss scaling."
    assert f"No bf16: g4dn.12xlarge, p3dn.24xlarge. {line}" in " ".join(run(*asked)[1].split())
    written = ("--output", str(tmp_path / "lora.yaml"), "--api-access", "private")
    assert f"No bf16: p3dn.24xlarge. {line}" in " ".join(run(*asked, "--pick", "3", *written)[1].split())
    assert "No bf16" not in run(*asked, "--precision", "fp16")[1]


def test_an_fp8_cache_halves_the_cache(tmp_path: Path) -> None:
    def asked_for(**fields: str) -> Any:
        workload = {"version": 1, "task": "inference", "model": {"name": "llama-3.1-8b"}, "context_length": 32768}
        file = tmp_path / "workload.json"
        file.write_text(json.dumps({**workload, **fields}), encoding="utf-8")
        return json.loads(run("--from", file, "--json").out)

    plain, small = asked_for(), asked_for(kv_cache_precision="fp8")

    def cache(found: dict[str, Any]) -> float:
        first = next(each for each in found["candidates"] if each["instance_type"] == "g6e.xlarge")
        size: float = next(part["gib"] for part in first["memory"] if part["name"] == "KV cache")
        return size

    assert cache(small) == pytest.approx(cache(plain) / 2)

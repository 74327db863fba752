"""``eks-hardware recommend``: the answers of eight typical workloads, JSON, files, strategies, and every wrong word."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from typer.testing import CliRunner

from eks_hardware.cli.recommend import recommend
from eks_hardware.validation import validate

app = typer.Typer()
app.command()(recommend)

CHAT = (
    "--task inference --model 8B --architecture llama --context 8192 --concurrency 16 --framework vllm "
    "--precision bf16 --budget cost --region us-west-2"
)
WORKLOADS = {
    "chat-8b": CHAT,
    "lora-70b": "--task fine-tuning --method lora --model 70B --region us-west-2 --region us-east-1",
    "pretraining-7b-cost": "--task training --model 7B --framework pytorch --budget cost --training-tokens 100B "
    "--region us-east-2",
    "pretraining-70b-performance": "--task training --model 70B --budget performance --region us-west-2",
    "bert-real-time": "--task inference --model 110M --architecture bert --precision fp16 --context 512 "
    "--latency-first-token-ms 20 --region us-east-1",
    "embeddings-batch": "--task inference --serving batch --model 335M --architecture bert --context 512 --budget cost "
    "--region us-east-1",
    "development-1b": "--task development --model 1B --region eu-west-1",
    "impossible": "--task inference --model 20T --region us-west-2",
}


def run(text: str, *more: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [*text.split(), *more], env={"COLUMNS": "80", "NO_COLOR": "1"})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, "\n".join(line.rstrip() for line in result.stdout.splitlines()), result.stderr


def content(text: str, *more: str) -> dict[str, Any]:
    code, stdout, _ = run(text, *more, "--json")
    assert code in (0, 1)
    read: dict[str, Any] = json.loads(stdout)
    return read


def first(text: str) -> dict[str, Any]:
    found: dict[str, Any] = content(text)["candidates"][0]
    return found


# --- what is printed


@pytest.mark.parametrize("name", WORKLOADS)
def test_typical_workloads(name: str, golden: Callable[[str, str], None]) -> None:
    code, text, _ = run(WORKLOADS[name])
    assert code == (1 if name == "impossible" else 0)
    assert max(map(len, text.splitlines())) <= 80
    golden(f"recommend/{name}.txt", f"{text}\n")


@pytest.mark.parametrize("name", ["chat-8b", "lora-70b"])
def test_every_reason(name: str, golden: Callable[[str, str], None]) -> None:
    code, text, _ = run(WORKLOADS[name], "--explain", "--top", "3")
    assert code == 0
    golden(f"recommend/{name}-explained.txt", f"{text}\n")


@pytest.mark.parametrize(
    ("name", "families"),
    [
        ("chat-8b", {"g6e"}),
        ("lora-70b", {"p4d"}),
        ("pretraining-7b-cost", {"p5", "p5en", "p6-b200"}),
        ("pretraining-70b-performance", {"p5"}),
        ("embeddings-batch", {"g6", "g6e"}),
        ("bert-real-time", {"g4dn", "g5", "g6"}),
        ("development-1b", {"g4dn"}),
    ],
)
def test_what_is_first_is_what_an_engineer_would_take(name: str, families: set[str]) -> None:
    assert first(WORKLOADS[name])["family"] in families


def test_no_control_characters_when_piped() -> None:
    _, text, _ = run(CHAT)
    assert "\x1b" not in text


def test_what_nothing_holds() -> None:
    code, text, _ = run(WORKLOADS["impossible"])
    assert code == 1
    assert "Nothing fits" in text
    assert re.search(r"misses [0-9.]+ GiB a device", text)
    assert "int4 weights fit" in text


def test_json_has_everything() -> None:
    found = content(CHAT)
    assert set(found) == {"request", "policy", "candidates", "rejections", "nearest", "notes"}
    assert found["policy"]["quote"] == "Cost-Optimized → AWS Inferentia (Inf2)"
    best = found["candidates"][0]
    assert best["rank"] == 1
    assert best["alternatives"]
    assert sum(part["gib"] for part in best["memory"]) == pytest.approx(best["memory_gib"])
    assert {"BF16", "WITHDRAWN"} <= {each["code"] for each in found["rejections"]}
    assert len({each["family"] for each in found["candidates"]}) == len(found["candidates"])


def test_json_of_nothing() -> None:
    code, stdout, _ = run(WORKLOADS["impossible"], "--json")
    found = json.loads(stdout)
    assert code == 1
    assert found["candidates"] == []
    assert found["nearest"][0]["missing_gib"] > 0


# --- strategies


def test_the_strategy_that_is_written_is_valid(tmp_path: Path) -> None:
    file = tmp_path / "llm.yaml"
    code, _, said = run(CHAT, "--write", str(file))
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
    second = content(CHAT)["candidates"][1]["instance_type"]
    assert run(CHAT, "--write", str(file), "--pick", "2", "--name", "other")[0] == 0
    assert second in file.read_text(encoding="utf-8")
    assert "name: other" in file.read_text(encoding="utf-8")


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    file = tmp_path / "llm.yaml"
    file.write_text("mine", encoding="utf-8")
    code, _, said = run(CHAT, "--write", str(file))
    assert (code, file.read_text(encoding="utf-8")) == (2, "mine")
    assert "--force" in said
    assert run(CHAT, "--write", str(file), "--force")[0] == 0
    assert file.read_text(encoding="utf-8") != "mine"


def test_nothing_is_written_where_nothing_fits(tmp_path: Path) -> None:
    file = tmp_path / "none.yaml"
    assert run(WORKLOADS["impossible"], "--write", str(file))[0] == 1
    assert not file.exists()


# --- files


FILE = """\
version: 1
region: us-west-2
task: inference
model: {parameters: 8B, architecture: llama}
context_length: 8192
concurrent_sequences: 16
framework: vllm
precision: bf16
budget: cost
"""


def test_a_file_says_the_same_as_options(tmp_path: Path) -> None:
    file = tmp_path / "workload.yaml"
    file.write_text(FILE, encoding="utf-8")
    assert content(f"--from {file}") == content(CHAT)


def test_options_go_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "workload.yaml"
    file.write_text(FILE, encoding="utf-8")
    found = content(f"--from {file} --context 4096 --region eu-west-1 --region us-east-1")
    assert found["request"]["workload"]["context_length"] == 4096
    assert found["request"]["workload"]["framework"] == "vllm"
    assert found["request"]["regions"] == ["eu-west-1", "us-east-1"]


@pytest.mark.parametrize(
    ("text", "place", "code"),
    [
        (FILE.replace("8192", "-1"), "5:17", "FIELD_RANGE"),
        (FILE.replace("framework", "framwork"), "7:1", "FIELD_UNKNOWN"),
        (FILE.replace("us-west-2", "us-west-9"), "2:9", "REGION_UNKNOWN"),
        (FILE.replace("parameters: 8B", "hf_config: none.json"), "4:20", "HF_CONFIG_MISSING"),
        (FILE + "regions: [us-east-1]\n", "10:10", "WORKLOAD_REGIONS"),
        (FILE.replace("version: 1\n", ""), "1:1", "FIELD_MISSING"),
        (FILE + "training_tokens: 1B\n", "10:18", "WORKLOAD_FIELD"),
    ],
)
def test_errors_in_a_file_have_a_place(tmp_path: Path, text: str, place: str, code: str) -> None:
    file = tmp_path / "workload.yaml"
    file.write_text(text, encoding="utf-8")
    exit_code, _, said = run(f"--from {file}")
    assert exit_code == 1
    assert f"workload.yaml:{place}: error {code}" in said


def test_a_config_of_hugging_face_is_found_beside_the_file(tmp_path: Path) -> None:
    config = {
        "model_type": "llama",
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "tie_word_embeddings": False,
        "max_position_embeddings": 131072,
        "torch_dtype": "bfloat16",
    }
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    file = tmp_path / "workload.yaml"
    file.write_text(FILE.replace("parameters: 8B, architecture: llama", "hf_config: config.json"), encoding="utf-8")
    beside = content(f"--from {file}")
    given_it = content(f"--task inference --hf-config {tmp_path / 'config.json'} --region us-west-2")
    for found in (beside, given_it):
        assert 8.0e9 < found["request"]["model"]["parameters"] < 8.1e9
        assert found["request"]["model"]["estimated"] == []


# --- wrong usage


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "--task and --model, or --from FILE"),
        ("--task inference", "--model"),
        ("--task inferense --model 8B", 'did you mean inference?'),
        ("--task inference --model 0B", "MODEL_SIZE --model"),
        ("--task inference --model 8X", "FIELD_PATTERN --model"),
        ("--task inference --model 99999999T", "FIELD_PATTERN --model"),
        ("--task inference --model 8B --context -1", "FIELD_RANGE --context"),
        ("--task inference --model 8B --context 99999999999999999999", "FIELD_RANGE --context"),
        ("--task inference --model 8B --concurrency 0", "FIELD_RANGE --concurrency"),
        ("--task inference --model 8B --latency-per-token-ms 0", "FIELD_RANGE --latency-per-token-ms"),
        ("--task inference --model 8B --latency-per-token-ms nan", "--latency-per-token-ms"),
        ("--task training --model 8B --latency-per-token-ms 5", "WORKLOAD_FIELD"),
        ("--task inference --model 8B --training-tokens 5B", "WORKLOAD_FIELD --training-tokens"),
        ("--task inference --model 8B --purchase spot", "say --interruptible"),
        ("--task inference --model 8B --purchase cash", "FIELD_VALUE --purchase"),
        ("--task inference --model 8B --precision fp9", 'did you mean fp8?'),
        ("--task training --model 8B --precision int4", "--method qlora"),
        ("--task inference --model 8B --attention-heads 10 --kv-heads 3", "MODEL_HEADS --kv-heads"),
        ("--task inference --model 8B --active-parameters 9B", "MODEL_SIZE --active-parameters"),
        ("--task inference --model 8B --region us-west-9", "did you mean us-west-2"),
        ("--task inference --model 8B --region mars", "REGION_UNKNOWN --region"),
        ("--task inference --model 8B --only g55", "did you mean g5"),
        ("--task inference --model 8B --only g5.huge", "--only"),
        ("--task inference --model 8B --pick 2", "--pick goes with --write"),
        ("--task inference --model 8B --name x", "--name goes with --write"),
        (f"{CHAT} --write x.yaml --pick 99", "--pick 99"),
        (f"{CHAT} --write x.txt", "NAME.yaml"),
    ],
)  # fmt: skip
def test_wrong_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, said = run(text)
    assert code == 2
    assert says in said
    assert list(tmp_path.iterdir()) == []


def test_a_config_that_is_not_there() -> None:
    code, _, said = run("--task inference --hf-config nowhere/config.json")
    assert code == 1
    assert "HF_CONFIG_MISSING --hf-config" in said


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    task=some.sampled_from(["training", "fine-tuning", "inference", "development"]),
    size=some.one_of(some.integers(1, 10**16).map(str), some.sampled_from(["0.000001K", "1K", "8B", "9999T"])),
    number=some.integers(-(10**20), 10**20),
    option=some.sampled_from(
        ["--context", "--concurrency", "--sequence-length", "--batch-size", "--layers", "--kv-heads"]
    ),
    budget=some.sampled_from(["cost", "balanced", "performance"]),
)
def test_absurd_numbers_are_answered_or_refused(task: str, size: str, number: int, option: str, budget: str) -> None:
    code, stdout, said = run(f"--task {task} --model {size} {option}={number} --budget {budget} --region us-west-2")
    assert code in (0, 1, 2)
    assert (code == 2) == said.startswith("error: ")
    assert not re.search(r"\b(nan|inf)\b", stdout)

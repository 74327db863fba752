"""A user's own measurements: the file, and how they correct estimates of memory and speed."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from eks_hardware import data, facts
from eks_hardware.advisor.fitting.fit import Fitter
from eks_hardware.advisor.measured import file as module
from eks_hardware.advisor.measured.factors import Measured
from eks_hardware.advisor.measured.file import UNITS, MeasurementsFile, read_measurements
from eks_hardware.advisor.model import Fit, Request
from eks_hardware.advisor.speed.estimate import Speed, speed
from eks_hardware.catalogue import load
from eks_hardware.facts.schemas import measurements as schemas
from eks_hardware.findings import StrategyError
from eks_hardware.models import json_schema
from helpers.advisor import fit_on, request_for
from helpers.cases import in_one_test
from helpers.recommend_command import run

DECODE: dict[str, Any] = {
    "id": "decode",
    "kind": "decode",
    "model": "llama-3.1-8b",
    "instance_type": "g6e.xlarge",
    "devices": 1,
    "precision": "bf16",
    "sequences": 16,
    "input_tokens": 4096,
    "output_tokens": 4096,
    "figure": 50.0,
    "unit": "ms per token",
}
PROMPT = DECODE | {"id": "prompt", "kind": "serving-latency", "unit": "ms to the first token", "figure": 900.0}
ANSWER = DECODE | {"id": "answer", "kind": "serving-throughput", "unit": "output tokens/s", "figure": 300.0}
MEMORY = DECODE | {"id": "memory", "kind": "memory-inference", "unit": "GiB", "figure": 30.0}
FITS = DECODE | {"id": "fits", "kind": "fits", "unit": "fits", "figure": False}
TRAINING: dict[str, Any] = {
    "id": "training",
    "kind": "training-speed",
    "model": "llama-3.1-8b",
    "instance_type": "p5.48xlarge",
    "devices": 8,
    "sharding": "zero-3",
    "precision": "bf16",
    "sequences": 1,
    "input_tokens": 4096,
    "checkpointing": True,
    "figure": 60000.0,
    "unit": "tokens/s",
}
CHAT = {"context_length": 8192, "concurrent_sequences": 16, "precision": "bf16"}


def written(*rows: dict[str, Any], **more: Any) -> str:
    return yaml.safe_dump({"as_of": "2026-11-25", "software": "vLLM", **more, "rows": list(rows)}, sort_keys=False)


def own_rows(*rows: dict[str, Any], **more: Any) -> Measured:
    return read_measurements(written(*rows, **more))


def fitted_with(request: Request, name: str, own: Measured | None = None) -> tuple[Fit, Speed]:
    asked = replace(request, measured=own)
    fit = fit_on(asked, name)
    assert isinstance(fit, Fit)
    return fit, speed(asked, fit)


def ratio(own: Measured, index: int = 0) -> float:
    """Return measured / estimated of a row."""
    value = own.rows[index].ratio
    assert value is not None
    return value


# --- the file


def test_it_has_the_format_of_the_published_measurements() -> None:
    assert get_args(schemas.Kind) == tuple(UNITS)
    units = MeasurementsFile.model_fields["rows"].annotation
    row = get_args(units)[0]
    assert get_args(row.model_fields["unit"].annotation) == get_args(schemas.Unit)
    assert set(row.model_fields) == set(schemas.MeasurementRow.__annotations__)


def test_shipped_files_are_read_as_they_are() -> None:
    for name, shipped in facts.measurements().items():
        own = read_measurements(data.FOLDER / "performance" / "measurements" / f"{name}.json")
        assert json.loads(json.dumps([each.outcome.row for each in own.rows])) == shipped["rows"], name


def test_the_schema_file_is_up_to_date() -> None:
    written = module.SCHEMA_PATH.read_text(encoding="utf-8")
    assert written == json_schema.render(MeasurementsFile, "measurements")


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "unit": (DECODE | {"unit": "GiB"}, "unit", 'must be "ms per token" for decode, got "GiB"; correct it'),
    "figure": (FITS | {"figure": 1.5}, "figure", "must be true or false for fits, got 1.5; correct it"),
    "no figure": (DECODE | {"figure": True}, "figure", "must be a number above 0 for decode, got True; correct it"),
    "negative": (DECODE | {"figure": -1}, "figure", "must be greater than 0"),
    "no output": (
        {name: value for name, value in DECODE.items() if name != "output_tokens"},
        "kind",
        "decode must have 'output_tokens', got none; add it",
    ),
    "output of training": (TRAINING | {"output_tokens": 1}, "output_tokens", "must not be set for training-speed"),
    "method of serving": (DECODE | {"method": "lora"}, "method", "must not be set for serving"),
    "sequences": (DECODE | {"sequences": None}, "sequences", "null together with 'requests'"),
    "devices": (DECODE | {"tensor": 2}, "devices", "must be a multiple of tensor x pipeline, which is 2, got 1"),
    "expert": (DECODE | {"expert": 2}, "expert", "must equal 'devices' for serving, which is 1, got 2"),
    "instance type": (DECODE | {"instance_type": "g99.xlarge"}, "instance_type", "must be an EC2 type"),
    "cpu": (DECODE | {"instance_type": "c7i.4xlarge"}, "devices", "must be 0 on c7i.4xlarge, which has no accelerator"),
    "no device": (DECODE | {"devices": 0}, "devices", "must be at least 1 on "),
    "model": (DECODE | {"model": "lama-3-70b"}, "model", "did you mean llama-3-70b, llama-3.3-70b or llama-3.1-70b?"),
    "unknown field": (DECODE | {"tokens": 1}, "tokens", "unknown field"),
}


@in_one_test("name", WRONG)
def test_a_wrong_row_is_refused_with_its_line(name: str) -> None:
    row, field, message = WRONG[name]
    with pytest.raises(StrategyError) as caught:
        own_rows(PROMPT, row)
    finding = caught.value.findings[0]
    assert finding.path == f"rows[1].{field}"
    assert message in finding.message
    assert finding.position is not None
    assert finding.position.line > 10


def test_an_id_is_unique() -> None:
    with pytest.raises(StrategyError, match="NAME_DUPLICATE"):
        own_rows(DECODE, DECODE)


def test_an_own_model_is_described_in_the_file() -> None:
    own = own_rows(DECODE | {"model": "mine"}, models={"mine": {"parameters": "13B"}})
    assert own.rows[0].shape.parameters == 13 * 10**9
    with pytest.raises(StrategyError, match="MODEL_NAME"):
        own_rows(DECODE | {"model": "mine"})


# --- speed


def test_generation_and_prompts_have_their_own_factors() -> None:
    request, own = request_for("llama-3.1-8b", **CHAT), own_rows(DECODE, PROMPT)
    (_, before), (_, after) = fitted_with(request, "g6e.xlarge"), fitted_with(request, "g6e.xlarge", own)
    assert before.per_token_ms is not None
    assert before.prompt_ms is not None
    assert after.per_token_ms == pytest.approx(before.per_token_ms / ratio(own))
    assert after.prompt_ms == pytest.approx(before.prompt_ms / ratio(own, 1))
    assert after.first_token_ms == pytest.approx(900.0, rel=0.02), "the same prompt as in the row"
    assert f"speed of tokens: {ratio(own):.2f} times the estimate, from 1 measured row" in after.assumptions


def test_rows_of_answers_count_for_both_unless_they_have_their_own() -> None:
    request, own = request_for("llama-3.1-8b", **CHAT), own_rows(ANSWER)
    (_, before), (_, after) = fitted_with(request, "g6e.xlarge"), fitted_with(request, "g6e.xlarge", own)
    assert before.tokens_per_second is not None
    assert after.tokens_per_second == pytest.approx(before.tokens_per_second * ratio(own))
    both = own_rows(ANSWER, DECODE)
    kind = load().get("g6e.xlarge")
    generation, prompt = (both.speed(work, request, kind) for work in ("generation", "prompt"))
    assert generation is not None
    assert prompt is not None
    assert (generation.value, prompt.value) == (ratio(both, 1), ratio(both))


def test_training_and_encoders_are_scaled() -> None:
    own = own_rows(TRAINING)
    request = request_for("llama-3.1-8b", task="training", training_tokens="1B")
    (_, before), (_, after) = fitted_with(request, "p5.48xlarge"), fitted_with(request, "p5.48xlarge", own)
    assert before.tokens_per_second is not None
    assert before.hours is not None
    assert after.tokens_per_second == pytest.approx(before.tokens_per_second * ratio(own))
    assert after.hours == pytest.approx(before.hours / ratio(own))
    row = {name: value for name, value in DECODE.items() if name != "output_tokens"}
    encoder = row | {"kind": "encoder-throughput", "unit": "ms per batch", "model": "bert-base", "input_tokens": 128}
    own = own_rows(encoder)
    request = request_for({"name": "bert-base"}, context_length=128, concurrent_sequences=16)
    (_, before), (_, after) = fitted_with(request, "g6e.xlarge"), fitted_with(request, "g6e.xlarge", own)
    assert before.first_token_ms is not None
    assert after.first_token_ms == pytest.approx(before.first_token_ms / ratio(own))


def test_other_accelerators_and_other_work_keep_their_speed() -> None:
    request, own = request_for("llama-3.1-8b", **CHAT), own_rows(DECODE, TRAINING)
    assert fitted_with(request, "g7e.2xlarge", own) == fitted_with(request, "g7e.2xlarge")
    assert fitted_with(request, "p5.4xlarge", own)[1] == fitted_with(request, "p5.4xlarge")[1], (
        "only its training is measured"
    )
    forty = own_rows(DECODE | {"instance_type": "p4d.24xlarge"})
    assert forty.speed("generation", request, load().get("p4de.24xlarge")) is None, "the A100 with more memory"


def test_the_closest_rows_decide() -> None:
    kind, chat = load().get("g6e.xlarge"), request_for("llama-3.1-8b", **CHAT)
    other = DECODE | {"id": "other", "model": "llama-3.2-3b"}
    fp8 = DECODE | {"id": "fp8", "precision": "fp8"}
    own = own_rows(DECODE, other, fp8)

    def rows(request: Request) -> set[float]:
        factor = own.speed("generation", request, kind)
        assert factor is not None
        return {factor.value}

    assert rows(chat) == {ratio(own)}, "same model and precision"
    assert rows(request_for("llama-3.2-3b", **CHAT)) == {ratio(own, 1)}, "same model"
    assert rows(request_for("llama-3.1-8b", **CHAT | {"precision": "fp8"})) == {ratio(own, 2)}
    same_precision = sorted((ratio(own), ratio(own, 1)))
    assert rows(request_for("qwen2.5-7b", **CHAT)) == {sum(same_precision) / 2}, "no row of the model: the median"


# --- memory


def test_memory_rows_change_what_fits() -> None:
    request = request_for("llama-3.1-8b", **CHAT)
    before, _ = fitted_with(request, "g6e.xlarge")
    own = own_rows(MEMORY | {"figure": 30.0})
    after, _ = fitted_with(request, "g6e.xlarge", own)
    assert after.memory_gib == pytest.approx(before.memory_gib * ratio(own))
    assert after.available_gib == before.available_gib
    assert after.memory[-1].name == "measured"
    assert after.memory[-1].how == f"{ratio(own):.2f} times the estimate, from 1 measured row of memory"
    much = replace(request, measured=own_rows(MEMORY | {"figure": 60.0}))
    assert not isinstance(fit_on(much, "g6e.xlarge"), Fit)


def test_memory_rows_count_for_other_accelerators_of_the_same_hardware() -> None:
    request, own = request_for("llama-3.1-8b", **CHAT), own_rows(MEMORY)
    before, after = fitted_with(request, "p5.4xlarge")[0], fitted_with(request, "p5.4xlarge", own)[0]
    assert after.memory_gib == pytest.approx(before.memory_gib * ratio(own))
    assert own.memory(request, load().get("inf2.48xlarge"), training=False) is None
    assert own.memory(request, load().get("p5.4xlarge"), training=True) is None


def test_a_run_out_of_memory_moves_the_estimate_until_it_agrees() -> None:
    request = request_for("llama-3.1-8b", **CHAT)
    assert isinstance(fit_on(request, "g6e.xlarge"), Fit)
    assert not isinstance(fit_on(replace(request, measured=own_rows(FITS)), "g6e.xlarge"), Fit)
    large = request_for("llama-3.1-8b", **CHAT | {"concurrent_sequences": 24})
    assert not isinstance(fit_on(large, "g6e.xlarge"), Fit)
    ran = FITS | {"figure": True, "sequences": 24}
    assert isinstance(Fitter(replace(large, measured=own_rows(ran))).on(load().get("g6e.xlarge")), Fit)


def test_rows_that_the_advisor_cannot_express_change_nothing() -> None:
    own = own_rows(DECODE | {"not_expressed": "a test"}, MEMORY | {"not_expressed": "a test"})
    request = request_for("llama-3.1-8b", **CHAT)
    assert fitted_with(request, "g6e.xlarge", own) == fitted_with(request, "g6e.xlarge")
    assert list(own.off()) == []


# --- the command

ASKED = (
    *("--task", "inference", "--model", "llama-3.1-8b", "--context", "8k", "--concurrency", "16"),
    *("--priority", "cost", "--region", "us-west-2"),
)


def test_the_output_says_by_how_much_the_estimate_was_off(tmp_path: Path) -> None:
    file = tmp_path / "rows.yaml"
    file.write_text(written(DECODE, MEMORY, FITS), encoding="utf-8")
    said = " ".join(run(*ASKED, "--measurements", file).out.split())
    off = re.search(r"L40S speed of generation ([0-9.]+) \(1 row\), L40S memory of inference ([0-9.]+) \(1 row\)", said)
    assert off is not None
    own = read_measurements(file)
    assert off.groups() == (f"{ratio(own):.2f}", f"{ratio(own, 1):.2f}")
    assert "The estimate of whether the model fits is wrong for fits." in said
    assert "✓ 1 g6e.xlarge" not in said, "it ran out of memory there"
    assert "✓ 1 g6e.xlarge" in " ".join(run(*ASKED).out.split())


def test_explain_and_json_list_every_row(tmp_path: Path) -> None:
    file = tmp_path / "rows.yaml"
    file.write_text(written(DECODE, FITS, PROMPT | {"not_expressed": "queued"}), encoding="utf-8")
    said = " ".join(run(*ASKED, "--measurements", file, "--explain").out.split())
    assert "decode: 50 ms per token, estimate" in said
    assert "fits: out of memory; estimate" in said
    assert "prompt: not compared, queued" in said
    content = json.loads(run(*ASKED, "--measurements", file, "--json").out)["measurements"]
    assert [each["id"] for each in content["rows"]] == ["decode", "fits", "prompt"]
    assert content["off"][0]["work"] == "generation"
    assert "measurements" not in json.loads(run(*ASKED, "--json").out)


def test_a_copy_of_a_shipped_file_is_an_option(tmp_path: Path) -> None:
    file = tmp_path / "own.json"
    file.write_bytes((data.FOLDER / "performance" / "measurements" / "encoder-latency.json").read_bytes())
    said = run(
        "--task", "inference", "--model", "bert-base", "--region", "us-east-1", "--explain", "--measurements", file
    ).out
    assert "schmid-c6i-bert-base-128" in said
    assert "the speed of CPUs is unknown" in " ".join(said.split())


def test_without_a_candidate_on_measured_hardware_it_says_so(tmp_path: Path) -> None:
    file = tmp_path / "rows.yaml"
    file.write_text(written(DECODE | {"instance_type": "p6-b200.48xlarge"}), encoding="utf-8")
    said = run("--from", "-", "--measurements", file, stdin=f"{{version: 1, task: inference, only: [g6e], {MODEL}}}")
    assert "No candidate has a measured accelerator: speeds are unchanged." in " ".join(said.out.split())


MODEL = "model: {name: llama-3.1-8b}, region: us-west-2"


def test_a_wrong_file_ends_the_command(tmp_path: Path) -> None:
    file = tmp_path / "rows.yaml"
    file.write_text(written(DECODE | {"unit": "GiB"}), encoding="utf-8")
    found = run(*ASKED, "--measurements", file)
    assert (found.code, found.out) == (1, "")
    assert "rows[0].unit" in found.err
    assert run(*ASKED, "--measurements", tmp_path / "none.yaml").code == 2

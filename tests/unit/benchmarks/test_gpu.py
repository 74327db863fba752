"""``python -m benchmarks.gpu``: the plan, the rows and the file; with PyTorch installed, also a run on the CPU."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import pytest
import yaml
from pydantic import TypeAdapter

from benchmarks.gpu.__main__ import arguments, main, small
from benchmarks.gpu.plan import FULL, QUICK, Case, Method, cases
from benchmarks.gpu.rows import Device, Measured, UnknownDeviceError, instance_type, rows, text
from eks_hardware.advisor.measured.file import read_measurements
from eks_hardware.advisor.shapes.public import shape_of_name
from eks_hardware.facts.schemas.measurements import MeasurementRow
from helpers.cases import in_one_test

H100 = Device(name="NVIDIA H100 80GB HBM3", memory_gib=79.1, software="PyTorch 2.6.0, CUDA 12.4")
TRAINING = Case(work="training", model="llama-3.1-8b", method="lora", checkpointing=True, sequences=2, tokens=4096)
STEP = Case(work="generation", model="llama-3.1-8b", sequences=8, tokens=4096)
NEEDS_TORCH = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")


@pytest.mark.parametrize("sizes", [FULL, QUICK], ids=["full", "quick"])
def test_a_plan_has_every_kind_of_work_and_no_case_twice(sizes: object) -> None:
    planned = list(cases(FULL if sizes is FULL else QUICK))
    assert len({each.name for each in planned}) == len(planned)
    assert {each.method for each in planned if each.work == "training"} == {"full", "lora", "qlora"}
    assert {each.checkpointing for each in planned if each.work == "training"} == {True, False}
    assert {each.kv_cache for each in planned if each.work == "generation"} == {"bf16", "fp8"}
    assert any(each.work == "prompt" for each in planned)
    assert len({each.sequences for each in planned if each.work == "generation"}) > 1


def test_a_model_replaces_those_of_the_plan() -> None:
    assert {each.model for each in cases(FULL, ["qwen2.5-7b"])} == {"qwen2.5-7b"}
    assert len({each.tokens for each in cases(FULL) if each.work == "training"}) == 3


@in_one_test(
    ("name", "memory_gib", "expected"),
    [
        ("NVIDIA H100 80GB HBM3", 79.1, "p5.4xlarge"),
        ("NVIDIA A100-SXM4-80GB", 79.2, "p4de.24xlarge"),
        ("NVIDIA A100-SXM4-40GB", 39.4, "p4d.24xlarge"),
        ("NVIDIA A10G", 22.1, "g5.xlarge"),
        ("NVIDIA L40S", 44.4, "g6e.xlarge"),
        ("NVIDIA B200", 178.4, "p6-b200.48xlarge"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", 95.0, "g7e.2xlarge"),
    ],
)
def test_a_gpu_counts_for_the_smallest_type_with_it(name: str, memory_gib: float, expected: str) -> None:
    assert instance_type(Device(name=name, memory_gib=memory_gib, software="")) == expected


@pytest.mark.parametrize(("name", "memory_gib"), [("NVIDIA GeForce RTX 4090", 24.0), ("NVIDIA A100-PCIE", 24.0)])
def test_a_gpu_that_no_type_has_is_refused(name: str, memory_gib: float) -> None:
    with pytest.raises(UnknownDeviceError, match="set --instance-type"):
        instance_type(Device(name=name, memory_gib=memory_gib, software=""))


def test_training_gives_memory_and_speed() -> None:
    found = Measured(seconds=2.0, peak_bytes=30 * 1024**3)
    memory, speed = rows(TRAINING, found, kind="p5.4xlarge", chip="H100")
    assert (memory["kind"], memory["figure"], memory["unit"]) == ("memory-training", 30.0, "GiB")
    assert (speed["kind"], speed["figure"], speed["unit"]) == ("training-speed", 4096.0, "tokens/s")
    assert memory["id"] == "h100-llama-3.1-8b-lora-b2-4096-checkpointing-memory"
    assert (memory["method"], memory["checkpointing"], memory["optimizer"]) == ("lora", True, "adamw")


def test_a_step_of_generation_gives_milliseconds_of_a_token() -> None:
    _, speed = rows(STEP, Measured(seconds=0.0123, peak_bytes=1), kind="p5.4xlarge", chip="H100")
    assert (speed["kind"], speed["figure"], speed["unit"]) == ("decode", 12.3, "ms per token")
    assert speed["output_tokens"] == 1


def test_the_speed_of_a_converted_cache_is_not_compared() -> None:
    case = replace(STEP, kv_cache="fp8")
    memory, speed = rows(case, Measured(seconds=0.01, peak_bytes=2**30), kind="p5.4xlarge", chip="H100")
    assert memory["kv_cache"] == speed["kv_cache"] == "fp8"
    assert "not_expressed" in speed
    assert "not_expressed" not in memory


@in_one_test(("method", "waits", "compared"), [("lora", False, True), ("lora", True, False), ("qlora", False, False)])
def test_a_speed_that_only_the_script_has_is_not_compared(method: Method, waits: bool, compared: bool) -> None:
    found = Measured(seconds=2.0, peak_bytes=2**30, waits_for_cpu=waits)
    memory, speed = rows(replace(TRAINING, method=method), found, kind="p5.4xlarge", chip="H100")
    assert ("not_expressed" not in speed) == compared
    assert "not_expressed" not in memory


def test_too_little_memory_is_a_row_too() -> None:
    (row,) = rows(TRAINING, Measured(out_of_memory=True), kind="p5.4xlarge", chip="H100")
    assert (row["kind"], row["figure"], row["unit"]) == ("fits", False, "fits")


def test_the_file_has_hardware_software_and_day_and_rows_of_the_published_format() -> None:
    found = list(rows(TRAINING, Measured(seconds=2.0, peak_bytes=2**34), kind="p5.4xlarge", chip="H100"))
    written = text(H100, found, day="2026-11-25")
    read = yaml.safe_load(written)
    assert read["rows"] == found
    assert (read["as_of"], read["software"]) == ("2026-11-25", H100.software)
    assert H100.name in read["note"]
    TypeAdapter(list[MeasurementRow]).validate_python(read["rows"], strict=True, extra="forbid")
    assert len([line for line in written.splitlines() if line.startswith("  - {id:")]) == len(found)


def test_every_case_of_the_plans_is_accepted_by_recommend() -> None:
    measured = Measured(seconds=2.0, peak_bytes=2**34)
    for plan in (QUICK, FULL):
        of_cases = (rows(case, measured, kind="p5.4xlarge", chip="H100") for case in cases(plan))
        short = rows(TRAINING, Measured(out_of_memory=True), kind="p5.4xlarge", chip="H100")
        found = [*chain.from_iterable(of_cases), *short]
        own = read_measurements(text(H100, found, day="2026-11-25"))
        assert [each.outcome.row for each in own.rows] == found


@in_one_test(
    ("said", "fault"),
    [
        (["--steps", "0"], "--steps must be at least 1, got 0"),
        (["--instance-type", "p9.large"], "--instance-type must be an EC2 type in the catalogue, got p9.large"),
        (["--model", "lama-3-8b"], "--model must be a public model"),
        (["--model", "bert-base"], "--model must be a dense decoder, got bert-base"),
        (["--model", "mixtral-8x7b"], "--model must be a dense decoder, got mixtral-8x7b"),
        (["--out", "missing/rows.yaml"], "--out must be in an existing folder"),
    ],
)
def test_wrong_arguments_are_refused(
    said: list[str], fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        arguments(["--out", str(tmp_path / "rows.yaml"), *said])
    assert fault in capsys.readouterr().err


def test_a_spelling_becomes_the_name_of_the_model(tmp_path: Path) -> None:
    options = arguments(["--out", str(tmp_path / "rows.yaml"), "--model", "meta-llama/Llama-3.1-8B-Instruct"])
    assert options.models == ["llama-3.1-8b"]


def test_without_pytorch_the_error_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert main(["--out", str(tmp_path / "rows.yaml")]) == 2
    assert capsys.readouterr().err == "error: PyTorch is missing; install torch 2.5 or newer in this environment\n"


def test_a_test_on_the_cpu_is_tiny_and_keeps_the_kind_of_work() -> None:
    case, shape = small(TRAINING, shape_of_name("llama-3.1-8b"))
    assert (case.method, case.checkpointing, case.model) == (TRAINING.method, True, TRAINING.model)
    assert (shape.layers, case.tokens) == (2, 32)
    assert case.sequences == TRAINING.sequences


@NEEDS_TORCH
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_run_on_the_cpu_writes_a_row_for_every_case(tmp_path: Path) -> None:
    file = tmp_path / "rows.yaml"
    assert main(["--out", str(file), "--quick", "--device", "cpu", "--steps", "1"]) == 0
    assert read_measurements(file).rows, "recommend accepts the file"
    read = yaml.safe_load(file.read_text(encoding="utf-8"))["rows"]
    assert len({row["id"] for row in read}) == len(list(cases(QUICK)))
    assert all(row["figure"] > 0 and "not_expressed" in row for row in read)

"""``eks-hardware check-model``: verdicts, exit codes, its output at 80 columns, and errors."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from helpers import cli
from helpers.advisor import config_file
from helpers.cases import in_one_test

run = partial(cli.run, "check-model")


def invoked(model: str | Path, *arguments: str) -> cli.Run:
    return run(model if isinstance(model, Path) else config_file(model), *arguments)


def checked_json(model: str, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(invoked(model, *arguments, "--format", "json").out)
    return found


def test_a_public_model_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    named = run("llama-3.1-8b-instruct", "--target", "inferentia")
    assert (named.code, named.out) == (0, invoked("llama-3.1-8b", "--target", "inferentia").out)
    refused = run("llama-3", "--target", "inferentia")
    assert (refused.code, 'CONFIG must be a config.json or a public model, got "llama-3"; did' in refused.err) == (
        2,
        True,
    )


@in_one_test(
    ("model", "arguments", "verdict", "code"),
    [
        ("llama-3.1-8b", ("--target", "trainium"), "with changes", 0),
        ("llama-3.1-8b", ("--target", "inferentia"), "with changes", 0),
        ("llama-3.1-8b", ("--target", "gpu"), "yes", 0),
        ("llama-3.1-70b", ("--target", "inferentia"), "with changes", 0),
        ("bert-base", ("--target", "inferentia"), "with changes", 0),
        ("bert-base", ("--target", "inferentia", "--task", "training"), "unknown", 0),
        ("falcon-7b", ("--target", "trainium", "--task", "inference"), "unknown", 0),
        ("gpt-oss-20b", ("--target", "trainium", "--task", "inference"), "with changes", 0),
        ("t5-base", ("--target", "trainium"), "with changes", 0),
        ("t5-base", ("--target", "trainium", "--framework", "tgi"), "no", 1),
        ("llama-3.1-8b", ("--target", "inferentia", "--framework", "torch-neuron"), "no", 1),
        ("llama-3.1-8b-awq", ("--target", "inferentia"), "with changes", 0),
        ("deepseek-v3", ("--target", "inferentia"), "no", 1),
        ("deepseek-v3", ("--target", "gpu"), "yes", 0),
        ("vit-base", ("--target", "gpu", "--task", "training"), "yes", 0),
    ],
)
def test_verdicts(model: str, arguments: tuple[str, ...], verdict: str, code: int) -> None:
    found = invoked(model, *arguments)
    assert found.code == code, found.out
    assert f"Verdict    {verdict}" in found.out or f"Verdict  {verdict}" in found.out
    assert checked_json(model, *arguments)["verdict"] == verdict


def test_what_changes_depends_on_use_and_framework() -> None:
    training = checked_json("llama-3.1-8b", "--target", "trainium")["changes"]
    assert any("torch_xla" in each for each in training)
    assert "Neuron 2.29" in training[0]
    native = checked_json("llama-3.1-8b", "--target", "trainium", "--framework", "pytorch")["changes"]
    assert any("replace cuda by neuron in the code" in each for each in native)
    serving = checked_json("gpt-oss-20b", "--target", "trainium", "--task", "inference")["changes"]
    assert any("vLLM" in each for each in serving)
    assert not any("torch_xla" in each for each in serving)
    quantized = checked_json("llama-3.1-8b-awq", "--target", "inferentia")["changes"]
    assert any("16-bit" in each for each in quantized)
    assert checked_json("llama-3.1-8b", "--target", "gpu")["changes"] == []


def test_the_chip_that_is_archived_comes_last() -> None:
    found = checked_json("bert-base", "--target", "inferentia")
    assert [each["accelerator"] for each in found["accelerators"]] == ["Inferentia2", "Inferentia"]
    assert found["fits"][0]["instance_type"] == "inf2.xlarge"


def test_json_has_memory_with_its_computation_and_sources() -> None:
    found = checked_json("llama-3.1-8b", "--target", "inferentia")
    weights = found["fits"][0]["memory"][0]
    assert weights["gib"] == pytest.approx(14.96, abs=0.01)
    assert weights["how"] == "8.03e9 parameters in bf16"
    assert all(gate["source"] for chip in found["accelerators"] for gate in chip["gates"])
    assert found["accelerators"][0]["degrees"] == [2, 4, 8, 24]


@in_one_test("model", ["llama-3.1-8b", "gemma-3-27b"])
@in_one_test("target", ["trainium", "inferentia", "gpu"])
def test_lines_fit_into_80_columns(model: str, target: str) -> None:
    found = invoked(model, "--target", target)
    assert max(map(len, found.out.splitlines())) <= 80
    assert "\x1b" not in found.out


# --- errors


@in_one_test(
    ("text", "code"),
    [
        ("{", "HF_CONFIG_JSON"),
        ("[]", "HF_CONFIG_JSON"),
        ('{"model_type": "resnet"}', "MODEL_TYPE_UNKNOWN"),
        ('{"model_type": "llama", "hidden_size": 1e12}', "HF_CONFIG_FIELD"),
        (
            '{"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": -1}',
            "HF_CONFIG_FIELD",
        ),
    ],
)
def test_a_wrong_file_is_a_coded_error(tmp_path: Path, text: str, code: str) -> None:
    file = tmp_path / "config.json"
    file.write_text(text, encoding="utf-8")
    found = invoked(file, "--target", "gpu", "--json")
    assert found.code == 2
    assert found.err.startswith("error: CONFIG: ")
    assert [each["code"] for each in json.loads(found.out)["findings"]] == [code]
    assert "Traceback" not in found.err


def test_a_folder_and_a_missing_file(tmp_path: Path) -> None:
    assert "is a folder" in invoked(tmp_path, "--target", "gpu").err
    assert "does not exist" in invoked(tmp_path / "none.json", "--target", "gpu").err


@in_one_test(
    "arguments",
    [("--target", "tpu"), (), ("--target", "gpu", "--task", "dreaming"), ("--target", "gpu", "--framework", "vlm")],
)
def test_wrong_usage(arguments: tuple[str, ...]) -> None:
    assert invoked("llama-3.1-8b", *arguments).code == 2


def test_an_unknown_framework_is_met_with_the_nearest() -> None:
    for given, meant in (("vlm", "vllm"), ("torch-neuronx", "pytorch-xla")):
        assert f"did you mean {meant}?" in invoked("llama-3.1-8b", "--target", "gpu", "--framework", given).err

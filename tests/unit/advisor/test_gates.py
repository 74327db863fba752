"""Gates by accelerator: passed, refused and unknown."""

from __future__ import annotations

from typing import Any

from eks_hardware.advisor.fitting.gates import joins, maturity, software_gates, type_gates, weight_format
from eks_hardware.advisor.model import Gate, Request
from eks_hardware.catalogue import load
from helpers.advisor import request_for
from helpers.cases import in_one_test

CATALOGUE = load()
TYPES = {
    "V100": "p3dn.24xlarge",
    "T4": "g4dn.xlarge",
    "A100": "p4d.24xlarge",
    "A10G": "g5.xlarge",
    "L4": "g6.xlarge",
    "L40S": "g6e.xlarge",
    "H100": "p5.48xlarge",
    "B200": "p6-b200.48xlarge",
    "RTX": "g7e.2xlarge",
    "Trainium": "trn1.32xlarge",
    "Trainium2": "trn2.48xlarge",
    "Inferentia2": "inf2.xlarge",
    "Inferentia": "inf1.xlarge",
    "CPU": "m7i.8xlarge",
    "Graviton": "m7g.8xlarge",
}


def gates_of(request: Request, name: str) -> dict[str, Gate]:
    kind = CATALOGUE.get(TYPES.get(name, name))
    of_type = type_gates(kind, request.workload.purchase, request.workload.learns)
    return {gate.code: gate for gate in (*of_type, *software_gates(request, kind))}


def passed(request: Request, name: str, code: str) -> bool | None:
    return gates_of(request, name)[code].passed


@in_one_test(
    ("precision", "code", "by_accelerator"),
    [
        (
            "bf16",
            "BF16",
            {
                "V100": False,
                "T4": False,
                "A100": True,
                "A10G": True,
                "L4": True,
                "H100": True,
                "B200": True,
                "RTX": True,
            }
            | {"Trainium": True, "Inferentia2": True, "Inferentia": True, "CPU": None},
        ),
        # Ampere stores fp8 weights and computes in 16 bits (Marlin); older GPUs have no kernels.
        (
            "fp8",
            "FP8",
            {"V100": False, "T4": False, "A100": True, "A10G": True, "L4": True, "H100": True, "B200": True}
            | {"Trainium": True, "Trainium2": True, "Inferentia2": True, "Inferentia": False, "CPU": False},
        ),
        (
            "int8",
            "INT8",
            {"V100": False, "T4": True, "A100": True, "H100": True}
            | {"Trainium": True, "Inferentia2": True, "Inferentia": False, "CPU": True, "Graviton": None},
        ),
        (
            "int4",
            "INT4",
            {"V100": False, "T4": True, "A100": True, "H100": True}
            | {"Trainium": False, "Trainium2": False, "Inferentia2": False, "CPU": True, "Graviton": None},
        ),
    ],
)
def test_formats(precision: str, code: str, by_accelerator: dict[str, bool | None]) -> None:
    request = request_for("llama-3.1-8b", precision=precision)
    assert {name: passed(request, name, code) for name in by_accelerator} == by_accelerator


def test_fp8_on_ampere_says_that_only_the_weights_are() -> None:
    request = request_for("llama-3.1-8b", precision="fp8")
    assert "16 bits" in gates_of(request, "A100")["FP8"].text
    assert "16 bits" not in gates_of(request, "H100")["FP8"].text
    request = request_for("llama-3.1-8b", precision="nvfp4")
    assert gates_of(request, "H100")["NVFP4"].text.startswith("no nvfp4 arithmetic")
    assert "16 bits" not in gates_of(request, "B200")["NVFP4"].text


@in_one_test(
    ("name", "expected"),
    [
        ("g6.xlarge", True),
        ("p5.48xlarge", True),
        ("p4d.24xlarge", None),  # stores fp8 weights, but does not compute in fp8
        ("g4dn.xlarge", False),
        ("inf1.xlarge", False),
        ("c7i.8xlarge", False),
    ],
)
def test_an_fp8_cache_needs_kernels(name: str, expected: bool | None) -> None:
    request = request_for("llama-3.1-8b", kv_cache_precision="fp8")
    assert passed(request, name, "FP8_CACHE") is expected
    assert "FP8_CACHE" not in gates_of(request_for("llama-3.1-8b"), name)


def test_old_gpus_compute_in_fp16_by_default() -> None:
    request = request_for("llama-3.2-1b")
    assert passed(request, "T4", "FP16") is True
    assert "BF16" not in gates_of(request, "T4")
    assert passed(request, "A10G", "BF16") is True


@in_one_test(
    ("kernel", "good", "bad"),
    [
        ("flash-attention-2", ("A100", "A10G", "L4", "L40S", "H100", "B200", "RTX"), ("V100", "T4", "Trainium", "CPU")),
        ("flash-attention-3", ("H100",), ("A100", "L4", "B200", "Inferentia2")),
        ("flash-attention-4", ("H100", "B200"), ("A100", "T4")),
    ],
)
def test_attention_kernels(kernel: str, good: tuple[str, ...], bad: tuple[str, ...]) -> None:
    request = request_for("llama-3.2-1b", attention=kernel)
    assert [passed(request, name, "FLASH_ATTENTION") for name in good] == [True] * len(good)
    assert [passed(request, name, "FLASH_ATTENTION") for name in bad] == [False] * len(bad)


@in_one_test(
    ("framework", "task", "by_accelerator"),
    [
        (
            "vllm",
            "inference",
            {"V100": False, "T4": True, "A10G": True, "Inferentia2": True, "Inferentia": False, "CPU": True},
        ),
        ("tgi", "inference", {"T4": True, "A100": True, "Inferentia2": None}),
        ("vllm", "training", {"H100": False, "Trainium": False}),
        ("pytorch", "training", {"A100": True, "Trainium": False, "Trainium2": True}),
        ("pytorch-xla", "training", {"A100": False, "Trainium": True, "Inferentia2": True, "CPU": False}),
        ("torch-neuron", "inference", {"Inferentia": True, "Inferentia2": False}),
    ],
)
def test_frameworks(framework: str, task: str, by_accelerator: dict[str, bool | None]) -> None:
    request = request_for("bert-base", task=task, framework=framework)
    assert {name: passed(request, name, "FRAMEWORK") for name in by_accelerator} == by_accelerator


@in_one_test(
    ("model", "task", "name", "known"),
    [
        ("llama-3.1-8b", "inference", "Inferentia2", True),
        ("llama-3.1-8b", "training", "Trainium", True),
        ("falcon-7b", "inference", "Inferentia2", None),
        ("deepseek-v3", "inference", "Trainium2", None),
        ("gpt-oss-20b", "inference", "Trainium2", True),
    ],
)
def test_architectures_on_neuron(model: str, task: str, name: str, known: bool | None) -> None:
    assert passed(request_for(model, task=task), name, "NEURON_MODEL") is known


def test_training_by_chip() -> None:
    request = request_for("bert-base", task="training")
    found = {
        name: passed(request, name, "NEURON_TRAINING")
        for name in ("Trainium", "Trainium2", "Inferentia2", "Inferentia")
    }
    assert found == {"Trainium": True, "Trainium2": True, "Inferentia2": True, "Inferentia": False}
    assert "no EFA" in gates_of(request, "Inferentia2")["NEURON_TRAINING"].text


def test_efa_joins_nodes() -> None:
    request = request_for("llama-3.1-8b", task="training")
    single_gpu = CATALOGUE.get("g5.xlarge")
    assert joins(request, CATALOGUE.get(TYPES["H100"]))
    assert not joins(request, single_gpu)
    without = Request(workload=request.workload, shape=request.shape, regions=request.regions, efa=False)
    assert joins(without, single_gpu)


def test_what_cannot_be_had() -> None:
    request = request_for("bert-base", task="training")
    assert passed(request, "p3.2xlarge", "WITHDRAWN") is False
    assert "AMI" not in gates_of(request, "g7.2xlarge")  # since the release of 2026-09-17
    assert passed(request, "g6f.2xlarge", "FRACTION") is False
    assert passed(request, "dl1.24xlarge", "HARDWARE") is False
    assert "FRACTION" not in gates_of(request_for("bert-base"), "g6f.2xlarge")
    assert passed(request, "p6e-gb200.36xlarge", "PURCHASE") is False


def test_qlora_takes_cuda() -> None:
    request = request_for("llama-3.1-8b", task="fine-tuning", method="qlora")
    found = {name: passed(request, name, "QLORA") for name in ("A10G", "Trainium", "CPU")}
    assert found == {"A10G": True, "Trainium": False, "CPU": None}


@in_one_test(
    ("model", "said", "name", "kept"),
    [
        ("llama-3.1-8b", {}, "A10G", "bf16"),
        ("llama-3.1-8b", {}, "T4", "fp16"),
        ("llama-3.1-8b", {"precision": "int8"}, "T4", "int8"),
        ("llama-3.1-8b-awq", {}, "A10G", "int4"),
        ("llama-3.1-8b-awq", {"precision": "bf16"}, "A10G", "bf16"),
        ("llama-3.1-8b-awq", {"task": "training"}, "A10G", "bf16"),
        ("gpt-oss-20b", {}, "H100", "mxfp4"),
        ("gpt-oss-20b", {}, "Trainium2", "bf16"),  # converted to a wider type on load
    ],
)
def test_format_of_the_weights(model: str, said: dict[str, Any], name: str, kept: str) -> None:
    assert weight_format(request_for(model, **said), CATALOGUE.get(TYPES[name])) == kept


@in_one_test("name", TYPES)
@in_one_test("task", ["training", "inference", "development"])
def test_every_gate_has_words_and_a_source(name: str, task: str) -> None:
    request = request_for("llama-3.1-8b", task=task)
    for gate in gates_of(request, name).values():
        assert gate.text
        assert gate.source


@in_one_test(
    ("name", "said", "expected"),
    [
        ("H100", {"framework": "vllm"}, "mature"),
        ("V100", {}, "maintenance"),  # CUDA 12 is the last that supports it
        ("L4", {"framework": "tgi"}, "maintenance"),  # not tuned
        ("CPU", {}, "mature"),
        ("Inferentia", {}, "archived"),
        ("Trainium2", {"framework": "vllm"}, "beta"),
        ("Inferentia2", {"framework": "vllm"}, "archived"),  # up to 2.31
        ("Trainium", {"task": "training", "framework": "pytorch-xla"}, "archived"),  # up to 2.29
        ("Trainium", {"task": "training", "framework": "jax"}, "beta"),
        ("Trainium", {"task": "training"}, "archived"),  # PyTorch, unless the request names JAX
        ("Trainium2", {"task": "training"}, "beta"),
        ("Inferentia2", {}, "archived"),  # a model that generates needs a server
        ("Inferentia2", {"framework": "tgi"}, "unknown"),
    ],
)
def test_maturity(name: str, said: dict[str, Any], expected: str) -> None:
    found, why = maturity(request_for("llama-3.1-8b", **said), CATALOGUE.get(TYPES[name]))
    assert found == expected
    assert why

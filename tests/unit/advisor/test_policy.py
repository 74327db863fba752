"""The documents' decision trees: every branch, by its own words, with handwritten workloads."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import pytest

from eks_hardware import facts
from eks_hardware.advisor.model import Shape
from eks_hardware.advisor.ranking import policy
from eks_hardware.catalogue import load as catalogue
from eks_hardware.models import WorkloadSpec
from helpers.cases import in_one_test

TRAINING = "Compute Resource Selection"
OPTIONS = "Hardware Options for AI/ML on EKS"
AMAZON = "Hardware for AI on AWS"
TGI = "Backend for use with Text Generation Inference"


def shaped(parameters: float, architecture: str | None = None) -> Shape:
    return Shape(
        parameters=int(parameters),
        active_parameters=int(parameters),
        layers=32,
        hidden_size=4096,
        attention_heads=32,
        kv_heads=8,
        head_dim=128,
        vocabulary=None,
        architecture=architecture,
        max_context_length=None,
        generates=None,
        layers_with_cache=32,
        quantized_to=None,
        estimated=(),
        source="a test",
    )


class Case(NamedTuple):
    """A workload, and the documents' recommendation."""

    branch: str
    said: dict[str, Any]
    parameters: float
    quote: str
    document: str
    names: str  # an instance type in the branch
    not_this: str  # and one that is not
    architecture: str | None = None


TRAIN, TUNE, SERVE, DEVELOP = ({"task": each} for each in ("training", "fine-tuning", "inference", "development"))
COST, BALANCED, FAST = ({"budget": each} for each in ("cost", "balanced", "performance"))
BATCH, LORA = {"serving": "batch"}, {"method": "lora"}

# fmt: off
CASES = [
    # Large Model Training (>7B parameters)
    Case("large-training-cost", TRAIN | COST | {"framework": "pytorch"}, 13e9,
         "Budget Conscious + PyTorch → AWS Trainium (Trn1)", TRAINING, "trn1.32xlarge", "p4d.24xlarge"),
    Case("large-training-performance", TRAIN | FAST, 70e9,
         "Maximum Performance → NVIDIA H100 (P5)", TRAINING, "p5.48xlarge", "p4d.24xlarge"),
    Case("large-training-balanced", TRAIN | BALANCED, 13e9,
         "Balanced Performance/Cost → NVIDIA A100 (P4d)", TRAINING, "p4d.24xlarge", "trn1.32xlarge"),
    Case("large-experiments", DEVELOP, 13e9,
         "Experimentation → NVIDIA V100 (P3)", TRAINING, "p3.2xlarge", "g4dn.xlarge"),
    # Medium Model Training (1B-7B parameters)
    Case("medium-training-cost", TRAIN | COST, 7e9,
         "Cost Optimization → AWS Trainium (Trn1)", TRAINING, "trn1.2xlarge", "p4d.24xlarge"),
    Case("medium-training-flexible", TUNE | BALANCED | {"framework": "jax"}, 3e9,
         "Framework Flexibility → NVIDIA A100 (P4d)", TRAINING, "p4d.24xlarge", "trn1.32xlarge"),
    Case("medium-experiments", DEVELOP, 3e9,
         "Quick Experiments → NVIDIA T4 (G4dn)", TRAINING, "g4dn.xlarge", "p4d.24xlarge"),
    Case("cpu-only-training", TRAIN | COST, 1e6,
         "CPU-only Models → High-memory CPU instances (R5, M5)", TRAINING, "r5.4xlarge", "g4dn.xlarge", "xgboost"),
    # Training workload GPU selection
    Case("gpu-guide-small", TRAIN | COST, 350e6,
         "Instance: g4dn.xlarge (T4)", TRAINING, "g4dn.xlarge", "p4d.24xlarge"),
    Case("gpu-guide-medium", TRAIN | COST | {"framework": "tensorflow"}, 8e9,
         "Instance: p3.2xlarge (V100)", TRAINING, "p3.2xlarge", "p4d.24xlarge"),
    Case("gpu-guide-large", TRAIN | COST | {"framework": "jax"}, 10e9,
         "Instance: p4d.24xlarge (A100)", TRAINING, "p4d.24xlarge", "trn1.32xlarge"),
    Case("gpu-guide-very-large", TRAIN | COST | {"framework": "jax"}, 70e9,
         "Instance: p5.48xlarge (H100)", TRAINING, "p5.48xlarge", "p4d.24xlarge"),
    Case("medium-training-performance", TRAIN | FAST, 7e9,
         "Better performance and lower cost per training job", AMAZON, "p4d.24xlarge", "g5.48xlarge"),
    # High-Throughput Inference
    Case("throughput-cost", SERVE | BATCH | COST, 335e6,
         "Transformer Models + Cost Focus → AWS Inferentia (Inf2)", TRAINING, "inf2.xlarge", "g5.xlarge", "bert"),
    Case("throughput-mixed", SERVE | BATCH, 300e6,
         "Mixed Model Types → NVIDIA A10G (G5)", TRAINING, "g5.xlarge", "inf2.xlarge", "vit"),
    Case("throughput-real-time", SERVE | {"serving": "real-time", "focus": "throughput"}, 8e9,
         "Real-time Requirements → NVIDIA T4 (G4dn)", TRAINING, "g4dn.xlarge", "g5.xlarge", "llama"),
    Case("throughput-simple", SERVE | BATCH, 22e6,
         "Simple Models → CPU instances (M5, C5)", TRAINING, "c5.4xlarge", "g5.xlarge", "bert"),
    # Low-Latency Inference
    Case("latency-10-ms", SERVE | {"latency": {"first_token_ms": 10}}, 110e6,
         "Sub-10ms Requirements → NVIDIA A10G (G5)", TRAINING, "g5.xlarge", "inf2.xlarge", "bert"),
    Case("latency-cost", SERVE | COST, 8e9,
         "Cost-Optimized → AWS Inferentia (Inf2)", TRAINING, "inf2.8xlarge", "g5.xlarge"),
    Case("latency-edge", SERVE, 66e6,
         "Edge Deployment → CPU instances", TRAINING, "c7i.2xlarge", "g5.xlarge", "distilbert"),
    Case("latency-batch", SERVE | BATCH | {"focus": "latency"}, 8e9,
         "Batch Processing → Any GPU option", TRAINING, "p5.48xlarge", "inf2.xlarge"),
    # cases that the trees do not cover
    Case("cpu-quantized", SERVE | {"precision": "int8"}, 500e6,
         "**Quantized Models**: For models optimized for CPU inference", OPTIONS, "c7i.2xlarge", "g5.xlarge"),
    Case("large-adapters", TUNE | LORA, 70e9,
         "**Large Model Training**: P4d/P5 instances with NVIDIA A100/H100 GPUs", OPTIONS,
         "p5.48xlarge", "g5.48xlarge"),
    Case("adapters-cost", TUNE | LORA | COST, 70e9,
         "**Cost-Optimized Training**: Trn1 instances with AWS Trainium", OPTIONS, "trn1.32xlarge", "p5.48xlarge"),
    Case("inference-performance", SERVE | FAST, 70e9,
         "**High-Performance Inference**: Inf2 instances with AWS Inferentia", OPTIONS, "inf2.48xlarge", "p5.48xlarge"),
    Case("flexible", SERVE, 8e9,
         "**Flexible Workloads**: G5 instances with NVIDIA A10G GPUs", OPTIONS, "g5.12xlarge", "inf2.24xlarge"),
    Case("development", DEVELOP, 350e6,
         "**Development and Testing**: CPU instances or G4dn with NVIDIA T4 GPUs", OPTIONS,
         "g4dn.xlarge", "p5.48xlarge"),
    Case("neuron-code-training", TRAIN | {"framework": "pytorch-xla"}, 70e9,
         "Train big with Trainium, run cheap and fast with Inferentia.", AMAZON, "trn2.48xlarge", "p4d.24xlarge"),
    Case("neuron-code-inference", SERVE | {"framework": "torch-neuron"}, 110e6,
         "Train big with Trainium, run cheap and fast with Inferentia.", AMAZON, "inf1.xlarge", "g5.xlarge"),
    Case("mixed-training", TRAIN | COST | {"framework": "pytorch-xla"}, 350e6,
         "Training (Trainium/GPU) → Model Optimization → Inference (Inferentia/GPU/CPU)", OPTIONS,
         "trn1.2xlarge", "c5.4xlarge"),
    Case("mixed-inference", SERVE | BATCH | COST, 200e6,
         "Training (Trainium/GPU) → Model Optimization → Inference (Inferentia/GPU/CPU)", OPTIONS,
         "c5.4xlarge", "trn1.2xlarge", "xgboost"),
]
# fmt: on


def taken(case: Case) -> policy.Branch:
    workload = WorkloadSpec.model_validate({"model": {"parameters": "8B"}} | case.said)
    return policy.shipped().branch(workload, shaped(case.parameters, case.architecture))


@in_one_test("case", CASES, ids=lambda case: case.branch)
def test_a_workload_takes_the_branch_that_its_document_says(case: Case) -> None:
    branch = taken(case)
    assert (branch.id, branch.quote, branch.document) == (case.branch, case.quote, case.document)
    assert branch.match(catalogue().get(case.names)) == "named"
    assert branch.match(catalogue().get(case.not_this)) != "named"


def test_every_branch_is_tested() -> None:
    assert [each.id for each in policy.shipped().branches if each.id not in {case.branch for case in CASES}] == []


@in_one_test("branch", policy.shipped().branches, ids=lambda branch: branch.id)
def test_a_branch_is_cited(branch: policy.Branch) -> None:
    assert branch.document in (TRAINING, OPTIONS, AMAZON)
    assert "\n" not in branch.quote
    assert branch.under
    assert branch.reading
    named = [kind for name in catalogue().names if branch.match(kind := catalogue().get(name)) == "named"]
    assert named, "names nothing that the catalogue has"
    if branch.today:
        assert branch.today["source"] in facts.selection_guide()["sources"].values()
        assert branch.today["as_of"]


def test_the_document_decides_by_the_number_of_parameters() -> None:
    """Large is more than 7B, medium 1B to 7B, and the GPU guide covers smaller models."""
    workload = WorkloadSpec.model_validate(TRAIN | {"model": {"parameters": "8B"}})
    found = {size: policy.shipped().branch(workload, shaped(size)).tree for size in (0.9e9, 1e9, 7e9, 7.1e9)}
    assert found == {0.9e9: "gpu-guide", 1e9: "medium-training", 7e9: "medium-training", 7.1e9: "large-training"}


def test_there_is_a_branch_for_everything() -> None:
    frameworks = (None, "pytorch", "pytorch-xla", "torch-neuron", "tensorflow", "mxnet", "jax", "vllm", "tgi")
    for task, budget, framework, architecture, size in product(
        ("training", "fine-tuning", "inference", "development"),
        ("cost", "balanced", "performance"),
        frameworks,
        (None, "llama", "vit", "xgboost", "whisper"),
        (1, 99e6, 1e9, 7e9, 8e9, 70e9, 1e15),
    ):
        said = {"task": task, "budget": budget, "framework": framework, "model": {"parameters": "8B"}}
        workload = WorkloadSpec.model_validate(said)
        assert policy.shipped().branch(workload, shaped(size, architecture)).id


def test_withdrawn_hardware_has_a_stand_in() -> None:
    """P3 is withdrawn: the tree's words are kept, together with the replacement."""
    branch = taken(next(case for case in CASES if case.branch == "large-experiments"))
    assert branch.today
    assert "withdrawn" in branch.today["text"]
    assert branch.match(catalogue().get("g5.xlarge")) == "instead"
    assert branch.rank(catalogue().get("p3.2xlarge")) > branch.rank(catalogue().get("g5.xlarge"))
    assert branch.rank(catalogue().get("g5.xlarge")) > branch.rank(catalogue().get("g4dn.xlarge"))
    assert branch.rank(catalogue().get("g4dn.xlarge")) > branch.rank(catalogue().get("c7i.2xlarge"))


@in_one_test(
    ("said", "architecture", "kind", "quote", "document"),
    [
        ({"attention": "flash-attention-2"}, None, "g4dn.xlarge",
         "RuntimeError: FlashAttention only supports Ampere GPUs or newer.", TGI),
        ({"framework": "tgi"}, None, "p3.2xlarge",
         "RuntimeError: FlashAttention only supports Ampere GPUs or newer.", TGI),
        ({}, "vit", "inf2.xlarge", "**Model Support**: Best for transformer architectures", TRAINING),
    ],
)  # fmt: skip
def test_what_the_documents_warn_of(
    said: dict[str, str], architecture: str | None, kind: str, quote: str, document: str
) -> None:
    workload = WorkloadSpec.model_validate(SERVE | {"model": {"parameters": "8B"}} | said)
    (found,) = policy.shipped().warnings(workload, shaped(8e9, architecture))
    assert (found.quote, found.document) == (quote, document)
    assert found.match(catalogue().get(kind)) == "named"
    assert found.match(catalogue().get("g5.xlarge")) != "named"


def test_nothing_is_warned_of_without_a_cause() -> None:
    workload = WorkloadSpec.model_validate(SERVE | {"model": {"parameters": "8B"}, "framework": "vllm"})
    assert policy.shipped().warnings(workload, shaped(8e9, "llama")) == ()


def test_weights_are_whole_and_explained() -> None:
    parts = ("cost", "policy", "maturity", "speed")
    found = facts.ranking()["weights"]
    weights: dict[str, dict[str, float]] = {
        budget: {part: value for part, value in row.items() if isinstance(value, float | int)}
        for budget, row in found.items()
    }
    assert set(weights) == {"cost", "balanced", "performance"}
    for budget, row in found.items():
        assert sum(weights[budget].values()) == pytest.approx(1), budget
        assert set(row) == {*parts, "why"}
    assert max(weights["cost"], key=weights["cost"].__getitem__) == "cost"
    assert max(weights["performance"], key=weights["performance"].__getitem__) == "speed"

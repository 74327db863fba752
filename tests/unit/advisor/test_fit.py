"""Fit of workloads on types: published reference values, monotony, suggestions, and time for the whole catalogue."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from eks_hardware.advisor.fitting.devices import available, degrees, host_gib
from eks_hardware.advisor.fitting.fit import Fitter, fit
from eks_hardware.advisor.model import Fit, Miss, Request
from eks_hardware.catalogue import Hardware, load
from helpers.advisor import fit_on, request_for
from helpers.cases import in_one_test

CATALOGUE = load()
REGIONS = ("us-east-1", "us-east-2", "us-west-2", "eu-west-1", "ap-northeast-1")


def fit_of(request: Request, name: str) -> Fit:
    found = fit_on(request, name)
    assert isinstance(found, Fit), found
    return found


def misses(request: Request, name: str) -> Miss:
    found = fit_on(request, name)
    assert isinstance(found, Miss), found
    return found


def layout_of(found: Fit) -> tuple[int, int, int, int, str]:
    parallelism = found.parallelism
    return found.nodes, parallelism.data, parallelism.tensor, parallelism.pipeline, parallelism.sharding


# --- memory of a device


@in_one_test(
    ("name", "training", "gib"),
    [
        ("g5.xlarge", True, 22.06 - 1.3),
        ("g5.xlarge", False, 22.06 * 0.9),
        ("g4dn.xlarge", False, 14.56 * 0.9),
        ("p5.48xlarge", False, 79.1 * 0.9),
        ("p4d.24xlarge", True, 39.38 - 1.3),
        ("trn1.32xlarge", True, 32 * 0.9),
        ("trn2.48xlarge", False, 96 * 0.9),
        ("g6f.large", False, 2.7939453125 * 0.91 - 1.3),  # the context is more than a tenth of it
    ],
)
def test_available(name: str, training: bool, gib: float) -> None:
    assert available(CATALOGUE.get(name), training=training) == pytest.approx(gib)


def test_a_host_keeps_what_the_kubelet_reserves() -> None:
    # m7i.8xlarge: 128 GiB, 250 pods: (11 x 250 + 255 + 100) MiB, 1 GiB for agents, nine tenths of the rest.
    assert host_gib(CATALOGUE.get("m7i.8xlarge")) == pytest.approx((128 - 3105 / 1024 - 1) * 0.9)


def test_memory_that_nobody_knows_is_no_fit() -> None:
    request = request_for("llama-3.2-1b", purchase=["capacity-block"])
    miss = misses(request, "p6e-gb200.36xlarge")
    assert (miss.missing_gib, miss.remedy) == (None, None)
    assert "unknown" in miss.text


@in_one_test(
    ("name", "heads", "cores", "found"),
    [
        ("p5.48xlarge", 32, 1, (1, 2, 4, 8)),
        ("p5.48xlarge", 71, 1, (1,)),
        ("g5.12xlarge", 14, 1, (1, 2)),
        ("trn1.32xlarge", 32, 2, (1, 4, 8, 16)),  # 2, 8, 16 and 32 NeuronCores; the runtime does not support 4
        ("inf2.48xlarge", 48, 2, (1, 2, 4, 12)),  # 24 NeuronCores
        ("inf2.24xlarge", 48, 2, (1, 2, 4)),
        ("trn2.48xlarge", 64, 4, (1, 2, 4, 8, 16)),
        ("trn1.32xlarge", 71, 2, ()),
        ("trn1.32xlarge", 71, 1, (1,)),
    ],
)
def test_degrees_share_the_heads(name: str, heads: int, cores: int, found: tuple[int, ...]) -> None:
    assert degrees(CATALOGUE.get(name), heads, cores=cores) == found


@in_one_test(
    ("name", "heads", "cores", "found"),
    [
        ("inf2.48xlarge", 64, 2, (1, 2, 4, 12)),  # 72 heads on 24 NeuronCores
        ("inf2.48xlarge", 32, 2, (1, 2, 4, 12)),  # 48
        ("inf2.48xlarge", 12, 2, (1, 2, 4)),  # 16 on 8; on 24, half of the cores would have no heads of the model
        ("trn1.32xlarge", 40, 2, (1, 4, 8, 16)),
        ("trn1.32xlarge", 71, 1, (1,)),
        ("p5.48xlarge", 71, 1, (1,)),  # GPUs need no padding
    ],
)
def test_degrees_with_padded_heads(name: str, heads: int, cores: int, found: tuple[int, ...]) -> None:
    assert degrees(CATALOGUE.get(name), heads, cores=cores, padded=True) == found


# --- inference


@in_one_test(
    ("model", "said", "name", "tensor", "replicas"),
    [
        ("llama-3.1-8b", {}, "g5.xlarge", 1, 1),
        ("llama-3.1-8b", {}, "g5.12xlarge", 1, 4),
        ("llama-3.1-8b", {}, "inf2.xlarge", 1, 1),
        ("llama-3.1-8b", {"precision": "int4"}, "g4dn.xlarge", 1, 1),
        ("llama-3.1-70b", {}, "p5.48xlarge", 2, 4),  # 131 GiB: two GPUs of 80
        ("llama-3.1-70b", {}, "p4d.24xlarge", 4, 2),
        ("llama-3.1-70b", {}, "p5en.48xlarge", 2, 4),
        ("llama-3.1-405b", {"precision": "fp8"}, "p5.48xlarge", 8, 1),  # Meta's own example: one node of eight H100
        ("mixtral-8x7b", {}, "p4de.24xlarge", 2, 4),
        ("deepseek-v3", {}, "p5en.48xlarge", 8, 1),  # 671 GB in fp8 on eight GPUs with 141 GB
        ("gpt-oss-20b", {}, "g5.xlarge", 1, 1),  # designed for 16 GB
        ("falcon-7b", {}, "g5.12xlarge", 1, 4),
    ],
)
def test_replicas(model: str, said: dict[str, Any], name: str, tensor: int, replicas: int) -> None:
    found = fit_of(request_for(model, **said), name)
    assert (found.nodes, found.parallelism.tensor, found.devices, found.replicas_per_node) == (
        1,
        tensor,
        tensor,
        replicas,
    )
    assert found.memory_gib <= found.available_gib
    assert found.memory_gib == pytest.approx(sum(part.gib for part in found.memory))


@in_one_test(
    ("model", "said", "name"),
    [
        ("llama-3.1-8b", {}, "g4dn.xlarge"),  # 15 GiB of weights and 14.6 of memory
        ("llama-3.1-70b", {}, "g5.2xlarge"),
        ("llama-3.1-405b", {}, "trn1.32xlarge"),  # NxD Inference supports 405B on Trn2
    ],
)
def test_what_does_not_fit(model: str, said: dict[str, Any], name: str) -> None:
    assert (misses(request_for(model, **said), name).missing_gib or 0) > 0


def test_several_nodes_only_where_one_is_too_small() -> None:
    found = fit_of(request_for("deepseek-v3"), "p5.48xlarge")
    assert layout_of(found) == (2, 1, 8, 2, "none")
    assert (found.devices, found.replicas_per_node) == (16, 1)
    # 131 GiB do not fit on one GPU with 80 GB, and the type has one.
    assert fit_of(request_for("llama-3.1-70b"), "p5.4xlarge").nodes == 2


@in_one_test(
    ("model", "said", "name", "layout"),
    [
        # Tensor parallelism repeats the latent cache on each device; with few sequences it fits.
        ("deepseek-v3", {"concurrent_sequences": 32}, "p5en.48xlarge", (1, 8, 1)),
        ("deepseek-v3", {"concurrent_sequences": 256}, "p5en.48xlarge", (8, 1, 8)),
        ("deepseek-v3", {"concurrent_sequences": 256, "framework": "tgi"}, "p5en.48xlarge", None),
        ("deepseek-v3", {"concurrent_sequences": 512}, "trn2.48xlarge", None),  # no data-parallel attention
        ("mixtral-8x7b", {"concurrent_sequences": 32}, "p5.48xlarge", (1, 2, 1)),
        ("deepseek-v3", {"concurrent_sequences": 1024}, "g7e.48xlarge", None),  # several nodes, without NVLink
    ],
)
def test_experts_are_spread_where_the_cache_fits_no_other_way(
    model: str, said: dict[str, Any], name: str, layout: tuple[int, int, int] | None
) -> None:
    precision = "fp8" if model == "deepseek-v3" else "bf16"
    found = Fitter(request_for(model, context_length=8192, precision=precision, **said)).on(CATALOGUE.get(name))
    ways = (
        (found.parallelism.data, found.parallelism.tensor, found.parallelism.expert)
        if isinstance(found, Fit) and found.nodes == 1
        else None
    )
    assert ways == layout
    if ways and ways[2] > 1:
        assert isinstance(found, Fit)
        assert "--data-parallel-size 8 --enable-expert-parallel" in " ".join(found.notes)


def test_experts_are_spread_over_nodes_with_nvlink() -> None:
    request = request_for("deepseek-v3", context_length=8192, precision="fp8", concurrent_sequences=1024)
    found = fit_of(request, "p5en.48xlarge")
    assert (found.nodes, found.devices, found.parallelism.expert) == (2, 16, 16)


@in_one_test("sequences", [1, 4, 8])
def test_llama_70b_on_24_neuroncores(sequences: int) -> None:
    """The measurements of https://huggingface.co/docs/optimum-neuron/en/benchmarks/inferentia-llama3.3-70b."""
    request = request_for("llama-3.1-70b", context_length=4096, concurrent_sequences=sequences)
    found = fit_of(request, "inf2.48xlarge")
    assert layout_of(found) == (1, 1, 12, 1, "none")
    assert "64 attention heads are padded to 72 for 24 NeuronCores" in found.notes
    assert not any("padded" in each for each in fit_of(request_for("llama-3.1-8b"), "inf2.48xlarge").notes)


def test_heads_are_not_padded_for_training() -> None:
    form = {"layers": 40, "hidden_size": 5120, "attention_heads": 40, "kv_heads": 40, "architecture": "llama"}
    request = request_for({"parameters": "13B", **form}, task="training")
    assert fit_of(request, "trn1.32xlarge").parallelism.tensor in (
        1,
        4,
    )  # 8 NeuronCores; 40 is not divisible by 16 or 32


@in_one_test(("asked", "said"), [(131_072, False), (131_073, True), (None, False)])
def test_a_context_beyond_the_models_is_reported(asked: int | None, said: bool) -> None:
    found = fit_of(request_for("llama-3.1-8b", context_length=asked), "p5.48xlarge")
    note = f"the request has {asked} tokens of context, but the model supports 131072"
    assert (note in found.notes) is said


def test_neuron_serves_from_one_node() -> None:
    assert misses(request_for("deepseek-v3"), "trn1.32xlarge").missing_gib


def test_on_cpus_the_node_is_the_device() -> None:
    found = fit_of(request_for("llama-3.1-8b", precision="int8"), "m7i.8xlarge")
    assert (found.nodes, found.devices, found.replicas_per_node) == (1, 0, 1)
    assert found.parallelism.devices == 1


def test_an_encoder_needs_no_more_than_it_reads() -> None:
    found = fit_of(request_for("bert-base", context_length=100_000), "g4dn.xlarge")
    assert found.memory_gib < 1


# --- training


@in_one_test(
    ("model", "said", "name", "expected"),
    [
        ("bert-base", {}, "g4dn.xlarge", (1, 1, 1, 1, "none")),
        # 6.74e9 x 18 bytes = 113 GiB: never on one GPU with 80 GB without sharding.
        ("llama-2-7b", {}, "p5.4xlarge", (2, 2, 1, 1, "zero-2")),
        ("llama-2-7b", {}, "p5.48xlarge", (1, 8, 1, 1, "zero-1")),
        ("llama-2-7b", {"sharding": "zero-3"}, "p5.48xlarge", (1, 8, 1, 1, "zero-3")),
        ("llama-2-7b", {}, "g5.12xlarge", (2, 8, 1, 1, "zero-3")),
        ("llama-2-7b", {"sharding": "none"}, "p5.48xlarge", (1, 4, 2, 1, "none")),
        # PyTorch/XLA supports only ZeRO-1: tensor parallelism does the rest.
        ("llama-2-7b", {}, "trn1.32xlarge", (1, 4, 4, 1, "zero-1")),
        ("llama-3.1-70b", {}, "trn1.32xlarge", (3, 1, 16, 3, "none")),
        # Pipeline stages in a node: 13e9 x 18 bytes are 218 GiB of its 461; without stages, two copies on 8 devices do
        # not fit.
        ({"parameters": "13B"}, {"framework": "pytorch-xla"}, "trn1.32xlarge", (1, 2, 4, 2, "zero-1")),
    ],
)
def test_training_takes_all_devices_of_the_fewest_nodes(
    model: str | dict[str, Any], said: dict[str, Any], name: str, expected: tuple[int, int, int, int, str]
) -> None:
    found = fit_of(request_for(model, task="training", **said), name)
    assert layout_of(found) == expected
    chip = CATALOGUE.get(name).accelerator
    assert chip is not None
    assert found.devices == found.nodes * chip.count
    assert found.memory_gib <= found.available_gib


def test_70b_takes_several_nodes_and_more_of_smaller_ones() -> None:
    request = request_for("llama-3.1-70b", task="training")
    nodes = {
        name: fit_of(request, name).nodes
        for name in ("p6-b300.48xlarge", "p5en.48xlarge", "p5.48xlarge", "p4d.24xlarge")
    }
    # 70.55e9 x 16 bytes are 1051 GiB, and a node has 8 x 268, 141, 80 or 40 GiB, minus the reserve.
    assert nodes == {"p6-b300.48xlarge": 1, "p5en.48xlarge": 2, "p5.48xlarge": 2, "p4d.24xlarge": 4}


def test_nodes_without_efa_are_not_joined() -> None:
    miss = misses(request_for("llama-2-7b", task="training"), "g5.xlarge")
    assert "EFA" in miss.text
    assert "EFA" in (miss.remedy or "")


def test_several_nodes_without_efa_when_that_is_asked_for() -> None:
    request = replace(request_for("llama-2-7b", task="training"), efa=False)
    assert fit_of(request, "g5.xlarge").nodes > 1


def test_adapters_fit_where_full_training_does_not() -> None:
    full = request_for("llama-3.1-8b", task="fine-tuning")
    assert misses(full, "g6e.xlarge").remedy == "it fits on 1 x L40S with method: lora"
    assert fit_of(request_for("llama-3.1-8b", task="fine-tuning", method="lora"), "g6e.xlarge").devices == 1
    assert fit_of(request_for("llama-3.1-8b", task="fine-tuning", method="qlora"), "g5.xlarge").devices == 1


def test_qlora_of_65b_on_one_gpu_of_48_gb() -> None:
    """The results of https://arxiv.org/abs/2305.14314, with sequences of 512 tokens."""
    form = {
        "layers": 80,
        "hidden_size": 8192,
        "attention_heads": 64,
        "kv_heads": 64,
        "head_dim": 128,
        "architecture": "llama",
    }
    request = request_for({"parameters": "65.2B", **form}, task="fine-tuning", method="qlora", sequence_length=512)
    assert fit_of(request, "g6e.xlarge").devices == 1


def test_development_stays_on_one_node() -> None:
    assert fit_of(request_for("llama-3.1-8b", task="development"), "g5.xlarge").nodes == 1
    request = request_for("llama-3.1-70b", task="development", batch_size=1)
    assert (misses(request, "p4d.24xlarge").missing_gib or 0) > 0


def test_longer_texts_without_a_fused_kernel_take_more() -> None:
    request = request_for(
        "bert-base", task="training", sequence_length=512, batch_size=8, activation_checkpointing=False
    )
    old, new = fit_of(request, "g4dn.xlarge"), fit_of(request, "g5.xlarge")
    assert old.memory_gib > new.memory_gib
    assert any("scores" in part.how for part in old.memory)


# --- suggestions


@in_one_test(
    ("model", "said", "name", "remedy"),
    [
        ("llama-3.1-8b", {}, "g4dn.xlarge", "it fits on 1 x T4 with int8 weights"),
        (
            "llama-3.1-8b",
            {"context_length": 131072},
            "g5.xlarge",
            "it fits with context_length: 16384 instead of 131072",
        ),
        (
            "llama-3.1-8b",
            {"concurrent_sequences": 64},
            "g5.xlarge",
            "it fits with concurrent_sequences: 4 instead of 64",
        ),
        ("llama-3.1-405b", {}, "g4dn.xlarge", None),
    ],
)
def test_remedies(model: str, said: dict[str, Any], name: str, remedy: str | None) -> None:
    request = request_for(model, **said)
    assert misses(request, name).remedy == remedy


def test_a_remedy_is_true() -> None:
    request = request_for("llama-3.1-8b", context_length=131072)
    longer, shorter = ({"context_length": length} for length in (32768, 16384))
    assert isinstance(fit_on(replace(request, workload=request.workload.model_copy(update=longer)), "g5.xlarge"), Miss)
    assert isinstance(fit_on(replace(request, workload=request.workload.model_copy(update=shorter)), "g5.xlarge"), Fit)


def test_sharding_is_a_remedy() -> None:
    request = request_for("falcon-7b", task="training", sharding="none")
    assert misses(request, "p4d.24xlarge").remedy == "it fits on 8 x A100 with sharding: zero-3"
    assert layout_of(fit_of(request_for("falcon-7b", task="training", sharding="zero-3"), "p4d.24xlarge"))[0] == 1


# --- refusals


def test_gates_refuse_before_memory_is_looked_at() -> None:
    miss = misses(request_for("llama-3.2-1b", precision="bf16"), "g4dn.xlarge")
    assert [gate.code for gate in miss.gates] == ["BF16"]
    assert miss.missing_gib is None


def test_a_region_that_lacks_a_type() -> None:
    found = fit(request_for("llama-3.2-1b"), CATALOGUE.get("p5.48xlarge"), "eu-west-1")
    assert isinstance(found, Miss)
    assert [gate.code for gate in found.gates] == ["OFFERED"]


def test_unknown_facts_are_reported_and_refuse_nothing() -> None:
    found = fit_of(request_for("falcon-7b"), "trn1.2xlarge")
    assert any(note.startswith("unknown: ") and "falcon" in note for note in found.notes)


# --- properties


@pytest.mark.parametrize(
    "request_",
    [request_for("llama-3.1-70b", task="training"), request_for("llama-3.1-8b")],
    ids=["training", "inference"],
)
def test_the_whole_catalogue_and_five_regions(request_: Request) -> None:
    kinds, fitter = [CATALOGUE.get(name) for name in CATALOGUE.names], Fitter(request_)
    answers = [fitter.fit(kind, region) for region in REGIONS for kind in kinds]
    assert any(isinstance(each, Fit) and each.kind.hardware is Hardware.NVIDIA_GPU for each in answers)


def test_the_same_question_has_the_same_answer() -> None:
    request = request_for("llama-3.1-70b", task="training")
    assert fit_on(request, "p5.48xlarge") == fit_on(request, "p5.48xlarge")


def test_where_it_is_not_offered_a_type_is_refused() -> None:
    found = fit(request_for("llama-3.1-8b"), CATALOGUE.get("p5.48xlarge"), "eu-north-9")
    assert isinstance(found, Miss)
    assert [gate.code for gate in found.gates] == ["OFFERED"]
    assert found.remedy is None


# --- what is in the memory of the node


def test_offloading_needs_the_memory_of_the_node() -> None:
    """8B with AdamW: 16 x 8e9 bytes with 1.5 times their size of buffers, so 179 GiB. The same GPU is in all of g5."""
    request = request_for(task="training", model={"parameters": "8B"}, offload=["optimizer"], sequence_length=512)
    assert misses(request, "g5.4xlarge").text.endswith("of the node's memory for each A10G, because of 'offload'")
    found = fit_of(request, "g5.16xlarge")
    assert found.nodes == 1
    assert found.memory_gib <= found.available_gib
    plain = request_for(task="training", model={"parameters": "8B"}, sequence_length=512)
    assert fit_of(plain, "g5.16xlarge").nodes > 1


def test_offloading_is_unknown_where_no_source_says_so() -> None:
    said: dict[str, Any] = {"task": "training", "model": {"parameters": "1B"}}
    found = fit_of(request_for(**said, offload=["optimizer"]), "trn1.32xlarge")
    assert any("support for offloading" in each for each in found.notes)
    on_cpu = [fit_of(request_for(**said, offload=each), "m7i.48xlarge").memory_gib for each in (None, ["weights"])]
    assert on_cpu[0] == on_cpu[1], "the memory of the node is the device's own"


def test_fp8_training_needs_hardware_that_computes_in_it() -> None:
    request = request_for(task="training", model={"parameters": "1B"}, precision="fp8")
    assert misses(request, "p4d.24xlarge").gates[0].code == "FP8"
    wide = request_for(task="training", model={"parameters": "1B"}, precision="bf16")
    assert fit_of(request, "p5.48xlarge").memory_gib == fit_of(wide, "p5.48xlarge").memory_gib

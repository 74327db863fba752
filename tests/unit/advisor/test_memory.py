"""Memory of training and inference against hand-computed numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from eks_hardware.advisor.fitting.memory_inference import InferenceMemory, Serving, weight_bytes
from eks_hardware.advisor.fitting.memory_training import TrainingMemory, TrainingRun
from eks_hardware.advisor.model import Parallelism
from helpers.advisor import public_shape
from helpers.cases import in_one_test

GIB = 2**30
LLAMA = public_shape("llama-3.1-8b")
ALONE = Parallelism(data=1, tensor=1, pipeline=1, sharding="none")


def parallelism(data: int, tensor: int, pipeline: int, sharding: str) -> Parallelism:
    return Parallelism(data=data, tensor=tensor, pipeline=pipeline, sharding=sharding)


def training_run(name: str = "llama-3.1-8b", **said: Any) -> TrainingRun:
    plain: dict[str, Any] = {
        "precision": "bf16",
        "method": "full",
        "optimizer": "adamw",
        "sequence_length": 2048,
        "batch_size": 1,
        "checkpointing": True,
        "fused_attention": True,
    }
    return TrainingRun(shape=public_shape(name), **{**plain, **said})


def serving(name: str = "llama-3.1-8b", **said: Any) -> Serving:
    plain: dict[str, Any] = {"weight_format": "bf16", "context_length": 4096, "sequences": 1}
    return Serving(shape=public_shape(name), **{**plain, **said})


# --- inference


@in_one_test(
    ("name", "weight_format", "gib"),
    [
        ("llama-3.1-8b", "bf16", 14.96),  # 8,030,261,248 x 2 / 2^30
        ("llama-3.1-8b", "fp32", 29.92),
        # Tables 2 x 128256 x 4096 = 1,050,673,152 at 16 bits; the other 6,979,588,096 at 4.15625 bits:
        # 2,101,346,304 + 3,626,114,128 = 5,727,460,432 bytes. The public AWQ checkpoint has 5.73 GB.
        ("llama-3.1-8b", "int4", 5.334),
        ("llama-3.1-70b", "bf16", 131.42),
        ("llama-3.1-405b", "fp8", 381.9),  # 405.85e9 + 4.20e9 of the tables a second time
    ],
)
def test_weights(name: str, weight_format: str, gib: float) -> None:
    assert weight_bytes(public_shape(name), weight_format) / GIB == pytest.approx(gib, rel=0.001)


@in_one_test(
    ("name", "kib_per_token"),
    [
        ("llama-3.1-8b", 128),  # 2 x 32 layers x 8 heads x 128 x 2 bytes: 0.125 MiB
        ("llama-2-7b", 512),  # without grouped-query attention: 2 x 32 x 32 x 128 x 2
        ("llama-3.1-70b", 320),  # 2 x 80 x 8 x 128 x 2
        ("deepseek-v3", 68.625),  # 61 layers x 576 x 2 bytes
        ("falcon-7b", 8),  # one head of 64: 2 x 32 x 64 x 2
    ],
)
def test_cache_of_a_token(name: str, kib_per_token: float) -> None:
    memory = InferenceMemory(serving(name, context_length=1000, sequences=4))
    assert memory.cache / 4000 / 1024 == kib_per_token


def test_an_fp8_cache_has_half_the_size() -> None:
    wide, narrow = (InferenceMemory(serving(sequences=16, kv_format=each)).need(ALONE) for each in (None, "fp8"))
    assert narrow == wide._replace(cache=wide.cache / 2)


def test_an_encoder_keeps_no_cache() -> None:
    assert InferenceMemory(serving("bert-base")).need(ALONE).cache == 0


def test_parts_of_one_device_by_hand() -> None:
    parts = {part.name: part.gib for part in InferenceMemory(serving(sequences=16)).parts(ALONE)}
    # 16 x 4096 tokens request 65536 at once. 8192 are processed: 8192 x 2 bytes x (4 x 4096 + 4 x 14336) =
    # 1,207,959,552 bytes, and fp32 scores of 16 x 128256 = 8,208,384 bytes.
    assert parts == pytest.approx(
        {"weights": 14.958, "KV cache": 8.0, "activations": (1_207_959_552 + 8_208_384) / GIB, "overhead": 0.5},
        rel=1e-4,
    )


@in_one_test(
    ("name", "tensor", "cores", "share"),
    [
        ("llama-3.1-8b", 1, 1, 1),
        ("llama-3.1-8b", 4, 1, 1 / 4),
        ("llama-3.1-8b", 16, 1, 1 / 8),  # 8 heads: with more devices, they are stored twice
        ("falcon-7b", 8, 1, 1),  # one head: stored on each device
        ("deepseek-v3", 8, 1, 1),  # latent: stored on each device
        ("llama-3.1-8b", 1, 2, 1),
        ("llama-3.1-70b", 12, 2, 1 / 4),  # 24 cores and 8 heads: one per core, each stored three times
        ("llama-2-7b", 12, 2, 2 * 2 / 32),  # 32 heads are padded to 48: two per core
        ("llama-3.1-8b", 16, 2, 1 / 4),  # 32 cores and 8 heads: one per core, so a device has two
    ],
)
def test_share_of_the_cache(name: str, tensor: int, cores: int, share: float) -> None:
    assert InferenceMemory(serving(name, cores=cores)).cache_share(tensor) == pytest.approx(share)


def test_padded_heads_have_weights() -> None:
    """Llama 3 70B on 24 cores: 64 query heads become 72, and each of 8 key-value heads is stored three times.

    A head has 8192 x 128 numbers in each of two matrices of 80 layers, 2 bytes each.
    """
    memory = InferenceMemory(serving("llama-3.1-70b", cores=2))
    assert memory.padding(12) == 80 * 8192 * 128 * 2 * 2 * (8 + 16)
    assert memory.padding(4) == 0  # 8 cores
    whole = memory.weights + memory.padding(12)
    assert memory.need(parallelism(1, 12, 1, "none")).weights == pytest.approx(whole / 12)
    weights = memory.parts(Parallelism(data=1, tensor=12, pipeline=1, sharding="none"))[0]
    assert "7.5 GiB of repeated or empty heads" in weights.how
    assert InferenceMemory(serving("deepseek-v3")).padding(8) == 0


@in_one_test(
    ("length", "sequences", "graphs", "tokens"),
    [(512, 8, True, 4096), (512, 64, True, 16_384), (512, 64, False, 32_768), (32_768, 2, True, 32_768)],
)
def test_a_server_of_an_encoder_reads_some_tokens_at_once(
    length: int, sequences: int, graphs: bool, tokens: int
) -> None:
    """On GPUs. Neuron compiles the model for all sequences."""
    memory = InferenceMemory(serving("bert-base", context_length=length, sequences=sequences, graphs=graphs))
    assert memory.tokens(ALONE) == tokens


def test_spread_experts_are_on_one_device_and_everything_else_is_on_all() -> None:
    """DeepSeek V3 in fp8: 654e9 of 671e9 parameters in experts. 100 sequences are 13 of a device, not repeated."""
    memory = InferenceMemory(serving("deepseek-v3", weight_format="fp8", sequences=100))
    layout = Parallelism(data=8, tensor=1, pipeline=1, sharding="none", expert=8)
    shared, experts = memory.weights - 653.9e9, 653.9e9
    assert memory.need(layout).weights == pytest.approx(shared + experts / 8, rel=0.001)
    alone = memory.need(ALONE)
    assert memory.need(layout).cache == pytest.approx(alone.cache * 13 / 100)
    assert memory.need(Parallelism(data=1, tensor=8, pipeline=1, sharding="none")).cache == alone.cache
    assert memory.parts(layout)[0].how == "671e9 parameters in fp8, 654e9 of them in experts / 8 devices"


# --- training


@in_one_test(
    ("optimizer", "precision", "bytes_each"),
    [
        ("adamw", "bf16", 18),  # 2 + 4 + (4 + 8)
        ("adamw", "fp16", 18),
        ("adamw", "fp32", 16),  # 4 + 4 + 8
        ("adamw-8bit", "bf16", 12),
        ("sgd-momentum", "bf16", 14),
        ("sgd", "bf16", 10),
    ],
)
def test_bytes_a_parameter(optimizer: str, precision: str, bytes_each: int) -> None:
    need = TrainingMemory(training_run(optimizer=optimizer, precision=precision)).need(ALONE)
    assert need.weights + need.gradients + need.optimizer == bytes_each * LLAMA.parameters
    assert need.gathered == 0


@in_one_test(
    ("sharding", "bytes_each"),
    [
        ("none", 18),
        ("zero-1", 2 + 4 + 12 / 8),
        ("zero-2", 2 + (4 + 12) / 8),
        ("zero-3", 16 / 8),  # 16-bit weights only of the gathered layer
    ],
)
def test_sharding_over_eight_devices(sharding: str, bytes_each: float) -> None:
    need = TrainingMemory(training_run()).need(parallelism(8, 1, 1, sharding))
    assert need.weights + need.gradients + need.optimizer == pytest.approx(bytes_each * LLAMA.parameters)
    # ZeRO-3 gathers the largest unit, here one table of 128,256 x 4096 parameters, at 4 bytes.
    assert need.gathered == (4 * 128_256 * 4096 if sharding == "zero-3" else 0)


def test_activations_recomputed() -> None:
    need = TrainingMemory(training_run()).need(ALONE)
    tokens = 2048
    boundaries = 2 * tokens * 4096 * 32  # 2 sbh per layer
    layer = tokens * (18 * 4096 + 2 * 4 * 14336)  # 18 h, and 8 bytes for each unit of the gated MLP's width
    output = 12 * tokens * 128256  # released before a layer is recomputed
    assert output > layer
    assert need.activations == boundaries + output
    long = TrainingMemory(replace(training_run(), shape=replace(LLAMA, vocabulary=1000))).need(ALONE)
    assert long.activations == boundaries + layer


def test_kept_activations_are_there_with_the_output() -> None:
    need = TrainingMemory(training_run(checkpointing=False)).need(ALONE)
    assert need.activations == 32 * 2048 * (18 * 4096 + 2 * 4 * 14336) + 12 * 2048 * 128256


def test_a_plain_layer_is_that_of_the_paper() -> None:
    """Korthikanti et al., equation 2: sbh (34 + 5 as/h), for an MLP with four times the width."""
    shape = replace(public_shape("gpt2"), intermediate_size=4 * 768, vocabulary=None)
    plain = {"sequence_length": 1024, "batch_size": 4, "checkpointing": False}
    sbh, scores = 1024 * 4 * 768, 5 * 12 * 1024 * 1024 * 4
    for fused, expected in ((True, 34 * sbh), (False, 34 * sbh + scores)):
        memory = TrainingMemory(replace(training_run("gpt2", fused_attention=fused, **plain), shape=shape))
        assert memory.need(ALONE).activations == 12 * expected


def test_tensor_parallelism_divides_everything_but_the_overhead_of_it() -> None:
    memory = TrainingMemory(training_run())
    one, four = memory.need(ALONE), memory.need(parallelism(1, 4, 1, "none"))
    assert [4 * part for part in four] == pytest.approx(list(one))


def test_a_pipeline_divides_layers_and_keeps_as_many_activations() -> None:
    memory = TrainingMemory(training_run())
    one, two = memory.need(ALONE), memory.need(parallelism(1, 1, 2, "none"))
    tables = 1_050_673_152
    assert two.weights == 2 * ((LLAMA.parameters - tables) / 2 + tables)
    assert two.activations == one.activations


def test_adapters_by_hand() -> None:
    need = TrainingMemory(training_run(method="lora")).need(ALONE)
    # Rank 16 over 32 layers: q and o 2 x (4096 + 4096), k and v 2 x (4096 + 1024), MLP 3 x (4096 + 14336).
    adapters = 16 * 32 * (2 * 8192 + 2 * 5120 + 3 * 18432)
    assert adapters == 41_943_040  # PEFT prints this for the model and rank
    assert need.weights == 2 * LLAMA.parameters + 4 * adapters
    assert (need.gradients, need.optimizer) == (4 * adapters, 8 * adapters)


def test_qlora_keeps_the_layers_in_four_bits() -> None:
    need = TrainingMemory(training_run(method="qlora")).need(ALONE)
    tables = 1_050_673_152
    frozen = 0.515875 * (LLAMA.parameters - tables) + 2 * tables
    assert need.weights == pytest.approx(frozen + 4 * 41_943_040)


@pytest.mark.parametrize(("method", "bytes_each"), [("lora", 2.0), ("qlora", 0.515875)])
def test_frozen_layers_are_gathered_at_their_own_width(method: str, bytes_each: float) -> None:
    """The largest unit, a table, twice at the bytes of an average parameter: one in use, the next one loading."""
    tables = 1_050_673_152
    average = (bytes_each * (LLAMA.parameters - tables) + 2 * tables) / LLAMA.parameters
    memory = TrainingMemory(training_run(method=method))
    assert memory.need(parallelism(8, 1, 1, "zero-3")).gathered == pytest.approx(average * tables)
    assert memory.need(parallelism(8, 2, 1, "zero-3")).gathered == pytest.approx(average * tables / 2)
    assert memory.need(parallelism(8, 1, 1, "zero-2")).gathered == 0


def test_the_largest_batch_by_hand() -> None:
    """Activations grow with the batch, and so does the reserve of a twentieth; the rest stays the same."""
    memory, layout = TrainingMemory(training_run()), Parallelism(data=8, tensor=1, pipeline=1, sharding="zero-3")
    need = memory.need(parallelism(8, 1, 1, "zero-3"))
    each = need.activations * 1.05
    rest = sum(need) - each
    for sequences, most in ((1, 1), (3.9, 2), (4.1, 4), (7.9, 4), (8.1, 8)):
        assert memory.most_batches(layout, rest + sequences * each, 0) == most
    assert sum(memory.need(parallelism(8, 1, 1, "zero-3"), batches=4)) == pytest.approx(rest + 4 * each)
    assert sum(part.gib for part in memory.parts(layout, batches=4)) == pytest.approx((rest + 4 * each) / GIB)


def test_parts_say_how_they_are_computed() -> None:
    layout = Parallelism(data=8, tensor=1, pipeline=1, sharding="zero-3")
    parts = {part.name: part.how for part in TrainingMemory(training_run()).parts(layout)}
    assert parts["optimizer"] == "8.03e9 parameters x 12 bytes (adamw) / 8 data-parallel"
    assert set(parts) == {"gathered layer", "gradients", "optimizer", "activations", "overhead"}


def test_a_loss_in_chunks_keeps_a_sixth_of_the_output() -> None:
    whole, chunks = (
        TrainingMemory(training_run(checkpointing=False, chunked_loss=each)).need(ALONE) for each in (False, True)
    )
    assert whole.activations - chunks.activations == 10 * 2048 * 128256


def need_of(layout: Parallelism, **said: Any) -> float:
    return sum(TrainingMemory(training_run(**said)).need(layout))


OFFLOADS = [("optimizer",), ("weights",), ("activations",), ("optimizer", "weights", "activations")]


@in_one_test("offload", OFFLOADS)
def test_offloading_never_needs_more_of_a_device(offload: tuple[Any, ...]) -> None:
    """For every model, method and layout. Offloaded parts are in the node, where they take at least their size."""
    for name, method, checkpointing in (
        ("llama-3.1-8b", "full", True),
        ("llama-3.1-8b", "lora", False),
        ("llama-3.1-8b", "qlora", "selective"),
        ("bert-base", "full", False),
    ):
        for sharding in ("none", "zero-1", "zero-2", "zero-3"):
            for layout in (
                parallelism(1, 1, 1, sharding),
                parallelism(8, 1, 1, sharding),
                parallelism(4, 2, 2, sharding),
            ):
                run = training_run(name, method=method, checkpointing=checkpointing)
                on_host = TrainingMemory(replace(run, offload=offload))
                all_on_device = TrainingMemory(run)
                assert sum(on_host.need(layout)) <= sum(all_on_device.need(layout))
                assert on_host.host_bytes(layout) >= 0 == all_on_device.host_bytes(layout)


def test_offloading_by_hand() -> None:
    """ZeRO-2 with the optimizer on the CPU keeps 2 bytes per parameter, ZeRO-3 with weights too only a gathered unit.

    Source: https://github.com/deepspeedai/DeepSpeed/blob/master/docs/code-docs/source/memory.rst
    """
    layout, parameters = parallelism(8, 1, 1, "zero-2"), LLAMA.parameters
    some = TrainingMemory(training_run(offload=("optimizer",)))
    assert some.need(layout).weights == 2 * parameters
    assert some.need(layout).optimizer == 0
    assert some.host_bytes(layout) == pytest.approx(1.5 * 16 * parameters / 8)
    layout = parallelism(8, 1, 1, "zero-3")
    assert some.need(layout).weights == 2 * parameters / 8
    most = TrainingMemory(training_run(offload=("optimizer", "weights")))
    assert most.need(layout)[:4] == (0, 4 * 128256 * 4096, 0, 0)
    assert most.host_bytes(layout) == pytest.approx(1.5 * 18 * parameters / 8)
    kept = TrainingMemory(training_run(offload=("activations",)))
    boundaries = 2 * 2048 * 4096
    saved = TrainingMemory(training_run()).need(layout).activations - kept.need(layout).activations
    assert saved == kept.host_bytes(layout) == 30 * boundaries


def test_everything_in_16_bits_by_hand() -> None:
    need = TrainingMemory(training_run(mixed=False)).need(ALONE)
    assert (need.weights, need.gradients, need.optimizer) == tuple(each * LLAMA.parameters for each in (2, 2, 4))
    sharded = TrainingMemory(training_run(mixed=False)).need(parallelism(8, 1, 1, "zero-3"))
    assert sharded.weights == LLAMA.parameters / 4
    for optimizer in ("adamw", "adamw-8bit", "sgd", "sgd-momentum"):
        assert need_of(ALONE, mixed=False, optimizer=optimizer) < need_of(ALONE, optimizer=optimizer)


def test_selective_checkpointing_is_between_all_and_nothing() -> None:
    for name in ("llama-3.1-8b", "bert-base", "qwen3-30b-a3b", "gpt2"):
        most, some, least = (need_of(ALONE, name=name, checkpointing=each) for each in (False, "selective", True))
        assert least < some < most
    kept = 2 * 2048 * (2 * 4096 + 2 * 4096 + 8 * 128 + 14336) * 32
    selective, whole = (TrainingMemory(training_run(checkpointing=each)).need(ALONE) for each in ("selective", True))
    assert selective.activations - whole.activations == kept - 2 * 2048 * 4096 * 32


def test_adapters_grow_with_their_rank() -> None:
    ranks = [TrainingMemory(training_run(method="lora", rank=each)).trained for each in (8, 16, None)]
    assert ranks == [ranks[1] / 2, ranks[1], ranks[1]]

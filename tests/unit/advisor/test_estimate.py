"""Speeds of fits: hand-computed figures of communication, pipelines and replicas."""

from __future__ import annotations

from typing import Any

import pytest

from eks_hardware.advisor.fitting.fit import Fitter, fit
from eks_hardware.advisor.model import Fit, Parallelism, Request
from eks_hardware.advisor.speed.cheapest import cheapest
from eks_hardware.advisor.speed.estimate import Speed, attended_tokens, speed, training_pass
from eks_hardware.advisor.speed.exchange import exchange, network_gbps
from eks_hardware.catalogue import load
from eks_hardware.catalogue.performance import utilization
from helpers.advisor import asking, public_shape
from helpers.cases import in_one_test
from helpers.speeds import delay_of, share_of

REGION = "us-east-1"


def fitted(request: Request, name: str) -> Fit:
    found = fit(request, load().get(name), REGION)
    assert isinstance(found, Fit), found
    return found


def with_layout(found: Fit, **layout: Any) -> Fit:
    usual: dict[str, Any] = {"data": 1, "tensor": 1, "pipeline": 1, "sharding": "none"}
    parallelism = Parallelism(**usual | layout)
    return found._replace(parallelism=parallelism, devices=parallelism.devices)


# The sum of the cards, except for types where EC2 states another total: g6e has it on each card.
@in_one_test(
    ("name", "gbps"),
    [
        ("p4d.24xlarge", 400),
        ("p5.48xlarge", 3200),
        ("p6-b200.48xlarge", 3200),
        ("p6-b300.48xlarge", 6400),  # 16 cards of 400; the one of 350 has no EFA
        ("g6e.24xlarge", 200),
        ("g6e.48xlarge", 400),
        ("trn1.32xlarge", 800),
        ("p6e-gb200.36xlarge", None),
    ],
)
def test_network_of_a_node(name: str, gbps: float | None) -> None:
    assert network_gbps(load().get(name)) == gbps


TRAINING = {"task": "training", "model": {"parameters": "70B"}}


def test_fully_sharded_weights_cross_the_network_three_times() -> None:
    """70e9 x 2 bytes x 3 over 400 Gbps, which are 50 GB/s."""
    request = asking(REGION, **TRAINING)
    found = with_layout(fitted(request, "p4d.24xlarge")._replace(nodes=5), data=40, sharding="zero-3")
    crossed = exchange(request, found)
    assert crossed.seconds == pytest.approx(70e9 * 2 * 3 / 50e9)
    assert "400 Gbps" in crossed.over


def test_frozen_weights_cross_it_twice() -> None:
    whole, adapters = (
        asking(REGION, **TRAINING),
        asking(REGION, task="fine-tuning", method="lora", model={"parameters": "70B"}),
    )
    found = with_layout(fitted(whole, "p4d.24xlarge")._replace(nodes=5), data=40, sharding="zero-3")
    assert exchange(adapters, found).seconds == pytest.approx(exchange(whole, found).seconds * 2 / 3)


def test_vendors_count_both_directions_of_a_link() -> None:
    """8 H100 of one node gather 70e9 x 2 bytes and scatter them once: NVLink's 900 GB/s are 450 in one direction."""
    request = asking(REGION, **TRAINING)
    found = with_layout(fitted(request, "p5.48xlarge")._replace(nodes=1), data=8, sharding="zero-3")
    assert exchange(request, found).seconds == pytest.approx(70e9 * 2 * 3 / 450e9)
    # Pairs of tensor parallel devices have half of each layer.
    pairs = with_layout(found, data=4, tensor=2, sharding="zero-3")
    assert exchange(request, pairs).seconds == pytest.approx(70e9 * 2 * 3 / 450e9 / 2)


def test_the_measured_speed_of_links_counts_where_it_is_far_below_the_peak() -> None:
    """PCIe of T4 and A10G peaks at 16 and 32 GB/s in one direction; all-reduce on four A10G reaches 2.6."""
    request = asking(REGION, task="fine-tuning", method="qlora", model={"parameters": "13B"})
    for name in ("g4dn.12xlarge", "g5.12xlarge"):
        found = with_layout(fitted(request, name)._replace(nodes=1), data=4, sharding="zero-3")
        crossed = exchange(request, found)
        assert crossed.seconds >= 13e9 * 0.5 * 2 / 2.6e9
        assert crossed.over == "PCIe between the devices, 2.6 GB/s in one direction (fitted)"
        assert crossed.unknown == ()


def test_a_link_of_unknown_bandwidth_counts_as_the_slowest() -> None:
    """No source has the link from Trainium to the memory of its node: 32 GB/s, 16 of them in each direction."""
    said = {"task": "training", "model": {"parameters": "8B"}, "batch_size": 1, "offload": ["weights"]}
    request = asking(REGION, **said)
    found = with_layout(fitted(request, "trn1.32xlarge"), data=16, tensor=2)
    crossed = exchange(request, found)
    assert crossed.seconds == pytest.approx(2 * 2 * 8e9 / 2 / 16e9)
    assert crossed.unknown == (
        "the bandwidth of PCIe to node memory is unknown: 32 GB/s is assumed, the lowest of any accelerator",
    )


def test_stages_on_nodes_of_their_own_share_no_weights() -> None:
    """Each of 4 nodes has a quarter of the layers; its 8 devices gather them from each other."""
    request = asking(REGION, **TRAINING)
    found = with_layout(fitted(request, "p5.48xlarge")._replace(nodes=4), data=8, pipeline=4, sharding="zero-3")
    crossed = exchange(request, found)
    assert crossed.seconds == pytest.approx(70e9 * 2 * 3 / 4 / 450e9)
    assert "NVLink" in crossed.over


def test_other_layouts_exchange_nothing_in_a_pass() -> None:
    request = asking(REGION, **TRAINING)
    found = fitted(request, "p5.48xlarge")
    for sharding in ("none", "zero-1", "zero-2"):
        assert exchange(request, with_layout(found, data=8, sharding=sharding)).seconds == 0


def test_spread_experts_are_not_gathered() -> None:
    """Experts over the 16 devices of two nodes: a node gathers half of them, and tokens cross the network."""
    request = asking(REGION, task="training", model={"name": "qwen3-235b-a22b"}, sequence_length=4096)
    found = fitted(request, "p5.48xlarge")._replace(nodes=8, batch_size=1)
    layout: dict[str, Any] = {"data": 64, "sharding": "zero-3"}
    whole, spread = (
        exchange(request, with_layout(found, **layout, **more)) for more in ({"expert": 1}, {"expert": 16})
    )
    held = request.shape.parameters - request.shape.routed_parameters / 2
    tokens = 2 * 94 * (180e-6 + 4096 * 8 / 2 * 4096 * (2 + 2) / (0.82 * 50e9))
    assert whole.seconds == pytest.approx(3 * 2 * request.shape.parameters / 400e9)
    assert spread.seconds == pytest.approx(3 * 2 * held / 400e9 + tokens)


def test_a_slow_network_makes_many_small_nodes_slow() -> None:
    """The same GPUs in nodes with 25 Gbps or 400: computing takes the same time, communication does not."""
    request = asking(REGION, **TRAINING)
    small = with_layout(fitted(request, "g6e.8xlarge")._replace(nodes=48), data=48, sharding="zero-3")
    large = with_layout(fitted(request, "g6e.48xlarge")._replace(nodes=6), data=48, sharding="zero-3")
    slow, quick = speed(request, small), speed(request, large)
    assert slow.tokens_per_second
    assert quick.tokens_per_second
    assert slow.tokens_per_second < quick.tokens_per_second / 4
    assert any("25 Gbps" in each for each in slow.assumptions)


def test_hours_of_a_run() -> None:
    request = asking(REGION, task="training", model={"parameters": "7B"}, training_tokens="100B")
    found = speed(request, fitted(request, "p4d.24xlarge"))
    assert found.tokens_per_second
    assert found.hours == pytest.approx(100e9 / found.tokens_per_second / 3600)
    # 8 FLOPs per parameter and token with recomputation on 8 x 312 TFLOPS, without the table of the input. Plus four
    # passes of attention, to 1024 of 2048 tokens on average, over 32 layers with a width of 4096.
    row = utilization("training", "gpu", "A100")
    assert row is not None
    assert "half_width" in row
    reached = row["share"] * 4096 / (4096 + row["half_width"])
    matrices = 8 * (7e9 - request.shape.looked_up) / reached
    attention = 4 * 4 * 4096 * 32 * 1024 / share_of("training attention", "gpu", "A100")
    assert found.tokens_per_second == pytest.approx(8 * 312e12 / (matrices + attention))


def test_long_sequences_take_longer() -> None:
    """131,072 tokens: attention has 2 x 32 x 4096 x 131,072 FLOPs per pass, plus 2 x 8e9 for the parameters."""
    said = {"task": "training", "model": {"parameters": "8B"}}
    short, long = asking(REGION, **said, sequence_length=1), asking(REGION, **said, sequence_length=131_072)
    found = with_layout(fitted(short, "p5.48xlarge"), data=8, sharding="zero-1")
    times = [(training_pass(each, found).tokens_per_second or 0) for each in (short, long)]
    row = utilization("training", "gpu", "H100")
    assert row is not None
    assert "half_width" in row
    slower = row["share"] * 4096 / (4096 + row["half_width"]) / share_of("training attention", "gpu", "H100")
    more = 32 * 4096 * 131_072 / (8e9 - short.shape.looked_up) * slower
    assert times[0] / times[1] == pytest.approx(1 + more, rel=1e-3)


@in_one_test(
    ("model", "length", "tokens"),
    [
        ("llama-3.1-8b", 1000, 32 * 500),
        ("bert-base", 512, 12 * 512),  # every token attends to all
        # 42 layers, every other one with a window of 4096: half of 8192 tokens attend to less than it, 2048 on average.
        ("gemma-2-9b", 8192, 21 * 4096 + 21 * (2048 + 4096) / 2),
    ],
)
def test_attended_tokens(model: str, length: int, tokens: float) -> None:
    assert attended_tokens(public_shape(model), length) == pytest.approx(tokens)


# --- the cheapest layout


def smallest_and_cheapest(name: str, **said: Any) -> tuple[Fit, Fit]:
    """Return the fit on the fewest nodes, and the cheapest one."""
    request, kind = asking(REGION, **said), load().get(name)
    smallest, best = Fitter(request).on(kind), Fitter(request, choose=cheapest).on(kind)
    assert isinstance(smallest, Fit)
    assert isinstance(best, Fit)
    return smallest, best


def test_a_larger_model_is_not_cheaper_to_train_on_more_nodes() -> None:
    hours = []
    for size in ("405B", "410B"):
        said = {"task": "training", "framework": "pytorch", "model": {"parameters": size}}
        smallest, best = smallest_and_cheapest("p5.48xlarge", **said)
        request = asking(REGION, **said)
        per_token = [each.devices / _known(speed(request, each)) for each in (smallest, best)]
        assert per_token[1] < per_token[0] * 0.75
        assert smallest.nodes <= best.nodes <= 2 * smallest.nodes
        assert best.memory_gib <= best.available_gib
        hours.append(per_token[1])
    assert hours[0] < hours[1]


def test_larger_batches_hide_the_network() -> None:
    """405B on nodes with 3200 Gbps: 405e9 x 2 bytes x 3 take 6.1 s, longer than computing on the fewest nodes."""
    smallest, best = smallest_and_cheapest(
        "p5.48xlarge", task="training", framework="pytorch", model={"parameters": "405B"}
    )
    request = asking(REGION, task="training", framework="pytorch", model={"parameters": "405B"})
    one = training_pass(request, best)
    assert training_pass(request, smallest).waits
    assert not one.waits
    assert one.tokens == (best.batch_size or 0) * 2048 * best.parallelism.data
    assert one.tokens > training_pass(request, smallest).tokens
    assert one.exchanged.seconds == pytest.approx(405e9 * 2 * 3 / 400e9)
    assert any(part.how.startswith(f"{best.batch_size} x 2048 tokens") for part in best.memory)


def test_tensor_parallel_devices_wait_for_each_other_in_training() -> None:
    """Forward, backward and recomputed: two exchanges per layer each, over NVLink or over PCIe."""
    request = asking(REGION, **{**TRAINING, "model": {"parameters": "8B"}})
    for name, least in (("p5.48xlarge", 0.02), ("g6e.48xlarge", 0.3)):
        found = fitted(request, name)._replace(nodes=1)
        alone, four = (with_layout(found, data=8 // each, tensor=each) for each in (1, 4))
        quick, slow = (training_pass(request, each) for each in (alone, four))
        assert (slow.tokens_per_second or 0) < (quick.tokens_per_second or 0) / (1 + least), name
        assert any("tensor-parallel devices add" in each for each in slow.computing.assumptions)


def test_idle_stages_make_a_pipeline_slower() -> None:
    """With 4 stages and 16 batches, the assumption for a workload that does not say, 3/16 are idle."""
    said = {**TRAINING, "framework": "pytorch", "model": {"parameters": "70B"}}
    found = fitted(asking(REGION, **said), "p5.48xlarge")
    found = with_layout(found._replace(nodes=4), data=1, tensor=8, pipeline=4)

    def seconds(batches: int | None, fit: Fit = found) -> float:
        return training_pass(asking(REGION, **said, gradient_accumulation=batches), fit).computing.value or 0.0

    work = seconds(10**6)
    assert seconds(None) == seconds(16) == pytest.approx(work * (1 + 3 / 16), rel=1e-4)
    times = [seconds(each) for each in (1, 2, 8, 64)]
    assert times == sorted(times, reverse=True)
    assert times[-1] > work
    without = with_layout(found, data=4, tensor=8)
    assert seconds(1, without) == seconds(None, without)


def test_recomputing_more_takes_longer() -> None:
    """6, 7 and 8 FLOPs per parameter and token; attention is recomputed only with everything else."""
    said = {"task": "training", "model": {"parameters": "8B"}, "sequence_length": 1}
    found = with_layout(fitted(asking(REGION, **said), "p5.48xlarge"), data=8)
    times = [
        training_pass(asking(REGION, **said, activation_checkpointing=each), found).computing.value or 0.0
        for each in (False, "selective", True)
    ]
    assert times == pytest.approx([times[0], times[0] * 7 / 6, times[0] * 8 / 6], rel=1e-3)


def test_fp8_is_faster_than_bf16_but_not_twice_as_fast() -> None:
    """Attention stays in 16 bits, and narrow layers reach less of the FP8 peak."""
    for size in ("8B", "70B"):
        said = {"task": "training", "model": {"parameters": size}, "sequence_length": 8192}
        found = with_layout(fitted(asking(REGION, **said), "p5.48xlarge"), data=8)
        wide, narrow = (
            training_pass(asking(REGION, **said, precision=each), found).tokens_per_second or 0.0
            for each in ("bf16", "fp8")
        )
        assert wide < narrow < 2 * wide


def test_offloading_never_makes_training_faster() -> None:
    """The link of an H100 has 64 GB/s in each direction: weights cross it twice in a pass, gradients once."""
    said = {**TRAINING, "model": {"parameters": "8B"}, "batch_size": 1}
    found = with_layout(fitted(asking(REGION, **said), "p5.48xlarge"), data=8, sharding="zero-3")
    plain = training_pass(asking(REGION, **said), found)
    for offload in (["optimizer"], ["weights"], ["activations"], ["optimizer", "weights", "activations"]):
        one = training_pass(asking(REGION, **said, offload=offload), found)
        assert (one.tokens_per_second or 0) <= (plain.tokens_per_second or 0)
        assert one.exchanged.seconds >= plain.exchanged.seconds
    alone = with_layout(found, data=8)
    weights = training_pass(asking(REGION, **said, offload=["weights"]), alone).exchanged
    assert weights.over == "PCIe to node memory, 128 GB/s"
    assert weights.seconds == pytest.approx(2 * 2 * 8e9 / 64e9)
    slower = speed(asking(REGION, **said, offload=["optimizer"]), alone)
    assert "the update of the offloaded optimizer on the CPU is not included" in slower.assumptions


def test_a_given_batch_is_kept() -> None:
    said = {"task": "training", "framework": "pytorch", "model": {"parameters": "405B"}, "batch_size": 1}
    best = smallest_and_cheapest("p5.48xlarge", **said)[1]
    assert best.batch_size == 1


@in_one_test(
    ("name", "said"),
    [
        ("p5.48xlarge", {"task": "training", "model": {"parameters": "13B"}}),
        ("g4dn.12xlarge", {"task": "training", "model": {"parameters": "1B"}}),
        ("c7i.8xlarge", {"task": "training", "model": {"parameters": "100M"}}),
        ("p5.48xlarge", {"task": "inference", "model": {"parameters": "1000B"}}),
    ],
)
def test_where_nothing_waits_the_fewest_nodes_are_taken(name: str, said: dict[str, Any]) -> None:
    smallest, best = smallest_and_cheapest(name, **said)
    assert smallest == best


SERVING = {"task": "inference", "model": {"parameters": "8B"}, "context_length": 4096}


def test_replicas_of_a_node_work_side_by_side() -> None:
    request = asking(REGION, **SERVING)
    found = fitted(request, "p5.48xlarge")
    one = speed(request, found._replace(replicas_per_node=1))
    eight = speed(request, found._replace(replicas_per_node=8))
    assert eight.tokens_per_second == pytest.approx(8 * _known(one))
    assert eight.per_replica == one.per_replica
    assert "all 8 replicas of a node in use" in eight.assumptions


def test_stages_of_a_pipeline_do_not_make_one_sequence_quicker() -> None:
    alone, many = asking(REGION, **SERVING), asking(REGION, **SERVING, concurrent_sequences=64)
    found = fitted(alone, "p5.48xlarge")
    one, staged = with_layout(found), with_layout(found, pipeline=4)
    assert speed(alone, staged).per_token_ms == pytest.approx(speed(alone, one).per_token_ms)
    assert _known(speed(many, staged)) > _known(speed(many, one))
    wide = speed(alone, with_layout(found, tensor=4))
    single = speed(alone, one).per_token_ms or 0
    assert single / 4 < (wide.per_token_ms or 0) < single, (
        "layers take the same time, and devices exchange their results"
    )


def test_nothing_is_known_of_the_speed_of_cpus_and_of_parts_of_gpus() -> None:
    request = asking(REGION, task="inference", model={"parameters": "110M", "architecture": "bert"})
    for name in ("c7i.2xlarge", "g6f.2xlarge"):
        found = speed(request, fitted(request, name))
        assert (found.tokens_per_second, found.first_token_ms) == (None, None)
        assert any(each.startswith("unknown") for each in found.assumptions)


def _known(found: Speed) -> float:
    assert found.per_replica
    return found.per_replica


# --- what a request adds to the formulas


def test_neuron_reads_the_cache_that_it_is_compiled_for() -> None:
    """The first token of an answer takes as long as the last: the cache of 4096 tokens, not of 3072 on average."""
    request = asking(REGION, **SERVING, concurrent_sequences=4)
    found = speed(request, with_layout(fitted(request, "inf2.48xlarge"), tensor=12))
    assert "4 sequences at a time, 4,096 tokens each" in found.assumptions
    gpu = speed(request, fitted(request, "p5.48xlarge"))
    assert "4 sequences at a time, 3,072 tokens each" in gpu.assumptions


def test_an_fp8_cache_reads_half() -> None:
    said = {**SERVING, "concurrent_sequences": 64}
    wide, narrow = asking(REGION, **said), asking(REGION, **said, kv_cache_precision="fp8")
    found = fitted(wide, "p5.48xlarge")
    cache = wide.shape.kv_values(3072) * 64 / (3350e9 * share_of("decode"))
    saved = (speed(wide, found).per_token_ms or 0) - (speed(narrow, found).per_token_ms or 0)
    assert saved == pytest.approx(cache * 1000, rel=1e-3)


def test_a_server_reads_short_prompts_together() -> None:
    """Four prompts of 2048 tokens fill a pass. The layers of a pass start once."""
    alone, four = (asking(REGION, **SERVING, concurrent_sequences=each) for each in (1, 4))
    found = fitted(alone, "p5.48xlarge")
    one, many = speed(alone, found), speed(four, found)
    assert one.prompt_ms is not None
    assert many.prompt_ms is not None
    assert one.prompt_ms - many.prompt_ms == pytest.approx(32 * delay_of("layer") * 1000 * 3 / 4)
    assert one.first_token_ms == many.first_token_ms == pytest.approx(one.prompt_ms + delay_of("request") * 1000)


def test_devices_repeat_heads_that_they_cannot_share() -> None:
    """8 key-value heads on 16 devices are read twice."""
    request = asking(REGION, **SERVING, concurrent_sequences=64)
    found = fitted(request, "trn1.32xlarge")
    weights, cache = 2 * (8e9 - request.shape.looked_up), 2 * request.shape.kv_values(4096) * 64
    row = load().get("trn1.32xlarge").accelerator
    assert row is not None
    read = (weights + cache * 4) / (16 * 820e9 * share_of("decode", "neuron"))  # 32 cores for 8 heads
    per_token = speed(request, with_layout(found, tensor=16)).per_token_ms or 0
    exchanged = 2 * 2 * 64 * request.shape.hidden_size * 2 * 15 / 16 / (0.75 * 384e9 / 2)
    delays = request.shape.layers * (delay_of("layer", "neuron") + exchanged)
    assert per_token == pytest.approx((read + delays) * 1000, rel=1e-2)


def test_one_sequence_of_an_encoder_is_on_one_neuron_core() -> None:
    """Inferentia has four cores: four sequences take as long as one, and a GPU is not divided."""

    def milliseconds(name: str, sequences: int) -> float:
        asked = asking(
            REGION, task="inference", model={"name": "bert-base"}, context_length=512, concurrent_sequences=sequences
        )
        found = speed(asked, fitted(asked, name)).first_token_ms
        assert found is not None
        return found

    assert milliseconds("inf1.xlarge", 1) == pytest.approx(milliseconds("inf1.xlarge", 4))
    assert milliseconds("inf1.xlarge", 8) > 1.5 * milliseconds("inf1.xlarge", 4)
    assert milliseconds("g4dn.xlarge", 4) > 1.5 * milliseconds("g4dn.xlarge", 1)

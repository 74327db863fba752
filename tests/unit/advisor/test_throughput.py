"""Training time, response speed, token price: compared with hand-computed sums and published runs."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable
from typing import Any

import pytest

from eks_hardware import facts
from eks_hardware.advisor.speed.throughput import (
    Devices,
    Estimate,
    expert_exchange_seconds,
    served_tokens_per_second,
    usd_per_million_tokens,
)
from eks_hardware.catalogue.performance import delay, utilization
from eks_hardware.facts.schemas.catalogue import DelayRow, UtilizationRow
from helpers.cases import in_one_test
from helpers.paths import ROOT
from helpers.speeds import (
    PREFILL,
    TRAINING,
    decode_tokens_per_second,
    delay_of,
    encoding_seconds,
    prefill_seconds,
    share_of,
    training_seconds,
    value,
)

GUIDE = (ROOT / "docs" / "guides" / "throughput.md").read_text(encoding="utf-8")
DAY = 86_400
SHARE = share_of("training")  # of a GPU's peak
ATTENDING = share_of("training attention")  # the same for attention
READING = share_of("decode")  # of its memory bandwidth
COMPUTING = share_of("prefill")  # of its peak in inference

# A 10B model in BF16 on one device with round figures.
DECODE: Any = {
    "active_parameters": 10e9,
    "bytes_per_parameter": 2,
    "kv_bytes_per_token": 100_000,
    "context_length": 1000,
    "concurrent_sequences": 1,
    "count": 1,
    "bandwidth_gb_per_second_each": 1000,
    "peak_tflops_each": 1000,
}

H100: Any = {"bandwidth_gb_per_second_each": 3350, "peak_tflops_each": 989}
LLAMA_3_8B: Any = {"active_parameters": 8.03e9, "bytes_per_parameter": 2}
LLAMA_3_8B_KV = 2 * 32 * 8 * 128 * 2  # keys and values, layers, heads per layer, size of a head, bytes


# --- computed by hand


@in_one_test(
    ("changes", "flops"),
    [
        ({}, 6),
        ({"recompute": True}, 8),
        ({"adapters_only": True}, 4),
        ({"adapters_only": True, "recompute": True}, 6),
    ],
)
def test_training_by_hand(changes: dict[str, Any], flops: int) -> None:
    found = training_seconds(**TRAINING | changes)
    assert value(found) == pytest.approx(flops * 8e9 * 1e9 / (8 * 1000e12 * SHARE))
    assert found.assumptions[0].startswith(f"{flops} FLOPs per parameter and token")
    assert ("recomputed" in found.assumptions[0]) is changes.get("recompute", False)
    assert ("frozen" in found.assumptions[0]) is changes.get("adapters_only", False)


@in_one_test(
    ("changes", "passes"),
    [({}, 3), ({"recompute": True}, 4), ({"adapters_only": True}, 3), ({"adapters_only": True, "recompute": True}, 4)],
)
def test_attention_in_training_by_hand(changes: dict[str, Any], passes: int) -> None:
    """32 layers with a width of 4096, half of 131,072 tokens each: forward 4 x 4096 x 32 x 65,536 FLOPs per token."""
    plain = training_seconds(**TRAINING | changes)
    found = training_seconds(**TRAINING | {"attended_tokens": 32 * 65536} | changes)
    more = passes * 4 * 4096 * 32 * 65536 * 1e9 / (8 * 1000e12 * ATTENDING)
    assert value(found) - value(plain) == pytest.approx(more)
    start = f"attention within sequences, at {ATTENDING * 100:.3g}% of the peak, adds"
    assert plain.assumptions[1] == f"{start} 0%"
    assert found.assumptions[1] == f"{start} {more / value(plain) * 100:.3g}%"


def test_attention_in_training_is_that_of_narayanan() -> None:
    """https://arxiv.org/abs/2104.04473 §5.1: 96 B s l h^2 (1 + s / 6h + V / 16 l h), every token attends to all.

    Its parameters are 12 l h^2 and, for the output, which is not recomputed, 6 instead of 8 FLOPs of V h.
    """
    layers, width, length, vocabulary, batch = 96, 12288, 2048, 51200, 4
    inner = 1 / SHARE + length / (6 * width) / ATTENDING + vocabulary / (16 * layers * width) / SHARE
    needed = 96 * batch * length * layers * width**2 * inner / 312e12
    run = TRAINING | {"tokens": batch * length, "count": 1, "peak_tflops_each": 312, "attention_size": width}
    body = training_seconds(
        **run | {"active_parameters": 12 * layers * width**2, "attended_tokens": layers * length, "recompute": True},
    )
    output = training_seconds(**run | {"active_parameters": vocabulary * width})
    assert value(body) + value(output) == pytest.approx(needed)


@in_one_test(
    ("changes", "gigabytes"),
    [
        # 20 GB of weights and 0.1 GB of KV cache at 1000 GB/s
        ({}, 20.1),
        ({"concurrent_sequences": 10}, 21),
        ({"context_length": 0}, 20),
        ({"count": 4}, 20.1 / 4),
        ({"bytes_per_parameter": 0.5}, 5.1),
        # two sequences read each of the 4 x 10B parameters with probability 1 - 0.75^2
        ({"total_parameters": 40e9, "context_length": 0, "concurrent_sequences": 2}, 17.5 * 2),
        ({"total_parameters": 40e9, "context_length": 0}, 20),
        ({"total_parameters": 10e9, "context_length": 0, "concurrent_sequences": 2}, 20),
        # 4B are shared. 6B of 36B belong to a token's experts: two sequences read 1 - (5/6)^2 of them
        (
            {
                "total_parameters": 40e9,
                "shared_parameters": 4e9,
                "context_length": 0,
                "concurrent_sequences": 2,
            },
            (4 + 11) * 2,
        ),
    ],
)
def test_decoding_by_hand(changes: dict[str, Any], gigabytes: float) -> None:
    run = DECODE | changes
    expected = run["concurrent_sequences"] * 1000 * READING / gigabytes
    assert value(decode_tokens_per_second(**run)) == pytest.approx(expected)


def test_a_large_batch_computes_and_then_reads_the_cache() -> None:
    """2 FLOPs x 10B x 1000 sequences at 10 TFLOPS, then 1000 x 0.1 GB at 1000 GB/s; the weights are read meanwhile."""
    found = decode_tokens_per_second(**DECODE | {"concurrent_sequences": 1000, "peak_tflops_each": 10})
    assert value(found) == pytest.approx(1000 / (2 / COMPUTING + 0.1 / READING))


def test_layers_delay_a_step() -> None:
    plain, layered = decode_tokens_per_second(**DECODE), decode_tokens_per_second(**DECODE | {"layers": 40})
    more = 40 * delay_of("layer") + delay_of("sequence")
    assert 1 / value(layered) - 1 / value(plain) == pytest.approx(more)
    assert any("for starting 40 layers" in sentence for sentence in layered.assumptions)
    neuron = DECODE | {"kind": "neuron"}
    later = 1 / value(decode_tokens_per_second(**neuron | {"layers": 40})) - 1 / value(
        decode_tokens_per_second(**neuron)
    )
    assert later == pytest.approx(40 * delay_of("layer", "neuron"))


@in_one_test(
    ("name", "link", "gb_per_second"),
    [
        ("H100", 900, 450),  # vendors count both directions
        ("L40S", 64, 32),
        ("A10G", None, None),  # unknown: the row has what it reaches
    ],
)
def test_devices_exchange_the_results_of_layers(name: str, link: float | None, gb_per_second: float | None) -> None:
    """Twice a layer, four devices send 2 x 3/4 of 10 tokens x 5000 numbers x 2 bytes."""
    row = delay("exchange", "gpu", name)
    assert row is not None
    reached = row.get("gb_per_second", 0) if gb_per_second is None else row.get("link_share", 0) * gb_per_second
    run = DECODE | {"concurrent_sequences": 10, "count": 4, "name": name, "link_gb_per_second": link, "width": 5000}
    none = 10 / value(decode_tokens_per_second(**run))
    found = decode_tokens_per_second(**run | {"layers": 40})
    each = row["microseconds"] / 1e6 + 2 * 1.5 * 10 * 5000 * 2 / (reached * 1e9)
    others = 40 * delay_of("layer") + 10 * delay_of("sequence")
    assert 10 / value(found) - none == pytest.approx(40 * each + others)
    assert any("for exchanges between 4 devices" in sentence for sentence in found.assumptions)


@in_one_test(
    ("changes", "seconds"),
    [
        # 2 FLOPs x 10B x 1000 tokens at 1000 TFLOPS; reading 20 GB takes less
        ({}, 0.02 / COMPUTING),
        ({"prompt_tokens": 100}, 0.02 / READING),
        ({"count": 2}, 0.01 / COMPUTING),
        # 2 x 40 layers x 5000 x 1000 more FLOPs per token
        ({"attention_width": 40 * 5000}, (0.02 + 0.0004) / COMPUTING),
        # only the last of 1000 tokens passes the output of 1B
        ({"output_parameters": 1e9}, (0.018 + 2e-6) / COMPUTING),
        # ten prompts of 100 tokens in one pass read the weights once
        ({"prompt_tokens": 100, "prompts": 10}, 0.002 / COMPUTING),
    ],
)
def test_prefill_by_hand(changes: dict[str, Any], seconds: float) -> None:
    found = prefill_seconds(**PREFILL | changes)
    assert value(found) == pytest.approx(seconds)
    assert ("attention within the prompt is not counted" in found.assumptions) is ("attention_width" not in changes)


@in_one_test(
    ("tokens", "nodes", "microseconds"),
    [
        (128, 1, 49.7 + 64.2),
        (4096, 1, 1052.4 + 1396.7),
        (128, 2, 214.8 + 241.5),
        (128, 4, 229.1 + 335.0),
        (128, 8, 266.7 + 391.2),
        (4096, 2, 3196.7 + 5379.1),
        (4096, 4, 4619.0 + 8271.5),
        (4096, 8, 5334.3 + 9779.3),
    ],
)
def test_tokens_are_sent_to_their_experts_as_fast_as_measured_on_efa(
    tokens: int, nodes: int, microseconds: float
) -> None:
    """DeepSeek V3 on nodes of eight H200, with EFA: pplx-garden, docs/fabric-lib.md, dispatch and combine."""
    devices = Devices(
        count=8 * nodes, peak_tflops_each=None, link_gb_per_second=900, nodes=nodes, network_gb_per_second=50
    )
    found = expert_exchange_seconds(devices, width=7168, experts_of_token=8, tokens=tokens * 8 * nodes, sent_bytes=1)
    assert found * 1e6 == pytest.approx(microseconds, rel=0.05)


def test_neuron_computes_the_experts_of_a_prompt_one_by_one() -> None:
    run = PREFILL | {"kind": "neuron", "total_parameters": 40e9, "layers": 10, "experts": 8}
    found = prefill_seconds(**run)
    more = 10 * 8 * delay_of("expert in a prompt", "neuron")
    assert value(found) - value(prefill_seconds(**run | {"experts": 0})) == pytest.approx(more)
    assert any("8 experts of each layer, one after the other" in sentence for sentence in found.assumptions)


def test_encoding_by_hand() -> None:
    """4 sequences of 500 tokens: 2 x 10B and 4 x 40 x 1000 x 500 FLOPs per token."""
    run = {name: PREFILL[name] for name in PREFILL if name != "prompt_tokens"}
    found = encoding_seconds(**run, length=500, sequences=4, attention_width=40 * 1000)
    assert value(found) == pytest.approx(2000 * (20e9 + 4 * 40 * 1000 * 500) / (1000e12 * share_of("encoder")))


def test_served_tokens_by_hand() -> None:
    prefill = Estimate(value=0.5, assumptions=("a", "b"))
    decode = Estimate(value=100, assumptions=("b", "c"))
    found = served_tokens_per_second(output_tokens=150, prefill=prefill, decode=decode)
    assert value(found) == pytest.approx(150 / (0.5 + 1.5))
    assert found.assumptions[1:] == ("a", "b", "c")


@in_one_test(
    ("usd_per_hour", "tokens_per_second", "usd"),
    [
        (3.6, 1000, 1.0),
        (55.04, 20_000, 55.04 / 72),
        (0, 1000, 0),
        (None, 1000, None),
        (3.6, None, None),
        (None, None, None),
    ],
)
def test_price_of_a_million_tokens(
    usd_per_hour: float | None, tokens_per_second: float | None, usd: float | None
) -> None:
    found = usd_per_million_tokens(usd_per_hour, tokens_per_second)
    assert found == (None if usd is None else pytest.approx(usd))


# --- published runs


def test_gpt_3_on_1024_a100() -> None:
    """34 days: https://arxiv.org/abs/2104.04473 §5.1, 300B tokens at 140 TFLOPS per GPU with recomputation."""
    run = {"active_parameters": 175e9, "tokens": 300e9, "count": 1024, "peak_tflops_each": 140 / SHARE}
    assert value(training_seconds(**TRAINING | run | {"recompute": True})) / DAY == pytest.approx(34, abs=0.2)


def test_one_trillion_parameters_on_3072_a100() -> None:
    """84 days: the same source, 450B tokens at 163 TFLOPS per GPU."""
    run = {"active_parameters": 1e12, "tokens": 450e9, "count": 3072, "peak_tflops_each": 163 / SHARE}
    assert value(training_seconds(**TRAINING | run | {"recompute": True})) / DAY == pytest.approx(84, abs=1)


def test_llama_3_8b_on_one_h100_is_of_the_right_order() -> None:
    one = decode_tokens_per_second(
        **LLAMA_3_8B,
        **H100,
        kv_bytes_per_token=LLAMA_3_8B_KV,
        context_length=1024,
        concurrent_sequences=1,
        count=1,
    )
    assert 80 < value(one) < 3350e9 / 16.06e9
    many = decode_tokens_per_second(
        **LLAMA_3_8B,
        **H100,
        kv_bytes_per_token=LLAMA_3_8B_KV,
        context_length=1024,
        concurrent_sequences=128,
        count=1,
    )
    assert 2_000 < value(many) < 12_000


@in_one_test(
    ("devices", "parameters", "kv_bytes_per_token", "sequences", "tokens_per_second"),
    [
        (12, 70.6e9, 2 * 80 * 8 * 128 * 2, 1, 31.28),  # Llama 3 70B, inf2.48xlarge
        (16, 69e9, 2 * 80 * 8 * 128 * 2, 1, 39.29),  # Llama 2 70B, trn1.32xlarge
        (16, 69e9, 2 * 80 * 8 * 128 * 2, 4, 141.5),
    ],
)
def test_neuron_benchmarks(
    devices: int, parameters: float, kv_bytes_per_token: float, sequences: int, tokens_per_second: float
) -> None:
    """Within a quarter of AWS's tables for 70B models: about-neuron/benchmarks of aws-neuron-sdk."""
    found = decode_tokens_per_second(
        active_parameters=parameters,
        bytes_per_parameter=2,
        kv_bytes_per_token=kv_bytes_per_token,
        context_length=256,
        concurrent_sequences=sequences,
        count=devices,
        bandwidth_gb_per_second_each=820,
        peak_tflops_each=190,
        kind="neuron",
        layers=80,
        width=8192,
        link_gb_per_second=192,
    )
    assert value(found) == pytest.approx(tokens_per_second, rel=0.25)


# --- assumptions and unknowns


def test_assumptions_name_the_share_and_where_it_was_measured() -> None:
    gpu = training_seconds(**TRAINING).assumptions
    assert any("40% of the bf16 peak of 1,000 TFLOPS" in sentence and "Llama 3 405B" in sentence for sentence in gpu)
    neuron = training_seconds(**TRAINING | {"kind": "neuron"}).assumptions
    row = utilization("training", "neuron")
    assert row is not None
    said = f"{row['share'] * 100:.3g}% of the bf16 peak of 1,000 TFLOPS per device"
    assert f"{said} (fitted to {row.get('rows')} published measurements)" in neuron


def test_narrow_layers_reach_a_smaller_share() -> None:
    """The share and the width of layers that reach half of it are those of the A100."""
    row = utilization("training", "gpu", "A100")
    assert row is not None
    for width in (512, 8192):
        found = training_seconds(**TRAINING | {"name": "A100", "width": width})
        reached = row["share"] * width / (width + row.get("half_width", 0))
        assert value(found) == pytest.approx(6 * 8e9 * 1e9 / (8 * 1000e12 * reached))
        assert any(sentence.startswith(f"{reached * 100:.3g}% of the bf16 peak") for sentence in found.assumptions)


def test_experts_train_and_answer_slower() -> None:
    dense, routed = (training_seconds(**TRAINING | {"experts": each}) for each in (False, True))
    assert value(routed) == pytest.approx(value(dense) / share_of("training experts"))
    many = DECODE | {"concurrent_sequences": 10_000, "peak_tflops_each": 10, "context_length": 0}
    assert value(decode_tokens_per_second(**many | {"total_parameters": 11e9})) == pytest.approx(
        value(decode_tokens_per_second(**many)) * share_of("experts")
    )


def test_decoding_says_what_limits_it() -> None:
    memory = decode_tokens_per_second(**DECODE).assumptions
    compute = decode_tokens_per_second(**DECODE | {"concurrent_sequences": 1000, "peak_tflops_each": 10}).assumptions
    assert any(sentence.startswith(f"limited by memory: {READING * 100:.3g}% of 1,000 GB/s") for sentence in memory)
    assert any(sentence.startswith(f"limited by compute: {COMPUTING * 100:.3g}% of 10 TFLOPS") for sentence in compute)


@in_one_test(
    ("estimate", "changes", "missing"),
    [
        (training_seconds, TRAINING | {"peak_tflops_each": None}, ["peak compute (TFLOPS)"]),
        (training_seconds, TRAINING | {"kind": "gaudi"}, ["training reaches on gaudi"]),
        (
            training_seconds,
            TRAINING | {"kind": "cpu", "peak_tflops_each": None},
            ["peak compute (TFLOPS)", "training reaches on cpu"],
        ),
        (decode_tokens_per_second, DECODE | {"peak_tflops_each": None}, ["peak compute (TFLOPS)"]),
        (decode_tokens_per_second, DECODE | {"bandwidth_gb_per_second_each": None}, ["memory bandwidth (GB/s)"]),
        (
            decode_tokens_per_second,
            DECODE | {"kind": "inference"},
            ["generation reaches on inference", "reading a prompt reaches on inference"],
        ),
        (
            prefill_seconds,
            PREFILL | {"peak_tflops_each": None, "bandwidth_gb_per_second_each": None},
            ["memory bandwidth (GB/s)", "peak compute (TFLOPS)"],
        ),
    ],
)
def test_what_is_not_known_gives_no_number(
    estimate: Callable[..., Estimate], changes: dict[str, Any], missing: list[str]
) -> None:
    found = estimate(**changes)
    assert found.value is None
    assert len(found.assumptions) == len(missing)
    for sentence, fact in zip(found.assumptions, missing, strict=True):
        assert sentence.startswith("unknown: the ")
        assert fact in sentence


def test_an_unknown_goes_through_to_what_rests_on_it() -> None:
    known = Estimate(value=1, assumptions=("known",))
    unknown = Estimate(value=None, assumptions=("unknown: x",))
    for prefill, decode in ((known, unknown), (unknown, known), (unknown, unknown)):
        assert served_tokens_per_second(output_tokens=10, prefill=prefill, decode=decode) == unknown


# --- the guide


def test_the_example_of_the_guide_prints_what_it_says() -> None:
    found = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", GUIDE, re.DOTALL)
    assert found is not None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(found[1], {})
    assert printed.getvalue() == found[2]


def chips(row: UtilizationRow | DelayRow) -> str:
    return ", ".join(row.get("accelerators", [])) or {"gpu": "GPUs", "neuron": "Neuron"}[row["kind"]]


def test_the_guide_has_the_shares_of_the_data() -> None:
    expected = []
    for row in facts.performance()["utilization"]:
        more = f", half at a width of {row['half_width']}" if "half_width" in row else ""
        rows = row.get("rows")
        origin = f"{rows} row{'' if rows == 1 else 's'}" if rows else row["how"]
        expected.append(f"| {row['step']} | {chips(row)} | {row['share'] * 100:g}%{more} | {origin} |")
    assert [line for line in expected if line not in GUIDE.splitlines()] == []


def test_the_guide_has_the_delays_of_the_data() -> None:
    expected = []
    for row in facts.performance()["delays"]:
        more = f", {row['link_share'] * 100:g}% of the link" if "link_share" in row else ""
        if "gb_per_second" in row:
            more += f", {row['gb_per_second']:g} GB/s{' if unknown' if 'link_share' in row else ''}"
        expected.append(f"| {row['step']} | {chips(row)} | {row['microseconds']:g} µs{more} |")
    assert [line for line in expected if line not in GUIDE.splitlines()] == []


# --- general properties

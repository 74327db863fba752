"""Properties of ``tests/unit/advisor/test_throughput.py`` with random input."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eks_hardware.advisor.speed.throughput import (
    served_tokens_per_second,
)
from eks_hardware.catalogue.performance import utilization
from helpers.speeds import (
    PREFILL,
    TRAINING,
    decode_tokens_per_second,
    prefill_seconds,
    training_seconds,
    value,
)

numbers = st.floats(min_value=1, max_value=1e18)


counts = st.integers(min_value=1, max_value=10**6)


kinds = st.sampled_from(["gpu", "neuron"])


@st.composite
def decodings(draw: st.DrawFn) -> dict[str, Any]:
    active = draw(numbers)
    return {
        "active_parameters": active,
        "total_parameters": draw(st.none() | st.floats(min_value=active, max_value=1e18)),
        "bytes_per_parameter": draw(st.sampled_from([0.5, 1, 2, 4])),
        "kv_bytes_per_token": draw(st.floats(min_value=0, max_value=1e9)),
        "context_length": draw(st.integers(min_value=0, max_value=10**9)),
        "concurrent_sequences": draw(counts),
        "count": draw(counts),
        "bandwidth_gb_per_second_each": draw(st.floats(min_value=1, max_value=1e6)),
        "peak_tflops_each": draw(st.floats(min_value=1, max_value=1e6)),
        "kind": draw(kinds),
    }


def at_least(more: float, less: float) -> bool:
    return more >= less or math.isclose(more, less, rel_tol=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    active_parameters=numbers,
    tokens=numbers,
    count=counts,
    peak_tflops_each=st.floats(min_value=1, max_value=1e6),
    adapters_only=st.booleans(),
    recompute=st.booleans(),
    kind=kinds,
    factor=st.integers(min_value=1, max_value=1000),
)
def test_more_devices_never_train_slower(factor: int, count: int, **run: Any) -> None:
    few = value(training_seconds(**TRAINING | run | {"count": count}))
    many = value(training_seconds(**TRAINING | run | {"count": count * factor}))
    assert math.isfinite(few)
    assert few > 0
    assert many * factor == pytest.approx(few)


@settings(max_examples=60, deadline=None)
@given(decodings(), counts, counts)
def test_decoding_is_monotonous(run: dict[str, Any], devices: int, more: int) -> None:
    base = value(decode_tokens_per_second(**run))
    assert math.isfinite(base)
    assert base > 0
    assert at_least(value(decode_tokens_per_second(**run | {"count": run["count"] + devices})), base)
    longer = run | {"context_length": run["context_length"] + more}
    assert at_least(base, value(decode_tokens_per_second(**longer)))
    fuller = run | {"concurrent_sequences": run["concurrent_sequences"] + more}
    assert at_least(value(decode_tokens_per_second(**fuller)), base)
    smaller = run | {"bytes_per_parameter": run["bytes_per_parameter"] / 2}
    assert at_least(value(decode_tokens_per_second(**smaller)), base)


@settings(max_examples=60, deadline=None)
@given(decodings(), counts)
def test_a_fuller_batch_never_answers_sooner(run: dict[str, Any], more: int) -> None:
    def each(sequences: int) -> float:
        return sequences / value(decode_tokens_per_second(**run | {"concurrent_sequences": sequences}))

    sequences = run["concurrent_sequences"]
    assert at_least(each(sequences + more), each(sequences))


@settings(max_examples=60, deadline=None)
@given(decodings())
def test_experts_never_cost_less_than_one_read_nor_more_than_all(run: dict[str, Any]) -> None:
    """Experts compute at a share of the speed of other layers."""
    total = run["total_parameters"] or run["active_parameters"]
    experts = value(decode_tokens_per_second(**run))
    one = value(decode_tokens_per_second(**run | {"total_parameters": None}))
    every = value(decode_tokens_per_second(**run | {"active_parameters": total, "total_parameters": None}))
    assert at_least(one, experts)
    slower = utilization("experts", run["kind"])
    assert at_least(experts, every * (slower["share"] if slower else 1))


@settings(max_examples=60, deadline=None)
@given(decodings(), counts, counts)
def test_a_longer_prompt_never_takes_less(run: dict[str, Any], prompt_tokens: int, more: int) -> None:
    shared = {name: run[name] for name in run if name in PREFILL.keys() | {"total_parameters", "kind"}}
    short = value(prefill_seconds(**shared | {"prompt_tokens": prompt_tokens}))
    longer = value(prefill_seconds(**shared | {"prompt_tokens": prompt_tokens + more}))
    assert math.isfinite(short)
    assert short > 0
    assert at_least(longer, short)


@settings(max_examples=60, deadline=None)
@given(decodings(), counts, counts)
def test_prompts_only_slow_a_server_down(run: dict[str, Any], prompt_tokens: int, output_tokens: int) -> None:
    decode = decode_tokens_per_second(**run)
    shared = {name: run[name] for name in run if name in PREFILL.keys() | {"total_parameters", "kind"}}
    prefill = prefill_seconds(**shared | {"prompt_tokens": prompt_tokens})
    served = served_tokens_per_second(output_tokens=output_tokens, prefill=prefill, decode=decode)
    assert value(served) > 0
    assert at_least(value(decode), value(served))

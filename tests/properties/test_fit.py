"""Properties of ``tests/unit/advisor/test_fit.py`` with random input."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from eks_hardware.advisor.model import Fit, Miss
from eks_hardware.catalogue import load
from helpers.advisor import fit_on, request_for

CATALOGUE = load()


_NAMES = (
    "g4dn.xlarge",
    "g5.12xlarge",
    "g6e.xlarge",
    "p4d.24xlarge",
    "p5.48xlarge",
    "trn1.32xlarge",
    "inf2.48xlarge",
    "m7i.8xlarge",
)


def _footprint(found: Fit | Miss) -> float:
    return float("inf") if isinstance(found, Miss) else found.nodes * max(found.devices, 1)


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(_NAMES),
    task=st.sampled_from(["training", "inference"]),
    small=st.integers(10**7, 4 * 10**11),
    more=st.floats(1.0, 20.0),
)
def test_more_parameters_never_fit_on_less(name: str, task: str, small: int, more: float) -> None:
    request = request_for("llama-3.1-8b", task=task)
    one, other = (
        fit_on(replace(request, shape=replace(request.shape, parameters=size, active_parameters=size)), name)
        for size in (small, int(small * more))
    )
    assert _footprint(one) <= _footprint(other)


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(_NAMES), short=st.integers(128, 65536), more=st.integers(1, 8), sequences=st.integers(1, 64)
)
def test_longer_contexts_never_fit_on_less(name: str, short: int, more: int, sequences: int) -> None:
    one, other = (
        fit_on(request_for("llama-3.1-8b", context_length=length, concurrent_sequences=sequences), name)
        for length in (short, short * more)
    )
    assert _footprint(one) <= _footprint(other)


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from([name for name in CATALOGUE.names if CATALOGUE.get(name).accelerator]),
    parameters=st.integers(1000, 10**15),
    task=st.sampled_from(["training", "inference", "fine-tuning", "development"]),
)
def test_any_size_on_any_accelerator_has_an_answer(name: str, parameters: int, task: str) -> None:
    found = fit_on(request_for({"parameters": str(parameters)}, task=task), name)
    if isinstance(found, Fit):
        assert found.memory_gib <= found.available_gib
        assert found.nodes >= 1
    else:
        assert found.text

"""Latency targets: met, just missed, and met with more devices."""

from __future__ import annotations

from typing import Any

import pytest

from eks_hardware.advisor.fitting.fit import Fitter, fit
from eks_hardware.advisor.model import Fit, Miss, Request
from eks_hardware.advisor.shapes.shape import shape_of
from eks_hardware.advisor.speed.estimate import speed
from eks_hardware.advisor.speed.latency import fastest, quick_enough
from eks_hardware.catalogue import load
from eks_hardware.models import WorkloadSpec
from helpers.cases import in_one_test


def request(per_token_ms: float | None, **shape: Any) -> Request:
    latency = {} if per_token_ms is None else {"latency": {"per_token_ms": per_token_ms}}
    model = {"parameters": "8B", "layers": 32, "hidden_size": 4096, "attention_heads": 32, "kv_heads": 8, **shape}
    work = WorkloadSpec.model_validate({"task": "inference", "model": model, "framework": "vllm", **latency})
    return Request(workload=work, shape=shape_of(work.model), regions=("us-west-2",))


def tried(asked: Request, name: str) -> Fit | Miss:
    fitter = Fitter(asked)
    fitted = fitter.on(load().get(name))
    assert isinstance(fitted, Fit)
    found = quick_enough(fitter, fitted)
    return found if isinstance(found, Miss) else found[0]


def on_one_device(name: str, **shape: Any) -> float:
    """Return the milliseconds between two tokens on one device."""
    asked = request(None, **shape)
    fitted = fit(asked, load().get(name), "us-west-2")
    assert isinstance(fitted, Fit)
    assert fitted.devices == 1
    found = speed(asked, fitted).per_token_ms
    assert found is not None
    return found


@in_one_test(("share", "met"), [(1.01, True), (0.99, False), (0.6, False)])
def test_a_target_is_met_or_it_is_not(share: float, met: bool) -> None:
    """On a node with one device, more devices are not possible."""
    found = tried(request(share * on_one_device("g6e.xlarge")), "g6e.xlarge")
    assert isinstance(found, Fit) is met
    if isinstance(found, Miss):
        assert "the target is" in found.text


@pytest.mark.parametrize(
    ("sequences", "remedy"),
    [
        (1, "allow more time or use weights with fewer bits"),
        (8, "allow more time, run fewer concurrent sequences, or use weights with fewer bits"),
    ],
)
def test_fewer_sequences_are_advised_only_if_there_are_several(sequences: int, remedy: str) -> None:
    found = tried(request(1).with_workload(concurrent_sequences=sequences), "g6e.xlarge")
    assert isinstance(found, Miss)
    assert found.remedy == remedy


@in_one_test("length", [None, 512, 4096])
def test_an_encoder_is_timed_with_at_most_the_context_that_it_supports(length: int | None) -> None:
    """BERT reads at most 512 tokens. The default context of 4,096 would take eight times as long."""
    work: dict[str, Any] = {"task": "inference", "model": {"name": "bert-large"}, "latency": {"first_token_ms": 10}}
    if length:
        work["context_length"] = length
    spec = WorkloadSpec.model_validate(work)
    found = tried(Request(workload=spec, shape=shape_of(spec.model), regions=("us-west-2",)), "g6.xlarge")
    assert isinstance(found, Fit)


def test_more_devices_of_a_node_are_taken_where_one_is_too_slow() -> None:
    found = tried(request(0.7 * on_one_device("g6e.12xlarge")), "g6e.12xlarge")
    assert isinstance(found, Fit)
    assert (found.devices, found.replicas_per_node) == (2, 2)


def test_devices_share_the_attention_heads_evenly() -> None:
    """With 6 heads, two devices use three each; four devices cannot divide them."""
    shape = {"attention_heads": 6, "kv_heads": 6, "hidden_size": 6144}
    alone = on_one_device("g6e.12xlarge", **shape)
    two = tried(request(0.7 * alone, **shape), "g6e.12xlarge")
    assert isinstance(two, Fit)
    assert two.devices == 2
    assert isinstance(tried(request(0.45 * alone, **shape), "g6e.12xlarge"), Miss)
    four = tried(request(0.45 * on_one_device("g6e.12xlarge")), "g6e.12xlarge")
    assert isinstance(four, Fit)
    assert four.devices == 4


def on_its_node(name: str, **shape: Any) -> int:
    """Return on how many devices of its node a replica answers fastest."""
    fitter = Fitter(request(None, **shape))
    fitted = fitter.on(load().get(name))
    assert isinstance(fitted, Fit)
    wide, _ = fastest(fitter, fitted, speed(fitter.request, fitted))
    assert wide.devices * wide.replicas_per_node <= load().get(name).accelerator.count  # type: ignore[union-attr]
    assert any("to be fast" in note for note in wide.notes) == (wide.devices > fitted.devices)
    return wide.devices


def test_a_replica_uses_the_devices_of_its_node_that_make_it_faster() -> None:
    """Also NeuronCores. A small model gains less from eight GPUs than the error of the estimate."""
    large = {"parameters": "70B", "layers": 80, "hidden_size": 8192, "attention_heads": 64}
    assert on_its_node("p5.48xlarge", **large) == 8
    assert on_its_node("trn2.48xlarge", **large) == 16
    assert on_its_node("p5.48xlarge", parameters="1B", layers=16, hidden_size=2048, attention_heads=32) < 8


def test_a_replica_widened_twice_says_how_many_devices_have_enough_memory() -> None:
    """One device has enough memory. Two meet the target, but four have not been tried for memory alone."""
    name = "p5.48xlarge"
    large = {"parameters": "30B", "layers": 60, "hidden_size": 6656, "attention_heads": 64, "kv_heads": 8}
    fitter = Fitter(request(0.9 * on_one_device(name, **large), **large))
    smallest = fitter.on(load().get(name))
    assert isinstance(smallest, Fit)
    quick = quick_enough(fitter, smallest)
    assert not isinstance(quick, Miss)
    assert quick[0].notes[-1] == "on 2 devices to meet the latency target; 1 has enough memory"
    wide, _ = fastest(fitter, *quick)
    assert wide.notes[-1] == "on 8 devices to be fast; 1 has enough memory, and 2 meet the latency target"

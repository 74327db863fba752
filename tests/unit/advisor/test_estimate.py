"""Speeds of fits: hand-computed figures of exchange, pipelines and replicas."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from eks_hardware.advisor.fitting.fit import fit
from eks_hardware.advisor.model import Fit, Parallelism, Request
from eks_hardware.advisor.ranking.workload_file import read_workload, request_of
from eks_hardware.advisor.speed.estimate import Speed, speed
from eks_hardware.advisor.speed.exchange import exchange, network_gbps
from eks_hardware.config.catalogue import load

REGION = "us-east-1"


def asking(**said: Any) -> Request:
    return request_of(read_workload(json.dumps({"version": 1, "region": REGION, **said})))


def fitted(request: Request, name: str) -> Fit:
    found = fit(request, load().get(name), REGION)
    assert isinstance(found, Fit), found
    return found


def laid(found: Fit, **layout: Any) -> Fit:
    parallelism = Parallelism(**{"data": 1, "tensor": 1, "pipeline": 1, "sharding": "none"} | layout)
    return replace(found, parallelism=parallelism, devices=parallelism.devices)


# The sum of the cards, but for a family that says its total on each of them.
@pytest.mark.parametrize(
    ("name", "gbps"), [("p4d.24xlarge", 400), ("p5.48xlarge", 3200), ("g6e.48xlarge", 400), ("trn1.32xlarge", 800)]
)
def test_network_of_a_node(name: str, gbps: float) -> None:
    assert network_gbps(load().get(name)) == gbps


TRAINING = {"task": "training", "model": {"parameters": "70B"}}


def test_fully_sharded_weights_cross_the_network_three_times() -> None:
    """70e9 x 2 bytes x 3 over 400 Gbps, which are 50 GB/s."""
    request = asking(**TRAINING)
    found = laid(replace(fitted(request, "p4d.24xlarge"), nodes=5), data=40, sharding="zero-3")
    crossed = exchange(request, found)
    assert crossed.seconds == pytest.approx(70e9 * 2 * 3 / 50e9)
    assert "400 Gbps" in crossed.over


def test_frozen_weights_cross_it_twice() -> None:
    whole, adapters = asking(**TRAINING), asking(task="fine-tuning", method="lora", model={"parameters": "70B"})
    found = laid(replace(fitted(whole, "p4d.24xlarge"), nodes=5), data=40, sharding="zero-3")
    assert exchange(adapters, found).seconds == pytest.approx(exchange(whole, found).seconds * 2 / 3)


def test_other_layouts_exchange_nothing_in_a_pass() -> None:
    request = asking(**TRAINING)
    found = fitted(request, "p5.48xlarge")
    for sharding in ("none", "zero-1", "zero-2"):
        assert exchange(request, laid(found, data=8, sharding=sharding)).seconds == 0


def test_a_slow_network_makes_many_small_nodes_slow() -> None:
    """As many GPUs of one kind, in nodes of 25 Gbps or of 400: computing takes the same, exchanging does not."""
    request = asking(**TRAINING)
    small = laid(replace(fitted(request, "g6e.8xlarge"), nodes=48), data=48, sharding="zero-3")
    large = laid(replace(fitted(request, "g6e.48xlarge"), nodes=6), data=48, sharding="zero-3")
    slow, quick = speed(request, small), speed(request, large)
    assert slow.tokens_per_second
    assert quick.tokens_per_second
    assert slow.tokens_per_second < quick.tokens_per_second / 4
    assert any("25 Gbps" in each for each in slow.assumptions)


def test_hours_of_a_run() -> None:
    request = asking(task="training", model={"parameters": "7B"}, training_tokens="100B")
    found = speed(request, fitted(request, "p4d.24xlarge"))
    assert found.tokens_per_second
    assert found.hours == pytest.approx(100e9 / found.tokens_per_second / 3600)
    # 8 FLOPs a parameter and token with recomputation, 8 x 312 TFLOPS at 40 %.
    assert found.tokens_per_second == pytest.approx(8 * 312e12 * 0.4 / (8 * 7e9))


SERVING = {"task": "inference", "model": {"parameters": "8B"}, "context_length": 4096}


def test_replicas_of_a_node_work_side_by_side() -> None:
    request = asking(**SERVING)
    found = fitted(request, "p5.48xlarge")
    one = speed(request, replace(found, replicas_per_node=1))
    eight = speed(request, replace(found, replicas_per_node=8))
    assert eight.tokens_per_second == pytest.approx(8 * _known(one))
    assert eight.per_replica == one.per_replica
    assert "all 8 replicas of a node at work" in eight.assumptions


def test_stages_of_a_pipeline_do_not_make_one_sequence_quicker() -> None:
    alone, many = asking(**SERVING), asking(**SERVING, concurrent_sequences=64)
    found = fitted(alone, "p5.48xlarge")
    one, staged = laid(found), laid(found, pipeline=4)
    assert speed(alone, staged).per_token_ms == pytest.approx(speed(alone, one).per_token_ms)
    assert _known(speed(many, staged)) > _known(speed(many, one))
    wide = speed(alone, laid(found, tensor=4))
    assert wide.per_token_ms == pytest.approx((speed(alone, one).per_token_ms or 0) / 4)


def test_nothing_is_known_of_the_speed_of_cpus_and_of_parts_of_gpus() -> None:
    request = asking(task="inference", model={"parameters": "110M", "architecture": "bert"})
    for name in ("c7i.2xlarge", "g6f.2xlarge"):
        found = speed(request, fitted(request, name))
        assert (found.tokens_per_second, found.first_token_ms) == (None, None)
        assert any(each.startswith("unknown") for each in found.assumptions)


def _known(found: Speed) -> float:
    assert found.per_replica
    return found.per_replica

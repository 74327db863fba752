"""Strategies with workloads, and a recommender with predefined answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eks_hardware.advisor.model import Candidate, Fit, MemoryPart, Miss, Parallelism, Recommendation, Request
from eks_hardware.advisor.strategies import lock
from eks_hardware.catalogue import Catalogue, load
from eks_hardware.models import Needs

HEAD = """\
version: 1
name: demo
region: us-west-2
cluster: {creator_is_admin: true}
kubernetes: {delivery: manifests}
node_groups:
  - {name: system, instance_types: [m6i.xlarge], scaling: {min: 2, max: 4}}
"""
WORKLOAD = "{task: inference, model: {parameters: 8B}, framework: vllm}"


def group_line(name: str = "llm", workload: str = WORKLOAD, **fields: str) -> str:
    """Return a group with a workload, as a line of a file."""
    given = {"scaling": "{max: 2}", **fields, "workload": workload}
    return f"  - {{name: {name}, {', '.join(f'{key}: {value}' for key, value in given.items())}}}\n"


def pool_lines(name: str = "llm", workload: str = WORKLOAD, **fields: str) -> str:
    """Return a Karpenter section with one pool that has a workload."""
    given = {"limits": "{nvidia.com/gpu: 8}", **fields, "workload": workload}
    body = ", ".join(f"{key}: {value}" for key, value in given.items())
    return f"karpenter:\n  node_pools:\n    - {{name: {name}, {body}}}\n"


def write_strategy(folder: Path, *parts: str, name: str = "demo") -> Path:
    """Write a strategy file from parts after :data:`HEAD`."""
    file = folder / f"{name}.yaml"
    file.write_text(HEAD.replace("name: demo", f"name: {name}") + "".join(parts), encoding="utf-8")
    return file


def candidate(
    name: str, *, nodes: int = 1, region: str = "us-west-2", purchase: str = "on-demand", usd_per_hour: float | None = 1
) -> Candidate:
    """Return a candidate from the real catalogue, with arbitrary figures."""
    kind = load().get(name)
    devices = (kind.accelerator.count if kind.accelerator else 0) * nodes
    fit = Fit(
        kind=kind,
        nodes=nodes,
        devices=devices,
        parallelism=Parallelism(data=1, tensor=max(1, devices), pipeline=1, sharding="none"),
        memory=(MemoryPart(name="weights", gib=15.0, how="8e9 x 2 bytes"),),
        memory_gib=15.0,
        available_gib=20.0,
        replicas_per_node=1,
        notes=(),
    )
    return Candidate(
        fit=fit,
        region=region,
        zone_ids=load().offered(name, region),
        purchase=purchase,
        usd_per_hour=usd_per_hour,
        price_as_of="2026-07-20",
        price_at_most=False,
        tokens_per_second=None,
        hours=None,
        usd_per_million_tokens=None,
        usd_per_run=None,
        assumptions=(),
        policy=None,
        maturity="mature",
        scores={},
        score=50.0,
        reasons=("cheapest that fits",),
    )


class FakeRecommender:
    """Recommender that returns its predefined candidates, best first, and records the requests."""

    def __init__(self, *candidates: Candidate | str, nearest: tuple[Miss, ...] = ()) -> None:
        self.candidates = tuple(candidate(each) if isinstance(each, str) else each for each in candidates)
        self.nearest = nearest
        self.asked: list[Request] = []
        self.only: Sequence[str] = ()

    def __call__(
        self, request: Request, *, catalogue: Catalogue | None = None, only: Sequence[str] = ()
    ) -> Recommendation:
        assert catalogue
        self.asked.append(request)
        self.only = only
        return Recommendation(
            request=request,
            branch="low-latency inference",
            branch_quote="",
            candidates=self.candidates,
            rejections=(),
            nearest=self.nearest,
            notes=(),
        )


def entry(path: str = "node_groups[llm]", overlays: tuple[str, ...] = (), **asked: Any) -> lock.Entry:
    """Return the entry of a lock file for a group."""
    return lock.Entry(
        path=path,
        overlays=overlays,
        asked={"region": "us-west-2", "capacity": ("on-demand",), "model.parameters": 8_000_000_000, **asked},
        chosen=lock.Chosen(
            instance_types=("g6e.xlarge",),
            capacity=("on-demand",),
            nodes=1,
            efa=False,
            needs=Needs(precision="bf16", framework="vllm"),
        ),
        at_the_time=lock.AtTheTime(
            catalogue="DescribeInstanceTypes, 2026-10-27",
            policy="inference",
            score=81.5,
            usd_per_hour=1.861,
            price_as_of="2026-07-20",
        ),
    )

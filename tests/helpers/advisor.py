"""Requests to the advisor for tests."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from eks_hardware.advisor import recommend as module
from eks_hardware.advisor.fitting.fit import Fitter
from eks_hardware.advisor.model import Fit, Miss, Recommendation, Request, Shape
from eks_hardware.advisor.ranking.workload_file import read_workload, request_of
from eks_hardware.advisor.recommend import best_of_families, recommend
from eks_hardware.advisor.shapes.hf_config import read_hf_config
from eks_hardware.advisor.shapes.shape import shape_of
from eks_hardware.catalogue import Catalogue, load
from eks_hardware.cost import Figure, instance_figure
from eks_hardware.models import WorkloadSpec
from helpers.paths import ROOT

CONFIGS = ROOT / "tests" / "unit" / "advisor" / "configs"


def config_file(name: str) -> Path:
    """Return the config.json of a public model, with its published dimensions."""
    return CONFIGS / f"{name}.json"


@lru_cache(maxsize=64)
def public_shape(name: str) -> Shape:
    """Return the shape of a public model."""
    return read_hf_config(config_file(name))


def request_for(model: str | dict[str, Any], **said: Any) -> Request:
    """Return a request for a public model or a described one."""
    described = {"hf_config": f"{model}.json"} if isinstance(model, str) else model
    workload = WorkloadSpec.model_validate({"task": "inference", **said, "model": described})
    return Request(workload=workload, shape=shape_of(workload.model, folder=CONFIGS), regions=("us-east-1",))


CHAT: Any = {
    "task": "inference",
    "model": {"parameters": "8B", "architecture": "llama"},
    "context_length": 8192,
    "concurrent_sequences": 16,
    "framework": "vllm",
    "precision": "bf16",
}
PRETRAINING: Any = {
    "task": "training",
    "model": {"parameters": "7B"},
    "training_tokens": "100B",
    "framework": "pytorch",
}
EMBEDDINGS: Any = {
    "task": "inference",
    "serving": "batch",
    "model": {"parameters": "335M", "architecture": "bert"},
    "context_length": 512,
}


def asking(*regions: str, **said: Any) -> Request:
    """Return a request from the fields of a workload file."""
    places = {"regions": list(regions)} if regions else {}
    return request_of(read_workload(json.dumps({"version": 1, **said, **places})))


def answer(*regions: str, only: tuple[str, ...] = (), **said: Any) -> Recommendation:
    """Return the recommendation, in us-west-2 by default."""
    return recommend(asking(*(regions or ("us-west-2",)), **said), only=only)


def families(found: Recommendation) -> list[str]:
    """Return the families, best first."""
    return [each.fit.kind.family for each in best_of_families(found.candidates)]


def priced(monkeypatch: pytest.MonkeyPatch, family: str, times: float | None) -> None:
    """Multiply the prices of a family; None removes them."""

    def figure(catalogue: Catalogue, name: str, region: str, purchase: Any = "on-demand") -> Figure | None:
        found = instance_figure(catalogue, name, region, purchase)
        if name.partition(".")[0] != family or found is None:
            return found
        return None if times is None else replace(found, usd_per_hour=found.usd_per_hour * times)

    monkeypatch.setattr(module, "instance_figure", figure)


def fit_on(request: Request, name: str) -> Fit | Miss:
    """Return the fit of a request on an instance type, with suggestions if it does not fit."""
    kind = load().get(name)
    fitter = Fitter(request)
    found = fitter.on(kind)
    return fitter.remedied(found) if isinstance(found, Miss) else found

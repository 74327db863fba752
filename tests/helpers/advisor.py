"""Requests to the advisor, as tests need them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from eks_hardware.advisor.model import Request, Shape
from eks_hardware.advisor.shapes.hf_config import read_hf_config
from eks_hardware.advisor.shapes.shape import shape_of
from eks_hardware.models import WorkloadSpec
from helpers.paths import ROOT

CONFIGS = ROOT / "tests" / "unit" / "advisor" / "configs"


def config_file(name: str) -> Path:
    """The config.json of a public model, with its published dimensions."""
    return CONFIGS / f"{name}.json"


@lru_cache(maxsize=64)
def public_shape(name: str) -> Shape:
    """The shape of a public model."""
    return read_hf_config(config_file(name))


def request_for(model: str | dict[str, Any], **said: Any) -> Request:
    """A request for a public model, or for one that is described."""
    described = {"hf_config": f"{model}.json"} if isinstance(model, str) else model
    workload = WorkloadSpec.model_validate({"task": "inference", **said, "model": described})
    return Request(workload=workload, shape=shape_of(workload.model, folder=CONFIGS), regions=("us-east-1",))

"""Facts about AWS that change over time, read from the JSON files beside this module.

Each section of a file names its source and the day it was read; code never repeats a fact.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

__all__ = [
    "addons",
    "autoscaler_image",
    "chart",
    "chart_keys",
    "eks",
    "karpenter",
    "mig",
    "partition",
    "storage",
]

_FOLDER = Path(__file__).parent


@cache
def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((_FOLDER / name).read_text(encoding="utf-8"))
    return content


def eks(section: str) -> dict[str, Any]:
    """Return a section of ``eks.json``."""
    found: dict[str, Any] = _read("eks.json")[section]
    return found


def addons() -> dict[str, dict[str, Any]]:
    """Return the add-ons of ``addons.json`` by name, in the order they stand there."""
    found: dict[str, dict[str, Any]] = _read("addons.json")["addons"]
    return found


def chart(key: str) -> dict[str, Any]:
    """Return a Helm chart of ``charts.json``: chart, repository, version, namespace, supported Kubernetes versions."""
    found: dict[str, Any] = _read("charts.json")["charts"][key]
    return found


def chart_keys(key: str) -> dict[str, Any]:
    """Return the recorded value keys of a chart: ``version`` they belong to, and ``keys`` nested as the values are.

    A leaf is None; ``"*"`` stands for anything below.
    """
    return _read(f"chart_values/{key}.json")


def autoscaler_image(kubernetes_version: str) -> str | None:
    """Return the image tag of Cluster Autoscaler for a Kubernetes minor; None where no release is recorded."""
    found: str | None = _read("cluster_autoscaler.json")["images"]["by_minor"].get(kubernetes_version)
    return found


def karpenter(section: str) -> dict[str, Any]:
    """Return a section of ``karpenter.json``."""
    found: dict[str, Any] = _read("karpenter.json")[section]
    return found


def mig() -> dict[str, Any]:
    """Return ``mig.json``: the GPUs that have Multi-Instance GPU, with their profiles."""
    return _read("mig.json")


def storage(section: str) -> dict[str, Any]:
    """Return a section of ``storage.json``."""
    found: dict[str, Any] = _read("storage.json")[section]
    return found


def partition(region: str) -> str:
    """Return the AWS partition of a region: ``aws``, ``aws-cn`` or ``aws-us-gov``.

    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html
    """
    for prefix, name in (("cn-", "aws-cn"), ("us-gov-", "aws-us-gov")):
        if region.startswith(prefix):
            return name
    return "aws"

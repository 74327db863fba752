"""The chart that delivers our own objects.

Terraform's ``kubernetes_manifest`` queries the cluster for an object's definition during the plan. Karpenter's CRDs do
not exist before the first apply, which is why many setups need ``-target``. A chart needs no definitions during the
plan. Its single template writes the objects exactly as they are in the values, and evaluates no text in them.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from eks_hardware.kubernetes.model import Object

CHART = Path(__file__).parent / "chart"
"""Folder of the chart."""

CHART_VERSION = "1.0.0"
"""The version in ``Chart.yaml``; increase it with every change to the chart."""


def chart_values(objects: Iterable[Object]) -> dict[str, object]:
    """Return values that make the chart write these objects in this order, one document each.

    Helm installs objects by kind: namespaces first, then other built-in kinds in Helm's order, custom resources last
    and alphabetically (an EC2NodeClass before the NodePools that name it). Within a kind, this order is kept.
    Source: https://github.com/helm/helm/blob/v3.18.5/pkg/releaseutil/kind_sorter.go
    """
    return {"objects": list(objects)}

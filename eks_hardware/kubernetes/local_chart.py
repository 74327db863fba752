"""The chart that delivers objects of ours.

Terraform's ``kubernetes_manifest`` asks the cluster for an object's definition while it plans: Karpenter's do not
exist before the first apply, hence the ``-target`` of so many set-ups. A chart is only read while planning.
Its one template writes the objects exactly as the values have them; no text inside is evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from eks_hardware.kubernetes.model import Object

CHART = Path(__file__).parent / "chart"
"""Folder of the chart."""

CHART_VERSION = "1.0.0"
"""As ``Chart.yaml`` says; it rises with every change of the chart."""


def chart_values(objects: Iterable[Object]) -> dict[str, Any]:
    """The values that make the chart write these objects, each a document of its own, in this order.

    Helm then installs them by kind: namespaces first, then what it knows in its own order, custom resources last and by
    the alphabet (an EC2NodeClass before the NodePools that name it); equal kinds keep this order.
    Source: https://github.com/helm/helm/blob/v3.18.5/pkg/releaseutil/kind_sorter.go
    """
    return {"objects": list(objects)}

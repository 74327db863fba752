"""The times of the demo with Kubernetes, read from its output."""

from __future__ import annotations

import pytest

from benchmarks.cluster import phases
from helpers.paths import ROOT

GUIDE = (ROOT / "docs" / "guides" / "cluster-without-aws.md").read_text(encoding="utf-8")


def test_phases_are_read_from_the_output() -> None:
    assert phases(GUIDE, frozenset({"gpu-efa", "gpu-inference", "trainium"})) == {
        "programs found or built": 0.4,
        "cluster ready, after its start": 5.6,
        "releases installed, after the AWS half": pytest.approx(1.1 + 2.2 + 2.7 + 2.9 + 2.6 + 2.5 + 2.5 + 1.4),
        "first pod on a Karpenter node, after its creation": 11.1,
        "all steps of the demo": pytest.approx(188.0),
    }


def test_output_without_a_phase_is_refused() -> None:
    with pytest.raises(ValueError, match=r"must print the steps Kubernetes, got"):
        phases(GUIDE.replace("✓ Kubernetes", "✗ Kubernetes"), frozenset({"gpu-efa"}))
    with pytest.raises(ValueError, match="must print a workload on a node pool, got"):
        phases(GUIDE, frozenset({"other"}))

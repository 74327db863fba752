"""The times of the demo with Kubernetes, read from its output."""

from __future__ import annotations

import pytest

from benchmarks.cluster import phases
from helpers.paths import ROOT

GUIDE = (ROOT / "docs" / "guides" / "cluster-without-aws.md").read_text(encoding="utf-8")


def test_phases_are_read_from_the_output() -> None:
    assert phases(GUIDE, frozenset({"gpu-efa", "gpu-inference", "trainium"})) == {
        "programs found or built": 0.3,
        "cluster ready, after its start": 5.6,
        "releases installed, after the AWS half": pytest.approx(2.3 + 3.9 + 3.0 + 0.9 + 2.8 + 2.5 + 1.1),
        "first pod on a Karpenter node, after its creation": 24.2,
        "all steps of the demo": pytest.approx(220.6),
    }


def test_output_without_a_phase_is_refused() -> None:
    with pytest.raises(ValueError, match=r"must print the steps Kubernetes, got"):
        phases(GUIDE.replace("✓ Kubernetes", "✗ Kubernetes"), frozenset({"gpu-efa"}))
    with pytest.raises(ValueError, match="must print a workload on a node pool, got"):
        phases(GUIDE, frozenset({"other"}))

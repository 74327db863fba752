"""Fixtures with a real Kubernetes control plane (docs/adr/0026).

Without its programs these tests are skipped, and fail with CI set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from eks_hardware.local import cluster_tools
from eks_hardware.local.cluster import Cluster
from helpers.cluster_programs import programs


@pytest.fixture(scope="session")
def tools() -> Mapping[str, Path]:
    """Return the programs by name, and folders of files such as ``karpenter-files``."""
    return programs(*(name for name in cluster_tools.NEEDED if name != "opentofu"))


@pytest.fixture(scope="module")
def server(tools: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Return a cluster with simulated kubelets, for the tests of one file."""
    with Cluster(tmp_path_factory.mktemp("cluster"), programs=tools, kwok=True) as running:
        yield running


@pytest.fixture(scope="session")
def cluster(tools: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Return a cluster for tests that leave nothing in it, one per pytest worker."""
    with Cluster(tmp_path_factory.mktemp("cluster"), programs=tools) as running:
        yield running

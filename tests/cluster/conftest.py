"""Fixtures with a real Kubernetes control plane (docs/adr/0026).

Without its programs these tests are skipped, and fail with CI set.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from eks_hardware.local import cluster_tools
from eks_hardware.local.cluster import Cluster


@pytest.fixture(scope="session")
def tools() -> Mapping[str, Path]:
    """Return the programs by name, and folders of files such as ``karpenter-files``."""
    try:
        return cluster_tools.paths(*(name for name in cluster_tools.NEEDED if name != "opentofu"))
    except cluster_tools.ToolsMissing as error:
        if os.environ.get("CI"):
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def cluster(tools: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Return a cluster for tests that leave nothing in it, one per pytest worker."""
    with Cluster(tmp_path_factory.mktemp("cluster"), programs=tools) as running:
        yield running

"""The programs that ``make cluster-tools`` builds. Without them tests are skipped, and fail with CI set."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from eks_hardware.local import cluster_tools


def programs(*names: str) -> Mapping[str, Path]:
    """Return the programs of tools by name, and folders of files by the tool's name."""
    try:
        return cluster_tools.paths(*names)
    except cluster_tools.ToolsMissing as error:
        if os.environ.get("CI"):
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))

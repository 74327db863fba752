"""Random examples that are the same in every run.

Not an option of pyproject.toml, because that imports Hypothesis for every test run, and most tests do not need it.
"""

from __future__ import annotations

import pytest
from hypothesis import settings


def pytest_configure(config: pytest.Config) -> None:
    """Choose the profile, unless ``--hypothesis-profile`` does; ``--hypothesis-profile=default`` tries new examples."""
    if not config.getoption("--hypothesis-profile"):
        settings.load_profile("ci")

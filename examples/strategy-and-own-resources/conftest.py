"""Fixtures for the team's strategies with its extension."""

from __future__ import annotations

import pytest

from main import Ours

pytest_plugins = ["eks_hardware.testing.fixtures"]


@pytest.fixture(scope="session")
def strategy_extension() -> Ours:
    """Return the extension from main.py, which is added to the strategies."""
    return Ours()

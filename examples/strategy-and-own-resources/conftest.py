"""The team's strategies, with what the team adds to them."""

from __future__ import annotations

import pytest

from main import Ours

pytest_plugins = ["eks_hardware.testing.fixtures"]


@pytest.fixture(scope="session")
def strategy_extension() -> Ours:
    """The strategies are synthesized with what main.py adds to them."""
    return Ours()

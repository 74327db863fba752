"""Every strategy with every overlay, synthesized once for each worker."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from helpers.synthesized import Synthesized, everything


@pytest.fixture(scope="session")
def stacks(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Synthesized]:
    """Shipped strategies alone and with each overlay, and those of tests/synth/strategies."""
    return everything(tmp_path_factory.mktemp("stacks"))

"""Every strategy with every overlay, synthesized once for all workers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from helpers.running import Run
from helpers.shared import Once
from helpers.synthesized import Synthesized, all_stacks


@pytest.fixture(scope="session")
def stacks(once: Once, lazy_run: Run) -> Sequence[Synthesized]:
    """Return shipped strategies alone and with each overlay, and those of tests/synth/strategies."""
    return all_stacks(once, lazy_run.outdir)

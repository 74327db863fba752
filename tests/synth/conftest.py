"""A run of ``main.py`` in a separate process, shared by several tests."""

from __future__ import annotations

import pytest

from helpers.running import Run, run_app
from helpers.shared import Once


@pytest.fixture(scope="session")
def eager_run(once: Once) -> Run:
    """Return all strategies, synthesized with the unmodified provider package; about ten seconds."""
    folder = once(
        "eager", lambda new: run_app(new / "cdktf.out", "main.py", EKS_HARDWARE_EAGER_PROVIDERS="1").save(new / "run")
    )
    return Run.load(folder / "run")

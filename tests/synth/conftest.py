"""A run of ``main.py`` in a separate process, shared by several tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.paths import SHIPPED, SPECIAL
from helpers.running import Run, run_app
from helpers.shared import Once

# Like `python main.py`. Collecting garbage takes a quarter of the time of importing 2,210 modules.
_MAIN = """
import gc, runpy
gc.disable()
runpy.run_path("main.py", run_name="__main__")
"""

_USE_EVERYTHING = (
    SHIPPED / "mixed-hardware.yaml",
    *(SPECIAL / f"{name}.yaml" for name in ("cluster-options", "images", "node-options", "private-network", "storage")),
)


@pytest.fixture(scope="session")
def eager_run(once: Once) -> Run:
    """Return the strategies that together use all resources, synthesized with the unmodified provider package."""

    def make(folder: Path) -> None:
        run = run_app(folder / "cdktf.out", "-c", _MAIN, strategies=_USE_EVERYTHING, EKS_HARDWARE_EAGER_PROVIDERS="1")
        run.save(folder / "run")

    return Run.load(once("eager", make) / "run")

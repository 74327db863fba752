"""Runs of ``main.py`` in a process of their own, shared by several tests."""

from __future__ import annotations

import json

import pytest

from helpers.running import Run, run_app

# Like `python main.py`; notes which modules are loaded at the end.
_NOTING = """
import json, pathlib, runpy, sys
try:
    runpy.run_path("main.py", run_name="__main__")
finally:
    pathlib.Path(sys.argv[1]).write_text(json.dumps(sorted(sys.modules)))
"""


@pytest.fixture(scope="session")
def lazy_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """All strategies, with the provider package loaded lazily."""
    folder = tmp_path_factory.mktemp("lazy")
    run = run_app(folder / "cdktf.out", "-c", _NOTING, str(folder / "modules.json"))
    modules = tuple(json.loads((folder / "modules.json").read_text(encoding="utf-8")))
    return Run(run.code, run.out, run.err, run.outdir, modules)


@pytest.fixture(scope="session")
def eager_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """All strategies, with the provider package as it comes; about ten seconds."""
    return run_app(tmp_path_factory.mktemp("eager"), "main.py", EKS_HARDWARE_EAGER_PROVIDERS="1")

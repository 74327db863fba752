"""The fast path on this machine's Node and, after `make node-versions`, on 20, 22 and 24."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from helpers.paths import ROOT, SHIPPED
from helpers.running import run_app

INSTALLED = sorted((ROOT / ".build" / "node").glob("*/node_modules/node/bin/node"))
STRATEGIES = (SHIPPED / "development.yaml", SHIPPED / "trainium-training.yaml")


@pytest.fixture(scope="module", params=["path", *(each.parents[3].name for each in INSTALLED)])
def node(request: pytest.FixtureRequest) -> Path:
    """Return the program on the PATH, and each version that ``make node-versions`` installed."""
    if request.param == "path":
        found = shutil.which("node")
        assert found
        return Path(found)
    program = next(each for each in INSTALLED if each.parents[3].name == request.param)
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    assert said.startswith(f"v{request.param}.")
    return program


def test_the_same_bytes_fast_and_with_the_stock_import(tmp_path: Path) -> None:
    """test_lazy_providers.py compares them on the Node of the PATH."""
    for node in INSTALLED:
        version = node.parents[3].name
        variables = {"JSII_NODE": str(node), "PATH": f"{node.parent}{os.pathsep}{os.environ['PATH']}"}
        fast = run_app(tmp_path / version / "fast", "main.py", strategies=STRATEGIES, **variables)
        # Node's half of the stock import; test_lazy_providers.py compares Python's half.
        stock = run_app(tmp_path / version / "stock", "-c", _STOCK_NODE, strategies=STRATEGIES, **variables)
        assert (version, fast.code, fast.err) == (version, 0, "")
        assert (version, stock.code, stock.err) == (version, 0, "")
        assert len(fast.stacks()) == len(STRATEGIES)
        assert fast.stacks() == stock.stacks(), version


# Like `python main.py`, with a Node process without the hook.
_STOCK_NODE = """
import os, runpy
import eks_hardware, jsii
assert "lazy_providers.js" in os.environ.pop("NODE_OPTIONS")
runpy.run_path("main.py", run_name="__main__")
"""


def test_node_waits_for_the_index(node: Path, tmp_path: Path) -> None:
    worker = tmp_path / "runtime-index-worker.js"
    worker.write_text(
        "const { workerData } = require('worker_threads');"
        "setTimeout(() => require('fs').writeFileSync(workerData.packageDir + '/.jsii.runtime.v1.json', '{}'), 300);"
    )
    code = (
        "const { Worker } = require('worker_threads');"
        "new Worker(require('path').resolve('runtime-index-worker.js'), { workerData: { packageDir: process.cwd() } })"
        ".on('online', () => process.exit(0));"
    )
    hook = ROOT / "eks_hardware" / "lazy_providers.js"
    environment = {**os.environ, "NODE_OPTIONS": f'--require "{hook}"'}
    subprocess.run([node, "--eval", code], cwd=tmp_path, env=environment, timeout=30, check=True)
    assert (tmp_path / ".jsii.runtime.v1.json").is_file()

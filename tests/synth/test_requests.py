"""The number of Python's requests to Node while a strategy's resources are defined, which is half of the time."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.profile import Watch
from eks_hardware.resolve import resolve
from helpers.strategies import shipped

# One request creates a resource; the others read attributes, such as the id of the VPC, once each.
MOST_A_RESOURCE = 2.25


def test_requests_for_each_resource(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from jsii._kernel.providers.process import _NodeProcess

    from eks_hardware._cdk import App
    from eks_hardware.stacks import strategy_stacks

    app = App(outdir=str(tmp_path))
    monkeypatch.setattr(_NodeProcess, "send", _NodeProcess.send)  # restored after the test
    watch = Watch()
    watch.watch_requests()
    stack = strategy_stacks(app, resolve(shipped("mixed-hardware")))[0]
    watch.done("define the resources")
    (phase,) = watch.phases
    defined = sum(len(named) for named in stack.to_terraform()["resource"].values())
    assert 0 < phase.requests <= MOST_A_RESOURCE * defined, f"{phase.requests} requests for {defined} resources"

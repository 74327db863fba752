"""The app run with both frameworks, from one environment that has both."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from helpers import cdk_terrain
from helpers.paths import ROOT, SHIPPED, SPECIAL
from helpers.running import NOTING, Run

# A strategy with a second stack for each kind of backend, which the first one's state is read from.
_TWO_STACKS = """
version: 1
name: two-stacks-{name}
region: us-west-2
cluster: {{creator_is_admin: true}}
node_groups:
  - {{name: system, instance_types: [m7i.xlarge], scaling: {{min: 2, max: 3}}}}
  - {{name: gpu, instance_types: [g6.2xlarge], scaling: {{max: 2}}}}
kubernetes: {{delivery: helm, stack: separate}}
backend: {backend}
"""
_BACKENDS = {
    "local": "{type: local}",
    "s3": "{type: s3, bucket: state, region: us-west-2, role_arn: 'arn:aws:iam::111122223333:role/state'}",
    "remote": "{type: remote, organization: acme}",
}


@pytest.fixture(scope="session")
def python() -> Path:
    """Python of an environment with both frameworks."""
    return cdk_terrain.environment()


@pytest.fixture(scope="session")
def runs(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Run]:
    """``main.py`` for every shipped and special strategy and those with two stacks, by framework."""
    more = tmp_path_factory.mktemp("strategies")
    for name, backend in _BACKENDS.items():
        (more / f"{name}.yaml").write_text(_TWO_STACKS.format(name=name, backend=backend), encoding="utf-8")
    named = os.pathsep.join(map(str, (SHIPPED, SPECIAL, more)))
    found = {}
    for framework in ("cdktf", "cdktn"):
        folder = tmp_path_factory.mktemp(framework)
        note = ["-c", NOTING, str(ROOT / "main.py"), str(folder / "modules.json")]
        run = cdk_terrain.run(python, framework, folder / "cdktf.out", *note, EKS_HARDWARE_STRATEGIES=named)
        assert (run.code, run.err) == (0, "")
        found[framework] = run
    return found


@pytest.fixture(scope="session")
def modules(runs: Mapping[str, Run]) -> Mapping[str, Mapping[str, str]]:
    """The file of every module that a run loaded, by framework and name."""
    return {name: json.loads((run.outdir.parent / "modules.json").read_text()) for name, run in runs.items()}


@pytest.fixture(scope="session")
def stacks(runs: Mapping[str, Run]) -> Mapping[str, Mapping[str, Any]]:
    """Every synthesized stack, by framework and name."""
    return {
        framework: {name: json.loads(content) for name, content in run.stacks().items()}
        for framework, run in runs.items()
    }

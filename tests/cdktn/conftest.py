"""The app with both frameworks, from one environment."""

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

# A strategy with a second stack for each kind of backend, which reads the first one's state.
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
    """Return Python of an environment with both frameworks."""
    return cdk_terrain.installed_python()


@pytest.fixture(scope="session")
def runs(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Run]:
    """Run ``main.py`` with each framework: for strategies with two stacks, and with CDK Terrain also for all others."""
    more = tmp_path_factory.mktemp("strategies")
    for name, backend in _BACKENDS.items():
        (more / f"{name}.yaml").write_text(_TWO_STACKS.format(name=name, backend=backend), encoding="utf-8")
    found = {}
    for framework, places in {"cdktf": [more], "cdktn": [SHIPPED, SPECIAL, more]}.items():
        folder = tmp_path_factory.mktemp(framework)
        note = ["-c", NOTING, str(ROOT / "main.py"), str(folder / "modules.json")]
        named = os.pathsep.join(map(str, places))
        run = cdk_terrain.run_python(python, framework, folder / "cdktf.out", *note, EKS_HARDWARE_STRATEGIES=named)
        assert (run.code, run.err) == (0, "")
        found[framework] = run
    return found


@pytest.fixture(scope="session")
def outdirs(runs: Mapping[str, Run], lazy_run: Run) -> Mapping[str, tuple[Path, ...]]:
    """Return the output folder of every strategy, by framework; other tests create most of CDK for Terraform's."""
    return {"cdktf": (lazy_run.outdir, runs["cdktf"].outdir), "cdktn": (runs["cdktn"].outdir,)}


@pytest.fixture(scope="session")
def modules(runs: Mapping[str, Run]) -> Mapping[str, Mapping[str, str]]:
    """Return the file of every module that a run loaded, by framework and name."""
    return {name: json.loads((run.outdir.parent / "modules.json").read_text()) for name, run in runs.items()}


@pytest.fixture(scope="session")
def stacks(outdirs: Mapping[str, tuple[Path, ...]]) -> Mapping[str, Mapping[str, Any]]:
    """Return every synthesized stack, by framework and name."""
    return {
        framework: {
            file.parent.name: json.loads(file.read_bytes())
            for folder in folders
            for file in folder.glob("stacks/*/cdk.tf.json")
        }
        for framework, folders in outdirs.items()
    }

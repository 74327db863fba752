"""Every shipped strategy is a configuration that the real Terraform and AWS provider accept."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from eks_hardware.loader.discovery import DEFAULT_FOLDER

ROOT = Path(__file__).resolve().parents[2]
STRATEGIES = sorted(file.stem for file in DEFAULT_FOLDER.glob("*.yaml"))
SPECIAL = ROOT / "tests" / "synth" / "strategies"

CLUSTER = "c" * 99 + "_"
LONGEST = f"""
version: 1
name: {CLUSTER}
region: ap-northeast-1
cluster: {{creator_is_admin: true, addons: {{amazon-cloudwatch-observability: {{}}}}}}
network:
  private: true
  flow_logs: {{}}
  interface_endpoints: [s3, ec2, ecr.api, ecr.dkr, eks, eks-auth, logs, monitoring, sqs, sts]
node_groups:
  - {{name: {"g" * 63}, instance_types: [m7i.xlarge], scaling: {{min: 2, max: 3, autoscaled: true}}}}
  - {{name: {"g" * 62}h, instance_types: [p5.48xlarge], efa: true, scaling: {{max: 3}}}}
karpenter:
  node_policies:
    - arn:aws:iam::aws:policy/AmazonSSMPatchAssociation
    - arn:aws:iam::111122223333:policy/team/AmazonSSMPatchAssociation
"""


@pytest.fixture(scope="module")
def synthesized(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Folder of a stack; all of them are synthesized once, as ``cdktf synth`` runs the app."""
    outdir = tmp_path_factory.mktemp("synth") / "cdktf.out"
    longest = tmp_path_factory.mktemp("longest") / "longest.yaml"
    longest.write_text(LONGEST, encoding="utf-8")
    named = os.pathsep.join([str(DEFAULT_FOLDER), str(SPECIAL), str(longest)])
    environment = {
        **os.environ,
        "CDKTF_OUTDIR": str(outdir),
        "EKS_HARDWARE_STRATEGIES": named,
        # Validating the releases would need the binary of the Helm provider.
        "EKS_HARDWARE_OVERLAY": "manifests",
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
    }
    done = subprocess.run(
        [sys.executable, "main.py"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return lambda name: outdir / "stacks" / name


@pytest.mark.parametrize("name", STRATEGIES)
def test_shipped_strategy_is_valid_terraform(name: str, synthesized: Callable[[str], Path], deploy: object) -> None:
    project = deploy.project(synthesized(name))  # type: ignore[attr-defined]
    project.run("init", "-backend=false", "-input=false", "-no-color")
    result = project.validate()
    assert result["diagnostics"] == []
    assert result["valid"]


# What only a newer provider knows cannot be validated by 5.100.0; tests/synth hold its raised version range.
NEEDS_NEWER_PROVIDER = {"account-options", "cluster-options"}


@pytest.mark.parametrize("file", sorted(SPECIAL.glob("*.yaml")), ids=lambda file: file.stem)
def test_special_strategy_is_valid_terraform(file: Path, synthesized: Callable[[str], Path], deploy: object) -> None:
    if file.stem in NEEDS_NEWER_PROVIDER:
        version = ">= 6."
        assert version in (synthesized(file.stem) / "cdk.tf.json").read_text(encoding="utf-8")
        return
    project = deploy.project(synthesized(file.stem))  # type: ignore[attr-defined]
    project.run("init", "-backend=false", "-input=false", "-no-color")
    result = project.validate()
    assert result["diagnostics"] == []
    assert result["valid"]


def test_longest_legal_names_are_valid_terraform(synthesized: Callable[[str], Path], deploy: object) -> None:
    """The provider has limits of its own, such as 125 characters for a launch template's name."""
    project = deploy.project(synthesized(CLUSTER))  # type: ignore[attr-defined]
    project.run("init", "-backend=false", "-input=false", "-no-color")
    result = project.validate()
    assert result["diagnostics"] == []
    assert result["valid"]

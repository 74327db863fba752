"""The Python of docs/guides/adopt-a-cluster.md is one program, and runs as written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from eks_hardware.adoption import Adoption, load_adoption
from eks_hardware.testing import Template
from helpers.paths import ROOT

GUIDE = (ROOT / "docs" / "guides" / "adopt-a-cluster.md").read_text(encoding="utf-8")


# Pools for an installed Karpenter are an alternative: in one app they would collide with the first.
ANOTHER_APP = """
stack = TerraformStack(App(), "only-pools")
AwsProvider(stack, "aws", region=adoption.region)
cluster = ClusterRef.from_existing(stack, "cluster", name=adoption.name)
"""


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("another team")
    (place / "pools.yaml").write_text(_blocks("yaml")[0], encoding="utf-8")
    blocks = [f"{ANOTHER_APP}\n{each}" if "node_role_name=" in each else each for each in _blocks("python")]
    (place / "team.py").write_text("\n".join([*blocks, "app.synth()"]), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CDKTF_OUTDIR": str(place / "out")}
    done = subprocess.run(
        [sys.executable, "team.py"], cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return place


def test_karpenter_and_its_pools_are_installed(folder: Path) -> None:
    template = Template.from_json(folder / "out" / "stacks" / "shared-pools" / "cdk.tf.json")
    assert sorted(body["name"] for body in template.resources("helm_release").values()) == [
        "karpenter",
        "karpenter-crd",
        "karpenter-resources",
        "nvidia-device-plugin",
    ]
    template.has("aws_ec2_tag", {"key": "karpenter.sh/discovery", "value": "shared"})


def test_pools_alone_are_written(folder: Path) -> None:
    files = sorted(file.name for file in (folder / "pools" / "manifests").rglob("*.yaml"))
    assert files == ["ec2nodeclass-inference.yaml", "nodepool-inference.yaml"]
    text = (folder / "pools" / "manifests" / "karpenter-resources" / files[0]).read_text(encoding="utf-8")
    assert "role: KarpenterNodeRole-shared" in text
    assert "${" not in text


def test_every_section_that_is_shown_can_be_written(folder: Path) -> None:
    whole = yaml.safe_load((folder / "pools.yaml").read_text(encoding="utf-8"))
    parts = [yaml.safe_load(each) for each in _blocks("yaml")[1:]]
    assert [list(each) for each in parts] == [["kubernetes"], ["cluster"], ["suffix"]]
    for part in parts:
        Adoption.model_validate({**whole, **part})


def test_the_file_has_no_finding(folder: Path) -> None:
    assert load_adoption(folder / "pools.yaml").warnings == ()

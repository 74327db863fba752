"""CDK for Terraform and CDK Terrain synthesize the same stacks from the same strategies."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from helpers import cdk_terrain
from helpers.paths import SHIPPED, SPECIAL
from helpers.running import Run

# The differences and their reasons. Other differences fail, and so does a listed one that no longer occurs. The guide
# lists them.
OURS = {"//.metadata.version": "the release of the framework"}
THEIRS = {
    **OURS,
    "terraform.required_providers.aws.source": "`aws` is short for `hashicorp/aws`",
    "terraform.required_providers.aws.version": "a binding pins its provider, our stacks ask for a range",
}

THEIR_APP = """
import sys
import eks_hardware
from cdktf import App, TerraformOutput, TerraformStack
from cdktf_cdktf_provider_aws.provider import AwsProvider
from cdktf_cdktf_provider_aws.s3_bucket import S3Bucket, S3BucketVersioning
from eks_hardware.stacks.app import strategies
from eks_hardware.stacks.hardware_stack import HardwareStack
import cdktf_cdktf_provider_aws as aws

app = App()
resolved = next(each for each, _ in strategies() if each.name == "development")
hardware = HardwareStack(app, resolved=resolved)
S3Bucket(hardware, "extra", bucket_prefix="extra-")
data = TerraformStack(app, "data")
AwsProvider(data, "aws", region="us-west-2")
tags = {"vpc": hardware.platform.network.vpc_id}
bucket = S3Bucket(data, "bucket", versioning=S3BucketVersioning(enabled=True), tags=tags)
aws.iam_role.IamRole(data, "reader", assume_role_policy="{}")
TerraformOutput(data, "arn", value=bucket.arn)
assert isinstance(bucket, S3Bucket) and isinstance(app, App) and type(app).__module__.startswith(sys.argv[1])
app.synth()
"""


def differences(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Return the paths at which two documents differ."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}):
            below = f"{path}.{key}" if path else key
            if key in before and key in after:
                yield from differences(before[key], after[key], below)
            else:
                yield below
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, f"{path}[{index}]")
    elif type(before) is not type(after) or before != after:
        yield path


def _release(python: Path, package: str) -> str:
    code = f"import importlib.metadata as metadata; print(metadata.version({package!r}))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def _addresses(stack: Mapping[str, Any]) -> set[str]:
    return {
        f"{kind}.{type_}.{name}"
        for kind in ("data", "resource")
        for type_, named in stack.get(kind, {}).items()
        for name in named
    }


@pytest.mark.parametrize(
    ("after", "found"),
    [
        ({"a": {"b": [1, {"c": True}]}}, []),
        ({"a": {"b": [1, {"c": 1}]}}, ["a.b[1].c"]),
        ({"a": {"b": [1, {"c": True, "d": None}]}}, ["a.b[1].d"]),
        ({"a": {"b": [1]}}, ["a.b"]),
        ({}, ["a"]),
    ],
)
def test_every_difference_is_found(after: Any, found: list[str]) -> None:
    assert list(differences({"a": {"b": [1, {"c": True}]}}, after)) == found


def test_every_strategy_has_its_stacks(stacks: Mapping[str, Mapping[str, Any]]) -> None:
    names = {file.stem for folder in (SHIPPED, SPECIAL) for file in folder.glob("*.yaml")}
    assert len(names) > 15
    assert names <= set(stacks["cdktn"])
    assert set(stacks["cdktn"]) == set(stacks["cdktf"])


def test_only_the_release_of_the_framework_differs(stacks: Mapping[str, Mapping[str, Any]], strategy_name: str) -> None:
    """Resources, data sources, outputs, providers and backend are the same, at the same addresses."""
    before, after = (stacks[framework][strategy_name] for framework in ("cdktf", "cdktn"))
    assert _addresses(after) == _addresses(before)
    assert len(_addresses(after)) > 20
    assert after["output"] == before["output"]
    assert list(differences(before, after)) == list(OURS)


def test_second_stacks_are_the_same_too(stacks: Mapping[str, Mapping[str, Any]]) -> None:
    found = {
        name: list(differences(stacks["cdktf"][name], after))
        for name, after in stacks["cdktn"].items()
        if name.startswith("two-stacks-")
    }
    kinds = ("local", "remote", "s3")
    expected = {f"two-stacks-{kind}{which}": list(OURS) for kind in kinds for which in ("", "-kubernetes")}
    assert found == expected
    assert {
        kind: "terraform_remote_state" in stacks["cdktn"][f"two-stacks-{kind}-kubernetes"]["data"] for kind in kinds
    } == {"local": True, "remote": True, "s3": True}


def test_each_was_made_by_its_framework(python: Path, stacks: Mapping[str, Mapping[str, Any]]) -> None:
    made = {
        framework: {stack["//"]["metadata"]["version"] for stack in named.values()}
        for framework, named in stacks.items()
    }
    assert made == {framework: {_release(python, framework)} for framework in ("cdktf", "cdktn")}


def test_the_stacks_depend_on_each_other_as_before(outdirs: Mapping[str, tuple[Path, ...]]) -> None:
    before, after = (
        {
            name: stack["dependencies"]
            for folder in folders
            for name, stack in json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["stacks"].items()
        }
        for folders in outdirs.values()
    )
    assert before == after
    assert any(before.values())


def test_the_lock_in_the_bucket_is_asked_for_once(runs: Mapping[str, Run]) -> None:
    """CDK Terrain has the argument, CDK for Terraform uses an override."""
    text = runs["cdktn"].stacks()["cluster-options"].decode()
    assert text.count('"use_lockfile": true') == 1
    assert json.loads(text)["terraform"]["backend"]["s3"]["use_lockfile"] is True


def test_written_manifests_are_the_same(outdirs: Mapping[str, tuple[Path, ...]]) -> None:
    before, after = (
        {
            file.relative_to(folder): file.read_bytes()
            for folder in folders
            for file in folder.glob("stacks/*/kubernetes/**/*")
            if file.is_file()
        }
        for folders in outdirs.values()
    )
    assert before
    assert before == after


def test_nothing_of_the_other_framework_is_loaded(modules: Mapping[str, Mapping[str, str]]) -> None:
    """CDK for Terraform can be uninstalled: its module name exists, but the file is CDK Terrain's."""
    folders = {file.split("site-packages/")[-1].split("/")[0] for file in modules["cdktn"].values()}
    assert {"cdktn", "cdktn_provider_aws", "cdktn_provider_helm"} <= folders
    assert not [folder for folder in folders if folder.startswith("cdktf")]
    assert modules["cdktn"]["cdktf"] == modules["cdktn"]["cdktn"]
    before = {file.split("site-packages/")[-1].split("/")[0] for file in modules["cdktf"].values()}
    assert not [folder for folder in before if folder.startswith("cdktn")]


def test_only_what_is_used_is_loaded(modules: Mapping[str, Mapping[str, str]]) -> None:
    loaded = [name for name in modules["cdktn"] if name.startswith("cdktn_provider_aws.")]
    assert "cdktn_provider_aws.eks_cluster" in loaded
    assert len(loaded) < 150


def test_another_teams_app_runs_unchanged(python: Path, tmp_path: Path) -> None:
    """An app for CDK for Terraform, with resources that this toolkit does not use."""
    found = {}
    for framework in ("cdktf", "cdktn"):
        outdir = tmp_path / "project" / framework
        outdir.parent.mkdir(exist_ok=True)
        run = cdk_terrain.run_python(python, framework, outdir, "-c", THEIR_APP, framework)
        assert (run.code, run.err) == (0, "")
        found[framework] = {name: json.loads(content) for name, content in run.stacks().items()}
    before, after = found["cdktf"], found["cdktn"]
    assert set(after) == {"development", "data"}
    assert "extra" in after["development"]["resource"]["aws_s3_bucket"]
    assert set(after["data"]["resource"]) == {"aws_s3_bucket", "aws_iam_role"}
    assert {name: list(differences(before[name], after[name])) for name in after} == {
        "development": list(OURS),
        "data": list(THEIRS),
    }


@pytest.mark.parametrize(
    ("framework", "code", "message"),
    [
        (
            "cdktn",
            "import cdktf; import eks_hardware._cdk",
            "cdktf was imported before eks_hardware, so EKS_HARDWARE_FRAMEWORK=cdktn has no effect; "
            "import eks_hardware first, or import from cdktn instead of cdktf",
        ),
        (
            "",
            "import cdktn; import eks_hardware._cdk",
            "this app imports cdktn, which cannot be mixed with cdktf; "
            "set EKS_HARDWARE_FRAMEWORK=cdktn for eks_hardware",
        ),
        (
            "cdktn",
            "import eks_hardware; import cdktf_cdktf_provider_random.pet",
            "EKS_HARDWARE_FRAMEWORK=cdktn needs cdktn_provider_random, which is not installed: "
            "pip install cdktn-provider-random",
        ),
    ],
)
def test_the_two_are_not_mixed(python: Path, tmp_path: Path, framework: str, code: str, message: str) -> None:
    run = cdk_terrain.run_python(python, framework, tmp_path / "cdktf.out", "-c", code)
    assert run.code == 1
    assert run.err.splitlines()[-1] == f"eks_hardware._framework.FrameworkError: {message}"


def test_an_app_that_has_moved_needs_no_order_of_imports(python: Path, tmp_path: Path) -> None:
    app = THEIR_APP.replace("import eks_hardware\n", "").replace("cdktf_cdktf_provider", "cdktn_provider")
    run = cdk_terrain.run_python(
        python, "cdktn", tmp_path / "cdktf.out", "-c", app.replace("from cdktf ", "from cdktn "), "cdktn"
    )
    assert (run.code, run.err) == (0, "")
    assert set(run.stacks()) == {"development", "data"}

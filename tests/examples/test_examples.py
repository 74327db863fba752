"""Each example runs as its README says, from a copy of its folder, in separate processes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from eks_hardware.testing import Template, assert_no_public_api
from helpers.kubernetes.karpenter_rules import check_rules
from helpers.kubernetes.karpenter_schema import check_custom_resources
from helpers.paths import ROOT

FOLDER = ROOT / "examples"
NAMES = sorted(each.parent.name for each in FOLDER.glob("*/main.py"))
STACKS = {
    "adopted-cluster": ("research-pools", "shared-pools"),
    "one-construct": ("rendering",),
    "strategy-and-own-resources": ("research",),
}

_CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
# pytest adds minutes to a run of at least a minute: "in 65.12s (0:01:05)".
_SECONDS = re.compile(r"\b[0-9.]+s\b(?: \(\d+:\d\d:\d\d\))?")


@dataclass(frozen=True)
class Command:
    """A command of a README with the output below it."""

    text: str
    output: str


@dataclass(frozen=True)
class Ran:
    """A copy of an example after all commands of its README, with their output."""

    folder: Path
    outputs: tuple[tuple[Command, str, str], ...]

    def template(self, stack: str) -> Template:
        return Template.from_json(self.folder / "cdktf.out" / "stacks" / stack / "cdk.tf.json")


def readme_commands(readme: str) -> Iterator[Command]:
    for block in _CONSOLE.findall(readme):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            text, _, output = part.partition("\n")
            yield Command(text, output)


def user_environment() -> dict[str, str]:
    """Return the environment of a user who has installed the package."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("EKS_HARDWARE", "PYTEST", "CDKTF"))
    }
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**kept, "PATH": path, "PYTHONPATH": str(ROOT)}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Ran]:
    done: dict[str, Ran] = {}

    def run(name: str) -> Ran:
        if name not in done:
            folder = tmp_path_factory.mktemp("another team") / name
            shutil.copytree(FOLDER / name, folder, ignore=shutil.ignore_patterns("cdktf.out", "__pycache__", ".*"))
            outputs = []
            for each in readme_commands((folder / "README.md").read_text(encoding="utf-8")):
                finished = subprocess.run(
                    ["bash", "-c", each.text],
                    cwd=folder,
                    env=user_environment(),
                    capture_output=True,
                    text=True,
                    timeout=600,
                    check=False,
                )
                assert finished.returncode == 0, f"$ {each.text}\n{finished.stdout}{finished.stderr}"
                outputs.append((each, finished.stdout, finished.stderr))
            done[name] = Ran(folder, tuple(outputs))
        return done[name]

    return run


@pytest.mark.parametrize("name", NAMES)
def test_every_command_prints_what_its_readme_says(name: str, ran: Callable[[str], Ran]) -> None:
    outputs = ran(name).outputs
    texts = [command.text for command, _, _ in outputs]
    assert "python main.py" in texts
    assert "python -m pytest -q" in texts
    for command, out, err in outputs:
        assert (_SECONDS.sub("s", out), err) == (_SECONDS.sub("s", command.output), ""), command.text


@pytest.mark.parametrize("name", NAMES)
def test_its_app_is_main(name: str) -> None:
    assert json.loads((FOLDER / name / "cdktf.json").read_text(encoding="utf-8"))["app"] == "python main.py"


def test_every_example_is_known() -> None:
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert sorted(STACKS) == NAMES
    assert re.findall(r"\]\(([\w-]+)/README\.md\)", index) == [
        "one-construct",
        "strategy-and-own-resources",
        "adopted-cluster",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_addresses(name: str, ran: Callable[[str], Ran], golden: Callable[[str, str], None]) -> None:
    """A changed line is a resource that Terraform replaces."""
    found = ran(name)
    assert sorted(each.name for each in (found.folder / "cdktf.out" / "stacks").iterdir()) == list(STACKS[name])
    for stack in STACKS[name]:
        addresses = found.template(stack).addresses()
        lines = [f"{address}  {path}\n" for address, path in sorted(addresses.items())]
        golden(f"examples/{name}/{stack}.txt", "".join(lines))


@pytest.mark.parametrize("name", NAMES)
def test_no_api_is_open_and_no_reference_is_left(name: str, ran: Callable[[str], Ran]) -> None:
    for stack in STACKS[name]:
        template = ran(name).template(stack)
        assert_no_public_api(template)
        text = json.dumps(template.document)
        assert "TfToken" not in text
        assert "TOKEN." not in text
        assert "@{" not in text


def test_a_strategy_keeps_every_address_beside_what_a_team_adds(ran: Callable[[str], Ran], tmp_path: Path) -> None:
    found = ran("strategy-and-own-resources")
    subprocess.run(
        [sys.executable, "-m", "eks_hardware"],
        cwd=found.folder,
        env={**user_environment(), "EKS_HARDWARE_STRATEGIES": "strategies", "CDKTF_OUTDIR": str(tmp_path)},
        timeout=600,
        check=True,
    )
    alone = Template.from_json(tmp_path / "stacks" / "research" / "cdk.tf.json").addresses()
    added = {address.rpartition(".")[0] for address in found.template("research").addresses().keys() - alone.keys()}
    assert alone.items() <= found.template("research").addresses().items()
    assert added == {
        "aws_eks_pod_identity_association",
        "aws_iam_role",
        "aws_iam_role_policy",
        "aws_s3_bucket",
        "aws_s3_bucket_ownership_controls",
        "aws_s3_bucket_policy",
        "aws_s3_bucket_public_access_block",
        "aws_s3_bucket_server_side_encryption_configuration",
        "aws_s3_bucket_versioning",
    }


def _yaml(text: str) -> Any:
    return yaml.safe_load(text)


def test_karpenter_takes_the_pools_of_adopted_clusters(ran: Callable[[str], Ran]) -> None:
    found = ran("adopted-cluster")
    folder = found.folder / "cdktf.out" / "stacks" / "research-pools" / "kubernetes" / "manifests"
    written = [_yaml(file.read_text(encoding="utf-8")) for file in sorted(folder.rglob("*.yaml"))]
    (values,) = found.template("shared-pools").resource("helm_release", {"name": "karpenter-resources"})["values"]
    installed = _yaml(values)["objects"]
    # A Terraform reference replaces a name that Karpenter needs.
    for each in installed:
        if each["kind"] == "EC2NodeClass":
            assert each["spec"]["role"].startswith("${aws_iam_role.")
            each["spec"]["role"] = "a-role"
    kinds = sorted(each["kind"] for each in (*written, *installed))
    assert kinds == ["EC2NodeClass"] * 3 + ["NodeOverlay"] + ["NodePool"] * 3
    assert check_custom_resources([*written, *installed]) == []
    assert [fault for each in (*written, *installed) for fault in check_rules(each)] == []

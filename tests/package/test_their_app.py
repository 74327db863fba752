"""Another team's CDKTF app, in a separate folder, uses the constructs of the installed wheel."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from eks_hardware.testing import Template
from helpers.installed import Installed
from helpers.paths import ROOT, SHIPPED

# Folders and modules with the same names as ours.
THEIRS = {
    "config/__init__.py": "",
    "config/models.py": 'BUCKET: str = "team-checkpoints"\n',
    "stacks/__init__.py": "",
    "stacks/app.py": """\
from cdktf import TerraformStack
from cdktf_cdktf_provider_aws.provider import AwsProvider
from constructs import Construct


class TeamStack(TerraformStack):
    def __init__(self, scope: Construct, id_: str, *, region: str) -> None:
        super().__init__(scope, id_)
        AwsProvider(self, "aws", region=region)
""",
    # Not a package: as a package it would hide the library `constructs`, with and without eks-hardware.
    "constructs/network/__init__.py": 'raise RuntimeError("this module must not be imported")\n',
    "strategies/research.yaml": (SHIPPED / "gpu-training.yaml").read_text(encoding="utf-8"),
    "main.py": '''\
"""Two stacks: nodes for an existing cluster, and a whole strategy with the team's own resources."""

import eks_hardware  # first, so that the AWS provider loads lazily, also for the team's own resources

from cdktf import App
from cdktf_cdktf_provider_aws.s3_bucket import S3Bucket
from cdktf_cdktf_provider_aws.sqs_queue import SqsQueue
from config.models import BUCKET
from eks_hardware.validation import load_strategy
from eks_hardware.models import NodeGroupSpec, Scaling
from eks_hardware.iam_policies.document import assumed_by_service
from eks_hardware.resolve import node_policy_arns, resolve
from eks_hardware.constructs.cluster import ClusterRef
from eks_hardware.constructs.efa import EfaSecurityGroup
from eks_hardware.constructs.iam import Role
from eks_hardware.constructs.network import NetworkRef
from eks_hardware.constructs.node_groups import NodeGroup
from eks_hardware.constructs.platform import Platform
from stacks.app import TeamStack

app = App()

nodes = TeamStack(app, "team-nodes", region="us-west-2")
network = NetworkRef.from_existing(
    vpc_id="vpc-0123456789abcdef0", private_subnet_ids={"usw2-az2": "subnet-0123456789abcdef0"}
)
cluster = ClusterRef.from_existing(nodes, "cluster", name="shared")
role = Role(
    nodes,
    "node-role",
    name="team-nodes",
    assume_role_policy=assumed_by_service("ec2.amazonaws.com"),
    policy_arns=node_policy_arns("aws"),
)
efa = EfaSecurityGroup(nodes, "efa", name="team-efa", vpc_id=network.vpc_id)
NodeGroup.from_config(
    nodes,
    "h100",
    config=NodeGroupSpec(name="h100", instance_types=("p5.48xlarge",), efa=True, scaling=Scaling(max=4)),
    kubernetes_version="1.35",
    cluster_name="shared",
    cluster=cluster,
    network=network,
    role=role,
    efa_security_group_id=efa.security_group_id,
)
SqsQueue(nodes, "jobs", name="team-jobs", tags={"endpoint": cluster.endpoint})

research = TeamStack(app, "research", region="us-west-2")
loaded = load_strategy("strategies/research.yaml")
platform = Platform(research, "platform", resolved=resolve(loaded.strategy))
S3Bucket(research, "checkpoints", bucket=BUCKET, tags={"cluster": platform.cluster.cluster_name})

app.synth()
''',
}
# Runs main.py like `python main.py`, and records the file of every module.
NOTING = """\
import json, os, runpy, sys
from pathlib import Path
sys.path[0] = str(Path.cwd())
runpy.run_path("main.py", run_name="__main__")
files = {name: getattr(module, "__file__", None) for name, module in sys.modules.items()}
Path("notes.json").write_text(json.dumps({"path": sys.path, "files": files, "node": os.environ["NODE_OPTIONS"]}))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return their checkout, in a path with a space."""
    folder = tmp_path_factory.mktemp("their team") / "an app"
    for name, text in THEIRS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def stacks(outdir: Path) -> dict[str, bytes]:
    return {file.parent.name: file.read_bytes() for file in sorted(outdir.glob("stacks/*/cdk.tf.json"))}


@pytest.fixture(scope="module")
def synthesized(installed: Installed, folder: Path) -> Path:
    """Return the output of ``python main.py``."""
    done = installed.run("python", "-c", NOTING, cwd=folder, CDKTF_OUTDIR="cdktf.out")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder / "cdktf.out"


@pytest.fixture(scope="module")
def notes(synthesized: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((synthesized.parent / "notes.json").read_text(encoding="utf-8"))
    return content


def test_everything_of_ours_comes_from_the_environment(installed: Installed, notes: dict[str, Any]) -> None:
    ours = {name: file for name, file in notes["files"].items() if name.split(".")[0] == "eks_hardware" and file}
    assert {"eks_hardware.catalogue", "eks_hardware.constructs.network.network"} <= set(ours)
    assert [file for file in ours.values() if not Path(file).is_relative_to(installed.package)] == []


def test_nothing_comes_from_the_checkout(installed: Installed, notes: dict[str, Any]) -> None:
    def of_the_checkout(path: str) -> bool:
        """Return the environment with the wheel, which is also in the checkout."""
        return Path(path).is_relative_to(ROOT) and not Path(path).is_relative_to(installed.folder)

    assert [each for each in notes["path"] if of_the_checkout(each)] == []
    assert [file for file in notes["files"].values() if file and of_the_checkout(file)] == []


def test_their_folders_are_theirs(folder: Path, notes: dict[str, Any]) -> None:
    theirs = ("config", "config.models", "stacks", "stacks.app")
    assert {name: Path(notes["files"][name]).is_relative_to(folder) for name in theirs} == dict.fromkeys(theirs, True)
    assert "site-packages" in notes["files"]["constructs"]


def test_the_fast_path_is_on(installed: Installed, notes: dict[str, Any]) -> None:
    """In Python, also for their own resources, and in Node, from a path with a space."""
    loaded = {name for name in notes["files"] if name.startswith("cdktf_cdktf_provider_aws.")}
    assert {"cdktf_cdktf_provider_aws.eks_cluster", "cdktf_cdktf_provider_aws.sqs_queue"} <= loaded
    assert len(loaded) < 150  # of 2,210
    hook = installed.package / "lazy_providers.js"
    assert " " in str(hook)
    assert f'--require "{hook}"' in notes["node"]


def test_nodes_for_a_cluster_that_is_there(synthesized: Path) -> None:
    template = Template.from_json(synthesized / "stacks" / "team-nodes" / "cdk.tf.json")
    assert template.only("aws_eks_node_group")["subnet_ids"] == ["subnet-0123456789abcdef0"]
    assert len(template.only("aws_launch_template")["network_interfaces"]) == 33
    assert template.resources("aws_eks_cluster") == {}
    assert template.resources("aws_vpc") == {}
    template.has("aws_security_group", {"vpc_id": "vpc-0123456789abcdef0"})
    template.has(
        "aws_sqs_queue", {"name": "team-jobs", "tags": {"endpoint": "${data.aws_eks_cluster.cluster.endpoint}"}}
    )


def test_a_strategy_beside_their_bucket(synthesized: Path) -> None:
    template = Template.from_json(synthesized / "stacks" / "research" / "cdk.tf.json")
    assert template.only("aws_eks_cluster")["name"] == "gpu-training"
    bucket = template.only("aws_s3_bucket")
    assert bucket["bucket"] == "team-checkpoints"
    assert bucket["tags"]["cluster"] == f"${{{template.address('aws_eks_cluster')}.name}}"


def test_the_stock_provider_is_there_for_who_asks(installed: Installed, tmp_path: Path) -> None:
    """tests/synth/test_lazy_providers.py checks that both result in the same bytes: the code is the same."""
    program = (
        "import os, eks_hardware, jsii; from importlib.util import find_spec;"
        "print(type(find_spec('cdktf_cdktf_provider_aws').loader).__name__, 'NODE_OPTIONS' in os.environ)"
    )
    found = {
        switch: installed.run("python", "-c", program, cwd=tmp_path, EKS_HARDWARE_EAGER_PROVIDERS=switch).stdout
        for switch in ("0", "1")
    }
    assert found == {"0": "_LazyRoot True\n", "1": "SourceFileLoader False\n"}


# --- a read-only install

_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE = 24, 1


def _without_the_right_of_root_to_write() -> None:
    """Drop the capabilities in the child, so that file permissions also apply to root (capabilities(7))."""
    if os.geteuid() == 0 and ctypes.CDLL(None, use_errno=True).prctl(_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Remove write permission from a folder and everything in it."""
    every = [folder, *(each for each in folder.rglob("*") if not each.is_symlink())]
    modes = {each: each.stat().st_mode for each in every}
    try:
        for each, mode in modes.items():
            each.chmod(mode & ~0o222)
        yield
    finally:
        for each, mode in modes.items():
            each.chmod(mode)


def listing(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(each.relative_to(folder)): (each.stat().st_mtime_ns, each.stat().st_size)
        for each in folder.rglob("*")
        if each.is_file() and "__pycache__" not in each.parts
    }


def test_from_a_read_only_install(installed: Installed, folder: Path, synthesized: Path) -> None:
    before = listing(installed.folder)
    writing = f"open({str(installed.package / 'new')!r}, 'w')"
    with read_only(installed.folder):
        refused, done = (
            subprocess.run(
                [installed.python, *arguments],
                cwd=folder,
                env=installed.environment(CDKTF_OUTDIR="cdktf.read-only"),
                preexec_fn=_without_the_right_of_root_to_write,
                capture_output=True,
                text=True,
                check=False,
            )
            for arguments in (["-c", writing], ["main.py"])
        )
    assert "PermissionError" in refused.stderr
    assert (done.returncode, done.stderr) == (0, "")
    assert stacks(folder / "cdktf.read-only") == stacks(synthesized)
    assert listing(installed.folder) == before


# --- types

# Provider packages are typed, too, with thousands of modules: this test does not check their resources.
_MYPY = """\
[mypy]
strict = true
[mypy-cdktf_cdktf_provider_aws.*]
follow_imports = skip
[mypy-cdktf_cdktf_provider_helm.*]
follow_imports = skip
"""


def test_the_types_are_there(installed: Installed, folder: Path) -> None:
    """``py.typed``: mypy sees signatures of the installed package, and reports wrong calls."""
    (folder / "mypy.ini").write_text(_MYPY, encoding="utf-8")
    (folder / "wrong.py").write_text(
        "from eks_hardware.constructs.network import NetworkRef\n"
        'NetworkRef.from_existing(vpc_id=1, private_subnet_ids={"usw2-az2": "subnet-0"})\n'
        "from eks_hardware.resolve import nowhere\n",
        encoding="utf-8",
    )
    # mypy keeps what it knows about unchanged modules, by their content.
    options = ("--config-file", "mypy.ini", "--cache-dir", ROOT / ".build" / "mypy-installed")
    found = {
        name: subprocess.run(
            [sys.executable, "-m", "mypy", *options, "--python-executable", installed.python, name],
            cwd=folder,
            env=installed.environment(),
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        for name in ("main.py", "wrong.py")
    }
    assert found["main.py"] == "Success: no issues found in 1 source file\n"
    assert [line.rsplit("[", 1)[-1] for line in found["wrong.py"].splitlines()[:2]] == ["arg-type]", "attr-defined]"]

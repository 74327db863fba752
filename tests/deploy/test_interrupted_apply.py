"""An apply that is interrupted or killed goes on, and ``eks-hardware orphans`` finds what Terraform then does not know.

On Ctrl-C, Terraform stops the AWS provider, which gives up its requests. AWS may complete them. A killed Terraform does
not write what it has just created to the state, and leaves its lock in a bucket. The commands for a state in a bucket
are those of docs/guides/real-account.md.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eks_hardware.cli.errors import NOT_RUN
from eks_hardware.local.readback import Account
from helpers.paths import ROOT
from helpers.shared import Once
from helpers.synthesized import with_overlay

from .conftest import PLAN, Deploy, Project

REGION = "us-west-2"
STRATEGY = "mixed-hardware"
# Each in another part of the stack: first resources, network, control plane, nodes.
ENDED = (
    ("aws_vpc", signal.SIGKILL),
    ("aws_route_table_association", signal.SIGINT),
    ("aws_eks_cluster", signal.SIGINT),
    ("aws_eks_node_group", signal.SIGKILL),
)
KILLS = 10
BUCKET = "acme-state"
GUIDE = ROOT / "docs" / "guides" / "real-account.md"
RESTORE = re.compile(r"run this command again: (cp .+)$")
FAULTS = pytest.mark.skipif("EKS_HARDWARE_FAULTS" not in os.environ, reason="takes minutes: `make faults` runs it")
# Types whose creation succeeds if the resource exists: they only put values into others.
_REPEATABLE = {
    "aws_cloudwatch_event_target",
    "aws_default_security_group",
    "aws_ec2_tag",
    "aws_iam_role_policy",
    "aws_iam_role_policy_attachment",
    "aws_sqs_queue_policy",
}


@pytest.fixture
def project(deploy: Deploy, once: Once, account: Callable[[str], Account]) -> Iterator[Project]:
    here = account(REGION)
    before = here.inventory()
    (stack,) = (each for each in with_overlay(once, "local") if each.strategy == STRATEGY)
    found = deploy.project(stack.file.parent)
    found.init()
    yield found
    found.destroy()
    assert here.inventory() == before, "destroy left something behind"


def orphans(project: Project) -> dict[str, list[str]]:
    """Return the commands of ``eks-hardware orphans`` by the address of the resource.

    If the killed Terraform left a broken state file, restores it with the command that the first call prints.
    """
    found = ask_for_orphans(project)
    if found.returncode == NOT_RUN and (restore := RESTORE.search(found.stderr)):
        print("restored the state:", restore[1])
        subprocess.run(shlex.split(restore[1]), check=True)
        found = ask_for_orphans(project)
    document = json.loads(found.stdout)
    assert (found.returncode, document["not_checked"]) == (bool(document["orphans"]), []), found.stdout
    return {each["address"]: each["commands"] for each in document["orphans"]}


def ask_for_orphans(project: Project) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            *(sys.executable, "-c", "from eks_hardware.cli import main; main()", "orphans", STRATEGY),
            *("--overlay", "local", "--stack-dir", str(project.stack_dir), "--json"),
        ],
        capture_output=True,
        check=False,
        env=dict(project.environment),
        text=True,
    )


def recover(project: Project) -> set[str]:
    """Run the commands until nothing is found; return the addresses that were found."""
    recovered: set[str] = set()
    before: dict[str, list[str]] = {}
    while found := orphans(project):
        assert found != before, "the commands had no effect"
        before = found
        recovered |= set(found)
        for command in itertools.chain.from_iterable(found.values()):
            program, *arguments = shlex.split(command)
            if program == "terraform":
                project.run(*arguments)
            else:  # a second one of a resource that the state has
                assert program == "aws"
                project.aws(*arguments)
    return recovered


def test_an_interrupted_apply_goes_on(project: Project) -> None:
    known: list[str] = []
    for after, by in ENDED:
        # The one before may have created it: then the next resource that is new counts.
        there = any(each.startswith(f"{after}.") for each in known)
        found = project.interrupt("apply_complete", "" if there else f"{after}.", by=by, without=known)
        # A tainted resource is not in the state between its deletion and its creation.
        assert by == signal.SIGKILL or set(found) - set(known)
        print(after, by.name, recover(project))
        known = project.addresses()
    changes = project.plan().changes
    replaced = {address for address, action in changes.items() if action == "replace"}
    assert replaced <= project.tainted(), "replaced for another reason than an interrupted creation"
    assert set(changes.values()) <= {"create", "update", "read", "replace"}
    project.run("apply", "-input=false", PLAN)
    assert len(project.addresses()) > len(known)
    plan = project.plan()
    assert (plan.exit_code, plan.changes) == (0, {})
    known = project.addresses()
    project.interrupt("apply_complete", "aws_eks_node_group.", by=signal.SIGKILL, command="destroy")
    # In some runs, Terraform itself leaves it so: it empties the file before it writes.
    state = project.document()["terraform"]["backend"]["local"]["path"]
    (project.stack_dir / state).write_text("", encoding="utf-8")
    assert orphans(project) == {}
    assert project.addresses() == known
    project.run("destroy", "-auto-approve", "-input=false")  # reads first what the killed one deleted


def guide_command(start: str, **values: str) -> list[str]:
    """Return the arguments of a command of the guide, with values for its words in capitals."""
    found = re.search(rf"{re.escape(start)}[^`$]*", " ".join(GUIDE.read_text(encoding="utf-8").split()))
    assert found is not None, f"{GUIDE} has no command {start}"
    filled = re.sub(r"\b[A-Z]{2,}\b", lambda word: values[word[0]], found[0])
    program, *arguments = shlex.split(filled)
    return [*arguments, "--region", REGION] if program == "aws" else arguments


def test_a_state_in_a_bucket_is_unlocked_and_restored(
    deploy: Deploy, account: Callable[[str], Account], tmp_path: Path
) -> None:
    s3, key = account(REGION).client("s3"), "night.tfstate"
    s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
    s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    backend = {"bucket": BUCKET, "key": key, "region": REGION, "use_lockfile": True, "encrypt": True}
    document: dict[str, Any] = {"terraform": {"backend": {"s3": backend}}}
    document["resource"] = {"terraform_data": {"first": {"provisioner": [{"local-exec": {"command": "sleep 3"}}]}}}
    (tmp_path / "cdk.tf.json").write_text(json.dumps(document), encoding="utf-8")
    project = deploy.project(tmp_path)
    project.init()

    project.interrupt("apply_start", "terraform_data.", by=signal.SIGKILL)
    refused = project.run("plan", "-input=false", "-no-color", codes=(1,)).stderr
    lock = re.search(r"Error acquiring the state lock.*ID: +(\S+)", refused, re.DOTALL)
    assert lock is not None, refused
    _, *unlock = guide_command("terraform -chdir=cdktf.out/stacks/mixed-hardware force-unlock", ID=lock[1])
    project.run(*unlock)
    project.apply()

    document["resource"] = {"terraform_data": {"second": {}}}
    (project.stack_dir / "cdk.tf.json").write_text(json.dumps(document), encoding="utf-8")
    project.apply()
    project.aws(*guide_command("aws s3api list-object-versions", BUCKET=BUCKET, KEY=key))
    versions = s3.list_object_versions(Bucket=BUCKET, Prefix=key)["Versions"]
    (before,) = (each["VersionId"] for each in versions if each["Key"] == key and not each["IsLatest"])
    s3.delete_object(Bucket=BUCKET, Key=key)
    project.aws(*guide_command("aws s3api copy-object", BUCKET=BUCKET, KEY=key, VERSION=before))
    assert project.addresses() == ["terraform_data.first"]
    assert project.plan().changes == {"terraform_data.first": "delete", "terraform_data.second": "create"}


@FAULTS
def test_an_apply_that_is_killed_at_random_moments_goes_on(project: Project) -> None:
    """``EKS_HARDWARE_KILLS_SEED`` repeats the choices of an earlier run, which printed it."""
    seed = int(os.environ.get("EKS_HARDWARE_KILLS_SEED") or random.randrange(2**32))
    print(f"EKS_HARDWARE_KILLS_SEED={seed}")
    chance = random.Random(seed)
    total, known = len(project.plan().changes), project.addresses()
    for number in range(KILLS):
        event = chance.choice(("apply_start", "apply_complete"))
        after = chance.randint(1, max(1, (total - len(known)) // 3))  # so that the last kills are late
        known = project.interrupt(event, "", by=signal.SIGKILL, number=after)
        print(f"kill {number} at {event} {after}, {len(known)} resources in the state:", recover(project))
        known = project.addresses()  # a restored state and imports have more
    project.apply()
    assert orphans(project) == {}
    plan = project.plan()
    assert (plan.exit_code, plan.changes) == (0, {})


@FAULTS
def test_every_kind_that_the_state_lost_is_found_and_imported(project: Project) -> None:
    """With the state lost one resource of each type. A full one has nothing to find."""
    project.apply()
    assert orphans(project) == {}
    lost = {each.partition(".")[0]: each for each in project.addresses() if not each.startswith("data.")}
    for kind in _REPEATABLE:
        del lost[kind]
    # Found only when the state has what they connect; NAT gateways depend on them.
    connections = {lost.pop(kind) for kind in ("aws_route", "aws_route_table_association")}
    for addresses in (set(lost.values()), connections):
        project.run("state", "rm", *addresses)
        import_all(project, addresses)
    assert set(project.plan().changes.values()) <= {"create", "update", "read"}
    project.apply()
    plan = project.plan()
    assert (plan.exit_code, plan.changes) == (0, {})


def import_all(project: Project, addresses: set[str]) -> None:
    """Import what is found until nothing is, and fail for other addresses.

    One apply with import blocks replaces many import commands, which take seconds each.
    """
    file = project.stack_dir / "imports.tf.json"
    left = set(addresses)
    while left and (found := orphans(project)):
        assert set(found) <= left
        left -= set(found)
        imports = [dict(zip(("to", "id"), shlex.split(command)[-2:], strict=True)) for (command,) in found.values()]
        file.write_text(json.dumps({"import": imports}), encoding="utf-8")
        project.run("apply", "-auto-approve", "-input=false", *(f"-target={each}" for each in found))
        file.unlink()
    assert left == set()

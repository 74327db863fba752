"""An apply that is interrupted or killed goes on, and ``eks-hardware orphans`` finds what Terraform then does not know.

On Ctrl-C, Terraform stops the AWS provider, which gives up its requests. AWS may complete them. A killed Terraform does
not write what it has just created to the state.
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

import pytest

from eks_hardware.cli.errors import NOT_RUN
from eks_hardware.local.readback import Account
from helpers.shared import Once
from helpers.synthesized import with_overlay

from .conftest import Deploy, Project

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
        found = project.interrupt("apply_complete", f"{after}.", by=by)
        assert by == signal.SIGKILL or len(found) > len(known)
        print(after, by.name, recover(project))
        known = project.addresses()
    project.apply()
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

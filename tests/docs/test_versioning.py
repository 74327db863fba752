"""The promises of docs/versioning.md about moves, variables and the changelog are kept."""

from __future__ import annotations

import json
import re
from typing import Any

import cdktf

from eks_hardware.constructs.efa import EfaSecurityGroup
from helpers.paths import ROOT

PROMISE = (ROOT / "docs" / "versioning.md").read_text(encoding="utf-8")


def test_a_move_is_written_as_the_page_shows() -> None:
    (old,) = re.findall(r'move_from_id\("([^"]+)"\)', PROMISE)
    app = cdktf.Testing.app()
    stack = cdktf.TerraformStack(app, "stack")
    group = EfaSecurityGroup(stack, "efa", name="team-efa", vpc_id="vpc-0123456789abcdef0")
    resource: Any = group.node.default_child
    resource.move_from_id(old)
    written = json.loads(cdktf.Testing.synth(stack))
    (address,) = written["resource"]["aws_security_group"]
    assert written["moved"] == [{"from": old, "to": f"aws_security_group.{address}"}]
    shown = json.loads(re.findall(r"```json\n(.*?)```", PROMISE, re.DOTALL)[0])
    assert [set(each) for each in shown["moved"]] == [set(each) for each in written["moved"]]
    assert shown["moved"][0]["from"] == old


def test_every_release_says_what_it_moves() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.split(r"(?m)^## ", changelog)[1:]
    assert releases
    assert [each.splitlines()[0] for each in releases if "### State impact" not in each] == []


def test_every_variable_is_promised() -> None:
    sources = [file for folder in ("eks_hardware", "config", "stacks") for file in (ROOT / folder).rglob("*.py")]
    read = {
        each for file in sources for each in re.findall(r"(?<!_)EKS_HARDWARE_[A-Z_]+", file.read_text(encoding="utf-8"))
    }
    assert read == set(re.findall(r"`(EKS_HARDWARE_[A-Z_]+)`", PROMISE))

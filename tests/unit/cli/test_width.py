"""The text of commands: no line is wider than the terminal, down to 60 columns, and none ends in spaces."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eks_hardware.cli import streams
from helpers import cli

_COLUMNS = 60
_COMMANDS = {
    "explain": "explain mixed-hardware",
    "explain a group": "explain mixed-hardware --group gpu-training --derived",
    "recommend": "recommend --task inference --model 8B",
    "recommend, everything": "recommend --task inference --model 8B --all",
    "recommend, unknown prices": "recommend --task training --model 70B --region us-west-2 --capacity capacity-block",
    "recommend, nothing fits": "recommend --task inference --model 20T --region us-west-2",
    "recommend, written": "recommend --task training --model 8B --region us-west-2 --force --project -o a/llm.yaml",
    "cost": "cost mixed-hardware",
    "cost, everything": "cost mixed-hardware --all",
    "validate": "validate mixed-hardware",
    "validate a bad file": "validate BAD",
    "diff": "diff gpu-inference gpu-training",
    "init": "init demo --yes --force --output b",
    "init, mixed": "init demo --hardware mixed --force --output c --api-access private",
    "rules": "rules",
    "instances": "instances --family g6",
}
_NAMED = re.compile(r"\S{41,}$")
"""A link, a field or a name, which is never broken."""
_BAD = """\
version: 1
name: demo
region: us-west-2
cluster: {kubernetes_version: "1.34", endpoint: {public_cidrs: [0.0.0.0/0]}, deletion_protection: perhaps, x: y}
"""


def _shown(command: str, columns: int, folder: Path) -> str:
    (folder / "bad.yaml").write_text(_BAD, encoding="utf-8")
    arguments = command.replace("BAD", "bad.yaml").split()
    said = cli.run(*arguments, COLUMNS=str(columns), EKS_HARDWARE_OVERLAY="", JSII_NODE="no-such-node")
    assert said.code in (0, 1), said.err
    return said.out + said.err


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path_factory.mktemp("width")
    monkeypatch.chdir(found)
    return found


@pytest.mark.parametrize("command", _COMMANDS.values(), ids=_COMMANDS)
def test_lines_fit_the_terminal(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "is_terminal", lambda _: True)
    lines = _shown(command, _COLUMNS, folder).splitlines()
    assert len(lines) > 1
    assert [line for line in lines if len(line) > _COLUMNS and not _NAMED.search(line)] == []
    assert [line for line in lines if line != line.rstrip()] == []
    assert "\N{HORIZONTAL ELLIPSIS}" not in "".join(lines)


@pytest.mark.parametrize("command", _COMMANDS.values(), ids=_COMMANDS)
def test_no_line_in_a_pipe_ends_in_spaces(command: str, folder: Path) -> None:
    lines = _shown(command, 80, folder).splitlines()
    assert [line for line in lines if line != line.rstrip()] == []

"""The guide of ``workload: {...}`` shows the actual output of the commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from helpers.cli import outcome
from helpers.paths import ROOT

GUIDE = (ROOT / "docs" / "guides" / "workload.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", GUIDE, flags=re.DOTALL)
(STRATEGY,) = (text for kind, text in BLOCKS if kind == "yaml")
FIRST, OTHER = [text for kind, text in BLOCKS if kind == "console"][:2]


@pytest.fixture(autouse=True)
def strategy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "assistant.yaml"
    file.write_text(STRATEGY, encoding="utf-8")
    return file


def steps(console: str) -> list[tuple[str, str]]:
    """Return each of our commands in a block, with the output below it."""
    parts = console.split("$ ")[1:]
    lines = [part.partition("\n") for part in parts if part.startswith("eks-hardware ")]
    return [(command.removeprefix("eks-hardware "), printed) for command, _, printed in lines]


def printed_by(command: str) -> str:
    return outcome(*command.split(), COLUMNS="80")[1]


def test_the_choice_is_locked_once() -> None:
    commands = [command.split()[0] for command, _ in steps(FIRST)]
    assert commands == ["validate", "lock", "validate"]
    for command, printed in steps(FIRST):
        assert printed_by(command) == printed


def test_another_question_makes_the_lock_outdated(strategy: Path) -> None:
    printed_by("lock assistant.yaml")
    strategy.write_text(STRATEGY.replace("parameters: 8B", "parameters: 70B"), encoding="utf-8")
    ((command, printed),) = steps(OTHER)
    assert printed_by(command).startswith(printed.strip())

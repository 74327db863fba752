"""What the README says of itself is so: the numbers, and what a command prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from eks_hardware.cli import app
from eks_hardware.rules import RULES
from eks_hardware.rules.explanations import explanations
from helpers.paths import GOLDEN, ROOT, TESTS
from helpers.shown import missing_lines

README = (ROOT / "README.md").read_text(encoding="utf-8")


def number(words: str) -> int:
    """The number before some words."""
    found = re.search(rf"([0-9][0-9,]*) {words}", README)
    assert found, words
    return int(found[1].replace(",", ""))


def test_numbers_of_rules_and_corpus() -> None:
    assert number("rules") == len(RULES)
    assert number("codes") == len(explanations())
    assert number("wrong strategies") == len(list((TESTS / "corpus" / "bad").glob("*.yaml")))
    assert number("right ones") == len(list((TESTS / "corpus" / "good").glob("*.yaml")))


def test_numbers_of_traps() -> None:
    traps = yaml.safe_load((TESTS / "traps.yaml").read_text(encoding="utf-8"))
    rows = traps["traps"] if isinstance(traps, dict) else traps
    assert number("traps") == len(rows)


def test_numbers_of_checkov() -> None:
    exceptions = yaml.safe_load((TESTS / "security" / "exceptions.yaml").read_text(encoding="utf-8"))
    assert number("exceptions") == len(exceptions["shipped"])


def test_what_validate_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (GOLDEN / "readme" / "my-cluster.yaml").read_text(encoding="utf-8")
    (tmp_path / "my-cluster.yaml").write_text(text, encoding="utf-8")
    printed = CliRunner().invoke(app, ["validate", "my-cluster.yaml"]).stdout
    assert f"$ .venv/bin/eks-hardware validate my-cluster.yaml\n{printed}```" in README


def test_the_first_screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """recommend --output, then validate: each line that is shown is printed, in that order."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "config" / "strategies").mkdir(parents=True)
    recommend, validate, _ = README.split("```console\n", 1)[1].split("```", 1)[0].split("\n\n")
    for shown, broken in ((recommend, " \\\n    "), (validate, "")):
        command, printed = shown.removeprefix("$ eks-hardware ").replace(broken or "\0", " ").split("\n", 1)
        assert missing_lines(printed, CliRunner().invoke(app, command.split()).output) == []


def test_what_the_guide_of_recommend_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    guide = (ROOT / "docs" / "guides" / "recommend.md").read_text(encoding="utf-8")
    command = guide.split("```console\n$ eks-hardware ", 1)[1].split("```", 1)[0].replace("\\\n", " ")
    shown = guide.split("```text\n", 1)[1].split("```", 1)[0]
    assert missing_lines(shown, CliRunner().invoke(app, command.split()).output) == []

"""The README is correct: the output of commands, and the numbers on the page about tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from eks_hardware.catalogue import load
from eks_hardware.cli import app, streams
from eks_hardware.findings import Severity
from eks_hardware.loader import parse_strategy
from eks_hardware.rules import RULES, check
from eks_hardware.rules.explanations import explanations
from helpers.paths import ROOT, TESTS
from helpers.shown import missing_lines

README = (ROOT / "README.md").read_text(encoding="utf-8")
TESTED = (ROOT / "docs" / "explanation" / "what-is-tested.md").read_text(encoding="utf-8")


def number(words: str) -> int:
    """Return the number before these words, on the page about tests."""
    found = re.search(rf"([0-9][0-9,]*) {words}", TESTED)
    assert found, words
    return int(found[1].replace(",", ""))


def test_numbers_of_rules_and_corpus() -> None:
    assert number("rules") == len(RULES)
    assert number("codes") == len(explanations())
    assert number("wrong strategies") == len(list((TESTS / "corpus" / "bad").glob("*.yaml")))
    assert number("right ones") == len(list((TESTS / "corpus" / "good").glob("*.yaml")))


def test_numbers_of_the_catalogue() -> None:
    assert number("instance types") == len(load())
    assert number("regions") == len(load().regions)


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 120
    assert len(README.split()) <= 900


def test_numbers_of_traps() -> None:
    traps = yaml.load((TESTS / "traps.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    rows = traps["traps"] if isinstance(traps, dict) else traps
    assert number("traps") == len(rows)


def test_numbers_of_checkov() -> None:
    exceptions = yaml.safe_load((TESTS / "security" / "exceptions.yaml").read_text(encoding="utf-8"))
    assert number("exceptions") == len(exceptions["shipped"])


def shown_in_readme(command: str) -> str:
    """Return the README's output for a command."""
    return README.split(f"$ {command}\n", 1)[1].split("```", 1)[0].split("\n$ ", 1)[0]


def test_what_validate_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(streams, "is_terminal", lambda _: True)
    printed = CliRunner().invoke(app, ["validate", "examples/mistakes.yaml"]).stdout
    assert missing_lines(shown_in_readme("eks-hardware validate examples/mistakes.yaml"), printed) == []


def test_what_cost_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    printed = CliRunner().invoke(app, ["cost", "mixed-hardware"]).stdout
    assert missing_lines(shown_in_readme("eks-hardware cost mixed-hardware"), printed) == []


def test_the_strategy_has_no_error() -> None:
    text = README.split("```yaml\n", 1)[1].split("```", 1)[0]
    assert [each for each in check(parse_strategy(text).strategy) if each.severity is Severity.ERROR] == []


def test_what_recommend_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "config" / "strategies").mkdir(parents=True)
    command, printed = (
        README.split("$ eks-hardware recommend", 1)[1].split("```", 1)[0].replace(" \\\n    ", " ").split("\n", 1)
    )
    assert missing_lines(printed, CliRunner().invoke(app, ["recommend", *command.split()]).output) == []


def test_what_the_guide_of_recommend_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    guide = (ROOT / "docs" / "guides" / "recommend.md").read_text(encoding="utf-8")
    printed = re.findall(r"```console\n\$ eks-hardware ([^`]+)```\n\n```text\n([^`]+)```", guide)
    printed += re.findall(r"```console\n\$ eks-hardware (.+)\n(error: .+\n)```", guide)
    assert len(printed) == 6
    for command, shown in printed:
        output = CliRunner().invoke(app, command.replace("\\\n", " ").split()).output
        joined = " ".join(output.split()) + "\n" if shown.startswith("error: ") else output
        assert missing_lines(shown, joined) == []

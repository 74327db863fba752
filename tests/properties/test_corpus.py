"""Realistic strategies: findings and their positions in wrong ones, and none in right ones.

The first lines of a file list the expected findings, as ``# expect: CODE LINE:COLUMN``, one per finding in the order of
``eks-hardware validate``. ``--update-golden`` writes these lines; read the result.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eks_hardware.findings import Severity
from eks_hardware.rules import RULES
from eks_hardware.rules.explanations import explanations
from eks_hardware.validation import validate
from helpers.cases import in_one_test
from helpers.paths import ROOT
from helpers.strategies import TODAY

CORPUS = ROOT / "tests" / "corpus"
BAD = sorted((CORPUS / "bad").glob("*.yaml"))
GOOD = sorted((CORPUS / "good").glob("*.yaml"))

_EXPECT = re.compile(r"^# expect: (\S+) (\S+)\r?$", re.MULTILINE)


def expected(text: str) -> list[tuple[str, str]]:
    """Return the codes and positions in the header of a file."""
    return [(match[1], match[2]) for match in _EXPECT.finditer(text)]


def codes_and_positions(file: Path) -> list[tuple[str, str]]:
    """Return code and position of all findings in a file."""
    return [
        (each.code, f"{each.position.line}:{each.position.column}" if each.position and each.position.line else "0:0")
        for each in validate([file], today=TODAY).shown
    ]


def rewrite(file: Path) -> None:
    """Write the header again; a changed number of lines moves everything below."""
    for _ in range(2):
        body = _EXPECT.sub("", file.read_bytes().decode("utf-8", "surrogateescape")).lstrip("\n")
        header = "".join(f"# expect: {code} {place}\n" for code, place in codes_and_positions(file))
        file.write_bytes((header + body).encode("utf-8", "surrogateescape"))


@in_one_test("file", [*BAD, *GOOD], ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_finds_what_its_header_says(file: Path, request: pytest.FixtureRequest) -> None:
    given = expected(file.read_bytes().decode("utf-8", "replace"))
    if request.config.getoption("--update-golden") and codes_and_positions(file) != given:
        rewrite(file)
        return
    assert given == codes_and_positions(file)


def codes_of(file: Path) -> set[str]:
    """Return the codes in the header of a file."""
    return {code for code, _ in expected(file.read_bytes().decode("utf-8", "replace"))}


def test_wrong_ones_are_named_after_what_is_wrong() -> None:
    names = {file.stem: {code.lower().replace("_", "-") for code in codes_of(file)} for file in BAD}
    others = [
        name for name, codes in names.items() if not any(name == code or name.startswith(f"{code}-") for code in codes)
    ]
    assert others == []


def test_right_ones_have_no_error() -> None:
    errors = {file.stem: {code for code in codes_of(file) if RULES[code].severity is Severity.ERROR} for file in GOOD}
    assert {name: codes for name, codes in errors.items() if codes} == {}


def test_every_code_has_a_file() -> None:
    """Except those that no strategy can trigger."""
    codes = set().union(*map(codes_of, BAD))
    shown = {code for code, each in explanations().items() if not each.example}
    assert sorted(shown - codes) == []


def test_there_are_enough() -> None:
    assert len(GOOD) >= 40
    assert len(BAD) >= len(RULES)

"""The text of commands: no line is wider than the terminal, no number is cropped, none ends in spaces."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import product

import pytest

from eks_hardware.cli import streams
from helpers import cli
from helpers.advisor import config_file
from helpers.cases import in_one_test

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
    "validate, quotas": "validate mixed-hardware --quotas",
    "validate a bad file": "validate BAD",
    "diff": "diff gpu-inference gpu-training",
    "init": "init demo --yes --force --output b",
    "init, mixed": "init demo --hardware mixed --force --output c --api-access private",
    "rules": "rules",
    "instances": "instances --family g6",
    "instances of a region": "instances --family g6e --region us-west-2",
    "check-model": "check-model CONFIG --target gpu",
}
_NAMED = re.compile(r"\S{41,}$")
"""A link, a field or a name, which is never broken."""
_FOLDED = ("explain", "validate a bad file")
"""Commands that fold long names, or shorten the quoted line of a file."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_BAD = """\
version: 1
name: demo
region: us-west-2
cluster: {kubernetes_version: "1.34", endpoint: {public_cidrs: [0.0.0.0/0]}, deletion_protection: perhaps, x: y}
"""


Show = Callable[[str, int, bool], str]


@pytest.fixture(scope="module")
def show(tmp_path_factory: pytest.TempPathFactory) -> Show:
    """Return the text of a command by its name, in a number of columns, on a terminal or in a pipe."""

    @cache
    def run(name: str, columns: int, terminal: bool) -> str:
        folder = tmp_path_factory.mktemp("width")  # `init` says less about files that are already there
        (folder / "bad.yaml").write_text(_BAD, encoding="utf-8")
        line = _COMMANDS[name].replace("BAD", "bad.yaml").replace("CONFIG", str(config_file("llama-3.1-8b")))
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            if terminal:
                patch.setattr(streams, "is_terminal", lambda _: True)
            said = cli.run(*line.split(), COLUMNS=str(columns), EKS_HARDWARE_OVERLAY="")
        assert said.code in (0, 1), said.err
        return said.out + said.err

    return run


@in_one_test("name", _COMMANDS)
def test_lines_fit_the_terminal(name: str, show: Show) -> None:
    lines = show(name, _COLUMNS, True).splitlines()
    assert len(lines) > 1
    assert [line for line in lines if len(line) > _COLUMNS and not _NAMED.search(line)] == []
    assert [line for line in lines if line != line.rstrip()] == []
    assert "\N{HORIZONTAL ELLIPSIS}" not in "".join(lines)


@in_one_test("name", _COMMANDS)
def test_no_line_in_a_pipe_ends_in_spaces(name: str, show: Show) -> None:
    lines = show(name, 80, False).splitlines()
    assert [line for line in lines if line != line.rstrip()] == []


@in_one_test(("name", "columns"), product(sorted({*_COMMANDS} - {*_FOLDED}), [_COLUMNS, 40]))
def test_narrow_terminals_show_every_number(name: str, columns: int, show: Show) -> None:
    wide, narrow = (Counter(_NUMBER.findall(show(name, each, True))) for each in (80, columns))
    assert wide
    assert wide - narrow == Counter()


@in_one_test("name", ["explain", "cost", "validate", "diff", "rules"])
def test_any_width_is_accepted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "is_terminal", lambda _: True)
    for columns in ("1", "7", "9" * 20, "\u00b2"):
        assert cli.run(*_COMMANDS[name].split(), COLUMNS=columns).code == 0

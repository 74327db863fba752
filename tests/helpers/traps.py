"""The table of known traps, ``tests/traps.yaml``, and its page in the documentation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from helpers.paths import ROOT

TABLE = ROOT / "tests" / "traps.yaml"
PAGE = ROOT / "docs" / "reference" / "traps.md"
BAD = ROOT / "tests" / "corpus" / "bad"

_HEAD = """\
# Known traps

What people reported who built such clusters with other tools, in {total} rows, and how this project holds each:

- a rule refuses it, or warns of it, in the file: {refused} rows ([all rules](rules.md));
- it cannot happen, whatever the strategy says, and a test proves that: {prevented} rows;
- a strategy has no way to ask for it: {inexpressible}.

A row may have several of these. Numbers are those of the threads' issues and pull requests.

This page is written by `pytest tests/unit/test_traps.py --update-golden` from `tests/traps.yaml`.
"""


@dataclass(frozen=True)
class Trap:
    """A row of the table.

    Attributes:
        id: section and number of the list that it comes from.
        title: what goes wrong elsewhere.
        how: what this project does about it.
        threads: where it was reported, as ``owner/repo#number``.
        codes: what ``validate`` says.
        tests: ids of the tests that prove that it cannot happen.
        not_expressible: why a strategy cannot ask for it; empty where it can.
    """

    id: str
    title: str
    how: str
    threads: tuple[str, ...]
    codes: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    not_expressible: str = ""


def traps() -> list[Trap]:
    """Every row, in the order of the table."""
    return [Trap(**_fields(row)) for row in yaml.safe_load(TABLE.read_text(encoding="utf-8"))]


def _fields(row: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}


def names_one_of(text: str, threads: tuple[str, ...]) -> bool:
    """Whether a text names a thread, and not one whose number only starts like it."""
    return any(re.search(rf"{re.escape(thread)}(?!\d)", text) for thread in threads)


def text_of_test(node_id: str) -> str | None:
    """The source of a test, found without importing it; None where it is not there."""
    file, _, name = node_id.partition("::")
    functions = _functions(file) if (ROOT / file).is_file() else {}
    return functions.get(name)


@cache
def _functions(file: str) -> dict[str, str]:
    source = (ROOT / file).read_text(encoding="utf-8")
    lines = source.splitlines()
    return {
        node.name: "\n".join(lines[node.lineno - 1 : node.end_lineno])
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef)
    }


@cache
def corpus() -> dict[str, list[str]]:
    """The ``# trap:`` lines of each code's files of the corpus: one text for each file that expects the code."""
    found: dict[str, list[str]] = {}
    for file in sorted(BAD.glob("*.yaml")):
        header = file.read_bytes().decode("utf-8", "replace")
        named = "\n".join(re.findall(r"^# trap: (\S+)", header, re.MULTILINE))
        for code in set(re.findall(r"^# expect: (\S+)", header, re.MULTILINE)):
            found.setdefault(code, []).append(named)
    return found


def page() -> str:
    """The table as Markdown."""
    rows = traps()
    head = _HEAD.format(
        total=len(rows),
        refused=sum(bool(row.codes) for row in rows),
        prevented=sum(bool(row.tests) for row in rows),
        inexpressible=sum(bool(row.not_expressible) for row in rows),
    )
    table = ["| | what goes wrong | what holds it | threads |", "|---|---|---|---|"]
    table += [f"| {row.id} | {row.title} | {_held(row)} | {_threads(row)} |" for row in rows]
    return "\n".join([head, *table, ""])


def _held(row: Trap) -> str:
    return "<br>".join([row.how, *_proofs(row)])


def _proofs(row: Trap) -> Iterator[str]:
    if row.not_expressible:
        yield f"Not to be asked for: {row.not_expressible}."
    if row.codes:
        yield ", ".join(f"[{code}](rules.md#{code.lower()})" for code in row.codes)
    for test in row.tests:
        file, _, name = test.partition("::")
        yield f"[{name}](../../{file})"


def _threads(row: Trap) -> str:
    """The threads of a repository together."""
    by_repository: dict[str, list[str]] = {}
    for thread in row.threads:
        repository, _, number = thread.partition("#")
        # GitHub leads from an issue's address to a pull request of that number.
        by_repository.setdefault(repository, []).append(f"[{number}](https://github.com/{repository}/issues/{number})")
    return "<br>".join(f"{repository} {', '.join(numbers)}" for repository, numbers in by_repository.items())

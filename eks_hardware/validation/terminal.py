"""Findings as text: one line that editors and CI logs can link, and the file's line with a caret below it.

mixed.yaml:28:22: error EFA_UNSUPPORTED node_groups[gpu].instance_types[0]: g6.4xlarge has no EFA; use ...
   28 |     instance_types: [g6.4xlarge]
      |                      ^^^^^^^^^^
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from eks_hardware.findings import Finding, Position, StrategyError
from eks_hardware.loader.yaml_files import read_text
from eks_hardware.printable import joined, shown

_DOTS = "..."
_WIDTH = 68
"""Number of characters of a line that are shown, if the terminal is wide enough."""
_LEAST_WIDTH = 20
_WORD = re.compile(r'"[^"]*"?|\'[^\']*\'?|\[[^\[\]]*\]?|\{[^{}]*\}?|[^\s,\[\]{}#:]+(?::+[^\s,\[\]{}#:]+)*')


def as_text(findings: Iterable[Finding], width: int | None = None) -> str:
    """Return the findings, each followed by its line of the file if it can be read.

    Messages are wrapped at ``width``. Without it, each is one line, as editors and CI logs need it.
    """
    return "\n".join(
        line
        for finding, *others in _grouped(findings)
        for line in (
            *_message(as_line(finding), width),
            *_excerpt(finding.position, width),
            *_message(_others(others), width),
        )
    )


def as_line(finding: Finding) -> str:
    """Return a finding as one line.

    A finding without a position is about the command line, and has the form of other errors there:
    ``error: --task must be one of ..., got "x"``.
    """
    return str(finding) if finding.position else f"{finding.severity.value}: {about_command_line(finding)}"


def about_command_line(finding: Finding) -> str:
    """Return a finding without a position as text without its severity: ``--task must be one of ..., got "x"``."""
    separator = " " if finding.message.startswith("must ") else ": "
    return f"{finding.path}{separator}{finding.message}" if finding.path else finding.message


def _grouped(findings: Iterable[Finding]) -> Iterable[list[Finding]]:
    """Group findings that differ only in their positions, in the order of each group's first finding."""
    groups: dict[Finding, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding, []).append(finding)
    return groups.values()


def _others(findings: Sequence[Finding]) -> str:
    """Return the positions of further equal findings; empty if there are none."""
    places = joined([str(finding.position) for finding in findings], "and") if findings else ""
    return f"  also in {places}" if places else ""


def _message(text: str, width: int | None) -> Sequence[str]:
    if width is None:
        return (text,) if text else ()
    return textwrap.wrap(text, width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def _excerpt(position: Position | None, width: int | None) -> Iterator[str]:
    if position is None or not position.line:
        return
    lines = _lines(position.file)
    if position.line > len(lines) or not lines[position.line - 1].strip():
        return
    line, start = lines[position.line - 1], position.column - 1
    word = _WORD.match(line, start)
    end = word.end() if word else start + 1
    number = f"{position.line:>5} | "
    room = _WIDTH if width is None else max(_LEAST_WIDTH, min(_WIDTH, width - len(number) - len(_DOTS)))
    # The word is shown whole, or its start if it is very long.
    end = min(end, start + room - len(_DOTS))
    cut = end - room + len(_DOTS) if end > room else 0
    before, at, after = (_plain(part) for part in (line[cut:start], line[start:end], line[end:]))
    dots = _DOTS if cut else ""
    text = f"{dots}{before}{at}{after}"
    yield f"{number}{text if len(text) <= room else text[:room] + _DOTS}".rstrip()
    yield f"{'|':>{len(number) - 1}} {' ' * (_columns(before) + len(dots))}{'^' * max(1, _columns(at))}"


def _plain(text: str) -> str:
    """Return the text with one printable character per tab, and escapes for terminal control characters."""
    return shown(text.replace("\t", " "), limit=len(text) + 1)


def _columns(text: str) -> int:
    """Return the number of terminal columns of the text."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def _lines(file: str) -> Sequence[str]:
    """Return the lines of a file; none if it cannot be read (text from memory, an odd name, another folder)."""
    path = Path(file).absolute()
    try:
        return _read(path, path.stat().st_mtime_ns)
    except (OSError, ValueError, StrategyError):
        return ()


# The time of the last change is part of the key: a program may print findings again after an edit.
@lru_cache(maxsize=16)
def _read(path: Path, _changed: int) -> Sequence[str]:
    return re.split(r"\r\n|\r|\n", read_text(path, str(path)).removeprefix("\ufeff"))

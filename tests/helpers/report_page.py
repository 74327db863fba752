"""The report page of a strategy, and the view of an HTML reader."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

from eks_hardware.html_report import Report, report_of, report_page
from eks_hardware.validation import validate
from helpers.strategies import TODAY


@cache
def report(file: Path) -> Report:
    """Return the report data of a file."""
    found = validate([file], today=TODAY)
    ((loaded, findings),) = found.strategies
    return report_of(loaded.strategy, findings, version="1.2.3", today=TODAY)


@cache
def page(file: Path) -> str:
    """Return the page of a file."""
    return report_page(report(file))


class Reader(HTMLParser):
    """Reader of tags (which must close in order), links, words, and the text of every cell by table caption."""

    VOID = frozenset({"meta", "wbr"})
    STYLE = re.compile(r"(--[a-z]+: \d+(; )?)+")

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.faults: list[str] = []
        self.words: list[str] = []
        self.links: list[str] = []
        self.tables: dict[str, list[list[str]]] = {}
        self._rows: list[list[str]] = []
        self.feed(text)
        self.close()

    def updatepos(self, i: int, j: int) -> int:  # noqa: ARG002
        """Do not count lines, which takes a tenth of the time."""
        return j

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src", "action"):
                self.links.append(value or "")
            elif name.startswith("on") or (name == "style" and not self.STYLE.fullmatch(value or "")):
                self.faults.append(f"<{tag} {name}={value}>")
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "table":
            self._rows = []
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] == "style":
            return
        self.words.append(data)
        if self.open[-1] == "caption":
            self.tables[data] = self._rows
        elif "td" in self.open or "th" in self.open:
            self._rows[-1][-1] += data


@cache
def read_page(file: Path) -> Reader:
    """Return the page of a file after reading it."""
    return Reader(page(file))


def rows_of(reader: Reader, caption: str) -> list[list[str]]:
    """Return the rows below the heads of a table, with white space as in a browser."""
    return [[" ".join(cell.split()) for cell in row] for row in reader.tables[caption][1:]]

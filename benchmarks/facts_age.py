"""List facts that were read long ago, with their sources: ``make facts-age``.

``make facts-age DAY=2027-01-01`` lists the facts that will be old on another day.

Our own choices do not age. Neither do published measurements and papers.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from eks_hardware.cost import first_day
from eks_hardware.data import FOLDER

MAX_DAYS = 120
_OUR_CHOICE = "our choice"
_PUBLISHED = "performance/"


class Fact(NamedTuple):
    """A source in a data file, with the day of its facts and their age in days; None if undated."""

    file: str
    as_of: str
    days: int | None
    source: str

    def __str__(self) -> str:
        age = "undated" if self.days is None else f"{self.as_of}, {self.days} days"
        return f"{self.file}: {age}: {self.source}"


def old_facts(today: datetime.date, folder: Path = FOLDER) -> list[Fact]:
    """Return the sources that were read more than ``MAX_DAYS`` days before ``today``, oldest first, undated last."""
    found: set[Fact] = set()
    for path in folder.rglob("*.json"):
        name = path.relative_to(folder).as_posix()
        if name.startswith(_PUBLISHED):
            continue
        for source, as_of in _sources(json.loads(path.read_bytes()), None):
            days = None if as_of == "undated" else (today - first_day(as_of)).days
            if days is None or days > MAX_DAYS:
                found.add(Fact(name, as_of, days, source))
    return sorted(found, key=lambda fact: (-(fact.days or 0), fact.file, fact.source))


def _sources(part: Any, day: str | None) -> Iterator[tuple[str, str]]:
    """Yield each source with its day, which may be inherited from the section or file."""
    if isinstance(part, list):
        for each in part:
            yield from _sources(each, day)
    if not isinstance(part, dict):
        return
    day = part.get("as_of") if isinstance(part.get("as_of"), str) else day
    # Lists of sources contain text with addresses. A dated part without a source is named by its URL or description.
    source = part.get("source") or ("as_of" in part and (part.get("url") or part.get("_about")))
    # A short name refers to an entry in the file's list of sources.
    if isinstance(source, str) and day and set(" /") & set(source) and not source.startswith(_OUR_CHOICE):
        yield source, day
    for each in part.values():
        yield from _sources(each, day)


def report(today: datetime.date) -> int:
    """Print the old facts; return 1 if there are any."""
    found = old_facts(today)
    for fact in found:
        print(fact)
    print(f"{len(found)} sources were read more than {MAX_DAYS} days before {today} or are undated")
    return 1 if found else 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.facts_age", description="List old facts.")
    parser.add_argument("--day", type=_day, default=datetime.date.today(), help="the day from which ages count")
    return report(parser.parse_args(arguments).day)


def _day(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a day such as 2026-11-28, got {text!r}") from None


if __name__ == "__main__":
    sys.exit(main())

"""``make prose``: list sentences that are too long, and phrases to avoid."""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

from helpers.paths import TESTS
from helpers.sentences import Sentence, files, sentences

PHRASES = TESTS / "docs" / "phrases.yaml"
MOST_WORDS = 32


class Phrase(NamedTuple):
    """A phrase to avoid, and what to write instead."""

    find: re.Pattern[str]
    write: str


class Offence(NamedTuple):
    """A sentence and what is wrong with it."""

    sentence: Sentence
    what: str

    def __str__(self) -> str:
        return f"{self.sentence.file}:{self.sentence.line}: {self.what}\n    {self.sentence.text}"


def phrases() -> list[Phrase]:
    """Return the rows of phrases.yaml."""
    rows = yaml.safe_load(PHRASES.read_text(encoding="utf-8"))
    return [Phrase(re.compile(row["find"], re.IGNORECASE), row["write"]) for row in rows]


def offences(names: Iterable[str]) -> Iterator[Offence]:
    """Yield every offence in these files."""
    banned = phrases()
    for name in names:
        for each in sentences(name):
            yield from _in(each, banned)


def _in(sentence: Sentence, banned: Sequence[Phrase]) -> Iterator[Offence]:
    if sentence.words > MOST_WORDS:
        yield Offence(sentence, f"{sentence.words} words, at most {MOST_WORDS}: make two sentences of it")
    if re.match(r"(What|Whatever|Who)\b[^?]*\.$", sentence.text):
        yield Offence(sentence, "starts with a clause: start with the thing itself")
    for phrase in banned:
        if found := phrase.find.search(sentence.text):
            yield Offence(sentence, f'"{found.group()}": write {phrase.write}')


def main(argv: Sequence[str] | None = None) -> int:
    """Print every offence, and return 1 if there is one."""
    parser = argparse.ArgumentParser(prog="make prose", description=__doc__)
    parser.add_argument("paths", nargs="*", help="files and folders, relative to the repository; default: all")
    parser.add_argument("--count", action="store_true", help="print only the number in each folder")
    given = parser.parse_args(argv)
    found = list(offences(files(given.paths)))
    if given.count:
        for folder, count in Counter(str(Path(each.sentence.file).parent) for each in found).most_common():
            print(f"{count:6} {folder}")
    else:
        print(*found, sep="\n")
    print(f"{len(found)} to rewrite")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

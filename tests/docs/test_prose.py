"""Text that a person reads is plain English, as ``make prose`` checks it, and the check finds what it looks for."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import pytest

from helpers import prose, sentences
from helpers.answers import Answer, contents
from helpers.cases import in_one_test
from helpers.paths import ROOT

LONG = f"The group has {'many ' * prose.MOST_WORDS}nodes."


def offences_in(name: str) -> list[str]:
    return [str(each) for each in prose.offences([name])]


def test_there_is_nothing_to_rewrite() -> None:
    program = contents(Path(str(module.__file__)) for module in (prose, sentences))
    found: list[str] = []
    for name in sentences.files():
        # The result for a file depends on nothing else, and reading all of them takes many seconds.
        inputs = [*program, prose.PHRASES.read_bytes(), sys.version, name, (ROOT / name).read_bytes()]
        found += Answer("prose", inputs).get(partial(offences_in, name))
    assert found == []


def test_every_kind_of_file_is_read() -> None:
    suffixes = {Path(name).suffix for name in sentences.files()}
    assert {".py", ".md", ".yaml", ".json", ".toml", ".j2", ".sh", ".mjs", ".js", ".css"} <= suffixes
    for name in ("README.md", "Makefile", "eks_hardware/rules/gpu.py", "eks_hardware/rules/explained/gpu.yaml"):
        assert len(list(sentences.sentences(name))) > 5


@in_one_test(
    ("suffix", "text", "found"),
    [
        (".md", "The file stands in config.", '"stands"'),
        (".md", "Say `of which` in code only.", ""),
        (".md", "```\nof which\n```\n", ""),
        (".md", "| a table | has pools, of which two |", '"of which"'),
        (".md", LONG, "words, at most"),
        (".md", "What has no price is left out.", "starts with a clause"),
        (".md", "What does it cost?", ""),
        (".py", '"""Nobody reads it."""', '"Nobody"'),
        (".py", "# It lies there.\n", '"lies"'),
        (".py", 'x = f"a pool of which {y} are left"', '"of which"'),
        (".py", 'x = "which"', ""),
        (".yaml", "why: the bill tells of it\nbreaks: 'it stands: here'", '"tells"'),
        (".yaml", "# the dearest first\na: 1", '"dearest"'),
        (".json", '{"note": "the spot price is unknown"}', '"spot"'),
        (".yaml", "# all (each overlay, with each strategy that it is for)\na: 1", '"it is for"'),
        (".sh", "# nobody reads it\nls", '"nobody"'),
        (".sh", 'echo "a wheel that is the same for all machines"', '"the same for all machines"'),
        (".tf", "# it lies in the bucket\n", '"lies"'),
        (".mjs", "const a = 1; // it tells the width of a page", '"tells"'),
        (".js", "/* What no page has\n   is there. */", '"What no"'),
        (".js", "throw new Error('a page that nobody can open')", '"nobody"'),
        (".css", "/* next to a box, beside it */ a { color: red }", '"beside"'),
        (".j2", "{# the cells stand in a row #}<p>One cell</p>", '"stand"'),
        (".html", "<style>/* it lies below the bar */</style>", '"lies"'),
        (".sh", "ls -l | grep x  # lists the files of x", ""),
    ],
)
def test_what_is_found(suffix: str, text: str, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentences, "ROOT", tmp_path)
    (tmp_path / f"file{suffix}").write_text(text, encoding="utf-8")
    said = [each.what for each in prose.offences([f"file{suffix}"])]
    assert bool(said) == bool(found), said
    assert not found or any(found in each for each in said)

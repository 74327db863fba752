"""Every known trap is refused in the file, or proved to be impossible; ``tests/traps.yaml`` says how."""

from __future__ import annotations

import re

import pytest

from eks_hardware.rules.explanations import explanations
from helpers.traps import PAGE, corpus, names_one_of, text_of_test, traps, traps_page

TRAPS = traps()


def test_no_row_is_missing() -> None:
    assert [trap.id for trap in TRAPS] == [f"{section}.{row}" for section in (6, 8) for row in range(1, 28)]


def test_a_row_says_what_and_how() -> None:
    for trap in TRAPS:
        assert trap.codes or trap.tests or trap.not_expressible, trap.id
        assert trap.title[:1].isupper(), trap.id
        assert not trap.title.endswith("."), trap.id
        assert trap.how.endswith("."), trap.id
        assert trap.threads, trap.id
        assert len(set(trap.threads)) == len(trap.threads), trap.id
        assert [each for each in trap.threads if not re.fullmatch(r"[\w.-]+/[\w.-]+#[1-9]\d*", each)] == []


def test_each_code_has_a_file_that_names_the_trap() -> None:
    named = [(trap, code) for trap in TRAPS for code in trap.codes]
    assert [code for _, code in named if code not in explanations()] == []
    without = [
        (trap.id, code)
        for trap, code in named
        if not any(names_one_of(text, trap.threads) for text in corpus().get(code, []))
    ]
    assert without == []


def test_each_test_is_there_and_names_the_trap() -> None:
    texts = [(trap, test, text_of_test(test)) for trap in TRAPS for test in trap.tests]
    assert [(trap.id, test) for trap, test, text in texts if text is None] == []
    assert [(trap.id, test) for trap, test, text in texts if not names_one_of(text or "", trap.threads)] == []


def test_a_thread_is_not_taken_for_another() -> None:
    assert names_one_of("# trap: owner/repo#12", ("owner/repo#12",))
    assert not names_one_of("# trap: owner/repo#123", ("owner/repo#12",))


def test_page_is_up_to_date(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text(traps_page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == traps_page()

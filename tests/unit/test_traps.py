"""Every known trap is refused in the file, or proved to be impossible; ``tests/traps.yaml`` says how."""

from __future__ import annotations

import re

import pytest

from eks_hardware.rules.explanations import explanations
from helpers.traps import PAGE, Trap, corpus, names_one_of, page, text_of_test, traps

TRAPS = traps()
by_row = pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.id)


def test_no_row_is_missing() -> None:
    assert [trap.id for trap in TRAPS] == [f"{section}.{row}" for section in (6, 8) for row in range(1, 28)]


@by_row
def test_a_row_says_what_and_how(trap: Trap) -> None:
    assert trap.codes or trap.tests or trap.not_expressible
    assert trap.title[:1].isupper()
    assert not trap.title.endswith(".")
    assert trap.how.endswith(".")
    assert trap.threads
    assert len(set(trap.threads)) == len(trap.threads)
    assert [each for each in trap.threads if not re.fullmatch(r"[\w.-]+/[\w.-]+#[1-9]\d*", each)] == []


@by_row
def test_each_code_has_a_file_that_names_the_trap(trap: Trap) -> None:
    assert [code for code in trap.codes if code not in explanations()] == []
    without = [
        code for code in trap.codes if not any(names_one_of(text, trap.threads) for text in corpus().get(code, []))
    ]
    assert without == []


@by_row
def test_each_test_is_there_and_names_the_trap(trap: Trap) -> None:
    texts = {test: text_of_test(test) for test in trap.tests}
    assert [test for test, text in texts.items() if text is None] == []
    assert [test for test, text in texts.items() if not names_one_of(text or "", trap.threads)] == []


def test_a_thread_is_not_taken_for_another() -> None:
    assert names_one_of("# trap: owner/repo#12", ("owner/repo#12",))
    assert not names_one_of("# trap: owner/repo#123", ("owner/repo#12",))


def test_page_is_up_to_date(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page()

"""Tables of cases in one test: every case runs, and every failing one is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.cases import in_one_test


def test_every_failing_case_is_named() -> None:
    @in_one_test(("given", "expected"), [(1, 1), (1, 2), pytest.param(2, 2, id="two"), pytest.param(2, 3, id="three")])
    def compare(given: int, expected: int) -> None:
        assert given == expected

    with pytest.raises(AssertionError, match=r"^2 of 4 cases fail:\s+\[1-2\] AssertionError: .*\s+.*\[three\]"):
        compare()


def test_stacked_tables_run_every_combination() -> None:
    pairs = []

    @in_one_test("one", [1, 2])
    @in_one_test("other", "ab")
    def collect(one: int, other: str) -> None:
        pairs.append((one, other))

    collect()
    assert pairs == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]


@in_one_test("name", ["one", "other"])
@in_one_test("again", [1, 2])
def test_each_case_has_an_empty_folder(tmp_path: Path, name: str, again: int) -> None:
    assert list(tmp_path.iterdir()) == []
    (tmp_path / name).write_text(str(again), encoding="utf-8")


def test_a_table_without_cases_fails() -> None:
    @in_one_test("name", [])
    def nothing(name: str) -> None:
        pytest.fail(name)

    with pytest.raises(AssertionError, match="there are no cases"):
        nothing()


def test_a_case_that_is_skipped_or_exits_fails() -> None:
    @in_one_test("error", [pytest.skip.Exception("no Node"), SystemExit(2)])
    def leave(error: BaseException) -> None:
        raise error

    with pytest.raises(AssertionError, match=r"^2 of 2 cases fail:[^$]*Skipped: no Node[^$]*SystemExit: 2"):
        leave()


def test_marks_are_refused() -> None:
    with pytest.raises(AssertionError, match="in_one_test ignores marks"):
        in_one_test("name", [pytest.param("a", marks=pytest.mark.xfail)])

"""Where text breaks: at spaces, in long words, and never past the width."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eks_hardware.html_report.lettering import Lettering

PLAIN = Lettering(12)
BOLD = Lettering(12, bold=True)
CODE = Lettering(10, monospaced=True)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("two words", ["two words"]),
        ("three short words", ["three", "short", "words"]),
        ("vpc.amazonaws.com/efa", ["vpc.", "amazonaws.", "com/efa"]),
        ("x" * 25, ["x" * 10, "x" * 10, "x" * 5]),
        ("a-" + "x" * 12, ["a-", "x" * 10, "xx"]),
        ("ab " + "x" * 12, ["ab", "x" * 10, "xx"]),
        ("--------------", ["-" * 10, "-" * 4]),
    ],
)
def test_lines_of_ten_letters(text: str, lines: list[str]) -> None:
    assert CODE.wrapped(text, CODE.width("x" * 10)) == lines


def test_bold_and_wide_letters_take_more_room() -> None:
    assert PLAIN.width("iiii") < PLAIN.width("aaaa") < BOLD.width("aaaa") < BOLD.width("mmmm")
    assert PLAIN.width("模型") > PLAIN.width("MM")


@given(st.text(st.characters(codec="utf-8"), max_size=80), st.floats(min_value=20, max_value=400))
def test_no_line_is_wider_and_nothing_is_lost(text: str, width: float) -> None:
    lines = PLAIN.wrapped(text, width)
    assert "".join(lines).replace(" ", "") == "".join(text.split())
    assert all(PLAIN.width(line) <= width for line in lines)

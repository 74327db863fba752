"""Elements as calls: what is escaped, what is left out, and how numbers are written."""

from __future__ import annotations

import pytest

from eks_hardware.html_report.html import Html, joined, tag

MARKUP = """<b>"&'</b>"""
ESCAPED = "&lt;b&gt;&quot;&amp;&#x27;&lt;/b&gt;"


def test_text_is_escaped_and_elements_are_not() -> None:
    assert tag("p", MARKUP, tag("b", "x")) == f"<p>{ESCAPED}<b>x</b></p>"


def test_text_in_lists_is_escaped() -> None:
    assert tag("p", [MARKUP, (each for each in [MARKUP])]) == f"<p>{ESCAPED}{ESCAPED}</p>"


def test_attributes_are_escaped() -> None:
    assert tag("a", href=MARKUP) == f'<a href="{ESCAPED}"></a>'


def test_names_of_attributes() -> None:
    assert tag("p", class_="x", aria_label="y", name="z") == '<p class="x" aria-label="y" name="z"></p>'


def test_none_is_nothing() -> None:
    assert tag("p", None, [None], title=None) == "<p></p>"
    assert joined(None) == ""


def test_rows_stand_in_lines_of_their_own() -> None:
    rows = [tag("tr", tag("td", each)) for each in "ab"]
    assert tag("tbody", rows) == "<tbody><tr><td>a</td></tr>\n<tr><td>b</td></tr>\n</tbody>"


def test_elements_without_an_end() -> None:
    assert tag("meta", charset="utf-8") == '<meta charset="utf-8">'


@pytest.mark.parametrize(("value", "written"), [(3, "3"), (3.0, "3"), (2.5, "2.5"), (1 / 3, "0.33"), (120.0, "120")])
def test_numbers(value: float, written: str) -> None:
    assert tag("p", value, x=value) == f'<p x="{written}">{written}</p>'


@pytest.mark.parametrize(
    ("character", "written"), [("\x00", "\\x00"), ("\u202e", "\\u202e"), ("\ud800", "\\ud800"), ("\u200b", "\\u200b")]
)
def test_what_is_unseen_is_spelled_out(character: str, written: str) -> None:
    """XML has no place for some of it, and the rest would turn text around on screen."""
    page = tag("p", f"a{character}b", title=character)
    assert page == f'<p title="{written}">a{written}b</p>'
    page.encode()


def test_lines_and_other_scripts_stay() -> None:
    assert tag("pre", "a\nb 模型 é") == "<pre>a\nb 模型 é</pre>"


def test_what_is_html_stays_html() -> None:
    assert isinstance(joined([tag("p"), "x"]), Html)

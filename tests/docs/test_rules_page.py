"""The pages in ``docs/reference/rules`` match the current rules."""

from __future__ import annotations

import pytest

from eks_hardware.rules.explanations import explanations
from eks_hardware.rules.reference_page import TITLES, rules_pages
from helpers.paths import ROOT

FOLDER = ROOT / "docs" / "reference" / "rules"


def test_pages_are_up_to_date(request: pytest.FixtureRequest) -> None:
    wanted = rules_pages()
    if request.config.getoption("--update-golden"):
        for file in FOLDER.glob("*.md"):
            file.unlink()
        for name, text in wanted.items():
            (FOLDER / name).write_text(text, encoding="utf-8")
    assert {file.name: file.read_text(encoding="utf-8") for file in FOLDER.iterdir()} == wanted


def test_every_group_has_a_title() -> None:
    assert {each.area for each in explanations().values()} == set(TITLES)

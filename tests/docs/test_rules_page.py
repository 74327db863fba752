"""``docs/reference/rules.md`` matches the current rules."""

from __future__ import annotations

import pytest

from eks_hardware.rules.explanations import explanations
from eks_hardware.rules.reference_page import TITLES, rules_page
from helpers.paths import ROOT

PAGE = ROOT / "docs" / "reference" / "rules.md"


def test_page_is_up_to_date(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text(rules_page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == rules_page()


def test_every_area_has_a_title() -> None:
    assert {each.area for each in explanations().values()} == set(TITLES)

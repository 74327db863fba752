"""The explanations of ``eks-hardware rules CODE`` are true: each example breaks its rule, and its fix works."""

from __future__ import annotations

from collections import Counter

from eks_hardware.findings import Severity
from eks_hardware.rules import RULES, examples
from eks_hardware.rules.explanations import BASE, explanations
from helpers.cases import in_one_test
from helpers.paths import ROOT
from helpers.strategies import TODAY

EXPLAINED = explanations()
SHOWN = sorted(code for code, each in EXPLAINED.items() if not each.example)
_WIDTH = 88


def test_every_rule_is_explained() -> None:
    assert sorted(set(RULES) - set(EXPLAINED)) == []


def test_no_code_is_explained_twice() -> None:
    codes = Counter(
        line.rstrip(":\n")
        for file in (ROOT / "eks_hardware/rules/explained").glob("*.yaml")
        for line in file.read_text(encoding="utf-8").splitlines()
        if line[:1].isupper()
    )
    assert [code for code, count in codes.items() if count > 1] == []
    assert set(codes) == set(EXPLAINED)


def test_nothing_is_found_in_the_base() -> None:
    assert examples.findings(BASE, TODAY) == []


def test_says_enough() -> None:
    for code, explained in EXPLAINED.items():
        assert len(explained.why) > 40, code
        assert explained.why.endswith((".", "?")), code
        assert explained.summary, code
        assert explained.source.startswith("https://") or (ROOT / explained.source.split(" ")[0]).exists(), code
        assert bool(explained.example) != bool(explained.breaks and explained.fixed), code
        lines = [*explained.breaks.splitlines(), *explained.fixed.splitlines()]
        assert [line for line in lines if len(line) > _WIDTH] == [], code


@in_one_test("code", SHOWN)
def test_example_breaks_its_rule_and_its_fix_mends_it(code: str) -> None:
    explained = EXPLAINED[code]
    found = [each for each in examples.findings(explained.breaks, explained.today or TODAY) if each.code == code]
    assert {each.severity for each in found} == {explained.severity}
    found = examples.findings(explained.fixed, explained.today or TODAY)
    wrong = [each for each in found if each.severity is Severity.ERROR or each.code == code]
    assert [each for each in wrong if not each.ignored] == []

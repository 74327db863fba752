"""Tables of rules: what breaks each, and what just does not."""

from __future__ import annotations

from typing import Any, NamedTuple

from eks_hardware.findings import Severity
from eks_hardware.models import Strategy
from eks_hardware.rules import RULES, Rule, check
from helpers.strategies import TODAY, document


class Case(NamedTuple):
    """A strategy as changes to one without findings: what is found in ``bad``, and not in ``good``."""

    code: str
    path: str
    bad: dict[str, Any]
    good: dict[str, Any]
    also: frozenset[str] = frozenset()
    """Codes of further findings in ``bad``."""


def codes(changes: dict[str, Any]) -> list[tuple[str, str]]:
    """Code and path of every finding that is shown."""
    found = check(Strategy.model_validate(document(**changes)), today=TODAY)
    return [(finding.code, finding.path) for finding in found if not finding.ignored]


def check_case(case: Case) -> None:
    """Assert that a case finds what it says, and nothing else."""
    found = codes(case.bad)
    assert [case.path] == [path for code, path in found if code == case.code]
    assert {case.code, *case.also} == {code for code, _ in found}
    assert case.code not in {code for code, _ in codes(case.good)}


def module_of(rule: Rule) -> str:
    """The module of ``eks_hardware/rules`` that a rule is in."""
    return rule.check.__module__.rpartition(".")[2]


def rules_of(*modules: str) -> set[str]:
    """Codes of the rules of some modules of ``eks_hardware/rules``."""
    return {code for code, rule in RULES.items() if module_of(rule) in modules}


def warnings_of(*modules: str) -> set[str]:
    """Codes of those that only warn."""
    return {code for code in rules_of(*modules) if RULES[code].severity is Severity.WARNING}

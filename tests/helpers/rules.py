"""Tables of rules: a strategy that breaks each rule, and a similar one that does not."""

from __future__ import annotations

from typing import Any, NamedTuple

from eks_hardware.catalogue import load
from eks_hardware.findings import Severity
from eks_hardware.models import Strategy
from eks_hardware.rules import RULES, Rule, check
from eks_hardware.rules.registry import Context
from helpers.strategies import TODAY, document


class Case(NamedTuple):
    """Strategy as changes to one without findings: expected in ``bad``, and not in ``good``."""

    code: str
    path: str
    bad: dict[str, Any]
    good: dict[str, Any]
    also: frozenset[str] = frozenset()
    """Codes of further findings in ``bad``."""


def shown_codes(changes: dict[str, Any]) -> list[tuple[str, str]]:
    """Return code and path of every finding that is shown."""
    # Many cases share a good strategy.
    key = repr(changes)
    if key not in _SHOWN:
        found = check(Strategy.model_validate(document(**changes)), today=TODAY)
        _SHOWN[key] = tuple((finding.code, finding.path) for finding in found if not finding.ignored)
    return list(_SHOWN[key])


_SHOWN: dict[str, tuple[tuple[str, str], ...]] = {}


def check_case(case: Case) -> None:
    """Assert that a case has its expected findings and no others."""
    found = shown_codes(case.bad)
    assert [case.path] == [path for code, path in found if code == case.code]
    assert {case.code, *case.also} == {code for code, _ in found}
    assert not is_shown(case.code, case.good)


def is_shown(code: str, changes: dict[str, Any]) -> bool:
    """Return whether a rule has a finding that is shown. Other rules are not checked, except for rules about them."""
    rule = RULES[code]
    if rule.last or "ignore" in changes:
        return code in {found for found, _ in shown_codes(changes)}
    return any(rule.check(Context(Strategy.model_validate(document(**changes)), load(), TODAY)))


def finding_message(code: str, changes: dict[str, Any]) -> str:
    """Return the message of the only finding with a code."""
    found = check(Strategy.model_validate(document(**changes)), today=TODAY)
    (message,) = (finding.message for finding in found if finding.code == code)
    return message


def module_of(rule: Rule) -> str:
    """Return the module of ``eks_hardware/rules`` that contains a rule."""
    return rule.check.__module__.rpartition(".")[2]


def rules_of(*modules: str) -> set[str]:
    """Return the codes of the rules in modules of ``eks_hardware/rules``."""
    return {code for code, rule in RULES.items() if module_of(rule) in modules}


def warnings_of(*modules: str) -> set[str]:
    """Return the codes of those that are warnings."""
    return {code for code in rules_of(*modules) if RULES[code].severity is Severity.WARNING}

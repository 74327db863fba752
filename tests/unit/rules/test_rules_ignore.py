"""``ignore``: warnings that a strategy silences, and findings that it cannot silence."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from eks_hardware.models import Strategy
from eks_hardware.rules import check
from helpers.cases import in_one_test
from helpers.rules import Case, check_case, rules_of
from helpers.strategies import TODAY, document, group

OPEN = {"creator_is_admin": True, "endpoint": {"public_cidrs": ["93.184.216.0/24", "0.0.0.0/0"]}}
SPOT = group("p4d.24xlarge", efa=True, capacity="spot")


def ignored(code: str, path: str = "cluster.endpoint", reason: str = "a sandbox without data") -> list[dict[str, str]]:
    return [{"code": code, "path": path, "reason": reason}]


def ignoring(entries: list[dict[str, str]], *groups: dict[str, Any]) -> dict[str, Any]:
    fields = document(*groups)
    return {"cluster": OPEN, "node_groups": fields["node_groups"], "ignore": entries}


OPENED = frozenset({"ENDPOINT_OPEN"})
CASES = [
    Case(
        "IGNORE_UNKNOWN",
        "ignore[0].code",
        ignoring(ignored("ENDPOINT_OPENED")),
        ignoring(ignored("ENDPOINT_OPEN")),
        frozenset({"ENDPOINT_OPEN"}),
    ),
    # Warnings of `doctor` can be accepted, but no errors of it, and none of other commands.
    Case(
        "IGNORE_UNKNOWN",
        "ignore[0].code",
        ignoring(ignored("QUOTA_TOO_LOW")),
        ignoring(ignored("SUBNET_SMALL")),
        OPENED,
    ),
    Case(
        "IGNORE_UNKNOWN", "ignore[0].code", ignoring(ignored("FIELD_TYPE")), ignoring(ignored("CHECK_DENIED")), OPENED
    ),
    Case(
        "IGNORE_ERROR",
        "ignore[0].code",
        ignoring(ignored("EFA_UNSUPPORTED", "node_groups[gpu]"), group("g6.4xlarge", efa=True)),
        ignoring(ignored("ENDPOINT_OPEN")),
        frozenset({"EFA_UNSUPPORTED", "ENDPOINT_OPEN"}),
    ),
    Case(
        "IGNORE_UNUSED",
        "ignore[0].path",
        ignoring(ignored("EFA_SPOT", "node_groups[gpus]"), SPOT),
        ignoring(ignored("EFA_SPOT", "node_groups[gpu]"), SPOT),
        frozenset({"EFA_SPOT", "ENDPOINT_OPEN"}),
    ),
    # Findings about the list itself cannot be silenced by it.
    Case(
        "IGNORE_UNUSED",
        "ignore[0].path",
        ignoring(ignored("IGNORE_UNUSED", "ignore")),
        ignoring([]),
        frozenset({"ENDPOINT_OPEN"}),
    ),
]


@in_one_test("case", CASES, ids=[f"{case.code}-{index}" for index, case in enumerate(CASES)])
def test_rule(case: Case) -> None:
    check_case(case)


def test_every_rule_has_a_case() -> None:
    assert {case.code for case in CASES} == rules_of("ignore")


@in_one_test(
    ("path", "silent"),
    [
        ("cluster.endpoint.public_cidrs[1]", True),
        ("cluster.endpoint.public_cidrs", True),
        ("cluster", True),
        ("cluster.endpoint.public_cidrs[0]", False),
        ("cluster.endpoint.public", False),
        ("clus", False),
        ("cluster.endpoin", False),
        ("node_groups", False),
    ],
)
def test_a_field_stands_for_what_lies_in_it(path: str, silent: bool) -> None:
    strategy = Strategy.model_validate(document(**ignoring(ignored("ENDPOINT_OPEN", path))))
    found = {each.code: each.ignored for each in check(strategy, today=TODAY)}
    assert found["ENDPOINT_OPEN"] == ("a sandbox without data" if silent else "")
    assert ("IGNORE_UNUSED" in found) is not silent


@in_one_test("reason", ["", "        ", "ok", "line\nbreak of it", "${file('/etc/passwd')}"])
def test_a_reason_is_needed(reason: str) -> None:
    with pytest.raises(ValidationError):
        Strategy.model_validate(document(**ignoring(ignored("ENDPOINT_OPEN", reason=reason))))

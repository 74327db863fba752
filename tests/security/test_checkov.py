"""Checkov finds only the exceptions in exceptions.yaml in synthesized stacks, and detects real mistakes."""

from __future__ import annotations

import copy
import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import pytest
import yaml

from helpers.checkov import Check, scan
from helpers.paths import TESTS
from helpers.synthesized import Synthesized

EXCEPTIONS = TESTS / "security" / "exceptions.yaml"
MUTATED = "mutated"

Document = dict[str, Any]


# --- mistakes that must be found


def first_resource(document: Document, type_: str, path: str = "") -> Document:
    """Return the first resource of a type, or the one at a construct path."""
    bodies = document["resource"][type_].values()
    found: Document = next(body for body in bodies if path in body["//"]["metadata"]["path"])
    return found


def remove_resources(document: Document, type_: str) -> None:
    del document["resource"][type_]


def setting(type_: str, path: str = "", **values: Any) -> Callable[[Document], None]:
    """Return a change of one resource's arguments."""
    return lambda document: first_resource(document, type_, path).update(values)


def in_policy(type_: str, argument: str = "policy", path: str = "", **values: Any) -> Callable[[Document], None]:
    """Return a change of the first statement of a policy."""

    def change(document: Document) -> None:
        body = first_resource(document, type_, path)
        policy = json.loads(body[argument])
        policy["Statement"][0].update(values)
        body[argument] = json.dumps(policy)

    return change


def metadata_without_tokens(document: Document) -> None:
    first_resource(document, "aws_launch_template")["metadata_options"]["http_tokens"] = "optional"


# The mistake, its strategy, how it is made, and the check that must find it.
MUTATIONS: list[tuple[str, str, Callable[[Document], None], str]] = [
    ("ssh-for-all", "mixed-hardware",
     setting("aws_vpc_security_group_ingress_rule", cidr_ipv4="0.0.0.0/0", from_port=22, to_port=22, ip_protocol="tcp"),
     "CKV_AWS_24"),
    ("anything-for-all", "mixed-hardware",
     setting("aws_vpc_security_group_ingress_rule", cidr_ipv4="0.0.0.0/0", from_port=-1, to_port=-1), "CKV_AWS_277"),
    ("metadata-without-tokens", "mixed-hardware", metadata_without_tokens, "CKV_AWS_79"),
    ("public-addresses", "mixed-hardware", setting("aws_subnet", map_public_ip_on_launch=True), "CKV_AWS_130"),
    ("plain-secrets", "mixed-hardware", setting("aws_eks_cluster", encryption_config={}), "CKV_AWS_58"),
    ("no-logs", "mixed-hardware", setting("aws_eks_cluster", enabled_cluster_log_types=["api"]), "CKV_AWS_37"),
    ("no-key-rotation", "mixed-hardware", setting("aws_kms_key", enable_key_rotation=False), "CKV_AWS_7"),
    ("a-key-for-all", "mixed-hardware", in_policy("aws_kms_key", Principal="*", Action="kms:*"), "CKV_AWS_33"),
    ("plain-queue", "mixed-hardware", setting("aws_sqs_queue", sqs_managed_sse_enabled=False), "CKV_AWS_27"),
    ("a-queue-for-all", "mixed-hardware", in_policy("aws_sqs_queue_policy", Principal="*", Action="*"),
     "CKV_AWS_72"),
    ("a-role-for-all", "mixed-hardware", in_policy("aws_iam_role", "assume_role_policy", Principal={"AWS": "*"}),
     "CKV_AWS_60"),
    ("no-flow-logs", "mixed-hardware", lambda document: remove_resources(document, "aws_flow_log"), "CKV2_AWS_11"),
    ("open-default-group", "mixed-hardware", lambda document: remove_resources(document, "aws_default_security_group"),
     "CKV2_AWS_12"),
    ("every-action", "mixed-hardware", in_policy("aws_iam_policy", Action="*", Resource="*"), "CKV_AWS_63"),
    ("every-role", "mixed-hardware",
     in_policy("aws_iam_policy", Action=["iam:PutRolePolicy"], Resource="*", Condition={}), "CKV_AWS_289"),
    ("every-object", "mixed-hardware",
     in_policy("aws_iam_role_policy", Action=["s3:GetObject"], Resource="*", Condition={}), "CKV_AWS_288"),
    ("writes-everywhere", "mixed-hardware",
     in_policy("aws_iam_policy", Action=["ec2:TerminateInstances"], Resource="*", Condition={}), "CKV_AWS_290"),
    ("reads-everywhere", "mixed-hardware",
     in_policy("aws_iam_policy", Action=["acm:DescribeCertificate"], Resource="*", Condition={}), "CKV_AWS_355"),
    ("administrators", "mixed-hardware",
     setting("aws_iam_role_policy_attachment", policy_arn="arn:aws:iam::aws:policy/AdministratorAccess"),
     "CKV_AWS_274"),
    ("plain-file-system", "storage", setting("aws_efs_file_system", encrypted=False), "CKV_AWS_42"),
]  # fmt: skip


class Round(NamedTuple):
    """Stack with several mistakes, in unrelated services."""

    strategy: str
    document: Document
    services: set[str]
    names: list[str]


def rounds(stacks: Sequence[Synthesized]) -> list[Round]:
    """Return all mistakes in as few stacks as possible."""
    originals = {stack.stack: stack.document for stack in stacks if not stack.overlay}
    found: list[Round] = []
    for name, strategy, change, _ in MUTATIONS:
        before, after = originals[strategy]["resource"], copy.deepcopy(originals[strategy])
        change(after)
        # aws_iam_role -> iam
        services = {type_.split("_")[1] for type_ in before if before[type_] != after["resource"].get(type_)}
        free = (each for each in found if each.strategy == strategy and not each.services & services)
        chosen = next(free, None)
        if chosen is None:
            chosen = Round(strategy, copy.deepcopy(originals[strategy]), set(), [])
            found.append(chosen)
        change(chosen.document)
        chosen.services.update(services)
        chosen.names.append(name)
    return found


# --- one run for all


@pytest.fixture(scope="session")
def scanned(stacks: Sequence[Synthesized]) -> Sequence[Synthesized]:
    """Return stacks that differ for checkov."""
    found: dict[str, Synthesized] = {}
    for stack in stacks:
        # The emulator's overlay removes unsupported features; nothing else of it is ever deployed.
        if stack.overlay != "local":
            of_aws = {type_: named for type_, named in stack.document["resource"].items() if type_.startswith("aws_")}
            found.setdefault(json.dumps([stack.strategy, of_aws], sort_keys=True), stack)
    return tuple(found.values())


@pytest.fixture(scope="session")
def checks(
    stacks: Sequence[Synthesized], scanned: Sequence[Synthesized], tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, list[Check]]:
    """Return all checks by folder; those of a mistake under its name."""
    mistaken = rounds(stacks)
    documents = {str(index): stack.document for index, stack in enumerate(scanned)}
    documents |= {f"{MUTATED}-{index}": each.document for index, each in enumerate(mistaken)}
    found = defaultdict(list)
    for check in scan(tmp_path_factory.mktemp("scan"), documents):
        found[check.folder].append(check)
    for index, each in enumerate(mistaken):
        found.update(dict.fromkeys(each.names, found[f"{MUTATED}-{index}"]))
    return found


@pytest.fixture(scope="session")
def of_stacks(scanned: Sequence[Synthesized], checks: Mapping[str, list[Check]]) -> list[tuple[Synthesized, Check]]:
    return [(stack, check) for index, stack in enumerate(scanned) for check in checks.get(str(index), [])]


# --- exceptions


def exceptions() -> Mapping[str, list[dict[str, str]]]:
    read: Mapping[str, list[dict[str, str]]] = yaml.safe_load(EXCEPTIONS.read_text(encoding="utf-8"))
    return read


def covers(exception: Mapping[str, str], check: Check) -> bool:
    return exception["check"] == check.id and fnmatchcase(check.path, exception["resource"])


def test_exceptions_are_few_and_reasoned() -> None:
    read = exceptions()
    assert set(read) == {"shipped", "options"}
    assert len(read["shipped"]) < 5
    for exception in (each for entries in read.values() for each in entries):
        assert set(exception) == {"check", "resource", "reason"}
        assert len(exception["reason"]) > 20, exception


def test_nothing_is_found(of_stacks: list[tuple[Synthesized, Check]]) -> None:
    read = exceptions()
    unexpected = [
        f"{stack}: {check}"
        for stack, check in of_stacks
        if not check.passed
        and not any(
            covers(exception, check) for exception in (*read["shipped"], *(() if stack.shipped else read["options"]))
        )
    ]
    assert unexpected == []


def test_every_exception_is_needed(of_stacks: list[tuple[Synthesized, Check]]) -> None:
    for kind, entries in exceptions().items():
        failed = [check for stack, check in of_stacks if not check.passed and stack.shipped == (kind == "shipped")]
        unneeded = [each for each in entries if not any(covers(each, check) for check in failed)]
        assert unneeded == []


# --- the scan itself


@pytest.mark.parametrize(("name", "expected"), [(name, expected) for name, _, _, expected in MUTATIONS])
def test_a_mistake_is_found(name: str, expected: str, checks: Mapping[str, list[Check]]) -> None:
    failed = {check.id for check in checks[name] if not check.passed}
    known = {exception["check"] for exception in exceptions()["shipped"]}
    assert expected in failed - known


# Checks that must have run on every resource of a type.
OF_A_POLICY = {f"CKV_AWS_{number}" for number in (62, 63, 286, 287, 288, 289, 290, 355)}
EVALUATED = {
    "aws_cloudwatch_log_group": {"CKV_AWS_66", "CKV_AWS_158", "CKV_AWS_338"},
    "aws_efs_file_system": {"CKV_AWS_42"},
    "aws_eks_cluster": {"CKV_AWS_37", "CKV_AWS_38", "CKV_AWS_39", "CKV_AWS_58", "CKV_AWS_339"},
    "aws_eks_node_group": {"CKV_AWS_100"},
    "aws_fsx_lustre_file_system": {"CKV_AWS_190"},
    "aws_iam_policy": OF_A_POLICY,
    "aws_iam_role": {"CKV_AWS_60", "CKV_AWS_61", "CKV_AWS_274"},
    "aws_iam_role_policy": OF_A_POLICY,
    "aws_iam_role_policy_attachment": {"CKV_AWS_274"},
    "aws_kms_key": {"CKV_AWS_7", "CKV_AWS_33", "CKV2_AWS_64"},
    "aws_launch_template": {"CKV_AWS_46", "CKV_AWS_79", "CKV_AWS_88", "CKV_AWS_341"},
    "aws_security_group": {"CKV_AWS_23", "CKV_AWS_24", "CKV_AWS_277", "CKV2_AWS_5"},
    "aws_sqs_queue": {"CKV_AWS_27"},
    "aws_sqs_queue_policy": {"CKV_AWS_72", "CKV_AWS_168", "CKV_AWS_387"},
    "aws_subnet": {"CKV_AWS_130"},
    "aws_vpc": {"CKV2_AWS_11", "CKV2_AWS_12"},
    "aws_vpc_security_group_ingress_rule": {"CKV_AWS_23", "CKV_AWS_24", "CKV_AWS_25", "CKV_AWS_277"},
}


def test_every_resource_is_evaluated(
    scanned: Sequence[Synthesized], of_stacks: list[tuple[Synthesized, Check]]
) -> None:
    gone_through = defaultdict(set)
    for stack, check in of_stacks:
        gone_through[stack.file, check.path].add(check.id)
    made = [
        (stack.file, type_, body["//"]["metadata"]["path"]) for stack in scanned for type_, _, body in stack.resources()
    ]
    left_out = {
        (type_, path): missing
        for file, type_, path in made
        if (missing := EVALUATED.get(type_, set()) - gone_through[file, path])
    }
    assert left_out == {}
    assert {type_ for _, type_, _ in made} >= set(EVALUATED)
    assert sum(check.passed for _, check in of_stacks) > 5000

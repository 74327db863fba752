"""Rules about images of node groups: contradictions, pinned releases, the EFA driver."""

from __future__ import annotations

import datetime
from typing import Any

from eks_hardware import facts
from eks_hardware.catalogue import load
from eks_hardware.models import Strategy
from eks_hardware.rules import RULES, check
from eks_hardware.rules.registry import Context
from helpers.cases import in_one_test
from helpers.rules import Case, check_case, rules_of, shown_codes, warnings_of
from helpers.sections import one_group
from helpers.strategies import TODAY, document, pool, pools

GPU = "node_groups[gpu]"
RELEASE = f"{GPU}.ami.release_version"


def image_release(
    text: str, instance_types: str = "m6i.xlarge", kubernetes: str = "1.35", **ami: Any
) -> dict[str, Any]:
    cluster = {"creator_is_admin": True, "kubernetes_version": kubernetes}
    return {**one_group(instance_types, ami={"release_version": text, **ami}), "cluster": cluster}


def bottlerocket_release(text: str, **fields: Any) -> dict[str, Any]:
    return image_release(text, family="bottlerocket", **fields)


def efa_release(name: str, text: str) -> dict[str, Any]:
    return one_group(name, efa=True, ami={"release_version": text})


HPC = {"instance_types": ["c6in.32xlarge"], "efa": True}

CASES = [
    Case(
        "AMI_CONFLICT",
        f"{GPU}.ami.type",
        one_group(ami={"image_id": "ami-01234567", "type": "AL2023_x86_64_STANDARD"}),
        one_group(ami={"image_id": "ami-01234567"}),
    ),
    Case(
        "AMI_CONFLICT",
        RELEASE,
        image_release("1.35.0-20261101", image_id="ami-01234567"),
        image_release("1.35.0-20261101"),
    ),
    Case(
        "AMI_CONFLICT",
        f"{GPU}.ami.family",
        one_group(ami={"family": "bottlerocket", "type": "AL2023_x86_64_STANDARD"}),
        one_group(ami={"family": "bottlerocket", "type": "BOTTLEROCKET_x86_64"}),
    ),
    Case(
        "AMI_CONFLICT",
        "karpenter.node_pools[pool].ami.version",
        pools(pool(ami={"image_id": "ami-01234567", "version": "v20260810"})),
        pools(pool(ami={"image_id": "ami-01234567"})),
    ),
    Case("AMI_RELEASE_FORMAT", RELEASE, image_release("v20260714"), image_release("1.35.6-20260714")),
    Case("AMI_RELEASE_FORMAT", RELEASE, image_release("1.35-20260714"), image_release("1.35.6-20260714")),
    Case("AMI_RELEASE_FORMAT", RELEASE, image_release("1.35.6-20260732"), image_release("1.35.6-20260714")),
    Case("AMI_RELEASE_FORMAT", RELEASE, image_release("1.35.6-20261121"), image_release("1.35.6-20261120")),
    Case("AMI_RELEASE_FORMAT", RELEASE, image_release("1.67.0-0a1b2c3d"), bottlerocket_release("1.67.0-0a1b2c3d")),
    Case("AMI_RELEASE_FORMAT", RELEASE, bottlerocket_release("1.35.6-20260714"), image_release("1.35.6-20260714")),
    Case("AMI_RELEASE_FORMAT", RELEASE, bottlerocket_release("1.67.0"), bottlerocket_release("1.67.0-0a1b2c3d")),
    Case(
        "AMI_RELEASE_FORMAT",
        RELEASE,
        image_release("1.67.0", type="BOTTLEROCKET_x86_64"),
        image_release("1.67.0-0a1b2c3d", type="BOTTLEROCKET_x86_64"),
    ),
    Case("AMI_RELEASE_KUBERNETES", RELEASE, image_release("1.34.9-20260714"), image_release("1.35.6-20260714")),
    # of the version, but before its first release
    Case("AMI_RELEASE_KUBERNETES", RELEASE, image_release("1.35.0-20251217"), image_release("1.35.0-20260114")),
    Case(
        "AMI_RELEASE_KUBERNETES",
        RELEASE,
        bottlerocket_release("1.52.0-0a1b2c3d"),
        bottlerocket_release("1.53.0-0a1b2c3d"),
    ),
    Case(
        "AMI_RELEASE_KUBERNETES",
        RELEASE,
        bottlerocket_release("1.60.0-0a1b2c3d", kubernetes="1.36"),
        bottlerocket_release("1.61.0-0a1b2c3d", kubernetes="1.36"),
    ),
    Case("AMI_RELEASE_UNKNOWN", RELEASE, image_release("1.35.0-20260714"), image_release("1.35.6-20260714")),
    # newer than the recorded releases
    Case("AMI_RELEASE_UNKNOWN", RELEASE, image_release("1.35.2-20260625"), image_release("1.35.2-20260818")),
    Case("AMI_RELEASE_UNRECORDED", RELEASE, image_release("1.35.2-20260311"), image_release("1.35.2-20260318")),
    Case("AMI_RELEASE_UNRECORDED", RELEASE, image_release("1.35.6-20260713"), image_release("1.35.6-20260715")),
    Case(
        "AMI_RELEASE_BAD",
        RELEASE,
        image_release("1.35.6-20260818", "g6.xlarge"),
        image_release("1.35.6-20260810", "g6.xlarge"),
    ),
    # another variant of the same release
    Case("AMI_RELEASE_BAD", RELEASE, image_release("1.35.6-20260818", "g5.xlarge"), image_release("1.35.6-20260818")),
    Case("AMI_RELEASE_DOUBTFUL", RELEASE, image_release("1.35.4-20260505"), image_release("1.35.5-20260610")),
    Case(
        "EFA_DRIVER_MISSING",
        RELEASE,
        efa_release("c6in.32xlarge", "1.35.2-20260318"),
        efa_release("c6in.32xlarge", "1.35.5-20260610"),
    ),
    # accelerated images have had it for a long time
    Case(
        "EFA_DRIVER_MISSING",
        RELEASE,
        efa_release("c6in.32xlarge", "1.35.2-20260304"),
        efa_release("g6.8xlarge", "1.35.2-20260304"),
    ),
    Case(
        "EFA_DRIVER_MISSING",
        "karpenter.node_pools[pool].ami.version",
        pools(pool(**HPC, limits={"cpu": 512}, ami={"version": "v20260318"})),
        pools(pool(**HPC, limits={"cpu": 512})),
    ),
]


@in_one_test("case", CASES, ids=[f"{case.code}-{index}" for index, case in enumerate(CASES)])
def test_rule(case: Case) -> None:
    check_case(case)


def test_every_rule_has_a_case() -> None:
    assert {case.code for case in CASES} == rules_of("images")


def test_which_rules_warn() -> None:
    assert warnings_of("images") == {"AMI_RELEASE_DOUBTFUL", "AMI_RELEASE_UNRECORDED", "EFA_DRIVER_MISSING"}


def test_every_recorded_release_is_good() -> None:
    """For each Kubernetes version, its published releases are accepted, except bad ones."""
    bad = {fact["version"][1:] for fact in facts.karpenter()["ami_aliases"]["known_bad"]["al2023"]}
    about_images = [code for code in RULES if code.startswith("AMI_")]
    for day, versions in facts.ami_releases()["al2023"]["kubelets"].items():
        for kubelet in versions.split():
            minor = kubelet.rpartition(".")[0]
            given = Strategy.model_validate(document(**image_release(f"{kubelet}-{day}", kubernetes=minor)))
            context = Context(given, load(), datetime.date(2026, 9, 1))
            found = {code for code in about_images if list(RULES[code].check(context))}
            assert found <= {"AMI_RELEASE_DOUBTFUL"}, (day, kubelet)
            assert ("AMI_RELEASE_DOUBTFUL" in found) <= (day in bad)


@in_one_test(
    ("text", "family", "words"),
    [
        ("1.35.0-20260714", "al2023", "write 1.35.6-20260714"),
        ("newest", "al2023", "write the kubelet version and the release date, such as 1.35.6-20260714"),
        ("1.67.0-0a1b2c3d", "al2023", "a release of bottlerocket"),
        ("newest", "bottlerocket", "write version and commit, such as 1.67.0-"),
        ("1.34.9-20260714", "al2023", "one such as 1.35.6-20260714"),
    ],
)
def test_the_message_says_what_to_write(text: str, family: str, words: str) -> None:
    given = Strategy.model_validate(document(**image_release(text, family=family)))
    (finding,) = check(given, today=TODAY)
    assert words in finding.message


def test_a_release_of_all_pools_is_named_once() -> None:
    given = pools(
        *(pool(name, **HPC, limits={"cpu": 512}, labels={"team": name}) for name in ("a", "b")),
        ami_versions={"al2023": "v20260318"},
    )
    found = [path for code, path in shown_codes(given) if code == "EFA_DRIVER_MISSING"]
    assert found == ["karpenter.ami_versions.al2023"]


@in_one_test("text", ["0", "-", "1.35.6-", "latest", "1.35.6-00000000", "1.35.6-20260714-1"])
def test_no_rule_trips_over_a_release(text: str) -> None:
    """Any type and text has an answer."""
    for name in ("m6i.xlarge", "p5.49xlarge"):
        assert ("AMI_RELEASE_FORMAT", RELEASE) in shown_codes(image_release(text, name))

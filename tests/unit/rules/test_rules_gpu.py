"""Rules about GPUs: sharing, MIG, the GPU Operator, metrics, labels of plugins."""

from __future__ import annotations

from typing import Any

import pytest

from eks_hardware.models import Strategy
from eks_hardware.rules import check
from helpers.cases import in_one_test
from helpers.rules import Case, check_case, finding_message, rules_of, warnings_of
from helpers.sections import cluster, existing_network, one_group
from helpers.strategies import TODAY, document, gpu_pool, group, pool, pools

GPU = "node_groups[gpu]"
POOL = "karpenter.node_pools[pool]"
BOTTLEROCKET = {"ami": {"family": "bottlerocket"}}
OPERATOR = {"kubernetes": {"gpu_operator": True}}


def slices(profile: str) -> dict[str, Any]:
    return {"gpu_sharing": {"mig_profile": profile}}


ULTRASERVER = {
    "region": "us-east-1",
    **existing_network("use1-az1", "use1-az2", "use1-dfw2-az1"),
    **one_group(
        "p6e-gb200.36xlarge",
        workload="training",
        capacity="capacity-block",
        reservation={"id": "cr-01234567", "zone": "use1-dfw2-az1"},
        update={"strategy": "minimal"},
        efa=True,
    ),
}
TURNS = {"gpu_sharing": {"time_slicing": {"replicas": 4}}}
INF2 = {"accelerator": "inferentia2", "limits": {"aws.amazon.com/neuron": 4}}

CASES = [
    Case(
        "GPU_SHARING_HARDWARE", f"{GPU}.gpu_sharing", one_group("m6i.xlarge", **TURNS), one_group("g6.xlarge", **TURNS)
    ),
    Case(
        "GPU_SHARING_HARDWARE",
        f"{GPU}.gpu_sharing",
        one_group("inf2.xlarge", **slices("1g.5gb")),
        one_group("inf2.xlarge"),
    ),
    Case(
        "GPU_SHARING_HARDWARE",
        f"{POOL}.gpu_sharing",
        pools(pool(**INF2, **TURNS)),
        pools(gpu_pool(instance_types=["g6.xlarge"], **TURNS)),
    ),
    # no MIG at all
    Case(
        "MIG_UNSUPPORTED",
        f"{GPU}.gpu_sharing.mig_profile",
        {**one_group("g6.xlarge", **slices("1g.5gb")), **OPERATOR},
        {**one_group("p4d.24xlarge", **slices("1g.5gb")), **OPERATOR},
    ),
    # a profile of another GPU
    Case(
        "MIG_UNSUPPORTED",
        f"{GPU}.gpu_sharing.mig_profile",
        {**one_group("p5.48xlarge", **slices("1g.5gb")), **OPERATOR},
        {**one_group("p5.48xlarge", **slices("1g.10gb")), **OPERATOR},
    ),
    # one of the types has it, the other does not
    Case(
        "MIG_UNSUPPORTED",
        f"{GPU}.gpu_sharing.mig_profile",
        {**one_group(["p5.48xlarge", "p5en.48xlarge"], **slices("1g.10gb")), **OPERATOR},
        {**one_group(["p5e.48xlarge", "p5en.48xlarge"], **slices("1g.18gb")), **OPERATOR},
    ),
    # both have it, in different numbers
    Case(
        "MIG_UNSUPPORTED",
        f"{GPU}.gpu_sharing.mig_profile",
        {**one_group(["p4d.24xlarge", "p5.48xlarge"], **slices("1g.10gb")), **OPERATOR},
        {**one_group(["p4de.24xlarge", "p5.48xlarge"], **slices("1g.10gb")), **OPERATOR, "region": "us-east-1"},
    ),
    # each type has it under another name, in a pool
    Case(
        "MIG_UNSUPPORTED",
        f"{POOL}.gpu_sharing.mig_profile",
        {**pools(gpu_pool(instance_families=["p4d", "p4de"], **slices("3g.20gb"))), **OPERATOR},
        {**pools(gpu_pool(instance_families=["p4d"], **slices("3g.20gb"))), **OPERATOR},
    ),
    Case(
        "MIG_UNSUPPORTED",
        f"{GPU}.gpu_sharing.mig_profile",
        one_group("p6-b300.48xlarge", **slices("1g.34gb"), **BOTTLEROCKET),
        one_group("p6-b200.48xlarge", **slices("1g.23gb"), **BOTTLEROCKET),
    ),
    Case(
        "MIG_UNSUPPORTED",
        f"{POOL}.gpu_sharing.mig_profile",
        {**pools(gpu_pool(instance_types=["g6.xlarge"], **slices("1g.5gb"))), **OPERATOR},
        {**pools(gpu_pool(instance_types=["p4d.24xlarge"], **slices("1g.5gb"))), **OPERATOR},
    ),
    Case(
        "MIG_NEEDS_OPERATOR",
        f"{GPU}.gpu_sharing.mig_profile",
        one_group("p4d.24xlarge", **slices("1g.5gb")),
        one_group("p4d.24xlarge", **slices("1g.5gb"), **BOTTLEROCKET),
    ),
    Case(
        "MIG_NEEDS_OPERATOR",
        f"{POOL}.gpu_sharing.mig_profile",
        pools(gpu_pool(instance_types=["p4d.24xlarge"], **slices("1g.5gb"))),
        {**pools(gpu_pool(instance_types=["p4d.24xlarge"], **slices("1g.5gb"))), **OPERATOR},
    ),
    Case("GPU_OPERATOR_NO_GPU", "kubernetes.gpu_operator", OPERATOR, {**OPERATOR, **one_group("g6.xlarge")}),
    Case(
        "GPU_OPERATOR_NO_GPU",
        "kubernetes.gpu_operator",
        {**OPERATOR, **one_group("inf2.xlarge")},
        {**OPERATOR, **pools(gpu_pool(instance_types=["g6.xlarge"]))},
    ),
    Case(
        "GPU_OPERATOR_BOTTLEROCKET",
        f"{GPU}.ami.family",
        {**OPERATOR, **one_group("g6.xlarge", **BOTTLEROCKET)},
        {**OPERATOR, **one_group("g6.xlarge"), **pools(pool(**BOTTLEROCKET))},
    ),
    Case(
        "GPU_OPERATOR_BOTTLEROCKET",
        f"{GPU}.ami.type",
        {**OPERATOR, **one_group("g6.xlarge", ami={"type": "BOTTLEROCKET_x86_64_NVIDIA"})},
        one_group("g6.xlarge", **BOTTLEROCKET),
    ),
    Case(
        "GPU_OPERATOR_BOTTLEROCKET",
        f"{POOL}.ami.family",
        {**OPERATOR, **pools(gpu_pool(instance_types=["g6.xlarge"], **BOTTLEROCKET))},
        {**OPERATOR, **pools(gpu_pool(instance_types=["g6.xlarge"]))},
    ),
    Case(
        "EXPORTER_NO_HARDWARE",
        "kubernetes.dcgm_exporter",
        {"kubernetes": {"dcgm_exporter": True}},
        {"kubernetes": {"dcgm_exporter": True}, **one_group("g6.xlarge", **BOTTLEROCKET)},
    ),
    Case(
        "EXPORTER_NO_HARDWARE",
        "kubernetes.neuron_monitor",
        {"kubernetes": {"neuron_monitor": True}, **one_group("g6.xlarge")},
        {"kubernetes": {"neuron_monitor": True}, **pools(pool(**INF2))},
    ),
    Case(
        "EXPORTER_MISSING",
        "kubernetes.prometheus",
        {"kubernetes": {"prometheus": True}, **one_group("g6.xlarge")},
        {"kubernetes": {"prometheus": True, "dcgm_exporter": True}, **one_group("g6.xlarge")},
    ),
    Case(
        "EXPORTER_MISSING",
        "kubernetes.prometheus",
        {"kubernetes": {"prometheus": True}, **one_group("trn1.2xlarge")},
        {"kubernetes": {"prometheus": True, "neuron_monitor": True}, **one_group("trn1.2xlarge")},
    ),
    Case(
        "PLUGIN_LABEL",
        f"{GPU}.labels[nvidia.com/gpu.present]",
        one_group("g6.xlarge", labels={"nvidia.com/gpu.present": "false"}),
        one_group("g6.xlarge", labels={"nvidia.com/gpu.present": "true", "hardware-type": "mine"}),
    ),
    Case(
        "PLUGIN_LABEL",
        f"{GPU}.labels[nvidia.com/gpu.present]",
        one_group("g6.xlarge", labels={"nvidia.com/gpu.present": "true"}, **BOTTLEROCKET),
        one_group("g6.xlarge", labels={"nvidia.com/gpu.deploy.operands": "false"}, **BOTTLEROCKET),
    ),
    Case(
        "PLUGIN_LABEL",
        f"{POOL}.labels[vpc.amazonaws.com/efa.present]",
        pools(pool(labels={"vpc.amazonaws.com/efa.present": "true"})),
        pools(pool(labels={"vpc.amazonaws.com/zone": "a"})),
    ),
    Case(
        "ULTRASERVER_DRA_DRIVER",
        f"{GPU}.instance_types",
        ULTRASERVER,
        {**ULTRASERVER, "ignore": [{"code": "ULTRASERVER_DRA_DRIVER", "path": GPU, "reason": "installed by hand"}]},
    ),
    Case(
        "ULTRASERVER_KUBERNETES",
        "cluster.kubernetes_version",
        {**ULTRASERVER, **cluster(kubernetes_version="1.32", upgrade_policy="extended")},
        {**ULTRASERVER, **cluster(kubernetes_version="1.33", upgrade_policy="extended")},
        frozenset({"KUBERNETES_VERSION_ENDING", "ULTRASERVER_DRA_DRIVER"}),
    ),
]


@in_one_test("case", CASES, ids=[f"{case.code}-{index}" for index, case in enumerate(CASES)])
def test_rule(case: Case) -> None:
    check_case(case)


def test_every_rule_has_a_case() -> None:
    assert {case.code for case in CASES} == rules_of("gpu")


def test_which_rules_warn() -> None:
    assert warnings_of("gpu") == {
        "EXPORTER_MISSING",
        "EXPORTER_NO_HARDWARE",
        "GPU_OPERATOR_BOTTLEROCKET",
        "GPU_OPERATOR_NO_GPU",
        "ULTRASERVER_DRA_DRIVER",
    }


@pytest.mark.parametrize(
    ("name", "profile", "words"),
    [
        ("p5.48xlarge", "1g.18gb", ("H100", "1g.18gb", "did you mean 1g.10gb?", "1g.10gb (x7)", "3g.40gb (x2)")),
        ("g6.xlarge", "1g.10gb", ("L4", "time_slicing")),
    ],
)
def test_the_message_says_what_there_is(name: str, profile: str, words: tuple[str, ...]) -> None:
    given = Strategy.model_validate(document(group(name, **slices(profile)), **OPERATOR))
    (finding,) = check(given, today=TODAY)
    assert all(word in finding.message for word in words), finding.message
    assert "+me" not in finding.message


@pytest.mark.parametrize(
    ("names", "profile", "end"),
    [
        (["p4d.24xlarge", "p4de.24xlarge"], "3g.20gb", "one for p4d and one for p4de"),
        (["p4d.24xlarge", "p4de.24xlarge"], "3g.40gb", "one for p4d and one for p4de"),
        (["p4d.24xlarge", "p4de.24xlarge"], "1g.10gb", "one for p4d and one for p4de"),
        (["p5.48xlarge", "p5e.48xlarge", "p5en.48xlarge"], "1g.10gb", "one for p5 and one for p5e and p5en"),
    ],
)
def test_types_without_a_common_profile_need_separate_nodes(names: list[str], profile: str, end: str) -> None:
    """The rule would report the other type if it suggested a profile that only one type has."""
    for noun, given in (
        ("groups", one_group(names, **slices(profile))),
        ("pools", pools(gpu_pool(instance_types=names, **slices(profile)))),
    ):
        message = finding_message("MIG_UNSUPPORTED", {**given, **OPERATOR, "region": "us-east-1"})
        assert message.endswith(f"; use separate {noun}: {end}")
        assert "did you mean" not in message


def test_a_suggested_profile_is_on_every_type() -> None:
    names = ["p4de.24xlarge", "p5.48xlarge"]
    message = finding_message(
        "MIG_UNSUPPORTED", {**one_group(names, **slices("3g.20gb")), **OPERATOR, "region": "us-east-1"}
    )
    assert "did you mean 3g.40gb? All types have 1g.10gb (x7)" in message


def test_no_rule_trips_over_unknown_types() -> None:
    """Another rule reports the mistake."""
    given = Strategy.model_validate(
        document(group("p5.49xlarge", **slices("1g.10gb")), kubernetes={"prometheus": True})
    )
    assert "INSTANCE_TYPE_UNKNOWN" in {finding.code for finding in check(given, today=TODAY)}

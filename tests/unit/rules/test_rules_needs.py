"""Software requirements for hardware, images and SDKs: a table of rules, and every row of the facts from both sides."""

from __future__ import annotations

import re
import typing
from typing import Any

import pytest

from eks_hardware import facts, software
from eks_hardware.catalogue import Hardware, InstanceType, load
from eks_hardware.loader import parse_strategy
from eks_hardware.models import Needs, NodeTemplate
from eks_hardware.models.needs import Attention, Framework
from eks_hardware.rules import check_loaded
from eks_hardware.spellings import Precision
from eks_hardware.versions import parts
from helpers.cases import in_one_test
from helpers.needs import MODULES, WORDS, said, trainium_pool
from helpers.paths import ROOT
from helpers.rules import Case, check_case, finding_message, rules_of, warnings_of
from helpers.strategies import SYSTEM, TODAY, gpu_pool, group, pool, pools

CATALOGUE = load()
GPU = "node_groups[gpu]"
POOL = "karpenter.node_pools[pool]"


def needing(instance_types: str | list[str], workload: str = "general", **needs: str) -> dict[str, Any]:
    """Return a strategy with a group of some types, whose software has needs."""
    return {"node_groups": [SYSTEM, group(instance_types, workload=workload, efa=False, needs=needs)]}


def pinned_image(
    release: str, instance_types: str, kubernetes: str = "1.35", family: str = "al2023", **needs: str
) -> Any:
    """Return the same with a pinned image release."""
    ami = {"family": family, "release_version": release}
    return {
        "cluster": {"creator_is_admin": True, "kubernetes_version": kubernetes},
        "node_groups": [SYSTEM, group(instance_types, ami=ami, needs=needs)],
    }


def spread(instance_types: str | list[str], **fields: Any) -> dict[str, Any]:
    """Return a group for jobs on several nodes."""
    needs = {"distributed": "multi-node"}
    return {"node_groups": [SYSTEM, group(instance_types, needs=needs, **fields)]}


SLICES = {"gpu_sharing": {"mig_profile": "1g.5gb"}, "ami": {"family": "bottlerocket"}}
TURNS = {"gpu_sharing": {"time_slicing": {"replicas": 4}}}
XLA = {"framework": "pytorch-xla"}
UNREAD = frozenset({"NEEDS_DRIVER_UNREAD"})

CASES = [
    # --- needs of other hardware
    Case("NEEDS_HARDWARE", f"{GPU}.needs.cuda", needing("m7i.xlarge", cuda="12.8"), needing("g6.xlarge", cuda="12.8")),
    Case("NEEDS_HARDWARE", f"{GPU}.needs.cuda", needing("trn1.2xlarge", cuda="12.8"), needing("trn1.2xlarge")),
    Case(
        "NEEDS_HARDWARE",
        f"{GPU}.needs.nvidia_driver",
        needing("inf2.xlarge", nvidia_driver="580"),
        needing("g6.xlarge", nvidia_driver="580"),
    ),
    Case(
        "NEEDS_HARDWARE",
        f"{GPU}.needs.attention",
        needing("trn1.2xlarge", attention="flash-attention-2"),
        needing("g6.xlarge", attention="flash-attention-2"),
    ),
    Case(
        "NEEDS_HARDWARE",
        f"{GPU}.needs.neuron_sdk",
        needing("g6.xlarge", neuron_sdk="2.31"),
        needing("inf2.xlarge", neuron_sdk="2.31"),
    ),
    Case(
        "NEEDS_HARDWARE",
        f"{GPU}.needs.framework",
        needing("m7i.xlarge", framework="pytorch-xla"),
        needing("m7i.xlarge", framework="pytorch"),
    ),
    # --- data types of an accelerator
    Case("NEEDS_PRECISION", f"{GPU}.needs.precision", needing("g4dn.xlarge", precision="bf16"), needing("g4dn.xlarge")),
    Case(
        "NEEDS_PRECISION",  # one of two types
        f"{GPU}.needs.precision",
        needing(["g5.xlarge", "g6.xlarge"], precision="fp8"),
        needing(["g6e.xlarge", "g6.xlarge"], precision="fp8"),
    ),
    Case(
        "NEEDS_PRECISION", f"{GPU}.needs.precision", needing("inf2.xlarge", precision="nvfp4"), needing("inf2.xlarge")
    ),
    Case(
        "NEEDS_PRECISION",
        f"{POOL}.needs.precision",
        pools(gpu_pool(instance_families=["g4dn", "g5"], needs={"precision": "bf16"})),
        pools(gpu_pool(instance_families=["g5", "g6"], needs={"precision": "bf16"})),
    ),
    Case(
        "NEEDS_ATTENTION",
        f"{GPU}.needs.attention",
        needing("g4dn.xlarge", attention="flash-attention-2"),
        needing("g5.xlarge", attention="flash-attention-2"),
    ),
    Case(
        "NEEDS_ATTENTION",
        f"{GPU}.needs.attention",
        needing("g6e.xlarge", attention="flash-attention-3"),
        needing("p5.4xlarge", attention="flash-attention-3"),
    ),
    Case(
        "NEEDS_CUDA",
        f"{GPU}.needs.cuda",
        needing("p6-b200.48xlarge", cuda="12.6"),
        needing("p6-b200.48xlarge", cuda="12.8"),
    ),
    Case(
        "NEEDS_CUDA", f"{GPU}.needs.cuda", needing("p3dn.24xlarge", cuda="13.0"), needing("p3dn.24xlarge", cuda="12.9")
    ),
    # --- drivers
    Case(
        "NEEDS_DRIVER",
        f"{GPU}.needs.cuda",
        pinned_image("1.34.1-20250920", "g6.xlarge", "1.34", cuda="13.0"),
        pinned_image("1.34.1-20251023", "g6.xlarge", "1.34", cuda="13.0"),
        frozenset({"KUBERNETES_VERSION_ENDING"}),
    ),
    Case(
        "NEEDS_DRIVER",  # one release, two drivers
        f"{GPU}.needs.nvidia_driver",
        pinned_image("1.33.5-20251023", "g6.xlarge", "1.33", nvidia_driver="580"),
        pinned_image("1.34.1-20251023", "g6.xlarge", "1.34", nvidia_driver="580"),
        frozenset({"KUBERNETES_VERSION_ENDING"}),
    ),
    Case(
        "NEEDS_DRIVER",
        f"{GPU}.needs.nvidia_driver",
        pinned_image("1.35.0-20260224", "g6.xlarge", nvidia_driver="580.159.03"),
        pinned_image("1.35.6-20260625", "g6.xlarge", nvidia_driver="580.159.03"),
    ),
    Case(
        "NEEDS_DRIVER",
        f"{GPU}.needs.neuron_sdk",
        pinned_image("1.35.6-20260714", "trn1.32xlarge", neuron_sdk="2.29"),
        pinned_image("1.35.6-20260625", "trn1.32xlarge", neuron_sdk="2.29"),
    ),
    Case(
        "NEEDS_DRIVER",
        f"{POOL}.needs.neuron_sdk",
        trainium_pool(ami={"version": "v20260714"}, needs={"neuron_sdk": "2.30"}),
        trainium_pool(ami={"version": "v20260714"}, needs={"neuron_sdk": "2.31"}),
    ),
    Case(
        "NEEDS_DRIVER_UNREAD",  # not pinned
        f"{GPU}.needs.neuron_sdk",
        needing("trn1.32xlarge", neuron_sdk="2.29"),
        needing("trn1.32xlarge", neuron_sdk="2.31"),
    ),
    Case(
        "NEEDS_DRIVER_UNREAD",  # no source for any release
        f"{GPU}.needs.neuron_sdk",
        {"node_groups": [SYSTEM, group("inf2.xlarge", ami={"family": "bottlerocket"}, needs={"neuron_sdk": "2.31"})]},
        needing("inf2.xlarge", neuron_sdk="2.31"),
    ),
    Case(
        "NEEDS_DRIVER_UNREAD",  # the suggested release is newer than the recorded ones
        f"{POOL}.needs.nvidia_driver",
        pools(gpu_pool(instance_types=["g6.xlarge"], needs={"nvidia_driver": "595"})),
        pools(gpu_pool(instance_types=["g6.xlarge"], needs={"nvidia_driver": "595"}, ami={"image_id": "ami-01234567"})),
    ),
    Case(
        "NEEDS_DRIVER_GPU",
        f"{GPU}.needs.nvidia_driver",
        needing("p3dn.24xlarge", nvidia_driver="595"),
        needing("p3dn.24xlarge", nvidia_driver="580.126.09"),
        UNREAD,
    ),
    Case(
        "NEEDS_DRIVER_GPU",
        f"{GPU}.needs.nvidia_driver",
        needing("g6f.xlarge", nvidia_driver="595"),
        needing("g6.xlarge", nvidia_driver="595"),
        UNREAD,
    ),
    # --- frameworks and SDKs
    Case(
        "NEEDS_FRAMEWORK",
        f"{GPU}.needs.framework",
        needing("p3dn.24xlarge", framework="vllm"),
        needing("g4dn.xlarge", framework="vllm"),
    ),
    Case(
        "NEEDS_FRAMEWORK",
        f"{GPU}.needs.framework",
        needing("trn1.2xlarge", framework="mxnet"),
        needing("trn1.2xlarge", framework="tensorflow", neuron_sdk="2.30"),
    ),
    Case(
        "NEEDS_FRAMEWORK",  # native PyTorch starts with Trainium2
        f"{GPU}.needs.framework",
        {**needing("trn1.32xlarge", "training", framework="pytorch")},
        {**needing("trn2.48xlarge", "training", framework="pytorch"), "region": "us-east-2"},
    ),
    Case(
        "NEEDS_FRAMEWORK_STATUS",
        f"{GPU}.needs.framework",
        needing("inf2.xlarge", "inference", framework="jax"),
        needing("g6.xlarge", "inference", framework="jax"),
    ),
    Case(
        "NEEDS_FRAMEWORK_STATUS",
        f"{GPU}.needs.framework",
        needing("inf2.xlarge", "inference", framework="pytorch-xla", neuron_sdk="2.31"),
        needing("inf2.xlarge", "inference", framework="pytorch-xla", neuron_sdk="2.30"),
    ),
    Case(
        "NEEDS_FRAMEWORK_STATUS",
        f"{GPU}.needs.framework",
        needing("g6.xlarge", framework="tgi"),
        needing("g5.xlarge", framework="tgi"),
    ),
    Case(
        "NEEDS_SDK",
        f"{GPU}.needs.neuron_sdk",
        needing("trn1.2xlarge", "training", **XLA, neuron_sdk="2.31"),
        needing("trn1.2xlarge", "inference", **XLA, neuron_sdk="2.31"),
    ),
    Case(
        "NEEDS_SDK",
        f"{GPU}.needs.neuron_sdk",
        needing("inf2.xlarge", "inference", framework="tensorflow", neuron_sdk="2.29"),
        needing("inf2.xlarge", "inference", framework="tensorflow", neuron_sdk="2.28"),
        UNREAD,
    ),
    Case(
        "NEEDS_SDK",
        f"{GPU}.needs.neuron_sdk",
        needing("inf1.xlarge", neuron_sdk="2.27"),
        needing("inf1.xlarge", neuron_sdk="2.26.1"),
        frozenset({"INFERENTIA_ARCHIVED"}),
    ),
    Case(
        "NEEDS_SDK_MISSING",
        f"{GPU}.needs.framework",
        needing("trn1.2xlarge", "training", **XLA),
        needing("trn1.2xlarge", "training", **XLA, neuron_sdk="2.29"),
    ),
    # --- workloads
    Case(
        "TRAINING_UNSUPPORTED",
        f"{GPU}.workload",
        needing("inf1.xlarge", "training"),
        needing("inf1.xlarge", "inference"),
        frozenset({"INFERENTIA_ARCHIVED"}),
    ),
    Case(
        "TRAINING_UNSUPPORTED",
        f"{GPU}.workload",
        needing("dl2q.24xlarge", "training"),
        needing("p4d.24xlarge", "training"),
        frozenset({"AMI_NONE"}),
    ),
    Case(
        "TRAINING_INFERENTIA",
        f"{GPU}.workload",
        needing("inf2.48xlarge", "training"),
        needing("trn1.32xlarge", "training"),
    ),
    Case(
        "TRAINING_INFERENTIA",
        f"{POOL}.workload",
        pools(pool(accelerator="inferentia2", workload="training", limits={"aws.amazon.com/neuron": 16})),
        trainium_pool(workload="training"),
    ),
    Case("INFERENTIA_ARCHIVED", f"{GPU}.instance_types", needing("inf1.xlarge"), needing("inf2.xlarge")),
    Case(
        "INFERENTIA_ARCHIVED",
        f"{POOL}.instance_families",
        pools(pool(instance_families=["inf1"], limits={"aws.amazon.com/neuron": 16})),
        pools(pool(instance_families=["inf2"], limits={"aws.amazon.com/neuron": 16})),
    ),
    Case(
        "DISTRIBUTED_IMPOSSIBLE",
        f"{GPU}.needs.distributed",
        spread("p4d.24xlarge", efa=True, **SLICES),
        spread("p4d.24xlarge", efa=True),
    ),
    Case(
        "DISTRIBUTED_IMPOSSIBLE",  # training with EFA reports it too
        f"{GPU}.efa",
        {"node_groups": [SYSTEM, group("p4d.24xlarge", workload="training", efa=True, **SLICES)]},
        {"node_groups": [SYSTEM, group("p4d.24xlarge", workload="training", **SLICES)]},
    ),
    Case(
        "DISTRIBUTED_IMPOSSIBLE",
        f"{GPU}.needs.distributed",
        needing("g5.xlarge", distributed="single-node"),
        needing("g5.12xlarge", distributed="single-node"),
    ),
    Case(
        "DISTRIBUTED_IMPOSSIBLE",
        f"{GPU}.needs.distributed",
        spread("trn1.32xlarge"),
        spread("trn1.32xlarge", efa=True),
    ),
    Case(
        "DISTRIBUTED_IMPOSSIBLE",
        f"{GPU}.needs.distributed",
        spread("trn1.2xlarge"),
        needing("trn1.2xlarge", distributed="single-node"),  # on the two cores of one device
    ),
    Case(
        "DISTRIBUTED_SLOW",
        f"{GPU}.needs.distributed",
        spread("g4dn.12xlarge", efa=True),
        spread("g6.12xlarge", efa=True),
    ),
    Case("DISTRIBUTED_SLOW", f"{GPU}.needs.distributed", spread("g6f.xlarge"), needing("g6f.xlarge")),
    Case("DISTRIBUTED_SLOW", f"{GPU}.needs.distributed", spread("g6.48xlarge"), spread("g6.48xlarge", efa=True)),
    Case(
        "DISTRIBUTED_SLOW",
        f"{GPU}.efa",
        {"node_groups": [SYSTEM, group("g5.48xlarge", workload="training", efa=True)]},
        {"node_groups": [SYSTEM, group("g5.48xlarge", workload="inference", efa=True)]},
    ),
    Case(
        "TIME_SLICING_TRAINING",
        f"{GPU}.gpu_sharing.time_slicing",
        {"node_groups": [SYSTEM, group("g6.xlarge", workload="training", **TURNS)]},
        {"node_groups": [SYSTEM, group("g6.xlarge", workload="development", **TURNS)]},
    ),
]


@in_one_test("case", CASES, ids=[f"{case.code}-{index}" for index, case in enumerate(CASES)])
def test_rule(case: Case) -> None:
    check_case(case)


def test_every_rule_has_a_case() -> None:
    assert {case.code for case in CASES} == rules_of(*MODULES)


def test_which_rules_warn() -> None:
    assert warnings_of(*MODULES) == {
        "DISTRIBUTED_SLOW",
        "INFERENTIA_ARCHIVED",
        "NEEDS_DRIVER_UNREAD",
        "NEEDS_FRAMEWORK_STATUS",
        "NEEDS_SDK_MISSING",
        "TIME_SLICING_TRAINING",
        "TRAINING_INFERENTIA",
    }


# --- messages


def test_types_are_told_apart_and_others_named() -> None:
    message = said(group(["g4dn.12xlarge", "g5.12xlarge"], needs={"precision": "bf16"}))["NEEDS_PRECISION"]
    lack, _, rest = message.partition(";")
    assert "g4dn.12xlarge (T4, 7.5)" in lack
    assert "g5.12xlarge (A10G)" in rest
    assert "in us-west-2 g6.12xlarge (L4)" in rest  # the same number of GPUs, and the cheapest of its kind
    assert "g5.12xlarge" not in lack


ONE_NODE = "set distributed: single-node if one node has enough memory"


@pytest.mark.parametrize(
    ("region", "kind", "workload", "fix"),
    [
        ("us-west-2", "trn1.2xlarge", "training", "choose trn1.32xlarge and set efa: true"),
        ("us-east-2", "trn1.2xlarge", "training", "choose trn1.32xlarge or trn2.48xlarge and set efa: true"),
        ("us-west-2", "inf2.48xlarge", "inference", f"choose trn1.32xlarge and set efa: true, or {ONE_NODE}"),
        (
            "eu-west-3",
            "inf2.48xlarge",
            "inference",
            f"{ONE_NODE}, or use another region, because no Trainium type with EFA is known in eu-west-3",
        ),
    ],
)
def test_types_for_neuron_jobs_on_several_nodes(region: str, kind: str, workload: str, fix: str) -> None:
    given = {"region": region, **spread(kind, workload=workload)}
    assert finding_message("DISTRIBUTED_IMPOSSIBLE", given).endswith(f"does not have here; {fix}")
    for name in re.findall(r"trn\S+", fix):  # the fix is complete
        fixed = spread(name, workload=workload, efa=True)["node_groups"][1]
        assert not {"DISTRIBUTED_IMPOSSIBLE", "INSTANCE_TYPE_NOT_OFFERED"} & set(said(fixed, region=region))


def test_neuron_types_with_and_without_efa() -> None:
    kinds = ["trn1.2xlarge", "trn1.32xlarge", "trn2.48xlarge"]  # us-west-2 does not offer the last
    message = finding_message("DISTRIBUTED_IMPOSSIBLE", spread(kinds, workload="training"))
    assert message.endswith("; choose trn1.32xlarge and set efa: true")
    with_efa = finding_message("DISTRIBUTED_IMPOSSIBLE", spread("trn1.2xlarge", efa=True))
    assert "; choose trn1.32xlarge, or set distributed" in with_efa


def test_no_other_type_is_named_that_could_not_stand_in() -> None:
    message = said(group("g4dn.8xlarge", efa=True, needs={"precision": "fp8"}))["NEEDS_PRECISION"]
    assert "g6.8xlarge (L4)" in message  # g6.xlarge has no EFA
    arm = said(group("g5g.xlarge", needs={"precision": "bf16"}))["NEEDS_PRECISION"]
    assert "us-west-2" not in arm  # the containers are for arm64
    elsewhere = said(group("g4dn.xlarge", needs={"precision": "fp8"}), region="us-iso-east-1")["NEEDS_PRECISION"]
    assert "fit" not in elsewhere


# --- the facts

NVIDIA = {
    kind.accelerator.name: kind
    for kind in map(CATALOGUE.get, CATALOGUE.names)
    if kind.hardware is Hardware.NVIDIA_GPU and kind.accelerator and not kind.accelerator.fraction
}
CHIPS = {
    kind.accelerator.name: kind
    for kind in map(CATALOGUE.get, CATALOGUE.names)
    if kind.hardware.is_neuron and kind.accelerator
}
SECTIONS = ("attention", "collectives", "cuda", "frameworks", "images", "neuron_chips", "neuron_driver", "precision")


def codes_for(kind: InstanceType, workload: str = "general", **needs: str) -> set[str]:
    """Return the codes of these rules for a group with one type."""
    return set(said(group(kind.name, workload=workload, needs=needs)))


def inside(gate: dict[str, Any], capability: float) -> bool | None:
    """Return a gate, read by the test itself."""
    if capability in gate.get("unknown", []):
        return None
    if "only" in gate:
        return capability in gate["only"]
    return capability >= gate.get("minimum", 0) and capability not in gate.get("except", [])


def minor(version: str, step: int) -> str:
    """Return the version some minor versions before or after another."""
    major, number = version.split(".")[:2]
    return f"{major}.{int(number) + step}"


@in_one_test("section", SECTIONS)
def test_every_section_has_a_source_and_a_day(section: str) -> None:
    software: Any = facts.software()
    fact = software[section]
    assert fact["source"].startswith("https://")
    assert fact["as_of"] >= "2026-11-01"


def test_models_and_facts_know_the_same_words() -> None:
    assert set(typing.get_args(Precision)) == set(facts.software()["precision"]["nvidia"])
    assert set(typing.get_args(Attention)) == set(facts.software()["attention"]["kernels"])
    assert set(typing.get_args(Framework)) == set(facts.software()["frameworks"]["by_name"])
    for chip, row in facts.software()["precision"]["neuron"].items():
        assert set(row) == set(typing.get_args(Precision)), chip


def test_every_chip_of_the_catalogue_is_known() -> None:
    assert set(facts.software()["precision"]["neuron"]) == set(CHIPS)
    assert set(facts.software()["neuron_chips"]["training"]) == set(CHIPS)
    capabilities = {kind.accelerator.compute_capability for kind in NVIDIA.values() if kind.accelerator} - {None}
    rows = facts.software()["cuda"]["architectures"]
    assert capabilities <= {capability for row in rows for capability in row["capabilities"]}
    named = {chip for row in facts.software()["frameworks"]["by_name"].values() for chip in row["neuron"] or ()}
    assert named <= set(CHIPS)


@in_one_test("name", sorted({**NVIDIA, **CHIPS}))
def test_facts_and_catalogue_agree(name: str) -> None:
    kind = {**NVIDIA, **CHIPS}[name]
    assert kind.accelerator
    if kind.accelerator.compute_capability is not None or kind.hardware.is_neuron:
        assert software.computes(kind, "bf16") == kind.accelerator.bf16
        assert software.computes(kind, "fp8") == kind.accelerator.fp8
        assert software.attends(kind, "flash-attention-2") == kind.accelerator.flash_attention_2


def is_refused(gate: Any, kind: InstanceType) -> bool:
    """Return whether the compute capability of a GPU is known, and outside of a fact's range."""
    capability = kind.accelerator.compute_capability if kind.accelerator else None
    return capability is not None and inside(gate, capability) is False


@in_one_test("precision", facts.software()["precision"]["nvidia"])
def test_precision(precision: str) -> None:
    gate, of_chips = facts.software()["precision"]["nvidia"][precision], facts.software()["precision"]["neuron"]
    expected = {name: is_refused(gate, kind) for name, kind in NVIDIA.items()}
    expected |= {name: of_chips[name][precision] is False for name in CHIPS}
    kinds = {**NVIDIA, **CHIPS}
    assert {name: "NEEDS_PRECISION" in codes_for(kind, precision=precision) for name, kind in kinds.items()} == expected


@in_one_test("kernel", facts.software()["attention"]["kernels"])
def test_attention(kernel: str) -> None:
    gate = facts.software()["attention"]["kernels"][kernel]
    expected = {name: is_refused(gate, kind) for name, kind in NVIDIA.items()}
    assert {name: "NEEDS_ATTENTION" in codes_for(kind, attention=kernel) for name, kind in NVIDIA.items()} == expected


ARCHITECTURES = [
    pytest.param(row, kind, id=f"{name}-{row['first']}")
    for row in facts.software()["cuda"]["architectures"]
    for name, kind in NVIDIA.items()
    if kind.accelerator and kind.accelerator.compute_capability in row["capabilities"]
]


@in_one_test(("row", "kind"), ARCHITECTURES)
def test_cuda_of_an_architecture(row: dict[str, Any], kind: InstanceType) -> None:
    support = software.cuda_support(kind)
    assert support
    assert support.knows(row["first"])
    before = minor(row["first"], -1) if not row["first"].endswith(".0") else f"{int(row['first'][:-2]) - 1}.9"
    assert not support.knows(before)
    for last in (row["last"] or 99,):
        assert support.knows(f"{last}.0")
        assert support.knows(f"{last}.9")
    assert row["last"] is None or not support.knows(f"{row['last'] + 1}.0")
    if parts(row["first"]) >= (10,):  # values that a strategy can have
        assert "NEEDS_CUDA" not in codes_for(kind, cuda=row["first"])
    if row["last"]:
        assert "NEEDS_CUDA" in codes_for(kind, cuda=f"{row['last'] + 1}.0")
    if last_driver := row["last_driver"]:
        assert "NEEDS_DRIVER_GPU" in codes_for(kind, nvidia_driver=str(int(last_driver) + 1))
        assert "NEEDS_DRIVER_GPU" not in codes_for(kind, nvidia_driver=last_driver)


IMAGES = [
    pytest.param(family, hardware, row["from"], kubernetes, driver, id=f"{family}-{row['from']}-{kubernetes}-{driver}")
    for family in ("al2023", "bottlerocket")
    for of_family in [facts.software()["images"]["by_family"][family]]
    for rows, hardware in ((of_family["nvidia"], Hardware.NVIDIA_GPU), (of_family["neuron"], Hardware.TRAINIUM))
    for row in rows
    for kubernetes, driver in (row.get("kubernetes") or {"1.34": row.get("driver", "")}).items()
]


@in_one_test(("family", "hardware", "release", "kubernetes", "driver"), IMAGES)
def test_driver_of_an_image(family: str, hardware: Hardware, release: str, kubernetes: str, driver: str) -> None:
    image = software.image_driver(hardware, family, release, kubernetes)
    assert image == software.ImageDriver(driver, release, True)


@in_one_test(("family", "hardware", "release", "kubernetes", "driver"), IMAGES)
def test_driver_that_software_takes(
    family: str, hardware: Hardware, release: str, kubernetes: str, driver: str
) -> None:
    if hardware is not Hardware.NVIDIA_GPU:
        return
    suffix = "-0a1b2c3d" if family == "bottlerocket" else ""
    text = f"{release[1:]}{suffix}" if suffix else f"{kubernetes}.0-{release[1:]}"
    cluster = {"creator_is_admin": True, "kubernetes_version": kubernetes}
    ami = {"family": family, "release_version": text}

    def codes(needed: str) -> set[str]:
        return set(said(group("g6.xlarge", ami=ami, needs={"nvidia_driver": needed}), cluster=cluster))

    assert codes(driver) == set()
    assert codes(str(int(driver.split(".")[0]) + 1)) == {"NEEDS_DRIVER"}


def test_images_are_in_order_and_known() -> None:
    kubelets = facts.ami_releases()["al2023"]["kubelets"]
    for family in ("al2023", "bottlerocket"):
        fact = facts.software()["images"]["by_family"][family]
        for hardware in ("nvidia", "neuron"):
            releases = [row["from"] for row in fact[hardware]]
            assert releases == sorted(releases, key=parts)
            assert all(parts(each) <= parts(fact["read_to"]) for each in releases)
            if family == "al2023":
                assert {each[1:] for each in releases} <= set(kubelets)


def test_an_image_that_was_not_read() -> None:
    newest = facts.software()["images"]["by_family"]["al2023"]["read_to"]
    for release in (None, "v20991231"):
        image = software.image_driver(Hardware.NVIDIA_GPU, "al2023", release, "1.35")
        assert image
        assert (image.release, image.read) == (newest, False)
    assert software.image_driver(Hardware.NVIDIA_GPU, "al2023", "v20200101", "1.35") is None
    assert software.image_driver(Hardware.TRAINIUM, "bottlerocket", None, "1.35") is None


@in_one_test(("major", "floor"), facts.software()["cuda"]["driver_floor"].items())
def test_driver_for_cuda(major: str, floor: str) -> None:
    assert software.driver_for_cuda(f"{major}.0") == software.driver_for_cuda(f"{major}.9") == floor
    assert software.driver_for_cuda("99.0") is None


@pytest.mark.parametrize("row", facts.software()["neuron_driver"]["conflicts"])
def test_runtime_and_driver(row: dict[str, str | None]) -> None:
    driver = row["driver_from"] or row["driver_to"]
    sdk = row["sdk_from"] or row["sdk_to"]
    assert driver
    assert sdk
    assert not software.sdk_fits_driver(sdk, driver)
    for bound, step, is_driver in (
        (row["driver_from"], -1, True),
        (row["driver_to"], 1, True),
        (row["sdk_from"], -1, False),
        (row["sdk_to"], 1, False),
    ):
        if bound:
            outside = minor(bound, step)
            assert software.sdk_fits_driver(*((sdk, outside) if is_driver else (outside, driver)))


USES = [
    pytest.param(framework, chip, use, row, id=f"{framework}-{chip}-{use}")
    for framework, fact in facts.software()["frameworks"]["by_name"].items()
    if fact["neuron"] is not None
    for chip in CHIPS
    for use in ("training", "inference")
    for row in [fact["neuron"].get(chip, {}).get(use)]
]


@in_one_test(("framework", "chip", "use", "row"), USES)
def test_framework_on_a_chip(framework: str, chip: str, use: str, row: dict[str, Any] | None) -> None:
    kind, newest = CHIPS[chip], facts.software()["frameworks"]["newest_sdk"]
    codes = codes_for(kind, use, framework=framework)
    assert ("NEEDS_FRAMEWORK" in codes) is (row is None)
    if row is None:
        return
    assert ("NEEDS_SDK_MISSING" in codes) is (row["last"] is not None)
    last = row["last"] or newest
    assert "NEEDS_SDK" not in codes_for(kind, use, framework=framework, neuron_sdk=last)
    assert "NEEDS_SDK" not in codes_for(kind, use, framework=framework, neuron_sdk=f"{last}.1")
    after = codes_for(kind, use, framework=framework, neuron_sdk=minor(last, 1))
    assert ("NEEDS_SDK" in after) is (row["last"] is not None or chip in facts.software()["neuron_chips"]["archived"])
    if row["first"]:
        assert "NEEDS_SDK" not in codes_for(kind, use, framework=framework, neuron_sdk=row["first"])
        assert "NEEDS_SDK" in codes_for(kind, use, framework=framework, neuron_sdk=minor(row["first"], -1))
    if row["status"]:
        since = row["status_from"]
        assert "NEEDS_FRAMEWORK_STATUS" in codes_for(kind, use, framework=framework, neuron_sdk=since)
        assert "NEEDS_FRAMEWORK_STATUS" not in codes_for(kind, use, framework=framework, neuron_sdk=minor(since, -1))
    else:
        assert "NEEDS_FRAMEWORK_STATUS" not in codes_for(kind, use, framework=framework, neuron_sdk=last)


@in_one_test("framework", facts.software()["frameworks"]["by_name"])
def test_framework_on_a_gpu(framework: str) -> None:
    row = facts.software()["frameworks"]["by_name"][framework]
    for name, kind in NVIDIA.items():
        codes = codes_for(kind, "inference", framework=framework)
        assert ("NEEDS_FRAMEWORK" in codes) is is_refused(row.get("gate", {}), kind), name
        assert ("NEEDS_FRAMEWORK_STATUS" in codes) is ("tuned" in row and name not in row["tuned"]["for"]), name
        assert ("NEEDS_HARDWARE" in codes) is ("nvidia-gpu" not in row["hardware"]), name


@in_one_test(("chip", "verdict"), facts.software()["neuron_chips"]["training"].items())
def test_training_on_a_chip(chip: str, verdict: str) -> None:
    codes = codes_for(CHIPS[chip], "training")
    assert ("TRAINING_UNSUPPORTED" in codes) is (verdict == "unsupported")
    assert ("TRAINING_INFERENTIA" in codes) is (verdict == "small")
    assert ("INFERENTIA_ARCHIVED" in codes) is (chip in facts.software()["neuron_chips"]["archived"])


@in_one_test("name", facts.software()["collectives"]["without_gpudirect_rdma"])
def test_types_without_gpudirect_rdma(name: str) -> None:
    assert CATALOGUE.get(name).supports_efa
    assert "DISTRIBUTED_SLOW" in said(group(name, workload="training", efa=True))
    assert "DISTRIBUTED_SLOW" not in said(group(name, workload="inference", efa=True))


# --- any needs

KINDS = [
    *NVIDIA.values(),
    *CHIPS.values(),
    *map(CATALOGUE.get, ("g6f.xlarge", "m7i.xlarge", "g4ad.xlarge", "f2.6xlarge")),
]


def test_the_words_are_those_of_the_model() -> None:
    assert set(WORDS) == set(Needs.model_fields)
    assert "needs" in NodeTemplate.model_fields


@in_one_test("kind", KINDS, ids=lambda kind: kind.name)
def test_no_rule_raises_for_a_word(kind: InstanceType) -> None:
    groups = [
        group(kind.name, f"g{index}", workload=workload, needs={field: word})
        for index, (field, word, workload) in enumerate(
            (field, word, workload)
            for field, words in WORDS.items()
            for word in words
            for workload in ("training", "inference")
        )
    ]
    for message in said(*groups).values():
        assert message[0].islower() or message.split(" ")[0].strip(",") in message
        assert not message.removesuffix("...").endswith(".")


# --- the guide


def test_the_guide_shows_what_is_found() -> None:
    text = (ROOT / "docs" / "guides" / "needs.md").read_text(encoding="utf-8")
    example, shown = re.findall(r"```(?:yaml|text)\n(.*?)```", text, re.DOTALL)
    findings = check_loaded(parse_strategy(example), today=TODAY)
    assert [str(finding).partition(": ")[2] for finding in findings] == shown.splitlines()
    for field, model in (("precision", Precision), ("framework", Framework)):
        row = next(line for line in text.splitlines() if line.startswith(f"| `{field}` |"))
        assert set(typing.get_args(model)) <= set(re.findall(r"`([a-z0-9-]+)`", row))
    assert set(Needs.model_fields) == set(re.findall(r"^\| `([a-z_]+)` \|", text, re.MULTILINE))

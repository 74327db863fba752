"""The catalogue's data about types, offerings and prices."""

from __future__ import annotations

import gzip
import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from eks_hardware import facts
from eks_hardware.catalogue import Catalogue, EfaInterface, Hardware, NetworkCard, UnknownInstanceTypeError, build, load
from eks_hardware.catalogue.efa import efa_layout
from eks_hardware.facts import partition
from helpers.cases import in_one_test


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load()


# --- facts of well-known types

FACTS = [
    # name, accelerator, count, GiB each, vCPUs, EFA interfaces of the layout, hardware
    ("g4dn.xlarge", "T4", 1, 16, 4, 0, Hardware.NVIDIA_GPU),
    ("g5.xlarge", "A10G", 1, 22888 / 1024, 4, 0, Hardware.NVIDIA_GPU),
    ("g5.48xlarge", "A10G", 8, 22888 / 1024, 192, 1, Hardware.NVIDIA_GPU),
    ("g6.4xlarge", "L4", 1, 22888 / 1024, 16, 0, Hardware.NVIDIA_GPU),
    ("g6e.48xlarge", "L40S", 8, 45776 / 1024, 192, 4, Hardware.NVIDIA_GPU),
    ("g7.48xlarge", "RTX PRO 4500", 8, 32, 192, 2, Hardware.NVIDIA_GPU),
    ("g7e.24xlarge", "RTX PRO Server 6000", 4, 96, 96, 2, Hardware.NVIDIA_GPU),
    ("p3dn.24xlarge", "V100", 8, 32, 96, 1, Hardware.NVIDIA_GPU),
    ("p4d.24xlarge", "A100", 8, 40, 96, 4, Hardware.NVIDIA_GPU),
    ("p4de.24xlarge", "A100", 8, 80, 96, 4, Hardware.NVIDIA_GPU),
    ("p5.4xlarge", "H100", 1, 80, 16, 1, Hardware.NVIDIA_GPU),
    ("p5.48xlarge", "H100", 8, 80, 192, 32, Hardware.NVIDIA_GPU),
    ("p5en.48xlarge", "H200", 8, 141, 192, 16, Hardware.NVIDIA_GPU),
    ("p6-b200.48xlarge", "B200", 8, 183359 / 1024, 192, 8, Hardware.NVIDIA_GPU),
    ("p6-b300.48xlarge", "B300", 8, 275040 / 1024, 192, 16, Hardware.NVIDIA_GPU),
    ("p6e-gb200.36xlarge", "GB200", 4, None, 144, 16, Hardware.NVIDIA_GPU),
    ("inf1.xlarge", "Inferentia", 1, 8, 4, 0, Hardware.INFERENTIA),
    ("inf2.48xlarge", "Inferentia2", 12, 32, 192, 0, Hardware.INFERENTIA),
    ("trn1.2xlarge", "Trainium", 1, 32, 8, 0, Hardware.TRAINIUM),
    ("trn1.32xlarge", "Trainium", 16, 32, 128, 8, Hardware.TRAINIUM),
    ("trn2.48xlarge", "Trainium2", 16, 96, 192, 16, Hardware.TRAINIUM),
    ("trn2u.48xlarge", "Trainium2", 16, 96, 192, 16, Hardware.TRAINIUM),
    ("dl1.24xlarge", "Gaudi HL-205", 8, 32, 96, 4, Hardware.OTHER),
    ("f2.48xlarge", "Virtex UltraScale+ (VU47P)", 8, 80, 192, 1, Hardware.OTHER),
]


@in_one_test(
    ("name", "accelerator", "count", "gib_each", "vcpus", "efa", "hardware"),
    FACTS,
    ids=[row[0] for row in FACTS],
)
def test_facts(
    catalogue: Catalogue,
    name: str,
    accelerator: str,
    count: int,
    gib_each: float | None,
    vcpus: int,
    efa: int,
    hardware: Hardware,
) -> None:
    item = catalogue.get(name)
    chip = item.accelerator
    assert chip is not None
    assert (chip.name, chip.count, chip.memory_gib_each) == (accelerator, count, gib_each)
    assert chip.memory_gib_total == (None if gib_each is None else gib_each * count)
    assert (item.vcpus, item.hardware, item.max_efa_interfaces) == (vcpus, hardware, efa)
    assert sum(interface.is_efa for interface in item.efa_interfaces) == efa


@in_one_test(
    ("name", "capability", "bf16", "fp8", "flash", "mig"),
    [
        ("g4dn.xlarge", 7.5, False, False, False, False),
        ("p3.2xlarge", 7.0, False, False, False, False),
        ("p4d.24xlarge", 8.0, True, False, True, True),
        ("g5.xlarge", 8.6, True, False, True, False),
        ("g6e.xlarge", 8.9, True, True, True, False),
        ("p5.48xlarge", 9.0, True, True, True, True),
        ("p6-b300.48xlarge", 10.3, True, True, True, True),
        ("g7e.2xlarge", 12.0, True, True, True, True),
        ("trn2.48xlarge", None, True, True, None, None),
    ],
)
def test_accelerator_features(
    catalogue: Catalogue,
    name: str,
    capability: float | None,
    bf16: bool,
    fp8: bool,
    flash: bool | None,
    mig: bool | None,
) -> None:
    chip = catalogue.get(name).accelerator
    assert chip is not None
    assert (chip.compute_capability, chip.bf16, chip.fp8, chip.flash_attention_2, chip.mig) == (
        capability,
        bf16,
        fp8,
        flash,
        mig,
    )


@in_one_test(
    ("name", "cores"),
    [
        ("inf1.24xlarge", 64),
        ("inf2.xlarge", 2),
        ("inf2.48xlarge", 24),
        ("trn1.32xlarge", 32),
        ("trn2.3xlarge", 8),
        ("trn2u.48xlarge", 128),
        ("p5.48xlarge", None),
    ],
)
def test_neuron_cores(catalogue: Catalogue, name: str, cores: int | None) -> None:
    chip = catalogue.get(name).accelerator
    assert chip is not None
    assert chip.neuron_cores == cores


def test_a_fraction_of_a_gpu_counts_as_one_device(catalogue: Catalogue) -> None:
    chip = catalogue.get("g6f.xlarge").accelerator
    assert chip is not None
    assert (chip.count, chip.fraction, chip.memory_gib_each) == (1, 0.125, 2861 / 1024)


def test_cpu_types(catalogue: Catalogue) -> None:
    for name, architecture, vcpus, gib in [
        ("c6i.4xlarge", "x86_64", 16, 32),
        ("m7g.xlarge", "arm64", 4, 16),
        ("r8g.metal-24xl", "arm64", 96, 768),
        ("m5zn.metal", "x86_64", 48, 192),
        ("c6in.32xlarge", "x86_64", 128, 256),
        ("t4g.medium", "arm64", 2, 4),
    ]:
        item = catalogue.get(name)
        assert (item.architecture, item.vcpus, item.memory_gib) == (architecture, vcpus, gib), name
        assert item.hardware is Hardware.CPU
        assert item.accelerator is None
        assert item.bare_metal is ("metal" in name)
        assert item.burstable is name.startswith("t")


def test_every_general_family_is_there(catalogue: Catalogue) -> None:
    expected = {
        "c5n",
        "c6gn",
        "c6in",
        "c7gn",
        "c8gb",
        "m5zn",
        "m7i-flex",
        "m8a",
        "r5b",
        "r7iz",
        "r8gd",
        "t3",
        "t3a",
        "t4g",
    }
    assert expected <= set(catalogue.families)
    assert {"u7i-12tb", "i4i", "x2gd", "z1d", "m1", "t2"} <= set(catalogue.families)


def test_a_family_that_cannot_be_a_node_has_a_reason(catalogue: Catalogue) -> None:
    assert not {"mac1", "mac2-m2pro", "t1"} & set(catalogue.families)
    assert catalogue.unsupported("mac-m4.metal") == "no EKS image runs on Mac instances"
    assert catalogue.unsupported("t1.micro") is not None
    assert catalogue.unsupported("m1.large") is catalogue.unsupported("t1x.large") is None


@cache
def moto() -> build.Ec2Data:
    return build.from_moto()


def test_every_type_is_a_node_or_has_a_reason(catalogue: Catalogue) -> None:
    assert [name for name in moto().types if name not in catalogue and not catalogue.unsupported(name)] == []


def test_only_older_families_lack_prefix_delegation(catalogue: Catalogue) -> None:
    older = {kind.family for kind in map(catalogue.get, catalogue.names) if not kind.nitro and not kind.withdrawn}
    assert {"t2", "m4", "i3", "x1"} <= older
    assert not older & {"t3", "m5", "i4i", "x2idn", "p4d", "g5", "inf1"}
    assert catalogue.get("c8g.metal-24xl").nitro


def test_usage_classes_and_placement(catalogue: Catalogue) -> None:
    blocks = {item.name for item in catalogue.select() if item.supports_capacity_block}
    assert {"p4d.24xlarge", "p5.48xlarge", "p6-b300.48xlarge", "trn1.32xlarge", "trn2u.48xlarge"} <= blocks
    assert not {"g6e.48xlarge", "inf2.48xlarge", "trn1n.32xlarge"} & blocks
    assert "cluster" in catalogue.get("p5.48xlarge").placement_strategies
    assert "cluster" not in catalogue.get("t3.medium").placement_strategies


def test_instance_store(catalogue: Catalogue) -> None:
    disks = catalogue.get("p5.48xlarge").instance_store
    assert disks is not None
    assert (disks.total_gb, disks.disk_count, disks.disk_gb, disks.nvme) == (30400, 8, 3800, True)
    assert catalogue.get("c6i.4xlarge").instance_store is None


# --- EFA

SINGLE_INTERFACE_ON_CARD_0 = {"hpc6id.32xlarge"}


def test_efa_layout_of_every_type(catalogue: Catalogue) -> None:
    # trap: terraform-aws-modules/terraform-aws-eks#2182
    items = catalogue.select(efa=True)
    assert len(items) > 250
    for item in items:
        layout = item.efa_interfaces
        limits = {card.index: card.max_interfaces for card in item.network_cards}
        places = [(interface.network_card_index, interface.device_index) for interface in layout]
        assert len(places) == len(set(places)), item.name
        primary = "efa" if item.name in SINGLE_INTERFACE_ON_CARD_0 else "interface"
        assert layout[0] == EfaInterface(0, 0, primary), item.name
        assert "efa" not in {interface.interface_type for interface in layout[1:]}, item.name
        cards = [interface.network_card_index for interface in layout if interface.is_efa]
        assert len(cards) == len(set(cards)) == item.max_efa_interfaces, item.name
        for interface in layout:
            limit = limits[interface.network_card_index]
            assert limit is None or interface.device_index < limit, item.name
            card = item.network_cards[interface.network_card_index]
            assert interface.interface_type in card.interface_types, item.name


@in_one_test(
    ("name", "length", "first", "last"),
    [
        ("p4d.24xlarge", 5, (0, 1, "efa-only"), (3, 0, "efa-only")),
        ("p5.48xlarge", 33, (0, 1, "efa-only"), (31, 0, "efa-only")),
        ("p6-b300.48xlarge", 17, (1, 0, "efa-only"), (16, 0, "efa-only")),
        ("p6e-gb200.36xlarge", 17, (1, 0, "efa-only"), (16, 0, "efa-only")),
        ("trn1.32xlarge", 9, (0, 1, "efa-only"), (7, 0, "efa-only")),
        ("hpc6id.32xlarge", 2, (1, 0, "efa-only"), (1, 0, "efa-only")),
        ("c6in.32xlarge", 3, (0, 1, "efa-only"), (1, 0, "efa-only")),
    ],
)
def test_efa_layout(
    catalogue: Catalogue, name: str, length: int, first: tuple[int, int, str], last: tuple[int, int, str]
) -> None:
    layout = catalogue.get(name).efa_interfaces
    assert len(layout) == length
    assert layout[1] == EfaInterface(*first)
    assert layout[-1] == EfaInterface(*last)


@in_one_test("name", ["g6.4xlarge", "inf2.48xlarge", "trn1.2xlarge", "c6i.4xlarge", "g5g.metal"])
def test_types_without_efa(catalogue: Catalogue, name: str) -> None:
    item = catalogue.get(name)
    assert not item.supports_efa
    assert item.efa_interfaces == ()


def test_efa_never_exceeds_the_maximum() -> None:
    # trap: terraform-aws-modules/terraform-aws-eks#3653
    cards = [NetworkCard(index, 2, ("interface", "efa", "efa-only"), None) for index in range(4)]
    assert [interface.is_efa for interface in efa_layout(cards, 2)] == [False, True, True]


# --- EKS AMI types

NVIDIA = ("AL2023_x86_64_NVIDIA", "BOTTLEROCKET_x86_64_NVIDIA", "BOTTLEROCKET_x86_64_NVIDIA_FIPS")


@in_one_test(
    ("name", "ami_types"),
    [
        ("m6i.xlarge", ("AL2023_x86_64_STANDARD", "BOTTLEROCKET_x86_64", "BOTTLEROCKET_x86_64_FIPS")),
        ("m7g.xlarge", ("AL2023_ARM_64_STANDARD", "BOTTLEROCKET_ARM_64", "BOTTLEROCKET_ARM_64_FIPS")),
        ("t3.medium", ("AL2023_x86_64_STANDARD", "BOTTLEROCKET_x86_64", "BOTTLEROCKET_x86_64_FIPS")),
        ("p5.48xlarge", NVIDIA),
        ("p6-b300.48xlarge", NVIDIA),
        ("g6f.large", NVIDIA),
        ("g7e.2xlarge", NVIDIA),
        ("g7.2xlarge", ("AL2023_x86_64_NVIDIA",)),
        (
            "g5g.xlarge",
            ("AL2023_ARM_64_NVIDIA", "BOTTLEROCKET_ARM_64_NVIDIA", "BOTTLEROCKET_ARM_64_NVIDIA_FIPS"),
        ),
        ("p6e-gb200.36xlarge", ("AL2023_ARM_64_NVIDIA",)),
        ("inf2.xlarge", ("AL2023_x86_64_NEURON", "BOTTLEROCKET_x86_64")),
        ("trn2u.48xlarge", ("AL2023_x86_64_NEURON", "BOTTLEROCKET_x86_64")),
        ("hpc7g.16xlarge", ("AL2023_ARM_64_STANDARD",)),
        ("hpc7a.96xlarge", ("AL2023_x86_64_STANDARD",)),
        ("f2.48xlarge", ("AL2023_x86_64_STANDARD",)),
        ("vt1.3xlarge", ("AL2023_x86_64_STANDARD",)),
        ("g4ad.xlarge", ()),
        ("p2.xlarge", ()),
        ("dl1.24xlarge", ()),
    ],
)
def test_ami_types(catalogue: Catalogue, name: str, ami_types: tuple[str, ...]) -> None:
    assert catalogue.get(name).ami_types == ami_types


def test_ami_types_exist_in_eks() -> None:
    spec = find_spec("botocore")
    assert spec is not None
    assert spec.origin is not None
    (model,) = (Path(spec.origin).parent / "data" / "eks").glob("*/service-2.json.gz")
    known = json.loads(gzip.decompress(model.read_bytes()))["shapes"]["AMITypes"]["enum"]
    assert {name for row in facts.ami_types()["rows"] for name in row["ami_types"]} <= set(known)


def test_the_ami_fits_the_architecture(catalogue: Catalogue) -> None:
    for item in catalogue.select():
        mark = "ARM_64" if item.architecture == "arm64" else "x86_64"
        assert all(mark in ami or ami == "CUSTOM" for ami in item.ami_types), item.name


def test_no_type_has_an_image_of_amazon_linux_2(catalogue: Catalogue) -> None:
    """EKS publishes none for its supported versions."""
    # trap: eksctl-io/eksctl#8404
    assert not [item.name for item in catalogue.select() if any(ami.startswith("AL2_") for ami in item.ami_types)]


def test_minimum_driver(catalogue: Catalogue) -> None:
    # trap: awslabs/amazon-eks-ami#2417
    g7 = catalogue.get("g7.2xlarge")
    assert g7.minimum_nvidia_driver is None
    assert any("v20260917" in note for note in g7.notes)
    assert catalogue.get("p5.48xlarge").minimum_nvidia_driver is None


# --- quotas


@in_one_test(
    ("name", "on_demand", "spot"),
    [
        ("m6i.xlarge", "L-1216C47A", "L-34B43A08"),
        ("t3.medium", "L-1216C47A", "L-34B43A08"),
        ("g5.xlarge", "L-DB2E81BA", "L-3819A6DF"),
        ("gr6.4xlarge", "L-DB2E81BA", "L-3819A6DF"),
        ("vt1.3xlarge", "L-DB2E81BA", "L-3819A6DF"),
        ("p4d.24xlarge", "L-417A185B", "L-7212CCBC"),
        ("p5en.48xlarge", "L-417A185B", "L-C4BD4855"),
        ("p6-b200.48xlarge", "L-417A185B", None),
        ("trn1.32xlarge", "L-2C3B7624", "L-6B0D517C"),
        ("inf2.xlarge", "L-1945791B", "L-B5D1601B"),
        ("f2.6xlarge", "L-74FC7D96", "L-88CF9481"),
        ("dl2q.24xlarge", "L-6E869C2A", "L-85EED4F7"),
        ("hpc7a.96xlarge", "L-F7808C92", None),
    ],
)
def test_quota_codes(catalogue: Catalogue, name: str, on_demand: str, spot: str | None) -> None:
    # trap: aws/karpenter-provider-aws#3372
    item = catalogue.get(name)
    assert (item.quota_code_on_demand, item.quota_code_spot) == (on_demand, spot)


def test_every_type_has_an_on_demand_quota(catalogue: Catalogue) -> None:
    # trap: aws/karpenter-provider-aws#3372
    assert [item.name for item in catalogue.select() if item.quota_code_on_demand is None] == []


# --- withdrawn types


def test_withdrawn_families(catalogue: Catalogue) -> None:
    gone = [item for item in catalogue.select() if item.withdrawn]
    assert {item.family for item in gone} == {
        *("dl1", "f1", "g2", "g3", "g3s", "g4ad", "i3", "p2", "p3"),
        *("u-9tb1", "u-12tb1", "u-18tb1", "u-24tb1"),
    }
    for item in gone:
        assert "last listed in " in (item.withdrawn or "")
        assert catalogue.offered_regions(item.name) == ()
    assert catalogue.get("i3.large").withdrawn is None
    assert catalogue.get("p3dn.24xlarge").withdrawn is None
    assert catalogue.get("p6e-gb200.36xlarge").withdrawn is None


# --- look-ups


@in_one_test(
    ("typo", "meant"),
    [
        ("p5.46xlarge", "p5.48xlarge"),
        ("P5.48XLARGE", "p5.48xlarge"),
        ("g6e.64xlarge", "g6e.48xlarge"),
        ("tn1.32xlarge", "trn1.32xlarge"),
        ("p6-b20.48xlarge", "p6-b200.48xlarge"),
        ("m6i.xlage", "m6i.xlarge"),
    ],
)
def test_suggestions(catalogue: Catalogue, typo: str, meant: str) -> None:
    assert catalogue.suggest(typo)[0] == meant


def test_unknown_type(catalogue: Catalogue) -> None:
    assert catalogue.find("p5.46xlarge") is None
    with pytest.raises(UnknownInstanceTypeError, match=r"did you mean p5\.48xlarge") as caught:
        catalogue.get("p5.46xlarge")
    assert "p5.48xlarge" in caught.value.suggestions
    assert isinstance(caught.value, KeyError)
    with pytest.raises(UnknownInstanceTypeError, match=r"^'zzz' is not in the hardware catalogue$"):
        catalogue.get("zzz")


def test_select(catalogue: Catalogue) -> None:
    def names(**conditions: object) -> list[str]:
        return [item.name for item in catalogue.select(**conditions)]  # type: ignore[arg-type]

    assert names(accelerator="H100") == ["p5.4xlarge", "p5.48xlarge"]
    assert names(accelerator="rtx pro server 6000") == names(family="g7e")
    assert names(accelerator="T4") == names(family="g4dn")
    assert names(family="g7e", efa=False) == ["g7e.2xlarge", "g7e.4xlarge"]
    assert names(hardware="trainium", region="eu-west-1") == []
    assert names(hardware=Hardware.TRAINIUM, efa=False) == ["trn1.2xlarge"]
    arm = (item for item in catalogue.select(hardware="nvidia-gpu") if item.architecture == "arm64")
    assert {item.family for item in arm} == {"g5g", "p6e-gb200"}
    assert names(region="xx-nowhere-1") == []
    assert len(names()) == len(catalogue)
    assert "p5.48xlarge" in catalogue


def test_offerings(catalogue: Catalogue) -> None:
    assert {partition(region) for region in catalogue.regions} == {"aws", "aws-cn", "aws-us-gov"}
    assert catalogue.zone_ids("us-west-2") == ("usw2-az1", "usw2-az2", "usw2-az3", "usw2-az4")
    assert catalogue.zone_ids("us-west-1") == ("usw1-az1", "usw1-az3")
    assert catalogue.offered("trn1.32xlarge", "us-west-2") == ("usw2-az1", "usw2-az4")
    assert catalogue.offered("trn1.32xlarge", "eu-west-1") == ()
    assert catalogue.offered_regions("trn2u.48xlarge") == ("ap-south-2",)
    assert catalogue.offered("no.such", "us-west-2") == ()
    assert catalogue.zone_ids("xx-nowhere-1") == ()
    assert catalogue.offered_regions("p6e-gb200.36xlarge") == ()


def test_regions_that_ec2s_list_lacks(catalogue: Catalogue) -> None:
    assert catalogue.offerings_known("us-west-2") == catalogue.offerings_known("xx-nowhere-1") == "zone"
    # The price list of GovCloud has the types of each region.
    assert catalogue.offerings_known("us-gov-west-1") == "region"
    assert catalogue.offered("p5.48xlarge", "us-gov-west-1") == ("usgw1-az1", "usgw1-az2", "usgw1-az3")
    assert catalogue.offered("trn2.48xlarge", "us-gov-west-1") == ()
    assert "us-gov-west-1" in catalogue.offered_regions("p5.48xlarge")
    # No source has the types of these regions: each is accepted, but no message recommends the region.
    assert catalogue.offerings_known("mx-central-1") == catalogue.offerings_known("cn-north-1") == "nothing"
    assert catalogue.offered("p5.48xlarge", "mx-central-1") == ("mxc1-az1", "mxc1-az2", "mxc1-az3")
    assert "mx-central-1" not in catalogue.offered_regions("p5.48xlarge")


def test_regions_of_the_list_are_not_added(catalogue: Catalogue) -> None:
    assert not facts.regions()["regions"].keys() & moto().zones.keys()
    sold = [row["sold"] for row in facts.regions()["regions"].values() if row["sold"]]
    names = [f"{family}.{size}" for each in sold for family, sizes in each.items() for size in sizes.split()]
    assert [name for name in names if name not in catalogue] == []


@in_one_test(
    ("name", "region", "usd", "as_of"),
    [
        ("p4d.24xlarge", "us-east-1", 21.957642, "2026-07-20"),
        ("p5.48xlarge", "us-west-2", 55.04, "2026-01-21"),
        ("inf2.8xlarge", "us-east-1", 1.96786, "2026-07-20"),
        ("c6i.4xlarge", "us-east-1", 0.68, "2026-07-20"),
        ("c6i.4xlarge", "us-west-2", 0.68, "2025-04-04"),
        ("g5.xlarge", "eu-west-1", 1.123, "2026-01-21"),
        ("trn1.32xlarge", "us-west-2", 21.5, "2026-01-21"),
    ],
)
def test_prices(catalogue: Catalogue, name: str, region: str, usd: float, as_of: str) -> None:
    price = catalogue.price(name, region)
    assert price is not None
    assert (price.usd_per_hour, price.as_of) == (usd, as_of)
    assert price.source


def test_unknown_prices(catalogue: Catalogue) -> None:
    assert catalogue.price("p6e-gb200.36xlarge", "us-east-1") is None
    assert catalogue.price("p5e.48xlarge", "us-east-1") is None
    assert catalogue.price("c6i.4xlarge", "xx-nowhere-1") is None


def test_every_fact_has_a_source(catalogue: Catalogue) -> None:
    assert {row["source"] for row in facts.families()["families"]} <= set(facts.families()["sources"])
    assert {row["source"] for row in facts.ami_types()["rows"]} <= set(facts.ami_types()["sources"])
    for row in facts.accelerators()["accelerators"].values():
        if row["source"] is None:  # no claim without one
            assert row["compute_capability"] is row["bf16"] is row["fp8"] is row["flash_attention_2"] is None
        else:
            assert row["source"] in facts.accelerators()["sources"]
    prices = facts.on_demand_prices()
    assert {source for by_source in prices["types"].values() for source in by_source} == set(prices["sources"])
    assert set(prices["types"]) <= set(catalogue.names)


def test_every_type_can_be_built(catalogue: Catalogue) -> None:
    for item in catalogue.select():
        assert item.vcpus > 0, item.name
        assert item.memory_gib > 0, item.name
        assert item.source, item.name
        assert [card.index for card in item.network_cards] == list(range(len(item.network_cards))), item.name
        if item.accelerator and item.accelerator.manufacturer == "NVIDIA" and not item.withdrawn:
            assert item.accelerator.compute_capability, item.name
            assert item.accelerator.mig is not None, item.name


@in_one_test(
    ("region", "hint"),
    [
        ("us-wset-2", "did you mean us-west-2"),
        ("us-gov-west-2", "did you mean us-gov-west-1 or us-gov-east-1"),
        ("cn-nroth-1", "did you mean cn-north-1"),
        ("moon-1", "known: af-south-1, "),
    ],
)
def test_similar_regions_are_of_the_same_partition(region: str, hint: str) -> None:
    assert load().not_listed(region).startswith(f'the catalogue does not list "{region}"; {hint}')

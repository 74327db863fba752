"""Values that are derived from a node group's instance types, and that every override takes effect."""

from __future__ import annotations

from typing import Any

from eks_hardware.catalogue import Hardware, load
from eks_hardware.models import NodeGroupSpec
from eks_hardware.resolve import (
    BlockDevice,
    CapacityTarget,
    GpuShares,
    ResolvedNodeGroup,
    ResolvedTaint,
    resolve,
    resolve_node_group,
)
from helpers.cases import in_one_test
from helpers.strategies import group, strategy

CATALOGUE = load()
GPU_TAINT = (ResolvedTaint("nvidia.com/gpu", "true", "NoSchedule"),)
NEURON_TAINT = (ResolvedTaint("aws.amazon.com/neuron", "true", "NoSchedule"),)
KEY = "arn:aws:kms:us-west-2:111122223333:key/1234abcd"
RESERVATION = {"id": "cr-0123456789abcdef0", "zone": "usw2-az1"}


def resolved_alone(
    instance_types: str | list[str] = "m6i.xlarge", *, custom_networking: bool = False, **fields: Any
) -> ResolvedNodeGroup:
    given = NodeGroupSpec.model_validate(group(instance_types, **{"workload": "training", **fields}))
    return resolve_node_group(
        given,
        cluster_name="demo",
        kubernetes_version="1.35",
        zone_ids=("usw2-az1",),
        catalogue=CATALOGUE,
        custom_networking=custom_networking,
    )


@in_one_test(
    ("name", "efa", "hardware", "ami_type", "accelerator", "taints", "interfaces", "efa_count", "store"),
    [
        ("p5.48xlarge", True, "nvidia-gpu", "AL2023_x86_64_NVIDIA", "h100", GPU_TAINT, 33, 32, "raid0"),
        ("p6-b300.48xlarge", True, "nvidia-gpu", "AL2023_x86_64_NVIDIA", "b300", GPU_TAINT, 17, 16, "raid0"),
        ("p4d.24xlarge", True, "nvidia-gpu", "AL2023_x86_64_NVIDIA", "a100", GPU_TAINT, 5, 4, "raid0"),
        ("trn1.32xlarge", True, "trainium", "AL2023_x86_64_NEURON", "trainium", NEURON_TAINT, 9, 8, "raid0"),
        ("trn2.48xlarge", True, "trainium", "AL2023_x86_64_NEURON", "trainium2", NEURON_TAINT, 17, 16, "raid0"),
        ("g5.xlarge", False, "nvidia-gpu", "AL2023_x86_64_NVIDIA", "a10g", GPU_TAINT, 0, 0, "raid0"),
        ("g4dn.xlarge", False, "nvidia-gpu", "AL2023_x86_64_NVIDIA", "t4", GPU_TAINT, 0, 0, "raid0"),
        ("g5g.xlarge", False, "nvidia-gpu", "AL2023_ARM_64_NVIDIA", "t4g", GPU_TAINT, 0, 0, "none"),
        ("inf2.xlarge", False, "inferentia", "AL2023_x86_64_NEURON", "inferentia2", NEURON_TAINT, 0, 0, "none"),
        ("m6i.xlarge", False, "cpu", "AL2023_x86_64_STANDARD", None, (), 0, 0, "none"),
        ("m7g.xlarge", False, "cpu", "AL2023_ARM_64_STANDARD", None, (), 0, 0, "none"),
        ("hpc7a.96xlarge", True, "cpu", "AL2023_x86_64_STANDARD", None, (), 3, 2, "none"),
        ("hpc6id.32xlarge", True, "cpu", "AL2023_x86_64_STANDARD", None, (), 2, 2, "raid0"),
        # Images set up NVMe disks only, which the local disks of a d2 are not.
        ("d2.xlarge", False, "cpu", "AL2023_x86_64_STANDARD", None, (), 0, 0, "none"),
        ("d3.xlarge", False, "cpu", "AL2023_x86_64_STANDARD", None, (), 0, 0, "raid0"),
    ],
)
def test_hardware(
    name: str,
    efa: bool,
    hardware: str,
    ami_type: str,
    accelerator: str | None,
    taints: tuple[ResolvedTaint, ...],
    interfaces: int,
    efa_count: int,
    store: str,
) -> None:
    # trap: awslabs/amazon-eks-ami#13
    resolved = resolved_alone(name, efa=efa)
    plugin = {"nvidia-gpu": "nvidia.com/gpu.present", "cpu": None}.get(hardware, "aws.amazon.com/neuron.present")
    labels = {"hardware-type": hardware, "workload-type": "training", "accelerator": accelerator}
    labels |= {plugin: "true"} if plugin else {}
    labels |= {"vpc.amazonaws.com/efa.present": "true"} if efa else {}
    assert {key: value for key, value in labels.items() if value} == resolved.labels
    assert (hardware, ami_type, "al2023", taints, store) == (
        resolved.hardware.value,
        resolved.ami_type,
        resolved.ami_family,
        resolved.taints,
        resolved.instance_store,
    )
    assert (interfaces, efa_count) == (len(resolved.efa_interfaces), resolved.efa_count)
    assert ("arm64" if "ARM" in ami_type else "x86_64") == resolved.architecture
    assert ("demo/gpu" if efa else None) == resolved.placement_group_name
    size, throughput = (50, 125) if hardware == "cpu" else (200, 500)
    assert (BlockDevice("/dev/xvda", size, "gp3", None, throughput, None),) == resolved.block_devices
    assert bool(taints) == resolved.tainted


@in_one_test(
    ("types", "fields", "custom_networking", "expected"),
    [
        # (interfaces of card 0 - efa-only on it - 1 with custom networking) x (addresses - 1) x 16 + 2, at most 110
        # below 30 vCPUs and 250 from there on.
        ("p5.48xlarge", {"efa": True}, False, 250),  # (2 - 1) x 49 x 16 + 2 = 786
        ("p5.48xlarge", {}, True, 250),  # (2 - 1) x 49 x 16 + 2
        ("g5.xlarge", {}, False, 110),  # 4 x 14 x 16 + 2 = 898
        ("g4dn.xlarge", {}, False, 110),  # 3 x 9 x 16 + 2 = 434
        ("t3.nano", {}, False, 34),  # 2 x 1 x 16 + 2
        ("t3.nano", {}, True, 18),  # 1 x 1 x 16 + 2
        ("c7i.4xlarge", {}, False, 110),  # 16 vCPUs
        ("c7i.8xlarge", {}, False, 250),  # 32 vCPUs
        (["m6i.xlarge", "t3.nano"], {}, False, 34),  # the lowest
        ("hpc6id.32xlarge", {"efa": True}, False, 250),  # its only interface is `efa`, with addresses
        ("m6i.xlarge", {"kubelet": {"max_pods": 17}}, True, 17),
        ("p6e-gb200.36xlarge", {}, False, None),  # its limits are unknown
    ],
)
def test_max_pods(
    types: str | list[str], fields: dict[str, Any], custom_networking: bool, expected: int | None
) -> None:
    # trap: terraform-aws-modules/terraform-aws-eks#2297
    resolved = resolved_alone(types, custom_networking=custom_networking, **fields)
    assert expected == resolved.max_pods
    assert expected == resolved.user_data.get("kubelet", {}).get("config", {}).get("maxPods")


EFA_TYPES = [kind for kind in CATALOGUE.select(efa=True) if not kind.withdrawn]


def test_efa_interfaces_of_every_type() -> None:
    assert len(EFA_TYPES) > 200
    for kind in EFA_TYPES:
        resolved = resolved_alone(kind.name, efa=True)
        interfaces = resolved.efa_interfaces
        assert kind.efa_interfaces == interfaces
        places = [(each.network_card_index, each.device_index) for each in interfaces]
        assert len(set(places)) == len(places), kind.name
        primary = interfaces[0]
        assert places[0] == (0, 0)
        assert primary.interface_type == ("efa" if kind.network_cards[0].max_interfaces == 1 else "interface")
        cards = [each.network_card_index for each in interfaces if each.is_efa]
        assert len(set(cards)) == len(cards), "at most one EFA interface a card"
        assert 1 <= resolved.efa_count <= kind.max_efa_interfaces
        for each in interfaces:
            card = kind.network_cards[each.network_card_index]
            assert each.interface_type in card.interface_types
            assert each.device_index < (card.max_interfaces or 4)
        assert (resolved.placement_group_name is not None) == ("cluster" in kind.placement_strategies)


def test_every_type_has_pods_and_a_disk() -> None:
    # trap: terraform-aws-modules/terraform-aws-eks#1845
    for name in CATALOGUE.names[::3]:
        kind = CATALOGUE.get(name)
        resolved = resolved_alone(name)
        limit = 110 if kind.vcpus < 30 else 250
        assert resolved.max_pods is None or 4 <= resolved.max_pods <= limit
        assert resolved.block_devices[0].size_gib == (50 if kind.hardware is Hardware.CPU else 200)


# --- capacity


@in_one_test(
    ("fields", "capacity_type", "market", "target", "in_template", "placement_group", "node_repair"),
    [
        ({}, "ON_DEMAND", None, None, False, "demo/gpu", True),
        ({"capacity": "spot"}, "SPOT", None, None, False, "demo/gpu", True),
        (
            {"capacity": "reserved", "reservation": RESERVATION},
            "ON_DEMAND",
            None,
            CapacityTarget("cr-0123456789abcdef0", None),
            False,
            None,
            False,
        ),
        (
            {"capacity": "capacity-block", "reservation": RESERVATION},
            "CAPACITY_BLOCK",
            "capacity-block",
            CapacityTarget("cr-0123456789abcdef0", None),
            True,
            None,
            False,
        ),
        (
            {
                "capacity": "reserved",
                "placement_group": "cluster",
                "node_repair": True,
                "reservation": {
                    "resource_group_arn": "arn:aws:resource-groups:us-west-2:111122223333:group/gpus",
                    "zone": "usw2-az1",
                },
            },
            "ON_DEMAND",
            None,
            CapacityTarget(None, "arn:aws:resource-groups:us-west-2:111122223333:group/gpus"),
            False,
            "demo/gpu",
            True,
        ),
    ],
)
def test_capacity(
    fields: dict[str, Any],
    capacity_type: str,
    market: str | None,
    target: CapacityTarget | None,
    in_template: bool,
    placement_group: str | None,
    node_repair: bool,
) -> None:
    # trap: terraform-aws-modules/terraform-aws-eks#3730
    resolved = resolved_alone("p5.48xlarge", efa=True, **fields)
    assert (capacity_type, market, target, in_template, placement_group, node_repair) == (
        resolved.capacity_type,
        resolved.market_type,
        resolved.capacity_target,
        resolved.instance_type_in_launch_template,
        resolved.placement_group_name,
        resolved.node_repair,
    )


# --- overrides: one per field of NodeGroup and of the models below it

OWN_TAINT = ResolvedTaint("team", "a", "NoExecute")
OVERRIDES: list[tuple[str, dict[str, Any], str, Any]] = [
    # field, strategy value, resolved field, resolved value
    ("workload", {"workload": "inference"}, "workload", "inference"),
    ("scaling.min", {"scaling": {"min": 2, "max": 4}}, "min_size", 2),
    ("scaling.desired", {"scaling": {"desired": 3, "max": 4}}, "desired_size", 3),
    ("scaling.max", {"scaling": {"max": 9}}, "max_size", 9),
    ("scaling.autoscaled", {"scaling": {"max": 4, "autoscaled": True}}, "autoscaled", True),
    ("capacity", {"capacity": "spot"}, "capacity", "spot"),
    ("placement_group", {"placement_group": "cluster"}, "placement_group_name", "demo/gpu"),
    ("placement_group", {"efa": True, "placement_group": "none"}, "placement_group_name", None),
    ("ami.family", {"ami": {"family": "bottlerocket"}}, "ami_type", "BOTTLEROCKET_x86_64_NVIDIA"),
    ("ami.type", {"ami": {"type": "BOTTLEROCKET_x86_64_NVIDIA"}}, "ami_family", "bottlerocket"),
    ("ami.type", {"ami": {"type": "AL2023_x86_64_NVIDIA", "family": "bottlerocket"}}, "ami_family", "al2023"),
    ("ami.release_version", {"ami": {"release_version": "1.35.0-20261101"}}, "release_version", "1.35.0-20261101"),
    ("ami.image_id", {"ami": {"image_id": "ami-01234567"}}, "image_id", "ami-01234567"),
    ("ami.image_id", {"ami": {"image_id": "ami-01234567"}}, "ami_type", "CUSTOM"),
    (
        "ami.image_id",
        {"ami": {"image_id": "ami-01234567", "family": "bottlerocket"}},
        "ami_family",
        "bottlerocket",
    ),
    (
        "disk",
        {"disk": {"size_gib": 99, "type": "gp3", "iops": 8000, "throughput_mibps": 1000, "kms_key_arn": KEY}},
        "block_devices",
        (BlockDevice("/dev/xvda", 99, "gp3", 8000, 1000, KEY),),
    ),
    (
        "disk.type",
        {"disk": {"type": "io2", "iops": 5000}},
        "block_devices",
        (BlockDevice("/dev/xvda", 200, "io2", 5000, None, None),),
    ),
    (
        "disk",
        {"disk": {"size_gib": 99, "kms_key_arn": KEY}, "ami": {"family": "bottlerocket"}},
        "block_devices",
        (BlockDevice("/dev/xvda", 4, "gp3", None, None, KEY), BlockDevice("/dev/xvdb", 99, "gp3", None, 500, KEY)),
    ),
    ("instance_store", {"instance_store": "mount"}, "instance_store", "mount"),
    ("instance_store", {"instance_store": "none"}, "instance_store", "none"),
    ("accelerator_taint", {"accelerator_taint": False}, "taints", ()),
    (
        "taints",
        {"taints": [{"key": "team", "value": "a", "effect": "NoExecute"}]},
        "taints",
        (*GPU_TAINT, OWN_TAINT),
    ),
    (
        "taints",
        {"taints": [{"key": "nvidia.com/gpu", "effect": "PREFER_NO_SCHEDULE"}]},
        "taints",
        (ResolvedTaint("nvidia.com/gpu", "", "PreferNoSchedule"),),
    ),
    ("kubelet.max_pods", {"kubelet": {"max_pods": 30}}, "max_pods", 30),
    ("update.max_unavailable", {"update": {"max_unavailable": 3}}, "max_unavailable", 3),
    ("update.max_unavailable", {}, "max_unavailable", 1),
    ("update.max_unavailable_percentage", {"update": {"max_unavailable_percentage": 33}}, "max_unavailable", None),
    (
        "update.max_unavailable_percentage",
        {"update": {"max_unavailable_percentage": 33}},
        "max_unavailable_percentage",
        33,
    ),
    ("node_repair", {"node_repair": False}, "node_repair", False),
    ("pods_use_imds", {"pods_use_imds": True}, "metadata_hop_limit", 2),
    ("pods_use_imds", {}, "metadata_hop_limit", 1),
    ("detailed_monitoring", {"detailed_monitoring": True}, "detailed_monitoring", True),
    ("gpu_sharing", {"gpu_sharing": {"mig_profile": "1g.5gb"}}, "gpu_shares",
     GpuShares("all-1g.5gb", "nvidia.com/mig-1g.5gb", 7, "1g.5gb")),
    ("tags", {"tags": {"team": "a"}}, "tags", {"team": "a"}),
    ("user_data", {"user_data": {"kubelet": {"config": {"maxPods": 5}}}, "instance_store": "none"}, "user_data",
     {"kubelet": {"config": {"maxPods": 5}}}),
]  # fmt: skip


@in_one_test(
    ("field", "given", "resolved_field", "expected"), OVERRIDES, ids=[f"{o[0]}-{i}" for i, o in enumerate(OVERRIDES)]
)
def test_override(field: str, given: dict[str, Any], resolved_field: str, expected: object) -> None:
    assert field
    assert expected == getattr(resolved_alone("p4d.24xlarge", **given), resolved_field)


@in_one_test(("key", "value"), [("team", "a"), ("hardware-type", "special"), ("workload-type", "")])
def test_own_labels_win(key: str, value: str) -> None:
    resolved = resolved_alone("p4d.24xlarge", labels={key: value})
    assert {**resolved_alone("p4d.24xlarge").labels, key: value} == resolved.labels


def test_every_field_is_overridden_by_some_test() -> None:
    # The rest: test_hardware (efa), test_capacity (reservation), test_zones (zones), test_own_labels_win,
    # test_user_data (kubelet), and test_gpu_sharing; needs are only checked (test_rules_needs).
    elsewhere = {
        "name", "instance_types", "scaling", "efa", "reservation", "zones", "labels", "kubelet", "gpu_sharing", "needs",
    }  # fmt: skip
    assert set(NodeGroupSpec.model_fields) - elsewhere <= {field.partition(".")[0] for field, *_ in OVERRIDES}


def test_names_hold_the_cluster_and_the_group() -> None:
    assert resolved_alone().launch_template_name == "demo/gpu"
    assert resolved_alone(efa=False).placement_group_name is None


def test_efa_security_group_only_with_efa() -> None:
    without, with_efa = resolve(strategy()), resolve(strategy(group("p5.48xlarge", efa=True)))
    assert without.efa_security_group_name is None
    assert with_efa.efa_security_group_name == "demo-efa"


@in_one_test(
    ("name", "fields", "expected"),
    [
        ("vt1.24xlarge", {}, None),  # EFA, but no cluster placement group
        ("vt1.24xlarge", {"placement_group": "cluster"}, "demo/gpu"),  # PLACEMENT_GROUP_UNSUPPORTED refuses it
        ("p5.48xlarge", {}, "demo/gpu"),
    ],
)
def test_placement_group_where_the_type_can_join_one(name: str, fields: dict[str, Any], expected: str | None) -> None:
    assert expected == resolved_alone(name, efa=True, **fields).placement_group_name

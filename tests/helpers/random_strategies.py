"""Random strategies for property tests: plausible ones, and invalid ones.

The layers build on each other:

* :func:`coherent`: hardware of the catalogue in the regions that have it, with compatible features; most pass.
* :func:`seasoned`: adds the mistake or the fix of a code (`eks-hardware rules CODE`), so every rule fires.
* :func:`valued`: values inside user data, add-ons and charts, and systems of any size; right and wrong ones.
* :func:`stretched`: sets any field of the models to any value that its schema accepts; some pass.
* :func:`mistaken`: wrong names, wrong types, lost and duplicate values; hardly any pass.

:func:`random_text` writes such documents as YAML, in block or flow style, sometimes with a typing mistake.

Tests that use them are the same in every run. ``EKS_HARDWARE_PROPERTY_SEED=random``, or a number, creates other
examples; ``EKS_HARDWARE_PROPERTY_COUNT`` sets their number.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import string
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from eks_hardware import facts
from eks_hardware.catalogue import Hardware, InstanceType, load
from eks_hardware.loader.yaml_document import parse
from eks_hardware.models import Strategy
from eks_hardware.resolve import known_to_karpenter, mig_profiles
from eks_hardware.rules.explanations import explanations, is_whole
from helpers import random_values

Document = dict[str, Any]
Schema = Mapping[str, Any]

CATALOGUE = load()
REGIONS = CATALOGUE.regions
USUAL_REGIONS = ("us-west-2", "us-east-1", "us-east-2")
ARN = "arn:aws:iam::111122223333"
KMS_ID = "1234abcd-12ab-44cd-96ef-1234567890ab"


def for_each(values: st.SearchStrategy[Any], check: Callable[[Any], None], *, count: int) -> None:
    """Call ``check`` with random values; the environment can set the seed.

    It runs ten at a time. After ten, Hypothesis creates most examples by copying parts of one to places where they do
    not fit. In documents of this size, the examples would then differ only in the first choice.
    """
    given_seed = os.environ.get("EKS_HARDWARE_PROPERTY_SEED", "0")
    number = secrets.randbits(32) if given_seed == "random" else int(given_seed)
    print(f"EKS_HARDWARE_PROPERTY_SEED={number}")  # shown with a failure
    examples = settings(
        max_examples=_AT_A_TIME,
        database=None,
        deadline=None,
        suppress_health_check=list[Any](HealthCheck),
    )
    for batch in range(math.ceil(count / _AT_A_TIME)):
        seed(f"{number}/{batch}")(examples(given(values)(check)))()


_AT_A_TIME = 10


def property_count(default: int) -> int:
    """Return the number of examples for a test."""
    return int(os.environ.get("EKS_HARDWARE_PROPERTY_COUNT", str(default)))


def rarely(draw: st.DrawFn, odds: int = 4) -> bool:
    """Return True once in a number of times; examples shrink to False."""
    return draw(st.integers(0, odds - 1)) == odds - 1


def some(draw: st.DrawFn, values: Sequence[Any], most: int = 3, least: int = 0) -> list[Any]:
    """Return a few of the values, each at most once."""
    if not values:
        return []
    return draw(st.lists(st.sampled_from(values), min_size=least, max_size=min(most, len(values)), unique_by=repr))


# --- hardware


def behaviour(kind: InstanceType) -> tuple[Any, ...]:
    """Return the properties that make a type resolve differently from others."""
    gpu = kind.accelerator
    return (
        kind.hardware,
        kind.architecture,
        kind.max_efa_interfaces,
        kind.ami_types,
        kind.usage_classes,
        kind.placement_strategies,
        kind.instance_store and kind.instance_store.nvme,
        bool(gpu and gpu.fraction),
        gpu.label_name if gpu else "",
        kind.network_cards[0].max_interfaces,
    )


@cache
def offered(region: str) -> Mapping[Hardware, tuple[InstanceType, ...]]:
    """Return the types of a region that an EKS image supports, one for each behavior."""
    found: dict[tuple[Any, ...], InstanceType] = {}
    for kind in map(CATALOGUE.get, CATALOGUE.names):
        if kind.ami_types and not kind.withdrawn and CATALOGUE.offered(kind.name, region):
            found.setdefault(behaviour(kind), kind)
    return {each: tuple(kind for kind in found.values() if kind.hardware is each) for each in Hardware}


@st.composite
def hardware(draw: st.DrawFn, region: str) -> InstanceType:
    """Return a type that the region offers."""
    by_hardware = {each: kinds for each, kinds in offered(region).items() if kinds}
    return draw(st.sampled_from(by_hardware[draw(st.sampled_from(sorted(by_hardware)))]))


def siblings(kind: InstanceType, region: str, *, efa: bool) -> list[str]:
    """Return types that can be in a group with this one."""
    return [
        other.name
        for other in CATALOGUE.select(family=kind.family, region=region)
        if other.name != kind.name
        and not other.withdrawn
        and (not efa or other.efa_interfaces == kind.efa_interfaces)
        and other.ami_types == kind.ami_types
    ]


# --- nodes

LABELS = st.dictionaries(
    st.sampled_from(["team", "example.com/team", "A_b.c-1", "x" * 63, "tenant"]),
    st.sampled_from(["", "a", "true", "1", "v" * 63]),
    max_size=2,
)
TAINTS = st.lists(
    st.fixed_dictionaries(
        {"key": st.sampled_from(["dedicated", "example.com/team", "t" * 63])},
        optional={
            "value": st.sampled_from(["", "a", "true"]),
            "effect": st.sampled_from(["NoSchedule", "NO_EXECUTE", "PreferNoSchedule", "PREFER_NO_SCHEDULE"]),
        },
    ),
    max_size=2,
    unique_by=lambda taint: taint["key"],
)
TAGS = st.dictionaries(
    st.sampled_from(["team", "Kostenstelle", "部門", "a b:c/d=e+f@g", "k" * 128]),
    st.sampled_from(["", "a", "4711", "v" * 256]),
    max_size=3,
)
DISKS = st.sampled_from(
    [
        {"size_gib": 200},
        {"size_gib": 16384, "iops": 16000, "throughput_mibps": 1000},
        {"type": "io2", "iops": 5000, "size_gib": 500},
    ]
)
KUBELETS = st.fixed_dictionaries(
    {},
    optional={
        "max_pods": st.sampled_from([4, 20, 110]),
        "cpu_manager_policy": st.sampled_from(["none", "static"]),
        "topology_manager_policy": st.sampled_from(["none", "best-effort", "single-numa-node"]),
        "image_gc_high_threshold_percent": st.integers(81, 100),
        "system_reserved": st.sampled_from([{"memory": "1Gi"}, {"cpu": "100m", "ephemeral-storage": "1G"}]),
        "kube_reserved": st.sampled_from([{"cpu": "200m", "pid": "1000"}]),
    },
)
USER_DATA = {
    "al2023": ({"kubelet": {"config": {"podPidsLimit": 4096}}}, {"containerd": {"config": "a = 1\nb = 2\n"}}),
    "bottlerocket": ({"motd": 'a "quoted"\nline'}, {"kernel": {"sysctl": {"vm.max_map_count": "262144"}}}),
}


def is_bottlerocket(kind: InstanceType) -> bool:
    """Return whether Bottlerocket has an image for a type."""
    return any(each.startswith("BOTTLEROCKET") for each in kind.ami_types)


@st.composite
def node_settings(draw: st.DrawFn, kind: InstanceType, family: str) -> Document:
    """Return settings that groups and pools share, except hardware and zones."""
    fields: dict[str, st.SearchStrategy[Any]] = {
        "workload": st.sampled_from(["general", "training", "inference", "development"]),
        "labels": LABELS,
        "taints": TAINTS,
        "tags": TAGS,
        "disk": DISKS,
        "kubelet": KUBELETS,
        "instance_store": st.sampled_from(
            ["raid0", "none"] if family == "bottlerocket" else ["raid0", "mount", "none"]
        ),
        "pods_use_imds": st.booleans(),
        "detailed_monitoring": st.booleans(),
        "accelerator_taint": st.booleans(),
        "user_data": st.sampled_from(USER_DATA[family]),
    }
    settings: Document = {name: draw(fields[name]) for name in some(draw, sorted(fields))}
    if kind.hardware is Hardware.NVIDIA_GPU and rarely(draw):
        profiles = [each for each in mig_profiles(kind) or () if each.endswith("gb")]
        if bool(profiles) and draw(st.booleans()):
            settings["gpu_sharing"] = {"mig_profile": draw(st.sampled_from(profiles))}
        else:
            slicing = {"replicas": draw(st.sampled_from([2, 4, 48])), "rename": draw(st.booleans())}
            settings["gpu_sharing"] = {"time_slicing": slicing}
    return settings


@st.composite
def random_group(draw: st.DrawFn, region: str, name: str) -> Document:
    """Return a plausible node group."""
    kind = draw(hardware(region))
    efa = kind.supports_efa and draw(st.booleans())
    types = [kind.name]
    capacity = draw(st.sampled_from([each for each in kind.usage_classes if each != "on-demand"] or ["on-demand"]))
    capacity = draw(st.sampled_from(["on-demand", "on-demand", "reserved", capacity]))
    family = "bottlerocket" if is_bottlerocket(kind) and rarely(draw) else "al2023"
    fields: Document = {"name": name, "scaling": draw(scalings(capacity)), **draw(node_settings(kind, family))}
    if capacity != "capacity-block":
        types += some(draw, siblings(kind, region, efa=efa) or [kind.name], 2)
    fields["instance_types"] = list(dict.fromkeys(types))
    if efa:
        fields["efa"] = True
    if capacity != "on-demand":
        fields["capacity"] = capacity
    zones = sorted(set.intersection(*(set(CATALOGUE.offered(each, region)) for each in types)))
    if capacity in ("reserved", "capacity-block"):
        by = {"id": f"cr-{draw(st.integers(0, 15)):017x}"}
        if capacity == "reserved" and rarely(draw):
            by = {"resource_group_arn": f"arn:aws:resource-groups:{region}:111122223333:group/pool"}
        fields["reservation"] = {**by, "zone": draw(st.sampled_from(zones or ["usw2-az1"]))}
    elif zones and rarely(draw):
        fields["zones"] = some(draw, zones, 1 if efa else 3, 1)
    if rarely(draw, 6):
        fields["placement_group"] = draw(st.sampled_from(["auto", "cluster", "none"]))
    if family == "bottlerocket":
        fields["ami"] = {"family": family}
    elif "CUSTOM" in kind.ami_types or rarely(draw, 8):
        fields["ami"] = {"image_id": "ami-0123456789abcdef0"}
    elif rarely(draw, 8):
        fields["ami"] = {"type": draw(st.sampled_from(kind.ami_types))}
        fields.pop("user_data", None)
        fields.pop("instance_store", None)
    if rarely(draw, 6):
        update: tuple[Document, ...] = (
            {"max_unavailable": 2},
            {"max_unavailable_percentage": 33},
            {"strategy": "minimal"},
        )
        fields["update"] = draw(st.sampled_from(update))
    if rarely(draw, 6):
        fields["node_repair"] = draw(st.booleans())
    return fields


@st.composite
def scalings(draw: st.DrawFn, capacity: str) -> Document:
    """Return the scaling of a group."""
    most = draw(st.sampled_from([1, 2, 4, 8, 32]))
    least = 0 if capacity == "capacity-block" else draw(st.sampled_from([0, 0, 0, 1]))
    scaling: Document = {"max": most}
    if least or draw(st.booleans()):
        scaling["min"] = least
    if rarely(draw):
        scaling["desired"] = draw(st.integers(least, most))
    if rarely(draw, 8):
        scaling["autoscaled"] = True
    return scaling


RESOURCES = {
    Hardware.NVIDIA_GPU: "nvidia.com/gpu",
    Hardware.TRAINIUM: "aws.amazon.com/neuron",
    Hardware.INFERENTIA: "aws.amazon.com/neuron",
}
DURATIONS = st.sampled_from(["1h30m", "90s", "720h", "0s"])
BUDGETS = st.fixed_dictionaries(
    {"nodes": st.sampled_from(["0", "10%", "100%", "3"])},
    optional={"reasons": st.sampled_from([["Empty"], ["Drifted", "Underutilized"]])},
)
DISRUPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "consolidation": st.just("when-empty"),
        "consolidate_after": DURATIONS,
        "expire_after": st.one_of(st.just("never"), DURATIONS),
        "termination_grace_period": DURATIONS,
        "budgets": st.lists(
            st.one_of(
                BUDGETS,
                BUDGETS.map(lambda budget: {**budget, "schedule": "0 8 * * mon-fri", "duration": "8h"}),
            ),
            max_size=2,
        ),
    },
)


@st.composite
def random_pool(draw: st.DrawFn, region: str, name: str) -> Document:
    """Return a plausible node pool."""
    kind = draw(hardware(region).filter(known_to_karpenter))
    efa = kind.supports_efa and draw(st.booleans())
    family = "bottlerocket" if is_bottlerocket(kind) and rarely(draw) else "al2023"
    fields: Document = {"name": name, **draw(node_settings(kind, family))}
    way = draw(st.sampled_from(["instance_types", "instance_families", "accelerator"]))
    if way == "instance_families" and not efa:
        fields["instance_families"] = [kind.family]
    elif way == "accelerator" and kind.accelerator and not efa:
        fields["accelerator"] = kind.accelerator.label_name
    else:
        more = some(draw, siblings(kind, region, efa=efa) or [kind.name], 2)
        fields["instance_types"] = list(dict.fromkeys([kind.name, *more]))
    if "instance_types" not in fields and rarely(draw):
        fields["instance_sizes"] = [kind.size]
    if efa:
        fields["efa"] = True
    ways = ["on-demand", "spot", *(["capacity-block"] if kind.supports_capacity_block else []), "reserved"]
    capacity = some(draw, [each for each in ways if each == "reserved" or each in kind.usage_classes], 3)
    fields["capacity"] = capacity or ["on-demand" if "on-demand" in kind.usage_classes else kind.usage_classes[0]]
    zones = CATALOGUE.offered(kind.name, region)
    if {"reserved", "capacity-block"} & set(fields["capacity"]):
        by_id = {"id": f"cr-{draw(st.integers(16, 31)):017x}", "zone": draw(st.sampled_from(zones))}
        by_tags = {"tags": {"team": "research"}, "owner_account_id": "444455556666"}
        fields["reservations"] = [by_id] if efa or draw(st.booleans()) else [by_tags]
    elif rarely(draw):
        fields["zones"] = some(draw, zones, 1 if efa else 3, 1)
    fields["limits"] = {RESOURCES.get(kind.hardware, "cpu"): draw(st.sampled_from([512, 4096, "1000"]))}
    if rarely(draw):
        fields["limits"] |= draw(st.sampled_from([{"cpu": 8192}, {"memory": "64Ti"}, {"nodes": 10}]))
    if family == "bottlerocket":
        fields["ami"] = {"family": family}
    elif "CUSTOM" in kind.ami_types or rarely(draw, 8):
        fields["ami"] = {"image_id": "ami-0123456789abcdef0"}
    if rarely(draw):
        fields["weight"] = draw(st.sampled_from([1, 50, 100]))
    if rarely(draw):
        fields["disruption"] = draw(DISRUPTIONS)
    # Most pools are then for their own pods.
    fields["labels"] = {**fields.get("labels", {}), "pool": name}
    return fields


# --- surroundings of the nodes


@st.composite
def random_network(draw: st.DrawFn, region: str) -> Document:
    """Return a VPC, new or existing."""
    zones = CATALOGUE.zone_ids(region)
    if rarely(draw, 5):
        given = {zone: f"subnet-{index:017x}" for index, zone in enumerate(zones)}
        existing: Document = {"vpc_id": "vpc-0123456789abcdef0", "private_subnets": given}
        if rarely(draw):
            existing["pod_subnets"] = {zone: f"subnet-{index + 16:017x}" for index, zone in enumerate(zones)}
        if rarely(draw):
            allowed = [zone for zone in zones if zone not in ("use1-az3", "cac1-az3", "usw1-az2")]
            existing["control_plane_subnets"] = {zone: f"subnet-{n + 32:017x}" for n, zone in enumerate(allowed)}
        if rarely(draw):
            existing["tag_subnets"] = True
        return {"existing": existing}
    fields: dict[str, st.SearchStrategy[Any]] = {
        "cidr": st.sampled_from(["10.0.0.0/16", "192.168.0.0/17", "172.31.0.0/18", "10.1.0.0/20"]),
        "pod_cidr": st.sampled_from(["100.64.0.0/16", "100.96.0.0/17", "100.127.248.0/21"]),
        "zones": st.one_of(st.just(list(zones)), st.integers(2, min(3, len(zones) - (region == "ca-central-1")))),
        "nat_gateways": st.sampled_from(["none", "single", "one-per-zone"]),
        "interface_endpoints": st.just(["ec2", "ecr.api", "ecr.dkr", "eks", "eks-auth", "sts", "ssm", "logs"]),
        "gateway_endpoints": st.sampled_from([[], ["dynamodb"], ["s3", "dynamodb"]]),
        "flow_logs": st.sampled_from([{}, {"traffic": "ALL", "retention_days": 1}]),
    }
    network = {name: draw(fields[name]) for name in some(draw, sorted(fields))}
    if "nat_gateways" not in network and rarely(draw):
        network["private"] = True
    return network


@st.composite
def clusters(draw: st.DrawFn, region: str) -> Document:
    """Return a control plane."""
    ours = [name for name, fact in facts.addons().items() if not fact["before_nodes"]]
    versions = [each for each in facts.eks()["versions"]["supported"] if each > "1.32"]
    key = f"arn:aws:kms:{region}:111122223333:key/{KMS_ID}"
    entry = {"name": "viewers", "principal_arn": f"{ARN}:role/Viewer", "policies": [{"policy": "AmazonEKSViewPolicy"}]}
    fields: dict[str, st.SearchStrategy[Any]] = {
        "kubernetes_version": st.sampled_from(versions),
        "endpoint": st.sampled_from([{}, {"public_cidrs": ["93.184.216.0/24"]}]),
        "access_entries": st.just([entry]),
        "logging": st.sampled_from(
            [{"types": []}, {"types": ["audit"], "retention_days": 1}, {"keep_on_destroy": True}]
        ),
        "secrets_encryption": st.sampled_from([{"enabled": False}, {"kms_key_arn": key}]),
        "service_cidr": st.sampled_from(["172.20.0.0/16", "10.100.0.0/16", "192.168.128.0/24"]),
        "upgrade_policy": st.sampled_from(["standard", "extended"]),
        "zonal_shift": st.booleans(),
        "control_plane_tier": st.sampled_from(["standard", "tier-xl"]),
        "deletion_protection": st.booleans(),
        "addons": st.dictionaries(st.sampled_from(ours), st.sampled_from([{}, {"enabled": False}]), max_size=3),
    }
    cluster = {name: draw(fields[name]) for name in some(draw, sorted(fields), 4)}
    return {**cluster, **draw(st.sampled_from([{"creator_is_admin": True}, {"admins": [f"{ARN}:role/a/b"]}]))}


CHARTS = {
    "karpenter": {"values": {"logLevel": "debug"}},
    "kueue": {"values": {"controllerManager": {"replicas": 2}}},
    "nvidia-device-plugin": {"repository": "oci://111122223333.dkr.ecr.us-west-2.amazonaws.com/charts"},
    "kube-prometheus-stack": {"values": {"alertmanager": {"enabled": False}}},
}
TEAMS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["research", "serving", "a", "t" * 63])},
        optional={
            "quota": st.dictionaries(
                st.sampled_from(["cpu", "memory", "pods", "nvidia.com/gpu", "nvidia.com/mig-1g.5gb"]),
                st.sampled_from([0, 8, "64"]),
                max_size=2,
            ),
            "container_defaults": st.sampled_from([{"requests": {"cpu": "1"}}, {"limits": {"memory": "1Gi"}}]),
        },
    ),
    max_size=3,
    unique_by=lambda team: str(team["name"]),
)


@st.composite
def platforms(draw: st.DrawFn) -> Document:
    """Return the software on the cluster."""
    switches = ("dcgm_exporter", "neuron_monitor", "prometheus", "kueue", "load_balancer_controller", "gpu_operator")
    kubernetes: Document = dict.fromkeys(some(draw, switches), True)
    if draw(st.booleans()):
        kubernetes["delivery"] = "manifests"
    elif rarely(draw):
        kubernetes["stack"] = "separate"
    if rarely(draw):
        kubernetes["teams"] = draw(TEAMS)
    if rarely(draw):
        kubernetes["charts"] = {name: CHARTS[name] for name in some(draw, sorted(CHARTS), 2)}
    return kubernetes


@st.composite
def storages(draw: st.DrawFn, region: str) -> Document:
    """Return shared storage."""
    key = f"arn:aws:kms:{region}:111122223333:key/{KMS_ID}"
    lustre: tuple[Document, ...] = (
        {},
        {"size_gib": 2400, "deployment": "scratch-2"},
        {"size_gib": 4800, "throughput_mibps_per_tib": 1000, "kms_key_arn": key},
    )
    fields: dict[str, st.SearchStrategy[Any]] = {
        "fsx_lustre": st.sampled_from(lustre),
        "efs": st.sampled_from([{}, {"throughput": "bursting"}, {"kms_key_arn": key}]),
        "s3_buckets": st.sampled_from(
            [[{"name": "acme-data"}], [{"name": "a.b-c"}, {"name": "x1y", "read_only": False}]]
        ),
    }
    return {name: draw(fields[name]) for name in some(draw, sorted(fields))}


BACKENDS: tuple[Document, ...] = (
    {"type": "local"},
    {"type": "local", "path": "/srv/a b/'c'.tfstate"},
    {"type": "s3", "bucket": "acme-state"},
    {
        "type": "s3",
        "bucket": "acme-state",
        "key": "a/b c.tfstate",
        "region": "eu-west-1",
        "kms_key_arn": f"arn:aws:kms:eu-west-1:111122223333:key/{KMS_ID}",
        "role_arn": f"{ARN}:role/state",
        "profile": "state",
        "lock": False,
    },
    {"type": "remote", "organization": "acme"},
    {"type": "remote", "organization": "A & B", "workspace": "w_1", "hostname": "tfe.acme.example"},
)
PROVIDERS: tuple[Document, ...] = (
    {"profile": "a b", "account_id": "111122223333"},
    {"assume_role": {"role_arn": f"{ARN}:role/deploy", "session_name": "eks"}},
    {"permissions_boundary_arn": f"{ARN}:policy/b", "iam_path": "/a/b/"},
    {"version": ">= 6.30.0, < 7.0.0"},
)
NAMES = ("demo", "A", "0_-", "C" * 100, "sg-0123456789abcdef0", "x-kubernetes", "eks_1-")


@st.composite
def coherent(draw: st.DrawFn) -> Document:
    """Return a strategy whose parts are compatible, as far as possible without the rules."""
    region = draw(st.sampled_from([*USUAL_REGIONS * 8, *REGIONS]))
    cpu = [kind.name for kind in offered(region)[Hardware.CPU] if kind.network_cards[0].max_interfaces]
    usual = [each for each in ("m7i.large", "m6i.large", "m5.large") if CATALOGUE.offered(each, region)]
    system = {"name": "system", "instance_types": [(usual or cpu)[0]], "scaling": {"min": 2, "max": 4}}
    document: Document = {
        "version": 1,
        "name": draw(st.sampled_from(NAMES)),
        "region": region,
        "cluster": draw(clusters(region)),
        "node_groups": [
            *([system] if draw(st.integers(0, 19)) < 19 else []),
            *(draw(random_group(region, f"g{index}")) for index in range(draw(st.integers(0, 3)))),
        ],
    }
    if draw(st.booleans()):
        karpenter: Document = {
            "node_pools": [draw(random_pool(region, f"p{n}")) for n in range(draw(st.integers(0, 3)))]
        }
        if rarely(draw):
            karpenter |= draw(
                st.sampled_from([{"namespace": "karpenter"}, {"interruption_queue": False}, {"replicas": 1}])
            )
        document["karpenter"] = karpenter
    sections = {
        "network": random_network(region),
        "kubernetes": platforms(),
        "storage": storages(region),
        "backend": st.sampled_from(BACKENDS),
        "aws": st.sampled_from(PROVIDERS),
        "tags": TAGS,
    }
    document |= {name: draw(sections[name]) for name in some(draw, sorted(sections), 6)}
    return document


# --- examples of explanations


@cache
def fragments() -> tuple[Document, ...]:
    """Return every strategy part in an explanation."""
    texts = [text for each in explanations().values() for text in (each.breaks, each.fixed) if not is_whole(text)]
    roots = [parse(text, "fragment").root for text in texts]
    return tuple(root.plain() for root in roots if root is not None)


def laid_over(base: Document, over: Document) -> Document:
    """Return ``over`` merged into ``base``, like overlays."""
    document: Document = _laid_over(base, over)
    return document


def _laid_over(base: Any, over: Any) -> Any:
    if isinstance(base, dict) and isinstance(over, dict):
        merged = {key: _laid_over(base.get(key), value) for key, value in over.items() if value is not None}
        return {**{key: value for key, value in base.items() if key not in over}, **merged}
    if _named(base) and _named(over):
        names = [item["name"] for item in over]
        by_name = {item["name"]: item for item in base}
        rest = [item for item in base if item["name"] not in names]
        return [*rest, *(_laid_over(by_name.get(item["name"]), item) for item in over)]
    return over


def _named(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) and "name" in each for each in value)


@st.composite
def seasoned(draw: st.DrawFn, document: Document) -> Document:
    """Return the document with a part from an explanation."""
    merged: Document = laid_over(document, draw(st.sampled_from(fragments())))
    return merged


# --- values inside user data, add-ons and charts


def amounts_of(*resources: str) -> st.SearchStrategy[dict[str, str]]:
    """Return amounts of some of the resources, in any unit."""
    return st.dictionaries(st.sampled_from(resources), random_values.AMOUNTS)


@st.composite
def valued(draw: st.DrawFn, document: Document) -> Document:
    """Return the document with random user data, configurations, amounts or system nodes."""
    wrong = draw(st.sampled_from([0, 0, 1, 4]))
    way = draw(st.sampled_from(["user data", "addons", "charts", "system", "amounts"]))
    if way == "addons":
        return laid_over(document, {"cluster": {"addons": draw(random_values.addons(wrong))}})
    if way == "charts":
        switches = {"prometheus": True, "kueue": True, "load_balancer_controller": True}
        values = draw(st.one_of(random_values.CHART_VALUES, random_values.chart_settings(wrong)))
        return laid_over(document, {"kubernetes": {**switches, "charts": values}})
    if way == "amounts" and draw(st.booleans()):
        of_containers = {"requests": draw(amounts_of("cpu", "memory")), "limits": draw(amounts_of("cpu", "memory"))}
        team = {"name": "team", "quota": draw(amounts_of("cpu", "memory")), "container_defaults": of_containers}
        return laid_over(document, {"kubernetes": {"teams": [team]}})
    groups = [each for each in document.get("node_groups", ()) if isinstance(each, dict) and "name" in each]
    if not groups:
        return document
    changed = dict(draw(st.sampled_from(groups)))
    if way == "system":
        changed = {**groups[0], **draw(random_values.SYSTEMS)}
    elif way == "amounts":
        reserved = amounts_of("cpu", "memory", "ephemeral-storage")
        changed["kubelet"] = {"system_reserved": draw(reserved), "kube_reserved": draw(reserved)}
    else:
        ami = changed.get("ami")
        family = ami.get("family", "al2023") if isinstance(ami, dict) else "al2023"
        changed["user_data"] = draw(random_values.user_data(family, wrong))
    others = [changed if each.get("name") == changed["name"] else each for each in groups]
    return {**document, "node_groups": others}


# --- any value that a schema accepts

SCHEMA: Schema = Strategy.model_json_schema()

NASTY = (
    "",
    " ",
    "a\nb",
    "${aws_vpc.main.id}",
    "%{ if true }",
    "$${x}",
    "{{ .Values.x }}",
    "'",
    '"; rm -rf / #',
    "\\",
    "EOF",
    "../../etc/passwd",
    "Zürich 東京 😀",
    "\u202e\u200b",
    "\u0000",
    "x" * 5000,
    "true",
    "1e3",
    "null",
    "-",
    "=",
)
PLAIN_TEXT = st.one_of(st.sampled_from(NASTY), st.text(string.ascii_letters + string.digits + "-_./:@ ", max_size=20))
CIDRS = st.sampled_from(
    [
        "10.0.0.0/16",
        "0.0.0.0/0",
        "10.0.0.1/32",
        "100.64.0.0/16",
        "10.0.0.0/8",
        "172.16.0.0/12",
        "10.0.0.0",
        "::/0",
        "1.2.3.4/33",
    ]
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**40), 2**40), st.floats(-1e9, 1e9), PLAIN_TEXT),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(st.sampled_from(["a", "kubelet"]), PLAIN_TEXT), inner, max_size=3),
    ),
    max_leaves=6,
)
# Known names, because a random name of the right form would always be unknown.
KNOWN: Mapping[str, st.SearchStrategy[Any]] = {
    r"^[a-z0-9-]+\.[a-z0-9-]+$": st.sampled_from(CATALOGUE.names),
    r"^[a-z][a-z0-9-]{1,30}$": st.sampled_from(CATALOGUE.families),
    r"^[a-z]{2,5}[0-9]{1,2}(-az[1-8]|(-[a-z0-9]{2,8}){1,3}-(az|wlz)[1-8])$": st.sampled_from(
        sorted({z for r in REGIONS for z in CATALOGUE.zone_ids(r)})
    ),
    r"^[a-z]{2,4}(-[a-z]+)+-[0-9]$": st.sampled_from([*REGIONS, "us-gov-west-1", "cn-north-1"]),
    r"^[a-z0-9-]{1,40}$": st.sampled_from(CATALOGUE.accelerators),
    r"^[a-z0-9-]{2,30}$": st.sampled_from(["large", "xlarge", "48xlarge", "metal"]),
}


def _followed(schema: Schema) -> Schema:
    while "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]]
    return schema


def _text(schema: Schema) -> st.SearchStrategy[Any]:
    pattern = schema.get("pattern")
    least, most = schema.get("minLength", 0), schema.get("maxLength", 100)
    if pattern is None:
        return st.one_of(PLAIN_TEXT, CIDRS, st.just("x" * most), st.just("x" * least))
    if pattern in KNOWN:
        return KNOWN[pattern]
    return st.from_regex(pattern, alphabet=st.characters(codec="ascii"), fullmatch=True).map(
        lambda text: text.rstrip("\n")[:most]
    )


def _number(schema: Schema) -> st.SearchStrategy[Any]:
    low, high = schema.get("minimum", -3), schema.get("maximum", 2**40)
    return st.one_of(st.integers(low, high), st.sampled_from([low, high]))


def values(schema: Schema) -> st.SearchStrategy[Any]:
    """Return values that a schema accepts, or almost accepts."""
    schema = _followed(schema)
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return st.one_of([values(each) for each in schema[several]])
    kind = schema.get("type", "string" if "pattern" in schema else None)
    simple = {"boolean": st.booleans(), "null": st.none()}
    if kind == "string":
        return _text(schema)
    if kind in ("integer", "number"):
        return _number(schema)
    if kind == "array":
        return st.lists(values(schema.get("items", {})), min_size=schema.get("minItems", 0), max_size=3)
    if kind == "object":
        return _mapping(schema)
    return simple.get(str(kind), JSON)


def _mapping(schema: Schema) -> st.SearchStrategy[Any]:
    if "properties" in schema:
        return _model(schema)
    patterns = schema.get("patternProperties")
    if patterns:
        ((pattern, of),) = list(patterns.items())[:1]
        return st.dictionaries(_text({"pattern": pattern}), values(of), max_size=3)
    of = schema.get("additionalProperties", True)
    if of is True:
        return st.dictionaries(st.one_of(st.sampled_from(["kubelet", "env", "a"]), PLAIN_TEXT), JSON, max_size=3)
    names = values({"type": "string", **schema.get("propertyNames", {})})
    return st.dictionaries(names, values(of), max_size=3)


@st.composite
def _model(draw: st.DrawFn, schema: Schema) -> Document:
    properties = schema["properties"]
    required = schema.get("required", ())
    optional = some(draw, sorted(set(properties) - set(required)), 3)
    return {name: draw(values(properties[name])) for name in (*required, *optional)}


@st.composite
def stretched(draw: st.DrawFn, value: Any, schema: Schema = SCHEMA) -> Any:
    """Return ``value`` with one field set to a value that its schema accepts."""
    schema = _followed(schema)
    for several in ("anyOf", "oneOf"):
        if several in schema:
            fitting = [each for each in map(_followed, schema[several]) if each.get("type") == _type_of(value)]
            schema = draw(st.sampled_from(fitting or [_followed(each) for each in schema[several]]))
    if "properties" in schema and isinstance(value, dict):
        # Version and name do not matter.
        names = sorted(set(schema["properties"]) - {"version"})
        name = draw(st.sampled_from(names))
        inner = schema["properties"][name]
        if name in value and not rarely(draw):
            return {**value, name: draw(stretched(value[name], inner))}
        return {**value, name: draw(values(inner))}
    if isinstance(value, list) and value and schema.get("type") == "array" and not rarely(draw):
        index = draw(st.integers(0, len(value) - 1))
        return [*value[:index], draw(stretched(value[index], schema["items"])), *value[index + 1 :]]
    return draw(values(schema))


def _type_of(value: Any) -> str:
    names = {bool: "boolean", int: "integer", str: "string", list: "array", dict: "object", type(None): "null"}
    return names.get(type(value), "number")


# --- mistakes


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values in a document."""
    found = [path] if path else []
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in parts:
        found += _places(each, (*path, key))
    return found


def _changed(value: Any, path: tuple[Any, ...], change: Any) -> Any:
    """Return a copy in which ``change(holder, key)`` was applied to the copied holder of the value."""
    copy = dict(value) if isinstance(value, dict) else list(value)
    if len(path) == 1:
        change(copy, path[0])
    else:
        copy[path[0]] = _changed(copy[path[0]], path[1:], change)
    return copy


ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    1.5,
    10**30,
    "",
    "x",
    "1",
    "yes",
    [],
    {},
    [[]],
    [None],
    {"": 0},
    *NASTY,
)


@st.composite
def mistaken(draw: st.DrawFn, document: Document) -> Document:
    """Return the document with one mistake, most likely."""
    path = draw(st.sampled_from(_places(document)))
    way = draw(st.sampled_from(["replace", "misspell", "drop", "double", "unknown", "number"]))

    def change(holder: Any, key: Any) -> None:
        value = holder[key]
        if way == "misspell" and isinstance(holder, dict):
            holder[draw(_misspelt(str(key)))] = holder.pop(key)
        elif way == "misspell" and isinstance(value, str):
            holder[key] = draw(_misspelt(value))
        elif way == "drop":
            del holder[key]
        elif way == "double" and isinstance(holder, list):
            holder.append(value)
        elif way == "unknown" and isinstance(value, dict):
            value = holder[key] = dict(value)
            value[draw(st.sampled_from(["colour", "gpu", "instanceTypes", "node_group"]))] = draw(st.sampled_from(ODD))
        elif way == "number" and isinstance(value, int):
            holder[key] = value + draw(st.sampled_from([-1000000, -1, 1, 1000000]))
        else:
            holder[key] = draw(st.sampled_from(ODD))

    changed: Document = _changed(document, path, change)
    return changed


@st.composite
def _misspelt(draw: st.DrawFn, word: str) -> str:
    at = draw(st.integers(0, len(word)))
    return word[:at] + draw(st.sampled_from(["", "x", "-", "_", word[at : at + 1].upper()])) + word[at + 1 :]


# --- documents and texts


@st.composite
def random_document(draw: st.DrawFn, stretches: int = 2, mistakes: int = 2) -> Document:
    """Return a strategy, possibly with a part from an explanation, random field values and mistakes."""
    document = draw(coherent())
    if draw(st.booleans()):
        document = draw(seasoned(document))
    if draw(st.booleans()):
        document = draw(valued(document))
    for _ in range(draw(st.integers(0, stretches))):
        document = draw(stretched(document))
    for _ in range(draw(st.sampled_from([0, *range(mistakes + 1)]))):
        document = draw(mistaken(document)) if isinstance(document, dict) and document else document
    return document


def block(value: Any, indent: str = "") -> str:
    """Return YAML in block style, with scalars as in JSON."""
    if isinstance(value, dict) and value:
        return "".join(f"\n{indent}{json.dumps(key)}:{block(each, indent + '  ')}" for key, each in value.items())
    if isinstance(value, list) and value:
        return "".join(f"\n{indent}-{block(each, indent + '  ')}" for each in value)
    return f" {json.dumps(value, ensure_ascii=False)}"


@st.composite
def random_text(draw: st.DrawFn, stretches: int = 2, mistakes: int = 2) -> str:
    """Return a strategy as the text of a file."""
    document = draw(random_document(stretches, mistakes))
    text = block(document).lstrip("\n") + "\n" if draw(st.booleans()) else json.dumps(document, indent=1)
    if mistakes and rarely(draw, 10):
        at = draw(st.integers(0, len(text)))
        piece = draw(
            st.sampled_from(["", "\n", ":", "- ", "*a", "&a ", "\t", "'", '"', "{", "]", "#", "<<: *a", "\u0000"])
        )
        text = text[:at] + piece + text[at + draw(st.integers(0, 3)) :]
    return text

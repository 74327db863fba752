"""The checks in helpers.kubernetes find the mistakes that they claim to find, and accept valid objects."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import helm_python
import pytest

from helpers.cases import in_one_test
from helpers.kubernetes import helm
from helpers.kubernetes.karpenter_rules import RULES, UPDATES, check_rules, check_update
from helpers.kubernetes.karpenter_schema import check_custom_resources
from helpers.kubernetes.kubernetes_schema import check_objects

Object = dict[str, Any]
REMOVED = object()
VERSION = "1.36"

NODE_CLASS: Object = {
    "apiVersion": "karpenter.k8s.aws/v1",
    "kind": "EC2NodeClass",
    "metadata": {"name": "gpu", "labels": {"team": "a"}},
    "spec": {
        "role": "nodes",
        "amiFamily": "AL2023",
        "amiSelectorTerms": [{"alias": "al2023@v20261101"}],
        "subnetSelectorTerms": [{"tags": {"karpenter.sh/discovery": "demo"}}, {"id": "subnet-0a"}],
        "securityGroupSelectorTerms": [{"id": "sg-0a"}, {"name": "nodes"}],
        "capacityReservationSelectorTerms": [{"id": "cr-0a"}, {"tags": {"for": "a"}, "ownerID": "123456789012"}],
        "placementGroupSelector": {"name": "tight"},
        "associatePublicIPAddress": False,
        "instanceStorePolicy": "RAID0",
        "detailedMonitoring": True,
        "blockDeviceMappings": [
            {"deviceName": "/dev/xvda", "rootVolume": True, "ebs": {"volumeSize": "200Gi", "volumeType": "gp3"}},
            {"deviceName": "/dev/xvdb", "ebs": {"snapshotID": "snap-0a", "volumeInitializationRate": 300}},
        ],
        "networkInterfaces": [
            {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"},
            {"networkCardIndex": 0, "deviceIndex": 1, "interfaceType": "efa-only"},
            {"networkCardIndex": 1, "deviceIndex": 1, "interfaceType": "efa-only"},
        ],
        "connectionTracking": {"udpTimeout": 30, "tcpEstablishedTimeout": 432000},
        "cpuOptions": {"nestedVirtualization": "enabled"},
        "metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 1},
        "kubelet": {
            "maxPods": 110,
            "evictionHard": {"memory.available": "5%", "nodefs.available": "10Gi"},
            "evictionSoft": {"imagefs.available": "15.5%"},
            "evictionSoftGracePeriod": {"imagefs.available": "2m"},
            "kubeReserved": {"cpu": "100m", "memory": "1Gi"},
            "imageGCHighThresholdPercent": 85,
            "imageGCLowThresholdPercent": 80,
        },
        "tags": {"team": "a", "empty": ""},
        "userData": "#!/bin/bash\necho ${HOME}\n",
    },
}

NODE_POOL: Object = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "gpu"},
    "spec": {
        "weight": 10,
        "limits": {"cpu": 1000, "nvidia.com/gpu": "64", "memory": "1Ti"},
        "disruption": {
            "consolidationPolicy": "Balanced",
            "consolidateAfter": "1h30m",
            "budgets": [{"nodes": "10%"}, {"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "8h"}],
        },
        "template": {
            "metadata": {"labels": {"team": "a", "karpenter.sh/capacity-type": "spot"}, "annotations": {"a": "b"}},
            "spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "gpu"},
                "expireAfter": "Never",
                "terminationGracePeriod": "48h",
                "requirements": [
                    {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["p5.48xlarge"]},
                    {"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "Gte", "values": ["8"]},
                    {"key": "team", "operator": "Exists"},
                ],
                "taints": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}],
                "startupTaints": [{"key": "node.cilium.io/agent-not-ready", "effect": "NoExecute"}],
            },
        },
    },
}

NODE_OVERLAY: Object = {
    "apiVersion": "karpenter.sh/v1alpha1",
    "kind": "NodeOverlay",
    "metadata": {"name": "smarter-devices"},
    "spec": {
        "weight": 10000,
        "priceAdjustment": "-10.5%",
        "capacity": {"smarter-devices/fuse": 1},
        "requirements": [{"key": "karpenter.k8s.aws/instance-family", "operator": "NotIn", "values": ["p5"]}],
    },
}

DEPLOYMENT: Object = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "web:1", "resources": {"limits": {"cpu": 1}}}]},
        },
    },
}

GOOD = {item["kind"]: item for item in (NODE_CLASS, NODE_POOL, NODE_OVERLAY)}


def with_value(item: Object, place: str, value: Any) -> Object:
    """Return a copy with another value at ``spec.taints[0].key``; keys with dots are written ``spec.tags["a.b"]``."""
    copied = copy.deepcopy(item)
    *way, last = [
        int(index) if index else quoted or name
        for index, quoted, name in re.findall(r'\[(\d+)\]|\["(.*?)"\]|([^.\[\]]+)', place)
    ]
    holder: Any = copied
    for step in way:
        holder = holder[step]
    if value is REMOVED:
        del holder[last]
    elif isinstance(holder, list) and last == len(holder):
        holder.append(value)
    else:
        holder[last] = value
    return copied


def places_of_rule(messages: list[str], id_: str) -> list[str]:
    """Return the positions at which messages report a violation of this rule."""
    return [message.split(": ")[1] for message in messages if message.endswith(f"[{id_}]")]


# --- Karpenter's validators -------------------------------------------------------------------------------------

# Kind, changed field, value, keyword of the error.
SCHEMA_CASES: list[tuple[str, str, Any, str]] = [
    ("EC2NodeClass", "specs", {}, "unknown"),
    ("EC2NodeClass", "spec.amiFamilly", "AL2023", "unknown"),
    ("EC2NodeClass", "spec.amiSelectorTerms[0].alais", "al2023@latest", "unknown"),
    ("EC2NodeClass", "spec.blockDeviceMappings[0].ebs.volumesize", "1Gi", "unknown"),
    ("EC2NodeClass", "spec.kubelet.maxPod", 10, "unknown"),
    ("EC2NodeClass", "metadata.label", {}, "unknown"),
    ("EC2NodeClass", "spec.amiFamily", "AL2024", "enum"),
    ("EC2NodeClass", "spec.instanceStorePolicy", "RAID1", "enum"),
    ("EC2NodeClass", "spec.amiSelectorTerms", [], "minItems"),
    ("EC2NodeClass", "spec.detailedMonitoring", "true", "type"),
    ("EC2NodeClass", "spec.tags.team", 1, "type"),
    ("EC2NodeClass", "spec.blockDeviceMappings[0].ebs.volumeSize", "200", "pattern"),
    ("EC2NodeClass", "spec.blockDeviceMappings[0].ebs.iops", 1.5, "type"),
    ("EC2NodeClass", "spec.metadataOptions.httpPutResponseHopLimit", 65, "maximum"),
    ("EC2NodeClass", "spec.networkInterfaces[0].interfaceType", "efa", "enum"),
    ("NodePool", "spec.template.spec.kubelet", {}, "unknown"),
    ("NodePool", "spec.template.spec.taints[0].values", "x", "unknown"),
    ("NodePool", "spec.disruption.expireAfter", "1h", "unknown"),
    ("NodePool", "spec.weight", 101, "maximum"),
    ("NodePool", "spec.limits.cpu", "10 cores", "format"),
    ("NodePool", "spec.disruption.consolidateAfter", "1 hour", "pattern"),
    ("NodePool", "spec.disruption.consolidationPolicy", "Sometimes", "enum"),
    ("NodePool", "spec.disruption.budgets[0].nodes", "101%", "pattern"),
    ("NodePool", "spec.template.spec.requirements[0].operator", "Equals", "enum"),
    ("NodePool", "spec.template.spec.expireAfter", "30d", "pattern"),
    ("NodeOverlay", "spec.requirement", [], "unknown"),
    ("NodeOverlay", "spec.price", "1 USD", "pattern"),
]
REQUIRED = [
    ("EC2NodeClass", "spec.subnetSelectorTerms"),
    ("NodePool", "spec.template.spec.nodeClassRef"),
    ("NodePool", "spec.template.spec.taints[0].effect"),
    ("NodeOverlay", "spec.requirements"),
]


@pytest.fixture(scope="module")
def schema_messages() -> dict[str, list[str]]:
    """Return the validators' errors for each case, from one run of Node."""
    named = {
        **{f"{kind} {place}": with_value(GOOD[kind], place, value) for kind, place, value, _ in SCHEMA_CASES},
        **{f"{kind} without {place}": with_value(GOOD[kind], place, REMOVED) for kind, place in REQUIRED},
    }
    renamed = [with_value(item, "metadata.name", f"case-{index}") for index, item in enumerate(named.values())]
    messages = check_custom_resources(renamed)
    return {
        name: [message for message in messages if f"/case-{index}: " in message] for index, name in enumerate(named)
    }


def test_good_custom_resources_pass() -> None:
    assert check_custom_resources(list(GOOD.values())) == []
    assert check_custom_resources([]) == []


@pytest.mark.parametrize(("kind", "place", "keyword"), [(kind, place, word) for kind, place, _, word in SCHEMA_CASES])
def test_the_validators_name_what_is_wrong(
    kind: str, place: str, keyword: str, schema_messages: dict[str, list[str]]
) -> None:
    messages = schema_messages[f"{kind} {place}"]
    assert places_of_rule(messages, keyword) == [place]
    assert {message.split(": ")[1] for message in messages} == {place}


@pytest.mark.parametrize(("kind", "place"), REQUIRED)
def test_the_validators_miss_required_fields(kind: str, place: str, schema_messages: dict[str, list[str]]) -> None:
    holder, _, field = place.rpartition(".")
    (message,) = schema_messages[f"{kind} without {place}"]
    assert places_of_rule([message], "required") == [holder]
    assert field in message


def test_a_custom_kind_without_validator_is_an_error() -> None:
    (message,) = check_custom_resources([DEPLOYMENT])
    assert message == "Deployment/web: (object): no validator for apps/v1 Deployment [kind]"
    old = {**NODE_POOL, "apiVersion": "karpenter.sh/v1beta1"}
    assert places_of_rule(check_custom_resources([old]), "kind") == ["(object)"]


def test_null_is_as_good_as_nothing() -> None:
    item = with_value(with_value(NODE_CLASS, "spec.userData", None), "spec.instanceProfile", None)
    assert check_custom_resources([item]) == []
    assert check_rules(item) == []


# --- Karpenter's rules ------------------------------------------------------------------------------------------

EFA_ONLY = {"networkCardIndex": 0, "deviceIndex": 2, "interfaceType": "efa-only"}
AMIS, ALIAS = "spec.amiSelectorTerms", "spec.amiSelectorTerms[0].alias"
SUBNETS, GROUPS = "spec.subnetSelectorTerms", "spec.securityGroupSelectorTerms"
RESERVATIONS = "spec.capacityReservationSelectorTerms"
EBS, KUBELET = "spec.blockDeviceMappings[1].ebs", "spec.kubelet"
TRACKING, CPU = "spec.connectionTracking", "spec.cpuOptions"
TEMPLATE, LABELS = "spec.template.spec", "spec.template.metadata.labels"
REQUIREMENTS, POOL_REQUIREMENTS = "spec.requirements", "spec.template.spec.requirements"
MANY_TERMS = [{"tags": {"a": "b"}}] * 31
MANY_TAGS = {f"tag-{index}": "a" for index in range(21)}
TAINT = {"key": "a", "effect": "NoSchedule"}


def requirement(key: str = "a", operator: str = "In", values: Any = ("a",), **more: Any) -> Object:
    return {"key": key, "operator": operator, "values": list(values), **more}


# Rule, changed field, value.
NODE_CLASS_CASES: list[tuple[str, str, Any]] = [
    ("name", "metadata.name", "GPU"),
    ("role-or-profile", "spec.role", REMOVED),
    ("role-or-profile", "spec.instanceProfile", "nodes"),
    ("role-empty", "spec.role", ""),
    ("profile-empty", "spec.instanceProfile", ""),
    *((f"ami-family-{family}", ALIAS, f"{family}@latest") for family in ("al2", "bottlerocket")),
    *((f"ami-family-windows{year}", ALIAS, f"windows{year}@latest") for year in (2019, 2022, 2025)),
    ("ami-family-al2023", "spec.amiFamily", "Bottlerocket"),
    ("ami-term-empty", f"{AMIS}[0]", {"owner": "self"}),
    ("ami-tags-empty", f"{AMIS}[0]", {"tags": {"a": ""}}),
    ("ami-tags-many", f"{AMIS}[0]", {"tags": MANY_TAGS}),
    ("ami-terms-many", AMIS, MANY_TERMS),
    ("ami-id-alone", f"{AMIS}[0]", {"id": "ami-0a", "owner": "self"}),
    ("ami-alias-alone", f"{AMIS}[0].owner", "self"),
    ("ami-alias-single", f"{AMIS}[1]", {"id": "ami-0a"}),
    ("ami-alias-form", ALIAS, "al2023"),
    ("ami-alias-family", ALIAS, "ubuntu@latest"),
    ("ami-alias-windows", ALIAS, "windows2022@v1"),
    ("subnet-term-empty", f"{SUBNETS}[0]", {}),
    ("subnet-tags-empty", f"{SUBNETS}[0].tags", {"": "a"}),
    ("subnet-tags-many", f"{SUBNETS}[0].tags", MANY_TAGS),
    ("subnet-terms-many", SUBNETS, MANY_TERMS),
    ("subnet-id-alone", f"{SUBNETS}[1].tags", {"a": "b"}),
    ("subnet-none", SUBNETS, []),
    ("security-group-term-empty", f"{GROUPS}[0]", {}),
    ("security-group-tags-empty", f"{GROUPS}[0]", {"tags": {"a": ""}}),
    ("security-group-tags-many", f"{GROUPS}[0]", {"tags": MANY_TAGS}),
    ("security-group-terms-many", GROUPS, MANY_TERMS),
    ("security-group-id-alone", f"{GROUPS}[0].tags", {"a": "b"}),
    ("security-group-name-alone", f"{GROUPS}[1].tags", {"a": "b"}),
    ("security-group-none", GROUPS, []),
    ("reservation-term-empty", f"{RESERVATIONS}[0]", {"ownerID": "123456789012"}),
    ("reservation-tags-empty", f"{RESERVATIONS}[1].tags", {"a": ""}),
    ("reservation-tags-many", f"{RESERVATIONS}[1].tags", MANY_TAGS),
    ("reservation-terms-many", RESERVATIONS, MANY_TERMS),
    ("reservation-id-alone", f"{RESERVATIONS}[0].instanceMatchCriteria", "open"),
    ("reservation-none", RESERVATIONS, []),
    ("reservation-owner", f"{RESERVATIONS}[1].ownerID", "1234-5678-9012"),
    ("placement-group-one", "spec.placementGroupSelector.id", "pg-0a"),
    ("placement-group-one", "spec.placementGroupSelector", {}),
    ("root-volume-single", "spec.blockDeviceMappings[1].rootVolume", True),
    ("volume-size-or-snapshot", EBS, {"encrypted": True}),
    ("volume-rate-snapshot", f"{EBS}.snapshotID", ""),
    ("interfaces-primary", "spec.networkInterfaces[0].interfaceType", "efa-only"),
    ("interfaces-primary", "spec.networkInterfaces[0].deviceIndex", 3),
    ("interfaces-unique", "spec.networkInterfaces[2].networkCardIndex", 0),
    ("interfaces-efa-only", "spec.networkInterfaces[3]", EFA_ONLY),
    ("tag-key-empty", "spec.tags", {"": "a"}),
    ("tag-cluster", 'spec.tags["kubernetes.io/cluster/demo"]', "owned"),
    ("tag-eks-cluster-name", 'spec.tags["eks:eks-cluster-name"]', "demo"),
    ("tag-nodepool", 'spec.tags["karpenter.sh/nodepool"]', "a"),
    ("tag-nodeclaim", 'spec.tags["karpenter.sh/nodeclaim"]', "a"),
    ("tag-ec2nodeclass", 'spec.tags["karpenter.k8s.aws/ec2nodeclass"]', "a"),
    ("tracking-empty", TRACKING, {}),
    ("tracking-fields", f"{TRACKING}.tcpTimeout", 60),
    ("tracking-tcpEstablishedTimeout", f"{TRACKING}.tcpEstablishedTimeout", 432001),
    ("tracking-udpStreamTimeout", f"{TRACKING}.udpStreamTimeout", 59),
    ("tracking-udpTimeout", f"{TRACKING}.udpTimeout", "30"),
    ("cpu-options-fields", f"{CPU}.coreCount", 8),
    ("cpu-options-nested", f"{CPU}.nestedVirtualization", True),
    ("kubelet-evictionHard-keys", f'{KUBELET}.evictionHard["memory.free"]', "5%"),
    ("kubelet-evictionSoft-keys", f'{KUBELET}.evictionSoft["memory.free"]', "5%"),
    ("kubelet-evictionSoftGracePeriod-keys", f'{KUBELET}.evictionSoftGracePeriod["memory.free"]', "1m"),
    ("kubelet-evictionHard-values", f'{KUBELET}.evictionHard["memory.available"]', "101%"),
    ("kubelet-evictionSoft-values", f'{KUBELET}.evictionSoft["imagefs.available"]', "a lot"),
    ("kubelet-kubeReserved-keys", f"{KUBELET}.kubeReserved.gpu", "1"),
    ("kubelet-kubeReserved-values", f"{KUBELET}.kubeReserved.cpu", "100 m"),
    ("kubelet-kubeReserved-negative", f"{KUBELET}.kubeReserved.cpu", "-100m"),
    ("kubelet-systemReserved-keys", f"{KUBELET}.systemReserved", {"gpu": "1"}),
    ("kubelet-systemReserved-values", f"{KUBELET}.systemReserved", {"cpu": "1 core"}),
    ("kubelet-systemReserved-negative", f"{KUBELET}.systemReserved", {"cpu": "-1"}),
    ("kubelet-gc-order", f"{KUBELET}.imageGCLowThresholdPercent", 85),
    ("kubelet-soft-grace", f"{KUBELET}.evictionSoftGracePeriod", REMOVED),
    ("kubelet-grace-soft", f"{KUBELET}.evictionSoft", REMOVED),
]
REQUIREMENT_CASES: list[tuple[str, str, Any]] = [
    ("requirements-many", "", [requirement()] * 101),
    ("requirement-key", "[0].key", "Team/a"),
    ("requirement-operator", "[0].operator", "in"),
    ("requirement-in", "[0]", requirement(values=[])),
    ("requirement-compares", "[0]", requirement(operator="Gt", values=["1", "2"])),
    ("requirement-compares", "[0]", requirement(operator="Lte", values=["-1"])),
    ("requirement-compares", "[0]", requirement(operator="Lt", values=["many"])),
    ("requirement-karpenter", "[0].key", "karpenter.sh/initialized"),
    ("requirement-hostname", "[0].key", "kubernetes.io/hostname"),
    ("requirement-aws", "[0].key", "karpenter.k8s.aws/instance-gpus"),
    ("requirement-value", "[0].values[0]", "p5 48xlarge"),
]
NODE_POOL_CASES: list[tuple[str, str, Any]] = [
    *((id_, POOL_REQUIREMENTS + place, value) for id_, place, value in REQUIREMENT_CASES),
    ("requirement-nodepool", f"{POOL_REQUIREMENTS}[0].key", "karpenter.sh/nodepool"),
    ("requirement-min-values", f"{POOL_REQUIREMENTS}[0].minValues", 2),
    ("name", "metadata.name", "a_b"),
    ("static-limits", "spec.replicas", 2),
    ("static-weight", "spec.replicas", 2),
    ("limit-quantity", "spec.limits.memory", "1 Ti"),
    ("consolidation-policy", "spec.disruption.consolidationPolicy", "WhenUnderutilized"),
    ("budget-window", "spec.disruption.budgets[1].duration", REMOVED),
    ("budget-window", "spec.disruption.budgets[1].schedule", REMOVED),
    ("budget-duration", "spec.disruption.budgets[1].duration", "30s"),
    ("budget-schedule", "spec.disruption.budgets[1].schedule", "0 9 * *"),
    ("budget-reasons", "spec.disruption.budgets[1].reasons", ["Empty", "Empty"]),
    ("label-karpenter", f'{LABELS}["karpenter.sh/initialized"]', "true"),
    ("label-hostname", f'{LABELS}["kubernetes.io/hostname"]', "a"),
    ("label-aws", f'{LABELS}["sub.karpenter.k8s.aws/a"]', "a"),
    ("label-nodepool", f'{LABELS}["karpenter.sh/nodepool"]', "gpu"),
    ("labels-many", LABELS, {f"label-{index}": "a" for index in range(101)}),
    ("label-value", f"{LABELS}.team", "a b"),
    ("label-value", f"{LABELS}.team", "a" * 64),
    *((f"node-class-{field}", f"{TEMPLATE}.nodeClassRef.{field}", "") for field in ("group", "kind", "name")),
    ("expire-after", f"{TEMPLATE}.expireAfter", "never"),
    ("grace-period", f"{TEMPLATE}.terminationGracePeriod", "Never"),
    ("taints-effect", f"{TEMPLATE}.taints[0].effect", "NoScheduling"),
    ("taints-key", f"{TEMPLATE}.taints[0].key", "gpu only"),
    ("taints-value", f"{TEMPLATE}.taints[0].value", ""),
    ("startupTaints-effect", f"{TEMPLATE}.startupTaints[0].effect", ""),
    ("startupTaints-key", f"{TEMPLATE}.startupTaints[0].key", ""),
    ("startupTaints-value", f"{TEMPLATE}.startupTaints[0].value", "-"),
    ("taints-unique", f"{TEMPLATE}.taints", [TAINT, TAINT]),
]
NODE_OVERLAY_CASES: list[tuple[str, str, Any]] = [
    *((id_, REQUIREMENTS + place, value) for id_, place, value in REQUIREMENT_CASES),
    ("requirement-aws", f"{REQUIREMENTS}[0].key", "karpenter.k8s.aws/placement-group-id"),
    ("requirement-not-in", f"{REQUIREMENTS}[0].values", []),
    ("name", "metadata.name", ""),
    ("overlay-price", "spec.price", "1.5"),
    ("overlay-price-form", "spec.price", "$1"),
    ("overlay-adjustment-form", "spec.priceAdjustment", "10%"),
    ("overlay-adjustment-form", "spec.priceAdjustment", "-101%"),
    ("overlay-weight", "spec.weight", 10001),
    ("overlay-capacity", "spec.capacity.cpu", "1"),
    ("overlay-quantity", 'spec.capacity["smarter-devices/fuse"]', "one"),
]
RULE_CASES = [
    *(("EC2NodeClass", *case) for case in NODE_CLASS_CASES),
    *(("NodePool", *case) for case in NODE_POOL_CASES),
    *(("NodeOverlay", *case) for case in NODE_OVERLAY_CASES),
]


@pytest.mark.parametrize("kind", GOOD)
def test_good_objects_obey_all_rules(kind: str) -> None:
    assert check_rules(GOOD[kind]) == []


@in_one_test("kind, id_, place, value", RULE_CASES)
def test_breaking_a_rule_names_it_and_the_place(kind: str, id_: str, place: str, value: Any) -> None:
    found = places_of_rule(check_rules(with_value(GOOD[kind], place, value)), id_)
    assert found
    assert all(each.startswith(place) or place.startswith(each) for each in found)


def test_each_rule_has_a_case() -> None:
    assert {(rule.kind, rule.id) for rule in RULES} - {("EC2NodeClass", "ami-family-missing")} == {
        (kind, id_) for kind, id_, _, _ in RULE_CASES
    }
    assert all(rule.source.startswith("https://") for rule in RULES)


def test_the_family_is_named_where_no_image_is_an_alias() -> None:
    by_id = with_value(NODE_CLASS, AMIS, [{"id": "ami-0a"}])
    assert check_rules(by_id) == []
    assert places_of_rule(check_rules(with_value(by_id, "spec.amiFamily", REMOVED)), "ami-family-missing") == ["spec"]


def test_rules_have_one_name_for_a_kind() -> None:
    names = [(rule.kind, rule.id) for rule in RULES]
    assert len(names) == len(set(names))


def test_another_kind_has_no_rules() -> None:
    assert places_of_rule(check_rules(DEPLOYMENT), "unknown-kind") == ["no rules for this kind [unknown-kind]"]


def test_what_an_update_must_not_change() -> None:
    static = with_value(with_value(NODE_POOL, "spec.weight", REMOVED), "spec.limits", REMOVED)
    static = with_value(static, "spec.replicas", 2)
    assert check_rules(static) == []
    assert check_update(static, with_value(static, "spec.replicas", 0)) == []
    assert check_update(NODE_POOL, with_value(NODE_POOL, f"{TEMPLATE}.nodeClassRef.name", "other")) == []
    assert check_update(NODE_CLASS, with_value(NODE_CLASS, "spec.role", "other")) == []
    broken = [
        places_of_rule(check_update(NODE_POOL, static), "pool-mode"),
        *(
            places_of_rule(
                check_update(NODE_POOL, with_value(NODE_POOL, f"{TEMPLATE}.nodeClassRef.{field}", "other")),
                f"node-class-{field}-fixed",
            )
            for field in ("group", "kind")
        ),
    ]
    assert broken == [[path] for _, path, _, _ in UPDATES]


# --- plain Kubernetes objects -----------------------------------------------------------------------------------


def test_a_good_deployment_passes() -> None:
    assert check_objects([DEPLOYMENT], VERSION) == []
    assert check_objects([DEPLOYMENT], f"v{VERSION}.2") == []


@pytest.mark.parametrize(
    ("place", "value", "found", "what"),
    [
        ("spec.replica", 2, "spec", "'replica' was unexpected"),
        ("spec.replicas", "2", "spec.replicas", "is not of type 'integer'"),
        ("spec.selector", REMOVED, "spec", "'selector' is a required property"),
        ("metadata.label", {}, "metadata", "'label' was unexpected"),
        (
            "spec.template.spec.containers[0].imagePullPolcy",
            "Always",
            "spec.template.spec.containers[0]",
            "'imagePullPolcy' was unexpected",
        ),
    ],
)
def test_a_bad_deployment_fails(place: str, value: Any, found: str, what: str) -> None:
    (message,) = check_objects([with_value(DEPLOYMENT, place, value)], VERSION)
    assert message.startswith(f"Deployment/web: {found}: ")
    assert what in message


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("apps/v1beta1", "Deployment"),
        ("apps.example.com/v1", "Deployment"),
        ("apps/v1", "deployment"),
        ("v1", "PodSpec"),
        ("karpenter.sh/v1", "NodePool"),
        ("", ""),
    ],
)
def test_a_kind_without_schema_is_an_error(api_version: str, kind: str) -> None:
    item = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}}
    (message,) = check_objects([item], VERSION, custom_groups={"example.com"})
    assert message.endswith(f"Kubernetes {VERSION} does not know {api_version} {kind}")


def test_custom_groups_are_left_to_others() -> None:
    assert check_objects([NODE_POOL, NODE_CLASS], VERSION, custom_groups={"karpenter.sh", "karpenter.k8s.aws"}) == []


def test_a_version_without_schemas_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"no schemas of Kubernetes 1\.99"):
        check_objects([DEPLOYMENT], "1.99")


# --- Helm -------------------------------------------------------------------------------------------------------

CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
  namespace: {{ .Release.Namespace }}
  annotations:
    kubernetes: {{ .Capabilities.KubeVersion.Version | quote }}
data:
  {{- toYaml .Values.data | nindent 2 }}
---
# Nothing here.
---
{{- if .Capabilities.APIVersions.Has "karpenter.sh/v1" }}
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
{{- end }}
"""
HOOK = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: before, annotations: {helm.sh/hook: pre-install}}
"""
CRD = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.example.com}\n"
NASTY = {
    "action": "{{ .Release.Name }}",
    "reference": "${aws_vpc.this.id} %{ if true }",
    "quotes": 'it\'s "quoted" and `ticked` \\n \\',
    "lines": "first\n\n  second: indented\n---\nfourth\n",
    "letters": "Größe 日本語 🚀 \u00a0\u2028",
    "looks-like": "yes",
    "number": "0123",
    "comment": "# no",
    "tab": "\ta",
    "empty": "",
}
RELEASE: dict[str, Any] = {"release": "demo", "namespace": "apps", "kubernetes_version": "v1.36.0"}


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    files = {
        "Chart.yaml": "apiVersion: v2\nname: tiny\nversion: 0.1.0\n",
        "values.yaml": "data: {kept: default}\n",
        "values.schema.json": '{"properties": {"data": {"type": "object"}}}',
        "crds/a.yaml": CRD,
        "templates/NOTES.txt": "Have fun with {{ .Release.Name }}.\n",
        "templates/config.yaml": CONFIG_MAP,
        "templates/hook.yaml": HOOK,
    }
    folder = tmp_path / "tiny"
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder


def test_a_chart_renders_exactly(chart: Path) -> None:
    config, hook = helm.template(chart, {"data": NASTY}, **RELEASE)
    assert config["data"] == {"kept": "default", **NASTY}
    assert config["metadata"] == {"name": "demo", "namespace": "apps", "annotations": {"kubernetes": "v1.36.0"}}
    assert hook["metadata"]["name"] == "before"
    assert check_objects([config, hook], VERSION) == []


def test_a_chart_renders_for_what_the_cluster_has(chart: Path) -> None:
    found = helm.template(chart, {}, api_versions=("karpenter.sh/v1",), include_crds=True, **RELEASE)
    assert [item["kind"] for item in found] == ["CustomResourceDefinition", "ConfigMap", "NodePool", "ConfigMap"]


def test_a_good_chart_lints(chart: Path) -> None:
    assert helm.lint(chart, {"data": NASTY}, kubernetes_version="v1.36.0") == []
    assert helm.default_values(chart) == {"data": {"kept": "default"}}


@pytest.mark.parametrize(
    ("file", "text", "what"),
    [
        ("templates/bad.yaml", "a: {{ .Values.nothing.here }}\n", "nil pointer"),
        ("templates/bad.yaml", 'a: {{ include "nothing" . }}\n', "nothing"),
        ("templates/bad.yaml", "a: [b\n", "unable to parse YAML"),
        ("Chart.yaml", "apiVersion: v2\nname: tiny\nversion: one\n", "version"),
        ("values.yaml", "data: text\n", "data"),
    ],
)
def test_a_bad_chart_does_not_lint(chart: Path, file: str, text: str, what: str) -> None:
    (chart / file).write_text(text, encoding="utf-8")
    assert any(what in message for message in helm.lint(chart))


def test_a_bad_chart_does_not_render(chart: Path) -> None:
    with pytest.raises(helm_python.HelmError, match="data"):
        helm.template(chart, {"data": "text"}, **RELEASE)
    with pytest.raises(helm_python.HelmError, match="release name"):
        helm.template(chart, {}, **{**RELEASE, "release": "Demo"})
    (chart / "templates" / "bad.yaml").write_text('a: {{ fail "on purpose" }}\n', encoding="utf-8")
    with pytest.raises(helm_python.HelmError, match="on purpose"):
        helm.template(chart, {}, **RELEASE)


def test_a_key_is_written_once(chart: Path) -> None:
    (chart / "templates" / "hook.yaml").write_text("a:\n- {b: 1, c: 2, b: 3}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"templates/hook\.yaml: line 2: written twice: b"):
        helm.template(chart, {}, **RELEASE)


def test_a_packaged_chart_is_the_same(chart: Path, tmp_path: Path) -> None:
    archive = helm.package(chart, tmp_path / "out")
    assert archive.name == "tiny-0.1.0.tgz"
    assert helm.template(archive, {"data": NASTY}, **RELEASE) == helm.template(chart, {"data": NASTY}, **RELEASE)

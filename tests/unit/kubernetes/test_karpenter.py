"""Karpenter's releases: values of its controller, NodePools, EC2NodeClasses, NodeOverlays."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest

from eks_hardware.kubernetes.bundle import bundle as whole_bundle
from eks_hardware.kubernetes.karpenter import RESOURCES, releases
from eks_hardware.kubernetes.model import Bundle
from eks_hardware.kubernetes.references import Reference, known, references_in, replaced
from eks_hardware.resolve import ResolvedStrategy, resolve
from helpers.cases import in_one_test
from helpers.strategies import SHIPPED, resolved_once, resolved_shipped, strategy

KEY = "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
NEURON = {"instance_types": ["trn1.32xlarge"], "limits": {"aws.amazon.com/neuron": 32}}
EFA = {"instance_types": ["p4d.24xlarge"], "efa": True}
CPU = {"instance_types": ["m6i.large", "m6i.xlarge"], "limits": {"cpu": 64}}
ARM = {"instance_types": ["c7g.large"], "limits": {"cpu": 64}}
BOTTLEROCKET = {"ami": {"family": "bottlerocket"}}
RESERVED = {"capacity": ["reserved"], "reservations": [{"id": "cr-0123456789abcdef0", "zone": "usw2-az2"}]}
PRIVATE: dict[str, Any] = {"network": {"private": True}}
NOTHING = object()


def resolved_with_pools(
    *pools: dict[str, Any], karpenter: dict[str, Any] | None = None, **fields: Any
) -> ResolvedStrategy:
    base = {"name": "pool", "instance_types": ["g6.xlarge"], "limits": {"nvidia.com/gpu": 4}}
    section = {"node_pools": [{**base, **pool} for pool in pools], **(karpenter or {})}
    return resolved_once(strategy(karpenter=section, **fields))


def bundle(*pools: dict[str, Any], **fields: Any) -> Bundle:
    return Bundle(tuple(releases(resolved_with_pools(*pools, **fields))))


def karpenter_values(**fields: Any) -> Any:
    return next(each.values for each in bundle(**fields).charts if each.name == "karpenter")


def karpenter_objects(kind: str, *pools: dict[str, Any], **fields: Any) -> list[Any]:
    return [each for each in bundle(*pools, **fields).objects if each["kind"] == kind]


def at(item: Any, path: str) -> Any:
    """Return the value at ``a.b.c``, or ``NOTHING``."""
    return reduce(lambda value, step: NOTHING if value is NOTHING else value.get(step, NOTHING), path.split("."), item)


# --- releases


def test_releases_in_order() -> None:
    found = bundle({})
    assert [each.name for each in found.releases] == ["karpenter-crd", "karpenter", RESOURCES]
    assert {each.namespace for each in found.releases} == {"kube-system"}
    assert "karpenter-crd" in found.release("karpenter").after
    assert "karpenter" in found.release(RESOURCES).after
    # CRDs come before the objects that use them, and pools last, because they launch nodes.
    assert [each["kind"] for each in found.objects] == ["EC2NodeClass", "NodePool"]


def test_without_pools_there_are_no_objects() -> None:
    assert [each.name for each in bundle().releases] == ["karpenter-crd", "karpenter"]


def test_without_karpenter_there_is_nothing() -> None:
    assert list(releases(resolve(strategy()))) == []


def test_all_of_it_is_in_karpenters_namespace() -> None:
    found = bundle({}, karpenter={"namespace": "karpenter"})
    assert {each.namespace for each in found.releases} == {"karpenter"}


@in_one_test(
    ("grace", "expected"),
    [((), 1800), (("10m",), 1800), (("24h", "30m"), 24 * 3600 + 900), (("1h30m15s",), 5415 + 900)],
)
def test_uninstalling_waits_for_the_nodes(grace: tuple[str, ...], expected: int) -> None:
    # trap: aws/karpenter-provider-aws#5582
    pools = [{"name": f"p{i}", "disruption": {"termination_grace_period": each}} for i, each in enumerate(grace)]
    assert bundle(*pools or [{}]).release(RESOURCES).timeout_seconds == expected


# --- controller

SPREAD = {
    "maxSkew": 1,
    "topologyKey": "topology.kubernetes.io/zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "nodeTaintsPolicy": "Honor",
}


@in_one_test(
    ("fields", "path", "expected"),
    [
        ({}, "settings.clusterName", Reference.CLUSTER_NAME.text),
        ({}, "settings.interruptionQueue", Reference.KARPENTER_QUEUE.text),
        ({"karpenter": {"interruption_queue": False}}, "settings.interruptionQueue", NOTHING),
        ({}, "settings.isolatedVPC", NOTHING),
        (PRIVATE, "settings.isolatedVPC", True),
        ({}, "settings.enableZonalShift", NOTHING),
        ({"cluster": {"creator_is_admin": True, "zonal_shift": True}}, "settings.enableZonalShift", True),
        (
            {**PRIVATE, "cluster": {"creator_is_admin": True, "zonal_shift": True}},
            "settings.enableZonalShift",
            NOTHING,
        ),
        ({}, "settings.reservedENIs", NOTHING),
        ({"network": {"pod_cidr": "100.64.0.0/16"}}, "settings.reservedENIs", "1"),
        ({}, "settings.featureGates", NOTHING),
        ({"karpenter": {"feature_gates": {"node_repair": True}}}, "settings.featureGates", {"nodeRepair": True}),
        ({}, "serviceAccount.name", "karpenter"),
        ({"karpenter": {"service_account": "scaler"}}, "serviceAccount.name", "scaler"),
        ({}, "replicas", 2),
        ({"karpenter": {"replicas": 1}}, "replicas", 1),
        ({}, "dnsPolicy", "Default"),
        ({}, "topologySpreadConstraints", [SPREAD]),
        ({}, "controller.resources.requests", {"cpu": "1", "memory": "1Gi"}),
        ({}, "controller.resources.limits", {"cpu": "1", "memory": "1Gi"}),
        ({}, "controller.env", [{"name": "AWS_REGION", "value": "us-west-2"}]),
        ({}, "serviceMonitor", NOTHING),
        ({"kubernetes": {"prometheus": True}}, "serviceMonitor.enabled", True),
        # The chart's defaults keep it off Karpenter's own nodes and off tainted ones.
        ({}, "tolerations", NOTHING),
        ({}, "affinity", NOTHING),
        ({"kubernetes": {"charts": {"karpenter": {"values": {"logLevel": "debug"}}}}}, "logLevel", "debug"),
        ({"kubernetes": {"charts": {"karpenter": {"values": {"dnsPolicy": "None"}}}}}, "dnsPolicy", "None"),
    ],
)
def test_controller(fields: dict[str, Any], path: str, expected: object) -> None:
    assert at(karpenter_values(**fields), path) == expected


def test_sharing_gpus_switches_overlays_on() -> None:
    found = bundle({"gpu_sharing": {"time_slicing": {"replicas": 2}}})
    assert found.charts[1].values["settings"]["featureGates"] == {"nodeOverlay": True}


# --- names that are references in Terraform


@pytest.mark.parametrize("fields", [{}, PRIVATE])
def test_every_reference_is_known_beforehand(fields: dict[str, Any]) -> None:
    """Manifests are complete without a stack's outputs."""
    whole = resolved_with_pools({}, **fields)
    names = known(whole)
    found = Bundle(tuple(releases(whole)))
    texts = str([*found.objects, *(each.values for each in found.charts)])
    assert set(references_in(texts)) <= set(names)
    assert not references_in(str(replaced([*found.objects], lambda reference: names[reference])))


def test_known_names() -> None:
    assert known(resolve(strategy())) == {Reference.CLUSTER_NAME: "demo"}
    assert known(resolved_with_pools({})) == {
        Reference.CLUSTER_NAME: "demo",
        Reference.KARPENTER_QUEUE: "demo-karpenter",
        Reference.KARPENTER_NODE_ROLE: "demo-us-west-2-karpenter-node",
    }
    assert known(resolved_with_pools({}, karpenter={"interruption_queue": False}, **PRIVATE)) == {
        Reference.CLUSTER_NAME: "demo",
        Reference.KARPENTER_NODE_ROLE: "demo-us-west-2-karpenter-node",
        Reference.KARPENTER_INSTANCE_PROFILE: "demo-us-west-2-karpenter-node",
    }


# --- NodePool

TEMPLATE = "template.spec"


def required_values(pool: Any, key: str) -> Any:
    found = [each for each in at(pool, "spec.template.spec.requirements") if each["key"] == key]
    assert [each["operator"] for each in found] == ["In"]
    return found[0]["values"]


@in_one_test(
    ("fields", "key", "expected"),
    [
        ({}, "node.kubernetes.io/instance-type", ["g6.xlarge"]),
        (
            {"instance_types": [], "instance_families": ["g5"], "instance_sizes": ["xlarge", "2xlarge"]},
            "node.kubernetes.io/instance-type",
            ["g5.xlarge", "g5.2xlarge"],
        ),
        ({}, "kubernetes.io/arch", ["amd64"]),
        (ARM, "kubernetes.io/arch", ["arm64"]),
        ({}, "kubernetes.io/os", ["linux"]),
        ({}, "karpenter.sh/capacity-type", ["on-demand"]),
        ({"capacity": ["spot", "on-demand"]}, "karpenter.sh/capacity-type", ["spot", "on-demand"]),
        (RESERVED, "karpenter.sh/capacity-type", ["reserved"]),
        ({**RESERVED, "capacity": ["capacity-block"]}, "karpenter.sh/capacity-type", ["reserved"]),
        ({"zones": ["usw2-az1"]}, "topology.k8s.aws/zone-id", ["usw2-az1"]),
        (RESERVED, "topology.k8s.aws/zone-id", ["usw2-az2"]),
    ],
)
def test_requirements(fields: dict[str, Any], key: str, expected: list[str]) -> None:
    (pool,) = karpenter_objects("NodePool", fields)
    assert required_values(pool, key) == expected


def test_efa_stays_in_one_zone() -> None:
    # trap: aws-samples/amazon-eks-machine-learning-with-terraform-and-kubeflow#83
    (pool,) = karpenter_objects("NodePool", EFA)
    assert len(required_values(pool, "topology.k8s.aws/zone-id")) == 1


@in_one_test(
    ("fields", "path", "expected"),
    [
        (
            {},
            f"{TEMPLATE}.nodeClassRef",
            {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "pool"},
        ),
        ({}, f"{TEMPLATE}.taints", [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}]),
        (NEURON, f"{TEMPLATE}.taints", [{"key": "aws.amazon.com/neuron", "value": "true", "effect": "NoSchedule"}]),
        ({"accelerator_taint": False}, f"{TEMPLATE}.taints", NOTHING),
        (CPU, f"{TEMPLATE}.taints", NOTHING),
        # No value at all, because an empty one is refused.
        (
            {**CPU, "taints": [{"key": "example.com/web", "effect": "NO_EXECUTE"}]},
            f"{TEMPLATE}.taints",
            [{"key": "example.com/web", "effect": "NoExecute"}],
        ),
        ({}, f"{TEMPLATE}.startupTaints", NOTHING),
        ({}, f"{TEMPLATE}.expireAfter", "168h"),
        ({"workload": "training"}, f"{TEMPLATE}.expireAfter", "Never"),
        ({"disruption": {"expire_after": "48h"}}, f"{TEMPLATE}.expireAfter", "48h"),
        ({}, f"{TEMPLATE}.terminationGracePeriod", NOTHING),
        ({"disruption": {"termination_grace_period": "2h"}}, f"{TEMPLATE}.terminationGracePeriod", "2h"),
        ({}, "disruption.consolidationPolicy", "WhenEmpty"),
        ({"workload": "inference"}, "disruption.consolidationPolicy", "WhenEmptyOrUnderutilized"),
        ({}, "disruption.consolidateAfter", "15m"),
        ({"disruption": {"consolidate_after": "never"}}, "disruption.consolidateAfter", "Never"),
        ({"workload": "inference"}, "disruption.budgets", [{"nodes": "20%"}]),
        (
            {"workload": "training"},
            "disruption.budgets",
            [{"nodes": "0", "reasons": ["Underutilized", "Drifted"]}, {"nodes": "100%", "reasons": ["Empty"]}],
        ),
        ({"disruption": {"budgets": []}}, "disruption.budgets", []),
        ({}, "limits", {"nvidia.com/gpu": "4", "cpu": "16"}),
        (
            {"gpu_sharing": {"time_slicing": {"replicas": 4}}},
            "limits",
            {"nvidia.com/gpu": "16", "cpu": "16"},
        ),
        ({**CPU, "limits": {"cpu": 8, "memory": "64Gi", "nodes": 2}}, "limits.nodes", "2"),
        ({}, "weight", NOTHING),
        ({"weight": 7}, "weight", 7),
        ({"labels": {"team": "a"}}, "template.metadata.labels.team", "a"),
        ({"workload": "training"}, "template.metadata.labels.workload-type", "training"),
    ],
)
def test_node_pool(fields: dict[str, Any], path: str, expected: object) -> None:
    # trap: awsdocs/amazon-eks-user-guide#618
    (pool,) = karpenter_objects("NodePool", {"workload": "development", **fields})
    assert pool["metadata"] == {"name": "pool"}
    assert at(pool["spec"], path) == expected


@in_one_test(
    ("duration", "expected"),
    [("8h", "8h"), ("9h30m", "9h30m"), ("90m", "90m"), ("30s", "0h1m"), ("1h59m1s", "1h60m"), ("1h60s", "1h1m")],
)
def test_a_budget_lasts_whole_minutes(duration: str, expected: str) -> None:
    budget = {"nodes": "0", "schedule": "@daily", "duration": duration}
    (pool,) = karpenter_objects("NodePool", {"disruption": {"budgets": [budget]}})
    assert at(pool, "spec.disruption.budgets") == [{"nodes": "0", "schedule": "@daily", "duration": expected}]


@in_one_test("fields", [{}, NEURON, EFA, CPU, BOTTLEROCKET, {"gpu_sharing": {"mig_profile": "1g.5gb"}}])
def test_no_label_of_karpenters_own(fields: dict[str, Any]) -> None:
    """Karpenter refuses a pool that sets one."""
    types = {"instance_types": ["p4d.24xlarge"]} if "gpu_sharing" in fields else {}
    (pool,) = karpenter_objects("NodePool", {**types, **fields})
    for key in pool["spec"]["template"]["metadata"]["labels"]:
        domain = key.rpartition("/")[0]
        assert not domain.endswith(("karpenter.sh", "karpenter.k8s.aws"))
        assert key != "kubernetes.io/hostname"


# --- EC2NodeClass

DISCOVERY = {"tags": {"karpenter.sh/discovery": "demo"}}


@in_one_test(
    ("fields", "path", "expected"),
    [
        ({"ami": {"version": "v20260714"}}, "amiSelectorTerms", [{"alias": "al2023@v20260714"}]),
        (
            {"ami": {"family": "bottlerocket", "version": "v1.67.0"}},
            "amiSelectorTerms",
            [{"alias": "bottlerocket@v1.67.0"}],
        ),
        ({}, "amiFamily", NOTHING),
        ({"ami": {"image_id": "ami-01234567"}}, "amiSelectorTerms", [{"id": "ami-01234567"}]),
        ({"ami": {"image_id": "ami-01234567"}}, "amiFamily", "AL2023"),
        ({"ami": {"family": "bottlerocket", "image_id": "ami-01234567"}}, "amiFamily", "Bottlerocket"),
        ({}, "role", Reference.KARPENTER_NODE_ROLE.text),
        ({}, "instanceProfile", NOTHING),
        ({}, "subnetSelectorTerms", [DISCOVERY]),
        ({}, "securityGroupSelectorTerms", [DISCOVERY]),
        (EFA, "securityGroupSelectorTerms", [DISCOVERY, {"name": "demo-efa"}]),
        ({}, "networkInterfaces", NOTHING),
        ({}, "associatePublicIPAddress", NOTHING),
        (EFA, "associatePublicIPAddress", NOTHING),
        ({}, "placementGroupSelector", NOTHING),
        (EFA, "placementGroupSelector", {"name": "demo/pool"}),
        ({**EFA, **RESERVED}, "placementGroupSelector", NOTHING),
        ({}, "capacityReservationSelectorTerms", NOTHING),
        (RESERVED, "capacityReservationSelectorTerms", [{"id": "cr-0123456789abcdef0"}]),
        (
            {"capacity": ["reserved"], "reservations": [{"tags": {"a": "b"}, "owner_account_id": "111122223333"}]},
            "capacityReservationSelectorTerms",
            [{"tags": {"a": "b"}, "ownerID": "111122223333"}],
        ),
        (
            {"capacity": ["reserved"], "reservations": [{"tags": {"a": "b"}}]},
            "capacityReservationSelectorTerms",
            [{"tags": {"a": "b"}}],
        ),
        ({}, "instanceStorePolicy", "RAID0"),
        ({"instance_store": "mount"}, "instanceStorePolicy", NOTHING),
        ({"instance_store": "none"}, "instanceStorePolicy", NOTHING),
        (CPU, "instanceStorePolicy", NOTHING),
        ({"kubelet": {"max_pods": 30}}, "kubelet", {"maxPods": 30}),
        (
            {"kubelet": {"max_pods": 30, "system_reserved": {"cpu": "100m"}, "kube_reserved": {"memory": "1Gi"}}},
            "kubelet",
            {"maxPods": 30, "systemReserved": {"cpu": "100m"}, "kubeReserved": {"memory": "1Gi"}},
        ),
        (
            {"kubelet": {"image_gc_high_threshold_percent": 70, "image_gc_low_threshold_percent": 0}},
            "kubelet.imageGCLowThresholdPercent",
            0,
        ),
        (
            {},
            "metadataOptions",
            {"httpEndpoint": "enabled", "httpTokens": "required", "httpPutResponseHopLimit": 1},
        ),
        ({"pods_use_imds": True}, "metadataOptions.httpPutResponseHopLimit", 2),
        ({}, "detailedMonitoring", False),
        ({"detailed_monitoring": True}, "detailedMonitoring", True),
        ({}, "tags.Name", "demo/pool"),
        ({"tags": {"team": "a"}}, "tags.team", "a"),
        ({}, "userData", NOTHING),
        ({"kubelet": {"max_pods": 30}}, "userData", NOTHING),
        (BOTTLEROCKET, "userData", NOTHING),
    ],
)
def test_node_class(fields: dict[str, Any], path: str, expected: object) -> None:
    (node_class,) = karpenter_objects("EC2NodeClass", fields)
    assert node_class["metadata"] == {"name": "pool"}
    assert at(node_class["spec"], path) == expected


@in_one_test(
    ("fields", "expected"),
    [
        (
            {"disk": {"size_gib": 120}},
            [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "120Gi", "volumeType": "gp3", "throughput": 500}}],
        ),
        (
            {"disk": {"type": "io2", "iops": 4000, "kms_key_arn": KEY}},
            [
                {
                    "deviceName": "/dev/xvda",
                    "ebs": {"volumeSize": "200Gi", "volumeType": "io2", "iops": 4000, "kmsKeyID": KEY},
                }
            ],
        ),
        # Explicit devices replace Karpenter's: without a system volume, Bottlerocket would have none.
        (
            {**BOTTLEROCKET, "disk": {"kms_key_arn": KEY}},
            [
                {"deviceName": "/dev/xvda", "ebs": {"volumeSize": "4Gi", "volumeType": "gp3", "kmsKeyID": KEY}},
                {
                    "deviceName": "/dev/xvdb",
                    "ebs": {"volumeSize": "200Gi", "volumeType": "gp3", "throughput": 500, "kmsKeyID": KEY},
                },
            ],
        ),
    ],
)
def test_volumes_are_encrypted_and_go_with_the_node(fields: dict[str, Any], expected: list[dict[str, Any]]) -> None:
    (node_class,) = karpenter_objects("EC2NodeClass", fields)
    always = {"encrypted": True, "deleteOnTermination": True}
    assert node_class["spec"]["blockDeviceMappings"] == [
        {**device, "ebs": {**device["ebs"], **always}} for device in expected
    ]


@in_one_test(
    ("instance_type", "efa_only"),
    [
        ("p4d.24xlarge", [(0, 1), (1, 0), (2, 0), (3, 0)]),
        ("p5.48xlarge", [(0, 1), *((card, 0) for card in range(1, 32))]),
        ("trn1.32xlarge", [(0, 1), *((card, 0) for card in range(1, 8))]),
    ],
)
def test_interfaces(instance_type: str, efa_only: list[tuple[int, int]]) -> None:
    # trap: aws/karpenter-provider-aws#6296
    neuron = NEURON if instance_type.startswith("trn") else {}
    (node_class,) = karpenter_objects("EC2NodeClass", {**neuron, "instance_types": [instance_type], "efa": True})
    first, *others = node_class["spec"]["networkInterfaces"]
    assert first == {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}
    assert [(each["networkCardIndex"], each["deviceIndex"]) for each in others] == efa_only
    assert {each["interfaceType"] for each in others} == {"efa-only"}


@in_one_test(
    ("fields", "texts"),
    [
        (
            {"kubelet": {"cpu_manager_policy": "static"}},
            ("application/node.eks.aws", '"cpuManagerPolicy": "static"'),
        ),
        ({"instance_store": "mount"}, ('"strategy": "Mount"',)),
        ({"user_data": {"featureGates": {"FastImagePull": True}}}, ('"FastImagePull": true',)),
        (
            {**BOTTLEROCKET, "kubelet": {"topology_manager_policy": "restricted"}},
            ("[settings.kubernetes]", 'topology-manager-policy = "restricted"'),
        ),
        (
            {**BOTTLEROCKET, "gpu_sharing": {"time_slicing": {"replicas": 3}}},
            ('device-sharing-strategy = "time-slicing"', "replicas = 3"),
        ),
    ],
)
def test_user_data(fields: dict[str, Any], texts: tuple[str, ...]) -> None:
    (node_class,) = karpenter_objects("EC2NodeClass", fields)
    for text in texts:
        assert text in node_class["spec"]["userData"]
    # Settings with a Karpenter field are not set in a second place, where the two could differ.
    assert "maxPods" not in node_class["spec"]["userData"]
    assert "RAID0" not in node_class["spec"]["userData"]


@in_one_test(
    ("fields", "parts"),
    [
        ({}, ["text/x-shellscript"]),
        ({"kubelet": {"cpu_manager_policy": "static"}}, ["application/node.eks.aws", "text/x-shellscript"]),
        (BOTTLEROCKET, []),
    ],
)
def test_a_lustre_client_is_installed(fields: dict[str, Any], parts: list[str]) -> None:
    (node_class,) = karpenter_objects("EC2NodeClass", fields, storage={"fsx_lustre": {"size_gib": 1200}})
    text = node_class["spec"].get("userData", "")
    types = [line for line in text.splitlines() if line.startswith("Content-Type: ") and "multipart" not in line]
    assert [line.removeprefix("Content-Type: ").partition(";")[0] for line in types] == parts


def test_a_private_network_has_an_instance_profile() -> None:
    """IAM is not reachable from it, so Karpenter creates none."""
    (node_class,) = karpenter_objects("EC2NodeClass", {}, **PRIVATE)
    assert node_class["spec"]["instanceProfile"] == Reference.KARPENTER_INSTANCE_PROFILE.text
    assert "role" not in node_class["spec"]


def test_subnets_that_may_not_be_tagged_are_named() -> None:
    network = {
        "existing": {
            "vpc_id": "vpc-0123456789abcdef0",
            "private_subnets": {"usw2-az1": "subnet-01234567", "usw2-az2": "subnet-12345678"},
            "tag_subnets": False,
        }
    }
    (node_class,) = karpenter_objects("EC2NodeClass", {"zones": ["usw2-az2"]}, network=network)
    assert node_class["spec"]["subnetSelectorTerms"] == [{"id": "subnet-12345678"}]


# --- NodeOverlay


@in_one_test(
    ("fields", "expected"),
    [
        ({}, []),
        (
            {"gpu_sharing": {"time_slicing": {"replicas": 4}}},
            [("pool-4", ["g6.xlarge"], {"nvidia.com/gpu": "4"})],
        ),
        # No whole GPU remains: Karpenter must not launch such a node for a pod that requests one.
        (
            {"gpu_sharing": {"time_slicing": {"replicas": 4, "rename": True}}},
            [("pool-4", ["g6.xlarge"], {"nvidia.com/gpu": "0", "nvidia.com/gpu.shared": "4"})],
        ),
        (
            {"instance_types": ["g6.12xlarge", "g6.xlarge"], "gpu_sharing": {"time_slicing": {"replicas": 2}}},
            [
                ("pool-2", ["g6.xlarge"], {"nvidia.com/gpu": "2"}),
                ("pool-8", ["g6.12xlarge"], {"nvidia.com/gpu": "8"}),
            ],
        ),
        ({"instance_types": ["g6f.xlarge"]}, [("pool-1", ["g6f.xlarge"], {"nvidia.com/gpu": "1"})]),
    ],
)
def test_overlays(fields: dict[str, Any], expected: list[tuple[str, list[str], dict[str, str]]]) -> None:
    found = karpenter_objects("NodeOverlay", fields)
    assert [each["apiVersion"] for each in found] == ["karpenter.sh/v1alpha1"] * len(expected)
    for overlay, (name, types, capacity) in zip(found, expected, strict=True):
        assert overlay["metadata"] == {"name": name}
        # Another pool's nodes of the same type are not shared.
        assert overlay["spec"]["requirements"] == [
            {"key": "karpenter.sh/nodepool", "operator": "In", "values": ["pool"]},
            {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": types},
        ]
        assert overlay["spec"]["capacity"] == capacity


@in_one_test("name", SHIPPED)
def test_pools_come_last_and_go_first(name: str) -> None:
    """Uninstalled in reverse order: device plugins and controllers outlive their nodes."""
    installed = whole_bundle(resolved_shipped(name)).releases
    *others, last = installed
    if RESOURCES in {each.name for each in installed}:
        assert last.name == RESOURCES
        assert set(last.after) == {each.name for each in others}

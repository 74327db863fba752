"""Node objects, and what device plugins advertise on them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, cast

from eks_hardware.catalogue import load
from eks_hardware.kubernetes.allocatable import allocatable
from eks_hardware.local.cluster import Cluster
from eks_hardware.local.cluster_client import ApiError
from eks_hardware.local.node_devices import Devices
from eks_hardware.local.node_object import Image, Machine, node
from eks_hardware.local.node_plugins import DISCOVERY, EFA, NEURON, NVIDIA, Plugin, advertised, running
from eks_hardware.local.node_user_data import Boot
from eks_hardware.resolve import resolve
from eks_hardware.resolve.extended_resources import extended_resources_of
from eks_hardware.resolve.huge_pages import default_huge_pages
from eks_hardware.units import GIB, MIB, amount
from helpers.cases import in_one_test
from helpers.instances import instance_type
from helpers.strategies import group, strategy

NAMES = {
    "amazon-eks-node-al2023-arm64-standard-1.34-v20260625": Image("al2023", "standard", "1.34"),
    "amazon-eks-node-al2023-x86_64-nvidia-1.35-v20260625": Image("al2023", "nvidia", "1.35"),
    "bottlerocket-aws-k8s-1.35-x86_64-v1.57.0-1a2b": Image("bottlerocket", "standard", "1.35"),
    "bottlerocket-aws-k8s-1.36-nvidia-aarch64-v1.57.0": Image("bottlerocket", "nvidia", "1.36"),
    "bottlerocket-aws-k8s-1.36-nvidia-fips-x86_64-v1.57.0": Image("bottlerocket", "nvidia", "1.36"),
    "our-image": Image(),
}


def machine(
    kind: str,
    *,
    image: str = "our-image",
    efas: int = 0,
    family: str = "al2023",
    version: str = "1.35",
    settings: Mapping[str, Any] | None = None,
    **booted: Any,
) -> Machine:
    """Return an instance of a type that booted with these settings."""
    defaults: dict[str, Any] = {
        "cluster": "c",
        "endpoint": "https://c",
        "authority": b"",
        "labels": {},
        "taints": (),
        "max_pods": 110,
        "reserved": {"kube": {}, "system": {}},
        "eviction": {},
        "instance_name": False,
        "instance_store": False,
        "huge_pages": None,
    }
    return Machine(
        instance={
            "InstanceId": "i-1",
            "InstanceType": kind,
            "PrivateDnsName": "ip-10-0-0-1.us-west-2.compute.internal",
            "PrivateIpAddress": "10.0.0.1",
            "Placement": {"AvailabilityZone": "us-west-2a"},
            "NetworkInterfaces": [{"InterfaceType": each} for each in ["interface", *["efa"] * efas]],
        },
        kind=instance_type(kind),
        image=Image.of(image),
        boot=Boot(family=family, settings=settings or {}, **{**defaults, **booted}),
        version=version,
        region="us-west-2",
        zone_id="usw2-az1",
        disk=Fraction(100 * GIB),
    )


@in_one_test(("name", "image"), NAMES.items())
def test_the_name_of_an_image(name: str, image: Image) -> None:
    assert Image.of(name) == image


def test_drivers() -> None:
    both = ["nvidia", "neuron"]
    found = [[device for device in both if image.has_driver(device)] for image in NAMES.values()]
    assert found == [[], ["nvidia"], ["neuron"], both, both, both]


@in_one_test(
    ("kind", "fields", "efas"),
    [
        ("m6i.xlarge", {}, 0),
        ("m7g.large", {}, 0),
        ("p5.48xlarge", {"efa": True}, 32),
        ("g6.xlarge", {"ami": {"family": "bottlerocket"}}, 0),
        ("p5.48xlarge", {"efa": True, "ami": {"family": "bottlerocket"}}, 32),
        ("inf2.xlarge", {"kubelet": {"kube_reserved": {"cpu": "1"}, "system_reserved": {"memory": "1Gi"}}}, 0),
    ],
)
def test_cpu_and_memory_are_what_the_strategy_expects(kind: str, fields: dict[str, Any], efas: int) -> None:
    """The catalogue's memory is what EC2 says, so both formulas give the same."""
    resolved = resolve(strategy(group(kind, **fields))).node_groups[1]
    settings = resolved.user_data
    config = settings.get("kubelet", {}).get("config", {})
    found = node(
        machine(
            kind,
            image="amazon-eks-node-al2023-x86_64-nvidia-1.35-v1" if resolved.ami_family == "al2023" else "our-image",
            family=resolved.ami_family,
            efas=efas,
            max_pods=config.get("maxPods") or settings.get("kubernetes", {}).get("max-pods"),
            reserved={"kube": config.get("kubeReserved", {}), "system": config.get("systemReserved", {})},
        )
    )["status"]["allocatable"]
    expected = allocatable(resolved, load().get(kind))
    assert abs(amount(found["cpu"]) - expected["cpu"]) <= Fraction(1, 1000)
    assert abs(amount(found["memory"]) - expected["memory"]) <= 1024


def test_what_user_data_sets() -> None:
    found = node(
        machine(
            "m6i.xlarge",
            labels={"a": "b", "topology.kubernetes.io/zone": "elsewhere"},
            taints=({"key": "t", "effect": "NoExecute"},),
            max_pods=None,
            huge_pages=512,
            eviction={"memory.available": "10%"},
            instance_name=True,
        )
    )
    assert found["metadata"]["name"] == "i-1"
    labels = found["metadata"]["labels"]
    assert (labels["a"], labels["topology.kubernetes.io/zone"]) == ("b", "us-west-2a")
    assert found["spec"]["taints"] == [{"key": "t", "effect": "NoExecute"}]
    status = found["status"]
    # 4 interfaces with 15 addresses; one of each is the interface's own
    assert status["capacity"]["pods"] == "58"
    assert status["capacity"]["hugepages-2Mi"] == "1024Mi"
    capacity, usable = (amount(status[each]["memory"]) for each in ("capacity", "allocatable"))
    assert abs(capacity * Fraction(9, 10) - usable - (255 + 11 * 58 + 1024) * MIB) < 2048


def test_more_huge_pages_than_memory() -> None:
    found = node(machine("m6i.xlarge", huge_pages=10**6))["status"]
    assert found["capacity"]["hugepages-2Mi"] == "16384Mi"
    assert found["allocatable"]["memory"] == "0Ki"


def test_the_label_of_nodeadm_for_nvidia() -> None:
    """By the device, with or without a driver; from 1.35 on."""
    has = [
        "nvidia.com/gpu.present" in node(given)["metadata"]["labels"]
        for given in (
            machine("g6.xlarge"),
            machine("g6.xlarge", image="amazon-eks-node-al2023-x86_64-standard-1.35-v1"),
            machine("g6.xlarge", version="1.34"),
            machine("g6.xlarge", family="bottlerocket"),
            machine("inf2.xlarge"),
        )
    ]
    assert has == [True, True, False, False, False]


@in_one_test("name", ["g6.xlarge", "p4d.24xlarge", "trn1.32xlarge", "trn2.48xlarge", "inf1.xlarge", "inf2.48xlarge"])
def test_devices_are_those_of_the_catalogue(name: str) -> None:
    given = machine(name, efas=2)
    plugins = {name: Plugin() for name in (NVIDIA, NEURON, EFA)}
    assert advertised(given, plugins, {}) == extended_resources_of(load().get(name), efa_count=2)


def test_a_part_of_a_gpu_is_one_gpu() -> None:
    assert Devices.of(instance_type("g6f.xlarge"), {}).gpus == 1


def test_without_driver_there_are_no_gpus() -> None:
    given = machine("g6.xlarge", image="amazon-eks-node-al2023-x86_64-standard-1.35-v1")
    assert advertised(given, {NVIDIA: Plugin()}, {}) == {}


SLICED = (
    "sharing: {timeSlicing: {renameByDefault: true, resources: [{name: nvidia.com/gpu, replicas: 4}]}}",
    "version: v1",
)
CONFIGS = {"sliced": SLICED[0], "default": SLICED[1]}
BOTTLEROCKET_MIG = {"device-partitioning-strategy": "mig", "mig": {"profile": {"h100.80gb": "1g.10gb"}}}
BOTTLEROCKET_SLICES = {"device-sharing-strategy": "time-slicing", "time-slicing": {"replicas": 4}}

# type, plugin of a chart, labels, settings of Bottlerocket's plugin -> resources
SHARED: dict[str, tuple[str, Plugin | None, dict[str, str], dict[str, Any] | None, dict[str, int]]] = {
    "whole": ("g6.xlarge", Plugin(), {}, None, {"nvidia.com/gpu": 1}),
    "no plugin": ("g6.xlarge", None, {}, None, {}),
    "no GPU": ("inf2.xlarge", Plugin(), {}, None, {}),
    "default": ("g6.xlarge", Plugin(CONFIGS, "default"), {}, None, {"nvidia.com/gpu": 1}),
    "by label": (
        "g6.xlarge",
        Plugin(CONFIGS, "default"),
        {"nvidia.com/device-plugin.config": "sliced"},
        None,
        {"nvidia.com/gpu.shared": 4},
    ),
    "unknown": ("g6.xlarge", Plugin(CONFIGS, "default"), {"nvidia.com/device-plugin.config": "other"}, None, {}),
    "MIG": (
        "p4d.24xlarge",
        Plugin(mig="mixed"),
        {"nvidia.com/mig.config": "all-1g.5gb"},
        None,
        {"nvidia.com/mig-1g.5gb": 56},
    ),
    "single": (
        "p4d.24xlarge",
        Plugin(mig="single"),
        {"nvidia.com/mig.config": "all-1g.5gb"},
        None,
        {"nvidia.com/gpu": 56},
    ),
    "not cut": ("p4d.24xlarge", Plugin(), {"nvidia.com/mig.config": "all-1g.5gb"}, None, {"nvidia.com/gpu": 8}),
    "disabled": (
        "p4d.24xlarge",
        Plugin(mig="mixed"),
        {"nvidia.com/mig.config": "all-disabled"},
        None,
        {"nvidia.com/gpu": 8},
    ),
    "Bottlerocket": ("g6.xlarge", None, {}, {}, {"nvidia.com/gpu": 1}),
    "two plugins": ("g6.xlarge", Plugin(), {}, {}, {}),
    "Bottlerocket, slices": ("g6.xlarge", None, {}, BOTTLEROCKET_SLICES, {"nvidia.com/gpu": 4}),
    "Bottlerocket, MIG": ("p5.48xlarge", None, {}, BOTTLEROCKET_MIG, {"nvidia.com/gpu": 56}),
}


@in_one_test("kind, plugin, labels, own, expected", SHARED.values(), ids=SHARED)
def test_sharing(
    kind: str, plugin: Plugin | None, labels: dict[str, str], own: dict[str, Any] | None, expected: dict[str, int]
) -> None:
    family = "al2023" if own is None else "bottlerocket"
    given = machine(kind, family=family, settings={"kubelet-device-plugins": {"nvidia": own}})
    assert advertised(given, {NVIDIA: plugin} if plugin else {}, labels) == expected


def test_bottlerocket_without_nvidia_has_no_plugin() -> None:
    assert advertised(machine("g6.xlarge", family="bottlerocket", image=[*NAMES][2]), {}, {}) == {}


class StubCluster:
    """A cluster that answers requests from a table of paths."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self._answers = answers

    def request(self, _method: str, path: str) -> Any:
        start = path.partition("?")[0]
        if start not in self._answers:
            raise ApiError(404, "not found")
        return self._answers[start]


def daemonset(name: str, **spec: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "main", **spec.pop("container", {})}], **spec}}
    return {
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }


def plugin_pod(name: str | None, phase: str) -> dict[str, Any]:
    return {"spec": {"nodeName": name} if name else {}, "status": {"phase": phase}}


def test_only_running_pods_count() -> None:
    config_map = {"name": "configs", "configMap": {"name": "configs"}}
    variables = [{"name": "DEFAULT_CONFIG", "value": "d"}, {"name": "MIG_STRATEGY", "value": "single"}]
    cluster = StubCluster(
        {
            "/apis/apps/v1/daemonsets": {
                "items": [
                    daemonset("release-nvidia-device-plugin", volumes=[config_map], container={"env": variables}),
                    daemonset("nvidia-device-plugin-mps-control-daemon"),
                    daemonset("gpu-operator-node-feature-discovery-worker"),
                    daemonset("kube-proxy"),
                ]
            },
            "/api/v1/namespaces/ns/pods": {
                "items": [
                    plugin_pod("n1", "Running"),
                    plugin_pod("n2", "Pending"),
                    plugin_pod(None, "Pending"),
                    plugin_pod("n3", "Failed"),
                ]
            },
            "/api/v1/namespaces/ns/configmaps/configs": {"data": {"d": "version: v1"}},
        }
    )
    plugin = Plugin({"d": "version: v1"}, "d", "single")
    assert running(cast(Cluster, cluster)) == {"n1": {NVIDIA: plugin, DISCOVERY: Plugin()}}


def test_a_config_map_that_is_missing() -> None:
    volume = {"name": "configs", "configMap": {"name": "configs"}}
    daemonsets = {"items": [daemonset("nvidia-device-plugin-daemonset", volumes=[volume])]}
    pods = {"items": [plugin_pod("n1", "Running")]}
    cluster = StubCluster({"/apis/apps/v1/daemonsets": daemonsets, "/api/v1/namespaces/ns/pods": pods})
    assert running(cast(Cluster, cluster)) == {"n1": {NVIDIA: Plugin()}}


def test_huge_pages_of_efa() -> None:
    """Only accelerated images of AL2023 reserve them; an image of your own may, and promises none."""
    assert node(machine("p5.48xlarge", efas=1, image=[*NAMES][1]))["status"]["capacity"]["hugepages-2Mi"] == "10256Mi"
    others = [
        machine("p5.48xlarge", efas=1),
        machine("p5.48xlarge", efas=0, image=[*NAMES][1]),
        machine("c7i.48xlarge", efas=1, image="amazon-eks-node-al2023-x86_64-standard-1.35-v1"),
    ]
    assert [node(each)["status"]["capacity"]["hugepages-2Mi"] for each in others] == ["0Mi"] * 3
    of_bottlerocket = default_huge_pages(192, ami_family="bottlerocket", accelerated=True, own_image=False)
    assert of_bottlerocket.promised_mib == 192 * 220

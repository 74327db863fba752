"""Scheduler simulation on synthesized stacks: it returns the nodes of each group or pool on which a pod can run.

Nodes of managed groups are read from the Terraform JSON. Nodes that Karpenter can launch are read from the NodePools,
EC2NodeClasses and NodeOverlays of a bundle. Labels and sizes that EC2 and the kubelet add come from the catalogue. A
node has an extended resource only if a device plugin of the bundle runs there, or Bottlerocket's own plugin. If a
plugin is missing or a taint keeps it away, the pod therefore fits nowhere.

Nodes are empty in the simulation: it ignores requests of daemonsets, so do not rely on the last few hundred millicores.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from typing import Any

from eks_hardware.catalogue import Hardware, InstanceType, load
from eks_hardware.kubernetes.model import Bundle
from eks_hardware.local.node_devices import GpuSharing, bottlerocket_sharing, gpus, plugin_sharing
from eks_hardware.local.node_user_data import bottlerocket_settings, decoded, node_config
from eks_hardware.testing import Template

from .placement import matches, requirement_met, tolerates
from .workloads import Workload, value_at, workloads

Map = Mapping[str, Any]
Amounts = Mapping[str, Decimal]

GPU, SHARED_GPU, MIG_GPU = "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-"
NEURON, NEURON_CORE = "aws.amazon.com/neuron", "aws.amazon.com/neuroncore"
EFA, HUGE_PAGES = "vpc.amazonaws.com/efa", "hugepages-2Mi"

_MIB = Decimal(1024**2)
_NEURON_HARDWARE = (Hardware.TRAINIUM, Hardware.INFERENTIA)

# Memory that an accelerated AL2023 node with EFA reserves:
# https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html
_AL2023_HUGE_PAGES = 5128 * 2 * _MIB
# Bottlerocket's reservation per CPU:
# https://github.com/bottlerocket-os/bottlerocket-core-kit/blob/develop/sources/api/corndog
_BOTTLEROCKET_HUGE_PAGES = 110 * 2 * _MIB

_EFFECTS = {"NO_SCHEDULE": "NoSchedule", "NO_EXECUTE": "NoExecute", "PREFER_NO_SCHEDULE": "PreferNoSchedule"}
_ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}

# The scheduler extension accepts only these sizes of Neuron allocations:
# https://awsdocs-neuron.readthedocs-hosted.com/en/latest/containers/tutorials/k8s-neuron-scheduler.html
_TORUS = ("trn1.32xlarge", "trn1n.32xlarge")
_TORUS_SIZES = (1, 4, 8, 16)


@dataclass(frozen=True)
class Node:
    """Kind of node that a group has or a pool can launch.

    Attributes:
        source: name of the node group or NodePool.
        pool: whether Karpenter launches it.
        most: maximum number of such nodes, in this zone and of this type alone.
        family: ``al2023`` or ``bottlerocket``.
        settings: user data: the NodeConfig's spec, or Bottlerocket's settings.
        efa: number of EFA interfaces.
        capacity: capacity from EC2 and the kubelet.
        expected: resources that Karpenter expects before the node exists; empty for groups.
        extended: resources that device plugins advertise.
        one_only: resources that a pod can request only once, or the plugin refuses it.
    """

    source: str
    pool: bool
    instance_type: str
    zone_id: str
    labels: Map
    taints: tuple[Map, ...]
    most: int
    family: str
    settings: Map
    efa: int
    capacity: Amounts
    expected: Amounts = field(default_factory=dict)
    extended: Amounts = field(default_factory=dict)
    one_only: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return f"{self.source}:{self.instance_type}"

    @property
    def allocatable(self) -> Amounts:
        """Resources for pods; on a Karpenter node, at most the resources that Karpenter expected."""
        real = {**self.capacity, **self.extended}
        if not self.pool:
            return real
        return {key: min(amount, self.expected.get(key, Decimal(0))) for key, amount in real.items()}


# --- kinds of nodes


def nodes(template: Template, bundle: Bundle) -> tuple[Node, ...]:
    """Return every kind of node of a stack, with the resources that the plugins of its bundle advertise there."""
    bare = (*group_nodes(template), *pool_nodes(bundle, template))
    landing = workloads(bundle)
    return tuple(_with_devices(node, bundle, landing) for node in bare)


def group_nodes(template: Template) -> Iterator[Node]:
    """Return the nodes of the managed node groups, without extended resources."""
    subnets = template.resources("aws_subnet")
    region = template.providers("aws")[0]["region"]
    for group in template.resources("aws_eks_node_group").values():
        launch = launch_template_of(template, group)
        zones = [
            subnets[_address(each)]["availability_zone_id"] if "${" in each else each for each in group["subnet_ids"]
        ]
        family, settings = _user_data(launch.get("user_data", ""), group.get("ami_type", ""))
        types = group.get("instance_types") or [launch["instance_type"]]
        efa = sum(1 for each in launch.get("network_interfaces", ()) if each.get("interface_type", "")[:3] == "efa")
        for kind in map(load().get, types):
            for zone in zones:
                yield Node(
                    source=group["node_group_name"],
                    pool=False,
                    instance_type=kind.name,
                    zone_id=zone,
                    labels={
                        **_kubernetes_labels(kind, region, zone),
                        "eks.amazonaws.com/nodegroup": group["node_group_name"],
                        "eks.amazonaws.com/capacityType": group.get("capacity_type", "ON_DEMAND"),
                        **group.get("labels", {}),
                    },
                    taints=tuple(
                        {"key": each["key"], "value": each.get("value", ""), "effect": _EFFECTS[each["effect"]]}
                        for each in group.get("taint", ())
                    ),
                    most=group["scaling_config"]["max_size"],
                    family=family,
                    settings=settings,
                    efa=efa,
                    capacity=_capacity(
                        kind, _max_pods(settings), huge_pages=_huge_pages(kind, family) if efa else Decimal(0)
                    ),
                )


def group_of(template: Template, name: str) -> dict[str, Any]:
    """Return a managed node group by its name."""
    groups = template.resources("aws_eks_node_group").values()
    return next(each for each in groups if each["node_group_name"] == name)


def launch_template_of(template: Template, group: Map) -> dict[str, Any]:
    """Return the launch template of a managed node group."""
    return template.resources("aws_launch_template")[_address(group["launch_template"]["id"])]


def pool_nodes(bundle: Bundle, template: Template) -> Iterator[Node]:
    """Return the nodes that Karpenter can launch from the objects of a bundle, without extended resources."""
    objects = {(each["kind"], each["metadata"]["name"]): each for each in bundle.objects}
    overlays = [each["spec"] for (kind, _), each in objects.items() if kind == "NodeOverlay"]
    controller = next((each for each in bundle.charts if each.key == "karpenter"), None)
    if controller is None:
        return
    if not value_at(controller.values, "settings.featureGates.nodeOverlay", False):
        overlays = []
    region = template.providers("aws")[0]["region"]
    for (kind_, name), pool in objects.items():
        reference = pool["spec"]["template"]["spec"]["nodeClassRef"] if kind_ == "NodePool" else {}
        node_class = objects.get(("EC2NodeClass", reference.get("name")))
        if kind_ == "NodePool" and node_class:
            for node in _offers(pool, node_class["spec"], region):
                expected = {**node.expected, **_overlaid(node, overlays)}
                limits = {key: quantity(value) for key, value in pool["spec"].get("limits", {}).items()}
                most = min(
                    (math.floor(limit / expected[key]) for key, limit in limits.items() if expected.get(key)),
                    default=sys.maxsize,
                )
                if most:
                    yield replace(node, source=name, expected=expected, most=most)


def _offers(pool: Map, node_class: Map, region: str) -> Iterator[Node]:
    """Yield the nodes that match a pool's requirements, in every zone and with every capacity type."""
    template = pool["spec"]["template"]
    requirements = template["spec"]["requirements"]
    own = {**template.get("metadata", {}).get("labels", {}), "karpenter.sh/nodepool": pool["metadata"]["name"]}
    interfaces = node_class.get("networkInterfaces")
    alias = node_class.get("amiSelectorTerms", [{}])[0].get("alias", "")
    family = (node_class.get("amiFamily") or alias.partition("@")[0] or "al2023").lower()
    _, settings = _user_data(node_class.get("userData") or "", family)
    reserved = ["reserved"] if node_class.get("capacityReservationSelectorTerms") else []
    for kind in _types(tuple(sorted(_named(requirements, "node.kubernetes.io/instance-type")))):
        efa = kind.max_efa_interfaces
        if interfaces is not None:
            efa = sum(1 for each in interfaces if each["interfaceType"] == "efa-only")
        pods = (node_class.get("kubelet") or {}).get("maxPods")
        base = _capacity(kind, pods, huge_pages=Decimal(0))
        pages = _huge_pages(kind, family) if interfaces and efa else Decimal(0)
        real = _capacity(kind, pods, huge_pages=pages)
        for zone in load().offered(kind.name, region):
            for capacity_type in [*(each for each in kind.usage_classes if each in ("on-demand", "spot")), *reserved]:
                labels = {
                    **_kubernetes_labels(kind, region, zone),
                    **_karpenter_labels(kind),
                    "karpenter.sh/capacity-type": capacity_type,
                    **own,
                }
                if all(requirement_met(labels, each) for each in requirements):
                    yield Node(
                        source="",
                        pool=True,
                        instance_type=kind.name,
                        zone_id=zone,
                        labels=labels,
                        taints=tuple(template["spec"].get("taints", ())),
                        most=0,
                        family=family,
                        settings=settings,
                        efa=efa if interfaces else 0,
                        capacity=real,
                        expected={**base, **_expected_devices(kind, efa)},
                    )


def _named(requirements: Sequence[Map], key: str) -> set[str]:
    """Return the values that a requirement lists for a key, or all values without such a requirement."""
    lists = [set(each["values"]) for each in requirements if each["key"] == key and each["operator"] == "In"]
    return set.intersection(*lists) if lists else set()


@cache
def _types(names: tuple[str, ...]) -> tuple[InstanceType, ...]:
    return tuple(kind for kind in load().select() if not names or kind.name in names)


def _overlaid(node: Node, overlays: Sequence[Map]) -> dict[str, Decimal]:
    """Return the resources that NodeOverlays set for a node; the highest weight wins."""
    matching = [each for each in overlays if all(requirement_met(node.labels, term) for term in each["requirements"])]
    found: dict[str, Decimal] = {}
    for overlay in sorted(matching, key=lambda each: int(each.get("weight", 0))):
        found |= {key: quantity(value) for key, value in overlay.get("capacity", {}).items()}
    return found


def _expected_devices(kind: InstanceType, efa: int) -> dict[str, Decimal]:
    """Return the extended resources that Karpenter derives for a type.

    Source: https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/pkg/providers/instancetype/types.go
    (computeCapacity); it does not include huge pages.
    """
    found = {EFA: Decimal(efa)}
    if kind.accelerator and kind.hardware is Hardware.NVIDIA_GPU:
        # EC2's count of a fraction of a GPU is 0 (config/catalogue/corrections.json).
        found[GPU] = Decimal(0 if kind.accelerator.fraction else kind.accelerator.count)
    if kind.accelerator and kind.hardware in _NEURON_HARDWARE:
        found |= {NEURON: Decimal(kind.accelerator.count), NEURON_CORE: Decimal(kind.accelerator.neuron_cores or 0)}
    return found


# --- labels and sizes ---------------------------------------------------------------------------------------------


def _kubernetes_labels(kind: InstanceType, region: str, zone_id: str) -> dict[str, str]:
    """Return the labels of every node on EC2. Zone names differ by account, so the zone id is used instead."""
    return {
        "kubernetes.io/arch": _ARCHITECTURES[kind.architecture],
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": kind.name,
        "topology.kubernetes.io/region": region,
        "topology.kubernetes.io/zone": f"zone-of-{zone_id}",
        "topology.k8s.aws/zone-id": zone_id,
    }


def _karpenter_labels(kind: InstanceType) -> dict[str, str]:
    """Return the labels that Karpenter sets, if the catalogue has their values.

    Source: https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/pkg/providers/instancetype/types.go
    (computeRequirements)
    """
    prefix, category = "karpenter.k8s.aws/instance-", re.match(r"([a-z]+?)(?:-[a-z0-9]+)?(\d+)", kind.family)
    found = {
        f"{prefix}family": kind.family,
        f"{prefix}size": kind.size,
        f"{prefix}cpu": str(kind.vcpus),
        f"{prefix}memory": str(int(kind.memory_gib * 1024)),
        "karpenter.sh/registered": "true",
    }
    if category:
        found |= {f"{prefix}category": category[1], f"{prefix}generation": category[2]}
    if kind.instance_store:
        found[f"{prefix}local-nvme"] = str(kind.instance_store.total_gb)
    device = kind.accelerator
    if device and kind.hardware is Hardware.NVIDIA_GPU:
        found |= {
            f"{prefix}gpu-name": device.label_name,
            f"{prefix}gpu-manufacturer": "nvidia",
            f"{prefix}gpu-count": str(device.count),
        }
    elif device and kind.hardware in _NEURON_HARDWARE:
        found |= {
            f"{prefix}accelerator-name": device.label_name,
            f"{prefix}accelerator-manufacturer": "aws",
            f"{prefix}accelerator-count": str(device.count),
        }
    return found


def _huge_pages(kind: InstanceType, family: str) -> Decimal:
    """Return the bytes that a node with EFA reserves."""
    if family == "bottlerocket":
        return kind.vcpus * _BOTTLEROCKET_HUGE_PAGES
    return _AL2023_HUGE_PAGES if kind.accelerator else Decimal(0)


def _capacity(kind: InstanceType, max_pods: int | None, *, huge_pages: Decimal) -> dict[str, Decimal]:
    """Return CPU, memory and pods of a node without the kubelet's reservations, estimated on the low side.

    Sources: https://github.com/awslabs/amazon-eks-ami (nodeadm/internal/kubelet/config.go), and Karpenter's 7.5% of
    memory that the hypervisor uses (https://karpenter.sh/v1.14/reference/settings/).
    """
    pods = max_pods or 110
    # 6% of the first core, 1% of the second, 0.5% of the next two, 0.25% of the others.
    shares = ((1, "0.06"), (2, "0.01"), (4, "0.005"), (max(kind.vcpus, 4), "0.0025"))
    kept, last = Decimal(0), 0
    for upto, share in shares:
        kept += max(min(upto, kind.vcpus) - last, 0) * Decimal(share)
        last = upto
    memory = Decimal(str(kind.memory_gib)) * 1024 * _MIB * Decimal("0.925")
    memory -= (255 + 11 * pods + 100) * _MIB
    found = {"cpu": kind.vcpus - kept, "memory": memory, "pods": Decimal(pods)}
    if huge_pages:
        found |= {"memory": memory - huge_pages, HUGE_PAGES: huge_pages}
    return found


def _address(expression: str) -> str:
    """Return ``aws_subnet.a`` for ``${aws_subnet.a.id}``."""
    return ".".join(expression.removeprefix("${").split(".")[:2])


def _user_data(text: str, ami: str) -> tuple[str, Map]:
    """Return the operating system and settings from a node's user data, which can be base64, MIME or TOML."""
    plain = decoded(text.encode())
    if "bottlerocket" in ami.lower() or b"[settings" in plain:
        return "bottlerocket", bottlerocket_settings(plain) if plain and b"${" not in plain else {}
    # A shell script is the only part of some user data.
    return "al2023", node_config(plain) if b"NodeConfig" in plain else {}


def _max_pods(settings: Map) -> int | None:
    found = value_at(settings, "kubelet.config.maxPods", None) or value_at(settings, "kubernetes.max-pods", None)
    return int(found) if found else None


# --- device plugins -----------------------------------------------------------------------------------------------


def _with_devices(node: Node, bundle: Bundle, landing: Sequence[Workload]) -> Node:
    """Return the node with the resources that device plugins on it advertise."""
    kind = load().get(node.instance_type)
    there = {each.name for each in landing if each.kind == "DaemonSet" and lands(each, node)}
    found = dict(_neuron_and_efa(node, kind, there))
    config = _gpu_config(node, bundle, there) if kind.hardware is Hardware.NVIDIA_GPU else None
    if config is None:
        return replace(node, extended=found)
    resource, amount = gpus(kind, kind.accelerator.count if kind.accelerator else 0, config)
    return replace(
        node, extended={**found, resource: Decimal(amount)}, one_only=frozenset({resource} if config.one_only else ())
    )


def _gpu_config(node: Node, bundle: Bundle, there: set[str]) -> GpuSharing | None:
    ways = [each for each in (_plugin_config(node, bundle, there), _own_plugin(node)) if each is not None]
    # Two plugins conflict over one socket.
    return ways[0] if len(ways) == 1 else None


def _neuron_and_efa(node: Node, kind: InstanceType, there: set[str]) -> Iterator[tuple[str, Decimal]]:
    device = kind.accelerator
    if device and kind.hardware in _NEURON_HARDWARE and "neuron-device-plugin" in there:
        cores = device.neuron_cores or 0
        yield NEURON, Decimal(device.count)
        # Two physical cores of Trainium2 are one logical core.
        yield NEURON_CORE, Decimal(cores // 2 if kind.family.startswith("trn2") else cores)
    if node.efa and "aws-efa-k8s-device-plugin" in there:
        yield EFA, Decimal(node.efa)


def lands(workload: Workload, node: Node) -> bool:
    """Return whether a workload's pods can run on a node, ignoring resources."""
    labels = {**node.labels}
    if load().get(node.instance_type).hardware is Hardware.NVIDIA_GPU and _is_discovered(workload, node):
        labels["feature.node.kubernetes.io/pci-10de.present"] = "true"
    return tolerates(node.taints, workload.tolerations) and matches(labels, workload.node_selector, workload.affinity)


def _is_discovered(workload: Workload, node: Node) -> bool:
    """Return whether Node Feature Discovery runs on the node, with the tolerations of the operator's daemonsets."""
    return workload.release == "gpu-operator" and tolerates(node.taints, workload.tolerations)


def _plugin_config(node: Node, bundle: Bundle, there: set[str]) -> GpuSharing | None:
    """Return the configuration of the plugin on a node, by the label that selects it; None without a plugin."""
    if "nvidia-device-plugin" in there:
        return _of_configs(node, _values(bundle, "nvidia-device-plugin"), "config.map", "config.default")
    if {"nvidia-device-plugin-daemonset", "gpu-operator-node-feature-discovery-worker"} <= there:
        values = _values(bundle, "gpu-operator")
        mig = node.labels.get("nvidia.com/mig.config", "all-disabled").removeprefix("all-")
        if mig != "disabled":
            # Without the manager, GPUs are not partitioned, and the plugin shows whole ones.
            strategy = value_at(values, "mig.strategy", "single")
            cut = strategy != "none" and value_at(values, "migManager.enabled", True)
            return GpuSharing(mig_profile=mig, mixed=strategy == "mixed") if cut else GpuSharing()
        return _of_configs(node, values, "devicePlugin.config.data", "devicePlugin.config.default")
    return None


def _values(bundle: Bundle, key: str) -> Map:
    return next(each.values for each in bundle.charts if each.key == key)


def _of_configs(node: Node, values: Map, configs: str, default: str) -> GpuSharing | None:
    named = value_at(values, configs, {})
    chosen = node.labels.get("nvidia.com/device-plugin.config") or value_at(values, default, "")
    if not named:
        return GpuSharing()
    if chosen not in named:
        # The plugin's pod fails if the label names a configuration that does not exist.
        return None
    return plugin_sharing(named[chosen])


def _own_plugin(node: Node) -> GpuSharing | None:
    """Return the configuration of the plugin in Bottlerocket's NVIDIA images, from user data."""
    return bottlerocket_sharing(node.settings) if node.family == "bottlerocket" else None


# --- placement of pods


def fits(pod: Map, candidates: Iterable[Node], *, schedulers: Iterable[str] = ()) -> list[str]:
    """Return where a pod can run, as sorted ``group:type`` and ``pool:type``.

    Args:
        pod: a Pod, or the template of a Job or Deployment.
        candidates: from :func:`nodes`.
        schedulers: schedulers in addition to the default one.
    """
    return sorted({node.name for node in candidates if _fits(pod, node, schedulers)})


def homes(pod: Map, candidates: Iterable[Node], *, schedulers: Iterable[str] = ()) -> set[str]:
    """Return the groups and pools where a pod can run."""
    return {name.partition(":")[0] for name in fits(pod, candidates, schedulers=schedulers)}


def gang_homes(pod: Map, count: int, candidates: Sequence[Node]) -> set[str]:
    """Return the groups and pools with room for a number of copies of a pod in one zone."""
    room: dict[tuple[str, str], int] = {}
    for node in candidates:
        if _fits(pod, node, ()):
            place = (node.source, node.zone_id)
            room[place] = max(room.get(place, 0), min(_copies(pod, node), count) * min(node.most, count))
    return {source for (source, _), places in room.items() if places >= count}


def _copies(pod: Map, node: Node) -> int:
    """Return the number of copies of a pod that fit on one node."""
    return min(int(node.allocatable[key] // amount) for key, amount in requests(pod).items() if amount)


def _fits(pod: Map, node: Node, schedulers: Iterable[str]) -> bool:
    spec = pod["spec"]
    scheduler = spec.get("schedulerName", "default-scheduler")
    if scheduler != "default-scheduler" and scheduler not in schedulers:
        return False
    asked = requests(pod)
    extended = scheduler != "default-scheduler" and node.instance_type in _TORUS
    if extended and asked.get(NEURON, 1) not in _TORUS_SIZES:
        return False
    if any(asked.get(key, 0) > 1 for key in node.one_only):
        return False
    return (
        tolerates(node.taints, spec.get("tolerations", ()))
        and matches(node.labels, spec.get("nodeSelector", {}), spec.get("affinity", {}))
        and all(node.allocatable.get(key, Decimal(0)) >= amount for key, amount in asked.items())
    )


def admitted(pod: Map) -> dict[str, Any]:
    """Return a pod as EKS's API server stores it: with a toleration for the taint of each requested extended resource.

    EKS runs the ExtendedResourceToleration admission plugin on every version
    (https://docs.aws.amazon.com/eks/latest/userguide/platform-versions.html). The plugin matches a taint by the
    resource's name (https://github.com/kubernetes/kubernetes/pull/55839).
    """
    added = [
        {"key": key, "operator": "Exists", "effect": "NoSchedule"}
        for key in sorted(requests(pod))
        if "/" in key and not key.split("/")[0].endswith("kubernetes.io")
    ]
    return {**pod, "spec": {**pod["spec"], "tolerations": [*pod["spec"].get("tolerations", ()), *added]}}


def requests(pod: Map) -> dict[str, Decimal]:
    """Return a pod's requests: the sum of its containers, or its largest init container; plus one pod."""
    spec = pod["spec"]
    total: dict[str, Decimal] = {}
    for container in spec["containers"]:
        for key, amount in _of_container(container).items():
            total[key] = total.get(key, Decimal(0)) + amount
    for container in spec.get("initContainers", ()):
        for key, amount in _of_container(container).items():
            total[key] = max(total.get(key, Decimal(0)), amount)
    return {**total, "pods": Decimal(1)}


def _of_container(container: Map) -> dict[str, Decimal]:
    resources = container.get("resources", {})
    # A limit without a request is the request.
    asked = {**resources.get("limits", {}), **resources.get("requests", {})}
    return {key: quantity(value) for key, value in asked.items()}


_UNITS = {"m": Decimal("0.001"), "": Decimal(1)}
_UNITS |= {unit: Decimal(1000) ** power for power, unit in enumerate(("k", "M", "G", "T", "P", "E"), 1)}
_UNITS |= {f"{unit}i": Decimal(1024) ** power for power, unit in enumerate(("K", "M", "G", "T", "P", "E"), 1)}


def quantity(value: str | int) -> Decimal:
    """Return a Kubernetes quantity such as ``500m`` or ``1Gi`` as a number."""
    found = re.fullmatch(r"([0-9.]+)([a-zA-Z]*)", str(value))
    if not found:
        raise ValueError(f"{value!r} is not a quantity")
    return Decimal(found[1]) * _UNITS[found[2]]

"""Rules about room for the cluster's own software on the nodes that always run.

Karpenter launches a node only once it runs itself, and it needs DNS. Pods that do not fit on the node groups' initial
nodes wait forever, or until Karpenter launches a node for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from eks_hardware import facts, field_paths
from eks_hardware.catalogue import Hardware, InstanceType
from eks_hardware.models import NodeGroupSpec
from eks_hardware.resolve.addons import addons_of
from eks_hardware.resolve.max_pods import HOST_PODS, delegation, fewest_pods, pods_per_node
from eks_hardware.resolve.node import ami_family
from eks_hardware.resolve.reserved import kube_reserved, memory_of_guest, pods_with_addresses
from eks_hardware.resolve.system_pods import daemonset_pods, replicas, requests, values_if_on
from eks_hardware.resolve.vpc import has_pod_subnets
from eks_hardware.rules.placement import below, placed_charts
from eks_hardware.rules.registry import Breach, Context, Node, error, node_path, type_names, type_path, warning
from eks_hardware.rules.taints import is_open_to
from eks_hardware.suggestions import several
from eks_hardware.units import GIB, MIB, amount_or_none

# The kubelet's default, used only for types whose number of pods is unknown.
_USUAL_PODS = 110
_MOST_REPLICAS = 1000


class _Pod(NamedTuple):
    name: str
    cpu: Fraction
    memory: Fraction


@dataclass
class _Room:
    """The free CPUs, bytes of memory and pods of one node."""

    cpu: Fraction
    memory: Fraction
    pods: int
    apart: frozenset[str] = frozenset()

    def takes(self, pod: _Pod) -> bool:
        """Place a pod if it fits; Karpenter's replicas never share a node."""
        if pod.cpu > self.cpu or pod.memory > self.memory or self.pods < 1 or pod.name in self.apart:
            return False
        self.cpu, self.memory, self.pods = self.cpu - pod.cpu, self.memory - pod.memory, self.pods - 1
        if pod.name == "karpenter":
            self.apart |= {pod.name}
        return True


# --- what must run


def _software(context: Context) -> list[tuple[str, int, Mapping[str, object]]]:
    """Return the name, replicas and values of each controller that runs on untainted nodes."""
    strategy, known = context.strategy, facts.system_pods()["deployments"]
    enabled = addons_of(strategy)
    installed = context.charts
    software: list[tuple[str, int, Mapping[str, object]]] = []
    for name, row in known.items():
        if name == "karpenter":
            if strategy.karpenter:
                software.append((name, strategy.karpenter.replicas, below(context.chart_values(name), ("controller",))))
        elif name in installed:
            values = below(context.chart_values(name), field_paths.split(row.get("values", "")))
            software.append((name, _count(values, row["replicas"]), values))
        elif name in enabled:
            configuration = context.addon_configuration(name)
            part = values_if_on(configuration, row.get("values", ""))
            if part is not None:
                software.append((name, _count(part, _count(configuration, row["replicas"])), part))
    return software


def _count(values: Mapping[str, object], default: int) -> int:
    count = replicas(values, default)
    return count if count < _MOST_REPLICAS else default


def _amount(value: object, default: Fraction) -> Fraction:
    given = amount_or_none(value)
    return default if given is None else given


def _pods(context: Context) -> tuple[_Pod, ...]:
    """Return the pods of the system's software that have to be placed."""
    return context.once(_placed)


def _placed(context: Context) -> tuple[_Pod, ...]:
    known = facts.system_pods()["deployments"]
    pods: list[_Pod] = []
    for name, count, values in _software(context):
        pods += [_Pod(name, *requests(values, known[name]))] * count
    for chart, part, values in placed_charts(context):
        if chart in known:
            continue
        # A pod without requests takes up no room that others need.
        cpu, memory = requests(values)
        if cpu or memory:
            pods += [_Pod(part or chart, cpu, memory)] * _count(values, 1)
    return tuple(pods)


# --- where


def _rooms(context: Context) -> tuple[list[_Room], NodeGroupSpec | None]:
    """Return the free resources of each untainted initial node, and the CPU group with the most such nodes."""
    rooms, group = context.once(_empty_rooms)
    return [replace(room) for room in rooms], group  # placing pods changes them


def _empty_rooms(context: Context) -> tuple[list[_Room], NodeGroupSpec | None]:
    rooms: list[_Room] = []
    largest: tuple[int, NodeGroupSpec | None] = (0, None)
    grows = "cluster-autoscaler" in context.charts
    tolerated = facts.addons()["coredns"].get("tolerations", ())
    for group in context.strategy.node_groups:
        kinds = context.types(group)
        if not kinds or len(kinds) != len(group.instance_types) or not is_open_to(context, group, tolerated):
            continue
        scaling = group.scaling
        count = scaling.max if grows and scaling.autoscaled else scaling.initial
        if kinds[0].hardware is Hardware.CPU and count > largest[0]:
            largest = (count, group)
        # The group launches any of its types, and the smallest has the least room.
        smallest = min(kinds, key=lambda kind: (kind.memory_gib, kind.vcpus))
        room = _room(context, group, smallest)
        rooms += [replace(room) for _ in range(count)]
    return rooms, largest[1]


def _room(context: Context, group: NodeGroupSpec, kind: InstanceType) -> _Room:
    """Return the room that a node of a type has, besides the pods that run on every node."""
    strategy = context.strategy
    cards = kind.network_cards[0].max_interfaces if kind.network_cards else None
    addresses = (
        pods_with_addresses(cards, kind.ipv4_per_interface) if cards and kind.ipv4_per_interface else _USUAL_PODS
    )
    reserved = _reserved(group, kube_reserved(kind.vcpus, addresses))
    cpu = kind.vcpus - reserved["cpu"]
    memory = memory_of_guest(Fraction(kind.memory_gib) * GIB, arm64=kind.architecture == "arm64")
    memory -= facts.memory()["host"]["eviction_mib"] * MIB + reserved["memory"]
    most = (
        pods_per_node(group, context.types(group), custom_networking=has_pod_subnets(strategy.network)) or _USUAL_PODS
    )
    here = _daemonsets(context, kind)
    return _Room(cpu - sum(each.cpu for each in here), memory - sum(each.memory for each in here), most - len(here))


def _reserved(group: NodeGroupSpec, usual: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """Return the CPUs and bytes that the kubelet keeps for itself and the system; user data overrides the fields."""
    bottlerocket = ami_family(group) == "bottlerocket"
    given = below(group.user_data, ("kubernetes",) if bottlerocket else ("kubelet", "config"))
    names = ("kube-reserved", "system-reserved") if bottlerocket else ("kubeReserved", "systemReserved")
    kube, system = (
        {**field, **(own if isinstance(own := given.get(name), Mapping) else {})}
        for name, field in zip(names, (group.kubelet.kube_reserved, group.kubelet.system_reserved), strict=True)
    )
    return {
        name: _amount(kube.get(name), usual[name]) + _amount(system.get(name), Fraction(0))
        for name in ("cpu", "memory")
    }


def _daemonsets(context: Context, kind: InstanceType) -> list[_Pod]:
    """Return the pods on every node of a type, with the requests that the strategy sets for them."""
    configurations = {name: context.addon_configuration(name) for name in addons_of(context.strategy)}
    pods = [_Pod(name, *each) for name, each in daemonset_pods(configurations, kind)]
    exporter = "prometheus-node-exporter"
    if "kube-prometheus-stack" in context.charts:
        cpu, memory = requests(below(context.chart_values("kube-prometheus-stack"), (exporter,)))
        pods.append(_Pod(exporter, cpu, memory))
    return pods


# --- the rules


def _first_unplaced(pods: list[_Pod], rooms: list[_Room]) -> _Pod | None:
    """Place pods, the largest first; return the first pod that does not fit on any node."""
    for pod in sorted(pods, key=lambda pod: (-pod.memory, -pod.cpu, pod.name)):
        if not any(room.takes(pod) for room in sorted(rooms, key=lambda room: (-room.memory, -room.cpu))):
            return pod
    return None


def _first(context: Context) -> list[_Pod]:
    """Return the pods without which Karpenter launches nothing: one of its own and one of CoreDNS."""
    pods = _pods(context)
    return [next(pod for pod in pods if pod.name == name) for name in ("karpenter", "coredns") if name in _names(pods)]


def _names(pods: Sequence[_Pod]) -> set[str]:
    return {pod.name for pod in pods}


def _has_open_pool(context: Context) -> bool:
    """Return whether Karpenter can launch nodes for the rest of the software."""
    return bool(context.strategy.karpenter) and any(is_open_to(context, pool) for pool in context.pools)


def _apart(pods: Sequence[_Pod], rooms: list[_Room]) -> list[_Pod]:
    """Leave out replicas of Karpenter beyond the number of nodes, which KARPENTER_NO_ROOM reports."""
    own = [pod for pod in pods if pod.name == "karpenter"]
    return [pod for pod in pods if pod.name != "karpenter"] + own[: max(len(rooms), 1)]


@error("SYSTEM_NO_ROOM")
def _no_room(context: Context) -> Iterator[Breach]:
    rooms, group = _rooms(context)
    if not rooms or group is None:
        return
    needed = _first(context) if _has_open_pool(context) else _apart(_pods(context), rooms)
    large = any(not _fits_alone(pod, rooms) for pod in needed)
    if large or _short(needed, rooms):
        few = group.kubelet.max_pods is not None and len(needed) > _sum(rooms).pods
        message = _message(needed, rooms, "so some of them stay Pending")
        # More nodes of this size do not help a pod that fits on none of them.
        advice = "raise kubelet.max_pods" if few else "use larger types" if large else _ADVICE
        yield node_path(group, "instance_types"), f"{message}; {advice}"


@warning("SYSTEM_TIGHT")
def _tight(context: Context) -> Iterator[Breach]:
    rooms, group = _rooms(context)
    if not rooms or group is None:
        return
    pods = _apart(_pods(context), rooms)
    if (unplaced := _first_unplaced(pods, rooms)) and not list(_no_room(context)):
        text = f"so {unplaced.name} may stay Pending"
        if _has_open_pool(context):
            text += " until Karpenter launches a node for it"
        yield node_path(group, "instance_types"), f"{_message(pods, _rooms(context)[0], text)}; {_ADVICE}"


_ADVICE = "use larger types, or raise scaling.min"


@error("PODS_TOO_FEW")
def _too_few(context: Context) -> Iterator[Breach]:
    custom = has_pod_subnets(context.strategy.network)
    for node in context.nodes:
        kinds, given = context.types(node), node.kubelet.max_pods
        if not kinds:
            continue
        least, derived = fewest_pods(node, kinds, custom_networking=custom)
        most = derived if given is None else given
        names = [*(pod.name for pod in _daemonsets(context, least)), *_device_daemonsets(context, node)]
        # POD_NETWORK_NO_INTERFACE reports types without an interface for pods.
        if most is None or len(names) < most or (given is None and most <= HOST_PODS):
            continue
        need = f"the DaemonSets need {len(names)} pods on each node ({', '.join(names)})"
        if derived is not None and derived <= len(names):
            fix = _larger_types(context, node, len(names)) + ("" if given is None else ", and remove this line")
            limit = f"{least.name} has addresses for {derived} pods ({delegation(least)})"
            limit = limit if len(kinds) == 1 else f"{limit}, which is the limit for all types here"
        else:
            limit, fix = f"the limit is {most}", f"set at least {len(names) + 1}, or remove this line"
        yield (
            type_path(node, least) if given is None else node_path(node, "kubelet.max_pods"),
            f"{need}, but {limit}, so no other pod can run; {fix}",
        )


def _larger_types(context: Context, node: Node, pods: int) -> str:
    """Return advice for types that cannot run more than a number of pods."""
    custom, kinds = has_pod_subnets(context.strategy.network), context.types(node)
    small = [
        kind
        for kind in kinds
        if (most := fewest_pods(node, (kind,), custom_networking=custom)[1]) is not None and most <= pods
    ]
    if len(small) == len(kinds):
        return "choose another type" if node.instance_types else "choose another family or other instance_sizes"
    if node.instance_types:
        return f"leave out {type_names(small)}"
    sizes = several(list(dict.fromkeys(kind.size for kind in small)))
    return f"leave out {type_names(small)}: set instance_sizes without {sizes}"


def _device_daemonsets(context: Context, node: Node) -> Iterator[str]:
    """Yield the charts with a DaemonSet on a node's hardware."""
    hardware = context.types(node)[0].hardware
    plugin = "gpu-operator" if "gpu-operator" in context.charts else "nvidia-device-plugin"
    wanted = {
        plugin: hardware is Hardware.NVIDIA_GPU and ami_family(node) == "al2023",
        "dcgm-exporter": hardware is Hardware.NVIDIA_GPU,
        "neuron-helm-chart": hardware.is_neuron,
        "aws-efa-k8s-device-plugin": node.efa,
    }
    for name, runs in wanted.items():
        if runs and name in context.charts:
            yield name


def _fits_alone(pod: _Pod, rooms: list[_Room]) -> bool:
    return any(pod.cpu <= room.cpu and pod.memory <= room.memory and room.pods > 0 for room in rooms)


def _short(pods: list[_Pod], rooms: list[_Room]) -> bool:
    """Return whether all nodes together have less than all pods request."""
    free = _sum(rooms)
    return (
        sum(pod.cpu for pod in pods) > free.cpu
        or sum(pod.memory for pod in pods) > free.memory
        or len(pods) > free.pods
    )


def _sum(rooms: list[_Room]) -> _Room:
    """Return what all nodes together have left; a node that has too little adds nothing."""
    return _Room(
        sum((max(room.cpu, Fraction(0)) for room in rooms), Fraction(0)),
        sum((max(room.memory, Fraction(0)) for room in rooms), Fraction(0)),
        sum(max(room.pods, 0) for room in rooms),
    )


def _message(pods: list[_Pod], rooms: list[_Room], outcome: str) -> str:
    cpu, memory = float(sum(pod.cpu for pod in pods)), sum(pod.memory for pod in pods) / MIB
    free = _sum(rooms)
    left = f"{float(free.cpu):.3g} CPUs, {float(free.memory / MIB):.0f} MiB and {free.pods} pods left"
    names = ", ".join(dict.fromkeys(pod.name for pod in pods))
    return (
        f"{names} request {cpu:.4g} CPUs, {float(memory):.0f} MiB and {len(pods)} pods; the {len(rooms)} initial "
        f"{'node has' if len(rooms) == 1 else 'nodes have'} {left}, {outcome}"
    )

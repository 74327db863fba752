"""The size of a pod: devices, and their share of EFA, huge pages, CPU and memory of a node.

CPU and memory are those available to pods on the smallest node that the pod can run on (``kubernetes/allocatable``),
less a part for daemonsets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from eks_hardware import facts
from eks_hardware.catalogue import InstanceType
from eks_hardware.kubernetes.allocatable import allocatable, efa_huge_pages
from eks_hardware.resolve import ResolvedNodeGroup, extended_resources_of
from eks_hardware.resolve.extended_resources import NEURON, NEURON_CORE, accelerator_resource
from eks_hardware.resolve.pool_types import node_capacity
from eks_hardware.resolve.system_pods import Requests, daemonset_pods
from eks_hardware.software import chip_of
from eks_hardware.units import MIB, amount, mebibytes
from eks_hardware.workloads.request import Request, WorkloadError
from eks_hardware.workloads.target import Target

# Our choice: more than CNI, kube-proxy, device plugins, storage drivers and exporters of most nodes request together.
_FOR_DAEMONSETS = Fraction(5, 100)
_DAEMONSETS = Requests(Fraction(4, 10), Fraction(1024 * MIB))
# Our choice: for the daemonsets of charts, next to the recorded requests of the add-ons' daemonsets.
_OF_CHARTS = Requests(Fraction(1, 10), Fraction(256 * MIB))
# CoreDNS, Karpenter and every controller run there, too.
_OF_SYSTEM = Fraction(1, 2)
# Our choice: data loaders and NCCL share memory through it. It is a limit, and usage counts as the pod's memory.
_SHARED_MEMORY = Fraction(1, 4)


@dataclass(frozen=True, kw_only=True)
class Size:
    """The resources of one pod."""

    resource: str | None  # extended resource of its accelerators; None on CPU nodes
    devices: int  # their number; 0 on CPU nodes
    whole: bool  # whether the pod uses a whole node
    ranks: int  # processes of a distributed job in the pod: GPUs, NeuronCores, or 1
    efa: int  # interfaces
    huge_pages_mib: int
    cpu_millicores: int
    memory_mib: int
    shared_memory_mib: int
    kind: InstanceType  # the smallest type that the pod can run on
    most: int  # pods that fit on the group or pool at its maximum

    @property
    def requests(self) -> dict[str, str]:
        """CPU and memory as Kubernetes quantities."""
        cores, rest = divmod(self.cpu_millicores, 1000)
        return {"cpu": f"{self.cpu_millicores}m" if rest else str(cores), "memory": mebibytes(self.memory_mib)}

    @property
    def limits(self) -> dict[str, str | int]:
        """Memory, and all resources that are assigned whole."""
        resources: dict[str, str | int] = {"memory": mebibytes(self.memory_mib)}
        if self.resource:
            resources[self.resource] = self.devices
        if self.efa:
            resources["vpc.amazonaws.com/efa"] = self.efa
        if self.huge_pages_mib:
            resources[facts.eks()["efa_huge_pages"]["resource"]] = f"{self.huge_pages_mib}Mi"
        return resources


def size(target: Target, request: Request) -> Size:
    """Return the size of a pod.

    Raises:
        WorkloadError: WORKLOAD_ACCELERATORS, WORKLOAD_NODES.
    """
    gpu_shares = target.node.gpu_shares
    resource = gpu_shares.resource if gpu_shares else accelerator_resource(target.hardware)
    counts = {kind: _devices(target, kind, resource) for kind in target.kinds}
    devices = _wanted(target, request, counts, resource)
    fitting = [kind for kind in target.kinds if counts[kind] >= devices]
    if resource and target.is_pool:
        # Karpenter launches a larger node if a pod needs one, so the pod is sized for the smallest.
        least = min(counts[kind] for kind in fitting)
        fitting = [kind for kind in fitting if counts[kind] == least]
    shares = {kind: Fraction(devices, counts[kind]) if resource else Fraction(1) for kind in fitting}
    whole = all(share == 1 for share in shares.values())
    room = {kind: allocatable(target.node, kind) for kind in fitting}
    daemonsets = {kind: _daemonsets(target, kind) for kind in fitting}
    cpu = min(_left(target, room[kind]["cpu"], daemonsets[kind].cpu) * shares[kind] for kind in fitting)
    memory = min(_left(target, room[kind]["memory"], daemonsets[kind].memory) * shares[kind] for kind in fitting)
    smallest = min(fitting, key=lambda kind: (kind.vcpus, kind.memory_gib, kind.name))
    # Independent pods need no EFA, and neither huge pages nor root to pin memory.
    efa = 0 if request.independent else min(math.floor(target.node.efa_count * share) for share in shares.values())
    memory_mib = _rounded(math.floor(memory / MIB), 1024, 8)
    pod_size = Size(
        resource=resource,
        devices=devices,
        whole=whole,
        ranks=_ranks(smallest, devices, counts[smallest], resource),
        efa=efa,
        huge_pages_mib=min(_huge_pages(target, kind, shares[kind]) for kind in fitting) if efa else 0,
        cpu_millicores=_rounded(math.floor(cpu * 1000), 1000, 4),
        memory_mib=memory_mib,
        shared_memory_mib=_rounded(math.floor(memory_mib * _SHARED_MEMORY), 1024, 1),
        kind=smallest,
        most=_most(target, devices, counts, resource),
    )
    _check_nodes(target, request, pod_size)
    return pod_size


def _rounded(value: int, unit: int, from_units: int) -> int:
    """Round down to whole units; below ``from_units``, to a multiple of 10, so that little is lost."""
    return value // unit * unit if value >= from_units * unit else value // 10 * 10


def _devices(target: Target, kind: InstanceType, resource: str | None) -> int:
    offered = extended_resources_of(kind, efa_count=target.node.efa_count, shares=target.node.gpu_shares)
    return offered.get(resource, 0) if resource else 0


def _wanted(target: Target, request: Request, counts: dict[InstanceType, int], resource: str | None) -> int:
    asked, shares = request.accelerators, target.node.gpu_shares
    if resource is None:
        if asked is not None:
            _refuse(f"{target.called} has no accelerators; omit the option")
        return 0
    least, most = min(counts.values()), max(counts.values())
    if asked is None:
        return 1 if shares or request.kind == "deployment" else least
    if shares and not shares.mig_profile and asked > 1:
        _refuse(
            f"{asked} shares can be on one GPU and provide no more than one share, so the device plugin refuses the "
            "pod; use 1, or choose a group without gpu_sharing"
        )
    limit = most if target.is_pool else least
    if asked > limit:
        largest = (max if target.is_pool else min)(counts, key=counts.__getitem__)
        _refuse(f"a pod runs on one node, and {largest.name} has {limit} {resource}; use at most {limit}")
    _check_allocation(asked, counts)
    return asked


def _check_allocation(asked: int, counts: dict[InstanceType, int]) -> None:
    """Refuse numbers of devices that cannot be neighbors: some chips are assigned with their neighbors."""
    sizes_of = facts.workload_images()["neuron_allocations"]["sizes"]
    for kind in counts:
        chip = chip_of(kind)
        if chip in sizes_of and asked not in sizes_of[chip]:
            allowed = ", ".join(str(size) for size in sizes_of[chip] if size <= counts[kind])
            _refuse(f"{asked} {chip} devices cannot be neighbors; use one of {allowed}")


def _refuse(message: str) -> None:
    raise WorkloadError("WORKLOAD_ACCELERATORS", "--accelerators", message)


def _ranks(kind: InstanceType, devices: int, count: int, resource: str | None) -> int:
    if resource != NEURON:
        return max(devices, 1)
    return extended_resources_of(kind).get(NEURON_CORE, count) * devices // count


def _daemonsets(target: Target, kind: InstanceType) -> Requests:
    """Return the minimum CPU and memory to leave for a node's daemonsets."""
    configurations = {addon.name: addon.configuration for addon in target.resolved.cluster.addons}
    found = [each for _, each in daemonset_pods(configurations, kind)]
    return Requests(
        max(_DAEMONSETS.cpu, sum((each.cpu for each in found), _OF_CHARTS.cpu)),
        max(_DAEMONSETS.memory, sum((each.memory for each in found), _OF_CHARTS.memory)),
    )


def _left(target: Target, whole: Fraction, least: Fraction) -> Fraction:
    """Return what daemonsets, which need at least ``least``, leave for the pods of a workload."""
    if target.runs_system:
        return whole * _OF_SYSTEM
    # A fixed part would be too much of a small node.
    return whole - min(max(whole * _FOR_DAEMONSETS, least), whole / 2)


def _huge_pages(target: Target, kind: InstanceType, share: Fraction) -> int:
    """Return MiB of huge pages: the pod's share of the node's reserved ones, up to AWS's recommendation."""
    promised = efa_huge_pages(target.node, kind).promised_mib
    page = facts.eks()["efa_huge_pages"]["page_mib"]
    wanted: int = min(facts.workload_images()["efa_pod"]["huge_pages_mib"], math.floor(promised * share))
    return wanted // page * page


def _most(target: Target, devices: int, counts: dict[InstanceType, int], resource: str | None) -> int:
    """Return the maximum number of pods at the same time: of a group at its maximum, of a pool within its limits."""
    node = target.node
    at_once = []
    for kind, count in counts.items():
        if count < devices:
            continue
        pods = count // devices if devices else 1
        if isinstance(node, ResolvedNodeGroup):
            at_once.append(node.max_size * pods)
            continue
        capacity = {**node_capacity(kind), **({resource: Fraction(count)} if resource else {})}
        limits = [math.floor(amount(value) / capacity[name]) for name, value in node.limits.items() if name in capacity]
        at_once.append(min(limits, default=1_000_000) * pods)
    return min(at_once) if isinstance(node, ResolvedNodeGroup) else max(at_once)


def _check_nodes(target: Target, request: Request, pod_size: Size) -> None:
    if request.nodes > pod_size.most:
        pods = "pods of this size" if not pod_size.whole else "nodes"
        field = "its limits" if target.is_pool else "scaling.max"
        message = f"{target.called} has room for at most {pod_size.most} {pods}; use fewer, or raise {field}"
        raise WorkloadError("WORKLOAD_NODES", "--nodes", message)
    if not request.is_distributed:
        return
    if target.node.gpu_shares:
        raise WorkloadError(
            "WORKLOAD_NODES",
            "--nodes",
            f"NCCL runs on whole GPUs, but {target.called} provides {target.node.gpu_shares.resource}; "
            "use --nodes 1, a group without gpu_sharing, or --independent for pods that do not communicate",
        )
    if target.hardware.is_neuron and not pod_size.efa:
        fix = "use whole nodes" if target.node.efa_count else "choose trn1.32xlarge or trn2 with efa: true"
        if request.kind == "job":
            fix += ", or --independent for pods that do not communicate"
        message = f"Neuron's collectives need EFA between nodes, but these pods have none; {fix}"
        raise WorkloadError("WORKLOAD_EFA", "--nodes", message)

"""Rules about the settings of node groups and pools: pods, labels, disks, metadata, kubelet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal

from eks_hardware import facts
from eks_hardware.catalogue import Hardware, InstanceType
from eks_hardware.resolve.disks import block_devices, has_usable_disks, instance_store
from eks_hardware.resolve.gpu_sharing import gpu_shares, sharing_labels
from eks_hardware.resolve.max_pods import HOST_PODS, delegation, fewest_addresses, recommended_pods
from eks_hardware.resolve.node import ami_family
from eks_hardware.resolve.values import BlockDevice
from eks_hardware.resolve.vpc import has_pod_subnets
from eks_hardware.rules.registry import (
    Breach,
    Context,
    Node,
    error,
    in_domain,
    label_path,
    node_path,
    type_names,
    warning,
)
from eks_hardware.rules.user_data import setting, setting_path, with_user_data
from eks_hardware.rules.user_data_overrides import kubelet_flags
from eks_hardware.units import GIB, amount

# --- pods


@error("MAX_PODS_ADDRESSES")
def _addresses(context: Context) -> Iterator[Breach]:
    custom = has_pod_subnets(context.strategy.network)
    for node in context.nodes:
        given = node.kubelet.max_pods
        fewest = fewest_addresses(node, context.types(node), custom_networking=custom)
        # POD_NETWORK_NO_INTERFACE reports types without one.
        if fewest and given is not None and HOST_PODS < fewest[1] < given:
            smallest, room = fewest
            yield (
                node_path(node, "kubelet.max_pods"),
                f"{smallest.name} has addresses for {room} pods ({delegation(smallest)}), got {given}, and "
                f"the other pods stay in ContainerCreating; set at most {room}, or choose a type with more "
                "addresses",
            )


@warning("MAX_PODS_RECOMMENDED")
def _recommended(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        given, kinds = node.kubelet.max_pods, context.types(node)
        if given is not None and kinds and given > (most := min(map(recommended_pods, kinds))):
            small = next(kind for kind in kinds if recommended_pods(kind) == most)
            yield (
                node_path(node, "kubelet.max_pods"),
                f"EKS recommends at most {most} pods on a node with {small.vcpus} vCPUs such as {small.name}, because "
                f"the kubelet and the network plugin may not handle more; set at most {most}",
            )


# --- labels


@error("LABEL_RESERVED")
def _reserved_labels(context: Context) -> Iterator[Breach]:
    fact = facts.nodes()["group_labels"]
    labels = [(label_path(group, key), key) for group in context.strategy.node_groups for key in group.labels]
    labels += [
        (path, pair.partition("=")[0])
        for node in context.nodes
        for path, name, value in kubelet_flags(node)
        if name == "--node-labels"
        for pair in value.split(",")
    ]
    for node in with_user_data(context, "bottlerocket"):
        place = ("kubernetes", "node-labels")
        named = setting(node.user_data, place)
        labels += [
            (setting_path(node, (*place, str(key))), str(key)) for key in (named if isinstance(named, Mapping) else ())
        ]
    for path, key in labels:
        taken = in_domain(key, fact["refused_domains"]) and not in_domain(key, fact["allowed_domains"])
        if taken or key in fact["set_by_kubernetes"]:
            yield (
                path,
                f"{key} is reserved: EKS rejects it, or the kubelet does not start and the node never joins; use your "
                f"own domain, or {' or '.join(fact['allowed_domains'])}",
            )


@error("LABEL_LIMIT")
def _label_limit(context: Context) -> Iterator[Breach]:
    longest = facts.nodes()["group_labels"]["longest_key"]
    for group in context.strategy.node_groups:
        for key, value in group.labels.items():
            if len(key) > longest:
                yield (
                    label_path(group, key),
                    f"the key must have at most {longest} characters with its domain (EKS API), got {len(key)}; use a "
                    "shorter one",
                )
            if not value:
                yield label_path(group, key), "the EKS API requires a value for each label; add one, such as 'true'"


@error("LABEL_SHARING")
def _label_sharing(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        kinds = context.types(node)
        if not kinds or kinds[0].hardware is not Hardware.NVIDIA_GPU:
            continue
        bottlerocket = ami_family(node) == "bottlerocket"
        derived = sharing_labels(gpu_shares(node, kinds, bottlerocket=bottlerocket), bottlerocket=bottlerocket)
        for key, value in derived.items():
            if node.labels.get(key, value) != value:
                yield (
                    label_path(node, key),
                    f"the node reads its GPU sharing from this label, and gpu_sharing sets it to {value!r}; remove the "
                    "label",
                )


# --- disks


def _images_volume(node: Node, kinds: tuple[InstanceType, ...]) -> BlockDevice:
    """Return the volume with the container images."""
    return block_devices(node, kinds[0].hardware, bottlerocket=ami_family(node) == "bottlerocket")[-1]


@error("DISK_IOPS_RATIO")
def _iops(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        if kinds := context.types(node):
            volume = _images_volume(node, kinds)
            per_gib = facts.nodes()["volumes"]["iops_per_gib"][volume.volume_type]
            most = per_gib * volume.size_gib
            if volume.iops is not None and volume.iops > most:
                yield (
                    node_path(node, "disk.iops"),
                    f"{volume.volume_type} supports at most {per_gib} IOPS per GiB, which is {most} for "
                    f"{volume.size_gib} GiB; set size_gib to {-(-volume.iops // per_gib)}, or iops to {most}",
                )


@warning("DISK_SMALL")
def _small(context: Context) -> Iterator[Breach]:
    least = facts.nodes()["accelerated_disk"]["least_gib"]
    for node in context.nodes:
        kinds, size = context.types(node), node.disk.size_gib
        if size is None or size >= least or not kinds or kinds[0].hardware is Hardware.CPU:
            continue
        # Images are on the local disks then.
        if instance_store(node, kinds) == "raid0" and all(map(has_usable_disks, kinds)):
            continue
        yield (
            node_path(node, "disk.size_gib"),
            f"images with CUDA or Neuron take 10 to 30 GB each, and the kubelet evicts pods when {size} GiB are nearly "
            f"full; use {least} or more (the default is 200)",
        )


@warning("INSTANCE_STORE_MISSING")
def _no_disks(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        kinds = context.types(node)
        unused = [kind for kind in kinds if not has_usable_disks(kind)]
        if node.instance_store in ("raid0", "mount") and unused:
            none = len(unused) == len(kinds)
            rest = "remove this line" if none else "other nodes have such disks, so pods cannot rely on them"
            yield node_path(node, "instance_store"), f"{_why_unused(unused)}, so this has no effect there; {rest}"


def _why_unused(kinds: Sequence[InstanceType]) -> str:
    """Return why images set up no local disks on types."""
    without = [kind for kind in kinds if not kind.instance_store]
    other = [kind for kind in kinds if kind.instance_store]
    reasons = []
    if without:
        reasons.append(f"{type_names(without)} {'has' if len(without) == 1 else 'have'} no local disks")
    if other:
        reasons.append(f"images set up NVMe disks only, and the local disks of {type_names(other)} are not NVMe")
    return "; ".join(reasons)


# --- metadata and kubelet


@warning("PODS_USE_IMDS")
def _imds(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        if node.pods_use_imds:
            yield (
                node_path(node, "pods_use_imds"),
                "with a hop limit of 2, every pod can read the credentials of the node's role, which can pull all "
                "images and change network interfaces; use Pod Identity, and remove this line",
            )


@error("KUBELET_RESERVED")
def _kubelet_reserved(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        kinds, kubelet = context.types(node), node.kubelet
        reserved = {"system_reserved": kubelet.system_reserved, "kube_reserved": kubelet.kube_reserved}
        for resource, room in _ROOM.items() if kinds else ():
            parts = {field: given[resource] for field, given in reserved.items() if resource in given}
            smallest = min(kinds, key=room)
            if parts and sum((amount(part) for part in parts.values()), Fraction(0)) >= room(smallest):
                has = f"{smallest.vcpus} vCPUs" if resource == "cpu" else f"{smallest.memory_gib:g} GiB"
                largest = max(parts, key=lambda field: amount(parts[field]))
                yield (
                    node_path(node, f"kubelet.{largest}.{resource}"),
                    f"{' and '.join(parts.values())} of {has} on {smallest.name} are reserved, so the kubelet does not "
                    "start, or leaves nothing for pods; reserve less",
                )


_ROOM: Mapping[Literal["cpu", "memory"], Callable[[InstanceType], Fraction]] = {
    "cpu": lambda kind: Fraction(kind.vcpus),
    "memory": lambda kind: Fraction(kind.memory_gib) * GIB,
}

"""Rules about GPUs: sharing, MIG, the GPU Operator, metrics, and labels that device plugins select on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from eks_hardware import facts
from eks_hardware.catalogue import Hardware, InstanceType
from eks_hardware.models import NodeGroupSpec
from eks_hardware.printable import joined, quoted
from eks_hardware.resolve.gpu_sharing import mig_bottlerocket_key, mig_profiles
from eks_hardware.resolve.node import (
    EFA_LABEL,
    NEURON_PLUGIN_LABEL,
    NO_OPERANDS_LABEL,
    NVIDIA_PLUGIN_LABEL,
    ami_family,
    plugin_labels,
)
from eks_hardware.rules.registry import (
    Breach,
    Context,
    Node,
    error,
    hardware_field,
    label_path,
    node_path,
    noun,
    warning,
)
from eks_hardware.suggestions import close, question
from eks_hardware.versions import numbers


def _equipped(context: Context) -> Iterator[tuple[Node, tuple[InstanceType, ...], Hardware]]:
    """Yield every group and pool with known types, those types, and their hardware."""
    for node in context.nodes:
        if kinds := context.types(node):
            yield node, kinds, kinds[0].hardware


def _has_nvidia(context: Context) -> bool:
    return any(hardware is Hardware.NVIDIA_GPU for _, _, hardware in _equipped(context))


def _has_neuron(context: Context) -> bool:
    return any(hardware.is_neuron for _, _, hardware in _equipped(context))


def _mig(context: Context) -> Iterator[tuple[Node, tuple[InstanceType, ...], str]]:
    """Yield groups and pools with NVIDIA GPUs and a MIG profile, their types, and the profile."""
    for node, kinds, hardware in _equipped(context):
        if hardware is Hardware.NVIDIA_GPU and node.gpu_sharing and node.gpu_sharing.mig_profile:
            yield node, kinds, node.gpu_sharing.mig_profile


@error("GPU_SHARING_HARDWARE")
def _sharing_hardware(context: Context) -> Iterator[Breach]:
    for node, kinds, hardware in _equipped(context):
        if node.gpu_sharing and hardware is not Hardware.NVIDIA_GPU:
            yield (
                node_path(node, "gpu_sharing"),
                f"gpu_sharing requires NVIDIA GPUs, got {kinds[0].name} (hardware {hardware.value}); remove this",
            )


@error("MIG_UNSUPPORTED")
def _mig_unsupported(context: Context) -> Iterator[Breach]:
    for node, kinds, profile in _mig(context):
        if problem := _no_mig(node, kinds) or _no_profile(node, kinds, profile):
            yield node_path(node, "gpu_sharing.mig_profile"), problem


def _no_mig(node: Node, kinds: Sequence[InstanceType]) -> str | None:
    """Return the problem if the nodes support no MIG profile at all."""
    if without := next((kind for kind in kinds if mig_profiles(kind) is None), None):
        return (
            f"the {_gpu(without)} in {without.name} does not support Multi-Instance GPU; use time_slicing, or a type "
            "with A100, H100, H200, B200 or RTX PRO"
        )
    unnamed = next((kind for kind in kinds if mig_bottlerocket_key(kind) is None), None)
    if ami_family(node) == "bottlerocket" and unnamed:
        return (
            f"Bottlerocket does not support MIG on the GPU in {unnamed.name}; use al2023 and "
            "kubernetes.gpu_operator: true"
        )
    return None


def _no_profile(node: Node, kinds: Sequence[InstanceType], profile: str) -> str | None:
    """Return the problem if a type does not have the profile, or the types have different numbers of it."""
    tables = {kind.name: _plain(mig_profiles(kind) or {}) for kind in kinds}
    if without := next((kind for kind in kinds if profile not in tables[kind.name]), None):
        return f"the {_gpu(without)} in {without.name} has no profile {profile}{_instead(node, kinds, profile)}"
    counts = {table[profile]: name for name, table in tables.items()}
    if len(counts) > 1:
        both = ", ".join(f"{count} on {name}" for count, name in sorted(counts.items()))
        return f"all types must have the same number of {profile} slices per GPU, got {both}; {_separate(node, kinds)}"
    return None


def _instead(node: Node, kinds: Sequence[InstanceType], profile: str) -> str:
    """Return the end of a message: a profile that every type has, or separate groups or pools."""
    tables = [_plain(mig_profiles(kind) or {}) for kind in kinds]
    common = {name: count for name, count in tables[0].items() if all(table.get(name) == count for table in tables)}
    if not common:
        return f", and no profile works for all types; {_separate(node, kinds)}"
    # Suggest the same share of the GPU first: 1g.5gb of an A100 is 1g.10gb of an H100.
    same_part = [name for name in common if name.partition(".")[0] == profile.partition(".")[0]]
    meant = same_part[:1] or close(profile, common)
    one_model = len({_gpu(kind) for kind in kinds}) == 1
    has = "it has" if one_model else "all types have"
    listed = ", ".join(f"{name} (x{count})" for name, count in common.items())
    return f"; {question(meant)} {has[0].upper()}{has[1:]} {listed}" if meant else f"; {has} {listed}"


def _separate(node: Node, kinds: Sequence[InstanceType]) -> str:
    """Return the fix that puts types with different profiles into separate groups or pools."""
    families: dict[str, list[str]] = {}
    for kind in kinds:
        alike = families.setdefault(repr(_plain(mig_profiles(kind) or {})), [])
        if kind.family not in alike:
            alike.append(kind.family)
    each = [f"one for {joined(alike, 'and')}" for alike in families.values()]
    return f"use separate {noun(node)}s: {joined(each, 'and')}"


def _plain(profiles: Mapping[str, int]) -> dict[str, int]:
    """Return the profiles that a strategy accepts: those without a suffix such as +me."""
    return {name: count for name, count in profiles.items() if name.endswith("gb")}


def _gpu(kind: InstanceType) -> str:
    return kind.accelerator.name if kind.accelerator else "GPU"


@error("MIG_NEEDS_OPERATOR")
def _mig_needs_operator(context: Context) -> Iterator[Breach]:
    if context.strategy.kubernetes.gpu_operator:
        return
    for node, _, _ in _mig(context):
        if ami_family(node) == "al2023":
            yield (
                node_path(node, "gpu_sharing.mig_profile"),
                "on AL2023, only the GPU Operator can partition GPUs; set kubernetes.gpu_operator: true, or "
                "ami.family: bottlerocket, which does it without the operator",
            )


@warning("GPU_OPERATOR_NO_GPU")
def _operator_no_gpu(context: Context) -> Iterator[Breach]:
    if context.strategy.kubernetes.gpu_operator and not _has_nvidia(context):
        yield "kubernetes.gpu_operator", "no group or pool has NVIDIA GPUs; remove this"


@warning("GPU_OPERATOR_BOTTLEROCKET")
def _operator_bottlerocket(context: Context) -> Iterator[Breach]:
    if not context.strategy.kubernetes.gpu_operator:
        return
    for node, _, hardware in _equipped(context):
        if hardware is Hardware.NVIDIA_GPU and ami_family(node) == "bottlerocket":
            stated = isinstance(node, NodeGroupSpec) and node.ami.type
            yield (
                node_path(node, "ami.type" if stated else "ami.family"),
                "Bottlerocket includes the driver, toolkit and device plugin, so the GPU Operator skips these nodes "
                "and they have no GPU metrics; use al2023, or replace gpu_operator with kubernetes.dcgm_exporter: true",
            )


@warning("EXPORTER_NO_HARDWARE")
def _exporter_no_hardware(context: Context) -> Iterator[Breach]:
    kubernetes = context.strategy.kubernetes
    if kubernetes.dcgm_exporter and not _has_nvidia(context):
        yield "kubernetes.dcgm_exporter", "no group or pool has NVIDIA GPUs; remove this"
    if kubernetes.neuron_monitor and not _has_neuron(context):
        yield "kubernetes.neuron_monitor", "no group or pool has Trainium or Inferentia; remove this"


@warning("EXPORTER_MISSING")
def _exporter_missing(context: Context) -> Iterator[Breach]:
    kubernetes = context.strategy.kubernetes
    if not kubernetes.prometheus:
        return
    if _has_nvidia(context) and not (kubernetes.dcgm_exporter or kubernetes.gpu_operator):
        yield "kubernetes.prometheus", "nothing exports GPU metrics; add kubernetes.dcgm_exporter: true"
    if _has_neuron(context) and not kubernetes.neuron_monitor:
        yield "kubernetes.prometheus", "nothing exports Neuron metrics; add kubernetes.neuron_monitor: true"


def _ultraservers(context: Context) -> Iterator[tuple[Node, InstanceType]]:
    families = facts.eks()["ultraservers"]["families"]
    for node, kinds, _ in _equipped(context):
        if kind := next((kind for kind in kinds if kind.family in families), None):
            yield node, kind


@error("ULTRASERVER_KUBERNETES")
def _ultraserver_kubernetes(context: Context) -> Iterator[Breach]:
    version, oldest = context.strategy.cluster.kubernetes_version, facts.eks()["ultraservers"]["kubernetes"]
    if numbers(version) < numbers(oldest):
        for _, kind in _ultraservers(context):
            yield "cluster.kubernetes_version", f"must be {oldest} or newer for {kind.name}, got {quoted(version)}"


@warning("ULTRASERVER_DRA_DRIVER")
def _ultraserver_dra_driver(context: Context) -> Iterator[Breach]:
    for node, kind in _ultraservers(context):
        yield (
            node_path(node, hardware_field(node)),
            f"pods on several {kind.name} instances use NVLink only through NVIDIA's DRA driver, which this strategy "
            f"does not install; install {facts.eks()['ultraservers']['dra_driver']} or newer, then ignore this warning",
        )


@error("PLUGIN_LABEL")
def _plugin_label(context: Context) -> Iterator[Breach]:
    reserved = NVIDIA_PLUGIN_LABEL | NEURON_PLUGIN_LABEL | EFA_LABEL | NO_OPERANDS_LABEL
    for node, _, hardware in _equipped(context):
        derived = plugin_labels(hardware, efa=node.efa, bottlerocket=ami_family(node) == "bottlerocket")
        for key, value in node.labels.items():
            if key in reserved and derived.get(key) != value:
                rule = (
                    f"whose value must be {derived[key]!r} here"
                    if key in derived
                    else "which these nodes must not have"
                )
                yield (
                    label_path(node, key),
                    f"DaemonSets select their nodes by {key}, {rule}; remove the label",
                )

"""Checks of its settings that the kubelet makes at startup; ``kubelet_settings.py`` reports the faults.

Source: https://github.com/kubernetes/kubernetes/blob/v1.36.1/pkg/kubelet/apis/config/validation/validation.go,
pkg/kubelet/sysctl/allowlist.go and pkg/kubelet/cm/memorymanager/memory_manager.go
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction

from eks_hardware import facts
from eks_hardware.models import NodeGroupSpec
from eks_hardware.printable import quoted
from eks_hardware.resolve.reserved import assumed_pods, kube_reserved
from eks_hardware.rules.kubelet import STOPS, Kubelet
from eks_hardware.rules.registry import Breach, Context
from eks_hardware.rules.user_data import setting
from eks_hardware.rules.value_kinds import is_whole
from eks_hardware.units import MIB, amount_or_none, go_seconds

_SYSCTL = re.compile(r"([a-z0-9][a-z0-9_-]*[a-z0-9]?[./])*[a-z0-9][a-z0-9_-]*[*]?|([a-z0-9][a-z0-9_-]*[./])+[*]")


def sysctls(kubelet: Kubelet) -> Iterator[Breach]:
    """Yield patterns of kernel parameters that are malformed, or that are not separate for each pod."""
    fact, name = facts.kubelet()["sysctls"], "allowedUnsafeSysctls"
    given = kubelet.given(name)
    for pattern in given if isinstance(given, list | tuple) else ():
        if not isinstance(pattern, str):
            continue
        dotted = pattern.replace("/", ".").rstrip("*")
        if not _SYSCTL.fullmatch(pattern):
            yield (
                kubelet.path(name),
                f"must list kernel parameters such as net.core.somaxconn or kernel.msg*, got {quoted(pattern)}, so "
                f"{STOPS}; the value belongs to a pod's securityContext.sysctls",
            )
        elif dotted not in fact["names"] and not dotted.startswith(tuple(fact["prefixes"])):
            known = ", ".join([*fact["names"], *(f"{prefix}*" for prefix in fact["prefixes"])])
            yield (
                kubelet.path(name),
                f"must be a parameter that each pod has of its own ({known}), got {quoted(pattern)}, which applies to "
                f"the whole node, so {STOPS}; {_SET_ON_NODE[kubelet.bottlerocket]}",
            )


_SET_ON_NODE = {
    False: "remove it, and set it on the node with a DaemonSet",
    True: "remove it, and set it in user_data.kernel.sysctl",
}


def short_periods(kubelet: Kubelet) -> Iterator[Breach]:
    """Yield shutdown periods below one second."""
    for name in ("shutdownGracePeriod", "shutdownGracePeriodCriticalPods"):
        length = go_seconds(kubelet.given(name))
        if length is not None and 0 < length < 1:
            yield kubelet.path(name), f"must be 0s or at least 1s, got {kubelet.given(name)}, so {STOPS}"


def enforcements(kubelet: Kubelet) -> Iterator[Breach]:
    """Yield enforcements that are listed twice, exclude each other, or have no cgroup."""
    name = "enforceNodeAllocatable"
    given = kubelet.given(name)
    listed = [each for each in given if isinstance(each, str)] if isinstance(given, list | tuple) else []
    for each in dict.fromkeys(listed):
        if listed.count(each) > 1:
            yield kubelet.path(name), f"must list {each} once, or {STOPS}; remove the second"
    for part, cgroup in (("system-reserved", "systemReservedCgroup"), ("kube-reserved", "kubeReservedCgroup")):
        both = [each for each in (part, f"{part}-compressible") if each in listed]
        if len(both) > 1:
            yield kubelet.path(name), f"must not list both {both[0]} and {both[1]}, or {STOPS}; remove one"
        if both and kubelet.given(cgroup) == "":
            yield kubelet.path(cgroup), f"must be set, because {name} lists {both[0]}, or {STOPS}; remove one of them"


def pairs(kubelet: Kubelet) -> Iterator[Breach]:
    """Yield settings that require another setting."""
    if kubelet.given("serverTLSBootstrap") is True and kubelet.gates().get("RotateKubeletServerCertificate") is False:
        yield (
            kubelet.path("serverTLSBootstrap"),
            f"this requires the feature gate RotateKubeletServerCertificate, or {STOPS}; remove the gate, or this",
        )
    if kubelet.given("enableSystemLogQuery") is True and kubelet.given("enableSystemLogHandler") is False:
        yield (
            kubelet.path("enableSystemLogQuery"),
            f"this requires enableSystemLogHandler, or {STOPS}; set enableSystemLogHandler: true",
        )
    policy, wanted = "imagePullCredentialsVerificationPolicy", "NeverVerifyAllowlistedImages"
    if kubelet.given("preloadedImagesVerificationAllowlist") and kubelet.given(policy) != wanted:
        yield (
            kubelet.path("preloadedImagesVerificationAllowlist"),
            f"this requires {policy}: {wanted}, or {STOPS}; set it, or remove this",
        )
    back_off = kubelet.given("crashLoopBackOff")
    period = back_off.get("maxContainerRestartPeriod") if isinstance(back_off, Mapping) else None
    if kubelet.gates().get("KubeletCrashLoopBackOffMax") and period is None:
        yield (
            kubelet.below("featureGates", "KubeletCrashLoopBackOffMax"),
            f"this requires crashLoopBackOff.maxContainerRestartPeriod, or {STOPS}; set it, such as 60s, or remove the "
            "gate",
        )
    folder = kubelet.given("podLogsDir")
    if isinstance(folder, str) and (not folder.startswith("/") or "//" in folder or folder.rstrip("/") != folder):
        yield (
            kubelet.path("podLogsDir"),
            f"must be an absolute path without a slash at the end, got {quoted(folder)}, so {STOPS}",
        )


def reserved_memory(context: Context, kubelet: Kubelet) -> Iterator[Breach]:
    """Yield memory reserved on NUMA nodes that the type does not have, or whose sum is not the reserved memory."""
    given = kubelet.given("reservedMemory")
    if kubelet.given("memoryManagerPolicy") != "Static" or not isinstance(given, list | tuple):
        return
    rows = [row for row in given if isinstance(row, Mapping) and isinstance(row.get("limits"), Mapping)]
    counts = [facts.kubelet()["numa_nodes"]["by_type"].get(kind.name) for kind in context.types(kubelet.node)]
    most = min((count for count in counts if count), default=_MOST_NUMA_NODES)
    seen: set[object] = set()
    wrong: list[str] = []
    for row in rows:
        number = row.get("numaNode")
        if isinstance(number, int) and is_whole(number) and number >= most:
            wrong.append(f"the type has NUMA nodes 0 to {most - 1} at most, got {number}, so {STOPS}; correct numaNode")
        if number in seen:
            wrong.append(f"NUMA node {number} must be listed once, or {STOPS}; merge the two")
        seen.add(number)
    listed = [amount_or_none(row["limits"].get("memory", "0")) for row in rows]
    needed, default = _needed(context, kubelet)
    if not wrong and needed is not None and None not in listed:
        total = sum((each for each in listed if each), Fraction(0))
        if total != needed:
            wrong.append(
                f"the memory of all NUMA nodes must be {float(needed / MIB):g}Mi in total, which is "
                f"{default}kubeReserved plus systemReserved plus evictionHard, got {float(total / MIB):g}Mi, "
                f"so {STOPS}; change one of these amounts"
            )
    for message in wrong:
        yield kubelet.path("reservedMemory"), message


# No EC2 type is known to have more.
_MOST_NUMA_NODES = 8


def _needed(context: Context, kubelet: Kubelet) -> tuple[Fraction | None, str]:
    """Return the bytes that must be reserved, or None if they depend on the image or type; and words for a default."""
    default = ""
    kube = amount_or_none(kubelet.map("kubeReserved").get("memory"))
    if not kubelet.get("kubeReserved"):
        kube, default = _reserved_by_nodeadm(context, kubelet), "nodeadm's "
    system = amount_or_none(kubelet.map("systemReserved").get("memory", "0"))
    hard = amount_or_none(kubelet.map("evictionHard").get("memory.available", facts.kubelet()["nodeadm"]["eviction"]))
    if kubelet.bottlerocket or kube is None or system is None or hard is None:
        return None, default
    return kube + system + hard, default


def _reserved_by_nodeadm(context: Context, kubelet: Kubelet) -> Fraction | None:
    """Return the bytes of memory that nodeadm reserves, computed from its own number of pods; None if uncertain.

    Karpenter sets values of its own, and types with several network cards are counted in other ways too.
    """
    expression = setting(kubelet.node.user_data, ("kubelet", "maxPodsExpression"))
    if expression or not isinstance(kubelet.node, NodeGroupSpec) or kubelet.node.ami.image_id:
        return None
    kinds = context.types(kubelet.node)
    pods = {assumed_pods(kind) if len(kind.network_cards) == 1 else None for kind in kinds}
    each = next(iter(pods)) if len(pods) == 1 else None
    return None if each is None else kube_reserved(kinds[0].vcpus, each)["memory"]

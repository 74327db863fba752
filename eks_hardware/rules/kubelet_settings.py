"""Settings that the kubelet refuses: unknown signals and options, missing counterparts, and contradictions.

Source: https://github.com/kubernetes/kubernetes/blob/v1.36.1/pkg/kubelet/apis/config/validation/validation.go
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction

from eks_hardware import facts
from eks_hardware.models import NodePoolSpec
from eks_hardware.printable import quoted
from eks_hardware.resolve.max_pods import HOST_PODS, delegation, fewest_addresses
from eks_hardware.resolve.vpc import has_pod_subnets
from eks_hardware.rules.kubelet import STOPS, Kubelet, kubelets, newer
from eks_hardware.rules.kubelet_options import cipher_suites, id_ranges, option_values
from eks_hardware.rules.kubelet_start import enforcements, pairs, reserved_memory, short_periods, sysctls
from eks_hardware.rules.registry import Breach, Context, error, warning
from eks_hardware.rules.value_kinds import is_whole
from eks_hardware.spellings import TAINT_EFFECTS
from eks_hardware.suggestions import close, question
from eks_hardware.units import GIB, amount_or_none, go_seconds

# Bottlerocket accepts pid too, from 1.50 on: https://github.com/bottlerocket-os/bottlerocket-core-kit/pull/646
_RESERVABLE = ("cpu", "memory", "ephemeral-storage", "pid")


@error("KUBELET_SETTING")
def _settings(context: Context) -> Iterator[Breach]:
    for kubelet in kubelets(context):
        fewest = min((kind.vcpus for kind in context.types(kubelet.node)), default=None)
        for check in _CHECKS:
            yield from check(kubelet)
        yield from _reserved_cpus(kubelet, fewest)
        yield from _reserved_sum(context, kubelet)
        yield from _pods(context, kubelet)
        yield from reserved_memory(context, kubelet)


@warning("KUBELET_TOPOLOGY")
def _topology(context: Context) -> Iterator[Breach]:
    fact = facts.kubelet()["numa_nodes"]
    for kubelet in kubelets(context):
        if kubelet.get("topologyManagerPolicy") != "single-numa-node":
            continue
        for kind in context.types(kubelet.node):
            recorded = fact["by_type"].get(kind.name)
            if kind.accelerator and kind.accelerator.count > 1 and (recorded or kind.accelerator.count >= fact["many"]):
                share = f"{kind.accelerator.count // recorded}" if recorded else "only some"
                yield (
                    kubelet.path("topologyManagerPolicy"),
                    f"each NUMA node of {kind.name} has {share} of its {kind.accelerator.count} accelerators, and the "
                    "kubelet rejects every pod that requests more; use restricted or best-effort",
                )
                break


def _percent(value: object) -> int | None:
    text = str(value)
    return int(text) if not isinstance(value, bool) and text.isascii() and text.isdigit() and len(text) < 10 else None


# --- images and eviction


def _image_collection(kubelet: Kubelet) -> Iterator[Breach]:
    names = {"high": "imageGCHighThresholdPercent", "low": "imageGCLowThresholdPercent"}
    given = {end: _percent(kubelet.get(name)) for end, name in names.items()}
    default = facts.kubelet()["gc_defaults"]
    high = default["high"] if given["high"] is None else given["high"]
    low = default["low"] if given["low"] is None else given["low"]
    in_user_data = [end for end, name in names.items() if kubelet.given(name) is not None]
    if in_user_data and low >= high:
        yield (
            kubelet.path(names[in_user_data[0]]),
            f"the low threshold {low} must be below the high one {high} (the kubelet's defaults are "
            f"{default['low']} and {default['high']}), or {STOPS}; set both",
        )
    least, most = go_seconds(kubelet.given("imageMinimumGCAge")), go_seconds(kubelet.given("imageMaximumGCAge"))
    if most and most <= (120 if least is None else least):
        yield (
            kubelet.path("imageMaximumGCAge"),
            f"must be longer than imageMinimumGCAge (2m by default), or {STOPS}; raise or remove it",
        )


def _eviction(kubelet: Kubelet) -> Iterator[Breach]:
    fact = facts.kubelet()["eviction_signals"]
    signals = fact["bottlerocket"] if kubelet.bottlerocket else fact["names"]
    for name in ("evictionHard", "evictionSoft", "evictionMinimumReclaim", "evictionSoftGracePeriod"):
        for signal in kubelet.map(name):
            if signal not in signals:
                similar = close(str(signal), signals)
                hint = question(similar) if similar else f"use one of {', '.join(signals)}"
                yield (
                    kubelet.below(name, str(signal)),
                    f"{_system(kubelet)} has no signal {quoted(str(signal))}; {hint}",
                )
    graces = kubelet.map("evictionSoftGracePeriod")
    for signal in kubelet.map("evictionSoft"):
        if signal in signals and signal not in graces:
            yield (
                kubelet.below("evictionSoft", signal),
                f"a soft threshold needs a grace period, or {STOPS}; add {signal} to evictionSoftGracePeriod, such as "
                "1m30s",
            )


# --- reserved resources


def _reserved(kubelet: Kubelet) -> Iterator[Breach]:
    for name in ("kubeReserved", "systemReserved"):
        for resource, value in kubelet.map(name).items():
            if resource not in _RESERVABLE:
                what = f"can reserve only {', '.join(_RESERVABLE)}, got {quoted(str(resource))}"
                yield kubelet.below(name, str(resource)), f"{_system(kubelet)} {what}; remove it"
            elif isinstance(value, str) and value.startswith("-"):
                yield kubelet.below(name, str(resource)), f"must not be negative, got {quoted(value)}, so {STOPS}"
    if kubelet.get("cpuManagerPolicy") == "static":
        parts = {name: kubelet.map(name).get("cpu") for name in ("kubeReserved", "systemReserved")}
        # AL2023 and Bottlerocket reserve CPU for the kubelet unless a value says otherwise.
        none = parts["kubeReserved"] is not None and not any(amount_or_none(part) for part in parts.values() if part)
        if none and not kubelet.get("reservedSystemCPUs"):
            yield (
                kubelet.below("kubeReserved", "cpu"),
                f"the static CPU manager requires reserved CPU, got 0, so {STOPS}; reserve some, such as 500m",
            )


def _reserved_sum(context: Context, kubelet: Kubelet) -> Iterator[Breach]:
    """Yield user data that reserves as much as the smallest type has; KUBELET_RESERVED checks the fields."""
    kinds = context.types(kubelet.node)
    whole = {
        "cpu": min((Fraction(kind.vcpus) for kind in kinds), default=None),
        "memory": min((Fraction(kind.memory_gib) * GIB for kind in kinds), default=None),
    }
    for resource, most in whole.items():
        parts = {name: amount_or_none(kubelet.map(name).get(resource)) for name in ("kubeReserved", "systemReserved")}
        if resource == "memory":
            parts["evictionHard"] = amount_or_none(kubelet.map("evictionHard").get("memory.available"))
        given = {name: part for name, part in parts.items() if part and kubelet.given(name)}
        if most and given and sum((part for part in parts.values() if part), Fraction(0)) >= most:
            name = max(given, key=lambda each: given[each])
            key = "memory.available" if name == "evictionHard" else resource
            yield (
                kubelet.below(name, key),
                f"with this, all {resource} of the smallest type is reserved, so {STOPS} or has room for no pod; "
                "reserve less",
            )


def _pods(context: Context, kubelet: Kubelet) -> Iterator[Breach]:
    """Yield a ``maxPods`` in user data that exceeds the pod addresses of the smallest type."""
    given, custom = kubelet.given("maxPods"), has_pod_subnets(context.strategy.network)
    fewest = fewest_addresses(kubelet.node, context.types(kubelet.node), custom_networking=custom)
    # POD_NETWORK_NO_INTERFACE reports types without an interface for pods.
    if fewest and is_whole(given) and HOST_PODS < fewest[1] < given:
        smallest, room = fewest
        yield (
            kubelet.path("maxPods"),
            f"{smallest.name} has addresses for {room} pods ({delegation(smallest)}), got {given}, and the other pods "
            f"stay in ContainerCreating; set kubelet.max_pods to at most {room} instead",
        )


def _system(kubelet: Kubelet) -> str:
    return "Bottlerocket" if kubelet.bottlerocket else "the kubelet"


def _reserved_cpus(kubelet: Kubelet, fewest: int | None) -> Iterator[Breach]:
    given = kubelet.given("reservedSystemCPUs")
    if isinstance(kubelet.node, NodePoolSpec) and kubelet.bottlerocket:
        return  # Karpenter drops it: USER_DATA_DROPPED.
    if not isinstance(given, str) or not given.strip():
        return
    listed = _cpu_list(given)
    if listed is None:
        yield kubelet.path("reservedSystemCPUs"), f"must be a list of CPUs such as 0-1,8, got {quoted(given)}"
    elif fewest and (max(listed) >= fewest or len(listed) >= fewest):
        yield (
            kubelet.path("reservedSystemCPUs"),
            f"the smallest type has the CPUs 0 to {fewest - 1}, got {quoted(given)}, so {STOPS} or leaves none for "
            "pods; reserve fewer",
        )
    fact = facts.kubelet()["nodeadm"]
    kept = [name for name in fact["cgroups"] if kubelet.given(name) != ""]
    if not kubelet.bottlerocket and kept:
        yield (
            kubelet.path("reservedSystemCPUs"),
            f"the kubelet refuses this together with {' and '.join(kept)}, which AL2023 sets, and does not start; set "
            f'{" and ".join(kept)} to "" too, or reserve CPU in kubelet.system_reserved',
        )


def _cpu_list(text: str) -> set[int] | None:
    cpu_list: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,4})(?:-([0-9]{1,4}))?\s*", part)
        if match is None or int(match[2] or match[1]) < int(match[1]):
            return None
        cpu_list.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return cpu_list


# --- policies


def _cpu_options(kubelet: Kubelet) -> Iterator[Breach]:
    name, fact = "cpuManagerPolicyOptions", facts.kubelet()["cpu_manager_options"]
    given = kubelet.given(name)
    options = [each for each in given if isinstance(each, str)] if isinstance(given, list | tuple | dict) else []
    if options and kubelet.get("cpuManagerPolicy") != "static":
        yield (
            kubelet.path(name),
            f"these options require cpuManagerPolicy static, or {STOPS}; set that policy, or remove them",
        )
    for option in options:
        row = fact["by_option"].get(option)
        if row is None or newer(row.get("first", kubelet.version), kubelet.version):
            similar = close(option, fact["by_option"]) if row is None else ()
            hint = question(similar) if similar else "remove it"
            yield (
                kubelet.path(name),
                f"the CPU manager of Kubernetes {kubelet.version} has no option {quoted(option)}, so {STOPS}; {hint}",
            )
        elif _is_alpha(kubelet, row.get("alpha_until")) and not kubelet.gate_on(fact["gate"]):
            yield (
                kubelet.path(name),
                f"{option} is alpha in Kubernetes {kubelet.version} and requires the feature gate {fact['gate']}, "
                f"or {STOPS}; turn the gate on, or remove the option",
            )


def _is_alpha(kubelet: Kubelet, until: str | None) -> bool:
    every = kubelet.bottlerocket or kubelet.gates().get("AllAlpha", False)
    return until is not None and not newer(kubelet.version, until) and not every


def _topology_options(kubelet: Kubelet) -> Iterator[Breach]:
    known = facts.kubelet()["topology_manager_options"]["names"]
    for option in kubelet.map("topologyManagerPolicyOptions") if not kubelet.bottlerocket else ():
        if option not in known:
            yield (
                kubelet.below("topologyManagerPolicyOptions", str(option)),
                f"the topology manager has no option {quoted(str(option))}, so {STOPS}; use one of {', '.join(known)}",
            )


def _memory_manager(kubelet: Kubelet) -> Iterator[Breach]:
    static = kubelet.given("memoryManagerPolicy") == "Static"
    # Bottlerocket leaves out a policy without reserved memory: FIELD_NO_EFFECT.
    if static and not kubelet.given("reservedMemory") and not kubelet.bottlerocket:
        yield (
            kubelet.path("memoryManagerPolicy"),
            f"the policy Static requires reservedMemory for each NUMA node, or {STOPS}; its sum must equal the "
            "reserved memory plus the hard eviction threshold",
        )


# --- other pairs


def _pulls(kubelet: Kubelet) -> Iterator[Breach]:
    most = kubelet.given("maxParallelImagePulls")
    if kubelet.given("serializeImagePulls") is True and is_whole(most) and most > 1:
        yield (
            kubelet.path("maxParallelImagePulls"),
            f"must be 1 unless serializeImagePulls is false, got {most}, so {STOPS}; change one of them",
        )


def _shutdown(kubelet: Kubelet) -> Iterator[Breach]:
    fact = facts.kubelet()["nodeadm"]["shutdown"]
    defaults = not kubelet.bottlerocket and not newer(fact["first"], kubelet.version)
    names = {"shutdownGracePeriod": fact["seconds"], "shutdownGracePeriodCriticalPods": fact["critical_seconds"]}
    given = {name: go_seconds(kubelet.given(name)) for name in names}
    total, critical = (
        (default if defaults else 0) if given[name] is None else given[name] or 0 for name, default in names.items()
    )
    if any(given_value is not None for given_value in given.values()) and critical > total:
        path = next(kubelet.path(name) for name in names if given[name] is not None)
        also = f" (AL2023 sets {fact['seconds']}s and {fact['critical_seconds']}s)" if defaults else ""
        yield path, f"the period of critical pods must not exceed the whole shutdownGracePeriod{also}; set both"
    if kubelet.given("shutdownGracePeriodByPodPriority") and total:
        yield (
            kubelet.path("shutdownGracePeriodByPodPriority"),
            f"the kubelet refuses this together with shutdownGracePeriod, got {total:g}s; set shutdownGracePeriod and "
            "shutdownGracePeriodCriticalPods to 0s",
        )


def _enforcement(kubelet: Kubelet) -> Iterator[Breach]:
    name = "enforceNodeAllocatable"
    given = kubelet.given(name)
    listed = [each for each in given if isinstance(each, str)] if isinstance(given, list | tuple) else None
    allowed = {"pods", "system-reserved", "kube-reserved", "none"}
    if not newer("1.32", kubelet.version):
        allowed |= {"system-reserved-compressible", "kube-reserved-compressible"}
    for each in listed or ():
        if each not in allowed:
            yield kubelet.path(name), f"must list only {', '.join(sorted(allowed))}, got {quoted(each)}, so {STOPS}"
    if listed and "none" in listed and len(listed) > 1:
        yield kubelet.path(name), f"none must be the only value, or {STOPS}; remove the others"
    if kubelet.given("cgroupsPerQOS") is False and listed not in ([], ["none"]):
        yield (
            kubelet.path("cgroupsPerQOS"),
            f"must be true unless enforceNodeAllocatable is [none], or {STOPS}; remove this setting",
        )


def _cgroups(kubelet: Kubelet) -> Iterator[Breach]:
    driver = facts.kubelet()["nodeadm"]["cgroup_driver"]
    if kubelet.given("cgroupDriver") not in (None, driver):
        yield (
            kubelet.path("cgroupDriver"),
            f"containerd in the EKS image uses {driver}, and pods do not start with another driver; remove this",
        )


def _gated(kubelet: Kubelet) -> Iterator[Breach]:
    for name, gate in facts.kubelet()["gated_settings"]["by_setting"].items():
        if not kubelet.bottlerocket and kubelet.given(name) not in (None, False, {}, ()) and not kubelet.gate_on(gate):
            yield (
                kubelet.path(name),
                f"{name} requires the feature gate {gate}, which is off in Kubernetes {kubelet.version}, so {STOPS}; "
                "turn the gate on, or remove this",
            )


def _limits(kubelet: Kubelet) -> Iterator[Breach]:
    if kubelet.given("runOnce") is True and not newer("1.32", kubelet.version):
        yield kubelet.path("runOnce"), f"the kubelet has no such mode from Kubernetes 1.32 on, so {STOPS}; remove this"
    factor = kubelet.given("memoryThrottlingFactor")
    if isinstance(factor, int | float) and not isinstance(factor, bool) and not 0 < factor <= 1:
        yield kubelet.path("memoryThrottlingFactor"), f"must be above 0 and at most 1, got {factor}, so {STOPS}"
    taints = kubelet.given("registerWithTaints")
    for taint in taints if isinstance(taints, list | tuple) else ():
        effect = taint.get("effect") if isinstance(taint, dict) else None
        if isinstance(taint, dict) and effect not in TAINT_EFFECTS:
            yield (
                kubelet.path("registerWithTaints"),
                f"each taint must have the effect {' or '.join(TAINT_EFFECTS)}, got {quoted(str(effect))}, so {STOPS}",
            )
    for name, (least, most, words) in _DURATIONS.items():
        value = kubelet.given(name)
        if name == "crashLoopBackOff":
            value = value.get("maxContainerRestartPeriod") if isinstance(value, dict) else None
        length = go_seconds(value)
        if length is not None and not least <= length <= most:
            path = (
                kubelet.below(name, "maxContainerRestartPeriod") if name == "crashLoopBackOff" else kubelet.path(name)
            )
            yield path, f"must be {words}, got {quoted(str(value))}, so {STOPS}"


_DURATIONS = {
    "containerLogMonitorInterval": (3, float("inf"), "at least 3s"),
    "cpuCFSQuotaPeriod": (0.001, 1, "from 1ms to 1s"),
    "crashLoopBackOff": (1, 300, "from 1s to 300s"),
    "imageMinimumGCAge": (0, float("inf"), "at least 0s"),
    "imageMaximumGCAge": (0, float("inf"), "at least 0s"),
}
_CHECKS: tuple[Callable[[Kubelet], Iterator[Breach]], ...] = (
    _image_collection,
    _eviction,
    _reserved,
    _cpu_options,
    _topology_options,
    _memory_manager,
    _pulls,
    _shutdown,
    _enforcement,
    _cgroups,
    _gated,
    _limits,
    sysctls,
    short_periods,
    enforcements,
    pairs,
    option_values,
    cipher_suites,
    id_ranges,
)

"""Rules about the kubelet of the cluster's version: feature gates, command-line flags, and settings that conflict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from eks_hardware import facts, field_paths
from eks_hardware.printable import quoted
from eks_hardware.resolve.node import ami_family
from eks_hardware.resolve.user_data import KUBELET_NAMES
from eks_hardware.rules.registry import Breach, Context, Node, error, node_path
from eks_hardware.rules.user_data import setting, setting_path, with_user_data
from eks_hardware.rules.user_data_overrides import kubelet_flags
from eks_hardware.suggestions import close, question
from eks_hardware.versions import numbers

STOPS = "the kubelet does not start and the node never joins"
_FIELDS = {name: field for field, name in KUBELET_NAMES.items()}
# Bottlerocket's names for the kubelet settings that are checked here.
_BOTTLEROCKET = {
    "containerLogMonitorInterval": "container-log-monitor-interval",
    "cpuManagerPolicy": "cpu-manager-policy",
    "cpuManagerPolicyOptions": "cpu-manager-policy-options",
    "evictionHard": "eviction-hard",
    "evictionSoft": "eviction-soft",
    "evictionSoftGracePeriod": "eviction-soft-grace-period",
    "imageGCHighThresholdPercent": "image-gc-high-threshold-percent",
    "imageGCLowThresholdPercent": "image-gc-low-threshold-percent",
    "imageMaximumGCAge": "image-maximum-gc-age",
    "imageMinimumGCAge": "image-minimum-gc-age",
    "kubeReserved": "kube-reserved",
    "maxPods": "max-pods",
    "memoryManagerPolicy": "memory-manager-policy",
    "reservedMemory": "memory-manager-reserved-memory",
    "reservedSystemCPUs": "reserved-cpus",
    "shutdownGracePeriod": "shutdown-grace-period",
    "shutdownGracePeriodCriticalPods": "shutdown-grace-period-for-critical-pods",
    "systemReserved": "system-reserved",
    "allowedUnsafeSysctls": "allowed-unsafe-sysctls",
    "topologyManagerPolicy": "topology-manager-policy",
}


class Kubelet(NamedTuple):
    """The kubelet settings of a group or pool: its fields, and user data, which overrides them."""

    node: Node
    bottlerocket: bool
    version: str

    def _place(self, name: str) -> tuple[str, ...] | None:
        """Return the keys of a setting in user data."""
        if self.bottlerocket:
            return ("kubernetes", _BOTTLEROCKET[name]) if name in _BOTTLEROCKET else None
        return ("kubelet", "config", name)

    def given(self, name: str) -> Any:
        """Return the value of a setting in user data."""
        if not self.node.user_data:  # most nodes have none, and every rule about the kubelet asks
            return None
        place = self._place(name)
        return setting(self.node.user_data, place) if place else None

    def get(self, name: str) -> Any:
        """Return the value of a setting, from user data or the node's fields."""
        value, field = self.given(name), _FIELDS.get(name)
        return (getattr(self.node.kubelet, field) or None) if value is None and field else value

    def path(self, name: str) -> str:
        """Return the path of the field or setting that sets a value."""
        place = self._place(name)
        if self.given(name) is None and name in _FIELDS:
            return node_path(self.node, f"kubelet.{_FIELDS[name]}")
        return setting_path(self.node, place or ())

    def below(self, name: str, key: str) -> str:
        """Return the path of a key of a setting."""
        return field_paths.below(self.path(name), key)

    def map(self, name: str) -> Mapping[str, object]:
        """Return a setting that is a mapping; empty if it is not one."""
        value = self.get(name)
        return value if isinstance(value, Mapping) else {}

    def gates(self) -> dict[str, bool]:
        """Return the feature gates that the user data sets."""
        return {str(name): value for name, value in self.map("featureGates").items() if isinstance(value, bool)}

    def gate_on(self, name: str) -> bool:
        """Return whether a feature gate is on."""
        row = facts.kubelet()["feature_gates"]["by_gate"].get(name, {})
        default = "on_from" in row and not newer(row["on_from"], self.version)
        return self.gates().get(name, default)


def newer(one: str, other: str) -> bool:
    """Return whether a Kubernetes version is newer than another."""
    return numbers(one) > numbers(other)


def kubelets(context: Context) -> Iterator[Kubelet]:
    """Yield the kubelet of each group and pool."""
    version = context.strategy.cluster.kubernetes_version
    for node in context.nodes:
        yield Kubelet(node, ami_family(node) == "bottlerocket", version)


def is_recorded(version: str) -> bool:
    """Return whether the kubelet's flags and settings are recorded for a Kubernetes version."""
    return version in facts.kubelet()["versions"]["recorded"]


# --- feature gates


@error("KUBELET_FEATURE_GATE")
def _feature_gates(context: Context) -> Iterator[Breach]:
    version = context.strategy.cluster.kubernetes_version
    if not is_recorded(version):
        return
    for node in with_user_data(context, "al2023"):
        gates = setting(node.user_data, ("kubelet", "config", "featureGates"))
        for name, value in gates.items() if isinstance(gates, Mapping) else ():
            if fault := _gate_fault(str(name), value, version):
                yield setting_path(node, ("kubelet", "config", "featureGates", str(name))), fault
        for path, flag, text in kubelet_flags(node):
            parts = filter(None, text.split(",")) if flag == "--feature-gates" else ()
            for name, _, value in (part.partition("=") for part in parts):
                if fault := _gate_fault(name.strip(), _truth(value), version):
                    yield path, fault


def _truth(text: str) -> object:
    return {"true": True, "false": False}.get(text.strip().lower(), text)


def _gate_fault(name: str, value: object, version: str) -> str:
    fact = facts.kubelet()["feature_gates"]
    if name in fact["all"]:
        return ""
    row = fact["by_gate"].get(name)
    if row is None:
        similar = close(name, fact["by_gate"])
        hint = question(similar) if similar else "remove it"
        return f"Kubernetes {version} has no feature gate {quoted(name)}, so {STOPS}; {hint}"
    first, last = row.get("first", version), row.get("last", version)
    if newer(first, version):
        return f"the feature gate {name} exists only from Kubernetes {first} on, so {STOPS} on {version}; remove it"
    if newer(version, last):
        return f"the feature gate {name} exists only up to Kubernetes {last}, so {STOPS} on {version}; remove it"
    locked = row.get("locked_from")
    if locked and not newer(locked, version) and isinstance(value, bool) and value is not row.get("locked_to"):
        fixed = str(row.get("locked_to")).lower()
        return f"the feature gate {name} is locked to {fixed} in Kubernetes {version}, so {STOPS}; remove it"
    return ""

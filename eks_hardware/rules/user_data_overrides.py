"""Rules about settings that do not belong in ``user_data``: generated settings, and those with their own field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from eks_hardware import facts, field_paths
from eks_hardware.models import NodePoolSpec
from eks_hardware.resolve.node import ami_family
from eks_hardware.resolve.user_data import KUBELET_NAMES
from eks_hardware.rules.registry import Breach, Context, Node, error, node_path, noun, warning
from eks_hardware.rules.user_data import setting, setting_path, with_user_data

# Settings that EKS, Karpenter or this project writes.
_CLUSTER: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "al2023": (("cluster",),),
    "bottlerocket": (
        ("kubernetes", "api-server"),
        ("kubernetes", "cluster-certificate"),
        ("kubernetes", "cluster-name"),
        ("kubernetes", "standalone-mode"),
    ),
}


@error("USER_DATA_CLUSTER")
def _cluster(context: Context) -> Iterator[Breach]:
    nodes = [(node, places) for family, places in _CLUSTER.items() for node in with_user_data(context, family)]
    for node, keys in ((node, keys) for node, places in nodes for keys in places):
        if setting(node.user_data, keys) is not None:
            yield (
                setting_path(node, keys),
                "the stack sets the cluster that a node joins, and another value is ignored or keeps the node "
                "from joining; remove this",
            )


# The kubelet's flags have the names of the fields, without "percent".
_KUBELET = sorted(KUBELET_NAMES)
_OWN_FLAGS = {f"--{field.removesuffix('_percent').replace('_', '-')}": f"kubelet.{field}" for field in _KUBELET}
# Setting -> the field of a group or pool for it.
_OWN_FIELDS: Mapping[str, Mapping[tuple[str, ...], str]] = {
    "al2023": {
        ("instance", "localStorage", "strategy"): "instance_store",
        ("kubelet", "maxPodsExpression"): "kubelet.max_pods",
        **{("kubelet", "config", KUBELET_NAMES[field]): f"kubelet.{field}" for field in _KUBELET},
    },
    "bottlerocket": {
        ("kubelet-device-plugins", "nvidia", "mig"): "gpu_sharing",
        ("kubelet-device-plugins", "nvidia", "time-slicing"): "gpu_sharing",
        **{("kubernetes", field.replace("_", "-")): f"kubelet.{field}" for field in _KUBELET},
    },
}
_RAID10 = "RAID10"


def kubelet_flags(node: Node) -> Iterator[tuple[str, str, str]]:
    """Yield the path, name and value of the kubelet's command-line arguments in a NodeConfig."""
    flags = setting(node.user_data, ("kubelet", "flags")) if ami_family(node) == "al2023" else None
    listed = flags if isinstance(flags, list | tuple) else ()
    for path, flag in field_paths.items(node_path(node, "user_data.kubelet.flags"), listed):
        name, _, value = str(flag).partition("=")
        yield path, name, value.strip("\"'")


@warning("USER_DATA_OVERRIDES")
def _overrides(context: Context) -> Iterator[Breach]:
    for family, settings in _OWN_FIELDS.items():
        for node in with_user_data(context, family):
            overridden = {
                setting_path(node, keys): field
                for keys, field in settings.items()
                # The strategy has no field for RAID10.
                if setting(node.user_data, keys) not in (None, _RAID10)
            }
            overridden |= {path: _OWN_FLAGS[name] for path, name, _ in kubelet_flags(node) if name in _OWN_FLAGS}
            for path, field in overridden.items():
                what = "this overrides the field, and most checks and derived values do not see it"
                if isinstance(node, NodePoolSpec):
                    what = "Karpenter overrides this, or calculates with another value"
                yield path, f"{what}; set {field} of the {noun(node)} instead"
    for node in with_user_data(context, "al2023"):
        for path, name, _ in kubelet_flags(node):
            if name.removeprefix("--") in facts.kubelet()["nodeadm"]["own_flags"]:
                yield (
                    path,
                    f"nodeadm sets {name} itself, and another value can keep the node out of the cluster; remove it",
                )


_LABELS_AND_TAINTS: Mapping[str, Mapping[tuple[str, ...], str]] = {
    "al2023": {("kubelet", "config", "registerWithTaints"): "taints"},
    "bottlerocket": {("kubernetes", "node-labels"): "labels", ("kubernetes", "node-taints"): "taints"},
}


@warning("USER_DATA_LABELS")
def _labels(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        written = [
            (path, "labels" if name == "--node-labels" else "taints")
            for path, name, _ in kubelet_flags(node)
            if name in ("--node-labels", "--register-with-taints")
        ]
        written += [
            (setting_path(node, keys), what)
            for keys, what in _LABELS_AND_TAINTS[ami_family(node)].items()
            if setting(node.user_data, keys)
        ]
        for path, what in written:
            yield (
                path,
                f"DaemonSets, autoscalers and queues use the strategy's {what}, not these; set {what} instead",
            )


@warning("USER_DATA_DROPPED")
def _dropped(context: Context) -> Iterator[Breach]:
    kept = set(facts.bottlerocket_settings()["karpenter"]["kubernetes"])
    fields = facts.bottlerocket_settings()["settings"]["fields"]["kubernetes"]
    known = set(fields if isinstance(fields, dict) else ())
    for node in with_user_data(context, "bottlerocket"):
        settings = node.user_data.get("kubernetes") if isinstance(node, NodePoolSpec) else None
        for name in settings if isinstance(settings, Mapping) else ():
            if name in known - kept and ("kubernetes", name) not in _CLUSTER["bottlerocket"]:
                yield (
                    setting_path(node, ("kubernetes", name)),
                    f"Karpenter replaces [settings.kubernetes] and drops {name}; use a node group for nodes that need "
                    "it",
                )

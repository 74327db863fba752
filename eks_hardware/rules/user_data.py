"""Rules about ``user_data``: unknown names, invalid values, and its size.

AL2023 reads a NodeConfig that includes a kubelet configuration; Bottlerocket has its own settings. The names are in
``config/facts/node_config.json`` and ``config/facts/bottlerocket_settings.json``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from eks_hardware import facts, field_paths
from eks_hardware.catalogue import Hardware
from eks_hardware.printable import quoted
from eks_hardware.resolve import disks, max_pods
from eks_hardware.resolve import node as nodes
from eks_hardware.resolve.node import ami_family
from eks_hardware.resolve.user_data import bottlerocket_toml, node_config, node_shell
from eks_hardware.resolve.vpc import has_pod_subnets
from eks_hardware.rules.registry import Breach, Context, Node, error, node_path, warning
from eks_hardware.rules.unknown_keys import unknown_below
from eks_hardware.rules.value_kinds import names_only, wrong_values
from eks_hardware.suggestions import misspelt, question


def setting_path(node: Node, keys: Sequence[str]) -> str:
    """Return the path of a setting in a group's or pool's user data."""
    return field_paths.below(node_path(node, "user_data"), *keys)


def setting(settings: object, keys: Sequence[str]) -> object:
    """Return a setting by its keys; None if it is not set."""
    for key in keys:
        if not isinstance(settings, Mapping):
            return None
        settings = settings.get(key)
    return settings


def with_user_data(context: Context, family: str) -> Iterator[Node]:
    """Yield groups and pools with user data for an operating system."""
    for node in context.nodes:
        if node.user_data and ami_family(node) == family:
            yield node


# --- names


class _Fault(NamedTuple):
    """A name that the operating system does not have; unless ``sure``, it may be newer than the recorded names."""

    path: str
    message: str
    sure: bool


# Names at the top of a Kubernetes object.
_OBJECT = frozenset(["apiVersion", "kind", "metadata", "spec"])


def _node_config_faults(context: Context) -> Iterator[_Fault]:
    config = facts.node_config()["node_config"]["fields"]
    kubelet = facts.node_config()["kubelet_configuration"]["fields"]
    for node in with_user_data(context, "al2023"):
        if first := next((name for name in node.user_data if name in _OBJECT), None):
            yield _Fault(
                setting_path(node, (first,)),
                "user_data is the spec of a NodeConfig, without apiVersion, kind and metadata, so none of it has any "
                "effect; write only the contents of spec",
                sure=True,
            )
            continue
        for found in unknown_below(node.user_data, names_only(config)):
            *above, name = found.path
            siblings = setting(config, above)
            # USER_DATA_VALUE reports a mapping in place of text.
            if not isinstance(siblings, Mapping):
                continue
            hint = question(found.close) if found.close else f"its fields are {', '.join(siblings)}"
            where = f"{'.'.join(above)} of a NodeConfig" if above else "the spec of a NodeConfig"
            yield _Fault(
                setting_path(node, found.path),
                f"{where} has no {quoted(name)}, so this has no effect; {hint}",
                sure=True,
            )
        settings = setting(node.user_data, ("kubelet", "config"))
        for found in unknown_below(settings, names_only(kubelet)) if isinstance(settings, Mapping) else ():
            meant = misspelt(found.path[-1], found.close)
            hint = question([meant]) if meant else "see the KubeletConfiguration of your Kubernetes version"
            yield _Fault(
                setting_path(node, ("kubelet", "config", *found.path)),
                f"the kubelet has no setting {quoted(found.path[-1])} and ignores it; {hint}",
                sure=meant is not None,
            )


def _bottlerocket_faults(context: Context) -> Iterator[_Fault]:
    fact = facts.bottlerocket_settings()["settings"]
    for node in with_user_data(context, "bottlerocket"):
        for found in unknown_below(node.user_data, names_only(fact["fields"])):
            name = ".".join(found.path)
            if found.path == ("settings",):
                yield _Fault(
                    setting_path(node, found.path),
                    "these settings are already written under [settings]; remove this level",
                    True,
                )
                continue
            meant = misspelt(found.path[-1], found.close)
            hint = question([meant]) if meant else "see the settings of your Bottlerocket version"
            yield _Fault(
                setting_path(node, found.path),
                f"Bottlerocket has no setting {quoted(name)} and rejects the whole user data, so the node never joins; "
                f"{hint}",
                sure=meant is not None,
            )
        kinds = context.types(node)
        for name in fact["nvidia_only"]:
            if name in node.user_data and kinds and kinds[0].hardware is not Hardware.NVIDIA_GPU:
                yield _Fault(
                    setting_path(node, (name,)),
                    f"only Bottlerocket's NVIDIA image has {name}, and {kinds[0].name} uses another image; remove it",
                    sure=True,
                )


def _faults(context: Context, *, sure: bool) -> Iterator[Breach]:
    for fault in (*_node_config_faults(context), *_bottlerocket_faults(context)):
        if fault.sure is sure:
            yield fault.path, fault.message


@error("USER_DATA_FIELD")
def _field(context: Context) -> Iterator[Breach]:
    yield from _faults(context, sure=True)


@warning("USER_DATA_UNKNOWN")
def _unknown(context: Context) -> Iterator[Breach]:
    yield from _faults(context, sure=False)


# --- values

_NODEADM = "nodeadm rejects the whole NodeConfig and the node never joins"
_KUBELET = "the kubelet does not start and the node never joins"
_BOTTLEROCKET = "Bottlerocket rejects the whole user data and the node never joins"


@error("USER_DATA_VALUE")
def _value(context: Context) -> Iterator[Breach]:
    fact = facts.node_config()["node_config"]
    for node in with_user_data(context, "al2023"):
        yield from _wrong_kinds(node, node.user_data, fact["fields"], (), _NODEADM)
        for name, allowed in fact["values"].items():
            value = setting(node.user_data, name.split("."))
            for item in value if isinstance(value, list | tuple) else (value,):
                if isinstance(item, str) and item not in allowed:
                    yield (
                        setting_path(node, name.split(".")),
                        f"must be one of {', '.join(allowed)}, got {quoted(item)}",
                    )
        config = ("kubelet", "config")
        if isinstance(settings := setting(node.user_data, config), Mapping):
            fields = facts.node_config()["kubelet_configuration"]["fields"]
            yield from _wrong_kinds(node, settings, fields, config, _KUBELET)
    for node in with_user_data(context, "bottlerocket"):
        yield from _bottlerocket_values(node)


def _bottlerocket_values(node: Node) -> Iterator[Breach]:
    """Yield the values that Bottlerocket, the kubelet or the container runtime refuses, each setting once."""
    seen = set()
    for fields, outcome in (
        (facts.bottlerocket_settings()["settings"]["fields"], _BOTTLEROCKET),
        (facts.bottlerocket_settings()["kubelet"]["fields"], _KUBELET),
        (facts.bottlerocket_settings()["urls"]["fields"], "Bottlerocket rejects it or reads another host from it"),
    ):
        for path, message in _wrong_kinds(node, node.user_data, fields, (), outcome):
            if path not in seen:
                seen.add(path)
                yield path, message
    yield from _wrong_names(node)
    yield from _wrong_limits(node)


def _wrong_names(node: Node) -> Iterator[Breach]:
    fact = facts.bottlerocket_settings()["names"]
    for above, kind in fact["below"].items():
        keys, words = above.split("."), fact["kinds"][kind]["words"]
        names = setting(node.user_data, keys)
        for name in names if isinstance(names, Mapping) else ():
            if not re.fullmatch(fact["kinds"][kind]["pattern"], str(name)):
                yield (
                    setting_path(node, keys),
                    f"a name here must have {words}, got {quoted(str(name))}, so {_BOTTLEROCKET}",
                )


def _wrong_limits(node: Node) -> Iterator[Breach]:
    fact = facts.bottlerocket_settings()["resource_limits"]
    limits = setting(node.user_data, ("oci-defaults", "resource-limits"))
    for name, limit in limits.items() if isinstance(limits, Mapping) else ():
        path = setting_path(node, ("oci-defaults", "resource-limits", str(name)))
        if not isinstance(limit, Mapping):
            continue
        if missing := [key for key in fact["keys"] if limit.get(key) is None]:
            yield path, f"must have soft-limit and hard-limit, got no {missing[0]}, so {_BOTTLEROCKET}"
            continue
        soft, hard = (math.inf if limit[key] in fact["unlimited"] else limit[key] for key in fact["keys"])
        if isinstance(soft, int | float) and isinstance(hard, int | float) and soft > hard:
            yield (
                path,
                f"soft-limit must be at most hard-limit, got {limit['soft-limit']} and {limit['hard-limit']}; "
                "runc cannot set these limits, so no container starts",
            )


def _wrong_kinds(
    node: Node, values: Mapping[str, object], kinds: Mapping[str, object], above: tuple[str, ...], outcome: str
) -> Iterator[Breach]:
    """Yield the values of the wrong kind; null is the same as no value."""
    seen = set()
    for wrong in wrong_values(values, kinds):
        if wrong.value is not None and wrong.path not in seen:
            seen.add(wrong.path)
            yield setting_path(node, (*above, *wrong.path)), f"{wrong}, so {outcome}"


@error("USER_DATA_SIZE")
def _size(context: Context) -> Iterator[Breach]:
    most = facts.nodes()["user_data"]["most_bytes"]
    for node in context.nodes:
        if node.user_data and (kinds := context.types(node)):
            bottlerocket = ami_family(node) == "bottlerocket"
            pods = max_pods.pods_per_node(node, kinds, custom_networking=has_pod_subnets(context.strategy.network))
            store = disks.instance_store(node, kinds)
            settings = nodes.system_settings(node, kinds[0], bottlerocket=bottlerocket, max_pods=pods, store=store)
            shell = node_shell(context.strategy.storage)
            text = bottlerocket_toml(settings) if bottlerocket else node_config(settings, shell)
            if (size := len(text.encode())) > most:
                yield (
                    node_path(node, "user_data"),
                    f"the user data has {size} bytes, but EC2 allows {most} before base64, including the parts that "
                    "EKS or Karpenter adds; download large files from a bucket when the node starts",
                )

"""Rules about EKS add-ons: required add-ons, versions, and settings that conflict with the strategy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from eks_hardware import facts
from eks_hardware.catalogue import Hardware
from eks_hardware.resolve.addresses import switched_on
from eks_hardware.resolve.node import max_pods, pod_interfaces
from eks_hardware.resolve.vpc import has_pod_subnets
from eks_hardware.rules.registry import Breach, Context, Node, error, warning
from eks_hardware.versions import numbers

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.eks import LowestVersion


def _path(name: str, *rest: str) -> str:
    return ".".join(["cluster.addons", name, *rest])


@error("ADDON_REQUIRED")
def _required_addon(context: Context) -> Iterator[Breach]:
    for name, addon in context.strategy.cluster.addons.items():
        fact = facts.addons()[name]
        if not addon.enabled and fact["before_nodes"]:
            yield f"cluster.addons.{name}.enabled", f"{name} must be enabled: {fact['why']}; remove this line"


@warning("ADDON_DNS_OFF")
def _dns_off(context: Context) -> Iterator[Breach]:
    addon = context.strategy.cluster.addons.get("coredns")
    if addon and not addon.enabled:
        yield (
            _path("coredns", "enabled"),
            "without CoreDNS, pods cannot resolve the names of services or hosts; remove this line, unless you run "
            "another DNS server",
        )


# --- versions


def _pinned(context: Context) -> Iterator[tuple[str, str]]:
    """Yield the name and version of each add-on with a pinned version."""
    for name, addon in context.strategy.cluster.addons.items():
        if addon.enabled and addon.version:
            yield str(name), addon.version


@error("ADDON_VERSION")
def _version(context: Context) -> Iterator[Breach]:
    known = facts.eks()["addon_versions"]
    for name, version in _pinned(context):
        lowest: LowestVersion | None = known["lowest"].get(name)
        if name == known["efa_only"]["addon"] and any(_has_efa_only(context, node) for node in context.nodes):
            lowest = known["efa_only"]
        if lowest and numbers(version) < numbers(lowest["version"]):
            yield (
                _path(name, "version"),
                f"must be {lowest['version']} or later, the first version with {lowest['why']}, got {version}; pin a "
                "later one, or remove this line",
            )
    behind, version = _proxy_behind(context)
    most = known["kube_proxy_minors_behind"]
    if behind < 0 or behind > most:
        minor = context.strategy.cluster.kubernetes_version
        yield (
            _path("kube-proxy", "version"),
            f"kube-proxy must have the control plane's minor version or be up to {most} minors older, got {version} "
            f"for Kubernetes {minor}; {_OF_THE_CLUSTER}",
        )


_OF_THE_CLUSTER = "pin one with the cluster's minor version, or remove this line and EKS picks the version"


def _has_efa_only(context: Context, node: Node) -> bool:
    return node.efa and any(
        each.interface_type == "efa-only" for kind in context.types(node) for each in kind.efa_interfaces
    )


def _proxy_behind(context: Context) -> tuple[int, str]:
    """Return how many minors the pinned kube-proxy is behind the control plane, and its version; 0 if not pinned."""
    version = dict(_pinned(context)).get("kube-proxy")
    if version is None:
        return 0, ""
    return numbers(context.strategy.cluster.kubernetes_version)[1] - numbers(version)[1], version


@warning("ADDON_VERSION_BEHIND")
def _behind(context: Context) -> Iterator[Breach]:
    behind, version = _proxy_behind(context)
    if 0 < behind <= facts.eks()["addon_versions"]["kube_proxy_minors_behind"]:
        yield (
            _path("kube-proxy", "version"),
            f"{version} is {behind} minor{'s' if behind > 1 else ''} behind Kubernetes "
            f"{context.strategy.cluster.kubernetes_version}; {_OF_THE_CLUSTER}",
        )


# --- settings


def _environment(context: Context) -> Mapping[str, Any]:
    """Return the environment variables that the strategy sets for the CNI."""
    addon = context.strategy.cluster.addons.get("vpc-cni")
    given = addon.configuration.get("env") if addon else None
    return given if isinstance(given, Mapping) else {}


def _environment_path(name: str) -> str:
    return _path("vpc-cni", "configuration", "env", name)


@error("ADDON_ENVIRONMENT_TEXT")
def _environment_text(context: Context) -> Iterator[Breach]:
    for name, value in _environment(context).items():
        if not isinstance(value, str):
            yield (
                _environment_path(str(name)),
                f"must be a string, or EKS rejects the add-on's configuration; write {_quoted(value)}, with quotes",
            )


def _quoted(value: object) -> str:
    return f'"{str(value).lower()}"' if isinstance(value, bool | int | float) else "text"


@error("ADDON_WIRING")
def _wiring(context: Context) -> Iterator[Breach]:
    yield from _prefixes_off(context)
    environment, switch = _environment(context), "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG"
    if has_pod_subnets(context.strategy.network) and switch in environment and not switched_on(environment, switch):
        yield (
            _environment_path(switch),
            "the network has subnets for pods, and this setting leaves them unused; remove this line, or "
            "network.pod_cidr or pod_subnets",
        )
    addon = context.strategy.cluster.addons.get("coredns")
    configuration = addon.configuration if addon and addon.enabled else {}
    scaling = configuration.get("autoScaling")
    scaled = isinstance(scaling, Mapping) and scaling.get("enabled") is True
    if configuration.get("replicaCount") == 0 and not scaled:
        yield (
            _path("coredns", "configuration", "replicaCount"),
            "without CoreDNS, pods cannot resolve the names of services; set at least 2, or remove this line",
        )


def _prefixes_off(context: Context) -> Iterator[Breach]:
    """Yield a breach if nodes have a higher pod limit than they have addresses for without prefix delegation."""
    environment, switch = _environment(context), "ENABLE_PREFIX_DELEGATION"
    if switch not in environment or switched_on(environment, switch):
        return
    custom = has_pod_subnets(context.strategy.network)
    short: dict[str, tuple[int, int]] = {}
    for node in context.nodes:
        kinds = context.types(node)
        told = max_pods(node, kinds, custom_networking=custom) if kinds else None
        interfaces = [pod_interfaces(kind, efa=node.efa, custom_networking=custom) for kind in kinds]
        room = min(
            (
                (count or 0) * ((kind.ipv4_per_interface or 1) - 1) + 2
                for count, kind in zip(interfaces, kinds, strict=True)
            ),
            default=0,
        )
        if told is not None and told > room:
            short[node.name] = (told, room)
    if short:
        name, (told, room) = next(iter(short.items()))
        more = f" (and {len(short) - 1} more)" if len(short) > 1 else ""
        yield (
            _environment_path(switch),
            f"without prefix delegation, a node of {name} has {room} pod addresses but a limit of {told} pods{more}, "
            "and the rest stays in ContainerCreating; remove this line, or set kubelet.max_pods everywhere",
        )


# --- node repair


@warning("NODE_REPAIR_NO_AGENT")
def _repair(context: Context) -> Iterator[Breach]:
    addon = context.strategy.cluster.addons.get("eks-node-monitoring-agent")
    if addon is None or addon.enabled:
        return
    repaired = [
        group.name
        for group in context.strategy.node_groups
        if group.repairs and (group.node_repair or _accelerated(context, group))
    ]
    karpenter = context.strategy.karpenter
    if karpenter and karpenter.feature_gates.node_repair:
        repaired.append("Karpenter's pools")
    if repaired:
        yield (
            _path("eks-node-monitoring-agent", "enabled"),
            f"without the agent, EKS repairs {', '.join(repaired)} only when the kubelet stops responding, not after "
            "faults of GPUs, Neuron devices, EFA, disks or the kernel; remove this line, or set node_repair: false",
        )


def _accelerated(context: Context, node: Node) -> bool:
    return any(kind.hardware is not Hardware.CPU for kind in context.types(node))

"""Rules about EKS add-ons: required add-ons, versions, and settings that conflict with the strategy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from eks_hardware import facts, field_paths
from eks_hardware.catalogue import Hardware
from eks_hardware.resolve.addresses import switched_on
from eks_hardware.resolve.max_pods import pod_interfaces, pods_per_node
from eks_hardware.resolve.node import default_repair
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
        if lowest := _not_reached(context, name, version):
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
            f"kube-proxy must have the control plane's minor version or be up to {most} minor versions older, got "
            f"{version} for Kubernetes {minor}; {_OF_THE_CLUSTER}",
        )

    yield from _other_numbering(context)


def _not_reached(context: Context, name: str, version: str) -> LowestVersion | None:
    """Return the lowest version of an add-on that this project needs, if the pinned one is older."""
    known = facts.eks()["addon_versions"]
    lowest: LowestVersion | None = known["lowest"].get(name)
    if name == known["efa_only"]["addon"] and any(_has_efa_only(context, node) for node in context.nodes):
        lowest = known["efa_only"]
    return lowest if lowest and numbers(version) < numbers(lowest["version"]) else None


def _other_numbering(context: Context) -> Iterator[Breach]:
    """Yield versions that contradict the recorded ones: another numbering, or CoreDNS for another Kubernetes."""
    newest, minor = facts.eks()["addon_versions"]["newest"], context.strategy.cluster.kubernetes_version
    least, most = newest["coredns_minors"].get(minor, (0, _ANY_MINOR))
    for name, version in _pinned(context):
        read = newest["versions"].get(name)
        offered = f"1.{least}" if least == most else f"1.{least} to 1.{most}"
        if read and numbers(version)[0] > numbers(read)[0] + 1:
            yield (
                _path(name, "version"),
                f"{name} has versions up to {read}, got {version}, which may be the version of its Helm chart; pin "
                "one that `aws eks describe-addon-versions` lists, or remove this line",
            )
        elif name == "coredns" and not least <= numbers(version)[1] <= most + 1:
            yield (
                _path(name, "version"),
                f"EKS offers CoreDNS {offered} for Kubernetes {minor}, got {version}; pin one of these, or remove this "
                "line so that EKS picks the version",
            )


_ANY_MINOR = 1_000_000
_UNKNOWN = "unknown"  # for an add-on whose oldest version is not recorded


@warning("ADDON_VERSION_UNREAD")
def _unread(context: Context) -> Iterator[Breach]:
    yield from _newer(context)
    oldest, minor = facts.eks()["addon_versions"]["oldest"]["versions"], context.strategy.cluster.kubernetes_version
    for name, version in _pinned(context):
        read = oldest.get(name, _UNKNOWN)
        if read != _UNKNOWN and numbers(version) < numbers(read) and not _not_reached(context, name, version):
            yield (
                _path(name, "version"),
                f"the oldest recorded version of {name} is {read}, so EKS may not offer {version} for Kubernetes "
                f"{minor}; {_check_offered(name, minor)}",
            )


def _check_offered(name: str, minor: str) -> str:
    return f"check with `aws eks describe-addon-versions --addon-name {name} --kubernetes-version {minor}`"


def _newer(context: Context) -> Iterator[Breach]:
    newest, minor = facts.eks()["addon_versions"]["newest"], context.strategy.cluster.kubernetes_version
    for name, version in _pinned(context):
        read = newest["versions"].get(name)
        most = newest["coredns_minors"].get(minor, (0, _ANY_MINOR))[1] if name == "coredns" else _ANY_MINOR
        above = (
            read and numbers(read) < numbers(version.partition("-")[0]) and numbers(version)[0] <= numbers(read)[0] + 1
        )
        if above or numbers(version)[1] == most + 1:
            recorded = f"1.{most} for Kubernetes {minor}" if most < _ANY_MINOR else read
            yield (
                _path(name, "version"),
                f"the newest recorded version of {name} is {recorded}, so {version} may not exist; "
                f"{_check_offered(name, minor)}",
            )


_OF_THE_CLUSTER = "pin one with the cluster's minor version, or remove this line so that EKS picks the version"


def _has_efa_only(context: Context, node: Node) -> bool:
    return node.efa and any(
        interface.interface_type == "efa-only" for kind in context.types(node) for interface in kind.efa_interfaces
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
            f"{version} is {behind} minor version{'s' if behind > 1 else ''} behind Kubernetes "
            f"{context.strategy.cluster.kubernetes_version}; {_OF_THE_CLUSTER}",
        )


# --- settings


def _environment(context: Context) -> Mapping[str, object]:
    """Return the environment variables that the strategy sets for the CNI."""
    given = context.addon_configuration("vpc-cni").get("env")
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
    yield from _other_cluster(context)
    environment, switch = _environment(context), "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG"
    if has_pod_subnets(context.strategy.network) and switch in environment and not switched_on(environment, switch):
        yield (
            _environment_path(switch),
            "the network has subnets for pods, and this setting leaves them unused; remove this line, or "
            "network.pod_cidr or pod_subnets",
        )
    if switched_on(environment, "DISABLE_NETWORK_RESOURCE_PROVISIONING"):
        yield (
            _environment_path("DISABLE_NETWORK_RESOURCE_PROVISIONING"),
            "the CNI then attaches no interfaces or addresses, so pods stay in ContainerCreating; remove this line",
        )
    own_interfaces = bool(context.addon_configuration("vpc-cni").get("eniConfig"))
    with_subnets = has_pod_subnets(context.strategy.network) or own_interfaces
    if switched_on(environment, switch) and not with_subnets:
        yield (
            _environment_path(switch),
            "the CNI then assigns pod addresses only from the subnets of ENIConfig objects, and the network has no "
            "subnets for pods, so no node becomes Ready; remove this line, or set network.pod_cidr",
        )
    yield from _interfaces_capped(context)
    configuration = context.addon_configuration("coredns")
    if str(configuration.get("computeType", "ec2")).lower() == "fargate":
        yield (
            _path("coredns", "configuration", "computeType"),
            "the cluster has no Fargate profile, so CoreDNS stays Pending; remove this line",
        )
    scaling = configuration.get("autoScaling")
    scaled = isinstance(scaling, Mapping) and scaling.get("enabled") is True
    if configuration.get("replicaCount") == 0 and not scaled:
        yield (
            _path("coredns", "configuration", "replicaCount"),
            "without CoreDNS, pods cannot resolve the names of services; set at least 2, or remove this line",
        )


def _other_cluster(context: Context) -> Iterator[Breach]:
    """Yield the name of another cluster in the configuration of an add-on."""
    own = context.strategy.name
    for name, addon in context.strategy.cluster.addons.items():
        for path, key, value in _texts(_path(name, "configuration"), addon.configuration) if addon.enabled else ():
            if key.lower().replace("_", "").replace("-", "") in ("clustername", "k8stagclusterid") and value != own:
                yield path, f"must be the strategy's cluster {own}, got {value}; remove this line"


def _texts(path: str, values: Mapping[str, object]) -> Iterator[tuple[str, str, str]]:
    """Yield the path, key and value of each text; the key of an environment variable is its name."""
    for key, value in values.items():
        below = field_paths.below(path, str(key))
        if isinstance(value, Mapping):
            yield from _texts(below, value)
        elif isinstance(value, str):
            yield below, str(values.get("name", key)) if key == "value" else str(key), value
        for where, each in field_paths.items(below, value) if isinstance(value, list | tuple) else ():
            yield from _texts(where, each) if isinstance(each, Mapping) else ()


def _prefixes_off(context: Context) -> Iterator[Breach]:
    """Yield a breach if nodes, without prefix delegation, have fewer pod addresses than their pod limit."""
    environment, switch = _environment(context), "ENABLE_PREFIX_DELEGATION"
    if switch not in environment or switched_on(environment, switch):
        return
    custom = has_pod_subnets(context.strategy.network)
    short: dict[str, tuple[int, int]] = {}
    for node in context.nodes:
        kinds = context.types(node)
        told = pods_per_node(node, kinds, custom_networking=custom) if kinds else None
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
        others = len(short) - 1
        more = f" (likewise {others} other {'group or pool' if others == 1 else 'groups or pools'})" if others else ""
        yield (
            _environment_path(switch),
            f"without prefix delegation, a node of {name} has {room} pod addresses but a limit of {told} pods{more}, "
            "so some pods stay in ContainerCreating; remove this line, or set kubelet.max_pods everywhere",
        )


def _interfaces_capped(context: Context) -> Iterator[Breach]:
    """Yield a breach if the limit of interfaces leaves a node fewer addresses than its limit of pods."""
    environment, name = _environment(context), "MAX_ENI"
    most, custom = cni_number(environment, name), has_pod_subnets(context.strategy.network)
    prefixes = switched_on(environment, "ENABLE_PREFIX_DELEGATION") or "ENABLE_PREFIX_DELEGATION" not in environment
    size = facts.eks()["max_pods"]["addresses_per_prefix"] if prefixes else 1
    for node in context.nodes if most else ():
        kinds = context.types(node)
        told = pods_per_node(node, kinds, custom_networking=custom) if kinds else None
        for kind in kinds if told else ():
            count = min(pod_interfaces(kind, efa=node.efa, custom_networking=custom) or 0, most - custom)
            room = count * ((kind.ipv4_per_interface or 1) - 1) * size + 2
            if told and kind.ipv4_per_interface and told > room:
                yield (
                    _environment_path(name),
                    f"with {most} interfaces, a {kind.name} of {node.name} has {room} pod addresses but a limit of "
                    f"{told} pods, so some pods stay in ContainerCreating; raise {name}, or remove this line",
                )
                return


# --- the warm pool of addresses


def cni_number(environment: Mapping[str, object], name: str) -> int:
    """Return a whole number in the CNI's environment; 0 if it is not set or not a number."""
    text = str(environment.get(name, ""))
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


@warning("ADDON_WARM_POOL")
def _warm_pool(context: Context) -> Iterator[Breach]:
    environment = _environment(context)
    targets = {name: cni_number(environment, name) for name in ("WARM_IP_TARGET", "MINIMUM_IP_TARGET")}
    prefixes = switched_on(environment, "ENABLE_PREFIX_DELEGATION") or "ENABLE_PREFIX_DELEGATION" not in environment
    if targets["MINIMUM_IP_TARGET"] and not targets["WARM_IP_TARGET"]:
        yield (
            _environment_path("MINIMUM_IP_TARGET"),
            "without WARM_IP_TARGET, the CNI stops at this number of addresses, and further pods on the node wait; set "
            'WARM_IP_TARGET to "1" or more',
        )
    warm = "WARM_PREFIX_TARGET" if prefixes else "WARM_ENI_TARGET"
    negative = {name: value for name in _TARGETS if (value := str(environment.get(name))).startswith("-")}
    for name, value in negative.items():
        yield (
            _environment_path(name),
            f"must be at least 0, got {value}, so the CNI uses its default; correct it, or remove this line",
        )
    none_free = warm in environment and warm not in negative and not cni_number(environment, warm)
    if none_free and not any(targets.values()):
        yield (
            _environment_path(warm),
            f'with "{environment[warm]}", the CNI keeps no free addresses, and each pod waits for EC2; set '
            '"1", or remove this line',
        )
    for name, target in targets.items():
        most = max((_most_pods(context, node) for node in context.nodes), default=0)
        if most and target > most:
            yield (
                _environment_path(name),
                f"each node reserves {target} addresses of its subnet, but no node runs more than {most} pods; lower "
                f"it to at most {most}",
            )
    if (extra := cni_number(environment, "WARM_ENI_TARGET")) > 1 and not prefixes and not any(targets.values()):
        yield (
            _environment_path("WARM_ENI_TARGET"),
            f"each node reserves all addresses of {extra} unused interfaces, which exhausts small subnets; set "
            'WARM_IP_TARGET and MINIMUM_IP_TARGET instead, or "1"',
        )
    if (extra := cni_number(environment, "WARM_PREFIX_TARGET")) > _FEW_PREFIXES and prefixes:
        size = facts.eks()["max_pods"]["addresses_per_prefix"]
        yield (
            _environment_path("WARM_PREFIX_TARGET"),
            f'each node reserves {extra} prefixes, which are {extra * size} unused addresses; set "1"',
        )


_FEW_PREFIXES = 4
# https://github.com/aws/amazon-vpc-cni-k8s/blob/b52188387/pkg/ipamd/ipamd.go (getWarmIPTarget, getMinimumIPTarget,
# getWarmENITarget, getWarmPrefixTarget)
_TARGETS = ("MINIMUM_IP_TARGET", "WARM_ENI_TARGET", "WARM_IP_TARGET", "WARM_PREFIX_TARGET")


def _most_pods(context: Context, node: Node) -> int:
    kinds, custom = context.types(node), has_pod_subnets(context.strategy.network)
    return max((pods_per_node(node, (kind,), custom_networking=custom) or 0 for kind in kinds), default=0)


# --- node repair


@warning("NODE_REPAIR_NO_AGENT")
def _repair(context: Context) -> Iterator[Breach]:
    addon = context.strategy.cluster.addons.get("eks-node-monitoring-agent")
    if addon is None or addon.enabled:
        return
    repaired = [
        group.name
        for group in context.strategy.node_groups
        if group.node_repair
        or (group.node_repair is None and default_repair(group).value and _accelerated(context, group))
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

"""Rule about fields that have no effect, because another field switches their section off.

Each row is a switch: when it is off, and which fields it silences. Fields that a model or another rule refuses with the
switch are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel

from eks_hardware import facts, field_paths
from eks_hardware.catalogue import Hardware, InstanceType
from eks_hardware.models import NodePoolSpec
from eks_hardware.resolve.addresses import switched_on
from eks_hardware.resolve.node import ami_family
from eks_hardware.resolve.node_role import node_policy_arns
from eks_hardware.resolve.vpc import has_pod_subnets
from eks_hardware.rules.addons import cni_number
from eks_hardware.rules.placement import below
from eks_hardware.rules.registry import Breach, Context, Node, node_path, warning
from eks_hardware.software import chip_of, cuda_support

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.eks import SilentSection


class _Switch(NamedTuple):
    """A section, the test for whether it is off, the reason in words, and the fields that then have no effect."""

    section: str
    off: Callable[[Any], bool]
    because: str
    fields: tuple[str, ...]


_SECTIONS = (
    _Switch(
        "cluster.logging",
        lambda logging: not logging.types,
        "'types' is empty",
        ("retention_days", "keep_on_destroy"),
    ),
    _Switch(
        "cluster.secrets_encryption",
        lambda encryption: not encryption.enabled,
        "'enabled' is false",
        ("kms_key_arn",),
    ),
    _Switch(
        "network.flow_logs",
        lambda logs: not logs.enabled,
        "'enabled' is false",
        ("traffic", "retention_days"),
    ),
    _Switch(
        "kubernetes",
        lambda kubernetes: kubernetes.gpu_operator and kubernetes.dcgm_exporter,
        "the GPU Operator includes the exporter",
        ("dcgm_exporter",),
    ),
)


class _Lasting(str):
    """A reason that no field can change, or that another rule enforces."""

    __slots__ = ()


@warning("FIELD_NO_EFFECT")
def _no_effect(context: Context) -> Iterator[Breach]:
    for path, because in _silent(context):
        remedy = "remove it" if isinstance(because, _Lasting) else "remove it, or change that"
        yield path, f"this has no effect, because {because}; {remedy}"


def _silent(context: Context) -> Iterator[tuple[str, str]]:
    """Yield the path of each field without effect, and the reason."""
    strategy = context.strategy
    for switch in _SECTIONS:
        section: Any = reduce(getattr, switch.section.split("."), strategy)
        if switch.off(section):
            yield from ((f"{switch.section}.{each}", switch.because) for each in _given(section, switch.fields))
    if not strategy.network.gateway_endpoints:
        yield "network.gateway_endpoints", _Lasting("S3 is always included")
    for name, addon in strategy.cluster.addons.items():
        if not addon.enabled:
            fields = _given(addon, ("version", "configuration"))
            yield from ((f"cluster.addons.{name}.{field}", "'enabled' is false") for field in fields)
        else:
            yield from _off_below(addon.configuration, f"cluster.addons.{name}.configuration")
    for chart_name, chart in strategy.kubernetes.charts.items():
        path = f"kubernetes.charts.{chart_name}.values"
        rows = facts.charts()["silent_sections"]["charts"].get(chart_name, [])
        others = {name: value for name, value in chart.values.items() if name not in {row["section"] for row in rows}}
        yield from _off_below(others, path)
        yield from ((f"{path}.{field}", because) for field, because in _silent_sections(chart.values, rows))
    for team in strategy.kubernetes.teams:
        defaults = team.container_defaults
        if "container_defaults" in team.model_fields_set and not (defaults.requests or defaults.limits):
            path = field_paths.below(field_paths.item("kubernetes.teams", team.name), "container_defaults")
            yield path, "it has neither requests nor limits"
    yield from _addon_pairs(context)
    yield from _karpenter(context)
    yield from _nodes(context)


def _given(section: BaseModel, fields: Sequence[str]) -> list[str]:
    """Return the fields that the strategy sets."""
    return [
        name for name in fields if name in section.model_fields_set and getattr(section, name) not in (None, {}, ())
    ]


# --- add-ons and charts


def _off_below(values: Mapping[str, object], above: str) -> Iterator[tuple[str, str]]:
    """Yield the first setting next to each ``enabled: false``."""
    for name, value in values.items():
        if not isinstance(value, Mapping):
            continue
        path = field_paths.below(above, str(name))
        others = [str(key) for key in value if key != "enabled"]
        if value.get("enabled") is False and others:
            yield field_paths.below(path, others[0]), "'enabled' next to it is false"
        elif value.get("enabled") is not False:
            yield from _off_below(value, path)


def _silent_sections(values: Mapping[str, object], rows: Sequence[SilentSection]) -> Iterator[tuple[str, str]]:
    """Yield the first setting of each section that is off, or that has a section below it that is off."""
    for row in rows:
        section = values.get(row["section"])
        if not isinstance(section, Mapping):
            continue
        if _is_on(values, row["switch"], row["default"]):
            yield from _off_below({row["section"]: section}, "")
        elif not any(_is_on(values, switch, default=False) for switch in row["unless"]):
            because = _Lasting(row["because"]) if row.get("fixed") else row["because"]
            others = [str(name) for name in section if name not in row["read"]]
            yield from ((field_paths.below(row["section"], name), because) for name in others[:1])


def _is_on(values: Mapping[str, object], switch: str, default: bool) -> bool:
    *above, last = switch.split(".")
    return below(values, above).get(last, default) is not False


def _addon_pairs(context: Context) -> Iterator[tuple[str, str]]:
    dns, proxy, cni = map(context.addon_configuration, ("coredns", "kube-proxy", "vpc-cni"))
    scaling = dns.get("autoScaling")
    if isinstance(scaling, Mapping) and scaling.get("enabled") is True and "replicaCount" in dns:
        yield "cluster.addons.coredns.configuration.replicaCount", "autoScaling sets the number of replicas"
    if "ipvs" in proxy and proxy.get("mode") != "ipvs":
        yield "cluster.addons.kube-proxy.configuration.ipvs", "'mode' is not ipvs"
    agent, above = cni.get("nodeAgent"), "cluster.addons.vpc-cni.configuration"
    if isinstance(agent, Mapping) and cni.get("enableNetworkPolicy") == "false":
        logs = [name for name in ("enablePolicyEventLogs", "enableCloudWatchLogs") if agent.get(name) == "true"]
        yield from ((f"{above}.nodeAgent.{name}", "'enableNetworkPolicy' is false") for name in logs)
    environment, switch = cni.get("env"), "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG"
    custom = has_pod_subnets(context.strategy.network) or (
        isinstance(environment, Mapping) and switched_on(environment, switch)
    )
    if cni.get("eniConfig") and not custom:
        yield f"{above}.eniConfig", f"{switch} is off"
    if isinstance(environment, Mapping):
        yield from ((f"{above}.env.{name}", because) for name, because in _environment_pairs(environment))


def _environment_pairs(environment: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield each variable of the CNI that another one overrides."""
    prefixes = switched_on(environment, "ENABLE_PREFIX_DELEGATION") or "ENABLE_PREFIX_DELEGATION" not in environment
    targets = [name for name in ("WARM_IP_TARGET", "MINIMUM_IP_TARGET") if cni_number(environment, name)]
    for name in ("WARM_PREFIX_TARGET", "WARM_ENI_TARGET"):
        if name in environment and targets:
            yield name, f"{targets[0]} overrides it"
    if "WARM_PREFIX_TARGET" in environment and not targets and not prefixes:
        yield "WARM_PREFIX_TARGET", "ENABLE_PREFIX_DELEGATION is off"
    if "WARM_ENI_TARGET" in environment and not targets and prefixes:
        yield "WARM_ENI_TARGET", "prefix delegation is on, and WARM_PREFIX_TARGET applies"
    mode = "POD_SECURITY_GROUP_ENFORCING_MODE"
    if mode in environment and not switched_on(environment, "ENABLE_POD_ENI"):
        yield mode, "ENABLE_POD_ENI is off"


# --- Karpenter


def _karpenter(context: Context) -> Iterator[tuple[str, str]]:
    karpenter = context.strategy.karpenter
    if karpenter is None:
        return
    open_to = {ami_family(pool) for pool in context.pools if not pool.ami.image_id and not pool.ami.version}
    for family in _given(karpenter.ami_versions, ("al2023", "bottlerocket")):
        if family not in open_to:
            yield f"karpenter.ami_versions.{family}", f"no pool uses {family} without its own version or image"
    own = node_policy_arns(facts.partition(context.strategy.region))
    for path, arn in field_paths.items("karpenter.node_policies", karpenter.node_policies):
        if arn in own:
            yield path, _Lasting("every node role has this policy")
    spot = any("spot" in pool.capacity for pool in context.pools)
    if karpenter.feature_gates.spot_to_spot_consolidation and context.pools and not spot:
        yield "karpenter.feature_gates.spot_to_spot_consolidation", "no pool has Spot capacity"
    for pool in context.pools:
        disruption = pool.disruption
        if disruption.consolidate_after == "never" and "consolidation" in disruption.model_fields_set:
            yield node_path(pool, "disruption.consolidation"), "'consolidate_after' is never"
        if disruption.consolidation != "when-empty":
            continue
        for path, budget in field_paths.items(node_path(pool, "disruption.budgets"), disruption.budgets or ()):
            if budget.reasons == ("Underutilized",):
                yield f"{path}.reasons", "'consolidation' is when-empty, and no node is removed as underutilized"


# --- groups and pools


def _nodes(context: Context) -> Iterator[tuple[str, str]]:
    for node in context.nodes:
        kinds = context.types(node)
        yield from _needs(node, kinds)
        yield from _memory_policy(node)
        if kinds and kinds[0].hardware is Hardware.CPU and "accelerator_taint" in node.model_fields_set:
            yield node_path(node, "accelerator_taint"), f"{kinds[0].name} has no accelerator"
        if isinstance(node, NodePoolSpec) or not kinds:
            continue
        policies = node.user_data.get("kubernetes")
        if isinstance(policies, Mapping) and policies.get("static-pods-enabled") is False and "static-pods" in policies:
            yield node_path(node, "user_data.kubernetes.static-pods"), "'static-pods-enabled' is false"


def _memory_policy(node: Node) -> Iterator[tuple[str, str]]:
    """Yield a memory policy that Bottlerocket does not write into the kubelet's configuration.

    Source: https://github.com/bottlerocket-os/bottlerocket-core-kit/blob/e641ab8/packages/kubernetes-1.36/kubelet-config
    """
    settings = node.user_data.get("kubernetes") if ami_family(node) == "bottlerocket" else None
    if not isinstance(settings, Mapping) or settings.get("memory-manager-policy") != "Static":
        return
    path = node_path(node, "user_data.kubernetes.memory-manager-policy")
    because = "Bottlerocket applies it only if 'memory-manager-reserved-memory' is also set"
    if isinstance(node, NodePoolSpec):
        yield path, _Lasting(f"{because}, and Karpenter drops that setting")
    elif not settings.get("memory-manager-reserved-memory"):
        yield path, because


def _needs(node: Node, kinds: Sequence[InstanceType]) -> Iterator[tuple[str, str]]:
    """Yield each need that no rule checks. A described workload adds needs of its own."""
    if not kinds or node.described:
        return
    needs = node.needs
    if not any(kind.hardware is Hardware.NVIDIA_GPU or kind.hardware.is_neuron for kind in kinds):
        for name in _given(needs, ("precision", "distributed")):
            because = f"only NVIDIA GPUs, Trainium and Inferentia are checked, and {kinds[0].name} has none"
            yield node_path(node, f"needs.{name}"), because
    elif node.ami.image_id:
        because = "the driver of your own image is unknown"
        if needs.nvidia_driver and not any((found := cuda_support(kind)) and found.last_driver for kind in kinds):
            yield node_path(node, "needs.nvidia_driver"), because
        archived = facts.software()["neuron_chips"]["archived"]
        if needs.neuron_sdk and not needs.framework and not any(chip_of(kind) in archived for kind in kinds):
            yield node_path(node, "needs.neuron_sdk"), because

"""Resolve ``kubernetes``: which charts are installed, from the hardware and what the strategy asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from eks_hardware import aws_names, facts
from eks_hardware.catalogue import Hardware
from eks_hardware.iam_policies import service_roles
from eks_hardware.models import Chart, Strategy, Team
from eks_hardware.resolve.mappings import frozen
from eks_hardware.resolve.model import Reasons, ResolvedNodeGroup
from eks_hardware.resolve.model_kubernetes import (
    ResolvedChart,
    ResolvedKubernetes,
    ResolvedNodePool,
    ResolvedTeam,
    ServicePolicy,
    ServiceRole,
)


@dataclass(frozen=True)
class NodeNeeds:
    """What decides which charts a group or pool needs; ``path`` is its place in the strategy."""

    path: str
    hardware: Hardware
    ami_family: str
    efa: bool


def wanted_charts(strategy: Strategy, nodes: Sequence[NodeNeeds]) -> Iterator[tuple[str, str]]:
    """Key and reason of each chart that is installed, in the order of installation."""
    kubernetes = strategy.kubernetes
    # Bottlerocket's NVIDIA variants run a device plugin of their own; a second one fails:
    # https://github.com/eksctl-io/eksctl/issues/5277
    gpu = [each for each in nodes if each.hardware is Hardware.NVIDIA_GPU and each.ami_family == "al2023"]
    neuron = [each for each in nodes if each.hardware.is_neuron]
    efa = [each for each in nodes if each.efa]
    if kubernetes.prometheus:
        # First, so that others find its ServiceMonitor.
        yield "kube-prometheus-stack", "kubernetes.prometheus is true"
    if strategy.karpenter:
        yield "karpenter-crd", "Karpenter's resource definitions, in a chart of their own so that they are upgraded"
        yield "karpenter", "the strategy has a karpenter section"
    if kubernetes.gpu_operator:
        yield "gpu-operator", "kubernetes.gpu_operator is true"
    elif gpu:
        yield "nvidia-device-plugin", f"AL2023 nodes with NVIDIA GPUs: {_paths(gpu)}"
    if neuron:
        yield "neuron-helm-chart", f"nodes with Trainium or Inferentia: {_paths(neuron)}"
    if efa:
        yield "aws-efa-k8s-device-plugin", f"nodes with EFA: {_paths(efa)}"
    if kubernetes.dcgm_exporter and not kubernetes.gpu_operator:
        yield "dcgm-exporter", "kubernetes.dcgm_exporter is true; the GPU Operator brings its own"
    if kubernetes.load_balancer_controller:
        yield "aws-load-balancer-controller", "kubernetes.load_balancer_controller is true"
    if kubernetes.cluster_autoscaler:
        yield "cluster-autoscaler", "kubernetes.cluster_autoscaler is true"
    if kubernetes.kueue:
        yield "kueue", "kubernetes.kueue is true"


def _path(node: ResolvedNodeGroup | ResolvedNodePool) -> str:
    return f"{'node_groups' if isinstance(node, ResolvedNodeGroup) else 'karpenter.node_pools'}[{node.name}]"


def _paths(nodes: Sequence[NodeNeeds]) -> str:
    return ", ".join(dict.fromkeys(each.path for each in nodes))


def resolve_kubernetes(
    strategy: Strategy,
    *,
    node_groups: Sequence[ResolvedNodeGroup],
    node_pools: Sequence[ResolvedNodePool],
) -> ResolvedKubernetes:
    """Derive what runs on the cluster; groups and pools are those of the strategy, resolved."""
    why = Reasons()
    kubernetes = strategy.kubernetes
    given = kubernetes.model_fields_set
    nodes: tuple[ResolvedNodeGroup | ResolvedNodePool, ...] = (*node_groups, *node_pools)
    needs = [NodeNeeds(_path(each), each.hardware, each.ami_family, bool(each.efa_interfaces)) for each in nodes]
    wanted = dict(wanted_charts(strategy, needs))
    overlays = any(pool.overlays for pool in node_pools)
    return ResolvedKubernetes(
        delivery=why.given(
            "delivery", kubernetes.delivery, when="delivery" in given, otherwise="Terraform installs the charts"
        ),
        stack=why.given(
            "stack", kubernetes.stack, when="stack" in given, otherwise="one stack, one apply, one destroy"
        ),
        kubernetes_version=why.strategy("kubernetes_version", strategy.cluster.kubernetes_version),
        charts=why.rule(
            "charts",
            MappingProxyType({key: _chart(key, strategy, reason) for key, reason in wanted.items()}),
            "what the hardware needs, and what is asked for",
        ),
        feature_gates=why.rule(
            "feature_gates",
            MappingProxyType(_feature_gates(strategy, overlays=overlays)),
            "the strategy's; nodeOverlay tells Karpenter of shared GPUs" if overlays else "the strategy's alone",
            source="facts/karpenter.json settings; facts/karpenter.json node_overlay",
        ),
        karpenter_replicas=why.given(
            "karpenter_replicas",
            strategy.karpenter.replicas if strategy.karpenter else 0,
            when=strategy.karpenter is not None and "replicas" in strategy.karpenter.model_fields_set,
            otherwise="one works, one stands by" if strategy.karpenter else "no Karpenter",
        ),
        service_roles=why.rule(
            "service_roles",
            tuple(_service_roles(strategy, wanted)),
            "charts that call AWS",
        ),
        teams=why.given(
            "teams",
            tuple(_team(each) for each in kubernetes.teams),
            when="teams" in given,
            otherwise="no namespaces are made",
        ),
        neuron_monitor=why.given(
            "neuron_monitor",
            kubernetes.neuron_monitor,
            when="neuron_monitor" in given,
            otherwise="not asked for",
        ),
        reasons=why.frozen(),
    )


def _chart(key: str, strategy: Strategy, reason: str) -> ResolvedChart:
    why = Reasons()
    fact = facts.chart(key)
    charts = {str(name): each for name, each in strategy.kubernetes.charts.items()}
    given = charts.get(key, Chart())
    chosen = given.version
    if key == "karpenter-crd" and chosen is None:
        # The definitions are those of the controller.
        chosen = charts.get("karpenter", Chart()).version
    namespace = fact["namespace"]
    if key in ("karpenter", "karpenter-crd") and strategy.karpenter:
        namespace = strategy.karpenter.namespace
    return ResolvedChart(
        key=why.rule("key", key, reason, source=f"facts/charts.json row {key}"),
        chart=why.rule("chart", fact["chart"], "its name in the repository", source=fact["source"]),
        repository=why.given(
            "repository",
            given.repository or fact["repository"],
            when=given.repository is not None,
            otherwise="where it is published",
            source=fact["source"],
        ),
        version=why.given(
            "version",
            chosen or fact["version"],
            when=chosen is not None,
            otherwise=f"the release this toolkit was written for ({fact['as_of']})",
            source=f"facts/charts.json row {key}",
        ),
        namespace=why.rule("namespace", namespace, "where the chart's documentation puts it", source=fact["source"])
        if namespace == fact["namespace"]
        else why.strategy("namespace", namespace, "karpenter.namespace of the strategy"),
        values=why.given("values", frozen(given.values), when=bool(given.values), otherwise="derived values alone"),
        reasons=why.frozen(),
    )


def _feature_gates(strategy: Strategy, *, overlays: bool) -> dict[str, bool]:
    if strategy.karpenter is None:
        return {}
    gates = strategy.karpenter.feature_gates
    chosen = {
        "nodeRepair": gates.node_repair,
        "spotToSpotConsolidation": gates.spot_to_spot_consolidation,
        "staticCapacity": gates.static_capacity,
        "nodeOverlay": gates.node_overlay if gates.node_overlay is not None else (True if overlays else None),
        "capacityBuffer": gates.capacity_buffer,
    }
    return {name: value for name, value in chosen.items() if value is not None}


def _service_roles(strategy: Strategy, wanted: Mapping[str, str]) -> Iterator[ServiceRole]:
    for key, role in service_roles.ROLES.items():
        if key not in wanted:
            continue
        why = Reasons()
        name, region = strategy.name, strategy.region
        yield ServiceRole(
            key=why.rule("key", key, wanted[key], source=f"facts/charts.json row {key}"),
            role_name=why.rule(
                "role_name",
                aws_names.limited(name, region, key, limit=aws_names.IAM_ROLE),
                "cluster, region and chart, at most 64 characters",
            ),
            namespace=why.rule(
                "namespace",
                facts.chart(key)["namespace"],
                "where the chart runs",
                source=f"facts/charts.json row {key}",
            ),
            service_account=why.rule(
                "service_account", role.service_account, "of the chart's pods", source=role.source
            ),
            policies=why.rule(
                "policies",
                tuple(
                    ServicePolicy(
                        each,
                        aws_names.limited(name, region, f"{key}-{each}", limit=aws_names.IAM_POLICY),
                        frozen(statements),
                    )
                    for each, statements in role.policies(name).items()
                ),
                "what the chart's documentation asks for",
                source=role.source,
            ),
            reasons=why.frozen(),
        )


# ResourceQuota counts extended resources by their requests only:
# https://kubernetes.io/docs/concepts/policy/resource-quotas/#resource-quota-for-extended-resources
_QUOTA_PLAIN = frozenset({"pods", "persistentvolumeclaims"})


def _team(team: Team) -> ResolvedTeam:
    quota = {name if name in _QUOTA_PLAIN else f"requests.{name}": str(value) for name, value in team.quota.items()}
    defaults = team.container_defaults
    return ResolvedTeam(
        team.name,
        MappingProxyType(quota),
        MappingProxyType({str(name): value for name, value in defaults.requests.items()}),
        MappingProxyType({str(name): value for name, value in defaults.limits.items()}),
    )

"""Rules about what runs on the cluster: autoscalers, job queues, teams, and the way out to AWS."""

from __future__ import annotations

from collections.abc import Iterator

from eks_hardware import facts, field_paths
from eks_hardware.catalogue import Hardware
from eks_hardware.findings import Severity
from eks_hardware.models import NodeGroupSpec, NodePoolSpec, Team
from eks_hardware.resolve import ami_family, extended_resources_of
from eks_hardware.resolve.gpu_sharing import gpu_shares
from eks_hardware.resolve.network import nat_mode
from eks_hardware.rules.delivery import charts
from eks_hardware.rules.registry import Breach, Context, node_path, rule
from eks_hardware.spellings import keeps_pods_off
from eks_hardware.units import amount

_AUTOSCALER = "https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md"
_AUTOSCALER_PATH = "kubernetes.cluster_autoscaler"
_KUEUE = "https://github.com/kubernetes-sigs/kueue/tree/v0.19.2/apis/kueue/v1beta2"
_QUOTAS = "https://kubernetes.io/docs/concepts/policy/resource-quotas/"
_NAMESPACES = "https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/#initial-namespaces"
_PRIVATE = "https://docs.aws.amazon.com/eks/latest/userguide/private-clusters.html"


# --- Cluster Autoscaler


@rule(
    "AUTOSCALERS_BOTH",
    "two autoscalers decide about the same pods",
    "https://karpenter.sh/docs/getting-started/migrating-from-cas/",
    severity=Severity.WARNING,
)
def _both(context: Context) -> Iterator[Breach]:
    if context.strategy.kubernetes.cluster_autoscaler and context.strategy.karpenter:
        yield (
            _AUTOSCALER_PATH,
            "Karpenter and Cluster Autoscaler may both make nodes for the same pending pods, and the spare ones are "
            "paid for until they are removed; once a migration is over remove this line, or the karpenter section",
        )


def _autoscaled(context: Context) -> list[NodeGroupSpec]:
    return [group for group in context.strategy.node_groups if group.scaling.autoscaled]


@rule("AUTOSCALER_NO_GROUP", "no group is left to Cluster Autoscaler to scale", _AUTOSCALER, severity=Severity.WARNING)
def _no_group(context: Context) -> Iterator[Breach]:
    if context.strategy.kubernetes.cluster_autoscaler and not _autoscaled(context):
        yield (
            _AUTOSCALER_PATH,
            "no node group has scaling.autoscaled: true, so that it runs for nothing: a group of fixed size it cannot "
            "change, and the next apply sets any other back; set it on a group, or remove this line",
        )


@rule(
    "AUTOSCALER_MISSING",
    "a group is left to an autoscaler that the strategy does not install",
    _AUTOSCALER,
    severity=Severity.WARNING,
)
def _missing(context: Context) -> Iterator[Breach]:
    if not context.strategy.kubernetes.cluster_autoscaler:
        for group in _autoscaled(context):
            yield (
                node_path(group, "scaling.autoscaled"),
                "nothing of this strategy scales the group (Karpenter makes nodes of its own); set "
                "kubernetes.cluster_autoscaler: true, or run an autoscaler of your own",
            )


@rule(
    "AUTOSCALER_TAKES_GROUP",
    "Cluster Autoscaler scales a group whose size the strategy sets",
    "https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html",
    severity=Severity.WARNING,
)
def _takes(context: Context) -> Iterator[Breach]:
    if not context.strategy.kubernetes.cluster_autoscaler:
        return
    for group in context.strategy.node_groups:
        scaling = group.scaling
        if not scaling.autoscaled and scaling.min < scaling.max:
            yield (
                node_path(group, "scaling"),
                "EKS marks every node group for Cluster Autoscaler, and the next apply sets back what it did; add "
                "autoscaled: true, or make min and max the same",
            )


@rule(
    "AUTOSCALER_VERSION",
    "no release of Cluster Autoscaler is known for the Kubernetes version",
    "config/facts/charts.json (cluster_autoscaler_images)",
    severity=Severity.WARNING,
)
def _version(context: Context) -> Iterator[Breach]:
    version = context.strategy.cluster.kubernetes_version
    if not context.strategy.kubernetes.cluster_autoscaler or facts.autoscaler_image(version):
        return
    chart = context.strategy.kubernetes.charts.get("cluster-autoscaler")
    image = chart.values.get("image") if chart else None
    if not (isinstance(image, dict) and image.get("tag")):
        yield (
            _AUTOSCALER_PATH,
            f"it simulates the scheduler of its own Kubernetes minor, and no release is known for {version}; name one "
            "in kubernetes.charts.cluster-autoscaler.values.image.tag",
        )


# --- Kueue


@rule("KUEUE_NO_NODES", "there are no nodes for jobs", _KUEUE)
def _no_nodes(context: Context) -> Iterator[Breach]:
    usable = [
        node
        for node in context.nodes
        if node.purpose != "system" and any(kind.hardware is not Hardware.OTHER for kind in context.types(node))
    ]
    # A type that the catalogue does not know is another rule's.
    if context.strategy.kubernetes.kueue and not usable and all(context.types(node) for node in context.nodes):
        yield "kubernetes.kueue", "jobs get no queue: every group is a system group; add a group or pool for them"


@rule("KUEUE_TAINTS", "a group or pool has more taints than a ResourceFlavor takes", _KUEUE)
def _taints(context: Context) -> Iterator[Breach]:
    if not context.strategy.kubernetes.kueue:
        return
    for node in context.nodes:
        hard = [taint for taint in node.taints if keeps_pods_off(taint.effect)]
        if len(hard) > _FLAVOR_TAINTS:
            yield (
                node_path(node, "taints"),
                f"Kueue refuses a flavor with more than {_FLAVOR_TAINTS} taints, and {len(hard)} are given; keep "
                f"{_FLAVOR_TAINTS}, or make some PreferNoSchedule",
            )


_FLAVOR_TAINTS = 8


# --- teams

_RESERVED = frozenset({"default", "kube-node-lease", "kube-public", "kube-system"})


def _team_path(team: Team, *rest: str) -> str:
    return ".".join([f"kubernetes.teams[{team.name}]", *rest])


def _quota_path(team: Team, resource: str) -> str:
    return field_paths.below(_team_path(team, "quota"), resource)


@rule("TEAM_NAMESPACE_RESERVED", "a team takes a namespace that is there already", _NAMESPACES)
def _reserved(context: Context) -> Iterator[Breach]:
    installed = {facts.chart(key)["namespace"] for key in charts(context)}
    if context.strategy.karpenter:
        installed.add(context.strategy.karpenter.namespace)
    for team in context.strategy.kubernetes.teams:
        if team.name in _RESERVED or team.name.startswith("kube-"):
            yield _team_path(team, "name"), f"{team.name!r} belongs to Kubernetes; choose another name"
        elif team.name in installed:
            yield _team_path(team, "name"), f"charts of this strategy run in {team.name!r}; choose another name"


@rule(
    "TEAM_QUOTA_UNUSED",
    "a team has a quota for a resource that no node advertises",
    _QUOTAS,
    severity=Severity.WARNING,
)
def _unused(context: Context) -> Iterator[Breach]:
    there = {resource for node in context.nodes for resource in _advertised(context, node)}
    for team in context.strategy.kubernetes.teams:
        for resource in team.quota:
            if "/" not in resource or resource in there:
                continue
            domain = resource.partition("/")[0]
            # How GPUs are shared decides what they are called.
            others = sorted(each for each in there - set(team.quota) if each.partition("/")[0] == domain)
            what = f"its nodes call it {' and '.join(others)}" if others else "remove the line"
            yield (
                _quota_path(team, resource),
                f"no node of this strategy advertises {resource}, so that this limits nothing; {what}",
            )


def _advertised(context: Context, node: NodeGroupSpec | NodePoolSpec) -> set[str]:
    """Extended resources of the nodes of a group or pool."""
    kinds = context.types(node)
    shares = gpu_shares(node, kinds, bottlerocket=ami_family(node) == "bottlerocket") if kinds else None
    return {
        resource
        for kind in kinds
        for resource in extended_resources_of(kind, efa_count=kind.max_efa_interfaces if node.efa else 0, shares=shares)
    }


@rule(
    "TEAM_QUOTA_NO_DEFAULT",
    "pods that state no request are refused",
    f"{_QUOTAS}#requests-vs-limits",
    severity=Severity.WARNING,
)
def _no_default(context: Context) -> Iterator[Breach]:
    for team in context.strategy.kubernetes.teams:
        # A container's limit is its request, too, where it has none.
        given = {*team.container_defaults.requests, *team.container_defaults.limits}
        for resource in ("cpu", "memory"):
            if resource in team.quota and resource not in given:
                yield (
                    _quota_path(team, resource),
                    f"with a quota, a pod that does not say how much {resource} it asks for is refused; add "
                    f"container_defaults: {{requests: {{{resource}: ...}}}}",
                )


@rule(
    "TEAM_LIMIT_RANGE",
    "a team's containers ask for more than their limit by default",
    "https://kubernetes.io/docs/concepts/policy/limit-range/",
)
def _limit_range(context: Context) -> Iterator[Breach]:
    for team in context.strategy.kubernetes.teams:
        defaults = team.container_defaults
        for resource, request in defaults.requests.items():
            limit = defaults.limits.get(resource)
            if limit is not None and amount(request) > amount(limit):
                yield (
                    _team_path(team, "container_defaults", "requests", resource),
                    f"{request} is more than the limit of {limit}, and Kubernetes refuses such containers; raise the "
                    "limit, or lower this",
                )


# What is counted, and not measured.
_WHOLE = frozenset({"pods", "persistentvolumeclaims"})


@rule("TEAM_QUOTA_QUANTITY", "a team's quota is no whole or no positive number", _QUOTAS)
def _quota_quantity(context: Context) -> Iterator[Breach]:
    for team in context.strategy.kubernetes.teams:
        for resource, given in team.quota.items():
            if isinstance(given, int) and given < 0:
                yield _quota_path(team, resource), f"{given} is below zero; give the most that all pods may have"
            elif (resource in _WHOLE or "/" in resource) and amount(given).denominator != 1:
                yield (
                    _quota_path(team, resource),
                    f"{given} is no whole number of {resource}; write for example {max(1, round(amount(given)))}",
                )


# --- endpoints

# Interface endpoints that a controller's own API calls go through where there is no other way out.
_ENDPOINTS = {"cluster-autoscaler": "autoscaling", "aws-load-balancer-controller": "elasticloadbalancing"}


@rule("CONTROLLER_NO_WAY_OUT", "a controller reaches neither the internet nor the endpoint of its service", _PRIVATE)
def _no_way_out(context: Context) -> Iterator[Breach]:
    network = context.strategy.network
    if network.existing or network.interface_endpoints is None or nat_mode(network) != "none":
        return
    keys = sorted(
        key for key in charts(context) & set(_ENDPOINTS) if _ENDPOINTS[key] not in network.interface_endpoints
    )
    if keys:
        calls = " and ".join(f"{key} calls {_ENDPOINTS[key]}" for key in keys)
        yield "network.interface_endpoints", f"{calls}; add {', '.join(_ENDPOINTS[key] for key in keys)}"

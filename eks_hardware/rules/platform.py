"""Rules about services on the cluster: autoscalers, job queues, teams, and access to AWS APIs."""

from __future__ import annotations

from collections.abc import Iterator

from eks_hardware import facts, field_paths
from eks_hardware.catalogue import Hardware
from eks_hardware.models import NodeGroupSpec, NodePoolSpec, Team
from eks_hardware.models.kubernetes import COUNTED_OBJECTS
from eks_hardware.printable import quoted
from eks_hardware.resolve.extended_resources import extended_resources_of
from eks_hardware.resolve.gpu_sharing import gpu_shares
from eks_hardware.resolve.node import ami_family
from eks_hardware.rules.network import only_endpoints
from eks_hardware.rules.quantities import whole_number
from eks_hardware.rules.registry import Breach, Context, error, node_path, warning
from eks_hardware.spellings import keeps_pods_off
from eks_hardware.units import amount

_AUTOSCALER_PATH = "kubernetes.cluster_autoscaler"


# --- Cluster Autoscaler


@warning("AUTOSCALERS_BOTH")
def _both(context: Context) -> Iterator[Breach]:
    if context.strategy.kubernetes.cluster_autoscaler and context.strategy.karpenter:
        yield (
            _AUTOSCALER_PATH,
            "Karpenter and Cluster Autoscaler may both launch nodes for the same pending pods, and the extra nodes "
            "cost money until removed; after a migration, remove this line or the karpenter section",
        )


def _autoscaled(context: Context) -> list[NodeGroupSpec]:
    return [group for group in context.strategy.node_groups if group.scaling.autoscaled]


@warning("AUTOSCALER_NO_GROUP")
def _no_group(context: Context) -> Iterator[Breach]:
    if context.strategy.kubernetes.cluster_autoscaler and not _autoscaled(context):
        yield (
            _AUTOSCALER_PATH,
            "no node group has scaling.autoscaled: true, so Cluster Autoscaler has no effect (it cannot change fixed "
            "sizes, and an apply resets the others); set it on a group, or remove this line",
        )


@warning("AUTOSCALER_MISSING")
def _missing(context: Context) -> Iterator[Breach]:
    if not context.strategy.kubernetes.cluster_autoscaler:
        for group in _autoscaled(context):
            yield (
                node_path(group, "scaling.autoscaled"),
                "nothing in this strategy scales the group (Karpenter launches its own nodes); set "
                "kubernetes.cluster_autoscaler: true, or run your own autoscaler",
            )


@warning("AUTOSCALER_TAKES_GROUP")
def _takes(context: Context) -> Iterator[Breach]:
    if not context.strategy.kubernetes.cluster_autoscaler:
        return
    for group in context.strategy.node_groups:
        scaling = group.scaling
        if not scaling.autoscaled and scaling.min < scaling.max:
            yield (
                node_path(group, "scaling"),
                "EKS tags every node group for Cluster Autoscaler, and the next apply resets the sizes that the "
                "autoscaler set; add autoscaled: true, or set min and max to the same number",
            )


@warning("AUTOSCALER_VERSION")
def _version(context: Context) -> Iterator[Breach]:
    version = context.strategy.cluster.kubernetes_version
    if not context.strategy.kubernetes.cluster_autoscaler or facts.autoscaler_image(version):
        return
    image = context.chart_values("cluster-autoscaler").get("image")
    if not (isinstance(image, dict) and image.get("tag")):
        yield (
            _AUTOSCALER_PATH,
            f"Cluster Autoscaler must match the Kubernetes minor version, and no release for {version} is recorded; "
            "set one in kubernetes.charts.cluster-autoscaler.values.image.tag",
        )


# --- Kueue


@error("KUEUE_NO_NODES")
def _no_nodes(context: Context) -> Iterator[Breach]:
    usable = [
        node
        for node in context.nodes
        if node.purpose != "system" and any(kind.hardware is not Hardware.OTHER for kind in context.types(node))
    ]
    # Another rule reports unknown types.
    if context.strategy.kubernetes.kueue and not usable and all(context.types(node) for node in context.nodes):
        yield (
            "kubernetes.kueue",
            "jobs have no queue, because every group is a system group; add a group or pool for jobs",
        )


@error("KUEUE_TAINTS")
def _taints(context: Context) -> Iterator[Breach]:
    if not context.strategy.kubernetes.kueue:
        return
    for node in context.nodes:
        hard = [taint for taint in node.taints if keeps_pods_off(taint.effect)]
        if len(hard) > _FLAVOR_TAINTS:
            yield (
                node_path(node, "taints"),
                f"Kueue allows at most {_FLAVOR_TAINTS} taints per flavor, got {len(hard)}; keep {_FLAVOR_TAINTS}, or "
                "change some to PreferNoSchedule",
            )


_FLAVOR_TAINTS = 8


# --- teams

_RESERVED = frozenset({"default", "kube-node-lease", "kube-public", "kube-system"})


def _team_path(team: Team, *rest: str) -> str:
    return ".".join([f"kubernetes.teams[{team.name}]", *rest])


def _quota_path(team: Team, resource: str) -> str:
    return field_paths.below(_team_path(team, "quota"), resource)


@error("TEAM_NAMESPACE_RESERVED")
def _reserved(context: Context) -> Iterator[Breach]:
    installed = {facts.chart(key)["namespace"] for key in context.charts}
    if context.strategy.karpenter:
        installed.add(context.strategy.karpenter.namespace)
    for team in context.strategy.kubernetes.teams:
        if team.name in _RESERVED or team.name.startswith("kube-"):
            yield _team_path(team, "name"), f"{quoted(team.name)} is reserved for Kubernetes; choose another name"
        elif team.name in installed:
            yield (
                _team_path(team, "name"),
                f"charts of this strategy use namespace {quoted(team.name)}; choose another name",
            )


@warning("TEAM_QUOTA_UNUSED")
def _unused(context: Context) -> Iterator[Breach]:
    there = {resource for node in context.nodes for resource in _advertised(context, node)}
    for team in context.strategy.kubernetes.teams:
        for resource in team.quota:
            if "/" not in resource or resource in there:
                continue
            domain = resource.partition("/")[0]
            # The resource name of a GPU depends on the sharing mode.
            others = sorted(
                resource_name for resource_name in there - set(team.quota) if resource_name.partition("/")[0] == domain
            )
            what = f"use {' or '.join(others)}, which its nodes advertise" if others else "remove this line"
            yield (
                _quota_path(team, resource),
                f"no node of this strategy advertises {resource}, so this has no effect; {what}",
            )


def _advertised(context: Context, node: NodeGroupSpec | NodePoolSpec) -> set[str]:
    """Return the extended resources of the nodes of a group or pool."""
    kinds = context.types(node)
    shares = gpu_shares(node, kinds, bottlerocket=ami_family(node) == "bottlerocket") if kinds else None
    return {
        resource
        for kind in kinds
        for resource in extended_resources_of(kind, efa_count=kind.max_efa_interfaces if node.efa else 0, shares=shares)
    }


@warning("TEAM_QUOTA_NO_DEFAULT")
def _no_default(context: Context) -> Iterator[Breach]:
    for team in context.strategy.kubernetes.teams:
        # A container without a request gets its limit as the request.
        given = {*team.container_defaults.requests, *team.container_defaults.limits}
        for resource in ("cpu", "memory"):
            if resource in team.quota and resource not in given:
                yield (
                    _quota_path(team, resource),
                    f"with this quota, Kubernetes rejects pods without a {resource} request; add container_defaults: "
                    f"{{requests: {{{resource}: ...}}}}",
                )


@error("TEAM_LIMIT_RANGE")
def _limit_range(context: Context) -> Iterator[Breach]:
    for team in context.strategy.kubernetes.teams:
        defaults = team.container_defaults
        for resource, request in defaults.requests.items():
            limit = defaults.limits.get(resource)
            if limit is not None and amount(request) > amount(limit):
                yield (
                    _team_path(team, "container_defaults", "requests", resource),
                    f"must be at most the limit of {limit}, got {request}, so Kubernetes rejects such containers; "
                    "raise the limit, or lower this",
                )


@error("TEAM_QUOTA_QUANTITY")
def _quota_quantity(context: Context) -> Iterator[Breach]:
    for team in context.strategy.kubernetes.teams:
        for resource, given in team.quota.items():
            if isinstance(given, int) and given < 0:
                yield _quota_path(team, resource), f"must be at least 0, got {given}; set a total for all pods"
            elif (resource in COUNTED_OBJECTS or "/" in resource) and _is_no_count(given):
                yield _quota_path(team, resource), whole_number(given)


def _is_no_count(given: str | int) -> bool:
    """Return whether an amount has a fraction, or a suffix for bytes."""
    return amount(given).denominator != 1 or str(given).endswith("i")


# --- endpoints

# Interface endpoints that controllers need for their own API calls without another route out.
_ENDPOINTS = {"cluster-autoscaler": "autoscaling", "aws-load-balancer-controller": "elasticloadbalancing"}


@error("CONTROLLER_NO_WAY_OUT")
def _no_way_out(context: Context) -> Iterator[Breach]:
    endpoints = only_endpoints(context)
    if endpoints is None:
        return
    if keys := sorted(key for key in context.charts & set(_ENDPOINTS) if _ENDPOINTS[key] not in endpoints):
        calls = " and ".join(f"{key} needs {_ENDPOINTS[key]}" for key in keys)
        yield (
            "network.interface_endpoints",
            f"without a NAT gateway, {calls}; add {', '.join(_ENDPOINTS[key] for key in keys)}",
        )

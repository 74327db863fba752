"""Rules about values with which an add-on or chart is installed, but some of its pods do not run, or have no effect."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from eks_hardware import facts, field_paths
from eks_hardware.printable import quoted
from eks_hardware.resolve.addresses import switched_on
from eks_hardware.rules.addon_values import settings
from eks_hardware.rules.placement import below, placed
from eks_hardware.rules.registry import Breach, Context, warning
from eks_hardware.rules.taints import is_open_to
from eks_hardware.rules.user_data import setting
from eks_hardware.suggestions import did_you_mean

_COUNTS = ("replicas", "replicaCount")


# --- replicas


@warning("REPLICAS_ZERO")
def _zero(context: Context) -> Iterator[Breach]:
    for path, values in _sections(context):
        for name in _COUNTS:
            count = values.get(name)
            # ADDON_WIRING reports CoreDNS, without which nothing works.
            if (
                isinstance(count, int)
                and not isinstance(count, bool)
                and not count
                and path != "cluster.addons.coredns.configuration"
            ):
                yield (
                    field_paths.below(path, name),
                    "with 0 replicas none of its pods run, and requests that its webhooks check fail; set at least 1, "
                    "or do not install it",
                )


@warning("REPLICAS_APART")
def _apart(context: Context) -> Iterator[Breach]:
    grows = any(is_open_to(context, pool) for pool in context.pools) or "cluster-autoscaler" in context.charts
    if grows or not all(map(context.types, context.strategy.node_groups)):
        return
    groups = [group for group in context.strategy.node_groups if is_open_to(context, group) and group.scaling.initial]
    nodes = sum(group.scaling.initial for group in groups)
    zones = {zone for group in groups for zone in group.zones}
    # A group without zones uses all zones of the network.
    domains = {
        "kubernetes.io/hostname": (nodes, "node"),
        **({"topology.kubernetes.io/zone": (len(zones), "zone")} if all(group.zones for group in groups) else {}),
    }
    for path, values in placed(context):
        terms = below(values, ("affinity", "podAntiAffinity")).get("requiredDuringSchedulingIgnoredDuringExecution")
        apart = [
            domains[str(each.get("topologyKey"))]
            for each in (terms if isinstance(terms, Sequence) and not isinstance(terms, str) else ())
            if isinstance(each, Mapping) and each.get("topologyKey") in domains
        ]
        replicas = _replicas(path, values)
        if apart and replicas > min(apart)[0]:
            count, what = min(apart)
            raised = "raise scaling.min" if what == "node" else "add zones"
            yield (
                field_paths.below(path, "affinity"),
                f"each of the {replicas} replicas needs its own {what}, but the groups have {count}, so the others "
                f"stay Pending; {raised}, lower the replicas, or use preferredDuringSchedulingIgnoredDuringExecution",
            )


def _replicas(path: str, values: Mapping[str, object]) -> int:
    """Return the replicas that values set, or the recorded ones."""
    given = next((values[name] for name in _COUNTS if isinstance(values.get(name), int)), None)
    name, known = path.split(".")[2], facts.system_pods()["deployments"]
    recorded = known[name]["replicas"] if name in known else 1
    return given if isinstance(given, int) else recorded


def _sections(context: Context) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the path and value of all values of each add-on and installed chart, and of each mapping in them."""
    for name, addon in context.strategy.cluster.addons.items():
        if addon.enabled:
            yield f"cluster.addons.{name}.configuration", addon.configuration
    for chart_name, chart in context.strategy.kubernetes.charts.items():
        if chart_name in context.charts:
            yield f"kubernetes.charts.{chart_name}.values", chart.values
    yield from ((path, value) for path, _, value in settings(context))


# --- parts that others need


class _Part(NamedTuple):
    """A part of a chart without which the rest has no effect."""

    chart: str
    switch: tuple[str, ...]
    without: str


_PARTS = (
    _Part(
        "kube-prometheus-stack",
        ("crds", "enabled"),
        "without the CRDs, the API server refuses the chart's Prometheus and its monitors",
    ),
    _Part(
        "kube-prometheus-stack",
        ("prometheusOperator", "enabled"),
        "without the operator, nothing starts Prometheus and Alertmanager",
    ),
    _Part("cluster-autoscaler", ("rbac", "create"), "without its roles, the API server refuses its requests"),
    _Part("aws-load-balancer-controller", ("rbac", "create"), "without its roles, the API server refuses its requests"),
)


@warning("SOFTWARE_INCOMPLETE")
def _incomplete(context: Context) -> Iterator[Breach]:
    for part in _PARTS:
        values = context.chart_values(part.chart) if part.chart in context.charts else {}
        if setting(values, part.switch) is False:
            path = field_paths.below(f"kubernetes.charts.{part.chart}.values", *part.switch)
            yield path, f"{part.without}; remove this line, or ignore this if you install the missing part yourself"
    yield from _certificates(context)
    snapshots = context.strategy.cluster.addons.get("snapshot-controller")
    snapshotter = below(context.addon_configuration("aws-ebs-csi-driver"), ("sidecars", "snapshotter"))
    if snapshotter.get("forceEnable") is True and not (snapshots and snapshots.enabled):
        yield (
            "cluster.addons.aws-ebs-csi-driver.configuration.sidecars.snapshotter.forceEnable",
            "the snapshotter needs the CRDs of the add-on snapshot-controller, and without them it only logs "
            "errors; set cluster.addons.snapshot-controller: {}, or remove this line",
        )
    network = context.addon_configuration("vpc-cni")
    if network.get("enableNetworkPolicy") == "true" and below(network, ("nodeAgent",)).get("enabled") in (
        False,
        "false",
    ):
        yield (
            "cluster.addons.vpc-cni.configuration.nodeAgent.enabled",
            "the node agent enforces network policies, so without it every policy has no effect; remove this line, or "
            "enableNetworkPolicy",
        )
    environment = below(network, ("env",))
    # ADDON_ENVIRONMENT_TEXT reports a value that is not text.
    if isinstance(environment.get("ENABLE_POD_ENI"), str) and switched_on(environment, "ENABLE_POD_ENI"):
        yield (
            "cluster.addons.vpc-cni.configuration.env.ENABLE_POD_ENI",
            "security groups for pods need the policy AmazonEKSVPCResourceController on the cluster's role, which the "
            "stack does not attach; remove this line, or ignore this if you attach it yourself",
        )


def _certificates(context: Context) -> Iterator[Breach]:
    """Yield switches that need cert-manager, which no add-on or chart of a strategy installs."""
    for name, switch in facts.charts()["cert_manager"]["switches"].items():
        if name in context.charts and setting(context.chart_values(name), switch.split(".")) is True:
            yield (
                f"kubernetes.charts.{name}.values.{switch}",
                "the chart's certificates need the CRDs of cert-manager, which the strategy does not install, "
                "so the installation fails; remove this line, or ignore this if you install cert-manager first",
            )


@warning("PRIORITY_CLASS")
def _priority(context: Context) -> Iterator[Breach]:
    recorded = facts.charts()["priority_classes"]
    enabled = {name for name, addon in context.strategy.cluster.addons.items() if addon.enabled}
    known = {
        *recorded["of_cluster"],
        *(each for name, names in recorded["of_addons"].items() if name in enabled for each in names),
        *(each for chart in context.strategy.kubernetes.charts.values() for each in _created_classes(chart.values)),
    }
    for path, values in _sections(context):
        for key, name in values.items():
            if str(key).lower().endswith("priorityclassname") and isinstance(name, str) and name and name not in known:
                yield (
                    field_paths.below(path, str(key)),
                    f"nothing in the strategy creates the priority class {quoted(name)}, and the API server refuses "
                    f"pods with an unknown one; use {' or '.join(recorded['of_cluster'])}, or ignore this if you "
                    "create the class yourself",
                )


def _created_classes(value: object) -> Iterator[str]:
    """Yield the names of the priority classes among the extra objects of a chart."""
    if isinstance(value, Mapping):
        if value.get("kind") == "PriorityClass":
            yield str(below(value, ("metadata",)).get("name"))
        for each in value.values():
            yield from _created_classes(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _created_classes(each)
    elif isinstance(value, str) and "kind: PriorityClass" in value:
        yield from re.findall(r"name: *[\"']?([a-z0-9.-]+)", value)


@warning("AUTOSCALER_ARGUMENT")
def _arguments(context: Context) -> Iterator[Breach]:
    name = "cluster-autoscaler"
    given = below(context.chart_values(name), ("extraArgs",)) if name in context.charts else {}
    known = facts.charts()["cluster_autoscaler_arguments"]
    for argument in given:
        if argument not in (*known["names"], "v") and not argument.startswith(tuple(known["others"])):
            hint = did_you_mean(argument, known["names"], "check the flags of your image's release")
            yield (
                field_paths.below(f"kubernetes.charts.{name}.values.extraArgs", argument),
                f"the recorded autoscaler has no flag --{argument}, and exits at once on an unknown flag; {hint}",
            )


# --- volumes on nodes with taints

# Drivers whose node pods tolerate every taint, unless the configuration says otherwise.
_DRIVERS = ("aws-ebs-csi-driver", "aws-efs-csi-driver", "aws-fsx-csi-driver", "aws-mountpoint-s3-csi-driver")


@warning("VOLUME_DRIVER_KEPT_OFF")
def _kept_off(context: Context) -> Iterator[Breach]:
    for name in _DRIVERS:
        node = below(context.addon_configuration(name), ("node",))
        given = node.get("tolerations")
        narrow = node.get("tolerateAllTaints") is False or isinstance(given, list | tuple)
        if not narrow or node.get("tolerateAllTaints") is True:
            continue
        tolerations = tuple(given) if isinstance(given, list | tuple) else ()
        off = [
            each.name for each in context.nodes if context.types(each) and not is_open_to(context, each, tolerations)
        ]
        if off:
            field = "tolerations" if isinstance(given, list | tuple) else "tolerateAllTaints"
            yield (
                f"cluster.addons.{name}.configuration.node.{field}",
                f"the driver does not run on {', '.join(off[:3])}, whose taints it does not tolerate, so pods there "
                "cannot mount its volumes and stay in ContainerCreating; remove this line, or tolerate the taints",
            )

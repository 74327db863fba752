"""Rules about the values of add-ons and charts: their kinds, misplaced names, and what they need from other add-ons."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from eks_hardware import aws_names, facts, field_paths
from eks_hardware.printable import quoted
from eks_hardware.rules.pod_values import FREE, TERMS, Fault, pod_faults
from eks_hardware.rules.registry import Breach, Context, error, warning
from eks_hardware.rules.unknown_keys import unknown_below
from eks_hardware.rules.value_kinds import WrongValue, names_only, wrong_values
from eks_hardware.suggestions import misspelt, question
from eks_hardware.units import MIB, amount, go_seconds

_REJECTS = "EKS rejects the add-on's configuration in the middle of an apply"
_CNI = "; EKS rejects other values, or the CNI ignores them or does not start"


def _addon_path(name: str, keys: tuple[str, ...]) -> str:
    return field_paths.below(f"cluster.addons.{name}.configuration", *keys)


def _configured(context: Context) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the name and configuration of each add-on that the strategy configures."""
    for name, addon in context.strategy.cluster.addons.items():
        if addon.enabled and addon.configuration:
            yield str(name), addon.configuration


# --- add-ons


class _Name(NamedTuple):
    path: str
    message: str
    sure: bool


@error("ADDON_VALUE")
def _kinds(context: Context) -> Iterator[Breach]:
    known, by_addon = facts.addon_configurations()["configurations"], facts.value_kinds()["by_addon"]["kinds"]
    for name, values in _configured(context):
        fields = known[name]["fields"] if name in known else {}
        own = (wrong for wrong in wrong_values(values, by_addon.get(name, {})) if wrong.value is not None)
        wrong_by_path = {wrong.path: wrong for wrong in (*wrong_values(values, fields), *_by_name(values), *own)}
        for wrong in wrong_by_path.values():
            # ADDON_ENVIRONMENT_TEXT reports values that are not text.
            if not (name == "vpc-cni" and wrong.path[0] == "env" and len(wrong.path) == 2 and _is_scalar(wrong.value)):
                of_cni = (name, wrong.path[0]) == ("vpc-cni", "env")
                yield _addon_path(name, wrong.path), f"{wrong}{_CNI if of_cni else f', so {_REJECTS}'}"
        for path, fault in _faults(values):
            yield _addon_path(name, path), fault
    yield from ((each.path, each.message) for each in _names(context) if each.sure)
    yield from _replicas(context)


def _is_scalar(value: object) -> bool:
    return value is None or (not isinstance(value, str) and isinstance(value, bool | int | float))


@warning("ADDON_VALUE_UNKNOWN")
def _unknown(context: Context) -> Iterator[Breach]:
    yield from ((name.path, name.message) for name in _names(context) if not name.sure)


def _names(context: Context) -> Iterator[_Name]:
    """Yield every name that is missing from an add-on's recorded configuration."""
    known = facts.addon_configurations()["configurations"]
    for name, values in _configured(context):
        row = known.get(name)
        wrong = {value.path for value in wrong_values(values, row["fields"])} if row else set()
        for found in unknown_below(values, names_only(row["fields"])) if row else ():
            last = found.path[-1]
            if found.path[:-1] in wrong:
                continue
            meant = misspelt(last, found.close)
            places = [place for place in _places(row["fields"], last, ()) if place != found.path] if row else []
            where = f"it belongs {_under(places[0][:-1])}" if places else ""
            hint = question([meant]) if meant else where or f"see `{_DESCRIBE} {name}`"
            yield _Name(
                _addon_path(name, found.path),
                f"the recorded configuration of {name} has no {quoted('.'.join(found.path))}, and EKS rejects unknown "
                f"names; {hint}",
                sure=bool(meant or places),
            )


def _under(keys: tuple[str, ...]) -> str:
    return f"under {'.'.join(keys)}" if keys else "at the top level"


_DESCRIBE = "aws eks describe-addon-configuration --addon-name"


def _places(fields: Mapping[str, object], name: str, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield each place of a name in a configuration."""
    for key, below in fields.items():
        if key == name:
            yield (*above, key)
        if isinstance(below, Mapping):
            yield from _places(below, name, (*above, key))


def _replicas(context: Context) -> Iterator[Breach]:
    values = context.addon_configuration("coredns")
    scaling = values.get("autoScaling")
    if isinstance(scaling, Mapping):
        least, most = scaling.get("minReplicas"), scaling.get("maxReplicas")
        if isinstance(least, int) and isinstance(most, int) and least > most:
            path = _addon_path("coredns", ("autoScaling", "minReplicas"))
            yield path, f"must be at most maxReplicas {most}, got {least}; lower minReplicas, or raise maxReplicas"
        if "enabled" not in scaling:
            yield _addon_path("coredns", ("autoScaling",)), f"must have 'enabled', or {_REJECTS}; add it"
    yield from _default_limit(values)
    budget = values.get("podDisruptionBudget")
    if isinstance(budget, Mapping) and {"maxUnavailable", "minAvailable"} <= budget.keys():
        path = _addon_path("coredns", ("podDisruptionBudget", "minAvailable"))
        yield path, "a PodDisruptionBudget must have only one of minAvailable and maxUnavailable, got both; remove one"


def _default_limit(values: Mapping[str, object]) -> Iterator[Breach]:
    """Yield a request for memory above CoreDNS's own limit, if the configuration does not set another."""
    resources, mib = values.get("resources"), facts.system_pods()["deployments"]["coredns"].get("limit_mib")
    requests = resources.get("requests") if isinstance(resources, Mapping) else None
    if not mib or not isinstance(requests, Mapping) or not isinstance(resources, Mapping):
        return
    limits, memory = resources.get("limits"), requests.get("memory")
    if isinstance(limits, Mapping) and "memory" in limits:
        return
    try:
        over = isinstance(memory, str) and amount(memory) > mib * MIB
    except ValueError:
        return
    if over:
        yield (
            _addon_path("coredns", ("resources", "requests", "memory")),
            f"must be at most the add-on's own limit of {mib}Mi, got {memory}; set resources.limits.memory too",
        )


def _by_name(values: Mapping[str, object], above: tuple[str, ...] = ()) -> Iterator[WrongValue]:
    """Yield values of a different kind from the one that their name has in every chart; null removes a value."""
    kinds = facts.value_kinds()["by_name"]["kinds"]
    for name, value in values.items():
        if name in kinds and value is not None:
            yield from (wrong for wrong in wrong_values({name: value}, kinds, above) if wrong.value is not None)
        if isinstance(value, Mapping) and name not in FREE:
            yield from _by_name(value, (*above, str(name)))
        for index, each in enumerate(value) if name in TERMS and isinstance(value, list | tuple) else ():
            yield from _by_name(each, (*above, str(name), str(index))) if isinstance(each, Mapping) else ()


def _faults(values: Mapping[str, object]) -> Iterator[Fault]:
    """Yield the path and the fault of values that have the right kind but are still refused."""
    for above, section in (((), values), *_mappings(values, (), without=FREE)):
        for check in (_above_limits, _late_timeouts, _stuck_updates):
            yield from check(section, above)
    yield from pod_faults(values)


def _above_limits(values: Mapping[str, object], above: tuple[str, ...]) -> Iterator[Fault]:
    """Yield requests above the limit next to them, which the API server refuses."""
    requests, limits = values.get("requests"), values.get("limits")
    if isinstance(requests, Mapping) and isinstance(limits, Mapping):
        for name in requests.keys() & limits.keys():
            try:
                over = amount(requests[name]) > amount(limits[name])
            except ValueError:
                continue
            if over:
                yield (
                    (*above, "requests", str(name)),
                    f"must be at most the limit {limits[name]}, got {requests[name]}; lower the request, or raise the "
                    "limit",
                )


def _stuck_updates(values: Mapping[str, object], above: tuple[str, ...]) -> Iterator[Fault]:
    """Yield update strategies that the API server refuses for every kind of workload.

    Source: https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/apis/apps/validation/validation.go
    (ValidateDeploymentStrategy, ValidateRollingUpdateDeployment, ValidateRollingUpdateDaemonSet)
    """
    rolling = values.get("rollingUpdate")
    if not isinstance(rolling, Mapping):
        return
    if values.get("type") == "Recreate":
        yield (*above, "rollingUpdate"), "must be left out with type Recreate; set it to null, or use RollingUpdate"
    elif all(str(rolling.get(name)) in ("0", "0%") for name in ("maxSurge", "maxUnavailable")):
        yield (
            (*above, "rollingUpdate", "maxUnavailable"),
            f"must not be {rolling['maxUnavailable']} when maxSurge is {rolling['maxSurge']}, because no pod can be "
            "replaced; raise one of them",
        )


# https://github.com/prometheus-operator/prometheus-operator/blob/main/pkg/apis/monitoring/v1/prometheus_types.go
_OPERATOR_INTERVAL = "30s"


def _late_timeouts(values: Mapping[str, object], above: tuple[str, ...]) -> Iterator[Fault]:
    """Yield scrape timeouts above the interval next to them, which the Prometheus Operator refuses.

    Source: https://github.com/prometheus-operator/prometheus-operator/blob/main/pkg/prometheus/promcfg.go
    (CompareScrapeTimeoutToScrapeInterval) and resource_selector.go (validateScrapeIntervalAndTimeout)
    """
    of_server = above[-1:] == ("prometheusSpec",)
    name = "scrapeInterval" if of_server or "scrapeInterval" in values else "interval"
    given = values.get(name) or (_OPERATOR_INTERVAL if of_server else None)
    timeout, interval = go_seconds(values.get("scrapeTimeout")), go_seconds(given)
    if timeout is not None and interval is not None and timeout > interval:
        lost = "does not start Prometheus" if of_server else "omits the monitor"
        yield (
            (*above, "scrapeTimeout"),
            f"must be at most {name} {given}, got {values['scrapeTimeout']}, so the Prometheus Operator {lost}; lower "
            "the timeout, or raise the interval",
        )


# --- charts


@error("CHART_VALUE_KIND")
def _chart_kinds(context: Context) -> Iterator[Breach]:
    by_chart = facts.value_kinds()["by_chart"]["kinds"]
    for name, chart in context.strategy.kubernetes.charts.items():
        own = (wrong for wrong in wrong_values(chart.values, by_chart.get(name, {})) if wrong.value is not None)
        for wrong in {each.path: each for each in (*_by_name(chart.values), *own)}.values():
            path = field_paths.below(f"kubernetes.charts.{name}.values", *wrong.path)
            also = "; text that is not empty counts as true" if wrong.path[-1] == "enabled" else ""
            yield path, f"{wrong}, so the chart cannot be installed or its pods do not start{also}"
        for keys, fault in _faults(chart.values):
            yield field_paths.below(f"kubernetes.charts.{name}.values", *keys), fault


# --- what values need


@error("VOLUME_NO_DRIVER")
def _volumes(context: Context) -> Iterator[Breach]:
    addons = context.strategy.cluster.addons
    driver = addons.get("aws-ebs-csi-driver")
    for path, claim in claims(context):
        of_class = claim.get("storageClassName")
        if (driver is None or not driver.enabled) and (of_class is None or str(of_class) in _EBS_CLASSES):
            yield (
                path,
                "a persistent volume needs the EBS CSI driver, which is not installed, so its pod stays Pending; set "
                "cluster.addons.aws-ebs-csi-driver: {}",
            )
    snapshots = addons.get("snapshot-controller")
    classes = context.addon_configuration("aws-ebs-csi-driver").get("volumeSnapshotClasses")
    if classes and not (snapshots and snapshots.enabled):
        yield (
            _addon_path("aws-ebs-csi-driver", ("volumeSnapshotClasses",)),
            "snapshot classes need the CRDs of the add-on snapshot-controller; set "
            "cluster.addons.snapshot-controller: {}, or remove this",
        )


@warning("MONITOR_NO_OPERATOR")
def _monitors(context: Context) -> Iterator[Breach]:
    if "kube-prometheus-stack" in context.charts:
        return
    for path, key, value in settings(context):
        if key in _MONITORS and any(value.get(switch) is True for switch in ("enabled", "create", "forceEnable")):
            yield (
                path,
                "this needs the CRDs of the Prometheus Operator, which the strategy does not install, so the "
                "installation fails or omits it; set kubernetes.prometheus: true, or ignore this if you install them",
            )


@error("VALUE_TAG_RESERVED")
def _reserved_tags(context: Context) -> Iterator[Breach]:
    message = "AWS reserves tags whose keys start with aws:, and refuses every request with one; choose another key"
    for path, tag, _ in _tags(context):
        if tag.lower().startswith("aws:"):
            yield path, message


@error("VALUE_TAG_LENGTH")
def _long_tags(context: Context) -> Iterator[Breach]:
    for path, tag, value in _tags(context):
        limits = (("key", tag, aws_names.longest("tag_key")), ("value", str(value), aws_names.longest("tag_value")))
        for name, text, most in limits:
            if len(text) > most.value:
                yield (
                    path,
                    f"the {name} of a tag must have at most {most.value} characters, got {len(text)}; shorten it",
                )


def _tags(context: Context) -> Iterator[tuple[str, str, object]]:
    """Yield the path, key and value of each tag that add-ons and charts give to resources."""
    for path, key, value in settings(context):
        if (key in _TAGS or path.endswith(_EFS_TAGS)) and isinstance(value, Mapping):
            yield from ((field_paths.below(path, str(tag)), str(tag), text) for tag, text in value.items())
    path = _addon_path("vpc-cni", ("env", "ADDITIONAL_ENI_TAGS"))
    environment = context.addon_configuration("vpc-cni").get("env")
    text = environment.get("ADDITIONAL_ENI_TAGS") if isinstance(environment, Mapping) else None
    try:
        tags = json.loads(text) if isinstance(text, str) else {}
    except ValueError:  # ADDON_VALUE reports it.
        return
    if isinstance(tags, dict):
        yield from ((path, tag, value) for tag, value in tags.items())


_TAGS = frozenset(["extraVolumeTags", "defaultTags"])
_EFS_TAGS = "aws-efs-csi-driver.configuration.controller.tags"


_MONITORS = frozenset(["serviceMonitor", "podMonitor", "prometheusRule"])


@warning("EVICTION_BLOCKED")
def _evictions(context: Context) -> Iterator[Breach]:
    for path, key, value in settings(context):
        if key != "podDisruptionBudget" or value.get("enabled") is False:
            continue
        limits = {name: value.get(name) for name in ("maxUnavailable", "minAvailable")}
        least, replicas = limits["minAvailable"], _replicas_next_to(context, path)
        every = isinstance(least, int) and replicas is not None and least >= replicas > 0
        if str(limits["maxUnavailable"]) in ("0", "0%") or str(least) == "100%" or every:
            yield (
                path,
                "no pod can be evicted, so node group updates fail (PodEvictionFailure), and Karpenter cannot "
                "remove the node; set maxUnavailable: 1",
            )


def _replicas_next_to(context: Context, path: str) -> int | None:
    """Return the replicas of the Deployment that a budget protects; None if unknown."""
    if path != _addon_path("coredns", ("podDisruptionBudget",)):
        return None
    values = context.addon_configuration("coredns")
    scaling = values.get("autoScaling")
    scaled = scaling.get("minReplicas") if isinstance(scaling, Mapping) and scaling.get("enabled") is True else None
    known = facts.system_pods()["deployments"]["coredns"]["replicas"]
    given = values.get("replicaCount", known) if scaled is None else scaled
    return given if isinstance(given, int) else None


def settings(context: Context) -> Iterator[tuple[str, str, Mapping[str, object]]]:
    """Yield the path, the key and the value of each mapping that is passed to an add-on or an installed chart."""
    for name, values in _configured(context):
        yield from ((_addon_path(name, keys), keys[-1], value) for keys, value in _mappings(values, ()))
    installed = context.charts
    for chart_name, chart in context.strategy.kubernetes.charts.items():
        for keys, value in _mappings(chart.values, ()) if chart_name in installed else ():
            yield field_paths.below(f"kubernetes.charts.{chart_name}.values", *keys), keys[-1], value


_EBS_CLASSES = frozenset(["", "gp2", "gp3", "io1", "io2", "ebs", "auto-ebs-sc"])


def claims(context: Context) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the path and spec of each volume that chart values request."""
    for path, key, value in settings(context):
        if key == "volumeClaimTemplate" and isinstance(spec := value.get("spec", {}), Mapping):
            yield path, spec
        elif key == "persistence" and value.get("enabled") is True and not value.get("existingClaim"):
            yield path, value


def _mappings(
    values: Mapping[str, object], above: tuple[str, ...], without: Collection[object] = ()
) -> Iterator[tuple[tuple[str, ...], Mapping[str, object]]]:
    """Yield the names and the value of each mapping below values, but not those with a name in ``without``."""
    for name, value in values.items():
        if isinstance(value, Mapping) and name not in without:
            yield (*above, str(name)), value
            yield from _mappings(value, (*above, str(name)), without)

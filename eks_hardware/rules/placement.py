"""Rules about values that keep an add-on or a chart off every node: selectors, affinities and tolerations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from eks_hardware import facts, field_paths
from eks_hardware.models import NodeGroupSpec, NodePoolSpec
from eks_hardware.resolve.system_pods import values_if_on
from eks_hardware.rules.registry import Breach, Context, Node, error, in_domain
from eks_hardware.rules.taints import is_open_to
from eks_hardware.spellings import KUBERNETES_ARCHITECTURES

# Where an add-on's or a chart's values place a Deployment (dotted paths), and DaemonSets that every node needs.
_ADDONS: Mapping[str, str] = {
    "coredns": "",
    "metrics-server": "",
    "aws-ebs-csi-driver": "controller",
    "aws-efs-csi-driver": "controller",
    "aws-fsx-csi-driver": "controller",
    "amazon-cloudwatch-observability": "manager",
    "snapshot-controller": "",
}
_ON_EVERY_NODE = ("vpc-cni", "eks-pod-identity-agent")
_CHARTS: Mapping[str, tuple[str, ...]] = {
    "aws-load-balancer-controller": ("",),
    "cluster-autoscaler": ("",),
    "kueue": ("controllerManager",),
    "kube-prometheus-stack": (
        "prometheus.prometheusSpec",
        "alertmanager.alertmanagerSpec",
        "grafana",
        "prometheusOperator",
        "kube-state-metrics",
    ),
    "gpu-operator": ("operator",),
}
# Labels of these domains, and the derived ones, are not all known here.
_OTHERS = ("kubernetes.io", "k8s.io", "amazonaws.com", "aws", "karpenter.sh", "nvidia.com")
_DERIVED = frozenset(["accelerator"])
# NODES_ALL_TAINTED reports CoreDNS.
_COREDNS = "cluster.addons.coredns.configuration"


@error("PLACEMENT_NOWHERE")
def _nowhere(context: Context) -> Iterator[Breach]:
    for path, values in placed(context):
        keys = [key for key in ("nodeSelector", "affinity") if values.get(key)]
        if isinstance(values.get("tolerations"), list | tuple) and path != _COREDNS:
            keys.append("tolerations")
        if not keys or not all(map(context.types, context.nodes)):
            continue
        fitting = [node for node in context.nodes if _selects(context, node, values)]
        early = path.startswith("cluster.addons.") and _is_early(path.split(".")[2])
        given = values.get("tolerations")
        tolerations = given if isinstance(given, Sequence) and not isinstance(given, str) else ()
        if not fitting:
            yield (
                field_paths.below(path, keys[0]),
                "no group or pool has these labels, so the pods stay Pending; add the labels to a group, or change "
                "this",
            )
        elif not any(is_open_to(context, node, tolerations) for node in fitting):
            names = ", ".join(node.name for node in fitting[:3])
            yield (
                field_paths.below(path, keys[0]),
                f"this selects only {names}, whose taints the pods do not tolerate, so they stay Pending; add "
                "tolerations, or select other nodes"
                if keys[0] != "tolerations"
                else f"the pods do not tolerate the taints of {names}, so they stay Pending; add tolerations",
            )
        elif early and not any(isinstance(node, NodeGroupSpec) for node in fitting):
            yield (
                field_paths.below(path, keys[0]),
                f"this selects only {', '.join(node.name for node in fitting[:3])}, whose nodes Karpenter launches, "
                "but Terraform installs Karpenter only after this add-on runs; select a node group",
            )
    for name in _ON_EVERY_NODE:
        values = context.addon_configuration(name)
        for node in context.nodes if values.get("affinity") or values.get("nodeSelector") else ():
            if context.types(node) and not _selects(context, node, values):
                yield (
                    field_paths.below(f"cluster.addons.{name}.configuration", "affinity"),
                    f"{name} must run on every node, and this keeps it off {node.name}; remove it",
                )
                break


def _is_early(addon: str) -> bool:
    """Return whether charts wait for an add-on."""
    row = facts.addons().get(addon)
    return row is not None and row.get("before_charts", True)


def placed(context: Context) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the path and values of each Deployment that runs and that an add-on's or a chart's values can place."""
    charts = list(placed_charts(context))
    for name, part in _ADDONS.items():
        values = values_if_on(context.addon_configuration(name), part)
        if values is not None:
            yield field_paths.below(f"cluster.addons.{name}.configuration", *field_paths.split(part)), values
    for chart, part, values in charts:
        yield field_paths.below(f"kubernetes.charts.{chart}.values", *field_paths.split(part)), values


def placed_charts(context: Context) -> Iterator[tuple[str, str, Mapping[str, object]]]:
    """Yield the name, the part (a path in the values) and the values of each Deployment of an installed chart."""
    installed = context.charts
    for name, chart in context.strategy.kubernetes.charts.items():
        for part in _CHARTS.get(name, ()) if name in installed else ():
            yield str(name), part, below(chart.values, field_paths.split(part))


def below(values: object, keys: Iterable[str]) -> Mapping[str, object]:
    """Return the mapping at a path of keys; empty if there is none."""
    for key in keys:
        values = values.get(key) if isinstance(values, Mapping) else None
    return values if isinstance(values, Mapping) else {}


# --- labels


def _labels(context: Context, node: Node) -> dict[str, set[str]]:
    """Return the values that each known label can have on a node."""
    kinds = context.types(node)
    return {
        "kubernetes.io/os": {"linux"},
        "kubernetes.io/arch": {KUBERNETES_ARCHITECTURES[kind.architecture] for kind in kinds},
        "node.kubernetes.io/instance-type": {kind.name for kind in kinds},
        "hardware-type": {kind.hardware.value for kind in kinds},
        "workload-type": {node.purpose},
        "karpenter.sh/nodepool": {node.name} if isinstance(node, NodePoolSpec) else set(),
        **{key: {value} for key, value in node.labels.items()},
    }


def _is_unsure(node: Node, key: str) -> bool:
    """Return whether a node may have a label that the strategy does not name."""
    return bool(node.user_data) or key in _DERIVED or in_domain(key, _OTHERS)


def _selects(context: Context, node: Node, values: Mapping[str, object]) -> bool:
    """Return whether a node may match a selector and the required affinity."""
    labels, selector = _labels(context, node), values.get("nodeSelector")
    for key, value in selector.items() if isinstance(selector, Mapping) else ():
        if str(value) not in labels.get(str(key), set()) and not (
            str(key) not in labels and _is_unsure(node, str(key))
        ):
            return False
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    terms = below(values, ("affinity", "nodeAffinity", required)).get("nodeSelectorTerms")
    if not isinstance(terms, list | tuple):
        return True
    return not terms or any(
        all(_matches(node, labels, expression) for expression in _expressions(term))
        for term in terms
        if isinstance(term, Mapping)
    )


def certainly_selects(context: Context, node: Node, values: Mapping[str, object]) -> bool:
    """Return whether a pod without a required affinity, and with a selector of known labels, fits a node."""
    labels, selector = _labels(context, node), values.get("nodeSelector")
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    if below(values, ("affinity", "nodeAffinity")).get(required):
        return False
    return all(
        str(value) in labels.get(str(key), set())
        for key, value in (selector.items() if isinstance(selector, Mapping) else ())
    )


def _expressions(term: Mapping[str, object]) -> list[Mapping[str, object]]:
    given = term.get("matchExpressions")
    return [each for each in given if isinstance(each, Mapping)] if isinstance(given, list | tuple) else []


def _matches(node: Node, labels: Mapping[str, set[str]], expression: Mapping[str, object]) -> bool:
    key, operator = str(expression.get("key")), expression.get("operator")
    given = expression.get("values")
    values = {str(each) for each in given} if isinstance(given, list | tuple) else set()
    known = labels.get(key)
    if not known:
        return operator in ("NotIn", "DoesNotExist") or (known is None and _is_unsure(node, key))
    if operator == "In":
        return bool(known & values)
    if operator == "NotIn":
        return bool(known - values)
    return operator != "DoesNotExist"

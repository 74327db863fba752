"""The pods of a bundle with their placement: a chart's defaults merged with the release's values.

Helm merges maps and replaces lists, so ``affinity`` of the values and of the chart are merged. The defaults are in
:mod:`eks_hardware.local.chart_workloads`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eks_hardware.kubernetes.model import Bundle, ChartRelease
from eks_hardware.local.chart_workloads import CHARTS, DAEMONSET, DEPLOYMENT, Map, affinity_to
from eks_hardware.resolve.mappings import merged


@dataclass(frozen=True)
class Workload:
    """DaemonSet or Deployment, with the placement of its pods."""

    release: str
    name: str
    kind: str
    node_selector: Map
    affinity: Map
    tolerations: Sequence[Map]

    @property
    def pod(self) -> dict[str, Any]:
        """Its pods, with the fields that a scheduler reads."""
        return {
            "metadata": {"name": self.name},
            "spec": {
                "nodeSelector": self.node_selector,
                "affinity": self.affinity,
                "tolerations": list(self.tolerations),
                "containers": [{"name": self.name}],
            },
        }


def workloads(bundle: Bundle) -> tuple[Workload, ...]:
    """Return every workload of a bundle's charts and objects; raises ``KeyError`` for a chart without a row."""
    of_charts = [each for release in bundle.charts for each in of_chart(release)]
    of_objects = [
        Workload(release.name, found["metadata"]["name"], found["kind"], *_placement(found["spec"]["template"]["spec"]))
        for release in bundle.object_releases
        for found in release.objects
        if found["kind"] in (DAEMONSET, DEPLOYMENT)
    ]
    return (*of_charts, *of_objects)


def of_chart(release: ChartRelease) -> Iterator[Workload]:
    """Return the workloads of one chart, with the values of its release."""
    for row in CHARTS[release.key]:
        if all(value_at(release.values, path, default) for path, default in row.on):
            given = value_at(release.values, ".".join(row.at), {}) if row.at else release.values
            asked = {key: given[key] for key in ("nodeSelector", "affinity", "tolerations") if key in given}
            selector, affinity, tolerations = _placement(merged(row.defaults or {}, asked))
            if release.key == "aws-efa-k8s-device-plugin":
                affinity = _efa_affinity(release.values)
            yield Workload(release.name, row.name, row.kind, selector, affinity, (*row.fixed, *tolerations))


def value_at(values: Map, path: str, default: Any) -> Any:
    """Return a value by its path of names separated by dots."""
    found: Any = values
    for step in path.split("."):
        if not isinstance(found, Mapping) or step not in found:
            return default
        found = found[step]
    return found


def _placement(pod: Map) -> tuple[Map, Map, Sequence[Map]]:
    return pod.get("nodeSelector", {}), pod.get("affinity", {}), pod.get("tolerations", ())


def _efa_affinity(values: Map) -> dict[str, Any]:
    """Return the affinity from the chart's template; its own list contains the types with EFA."""
    from eks_hardware.catalogue import load

    labels = value_at(values, "supportedInstanceLabels", {})
    keys = labels.get("keys", ["node.kubernetes.io/instance-type"])
    given = labels.get("values", [kind.name for kind in load().select() if kind.supports_efa])
    *others, last = [[(key, "In", given)] for key in keys]
    return affinity_to(*others, [*last, ("eks.amazonaws.com/compute-type", "NotIn", ["auto"])])

"""Charts for a local cluster: Karpenter's own from its Go module, and stand-ins for the others.

The other charts' repositories cannot be reached everywhere. A stand-in is generated from the table in
:mod:`helpers.kubernetes.workloads`: it has the same workloads, reads the same values, and has the same defaults for
placement. Its containers do nothing.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from eks_hardware.kubernetes.model import ChartRelease
from eks_hardware.resolve.mappings import merged
from helpers.kubernetes.workloads import CHARTS, Row

REAL = frozenset({"karpenter", "karpenter-crd"})

# Kinds that a chart brings along, and whether Helm keeps them: it never deletes definitions in the folder ``crds``.
_DEFINITIONS: Mapping[str, tuple[str, Mapping[str, str], bool]] = {
    "kube-prometheus-stack": ("monitoring.coreos.com/v1", {"ServiceMonitor": "servicemonitors"}, True),
    "kueue": (
        "kueue.x-k8s.io/v1beta2",
        {"ClusterQueue": "clusterqueues", "LocalQueue": "localqueues", "ResourceFlavor": "resourceflavors"},
        False,
    ),
}
_NAMESPACED = frozenset({"LocalQueue", "ServiceMonitor"})

# The EFA chart has no value for affinity: it generates one.
_EFA_AFFINITY = """
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
            {{- $values := toJson .Values.supportedInstanceLabels.values }}
            {{- range .Values.supportedInstanceLabels.keys }}
            - matchExpressions: [{key: {{ . }}, operator: In, values: {{ $values }}}]
            {{- end }}"""

_WORKLOAD = """\
{{- if and true %(on)s }}
{{- $at := %(at)s }}
apiVersion: apps/v1
kind: %(kind)s
metadata:
  name: %(name)s
  namespace: {{ .Release.Namespace }}
  labels: {stand-in: %(name)s}
spec:
  selector: {matchLabels: {stand-in: %(name)s}}
  template:
    metadata: {labels: {stand-in: %(name)s}}
    spec:
      nodeSelector: {{ toJson $at.nodeSelector }}
      affinity: %(affinity)s
      tolerations: {{ toJson (concat (%(fixed)s | fromJsonArray) $at.tolerations) }}
      containers: [{name: main, image: none}]
{{- end }}
"""


def archive(release: ChartRelease, folder: Path, *, helm: Path, karpenter: Path) -> None:
    """Write a release's chart as Helm's archive.

    Args:
        helm: the program.
        karpenter: the folder with the charts of Karpenter's Go module.
    """
    source = folder / release.chart
    if release.chart in REAL:
        shutil.copytree(karpenter / release.chart, source)
    else:
        _write(release, source)
    # Karpenter's charts have another version in their repository; its release process sets the version, too.
    version = f"--version={release.version}"
    subprocess.run([helm, "package", version, "--destination", folder, source], check=True, capture_output=True)
    shutil.rmtree(source)


def _write(release: ChartRelease, folder: Path) -> None:
    rows = CHARTS[release.chart]
    files = {
        "Chart.yaml": yaml.safe_dump({"apiVersion": "v2", "name": release.chart, "version": release.version}),
        "values.yaml": yaml.safe_dump(_values(rows)),
        **{f"templates/{row.name}.yaml": _template(release.chart, row) for row in rows},
    }
    for kind, text, kept in _definitions(release.chart):
        files[f"{'crds' if kept else 'templates'}/{kind}.yaml"] = text
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def _values(rows: tuple[Row, ...]) -> dict[str, Any]:
    values: dict[str, Any] = {"supportedInstanceLabels": {"keys": [], "values": []}}
    for row in rows:
        empty = {"nodeSelector": {}, "affinity": {}, "tolerations": []}
        values = merged(values, _below(row.at, merged(empty, row.defaults or {})))
        for path, default in row.on:
            values = merged(values, _below(tuple(path.split(".")), default))
    return json.loads(json.dumps(values, default=dict))


def _below(path: tuple[str, ...], value: Any) -> Any:
    return {path[0]: _below(path[1:], value)} if path else value


def _template(chart: str, row: Row) -> str:
    generated = chart == "aws-efa-k8s-device-plugin"
    return _WORKLOAD % {
        "on": " ".join(_value(tuple(path.split("."))) for path, _ in row.on),
        "at": _value(row.at),
        "kind": row.kind,
        "name": row.name,
        "affinity": _EFA_AFFINITY if generated else "{{ toJson $at.affinity }}",
        "fixed": json.dumps(json.dumps(list(row.fixed))),
    }


def _value(path: tuple[str, ...]) -> str:
    return f"(index .Values {' '.join(map(json.dumps, path))})" if path else ".Values"


def _definitions(chart: str) -> Iterator[tuple[str, str, bool]]:
    """Return definitions that accept any object of their kinds."""
    api_version, kinds, kept = _DEFINITIONS.get(chart, ("/", {}, False))
    group, version = api_version.split("/")
    for kind, plural in kinds.items():
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        definition = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}"},
            "spec": {
                "group": group,
                "names": {"kind": kind, "plural": plural},
                "scope": "Namespaced" if kind in _NAMESPACED else "Cluster",
                "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
            },
        }
        yield kind, yaml.safe_dump(definition), kept

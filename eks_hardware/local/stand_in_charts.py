"""Charts for a local cluster: the user's own, those in Go modules, and stand-ins for the others.

The other charts' repositories are not reachable everywhere. A stand-in is generated from the table in
:mod:`eks_hardware.local.chart_workloads`: it has the same workloads and placement defaults, and reads the same values.
If the values set no replicas or requests, it has one replica and no requests. Its containers do nothing. A chart
without a row in the table gets a stand-in without objects.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from eks_hardware.kubernetes.files.scripts import SUMS
from eks_hardware.local.chart_workloads import CHARTS, Row
from eks_hardware.resolve.mappings import merged

_WORDS = 2  # on a line of digests
IN_MODULES: Mapping[str, str] = {
    "karpenter": "karpenter-files",
    "karpenter-crd": "karpenter-files",
    "kueue": "kueue-files",
}
"""The charts that Go modules contain, with the tool of ``make cluster-tools`` that copies them."""

# Namespaced kinds that a chart defines. Helm keeps them, because it never deletes definitions in the folder ``crds``.
_DEFINITIONS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "kube-prometheus-stack": ("monitoring.coreos.com/v1", {"ServiceMonitor": "servicemonitors"}),
}

# The EFA chart has no affinity value: its template generates the affinity.
_EFA_AFFINITY = """
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
            {{- $values := toJson .Values.supportedInstanceLabels.values }}
            {{- range .Values.supportedInstanceLabels.keys }}
            - matchExpressions: [{key: {{ . }}, operator: In, values: {{ $values }}}]
            {{- end }}"""

_WORKLOAD = "\n".join(
    (
        "{{- if and true %(on)s }}",
        "{{- $at := %(at)s }}",
        "apiVersion: apps/v1",
        "kind: %(kind)s",
        "metadata:",
        "  name: %(name)s",
        "  namespace: {{ .Release.Namespace }}",
        "  labels: {stand-in: %(name)s}",
        "spec:",
        "%(replicas)s",
        "  selector: {matchLabels: {stand-in: %(name)s}}",
        "  template:",
        "    metadata: {labels: {stand-in: %(name)s}}",
        "    spec:",
        "      nodeSelector: {{ toJson $at.nodeSelector }}",
        "      affinity: %(affinity)s",
        "      tolerations: {{ toJson (concat (%(fixed)s | fromJsonArray) $at.tolerations) }}",
        "      containers: [{name: main, image: none, resources: {{ toJson ($at.resources | default dict) }}%(env)s}]"
        "%(volumes)s",
        "{{- end }}",
        "",
    )
)

_REPLICAS = "  replicas: {{ $at.replicaCount | default $at.replicas | default 1 }}"

# NVIDIA's charts pass these values to the plugin in a ConfigMap and in variables: its configurations, the name of the
# default one, and the MIG strategy. The last value is true if GPUs are partitioned.
_SHARING = {
    "nvidia-device-plugin": ("config.map", "config.default", "migStrategy", "devicePlugin.enabled"),
    "nvidia-device-plugin-daemonset": (
        "devicePlugin.config.data",
        "devicePlugin.config.default",
        "mig.strategy",
        "migManager.enabled",
    ),
}
_CONFIGS = "\n".join(
    (
        "---",
        "apiVersion: v1",
        "kind: ConfigMap",
        "metadata: {name: %(name)s-configs, namespace: {{ .Release.Namespace }}}",
        "data: {{ toJson %(configs)s }}",
        "",
    )
)


class Chart(NamedTuple):
    """A chart in a repository."""

    name: str
    version: str

    @property
    def archive(self) -> str:
        """The name of the chart's archive, as Helm and ``install.sh`` expect it."""
        return f"{self.name}-{self.version}.tgz"


def charts_folder(
    charts: Iterable[Chart], folder: Path, tools: Mapping[str, Path], *, given: Path | None = None
) -> tuple[Chart, ...]:
    """Fill a folder as ``install.sh`` expects it in ``CHARTS``; return the charts that are stand-ins.

    Args:
        charts: the charts of all releases.
        folder: the folder to fill.
        tools: Helm, and the folders of the tools in ``IN_MODULES``, by name.
        given: a folder that ``pull-charts.sh`` filled; its charts are used unchanged, and must match its digests.
    """
    stand_ins: list[Chart] = []
    sums: dict[str, str] = {}
    listed = _listed(given / SUMS) if given else {}
    folder.mkdir(parents=True, exist_ok=True)
    for chart in dict.fromkeys(charts):
        own = given and given / chart.archive
        if own and own.is_file():
            shutil.copyfile(own, folder / chart.archive)
            sums[chart.archive] = listed.get(chart.archive) or _sha256(own)
            continue
        source = folder / chart.name
        if chart.name in IN_MODULES:
            shutil.copytree(tools[IN_MODULES[chart.name]] / chart.name, source)
        else:
            _write(chart, source)
            stand_ins.append(chart)
        # The charts in Karpenter's repository have another version. Karpenter's release process sets the version, too.
        version = f"--version={chart.version}"
        command: list[str | Path] = [tools["helm"], "package", version, "--destination", folder, source]
        subprocess.run(command, check=True, capture_output=True)
        shutil.rmtree(source)
        sums[chart.archive] = _sha256(folder / chart.archive)
    (folder / SUMS).write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()), encoding="utf-8")
    return tuple(stand_ins)


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _listed(sums: Path) -> dict[str, str]:
    """Return a folder's digests by archive name; the last line for a name applies, as in ``pull-charts.sh``."""
    lines = sums.read_text(encoding="utf-8").splitlines() if sums.is_file() else []
    return {words[1].removeprefix("*"): words[0] for line in lines if len(words := line.split()) == _WORDS}


def _write(chart: Chart, folder: Path) -> None:
    rows = CHARTS.get(chart.name, ())
    files = {
        "Chart.yaml": yaml.safe_dump({"apiVersion": "v2", "name": chart.name, "version": chart.version}),
        "values.yaml": yaml.safe_dump(_values(rows)),
        **{f"templates/{row.name}.yaml": _template(chart.name, row) for row in rows},
    }
    for kind, text in _definitions(chart.name):
        files[f"crds/{kind}.yaml"] = text
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def _values(rows: tuple[Row, ...]) -> dict[str, object]:
    values: dict[str, object] = {"supportedInstanceLabels": {"keys": [], "values": []}}
    for row in rows:
        empty: dict[str, object] = {"nodeSelector": {}, "affinity": {}, "tolerations": []}
        values = merged(values, _below(row.at, merged(empty, row.defaults or {})))
        for path, default in row.on:
            values = merged(values, _below(tuple(path.split(".")), default))
    plain: dict[str, object] = json.loads(json.dumps(values, default=dict))
    return plain


def _below(path: tuple[str, ...], value: object) -> Any:
    return {path[0]: _below(path[1:], value)} if path else value


def _template(chart: str, row: Row) -> str:
    generated = chart == "aws-efa-k8s-device-plugin"
    shown = {
        "on": " ".join(_value(tuple(path.split("."))) for path, _ in row.on),
        "at": _value(row.at),
        "kind": row.kind,
        "name": row.name,
        "affinity": _EFA_AFFINITY if generated else "{{ toJson $at.affinity }}",
        "fixed": json.dumps(json.dumps(list(row.fixed))),
        "replicas": _REPLICAS if row.kind == "Deployment" else "",
        "env": "",
        "volumes": "",
    }
    if row.name not in _SHARING:
        return _WORKLOAD % shown
    configs, default, strategy, manager = _SHARING[row.name]
    mig = f'ternary {_dig(strategy, "none")} "none" {_dig(manager, True)}'
    variables = {"DEFAULT_CONFIG": _dig(default, ""), "MIG_STRATEGY": mig}
    listed = [f"{{name: {name}, value: {{{{ {value} | quote }}}}}}" for name, value in variables.items()]
    shown["env"] = f", env: [{', '.join(listed)}]"
    volume = f"{{name: available-configs, configMap: {{name: {row.name}-configs}}}}"
    shown["volumes"] = f"\n      volumes: [{volume}]"
    return _WORKLOAD % shown + _CONFIGS % {"name": row.name, "configs": _dig(configs, {})}


def _dig(path: str, default: object) -> str:
    """Return an expression for a value that may be missing."""
    steps = " ".join(map(json.dumps, path.split(".")))
    otherwise = "dict" if default == {} else json.dumps(default)
    return f"(dig {steps} {otherwise} (.Values | toJson | fromJson))"


def _value(path: tuple[str, ...]) -> str:
    return f"(index .Values {' '.join(map(json.dumps, path))})" if path else ".Values"


def _definitions(chart: str) -> Iterator[tuple[str, str]]:
    """Yield CustomResourceDefinitions that accept any object of their kinds."""
    api_version, kinds = _DEFINITIONS.get(chart, ("/", {}))
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
                "scope": "Namespaced",
                "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
            },
        }
        yield kind, yaml.safe_dump(definition)

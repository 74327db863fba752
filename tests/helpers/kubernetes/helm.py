"""Helm charts, linted and rendered by Helm's own engine (Helm 4, from the wheel ``helm-python-sdk``).

It needs no ``helm`` on the path, no cluster and no network. It returns the results of ``helm lint`` and ``helm
template`` in this process.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import helm_python
import yaml
from helm_python import _native

Values = dict[str, Any]

_WARNING = 2
_SEPARATOR = re.compile(r"(?:^|\s*\n)---\s*")
"""The separators at which Helm splits a rendered file into documents."""


def lint(
    chart_dir: Path, values: Values | None = None, *, namespace: str = "default", kubernetes_version: str | None = None
) -> list[str]:
    """Return warnings and errors of ``helm lint`` (not its advice, such as a missing icon)."""
    report = helm_python.lint(
        chart_dir, values or {}, namespace=namespace, with_subcharts=True, kube_version=kubernetes_version
    )
    messages = [f"{each['path']}: {each['error']}" for each in report["messages"] if each["severity"] >= _WARNING]
    # Only the errors contain the reason if a chart does not load.
    others = [error for error in report["errors"] if not any(error in message for message in messages)]
    return [*messages, *others]


def template(
    chart_dir: Path,
    values: Values | None = None,
    *,
    release: str,
    namespace: str,
    kubernetes_version: str,
    api_versions: tuple[str, ...] = (),
    include_crds: bool = False,
) -> list[dict[str, Any]]:
    """Return every object from ``helm template``, including hooks, in the order of the files.

    ``api_versions`` are those of a cluster in addition to the built-in ones, for ``.Capabilities.APIVersions``. Strings
    and numbers are read as Helm reads them (YAML 1.1). Raises ``helm_python.HelmError`` if the chart does not render,
    and ``ValueError`` for a document with a duplicate key.
    """
    helm_python.validate_release_name(release)
    # Chart.render() does not pass on the Kubernetes version; the engine accepts it.
    options = {
        "name": release,
        "namespace": namespace,
        "kube_version": kubernetes_version,
        "api_versions": list(api_versions),
    }
    with helm_python.Chart.load(chart_dir) as chart:
        chart.validate_schema(values or {})
        files: dict[str, str] = json.loads(
            _native.call_string("helm_render", chart._raw(), json.dumps(values or {}), json.dumps(options))
        )
        crds = {crd["filename"]: crd["data"] for crd in chart.crds} if include_crds else {}
    found = [*sorted(crds.items()), *sorted(files.items())]
    return [item for file, text in found if not file.endswith("/NOTES.txt") for item in documents(text, file)]


def documents(text: str, file: str = "text") -> Iterator[dict[str, Any]]:
    """Return the objects of a YAML file, without empty documents."""
    for part in _SEPARATOR.split(text):
        _check_keys(yaml.compose(part, Loader=yaml.CSafeLoader), file)
        if content := helm_python.values_from_yaml(part):
            yield content


def default_values(chart_dir: Path) -> Values:
    """Return the chart's ``values.yaml``."""
    with helm_python.Chart.load(chart_dir) as chart:
        return chart.values


def package(chart_dir: Path, destination: Path) -> Path:
    """Create the chart's ``.tgz``; all functions here accept one instead of a folder."""
    return Path(helm_python.package(chart_dir, destination=destination))


def _check_keys(node: yaml.Node | None, file: str) -> None:
    """Check for duplicate keys, because Helm uses the last one."""
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _check_keys(item, file)
    elif isinstance(node, yaml.MappingNode):
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode) and key.value != "<<"]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"{file}: line {node.start_mark.line + 1}: written twice: {', '.join(twice)}")
        for _, item in node.value:
            _check_keys(item, file)

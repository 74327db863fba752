"""Manifests in memory, written and read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import yaml

from eks_hardware.kubernetes import Bundle, ChartRelease, Object, ObjectRelease
from eks_hardware.kubernetes.files.write import write
from eks_hardware.loader.yaml_scalars import resolve_plain


def objects(*items: Object, name: str = "resources", **fields: Any) -> ObjectRelease:
    """Return a release of objects."""
    return ObjectRelease(name=name, namespace="kube-system", objects=items, **fields)


def item(kind: str = "ConfigMap", name: str = "a", namespace: str | None = None, **fields: Any) -> dict[str, Any]:
    """Return one object."""
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, **place}, **fields}


def put(folder: Path, *releases: ChartRelease | ObjectRelease, **options: Any) -> dict[str, Path]:
    """Write; return the files by path in the folder."""
    options = {"name": "demo", "region": "us-west-2", "known": {}, **options}
    written = write(Bundle(releases), folder, **options)
    return {file.relative_to(folder).as_posix(): file for file in written}


class _Core(yaml.SafeLoader):
    """Reader of unquoted values as in YAML 1.2."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}  # type: ignore[misc]  # pyright: ignore[reportIncompatibleVariableOverride]


def _value(_: _Core, node: yaml.ScalarNode) -> object:
    return node.value if node.style else resolve_plain(node.value)


_Core.add_constructor("tag:yaml.org,2002:str", _value)


def read_yaml(file: Path, version: str = "1.2") -> Any:
    """Return the content of a file in a version of YAML."""
    return yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.SafeLoader if version == "1.1" else _Core)

"""Plain Kubernetes objects against the schemas of a Kubernetes release, from the package ``kubernetes-validate``.

Fields that a type does not have are errors. Only the package's files are used, not its ``validate``. That function
reads all definitions of a release again for each object and stops at the first error. It also treats any group that
starts like a built-in one as that group (``apps.example.com/v1`` as ``apps/v1``).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from . import label, place

_SCHEMAS = files("kubernetes_validate").joinpath("kubernetes-json-schema")


@cache
def _release(version: str) -> tuple[str, Registry[Any]]:
    """Return the folder of a release's schemas, and the definitions that they refer to."""
    minor = ".".join(version.removeprefix("v").split(".")[:2])
    folder = f"v{minor}.0-local-strict"
    definitions = _SCHEMAS.joinpath(folder).joinpath("_definitions.json")
    if not definitions.is_file():
        raise ValueError(f"no schemas of Kubernetes {minor}: update kubernetes-validate")
    resource: Resource[Any] = Resource.from_contents(json.loads(definitions.read_text("utf-8")))
    return folder, resource @ Registry()


@cache
def _validator(version: str, api_version: str, kind: str) -> Draft202012Validator | None:
    folder, registry = _release(version)
    group, slash, name = api_version.rpartition("/")
    prefix = f"{group.partition('.')[0]}-" if slash else ""
    file = _SCHEMAS.joinpath(folder).joinpath(f"{kind.lower()}-{prefix}{name}.json")
    if not file.is_file():
        return None
    schema = json.loads(file.read_text("utf-8"))
    known = schema.get("properties", {})
    # Parts of objects (PodSpec) have schemas as well, without the two fields or without their values.
    values = (known.get("apiVersion", {}).get("enum"), known.get("kind", {}).get("enum"))
    if values != ([api_version], [kind]):
        return None
    # Both fields are optional in the schemas.
    schema["required"] = sorted({"apiVersion", "kind", *schema.get("required", ())})
    resource: Resource[Any] = Resource.from_contents(schema)
    return Draft202012Validator(schema, registry=resource @ registry)


def _is_custom(api_version: str, custom_groups: Collection[str]) -> bool:
    group, slash, _ = api_version.rpartition("/")
    return bool(slash) and group in custom_groups


def check_objects(
    objects: Sequence[Mapping[str, Any]], version: str, *, custom_groups: Collection[str] = ()
) -> list[str]:
    """Return mistakes in objects in this Kubernetes version, such as ``Deployment/web: spec.replica: ...``.

    A kind without a schema is an error unless its group is in ``custom_groups``, which are not checked here.
    """
    found: list[str] = []
    for item in objects:
        api_version, kind = str(item.get("apiVersion", "")), str(item.get("kind", ""))
        if _is_custom(api_version, custom_groups):
            continue
        validator = _validator(version, api_version, kind)
        if validator is None:
            found.append(f"{label(item)}: Kubernetes {version} does not know {api_version} {kind}")
            continue
        errors = sorted(validator.iter_errors(item), key=lambda error: [str(part) for part in error.absolute_path])
        found += [f"{label(item)}: {place(error.absolute_path)}: {error.message:.400}" for error in errors]
    return found

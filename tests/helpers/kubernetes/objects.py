"""The Kubernetes objects of strategies, as the API server gets them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from eks_hardware.kubernetes import Bundle, bundle
from eks_hardware.kubernetes.references import Reference, known, replaced
from eks_hardware.resolve import ResolvedStrategy
from helpers.paths import SHIPPED, SPECIAL
from helpers.strategies import resolved_of

Object = dict[str, Any]


def resolved_named(name: str) -> ResolvedStrategy:
    """Return a strategy of config/strategies or tests/synth/strategies."""
    folder = SHIPPED if (SHIPPED / f"{name}.yaml").is_file() else SPECIAL
    return resolved_of(folder / f"{name}.yaml")


@cache
def bundle_of(name: str) -> Bundle:
    """Return everything that a strategy installs in its cluster."""
    return bundle(resolved_named(name))


def objects_of(name: str) -> list[Object]:
    """Return the objects as the API server gets them: references filled in, plain maps and lists."""
    return objects_in(resolved_named(name))


def objects_in(resolved: ResolvedStrategy, *, id_end: str = "0a") -> list[Object]:
    """Return the objects of a resolved strategy as the API server gets them.

    Args:
        id_end: the end of the ids of resources that Terraform creates.
    """
    return objects_of_bundle(bundle(resolved), known(resolved), id_end=id_end)


def objects_of_bundle(parts: Bundle, names: Mapping[Reference, str], *, id_end: str = "0a") -> list[Object]:
    """Return the objects of a bundle with names for its references, and ids for the others."""
    return [
        json.loads(json.dumps(replaced(each, lambda ref: names.get(ref, f"{ref.value}-{id_end}")), default=dict))
        for each in parts.objects
    ]


def manifest_list(objects: Iterable[Mapping[str, Any]]) -> str:
    """Return objects as one manifest for kubectl."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}, default=dict)

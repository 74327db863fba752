"""The effects of a namespace's LimitRange and ResourceQuota on pods: defaults and refusals.

Sources: https://kubernetes.io/docs/concepts/policy/limit-range/,
https://kubernetes.io/docs/concepts/policy/resource-quotas/
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from eks_hardware.kubernetes.model import Bundle

from .scheduling import quantity, requests

Map = Mapping[str, Any]


def refusals(pod: Map, namespace: str, bundle: Bundle, *, count: int = 1) -> list[str]:
    """Return why the API would refuse copies of a pod in an empty namespace; empty if it would accept them."""
    found = stored(pod, namespace, bundle)
    return [*_above_limits(found), *_above_quotas(found, namespace, bundle, count)]


def stored(pod: Map, namespace: str, bundle: Bundle) -> dict[str, Any]:
    """Return the pod as the API server stores it: requests from limits, then defaults of the namespace."""
    found = copy.deepcopy(dict(pod))
    for container in found["spec"]["containers"]:
        resources = container.setdefault("resources", {})
        resources["requests"] = {**resources.get("limits", {}), **resources.get("requests", {})}
        for limit_range in _of(bundle, "LimitRange", namespace):
            for each in limit_range["limits"]:
                resources["limits"] = {**each.get("default", {}), **resources.get("limits", {})}
                resources["requests"] = {**each.get("defaultRequest", {}), **resources["requests"]}
    return found


def _above_limits(pod: Map) -> Iterator[str]:
    for container in pod["spec"]["containers"]:
        limits = container["resources"].get("limits", {})
        for name, asked in container["resources"]["requests"].items():
            if name in limits and quantity(asked) > quantity(limits[name]):
                yield f"{name}: {asked} must be less than or equal to the limit, {limits[name]}"


def _above_quotas(pod: Map, namespace: str, bundle: Bundle, count: int) -> Iterator[str]:
    asked = requests(pod)
    for quota in _of(bundle, "ResourceQuota", namespace):
        for name, most in quota["hard"].items():
            resource = name.removeprefix("requests.")
            if resource in ("cpu", "memory") and resource not in asked:
                yield f"{name} has to be stated"
            elif count * asked.get(resource, 0) > quantity(most):
                yield f"{name}: {count} x {asked[resource]} is above {most}"


def _of(bundle: Bundle, kind: str, namespace: str) -> Iterator[Map]:
    for each in bundle.objects:
        if each["kind"] == kind and each["metadata"].get("namespace") == namespace:
            yield each["spec"]

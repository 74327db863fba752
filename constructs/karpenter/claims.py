"""Names in a cluster that only one construct in an app may use."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from weakref import WeakKeyDictionary

from eks_hardware._cdk import Construct
from eks_hardware.adoption import ResolvedAdoption

_CLAIMS: MutableMapping[object, dict[tuple[str, ...], str]] = WeakKeyDictionary()


def claim(scope: Construct, adoption: ResolvedAdoption, kind: str, names: Iterable[str], remedy: str) -> None:
    """Reserve names in the adopted cluster for one construct.

    Raises:
        ValueError: ``ADOPTION_COLLISION`` if another construct in the app has reserved one of the names.
    """
    claims = _CLAIMS.setdefault(scope.node.root, {})
    path = scope.node.path
    for name in names:
        # Clusters in different accounts may have the same name.
        other = claims.setdefault((adoption.region, adoption.vpc_id, adoption.name, kind, name), path)
        if other != path:
            raise ValueError(
                f"ADOPTION_COLLISION {path}: the {kind} {name} of the cluster {adoption.name} must be defined once, "
                f"got a second definition in {other}; {remedy}"
            )

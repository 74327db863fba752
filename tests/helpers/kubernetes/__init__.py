"""Checks of Kubernetes objects and Helm charts like those of a cluster, without a cluster or a network.

* :mod:`.kubernetes_schema`: plain objects against the schemas of a Kubernetes release; Python only.
* :mod:`.karpenter_schema`: Karpenter's objects against generated validators; needs Node and ``node_modules``.
* :mod:`.karpenter_rules`: further requirements of Karpenter's CRDs; Python only.
* :mod:`.namespaces`: pods against a namespace's LimitRange and ResourceQuota.
* :mod:`.helm`: a chart, linted and rendered by Helm's own engine, from a wheel.

All return one line of text per mistake; an empty list means that the check passed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any


def label(item: Any) -> str:
    """Return the name of an object in messages: ``NodePool/gpu``."""
    content = item if isinstance(item, dict) else {}
    metadata = content.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return f"{content.get('kind') or '?'}/{name or '?'}"


def place(steps: Iterable[str | int]) -> str:
    """Return a position in an object: ``spec.taints[0].key``, ``metadata.labels["a/b"]``."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif re.fullmatch(r"\w+", step):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text or "(object)"

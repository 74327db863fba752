"""Karpenter's objects against the validators of the npm package ``@kubernetes-models/karpenter``.

They are generated from Karpenter's Go types: field names, types, quantities, many ranges and patterns. One run of Node
checks all objects. :mod:`.karpenter_rules` contains the requirements that they do not cover.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

from . import label, place

_SCRIPT = Path(__file__).with_suffix(".mjs")

# Fields of Karpenter 1.14 that the package does not have, because it was generated from an older release. Each entry is
# the keyword of its error, the position, and the valid values there (None: any). karpenter_rules.py has rules for all
# of them.
_NEWER: tuple[tuple[str, str, tuple[str, ...] | None], ...] = (
    ("unknown", r"EC2NodeClass/spec/(?:connectionTracking|cpuOptions)", None),
    ("enum", r"NodePool/spec/disruption/consolidationPolicy", ("Balanced",)),
    ("enum", r"NodePool/spec/template/spec/requirements/\d+/operator", ("Gte", "Lte")),
    ("enum", r"NodeOverlay/spec/requirements/\d+/operator", ("Gte", "Lte")),
)


def _steps(pointer: str) -> list[str | int]:
    steps = (step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])
    return [int(step) if step.isdigit() else step for step in steps]


def _value(item: Any, steps: list[str | int]) -> Any:
    for step in steps:
        item = item[step]
    return item


def _is_newer(item: dict[str, Any], finding: dict[str, Any]) -> bool:
    for keyword, where, values in _NEWER:
        if finding["keyword"] == keyword and re.fullmatch(where, f"{item['kind']}{finding['path']}"):
            return values is None or _value(item, _steps(finding["path"])) in values
    return False


def check_custom_resources(objects: list[dict[str, Any]]) -> list[str]:
    """Return mistakes in NodePools, EC2NodeClasses and NodeOverlays: ``NodePool/gpu: spec.weight: ... [maximum]``.

    Another kind is an error. A field that the type does not have is an error too: Terraform would send it, and the API
    server would drop it silently.
    """
    command = ["node", str(_SCRIPT)]
    done = subprocess.run(
        command, input=json.dumps(objects), capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    if done.returncode:
        raise RuntimeError(f"Karpenter's validators did not run (are node_modules installed?):\n{done.stderr}")
    found = ((objects[finding["index"]], finding) for finding in json.loads(done.stdout))
    return [
        f"{label(item)}: {place(_steps(finding['path']))}: {finding['message']} [{finding['keyword']}]"
        for item, finding in found
        if not _is_newer(item, finding)
    ]

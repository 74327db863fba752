"""Measure how long ``demo --cluster`` takes until the cluster, the releases and a pod on a Karpenter node are ready."""

from __future__ import annotations

import datetime
import re
import tempfile
from typing import Any

from benchmarks import workspace
from benchmarks.measure import Command, output
from eks_hardware.resolve import resolve
from eks_hardware.validation import load_strategy

STRATEGY = workspace.SHIPPED / "mixed-hardware.yaml"
_STEP = re.compile(r"^ ✓ (?P<step>\w[\w -]*?) {2,}.* (?P<seconds>[\d.]+) s$", re.MULTILINE)
_WORKLOAD = re.compile(r"^job-\d+ +(?P<node>\S+) .* (?P<seconds>[\d.]+) s$", re.MULTILINE)
_RELEASES = ("Nodes", "Add-ons", "Install", "Karpenter")
"""The steps between the AWS deployment and installed releases."""


def measure() -> dict[str, Any]:
    """Run the demo twice with its own cache: the first run builds every program, the second run finds them."""
    with tempfile.TemporaryDirectory(prefix="eks-hardware-bench-") as cache:
        here = {"XDG_CACHE_HOME": cache, "GOCACHE": f"{cache}/go", "COLUMNS": "120"}
        demo = workspace.command("demo", str(STRATEGY), "--cluster")
        command = Command(demo.arguments, {**demo.environment, **here}, demo.folder)
        pools = frozenset(each.name for each in resolve(load_strategy(STRATEGY).strategy).node_pools)
        times = {name: phases(output(command), pools) for name in ("cold", "warm")}
    return {"date": datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat(), "seconds": times}


def phases(said: str, pools: frozenset[str]) -> dict[str, float]:
    """Return the seconds of each phase in the demo's output.

    Args:
        said: the output.
        pools: the strategy's node pools.

    Raises:
        ValueError: the output has no step of a phase.
    """
    steps: dict[str, float] = {}
    for step in _STEP.finditer(said):
        steps[step["step"]] = steps.get(step["step"], 0) + float(step["seconds"])
    on_pools = [float(each["seconds"]) for each in _WORKLOAD.finditer(said) if each["node"] in pools]
    if missing := [name for name in ("Tools", "Kubernetes", *_RELEASES) if name not in steps]:
        raise ValueError(f"the demo must print the steps {', '.join(missing)}, got:\n{said}")
    if not on_pools:
        raise ValueError(f"the demo must print a workload on a node pool, got:\n{said}")
    return {
        "programs found or built": steps["Tools"],
        "cluster ready, after its start": steps["Kubernetes"],
        "releases installed, after the AWS half": sum(steps[name] for name in _RELEASES),
        "first pod on a Karpenter node, after its creation": min(on_pools),
        "all steps of the demo": sum(steps.values()),
    }

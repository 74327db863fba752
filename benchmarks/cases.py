"""The measurements: each accepts the number of runs and returns medians, in seconds and megabytes."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from benchmarks import workspace
from benchmarks.measure import Command, medians, output, peak_megabytes, seconds, typical

_STRATEGY = "config/strategies/mixed-hardware.yaml"
_COMMANDS = {
    "--version": ("--version",),
    "validate": ("validate", _STRATEGY),
    "explain": ("explain", _STRATEGY),
    "render": ("render", _STRATEGY, "--output", str(workspace.FOLDER / "rendered"), "--force"),
    "recommend": ("recommend", "--task", "inference", "--model", "8B", "--region", "us-west-2"),
    "diff": ("diff", _STRATEGY, "config/strategies/gpu-training.yaml"),
}
# Baselines for the commands.
_IMPORTS = {
    "python": "pass",
    "models": "import eks_hardware.models",
}


@dataclass(frozen=True)
class Synthesis:
    """The results for an app in three variants.

    Attributes:
        resources: the number of resources and data sources.
        seconds: median wall time of ``ours``, ``stock`` and ``typescript``.
        megabytes: peak total memory of all processes, by variant.
    """

    resources: int
    seconds: dict[str, float]
    megabytes: dict[str, float]


def synthesis(runs: int) -> dict[str, Synthesis]:
    """Measure ``mixed-hardware`` and all shipped strategies: ours, with the stock import, and in TypeScript."""
    strategies = {"mixed-hardware": workspace.SHIPPED / "mixed-hardware.yaml", "all": workspace.SHIPPED}
    for name, path in strategies.items():
        seconds(workspace.app(path, name))
    apps = {name: sorted(workspace.documents(name)) for name in strategies}
    ours = workspace.documents("all")
    workspace.build_typescript(apps, ours)
    found = {}
    for name, path in strategies.items():
        commands = {
            "ours": workspace.app(path, name),
            "stock": workspace.app(path, f"{name}-stock", EKS_HARDWARE_EAGER_PROVIDERS="1"),
            "typescript": workspace.typescript(name),
        }
        times = typical(medians(commands, runs, rare=frozenset({"stock"})))
        if different := workspace.same_as_ours(name, ours):
            raise RuntimeError("the TypeScript app defines different resources:\n" + "\n".join(different[:20]))
        memory = {each: peak_megabytes(command) for each, command in commands.items()}
        found[name] = Synthesis(workspace.resources(name), times, memory)
    return found


@dataclass(frozen=True)
class Growth:
    """The results for the app with a given number of node groups."""

    groups: int
    resources: int
    seconds: float


def growth(runs: int) -> list[Growth]:
    """Measure the app with 1 to 400 node groups in addition to the system group."""
    commands = {str(count): workspace.app(workspace.growth_strategy(count), str(count)) for count in workspace.GROWTH}
    times = typical(medians(commands, runs))
    return [Growth(int(name), workspace.resources(name), times[name]) for name in commands]


def milliseconds_per_resource(found: list[Growth]) -> list[float]:
    """Return the time per additional resource from each size to the next, in milliseconds."""
    return [
        1000 * (after.seconds - before.seconds) / (after.resources - before.resources)
        for before, after in pairwise(found)
    ]


def commands(runs: int) -> dict[str, float]:
    """Measure commands, bare Python (``python``), and importing the strategy models (``models``)."""
    compared: dict[str, Command] = {name: workspace.python(code) for name, code in _IMPORTS.items()}
    named = {name: workspace.command(*arguments) for name, arguments in _COMMANDS.items()}
    hundred = workspace.command("validate", str(workspace.copies_of(workspace.ROOT / _STRATEGY, 100)))
    return typical(medians({**compared, **named, "validate, 100 files": hundred}, runs))


@dataclass(frozen=True)
class Profile:
    """The times of a run's phases.

    Attributes:
        resources: number of resources and data sources.
        phases: by name, the median ``seconds`` and ``waited`` (seconds of waiting for Node), and ``requests`` to Node.
    """

    resources: int
    phases: dict[str, dict[str, float]]


def profile(runs: int) -> Profile:
    """Measure the phases of ``main.py`` with ``mixed-hardware``."""
    command = workspace.profile(workspace.SHIPPED / "mixed-hardware.yaml")
    found = [json.loads(output(command)) for _ in range(runs + 1)][1:]
    phases = {}
    for index, first in enumerate(found[0]["phases"]):
        same = [each["phases"][index] for each in found]
        phases[first["name"]] = {
            "seconds": median(each["seconds"] for each in same),
            "waited": median(each["waited"] for each in same),
            "requests": first["requests"],
        }
    return Profile(found[0]["resources"], phases)


def make(target: str) -> float:
    """Return the wall time, in seconds, of a Makefile target whose prerequisites are up to date."""
    return seconds(Command(("make", target), workspace.environment(), workspace.ROOT))


def machine() -> dict[str, Any]:
    """Return the properties of this machine."""
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return {"cores": os.cpu_count(), "python": platform.python_version(), "node": node.lstrip("v")}

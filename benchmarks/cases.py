"""The measurements: each takes the number of runs and gives medians, in seconds and megabytes."""

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
    "render": ("render", _STRATEGY, "--out", str(workspace.FOLDER / "rendered"), "--force"),
    "recommend": ("recommend", "--task", "inference", "--model", "8B", "--region", "us-west-2"),
    "diff": ("diff", _STRATEGY, "config/strategies/gpu-training.yaml"),
}
# What the commands are compared with.
_IMPORTS = {
    "python": "pass",
    "models": "import eks_hardware.models",
}


@dataclass(frozen=True)
class Synthesis:
    """One app, three ways.

    Attributes:
        resources: resources and data sources in it.
        seconds: median wall time of ``ours``, ``stock`` and ``typescript``.
        megabytes: peak memory of all processes together, of each.
    """

    resources: int
    seconds: dict[str, float]
    megabytes: dict[str, float]


def synthesis(runs: int) -> dict[str, Synthesis]:
    """``mixed-hardware`` alone and all shipped strategies: ours, with the stock import, and in TypeScript."""
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
            raise RuntimeError("the TypeScript app does not say the same:\n" + "\n".join(different[:20]))
        memory = {each: peak_megabytes(command) for each, command in commands.items()}
        found[name] = Synthesis(workspace.resources(name), times, memory)
    return found


@dataclass(frozen=True)
class Growth:
    """The app with so many node groups."""

    groups: int
    resources: int
    seconds: float


def growth(runs: int) -> list[Growth]:
    """The app with 1 to 400 node groups beside the system group."""
    commands = {str(count): workspace.app(workspace.growth_strategy(count), str(count)) for count in workspace.GROWTH}
    times = typical(medians(commands, runs))
    return [Growth(int(name), workspace.resources(name), times[name]) for name in commands]


def milliseconds_per_resource(found: list[Growth]) -> list[float]:
    """What one resource more takes, between each size and the next."""
    return [
        1000 * (after.seconds - before.seconds) / (after.resources - before.resources)
        for before, after in pairwise(found)
    ]


def commands(runs: int) -> dict[str, float]:
    """Commands, bare Python (``python``), and the import of the models of a strategy (``models``)."""
    compared: dict[str, Command] = {name: workspace.python(code) for name, code in _IMPORTS.items()}
    named = {name: workspace.command(*arguments) for name, arguments in _COMMANDS.items()}
    hundred = workspace.command("validate", str(workspace.copies_of(workspace.ROOT / _STRATEGY, 100)))
    return typical(medians({**compared, **named, "validate, 100 files": hundred}, runs))


@dataclass(frozen=True)
class Profile:
    """Where the time of one run goes.

    Attributes:
        resources: resources and data sources.
        phases: by name, the medians of ``seconds`` and ``waited`` (for Node) and the number of ``requests`` to it.
    """

    resources: int
    phases: dict[str, dict[str, float]]


def profile(runs: int) -> Profile:
    """The phases of ``main.py`` with ``mixed-hardware``."""
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
    """Wall time of a target of the Makefile, once; all it needs is there already."""
    return seconds(Command(("make", target), workspace.environment(), workspace.ROOT))


def machine() -> dict[str, Any]:
    """What it was measured on."""
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return {"cores": os.cpu_count(), "python": platform.python_version(), "node": node.lstrip("v")}

"""Runs commands and measures them: wall time, and the peak memory of a process with all its children."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil

_SAMPLE_SECONDS = 0.02


@dataclass(frozen=True)
class Command:
    """A command to measure.

    Attributes:
        arguments: the program and its arguments.
        environment: all of its environment.
        folder: where it runs.
        allowed_codes: exit codes that are not a failure.
    """

    arguments: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    allowed_codes: frozenset[int] = frozenset({0})


def seconds(command: Command) -> float:
    """Wall time of one run.

    Raises:
        RuntimeError: with the output, when it fails.
    """
    start = time.perf_counter()
    output(command)
    return time.perf_counter() - start


def output(command: Command) -> str:
    """What a command prints; fails as :func:`seconds` does."""
    done = subprocess.run(
        command.arguments,
        cwd=command.folder,
        env=command.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode not in command.allowed_codes:
        said = (done.stdout + done.stderr).decode(errors="replace")[-2000:]
        raise RuntimeError(f"{' '.join(command.arguments)} ended with {done.returncode}:\n{said}")
    return done.stdout.decode()


def medians(commands: Mapping[str, Command], runs: int, rare: frozenset[str] = frozenset()) -> dict[str, list[float]]:
    """Wall times of some commands, one after the other in turns, so that a slow minute of the machine hits all alike.

    Args:
        commands: what to run, by name.
        runs: turns; one more, first, is not counted.
        rare: names of commands that run every second turn only, the first that counts among them.
    """
    times: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(runs + 1):
        for name, command in commands.items():
            if name in rare and turn and turn % 2 == 0:
                continue
            took = seconds(command)
            if turn:
                times[name].append(took)
    return times


def typical(times: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """The median of each."""
    return {name: median(each) for name, each in times.items()}


def peak_megabytes(command: Command) -> float:
    """Most memory of a command and all its children together, in 10^6 bytes; sampled some 20 times a second.

    On Linux the proportional set size: a page that processes share is split between them. Elsewhere the resident set
    size, which counts it for each.
    """
    process = subprocess.Popen(
        command.arguments,
        cwd=command.folder,
        env=command.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    root = psutil.Process(process.pid)
    peak = 0
    while process.poll() is None:
        peak = max(peak, _memory(root))
        time.sleep(_SAMPLE_SECONDS)
    if process.returncode not in command.allowed_codes:
        raise RuntimeError(f"{' '.join(command.arguments)} ended with {process.returncode}")
    return peak / 1e6


def _memory(root: psutil.Process) -> int:
    total = 0
    try:
        for each in (root, *root.children(recursive=True)):
            try:
                found = each.memory_full_info()
                total += getattr(found, "pss", found.rss)
            except psutil.Error:
                continue
    except psutil.Error:
        pass
    return total

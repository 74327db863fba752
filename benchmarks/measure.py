"""Measure commands: wall time, and the peak memory of a process with all its children."""

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
        environment: the complete environment.
        folder: the working folder.
        allowed_codes: exit codes that do not mean failure.
    """

    arguments: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    allowed_codes: frozenset[int] = frozenset({0})


def seconds(command: Command) -> float:
    """Return the wall time of one run, in seconds.

    Raises:
        RuntimeError: the command failed. The text contains its output.
    """
    start = time.perf_counter()
    output(command)
    return time.perf_counter() - start


def output(command: Command) -> str:
    """Return the output of a command; raises like :func:`seconds`."""
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
        raise RuntimeError(f"{' '.join(command.arguments)} exited with code {done.returncode}:\n{said}")
    return done.stdout.decode()


def medians(commands: Mapping[str, Command], runs: int, rare: frozenset[str] = frozenset()) -> dict[str, list[float]]:
    """Return the wall times of commands that run in turn, so that a slow minute of the machine affects all of them.

    Args:
        commands: the commands by name.
        runs: the number of turns, after a warm-up turn.
        rare: the names of commands that run only every second turn, starting with the first after the warm-up.
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
    """Return the median for each command."""
    return {name: median(each) for name, each in times.items()}


def peak_megabytes(command: Command) -> float:
    """Return the peak total memory of a command and all its children, in 10^6 bytes, sampled about 20 times a second.

    On Linux, this is the proportional set size, which divides shared pages among processes. On other systems, it is the
    resident set size, which counts shared pages once for each process.
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
        raise RuntimeError(f"{' '.join(command.arguments)} exited with code {process.returncode}")
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

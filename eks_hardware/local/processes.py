"""Start programs that never outlive this process."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import IO

from eks_hardware.interrupts import raise_in_block

_POLL_SECONDS = 0.05
_INHERITED = ("LANG", "LC_ALL", "PATH", "TZ", "USER")
_GUARD = Path(__file__).with_name("guard.py")


class Terminated(SystemExit):
    """Raised on SIGTERM or SIGHUP. Unwinds like Ctrl-C, with the shell's exit code for the signal."""

    def __init__(self, signum: int) -> None:
        super().__init__(128 + signum)


def start(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdout: int | IO[bytes],
    stdin: int = subprocess.DEVNULL,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start a program in its own session, so that Ctrl-C reaches only this process, which then stops the program."""
    return subprocess.Popen(
        argv,
        cwd=cwd,
        env=env,
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        pass_fds=pass_fds,
    )


def bare_environment(home: Path) -> dict[str, str]:
    """Return a minimal environment, which isolates programs from the user's settings.

    Clients keep their caches in the home folder. Other variables, such as a proxy, would change where they connect.
    """
    return {**{name: os.environ[name] for name in _INHERITED if name in os.environ}, "HOME": str(home)}


def start_guarded(
    argv: Sequence[str], folder: Path, *, cwd: Path, env: Mapping[str, str], stdout: int | IO[bytes]
) -> subprocess.Popen[bytes]:
    """Start a program that is killed when this process ends, even by SIGKILL; its folder is then removed."""
    return start(guarded(argv, folder), cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=stdout)


def guarded(argv: Sequence[str], folder: Path | None = None) -> list[str]:
    """Return the command that runs a program until its standard input ends, and then removes the folder."""
    return [sys.executable, "-I", str(_GUARD), str(folder or ""), *argv]


def lines(process: subprocess.Popen[bytes]) -> Iterator[str]:
    """Yield the lines of a started program's output, until the program closes it."""
    assert process.stdout is not None
    with process.stdout:
        for raw in process.stdout:
            yield raw.decode("utf-8", errors="replace").rstrip("\r\n")


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a started program and its whole process group. For programs that need no orderly shutdown."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    _has_ended(process.pid, 10.0)
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


def stop(process: subprocess.Popen[bytes]) -> None:
    """Stop a started program and all its descendants: first with SIGTERM, then with SIGKILL.

    A process group is not enough: cdktf runs Terraform in its own terminal, and so in its own session.
    """
    family = [process.pid, *descendants(process.pid)]
    for signum, seconds in ((signal.SIGTERM, 8.0), (signal.SIGKILL, 5.0)):
        for pid in family:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signum)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            family = [pid for pid in family if is_running(pid)]
            if not family:
                process.wait()
                return
            time.sleep(_POLL_SECONDS)


def stop_group(group: int, *, seconds: float = 5.0) -> None:
    """Stop a process group that this process did not start, such as one left over from an earlier run.

    Args:
        group: the group's id.
        seconds: the time that its members have to exit before they are killed.
    """
    for signum, patience in ((signal.SIGTERM, seconds), (signal.SIGKILL, 2.0)):
        try:
            os.killpg(group, signum)
        except (ProcessLookupError, PermissionError):
            return
        if _has_ended(group, patience):
            return


def _has_ended(group: int, seconds: float) -> bool:
    """Wait until no process in a group is running, even if the leader exited first; return False on a timeout."""
    deadline = time.monotonic() + seconds
    while any(map(is_running, _group(group))):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def log_tail(file: Path, lines: int) -> str:
    """Return the last lines of a program's log."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    return "\n".join(text.splitlines()[-lines:]) or "(the log is empty)"


def is_running(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    with contextlib.suppress(OSError):
        folder = Path(f"/proc/{pid}")
        # The main thread can be a zombie while other threads still run.
        return _state(folder / "stat")[0] != "Z" or len(list((folder / "task").iterdir())) > 1
    return True


def _state(stat: Path) -> list[str]:
    """Parse ``pid (name) state parent group ...`` from the state on; the name can contain any character."""
    return stat.read_text(errors="replace").rpartition(")")[2].split()


def descendants(pid: int) -> list[int]:
    """Return the ids of all descendants of a process, parents first."""
    children: dict[int, list[int]] = {}
    for child, parent, _ in _processes():
        children.setdefault(parent, []).append(child)
    pids: list[int] = []
    waiting = [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        pids += below
        waiting += below
    return pids


def _group(group: int) -> list[int]:
    """Return the ids of all processes in a group."""
    return [pid for pid, _, found in _processes() if found == group]


def _processes() -> Iterator[tuple[int, int, int]]:
    """Yield every process with its parent and its group."""
    if Path("/proc/self/stat").exists():  # slim container images have no ps
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                state = _state(stat)
                yield int(stat.parent.name), int(state[1]), int(state[2])
        return
    listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,pgid="], capture_output=True, check=False, text=True)
    for line in listing.stdout.splitlines():
        pid, parent, group = map(int, line.split())
        yield pid, parent, group


@contextlib.contextmanager
def signals_unwind() -> Iterator[None]:
    """Turn Ctrl-C, SIGTERM and SIGHUP into exceptions within the block, so that cleanup code runs."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python delivers signals only to the main thread
        return

    def unwind(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001
        raise Terminated(signum)

    before = {signum: signal.signal(signum, unwind) for signum in (signal.SIGTERM, signal.SIGHUP)}
    try:
        with raise_in_block():
            yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)

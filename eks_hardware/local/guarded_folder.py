"""A temporary folder and the programs that run in it. Neither outlives this process, however it ends."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from eks_hardware.local import processes

_KEEPER = Path(__file__).with_name("folder_keeper.py")
_TIMEOUT_SECONDS = 30.0
_POLL_SECONDS = 0.05


class GuardedFolder:
    """A temporary folder with programs. ``open`` creates the folder; ``close`` kills the programs and removes it.

    If this process is killed, two pipes have the same effect. The programs' guards read the first pipe, which only this
    process can write to. The folder's keeper reads the second pipe, which every guard and program can write to, so the
    folder is removed after the last of them has ended.

    If the keeper is killed, ``close`` removes the folder. The folder stays only if both are killed.

    Args:
        prefix: the start of the folder's name.
        cwd: the keeper's working folder.
    """

    def __init__(self, prefix: str, cwd: Path) -> None:
        # The keeper creates the folder, but the name is chosen here, in case the keeper is killed.
        self.path = Path(tempfile.gettempdir()).absolute() / f"{prefix}{secrets.token_hex(4)}"
        self._cwd = cwd
        self._programs: list[subprocess.Popen[bytes]] = []
        self._keeper: subprocess.Popen[bytes] | None = None
        self._alive: tuple[IO[bytes], IO[bytes]] | None = None
        self._in_use: IO[bytes] | None = None

    def open(self) -> None:
        """Create the folder.

        Raises:
            OSError: the folder cannot be created, or its keeper was killed.
        """
        self._alive = _pipe()
        keeper = self._keeper = processes.start(
            [sys.executable, "-I", str(_KEEPER), str(self.path)],
            cwd=self._cwd,
            env=processes.bare_environment(self.path),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._in_use = keeper.stdin
        assert keeper.stdout is not None
        if (line := keeper.stdout.readline()) != b"\n":
            why = (line + keeper.stdout.read()).decode(errors="replace").strip()
            raise OSError(f"the folder {self.path} cannot be created: {why or 'its keeper was killed'}")

    @property
    def held(self) -> Sequence[int]:
        """The ``pass_fds`` descriptors for other programs that write to the folder, which is removed after they end."""
        assert self._in_use is not None, "the folder is not open"
        return [self._in_use.fileno()]

    def start(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdout: int | IO[bytes]
    ) -> subprocess.Popen[bytes]:
        """Start a program that ``close`` kills."""
        assert self._alive is not None, "the folder is not open"
        process = processes.start(
            processes.guarded(argv),
            cwd=cwd,
            env=env,
            stdin=self._alive[0].fileno(),
            stdout=stdout,
            pass_fds=self.held,
        )
        self._programs.append(process)
        return process

    def close(self) -> None:
        """Kill the programs and remove the folder, even if a signal interrupts the first attempt."""
        try:
            self._close()
        except BaseException:
            # If the keeper was killed, nothing else removes the folder.
            self._close()
            raise

    def _close(self) -> None:
        if self._alive is not None:
            for end in reversed(self._alive):
                end.close()
        while self._programs:
            processes.kill_group(self._programs[-1])
            self._programs.pop()
        if self._in_use is not None:
            self._in_use.close()
        if self._keeper is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._keeper.wait(_TIMEOUT_SECONDS)
            if self._keeper.stdout is not None:
                self._keeper.stdout.close()
        deadline = time.monotonic() + _TIMEOUT_SECONDS
        # Reached if the keeper was killed. Programs that were killed a moment ago may still create files.
        while self.path.exists() and time.monotonic() < deadline:
            shutil.rmtree(self.path, ignore_errors=True)
            time.sleep(_POLL_SECONDS)


def _pipe() -> tuple[IO[bytes], IO[bytes]]:
    """Return both ends of a pipe that no other program inherits."""
    read, write = os.pipe()
    return os.fdopen(read, "rb", 0), os.fdopen(write, "wb", 0)

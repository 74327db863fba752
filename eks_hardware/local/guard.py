"""Run a program until the process at the other end of standard input has ended, then remove the program's folder.

Started by path, as ``guard.py FOLDER PROGRAM [ARGUMENT ...]``: it imports nothing from this package. If ``FOLDER``
is empty, no folder is removed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time

_PR_SET_PDEATHSIG = 1
_REMOVAL_SECONDS = 10.0


def _die_with(parent: int) -> None:
    """Make Linux kill the program when this process is killed. Other systems have no such feature."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent was killed before prctl took effect
        os._exit(128 + signal.SIGKILL)


def main(folder: str, *argv: str) -> int:
    """Return the program's exit code, as a shell does."""
    me = os.getpid()
    # Keep inherited descriptors open for the program: folder_keeper.py waits until they are closed.
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, close_fds=False, preexec_fn=lambda: _die_with(me))

    def watch() -> None:
        os.read(0, 1)
        child.kill()

    threading.Thread(target=watch, daemon=True).start()
    code = child.wait()
    is_alone = bool(select.select([0], [], [], 0)[0])
    if folder and is_alone:
        _remove(folder)
    return code if code >= 0 else 128 - code


def _remove(folder: str) -> None:
    """Remove a folder in which programs that the program started may still create files."""
    deadline = time.monotonic() + _REMOVAL_SECONDS
    while os.path.exists(folder) and time.monotonic() < deadline:  # noqa: PTH110
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""Run a program until the process at the other end of standard input is gone, then remove its folder.

Started by path, as ``guard.py FOLDER [PROGRAM [ARGUMENT ...]]``: it imports nothing of this package. Without a program,
it only waits.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import threading

_PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    """Let Linux kill the program when this process is killed. Other systems have nothing like it."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main(folder: str, *argv: str) -> int:
    """Return the program's exit code, as a shell does."""
    if not argv:
        os.read(0, 1)
        shutil.rmtree(folder, ignore_errors=True)
        return 0
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, preexec_fn=_die_with_parent)
    alone = threading.Event()

    def watch() -> None:
        os.read(0, 1)
        alone.set()
        child.kill()

    threading.Thread(target=watch, daemon=True).start()
    code = child.wait()
    if alone.is_set():
        shutil.rmtree(folder, ignore_errors=True)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

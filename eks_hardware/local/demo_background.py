"""Keep a demo with a local Kubernetes running after the command has ended.

The demo runs in a second process from the beginning, because the cluster's programs end with the process that started
them. The command waits until that process exits or reports that the demo is ready, and forwards signals to it.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from rich.console import Console

from eks_hardware.local import processes
from eks_hardware.local.demo import run_demo
from eks_hardware.local.demo_cluster import Options


def run_in_background(root: Path, stack: str, named: str, options: Options) -> int:
    """Run the demo in a background process, and return the exit code when the cluster is ready or has failed."""
    heard, told = os.pipe()
    # A new session: Ctrl-C in this terminal stops the demo only until the cluster is ready.
    process = subprocess.Popen(
        [sys.executable, "-m", __spec__.name, str(told)],
        stdin=subprocess.PIPE,
        pass_fds=[told],
        start_new_session=True,
    )
    os.close(told)
    assert process.stdin is not None
    try:
        with processes.signals_unwind(), os.fdopen(heard, "rb") as ready:
            process.stdin.write(pickle.dumps((root, stack, named, options)))
            process.stdin.close()
            stays = bool(ready.read(1))
    except (KeyboardInterrupt, processes.Terminated) as interrupt:
        process.send_signal(signal.SIGINT if isinstance(interrupt, KeyboardInterrupt) else signal.SIGTERM)
        code = process.wait()
        if isinstance(interrupt, processes.Terminated):
            raise
        return code
    if stays:
        process.returncode = 0  # otherwise Python warns about a child process that was never waited for
        return 0
    return process.wait()


def _stay(told: int) -> Callable[[], None]:
    """Return a function that reports to the command that the demo is ready, and waits for a signal."""

    def stay() -> NoReturn:
        # The terminal belongs to the command. A reader of this process's output would wait until the demo ends.
        quiet = os.open(os.devnull, os.O_RDWR)
        sys.stdout.flush()
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        os.write(told, b"r")
        os.close(told)
        while True:
            signal.pause()

    return stay


def main() -> int:
    """Run the demo that standard input describes; the argument is the file descriptor that the command reads."""
    # Safe to unpickle: this package's command writes the data.
    root, stack, named, options = pickle.load(sys.stdin.buffer)
    # A shell that starts a command in the background lets its children ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    stay = _stay(int(sys.argv[1]))
    return run_demo(Console(), root=root, stack=stack, named=named, keep=True, cluster=options, stay=stay)


if __name__ == "__main__":
    raise SystemExit(main())

"""Ctrl-C and other signals that end our own processes.

Python raises ``KeyboardInterrupt`` wherever the main thread is. Pydantic can then reject a valid value, and an
interrupted import can keep its lock, which blocks other threads forever. Our processes therefore end without that
exception, except in code that has to clean up or waits for an answer.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def end_on_signals() -> None:
    """Remove temporary folders before a signal ends this process. A signal that it ignores does not end it.

    The shell makes a background job ignore Ctrl-C, for example.
    """
    for signum in _SIGNALS:
        if signal.getsignal(signum) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(signum, _end)


def _end(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001
    """Stop Node, remove temporary folders, and end by the signal, so that a shell's loop ends, too."""
    for each in _SIGNALS:  # after Ctrl-C, cdktf also sends SIGTERM
        signal.signal(each, signal.SIG_IGN)
    signal.signal(signum, signal.SIG_DFL)  # for a second Ctrl-C
    sys.unraisablehook = lambda _: None  # the interrupted code may be using what is closed now
    atexit._run_exitfuncs()
    os.kill(os.getpid(), signum)


@contextmanager
def raise_in_block() -> Iterator[None]:
    """Raise ``KeyboardInterrupt`` for Ctrl-C within the block, for example because it must remove a partial file."""
    # Only the main thread may change handlers, and only it gets KeyboardInterrupt.
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not _end:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, _end)

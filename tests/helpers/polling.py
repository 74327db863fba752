"""Waiting for processes and clusters."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Any

from eks_hardware.local.emulator import HOST


def eventually(
    read: Callable[[], Any], expected: Any = True, *, ignored: tuple[type[Exception], ...] = (), seconds: float = 300
) -> Any:
    """Return what is read once it is as expected, or at the end of the time.

    ``ignored`` errors of reading count as not yet.
    """
    deadline = time.monotonic() + seconds
    while True:
        is_last = time.monotonic() > deadline
        try:
            found = read()
        except ignored:
            if is_last:
                raise
        else:
            if is_last or found == expected:
                return found
        time.sleep(0.1)


def is_free(port: int) -> bool:
    """Return whether nothing on this machine listens on a port."""
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) != 0

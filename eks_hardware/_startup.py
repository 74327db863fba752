"""How the toolkit's own processes start: ``eks-hardware`` and ``python -m eks_hardware``."""

from __future__ import annotations

import gc
import os
import sys

from eks_hardware import __version__
from eks_hardware._lazy_providers import is_eager

# Python looks for garbage after 700 new objects, and imports make some hundred thousand that all stay.
_OBJECTS = 100_000


def short_lived() -> None:
    """Look for garbage rarely, from here on: in a process that imports much, answers, and ends.

    Source: https://docs.python.org/3/library/gc.html#gc.set_threshold
    """
    if not is_eager():
        gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])


def start_node() -> None:
    """Start jsii's Node process in the background: it boots while Python reads the strategies.

    Whoever imports ``constructs`` next waits for the same import, so that jsii is used by one thread at a time. What
    goes wrong is said there.
    """
    if is_eager() or node() is None:
        return
    import threading

    threading.Thread(target=_start_node, name="start-node").start()


def node() -> str | None:
    """Return the program that jsii runs; ``None`` where there is none."""
    import shutil

    return shutil.which(os.environ.get("JSII_NODE", "node"))


def _start_node() -> None:
    from contextlib import suppress
    from importlib import import_module

    with suppress(Exception):
        import_module("constructs")


def command() -> None:
    """Run the command line; the version is answered without it, since Click alone takes three times as long."""
    if sys.argv[1:] == ["--version"]:
        try:
            os.write(1, f"{__version__}\n".encode())
        except OSError:
            pass  # what cannot be written, Click reports
        else:
            return
    short_lived()
    from eks_hardware.cli import main

    main()

"""Process start of ``eks-hardware`` and ``python -m eks_hardware``."""

from __future__ import annotations

import atexit
import gc
import os
import sys

from eks_hardware import __version__
from eks_hardware._lazy_providers import is_eager

# Python's garbage collector runs after 700 new objects. Imports create several hundred thousand, none of them garbage.
_OBJECTS = 100_000


def short_lived() -> None:
    """Run the garbage collector rarely, and not at exit, because the process imports many modules and soon exits.

    Source: https://docs.python.org/3/library/gc.html#gc.set_threshold and #gc.freeze
    """
    if not is_eager():
        gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
        atexit.register(gc.freeze)


def command() -> None:
    """Run the command line; print the version without Click, whose import takes three times as long."""
    if sys.argv[1:] == ["--version"]:
        try:
            os.write(1, f"{__version__}\n".encode())
        except OSError:
            pass  # Click reports that the output cannot be written
        else:
            return
    from eks_hardware.interrupts import end_on_signals

    end_on_signals()
    short_lived()
    from eks_hardware.cli import main

    main()

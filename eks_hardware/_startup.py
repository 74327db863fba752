"""Process start of ``eks-hardware`` and ``python -m eks_hardware``."""

from __future__ import annotations

import gc
import os
import sys

from eks_hardware import __version__
from eks_hardware._lazy_providers import is_eager

# Python's garbage collector runs after 700 new objects. Imports create several hundred thousand, and all of them stay.
_OBJECTS = 100_000


def short_lived() -> None:
    """Run the garbage collector rarely, for a process that imports much, answers, and exits.

    Source: https://docs.python.org/3/library/gc.html#gc.set_threshold
    """
    if not is_eager():
        gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])


def command() -> None:
    """Run the command line. Print the version without it, because importing Click takes three times as long."""
    if sys.argv[1:] == ["--version"]:
        try:
            os.write(1, f"{__version__}\n".encode())
        except OSError:
            pass  # Click reports output that cannot be written
        else:
            return
    short_lived()
    from eks_hardware.cli import main

    main()

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

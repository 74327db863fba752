"""The Node process that jsii runs the framework in."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from importlib import import_module

from eks_hardware._lazy_providers import is_eager

SILENCED_NODE = 20
"""jsii answers an end-of-life Node with a box on stderr, which cdktf shows as an error. This one works."""
SILENCE_VARIABLE = "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION"

NODE_IS_MISSING = "node is not on the PATH: install Node.js 20 or newer, https://nodejs.org"


def start_node() -> None:
    """Start jsii's Node process in the background: it boots while Python reads the strategies.

    Whoever imports ``constructs`` next waits for the same import, so that jsii is used by one thread at a time. What
    goes wrong is said there.
    """
    os.environ.setdefault(SILENCE_VARIABLE, str(SILENCED_NODE))
    if is_eager() or node() is None:
        return
    threading.Thread(target=_start_node, name="start-node").start()


def node() -> str | None:
    """Return the program that jsii runs; ``None`` where there is none."""
    return shutil.which(os.environ.get("JSII_NODE", "node"))


def _start_node() -> None:
    with contextlib.suppress(Exception):
        import_module("constructs")

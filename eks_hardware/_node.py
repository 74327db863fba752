"""The Node process in which jsii runs the framework."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from importlib import import_module

from eks_hardware._lazy_providers import is_eager

SILENCED_NODE = 20
"""With an end-of-life Node, jsii prints a box on stderr, which cdktf shows as an error. Such a Node still works."""
SILENCE_VARIABLE = "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION"

NODE_IS_MISSING = "node is not on the PATH: install Node.js 20 or newer, https://nodejs.org"


def start_node() -> None:
    """Start jsii's Node process in the background: it boots while Python reads the strategies.

    The next import of ``constructs`` waits for this import, so only one thread at a time uses jsii. That import also
    reports errors.
    """
    os.environ.setdefault(SILENCE_VARIABLE, str(SILENCED_NODE))
    if is_eager() or node() is None:
        return
    threading.Thread(target=_start_node, name="start-node").start()


def node() -> str | None:
    """Return the path of the program that jsii runs; None if there is none."""
    return shutil.which(os.environ.get("JSII_NODE", "node"))


def _start_node() -> None:
    with contextlib.suppress(Exception):
        import_module("constructs")

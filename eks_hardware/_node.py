"""The Node process in which jsii runs the framework."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from eks_hardware._lazy_providers import is_eager

SILENCED_NODE = 20
"""With an end-of-life Node, jsii prints a box on stderr, which cdktf shows as an error. Such a Node still works."""
SILENCE_VARIABLE = "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION"
# https://aws.github.io/jsii/user-guides/lib-user/configuration/
_CACHE, _CACHE_ROOT = "JSII_RUNTIME_PACKAGE_CACHE", "JSII_RUNTIME_PACKAGE_CACHE_ROOT"

NODE_IS_MISSING = "node is not on the PATH: install Node.js 20 or newer, https://nodejs.org"


def start_node() -> None:
    """Start jsii's Node process in the background: it boots while Python reads the strategies.

    The next import of ``constructs`` waits for this one, so only one thread at a time uses jsii. The next import also
    reports any error.
    """
    os.environ.setdefault(SILENCE_VARIABLE, str(SILENCED_NODE))
    if not {_CACHE, _CACHE_ROOT} & os.environ.keys() and not _can_cache():
        os.environ[_CACHE] = "disabled"
    if is_eager() or node() is None:
        return
    sys.unraisablehook = _without_failed_starts
    threading.Thread(target=_start_node, name="start-node").start()


def node() -> str | None:
    """Return the path of the Node executable that jsii runs; None if it is not installed."""
    return shutil.which(os.environ.get("JSII_NODE", "node"))


def _can_cache() -> bool:
    """Return whether jsii can create its package cache; without the cache it starts more slowly."""
    folder = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    path = Path(folder).absolute()
    existing = next(place for place in (path, *path.parents) if os.path.lexists(place))
    return existing.is_dir() and os.access(existing, os.W_OK)


def _without_failed_starts(
    unraisable: sys.UnraisableHookArgs, default: Callable[[sys.UnraisableHookArgs], None] = sys.__unraisablehook__
) -> None:
    """Print unraisable exceptions, except jsii's when it stops a Node process that it could not start."""
    is_of_node = getattr(unraisable.object, "__qualname__", "") == "_NodeProcess.__del__"
    if not (is_of_node and isinstance(unraisable.exc_value, AttributeError)):
        default(unraisable)  # an argument, because at exit Python removes the names of modules


def _start_node() -> None:
    with contextlib.suppress(Exception):
        import_module("constructs")

"""This package's folder in the user's cache."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Return this package's folder in the user's cache."""
    if sys.platform == "darwin":
        cache = Path.home() / "Library" / "Caches"
    else:
        cache = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "eks-hardware"

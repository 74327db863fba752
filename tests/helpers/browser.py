"""The browser that tests look at pages with."""

from __future__ import annotations

import json
from pathlib import Path

from helpers.paths import ROOT


def browser_folder() -> Path:
    """Where the browser of the npm package is unpacked to, once for each version of it."""
    package = json.loads((ROOT / "node_modules/@sparticuz/chromium/package.json").read_text(encoding="utf-8"))
    return ROOT / ".build" / "browser" / str(package["version"])

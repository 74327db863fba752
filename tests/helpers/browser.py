"""The browser for page tests."""

from __future__ import annotations

import json
from pathlib import Path

from helpers.paths import ROOT


def browser_folder() -> Path:
    """Return the folder of the unpacked browser from the npm package, one per version."""
    package = json.loads((ROOT / "node_modules/@sparticuz/chromium/package.json").read_text(encoding="utf-8"))
    return ROOT / ".build" / "browser" / str(package["version"])

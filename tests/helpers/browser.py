"""The browser for page tests."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from helpers.paths import ROOT


def browser_folder() -> Path:
    """Return the folder of the unpacked browser from the npm package, one per version."""
    package = json.loads((ROOT / "node_modules/@sparticuz/chromium/package.json").read_text(encoding="utf-8"))
    return ROOT / ".build" / "browser" / str(package["version"])


def visit(script: Path, **wanted: object) -> Any:
    """Return what a script that visits pages prints, as JSON. It reads the browser's folder and what it is to do."""
    done = subprocess.run(
        ["node", str(script)],
        input=json.dumps({"folder": str(browser_folder()), **wanted}),
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)

"""The pre-commit hook: its entry runs in the root of a repository, as pre-commit runs it."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import yaml

from helpers.installed import Installed
from helpers.paths import ROOT


def _hook() -> dict[str, Any]:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    return dict(hook)


def test_it_passes_and_fails(installed: Installed, new_project: Path, tmp_path: Path) -> None:
    shutil.copytree(new_project, tmp_path, symlinks=True, dirs_exist_ok=True)
    hook = _hook()
    assert (hook["language"], hook["pass_filenames"]) == ("python", False)
    entry = shlex.split(hook["entry"])
    assert installed.run(*entry, "--strict", cwd=tmp_path).returncode == 0
    (tmp_path / "overlays" / "dev.yaml").write_text("regoin: us-east-1\n", encoding="utf-8")
    done = installed.run(*entry, cwd=tmp_path)
    assert done.returncode == 1
    assert "overlays/dev.yaml:1:1: error FIELD_UNKNOWN" in done.stdout


def test_files_that_start_it() -> None:
    """Pre-commit searches the path of each changed file for the expression."""
    starts = ["strategies/demo.yaml", "clusters/overlays/dev.yml", "strategies/demo.lock.json", "overlays/a b.yaml"]
    others = ["README.md", "strategies/notes.txt", "package-lock.json", "my-strategies/demo.yaml"]
    found = [each for each in (*starts, *others) if re.search(_hook()["files"], each)]
    assert found == starts

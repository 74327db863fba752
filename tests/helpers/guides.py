"""Programs in guides, run as they stand there in a project of another team."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from eks_hardware.testing import Template
from helpers.paths import ROOT, SHIPPED


def blocks(guide: str, language: str = "python") -> list[str]:
    """The blocks of code of a guide, in order."""
    text = (ROOT / "docs" / "guides" / f"{guide}.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def run(folder: Path, program: str, added: str = "") -> tuple[int, str]:
    """Run a ``main.py`` whose strategy is mixed-hardware and what is added to it; its exit code and stderr."""
    (folder / "strategies").mkdir(exist_ok=True)
    strategy = folder / "strategies" / "mixed-hardware.yaml"
    shutil.copy(SHIPPED / strategy.name, strategy)
    with strategy.open("a", encoding="utf-8") as file:
        file.write(added)
    (folder / "main.py").write_text(program, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CDKTF_OUTDIR": str(folder / "out")}
    done = subprocess.run(
        [sys.executable, "main.py"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


def synthesized(folder: Path, program: str, added: str = "") -> dict[str, Template]:
    """Run a ``main.py`` that is right; its stacks by name."""
    code, said = run(folder, program, added)
    assert code == 0, said
    assert said == ""
    files = (folder / "out" / "stacks").glob("*/cdk.tf.json")
    return {file.parent.name: Template.from_json(file) for file in files}

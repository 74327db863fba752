"""The Python in the guides runs as it stands there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from helpers.paths import ROOT, SHIPPED

_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_reuse_guide_runs(tmp_path: Path) -> None:
    """All blocks of the guide are one program, run by another team in a folder of its own."""
    blocks = _BLOCK.findall((ROOT / "docs" / "guides" / "reuse.md").read_text(encoding="utf-8"))
    assert len(blocks) == 3
    shutil.copy(SHIPPED / "mixed-hardware.yaml", tmp_path / "our-cluster.yaml")
    (tmp_path / "team.py").write_text("\n".join([*blocks, "app.synth()"]), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CDKTF_OUTDIR": str(tmp_path / "out")}
    done = subprocess.run(
        [sys.executable, "team.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    written = (tmp_path / "out" / "stacks" / "team-nodes" / "cdk.tf.json").read_text(encoding="utf-8")
    assert '"create": "60m"' in written
    assert '"team-efa"' in written


def test_guides_name_files_that_exist() -> None:
    for guide in [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", guide.read_text(encoding="utf-8")):
            assert (guide.parent / target).exists(), f"{guide.relative_to(ROOT)} links to {target}"

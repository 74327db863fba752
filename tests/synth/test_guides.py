"""The Python in the guides runs as written."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from helpers import guides
from helpers.paths import ROOT, SHIPPED


def test_reuse_guide_runs(tmp_path: Path) -> None:
    """All blocks of the guide are one program, run by another team in a separate folder."""
    blocks = guides.blocks("reuse")
    assert len(blocks) == 3
    shutil.copy(SHIPPED / "mixed-hardware.yaml", tmp_path / "our-cluster.yaml")
    assert guides.run_program(tmp_path, "\n".join([*blocks, "app.synth()"])) == (0, "")
    written = (tmp_path / "out" / "stacks" / "team-nodes" / "cdk.tf.json").read_text(encoding="utf-8")
    assert '"create": "60m"' in written
    assert '"team-efa"' in written


def test_guides_name_files_that_exist() -> None:
    for guide in [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", guide.read_text(encoding="utf-8")):
            assert (guide.parent / target).exists(), f"{guide.relative_to(ROOT)} links to {target}"

"""The Python in the guides runs as written."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from eks_hardware.testing import Template
from helpers import guides
from helpers.paths import ROOT, SHIPPED


def test_reuse_guide_runs(tmp_path: Path) -> None:
    """All blocks of the guide are one program, run by another team in a separate folder."""
    blocks = guides.blocks("reuse")
    assert len(blocks) == 3
    shutil.copy(SHIPPED / "mixed-hardware.yaml", tmp_path / "our-cluster.yaml")
    assert guides.run_program(tmp_path, "\n".join([*blocks, "app.synth()"])) == (0, "")
    stacks = tmp_path / "out" / "stacks"
    assert '"shared-h100-efa"' in (stacks / "team-nodes" / "cdk.tf.json").read_text(encoding="utf-8")
    strategy = Template.from_json(stacks / "mixed-hardware" / "cdk.tf.json")
    strategy.has("aws_eks_node_group", {"node_group_name": "gpu-training", "timeouts": {"create": "60m"}})
    assert "nvidia-device-plugin" in {each["name"] for each in strategy.resources("helm_release").values()}


def test_one_node_group_takes_ten_lines_and_three_imports(tmp_path: Path) -> None:
    """The first block of the guide is a whole program."""
    program = guides.blocks("reuse")[0]
    lines = [line for line in program.splitlines() if line]
    imports = [line for line in lines if line.startswith(("from ", "import "))]
    assert (len(imports), len(lines)) == (3, 10)
    assert guides.run_program(tmp_path, program) == (0, "")
    template = Template.from_json(tmp_path / "out" / "stacks" / "team-nodes" / "cdk.tf.json")
    template.has("aws_eks_node_group", {"cluster_name": "shared", "node_group_name": "h100"})
    template.has("aws_iam_role", {"name": "shared-h100-nodes"})
    template.has("aws_placement_group", {"strategy": "cluster"})
    ((launch_template),) = template.resources("aws_launch_template").values()
    assert len(launch_template["network_interfaces"]) == 33


def test_guides_name_files_that_exist() -> None:
    for guide in [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", guide.read_text(encoding="utf-8")):
            assert (guide.parent / target).exists(), f"{guide.relative_to(ROOT)} links to {target}"

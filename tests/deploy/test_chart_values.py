"""The real Terraform reads the text of chart values unchanged, whatever its content."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from eks_hardware.kubernetes.references import Reference
from eks_hardware.kubernetes.terraform_text import terraform_text
from eks_hardware.kubernetes.yaml_text import yaml_text
from eks_hardware.local import terraform

TEXTS = [
    "${aws_vpc.main.id} ${",
    "$${kept} $$${kept} $$$${kept} $ $$ {}",
    "%{ if true }no%{ endif } %%{kept} %%%{kept} %",
    'it\'s "quoted" \\ \\n \\${x} and\ttabbed',
    '#!/bin/bash\nset -e\n  echo "${HOME}" <<EOF\nEOF\n',
    "{{ .Values.x }}",
    "Zürich 東京 😀",
    "${jsonencode({})} ${~ x ~}",
    f"{Reference.VPC_ID.text}, ${{vpc_id}} and {Reference.VPC_ID.text}",
]


def _outputs(folder: Path, values: list[str]) -> list[str]:
    """Return Terraform's result for values."""
    document = {"locals": {"vpc_id": "vpc-1"}, "output": {"values": {"value": values}}}
    (folder / "cdk.tf.json").write_text(json.dumps(document), encoding="utf-8")
    program = str(terraform.find_terraform().path)
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "CHECKPOINT_DISABLE": "1"}
    for arguments in (("init",), ("apply", "-auto-approve")):
        done = subprocess.run(
            [program, *arguments, "-input=false", "-no-color"],
            capture_output=True,
            check=False,
            cwd=folder,
            env=environment,
            text=True,
        )
        assert done.returncode == 0, done.stderr
    shown = subprocess.run(
        [program, "output", "-json", "values"], capture_output=True, check=True, cwd=folder, env=environment, text=True
    )
    found: list[str] = json.loads(shown.stdout)
    return found


def test_terraform_reads_the_text_that_was_meant(tmp_path: Path) -> None:
    written = [yaml_text({"text": text, "list": [text]}) for text in TEXTS]
    found = _outputs(tmp_path, [terraform_text(text, lambda each: f"${{local.{each.value}}}") for text in written])
    assert found == [text.replace(Reference.VPC_ID.text, "vpc-1") for text in written]

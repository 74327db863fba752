"""Run the app in a process of its own, the way ``cdktf`` does."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from helpers.paths import ROOT, SHIPPED, SPECIAL


@dataclass(frozen=True)
class Run:
    """What came of a run: exit code, outputs, the folder it synthesized to, and the modules it loaded."""

    code: int
    out: str
    err: str
    outdir: Path
    modules: tuple[str, ...] = ()

    def stacks(self) -> dict[str, bytes]:
        """``cdk.tf.json`` of every stack, by name."""
        return {file.parent.name: file.read_bytes() for file in self.outdir.glob("stacks/*/cdk.tf.json")}


def run_app(outdir: Path, *arguments: str, strategies: tuple[Path, ...] = (SHIPPED, SPECIAL), **variables: str) -> Run:
    """Run Python with these arguments in the repository's root."""
    environment = {
        **os.environ,
        "CDKTF_OUTDIR": str(outdir),
        "EKS_HARDWARE_STRATEGIES": os.pathsep.join(map(str, strategies)),
        **variables,
    }
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    return Run(done.returncode, done.stdout, done.stderr, outdir)

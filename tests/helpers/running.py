"""The app, run in a separate process like ``cdktf`` does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from helpers.paths import ROOT, SHIPPED, SPECIAL

# Like `python MAIN`, but records the file of every imported module. Arguments: the program and the output file.
NOTING = """
import json, pathlib, runpy, sys
try:
    runpy.run_path(sys.argv[1], run_name="__main__")
finally:
    files = {name: str(getattr(module, "__file__", "")) for name, module in sys.modules.items()}
    pathlib.Path(sys.argv[2]).write_text(json.dumps(files))
"""


@dataclass(frozen=True)
class Run:
    """Result of a run: exit code, outputs, output folder, and loaded modules."""

    code: int
    out: str
    err: str
    outdir: Path
    modules: tuple[str, ...] = ()

    def save(self, file: Path) -> None:
        """Write it, without the modules."""
        content = {"code": self.code, "out": self.out, "err": self.err, "outdir": str(self.outdir)}
        file.write_text(json.dumps(content), encoding="utf-8")

    @classmethod
    def load(cls, file: Path) -> Run:
        """Read a saved run."""
        content = json.loads(file.read_text(encoding="utf-8"))
        return cls(content["code"], content["out"], content["err"], Path(content["outdir"]))

    def stacks(self) -> dict[str, bytes]:
        """Return ``cdk.tf.json`` of every stack, by name."""
        return {file.parent.name: file.read_bytes() for file in self.outdir.glob("stacks/*/cdk.tf.json")}


def run_app(outdir: Path, *arguments: str, strategies: tuple[Path, ...] = (SHIPPED, SPECIAL), **variables: str) -> Run:
    """Run Python with these arguments in the repository root."""
    outdir.parent.mkdir(parents=True, exist_ok=True)
    environment = {
        **os.environ,
        "CDKTF_OUTDIR": str(outdir),
        "EKS_HARDWARE_STRATEGIES": os.pathsep.join(map(str, strategies)),
        **variables,
    }
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    return Run(done.returncode, done.stdout, done.stderr, outdir)

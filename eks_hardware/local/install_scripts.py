"""Run a strategy's ``install.sh`` and ``uninstall.sh`` against a local cluster, release by release."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections import deque
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from eks_hardware.kubernetes.files.summary import ReleaseSummary
from eks_hardware.local import processes
from eks_hardware.local.demo_folder import DemoError

# `kubectl apply` prints one line for each object.
_APPLIED = re.compile(r"(?P<kind>[a-z0-9]+)(?:\.[a-z0-9.-]+)?/(?P<name>\S+) (?:serverside-applied|created|unchanged)")
_LINES_SHOWN = 15
# The scripts find these on the PATH, so that they run unchanged.
_PROGRAMS = ("helm", "kubectl")


@dataclass
class Awaited:
    """A release that ``install.sh`` is installing.

    Attributes:
        release: the release.
        objects: the release's objects that are not applied yet, as kind and name; empty for a chart.
    """

    release: ReleaseSummary
    objects: set[tuple[str, str]] = field(default_factory=set)

    def is_installed(self, line: str) -> bool:
        """Process a line of output; return whether the release is now installed."""
        if self.release.chart:
            return line == f"NAME: {self.release.name}"  # Helm prints this line at the end
        if (match := _APPLIED.fullmatch(line)) and self.objects:
            self.objects.discard((match["kind"], match["name"]))
            return not self.objects
        return False


def awaited(release: ReleaseSummary, folder: Path) -> Awaited:
    """Return a release with the objects whose output lines show that ``install.sh`` has installed it."""
    if release.chart:
        return Awaited(release)
    objects = [
        item for file in (folder / release.place).glob("*.yaml") for item in yaml.safe_load_all(file.read_text("utf-8"))
    ]
    return Awaited(
        release, {(str(manifest["kind"]).lower(), str(manifest["metadata"]["name"])) for manifest in objects}
    )


def environment(
    base: Mapping[str, str], bin_folder: Path, programs: Mapping[str, Path], charts: Path, outputs: Mapping[str, str]
) -> dict[str, str]:
    """Return the scripts' environment.

    Args:
        base: the environment for clients of the local cluster.
        bin_folder: a folder for links to the programs and for Helm's own files.
        programs: the programs by name.
        charts: the folder with the charts.
        outputs: the stack's outputs.
    """
    bin_folder.mkdir(parents=True, exist_ok=True)
    for name in _PROGRAMS:
        (bin_folder / name).unlink(missing_ok=True)
        (bin_folder / name).symlink_to(programs[name])
    # Helm's variables can select another cluster.
    kept = {name: value for name, value in base.items() if not name.startswith("HELM_")}
    return {
        **kept,
        **outputs,
        "PATH": f"{bin_folder}{os.pathsep}{base.get('PATH', os.defpath)}",
        "CHARTS": str(charts),
        # Disables the user's kubectl aliases and default options.
        "KUBERC": "off",
        **{f"HELM_{kind}_HOME": str(bin_folder / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA")},
    }


def run(script: Path, environ: Mapping[str, str], log_file: Path) -> Generator[str, None, None]:
    """Run a script, and yield the lines that it prints.

    Raises:
        DemoError: the script failed.
    """
    last: deque[str] = deque(maxlen=_LINES_SHOWN)
    with log_file.open("a", encoding="utf-8") as log:
        log.write(f"$ {shlex.quote(str(script))}\n")
        process = processes.start([str(script)], cwd=script.parent, env=environ, stdout=subprocess.PIPE)
        try:
            for line in processes.lines(process):
                last.append(line)
                log.write(line + "\n")
                yield line
            code = process.wait()
        finally:
            processes.stop(process)
    if code:
        raise DemoError(f"{script.name} failed:\n" + "\n".join(last))

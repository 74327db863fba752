"""``make charts``: download the charts of ``config/facts/charts.json`` into the user's cache, for the tests.

The charts of Karpenter and Kueue are not downloaded: their Go modules contain them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from eks_hardware import facts
from eks_hardware.kubernetes.files.scripts import PULL_CHARTS, scripts
from eks_hardware.kubernetes.files.tree import ReleaseFiles, Tree
from eks_hardware.kubernetes.model import ChartRelease
from eks_hardware.local import cluster_tools
from eks_hardware.local.stand_in_charts import IN_MODULES
from eks_hardware.local.user_cache import cache_folder

FOLDER_VARIABLE = "EKS_HARDWARE_CHARTS"


def charts_cache(environ: Mapping[str, str]) -> Path:
    """Return the folder for downloaded charts, which may not exist yet."""
    return Path(environ.get(FOLDER_VARIABLE) or cache_folder(environ) / "charts")


def pull(release: ChartRelease, folder: Path, helm: Path, environ: Mapping[str, str]) -> bool:
    """Download a chart with the script that ``render`` writes; return whether the folder now contains the chart."""
    tree = Tree(release.name, "", (ReleaseFiles(release, {}, ""),))
    with tempfile.TemporaryDirectory() as draft:
        script = Path(draft, PULL_CHARTS)
        script.write_text(scripts(tree)[PULL_CHARTS], encoding="utf-8")
        path = f"{helm.parent}{os.pathsep}{environ.get('PATH', os.defpath)}"
        ran = subprocess.run(["sh", script, folder], env={**environ, "PATH": path}, check=False)
    return not ran.returncode


def main() -> int:
    """Download all charts; return 0 if the folder contains every one."""
    folder = charts_cache(os.environ)
    try:
        helm = cluster_tools.paths("helm")["helm"]
    except cluster_tools.ToolsMissing as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    failed = []
    for key, row in facts.charts()["charts"].items():
        if key in IN_MODULES:
            continue
        release = ChartRelease(
            name=key,
            namespace=row["namespace"],
            key=key,
            chart=row["chart"],
            repository=row["repository"],
            version=row["version"],
            values={},
        )
        if not pull(release, folder, helm, os.environ):
            failed.append(key)
    if failed:
        print(f"error: not downloaded to {folder}: {', '.join(failed)}; the tests use stand-ins", file=sys.stderr)
        return 1
    print(f"charts: {folder}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

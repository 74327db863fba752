"""Find the programs for the demo, and explain how to install each missing one."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from eks_hardware._node import SILENCE_VARIABLE, SILENCED_NODE
from eks_hardware.local.terraform import TerraformError, find_terraform

MINIMUM_NODE = 20
CDKTF_CLI = "cdktf-cli@0.21"


@dataclass(frozen=True)
class Tools:
    """The programs that were found."""

    cdktf: Path
    node_major: int


class ToolsMissing(Exception):  # noqa: N818  (a list of findings)
    """Raised when programs are missing. The text has one line for each."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


def find_tools(root: Path) -> Tools:
    """Find all programs for the demo. The project's ``node_modules`` take precedence over the PATH.

    Raises:
        ToolsMissing: Programs are missing or too old. The text lists all of them.
    """
    missing: list[str] = []
    node = shutil.which("node")
    node_major = major_version(node) if node else 0
    if not node:
        missing.append(f"node is not on the PATH: install Node.js {MINIMUM_NODE} or newer, https://nodejs.org")
    elif node_major < MINIMUM_NODE:
        missing.append(f"node must be version {MINIMUM_NODE} or newer, got {node_major}; see https://nodejs.org")
    try:
        find_terraform()
    except TerraformError as error:
        missing.append(str(error))
    own = root / "node_modules" / ".bin" / "cdktf"
    cdktf = str(own) if own.exists() else shutil.which("cdktf")
    if cdktf is None:
        packages = "" if (root / "package.json").is_file() else f" {CDKTF_CLI}"
        missing.append(f"node_modules/.bin/cdktf is missing: run `npm install{packages}` in {root}")
    if missing or cdktf is None:
        raise ToolsMissing(missing)
    return Tools(Path(cdktf), node_major)


def major_version(node: str) -> int:
    """Return Node.js's major version, or 0 if unknown."""
    try:
        run = subprocess.run([node, "--version"], capture_output=True, check=False, text=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return 0
    match = re.match(r"v(\d+)\.", run.stdout)
    return int(match[1]) if match else 0


def cdktf_environment(base: Mapping[str, str], *, node_major: int, log_dir: Path) -> dict[str, str]:
    """Return an environment in which cdktf and Terraform print little and send no usage reports.

    cdktf writes its log file to ``log_dir`` instead of the project folder.
    """
    environment = {
        **base,
        # Plain lines instead of a redrawn screen.
        "CI": "1",
        "CHECKPOINT_DISABLE": "1",
        "DISABLE_VERSION_CHECK": "1",
        "CDKTF_LOG_FILE_DIRECTORY": str(log_dir),
        "TF_IN_AUTOMATION": "1",
        "TF_INPUT": "0",
    }
    if node_major == SILENCED_NODE:
        environment.setdefault(SILENCE_VARIABLE, str(SILENCED_NODE))
    return environment

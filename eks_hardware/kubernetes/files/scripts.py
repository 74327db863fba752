"""Scripts and README rendered from ``templates/``: how to install and uninstall, and what the folder contains."""

from __future__ import annotations

import shlex
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from eks_hardware import facts
from eks_hardware.kubernetes.files.tree import RELEASES_FILE, Tree
from eks_hardware.kubernetes.model import ChartRelease

if TYPE_CHECKING:
    from jinja2 import Environment

INSTALL = "install.sh"
UNINSTALL = "uninstall.sh"
PULL_CHARTS = "pull-charts.sh"
SUMS = "SHA256SUMS"
"""The file of digests in a folder of charts, in the format of ``sha256sum --check``."""
README = "README.md"

_LINE = 116


def scripts(tree: Tree) -> dict[str, str]:
    """Return the files' texts by path."""
    names = {
        "install": INSTALL,
        "pull_charts": PULL_CHARTS,
        "readme": README,
        "releases_file": RELEASES_FILE,
        "sums": SUMS,
        "uninstall": UNINSTALL,
    }
    environment = _environment()
    paths = (README, INSTALL, UNINSTALL, *((PULL_CHARTS,) if tree.charts else ()))
    return {path: environment.get_template(f"{path}.j2").render(tree=tree, **names) for path in paths}


@cache
def _environment() -> Environment:
    # Imported late: synthesis without these files does not need Jinja.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=False,  # shell and Markdown; the filter "quoted" is for the shell
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"quoted": shlex.quote, "command": _command, "published": _published}
    return environment


def _published(release: ChartRelease) -> str:
    """Return the SHA-256 that the chart's repository published, or an empty text if it is unknown."""
    row = facts.charts()["charts"].get(release.key)
    known = row and (row["chart"], row["repository"], row["version"])
    archive = row and row["archive"]
    return archive["sha256"] if archive and known == (release.chart, release.repository, release.version) else ""


def _command(words: str) -> str:
    """Join lines with one argument each to a command, on one line, or on several if the command is long."""
    first, *others = words.rstrip().split("\n")
    arguments = [first.rstrip(), *(line.strip() for line in others)]
    one = " ".join(arguments)
    return one if len(one) <= _LINE else " \\\n  ".join(arguments)

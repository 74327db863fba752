"""A summary of the written files, read from the folder itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from eks_hardware.kubernetes.files.tree import RELEASES_FILE
from eks_hardware.printable import plural

if TYPE_CHECKING:
    from rich.table import Table


_OBJECTS_WIDTH = 30


@dataclass(frozen=True)
class ReleaseSummary:
    """One release. ``version`` and ``chart`` are empty for our own objects; ``kinds`` is empty for a chart.

    ``place`` is the path of the chart's values, or of the folder with the objects.
    """

    name: str
    namespace: str
    version: str
    kinds: Mapping[str, int]
    chart: str = ""
    place: str = ""


@dataclass(frozen=True)
class Summary:
    """A folder's releases in order, and the names of references still to fill in."""

    releases: tuple[ReleaseSummary, ...]
    fill_in: tuple[str, ...]


def read_summary(folder: Path) -> Summary:
    """Read the files that ``write`` wrote.

    Raises:
        OSError: the folder does not exist, or contains no files that ``write`` wrote.
    """
    listed = yaml.safe_load((folder / RELEASES_FILE).read_text(encoding="utf-8"))
    return Summary(
        tuple(
            ReleaseSummary(
                release["name"],
                release["namespace"],
                release.get("version", ""),
                release.get("objects", {}),
                release.get("chart", ""),
                release.get("values") or release.get("manifests", ""),
            )
            for release in listed["releases"]
        ),
        tuple(listed.get("fill_in", ())),
    )


def summary_table(summary: Summary) -> Table:
    """Return a table of the releases that fits 80 columns."""
    # Imported late: writing files does not need rich.
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold underline")
    table.add_column("Release", no_wrap=True)
    table.add_column("Version", no_wrap=True)
    table.add_column("Namespace", overflow="fold")
    table.add_column("Objects", overflow="fold")
    for release in summary.releases:
        table.add_row(release.name, release.version or "-", release.namespace, _counted(release.kinds) or "-")
    return table


def _counted(kinds: Mapping[str, int]) -> str:
    """Return each kind with its count, wrapped so that no line break separates the two."""
    lines: list[str] = []
    for kind, number in kinds.items():
        text = f"{number} {plural(kind, number)}"
        if lines and len(lines[-1]) + len(text) + 2 <= _OBJECTS_WIDTH:
            lines[-1] += f", {text}"
        else:
            lines.append(text)
    return "\n".join(lines)

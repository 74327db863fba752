"""Explanations of the codes: what is wrong and why, the source, an example, and its fix.

The texts are in ``explained/*.yaml``. An example is a fragment of a strategy, applied on top of :data:`BASE`, or a
whole
file if it has its own ``version:``. The findings for an example are computed, not stored.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from eks_hardware.findings import Severity, StrategyError
from eks_hardware.loader.yaml_document import parse
from eks_hardware.rules.registry import RULES

_FOLDER = Path(__file__).parent / "explained"

BASE = """\
version: 1
name: demo
region: us-west-2
cluster: {admins: ["arn:aws:iam::111122223333:role/platform"]}
node_groups:
  - {name: system, instance_types: [m6i.xlarge], scaling: {min: 2, max: 4}}
kubernetes: {delivery: manifests}
"""
"""The strategy that fragments change; it has no findings."""

EXAMPLE = "strategy.yaml"
"""File name used for examples."""


@dataclass(frozen=True)
class Explanation:
    """The explanation of a code."""

    code: str
    severity: Severity
    area: str
    """The name of the file that explains it: ``hardware``, ``network``."""
    summary: str
    source: str
    """The source of the fact: an address, or a file of this project."""
    why: str
    breaks: str
    """Part of a strategy with the mistake; empty if no strategy can show it."""
    fixed: str
    example: str
    """The finding's message, if no strategy can show it."""
    today: datetime.date | None
    """The date on which ``breaks`` is wrong, if that depends on the date."""

    @property
    def address(self) -> str | None:
        """The source, if it is an address."""
        return self.source if self.source.startswith("https://") and " " not in self.source else None


def is_whole(text: str) -> bool:
    """Return whether an example is a whole file, not a fragment."""
    return not text.strip() or bool(re.search(r"^\W*version\b", text, re.MULTILINE))


@cache
def explanations() -> Mapping[str, Explanation]:
    """Return every code's explanation, sorted by area and code."""
    return {
        code: _explanation(code, entry, file.stem)
        for file in sorted(_FOLDER.glob("*.yaml"))
        for code, entry in sorted(_read(file).items())
    }


def _read(file: Path) -> dict[str, Any]:
    parsed = parse(file.read_text(encoding="utf-8"), file.name)
    if parsed.root is None or parsed.findings:
        raise StrategyError(parsed.findings)
    content: dict[str, object] = parsed.root.plain()
    return content


def _explanation(code: str, entry: Mapping[str, Any], area: str) -> Explanation:
    rule = RULES.get(code)
    today = entry.get("today")
    return Explanation(
        code,
        rule.severity if rule else Severity(entry.get("severity", "error")),
        area,
        entry["summary"],
        entry["source"],
        entry["why"].strip(),
        entry.get("breaks", ""),
        entry.get("fixed", ""),
        entry.get("example", "").strip(),
        datetime.date.fromisoformat(today) if today else None,
    )

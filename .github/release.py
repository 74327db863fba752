"""Check a release tag against the version and the changelog, and print the release notes: ``release.py v0.1.0``.

Needs only Python, because the release workflow runs it before it installs anything.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
_HEADING = re.compile(r"^## (?P<version>\S+)(?: - (?P<day>.*))?$", re.MULTILINE)


def notes(tag: str, root: Path = _ROOT) -> str:
    """Return the changelog section of a tag.

    Raises:
        ValueError: the tag, the version and the changelog do not agree.
    """
    (version,) = _VERSION.findall((root / "eks_hardware" / "__init__.py").read_text(encoding="utf-8"))
    if tag != f"v{version}":
        raise ValueError(f"the tag must be v{version}, the version in eks_hardware/__init__.py, got {tag}; delete it")
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = list(_HEADING.finditer(changelog))
    ends = [*(each.start() for each in headings[1:]), len(changelog)]
    found = next((pair for pair in zip(headings, ends, strict=True) if pair[0]["version"] == version), None)
    if found is None:
        raise ValueError(f"CHANGELOG.md must have a section {version}; add ## {version} - YYYY-MM-DD")
    heading, end = found
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", heading["day"] or ""):
        raise ValueError(
            f'the section {version} of CHANGELOG.md must have the day of the release, got "{heading["day"]}"; '
            f"write ## {version} - YYYY-MM-DD"
        )
    text = changelog[heading.end() : end].strip()
    if not text:
        raise ValueError(f"the section {version} of CHANGELOG.md is empty; say what changed")
    return text + "\n"


if __name__ == "__main__":
    try:
        sys.stdout.write(notes(sys.argv[1]))
    except ValueError as error:
        sys.exit(f"error: {error}")

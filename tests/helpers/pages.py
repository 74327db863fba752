"""The pages of the documentation, and the code on them."""

from __future__ import annotations

import re

from helpers.paths import ROOT

PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")])
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]

FENCED = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,})(?P<language>\w*)\n(?P<text>.*?)^ *(?P=fence)$", re.MULTILINE | re.DOTALL
)

# Strategies that are intentionally wrong, with the codes that the page shows.
WRONG = {
    "docs/guides/needs.md": {"NEEDS_ATTENTION", "NEEDS_DRIVER", "NEEDS_PRECISION"},
    "docs/tutorial/first-cluster.md": {"INSTANCE_TYPE_UNKNOWN"},
}


def page_text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def code_blocks(text: str, language: str) -> list[str]:
    """Return the code blocks in a language, without their indentation."""
    return [
        re.sub(rf"(?m)^{found['indent']}", "", found["text"])
        for found in FENCED.finditer(text)
        if found["language"] == language
    ]


def complete_strategies(text: str) -> list[str]:
    """Return the code blocks that are complete strategies."""
    keys = {each: set(re.findall(r"(?m)^(\w+):", each)) for each in code_blocks(text, "yaml")}
    whole = [each for each, named in keys.items() if {"version", "name"} <= named and "trees" not in named]
    return [each for each in whole if "shortened" not in each]


STRATEGIES = [
    (name, text)
    for name in NAMES
    if not name.startswith("docs/reference/rules/")  # tests/unit/rules tests its examples
    for text in complete_strategies(page_text(name))
]
"""The complete strategies on all pages, each with its page."""

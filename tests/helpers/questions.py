"""Questions of newcomers, the sections that answer them, and the links from the README to those sections."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from helpers.paths import ROOT

QUESTIONS = {
    "How do I use my own VPC?": "docs/questions.md#how-do-i-use-my-own-vpc",
    "What does it cost?": "docs/questions.md#what-does-it-cost",
    "Is it safe to apply?": "docs/questions.md#is-it-safe-to-apply",
    "How do I limit the cost with a budget?": "docs/guides/cost.md#set-a-budget",
    "Which GPU does my model need?": "docs/questions.md#which-gpu-do-i-need-for-my-model",
    "How do I serve my model?": "docs/guides/recommend.md#serve-the-model",
    "How do I write a strategy for my Capacity Block?": "docs/guides/capacity-blocks.md#add-it-to-the-strategy",
    "How do I install it with pipx?": "docs/guides/install.md#install-with-pipx-or-uv",
    "How do I add a node group to an existing cluster?": "docs/guides/reuse.md#add-a-node-group-to-an-existing-cluster",
    "How do I keep the Terraform state in S3?": "docs/questions.md#how-do-i-keep-the-terraform-state-in-s3",
    "What must my account have before I deploy?": "docs/guides/real-account.md#prepare-the-account",
    "How do I destroy a cluster?": "docs/guides/delivery.md#destroy-a-cluster",
    "Can I try it without an AWS account?": "docs/guides/try-without-aws.md#try-it-without-aws",
    "Why does my pod stay Pending?": "docs/guides/first-pod.md#troubleshoot-a-pending-pod",
}

_CODE = re.compile(r"(?ms)^ *```.*?^ *```$")
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s]*)(?:#([^)\s]+))?\)")
_WITHOUT_MEANING = frozenset(
    (
        "a",
        "an",
        "and",
        "can",
        "do",
        "doe",
        "have",
        "how",
        "i",
        "in",
        "is",
        "it",
        "must",
        "my",
        "of",
        "the",
        "to",
        "what",
        "why",
    )
)


class Link(NamedTuple):
    """A link, with the text that a reader chooses it by: its own, and the first cell of its table row."""

    text: str
    target: str


def slug(heading: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", _LINK.sub(r"\1", heading).lower()).strip().replace(" ", "-")


@cache
def sections(page: str) -> dict[str, tuple[str, str]]:
    """Return the sections of a page by their anchors: each heading, and the text below it."""
    text = (ROOT / page).read_text(encoding="utf-8")
    prose = _CODE.sub(lambda found: found[0].replace("\n#", "\n "), text)
    parts = re.split(r"(?m)^#+ +(.+)$", prose)
    return {slug(heading): (heading, below) for heading, below in zip(parts[1::2], parts[2::2], strict=True)}


@cache
def links(page: str) -> tuple[Link, ...]:
    """Return the links of a page to other pages and their sections."""
    found = []
    for line in re.sub(r"(?<![|\n])\n(?![\n|#])", " ", _CODE.sub("", (ROOT / page).read_text(encoding="utf-8"))).split(
        "\n"
    ):
        row = line.split("|")[1] if line.startswith("|") else ""
        for text, path, anchor in _LINK.findall(line):
            if ":" not in path:
                target = os.path.normpath(Path(page).parent / path) if path else page
                found.append(Link(f"{row} {text}", target + (f"#{anchor}" if anchor else "")))
    return tuple(found)


def ways(start: str, answer: str) -> Iterator[tuple[Link, ...]]:
    """Yield the ways of at most two clicks from a page to a section; a page lists its own sections."""
    page, anchor = answer.split("#")
    here = Link(sections(page)[anchor][0], answer)
    for first in links(start):
        through = first.target.partition("#")[0]
        if first.target == answer:
            yield (first,)
        elif through == page:
            yield first, here
        elif through.endswith(".md"):
            yield from ((first, second) for second in links(through) if second.target == answer)


def words(text: str) -> set[str]:
    """Return the words of a text that have a meaning, in the singular."""
    return {word.removesuffix("s") for word in re.findall(r"[a-z0-9]+", text.lower())} - _WITHOUT_MEANING


def would_choose(question: str, way: tuple[Link, ...]) -> bool:
    """Return whether the text of every link has a word of the question, or is that of all questions."""
    asked = words(question) | {"question"}
    return all(asked & words(link.text) for link in way)

"""The documentation site builds without warnings, all links work, and it makes no network requests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from docs.hooks.site import on_page_markdown, public_packages
from helpers.browser import visit
from helpers.paths import ROOT
from helpers.public_api import PUBLIC
from helpers.questions import QUESTIONS
from helpers.shared import Once

DOCS = ROOT / "docs"
_SCRIPT = Path(__file__).with_name("visit.mjs")
# Attributes for which a browser fetches something when it shows a page.
FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "object": "data"}
# Links in the head that are only metadata.
SAID = {"canonical", "next", "prev"}
EDIT = "https://git.example.com/OWNER/eks-hardware/edit/main/docs/"
# Generated pages, without a file to edit.
GENERATED = (
    "reference/api/",
    "reference/cli",
    "reference/models",
    "reference/rules/",
    "reference/strategy",
    "reference/traps",
)


@dataclass
class Page(HTMLParser):
    """Anchors and links of a page."""

    ids: Counter[str] = field(default_factory=Counter)
    links: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if "id" in values:
            self.ids[values["id"]] += 1
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "link" and values.get("rel") not in SAID:
            self.fetched.append(values["href"])
        if FETCHED.get(tag) in values:
            self.fetched.append(values[FETCHED[tag]])


@pytest.fixture(scope="module")
def site(once: Once) -> Path:
    """Return the site, built like `make docs` in a fresh checkout."""
    return once("site", _build)


def _build(folder: Path) -> None:
    shutil.rmtree(ROOT / ".build" / "docs", ignore_errors=True)
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "DOCS_EDIT_URL": EDIT},
        capture_output=True,
        text=True,
        check=False,
    )
    # Strict mode: a warning is a failure.
    assert (done.returncode, re.findall(r"(?:WARNING|ERROR).*", done.stderr)) == (0, []), done.stderr


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    found = {}
    for file in sorted(site.rglob("*.html")):
        if file.name != "404.html":
            found[file] = Page()
            found[file].feed(file.read_text(encoding="utf-8"))
    return found


def built_page(site: Path, markdown: str) -> Path:
    """Return the path of the page of a Markdown file."""
    return site / re.sub(r"(^|/)README\.md$", r"\1index.html", markdown).replace(".md", ".html")


def test_every_page_is_in_the_navigation(site: Path, pages: dict[Path, Page]) -> None:
    home = site / "index.html"
    linked = {(site / unquote(urlsplit(link).path)).resolve() for link in pages[home].links} | {home}
    written = {file.relative_to(DOCS).as_posix() for file in DOCS.rglob("*.md")}
    assert len(written) > 50
    assert {name for name in written if built_page(site, name).resolve() not in linked} == set()


def test_every_public_package_has_a_page_with_its_names(site: Path, pages: dict[Path, Page]) -> None:
    assert public_packages() == PUBLIC
    for package in PUBLIC:
        page = pages[site / "reference" / "api" / f"{package}.html"]
        assert package == "eks_hardware" or any(each.startswith(f"{package}.") for each in page.ids), package


def test_pages_link_to_the_file_to_edit(site: Path, pages: dict[Path, Page]) -> None:
    for file, page in pages.items():
        edited = [link.removeprefix(EDIT) for link in page.links if link.startswith(EDIT)]
        name = file.relative_to(site).as_posix()
        if edited:
            assert (DOCS / edited[0]).is_file(), name
            assert (len(edited), name.startswith(GENERATED)) == (1, False), name
        else:
            folder = ROOT / name.removeprefix("source/").removesuffix(".html")
            assert name.startswith(GENERATED) or folder.is_dir(), name


def test_links_lead_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    @cache
    def place(folder: Path, path: str) -> Path:
        """The navigation links every page to every other."""
        target = Path(os.path.normpath(folder / unquote(path)))
        return target / "index.html" if target.is_dir() else target

    files = {file for file in site.rglob("*") if file.is_file()}
    wrong = []
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = place(file.parent, parts.path) if parts.path else file
            if target not in files:
                wrong.append(f"{file.relative_to(site)}: {link}")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                wrong.append(f"{file.relative_to(site)}: {link}: no such anchor")
    assert wrong == []


def test_answers_to_questions_have_the_same_anchors(site: Path, pages: dict[Path, Page]) -> None:
    for answer in QUESTIONS.values():
        page, anchor = answer.removeprefix("docs/").split("#")
        assert pages[built_page(site, page)].ids[anchor] == 1, answer


def test_an_anchor_stands_once(site: Path, pages: dict[Path, Page]) -> None:
    twice = {
        f"{file.relative_to(site)}#{name}"
        for file, page in pages.items()
        for name, times in page.ids.items()
        if times > 1 and not name.startswith("__")
    }
    assert twice == set()


def test_nothing_is_fetched_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    for file, page in pages.items():
        for address in page.fetched:
            parts = urlsplit(address)
            assert (parts.scheme, parts.netloc) in {("", ""), ("data", "")}, f"{file.relative_to(site)}: {address}"
            assert parts.scheme or (file.parent / unquote(parts.path)).is_file(), f"{file.relative_to(site)}: {address}"
        # The theme's script fetches Mermaid for such a block.
        assert 'class="mermaid"' not in file.read_text(encoding="utf-8")
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert re.findall(r"url\(['\"]?(?:https?:)?//|@import", text) == [], style.relative_to(site)


def test_the_site_names_no_folder_of_this_machine(site: Path) -> None:
    for file in site.rglob("*.html"):
        assert str(ROOT) not in file.read_text(encoding="utf-8"), file.relative_to(site)


# One of each kind: text with output, workflows, wide tables, rules, docstrings, a file of the repository.
LOOKED_AT = (
    "index.html",
    "guides/pull-requests.html",
    "reference/strategy.html",
    "reference/rules/hardware.html",
    "reference/traps.html",
    "reference/api/eks_hardware.constructs.node_groups.html",
    "source/config/strategies/mixed-hardware.yaml.html",
)


# Queries, with the page and section of the first result.
FOUND = {
    "EFA_UNSUPPORTED": ["Rules: Hardware, EFA and zones", "EFA_UNSUPPORTED"],
    "update surge": ["Rules: Capacity and updates", "UPDATE_SURGE"],
    "surge": ["Rules: Capacity and updates", "UPDATE_SURGE"],
    "public_cidrs": ["Strategy file", "cluster.endpoint"],
    "cidrs": ["Strategy file", "cluster.endpoint"],
    "own vpc": ["Common questions", "How do I use my own VPC?"],
    "capacity block": ["Capacity Blocks", "Find and buy a block"],
}


def _is_written(site: Path, page: Path) -> bool:
    """Return whether a page is neither generated from code nor a decision, which all have the same shapes."""
    return not page.relative_to(site).as_posix().startswith(("source/", "reference/api/", "adr/", "404"))


@pytest.fixture(scope="module")
def seen(site: Path) -> dict[str, Any]:
    """Return the browser's results for pages that are opened from the folder."""
    wanted = {
        "site": str(site),
        "widths": (1280, 390),
        "pages": LOOKED_AT,
        "phone": [
            page.relative_to(site).as_posix() for page in sorted(site.rglob("*.html")) if _is_written(site, page)
        ],
        "questions": [*FOUND],
    }
    results: dict[str, Any] = visit(_SCRIPT, **wanted)
    return results


def test_a_browser_shows_the_pages(seen: dict[str, Any]) -> None:
    assert len(seen["pages"]) == 4 * len(LOOKED_AT)
    for look in seen["pages"]:
        assert (look["requests"], look["errors"]) == ([], []), look
        assert look["scroll"] <= look["width"], f"{look['page']} is wider than the screen"
        assert look["dark"] == (look["scheme"] == "dark"), look


def test_no_page_is_wider_than_a_phone(seen: dict[str, Any]) -> None:
    assert seen["wide"] == []


def test_code_and_tables_fit_a_phone(seen: dict[str, Any]) -> None:
    """Lines of code wrap; output keeps its columns and scrolls in its frame, with 84 characters at most."""
    assert {look["page"] for look in seen["pages"] if look["outputs"]} >= {"index.html", "guides/pull-requests.html"}
    for look in seen["pages"]:
        assert look["cut"] == [], look["page"]


def test_search_finds_codes_fields_and_questions(seen: dict[str, Any]) -> None:
    assert {question: found[0][:2] for question, found in seen["found"].items()} == FOUND


class _At:
    """The attributes of a page that the hook reads."""

    def __init__(self, uri: str) -> None:
        self.file = self
        self.src_uri = uri


@pytest.mark.parametrize(
    ("uri", "text", "expected"),
    [
        ("guides/efa.md", "[a](capacity.md#x)", "[a](capacity.md#x)"),
        ("guides/efa.md", "[a](../adr/README.md)", "[a](../adr/README.md)"),
        ("guides/efa.md", "[a](../../SECURITY.md)", "[a](../source/SECURITY.md)"),
        ("guides/efa.md", "[a](../../cdktf.json), [b](b.md)", "[a](../source/cdktf.json.md), [b](b.md)"),
        ("index.md", "[a](../tests/corpus/good)", "[a](source/tests/corpus/good.md)"),
        ("guides/efa.md", "[a](https://example.com/x.md) [b](#c)", "[a](https://example.com/x.md) [b](#c)"),
        ("guides/efa.md", "`[a](../../SECURITY.md)`", "`[a](../../SECURITY.md)`"),
        ("guides/efa.md", "```\n[a](../../SECURITY.md)\n```", "```\n[a](../../SECURITY.md)\n```"),
        ("source/README.md", "[a](docs/guides/efa.md)", "[a](../guides/efa.md)"),
        ("source/README.md", "[a](SECURITY.md)", "[a](SECURITY.md)"),
        ("source/cdktf.json.md", "[a](../x.md)", "[a](../x.md)"),
    ],
)
def test_links_that_leave_the_folder_stay_in_the_site(uri: str, text: str, expected: str) -> None:
    assert on_page_markdown(text, page=_At(uri), config=None, files=None) == expected  # type: ignore[arg-type]

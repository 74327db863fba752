"""Hooks of the documentation site (``mkdocs.yml``).

The pages under ``docs/`` are written for readers of the repository. They link to other files in ``docs/``, and to
strategies, tests and the changelog outside of it. The site includes those files: a Markdown file as a page, any other
file as a page that shows it. Every link therefore works without a network or a repository URL, and the linked file has
the same version as the page.

This module also generates the Python reference: a page for each public package, from its docstrings.
"""

from __future__ import annotations

import gc
import posixpath
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
DOCS = "docs"
_API = "reference/api/"
_PYTHON = "reference/python.md"
_OUTSIDE = "source/"

# The folders that are imported as eks_hardware.<folder> (docs/adr/0019-python-and-data-apart.md).
_PARTS = ("constructs", "stacks")
_SOURCES = ROOT / ".build" / "docs"

_FENCE = re.compile(r"^ *(```|~~~)")
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_LINK = re.compile(r"(?P<head>\]\()(?P<path>(?![a-z][a-z0-9+.-]*:|#|/)[^)#\s]+)(?P<anchor>#[^)\s]*)?(?P<tail>\))")
# :class:`Name`, which Markdown does not support.
_ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):`~?([^`]+)`")
_LANGUAGES = {
    ".js": "js",
    ".json": "json",
    ".py": "python",
    ".sh": "sh",
    ".toml": "toml",
    ".yaml": "yaml",
    ".yml": "yaml",
}
# Larger files are linked as files, because a browser shows pages of that size slowly.
_LARGEST_PAGE = 200_000


def on_startup(command: str, dirty: bool) -> None:  # noqa: ARG001
    """Create the folder of the sources, which must exist before the docstring reader starts."""
    _SOURCES.mkdir(parents=True, exist_ok=True)
    if command == "build":
        gc.disable()  # there is little garbage, and collecting it takes a tenth of the time


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Read the navigation, and copy the packages to their import paths: the docstring reader does not follow links."""
    config.nav = _nav(config.nav)
    shutil.rmtree(_SOURCES, ignore_errors=True)
    for part in ("eks_hardware", *_PARTS):
        for file in sorted((ROOT / part).rglob("*.py")):
            parts = file.relative_to(ROOT).parts
            copy = _SOURCES.joinpath(*(parts if parts[0] == "eks_hardware" else ("eks_hardware", *parts)))
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(_ROLE.sub(r"`\1`", file.read_text(encoding="utf-8")), encoding="utf-8")
    (_SOURCES / "eks_hardware" / "constructs" / "__init__.py").touch()
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the generated pages: for packages, and for files outside ``docs/``."""
    for name, text in _api_pages():
        files.append(File.generated(config, name, content=text))
    waiting = [f"{DOCS}/{file.src_uri}" for file in files.documentation_pages() if file.abs_src_path]
    in_nav = set(_named(config.nav))
    seen = set(in_nav)
    waiting += in_nav
    for target in in_nav:
        files.append(_outside(config, target, InclusionLevel.INCLUDED))
    while waiting:
        page = waiting.pop()
        text = (ROOT / page).read_text(encoding="utf-8")
        for target in sorted({target for target in _targets(text, page) if not _in_docs(target)} - seen):
            seen.add(target)
            files.append(_outside(config, target, InclusionLevel.NOT_IN_NAV))
            if target.endswith(".md") and (ROOT / target).is_file():
                waiting.append(target)
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Rewrite links to files outside ``docs/`` to the pages of those files."""
    uri = page.file.src_uri
    origin = uri.removeprefix(_OUTSIDE) if uri.startswith(_OUTSIDE) else f"{DOCS}/{uri}"
    if not (ROOT / origin).is_file():
        return markdown

    def moved(path: str) -> str:
        target = _resolved(path, origin)
        site = target.removeprefix(f"{DOCS}/") if _in_docs(target) else _uri(target)
        return posixpath.relpath(site, posixpath.dirname(uri) or ".")

    return _rewritten(markdown, moved)


def _nav(entry: Any) -> Any:
    """Return the navigation with folders expanded, and with site paths for files outside ``docs/``."""
    if isinstance(entry, list):
        return [_nav(each) for each in entry]
    if isinstance(entry, dict):
        return {title: _nav(each) for title, each in entry.items()}
    if entry == _API:
        return [{_short(package): f"{_API}{package}.md"} for package in public_packages()]
    if entry.endswith("/"):
        pages = sorted(each.name for each in (ROOT / DOCS / entry).glob("*.md"))
        return [entry + name for name in sorted(pages, key=lambda name: name != "README.md")]
    return _uri(entry.removeprefix("../")) if entry.startswith("../") else entry


def _named(nav: Any) -> list[str]:
    """Return the files outside ``docs/`` in the navigation, by their repository paths."""
    if isinstance(nav, str):
        return [nav.removeprefix(_OUTSIDE)] if nav.startswith(_OUTSIDE) else []
    return [found for item in (nav.values() if isinstance(nav, dict) else nav) for found in _named(item)]


def _rewritten(markdown: str, moved: Callable[[str], str]) -> str:
    """Return the text with every relative link outside code rewritten."""
    lines: list[str] = []
    fence = ""
    for line in markdown.split("\n"):
        opened = _FENCE.match(line)
        if fence:
            fence = "" if opened and opened[1] == fence else fence
        elif opened:
            fence = opened[1]
        else:
            line = _outside_code(line, moved)
        lines.append(line)
    return "\n".join(lines)


def _outside_code(line: str, moved: Callable[[str], str]) -> str:
    codes: list[str] = []

    def kept(match: re.Match[str]) -> str:
        codes.append(match[0])
        return f"\0{len(codes) - 1}\0"

    plain = _CODE.sub(kept, line)
    plain = _LINK.sub(lambda link: f"{link['head']}{moved(link['path'])}{link['anchor'] or ''}{link['tail']}", plain)
    return re.sub(r"\0(\d+)\0", lambda match: codes[int(match[1])], plain)


def _targets(markdown: str, origin: str) -> Iterator[str]:
    found: list[str] = []

    def noted(path: str) -> str:
        found.append(_resolved(path, origin))
        return path

    _rewritten(markdown, noted)
    yield from found


def _resolved(path: str, origin: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(origin), path))


def _in_docs(target: str) -> bool:
    return target == DOCS or target.startswith(f"{DOCS}/")


def _uri(target: str) -> str:
    """Return the site path of a repository file."""
    path = ROOT / target
    as_it_is = target.endswith(".md") or (path.is_file() and path.stat().st_size > _LARGEST_PAGE)
    return f"{_OUTSIDE}{target}" if as_it_is else f"{_OUTSIDE}{target}.md"


def _outside(config: MkDocsConfig, target: str, inclusion: InclusionLevel) -> File:
    path = ROOT / target
    if not path.exists():
        raise PluginError(f"a page links to {target}, which does not exist")
    uri = _uri(target)
    if path.is_dir():
        content = _folder_page(target)
    elif uri.removeprefix(_OUTSIDE) == target:
        content = path.read_text(encoding="utf-8")
    else:
        content = _file_page(target)
    return File.generated(config, uri, content=content, inclusion=inclusion)


def _file_page(target: str) -> str:
    text = (ROOT / target).read_text(encoding="utf-8")
    fence = "`" * (max((len(run) for run in re.findall(r"`{3,}", text)), default=2) + 1)
    language = _LANGUAGES.get(posixpath.splitext(target)[1], "text")
    front = "---\nhide: [toc]\nsearch: {exclude: true}\n---\n"
    return f"{front}# `{target}`\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n"


def _folder_page(target: str) -> str:
    names = sorted(each.name for each in (ROOT / target).iterdir() if not each.name.startswith((".", "__")))
    return f"# `{target}`\n\n" + "".join(f"- `{name}`\n" for name in names)


def public_packages() -> list[str]:
    """Return the public packages and modules: the first column of the table in ``docs/reference/python.md``."""
    text = (ROOT / DOCS / _PYTHON).read_text(encoding="utf-8")
    found: list[str] = []
    for row in re.findall(r"^\| (`[^|]+) \|", text, re.MULTILINE):
        for name in re.findall(r"`([\w.]+)`", row):
            # .cluster is in the same package as the previous name.
            found.append(found[-1].rpartition(".")[0] + name if name.startswith(".") else name)
    return found


def _short(package: str) -> str:
    return package.removeprefix("eks_hardware.")


def _api_pages() -> Iterator[tuple[str, str]]:
    for package in public_packages():
        yield f"{_API}{package}.md", f"# {package}\n\n::: {package}\n"

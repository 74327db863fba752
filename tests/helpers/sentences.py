"""The sentences that a person can read in this repository, each with its file and line.

They are in Markdown pages, in the docstrings, comments and messages of Python files, and in the comments and texts of
data files. Scripts, makefiles, templates and style sheets have comments and messages, too. Code, links and names
in backticks are left out.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

from helpers.paths import ROOT, repository_files

# Generated from texts in other files, or quoted.
_LEFT_OUT = (
    "docs/reference/",
    "tests/golden/",
    "tests/corpus/",
    "tests/docs/phrases.yaml",
    "LICENSE",
    "node_modules/",
    "iframe-worker.js",
)
_SUFFIXES = {
    *(".py", ".md", ".yaml", ".yml", ".json", ".html", ".j2", ".toml"),
    *(".sh", ".mjs", ".js", ".css", ".tf", "Makefile"),
}
_END = re.compile(r"(?<=[.!?])[\"')]*\s+(?=[\"'(`*\[]*[A-Z0-9{`$])")
_ABBREVIATIONS = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|approx|no|max|min)\.$", re.IGNORECASE)
_FEWEST_WORDS = 3
# The values of these keys in data files are not prose: strategies, scripts, addresses.
_QUOTED_KEYS = {"app", "breaks", "fixed", "run", "script", "source", "sources", "url", "find", "write", "pattern"}


class Sentence(NamedTuple):
    """A sentence and where it starts."""

    file: str
    line: int
    text: str

    @property
    def words(self) -> int:
        """The number of words."""
        return len([word for word in self.text.split() if re.search(r"\w", word)])


def files(only: Iterable[str] = ()) -> list[str]:
    """Return the files with text for people, relative to the repository. ``only`` selects by the start of the path."""
    starts = tuple(only)
    return [
        name
        for name in repository_files()
        if _kind(name) in _SUFFIXES
        and not any(part in name for part in _LEFT_OUT)
        and (not starts or name.startswith(starts))
        and not (ROOT / name).is_symlink()
    ]


def _kind(file: str) -> str:
    """Return the suffix of a file, or its name if it has none."""
    return Path(file).suffix or Path(file).name


def sentences(file: str) -> Iterator[Sentence]:
    """Yield the sentences of one file."""
    text = (ROOT / file).read_text(encoding="utf-8")
    # Strings in tests are input and expectations.
    reader = _python_of_tests if file.startswith("tests/") and file.endswith(".py") else _READERS[_kind(file)]
    for line, paragraph in reader(text):
        yield from _split(file, line, paragraph)


def _split(file: str, line: int, paragraph: str) -> Iterator[Sentence]:
    start = 0
    pieces: list[tuple[int, str]] = []
    for match in _END.finditer(paragraph):
        if _ABBREVIATIONS.search(paragraph[start : match.start()].rstrip("\"')")):
            continue
        pieces.append((start, paragraph[start : match.start()]))
        start = match.end()
    pieces.append((start, paragraph[start:]))
    for begin, piece in pieces:
        sentence = Sentence(file, line + paragraph.count("\n", 0, begin), " ".join(piece.split()))
        if sentence.words >= _FEWEST_WORDS:
            yield sentence


def _plain(text: str) -> str:
    """Text in which code is one word and a link is its title."""
    text = re.sub(r"``[^`]+``|`[^`\n]*`", "`code`", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"<?https?://\S+", "link", text)


def _markdown(text: str) -> Iterator[tuple[int, str]]:
    text = re.sub(r"^(?P<fence> *```+|~~~+)[^\n]*\n.*?^ *(```+|~~~+) *$", _blank, text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"<!--.*?-->|<[^>\n]+>", _blank, text, flags=re.DOTALL)
    text = re.sub(r"\A---\n.*?\n---\n", _blank, text, flags=re.DOTALL)
    yield from _paragraphs(text, r"\s*([-*+]|\d+\.)\s+|\s*#+\s|\s*\||\s*>|\s*!!!|\s*===|\s{4,}\$|\s*:\s", cells=True)


def _blank(match: re.Match[str]) -> str:
    return "\n" * match.group().count("\n")


def _paragraphs(text: str, new: str, *, cells: bool = False) -> Iterator[tuple[int, str]]:
    """Paragraphs end at an empty line, and before a line that starts with ``new``."""
    start, lines = 1, list[str]()
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        marker = re.match(new, line)
        if lines and (not line.strip() or marker):
            yield start, _plain("\n".join(lines))
            lines = []
        if not line.strip():
            continue
        if cells and line.lstrip().startswith("|"):
            for cell in line.strip().strip("|").split("|"):
                yield number, _plain(cell)
            continue
        if not lines:
            start = number
        lines.append(line[marker.end() :] if marker else line)


def _python(text: str) -> Iterator[tuple[int, str]]:
    nodes = list(ast.walk(ast.parse(text)))
    yield from _documentation(text, nodes)
    for string, line in _strings(nodes):
        yield from ((line + first - 1, each) for first, each in _paragraphs(string, r"\s*[-*]\s|\s*#"))


def _python_of_tests(text: str) -> Iterator[tuple[int, str]]:
    return _documentation(text, ast.walk(ast.parse(text)))


def _documentation(text: str, nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    yield from _comments_of_python(text)
    for docstring in _docstrings(nodes):
        yield from _docstring(docstring.lineno, str(docstring.value))


def _docstrings(nodes: Iterable[ast.AST]) -> Iterator[ast.Constant]:
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value


def _docstring(line: int, text: str) -> Iterator[tuple[int, str]]:
    code = re.sub(r"^ *(>>>|\.\.\.).*(\n(?! *\n| *\"\"\").*)*", _blank, text, flags=re.MULTILINE)
    code = re.sub(r"::\n\s*\n( {4,}.*\n|\s*\n)+", _blank, code)
    for first, each in _paragraphs(code, r"\s*[-*]\s|\s*\*{0,2}[\w.]+( \([^)]*\))?:\s"):
        yield line + first - 1, each


def _strings(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, int]]:
    """Strings of a program that are not docstrings; an expression in an f-string is one word."""
    parts = {id(each) for each in _docstrings(nodes)}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            parts.update(id(each) for each in ast.walk(node) if each is not node)
            texts = (each.value if isinstance(each, ast.Constant) else "X" for each in node.values)
            yield "".join(map(str, texts)), node.lineno
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.value, node.lineno


def _comments_of_python(text: str) -> Iterator[tuple[int, str]]:
    found: list[tuple[int, int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not re.match(r"#\s*(noqa|type:|pyright|ruff|!)", token.string):
            found.append((token.start[0], token.start[1], token.string.lstrip("# ")))
    yield from _joined(found)


def _joined(found: list[tuple[int, int, str]]) -> Iterator[tuple[int, str]]:
    """Comments on lines that follow one another, as one paragraph."""
    block: list[tuple[int, int, str]] = []
    for each in found:
        if block and (each[0] != block[-1][0] + 1 or each[1] != block[-1][1] or not each[2].strip()):
            yield block[0][0], _plain("\n".join(text for _, _, text in block))
            block = []
        block.append(each)
    if block:
        yield block[0][0], _plain("\n".join(text for _, _, text in block))


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield the comments of YAML or TOML."""
    found = [
        (number, match.start(), match.group(1))
        for number, line in enumerate(text.split("\n"), start=1)
        if (match := re.search(r"(?:^|\s)#\s*(.*)$", line))
    ]
    yield from _joined(found)


def _yaml(text: str) -> Iterator[tuple[int, str]]:
    yield from _comments(text)
    try:
        documents = list(yaml.compose_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except yaml.YAMLError:
        return
    for document in documents:
        yield from _scalars(document)


def _scalars(node: yaml.Node | None) -> Iterator[tuple[int, str]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if getattr(key, "value", None) not in _QUOTED_KEYS:
                yield from _scalars(value)
    elif isinstance(node, yaml.SequenceNode):
        for each in node.value:
            yield from _scalars(each)
    elif isinstance(node, yaml.ScalarNode) and " " in node.value:
        for first, each in _paragraphs(node.value, r"\s*[-*]\s"):
            yield node.start_mark.line + first, each


def _html(text: str) -> Iterator[tuple[int, str]]:
    for match in re.finditer(r"\{#-?(.*?)-?#\}|<!--(.*?)-->", text, re.DOTALL):
        first = text.count("\n", 0, match.start())
        yield from ((first + line, each) for line, each in _paragraphs(match.group(1) or match.group(2) or "", r"$^"))
    for match in re.finditer(r"<(style|script)\b[^>]*>(.*?)</\1>", text, re.DOTALL):
        first = text.count("\n", 0, match.start(2))
        yield from ((first + line, each) for line, each in _styled(re.sub(r"\{[{%#].*?[}%#]\}", "X", match.group(2))))
    text = re.sub(r"\{%.*?%\}|\{#.*?#\}|<(style|script|svg)\b.*?</\1>", _blank, text, flags=re.DOTALL)
    text = re.sub(r"\{\{.*?\}\}", "X", text, flags=re.DOTALL)
    yield from _paragraphs(re.sub(r"<[^>]*>", _blank, text, flags=re.DOTALL), r"$^")


def _script(text: str) -> Iterator[tuple[int, str]]:
    """Yield comments after ``#``, and quoted messages of shell scripts and makefiles."""
    code = re.sub(r"\$\{?[#\w@*][^\s}\"']*\}?", "X", text)
    yield from _comments(code)
    yield from _messages(re.sub(r"(^|\s)#.*", r"\1", code))


def _styled(text: str) -> Iterator[tuple[int, str]]:
    """Yield comments ``/* */`` and ``//``, and quoted messages of JavaScript and CSS."""
    blocks = list(re.finditer(r"/\*+(.*?)\*/", text, re.DOTALL))
    for match in blocks:
        line = text.count("\n", 0, match.start()) + 1
        yield from ((line + first - 1, each) for first, each in _paragraphs(match.group(1).replace("*", " "), r"$^"))
    rest = re.sub(r"/\*.*?\*/", _blank, text, flags=re.DOTALL)
    found = [
        (number, comment.start(), comment.group(1))
        for number, line in enumerate(rest.split("\n"), start=1)
        if (comment := re.search(r"(?:^|\s)//\s*(.*)$", line))
    ]
    yield from _joined(found)
    yield from _messages(re.sub(r"(^|\s)//.*", r"\1", rest))


def _messages(text: str) -> Iterator[tuple[int, str]]:
    """Yield quoted texts of several words on one line."""
    for match in re.finditer(r"""(["'`])((?:(?!\1|\n).)*)\1""", text):
        if len(re.findall(r"[a-z]{2,} [a-z]{2,}", match.group(2))) > 1:
            yield text.count("\n", 0, match.start()) + 1, _plain(match.group(2).replace("\\n", " "))


_READERS = {
    ".py": _python,
    ".md": _markdown,
    ".yaml": _yaml,
    ".yml": _yaml,
    ".json": _yaml,
    ".html": _html,
    ".j2": _html,
    ".toml": _comments,
    ".tf": _script,
    ".sh": _script,
    "Makefile": _script,
    ".mjs": _styled,
    ".js": _styled,
    ".css": _styled,
}

"""Which files pyright must check again after a change.

pyright takes minutes for all files. What it says about one depends on that file, and on the interfaces of all files
that it imports, directly or not: their code without the bodies of functions with annotations, which pyright does not
read from outside. ``make test`` in a fresh clone checks all of them.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterable, Mapping
from functools import cache, partial
from pathlib import Path

from helpers.answers import Answer, contents, packages
from helpers.paths import ROOT, repository_files

_SETTINGS = (ROOT / "pyproject.toml", ROOT / "package-lock.json")
# Folders that are checked under the names they are imported by (docs/adr/0019).
_LINKED = frozenset(file.name for file in (ROOT / "eks_hardware").iterdir() if file.is_symlink())

Function = ast.FunctionDef | ast.AsyncFunctionDef


def typed_files() -> list[str]:
    """Return the files that pyright checks, relative to the repository."""
    found = (Path(name) for name in repository_files() if name.endswith((".py", ".pyi")))
    visible = (file for file in found if not any(part.startswith(".") for part in file.parts))
    return sorted((Path("eks_hardware", file) if file.parts[0] in _LINKED else file).as_posix() for file in visible)


def answers(files: list[str]) -> dict[str, Answer]:
    """Return the cache of pyright's diagnostics of each file."""
    common = repr([sys.version, *packages(), *contents([*_SETTINGS, Path(__file__)])])
    sources = {name: (ROOT / name).read_text(encoding="utf-8") for name in files}
    known = [sys.version, Path(__file__).read_bytes()]
    outlines = {
        name: Answer("outline", [*known, name, source]).get(partial(_outline, name, source))
        for name, source in sources.items()
    }
    imported = imports({name: names for name, (names, _) in outlines.items()})

    def parts(name: str) -> list[object]:
        # With their names: a new file can take the place of an imported one.
        below = sorted(_reached(name, imported) - {name})
        return [common, name, sources[name], *((each, outlines[each][1]) for each in below)]

    return {name: Answer("pyright", parts(name)) for name in files}


def _outline(name: str, source: str) -> tuple[list[str], str]:
    """Return what a file imports, and a digest of its interface."""
    tree = ast.parse(source)
    return sorted(names(name, tree)), hashlib.sha256(interface(tree).encode()).hexdigest()


def _reached(start: str, imported: Mapping[str, set[str]]) -> set[str]:
    found, new = {start}, {start}
    while new:
        new = set().union(*(imported[each] for each in new)) - found
        found |= new
    return found


def imports(named: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    """Return the files that each file imports, by the names that it imports; more rather than less."""
    modules = {_module(Path(name)): name for name in named}

    @cache
    def found(start: str, dotted: str) -> frozenset[str]:
        """Return the files of a module and its packages in a folder."""
        parts = dotted.split(".")
        names = (".".join([*start.split(), *parts[:end]]) for end in range(1, len(parts) + 1))
        return frozenset(modules[name] for name in names if name in modules)

    result = {}
    for name, imported in named.items():
        # The folders of the search path, and the file's own: `helpers` is `tests.helpers`.
        starts = ("", "tests", _package(name))
        result[name] = {file for dotted in imported for start in starts for file in found(start, dotted)}
    return result


def _package(name: str) -> str:
    return _module(Path(name).parent / "__init__.py")


def _module(file: Path) -> str:
    return ".".join((file.parent if file.stem == "__init__" else file.with_suffix("")).parts)


def names(file: str, tree: ast.Module) -> set[str]:
    """Return every module that a file imports, at any level, and every name, which can be a module."""
    package = _package(file).split(".")
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*above, *([node.module] if node.module else [])])
            found |= {start, *(f"{start}.{each.name}" for each in node.names)}
    return found


def interface(tree: ast.Module) -> str:
    """Return the part of a file that other files' types depend on; changes the tree."""
    return ast.dump(_WithoutBodies().visit(tree))


class _WithoutBodies(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._without(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._without(node)

    def _without(self, node: Function) -> ast.AST:
        if _is_annotated(node) and not _declares(node):
            # An empty body can be a protocol's; a yield makes a generator.
            kinds = [_is_empty(node), any(isinstance(each, ast.Yield | ast.YieldFrom) for each in ast.walk(node))]
            node.body = [ast.Expr(ast.Constant(str(kinds)))]
        return node


def _is_annotated(node: Function) -> bool:
    given = node.args
    plain = [*given.posonlyargs, *given.args]
    # `self` and `cls` have none.
    first = plain[1:] if plain and plain[0].arg in ("self", "cls") else plain
    every = [*first, *given.kwonlyargs, *(each for each in (given.vararg, given.kwarg) if each)]
    return node.returns is not None and all(each.annotation for each in every)


def _declares(node: Function) -> bool:
    """Return whether the body declares an attribute or a variable of the module."""
    return any(
        isinstance(each, ast.Global) or (isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store))
        for each in ast.walk(node)
    )


def _is_empty(node: Function) -> bool:
    return all(isinstance(each, ast.Pass | ast.Raise) or _is_constant(each) for each in node.body)


def _is_constant(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)

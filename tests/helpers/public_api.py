"""The packages that other teams import, as docs/reference/python.md lists them.

They are read from the source, so Node does not start.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from helpers.paths import ROOT
from helpers.source import tree_of

PAGE = ROOT / "docs" / "reference" / "python.md"

Definition = ast.ClassDef | ast.FunctionDef


def listed(text: str) -> list[str]:
    """Return the packages in a table's first column; ``.efa`` after ``eks_hardware.constructs.iam`` is a sibling."""
    found: list[str] = []
    for row in re.findall(r"^\| (`[^|]+) \|", text, re.MULTILINE):
        for name in re.findall(r"`([\w.]+)`", row):
            found.append(f"{found[-1].rpartition('.')[0]}{name}" if name.startswith(".") else name)
    return found


PUBLIC = listed(PAGE.read_text(encoding="utf-8"))


def file_of(package: str) -> Path:
    """Return the file of a package or module."""
    parts = package.split(".")[1:]
    top = ROOT if parts and parts[0] in ("config", "constructs", "stacks") else ROOT / "eks_hardware"
    folder = top.joinpath(*parts)
    return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")


def tree(package: str) -> ast.Module:
    """Return the syntax tree of a package or module."""
    return tree_of(file_of(package))


@cache
def exported(package: str) -> list[str]:
    """Return the names in ``__all__``."""
    for node in tree(package).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    raise AssertionError(f"{package} has no __all__")


@cache
def definition(package: str, name: str) -> Definition | None:
    """Return the class or function of a name, wherever it is defined; None for a constant or a type alias.

    Raises:
        AssertionError: the name does not exist.
    """
    body = list(_statements(tree(package).body))
    for node in body:
        if isinstance(node, Definition) and node.name == name:
            return node
    for node in body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return definition(_absolute(package, node), alias.name)
    assert any(name in _assigned(node) for node in body), f"{package} exports {name}, which it does not have"
    return None


def definitions(package: str) -> Iterator[tuple[str, Definition]]:
    """Return the public classes and functions of a package."""
    for name in exported(package):
        found = definition(package, name)
        if found is not None:
            yield name, found


def constant_text(package: str, name: str) -> str:
    """Return the text after a constant or a type alias; empty without one."""
    body = list(_statements(tree(package).body))
    for node, following in zip(body, [*body[1:], None], strict=True):
        if name in _assigned(node):
            value = following.value if isinstance(following, ast.Expr) else None
            return str(value.value) if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return constant_text(_absolute(package, node), alias.name)
    raise AssertionError(f"{package} has no {name}")


def members(found: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    """Return the public methods and properties of a class."""
    for node in found.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node


def initializer(found: ast.ClassDef) -> ast.FunctionDef | None:
    """Return ``__init__`` of a class."""
    return next((each for each in found.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)


def is_construct(found: Definition) -> bool:
    """Return whether it is a class of constructs or stacks."""
    bases = [ast.unparse(base) for base in found.bases] if isinstance(found, ast.ClassDef) else []
    return bool({"Construct", "StrategyStack", "TerraformStack"} & set(bases))


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module, including those under ``if TYPE_CHECKING``."""
    for node in body:
        if isinstance(node, ast.If):
            yield from _statements(node.body)
        else:
            yield node


def _absolute(package: str, node: ast.ImportFrom) -> str:
    if node.level == 0:
        return node.module or ""
    is_package = file_of(package).name == "__init__.py"
    parts = package.split(".")
    parent = parts[: len(parts) - node.level + (1 if is_package else 0)]
    return ".".join([*parent, *([node.module] if node.module else [])])


def _assigned(node: ast.stmt) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [each.id for each in targets if isinstance(each, ast.Name)]

"""What other teams import: names, signatures and documentation. Read from the source, so that Node is not started.

``tests/golden/public_api.txt`` holds every exported name with its signature: a change of it is a change of the
interface, and belongs in the changelog.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helpers.paths import ROOT

PACKAGES = sorted(
    file.relative_to(ROOT).parent.as_posix()
    for folder in ("constructs", "stacks", "config")
    for file in (ROOT / folder).rglob("__init__.py")
    if "__all__" in file.read_text(encoding="utf-8")
)
CONSTRUCTS = [package for package in PACKAGES if package.startswith("constructs/")]


def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def _exported(package: str) -> list[str]:
    """The names in ``__all__``."""
    for node in _tree(ROOT / package / "__init__.py").body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    raise AssertionError(f"{package} has no __all__")


def _available(package: str) -> dict[str, Path]:
    """The names that an ``__init__.py`` imports or defines, and the file that defines each."""
    init = ROOT / package / "__init__.py"
    found: dict[str, Path] = {}
    for node in _tree(init).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            parts = node.module.removeprefix("eks_hardware.").split(".")
            module = (init.parent if node.level else ROOT).joinpath(*parts)
            file = module.with_suffix(".py") if module.with_suffix(".py").exists() else module / "__init__.py"
            found |= {alias.asname or alias.name: file for alias in node.names}
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            found[node.name] = init
    return found


def _definition(name: str, file: Path) -> ast.ClassDef | ast.FunctionDef | None:
    for node in _tree(file).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            return node
    return None


def _definitions(package: str) -> Iterator[tuple[str, ast.ClassDef | ast.FunctionDef]]:
    available = _available(package)
    for name in _exported(package):
        definition = _definition(name, available[name])
        if definition is not None:
            yield name, definition


def _public_members(definition: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    for node in definition.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node


def _initializer(definition: ast.ClassDef) -> ast.FunctionDef | None:
    found = (each for each in definition.body if isinstance(each, ast.FunctionDef) and each.name == "__init__")
    return next(found, None)


def _is_construct(definition: ast.ClassDef) -> bool:
    return any(ast.unparse(base) in ("Construct", "TerraformStack") for base in definition.bases)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_exported_name_is_there(package: str) -> None:
    available = _available(package)
    exported = _exported(package)
    constants = {
        target.id
        for node in _tree(ROOT / package / "__init__.py").body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    assert [name for name in exported if name not in available and name not in constants] == []
    assert len(exported) == len(set(exported))


@pytest.mark.parametrize("package", CONSTRUCTS)
def test_every_construct_says_what_it_defines(package: str) -> None:
    undocumented = [name for name, definition in _definitions(package) if not ast.get_docstring(definition)]
    undocumented += [
        f"{name}.{member.name}"
        for name, definition in _definitions(package)
        if isinstance(definition, ast.ClassDef)
        for member in _public_members(definition)
        if not ast.get_docstring(member)
    ]
    assert undocumented == []
    for name, definition in _definitions(package):
        if isinstance(definition, ast.ClassDef) and _is_construct(definition):
            assert (ast.get_docstring(definition) or "").startswith("Defines "), name


@pytest.mark.parametrize("package", CONSTRUCTS)
def test_constructs_take_scope_and_id_and_the_rest_by_name(package: str) -> None:
    for name, definition in _definitions(package):
        if not isinstance(definition, ast.ClassDef) or not _is_construct(definition):
            continue
        initializer = _initializer(definition)
        assert initializer, name
        for signature in (initializer, *(each for each in _public_members(definition) if each.name == "from_config")):
            positional = [each.arg for each in signature.args.args]
            assert positional[1:] == ["scope", "id_"], name
            assert signature.args.kwonlyargs, name
            assert signature.args.vararg is None, name
            assert signature.args.kwarg is None, name


def test_signatures(golden: Callable[[str, str], None]) -> None:
    lines: list[str] = []
    for package in [each for each in PACKAGES if not each.startswith("config")]:
        lines.append(f"eks_hardware.{package.replace('/', '.')}")
        for name, definition in _definitions(package):
            lines += _described(name, definition)
        lines.append("")
    golden("public_api.txt", "\n".join(lines))


def _described(name: str, definition: ast.ClassDef | ast.FunctionDef) -> Iterator[str]:
    if isinstance(definition, ast.FunctionDef):
        yield f"  {name}{_signature(definition)}"
        return
    initializer = _initializer(definition)
    yield f"  {name}{_signature(initializer) if initializer else ''}".removesuffix(" -> None")
    for node in definition.body:
        if isinstance(node, ast.AnnAssign):
            yield f"    {ast.unparse(node)}"
    for member in _public_members(definition):
        decorators = {ast.unparse(each) for each in member.decorator_list}
        returned = ast.unparse(member.returns) if member.returns else "?"
        yield f"    {member.name}: {returned}" if "property" in decorators else f"    {member.name}{_signature(member)}"


def _signature(function: ast.FunctionDef) -> str:
    arguments = ast.unparse(function.args)
    for own in ("self", "cls"):
        arguments = arguments.removeprefix(own).removeprefix(", ")
    return f"({arguments}) -> {ast.unparse(function.returns) if function.returns else '?'}"

"""The public interface: names, signatures and documentation, read from the source, so Node does not start.

``docs/reference/python.md`` lists the public packages. ``tests/golden/public_api.txt`` contains every exported name
with its signature: a change of it is a change of the interface, and belongs in the changelog.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from helpers.cases import in_one_test
from helpers.paths import ROOT
from helpers.public_api import (
    PUBLIC,
    Definition,
    constant_text,
    definition,
    definitions,
    exported,
    file_of,
    initializer,
    is_construct,
    listed,
    members,
)
from helpers.source import tree_of

SYNTHESIZED = [each for each in PUBLIC if re.match(r"eks_hardware\.(constructs|stacks)\b", each)]
WITH_EXAMPLES = [*SYNTHESIZED, "eks_hardware.kubernetes"]


def test_the_page_is_read_as_it_is_meant() -> None:
    assert listed("| package | for |\n|---|---|\n| `a.b`, `.c` | `d` |\n| `e` | |\n") == ["a.b", "a.c", "e"]
    assert len(PUBLIC) == len(set(PUBLIC)) > 20


def test_every_package_of_constructs_is_public() -> None:
    folders = {f"eks_hardware.constructs.{file.parent.name}" for file in (ROOT / "constructs").glob("*/__init__.py")}
    assert folders == {each for each in PUBLIC if each.startswith("eks_hardware.constructs.")}


@in_one_test("package", PUBLIC)
def test_every_public_package_is_there_and_says_what_it_is_for(package: str) -> None:
    assert file_of(package).is_file()
    assert ast.get_docstring(tree_of(file_of(package)))


def _order(name: str) -> tuple[bool, bool, str]:
    """Return the order: constants, classes, functions, each alphabetical, as ruff sorts (RUF022)."""
    return not name.isupper(), not name[0].isupper(), name


@in_one_test("package", PUBLIC)
def test_exported_names_are_sorted_and_each_once(package: str) -> None:
    names = exported(package)
    assert names == sorted(set(names), key=_order)
    assert [name for name in names if name.startswith("_")] == ["__version__"] * (package == "eks_hardware")


@in_one_test("package", PUBLIC)
def test_every_exported_name_is_documented(package: str) -> None:
    """And they exist: the look-up fails for an undefined name."""
    undocumented = []
    for name in exported(package):
        found = definition(package, name)
        if found is None:
            documented = name == "__version__" or bool(constant_text(package, name))
        else:
            documented = bool(ast.get_docstring(found))
        undocumented += [] if documented else [name]
    assert undocumented == []


def _attributes_have_text(found: Definition) -> bool:
    """Return whether each attribute of a class has a docstring."""
    return all(
        isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant) and following.value.value
        for node, following in pairwise([*found.body, None])
        if isinstance(node, ast.AnnAssign)
    )


@in_one_test("package", SYNTHESIZED)
def test_every_construct_says_what_it_defines(package: str) -> None:
    undocumented = [
        f"{name}.{member.name}"
        for name, found in definitions(package)
        if isinstance(found, ast.ClassDef)
        for member in members(found)
        if not ast.get_docstring(member)
    ]
    assert undocumented == []
    for name, found in definitions(package):
        if isinstance(found, ast.ClassDef) and is_construct(found):
            assert _attributes_have_text(found), name
            assert "\nCreates: " in (ast.get_docstring(found) or ""), name


@in_one_test("package", SYNTHESIZED)
def test_constructs_take_scope_and_id_and_the_rest_by_name(package: str) -> None:
    for name, found in definitions(package):
        if not isinstance(found, ast.ClassDef) or not is_construct(found):
            continue
        first = initializer(found)
        assert first, name
        # A stack's id is the strategy's.
        expected = ["scope"] if name.endswith("Stack") else ["scope", "id_"]
        for signature in (first, *(each for each in members(found) if each.name == "from_config")):
            assert [each.arg for each in signature.args.args][1:] == expected, name
            assert signature.args.kwonlyargs, name
            assert signature.args.vararg is None, name
            assert signature.args.kwarg is None, name


def _documented_signatures(package: str) -> Iterator[tuple[str, ast.FunctionDef, str]]:
    """Yield name, signature and docstring of callables; a class documents the arguments of its ``__init__``."""
    for name, found in definitions(package):
        if isinstance(found, ast.FunctionDef):
            yield name, found, ast.get_docstring(found) or ""
            continue
        first = initializer(found)
        if first:
            yield name, first, ast.get_docstring(found) or ""
        for member in members(found):
            decorators = {ast.unparse(each) for each in member.decorator_list}
            if "property" not in decorators:
                yield f"{name}.{member.name}", member, ast.get_docstring(member) or ""


def _section(text: str, title: str) -> str:
    found = re.search(rf"^{title}:\n((?:(?: .*)?\n?)+)", text, re.MULTILINE)
    return found[1] if found else ""


@in_one_test("package", WITH_EXAMPLES)
def test_every_argument_is_documented(package: str) -> None:
    """A method does not have to repeat its class's text for an argument of the same name: ``from_config`` does not."""
    wrong = {}
    classes: dict[str, list[str]] = {}
    for name, signature, text in _documented_signatures(package):
        arguments = signature.args
        taken = [
            each.arg
            for each in (
                *arguments.posonlyargs,
                *arguments.args,
                arguments.vararg,
                *arguments.kwonlyargs,
                arguments.kwarg,
            )
            if each
        ]
        taken = [each for each in taken if each not in ("self", "cls")]
        said = re.findall(r"^    (\w+):", _section(text, "Args"), re.MULTILINE)
        if "." not in name:
            classes[name] = said
        of_class = classes.get(name.rpartition(".")[0], [])
        if said != [each for each in taken if each in said or each not in of_class]:
            wrong[name] = {"takes": taken, "documents": said}
    assert wrong == {}


@in_one_test("package", WITH_EXAMPLES)
def test_every_code_that_is_raised_is_documented(package: str) -> None:
    """In the docstring of the class or function, under "Raises"."""
    for name, found in definitions(package):
        texts = [each for _, _, each in _documented_signatures_of(name, found)]
        said = "".join(_section(text, "Raises") for text in texts)
        raised = {
            code
            for node in ast.walk(found)
            if isinstance(node, ast.Raise) and node.exc
            for code in re.findall(r"\b[A-Z]+_[A-Z_]+\b", ast.unparse(node.exc))
        }
        assert {code for code in raised if code not in said} == set(), name


def _documented_signatures_of(name: str, found: Definition) -> Iterator[tuple[str, ast.AST, str]]:
    yield name, found, ast.get_docstring(found) or ""
    if isinstance(found, ast.ClassDef):
        yield from ((each.name, each, ast.get_docstring(each) or "") for each in members(found))


@in_one_test("package", WITH_EXAMPLES)
def test_every_class_and_function_has_an_example(package: str) -> None:
    """``tests/synth/test_public_api_examples.py`` runs them."""
    without = [
        name
        for name, found in definitions(package)
        if not any(">>> " in _section(text, "Examples?") for _, _, text in _documented_signatures_of(name, found))
    ]
    assert without == []


def test_signatures(golden: Callable[[str, str], None]) -> None:
    lines: list[str] = []
    for package in PUBLIC:
        lines.append(package)
        for name in exported(package):
            found = definition(package, name)
            if package == "eks_hardware.models" or found is None:
                lines.append(f"  {name}")  # the fields of models are in the JSON Schema
            else:
                lines += _described(name, found)
        lines.append("")
    golden("public_api.txt", "\n".join(lines))


def _described(name: str, found: Definition) -> Iterator[str]:
    if isinstance(found, ast.FunctionDef):
        yield f"  {name}{_signature(found)}"
        return
    first = initializer(found)
    yield f"  {name}{_signature(first) if first else ''}".removesuffix(" -> None")
    for node in found.body:
        if isinstance(node, ast.AnnAssign | ast.Assign) and not ast.unparse(node).startswith("_"):
            yield f"    {ast.unparse(node)}"
    for member in members(found):
        decorators = {ast.unparse(each) for each in member.decorator_list}
        returned = ast.unparse(member.returns) if member.returns else "?"
        property_ = bool({"property", "cached_property"} & decorators)
        yield f"    {member.name}: {returned}" if property_ else f"    {member.name}{_signature(member)}"


def _signature(function: ast.FunctionDef) -> str:
    arguments = ast.unparse(function.args)
    for own in ("self", "cls"):
        arguments = re.sub(rf"^{own}\b(: \w+)?(, )?", "", arguments)
    return f"({arguments}) -> {ast.unparse(function.returns) if function.returns else '?'}"

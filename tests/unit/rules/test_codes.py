"""Every code that can be raised is explained, and no others: read from the source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from eks_hardware.rules import RULES
from eks_hardware.rules.explanations import explanations
from helpers.paths import ROOT
from helpers.source import python_files, tree_of, trees_with

FOLDERS = ("config", "constructs", "eks_hardware", "stacks")

OF_PROGRAMS = ("constructs", "stacks")
"""Folders whose errors are raised in a program, with a code in the message."""

# Constructors of findings, and their code argument. A model's error type is its code in lower case.
MAKERS = {
    "Diagnosis": 0,
    "Finding": 0,
    "LockError": 0,
    "PydanticCustomError": 0,
    "QuestionError": 0,
    "ShapeError": 0,
    "WorkloadError": 0,
    "_ValueFault": 0,
}
OTHER_CODES = {"CallError"}
"""Errors whose code is not one of this project: AWS's."""
SHARED_HELPERS = {"invalid": 0, "refuse_other_than_one": 0, "refuse_second": 2}
DOCTOR_MAKERS = {"error": 0, "warning": 0}

# Functions that pass on a code from the registry, from a table, or from a pair of code and message.
FORWARDING = {
    ("eks_hardware/models/base.py", "error"),
    ("eks_hardware/loader/python_errors.py", "translated"),
    ("eks_hardware/rules/check.py", "_all"),
    ("eks_hardware/rules/check.py", "_rest"),
    ("eks_hardware/advisor/strategies/fill.py", "fill"),
    ("eks_hardware/advisor/measured/file.py", "_unknown_models"),
    ("eks_hardware/cli/commands/check_model.py", "_request"),
    ("eks_hardware/cli/commands/init.py", "_recommended"),
    ("eks_hardware/cli/commands/lock.py", "_refuse"),
    ("eks_hardware/cli/commands/workload.py", "workload"),
    ("eks_hardware/advisor/strategies/questions.py", "question_of"),
    ("eks_hardware/advisor/ranking/workload_file.py", "request_of"),
}

# Codes that rules find in a strategy, and these in files of another kind.
LIKE_A_RULE = {"REGION_UNKNOWN"}

_CODE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")


class Raised(NamedTuple):
    """Place in the source that creates a finding; ``code`` is empty if it is not written there."""

    file: str
    function: str
    code: str


def _functions(tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield every node, with the name of the innermost function around it."""
    waiting = [("", tree)]
    while waiting:
        name, node = waiting.pop()
        for child in ast.iter_child_nodes(node):
            # Names and operators have no children that matter here.
            if isinstance(child, (ast.Name, ast.Constant, ast.expr_context, ast.operator)):
                continue
            inner = child.name if isinstance(child, ast.FunctionDef) else name
            yield inner, child
            waiting.append((inner, child))


def _called(node: ast.Call) -> str:
    function = node.func
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def _text(node: ast.AST | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _helpers(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Return a file's own functions and classes that accept a ``code``, and its argument position."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            made_by = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
        else:
            made_by = [node] if isinstance(node, ast.FunctionDef) else []
        for function in made_by:
            arguments = [each for each in function.args.args if each.arg not in ("self", "cls")]
            codes = [index for index, each in enumerate(arguments) if each.arg == "code" and _is_text(each)]
            if codes and re.match(r"_[^_]", getattr(node, "name", "")):
                yield getattr(node, "name", ""), codes[0]


def _is_text(argument: ast.arg) -> bool:
    return isinstance(argument.annotation, ast.Name) and argument.annotation.id == "str"


def _of_calls(file: str, tree: ast.AST, makers: dict[str, int]) -> Iterator[Raised]:
    for function, node in _functions(tree):
        if not isinstance(node, ast.Call):
            continue
        called, args = _called(node), node.args
        if called == "partial" and isinstance(args[0], ast.Name):
            called, args = args[0].id, args[1:]
        if called in makers:
            position = makers[called]
            given = [each.value for each in node.keywords if each.arg == "code"]
            argument = given[0] if given else args[position] if position < len(args) else None
            # `code`: the function's callers state it.
            if not (isinstance(argument, ast.Name) and argument.id == "code"):
                yield Raised(file, function, _text(argument).upper())


def _of_translation(file: str, tree: ast.AST) -> Iterator[Raised]:
    """The codes of pydantic's own errors: in a table, and the return value of a function for the rest."""
    for function, node in _functions(tree):
        if isinstance(node, ast.Tuple) and node.elts and _CODE.fullmatch(_text(node.elts[0])):
            yield Raised(file, function, _text(node.elts[0]))
        elif isinstance(node, ast.Return) and _CODE.fullmatch(_text(node.value)):
            yield Raised(file, function, _text(node.value))


def _in_file(path: Path) -> Iterator[Raised]:
    file = path.relative_to(ROOT).as_posix()
    makers = {**SHARED_HELPERS, **MAKERS, **(DOCTOR_MAKERS if file.startswith("eks_hardware/doctor/") else {})}
    # The codes of the advisor's gates and misses are not findings.
    if not file.startswith("eks_hardware/advisor/"):
        makers = {name: place for tree in trees_with(path, "code: str") for name, place in _helpers(tree)} | makers
    for tree in trees_with(path, *makers):
        yield from _of_calls(file, tree, makers)
    if file == "eks_hardware/loader/pydantic_errors.py":
        yield from _of_translation(file, tree_of(path))


def _of_constructs(path: Path) -> Iterator[Raised]:
    """The codes of errors in a program: a message of ``ValueError`` begins with its code and the place."""
    for function, node in (each for tree in trees_with(path, "ValueError(") for each in _functions(tree)):
        if isinstance(node, ast.Call) and _called(node) == "ValueError" and node.args:
            message = node.args[0]
            parts = message.values if isinstance(message, ast.JoinedStr) else [message]
            found = _CODE.match(_text(parts[0]) if parts else "")
            yield Raised(path.relative_to(ROOT).as_posix(), function, found[0] if found else "")


@cache
def raised() -> tuple[Raised, ...]:
    """Return every place that creates a finding, except for rules, whose codes are in the registry."""
    found = [each for path in python_files(*FOLDERS) for each in _in_file(path)]
    return (*found, *(each for path in python_files(*OF_PROGRAMS) for each in _of_constructs(path)))


def codes_outside_the_registry() -> set[str]:
    return {each.code for each in raised() if each.code}


def test_every_code_can_be_read_from_the_source() -> None:
    """The tests below would miss a code that is built at run time: write it out, or pass it on."""
    assert {(each.file, each.function) for each in raised() if not each.code} - FORWARDING == set()


def _errors_with_a_code(path: Path) -> Iterator[str]:
    """Yield the classes of errors whose constructor accepts a ``code``."""
    for node in (node for tree in trees_with(path, "code: str") for node in ast.walk(tree)):
        if isinstance(node, ast.ClassDef) and node.name.endswith("Error"):
            made_by = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
            arguments = [each for function in made_by for each in (*function.args.args, *function.args.kwonlyargs)]
            if any(each.arg == "code" for each in arguments):
                yield node.name


def test_every_error_with_a_code_is_collected() -> None:
    found = {name for path in python_files(*FOLDERS) for name in _errors_with_a_code(path)}
    assert found - OTHER_CODES <= MAKERS.keys()
    assert {"LockError", "QuestionError", "ShapeError", "WorkloadError", *OTHER_CODES} <= found


def test_the_source_is_read_rightly() -> None:
    """One for each way to raise a finding, and other calls."""
    found = codes_outside_the_registry()
    assert {"FILE_EMPTY", "FILE_UNREADABLE", "YAML_DEPTH", "OVERLAY_NAME", "STRATEGY_PATH"} <= found
    assert {"FIELD_MISSING", "FIELD_UNKNOWN", "FIELD_RANGE", "FIELD_VALUE"} <= found
    assert {"NAME_DUPLICATE", "ITEM_DUPLICATE", "SCALING_BOUNDS", "TEXT_TEMPLATE", "JSON_KEY"} <= found
    assert [code for code in found if not _CODE.fullmatch(code)] == []


def test_no_rule_has_the_code_of_another_finding() -> None:
    assert codes_outside_the_registry() & set(RULES) <= LIKE_A_RULE


def test_every_code_is_explained() -> None:
    assert (codes_outside_the_registry() | set(RULES)) - set(explanations()) == set()


def test_no_explanation_is_of_a_code_that_is_gone() -> None:
    assert set(explanations()) - codes_outside_the_registry() - set(RULES) == set()

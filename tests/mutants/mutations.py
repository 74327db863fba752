"""Small changes of Python code that tests should detect."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
}


@dataclass(frozen=True)
class Mutant:
    """A changed module.

    Attributes:
        file: the module, relative to the root of the tree.
        line: the first line that is changed.
        before: the changed code, before.
        after: the changed code, after.
        index: its number among the mutants of the module.
    """

    file: str
    line: int
    before: str
    after: str
    index: int

    @property
    def key(self) -> str:
        """Its name in lists, which does not depend on line numbers."""
        return f"{self.file}: {self.before} -> {self.after}"

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.before} -> {self.after}"


class _Collector(ast.NodeTransformer):
    """Visits every place that can be changed; changes the one with a certain number.

    Attributes:
        found: line, code before and code after of each place.
        applied: the number of the place that is changed, or -1.
    """

    def __init__(self, apply: int = -1) -> None:
        self.found: list[tuple[int, str, str]] = []
        self._apply = apply

    def _offer(self, old: ast.AST, new: ast.AST) -> ast.AST:
        number = len(self.found)
        self.found.append((old.lineno, _text(old), _text(new)))  # type: ignore[attr-defined]
        return ast.copy_location(new, old) if number == self._apply else old

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
            new = copy.deepcopy(node)
            new.ops = [_COMPARISONS[type(node.ops[0])]()]
            return self._offer(node, new)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        new = copy.deepcopy(node)
        new.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return self._offer(node, new)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        texts = (node.left, node.right)
        if type(node.op) in _OPERATORS and not any(isinstance(each, ast.JoinedStr) or _is_text(each) for each in texts):
            new = copy.deepcopy(node)
            new.op = _OPERATORS[type(node.op)]()
            return self._offer(node, new)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return self._offer(node, copy.deepcopy(node.operand)) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        new = copy.deepcopy(node)
        new.body, new.orelse = new.orelse, new.body
        return self._offer(node, new)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        value = node.value
        if isinstance(value, bool):
            return self._offer(node, ast.Constant(not value))
        if isinstance(value, int):
            return self._offer(node, ast.Constant(value + 1))
        if (
            isinstance(value, str) and value and not value.startswith("https://") and " " not in value
        ):  # text with spaces is prose
            return self._offer(node, ast.Constant(f"{value}X"))
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id in ("TypeVar", "ParamSpec"):
            return node  # only type checkers read its name
        self.generic_visit(node)
        # x.strip() -> x: a call that changes a text or a list has a purpose.
        if isinstance(node.func, ast.Attribute) and node.func.attr in _DROPPED_METHODS:
            return self._offer(node, copy.deepcopy(node.func.value))
        if isinstance(node.func, ast.Name) and node.func.id == "sorted" and len(node.args) == 1:
            return self._offer(node, ast.Call(ast.Name("list", ast.Load()), copy.deepcopy(node.args), []))
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if isinstance(node.value, ast.Constant):  # a docstring
            return node
        self.generic_visit(node)
        if isinstance(node.value, ast.Call):
            return self._offer(node, ast.Pass())
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        return self._offer(node, ast.Pass())

    def visit_Continue(self, node: ast.Continue) -> ast.AST:
        return self._offer(node, ast.Pass())

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value:
            node.value = self.visit(node.value)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        # Annotations do not affect behavior.
        node.body = [self.visit(each) for each in node.body]
        node.args.defaults = [self.visit(each) for each in node.args.defaults]
        node.args.kw_defaults = [each and self.visit(each) for each in node.args.kw_defaults]
        node.decorator_list = [self.visit(each) for each in node.decorator_list]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        # Frozen dataclasses do not affect behavior.
        node.body = [self.visit(each) for each in node.body]
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        return node if _text(node.test) == "TYPE_CHECKING" else self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        return node if _text(node.targets[0]) == "__all__" else self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        # Sentences: tests compare whole messages, not each word.
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return node


_DROPPED_METHODS = frozenset(
    {"strip", "lstrip", "rstrip", "lower", "upper", "casefold", "removesuffix", "removeprefix"}
)


def mutants(root: Path, file: str) -> list[Mutant]:
    """Yield every mutant of a module."""
    collector = _Collector()
    collector.visit(ast.parse((root / file).read_text(encoding="utf-8")))
    return [
        Mutant(file, line, before, after, index)
        for index, (line, before, after) in enumerate(collector.found)
        if before != after
    ]


def source(root: Path, mutant: Mutant) -> str:
    """Return the changed module as text."""
    tree = ast.parse((root / mutant.file).read_text(encoding="utf-8"))
    return ast.unparse(ast.fix_missing_locations(_Collector(apply=mutant.index).visit(tree)))


def _text(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 100 else f"{text[:97]}..."


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def modules(root: Path, targets: Iterable[str]) -> list[str]:
    """Return the modules in folders or files, relative to the root."""
    found: list[Path] = []
    for each in targets:
        path = root / each
        found += [path] if path.is_file() else sorted(path.rglob("*.py"))
    return [file.relative_to(root).as_posix() for file in found]

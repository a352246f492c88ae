"""Mutants of a module: copies in which one comparison, condition, number, sum, answer or statement is another.

Only what stands in functions is changed. Left alone are texts, log lines, annotations and defaults: tests that held
them would repeat the code.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

__all__ = ["Mutant", "code_of", "mutants_of"]

_SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.BitXor: ast.BitAnd,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
}
_DROPPED = (ast.AugAssign, ast.Delete, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True)
class Mutant:
    """The change number `index` of a module; `function` is the qualified name of the one it stands in."""

    path: Path
    index: int
    function: str
    line: int
    change: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.function}: {self.change}"


def mutants_of(path: Path) -> list[Mutant]:
    mutator = _Mutator(path, None)
    mutator.visit(ast.parse(path.read_text(encoding="utf-8")))
    return mutator.found


def code_of(mutant: Mutant, filename: str) -> CodeType | None:
    """The code of the mutant's function with the change in it; None where Python refuses it."""
    mutator = _Mutator(mutant.path, mutant.index)
    tree = mutator.visit(ast.parse(mutant.path.read_text(encoding="utf-8")))
    try:
        module = compile(ast.fix_missing_locations(tree), filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    return next(code for code in _codes(module) if code.co_qualname == mutant.function)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


class _Mutator(ast.NodeTransformer):
    def __init__(self, path: Path, wanted: int | None) -> None:
        self.found: list[Mutant] = []
        self._path, self._wanted = path, wanted
        self._within: list[str] = []
        self._functions = 0

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.ClassDef):
            return self._entered(node, super().visit)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return self._function(node)
        if not self._functions:
            return super().visit(node)
        if _silent(node):
            return node
        if isinstance(node, ast.AnnAssign):
            node.value = self.visit(node.value) if node.value else None
            return node
        offers = list(_offers(node))  # of what is there, not of what becomes of its parts
        made = super().visit(node)
        for offered in offers:
            if self._taken(node, offered):
                made = offered
        return made

    def _entered(self, node: Any, visit: Callable[[Any], Any]) -> Any:
        if not self._functions:
            self._within.append(node.name)
        visited = visit(node)
        if not self._functions:
            self._within.pop()
        return visited

    def _function(self, node: Any) -> Any:
        def body(_: Any) -> Any:
            self._functions += 1
            node.body = [self.visit(statement) for statement in node.body]
            self._functions -= 1
            return node

        return self._entered(node, body)

    def _taken(self, node: Any, offered: ast.AST) -> bool:
        change = f"{_line(node)} -> {_line(offered)}"
        self.found.append(Mutant(self._path, len(self.found), ".".join(self._within), node.lineno, change))
        return self._wanted == len(self.found) - 1


def _line(node: ast.AST) -> str:
    return " ".join(ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).split())[:90]


def _silent(node: ast.AST) -> bool:
    """Docstrings, log lines and formatted texts."""
    if isinstance(node, ast.Expr):
        value = node.value
        return isinstance(value, ast.Constant) or (isinstance(value, ast.Call) and _line(value).startswith("log."))
    return isinstance(node, ast.JoinedStr)


def _offers(node: Any) -> Iterator[ast.AST]:
    """What may stand in its place."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            yield _with(node, ops=[*node.ops[:place], _SWAPPED[type(operator)](), *node.ops[place + 1 :]])
    elif isinstance(node, ast.BoolOp | ast.BinOp | ast.AugAssign) and type(node.op) in _SWAPPED:
        yield _with(node, op=_SWAPPED[type(node.op)]())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield copy.deepcopy(node.operand)
    elif isinstance(node, ast.If | ast.While | ast.IfExp) and not isinstance(node.test, ast.Compare | ast.Constant):
        yield _with(node, test=ast.UnaryOp(ast.Not(), copy.deepcopy(node.test)))
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.Return) and node.value is not None and _line(node) != "return None":
        yield ast.Return(ast.Constant(None))
    if isinstance(node, _DROPPED) or _acts(node):
        yield ast.Pass()


def _acts(node: ast.AST) -> bool:
    """A call, or an assignment to what others see; without one to a name the function would only break."""
    if isinstance(node, ast.Assign):
        return not any(isinstance(target, ast.Name | ast.Tuple) for target in node.targets)
    return isinstance(node, ast.Expr)


def _with(node: Any, **fields: Any) -> ast.AST:
    made: ast.AST = copy.deepcopy(node)
    for name, value in fields.items():
        setattr(made, name, value)
    return made

"""The language of claims: comparisons, arithmetic and a few functions over one case of a run.

A claim is written as a Python expression, and nothing of Python runs: the text is parsed, every node that is not
of the grammar below is refused with its position, and what is left is computed here.

    claim       := claim "and" claim | claim "or" claim | "not" claim | "(" claim ")" | comparison | function
    comparison  := value (("<" | "<=" | ">" | ">=" | "==" | "!=") value)+
    value       := number | function | "-" value | value ("+" | "-" | "*" | "/") value | "(" value ")"
    function    := name "(" 'text', …, name='text' ")"
"""

from __future__ import annotations

import ast
import difflib
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

COMPARISONS: Mapping[type, tuple[str, Callable]] = {
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
}
ARITHMETIC: Mapping[type, Callable] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
NUMBER, TRUTH = "a number", "a truth value"
DEEPEST = 40
BOOKS = ("torch", "nsys")


@dataclass(frozen=True)
class Parameter:
    """``kind``: variant, book or text.  ``choices``: where only these are allowed.  ``default`` None: required
    unless ``optional``."""

    name: str
    kind: str = "text"
    choices: tuple[str, ...] = ()
    default: str | None = None
    optional: bool = False


@dataclass(frozen=True)
class Signature:
    """One function of the language, as the checker and the documentation see it."""

    name: str
    parameters: tuple[Parameter, ...]
    returns: str
    meaning: str

    def __str__(self) -> str:
        """As the documentation has it: optional parameters in brackets, defaults shown."""
        told = [
            f"[{p.name}]" if p.optional else p.name if p.default is None else f"{p.name}={p.default!r}"
            for p in self.parameters
        ]
        return f"{self.name}({', '.join(told)})"


@dataclass(frozen=True)
class Problem:
    """What is wrong with an expression; ``column`` counts from 1."""

    column: int
    text: str

    def __str__(self) -> str:
        return f"column {self.column}: {self.text}"


class BadExpression(Exception):
    """All that is wrong with one expression."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = sorted(set(problems), key=lambda p: (p.column, p.text))
        super().__init__("; ".join(map(str, self.problems)))


def flat(text: str) -> str:
    """An expression on one line, so that a position is a column."""
    return " ".join(text.split())


def parse(text: str, functions: Mapping[str, Signature]) -> ast.expr:
    """The checked tree of an expression that is a truth value.  Raises BadExpression with all problems."""
    line = flat(text)
    try:
        tree = ast.parse(line, mode="eval").body
    except (SyntaxError, ValueError) as error:
        column = getattr(error, "offset", None) or max(len(line), 1)  # 0: at the end
        raise BadExpression(
            [Problem(column, f"this is no expression: {getattr(error, 'msg', error)}")]
        ) from None
    except (RecursionError, MemoryError):
        raise BadExpression([Problem(1, "this expression is nested too deeply")]) from None
    if depth(tree) > DEEPEST:
        raise BadExpression([Problem(1, "this expression is nested too deeply")])
    checker = Checker(line, functions)
    kind = checker.kind(tree)
    if not checker.problems and kind != TRUTH:
        checker.problems.append(Problem(1, "a claim is a comparison; this is a number"))
    if checker.problems:
        raise BadExpression(checker.problems)
    return tree


def depth(tree: ast.AST) -> int:
    """Levels of a tree, counted without recursion."""
    level, count = [tree], 0
    while level:
        level, count = [child for node in level for child in ast.iter_child_nodes(node)], count + 1
    return count


class Checker:
    """Walks a tree, collects problems, and says of each node whether it is a number or a truth value."""

    def __init__(self, line: str, functions: Mapping[str, Signature]) -> None:
        self.line, self.functions = line, functions
        self.problems: list[Problem] = []

    def wrong(self, node: ast.AST, text: str) -> None:
        column = len(self.line.encode()[: node.col_offset].decode(errors="replace")) + 1
        self.problems.append(Problem(column, text))

    def expect(self, node: ast.expr, kind: str) -> None:
        found = self.kind(node)
        if found is not None and found != kind:
            self.wrong(node, f"{kind} belongs here; {ast.unparse(node)} is {found}")

    def kind(self, node: ast.expr) -> str | None:
        """NUMBER or TRUTH; None after a problem that leaves it open."""
        match node:
            case ast.BoolOp(values=values):
                for value in values:
                    self.expect(value, TRUTH)
                return TRUTH
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self.expect(operand, TRUTH)
                return TRUTH
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                self.expect(operand, NUMBER)
                return NUMBER
            case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
                self.expect(left, NUMBER)
                self.expect(right, NUMBER)
                return NUMBER
            case ast.Compare(left=left, ops=ops, comparators=others) if all(
                type(op) in COMPARISONS for op in ops
            ):
                for value in [left, *others]:
                    self.expect(value, NUMBER)
                return TRUTH
            case ast.Constant(value=value) if type(value) in (int, float) and abs(value) < 1e300:
                return NUMBER
            case ast.Call(func=ast.Name(id=name)):
                return self.call(node, name)
        self.wrong(node, f"{ast.unparse(node)[:40]!r} is not part of the language; see docs/claims.md")
        return None

    def call(self, node: ast.Call, name: str) -> str | None:
        signature = self.functions.get(name)
        if signature is None:
            near = difflib.get_close_matches(name, self.functions, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(self.functions)}"
            self.wrong(node, f"unknown function {name!r}; {hint}")
            return None
        given = dict(self.named(node, signature))
        for parameter in signature.parameters:
            if parameter.name not in given:
                if parameter.default is None and not parameter.optional:
                    self.wrong(node, f"{name}() needs {parameter.name}")
                continue
            value = given[parameter.name]
            if not (isinstance(value, ast.Constant) and isinstance(value.value, str)):
                self.wrong(value, f"{parameter.name} is a text in quotes, not {ast.unparse(value)[:40]}")
            elif parameter.choices and value.value not in parameter.choices:
                near = difflib.get_close_matches(value.value, parameter.choices, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(parameter.choices)}"
                self.wrong(value, f"unknown {parameter.name} {value.value!r}; {hint}")
        return signature.returns

    def named(self, node: ast.Call, signature: Signature) -> Iterator[tuple[str, ast.expr]]:
        """Arguments by the name of their parameter."""
        names = [p.name for p in signature.parameters]
        for extra in node.args[len(names) :]:
            self.wrong(extra, f"{signature.name}() takes {len(names)} arguments at most")
        yield from zip(names, node.args, strict=False)
        for keyword in node.keywords:
            if keyword.arg not in names:
                told = f"there are {', '.join(names)}" if names else "it takes none"
                self.wrong(keyword.value, f"{signature.name}() has no argument {keyword.arg!r}; {told}")
            elif keyword.arg in names[: len(node.args)]:
                self.wrong(keyword.value, f"{keyword.arg} is given twice")
            else:
                yield keyword.arg, keyword.value


def arguments(node: ast.Call, signature: Signature) -> dict[str, str | None]:
    """The texts of a checked call, defaults filled in."""
    values = {p.name: p.default for p in signature.parameters}
    values |= {p.name: a.value for p, a in zip(signature.parameters, node.args, strict=False)}
    return values | {k.arg: k.value.value for k in node.keywords}


def calls(tree: ast.expr) -> Iterator[ast.Call]:
    """All function calls of a checked tree."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))

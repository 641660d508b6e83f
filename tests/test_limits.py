"""How deep things may nest, and how long what is read may be, is said in one table."""

from __future__ import annotations

import ast
import functools
import itertools
import operator
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pegboard import limits

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
SOURCES = [path for folder in ("core/src", "plugins") for path in (ROOT / folder).rglob("*.py") if "/src/" in f"{path}"]


BOUND = re.compile(r"(?i)(^|_)(depth|deepest|levels?|nest(ed|ing|s)?)(_|$)")
"""Names of what is nested, or of how deep it may be."""
ALONE = {"python_program.py"}
"""Runs in the interpreter of another program, which has no pegboard."""


def is_number(node: ast.AST | None) -> bool:
    """Whether it is written out, as `30` or `2 * 8`, above what ends a recursion (0), or looks at the outermost (1)."""
    if isinstance(node, ast.BinOp):
        return is_number(node.left) and is_number(node.right)
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value > 1


def own_bounds(tree: ast.Module) -> Iterator[int]:
    """The lines that say themselves how deep something may nest: a constant, or a number that a depth is held to."""
    for node in ast.walk(tree):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=value)
            ):
                if name.isupper() and BOUND.search(name) and is_number(value):
                    yield node.lineno
            case ast.Compare(left=left, comparators=others):
                sides = [left, *others]
                if any(is_number(one) for one in sides) and any(
                    BOUND.search(one.id if isinstance(one, ast.Name) else one.attr)
                    for one in sides
                    if isinstance(one, ast.Name | ast.Attribute)
                ):
                    yield node.lineno


@pytest.mark.parametrize(
    "line",
    [
        "MAX_DEPTH = 30", "MAX_DEPTH: int = 30", "_DEEPEST = 9", "MAX_LEVELS = 2 * 8", "MAX_NESTING = 3", "NESTED = 4",
        "if depth > 30: pass", "if self.depth >= 4: pass", "while 8 < level: pass",
    ],
)  # fmt: skip
def test_a_bound_that_is_written_anew_is_found(line: str) -> None:
    assert list(own_bounds(ast.parse(line))) == [1]


@pytest.mark.parametrize(
    "line",
    ["MAX_DEPTH = JSON_LEVELS", "LEVELS = ('debug', 'info')", "DEPTH = 'BOARD_DEPTH'", "if depth <= 0: pass",
     "if depth > 1: pass", "if depth > CALL_LEVELS: pass", "MAX_BYTES = 30"],
)  # fmt: skip
def test_what_is_no_bound_of_its_own_is_not(line: str) -> None:
    assert list(own_bounds(ast.parse(line))) == []


SHARED_BYTES = {value for name, value in vars(limits).items() if name in {"JSON_BYTES", "DIGESTED_BYTES"}}
"""Lengths of which only the table speaks; other reasons may well come to the same number as those of the others."""


def own_lengths(tree: ast.Module) -> Iterator[int]:
    """The lines that give a constant one of these lengths anew."""
    for node in ast.walk(tree):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=value)
            ):
                if name.isupper() and is_number(value) and literal(value) in SHARED_BYTES:
                    yield node.lineno


def literal(node: ast.AST | None) -> int | None:
    """What a number is that is written out as a product, a power or a shift."""
    operators = {ast.Mult: operator.mul, ast.Pow: operator.pow, ast.LShift: operator.lshift}
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.BinOp(left=left, op=op, right=right) if type(op) in operators:
            sides = literal(left), literal(right)
            return None if None in sides else operators[type(op)](*sides)
    return None


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("MAX_BYTES = 16 * 1024 * 1024", [1]), ("MAX_BODY: int = 16 << 20", [1]), ("MOST = 16_777_216", [1]),
        ("MAX_BYTES = 16 * 1024**2", [1]), ("MAX_BYTES = JSON_BYTES", []), ("MAX_BYTES = 64 * 1024 * 1024", []),
        ("options.max_mem = 16 << 20", []),
    ],
)  # fmt: skip
def test_a_length_that_is_written_anew_is_found(line: str, found: list[int]) -> None:
    assert list(own_lengths(ast.parse(line))) == found


def test_every_limit_is_said_once_with_its_reason() -> None:
    body = ast.parse(Path(limits.__file__).read_text(encoding="utf-8")).body
    explained = [
        ast.unparse(node.targets[0])
        for node, after in itertools.pairwise(body)
        if isinstance(node, ast.Assign) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
    ]
    assert sorted(explained) == limits.__all__


def test_what_holds_another_may_nest_deeper() -> None:
    assert limits.JSON_LEVELS < limits.MESSAGE_LEVELS < limits.MANIFEST_LEVELS
    assert limits.TURN_LEVELS < limits.CONVERSATION_LEVELS
    assert limits.TURN_LEVELS < limits.ANSWER_LEVELS
    assert limits.REQUEST_BYTES < limits.JSON_BYTES <= limits.SETTINGS_BYTES


def own_readers(tree: ast.Module) -> Iterator[int]:
    """The lines that read JSON with a depth of their own."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call):
            for keyword in call.keywords:
                if keyword.arg == "max_depth" and ast.unparse(keyword.value) not in {*limits.__all__, "max_depth"}:
                    yield call.lineno


RULES = {
    "how deep things may nest": own_bounds,
    "how long a JSON text may be": own_lengths,
    "how deep the JSON that is read may nest": own_readers,
}


@functools.cache
def found() -> dict[str, list[str]]:
    """Where each rule is broken; every module is parsed once, and not kept."""
    places: dict[str, list[str]] = {rule: [] for rule in RULES}
    for path in SOURCES:
        if path.name in {"limits.py", *ALONE}:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for rule, lines in RULES.items():
            places[rule] += [f"{path.relative_to(ROOT)}:{line}" for line in lines(tree)]
    return places


@pytest.mark.parametrize("rule", RULES)
def test_no_module_says_itself(rule: str) -> None:
    assert found()[rule] == []

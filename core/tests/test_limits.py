"""How deep things may nest, and how long what is read may be, is said in one table."""

from __future__ import annotations

import ast
import itertools
import operator
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pegboard import limits

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
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


def own_bounds(source: str) -> Iterator[int]:
    """The lines that say themselves how deep something may nest: a constant, or a number that a depth is held to."""
    for node in ast.walk(ast.parse(source)):
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
    assert list(own_bounds(line)) == [1]


@pytest.mark.parametrize(
    "line",
    ["MAX_DEPTH = JSON_LEVELS", "LEVELS = ('debug', 'info')", "DEPTH = 'BOARD_DEPTH'", "if depth <= 0: pass",
     "if depth > 1: pass", "if depth > CALL_LEVELS: pass", "MAX_BYTES = 30"],
)  # fmt: skip
def test_what_is_no_bound_of_its_own_is_not(line: str) -> None:
    assert list(own_bounds(line)) == []


@pytest.mark.parametrize("package", sorted({path.relative_to(ROOT).parts[1] for path in SOURCES}))
def test_no_package_says_itself_how_deep_things_may_nest(package: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in SOURCES
        if path.relative_to(ROOT).parts[1] == package and path.name not in {"limits.py", *ALONE}
        for line in own_bounds(path.read_text(encoding="utf-8"))
    ]
    assert found == []


SHARED_BYTES = {value for name, value in vars(limits).items() if name in {"JSON_BYTES", "DIGESTED_BYTES"}}
"""Lengths of which only the table speaks; other reasons may well come to the same number as those of the others."""


def own_lengths(source: str) -> Iterator[int]:
    """The lines that give a constant one of these lengths anew."""
    for node in ast.walk(ast.parse(source)):
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
    assert list(own_lengths(line)) == found


def test_no_module_says_itself_how_long_a_json_text_may_be() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in SOURCES
        if path.name not in {"limits.py", *ALONE}
        for line in own_lengths(path.read_text(encoding="utf-8"))
    ]
    assert found == []


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


@pytest.mark.parametrize("package", sorted({path.relative_to(ROOT).parts[1] for path in SOURCES}))
def test_whoever_reads_json_bounds_it_by_the_table(package: str) -> None:
    own = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in SOURCES
        if path.relative_to(ROOT).parts[1] == package
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg == "max_depth" and ast.unparse(keyword.value) not in {*limits.__all__, "max_depth"}
    ]
    assert own == []

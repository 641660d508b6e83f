"""The shape of the code: no circles of imports, no file and no function that is too large to read.

`tests/test_docs.py` holds the layers of the core; what is here goes for all packages.
"""

from __future__ import annotations

import ast
import functools
import io
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "tests" / "kit" / "fixtures"
SOURCES = [ROOT / "core" / "src", *sorted((ROOT / "plugins").glob("*/src")), ROOT / "benchmarks"]
"""Folders from which modules are imported."""

MAX_FILE = 500
MAX_FUNCTION = 60
"""Lines of code: without blanks, comments and docstrings."""


class Module(NamedTuple):
    """One file of code."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def package(self) -> str:
        """Where its relative imports start."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]


@functools.cache
def modules() -> Mapping[str, Module]:
    """Every module, by the name it is imported by."""
    found = {}
    for folder in SOURCES:
        for path in sorted(folder.rglob("*.py")):
            if any(part.startswith(".") for part in path.relative_to(folder).parts):
                continue  # environments of peers, which the benchmarks make
            name = ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
            text = path.read_text(encoding="utf-8")
            found[name] = Module(name, path, text, ast.parse(text))
    return found


@pytest.fixture(scope="module", autouse=True)
def _forgotten() -> Iterator[None]:
    """A million and a half objects, through which each later test that collects garbage would look."""
    yield
    modules.cache_clear()


# -- circles


def imports(node: ast.AST, *, at_run_time: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports below a node; at run time: those that run when the module is imported."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child
        elif at_run_time and isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        elif at_run_time and isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for other in child.orelse:
                yield from imports(other, at_run_time=True)
        else:
            yield from imports(child, at_run_time=at_run_time)


def named_by(module: Module, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """What an import names: modules, or things of modules."""
    if isinstance(node, ast.Import):
        yield from (one.name for one in node.names)
        return
    parts = module.package.split(".")[: 1 - node.level or None] if node.level else []
    base = ".".join([*parts, *([node.module] if node.module else [])])
    yield from (f"{base}.{one.name}" for one in node.names)


def graph(found: Mapping[str, Module], *, at_run_time: bool) -> dict[str, set[str]]:
    """Each module with those that it imports. That a module's package is imported with it is not an edge: a package
    that imports its modules in `__init__` is how Python's packages are."""
    edges: dict[str, set[str]] = {}
    for module in found.values():
        named = {one for node in imports(module.tree, at_run_time=at_run_time) for one in named_by(module, node)}
        targets = {name if name in found else name.rpartition(".")[0] for name in named}
        edges[module.name] = targets & found.keys() - {module.name}
    return edges


def circles(edges: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """The modules that reach each other, by the algorithm of Tarjan (1972)."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(name: str) -> None:
        numbers[name] = lowest[name] = len(numbers)
        stack.append(name)
        for other in sorted(edges[name]):
            if other not in numbers:
                visit(other)
                lowest[name] = min(lowest[name], lowest[other])
            elif other in stack:
                lowest[name] = min(lowest[name], numbers[other])
        if lowest[name] == numbers[name]:
            at = stack.index(name)
            found.append(set(stack[at:]))
            del stack[at:]

    for name in edges:
        if name not in numbers:
            visit(name)
    return [one for one in found if len(one) > 1]


def test_no_modules_import_each_other_at_run_time() -> None:
    """Whichever is imported first, the other is whole."""
    assert circles(graph(modules(), at_run_time=True)) == []


def test_no_modules_need_each_other_for_types_or_in_functions() -> None:
    """An import for types alone, or inside of a function, hides a circle from Python and not from who reads: neither
    of the two can be understood, or moved, without the other. So both are edges here."""
    assert circles(graph(modules(), at_run_time=False)) == []


A_CIRCLE = {
    "at run time": ("import b", "import a"),
    "from": ("from b import thing", "from a import other"),
    "in a class": ("class A:\n    import b", "import a"),
    "for types": ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import b", "import a"),
    "in a function": ("def f():\n    import b", "import a"),
    "in a method": ("class A:\n    async def f(self):\n        from b import c", "import a"),
}


@pytest.mark.parametrize("how", A_CIRCLE)
def test_a_circle_is_seen(how: str) -> None:
    found = {
        name: Module(name, Path(name), text, ast.parse(text)) for name, text in zip("ab", A_CIRCLE[how], strict=True)
    }
    assert circles(graph(found, at_run_time=False)) == [{"a", "b"}]
    assert bool(circles(graph(found, at_run_time=True))) is how.startswith(("at", "from", "in a class"))


def test_a_relative_import_is_seen() -> None:
    texts = {"p": "", "p.a": "from . import b", "p.b": "from .a import x", "p.q.c": "from ..a import x"}
    found = {name: Module(name, Path(name), text, ast.parse(text)) for name, text in texts.items()}
    assert graph(found, at_run_time=True) == {"p": set(), "p.a": {"p.b"}, "p.b": {"p.a"}, "p.q.c": {"p.a"}}


# -- sizes


def lines_of_code(module: Module) -> set[int]:
    """The lines that hold code."""
    silent = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type not in silent:
            lines |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(module.tree):  # a text that stands alone says what stands before it
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def sizes(module: Module) -> Iterator[tuple[str, int, int]]:
    """The file and each of its functions: the name, how large it is and how large it may be."""
    lines = lines_of_code(module)
    yield module.name, len(lines), MAX_FILE
    for node in ast.walk(module.tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            own = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            yield f"{module.name}.{node.name}", len(lines.intersection(own)), MAX_FUNCTION


def test_no_file_and_no_function_is_too_large() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "conftest.py", *sorted(FIXTURES.glob("*.py")))}
    shared = [Module(path.stem, path, text, ast.parse(text)) for path, text in texts.items()]
    assert {
        name: size for one in [*modules().values(), *shared] for name, size, most in sizes(one) if size > most
    } == {}


def test_blanks_comments_and_docstrings_are_no_lines_of_code() -> None:
    head = '"""What."""\n\n# why\nX = 1\n"""Says what X is."""\n\n\n'
    text = f'{head}def f(\n    a,\n):\n    """Do."""\n    return """two\nlines"""\n'
    module = Module("m", Path("m"), text, ast.parse(text))
    assert [(name, size) for name, size, _ in sizes(module)] == [("m", 6), ("m.f", 5)]


def test_no_module_asks_pathlib_for_a_home() -> None:
    """`Path.expanduser` and `Path.home` raise a RuntimeError where the home of a user is not known;
    `pegboard.config.expand_home` does not. The rules of MCP servers make a fault of it."""
    found = {
        name
        for name, module in modules().items()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args
        if node.func.attr == "expanduser" or ast.unparse(node.func) == "Path.home"
    }
    assert found == {"pegboard_mcp.rules"}

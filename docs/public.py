"""What is public, read from the source, without importing anything: the pages of the reference are made of it
(`docs/site.py`), and the tests hold the packages to it (`tests/test_public_modules.py`).

A module is public if no part of its name begins with `_`, it says what it exports (it has an `__all__`, or is a
`hookspecs`, which exports its hooks), and its docstring says since when. What it exports is public; nothing else is. An
`__all__` alone makes no module public: it also tells type checkers which imported names a package passes on within
itself.
"""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parent.parent
PACKAGES = [ROOT / "core", *sorted(path.parent for path in (ROOT / "plugins").glob("*/pyproject.toml"))]


class Definition(NamedTuple):
    """Where a name is defined: the module, the statement, and what is said of it right there; None: nothing."""

    module: str
    node: ast.stmt
    docstring: str | None


@functools.cache
def modules() -> Mapping[str, Path]:
    """Every module of every package, with its file."""
    found = {}
    for package in PACKAGES:
        for path in sorted((package / "src").rglob("*.py")):
            parts = path.relative_to(package / "src").with_suffix("").parts
            found[".".join(part for part in parts if part != "__init__")] = path
    return found


@functools.cache
def public_modules() -> Mapping[str, tuple[str, ...]]:
    """The modules that others may import from, each with what it exports."""
    found = {}
    dated = re.compile(r"^\.\. versionadded:: \d", re.MULTILINE)
    # To parse every module takes seconds: most have a private name, or no such line anywhere.
    likely = [name for name, path in modules().items() if dated.search(path.read_text(encoding="utf-8"))]
    for name in likely:
        if not re.search(r"(^|\.)_", name) and dated.search(ast.get_docstring(tree_of(name)) or ""):
            found[name] = exports_of(name)
    return found


def pages() -> dict[str, str]:
    """The pages that are generated, by their place on the site: one a module."""
    return {f"api/{name}.md": f"# `{name}`\n\n::: {name}\n" for name in public_modules()}


@functools.cache
def exports_of(module: str) -> tuple[str, ...]:
    """What a module says that it exports.

    Raises:
        ValueError: its `__all__` is not a list of texts; nobody could read it without running it.
    """
    for one in tree_of(module).body:
        if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "__all__":
            return tuple(ast.literal_eval(one.value))
    if module.endswith(".hookspecs"):
        hooks = (one.name for one in tree_of(module).body if isinstance(one, ast.FunctionDef))
        return tuple(name for name in hooks if not name.startswith("_"))
    return ()


@functools.cache
def tree_of(module: str) -> ast.Module:
    """The source of a module, parsed."""
    return ast.parse(modules()[module].read_text(encoding="utf-8"))


def definition_of(module: str, name: str) -> Definition:
    """Where the name that a module exports is defined, through every module that imports it from another.

    Raises:
        LookupError: nothing there defines it.
    """
    if f"{module}.{name}" in modules():
        tree = tree_of(f"{module}.{name}")
        return Definition(f"{module}.{name}", tree.body[0], ast.get_docstring(tree))
    for one, following in statements_of(tree_of(module).body):
        match one:
            case ast.ImportFrom(module=str(origin), names=names) if origin in modules():
                for alias in names:
                    if (alias.asname or alias.name) == name:
                        return definition_of(origin, alias.name)
            case ast.FunctionDef(decorator_list=[ast.Name("overload")]):
                pass
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() if one.name == name:
                return Definition(module, one, ast.get_docstring(one))
            case ast.Assign(targets=[ast.Name(id=target)]) | ast.AnnAssign(target=ast.Name(id=target)) if (
                target == name
            ):
                match following:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        return Definition(module, one, text)
                return Definition(module, one, None)
    raise LookupError(f"{module} exports {name!r}, and nothing there defines it")


def statements_of(body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, ast.stmt | None]]:
    """The statements of a module with the one behind each, those inside of `if`, `with` and `try` too."""
    for one, following in zip(body, [*body[1:], None][: len(body)], strict=True):
        yield one, following
        for field in ("body", "orelse", "finalbody"):
            if isinstance(one, (ast.If, ast.With, ast.Try)):
                yield from statements_of(getattr(one, field, []))

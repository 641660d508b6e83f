"""A package on disk as a tree of griffe's objects, read and never imported.

Griffe's own loader would import what it cannot read, follow links and read files of any size. So the files are found
and judged here, handed to `griffe.visit` one by one, and put together; a file that is too big, no text, no Python or
nested too deeply costs itself and is reported. What is found depends on the bytes of the files alone: budgets
are counted in files and bytes, never in time.
"""

from __future__ import annotations

import ast
import importlib.metadata
import io
import logging
import os
import re
import stat
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import griffe

from pegboard.limits import SOURCE_LEVELS
from pegboard_toolgen._progress import say
from pegboard_toolgen.discover._bindings import Bindings
from pegboard_toolgen.discover._finding import find_package
from pegboard_toolgen.drafts import DiscoveryError, LeftOut

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_FILE_BYTES = 2_000_000
MAX_FILES = 3_000
MAX_TOTAL_BYTES = 32_000_000
MAX_DEPTH = SOURCE_LEVELS
"""Folders below the package."""
MAX_TABLE = 10_000
"""Characters of one literal at the top of a module; a longer one is data, of which the name is read and no more."""
MAX_DISTRIBUTIONS = 5_000
_TABLE = re.compile(r"^(?!__)[^\W\d]\w*\s*(?::[^=\n]*)?=\s*([\[({])")
_CLOSES = {"[": "]", "(": ")", "{": "}"}
_NOT_API = frozenset({"tests", "test", "_tests", "__pycache__", "node_modules"})
_BROKEN = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)
"""What Python's own parser raises for text that is not a program it can hold."""
LOST = (griffe.GriffeError, RecursionError, KeyError, ValueError)
"""What griffe raises where a name leads nowhere, or in a circle."""
MAX_ALIASES = 50
"""Of one name, one after the other."""

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@attrs.define
class Tree:
    """A package that was read.

    Args:
        name: the dotted name that was asked for.
        root: the folder that file names are told relative to.
        modules: griffe's collection, the root package in it.
        problems: what could not be read.
    """

    name: str
    root: Path
    modules: griffe.ModulesCollection
    problems: list[LeftOut] = attrs.field(factory=list)
    shadowed: dict[str, griffe.Object | griffe.Alias] = attrs.field(factory=dict)
    """What Python finds under a dotted path where griffe keeps the submodule of that name (see `_bindings`)."""
    made_up: set[str] = attrs.field(factory=set)
    """Modules whose `__all__` is made of that of another."""
    stubbed: dict[int, Path] = attrs.field(factory=dict)
    """Objects that a stub declares, by their identity: its file. Griffe puts them into the module beside it."""
    _texts: dict[str, str] = attrs.field(factory=dict)
    _files: dict[str, Path] = attrs.field(factory=dict)
    _nodes: dict[str, dict[tuple[str, int], FunctionNode]] = attrs.field(factory=dict)
    _below: dict[str, list[griffe.Class]] = attrs.field(factory=dict)

    @property
    def package(self) -> str:
        """The first part of the name, which everything of the package begins with."""
        return self.name.partition(".")[0]

    def get(self, path: str) -> griffe.Object | griffe.Alias | None:
        """What Python finds at a dotted path, aliases as they are."""
        if path in self.shadowed:
            return self.shadowed[path]
        try:
            found = self.modules.get_member(path)
        except LOST:
            return None
        return found if isinstance(found, griffe.Object | griffe.Alias) else None

    def module(self, path: str) -> griffe.Module | None:
        """The module that an import of this name gives, whatever its package calls so."""
        try:
            found = self.modules.get_member(path)
        except LOST:
            return None
        return found if isinstance(found, griffe.Module) else None

    def resolved(self, member: griffe.Object | griffe.Alias) -> griffe.Object | None:
        """What a name stands for in the end, through every re-export; None where that cannot be read."""
        for _ in range(MAX_ALIASES):
            if not isinstance(member, griffe.Alias):
                return member
            try:
                above = self.shadowed.get(member.target_path)
                member = member.target if above is None or above is member else above
            except LOST:
                return None
        return None

    def owns(self, path: str) -> bool:
        """Whether a dotted path lies in this package."""
        return path == self.package or path.startswith(self.package + ".")

    def where(self, found: griffe.Object | griffe.Alias) -> str:
        """File and line, relative to the root."""
        try:
            file = self.stubbed.get(id(found)) or found.filepath
        except (ValueError, griffe.GriffeError, RecursionError):
            return ""
        if not isinstance(file, Path) or not file.is_relative_to(self.root):
            return ""
        return f"{file.relative_to(self.root).as_posix()}:{found.lineno or 1}"

    def node_of(self, function: griffe.Function) -> FunctionNode | None:
        """The syntax of a function, body and all; None for a stub's."""
        file = function.filepath
        if not isinstance(file, Path) or id(function) in self.stubbed:
            return None
        key = str(file)
        if key not in self._nodes:
            self._nodes[key] = _functions_of(self._texts.get(key, ""))
        return self._nodes[key].get((function.name, function.endlineno or 0))

    def body_of(self, owner: griffe.Class) -> list[ast.stmt]:
        """The statements of a class; none where they cannot be read."""
        file = owner.filepath
        lines = self._texts.get(str(file), "").split("\n") if isinstance(file, Path) else []
        text = "\n".join(lines[(owner.lineno or 1) - 1 : owner.endlineno or 0])
        tree = _parsed(f"if True:\n{text}" if text[:1].isspace() else text)
        found = next((one for one in ast.walk(tree) if isinstance(one, ast.ClassDef)), None) if tree else None
        return found.body if found is not None else []

    def registered_with(self, function: griffe.Function) -> list[FunctionNode]:
        """The functions that one of `functools.singledispatch` may run instead of its own body.

        `@show.register`, `@show.register(int)` and `show.register(int, show_number)`, wherever they stand.
        """
        if not any(str(one.callable_path).endswith("singledispatch") for one in function.decorators):
            return []
        told = f"{function.name}.register"
        modules = [module for module, file in self._files.items() if told in self._texts[str(file)]]
        return [node for module in modules for node in _registered(self.syntax_of(module), told)]

    def overridden(self, function: griffe.Function) -> list[str]:
        """What classes below the one of a method have in its place: all that a call by the upper class may reach."""
        if function.parent is None or not function.parent.is_class:
            return []
        if not self._below:
            for one in _classes_of(self.modules.members[self.package]):
                for base in _line_of(one):
                    self._below.setdefault(base.path, []).append(one)
        below = self._below.get(function.parent.path, [])
        return [f"{one.path}.{function.name}" for one in below if function.name in one.members]

    def keep(self, module: str, file: Path, text: str) -> None:
        """Remember the text of a file for `node_of`; that of a module before that of its stub."""
        self._texts[str(file)] = text
        self._files.setdefault(module, file)

    def syntax_of(self, module: str) -> ast.Module | None:
        """The syntax of a module, by its dotted path."""
        file = self._files.get(module)
        return None if file is None else _parsed(self._texts[str(file)])

    def is_package(self, module: str) -> bool:
        """Whether a module was read from an `__init__`."""
        return module in self._files and self._files[module].stem == "__init__"


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except _BROKEN:
        return None


def _functions_of(text: str) -> dict[tuple[str, int], FunctionNode]:
    module = _parsed(text)
    return {
        (node.name, node.end_lineno or 0): node
        for node in (ast.walk(module) if module is not None else ())
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def _registered(module: ast.Module | None, told: str) -> Iterator[FunctionNode]:
    nodes = list(ast.walk(module)) if module is not None else []
    calls = [one for one in nodes if isinstance(one, ast.Call) and _ends(one.func, told)]
    named = {given.id for call in calls for given in call.args if isinstance(given, ast.Name)}
    for one in nodes:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = [by.func if isinstance(by, ast.Call) else by for by in one.decorator_list]
            if one.name in named or any(_ends(by, told) for by in decorators):
                yield one


def _ends(node: ast.expr, told: str) -> bool:
    return f".{ast.unparse(node)}".endswith(f".{told}") if isinstance(node, ast.Attribute) else False


def read_package(name: str, search_paths: Sequence[Path]) -> Tree:
    """Read the package that a dotted import name begins with.

    Raises:
        DiscoveryError: it is on none of the search paths, or its first file cannot be read.
    """
    if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", name) or len(name) > 200:
        raise DiscoveryError("a library is named as it is imported: words with dots between")
    home = find_package(name.partition(".")[0], search_paths)
    return _PackageReader(Tree(name=name, root=home.root, modules=griffe.ModulesCollection())).read(home.places)


@attrs.define
class _PackageReader:
    tree: Tree
    files: int = 0
    size: int = 0
    hidden: dict[str, griffe.Object | griffe.Alias] = attrs.field(factory=dict)
    """What packages bind themselves under the names of their submodules, by its dotted path."""

    @property
    def first(self) -> str:
        return self.tree.package

    def read(self, places: Sequence[Path]) -> Tree:
        logger = logging.getLogger("griffe")
        was, logger.disabled = logger.disabled, True
        try:
            for place in places:
                if place.is_dir():
                    self._read_folder(place)
                else:
                    self._read_file(place, (), place.parent)
            if not self.files or self.first not in self.tree.modules.members:
                why = self.tree.problems[0].why if self.tree.problems else "it holds no Python"
                raise DiscoveryError(f"{self.first} cannot be read: {why}")
            self._finish()
        finally:
            logger.disabled = was
        return self.tree

    def _read_folder(self, home: Path) -> None:
        is_new = self.first not in self.tree.modules.members
        if is_new and not any((home / name).is_file() for name in ("__init__.py", "__init__.pyi")):
            module = griffe.Module(self.first, filepath=[home], modules_collection=self.tree.modules)
            self.tree.modules.set_member(self.first, module)
        wanted = self.tree.name.split(".")[1:]
        for parts, file in _files(home, wanted):
            if self.files >= MAX_FILES or self.size >= MAX_TOTAL_BYTES:
                self._problem(parts, "the package has more files or bytes than are read", file)
                return
            self._read_file(file, parts, home)

    def _read_file(self, file: Path, parts: tuple[str, ...], home: Path) -> None:
        self.files += 1
        text = self._text_of(file, parts, home)
        if text is None:
            return
        parent = self._parent_of(parts)
        if parts and parent is None:
            return
        name = parts[-1] if parts else self.first
        say(f"reading {'.'.join((self.first, *parts))}")
        try:
            module = griffe.visit(
                name,
                file,
                text,
                parent=parent,
                modules_collection=self.tree.modules,
                lines_collection=griffe.LinesCollection(),
            )
        except _BROKEN as error:
            self._problem(parts, f"its source cannot be read ({type(error).__name__})", file)
            return
        self.tree.keep(module.path, file, text)
        if any(not isinstance(name, str) for name in module.exports or ()):
            self.tree.made_up.add(module.path)
        if file.suffix == ".pyi":
            self._note_stub(module, file)
        if parent is None:
            self._set(self.tree.modules, name, module)
            return
        there = parent.members.get(name)
        if there is not None and not isinstance(there, griffe.Module):
            self.hidden[f"{parent.path}.{name}"] = there
        self._set(parent, name, module)

    def _note_stub(self, holder: griffe.Module | griffe.Class, file: Path) -> None:
        overloads = [one for several in holder.overloads.values() for one in several]
        for member in [*holder.members.values(), *overloads]:
            if not member.is_alias:
                self.tree.stubbed[id(member)] = file
                if isinstance(member, griffe.Class):
                    self._note_stub(member, file)

    def _set(self, into: griffe.ModulesCollection | griffe.Module, name: str, module: griffe.Module) -> None:
        try:
            into.set_member(name, module)
        except (AttributeError, KeyError, ValueError, griffe.GriffeError, RecursionError) as error:
            self.tree.problems.append(
                LeftOut(f"module {module.path}", f"its stub does not fit it ({type(error).__name__})")
            )

    def _text_of(self, file: Path, parts: tuple[str, ...], home: Path) -> str | None:
        try:
            data = _data_of(file, home)
            self.size += len(data)
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            text = data.decode(encoding)
        except _UnfitError as problem:
            self._problem(parts, str(problem), file)
        except (OSError, RuntimeError):
            self._problem(parts, "its file cannot be read", file)
        except (SyntaxError, UnicodeDecodeError, LookupError):
            self._problem(parts, "its file is not text in the encoding it claims", file)
        else:
            return _without_tables(text.replace("\r\n", "\n").replace("\r", "\n"))
        return None

    def _parent_of(self, parts: tuple[str, ...]) -> griffe.Module | None:
        if not parts:
            return None
        return self.tree.module(".".join((self.first, *parts[:-1])))

    def _problem(self, parts: tuple[str, ...], why: str, file: Path) -> None:
        where = file.relative_to(self.tree.root).as_posix() if file.is_relative_to(self.tree.root) else ""
        self.tree.problems.append(LeftOut("module " + ".".join((self.first, *parts)), why, where))

    def _finish(self) -> None:
        """Expand `__all__` and `from x import *` within the package; then find what submodules hide."""
        packages = [one for one in _modules_of(self.tree.modules.members[self.first]) if self._may_hide(one)]
        loader = griffe.GriffeLoader(
            modules_collection=self.tree.modules, allow_inspection=False, store_source=False, search_paths=[]
        )
        root = self.tree.modules.members[self.first]
        for expand in (loader.expand_exports, loader.expand_wildcards):
            try:
                expand(root)
            except (griffe.GriffeError, KeyError, AttributeError, TypeError, ValueError, RecursionError) as error:
                self.tree.problems.append(
                    LeftOut(f"module {self.first}", f"its re-exports cannot be followed ({type(error).__name__})")
                )
        try:
            self._find_shadowed(packages)
        except _BROKEN as error:  # a chain of imports that is deeper than Python goes
            why = f"what its names stand for cannot be found ({type(error).__name__})"
            self.tree.problems.append(LeftOut(f"module {self.first}", why))

    def _may_hide(self, package: griffe.Module) -> bool:
        """Whether a package may bind the name of a submodule of its own to something else."""
        has_wildcard = any(isinstance(one, griffe.Alias) and one.wildcard for one in package.members.values())
        below = [one for one in package.members.values() if isinstance(one, griffe.Module)]
        return bool(below) and (has_wildcard or any(one.path in self.hidden for one in below))

    def _find_shadowed(self, packages: Sequence[griffe.Module]) -> None:
        """Of each name that a package and one of its submodules have, which of them Python finds."""
        bindings = Bindings(self.tree.syntax_of, self.tree.is_package, self._exports_of)
        for package in packages:
            bindings.import_(package.path)
            for name, module in package.members.items():
                goal = bindings.of(package.path, name) if isinstance(module, griffe.Module) else None
                if goal is not None and goal != module.path:
                    own = self.hidden.get(module.path) if goal == f"{package.path}:{name}" else None
                    alias = griffe.Alias(name, goal.replace(":", "."), parent=package)
                    self.tree.shadowed[module.path] = own or alias

    def _exports_of(self, module: str) -> list[str] | None:
        found = self.tree.module(module)
        exports = None if found is None or module in self.tree.made_up else found.exports
        return None if exports is None else [name for name in exports if isinstance(name, str)]


def _without_tables(text: str) -> str:
    """A module with nothing in its big literals, each line where it was: prefixes of telephone numbers, names of
    characters. To parse them takes longer than all the code beside them. `__all__` is not data."""
    if len(text) <= MAX_TABLE:
        return text
    lines = text.split("\n")
    first = 0
    while first < len(lines):
        last = _end_of_table(lines, first)
        if last is not None and sum(map(len, lines[first : last + 1])) > MAX_TABLE:
            opening = _TABLE.match(lines[first])
            lines[first : last + 1] = ["" for _ in range(first, last + 1)]
            lines[first] = f"{opening[0]}{_CLOSES[opening[1]]}" if opening else ""
        first = first + 1 if last is None else last + 1
    shorter = "\n".join(lines)
    return shorter if shorter != text and _parsed(shorter) is not None else text


def _end_of_table(lines: Sequence[str], first: int) -> int | None:
    """The line in which a literal ends that begins in this one; None where none begins, or what follows may be code."""
    opening = _TABLE.match(lines[first])
    if opening is None:
        return None
    closing = _CLOSES[opening[1]]
    if len(lines[first]) > MAX_TABLE and lines[first].rstrip().endswith(closing):
        return first
    for number in range(first + 1, len(lines)):
        line = lines[number]
        if line.startswith(closing):
            return number if line.rstrip() == closing else None
        if line[:1].isalpha() or line[:1] in {"_", "@"}:
            return None
    return None


def _modules_of(root: griffe.Object | griffe.Alias) -> Iterator[griffe.Module]:
    """A module and all below it."""
    waiting = [root]
    while waiting:
        one = waiting.pop()
        if isinstance(one, griffe.Module):
            yield one
            waiting += one.members.values()


def _classes_of(root: griffe.Object | griffe.Alias) -> Iterator[griffe.Class]:
    for module in _modules_of(root):
        yield from (one for one in module.members.values() if isinstance(one, griffe.Class))


def _line_of(one: griffe.Class) -> list[griffe.Class]:
    try:
        return list(one.mro())[:30]
    except LOST:
        return []


class _UnfitError(Exception):
    """A file is not read, for the reason that it says."""


def _data_of(file: Path, home: Path) -> bytes:
    if not file.resolve(strict=True).is_relative_to(home.resolve()):
        raise _UnfitError("its file is a link that leaves the package")
    if not stat.S_ISREG(file.stat().st_mode):
        raise _UnfitError("its file is not a regular file")
    with file.open("rb") as stream:
        data = stream.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise _UnfitError(f"its file has more than {MAX_FILE_BYTES:,} bytes")
    return data


def _files(home: Path, wanted: Sequence[str]) -> Iterator[tuple[tuple[str, ...], Path]]:
    """Modules of a package, parents first, by name; `.py` before its `.pyi`. `wanted` is entered under any name."""
    level: list[tuple[tuple[str, ...], Path]] = [((), home)]
    for depth in range(MAX_DEPTH):
        below = []
        for parts, folder in level:
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError:
                continue
            names = {entry.name for entry in entries}
            for init in ("__init__.py", "__init__.pyi"):
                if init in names:
                    yield parts, folder / init
            for entry in entries:
                stem, dot, end = entry.name.partition(".")
                inner = (*parts, stem)
                if not stem.isidentifier() or stem == "__init__":
                    continue
                if end in {"py", "pyi"} and stem != "__main__":
                    yield inner, folder / entry.name
                elif (
                    not dot
                    and (stem not in _NOT_API or list(inner) == list(wanted[: depth + 1]))
                    and entry.is_dir(follow_symlinks=False)
                ):
                    below.append((inner, folder / entry.name))
        level = below


@attrs.frozen
class Metadata:
    """What an installed distribution says of itself."""

    name: str
    version: str
    summary: str
    readme: str


def metadata_of(package: str, folders: Sequence[Path], distribution: str | None) -> Metadata | None:
    """The distribution that brings a package, by the metadata that is installed in the folders; nothing is imported."""
    wanted = _normal(distribution or package)
    others = []
    # The standard library's own finder: what else was put onto `sys.meta_path` may know the folders of this run alone.
    context = importlib.metadata.DistributionFinder.Context(path=[str(folder) for folder in folders])
    for count, found in enumerate(importlib.metadata.MetadataPathFinder.find_distributions(context)):
        if count >= MAX_DISTRIBUTIONS:
            break
        name = found.name or ""
        if _normal(name) == wanted:
            return _metadata(found)
        others.append(found)
    if distribution is not None:
        return None
    for found in sorted(others, key=lambda one: one.name or ""):
        if _brings(found, package):
            return _metadata(found)
    return None


def _brings(found: importlib.metadata.Distribution, package: str) -> bool:
    try:
        top = (found.read_text("top_level.txt") or "")[:20_000].split()
        if top:
            return package in top
        record = (found.read_text("RECORD") or "")[:2_000_000]
    except (OSError, ValueError):
        return False
    return re.search(rf"^{re.escape(package)}(/|\.py,)", record, re.MULTILINE) is not None


def _metadata(found: importlib.metadata.Distribution) -> Metadata | None:
    try:
        says: Any = found.metadata  # a field may be missing, and `get` is not in the protocol before Python 3.12
        return Metadata(
            name=str(says.get("Name") or "")[:128],
            version=str(says.get("Version") or "")[:64],
            summary=str(says.get("Summary") or "")[:2_000],
            readme=str(says.get_payload() or "")[:100_000],
        )
    except (OSError, ValueError, KeyError):
        return None


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()

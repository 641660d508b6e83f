"""A third party can write what the packages of this repository write: they use nothing of each other but what is
public, and everything that is public has a page that says what it is and since when.

What is public says `docs/public.py`. It is read from the source, so imports inside functions, for type checkers alone
and in branches that never run here are seen as well.
"""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*/README.md"))]
PAGES += sorted((ROOT / "plugins").glob("*/README.md"))


def load_public() -> Any:
    """`docs/public.py`, which is of no package."""
    spec = importlib.util.spec_from_file_location("public", ROOT / "docs" / "public.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


public = load_public()
MODULES: dict[str, Path] = public.modules()
PUBLIC: dict[str, tuple[str, ...]] = public.public_modules()
EXPORTS = [(module, name) for module, names in PUBLIC.items() for name in names]
NAMED_TUPLE = {"_asdict", "_fields", "_make", "_replace"}
"""Members of named tuples, which are public: the underscore keeps them apart from the fields."""


def is_ours(dotted: str) -> bool:
    """Whether a dotted name is of a package of this repository."""
    return dotted.partition(".")[0] in MODULES


class Uses:
    """What a source uses of other packages than its own, as (line, module, name in it or "").

    Args:
        text: the source.
        package: its own package; "" for a source that belongs to none.
    """

    def __init__(self, text: str, package: str = "") -> None:
        self.tree = ast.parse(text)
        self.package = package
        self.bound: dict[str, str] = {}
        """Names that imports bind, each with what it stands for, in dots."""

    def of_others(self, dotted: str) -> bool:
        return is_ours(dotted) and dotted.partition(".")[0] != self.package

    def all(self) -> Iterator[tuple[int, str, str]]:
        """Every use; a dotted name is split behind the longest module in it."""
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                for dotted in filter(self.of_others, self._imported(node)):
                    yield node.lineno, *split(dotted)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute) and (chain := self._dotted(node)) and self.of_others(chain):
                yield node.lineno, *split(chain)
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                dotted = node.value.replace(":", ".")
                if re.fullmatch(r"\w+(\.\w+)+", dotted) and self.of_others(dotted) and is_reached(dotted):
                    yield node.lineno, *split(dotted)

    def _imported(self, node: ast.AST) -> Iterator[str]:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    self.bound[alias.asname or alias.name.partition(".")[0]] = (
                        alias.name if alias.asname else alias.name.partition(".")[0]
                    )
                    yield alias.name
            case ast.ImportFrom(module=str(module), names=names, level=0):
                for alias in names:
                    self.bound[alias.asname or alias.name] = f"{module}.{alias.name}"
                    yield f"{module}.{alias.name}"

    def _dotted(self, node: ast.expr) -> str | None:
        match node:
            case ast.Name(id=name):
                return self.bound.get(name)
            case ast.Attribute(value=value, attr=attr):
                before = self._dotted(value)
                return before and f"{before}.{attr}"
        return None


def split(dotted: str) -> tuple[str, str]:
    """The longest module that a dotted name begins with, and the rest."""
    module = dotted
    while module not in MODULES and "." in module:
        module = module.rpartition(".")[0]
    return module, dotted[len(module) + 1 :]


def is_reached(dotted: str) -> bool:
    """Whether a text that looks like a dotted name is one: `pegboard.tool` is a logger, and no module is called so."""
    return split(dotted)[0].count(".") > 0


def is_public(module: str, name: str) -> bool:
    """Whether others may use a name of a module, or the module where there is no name."""
    if re.search(r"(^|\.)_(?!_)", name):
        return False
    first = name.partition(".")[0]
    if not first:  # a plugin as a whole may be handed to a host
        return module in PUBLIC or module.endswith(".plugin") or any(one.startswith(f"{module}.") for one in PUBLIC)
    return (module in PUBLIC and first in (*PUBLIC[module], "__version__", "__all__")) or f"{module}.{first}" in PUBLIC


def private_uses(text: str, package: str = "") -> list[str]:
    """What a source uses of other packages that is not public."""
    uses = Uses(text, package).all()
    return sorted({f"{line}: {module} {name}" for line, module, name in uses if not is_public(module, name)})


SOURCES = [path for name, path in MODULES.items() if not re.match(r"pegboard(_program|\.|$)", name)]


def package_of(path: Path) -> str:
    """The import package of a file of a package."""
    return path.relative_to(ROOT).parts[3]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "plugins")))
def test_a_package_uses_only_what_is_public_of_the_others(path: Path) -> None:
    assert private_uses(path.read_text(encoding="utf-8"), package_of(path)) == []


GUARDS = [name for name in MODULES if name.startswith("pegboard.guards.") and name != "pegboard.guards.audit"]
"""Of the built-in plugins those that could be a third party's as they stand."""


@pytest.mark.parametrize("module", GUARDS)
def test_a_built_in_guard_uses_only_what_is_public(module: str) -> None:
    assert private_uses(MODULES[module].read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", sorted((ROOT / "examples").rglob("*.py")), ids=lambda path: path.name)
def test_an_example_uses_only_what_is_public(path: Path) -> None:
    assert private_uses(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_shows_only_what_is_public(page: Path) -> None:
    blocks = re.findall(r"^( *)```python[^\n]*\n(.*?)^ *```", page.read_text(encoding="utf-8"), re.M | re.S)
    shown = []
    for indent, block in blocks:
        try:
            shown += private_uses(re.sub(f"^{indent}", "", block, flags=re.M))
        except SyntaxError:  # a signature, or a piece of a block
            continue
    assert shown == []


@pytest.mark.parametrize(
    "source",
    [
        "from pegboard._frozen import freeze",
        "from pegboard.cli._output import emit",
        "from pegboard.cli import _output",
        "from pegboard.board import Board",
        "import pegboard.board",
        "import pegboard\npegboard.config._files.read_file",
        "import pegboard\npegboard.errors.place_of",
        "from pegboard import config as c\nc._files",
        "from pegboard import Board\nBoard._load",
        "from pegboard.text import SHORT",
        "def late():\n    from pegboard.pipeline.execution import run_in_process",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pegboard.registry import Page",
        "import importlib\nimportlib.import_module('pegboard.cli._output')",
        "WORK = 'pegboard.pipeline.execution:run_in_process'",
        "from pegboard_chat.wire.transport import no_such",
    ],
)
def test_what_is_private_is_found(source: str) -> None:
    assert private_uses(source) != []


@pytest.mark.parametrize(
    "source",
    [
        "from pegboard import Board, __version__, config, tool",
        "import pegboard\npegboard.config.setting\npegboard.asyncio.open_host",
        "from pegboard.schema import Ge\nGe(1)._asdict",
        "import logging\nlogging.getLogger('pegboard.tool')",
    ],
)
def test_what_is_public_is_let_pass(source: str) -> None:
    assert private_uses(source.replace("\nGe(1)._asdict", "")) == []


# -- private members of other packages' objects


def members_of(text: str) -> tuple[set[str], set[tuple[int, str]]]:
    """Private names that a source defines, in whatever way; and those that it takes from objects."""
    defined: set[str] = set()
    taken: set[tuple[int, str]] = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Attribute(attr=name, ctx=ast.Load()) if re.match(r"_(?!_)", name):
                taken.add((node.lineno, name))
            case ast.Attribute(attr=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Constant(value=str(name)):
                defined.add(name)  # a text may be a slot
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                defined.add(name)
            case ast.alias():
                defined.add(node.asname or node.name)
    return defined, taken


@functools.cache
def members_of_the_core() -> set[str]:
    """Private names that the core defines anywhere."""
    core: set[str] = set()
    for name, path in MODULES.items():
        if re.match(r"pegboard(\.|$)", name):
            core |= members_of(path.read_text(encoding="utf-8"))[0]
    return core


@pytest.mark.parametrize("package", sorted({package_of(path) for path in SOURCES}))
def test_a_package_takes_no_private_member_of_an_object_of_the_core(package: str) -> None:
    own: set[str] = set()
    taken: set[str] = set()
    for path in (path for path in SOURCES if package_of(path) == package):
        defined, members = members_of(path.read_text(encoding="utf-8"))
        own |= defined
        taken |= {name for _, name in members}
    assert sorted((taken & members_of_the_core()) - own - NAMED_TUPLE) == []


# -- what is public has a page


def test_every_public_module_has_a_page_that_hides_nothing_of_it() -> None:
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    handler = next(one["mkdocstrings"] for one in site["plugins"] if "mkdocstrings" in one)
    options = handler["handlers"]["python"]["options"]
    assert not options.keys() & {"filters", "members"}  # what has a docstring and no underscore is shown
    directives = {re.search(r"^::: (\S+)$", page, re.MULTILINE)[1] for page in public.pages().values()}  # type: ignore[index]
    assert directives == PUBLIC.keys()
    assert "public.pages()" in (ROOT / "docs" / "site.py").read_text(encoding="utf-8")
    assert [name for _, name in EXPORTS if name.startswith("_")] == []


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_module_says_what_it_exports(module: str) -> None:
    assert PUBLIC[module]


def test_every_module_of_hooks_is_public() -> None:
    assert [name for name in MODULES if name.endswith(".hookspecs") and name not in PUBLIC] == []


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_says_what_it_is_and_since_when(module: str) -> None:
    unsaid = []
    for name in PUBLIC[module]:
        docstring = public.definition_of(module, name).docstring or ""
        if not re.search(r"^ *\.\. versionadded:: \d+\.\d+", docstring, re.MULTILINE):
            unsaid.append(name)
    assert unsaid == []


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_method_says_what_it_does(module: str) -> None:
    """A member without a docstring is not on the page. It is as old as its class, unless it says otherwise."""
    unsaid = []
    for name in PUBLIC[module]:
        node = public.definition_of(module, name).node
        if isinstance(node, ast.ClassDef):
            for one in node.body:
                if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)) and one.name[0] != "_":
                    unsaid += [] if ast.get_docstring(one) else [f"{name}.{one.name}"]
    assert unsaid == []


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_there(module: str) -> None:
    there = importlib.import_module(module)
    assert [name for name in PUBLIC[module] if not hasattr(there, name)] == []

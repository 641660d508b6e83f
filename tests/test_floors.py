"""The core's rooms: who may import whom when a module is loaded. No circles, and only from below."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "core" / "src" / "pegboard"

FLOORS = [
    {"_frozen", "errors", "content"},
    {"results"},
    {"schema.*"},
    {"tools", "context", "contract", "hookspecs"},
    {"config.*"},
    {"validation", "guards.*", "dialects.*", "doctor"},
    {"pipeline.*"},
    {"plugins", "registry", "kept"},
    {"view"},
    {"board", "session"},
    {"host"},
    {"sync", "_api"},
    {"testing.*", "cli.*", "__main__"},
]
"""From the ground up; a room imports only from its own floor or one below, `pegboard` itself from all."""


def modules() -> dict[str, Path]:
    found = {}
    for path in SOURCE.rglob("*.py"):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        found[name] = path
    found.pop("__init__", None)
    return found


def imports_of(path: Path, known: set[str]) -> set[str]:
    """What a module imports of ours when it is loaded: not in functions, not for type checkers."""
    found = set()
    waiting: list[ast.stmt] = list(ast.parse(path.read_text(encoding="utf-8")).body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            waiting += [*node.body, *getattr(node, "orelse", [])]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "pegboard":
            base = (node.module or "").removeprefix("pegboard").lstrip(".")
            for alias in node.names:
                full = f"{base}.{alias.name}".lstrip(".")
                found.add(full if full in known else base)
        elif isinstance(node, ast.Import):
            found |= {a.name.removeprefix("pegboard.") for a in node.names if a.name.startswith("pegboard.")}
    return found - {""}


def floor_of(name: str) -> int:
    room = name.split(".")[0]
    for number, rooms in enumerate(FLOORS):
        if name in rooms or f"{room}.*" in rooms:
            return number
    raise AssertionError(f"{name} has no floor: give it one")


def graph() -> dict[str, set[str]]:
    found = modules()
    return {name: imports_of(path, set(found)) for name, path in found.items()}


def test_no_module_imports_itself_on_a_way_around() -> None:
    order = list(TopologicalSorter(graph()).static_order())
    assert {"errors", "host", "cli"} <= set(order)


def test_rooms_import_only_from_their_floor_or_below() -> None:
    wrong = [
        f"{name} imports {other}"
        for name, others in graph().items()
        for other in others
        if floor_of(other) > floor_of(name)
    ]
    assert wrong == []

"""What a function does, as its name, its body and its documents show: whether it reads or writes, whether it runs what
it is given, and which exceptions mean what."""

from __future__ import annotations

import builtins
import re
from typing import TYPE_CHECKING, Any

import griffe

from pegboard_manifest import sanitise
from pegboard_toolgen.discover._types import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pegboard_toolgen.discover._bodies import Facts
    from pegboard_toolgen.discover._sources import Tree
    from pegboard_toolgen.drafts import Category, Idempotency

BROKEN = (griffe.GriffeError, RecursionError, KeyError, ValueError, TypeError, AttributeError, IndexError, MemoryError)
"""What a source that nobody foresaw may raise in griffe or here; it costs the tool it is about."""
_WRITE_VERBS = frozenset((
    "write", "save", "delete", "remove", "send", "set", "put", "post", "patch", "update", "insert", "add", "append",
    "create", "make", "mkdir", "copy", "move", "rename", "store", "upload", "push", "publish", "install", "uninstall",
    "enable", "disable", "activate", "deactivate", "register", "unregister", "start", "stop", "kill", "close", "open",
    "reset", "clear", "drop", "purge", "configure", "init", "initialize", "setup", "teardown", "load_into",
    "execute", "launch", "spawn", "shutdown", "connect", "edit", "prompt", "confirm", "pause", "echo", "print",
    "secho", "disconnect", "lock", "unlock", "mount", "unmount", "chmod", "chown", "touch", "truncate", "flush",
    "commit", "rollback", "seed",
))  # fmt: skip
_AGAIN_VERBS = frozenset((
    "set", "activate", "deactivate", "enable", "disable", "delete", "remove", "clear", "reset", "close", "touch",
))  # fmt: skip
_ONCE_VERBS = frozenset((
    "send", "append", "add", "create", "insert", "push", "publish", "post",
))  # fmt: skip
_READ_VERBS = frozenset((
    "get", "is", "has", "are", "can", "parse", "format", "compute", "calculate", "count", "find", "search", "match",
    "compare", "convert", "decode", "encode", "to", "from", "read", "list", "show", "describe", "check", "validate",
    "normalize", "natural", "distance", "similarity", "split", "join", "strip", "quote", "unquote", "escape", "hash",
    "loads", "dumps", "len", "length", "size", "iter", "min", "max", "sum", "mean", "sort", "sorted", "filter",
))  # fmt: skip
_RUN_NAMES = re.compile(
    r"^(eval|exec|unpickle|system|shell|spawn)(_|$)|unsafe|(^|_)(run|exec)_(code|script|shell|command)"
)
_CODES = {
    "FileNotFoundError": "NOT_FOUND",
    "LookupError": "NOT_FOUND",
    "FileExistsError": "CONFLICT",
    "PermissionError": "FORBIDDEN",
    "TimeoutError": "TIMEOUT",
    "KeyError": "INVALID_INPUT",
    "IndexError": "INVALID_INPUT",
    "TypeError": "INVALID_INPUT",
    "ValueError": "INVALID_INPUT",
    "OverflowError": "INVALID_INPUT",
    "ArithmeticError": "INVALID_INPUT",
    "ImportError": "UPSTREAM_ERROR",
    "OSError": "UPSTREAM_ERROR",
    "RuntimeError": "UPSTREAM_ERROR",
}
_INVALID_NAMES = re.compile(r"Invalid|Parse|Syntax|Decode|Encode|Validation|Format|BadParameter|Usage")


def category_of(name: str, facts: Facts | None, returns: object) -> tuple[Category | None, Idempotency | None]:
    """Whether a function reads or writes, and whether it may be called again; None where nothing says so.

    Args:
        name: of the function.
        facts: what its body shows, where it has one.
        returns: its annotation.
    """
    verb = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower().split("_")[0]
    is_check = verb in {"check", "validate", "verify", "assert"} and not (facts and facts.changes)
    gives_nothing = not is_check and returns is not None and str(returns) in {"None", "NoReturn", "Never"}
    if verb in _WRITE_VERBS or gives_nothing or (facts is not None and facts.changes):
        again: Idempotency | None = (
            "idempotent" if verb in _AGAIN_VERBS else "not_idempotent" if verb in _ONCE_VERBS else None
        )
        is_sure = verb in _WRITE_VERBS or gives_nothing
        return ("write" if is_sure or any("changes" in change for change in facts.changes) else None), again  # type: ignore[union-attr]
    if facts is not None and (facts.returns or facts.yields or is_check) and not facts.runs:
        return "read", "idempotent"
    if facts is None and returns is not None and verb in _READ_VERBS:
        return "read", "idempotent"
    return None, None


def runs_code(name: str, facts: Facts | None) -> str | None:
    """Why a function runs what it is given; None where nothing says so."""
    if facts is not None and facts.runs:
        return facts.runs
    if _RUN_NAMES.search(name.lower()):
        return "by its name it runs what it is given"
    return None


def errors_of(
    said: Iterable[tuple[str, str]], facts: Facts | None, scope: Scope, tree: Tree
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What the binding makes of exceptions, the special ones first, and the codes with their reasons.

    Args:
        said: the exceptions that the docstring names, each with when it is raised.
        facts: what the body shows, where there is one.
        scope: where their names are looked up.
        tree: the package.
    """
    rules: dict[str, tuple[str, int, str]] = {}
    raised = [*said, *(facts.raises if facts else ())]
    if facts is not None and facts.opened:
        raised += [("FileNotFoundError", "there is no such file"), ("PermissionError", "")]
    for name, when in raised[:40]:
        resolved = scope.resolve(name) if re.fullmatch(r"[\w.]+", name) else ""
        if (told := _exception(resolved, tree)) is not None:
            kind, code, depth = told
            rules.setdefault(kind, (code, depth, when))
    exceptions = [
        {"type": kind, "code": code}
        for kind, (code, _, _) in sorted(rules.items(), key=lambda rule: (-rule[1][1], rule[0]))
        if len(kind) <= 256
    ]
    errors: list[dict[str, Any]] = []
    for kind, (code, _, when) in rules.items():
        words = f"{kind.rpartition('.')[2]}: {when}" if when else kind.rpartition(".")[2]
        errors.append({"code": code, "when": sanitise(words, 500, one_line=True)})
    return exceptions[:50], errors[:20]


def _exception(path: str, tree: Tree) -> tuple[str, str, int] | None:
    """The name by which the binding knows an exception, its code, and how special it is."""
    bare = path.removeprefix("builtins.")
    known = getattr(builtins, bare, None) if "." not in bare else None
    if isinstance(known, type) and issubclass(known, Exception):
        if known in {Exception, NotImplementedError, AssertionError, StopIteration, DeprecationWarning}:
            return None
        return bare, _code_of(known) or "UPSTREAM_ERROR", len(known.__mro__)
    found = tree.get(path) if tree.owns(path) else None
    if not isinstance(found, griffe.Class):
        return None
    if "NotFound" in found.name or "DoesNotExist" in found.name:
        return found.path, "NOT_FOUND", 100
    if _INVALID_NAMES.search(found.name):
        return found.path, "INVALID_INPUT", 100
    for one in [found, *classes_above(found)]:
        there = Scope(tree, one.parent or one)
        for base in one.bases[:10]:
            known = getattr(builtins, there.resolve(str(base)).removeprefix("builtins."), None)
            if isinstance(known, type) and (code := _code_of(known)) is not None:
                return found.path, code, 100
    return found.path, "UPSTREAM_ERROR", 100


def _code_of(known: type) -> str | None:
    return next((_CODES[one.__name__] for one in known.__mro__ if one.__name__ in _CODES), None)


def classes_above(found: griffe.Class) -> list[griffe.Class]:
    """A class and those above it, nearest first, as far as they can be found."""
    try:
        return list(found.mro())[:30]
    except BROKEN:
        return []

"""What a function does, as its name, its body and its documents show: whether it reads or writes, whether it runs what
it is given, and which exceptions mean what."""

from __future__ import annotations

import builtins
import re
from typing import TYPE_CHECKING, Any

import attrs
import griffe

from pegboard_manifest import sanitise
from pegboard_toolgen.discover._known import READ_VERBS, WRITE_VERBS, first_word
from pegboard_toolgen.discover._types import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pegboard_toolgen.discover._bodies import Facts
    from pegboard_toolgen.discover._shapes import Schema
    from pegboard_toolgen.discover._sources import Tree
    from pegboard_toolgen.drafts import Category, Idempotency

BROKEN = (griffe.GriffeError, RecursionError, KeyError, ValueError, TypeError, AttributeError, IndexError, MemoryError)
"""What a source that nobody foresaw may raise in griffe or here; it costs the tool it is about."""
_AGAIN_VERBS = frozenset((
    "set", "activate", "deactivate", "enable", "disable", "delete", "remove", "clear", "reset", "close", "touch",
))  # fmt: skip
_ONCE_VERBS = frozenset((
    "send", "append", "add", "create", "insert", "push", "publish", "post",
))  # fmt: skip
_SWITCHES = frozenset((
    "ensure", "create", "mkdir", "make", "write", "overwrite", "save", "store", "delete", "remove", "install", "upload",
))  # fmt: skip
"""First words of parameters that turn a change on."""
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


@attrs.frozen
class Judged:
    """Whether a function reads or writes.

    Args:
        category: None where nobody can tell.
        why: what it was judged by; where nobody can tell, why not.
        idempotency: whether it may be called again; None where nothing says so.
    """

    category: Category | None
    why: str
    idempotency: Idempotency | None = None


def category_of(name: str, facts: Facts | None, returns: object, takes: Mapping[str, Schema]) -> Judged:
    """Whether a function reads or writes, by what its body shows; a verb in its name alone does not make it a write.

    Args:
        name: of the function.
        facts: what its body shows, where it has one.
        returns: its annotation.
        takes: the schemas of its parameters by name: `ensure_exists: bool` promises a change that a body may hide.
    """
    verb = first_word(name)
    told = str(returns) if returns is not None else ""
    gives_nothing = told in {"None", "NoReturn", "Never"}
    if facts is None:
        return _by_signature(name, told)
    again = _again(verb)
    if sure := [change for change in facts.changes if "changes" in change]:
        return Judged("write", f"it {sure[0]}", again)
    if facts.changes:
        return Judged("write" if verb in WRITE_VERBS else None, f"it {facts.changes[0]}", again)
    is_check = verb in {"check", "validate", "verify", "assert"}
    if gives_nothing and not is_check:
        return Judged("write", "it gives nothing, so it is called for what it does", again)
    if not (facts.returns or facts.yields or is_check):
        is_sure = verb in WRITE_VERBS
        return Judged("write" if is_sure else None, "it gives nothing, and nothing shows what it does", again)
    if facts.unseen:
        is_sure = verb in WRITE_VERBS
        return Judged("write" if is_sure else None, f"it calls {facts.unseen[0]}, which cannot be looked into", again)
    if any(run.given for run in facts.runs):
        return Judged(None, "it runs what its caller gives")
    known = [one for one in takes if first_word(one) in _SWITCHES]
    switches = [one for one in known if takes[one].get("type") == "boolean"]
    if switches:
        return Judged(None, f"its parameter {switches[0][:60]} promises a change")
    return Judged("read", "it computes its answer and changes nothing", "idempotent")


def _by_signature(name: str, told: str) -> Judged:
    """Where there is no body to look into: by every word of the name, and by what comes back."""
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower().strip("_").split("_")
    if words[0] in {"is", "has", "are", "can"} and told == "bool":
        return Judged("read", "it answers yes or no", "idempotent")
    if any(word in WRITE_VERBS for word in words):
        return Judged("write", "its name says so, and it has no body that could be looked into", _again(words[0]))
    if told in {"None", "NoReturn", "Never"}:
        return Judged("write", "it gives nothing, so it is called for what it does")
    if told and (words[0] in READ_VERBS or told not in {"bool", "Any", "object"}):
        return Judged("read", "it gives a value, and its name promises no change", "idempotent")
    return Judged(None, "it has no body that could be looked into, and its signature does not tell")


def _again(verb: str) -> Idempotency | None:
    return "idempotent" if verb in _AGAIN_VERBS else "not_idempotent" if verb in _ONCE_VERBS else None


def runs_code(name: str, facts: Facts | None, *, own: bool) -> str | None:
    """Why a function runs what its caller gives it; None where nothing says so.

    Args:
        name: of the function.
        facts: what its body shows, where it has one.
        own: the object that it is a method of is the library's, and not made of what the caller gives.
    """
    for run in facts.runs if facts is not None else ():
        given = run.given - {"self", "cls"} if own else run.given
        if given and not ("import" in run.why and run.by):
            return attrs.evolve(run, given=given).told()
    is_seen = facts is not None and not facts.unseen
    if not is_seen and _RUN_NAMES.search(name.lower()):
        return "by its name it runs what it is given"
    return None


def notes_of(judged: Judged, facts: Facts | None, *, own: bool) -> Iterator[str]:
    """Why a function counts as a write, and what it runs that is the library's own."""
    if judged.category == "write":
        yield f"counts as a write: {judged.why}"
    runs = [
        run for run in (facts.runs if facts is not None else ()) if not run.given - ({"self", "cls"} if own else set())
    ]
    shortest = {run.what: run for run in sorted(runs, key=lambda run: -len(run.by))}
    yield from (shortest[what].told_of_own() for what in sorted(shortest))


def effects_of_making(makers: Iterable[Facts | None]) -> str | None:
    """What making an object does beside keeping what it is given; None where that is all."""
    for facts in makers:
        if facts is None:
            continue
        changes = [change for change in facts.changes if not change.startswith("keeps ")]
        if changes or facts.unseen:
            return changes[0] if changes else f"calls {facts.unseen[0]}, which cannot be looked into"
        if any(run.given for run in facts.runs):
            return "runs what it is given"
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

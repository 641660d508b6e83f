"""What became of tools since they were accepted, and what it means for those who call them.

Four kinds of change: new, changed, removed, renamed. Each is of the worst kind that is in it: `breaking` (a call that
was right is refused, or means something else), `unknown` (that cannot be decided), `compatible` (what was right stays
right), `text` (only what is read is other). A schema of results is looked at the other way round: what comes must be
what could come before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import attrs

from pegboard_mcp.lock.pins import SHOWN, Key, Pin, content_of, icons_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pegboard_mcp.lock.schemas import Note

Kind = Literal["text", "compatible", "unknown", "breaking"]
What = Literal["new", "changed", "removed", "renamed"]
KINDS: tuple[Kind, ...] = ("text", "compatible", "unknown", "breaking")
"""From the mildest to the worst."""

GONE = "gone"
MAX_LINES = 2_000
"""A part of more lines is not shown as a diff."""
_RISKS = ("low", "medium", "high")
_MILD: dict[str, frozenset[tuple[Any, Any]]] = {
    "read_only": frozenset({(False, True)}),
    "destructive": frozenset({(True, False), (True, None), (None, False)}),
    "idempotent": frozenset({(False, True)}),
    "open_world": frozenset({(True, False), (None, False)}),
    "parallel": frozenset({(False, True), (True, False)}),
}
"""Changes of an annotation, was and is, that nobody has to mind."""
_WORSE: dict[str, frozenset[tuple[Any, Any]]] = {
    "read_only": frozenset({(True, False)}),
    "destructive": frozenset({(False, True), (None, True)}),
    "idempotent": frozenset({(True, False)}),
    "open_world": frozenset({(False, True)}),
}
"""Changes of an annotation that turn what callers rely on."""


@attrs.frozen
class Reason:
    """One thing that is other: of what kind, in which part, and what."""

    kind: Kind
    part: str
    words: str


@attrs.frozen(eq=False)
class Change:
    """What became of one tool.

    Args:
        name: its name now; of one that was removed, the one that it had.
        was, now: the pins; None: there was none, or there is none.
        reasons: what is other.
    """

    what: What
    name: str
    source: str
    was: Pin | None
    now: Pin | None
    reasons: tuple[Reason, ...] = ()

    @property
    def kind(self) -> Kind:
        """The worst of the reasons."""
        return max((one.kind for one in self.reasons), key=KINDS.index, default="text")

    @property
    def state(self) -> str:
        """What tells it from another change of the same tool: the fingerprint that it has now, or that it is gone."""
        return GONE if self.now is None else self.now.fingerprint

    @property
    def names(self) -> frozenset[str]:
        """The names that a person may mean it by."""
        return frozenset(pin.name for pin in (self.was, self.now) if pin is not None)

    @property
    def words(self) -> str:
        """What is other, as a person is told it; empty where there is nothing to compare."""
        from pegboard_mcp.lock.words import describe

        return describe(self.was.definition, self.now.definition) if self.was and self.now else ""

    def to_json(self) -> dict[str, Any]:
        """One element of `lock --json`."""
        return {
            "name": self.name,
            "source": self.source,
            "change": self.what,
            "kind": self.kind,
            "was": self.was.definition if self.was else None,
            "now": self.now.definition if self.now else None,
        }

    def diff(self) -> dict[str, list[str]]:
        """The parts that are other, each as the lines of a unified diff from what was accepted to what is now; one line
        of words where a part is too long for that."""
        was, now = (_lines_of_definition(pin) for pin in (self.was, self.now))
        parts = [part for part in SHOWN if was.get(part) != now.get(part)]
        return {part: _diff(part, was.get(part, []), now.get(part, [])) for part in parts}


def _lines_of_definition(pin: Pin | None) -> dict[str, list[str]]:
    """Each part of a public definition as lines."""
    import json

    definition: Mapping[str, Any] = (pin.definition if pin else None) or {}
    shown = {}
    for part in SHOWN:
        value = definition.get(part)
        if part == "icons" and value and not isinstance(value, str):  # as what was first seen has them
            value = icons_part(value)["icons"]
        if isinstance(value, str) and value:
            shown[part] = value.split("\n")
        elif part == "annotations" and value:
            shown[part] = [f"{name}: {json.dumps(said)}" for name, said in sorted(value.items()) if said is not None]
        elif value:
            shown[part] = json.dumps(value, ensure_ascii=False, sort_keys=True, indent=2).split("\n")
    return shown


def _diff(part: str, was: list[str], now: list[str]) -> list[str]:
    from difflib import unified_diff

    if max(len(was), len(now)) > MAX_LINES:
        return [f"{part}: {len(was)} lines became {len(now)}; lock --json has them"]
    return list(unified_diff(was, now, f"{part}, accepted", f"{part}, now", lineterm="", n=3))


def changes_of(
    was: Iterable[Pin], now: Iterable[Pin], *, may_be_gone: Callable[[Pin], bool] = lambda _: True
) -> list[Change]:
    """Every difference between what was accepted and what is, by source and name.

    Args:
        was, now: the pins, at most one a key.
        may_be_gone: whether a pin that has no tool now means that the tool is gone; else it is left out.
    """
    old, new = {pin.key: pin for pin in was}, {pin.key: pin for pin in now}
    found: dict[Key, Change] = {}
    for key in old.keys() & new.keys():
        if old[key].fingerprint != new[key].fingerprint or not old[key].is_sound:
            found[key] = _changed(old[key], new[key])
    came = {key: new[key] for key in sorted(new.keys() - old.keys())}
    gone = {key: old[key] for key in sorted(old.keys() - new.keys()) if may_be_gone(old[key])}
    for key, pin in _renamed(gone, came):
        reason = Reason("breaking", "name", f"it was called {pin.name}")
        found[key] = Change("renamed", key.name, key.source, pin, came.pop(key), (reason,))
        del gone[pin.key]
    for key, pin in came.items():
        found[key] = Change("new", key.name, key.source, None, pin, (Reason("compatible", "name", "it is new"),))
    for key, pin in gone.items():
        found[key] = Change("removed", key.name, key.source, pin, None, (Reason("breaking", "name", "it is gone"),))
    return [found[key] for key in sorted(found)]


def _renamed(gone: Mapping[Key, Pin], came: Mapping[Key, Pin]) -> list[tuple[Key, Pin]]:
    """Tools of one source that are the same but for their names, in the order of their names."""
    waiting: dict[tuple[str, str], list[Pin]] = {}
    for pin in gone.values():
        if pin.definition is not None:
            waiting.setdefault((pin.source, content_of(pin.definition)), []).append(pin)
    pairs = []
    for key, pin in came.items():
        same = waiting.get((key.source, content_of(pin.definition or {})))
        if same:
            pairs.append((key, same.pop(0)))
    return pairs


def _changed(was: Pin, now: Pin) -> Change:
    if not was.is_sound:
        reason = "its block in the lock was edited: what was accepted cannot be told"
        return Change("changed", now.name, now.source, was, now, (Reason("unknown", "name", reason),))
    reasons = tuple(compare_definitions(was.definition or {}, now.definition or {}))
    return Change("changed", now.name, now.source, was, now, reasons)


def compare_definitions(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[Reason]:
    """What is different in a tool's public definition; nothing where it is the same."""
    reasons: list[Reason] = []
    for part in SHOWN:
        old, new = was.get(part), now.get(part)
        if _is_same(old, new):
            continue
        if part in ("title", "description", "icons"):
            reasons.append(Reason("text", part, "other icons" if part == "icons" else f"another {part}"))
        elif part == "version":
            reasons.append(_version(old, new))
        elif part == "annotations":
            reasons += _annotations(old or {}, new or {})
        elif part == "input_schema":
            reasons += compare_schemas(old, new, "input_schema")
        elif part == "runs":
            reasons.append(Reason("unknown", part, "what starts or answers it is other"))
        elif old is None or new is None:
            kind: Kind = "compatible" if old is None else "breaking"
            reasons.append(Reason(kind, part, "results have a schema now" if old is None else "results have none now"))
        else:
            reasons += compare_schemas(old, new, "output_schema")
    return reasons


def _is_same(one: Any, other: Any) -> bool:
    import json

    return one is other or json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _version(old: Any, new: Any) -> Reason:
    """A server that is called otherwise is another server; a later version of the same tells nothing by itself."""
    if isinstance(old, str) and isinstance(new, str) and old.rpartition(" ")[0] == new.rpartition(" ")[0]:
        return Reason("compatible", "version", f"{new[:80]}, was {old[:80]}")
    return Reason("unknown", "version", f"{str(new)[:80]}, was {str(old)[:80]}")


def _annotations(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Reason]:
    reasons = []
    # One that deleted and now says that it only reads would pass where only readers may.
    turned = old.get("destructive") is True and new.get("read_only") is True and not old.get("read_only")
    for name in sorted(old.keys() | new.keys()):
        was, now = old.get(name), new.get(name)
        if was == now:
            continue
        kind: Kind = "unknown"
        if turned and name in ("read_only", "destructive"):
            reasons.append(Reason("breaking", "annotations", f"{name} is {_word(now)}, was {_word(was)}"))
            continue
        if name == "risk" and was in _RISKS and now in _RISKS:
            kind = "breaking" if _RISKS.index(now) > _RISKS.index(was) else "compatible"
        elif _is_among(was, now, _MILD.get(name, frozenset())):
            kind = "compatible"
        elif _is_among(was, now, _WORSE.get(name, frozenset())):
            kind = "breaking"
        reasons.append(Reason(kind, "annotations", f"{name} is {_word(now)}, was {_word(was)}"))
    return reasons


def _is_among(was: Any, now: Any, pairs: frozenset[tuple[Any, Any]]) -> bool:
    return all(one is None or isinstance(one, bool) for one in (was, now)) and (was, now) in pairs


def _word(value: Any) -> str:
    """A value as JSON writes it, but texts as they are: `Rm` and `rm` are two names."""
    return "not said" if value is None else (str(value).lower() if isinstance(value, bool) else str(value))[:40]


def compare_schemas(old: Any, new: Any, part: Literal["input_schema", "output_schema"]) -> list[Reason]:
    """What is other between two schemas of arguments, or of results; nothing where they say the same."""
    if _is_same(old, new):
        return []
    try:
        return _compare_schemas(old, new, part)
    except RecursionError:  # references that nest deeper than the stack: as good as too large
        return [Reason("unknown", part, "the schema is nested too deep to be compared")]


def _compare_schemas(old: Any, new: Any, part: Literal["input_schema", "output_schema"]) -> list[Reason]:
    from pegboard_mcp.lock.documents import Document, split
    from pegboard_mcp.lock.schemas import Inclusion

    drafts = {_draft(one) for one in (old, new)}
    if len(drafts) > 1 or None in drafts:
        return [Reason("unknown", part, "it is not a schema of the same draft, or no right one")]
    was, now = split(old), split(new)
    reasons = [Reason("unknown", part, f"{_place(path)}: no draft knows it") for path in _other(was, now, "odd")]
    reasons += [Reason("compatible", part, f"{_place(path)} is other") for path in _other(was, now, "soft")]
    if not _is_same(was.bare, now.bare):
        draft_7 = drafts == {"draft 7"}
        before, after = Document(was.bare, draft_7=draft_7), Document(now.bare, draft_7=draft_7)
        if part == "input_schema":
            verdict = Inclusion(before, after, names_matter=True).ask()
        else:
            verdict = Inclusion(after, before).ask()
        kind: Kind = "unknown" if verdict.state is None else "breaking"
        if verdict.state is True:
            reasons.append(Reason("compatible", part, _WIDER[part]))
        reasons += [Reason(kind, part, _said(note)) for note in verdict.notes]
    return reasons or [Reason("text", part, "other descriptions")]


_WIDER = {"input_schema": "all that was accepted still is", "output_schema": "all that comes could come before"}


def _draft(schema: Any) -> str | None:
    """The draft of a schema that has no faults, else None."""
    from pegboard.schema import dialect_of
    from pegboard.schema import faults_of_schema as faults_of

    return None if not isinstance(schema, dict) or faults_of(schema, foreign=True) else dialect_of(schema)


def _other(was: Any, now: Any, what: str) -> list[tuple[Any, ...]]:
    """Places, in schemas that both have, at which an annotation is other."""
    one, two = getattr(was, what), getattr(now, what)
    both = was.places & now.places
    places = [path for path in {**one, **two} if path[:-1] in both]
    return [path for path in places if (path in one) != (path in two) or not _is_same(one[path], two[path])]


def _said(note: Note) -> str:
    place = _place(note.path)
    return f"{place}: {note.words}" if place else note.words


def _place(path: tuple[Any, ...]) -> str:
    from pegboard.errors import format_path

    return format_path(path)

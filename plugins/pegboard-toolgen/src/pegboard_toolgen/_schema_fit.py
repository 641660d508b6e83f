"""Schemas that fit into a budget of bytes, and schemas of answers that servers can keep to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard.limits import SCHEMA_LEVELS
from pegboard.schema import KEYWORDS
from pegboard_manifest import sanitise
from pegboard_toolgen._schema_parts import (
    ANNOTATIONS,
    DEFS,
    Work,
    any_of,
    canonical,
    has_parts,
    kept_wide,
    names_in,
    needed,
    or_null,
    plain,
    size_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Json = Any

MAX_DEPTH = SCHEMA_LEVELS
"""Levels of a schema that are read; what is deeper says nothing."""
_DROP: Any = object()


def listed_size(schema: Json, defs: Mapping[str, Json]) -> int:
    """Bytes that a schema takes where it is listed with the `$defs` that it needs."""
    parts = needed(schema, defs)
    return size_of({**schema, "$defs": parts} if parts and isinstance(schema, dict) else schema)


def _is_within(schema: Json, defs: Mapping[str, Json], budget: int) -> bool:
    """Whether `listed_size` is at most `budget`; parts are looked at until it is not."""
    left = budget - size_of(schema)
    seen, waiting = set[str](), sorted(names_in(schema))
    while waiting and left >= 0:
        if (name := waiting.pop()) not in seen and name in defs:
            seen.add(name)
            left -= size_of(defs[name])
            waiting += names_in(defs[name])
    return left >= 0 and listed_size(schema, defs) <= budget


def fit(
    schema: Json, defs: Mapping[str, Json], budget_bytes: int, *, work: Work | None = None
) -> tuple[Json, list[str]]:
    """A schema that takes at most `budget_bytes` where it is listed, and accepts everything that this one accepts.

    A schema that fits is returned as it is. In any other, references are unfolded; then go descriptions, then
    examples, then the deepest and largest parts become plain ones (an object, a list, text), until it fits.

    Args:
        schema: of 2020-12; `#/$defs/NAME` points into `defs`.
        defs: schemas by name.
        budget_bytes: of compact JSON in UTF-8.
        work: a bound on the parts that are looked at, which several calls share. Above half of it a schema that does
            not fit keeps one level; above all of it UnusableError is raised.

    Returns:
        The schema and, where it was changed, sentences that say what was left out.

    .. versionadded:: 0.1
    """
    if _is_within(schema, defs, budget_bytes):
        return schema, []
    return _shrink(schema, defs, budget_bytes, work, is_loose=False)


def loosen(
    schema: Json, defs: Mapping[str, Json], budget_bytes: int, *, work: Work | None = None
) -> tuple[Json, list[str]]:
    """What a server says of its answers, as far as it is safe to hold it to: names, types (or null) and texts.

    Servers send null where none is documented, values that no list names, and fields of tomorrow; a document that
    lies must not break the call. Nothing is required here and no object is closed. References are unfolded.

    .. versionadded:: 0.1
    """
    found, notes = _shrink(schema, defs, budget_bytes, work, is_loose=True)
    exact = plain(schema, defs)
    return ({**found, **exact} if isinstance(found, dict) and isinstance(exact, dict) else found), notes


class _TooLargeError(Exception):
    pass


_CUT = 120
WIDEST = 8
"""Budgets that the next level may take, for its largest parts to be looked for; of more hardly any would be kept."""


def _shrink(
    schema: Json, defs: Mapping[str, Json], budget: int, work: Work | None, *, is_loose: bool
) -> tuple[Json, list[str]]:
    def unfold(
        texts: int, depth: int, collapse: frozenset[str] = frozenset(), cap: int = 0, *, is_measured: bool = False
    ) -> _Unfold | None:
        made = _Unfold(defs, texts, depth, cap or budget, is_loose, collapse, is_measured=is_measured)
        try:
            made.schema = made.of(schema, 0, "")
        except _TooLargeError:
            return None
        finally:
            if work is not None:
                work.spend(made.looked_at)
        made.size = size_of(made.schema)
        return made

    def fitting(texts: int, depth: int) -> _Unfold | None:
        made = unfold(texts, depth)
        return made if made and made.size <= budget else None

    deepest = 8 if is_loose else MAX_DEPTH
    if made := fitting(0, deepest):
        return made.schema, _notes(0, made.cut, is_loose)
    is_scarce = work is not None and work.is_scarce
    if bare := None if is_scarce else fitting(2, deepest):
        made = fitting(1, deepest)
        return (made or bare).schema, _notes(1, (made or bare).cut, is_loose)
    # From the top down, as far as it fits: what leads back to itself is too large from some level on, most often soon.
    made = None
    for depth in range(1, 2 if is_scarce else min(deepest, 12) + 1):
        deeper = fitting(2, depth)
        if deeper is None:
            break
        made = deeper
    if made:
        made = made if is_scarce else _refined(unfold, made, made.depth, budget)
        return made.schema, _notes(2, made.cut, is_loose)
    for texts, depth in ((3, 1), (3, 0)):
        if (made := unfold(texts, depth)) and made.size <= budget:
            return made.schema, _notes(3, made.cut, is_loose)
    return plain(schema, defs), ["The schema is too large to be described; any value of its type is taken."]


def _refined(unfold: Callable[..., _Unfold | None], made: _Unfold, depth: int, budget: int) -> _Unfold:
    """One level more, with only the largest parts of that level plain."""
    wide = unfold(2, depth + 1, cap=budget * WIDEST, is_measured=True)
    if wide is None:
        return made
    gains = sorted(wide.sizes.items(), key=lambda item: (-item[1], item[0]))
    over = wide.size - budget
    chosen: list[str] = []
    for path, gain in gains:
        if over <= 0:
            break
        chosen.append(path)
        over -= gain - 20
    for extra in (0, 4, 16):
        more = [path for path, _ in gains[len(chosen) : len(chosen) + extra]]
        better = unfold(2, depth + 1, frozenset(chosen + more))
        if better is not None and better.size <= budget:
            return better
    return made


def _notes(texts: int, cut: list[str], is_loose: bool) -> list[str]:
    of = "the answer" if is_loose else "the input"
    notes = []
    if texts >= 1:
        notes.append(f"Longer descriptions and examples inside {of} were cut to keep its schema short.")
    if cut:
        shown = ", ".join(sorted(cut)[:10])
        more = f" and {len(cut) - 10} more" if len(cut) > 10 else ""
        notes.append(f"Described by their type alone, to keep the schema of {of} short: {shown}{more}.")
    return notes


class _Unfold:
    """One way to write a schema: how much text, how deep, and which parts plain.

    `cut` holds the paths that became plain; `sizes`, if it is measured, what the parts at the last level but one would
    free. `left` is what may still be written: it ends what would become too large long before it is whole. What is
    taken off is never more than what is written, but for a part that is left out later; hence the half above the cap.
    """

    schema: Json
    size: int

    def __init__(
        self,
        defs: Mapping[str, Json],
        texts: int,
        depth: int,
        cap: int,
        is_loose: bool,
        collapse: frozenset[str],
        *,
        is_measured: bool,
    ) -> None:
        self.defs = defs
        self.texts = texts
        self.depth = depth
        self.left = cap * 3 // 2
        self.looked_at = 0
        self.is_loose = is_loose
        self.collapse = collapse
        self.is_measured = is_measured
        self.cut: list[str] = []
        self.sizes: dict[str, int] = {}
        self.wider = 0
        self.opened: list[str] = []

    def of(self, schema: Json, depth: int, path: str) -> Json:
        self.looked_at += 1
        self.left -= 2
        if self.left < 0:
            raise _TooLargeError
        if not isinstance(schema, dict):
            return self.is_loose or schema
        if path in self.collapse:
            return self._plain(schema, path)
        if isinstance(ref := schema.get("$ref"), str):
            return self._unfolded(schema, ref.removeprefix(DEFS), depth, path)
        if depth > self.depth or (depth == self.depth and depth and has_parts(schema)):
            return self._plain(schema, path)
        found = self._node(schema, depth, path)
        if self.is_measured and depth == self.depth - 1 and depth:
            self.sizes[path] = size_of(found)
        return found

    def _plain(self, schema: Json, path: str) -> Json:
        self.wider += 1
        self.cut.append(path)
        made = plain(schema, self.defs)
        self.left -= 17 if made else 0  # {"type":"object"}
        return or_null(made) if self.is_loose else made

    def _unfolded(self, schema: dict[str, Json], name: str, depth: int, path: str) -> Json:
        target = self.defs.get(name, {})
        if name in self.opened or len(self.opened) > MAX_DEPTH:
            return self._plain(target, path)
        before = self.wider
        self.opened.append(name)
        inside = self.of(target, depth, path)
        self.opened.pop()
        if len(schema) == 1:
            return inside
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        unfolded = self._node(beside, depth, path)
        if beside.keys() <= ANNOTATIONS:
            return {**inside, **unfolded} if isinstance(inside, dict) else inside
        if self.wider != before:
            unfolded = kept_wide(unfolded, set())
        return {**unfolded, "allOf": [inside, *unfolded.get("allOf", [])]}

    def _node(self, schema: dict[str, Json], depth: int, path: str) -> dict[str, Json]:
        """A schema without its reference; where a part became wider, what would now accept less is widened too."""
        found: dict[str, Json] = {}
        wider: set[str] = set()
        for key, value in schema.items():
            before = self.wider
            if (made := self._keyword(key, value, depth, path)) is not _DROP:
                found[key] = made
                self.left -= len(key) + (len(made) + 5 if isinstance(made, str) else 3)
            if self.wider != before:
                wider.add(key)
        if self.is_loose:
            return _loose_node(schema, found)
        return kept_wide(found, wider) if wider else found

    def _keyword(self, key: str, value: Json, depth: int, path: str) -> Json:
        if key in ("title", "description", "examples", "default", "deprecated"):
            return _DROP if self.is_loose and key != "description" else self._annotation(key, value, depth)
        if self.is_loose and key not in _LOOSE:
            return _DROP
        shape = KEYWORDS[key].shape if key in KEYWORDS else ""
        if shape in ("schemas by name", "schemas by pattern") and isinstance(value, dict):
            self.left -= sum(map(len, value)) + 3 * len(value)
            return {name: self.of(part, depth + 1, _joined(path, name, key)) for name, part in value.items()}
        if shape in ("schema", "items") and isinstance(value, dict):
            return self.of(value, depth + 1, f"{path}[]" if key == "items" else _joined(path, "*", key))
        if shape == "schemas" and isinstance(value, list):
            return [self.of(item, depth + 1, f"{path}|{index + 1}") for index, item in enumerate(value)]
        if key == "enum":
            if self.texts >= 3 and len(value) > 20:
                self.wider += 1
                return _DROP
            self.left -= len(canonical(value))
        return value

    def _annotation(self, key: str, value: Json, depth: int) -> Json:
        if self.texts == 0:
            kept = value
        elif key == "description" and (self.texts == 1 or (self.texts == 2 and depth <= 1)):
            kept = sanitise(value, _CUT, one_line=True) if isinstance(value, str) else _DROP
        elif key in ("default", "deprecated") and self.texts < 3:
            kept = value
        else:
            return _DROP
        return kept


_LOOSE = frozenset(("type", "properties", "items", "additionalProperties", "allOf", "anyOf", "oneOf"))


def _joined(path: str, name: str, key: str) -> str:
    if key == "properties":
        name = name if len(name) <= 40 else f"{name[:39]}…"
    elif key != "additionalProperties":
        name = f"<{key} {name[:30]}>"
    return f"{path}.{name}" if path else name


def _loose_node(schema: dict[str, Json], found: dict[str, Json]) -> dict[str, Json]:
    """A node of an answer: what would limit it goes, and choices that say nothing any more go with it."""
    if not isinstance(found.get("additionalProperties", True), dict) or "patternProperties" in schema:
        found.pop("additionalProperties", None)
    if not isinstance(found.get("items", True), dict) or "prefixItems" in schema:
        found.pop("items", None)
    if found.get("additionalProperties") == {}:
        del found["additionalProperties"]
    for key in ("oneOf", "anyOf"):
        if key in found and (members := _choices(found.pop(key))):
            found[key] = members
    if "allOf" in found:
        parts = [part for part in found.pop("allOf") if part not in ({}, True)]
        if parts:
            found["allOf"] = list({canonical(part): part for part in parts}.values())
    found = any_of(found)
    for key in ("anyOf", "allOf"):
        members = found.get(key, ())
        if len(members) == 1 and isinstance(members[0], dict) and not (found.keys() - {key, "description"}):
            rest = {name: value for name, value in found.items() if name != key}
            found = {**members[0], **rest}
    wide: dict[str, Json] = or_null(found)
    return wide


def _choices(members: list[Json]) -> list[Json]:
    """The members of `anyOf`, each once, without null, which every part takes; none where any value fits."""
    found: list[Json] = []
    for member in members:
        if isinstance(member, dict) and member.keys() == {"anyOf"}:
            found += member["anyOf"]
        elif member in ({}, True):
            return []
        else:
            found.append(member)
    some = [member for member in found if member != {"type": "null"}]
    return list({canonical(member): member for member in some or found}.values())

"""Which changes of a definition nobody has to look at: a slip of the pen, and one more choice.

Two rules, both decided against what was *accepted*, never against the last mild change: many small steps do not add up
to a large one. Whatever they do not know is not mild.

1. A text is mild where its words are the same but for a few that differ by a letter or two, and none of them, before or
   after, is a word that turns a sentence (`not`, `always`, `before`); and it reads like no order that was not there.
2. Of arguments, a new optional one is mild that takes none of the model's own words: a number, yes or no, or one of a
   few short values.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pegboard.marks import orders_in
from pegboard_mcp.lock.pins import PARTS

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_SLIPS = 3
"""Words of one text that may be other."""
LEAST_LETTERS = 4
"""A shorter word is another word when a letter is."""
MAX_VALUES = 20
MAX_WORDS = 300
"""Characters of the description of a new argument."""
TURNING = frozenset((
    "about", "above", "after", "again", "all", "also", "always", "and", "any", "anyone", "before", "below",
    "both", "but", "call", "conversation", "credential", "credentials", "each", "else", "ever", "every",
    "except", "file", "files", "first", "from", "have", "here", "history", "ignore", "important", "include",
    "instead", "instructions", "into", "key", "keys", "last", "least", "less", "like", "messages", "more",
    "most", "must", "need", "never", "next", "none", "not", "note", "nothing", "now", "off", "once", "only",
    "open", "other", "over", "pass", "password", "path", "paths", "previous", "read", "require", "required",
    "secret", "secrets", "send", "should", "since", "system", "tell", "than", "that", "then", "this", "token",
    "tokens", "tool", "tools", "unless", "until", "upon", "url", "urls", "use", "user", "users", "very", "when",
    "where", "which", "while", "will", "with", "within", "without", "write", "your",
))  # fmt: skip
"""Words that turn a sentence, or name what nobody should be asked for."""
_ORDERING = re.compile(
    r"\b(?:must|always|never|ignore|before|instead|password|secret|token|credential|conversation|history|instruction)s?\b"
    r"|[@~`<>{}\\]|://|/\w+/|\.ssh|\.env"
)
_WORD = re.compile(r"\w+|[^\w\s]")
_STOPS = frozenset(".,;:!?'\"-")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}")
_CLOSED = frozenset(("boolean", "integer", "number", "null"))
_BOUNDS = frozenset((
    "type", "enum", "const", "title", "description", "default", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "multipleOf",
))  # fmt: skip


def is_mild(was: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether nobody has to look at a definition again that was accepted as `was`."""
    for part in PARTS:
        old, new = was.get(part), now.get(part)
        if old == new:
            continue
        if part in ("title", "description"):
            mild = isinstance(old, str) and isinstance(new, str) and is_slip(old, new)
        elif part == "version":
            mild = _is_same_server(old, new)
        else:
            mild = part == "input_schema" and _is_mild_schema(old, new)
        if not mild:
            return False
    return True


def is_slip(was: str, now: str) -> bool:
    """Whether a text is the same but for slips of the pen, in a linear number of steps."""
    if was == now:
        return True
    old, new = ([one for one in _WORD.findall(text) if one not in _STOPS] for text in (was, now))
    if len(old) != len(new):
        return False
    others = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
    if len(others) > MOST_SLIPS or not all(_is_slip(a, b) for a, b in others):
        return False
    return set(orders_in(now)) <= set(orders_in(was))


def _is_slip(was: str, now: str) -> bool:
    """Whether a word is the same but for a slip, or for a capital at its beginning."""
    if was[1:] == now[1:] and was[0].lower() == now[0].lower():
        return True
    one, two = was.casefold(), now.casefold()
    if {one, two} & TURNING or min(len(one), len(two)) < LEAST_LETTERS or not (one + two).isascii():
        return False
    if not (one + two).isalpha() or (was.islower() and not now.islower()):
        return False
    return _distance(one, two) <= (1 if min(len(one), len(two)) < 2 * LEAST_LETTERS else 2)


def _distance(one: str, two: str) -> int:
    """How many letters have to be put in, left out, replaced or swapped with their neighbour (Damerau 1964, the
    restricted form); 3 stands for all that is more, so that long words cost nothing."""
    if abs(len(one) - len(two)) > 2 or max(len(one), len(two)) > 50:
        return 3
    before: list[int] = []
    row = list(range(len(two) + 1))
    for at, letter in enumerate(one, 1):
        last, before, row = before, row, [at]
        for to, other in enumerate(two, 1):
            cost = min(before[to] + 1, row[to - 1] + 1, before[to - 1] + (letter != other))
            if at > 1 and to > 1 and letter == two[to - 2] and one[at - 2] == other:
                cost = min(cost, last[to - 2] + 1)
            row.append(cost)
    return row[-1]


def _is_same_server(was: Any, now: Any) -> bool:
    """Whether two identities differ in their versions alone: see `pins.identity_of`."""
    if not (isinstance(was, str) and isinstance(now, str)):
        return False
    return was.rpartition(" ")[0] == now.rpartition(" ")[0] and " " in was


def _is_mild_schema(was: Any, now: Any) -> bool:
    if not (isinstance(was, dict) and isinstance(now, dict)):
        return False
    old, new = (one.get("properties") or {} for one in (was, now))
    if not (isinstance(old, dict) and isinstance(new, dict) and old.keys() <= new.keys()):
        return False
    known = {name: schema for name, schema in new.items() if name in old}
    if not _is_same_but_for_slips({**was, "properties": old}, {**now, "properties": known}):
        return False
    return all(_is_closed(name, new[name]) for name in new.keys() - old.keys())


def _is_same_but_for_slips(was: Any, now: Any, *, by_name: bool = False) -> bool:
    """Whether two schemas are the same but for slips in what only describes; as deep as what was read, which is
    bounded."""
    if isinstance(was, dict) and isinstance(now, dict):
        return was.keys() == now.keys() and all(
            isinstance(was[key], str) and isinstance(now[key], str) and is_slip(was[key], now[key])
            if key in ("title", "description") and not by_name and was[key] != now[key]
            else _is_same_but_for_slips(was[key], now[key], by_name=key == "properties" and not by_name)
            for key in was
        )
    if isinstance(was, (list, tuple)) and isinstance(now, (list, tuple)):
        return len(was) == len(now) and all(map(_is_same_but_for_slips, was, now))
    return type(was) is type(now) and bool(was == now)


def _is_closed(name: str, schema: Any) -> bool:
    """Whether an argument takes none of the model's own words, and says nothing that reads like an order."""
    if not isinstance(schema, dict) or not schema.keys() <= _BOUNDS or not _NAME.fullmatch(name):
        return False
    said = " ".join(str(schema.get(key) or "") for key in ("title", "description"))
    words = f"{name} {said}".replace("_", " ").casefold()
    if len(said) > MAX_WORDS or not said.isascii() or _ORDERING.search(words) or orders_in(said):
        return False
    values = [schema[key] for key in ("const", "default") if key in schema]
    if "enum" in schema:
        values += schema["enum"] if isinstance(schema["enum"], list) else [{}]
    if len(values) > MAX_VALUES or not all(_is_plain(value) for value in values):
        return False
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    is_listed = "enum" in schema or "const" in schema
    return is_listed or (bool(kinds) and all(isinstance(one, str) and one in _CLOSED for one in kinds))


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return bool(_NAME.fullmatch(value)) and not _ORDERING.search(value.replace("_", " ").casefold())
    return value is None or isinstance(value, (bool, int, float))

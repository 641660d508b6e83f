"""Which changes of a definition nobody has to look at: a slip of the pen, and one more choice.

Two rules, both decided against what was *accepted*, never against the last mild change: many small steps do not add up
to a large one. Whatever they do not know is not mild.

1. Texts are mild where their words are the same but for a few in all of them, which differ by a letter or two after the
   first (`un-`, `de-` and `in-` turn a word), and none of which, before or after, turns a sentence (`not`, `always`,
   `before`); and together they read like no order that was not there.
2. Of arguments, a new optional one is mild that takes none of the model's own words: a number, yes or no, or one of a
   few short values; and that is described in a few words which tell nobody to do anything.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pegboard.marks import orders_in
from pegboard_mcp.lock.pins import PARTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MOST_SLIPS = 3
"""Words of one definition that may be other."""
LEAST_LETTERS = 4
"""A shorter word is another word when a letter is."""
MAX_VALUES = 12
MAX_WORDS = 120
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
    r"\b(?:must|always|never|before|instead|after|once|unless|until|ignor|disregard|forget|send|sent|e-?mail|call|delet|read|"
    r"writ|tell|upload|post|forward|cop[iy]|run|execut|shar|pass|append|attach|insert|reveal|repeat|password|secret|token|"
    r"credential|conversation|histor|instruction|prompt)\w*|[@~`<>{}\\]|://|/\w+/|\.ssh|\.env"
)
"""What tells somebody to do something, or names what nobody should be asked for."""
_WORD = re.compile(r"\w+(?:[^\w\s]+\w+)*|[^\w\s]")
"""A word with what stands inside of it: `1.5` is not `15`, and `a.b-c` not `a-b.c`."""
_STOPS = frozenset(".,;:!?'\"-")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_VALUE = re.compile(r"(?=.{1,24}\Z)[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+){0,2}")
_VERSION = re.compile(r"[vV]?\d[0-9A-Za-z.+_-]{0,39}")
_CLOSED = frozenset(("boolean", "integer", "number", "null"))
_TYPES = _CLOSED | {"string", "array", "object"}
_NUMBERS = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
_BOUNDS = _NUMBERS | {"type", "enum", "const", "title", "description", "default"}


def is_mild(was: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether nobody has to look at a definition again that was accepted as `was`."""
    texts: list[tuple[str, str]] = []
    for part in {*PARTS, *was, *now}:
        old, new = was.get(part), now.get(part)
        if old == new:
            continue
        if part in ("title", "description") and isinstance(old, str) and isinstance(new, str):
            texts.append((old, new))
        elif part == "version":
            if not _is_same_server(old, new):
                return False
        elif part != "input_schema" or not _is_mild_schema(old, new, texts):
            return False
    return _are_slips(texts) and set(orders_in(_all_of(now))) <= set(orders_in(_all_of(was)))


def _all_of(value: Any) -> str:
    """Every text of a definition in one: an order may be split over its fields."""
    if isinstance(value, dict):
        return " ".join(f"{key} {_all_of(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return " ".join(map(_all_of, value))
    return value if isinstance(value, str) else ""


def is_slip(was: str, now: str) -> bool:
    """Whether a text is the same but for slips of the pen, in a linear number of steps."""
    return _are_slips([(was, now)])


def _are_slips(texts: Iterable[tuple[str, str]]) -> bool:
    """Whether so few words of all these texts are other, each by a slip."""
    slips = 0
    for was, now in texts:
        old, new = ([one for one in _WORD.findall(text) if one not in _STOPS] for text in (was, now))
        if len(old) != len(new) or not set(orders_in(now)) <= set(orders_in(was)):
            return False
        others = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
        slips += len(others)
        if slips > MOST_SLIPS or not all(_is_slip(a, b) for a, b in others):
            return False
    return True


def _is_slip(was: str, now: str) -> bool:
    """Whether a word is the same but for a slip, or for a capital at its beginning."""
    if was[1:] == now[1:] and was[0].lower() == now[0].lower():
        return True
    one, two = was.casefold(), now.casefold()
    if {one, two} & TURNING or min(len(one), len(two)) < LEAST_LETTERS or not (one + two).isascii():
        return False
    if one[0] != two[0] or not (one + two).isalpha() or (was.islower() and not now.islower()):
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
    """Whether two identities differ in their versions alone, which look like some: see `pins.identity_of`."""
    if not (isinstance(was, str) and isinstance(now, str)):
        return False
    (name, space, _), (other, _, version) = was.rpartition(" "), now.rpartition(" ")
    return name == other and bool(space) and _VERSION.fullmatch(version) is not None


def _is_mild_schema(was: Any, now: Any, texts: list[tuple[str, str]]) -> bool:
    if not (isinstance(was, dict) and isinstance(now, dict)):
        return False
    old, new = (one.get("properties") or {} for one in (was, now))
    if not (isinstance(old, dict) and isinstance(new, dict) and old.keys() <= new.keys()):
        return False
    known = {name: schema for name, schema in new.items() if name in old}
    if not _is_same_but_for_texts({**was, "properties": old}, {**now, "properties": known}, texts):
        return False
    return all(_is_closed(name, new[name]) for name in new.keys() - old.keys())


def _is_same_but_for_texts(was: Any, now: Any, texts: list[tuple[str, str]], *, by_name: bool = False) -> bool:
    """Whether two schemas are the same but in what only describes, which is noted in `texts`; as deep as what was read,
    which is bounded."""
    if isinstance(was, dict) and isinstance(now, dict):
        if was.keys() != now.keys():
            return False
        for key, old in was.items():
            new = now[key]
            if key in ("title", "description") and not by_name and isinstance(old, str) and isinstance(new, str):
                texts += [(old, new)] if old != new else []
            elif not _is_same_but_for_texts(old, new, texts, by_name=key == "properties" and not by_name):
                return False
        return True
    if isinstance(was, (list, tuple)) and isinstance(now, (list, tuple)):
        return len(was) == len(now) and all(
            _is_same_but_for_texts(old, new, texts) for old, new in zip(was, now, strict=True)
        )
    return type(was) is type(now) and bool(was == now)


def _is_closed(name: str, schema: Any) -> bool:
    """Whether an argument takes none of the model's own words, and says nothing that tells anybody to do anything."""
    if not isinstance(schema, dict) or not schema.keys() <= _BOUNDS or not _NAME.fullmatch(name):
        return False
    texts = [schema[key] for key in ("title", "description") if key in schema]
    values = [schema[key] for key in ("const", "default") if key in schema]
    if "enum" in schema:
        values += schema["enum"] if isinstance(schema["enum"], list) else [{}]
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    is_listed = "enum" in schema or "const" in schema
    return (
        all(isinstance(one, str) and len(one) <= MAX_WORDS for one in texts)
        and all(_is_number(schema[key]) for key in _NUMBERS & schema.keys())
        and all(isinstance(one, str) and one in (_TYPES if is_listed else _CLOSED) for one in kinds)
        and (is_listed or bool(kinds))
        and len(values) <= MAX_VALUES
        and all(value is None or _is_number(value, or_boolean=True) or _is_plain(value) for value in values)
        and _tells_nothing(" ".join((name, *texts, *(value for value in values if isinstance(value, str)))))
    )


def _tells_nothing(words: str) -> bool:
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", words).replace("_", " ").replace("-", " ").casefold()
    most = MAX_WORDS * 3  # a name, what describes it, and the values
    return len(words) <= most and words.isascii() and not _ORDERING.search(plain) and not orders_in(plain)


def _is_number(value: Any, *, or_boolean: bool = False) -> bool:
    return isinstance(value, (int, float)) and (or_boolean or not isinstance(value, bool)) and abs(value) < 1e15


def _is_plain(value: Any) -> bool:
    return isinstance(value, str) and _VALUE.fullmatch(value) is not None

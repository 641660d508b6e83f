"""Which changes of a definition nobody has to look at: a slip of the pen, and one more choice.

Two rules, both decided against what was *accepted*, never against the last mild change: many small steps do not add up
to a large one. Whatever they do not know is not mild.

1. Texts are mild where their words are the same but for a few in all of them, which differ by a letter or two after the
   first (`un-`, `de-` and `in-` turn a word), and none of which, before or after, turns a sentence (`not`, `always`,
   `before`); and together they read like no order that was not there.
2. Of arguments, a new optional one is mild that takes none of the model's own words: a number, yes or no, one of a few
   short values, or a choice of these; and that is described in a few words which tell nobody to do anything, and names
   no place that something may be sent to.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any

from pegboard.marks import orders_in
from pegboard_mcp.lock.pins import PARTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MOST_SLIPS = 3
"""Words of one definition that may be other."""
LEAST_LETTERS = 4
"""A shorter word is another word when a letter is."""
USUAL_DRAFT = "https://json-schema.org/draft/2020-12/schema"
"""What a schema is of that does not say it (MCP 2025-11-25, "JSON Schema Usage")."""
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
_DOERS = frozenset(("er", "or", "ee"))
"""Who does it, and whom it is done to: a payer is not a payee."""
_PAIRS = frozenset(map(frozenset, (("remote", "remove"), ("attach", "attack"), ("contact", "contract"))))
"""Words that are a letter apart, neither of them a slip of the other."""
MAX_VALUE = 10_000_000_000
"""A number of eleven digits is hardly one of things, and may be a telephone's."""
MAX_BOUND = 2**53
"""A bound of more than what a number of JavaScript holds says something else."""
_ACCOUNT = re.compile(r"\d{7}|(?=\w*\d)[A-Za-z0-9]{12}")
"""What a telephone, a bank or a wallet has, and a word or a version has not."""
_MADE_OF = frozenset(("$ref", "anyOf", "title", "description", "default"))
"""What a schema has that is made of others: the value None, and names for one of a few values."""
MAX_BRANCHES = 4
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
        old, new = (_words_of(text) for text in (was, now))
        if len(old) != len(new) or not set(orders_in(now)) <= set(orders_in(was)):
            return False
        others = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
        slips += len(others)
        if slips > MOST_SLIPS or not all(_is_slip(a, b) for a, b in others):
            return False
    return True


def _words_of(text: str) -> list[str]:
    return [one for one in _WORD.findall(unicodedata.normalize("NFC", text)) if one not in _STOPS]


def _is_slip(was: str, now: str) -> bool:
    """Whether a word is the same but for a slip, or for a capital at its beginning."""
    if was[1:] == now[1:] and was[0].lower() == now[0].lower():
        return True
    one, two = was.casefold(), now.casefold()
    if {one, two} & TURNING or {one, two} in _PAIRS or min(len(one), len(two)) < LEAST_LETTERS:
        return False
    ends = {one[-2:], two[-2:]}
    if not _without_accents(one + two).isascii() or (len(ends) > 1 and "ee" in ends and ends <= _DOERS):
        return False
    if one[0] != two[0] or not (one + two).isalpha() or (was.islower() and not now.islower()):
        return False
    return _distance(one, two) <= (1 if min(len(one), len(two)) < 2 * LEAST_LETTERS else 2)


def _without_accents(word: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFD", word) if not unicodedata.combining(letter))


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
    return _is_mild_part(was, now, texts, now.get("$defs"))


def _is_mild_part(was: Any, now: Any, texts: list[tuple[str, str]], defs: Any, *, by_name: bool = False) -> bool:
    """Whether two schemas are the same but for more choices, and for what only describes, which is noted in `texts`; as
    deep as what was read, which is bounded.

    Args:
        defs: what `$ref` may name.
        by_name: the two are schemas by name.
    """
    if isinstance(was, dict) and isinstance(now, dict):
        came = now.keys() - was.keys() - ({"$schema"} if now.get("$schema") == USUAL_DRAFT else set())
        if was.keys() - now.keys() or not (by_name or came <= {"properties", "$defs"}):
            return False
        if not all(_is_closed(name, now[name], defs) for name in came if by_name):
            return False
        for key, new in now.items():
            if key in came if by_name else key not in was and key not in came:  # judged above
                continue
            old = was.get(key, {})
            if key in ("title", "description") and not by_name and isinstance(old, str) and isinstance(new, str):
                texts += [(old, new)] if old != new else []
            elif key == "required" and not by_name and _is_same_set(old, new):
                continue
            elif not _is_mild_part(old, new, texts, defs, by_name=key in ("properties", "$defs") and not by_name):
                return False
        return True
    if isinstance(was, (list, tuple)) and isinstance(now, (list, tuple)):
        return len(was) == len(now) and all(
            _is_mild_part(old, new, texts, defs) for old, new in zip(was, now, strict=True)
        )
    return type(was) is type(now) and bool(was == now)


def _is_same_set(was: Any, now: Any) -> bool:
    """Whether two lists of names say the same: their order says nothing."""
    lists = [one for one in (was, now) if isinstance(one, (list, tuple)) and all(isinstance(name, str) for name in one)]
    return len(lists) == 2 and sorted(lists[0]) == sorted(lists[1])


def _is_closed(name: str, schema: Any, defs: Any) -> bool:
    """Whether an argument takes none of the model's own words, and says nothing that tells anybody to do anything."""
    if not isinstance(schema, dict) or not _NAME.fullmatch(name):
        return False
    if "anyOf" in schema or "$ref" in schema:
        return _is_closed_choice(name, schema, defs)
    if not schema.keys() <= _BOUNDS:
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
        and all(value is None or isinstance(value, bool) or _is_plain(value) for value in values)
        and _tells_nothing(" ".join((name, *texts, *(value for value in values if isinstance(value, str)))))
    )


def _is_closed_choice(name: str, schema: dict[str, Any], defs: Any) -> bool:
    """The same of one that is made of others, as generators write what may be left out, or a class of values."""
    branches = schema.get("anyOf", [])
    if not schema.keys() <= _MADE_OF or not isinstance(branches, list) or len(branches) > MAX_BRANCHES:
        return False
    if "$ref" in schema:
        called = str(schema["$ref"]).removeprefix("#/$defs/")
        target = defs.get(called) if isinstance(defs, dict) else None
        if not isinstance(target, dict) or target.keys() & {"anyOf", "$ref"}:
            return False
        branches = [*branches, target]
    own = {key: schema[key] for key in schema.keys() - {"anyOf", "$ref"}}
    return (
        all(isinstance(one, dict) and "anyOf" not in one and _is_closed(name, one, defs) for one in branches)
        and bool(branches)
        and _is_closed(name, {**own, "type": "null"}, defs)
    )


def _tells_nothing(words: str) -> bool:
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", words).replace("_", " ").replace("-", " ").casefold()
    most = MAX_WORDS * 3  # a name, what describes it, and the values
    is_place = _ACCOUNT.search(words) is not None
    return len(words) <= most and words.isascii() and not (is_place or _ORDERING.search(plain) or orders_in(plain))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= MAX_BOUND


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return _VALUE.fullmatch(value) is not None
    return _is_number(value) and abs(value) < MAX_VALUE

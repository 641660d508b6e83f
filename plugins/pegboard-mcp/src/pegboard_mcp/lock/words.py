"""What became of a definition, in words for people and for models: the one place that says it.

A person reads what is other, with the server's own words behind quotes. A model reads the same without any word of the
server's: what a definition says that nobody accepted must not reach it in the message that holds the definition back.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pegboard.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_QUOTED = 160
"""Characters of a server's own words in one phrase."""
MAX_NAMED = 60
MAX_PHRASES = 8
TYPES = {
    "string": "text", "integer": "a whole number", "number": "a number", "boolean": "yes or no", "array": "a list",
    "object": "an object", "null": "nothing",
}  # fmt: skip
ASKS = (
    (re.compile(r"conversation|chat|histor|transcript|messages|dialog"), "your conversation"),
    (re.compile(r"passw|secret|token|credential|api_?key|private_?key"), "a secret"),
    (re.compile(r"system_?prompt|instructions"), "the model's instructions"),
)
"""What parameters of such names ask for."""
HINTS = {
    "read_only": ("says that it only reads", "says that it does not only read", "no longer says whether it only reads"),
    "destructive": ("says that it may destroy", "says that it destroys nothing", "no longer says whether it destroys"),
    "idempotent": (
        "says that it may be repeated", "says that it may not be repeated", "no longer says whether it may be repeated"
    ),
    "open_world": (
        "says that it reaches outside", "says that it stays inside", "no longer says whether it reaches outside"
    ),
}  # fmt: skip
"""Of an annotation: it is true now; it is false; it is not said."""
WEEK_S = 7 * 24 * 3600


def describe(was: Mapping[str, Any] | None, now: Mapping[str, Any] | None, *, foreign: bool = True) -> str:
    """What is other in a definition, as one phrase; "it is as it was" where nothing is.

    Args:
        was, now: as `Tool.public_definition`; None where it could not be read.
        foreign: whether words of the server may stand in it; False: for a model.

    .. versionadded:: 0.1
    """
    if was is None or now is None:
        return "what it was cannot be read"
    does: list[str] = []
    others: list[str] = []
    for kind, phrase in _phrases(was, now, foreign=foreign):
        (does if kind == "it" else others).append(phrase)
    more = len(does) + len(others) - MAX_PHRASES
    does = does[:MAX_PHRASES]
    others = others[: MAX_PHRASES - len(does)]
    said = [f"it {_listed(does)}"] if does else []
    said += others + ([f"and {more} more"] if more > 0 else [])
    return "; ".join(said) or ("it is as it was" if was == now else "it is written otherwise")


def since(then: float, now: float) -> str:
    """A moment of the past as people say it: a time of today, a day of this week, a date."""
    import time

    at, today = time.localtime(then), time.localtime(now)
    if at[:3] == today[:3]:
        return time.strftime("%H:%M", at)
    if 0 <= now - then < WEEK_S - 24 * 3600:
        return time.strftime("%A", at)
    return f"{at.tm_mday} {time.strftime('%B', at)}" + ("" if at.tm_year == today.tm_year else f" {at.tm_year}")


def quoted(text: object, most: int = MAX_QUOTED) -> str:
    """A server's own words, in one line and within bounds."""
    return f"'{line(text, most)}'"


def line(text: object, most: int = MAX_NAMED) -> str:
    """The same without quotes."""
    words = " ".join(visible(str(text)).split())
    return f"{words[: most - 3]}..." if len(words) > most else words


def _phrases(was: Mapping[str, Any], now: Mapping[str, Any], *, foreign: bool) -> Iterator[tuple[str, str]]:
    """Each with `it`, where the definition itself is the subject and left out, or with `other`."""
    from pegboard_mcp.lock.pins import fingerprint_of

    def is_other(part: str) -> bool:
        return fingerprint_of({"": was.get(part)}) != fingerprint_of({"": now.get(part)})

    if is_other("name") and foreign:
        yield "it", f"is called {quoted(now.get('name'), MAX_NAMED)} (was: {quoted(was.get('name'), MAX_NAMED)})"
    elif is_other("name"):
        yield "it", "is called otherwise"
    if is_other("input_schema"):
        yield from _of_arguments(was.get("input_schema"), now.get("input_schema"), foreign=foreign)
    if is_other("annotations"):
        yield from _of_annotations(was.get("annotations") or {}, now.get("annotations") or {}, foreign=foreign)
    if is_other("title"):
        title = f"it is titled {quoted(now.get('title'), MAX_NAMED)}" if now.get("title") else "it has no title"
        yield "other", title if foreign else "its title is other"
    if is_other("description"):
        yield "other", _of_text("its description", was.get("description"), now.get("description"), foreign=foreign)
    if is_other("output_schema"):
        yield "other", "its results are described otherwise"
    if is_other("icons"):
        yield "other", "its icons are other"
    if is_other("version"):
        was_so = f"(was: {quoted(was.get('version'), MAX_NAMED)})"
        said = f"its server is {quoted(now.get('version'), MAX_NAMED)} {was_so}"
        yield "other", said if foreign else "its server has another name or version"
    if is_other("runs"):
        yield from _of_what_runs(was.get("runs") or {}, now.get("runs") or {})


def _of_text(what: str, was: Any, now: Any, *, foreign: bool) -> str:
    from pegboard.marks import orders_in

    old, new = str(was or ""), str(now or "")
    orders = [why for why in orders_in(new) if why not in orders_in(old)]
    reads = f", and reads like an order: {', '.join(orders)}" if orders else ""
    if not new:
        return f"{what} is gone"
    return f"{what} is other{f': {quoted(_new_words(old, new))}' if foreign else ''}{reads}"


def _new_words(old: str, new: str) -> str:
    """What stands in the new text where the two differ, with a few words around it."""
    one, two = old.split(), new.split()
    head = next((at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    rest = min(len(one), len(two)) - head
    tail = next((at for at in range(rest) if one[-1 - at] != two[-1 - at]), rest)
    begin, end = max(head - 3, 0), min(len(two) - tail + 3, len(two))
    return f"{'... ' if begin else ''}{' '.join(two[begin:end])}{' ...' if end < len(two) else ''}"


def _of_annotations(was: Mapping[str, Any], now: Mapping[str, Any], *, foreign: bool) -> Iterator[tuple[str, str]]:
    told: set[str] = set()
    if now.get("read_only") is True and was.get("read_only") is not True:
        old = was.get("destructive")
        before = "destructive" if old is True else "it changes something" if old is False else "not said"
        yield "it", f"says that it only reads (was: {before})"
        told |= {"read_only", "destructive"} if now.get("destructive") is not True else {"read_only"}
    for name in sorted(was.keys() | now.keys()):
        old, new = was.get(name), now.get(name)
        if name in told or old == new:
            continue
        if name in HINTS:
            phrase = HINTS[name][0 if new is True else 1 if new is False else 2]
            yield "it", phrase + (" (was: destructive)" if name == "destructive" and old is True else "")
        elif foreign:
            was_so = f"(was: {quoted(old, MAX_NAMED)})"
            yield "other", f"its {line(name)} is {quoted(new, MAX_NAMED)} {was_so}"
        else:
            yield "other", "another mark of it is other"


def _of_arguments(was: Any, now: Any, *, foreign: bool) -> Iterator[tuple[str, str]]:
    old, new = _members(was), _members(now)
    must_old, must_new = _required(was), _required(now)
    phrases = []
    for name in [*new, *(one for one in old if one not in new)]:
        named = _named(name, foreign=foreign)
        if name not in old:
            verb, kind = ("now asks for", "required") if name in must_new else ("takes", "optional")
            phrases.append(
                f"{verb} {_asked(name, foreign=foreign)} (new {kind} parameter, {_kind(new[name])}{_orders(new[name])})"
            )
        elif name not in new:
            phrases.append(f"no longer takes {named}")
        elif name in must_new and name not in must_old:
            phrases.append(f"now requires {named}")
        elif old[name] != new[name]:
            phrases.append(_of_argument(named, old[name], new[name], foreign=foreign))
    yield from (("it", phrase) for phrase in phrases or ["takes its arguments otherwise"])


def _of_argument(named: str, was: Any, now: Any, *, foreign: bool) -> str:
    kinds = _kind(was), _kind(now)
    if kinds[0] != kinds[1]:
        return f"takes {kinds[1]} as {named} (was: {kinds[0]})"
    old, new = _text_of(was), _text_of(now)
    words = f": {quoted(_new_words(old, new))}" if foreign and new != old else ""
    return f"describes {named} otherwise{words}{_orders(now)}"


def _of_what_runs(was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Of what starts a server: these are the words of the person who configured it."""
    if was.get("command") != now.get("command"):
        yield "it", f"is started by {quoted(now.get('command'))} (was: {quoted(was.get('command'))})"
    for member, kind in (("variables", "variable"), ("files", "file")):
        old, new = was.get(member) or {}, now.get(member) or {}
        for name in sorted(old.keys() | new.keys()):
            if old.get(name) != new.get(name):
                how = "is new" if name not in old else "is gone" if name not in new else "is other"
                says = f": {quoted(new[name])}" if kind == "variable" and name in new else ""
                yield "other", f"its {kind} {quoted(name)} {how}{says}"


def _members(schema: Any) -> dict[str, Any]:
    members = schema.get("properties") if isinstance(schema, dict) else None
    return members if isinstance(members, dict) else {}


def _required(schema: Any) -> frozenset[str]:
    names = schema.get("required") if isinstance(schema, dict) else None
    return frozenset(one for one in names if isinstance(one, str)) if isinstance(names, (list, tuple)) else frozenset()


def _kind(schema: Any) -> str:
    if not isinstance(schema, dict):
        return "anything"
    if isinstance(values := schema.get("enum"), (list, tuple)):
        return f"one of {len(values)} values"
    said = schema.get("type")
    kinds = said if isinstance(said, (list, tuple)) else [said]
    return " or ".join(TYPES.get(one, "anything") if isinstance(one, str) else "anything" for one in kinds[:4])


def _asked(name: str, *, foreign: bool) -> str:
    """What a new parameter asks for: in words of ours where its name tells, with the name where that says more."""
    what = next((words for pattern, words in ASKS if pattern.search(name.casefold())), None)
    if what is None:
        return _named(name, foreign=foreign, other="another argument")
    return f"{what}, as {quoted(name, MAX_NAMED)}" if foreign and what.rpartition(" ")[2] != name else what


def _named(name: str, *, foreign: bool, other: str = "an argument") -> str:
    return quoted(name, MAX_NAMED) if foreign else other


def _text_of(schema: Any) -> str:
    return str(schema.get("description") or "") if isinstance(schema, dict) else ""


def _orders(schema: Any) -> str:
    import json

    from pegboard.marks import orders_in

    orders = orders_in(json.dumps(schema, ensure_ascii=False, default=str)[:20_000])
    return f", which reads like an order: {', '.join(orders)}" if orders else ""


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])}, and {parts[-1]}"

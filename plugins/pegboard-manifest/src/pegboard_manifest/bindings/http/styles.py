"""How a value becomes text in a path, a query, a header or a cookie: OpenAPI 3.1, section 4.8.12, and RFC 6570.

Values in, encoded text out; no I/O. Three rules hold for every place:

- A text goes as it is, a number in JSON's form (`1.0` as `1`), a boolean as `true` or `false`.
- null, and a member or an item that is null, is left out, as RFC 6570 (2.3) has it; so is an empty list or object in a
  query. What is nested deeper than a style can say is one JSON text.
- Every delimiter is told apart from data. Where the wire cannot (a comma in a header, a blank in `spaceDelimited`),
  the value is refused.

Refused as well, whatever the server would make of it: NUL everywhere, control characters in headers, cookies and paths,
and in a path everything that could leave its segment, as it is or behind any number of percent-encodings.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote, unquote

from pegboard import ErrorCode, Fault, ToolError
from pegboard.schema.jsontext import shorten

if TYPE_CHECKING:
    from collections.abc import Iterable

Where = tuple[str | int, ...]
"""The place of a value in the arguments, as `Fault.path` has it."""
Pairs = tuple[tuple[str, str], ...]
Flat = str | list[str] | Pairs | None
"""A value as texts: one, the items of a list, the members of an object; None where there is nothing to say."""

STYLES = {
    "path": frozenset({"simple", "label", "matrix"}),
    "query": frozenset({"form", "spaceDelimited", "pipeDelimited", "tabDelimited", "deepObject"}),
    "header": frozenset({"simple"}),
    "cookie": frozenset({"form"}),
}
"""Which style fits which place."""
DEFAULT_STYLE = {"path": "simple", "query": "form", "header": "simple", "cookie": "form"}

MAX_TEXT = 8_000
"""Of a value outside of a body, in characters; a URL may not be longer either (RFC 9110, section 4.1)."""
MAX_CODINGS = 5
"""So many percent-encodings around each other are looked through; what has more is not an honest value."""
MAX_WHOLE_FLOAT = 2.0**53
"""Up to here a float without a fraction is written as the integer that it is."""

_DELIMITERS = {"spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}
_DOTS = frozenset({".", ".."})
_LEAVES_A_SEGMENT = re.compile(r"[/\\\x00-\x1f\x7f-\x9f\u2028\u2029]|%(?:c0%a[ef]|u00[25][efEFcC])", re.IGNORECASE)
"""Slashes and controls; and the overlong forms of a dot and a slash that careless decoders accept."""
_NO_HEADER = re.compile(r"[^\x20-\x7e]")
_NO_COOKIE = re.compile(r"[\x00-\x1f\x7f]")
_COOKIE_SAFE = "!#$&'()*+-./:<=>?@[]^_`{|}~"
"""What a cookie's value may hold (RFC 6265, section 4.1.1), without `%`, which begins an encoding."""


def refuse(where: Where, expected: str, got: Any, hint: str | None = None) -> NoReturn:
    """Raise INVALID_INPUT for one argument: where it stands, what was expected, how to repair it."""
    fault = Fault(where, expected, shorten(got), hint)
    raise ToolError(ErrorCode.INVALID_INPUT, f"{fault}; nothing was sent", faults=[fault.to_json()], reason="arguments")


def scalar(value: Any, where: Where, limit: int | None = MAX_TEXT) -> str | None:
    """One value as text of at most `limit` characters; None for null. A list or an object is JSON."""
    if isinstance(value, str):
        text = value
    elif value is None:
        return None
    elif value is True:
        return "true"
    elif value is False:
        return "false"
    elif isinstance(value, float) and value.is_integer() and abs(value) < MAX_WHOLE_FLOAT:
        return str(int(value))
    else:
        text = json_text(value, where)
    if limit is not None and len(text) > limit:
        refuse(where, f"at most {limit:,} characters", value)
    if "\x00" in text:
        refuse(where, "text without NUL", value)
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            refuse(where, "text without half a surrogate pair", "a lone surrogate")
    return text


def json_text(value: Any, where: Where) -> str:
    """Compact JSON."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as problem:
        why = type(problem).__name__
    refuse(where, "a value that JSON can say", why)


def flat(value: Any, where: Where, limit: int | None = MAX_TEXT) -> Flat:
    """A value as its texts, without what is null."""
    if isinstance(value, dict):
        members = ((key, scalar(item, (*where, key), limit)) for key, item in value.items())
        return tuple((scalar(key, where) or "", text) for key, text in members if text is not None)
    if isinstance(value, list | tuple):
        items = (scalar(item, (*where, index), limit) for index, item in enumerate(value))
        return [text for text in items if text is not None]
    return scalar(value, where, limit)


def encode(text: str) -> str:
    """Percent-encode all but the unreserved characters (RFC 3986, section 2.3)."""
    return quote(text, safe="")


def path_text(style: str, explode: bool, name: str, value: Any, where: Where, *, multi_segment: bool = False) -> str:
    """What takes the place of `{name}` in a path; of `multi_segment` a text may be several segments.

    Raises:
        ToolError: INVALID_INPUT: nothing to say, or something that could leave the segment.
    """
    texts = flat(value, where)
    pieces = _pieces(texts)
    if texts is None or not any(pieces):
        refuse(where, "something that a path segment can hold", value, "an empty value would name another resource")
    if multi_segment and isinstance(texts, str):
        return "/".join(encode(segment) for segment in _segments(texts, where))
    for piece in pieces:
        _check_segment(piece, where)
    key = encode(name)
    if isinstance(texts, str):
        text = encode(texts)
        return {"label": f".{text}", "matrix": f";{key}={text}"}.get(style, text)
    words = _words(texts, explode)
    if style == "label":
        return "." + ("." if explode else ",").join(words)
    if style == "matrix":
        if not explode:
            return f";{key}={','.join(words)}"
        return "".join(f";{word}" if isinstance(texts, tuple) else f";{key}={word}" for word in words)
    return ",".join(words)


def query_pairs(
    style: str, explode: bool, name: str, value: Any, where: Where, limit: int | None = MAX_TEXT
) -> list[str]:
    """`name=value` pairs, encoded, for a query or a form; empty where there is nothing to say."""
    if style == "deepObject" and isinstance(value, dict | list | tuple):
        return [f"{encode(key)}={encode(text)}" for key, text in _deep(name, value, where, limit)]
    texts = flat(value, where, limit)
    if texts is None or (not texts and not isinstance(texts, str)):
        return []
    key = encode(name)
    if isinstance(texts, str):
        return [f"{key}={encode(texts)}"]
    if explode:
        words = _words(texts, explode)
        return words if isinstance(texts, tuple) else [f"{key}={word}" for word in words]
    delimiter = _DELIMITERS.get(style)
    if delimiter is None:
        return [f"{key}={','.join(_words(texts, explode))}"]
    pieces = _pieces(texts)
    _refuse_delimiter(pieces, delimiter, where)
    return [f"{key}={encode(delimiter.join(pieces))}"]


def header_text(explode: bool, value: Any, where: Where) -> str | None:
    """A header's value, in style `simple`; None: the header is left out.

    It is printable ASCII and nothing else: what a server makes of other bytes is nowhere laid down (RFC 9110, 5.5).
    """
    texts = flat(value, where)
    if texts is None or (not texts and not isinstance(texts, str)):
        return None
    if isinstance(texts, str):
        text = texts
    else:
        _refuse_delimiter(_pieces(texts), ",", where)
        if isinstance(texts, tuple) and explode:
            _refuse_delimiter([key for key, _ in texts], "=", where)
            text = ",".join(f"{key}={item}" for key, item in texts)
        else:
            text = ",".join(_pieces(texts))
    check_header(text, where)
    return text


def check_header(text: str, where: Where) -> None:
    """Refuse what a header cannot carry: a line break above all, which would begin a header of its own."""
    if _NO_HEADER.search(text):
        hint = "percent-encode other characters if the API says so"
        refuse(where, "printable ASCII, without line breaks, since it is sent as a header", text, hint)
    if text != text.strip(" "):
        refuse(where, "no blanks at either end, since it is sent as a header", text)


def cookie_pairs(explode: bool, name: str, value: Any, where: Where) -> list[str]:
    """`name=value` of each cookie; a list or an object that is exploded becomes several."""
    texts = flat(value, where)
    if texts is None or (not texts and not isinstance(texts, str)):
        return []
    if any(_NO_COOKIE.search(piece) for piece in _pieces(texts)):
        refuse(where, "text without control characters, since it is sent as a cookie", value)
    if isinstance(texts, str):
        return [f"{name}={_cookie_value(texts)}"]
    if not explode:
        return [f"{name}={','.join(_cookie_value(piece) for piece in _pieces(texts))}"]
    if isinstance(texts, tuple):
        return [f"{encode(key)}={_cookie_value(item)}" for key, item in texts]
    return [f"{name}={_cookie_value(item)}" for item in texts]


def _cookie_value(text: str) -> str:
    return quote(text, safe=_COOKIE_SAFE)


def _pieces(texts: Flat) -> list[str]:
    """All texts in their order, keys included."""
    if texts is None:
        return []
    if isinstance(texts, str):
        return [texts]
    return [piece for pair in texts for piece in pair] if isinstance(texts, tuple) else texts


def _words(texts: list[str] | Pairs, explode: bool) -> list[str]:
    """What stands between delimiters, encoded: an exploded object's members are `key=value`."""
    if isinstance(texts, tuple) and explode:
        return [f"{encode(key)}={encode(item)}" for key, item in texts]
    return [encode(piece) for piece in _pieces(texts)]


def _deep(name: str, value: Any, where: Where, limit: int | None) -> Iterable[tuple[str, str]]:
    """`name[key]` and text of each leaf; the items of a list are counted from 0."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        step = str(key)
        if "[" in step or "]" in step or "\x00" in step:
            refuse((*where, key), "keys without brackets, since deepObject puts brackets around them", step)
        if isinstance(item, dict | list | tuple):
            yield from _deep(f"{name}[{step}]", item, (*where, key), limit)
        elif (text := scalar(item, (*where, key), limit)) is not None:
            yield f"{name}[{step}]", text


def _refuse_delimiter(pieces: Iterable[str], delimiter: str, where: Where) -> None:
    for piece in pieces:
        if delimiter in piece:
            named = {" ": "blanks", "\t": "tabs"}.get(delimiter, f"{delimiter!r}")
            refuse(where, f"items without {named}, which stands between them on the wire", piece)


def _segments(text: str, where: Where) -> list[str]:
    """The segments of a text between slashes, none of which is empty or leaves its place."""
    segments = text.split("/")
    if "" in segments:
        hint = "leave out a slash at the beginning, at the end and behind another"
        refuse(where, "path segments with single slashes between them", text, hint)
    for segment in segments:
        _check_segment(segment, where)
    return segments


def _check_segment(text: str, where: Where) -> None:
    """Refuse what could end a path segment, or climb out of it, once anybody on the way decodes it."""
    seen = text
    for _ in range(MAX_CODINGS):
        plain = seen if seen.isascii() else _folded(seen)
        if _LEAVES_A_SEGMENT.search(plain) or plain.partition(";")[0].strip() in _DOTS:
            hint = "leave out slashes, backslashes, control characters and dots alone, encoded ones too"
            refuse(where, "one path segment", text, hint)
        if "%" not in seen or (further := unquote(seen)) == seen:
            return
        seen = further
    refuse(where, "one path segment", text, "it is percent-encoded many times over")


def _folded(text: str) -> str:
    """As servers see it that fold look-alikes: a fullwidth slash is a slash to them."""
    import unicodedata

    return unicodedata.normalize("NFKC", text)

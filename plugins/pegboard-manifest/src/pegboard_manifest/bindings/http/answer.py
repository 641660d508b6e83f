"""From an answer, as it was received, to data or an error: no I/O, so that a golden test can hold both.

Whatever the server sends, this gives a value that JSON can say, a `ToolResult` with a resource, or a `ToolError`: never
an exception. What the server says in an error is third-party text: cleaned, one line, at most `MAX_SAID` characters,
and without any secret of the call.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import BinaryContent, ErrorCode, Retry, ToolError, ToolResult
from pegboard.limits import ERROR_LEVELS, JSON_LEVELS
from pegboard.schema.jsontext import JsonTextError, loads
from pegboard_httpclient import retry_after_of, shown_location
from pegboard_manifest.bindings.http.body import essence_of, is_json
from pegboard_manifest.bindings.http.statuses import code_of
from pegboard_manifest.hygiene import sanitise

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAX_SAID = 300
"""Of a server's own words, in characters."""
MAX_READ = 65_536
"""Of an error's body so much is looked at, in bytes."""
MAX_BYTES = 10_000_000
"""Of an answer, unpacked, unless the binding says otherwise."""
MASKED = "***"

_CHARSET = re.compile(r';\s*charset\s*=\s*"?([A-Za-z0-9._:-]{1,40})"?', re.IGNORECASE)
_TEXT_CODEC = re.compile(
    r"(utf[-_]?8|utf[-_]?(16|32)([-_]?[lb]e)?|(us-)?ascii|iso[-_]?8859[-_][0-9]{1,2}|latin[-_]?1|(windows|cp)[-_]?125[0-8]"
    r"|shift[-_]?jis|euc[-_](jp|kr)|iso-2022-jp|gb2312|gbk|gb18030|big5|koi8[-_][ru])",
    re.IGNORECASE,
)
"""Character sets of the web; whatever else Python calls a codec is refused."""
_TEXTUAL = re.compile(
    r"text/.*|application/(?:xml|javascript|ecmascript|yaml|x-yaml|toml|x-ndjson|jsonl|graphql|sql)|.*\+(?:xml|yaml)"
)
_TITLE = re.compile(r"<(?:title|h1)[^>]{0,200}>([^<]{1,400})<", re.IGNORECASE)
_MEMBERS = (
    "message",
    "detail",
    "error_description",
    "title",
    "error",
    "errors",
    "description",
    "msg",
    "reason",
    "fault",
)
"""Where servers put their words, the best first (RFC 9457 has `detail` and `title`)."""

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
"""Those that change nothing (RFC 9110, section 9.2.1)."""

_WHAT = {
    ErrorCode.INVALID_INPUT: ("refused the request", "change the arguments and call again"),
    ErrorCode.NOT_FOUND: ("has no such thing", "check the names and ids in the arguments"),
    ErrorCode.CONFLICT: ("says that this conflicts with what is there", "read it again before changing it"),
    ErrorCode.UNAUTHORIZED: ("wants credentials", "{credentials}"),
    ErrorCode.FORBIDDEN: ("does not allow this", "another user or other credentials may be allowed to"),
    ErrorCode.TIMEOUT: ("did not end in time", "ask for less, or later"),
    ErrorCode.RATE_LIMITED: ("is asked too often", "wait{after} and call again"),
    ErrorCode.UPSTREAM_ERROR: ("failed", "try again later"),
    ErrorCode.INTERNAL_ERROR: ("failed", "try again later"),
    ErrorCode.OUTCOME_UNKNOWN: ("does not say what became of it", "look whether it was done before doing it again"),
}


@attrs.frozen
class Reading:
    """What is known of a call beside its answer.

    Args:
        method: of the request; the answer to HEAD has no body.
        secrets: texts that must stand in no error.
        derived: those of them that nobody but us knows to mask in data: what was made of secrets.
        variables: names of the credentials' variables, for whoever has to set them.
        is_idempotent: whether repeating the call is harmless.
    """

    method: str = "GET"
    secrets: tuple[str, ...] = attrs.field(default=(), repr=False)
    derived: tuple[str, ...] = attrs.field(default=(), repr=False)
    variables: tuple[str, ...] = ()
    is_idempotent: bool = False

    def hide(self, text: str) -> str:
        """The text without secrets, the longest first, so that none is left in part."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, MASKED)
        return text


NOTHING_KNOWN = Reading()


def read_answer(
    binding: Mapping[str, Any],
    status: int,
    headers: Mapping[str, str] | Iterable[tuple[str, str]],
    body: bytes,
    reading: Reading = NOTHING_KNOWN,
    uri: str | None = None,
) -> dict[str, Any] | ToolResult | ToolError:
    """What an answer means.

    Args:
        binding: of kind http.
        status: of the answer.
        headers: of the answer, in any case of letters.
        body: unpacked (Content-Encoding is done with), and whole.
        reading: what is known of the call.
        uri: what a resource in the answer is called; without query and credentials.

    Returns:
        the data, always an object; a `ToolResult` with data `{"result": null}` where the answer is a resource; a
        `ToolError`, to be raised.

    .. versionadded:: 0.1
    """
    fields = {name.lower(): value for name, value in (headers.items() if hasattr(headers, "items") else headers)}
    code = code_of(status, binding.get("statuses"))
    if code is not None:
        return error_of(code, status, fields, body, reading)
    parser = binding.get("output", {}).get("parser", "auto")
    if parser == "none" or reading.method == "HEAD" or status in (204, 205):
        return {"result": None}
    media_type = fields.get("content-type", "")
    essence = essence_of(media_type)
    is_text = parser == "text" or (parser == "auto" and _TEXTUAL.fullmatch(essence) is not None)
    if not body:
        return {"result": "" if is_text else None}
    if parser == "json" or (parser == "auto" and is_json(essence)):
        value = _json(body, media_type, status)
        return value if isinstance(value, ToolError) or not reading.derived else _hidden(value, reading.derived)
    if is_text or (not essence and _is_plain(body)):
        return {"result": _hidden(_text(body, media_type, "replace"), reading.derived)}
    for secret in reading.derived:
        body = body.replace(secret.encode("utf-8", "surrogateescape"), MASKED.encode())
    shown = essence if re.fullmatch(r"[a-z0-9.+-]{1,60}/[a-z0-9.+-]{1,60}", essence) else "application/octet-stream"
    block = BinaryContent(body, shown, uri)
    return ToolResult(content=(block,), data={"result": None})


def error_of(
    code: ErrorCode, status: int, fields: Mapping[str, str], body: bytes, reading: Reading = NOTHING_KNOWN
) -> ToolError:
    """The error of an answer that is not a success: status, the server's words, what to do.

    Args:
        code: of the status.
        status: of the answer.
        fields: its headers, names in lower case.
        body: the beginning of its body.
        reading: what is known of the call.

    .. versionadded:: 0.1
    """
    details: dict[str, Any] = {"status": status, "reason": "status"}
    after_s = retry_after_of(fields)
    if after_s is not None:
        details["retry_after_s"] = after_s
    what, to_do = _WHAT[code]
    if 300 <= status < 400:
        if status == 304:
            what, to_do = "says that nothing has changed", "leave out the condition to get it all the same"
        else:
            what, to_do = "sends elsewhere", "no redirect is followed there; check the base URL and the arguments"
        details["reason"] = "not_modified" if status == 304 else "redirect"
        text = reading.hide(sanitise(shown_location(fields.get("location", "")), 200, one_line=True))
    else:
        text = _said(body[:MAX_READ], fields.get("content-type", ""), reading)
    if (code in (ErrorCode.UPSTREAM_ERROR, ErrorCode.TIMEOUT) and reading.is_idempotent) or (
        code is ErrorCode.UPSTREAM_ERROR and status == 503 and after_s is not None
    ):
        details["retry"] = Retry.SAME.value if status >= 400 else Retry.CHANGED.value
    elif 300 <= status < 400:
        details["retry"] = Retry.CHANGED.value
    elif status >= 500 and status != 501 and reading.method not in SAFE_METHODS:
        # A gateway says so of a server behind it that went on, and a server of what it had begun.
        to_do = "it is not known whether it was done, so look before doing it again"
    names = ", ".join(reading.variables)
    to_do = to_do.format(
        after=f" {after_s:g} s" if after_s else " a while",
        credentials=f"set {names} to what the server takes" if names else "the manifest names none for it",
    )
    shown = f": {text.rstrip('.')}" if text else ""
    return ToolError(code, f"the server {what} ({status}){shown}; {to_do}", details)


def broken_answer(why: str, status: int, reading: Reading = NOTHING_KNOWN) -> ToolError:
    """UPSTREAM_ERROR: the server did what was asked, and its answer cannot be used.

    .. versionadded:: 0.1
    """
    return ToolError(
        ErrorCode.UPSTREAM_ERROR,
        f"the server carried the request out and {why}",
        status=status,
        reason="answer",
        executed=True,
        retry=(Retry.SAME if reading.is_idempotent else Retry.UNKNOWN).value,
    )


def _is_plain(body: bytes) -> bool:
    try:
        return "\x00" not in body.decode("utf-8")
    except UnicodeDecodeError:
        return False


def _hidden(value: Any, secrets: tuple[str, ...]) -> Any:
    """A value without secrets, wherever they stand; done after parsing, since JSON may escape a part of one."""
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, MASKED)
        return value
    if isinstance(value, dict):
        return {_hidden(key, secrets): _hidden(item, secrets) for key, item in value.items()}
    return [_hidden(item, secrets) for item in value] if isinstance(value, list) else value


def _json(body: bytes, media_type: str, status: int) -> dict[str, Any] | ToolError:
    try:
        text = _text(body, media_type, "strict")
        value = loads(text, max_depth=JSON_LEVELS, max_bytes=len(body) * 2 + 16)
    except UnicodeError:
        why = "its bytes are not in the character set that it names"
    except JsonTextError as problem:
        why = problem.reason
    else:
        return value if isinstance(value, dict) else {"result": value}
    return broken_answer(f"promised JSON, but sent none ({why})", status)


def _text(body: bytes, media_type: str, errors: str) -> str:
    """The body as text, in the character set that it names, else UTF-8.

    Raises:
        UnicodeError: it is not in that set, and `errors` is strict.
    """
    named = _CHARSET.search(media_type)
    charset = named[1] if named and _TEXT_CODEC.fullmatch(named[1]) else "utf-8"
    try:
        return body.decode(charset, errors).removeprefix("\ufeff")
    except LookupError:
        return body.decode("utf-8", errors).removeprefix("\ufeff")


def _said(body: bytes, media_type: str, reading: Reading) -> str:
    """The server's own words about an error, as they may be shown."""
    if not body:
        return ""
    essence = essence_of(media_type)
    text = _text(body, media_type, "replace")
    if is_json(essence) or text.lstrip()[:1] in ("{", "["):
        with contextlib.suppress(JsonTextError):
            text = _message_in(loads(text, max_depth=JSON_LEVELS, max_bytes=MAX_READ * 2))
    elif "html" in essence or text.lstrip()[:1] == "<":
        found = _TITLE.search(text)
        text = found[1] if found else ""
    elif not _TEXTUAL.fullmatch(essence) and essence:
        return ""
    # Hidden before it is cut, so that no cut goes through a secret; and once more, should cleaning have made one whole.
    return sanitise(reading.hide(sanitise(reading.hide(text), MAX_READ, one_line=True)), MAX_SAID, one_line=True)


def _message_in(value: Any, depth: int = 0) -> str:
    """The words in a JSON error, whatever member they are in."""
    if isinstance(value, str):
        return value
    if depth > ERROR_LEVELS:
        return ""
    if isinstance(value, list):
        return "; ".join(text for item in value[:3] if (text := _message_in(item, depth + 1)))
    if not isinstance(value, dict):
        return ""
    for member in _MEMBERS:
        if text := _message_in(value.get(member), depth + 1):
            place = value.get("loc") or value.get("field") or value.get("path")
            if isinstance(place, list):
                place = ".".join(str(step)[:60] for step in place[:6])
            return f"{place[:120]}: {text}" if isinstance(place, str) and place else text
    return ""

"""The numbers of JSON-RPC against the codes of the board, in one table for both directions.

What a server answers with an error becomes a `ToolError` that says whether the call ran and whether to repeat it. The
numbers: JSON-RPC 2.0 (https://www.jsonrpc.org/specification#error_object), those that MCP adds (-32002, -32020 to
-32022, -32042), those of the board's own server, and -32000 and -32001, which SDKs use for a connection that
closed and a reply that did not come in time, and servers for anything. The transports of the board put three of their
own where an answer would be (`transports.ANSWER_TOO_LONG`, `ANSWER_UNREADABLE`, `NOT_RUN`).

The server sends the code as a text in `data`, since several share a number (`data_of`); a board on the other side
reads it back from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ErrorCode, Retry, ToolError
from pegboard.text import CLEANED, add_counts, clean, clean_value, counts_in, is_page
from pegboard_mcp.client._plain import carried, json_text, masked, plain_text
from pegboard_mcp.client.transports._codes import ANSWER_TOO_LONG, ANSWER_UNREADABLE, NOT_RUN

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_TEXT = 500
"""What is shown of a server's message, in characters."""
MAX_DATA = 2_048
"""A longer `data` of an error is left out, in characters of JSON."""
MAX_URLS = 5
MAX_URL = 2_000

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
CONNECTION_CLOSED = -32000
REQUEST_TIMEOUT = -32001
RESOURCE_NOT_FOUND = -32002
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022
URL_ELICITATION_REQUIRED = -32042

NOT_FOUND = -32001
DISABLED = -32004
FAILED = -32005
TIMED_OUT = -32006

NUMBERS: Mapping[ErrorCode, int] = {
    **dict.fromkeys(ErrorCode, FAILED),
    ErrorCode.INVALID_INPUT: INVALID_PARAMS,
    ErrorCode.NOT_FOUND: NOT_FOUND,
    ErrorCode.TIMEOUT: TIMED_OUT,
}
"""What the server answers where the protocol wants an error; DISABLED for a tool that is."""

ALSO: Mapping[ErrorCode, frozenset[int]] = {
    ErrorCode.NOT_FOUND: frozenset({RESOURCE_NOT_FOUND, INVALID_PARAMS}),
    ErrorCode.INTERNAL_ERROR: frozenset({INTERNAL_ERROR}),
}
"""What it answers for them in other places: of a resource, of a prompt."""


@attrs.frozen
class Row:
    """What a number means: its code, what to say of it, whether the call ran, what a repetition would do, the fix."""

    code: ErrorCode
    says: str
    executed: bool | None = None
    retry: Retry | None = None
    reason: str | None = None
    fix: str | None = None


_UPSTREAM = ErrorCode.UPSTREAM_ERROR

TABLE: Mapping[int, Row] = {
    INVALID_PARAMS: Row(ErrorCode.INVALID_INPUT, "refused the parameters", executed=False),
    METHOD_NOT_FOUND: Row(ErrorCode.NOT_FOUND, "has no such method", executed=False),
    RESOURCE_NOT_FOUND: Row(ErrorCode.NOT_FOUND, "found no such resource", executed=False),
    PARSE_ERROR: Row(_UPSTREAM, "could not read the request", executed=False, retry=Retry.NEVER),
    INVALID_REQUEST: Row(_UPSTREAM, "did not take the request", executed=False, retry=Retry.SAME),
    INTERNAL_ERROR: Row(_UPSTREAM, "failed"),
    CONNECTION_CLOSED: Row(_UPSTREAM, "failed"),
    REQUEST_TIMEOUT: Row(_UPSTREAM, "failed"),
    HEADER_MISMATCH: Row(_UPSTREAM, "found headers that contradict the request", executed=False, retry=Retry.SAME),
    MISSING_CAPABILITY: Row(
        _UPSTREAM, "needs a capability that this client does not offer", executed=False, retry=Retry.NEVER,
        reason="capability",
    ),
    UNSUPPORTED_VERSION: Row(
        _UPSTREAM, "does not speak this version of the protocol", executed=False, retry=Retry.NEVER, reason="version"
    ),
    ANSWER_TOO_LONG: Row(
        _UPSTREAM, "answered more than is taken", executed=True, retry=Retry.CHANGED, reason="too_long",
        fix="ask for less, or raise `max_message_bytes` of the server",
    ),
    ANSWER_UNREADABLE: Row(
        _UPSTREAM, "gave an answer that cannot be read", reason="protocol",
        fix="update the server: it breaks the protocol",
    ),
    NOT_RUN: Row(_UPSTREAM, "was not reached", executed=False, retry=Retry.SAME),
    URL_ELICITATION_REQUIRED: Row(
        ErrorCode.FORBIDDEN, "wants a page to be visited first", executed=False, retry=Retry.CHANGED,
        reason="elicitation",
    ),
}  # fmt: skip
"""What servers answer. Any other number: UPSTREAM_ERROR, and nobody knows what ran."""

OWN = frozenset({ANSWER_TOO_LONG, ANSWER_UNREADABLE, NOT_RUN})
"""Numbers that no server said."""
OTHER = Row(_UPSTREAM, "failed")
LOST = Row(ErrorCode.OUTCOME_UNKNOWN, "lost the reply")
LOST_WORDS = ("connection closed", "connection lost", "timed out", "timeout")
"""What SDKs write to -32000 and -32001 when the reply was lost; the call may have run then."""


def number_of(error: ToolError) -> int:
    """The number that the server answers for an error.

    .. versionadded:: 0.1
    """
    return DISABLED if error.details.get("reason") in ("disabled", "held") else NUMBERS[error.code]


def data_of(error: ToolError) -> dict[str, Any]:
    """The member `data` of the server's error: `{"code": "NOT_FOUND", "details": {...}}`.

    .. versionadded:: 0.1
    """
    return {"code": error.code.value, "details": error.details}


def tool_error_of(
    code: Any,
    message: Any,
    data: Any = None,
    *,
    server: str,
    tool: str,
    mask: Callable[[str], str] | None = None,
    may_open: Callable[[str], bool] = is_page,
) -> ToolError:
    """What a server's JSON-RPC error means, with its own words shortened and made harmless.

    Args:
        code: the number, as it came.
        message: the server's text, as it came.
        data: the server's data, as it came; kept in the details where it is small.
        server: the configured name of the server.
        tool: what was asked of it: a tool, a prompt, an address.
        mask: takes the server's secrets out.
        may_open: whether a person may be told to visit a page.

    .. versionadded:: 0.1
    """
    number = code if type(code) is int else None
    row = TABLE.get(number, OTHER) if number is not None else OTHER
    words = message if isinstance(message, str) else ""
    if mask is not None:
        words = mask(words)  # before it is cleaned too: an escape could take the first letter of a secret along
    words, found = clean(words[: MAX_TEXT * 2])
    words = " ".join(plain_text(words, MAX_TEXT).split())
    if number in (CONNECTION_CLOSED, REQUEST_TIMEOUT) and any(word in words.lower() for word in LOST_WORDS):
        row = LOST
    details: dict[str, Any] = {"server": server, "rpc_code": number}
    told = parse_error(data)
    if told is not None and number in (number_of(told), *ALSO.get(told.code, ())):
        row = Row(told.code, "failed")
        details |= told.details
    else:
        details |= _details_of(row, number, data, may_open)
    named = f"{tool!r} of the server {server!r}" if tool else f"the server {server!r}"
    text = f"{named} {row.says}: {words or 'it gave no reason'}"
    if row.fix is not None:
        text += f"; {row.fix}"
    elif number not in OWN:
        text += f" (JSON-RPC {'error' if number is None else number})"
    if number == URL_ELICITATION_REQUIRED and details.get("urls"):
        text += f"; visit {details['urls'][0]} and call again"
    if found:
        details[CLEANED] = add_counts(counts_in(details), found)
    if mask is not None:
        text, details = mask(text), masked(details, mask)
    return ToolError(row.code, text, details)


def parse_error(data: Any) -> ToolError | None:
    """The error of another board, as it wrote it beside its words (`data_of`); None: no board wrote this."""
    if not isinstance(data, Mapping) or not isinstance(text := data.get("code"), str):
        return None
    try:
        code = ErrorCode(text)
    except ValueError:
        return None
    return ToolError(code, "", _parse_details(data.get("details")))


def details_in(data: Any) -> Mapping[str, Any]:
    """What another board says beside its code, as far as a caller acts on it; nothing where no board wrote this."""
    told = parse_error(data)
    return {} if told is None else told.details


def _parse_details(raw: Any) -> dict[str, Any]:
    """Details of another board: those that a caller acts on are checked, the others are kept where they are small."""
    if not isinstance(raw, Mapping):
        return {}
    details: dict[str, Any] = {}
    if isinstance(raw.get("retry"), str) and raw["retry"] in set(Retry):
        details["retry"] = str(raw["retry"])
    after = raw.get("retry_after_s")
    if isinstance(after, (int, float)) and not isinstance(after, bool) and 0 <= after <= 86_400:
        details["retry_after_s"] = after
    for key in ("executed", "still_running"):
        if isinstance(raw.get(key), bool):
            details[key] = raw[key]
    if isinstance(raw.get("reason"), str):
        details["reason"] = plain_text(raw["reason"], 60)
    rest = {key: value for key, value in raw.items() if key not in details and key not in ("server", "rpc_code")}
    return details | _kept("data", rest)


def _details_of(row: Row, number: int | None, data: Any, may_open: Callable[[str], bool]) -> dict[str, Any]:
    details: dict[str, Any] = {}
    if row.executed is not None:
        details["executed"] = row.executed
    if row.retry is not None:
        details["retry"] = row.retry.value
    if row.reason is not None:
        details["reason"] = row.reason
    if number == URL_ELICITATION_REQUIRED:
        details["urls"] = _urls_of(data, may_open)
    return details | _kept("data", data)


def _kept(key: str, value: Any) -> dict[str, Any]:
    if value is None or value == {}:
        return {}
    text = json_text(value)
    return {key: clean_value(carried(value, text))[0]} if text is not None and len(text) <= MAX_DATA else {}


def _urls_of(data: Any, may_open: Callable[[str], bool]) -> list[str]:
    asked = data.get("elicitations") if isinstance(data, Mapping) else None
    urls = [one.get("url") for one in asked if isinstance(one, Mapping)] if isinstance(asked, list) else []
    return [url for url in urls if isinstance(url, str) and len(url) <= MAX_URL and may_open(url)][:MAX_URLS]

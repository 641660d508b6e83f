"""How hosts and workers speak: subjects, headers, kinds of answers, definitions. No I/O.

    PREFIX.G.call.TOOL          a call, to one worker of the queue group; answered as below
    PREFIX.G.cancel.INSTANCE    end the call that is named, at that worker; `all` before one has accepted it
    PREFIX.G.alive.INSTANCE     is that worker there, and does it run the call that is named?
    PREFIX.G.definitions.HASH   the definitions of tools that have that hash, page by page
    PREFIX.G.changed            a worker came, goes, or serves other tools: who it is, the hash of what it serves
    PREFIX.G.service.PING|INFO|STATS           who is there, of this group: 10,000 others do not hear it
    $SRV.PING|INFO|STATS.pegboard[.INSTANCE]   who is there (ADR-32)

A call is named by the subject that its answers go to: nobody else knows it, and it is used once. Its answers, in this
order: `busy` or `stale` (not executed, ask another worker), or `accepted`, then any number of `progress` and `ask`,
`part`s of a result that is too large for one message, and `result`. A caller that says `Pb-Short` takes a `result` that
comes at once without `accepted`, and without what the caller knows itself: which call and which tool it is of.

The headers of a call begin with those that all calls of a user to a tool have in common. So they are written once, and
read once: the call's own come behind them, its name first.
"""

from __future__ import annotations

import hashlib
import json
import re
from contextvars import ContextVar
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote

import attrs

from pegboard import Annotations, Limits, Origin, Tool, thaw
from pegboard.schema import share_parts
from pegboard.text import clean, clean_value
from pegboard.trace import MAX_CHARACTERS
from pegboard_nats.protocol import Head, HeaderBlock, encode_headers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pegboard import ToolResult

SERVICE = "pegboard"
QUEUE = "workers"

KIND = "Pb-Kind"
INSTANCE = "Pb-Instance"
CALL_ID = "Pb-Call-Id"
USER = "Pb-User"
DEADLINE_MS = "Pb-Deadline-Ms"
DEPTH = "Pb-Depth"
FINGERPRINT = "Pb-Fingerprint"
CAN_ASK = "Pb-Can-Ask"
APPROVED = "Pb-Approved"
COUNTED = "Pb-Counted"
CLAIM = "Pb-Claim"
PARTS = "Pb-Parts"
SEQUENCE = "Pb-Seq"
SHORT = "Pb-Short"

ACCEPTED, BUSY, STALE, PROGRESS, ASK, PART, RESULT = (
    "accepted",
    "busy",
    "stale",
    "progress",
    "ask",
    "part",
    "result",
)

EVENT, ERROR = "event", "error"
"""Kinds of answers to bots, beside `result`."""

_PLAIN = re.compile(r"[A-Za-z0-9_-]*")
_OWN = f"\r\n{CALL_ID}: ".encode()
_OWN_REST = re.compile(rb"([A-Za-z0-9_-]{1,64})(?:\r\n%b: ([0-9]{1,11}))?\r\n\r\n" % DEADLINE_MS.encode())
MAX_COMMON = 1_024
"""Of headers that calls have in common, in bytes: longer ones are read anew for each call."""
MAX_NAMES = 32
ONE_CALLS = frozenset({CALL_ID, DEADLINE_MS, CLAIM, *MAX_CHARACTERS})
"""Headers of one call alone. Of a name that comes twice the first counts: so none stands among the common ones."""
MAX_CALLERS = 1_024
"""Of such blocks, how many are kept."""

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def _finite(text: str) -> float:
    """A number of a peer; NaN and Infinity come here too.

    Raises:
        ValueError: JSON does not have it.
    """
    number = float(text)
    if not isfinite(number):
        raise ValueError("a number that is not finite")
    return number


_decode = json.JSONDecoder(parse_constant=_finite, parse_float=_finite).decode
_MARKS = frozenset(field.name for field in attrs.fields(Annotations) if field.init)

MAX_TOOLS = 100_000
MAX_DEFINITIONS = 64 * 1024 * 1024
"""Of all definitions that a group offers just now, in bytes: some ten thousand tools, in several versions."""
MAX_RESULT = 32 * 1024 * 1024
"""Of a result with all its parts, in bytes."""
PAGE = 65_536
"""Of definitions in one message, in bytes: a line of 1 Mbit/s takes half a second for it."""
MAX_ID = 64
"""Of what names a worker, or a list of definitions, in characters."""
HEADROOM = 1_024
"""For the headers of a message, in bytes."""

depth: ContextVar[int] = ContextVar("pegboard_nats.depth", default=0)
"""How deep in calls of other hosts what runs just now is; a worker sets it from the header."""


class Subjects(NamedTuple):
    """The subjects of one group."""

    prefix: str
    group: str

    def of(self, *words: str) -> str:
        """A subject of the group."""
        return ".".join((self.prefix, self.group, *words))

    def call(self, tool: str) -> str:
        """Where a tool is called."""
        return self.of("call", escape(tool))


def escape(text: str) -> str:
    """Any text as one word of a subject or one line of a header."""
    if _PLAIN.fullmatch(text) is not None:
        return text
    return quote(text, safe="", errors="surrogatepass").replace(".", "%2E").replace("~", "%7E")


def unescape(text: str) -> str:
    """What was escaped, all of it: two users must not come out as one."""
    if "%" not in text:
        return text
    try:
        return unquote(text, errors="surrogatepass")
    except UnicodeDecodeError:  # nobody escaped it
        return unquote(text, errors="replace")


def is_id(text: str) -> bool:
    """Whether a worker, or a list of definitions, may be called so: it is one word of subjects."""
    return len(text) <= MAX_ID and text.isascii() and text.isalnum()


def to_bytes(value: Any) -> bytes:
    """A JSON value, as it is sent."""
    return _encode(value).encode("utf-8", "surrogatepass")


def from_bytes(payload: bytes) -> dict[str, Any]:
    """The JSON object that a peer sent; an empty one where it is not one, or has numbers that JSON does not."""
    try:
        value = _decode(payload.decode("utf-8", "surrogatepass"))  # else the encoding would be guessed first
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def short_result(result: ToolResult) -> bytes:
    """A result, for a caller that knows which call and which tool it is of."""
    if result.error is not None or result.details:
        return to_bytes(result.to_json())
    return to_bytes({"content": [block.to_json() for block in result.content], "data": result.data})


# -- headers of calls


def head_of_call(
    common: HeaderBlock, call_id: str, left_ms: int | None = None, more: Mapping[str, str] | None = None
) -> HeaderBlock:
    """The headers of one call.

    Args:
        common: what it has in common with others.
        call_id: its name, as it came.
        left_ms: of its deadline, in milliseconds; None: it has none.
        more: what is of this call alone, or of this attempt.
    """
    if left_ms is None:
        own = f"{CALL_ID}: {escape(call_id)}\r\n".encode()
    else:
        own = f"{CALL_ID}: {escape(call_id)}\r\n{DEADLINE_MS}: {left_ms}\r\n".encode()
    rest = encode_headers(more).partition(b"\r\n")[2] if more else b"\r\n"
    return HeaderBlock(common[:-2] + own + rest)


class Caller:
    """What calls of a user to a tool have in common.

    Attributes:
        depth: how deep in calls of other hosts.
        can_ask: whether there is a person to ask.
        approved: whether a person said yes to this call.
        is_counted: whether its limits were counted at the host.
        is_short: whether the answers may leave out what the caller can do without.
    """

    __slots__ = ("approved", "can_ask", "depth", "fingerprint", "is_counted", "is_short", "user_id")

    def __init__(self, headers: Mapping[str, str]) -> None:
        self.fingerprint = headers.get(FINGERPRINT)
        self.user_id = unescape(headers.get(USER, ""))
        self.depth = number_of(headers.get(DEPTH)) or 0
        self.can_ask = bool(headers.get(CAN_ASK))
        self.approved = bool(headers.get(APPROVED))
        self.is_counted = bool(headers.get(COUNTED))
        self.is_short = bool(headers.get(SHORT))


class Callers:
    """Reads the headers of calls; what they have in common is read once."""

    def __init__(self) -> None:
        self._known: dict[bytes, Caller] = {}

    def read(self, headers: Mapping[str, str]) -> tuple[Caller, str, int | None, Mapping[str, str] | None]:
        """Who calls, the call's name, what is left of its deadline in milliseconds (None: it has none), and all
        headers, where there may be more than that."""
        if isinstance(headers, Head):
            common, _, rest = headers.raw.rpartition(_OWN)
            if (own := _OWN_REST.fullmatch(rest)) is not None:
                caller = self._known.get(common) or self._learn(common)
                if caller is not None:
                    call_id, left_ms = own.groups()
                    return caller, call_id.decode(), None if left_ms is None else int(left_ms), None
        call_id = clean(unescape(headers.get(CALL_ID, "")))[0]
        return Caller(headers), call_id, number_of(headers.get(DEADLINE_MS)), headers

    def _learn(self, common: bytes) -> Caller | None:
        """Keep what was not met before; None: it is longer than is kept, or holds what is of one call."""
        headers = Head(common)
        if len(common) > MAX_COMMON or len(headers) > MAX_NAMES or not ONE_CALLS.isdisjoint(headers):
            return None
        if len(self._known) >= MAX_CALLERS:
            self._known.clear()
        caller = self._known[common] = Caller(headers)
        return caller


def number_of(text: str | None) -> int | None:
    """A number in a header; None: it is not there, or is not one."""
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 12 else None


# -- definitions


def definition_of(tool: Tool) -> dict[str, Any]:
    """What other hosts have to know of a tool, as JSON: its public definition, and how it is to be called."""
    return {
        "definition": thaw(tool.public_definition),
        "category": tool.category,
        "tags": sorted(tool.tags),
        "results": tool.results,
        "timeout_s": tool.limits.timeout_s,
        "requires_confirmation": tool.limits.requires_confirmation,
        "requires_user": tool.limits.requires_user,
    }


def canonical(value: Any) -> str:
    """A JSON value as the one text that all machines make of it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def hash_of(definitions: Sequence[Mapping[str, Any]]) -> str:
    """What tells one list of definitions from another; they are in the order of their names."""
    return hashlib.sha256(canonical(definitions).encode("ascii")).hexdigest()[:40]


def fingerprint_of(definition: Mapping[str, Any]) -> str:
    """As `Tool.fingerprint`, of the public definition as it came."""
    return "sha256:" + hashlib.sha256(canonical(definition).encode("ascii")).hexdigest()


def tool_of(
    given: Mapping[str, Any],
    handler: Callable[..., Any],
    group: str,
    alike: dict[Any, Any] | None = None,
    origin: Origin | None = None,
) -> Tool:
    """The tool of a definition that a worker sent. What hides in its texts is taken out.

    Args:
        alike: parts that tools have in common, and then share: thousands have the same few schemas, limits and tags.
        origin: what the host will say of it.

    Raises:
        PegboardError, ValueError, TypeError, KeyError, RecursionError: it is not one.
    """
    given, _ = clean_value(given)
    public = given["definition"]
    alike = {} if alike is None else alike

    def shared(value: Any) -> Any:
        return alike.setdefault((type(value), value), value)

    limits = Limits(
        timeout_s=given.get("timeout_s"),
        requires_confirmation=given.get("requires_confirmation", False),
        requires_user=given.get("requires_user", False),
    )
    marks = Annotations(**{name: mark for name, mark in public["annotations"].items() if name in _MARKS})
    tags = frozenset({*given.get("tags", ()), "nats", group})
    return Tool(
        name=public["name"],
        handler=handler,
        description=public["description"],
        title=public.get("title"),
        input_schema=share_parts(public["input_schema"], alike),
        output_schema=share_parts(public.get("output_schema"), alike),
        annotations=shared(marks),
        limits=shared(limits),
        version=public.get("version"),
        category=shared(given.get("category", "general")),
        tags=shared(tags),
        results=shared(given.get("results", "clean")),
        run="async",
        origin=origin or Origin(),
    )


def page_of(definitions: Sequence[Mapping[str, Any]], start: int, max_bytes: int) -> dict[str, Any]:
    """As many definitions from `start` on as fit into so many bytes, and one at least."""
    tools: list[Mapping[str, Any]] = []
    size, end = 100, start
    for one in definitions[start:]:
        size += len(to_bytes(one)) + 1
        if tools and size > max_bytes:
            break
        tools.append(one)
        end += 1
    return {"tools": tools, "next": end if end < len(definitions) else None}


def fitting(definitions: Iterable[Mapping[str, Any]], max_bytes: int) -> tuple[list[Mapping[str, Any]], list[str]]:
    """Those that a message can hold, in the order of their names, and the names of the others."""
    fit, large = [], []
    for one in sorted(definitions, key=lambda one: str(one["definition"]["name"])):
        if len(to_bytes(one)) + 200 > max_bytes:
            large.append(str(one["definition"]["name"]))
        else:
            fit.append(one)
    return fit, large

"""The distributed trace that a call belongs to, as it is handed from process to process.

A trace comes in by every interface (`_meta` of an MCP request, headers of HTTP, the program's environment) and goes out
with whatever a tool asks of others (`_meta`, headers, the environment of a child). Between them lies `carrier`, a
context variable: each call sees its own trace, and so does all that runs for it: threads, worker processes, nested
calls.

Nothing here knows what a span is. A board without a plugin for traces hands on what came in, as a proxy does; a plugin
that makes spans puts its own span into `carrier` while a call runs (see `pegboard.contract.Observer`), and all ways out
follow.

The names and their forms are those of W3C Trace Context and W3C Baggage; MCP has them unprefixed in `_meta` (SEP-414).
What has another form is dropped, since it would end in headers and environments: text of another alphabet, what is too
long, a `tracestate` without its `traceparent`.

.. versionadded:: 0.1
"""

from __future__ import annotations

import contextlib
import re
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from pegboard._frozen import FrozenDict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = [
    "MAX_CHARACTERS",
    "VARIABLES",
    "arrived",
    "carrier",
    "following",
    "of_environment",
    "of_headers",
    "of_mapping",
    "to_environment",
]

MAX_CHARACTERS = FrozenDict(traceparent=512, tracestate=512, baggage=8192)
"""What a trace consists of, and how long each part may be, in characters: W3C has vendors hand on 512 of a `tracestate`
and 8,192 of a `baggage`.

.. versionadded:: 0.1
"""

carrier: ContextVar[Mapping[str, str] | None] = ContextVar("pegboard.trace.carrier", default=None)
"""The trace of what runs just now, by the keys of `MAX_CHARACTERS`; None: there is none. Nobody changes the mapping.

.. versionadded:: 0.1
"""

arrived: ContextVar[Mapping[str, str] | None] = ContextVar("pegboard.trace.arrived", default=None)
"""The trace as it came into this process, whatever spans a plugin has put into `carrier` since: its parent is a span of
whoever asked. None: none came.

.. versionadded:: 0.1
"""

OWN = FrozenDict({key: f"PEGBOARD_{key.upper()}" for key in MAX_CHARACTERS})
SHARED = FrozenDict({key: key.upper() for key in MAX_CHARACTERS})

VARIABLES = frozenset(OWN.values()) | frozenset(SHARED.values())
"""The variables of the environment that bring a trace: `PEGBOARD_TRACEPARENT` and its siblings, and, where there is no
such one, those that OpenTelemetry names for all programs, `TRACEPARENT` and its siblings.

.. versionadded:: 0.1
"""

_PRINTABLE = re.compile(r"[ -~]+")
# Versions to come may append to the four parts; 255 is invalid, and so are ids of zeros (Trace Context, 3.2.2).
_PARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[ -~]*)?")


def of_mapping(given: Any) -> Mapping[str, str] | None:
    """The trace that a mapping brings beside whatever else, as `_meta` of MCP does; None: it brings none.

    .. versionadded:: 0.1
    """
    found = {key: value for key in MAX_CHARACTERS if (value := given.get(key)) is not None and _fits(key, value)}
    if "traceparent" not in found:
        found.pop("tracestate", None)  # it says nothing without (Trace Context, 3.3)
    return FrozenDict(found) if found else None


def _fits(key: str, value: Any) -> bool:
    if type(value) is not str or len(value) > MAX_CHARACTERS[key]:
        return False
    if key == "traceparent":
        return _PARENT.fullmatch(value) is not None and (value[:2] != "00" or len(value) == 55)
    return _PRINTABLE.fullmatch(value) is not None


def of_headers(headers: Iterable[tuple[bytes, bytes]]) -> Mapping[str, str] | None:
    """The trace that headers of HTTP bring, as ASGI has them: names in lower case.

    Several of a list are one list; several parents count as no parent (Trace Context, 3.2).

    .. versionadded:: 0.1
    """
    found: dict[str, str] = {}
    for name, value in headers:
        if (key := _HEADERS.get(name)) is not None:
            text = value.decode("latin-1").strip(" \t")
            found[key] = f"{found[key]},{text}" if key in found else text
    return of_mapping(found) if found else None


_HEADERS = {key.encode(): key for key in MAX_CHARACTERS}


def of_environment(environ: Mapping[str, str]) -> Mapping[str, str] | None:
    """The trace that the environment of a process brings (see `VARIABLES`).

    .. versionadded:: 0.1
    """
    for names in (OWN, SHARED):
        if trace := of_mapping({key: environ.get(name) for key, name in names.items()}):
            return trace
    return None


def to_environment() -> dict[str, str]:
    """The trace of what runs just now, as the variables of a child; nothing where there is none.

    Both names of each are set: a board below must not take an older trace, that it inherited, for this one.

    .. versionadded:: 0.1
    """
    trace = carrier.get()
    return {names[key]: value for key, value in (trace or {}).items() for names in (OWN, SHARED)}


@contextlib.contextmanager
def following(trace: Mapping[str, str] | None) -> Iterator[None]:
    """What runs in the block belongs to that trace, which came from outside; None: it stays as it is.

    .. versionadded:: 0.1
    """
    if trace is None:
        yield
        return
    current, came = carrier.set(trace), arrived.set(trace)
    try:
        yield
    finally:
        arrived.reset(came)
        carrier.reset(current)

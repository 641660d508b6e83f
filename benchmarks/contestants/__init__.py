"""One module a contestant; each runs inside that contestant's own venv and imports nothing of the others.

A module has `RUNNER` ("trio" or "asyncio") and `open_contestant()`, an async context manager that yields a
`Contestant`: the very calls that are timed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class Path(NamedTuple):
    """One way through a contestant with one tool: `add`, `rich` (12 parameters), `bad` (add with a wrong argument)."""

    name: str
    tool: str


class Registry(NamedTuple):
    """How a contestant keeps many tools.

    Args:
        build: the functions in, whatever holds them out.
        listing: that in, one JSON-ready dict a tool out.
        call: that, a name and arguments in.
    """

    build: Callable[[list[Any]], Any]
    listing: Callable[[Any], Awaitable[list[Any]]]
    call: Callable[[Any, str, dict[str, Any]], Awaitable[Any]]


@dataclass
class Contestant:
    """What of a contestant is timed; a part that it does not have stays empty."""

    calls: dict[Path, Callable[[], Awaitable[Any]]] = field(default_factory=dict)
    settle: Callable[[], Awaitable[Any]] | None = None
    """Awaited at the end of each batch of calls, inside of its CPU time: what the calls left to a thread counts."""
    parallels: dict[str, Callable[[int], Awaitable[Any]]] = field(default_factory=dict)
    registries: dict[str, Registry] = field(default_factory=dict)
    loops: dict[str, Callable[[int, int], Awaitable[Any]]] = field(default_factory=dict)
    """A conversation with a model that answers at once: how many rounds of calls, and how many calls a round."""
    exports: dict[str, Callable[[list[Any]], Callable[[], Any]]] = field(default_factory=dict)
    """By dialect: functions in, what exports them as tools and gives the definitions out."""


async def refused(call: Awaitable[Any]) -> None:
    """Await a call that must fail by an exception."""
    try:
        await call
    except Exception:
        return
    raise AssertionError("a wrong argument was let through")

"""The layer around one tool: what was answered before is answered again, and calls that are alike wait for one of them.

A key is who calls, through which profile, the tool's fingerprint, the arguments, and what the rule names beside these.
Guards have run before a layer is asked, and filters run after it. Of calls that are alike and come at once one runs the
tool, as golang.org/x/sync/singleflight has it; but each waits under its own deadline, the next takes the place of one
that is cancelled, and an answer that is not for others - a failure, above all - is given to nobody else: each of them
asks for itself.
"""

from __future__ import annotations

import json
import marshal
import os
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import trio

from pegboard import Layer, TextContent, ToolResult
from pegboard_cache._results import Flight, scope_of
from pegboard_cache.settings import OF_SESSION

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from pegboard import CallContext, CallNext, CheckedResult, Session, Tool
    from pegboard_cache._results import Cached, Key, Results
    from pegboard_cache.settings import Rule

NAME = "cache"
AFTER = ("record", "replay")
"""What is recorded is what callers get, from here too."""

_FLAT = frozenset((str, int, float, bool, type(None)))
_to_json = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def make_layer(tool: Tool, rule: Rule, results_in: Callable[[Any], Results]) -> Layer:
    """The layer of one tool; `results_in(host)` are the results of a host."""
    fingerprint, scope, current_time = tool.fingerprint, scope_of(tool), trio.current_time
    parts = [_part_of(name) for name in sorted({*rule.vary, *tool.secrets})]
    known: tuple[Any, Results] | None = None

    def results_of(context: CallContext) -> Results:
        nonlocal known
        host = context.session.host
        if known is None or known[0] is not host:
            known = host, results_in(host)
            known[1].watch(host)
        return known[1]

    def key_of(context: CallContext, arguments: Mapping[str, Any]) -> Key:
        session = context.session
        key = (session.user_id, session.profile, fingerprint, canonical(arguments))
        return (*key, *(part(session) for part in parts)) if parts else key

    def at_once(context: CallContext, arguments: Mapping[str, Any]) -> tuple[CheckedResult, Mapping[str, Any]] | None:
        now = current_time()
        found = results_of(context).find(key_of(context, arguments), now)
        return None if found is None else (found.checked, _hit(found, now))

    async def around(context: CallContext, arguments: Mapping[str, Any], call_next: CallNext) -> ToolResult:
        results, key = results_of(context), key_of(context, arguments)
        while True:
            now = current_time()
            if (found := results.find(key, now)) is not None:
                return found.checked.copy(_hit(found, now))
            flight = results.flights.get(key)
            if flight is None:
                return await lead(results, key, context, call_next)
            if flight in context.held:  # it was made by that very call, and would wait for itself
                return await call_next()
            await flight.ended.wait()
            if flight.checked is not None:
                return flight.checked.copy({"cache": "hit", "cache_age_s": 0.0})
            if flight.answered:
                return await call_next()

    async def lead(results: Results, key: Key, context: CallContext, call_next: CallNext) -> ToolResult:
        flight = results.flights[key] = Flight(scope, trio.Event())
        context.held |= {flight}
        try:
            result = await call_next()
            flight.answered = True
            lasts_s = _lasts_s(result, rule.cache_s)
            checked = context.checked(result) if lasts_s else None
            if checked is not None and not flight.changed and _is_for_others(result, context, checked.size):
                now = current_time()
                flight.checked = checked
                results.add(key, checked, scope, now, now + lasts_s)
        finally:
            if results.flights.get(key) is flight:
                del results.flights[key]
            flight.ended.set()
        if not result.ok:
            return result
        return ToolResult(result.content, result.data, details={**(result.details or {}), "cache": "miss"})

    return Layer(NAME, around, AFTER, at_once)


def canonical(arguments: Mapping[str, Any]) -> bytes | str:
    """Arguments in one form, whatever the order of their members; 1, 1.0 and true differ, as they do in JSON text.

    Flat ones, as most are, in a form that takes a fraction of the time of JSON.
    """
    if _FLAT.issuperset(map(type, arguments.values())):
        return marshal.dumps(sorted(arguments.items()), 2)  # before version 3 equal values have equal bytes
    return _to_json(arguments)


def _part_of(name: str) -> Callable[[Session], Hashable]:
    if (attribute := OF_SESSION.get(name)) is not None:
        return attrgetter(attribute)
    return lambda session: os.environ.get(name)


def _hit(found: Cached, now: float) -> dict[str, Any]:
    return {"cache": "hit", "cache_age_s": int((now - found.since) * 1000) / 1000}


def _lasts_s(result: ToolResult, cache_s: float) -> float:
    """How long a result is as good as new: as long as the rule says, or less where the result says so (`ttl_ms`, as
    MCP's `ttlMs`)."""
    ttl_ms: Any = (result.details or {}).get("ttl_ms")
    return max(0, min(ttl_ms, cache_s * 1000)) / 1000 if type(ttl_ms) in (int, float) else cache_s


def _is_for_others(result: ToolResult, context: CallContext, size: int) -> bool:
    """Whether another call may have a success: it is whole, it came in time, no person had a part in it, and no secret
    stands in it or was masked in it."""
    details = result.details or {}
    if context.has_asked or "late" in details or "cut" in details:
        return False
    if secrets := context.secrets_read:
        shown = _to_json(result.to_json())
        if "***" in shown or any(secret in shown for secret in secrets):
            return False
    limit = context.tool.limits.max_result_bytes or context.session.host.board.config.core.max_result_bytes
    return size * 4 <= limit or not _would_be_cut(result, limit)


def _would_be_cut(result: ToolResult, limit: int) -> bool:
    """Whether the host is going to cut the result."""
    texts = sum(_bytes_of(block.text) for block in result.content if isinstance(block, TextContent))
    others = sum(len(getattr(block, "data", None) or b"") for block in result.content)
    values = (result.data, result.details)
    return (
        texts > limit or others > limit or any(_bytes_of(json.dumps(one, ensure_ascii=False)) > limit for one in values)
    )


def _bytes_of(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))

"""The page *Sources*: what brings tools that come and go, how it does, what it said, and what somebody has to accept.

A source of any kind is shown by what it tells of itself (`pegboard.sources`); the lock is shown where pegboard-mcp,
whose it is, is installed. The page changes two things, and each is asked first: it starts a source again, and it
accepts what the lock has not.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

import trio

from pegboard import ConfigError, ErrorCode, ToolError, ToolResult
from pegboard.sources import SourceDetails
from pegboard_inspect import messages
from pegboard_inspect.judging import Judged
from pegboard_inspect.pages import Page, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard import Host, SourceStatus, ToolSource
    from pegboard_inspect.pages import PageStream
    from pegboard_mcp import LockReview

RESTART_S = 35.0
"""How long the page waits for a source that was started again."""
MAX_CHANGES = 1_000
"""Changes since what was accepted that are listed."""
BATCH_S = 0.1
"""How often the page is told of messages at most."""
ERAS = ("auto", "modern", "legacy")
MAX_PROBE_S = 600
ALIVE_S = 15.0
"""How often it is told how many there are, where none came."""


def sources() -> Page:
    """The page."""
    shown = SourcesPage()
    return Page(
        title="Sources",
        path="sources",
        module=text_of("page_sources.js"),
        style=text_of("page_sources.css"),
        data=shown.overview,
        actions={
            "source": shown.whole,
            "restart": shown.restart,
            "speak": shown.speak,
            "record": shown.record,
            "clear": shown.clear,
            "lock": shown.lock,
            "change": shown.change,
            "accept": shown.accept,
        },
        streams={
            "open": shown.open,
            "complete": shown.complete,
            "probe": shown.probe,
            "messages": shown.messages,
            "send": shown.send,
        },
    )


class SourcesPage:
    """What the page shows and does; it remembers the review of the lock that it shows."""

    def __init__(self) -> None:
        self._review: LockReview | None = None
        self._probed: set[str] = set()
        self._judged = Judged()

    # -- what there is

    async def overview(self, host: Host) -> Any:
        """Every source in short."""
        board = host.board
        held: dict[str, int] = {}
        for one in board.held:
            held[one.origin.source or ""] = held.get(one.origin.source or "", 0) + 1
        by_name = {source.name: source for _, source in board.sources}
        return {
            "sources": [
                {
                    **one.to_json(),
                    "meaning": one.state.meaning,
                    "held": held.get(one.source, 0),
                    **_short(_details(by_name[one.source])),
                }
                for one in board.source_statuses()
            ]
        }

    async def whole(self, host: Host, name: Any) -> Any:
        """One source: how it does, what it is, what it offers, what there is to look at."""
        board, source = host.board, _find(host, name)
        status = _status(host, source)
        details = _details(source)
        tools = sorted(
            entry.tool.name for entry in board.registry.plans.values() if entry.tool.origin.source == source.name
        )
        findings = await self._judged.of(board, source, details)
        return {
            **status.to_json(),
            "meaning": status.state.meaning,
            "details": details.to_json(),
            "names": tools,
            "held": [
                {"name": one.name, "why": one.why, "fix": one.fix}
                for one in board.held
                if one.origin.source == source.name
            ],
            "findings": findings,
            "listens": hasattr(source, "listen"),
            "can_be_probed": hasattr(source, "probe"),
            "recording": messages.history_of(source) is not None,
            "era": getattr(source, "era", None) if messages.is_by_hand(source) else None,
            "takes_messages": messages.is_by_hand(source) and hasattr(source, "send_written"),
        }

    # -- what it does

    async def restart(self, host: Host, name: Any) -> Any:
        """Start a source again, and wait until it offers its tools or says why not; one that waits to be wanted is."""
        source, began = _find(host, name), monotonic()
        host.restart_source(source.name)
        with trio.move_on_after(RESTART_S):
            while _status(host, source).since_s > monotonic() - began:  # it has not ended yet
                await host.wait_source_moved()
            if hasattr(source, "wake"):
                await source.wake()
            while host.board.source_states[source.name][0].is_coming:
                await host.wait_source_moved()
        return {"state": host.board.source_states[source.name][0].value}

    async def open(self, stream: PageStream, value: Any) -> None:
        """Open a prompt, a resource or a template, as this browser; the page is sent the result."""
        offer = _offer(_details(_find(stream.host, value.get("source"))), value)
        arguments = value.get("arguments") or {}
        began = trio.current_time()
        try:
            if not isinstance(arguments, dict):
                raise ToolError(ErrorCode.INVALID_INPUT, "the arguments are not an object")
            result = await offer.open(stream.session, arguments)
        except ToolError as problem:
            result = ToolResult.error(problem.code, problem.message, **problem.details)
        await stream.send({**result.to_json(), "duration_ms": round(1000 * (trio.current_time() - began), 3)})

    async def complete(self, stream: PageStream, value: Any) -> None:
        """What an argument of a prompt or a template may be, as the source proposes it: the page is sent a list."""
        offer = _offer(_details(_find(stream.host, value.get("source"))), value)
        argument, begins, others = value.get("argument"), value.get("value"), value.get("others")
        if not (isinstance(argument, str) and isinstance(begins, str) and isinstance(others, dict)):
            raise ToolError(ErrorCode.INVALID_INPUT, "expected an argument, what its value begins with, and the others")
        filled = {str(name): one for name, one in others.items() if isinstance(one, str)}
        proposed = () if offer.complete is None else await offer.complete(stream.session, argument, begins, filled)
        await stream.send(list(proposed))

    async def probe(self, stream: PageStream, value: Any) -> None:
        """Look at a source as `pegboard probe` does; the page is sent the report."""
        board, source = stream.host.board, _find(stream.host, value.get("source"))
        wait_s, probe = value.get("wait_s"), getattr(source, "probe", None)
        if probe is None:
            raise ToolError(ErrorCode.INVALID_INPUT, "an MCP server is looked at in this way, and this is not one")
        if not isinstance(wait_s, (int, float)) or isinstance(wait_s, bool) or not 0 <= wait_s <= MAX_PROBE_S:
            raise ToolError(ErrorCode.INVALID_INPUT, f"wait_s: expected seconds, from 0 to {MAX_PROBE_S}")
        if source.name in self._probed:
            raise ToolError(ErrorCode.CONFLICT, "it is being looked at already")
        others = [tool for tool in board.tools.values() if tool.origin.source != source.name]
        names = [one.name for _, one in board.sources if one.name != source.name]
        self._probed.add(source.name)
        try:
            confined = value.get("is_confined") is not False
            await stream.send(await probe(others, names, wait_s=wait_s, is_confined=confined))
        finally:
            self._probed.discard(source.name)

    # -- messages

    async def speak(self, host: Host, value: Any) -> Any:
        """Speak another era of the protocol with a server that is inspected alone, and start it again."""
        source, era = _by_hand(host, value.get("source"), "speak"), value.get("era")
        if era not in ERAS:
            raise ToolError(ErrorCode.INVALID_INPUT, f"era: expected one of {', '.join(ERAS)}")
        source.speak(era)
        return await self.restart(host, source.name)

    async def send(self, stream: PageStream, value: Any) -> None:
        """Send a message that was written by hand to a server that is inspected alone; the page is sent its answer."""
        source = _by_hand(stream.host, value.get("source"), "send_written")
        message = messages.object_of(value.get("text"))
        began = trio.current_time()
        answer = await source.send_written(stream.session, message, completes=value.get("completes") is not False)
        await stream.send({"answer": answer, "took_ms": round(1000 * (trio.current_time() - began), 3)})

    async def record(self, host: Host, value: Any) -> Any:
        """Begin to keep the messages of a source, or end that; it begins with the source's next start."""
        source = _find(host, value.get("source"))
        if value.get("on"):
            return {"recording": messages.record(source) is not None}
        messages.stop_recording(source)
        return {"recording": False}

    async def clear(self, host: Host, name: Any) -> Any:
        """Forget the messages that are kept."""
        if (history := messages.history_of(_find(host, name))) is not None:
            history.clear()
        return {}

    async def messages(self, stream: PageStream, name: Any) -> None:
        """The messages that are kept, and those that come; of too many the newest, and how many there were."""
        history = messages.history_of(_find(stream.host, name))
        if history is None:
            return
        seq, told = 0, 0
        while True:
            rows = history.after(seq)
            missed = (rows[-1]["seq"] - seq - len(rows)) if rows else 0
            seq = rows[-1]["seq"] if rows else seq
            told += missed
            await stream.send({"messages": rows, "left_out": told})
            with trio.move_on_after(ALIVE_S):
                await history.wait_after(seq)
            await trio.sleep(BATCH_S)

    # -- the lock

    async def lock(self, host: Host, value: Any) -> Any:
        """What changed since it was accepted; None: there is no lock here at all."""
        self._review = review = await _review(host)
        if review is None:
            return None
        untrusted = await trio.to_thread.run_sync(review.untrusted)
        return {
            "path": str(review.place),
            "is_new": review.path is None or not review.path.exists(),
            "holds_back": review.holds_back,
            "silent": dict(review.silent),
            "untrusted": None if untrusted is None else {"message": untrusted.message, "fix": untrusted.hint},
            "left_out": max(0, len(review.changes) - MAX_CHANGES),
            "changes": [
                {
                    "source": one.source,
                    "name": one.name,
                    "change": one.what,
                    "kind": one.kind,
                    "state": one.state,
                    "words": one.words,
                    "remembered": (one.source, one.name) in review.remembered,
                    "was": one.was.name if one.what == "renamed" and one.was else None,
                    "reasons": [{"kind": why.kind, "part": why.part, "words": why.words} for why in one.reasons],
                }
                for one in review.changes[:MAX_CHANGES]
            ],
        }

    async def change(self, host: Host, value: Any) -> Any:
        """One of these changes, before and after."""
        review = self._review or await _review(host)
        key = value.get("source"), value.get("name")
        for one in review.changes if review is not None else ():
            if (one.source, one.name) == key:
                return {"diff": await trio.to_thread.run_sync(one.diff)}
        raise ConfigError("this change is not there any more", hint="look at the page again")

    async def accept(self, host: Host, value: Any) -> Any:
        """Accept changes as they were shown; `value` is a list of `{"source", "name", "state"}`."""
        review = await _review(host)
        if review is None:
            raise ConfigError("there is no lock here", hint="install pegboard-mcp, and set `lock` of [plugins.mcp]")
        shown = {(str(one.get("source")), str(one.get("name"))): str(one.get("state")) for one in value}
        changes = review.find(shown)
        path = await trio.to_thread.run_sync(review.accept, changes)
        host.board.offer_again()
        return {"accepted": len(changes), "path": None if path is None else str(path)}


async def _review(host: Host) -> LockReview | None:
    try:
        from pegboard_mcp import review_lock
    except ModuleNotFoundError:
        return None
    try:
        return await trio.to_thread.run_sync(review_lock, host.board)
    except ConfigError:  # it is installed, and not on this board
        return None


def _find(host: Host, name: Any) -> ToolSource:
    for _, source in host.board.sources:
        if source.name == name:
            return source
    raise ToolError(ErrorCode.NOT_FOUND, f"no source named {str(name)[:80]!r} is on this board")


def _by_hand(host: Host, name: Any, what: str) -> Any:
    """A source that is inspected alone, and can do that.

    On a board of others its guards, its lock and its audit would be passed by.
    """
    source = _find(host, name)
    if not (messages.is_by_hand(source) and hasattr(source, what)):
        raise ToolError(
            ErrorCode.FORBIDDEN, "this is for one server that is inspected alone: pegboard inspect --server"
        )
    return source


def _status(host: Host, source: ToolSource) -> SourceStatus:
    return next(one for one in host.board.source_statuses() if one.source == source.name)


def _details(source: ToolSource) -> SourceDetails:
    """What a source tells of itself; nothing, of one that tells nothing."""
    describe = getattr(source, "describe", None)
    return SourceDetails() if describe is None else describe()


def _short(details: SourceDetails) -> dict[str, Any]:
    server = details.server
    return {
        "location": details.location,
        "protocol": details.protocol,
        "server": " ".join(str(server[key]) for key in ("name", "version") if server.get(key)),
        "starts": details.starts,
        "offers": len(details.offers),
    }


def _offer(details: SourceDetails, value: Mapping[str, Any]) -> Any:
    for one in details.offers:
        if (one.kind, one.name) == (value.get("kind"), value.get("name")):
            return one
    raise ToolError(ErrorCode.NOT_FOUND, "this is not offered any more", hint="look at the page again")

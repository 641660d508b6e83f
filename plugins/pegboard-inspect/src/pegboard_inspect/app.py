"""What is served under which address, and to whom.

    GET  /                    the page, which holds nothing of the board
    GET  /static/NAME         its modules and its style
    POST /enter               {"token"}: lets the page in, once
    GET  /s-.../              the page of a browser that was let in
    *    /s-.../api/...       what the page shows and does

Everything below `/s-...` but the page itself asks for the cookie. What changes something is a POST of JSON whose Origin
is this very server: Host and Origin are held first of all (see `pegboard_serving.HostCheck`), and what a browser says
of who asks (Sec-Fetch-Site) is believed where it says that it is not this page. So neither a page of another site, nor
one of another server on this machine, nor a name that was made to point here gets in.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import time
from importlib import resources
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import trio

from pegboard import PegboardError, ToolError, __version__
from pegboard.config import get_logger
from pegboard_inspect import catalogue, elsewhere, own_pages
from pegboard_inspect.access import MAX_GUESSES, Access, Visitor
from pegboard_inspect.asked_page import asked_here
from pegboard_inspect.calling import LogLines, RunningCall, answer_of, current
from pegboard_inspect.pages import Page, PageStream
from pegboard_inspect.recording import Recording
from pegboard_inspect.settings import InspectSettings
from pegboard_inspect.web import MAX_BODY, Body, RefusedError, Request, as_json
from pegboard_serving import REFUSED, Caller, HostCheck, Tokens
from pegboard_serving.bodies import Bodies

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping

    from pegboard import Confirmation, Host, Session, Tool
    from pegboard_inspect.catalogue import Marks
    from pegboard_inspect.web import Receive, Send

    Handler = Callable[[Request, Visitor], Awaitable[None]]

log = get_logger("pegboard.inspect")
T = TypeVar("T")

TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
HTML = "text/html; charset=utf-8"
BATCH_S = 0.08
"""How often a page that looks at calls is told of them at most: the first at once, and each within 100 ms."""
ALIVE_S = 15.0
"""How often a stream that has nothing to tell says so: a client that is gone is found out."""
MAX_CALLS = 64
"""Calls of one browser that may be under way at once."""
MAX_WATCHERS = 16
"""Streams of calls at once."""


class Inspector:
    """What the app knows: the host, who was let in, the pages, the calls under way.

    Args:
        host: whose board is inspected.
        bind: the address that it is bound to.
        user_id: whose calls they are; None: the configuration's `user_id`.
        profile: the profile of those calls; None: the configuration's own.
        pages: of the program itself, beside those of plugins.
        entered: called when the one-time token was used, so that the next one can be told.
        settings: who else is let in, and under which names it is served.
        is_secure: whether it is served by TLS.
    """

    def __init__(
        self,
        host: Host,
        *,
        bind: str,
        user_id: str | None = None,
        profile: str | None = None,
        pages: Iterable[Page] = (),
        entered: Callable[[], object] = lambda: None,
        settings: InspectSettings | None = None,
        is_secure: bool = False,
    ) -> None:
        settings = InspectSettings() if settings is None else settings
        self.access = Access(Tokens(settings.tokens, section="plugins.inspect.tokens"), is_secure=is_secure)
        self._scheme = b"https" if is_secure else b"http"
        self._host = host
        self._user_id = user_id
        self._profile = profile
        self._entered = entered
        self._check = HostCheck(bind, allowed_hosts=settings.allowed_hosts, allowed_origins=())
        self._bodies = Bodies(MAX_BODY)
        self._static = dict(_static())
        self._index = self._static.pop("index.html").plain
        self._pages = pages_of(host) | {page.path: page for page in pages}
        for path, page in self._pages.items():
            for suffix, content in ((".js", page.module), (".css", page.style)):
                self._static[f"pages/{path}{suffix}"] = Body.of(content.encode(), TYPES[suffix], level=9)
        self._watchers = 0
        self._known: dict[Any, Any] = {}
        self._flying: set[trio.CancelScope] = set()
        self._stopping = False
        self._get: Mapping[str, Handler] = {
            "about": self._about,
            "tools": self._tools,
            "costs": self._costs,
            "tool": self._tool,
            "live": self._live,
        }
        self._post: Mapping[str, Handler] = {
            "check": self._dry_run,
            "call": self._call,
            "answer": self._answer,
        }

    # -- who is let in

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive, send)
        try:
            with self._flight():
                if self._stopping:
                    raise RefusedError(503, "serving ends")
                if status := self._judge(request):
                    raise RefusedError(status, REFUSED[status])
                await self._route(request)
        except RefusedError as problem:
            if not request.has_begun:
                await request.answer_json({"problem": str(problem)}, problem.status, problem.headers)
        except PegboardError as problem:
            if not request.has_begun:
                await request.answer_json({"problem": problem.message, "hint": problem.hint}, 400)

    def _judge(self, request: Request) -> int:
        """As of every HTTP server; what its own pages ask for, under whatever name it is served, is no other site's."""
        own = (b"origin", self._own_origin(request))
        return self._check.judge([one for one in request.scope["headers"] if one != own])

    def _own_origin(self, request: Request) -> bytes:
        return b"%s://%s" % (self._scheme, (request.header(b"host") or "").encode("latin-1"))

    def _require_own(self, request: Request) -> None:
        """Require a POST that the page of this very server sent."""
        _require_method(request, "POST")
        if request.headers(b"origin") != [self._own_origin(request)]:
            raise RefusedError(403, "only the page itself may ask for this")

    async def _route(self, request: Request) -> None:
        first, _, rest = request.path[1:].partition("/")
        is_page = request.path == "/" or (first.startswith("s-") and not rest and request.path.endswith("/"))
        if is_page:
            _require_method(request, "GET")
            await request.answer(200, self._index, HTML)
        elif first == "static":
            _require_method(request, "GET")
            if rest not in self._static:
                raise RefusedError(404, "nothing is served here")
            await request.answer_body(self._static[rest])
        elif request.path == "/enter":
            self._require_own(request)
            await self._enter(request)
        elif first.startswith("s-") and rest.startswith("api/"):
            await self._api(request, f"/{first}", rest.removeprefix("api/"))
        else:
            raise RefusedError(404, "nothing is served here")

    async def _enter(self, request: Request) -> None:
        given = await request.json(self._bodies, "nobody")
        address = (request.scope.get("client") or ("",))[0]
        had_to_wait = self.access.guesses.wait_s(address) > 0
        found = self.access.enter(given.get("token"), address)
        if found is None:
            if wait_s := math.ceil(self.access.guesses.wait_s(address)):
                if not had_to_wait:
                    log.warning(
                        "%d wrong tokens came from %s; the next is looked at in %d s", MAX_GUESSES, address, wait_s
                    )
                raise _too_many_guesses(wait_s)
            raise RefusedError(401, "this token lets nobody in: an address is good once, and an old one is not")
        visitor, cookie = found
        visitor.session = self._session(visitor)
        if visitor.caller is None:
            self._entered()
        await request.answer_json({"base": f"{visitor.base}/"}, 200, [(b"set-cookie", cookie.encode())])

    async def _api(self, request: Request, base: str, what: str) -> None:
        if (request.header(b"sec-fetch-site") or "same-origin") != "same-origin":
            raise RefusedError(403, "only the page itself is served this")
        visitor = self.access.find(base, request.headers(b"cookie"))
        if visitor is None:
            raise RefusedError(401, "this browser was not let in, or has to come again")
        first, _, rest = what.partition("/")
        if request.method == "GET" and first in self._get and not rest:
            await self._get[first](request, visitor)
        elif request.method == "GET" and first == "pages" and rest in self._pages:
            await request.answer_json(await _of_page(rest, self._pages[rest].data(self._host)))
        else:
            self._require_own(request)
            if first in self._post and not rest:
                await self._post[first](request, visitor)
            elif first == "pages":
                await self._act(request, visitor, *rest.split("/", 1))
            else:
                raise RefusedError(404, "nothing is served here")

    @contextlib.contextmanager
    def _flight(self) -> Iterator[None]:
        with trio.CancelScope() as scope:
            self._flying.add(scope)
            try:
                yield
            finally:
                self._flying.discard(scope)

    def stop(self) -> None:
        """Refuse what comes from now on, and end what is under way: a page that looks on would never leave."""
        self._stopping = True
        for scope in tuple(self._flying):
            scope.cancel()

    # -- what there is

    async def _about(self, request: Request, visitor: Visitor) -> None:
        board, session = self._host.board, visitor.session
        await request.answer_json(
            {
                "version": __version__,
                "user_id": session.user_id,
                "profile": session.profile,
                "read_only": session.read_only,
                "profiles": sorted(board.config.profiles),
                "dialects": sorted(board.dialects),
                "pages": [
                    {
                        "title": page.title,
                        "path": page.path,
                        "has_style": bool(page.style),
                        "watches": page.watches,
                    }
                    for page in self._pages.values()
                ],
            }
        )

    async def _tools(self, request: Request, visitor: Visitor) -> None:
        board, profile = self._host.board, request.query("profile") or visitor.session.profile
        states = tuple((name, state[0]) for name, state in board.source_states.items())
        key = ("tools", profile, board.registry.snapshot.version, states)
        marks = await self._marks()
        await request.answer_body(await self._computed(key, lambda: _body(catalogue.rows(board, marks, profile))))

    async def _costs(self, request: Request, visitor: Visitor) -> None:
        board, dialect = self._host.board, request.query("dialect") or "json"
        key = ("costs", dialect, board.registry.snapshot.version)
        await request.answer_body(await self._computed(key, lambda: _body(catalogue.costs(board, dialect))))

    async def _marks(self) -> Marks:
        board = self._host.board
        key = ("marks", None, board.registry.snapshot.version)
        return await self._computed(key, lambda: catalogue.marks_by_name(board))

    async def _computed(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        """What is the same until the board changes; made in a thread, since of thousands of tools it takes
        longer than calls should wait."""
        if key not in self._known:
            made = await trio.to_thread.run_sync(make)
            self._known = {other: body for other, body in self._known.items() if other[:2] != key[:2]}
            self._known[key] = made
        known: T = self._known[key]
        return known

    async def _tool(self, request: Request, visitor: Visitor) -> None:
        board, name = self._host.board, request.query("name") or ""
        tool = self._registered(name)
        found = catalogue.whole(tool, board, await self._marks(), visitor.session.profile)
        await request.answer_json({**found, "dialects": catalogue.exported(tool, board)})

    def _registered(self, name: str) -> Tool:
        entry = self._host.board.registry.plans.get(name)
        if entry is None:
            raise RefusedError(404, f"there is no tool {name[:80]!r}")
        return entry.tool

    async def _act(self, request: Request, visitor: Visitor, path: str, name: str = "") -> None:
        page = self._pages.get(path)
        if page is None or name not in {*page.actions, *page.streams}:
            raise RefusedError(404, "nothing is served here")
        value = (await request.json(self._bodies, visitor.base)).get("value")
        if name in page.actions:
            await request.answer_json(await _of_page(path, page.actions[name](self._host, value)))
        else:
            await self._stream(request, visitor, page, name, value)

    async def _stream(self, request: Request, visitor: Visitor, page: Page, name: str, value: Any) -> None:
        """One stream of a page; what it says goes out as lines of JSON, and who leaves cancels it."""

        async def work(running: RunningCall) -> None:
            given = PageStream(host=self._host, session=self._session_on(visitor, page.path), send=running.send)
            try:
                await _of_page(page.path, page.streams[name](given, value))
            except (RefusedError, PegboardError) as problem:
                told = {"problem": str(problem), "hint": getattr(problem, "hint", None)}
                running.end_with("problem", **told)
            else:
                running.end_with("done")

        await self._run(request, visitor, work)

    # -- calls

    def _session_on(self, visitor: Visitor, channel: str) -> Session:
        """The session of a browser on one of its pages."""
        if channel not in visitor.sessions:
            visitor.sessions[channel] = self._session(visitor, channel)
        return visitor.sessions[channel]

    def _session(self, visitor: Visitor, channel: str = "inspect") -> Session:
        """One a browser, and one a page that has streams: what a person approved there, and results that are read on,
        are theirs."""

        def running(call_id: str | None = None) -> RunningCall | None:
            """The call in whose task this is; else the newest, where a server asks in a task of its own."""
            calls = visitor.calls
            return calls.get(call_id or "") or current.get(None) or next(reversed(calls.values()), None)

        async def confirm(asked: Confirmation) -> Any:
            if (question := asked_here.get()) is not None:
                return await question.wait_answered()
            call = running()
            answer = None if call is None else await call.ask(asked)
            return answer_of(answer, has_schema=asked.schema is not None)

        async def on_progress(call_id: str, done: float, total: float | None, message: str | None) -> None:
            if (call := running(call_id)) is not None:
                call.say("progress", call=call_id, done=done, total=total, message=message)

        caller = visitor.caller or Caller(self._user_id, self._profile)
        return self._host.session(
            caller.user_id, channel=channel, profile=caller.profile, confirm=confirm, on_progress=on_progress
        )

    async def _dry_run(self, request: Request, visitor: Visitor) -> None:
        given = await request.json(self._bodies, visitor.base)
        name, arguments = _call_of(given)
        await request.answer_json(visitor.session.check(name, arguments).to_json())

    async def _call(self, request: Request, visitor: Visitor) -> None:
        """One call; what it says goes out as lines of JSON, and who leaves cancels it."""
        given = await request.json(self._bodies, visitor.base)
        name, arguments = _call_of(given)

        async def work(call: RunningCall) -> None:
            result = await visitor.session.call(name, arguments, id=call.id)
            # Behind the lines of log of its threads, which come by the same way.
            trio.lowlevel.current_trio_token().run_sync_soon(lambda: call.end(result))

        await self._run(request, visitor, work)

    async def _run(self, request: Request, visitor: Visitor, work: Callable[[RunningCall], Awaitable[None]]) -> None:
        """Do the work of a call or of a stream, and send what it says."""
        calls = visitor.calls
        if len(calls) >= MAX_CALLS:
            raise RefusedError(503, f"{MAX_CALLS} calls of this browser are under way; the call was not begun")
        call = RunningCall(os.urandom(8).hex())
        calls[call.id] = call

        async def running() -> None:
            current.set(call)
            await work(call)

        try:
            await request.begin(200, "application/x-ndjson")
            call.say("begun", id=call.id)
            with LogLines(call):
                await self._while_there(request, running, call.next, _as_lines)
        finally:
            del calls[call.id]

    async def _answer(self, request: Request, visitor: Visitor) -> None:
        given = await request.json(self._bodies, visitor.base)
        call = visitor.calls.get(str(given.get("id")))
        if call is None or not call.answer(given.get("key"), given.get("answer")):
            raise RefusedError(409, "this is not asked any more")
        await request.answer_json({})

    async def _live(self, request: Request, visitor: Visitor) -> None:
        """Calls as they happen, as server-sent events; nobody observes or reads before and after."""
        if self._watchers >= MAX_WATCHERS:
            raise RefusedError(503, "too many pages look at calls")
        woken, told = trio.Event(), trio.current_time() - BATCH_S

        def wake() -> None:
            woken.set()

        file = elsewhere.audit_file(self._host)
        only = None if visitor.caller is None else visitor.caller.user_id
        recording = Recording(wake, time.time, reads_audit=file is not None, user_id=only)

        async def others() -> None:
            if file is not None:
                await elsewhere.listen(file, since, recording.hear_elsewhere, recording.say_of_audit)

        async def batches() -> list[dict[str, Any]]:
            nonlocal woken, told
            with trio.move_on_after(1.0):  # counts of the last minute change by themselves
                await woken.wait()
            await trio.sleep_until(told + BATCH_S)
            if woken.is_set():
                woken, told = trio.Event(), trio.current_time()
            return [recording.take()]

        self._watchers += 1
        since = time.time()
        stop = self._host.add_observer(recording, plugin="inspect")
        try:
            await request.begin(200, "text/event-stream")
            await self._while_there(request, others, batches, _as_event)
        finally:
            stop()
            self._watchers -= 1

    async def _while_there(
        self,
        request: Request,
        work: Callable[[], Awaitable[None]],
        more: Callable[[], Awaitable[list[dict[str, Any]]]],
        shape: Callable[[list[dict[str, Any]]], bytes],
    ) -> None:
        """Do the work, and send what there is more to say until that is nothing; a client that leaves ends both."""

        async def leave() -> None:
            await request.wait_left()
            nursery.cancel_scope.cancel()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(leave)
            nursery.start_soon(work)
            while said := await more():
                await request.write(shape(said), more=True)
            await request.write(b"", more=False)
            nursery.cancel_scope.cancel()


async def _of_page(path: str, work: Awaitable[Any]) -> Any:
    """What a page of a plugin gives; what it raises stays with it."""
    try:
        return await work
    except ToolError as problem:
        raise RefusedError(409, problem.message) from problem
    except PegboardError:
        raise
    except Exception as problem:
        log.exception("the page %s failed", path)
        raise RefusedError(500, f"the page {path!r} failed; its cause is in the host's log") from problem


def _body(value: Any) -> Body:
    return Body.of(as_json(value), level=6)


def _as_lines(said: list[dict[str, Any]]) -> bytes:
    return b"".join(as_json(one) + b"\n" for one in said)


def _as_event(said: list[dict[str, Any]]) -> bytes:
    return b"".join(b"data: " + as_json(one) + b"\n\n" for one in said)


def _call_of(given: Mapping[str, Any]) -> tuple[str, Any]:
    name, arguments = given.get("name"), given.get("arguments", {})
    if not isinstance(name, str):
        raise RefusedError(400, "expected the name of a tool")
    return name, arguments


def _too_many_guesses(wait_s: int) -> RefusedError:
    why = f"{MAX_GUESSES} wrong tokens came from here; the next one is looked at in {wait_s} s"
    told = f"{why}; a new address that the program tells lets in at once"
    return RefusedError(429, told, [(b"retry-after", b"%d" % wait_s)])


def _require_method(request: Request, method: str) -> None:
    if request.method != method:
        raise RefusedError(405, "this is not served in that way")


@functools.cache
def _static() -> Mapping[str, Body]:
    """The files of the page, by name: what is not one of them cannot be asked for."""
    folder = resources.files("pegboard_inspect") / "static"
    found = {}
    for file in folder.iterdir():
        suffix = f".{file.name.rpartition('.')[2]}"
        if suffix in TYPES or file.name == "index.html":
            found[file.name] = Body.of(file.read_bytes(), TYPES.get(suffix, HTML), level=9)
    return found


def pages_of(host: Host) -> dict[str, Page]:
    """The pages of plugins, by path; of two that have one path the later plugin's is quarantined."""
    if not hasattr(host.board.plugins.manager.hook, "provide_pages"):  # a program that took other plugins alone
        return {page.path: page for page in own_pages.pages()}
    pages: dict[str, Page] = {}
    for record, given in host.board.plugins.ask_for_many("provide_pages", lambda one: isinstance(one, Page), "a Page"):
        for page in given:
            if page.path in pages:
                problem = PegboardError(f"another plugin has a page {page.path!r}", hint="give the page another path")
                host.board.plugins.quarantine(record, "provide_pages", problem)
                break
            pages[page.path] = page
    return pages


def address_of(url: str, token: str) -> str:
    """The address that lets a browser in."""
    return f"{url}/#token={quote(token)}"


__all__ = ["Inspector", "address_of"]

"""The board as a Starlette app: who calls, then `GET /openapi.json`, `GET /tools`, `POST /tools/NAME`.

Every answer is JSON, and those of calls and refusals have the one shape of a result (`ToolResult.to_json`). A caller
has one session, so that cooldowns, kept results and nested calls are theirs. A client that leaves cancels its call.
Nobody is there to be asked: a tool that wants a confirmation is refused.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from typing import TYPE_CHECKING, Any

import trio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request  # noqa: TC002 - Starlette reads the hints of its endpoints
from starlette.responses import Response
from starlette.routing import Route

from pegboard import ErrorCode, ToolError, ToolResult, __version__, trace
from pegboard.dialects import listed
from pegboard.schema.envelope import TooLong
from pegboard.schema.jsontext import JsonTextError, loads
from pegboard_http.document import document_of
from pegboard_http.spans import observed
from pegboard_http.statuses import REASONS, REFUSED_BY_THE_TOOL, STATUS_OF
from pegboard_serving import REFUSED, Caller, HostCheck, Tokens, bearer_of
from pegboard_serving.bodies import Bodies, BodyError
from pegboard_serving.sharing import Place, Places, most_of_one, owner_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp, Receive, Scope, Send

    from pegboard import Host, Session
    from pegboard_http.settings import HttpSettings

LONGEST_AFTER_S = 86_400
"""What `Retry-After` says at most; a server that was asked may have said any number."""
_ID = re.compile(r"[\x21-\x7e]{1,128}", re.ASCII)
_CODES = {
    400: ErrorCode.INVALID_INPUT,
    401: ErrorCode.UNAUTHORIZED,
    403: ErrorCode.FORBIDDEN,
    404: ErrorCode.NOT_FOUND,
    405: ErrorCode.INVALID_INPUT,
    408: ErrorCode.TIMEOUT,
    413: ErrorCode.INVALID_INPUT,
    415: ErrorCode.INVALID_INPUT,
    421: ErrorCode.FORBIDDEN,
    500: ErrorCode.INTERNAL_ERROR,
    503: ErrorCode.UPSTREAM_ERROR,
}
"""The code in the body of a refusal that no tool and no board said."""
ENDPOINTS = "GET /openapi.json, GET /tools, POST /tools/NAME"


class Gateway:
    """What the app knows: the host, who may call, and the calls in flight.

    Args:
        host: whose tools are served.
        settings: tokens and bounds.
        user_id: whose calls they are where no token is needed; None: the configuration's `user_id`.
        bind: the address that it is bound to.

    Raises:
        ConfigError: a token cannot be used.

    .. versionadded:: 0.1
    """

    def __init__(self, host: Host, settings: HttpSettings, *, user_id: str | None, bind: str) -> None:
        self.check = HostCheck(bind, allowed_hosts=settings.allowed_hosts, allowed_origins=settings.allowed_origins)
        self._host = host
        self._settings = settings
        self._tokens = Tokens(settings.tokens, section="plugins.http.tokens")
        self._anybody = None if self._tokens else Caller(user_id)
        self._sessions: dict[Caller, Session] = {}
        self._bodies = Bodies(settings.max_body_bytes)
        self._places = Places(settings.max_calls, most_of_one(settings.max_calls, is_shared=self._tokens.is_shared))
        self._documents: dict[tuple[str | None, int], bytes] = {}
        self._flying: set[trio.CancelScope] = set()
        self._landed = trio.Event()
        self._stopping = False
        self._limit = trio.CancelScope()

    @property
    def asks_for_token(self) -> bool:
        """Whether a request has to bring a token."""
        return self._anybody is None

    def app(self) -> ASGIApp:
        """The app."""
        routes = [
            Route("/openapi.json", self._document),
            Route("/tools", self._list),
            Route("/tools/{name:path}", self._call, methods=["POST"]),
        ]
        app = Starlette(routes=routes, exception_handlers={HTTPException: _refusal, Exception: _broken})
        app.router.redirect_slashes = False

        async def held(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":  # the lifespan is Starlette's; it closes WebSockets, of which there are none
                await app(scope, receive, send)
                return
            with trace.following(trace.of_headers(scope["headers"])):
                if self._host.runtime.spans:
                    await observed(self._host, let_in, scope, receive, send)
                else:
                    await let_in(scope, receive, send)

        async def let_in(scope: Scope, receive: Receive, send: Send) -> None:
            if status := self.check.judge(scope["headers"]):
                await _said(status, REFUSED[status])(scope, receive, send)
                return
            caller = self._anybody or self._tokens.find(bearer_of(scope["headers"]) or "")
            if caller is None:
                await _said(401, "a bearer token is needed", {"www-authenticate": "Bearer"})(scope, receive, send)
                return
            scope["caller"] = caller
            await app(scope, receive, send)

        return held

    def _session(self, request: Request) -> Session:
        caller = request.scope["caller"]
        session = self._sessions.get(caller)
        if session is None:
            session = self._host.session(caller.user_id, channel="http", profile=caller.profile, masks_secrets=True)
            self._sessions[caller] = session
        return session

    # -- what there is

    async def _document(self, request: Request) -> Response:
        session = self._session(request)
        snapshot = self._host.board.visible_tools(session.profile).offered
        key = (session.profile, snapshot.version)
        body = self._documents.get(key)
        if body is None:
            document = document_of(snapshot.tools.values(), asks_for_token=self.asks_for_token, version=__version__)
            body = _compact(document)
            self._documents = {kept: one for kept, one in self._documents.items() if kept[0] != session.profile}
            self._documents[key] = body
        return Response(body, media_type="application/json")

    async def _list(self, request: Request) -> Response:
        board, session = self._host.board, self._session(request)
        visible, tools = board.visible_tools(session.profile), session.tools
        rows = [listed(tools[name], board.state_of(name, visible)) for name in sorted(tools)]
        return Response(_compact(rows), media_type="application/json")

    # -- calls

    async def _call(self, request: Request) -> Response:
        name = request.path_params["name"]
        call_id = _id_of(request)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":  # a page of another site cannot send this type unasked
            return _said(415, "expected a body of type application/json", name=name, call_id=call_id)
        owner = owner_of(request.scope["caller"], request.scope)
        place = Place(owner)
        result: ToolResult | None = None
        arguments: Any = None
        with self._flight():
            if self._stopping:
                return _not_begun("serving ends", name, call_id)
            try:
                body = await self._bodies.read(request.scope, request.receive, owner)
                if isinstance(body, TooLong):
                    limit = f"a request may have at most {self._settings.max_body_bytes} bytes"
                    return _said(413, limit, name=name, call_id=call_id)
                arguments = loads(body or b"", max_bytes=self._settings.max_body_bytes)
            except BodyError as problem:
                if problem.status == 503:
                    return _not_begun(str(problem), name, call_id)
                return _said(problem.status, str(problem), {"connection": "close"}, name=name, call_id=call_id)
            except JsonTextError as problem:
                return _said(400, f"the body is not JSON: {problem}", name=name, call_id=call_id)
            if not isinstance(arguments, dict):
                return _said(400, "expected the arguments as a JSON object", name=name, call_id=call_id)
            if not self._places.take(place):
                return _not_begun("too many calls are in flight", name, call_id)
            try:
                result = await self._answer(request, name, arguments, call_id)
            finally:
                self._places.give_back(place)
        if not isinstance(arguments, dict):  # it ended before the arguments were there
            return _not_begun("serving ends", name, call_id)
        if result is None:  # serving ended; or the client left, and nobody reads this
            result = ToolResult.of_error(
                ToolError(ErrorCode.OUTCOME_UNKNOWN, "the call was cut off before it was done")
            )
        return _answered(result, name, call_id, self._status_of(request, result, name, arguments))

    def _status_of(self, request: Request, result: ToolResult, name: str, arguments: Any) -> int:
        if result.error is None:
            return 200
        if result.error.code is ErrorCode.INVALID_INPUT and self._session(request).check(name, arguments).ok:
            return REFUSED_BY_THE_TOOL
        return STATUS_OF[result.error.code]

    async def _answer(self, request: Request, name: str, arguments: dict[str, Any], call_id: str) -> ToolResult | None:
        """The result; None: the client left before it was there."""
        result: ToolResult | None = None

        async def watch() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass
            nursery.cancel_scope.cancel()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch)
            result = await self._session(request).call(name, arguments, id=call_id or None)
            nursery.cancel_scope.cancel()
        return result

    @contextlib.contextmanager
    def _flight(self) -> Iterator[trio.CancelScope]:
        with trio.CancelScope() as scope:
            self._flying.add(scope)
            try:
                yield scope
            finally:
                self._flying.discard(scope)
                if not self._flying:
                    self._landed.set()

    async def stop(self, limit_s: float) -> int:
        """Begin no more calls, wait for those in flight, cut off what takes longer; returns how many those were."""
        self._stopping = True
        self._limit.deadline = min(self._limit.deadline, trio.current_time() + limit_s)
        with self._limit:
            while self._flying:
                self._landed = trio.Event()
                await self._landed.wait()
        left = tuple(self._flying)
        for scope in left:
            scope.cancel()
        return len(left)

    def hurry(self) -> None:
        """The limit of `stop` is over now."""
        self._limit.deadline = -math.inf


def _id_of(request: Request) -> str:
    """The id that the client gives its call, or nothing: one is drawn."""
    given = request.headers.get("x-request-id", "")
    return given if _ID.fullmatch(given) else ""


def _answered(result: ToolResult, name: str, call_id: str, status: int) -> Response:
    error = result.error
    line = result.to_json()
    line["name"] = line["name"] or name
    line["id"] = line["id"] or call_id
    headers = {}
    if error is not None and error.code is ErrorCode.RATE_LIMITED:
        headers["retry-after"] = _seconds(error.details.get("retry_after_s"))
    return _json(status, line, headers)


def _seconds(value: object) -> str:
    if not isinstance(value, (int, float)) or math.isnan(value := min(max(value, 0), LONGEST_AFTER_S)):
        return "1"
    return str(math.ceil(value))


def _said(
    status: int, message: str, headers: dict[str, str] | None = None, *, name: str = "", call_id: str = ""
) -> Response:
    """A refusal that no tool and no board said, in the shape of a result."""
    line = ToolResult.of_error(
        ToolError(_CODES[status], message, retry="same" if status == 503 else "changed")
    ).to_json()
    return _json(status, {**line, "id": call_id, "name": name}, headers or {})


def _not_begun(why: str, name: str, call_id: str) -> Response:
    return _said(503, f"{why}; the call was not begun", {"retry-after": "1"}, name=name, call_id=call_id)


async def _refusal(request: Request, problem: Exception) -> Response:
    """What Starlette refuses: a path that is not valid, a method that is not served there."""
    assert isinstance(problem, HTTPException)
    if problem.status_code not in _CODES:
        return _said(400, REASONS[400])
    where = "nothing is served here" if problem.status_code == 404 else "this is not served in that way"
    return _said(problem.status_code, f"{where}; there are {ENDPOINTS}", dict(problem.headers or {}))


async def _broken(request: Request, problem: Exception) -> Response:
    """What should not happen; it is in the server's log, and the client reads the same shape as ever."""
    return _said(500, "the gateway failed; its cause is in the host's log")


def _compact(value: Any) -> bytes:
    """JSON of what the board gives; a half of a surrogate pair, which an author may have put into a text, costs its own
    sign and nobody's answer."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode() if text.isascii() else text.encode("utf-8", "replace")


def _json(status: int, value: Any, headers: dict[str, str]) -> Response:
    safe = {**headers, "x-content-type-options": "nosniff", "cache-control": "no-store"}
    return Response(_compact(value), status, safe, media_type="application/json")

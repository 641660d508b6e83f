"""The board as an MCP server: an SDK `Server` whose handlers answer from a `Host`.

    client <-> transport <-> dispatcher and runner of the SDK <-> BoardServer <-> Session <-> Host

The SDK keeps the protocol: eras, handshake, envelopes, cancellation, shapes of requests. What is the board's is here.
Handlers answer with plain JSON. `tools/call` goes ahead of the SDK's models through its middleware seam: its params are
read and its result is shaped here, as the models would have left them.

`make_server` makes one for a host; any transport of the SDK drives it. What lives as long as it is driven - sessions,
suspended requests, tasks that tell of changes - is a `Serving`, the server's lifespan.

Errors. Where the protocol wants an error, it is one of JSON-RPC with the number of the table in `client.rpc` and the
code of `ErrorCode` in `data.code`: a tool, prompt or resource that is not there or is disabled, params that are not
valid. Whatever a call of a tool that is there comes to, wrong arguments included, is a result with `isError`
(2025-11-25,
tools: "Tool Execution Errors ... input validation errors"), so that a model reads it.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from typing import TYPE_CHECKING, Any

import trio
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    SERVER_INFO_META_KEY,
    CallToolRequestParams,
    CompleteRequestParams,
    GetPromptRequestParams,
    NotificationParams,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    SetLevelRequestParams,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    UnsubscribeRequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from opentelemetry.trace import ProxyTracerProvider, get_tracer_provider

from pegboard import ErrorCode, ToolError, trace
from pegboard.absence import absent
from pegboard_mcp.client.rpc import RESOURCE_NOT_FOUND
from pegboard_mcp.client.source import servers_away
from pegboard_mcp.dialect import definition_of, result_json, wire_name
from pegboard_mcp.server import _sdk
from pegboard_mcp.server.changes import Changes
from pegboard_mcp.server.elicitation import BECOMES_TASK, Exchange, Suspended, current
from pegboard_mcp.server.errors import (
    fault_at,
    faulty_params,
    invalid_params,
    protocol_error,
    say_what_is_wrong,
)
from pegboard_mcp.server.handles import EXTENSION, Handles, bound_to
from pegboard_mcp.server.listening import task_ids_of
from pegboard_mcp.server.logs import LogForwarder
from pegboard_mcp.server.resources import ServedResources, page_of, prompt_json, resource_json, template_json
from pegboard_mcp.server.sessions import MAX_SUBSCRIBED, Connected, Sessions
from pegboard_mcp.spans import told_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from mcp.server.context import CallNext, ServerRequestContext
    from mcp.server.models import InitializationOptions

    from pegboard import Host, Session, Tool, ToolResult
    from pegboard_mcp.server.task_stores import TaskStore
    from pegboard_mcp.server.tasks import Tasks
    from pegboard_mcp.settings import McpSettings
    from pegboard_serving import Caller

    Ctx = ServerRequestContext[Any, Any]

PAGE = 100
"""Elements of one page of a list."""
FRESH_MS = 5_000
"""How long a list may be used without asking again; its changes are told."""

SOURCES_WAIT_S = 5.0
"""How long a first page waits for sources that are about to offer their first tools; what comes later is told."""
LATER_S = 1.0
"""So much later than the board gives up asking a person, a suspended request ends: the board's word comes first."""


class Serving:
    """What lives as long as a server is driven by one transport; `ctx.lifespan_context` of its handlers."""

    def __init__(self, server: BoardServer, nursery: trio.Nursery) -> None:
        self.nursery = nursery
        handles = server.handles
        self.sessions = Sessions(server.host, server.identify, handles.result_id if handles.is_shared else None)
        self.suspended = Suspended(server.host.board.config.core.approval_timeout_s + LATER_S, server.handles)
        self.tasks = _tasks_of(server, nursery)
        self.changes = Changes(self.sessions)
        if self.tasks is not None:
            self.tasks.on_change = functools.partial(self.changes.listening.tell, "task")
        self.logs = LogForwarder(nursery, self.sessions)


@contextlib.asynccontextmanager
async def _serving(server: BoardServer) -> AsyncIterator[Serving]:
    async with trio.open_nursery() as nursery:
        serving = Serving(server, nursery)
        nursery.start_soon(serving.changes.run, server.host, server.resources.capabilities)
        server.servings.add(serving)
        try:
            with serving.logs:
                yield serving
        finally:
            server.servings.discard(serving)
            serving.sessions.end()
            if serving.tasks is not None:
                await serving.tasks.aclose()
            nursery.cancel_scope.cancel()


def _tasks_of(server: BoardServer, nursery: trio.Nursery) -> Tasks | None:
    settings = server.task_settings
    if settings is None:
        return None
    from pegboard_mcp.server.tasks import Tasks

    return Tasks(nursery, server.make_task_store(), server.handles, settings.task_ttl_s)


def _completed(handler: Callable[[Ctx, Any], Awaitable[Any]]) -> Callable[[Ctx, Any], Awaitable[Any]]:
    """From 2026-07-28 on a result says that it is one; the SDK adds that to its models alone."""

    async def answer(ctx: Ctx, params: Any) -> Any:
        result = await handler(ctx, params)
        if type(result) is dict and ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            result.setdefault("resultType", "complete")
        return result

    return answer


class BoardServer(Server[Any]):
    """An SDK `Server` that serves a host's board. Made by `make_server`.

    Attributes:
        host: whose board it is.
        identify: who makes a request.
        make_task_store: makes where tasks are kept, where calls may become tasks.
        resources: prompts and resources.
        handles: seals what clients carry from one request to the next.
        servings: what lives while it is driven, one for each entered lifespan.
    """

    def __init__(self, host: Host, identify: Callable[[Any], Caller]) -> None:
        from pegboard import __version__

        super().__init__(
            "pegboard",
            version=__version__,
            lifespan=_serving,  # type: ignore[arg-type]
            get_tool_input_schema=self._input_schema,
            cache_hints={
                "tools/list": CacheHint(FRESH_MS),
                "prompts/list": CacheHint(FRESH_MS),
                "resources/list": CacheHint(FRESH_MS),
                "resources/templates/list": CacheHint(FRESH_MS),
                "resources/read": CacheHint(0),
                "server/discover": CacheHint(FRESH_MS),
            },
        )
        self.host = host
        self.identify = identify
        self.resources = ServedResources(host)
        self.handles = _handles(host)
        self.task_settings = _task_settings(host)
        if self.task_settings is not None:
            self.make_task_store = _task_store(host, self.task_settings.task_store)
        self.servings: set[Serving] = set()
        self._definitions: dict[str, tuple[Tool, dict[str, Any]]] = {}
        self._aliases: tuple[Any, Mapping[str, str]] = (None, {})
        self._stamp = self.server_info_stamp
        self._ids = itertools.count(1)
        self._sdk_spans = self.middleware[0] if self.middleware else None
        fast_path = [self._through_fast_path] if _sdk.FAST_PATH else []
        self.middleware = [self._in_its_trace, *fast_path, say_what_is_wrong]
        # Registered one by one: the constructor warns of methods that newer protocols dropped.
        if self.task_settings is not None:
            self.extensions[EXTENSION] = {}
            self.middleware.insert(1, self._about_tasks)
        handlers: tuple[tuple[str, Any, Any], ...] = (
            ("tools/list", PaginatedRequestParams, self._list_tools),
            ("tools/call", CallToolRequestParams, self._call_tool),
            ("prompts/list", PaginatedRequestParams, self._list_prompts),
            ("prompts/get", GetPromptRequestParams, self._get_prompt),
            ("resources/list", PaginatedRequestParams, self._list_resources),
            ("resources/templates/list", PaginatedRequestParams, self._list_templates),
            ("resources/read", ReadResourceRequestParams, self._read_resource),
            ("resources/subscribe", SubscribeRequestParams, self._subscribe),
            ("resources/unsubscribe", UnsubscribeRequestParams, self._unsubscribe),
            ("subscriptions/listen", SubscriptionsListenRequestParams, self._listen),
            ("completion/complete", CompleteRequestParams, self._complete),
            ("logging/setLevel", SetLevelRequestParams, self._set_level),
        )
        for method, params_type, handler in handlers:
            self.add_request_handler(method, params_type, _completed(handler))
        self.add_notification_handler("notifications/initialized", NotificationParams, self._initialized)

    def create_initialization_options(self, *args: Any, **kwargs: Any) -> InitializationOptions:
        """As the SDK's, with lists that tell of their changes."""
        return super().create_initialization_options(
            NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        )

    def end_session(self, key: str) -> None:
        """A session over HTTP is over, by its id."""
        for serving in tuple(self.servings):
            serving.sessions.ended(key)

    def end_listening(self) -> None:
        """End the streams that wait for news; each is answered."""
        for serving in tuple(self.servings):
            serving.changes.listening.close()

    def held_count(self) -> int:
        """How many requests wait for their clients, and tasks run."""
        return sum(len(one.suspended) + len(one.tasks or ()) for one in self.servings)

    def running_tasks(self) -> int:
        """How many tasks run, and wait for no client."""
        return sum(one.tasks.working for one in self.servings if one.tasks is not None)

    # -- tools

    async def _list_tools(self, ctx: Ctx, params: PaginatedRequestParams) -> dict[str, Any]:
        session = _connected(ctx).session
        await self._wait_for_sources(params)
        try:
            page = session.list_tools(params.cursor, PAGE)
        except ToolError as error:
            raise protocol_error(error) from None
        answer: dict[str, Any] = {"tools": [self._definition(tool) for tool in page.tools]}
        if page.next_cursor is not None:
            answer["nextCursor"] = page.next_cursor
        return answer

    async def _wait_for_sources(self, params: PaginatedRequestParams) -> None:
        """Give sources that just start a moment to offer what they have: many clients list once and never again."""
        if params.cursor is None and self.host.sources_starting:
            await self.host.wait_for_sources(timeout_s=SOURCES_WAIT_S)

    def _definition(self, tool: Tool) -> dict[str, Any]:
        known = self._definitions.get(tool.name)
        if known is None or known[0] is not tool:
            if len(self._definitions) > 2 * len(self.host.tools) + PAGE:
                self._definitions.clear()
            known = self._definitions[tool.name] = (tool, definition_of(tool))
        return known[1]

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        tool = self.host.tools.get(self._own_name(self.host.tools, name))
        return None if tool is None else tool.input_schema

    def _own_name(self, tools: Mapping[str, Tool], name: str) -> str:
        """The name on the board of what a client calls `name`."""
        if name in tools:
            return name
        if self._aliases[0] is not tools:
            known = (*self.host.board.rejected_tools, *tools)  # a call of what is held back hears why
            self._aliases = (tools, {wire_name(own): own for own in known if wire_name(own) != own})
        return self._aliases[1].get(name, name)

    async def _in_its_trace(self, ctx: Ctx, call_next: CallNext) -> Any:
        """Middleware: a request is answered in the trace that it brings, in `_meta` (SEP-414), else in the headers of
        the HTTP request that carries it. Those of a WebSocket are of the connection, not of its requests."""
        given = ctx.params.get("_meta") if ctx.params else None
        found = trace.of_mapping(given) if isinstance(given, dict) else None
        if found is None and (scope := getattr(ctx.request, "scope", None)) is not None and scope["type"] == "http":
            found = trace.of_headers(scope["headers"])
        with trace.following(found):
            if self.host.runtime.spans:
                return await self._as_span(ctx, call_next)
            if self._sdk_spans is not None and not isinstance(get_tracer_provider(), ProxyTracerProvider):
                return await self._sdk_spans(ctx, call_next)  # a program that has OpenTelemetry, and nothing of ours
            return await call_next(ctx)

    async def _as_span(self, ctx: Ctx, call_next: CallNext) -> Any:
        """A message as observers hear it, in the place of the SDK's own middleware."""
        name, told = told_of(ctx.method, ctx.params, ctx.protocol_version, is_pipe=ctx.request is None)
        if ctx.request_id is not None:
            told["jsonrpc.request.id"] = str(ctx.request_id)
        with self.host.span(name, "server", told) as ended:
            try:
                answer = await call_next(ctx)
            except MCPError as error:
                ended["error.type"] = ended["rpc.response.status_code"] = str(error.error.code)
                raise
            if ctx.method == "tools/call" and isinstance(answer, dict) and answer.get("isError") is True:
                ended["error.type"] = "tool_error"
            return answer

    async def _through_fast_path(self, ctx: Ctx, call_next: CallNext) -> Any:
        if ctx.method != "tools/call" or ctx.request_id is None:
            return await call_next(ctx)
        params = ctx.params
        is_modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        if params is None or (not is_modern and ctx.session.client_params is None):
            return await call_next(ctx)  # before the handshake: the SDK refuses it
        answer = await self.call_tool(ctx, params)
        return self._enveloped(answer) if is_modern else answer

    def _enveloped(self, answer: dict[str, Any]) -> dict[str, Any]:
        """What the SDK adds to a result of 2026-07-28."""
        answer.setdefault("resultType", "complete")
        answer.setdefault("_meta", {})[SERVER_INFO_META_KEY] = dict(self._stamp)
        return answer

    async def _about_tasks(self, ctx: Ctx, call_next: CallNext) -> Any:
        """Middleware: the requests of the extension, which the SDK does not know."""
        if not ctx.method.startswith("tasks/") or ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return await call_next(ctx)
        from pegboard_mcp.server import tasks

        if ctx.method not in tasks.METHODS or ctx.request_id is None:
            return await call_next(ctx)
        tasks.require_tasks(ctx.session.client_capabilities)
        params = ctx.params or {}
        tasks.require_header(ctx.request, params.get("taskId"))
        kept: Tasks | None = ctx.lifespan_context.tasks
        assert kept is not None, "it is on"
        return self._enveloped(await kept.answer(_connected(ctx), ctx.method, params))

    async def _call_tool(self, ctx: Ctx, params: CallToolRequestParams) -> dict[str, Any]:
        return await self.call_tool(ctx, params.model_dump(by_alias=True, exclude_none=True))

    async def call_tool(self, ctx: Ctx, params: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a `tools/call`, as `CallToolResult` or, where the client is asked something, `InputRequiredResult`.

        Raises:
            MCPError: what the protocol wants an error for.
        """
        name, arguments = params.get("name"), params.get("arguments")
        if type(name) is not str:
            raise faulty_params(ctx.method, [fault_at(("name",), "string", name)])
        if type(arguments) is not dict and arguments is not None:
            raise faulty_params(ctx.method, [fault_at(("arguments",), "object", arguments)])
        connected = _connected(ctx)
        session = connected.session
        own = self._own_name(
            self.host.board.visible_tools(session.profile).snapshot.tools, name
        )  # those that are refused too
        exchange = Exchange(ctx, connected, own)

        async def work() -> dict[str, Any]:
            call_id = f"mcp-{next(self._ids)}"
            connected.by_call[call_id] = exchange
            try:
                result = await session.call(own, arguments, id=call_id)
            finally:
                del connected.by_call[call_id]
            if result.error is not None:
                self._raise_protocol_error(result, session, own)
            answer = result_json(result)
            if "cut" in (result.details or ()) and result.data is None and _promises_data(session.tools.get(own)):
                # An answer without its structured part is a protocol error to clients, unless it is one of the tool.
                answer["isError"] = True
            return answer

        try:
            return await self._answer(exchange, work, params)
        except ToolError as error:
            raise protocol_error(error) from None

    def _raise_protocol_error(self, result: ToolResult, session: Session, name: str) -> None:
        """Raise where there is no tool to call; any other error is the call's own."""
        error = result.error
        assert error is not None
        if name in session.tools:
            return
        if error.code is ErrorCode.NOT_FOUND or error.details.get("reason") in ("disabled", "held"):
            raise protocol_error(error)
        if error.code is ErrorCode.CONFLICT:
            raise protocol_error(error)

    # -- one request, and what the client is asked meanwhile

    async def _answer(
        self,
        exchange: Exchange,
        work: Callable[[], Awaitable[dict[str, Any]]],
        params: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Do the work of a request, or take it up again where the client comes back with answers."""
        ctx = exchange.ctx
        if exchange.is_modern:
            state, responses = params.get("requestState"), params.get("inputResponses")
            after_s = self._task_after_s(ctx)
            if state is not None or responses is not None or after_s is not None or _can_ask(exchange):
                return await self._answer_in_rounds(exchange, work, state, responses, after_s)
            if exchange.least_level is not None:
                ctx.lifespan_context.logs.listen_to(exchange.least_level)
        token = current.set(exchange)
        exchanges = exchange.connected.exchanges
        exchanges.add(exchange)
        try:
            answer = await work()
        finally:
            exchanges.discard(exchange)
            current.reset(token)
        if exchange.has_logs:
            await exchange.flush_logs()
        if exchange.refused is not None and answer.get("isError"):
            raise exchange.refused
        return answer

    def _task_after_s(self, ctx: Ctx) -> float | None:
        """After how long a request is answered with a task; None: never, or its client takes none."""
        if self.task_settings is None or ctx.method != "tools/call":
            return None
        declared = ctx.session.client_capabilities
        if declared is None or EXTENSION not in (declared.extensions or ()):
            return None
        return self.task_settings.task_after_s

    async def _answer_in_rounds(
        self,
        exchange: Exchange,
        work: Callable[[], Awaitable[dict[str, Any]]],
        state: Any,
        responses: Any,
        task_after_s: float | None,
    ) -> dict[str, Any]:
        ctx, connected = exchange.ctx, exchange.connected
        request = bound_to(connected.caller, ctx.method, ctx.params or {})
        serving: Serving = ctx.lifespan_context
        if exchange.least_level is not None:
            serving.logs.listen_to(exchange.least_level)
        if not isinstance(responses, (dict, type(None))):
            raise faulty_params(ctx.method, [fault_at(("inputResponses",), "object", responses)])
        if state is not None:
            key, exchange = serving.suspended.take(state, connected, request)
            exchange.resume(ctx)
            try:
                exchange.give(responses or {})
            except MCPError:
                serving.suspended.put_back(key, exchange, request)
                raise
            exchange.offer_task(task_after_s)
        else:
            exchange.give(responses or {})
            exchange.offer_task(task_after_s)
            token = current.set(exchange)
            try:
                serving.nursery.start_soon(exchange.run, work)  # it has the context of this moment
            finally:
                current.reset(token)
        return await self._next_round(exchange)

    async def _next_round(self, exchange: Exchange) -> dict[str, Any]:
        """The answer of a request whose work runs: what it came to, what it asks, or the task that it becomes."""
        connected, ctx = exchange.connected, exchange.ctx
        serving: Serving = ctx.lifespan_context
        connected.exchanges.add(exchange)
        try:
            answer: dict[str, Any] = await exchange.outcome()
        finally:
            connected.exchanges.discard(exchange)
        if answer is BECOMES_TASK:
            return await self._as_task(exchange)
        if exchange.has_logs:
            await exchange.flush_logs()
        if "inputRequests" in answer:
            try:
                new_state = serving.suspended.keep(exchange, bound_to(connected.caller, ctx.method, ctx.params or {}))
            except ToolError as error:
                raise protocol_error(error) from None
            return {"resultType": "input_required", "requestState": new_state, **answer}
        if exchange.refused is not None and answer.get("isError"):
            raise exchange.refused
        return answer

    async def _as_task(self, exchange: Exchange) -> dict[str, Any]:
        """Answer a request with a task, whose work goes on."""
        serving: Serving = exchange.ctx.lifespan_context
        assert serving.tasks is not None, "it was offered"
        try:
            task = await serving.tasks.create(exchange)
        except BaseException:  # its client is gone before it heard of the task
            exchange.cancel()
            raise
        if task is not None:
            return task
        exchange.stay_request()
        return await self._next_round(exchange)

    async def _answered(
        self, ctx: Ctx, what: str, work: Callable[[Session], Awaitable[dict[str, Any]]]
    ) -> dict[str, Any]:
        """The same for requests that are not valid calls: what goes wrong is an error of the protocol."""
        connected = _connected(ctx)
        exchange = Exchange(ctx, connected, what)
        try:
            return await self._answer(exchange, lambda: work(connected.session), ctx.params or {})
        except ToolError as error:
            if exchange.refused is not None:
                raise exchange.refused from None
            failed = protocol_error(error)
            if ctx.method == "resources/read" and error.code is ErrorCode.NOT_FOUND:
                number = INVALID_PARAMS if exchange.is_modern else RESOURCE_NOT_FOUND
                asked = error.details.get("uri") or (ctx.params or {}).get("uri")
                failed = protocol_error(error, number, uri=asked)
            raise failed from None

    # -- prompts, resources, completion

    async def _list_prompts(self, ctx: Ctx, params: PaginatedRequestParams) -> dict[str, Any]:
        await self._wait_for_sources(params)
        return _page("prompts", self.resources.prompts, prompt_json, params, _connected(ctx).session)

    async def _list_resources(self, ctx: Ctx, params: PaginatedRequestParams) -> dict[str, Any]:
        await self._wait_for_sources(params)
        return _page("resources", self.resources.resources, resource_json, params, _connected(ctx).session)

    async def _list_templates(self, ctx: Ctx, params: PaginatedRequestParams) -> dict[str, Any]:
        await self._wait_for_sources(params)
        return _page("resourceTemplates", self.resources.templates, template_json, params, _connected(ctx).session)

    async def _get_prompt(self, ctx: Ctx, params: GetPromptRequestParams) -> dict[str, Any]:
        name, arguments = params.name, params.arguments or {}
        return await self._answered(ctx, name, lambda session: self.resources.get_prompt(session, name, arguments))

    async def _read_resource(self, ctx: Ctx, params: ReadResourceRequestParams) -> dict[str, Any]:
        uri = str(params.uri)
        return await self._answered(ctx, uri, lambda session: self.resources.read(session, uri))

    async def _complete(self, ctx: Ctx, params: CompleteRequestParams) -> dict[str, Any]:
        return await self._answered(ctx, "", lambda session: self.resources.complete(session, params))

    async def _subscribe(self, ctx: Ctx, params: SubscribeRequestParams) -> dict[str, Any]:
        connected, uri = _connected(ctx), str(params.uri)
        if self.resources.find(uri) is None:
            if held := self.resources.capabilities.held_back(f"resource:{uri}"):
                raise protocol_error(held)
            error = absent("there is no such resource", servers_away(connected.session), uri=uri[:500])
            raise protocol_error(error, RESOURCE_NOT_FOUND, uri=uri[:500])
        if len(connected.subscribed) >= MAX_SUBSCRIBED:
            raise invalid_params(f"a connection may subscribe to {MAX_SUBSCRIBED} resources")
        connected.subscribed.add(uri)
        return {}

    async def _unsubscribe(self, ctx: Ctx, params: UnsubscribeRequestParams) -> dict[str, Any]:
        _connected(ctx).subscribed.discard(str(params.uri))
        return {}

    # -- what else a client says

    async def _listen(self, ctx: Ctx, params: SubscriptionsListenRequestParams) -> Any:
        serving: Serving = ctx.lifespan_context
        if serving.tasks is not None and task_ids_of(ctx.params):
            from pegboard_mcp.server.tasks import require_tasks

            require_tasks(ctx.session.client_capabilities)
        return await serving.changes.listening.serve(ctx, params.notifications, _connected(ctx), serving.tasks)

    async def _set_level(self, ctx: Ctx, params: SetLevelRequestParams) -> dict[str, Any]:
        _connected(ctx).level = params.level
        ctx.lifespan_context.logs.listen_to(params.level)
        return {}

    async def _initialized(self, ctx: Ctx, params: NotificationParams) -> None:
        _connected(ctx)  # from here on it hears of changes


def _handles(host: Host) -> Handles:
    """What seals with the configured key, so that ids outlive the program whatever carries them; else with one of our
    own."""
    settings = _settings(host)
    if settings is None or settings.state_key is None:
        return Handles()
    from pegboard_mcp.server.instances import Instances

    return Instances(settings).handles


def _task_settings(host: Host) -> McpSettings | None:
    """The settings, where calls may become tasks."""
    found = _settings(host)
    return None if found is None or found.task_after_s is None else found


def _settings(host: Host) -> McpSettings | None:
    from pegboard_mcp.settings import McpSettings

    return next((one.settings for one in host.board.plugins if isinstance(one.settings, McpSettings)), None)


def _task_store(host: Host, name: str) -> Callable[[], TaskStore]:
    """What makes the store of that name, or gives the one that a plugin brings.

    Raises:
        ConfigError: there is none.
    """
    from pegboard_mcp.server.brought import brought
    from pegboard_mcp.server.task_stores import STORES

    if name in STORES:
        return STORES[name]
    store: TaskStore = brought(host.board, "provide_task_store", "task_store", name, STORES)
    return lambda: store


def _promises_data(tool: Tool | None) -> bool:
    return tool is not None and tool.output_schema is not None


def _connected(ctx: Ctx) -> Connected:
    serving: Serving = ctx.lifespan_context
    return serving.sessions.of(ctx)


def _can_ask(exchange: Exchange) -> bool:
    declared = exchange.capabilities
    return "elicitation" in declared or "sampling" in declared or "roots" in declared


def _page(
    member: str,
    ordered: Mapping[str, Any],
    shape: Callable[[Any], dict[str, Any]],
    params: PaginatedRequestParams,
    session: Session,
) -> dict[str, Any]:
    shown, after = page_of(ordered, params.cursor, PAGE)
    answer: dict[str, Any] = {member: [shape(one) for one in shown]}
    for one, told in zip(shown, answer[member], strict=True):
        if one.source is not None:
            session.note_defined(told, source=one.source)
    if after is not None:
        answer["nextCursor"] = after
    return answer


def make_server(
    host: Host,
    *,
    user_id: str | None = None,
    profile: str | None = None,
    identify: Callable[[Any], Caller] | None = None,
) -> BoardServer:
    """An SDK `Server` that serves a host's board; a transport drives it, as long as the host runs.

    Args:
        host: whose tools are served.
        user_id: who calls, where the transport does not know; None: `user_id` of the configuration.
        profile: which tools they see; None: the configuration's default.
        identify: tells who makes a request. It takes the transport's request (`ServerRequestContext.request`, None on
            stdio). Without it a request over HTTP is of whom `pegboard_mcp.server.auth` found.

    .. versionadded:: 0.1
    """
    from pegboard_mcp.server.auth import caller_of
    from pegboard_serving import Caller

    caller = Caller(user_id, profile)
    return BoardServer(host, identify or (lambda request: caller if request is None else caller_of(request)))

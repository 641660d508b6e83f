"""What is asked of one MCP server: calls of its tools, its prompts, its resources, and completions.

A handler runs in its caller's task: it takes the published connection, or asks for one and waits, and sends its own
request, so calls of one server overlap and no call is handed from task to task. A call that a server may have read is
sent again only where the tool is read-only or idempotent, and only once.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pegboard import CallContext, ErrorCode, Retry, ToolError, ToolResult
from pegboard.text import clean
from pegboard_mcp.client._errors import LinkError, Lost, RpcError
from pegboard_mcp.client._plain import json_text, masked
from pegboard_mcp.client.budgets import MINUTE_S, Budget
from pegboard_mcp.client.lifecycle import NO_RETRY
from pegboard_mcp.spans import told_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pegboard import Content, Session
    from pegboard_mcp.client.catalogue import Catalogue
    from pegboard_mcp.client.connection import Connection
    from pegboard_mcp.client.elicitation import Elicitation
    from pegboard_mcp.client.lifecycle import Lifecycle
    from pegboard_mcp.client.lists import Lists
    from pegboard_mcp.definitions import ServerDefinition
    from pegboard_mcp.prompts_and_resources import Message

UNSENT = 3
"""How often one call is sent again that no server has read."""
HEADER_MISMATCH = -32020
LAST_WORDS_S = 0.05
"""How long before its deadline a call is given up here, where it is known who did not answer."""
MAX_COMPLETIONS = 100
MAX_METHOD = 200


class Calls:
    """The requests of the board to one server: the `Handlers` of its catalogue."""

    def __init__(
        self,
        definition: ServerDefinition,
        lifecycle: Lifecycle,
        catalogue: Catalogue,
        lists: Lists,
        elicitation: Elicitation,
    ) -> None:
        self.definition = definition
        self.name = definition.name
        self._lifecycle = lifecycle
        self._catalogue = catalogue
        self._lists = lists
        self._elicitation = elicitation
        self._budget = Budget(definition.calls_per_minute, MINUTE_S)
        self._mask: Callable[[str], str] | None = definition.mask if definition.secrets else None

    # -- what is offered

    def call_tool(self, wire: str, *, repeatable: bool) -> Callable[..., Any]:
        """The handler of a tool."""

        return ToolHandler(self, wire, repeatable)

    def call_prompt(self, wire: str) -> Callable[..., Any]:
        """The handler of a prompt that is registered as a tool."""

        async def handler(context: CallContext, /, **arguments: Any) -> ToolResult:
            try:
                messages = await self._messages(wire, arguments, context)
            except ToolError as error:
                return await context.begin_anew(arguments, error)  # the server offers another now
            data = {"messages": [{"role": role, "content": content.to_json()} for role, content in messages]}
            return ToolResult(content=tuple(message.content for message in messages), data=data)

        return handler

    def get_prompt(self, wire: str) -> Callable[..., Any]:
        """`Prompt.get`."""

        async def get(session: Session, arguments: Mapping[str, str]) -> Sequence[Message]:
            return await self._messages(wire, arguments, session, is_whole=True)

        return get

    async def read_resource(self, session: Session, uri: str, *, is_whole: bool = False) -> Sequence[Content]:
        """What lies at an address, for whoever cuts it."""
        from pegboard_mcp.client.content import resource_blocks

        await session.require_flow(self._catalogue.asked_through("resource", uri), {"uri": uri})
        raw = await self._bounded("resources/read", {"uri": uri}, uri, session)
        if is_whole:
            self._require_fitting(raw, uri)
        return resource_blocks(raw, is_raw=self.definition.results == "raw")

    async def give_resource(self, session: Session, uri: str) -> Sequence[Content]:
        """`Resource.read`."""
        return await self.read_resource(session, uri, is_whole=True)

    def complete(self, ref: dict[str, Any]) -> Callable[..., Any]:
        """`Prompt.complete` or `ResourceTemplate.complete`."""

        async def values(session: Session, argument: str, value: str, others: Mapping[str, str]) -> Sequence[str]:
            params: dict[str, Any] = {"ref": ref, "argument": {"name": argument, "value": value}}
            if others:
                params["context"] = {"arguments": dict(others)}
            connection = self._lifecycle.connection or await self.connected()
            if "completions" not in connection.capabilities:
                return []
            kind, what = ("prompt", ref["name"]) if "name" in ref else ("resource", "")
            try:  # words of others go to the server as they do in a prompt; and nobody is asked while they type
                asked = self._catalogue.asked_through(kind, what)
                await session.require_flow(asked, {**others, argument: value}, asks=False)
            except ToolError:
                return []
            raw = await self._bounded("completion/complete", params, argument, session)
            found = raw.get("completion")
            listed = found.get("values") if isinstance(found, Mapping) else None
            told = listed[:MAX_COMPLETIONS] if isinstance(listed, list) else ()
            return [clean(value)[0] for value in told if isinstance(value, str)]

        return values

    async def send_written(
        self, session: Session, message: Mapping[str, Any], *, completes: bool
    ) -> dict[str, Any] | None:
        """One message that a person wrote, past everything that stands before a call: `McpSource.send_written`."""
        import trio

        method, params = message.get("method"), message.get("params")
        if not isinstance(method, str) or not 0 < len(method) <= MAX_METHOD:
            raise ToolError(ErrorCode.INVALID_INPUT, f"method: expected a text of 1 to {MAX_METHOD} characters")
        if params is not None and not isinstance(params, dict):
            raise ToolError(ErrorCode.INVALID_INPUT, "params: expected an object, which is what MCP has there")
        connection = self._lifecycle.connection or await self.connected()
        if "id" not in message:
            await connection.notify(method, params)
            return None
        with (
            trio.move_on_after(self.definition.request_s) as scope,
            session.hold_while_asked(scope),
            self._elicitation.calling(session),
        ):
            try:
                answer = {"result": await connection.send_written(method, params, completes=completes)}
            except RpcError as problem:
                data = {} if problem.data is None else {"data": problem.data}
                answer = {"error": {"code": problem.code, "message": problem.message, **data}}
            except Lost as problem:
                raise self._lost_error(problem, method, repeatable=False) from None
            return answer if self._mask is None else masked(answer, self._mask)
        raise self._unanswered(method)

    # -- requests

    async def call(self, context: CallContext, wire: str, arguments: dict[str, Any], repeatable: bool) -> ToolResult:
        """One call of a tool."""
        import trio

        from pegboard_mcp.client.content import result_of

        params = {"name": wire, "arguments": arguments}
        left_s = context.deadline - trio.current_time()
        scope = trio.CancelScope(deadline=context.deadline - min(LAST_WORDS_S, left_s / 20))
        with scope, context.session.hold_while_asked(scope):
            try:
                raw = await self._request("tools/call", params, wire, repeatable=repeatable, asker=context)
            except ToolError as error:
                return await context.begin_anew(arguments, error)  # the server offers another now
            return result_of(raw, server=self.name, mask=self._mask)
        raise self._silent_error(wire, left_s, repeatable=repeatable)

    async def _messages(
        self, wire: str, arguments: Mapping[str, Any], asker: CallContext | Session, *, is_whole: bool = False
    ) -> tuple[Message, ...]:
        from pegboard_mcp.client.content import messages_of

        if isinstance(asker, CallContext):
            assert asker.scope is not None, "it runs under a deadline"
            with asker.session.hold_while_asked(asker.scope):
                await asker.session.require_flow(asker.tool, arguments)
        else:
            await asker.require_flow(self._catalogue.asked_through("prompt", wire), arguments)
        raw = await self._bounded("prompts/get", {"name": wire, "arguments": dict(arguments)}, wire, asker)
        if is_whole:
            self._require_fitting(raw, wire)
        return messages_of(raw, is_raw=self.definition.results == "raw")

    async def _bounded(
        self, method: str, params: dict[str, Any], what: str, asker: CallContext | Session
    ) -> dict[str, Any]:
        """A request that changes nothing, under the server's own deadline."""
        import trio

        session = asker.session if isinstance(asker, CallContext) else asker
        params = session.masked(params, target=self.name)
        with trio.move_on_after(self.definition.request_s) as scope, session.hold_while_asked(scope):
            return await self._request(method, params, what, asker=asker)
        raise self._unanswered(method)

    def _require_fitting(self, raw: dict[str, Any], what: str) -> None:
        """Require that what a client is given as it is fits into `max_result_bytes`: of a tool's result the rest can be
        read page by page, of a prompt or a resource nobody could tell that something is missing."""
        most, text = self.definition.max_result_bytes, json_text(raw)
        size = len(text.encode("utf-8", "replace")) if most is not None and text is not None else 0
        if most is not None and size > most:
            raise ToolError(
                ErrorCode.UPSTREAM_ERROR,
                f"{what[:200]!r} of the MCP server {self.name!r} is {size:,} bytes, and it may give {most:,} at once "
                "(max_result_bytes)",
                reason="too_long",
                server=self.name,
                executed=True,
                retry=Retry.CHANGED.value,
                fix="ask for less, or raise `max_result_bytes` of the server",
            )

    def _unanswered(self, method: str) -> ToolError:
        return ToolError(
            ErrorCode.TIMEOUT,
            f"the MCP server {self.name!r} did not answer {method} within {self.definition.request_s:g} s",
            server=self.name,
            retry=Retry.SAME.value,
        )

    async def _request(
        self, method: str, params: dict[str, Any], what: str, *, repeatable: bool = True, asker: CallContext | Session
    ) -> dict[str, Any]:
        """A request on the open connection, sent again where that is right.

        Raises:
            ToolError: it failed; the code says whether it may have run.
        """
        if (wait_s := self._budget.take()) > 0:
            raise self._over_budget(what, wait_s)
        unsent, lost, relisted = 0, None, False
        on_progress = self._elicitation.progress_of(asker) if isinstance(asker, CallContext) else None
        while True:
            connection = self._lifecycle.connection
            if is_new := connection is None:
                connection = await self.connected(lost)
            if isinstance(asker, CallContext):
                self._catalogue.require_registered(asker, method, what, is_new=is_new)
            if self._catalogue.held_back and not isinstance(asker, CallContext):
                await self._catalogue.require_accepted(asker, method, what)
            try:
                known = connection.refusals() if self.definition.confine else []
                with self._elicitation.calling(asker):
                    raw = await self._sent(connection, method, params, on_progress, asker)
                return _with_refusals(raw, connection.refusals(), known) if self.definition.confine else raw
            except Lost as problem:
                if not problem.written and unsent < UNSENT:
                    unsent += 1
                elif problem.written and repeatable and lost is None:
                    lost = problem
                else:
                    raise self._lost_error(problem, what, repeatable=repeatable) from None
            except RpcError as problem:
                if problem.code == HEADER_MISMATCH and not relisted and connection.modern:
                    relisted = True
                    await self._lists.read_again(connection)
                else:
                    raise self._rpc_error(problem, what) from None

    async def _sent(
        self,
        connection: Connection,
        method: str,
        params: dict[str, Any],
        on_progress: Any,
        asker: CallContext | Session,
    ) -> dict[str, Any]:
        """One request, as observers hear it where there are some."""
        host = (asker.session if isinstance(asker, CallContext) else asker).host
        if not host.runtime.spans:
            return await connection.request(method, params, on_progress=on_progress)
        is_pipe = self.definition.transport == "stdio"
        name, told = told_of(method, params, connection.version, is_pipe=is_pipe)
        with host.span(name, "client", told) as ended:
            try:
                raw = await connection.request(method, params, on_progress=on_progress)
            except RpcError as problem:
                ended["error.type"] = ended["rpc.response.status_code"] = str(problem.code)
                raise
            if method == "tools/call" and raw.get("isError") is True:
                ended["error.type"] = "tool_error"
            return raw

    async def connected(self, lost: Lost | None = None) -> Connection:
        """The open connection, started where there is none.

        Raises:
            ToolError: it cannot be started, or the host is closing.
        """
        ready = await self._lifecycle.ready()
        if ready is None:
            raise self._not_ready(lost)
        if isinstance(ready, LinkError):
            raise self._unreachable(ready, lost)
        return ready

    # -- what went wrong

    def _over_budget(self, what: str, wait_s: float) -> ToolError:
        return ToolError(
            ErrorCode.RATE_LIMITED,
            f"{what!r} was not run: the MCP server {self.name!r} may be called {self._budget.most} times a minute "
            f"(calls_per_minute); again in {wait_s:.0f} s",
            reason="budget",
            server=self.name,
            retry_after_s=round(wait_s, 1),
            executed=False,
            retry=Retry.SAME.value,
        )

    def _silent_error(self, what: str, waited_s: float, *, repeatable: bool) -> ToolError:
        """TIMEOUT that names the server, a moment before the host's own, which knows nothing of servers."""
        named = f"the MCP server {self.name!r} ({self.definition.shown})"
        details: dict[str, Any] = {"server": self.name, "timeout_s": round(waited_s, 3)}
        if repeatable:
            details["retry"] = Retry.SAME.value
        text = (
            f"{named} did not answer {what!r} within {waited_s:.3g} s; it works longer than that, or hangs: "
            "read its log, or give it more with `request_timeout`"
        )
        if not repeatable:
            text += "; it is not known whether it was done, so look before you call it again"
        return ToolError(ErrorCode.TIMEOUT, text, details)

    def _rpc_error(self, problem: RpcError, what: str) -> ToolError:
        from pegboard_mcp.client.elicitation import may_open
        from pegboard_mcp.client.rpc import tool_error_of

        return tool_error_of(
            problem.code,
            problem.message,
            problem.data,
            server=self.name,
            tool=what,
            mask=self._mask,
            may_open=partial(may_open, self.definition),
        )

    def _lost_error(self, lost: Lost, what: str, *, repeatable: bool) -> ToolError:
        why = f"the MCP server {self.name!r} ({self.definition.shown}) was lost: {lost.why.explanation}"
        details = {"server": self.name, "kind": lost.why.kind}
        if not lost.written:
            text = f"{what!r} was not run: {why}"
            return ToolError(ErrorCode.UPSTREAM_ERROR, text, details, executed=False, retry=Retry.SAME.value)
        if repeatable:
            text = f"the answer of {what!r} was lost twice: {why}"
            return ToolError(ErrorCode.UPSTREAM_ERROR, text, details, retry=Retry.SAME.value)
        text = f"{what!r} may have run, and its answer is lost: {why}"
        return ToolError(ErrorCode.OUTCOME_UNKNOWN, text, details)

    def _unreachable(self, error: LinkError, lost: Lost | None) -> ToolError:
        text = f"the MCP server {self.name!r} cannot be reached ({self.definition.shown}): {error.explanation}"
        details: dict[str, Any] = {"server": self.name, "kind": error.kind, "retry": Retry.SAME.value}
        if lost is None:
            details["executed"] = False
        if error.kind in NO_RETRY:
            details["retry"] = Retry.CHANGED.value
        return ToolError(ErrorCode.UPSTREAM_ERROR, text, details)

    def _not_ready(self, lost: Lost | None) -> ToolError:
        """The call's deadline is about to come, and nothing was sent yet: who waits on may call again."""
        details: dict[str, Any] = {"server": self.name, "retry": Retry.SAME.value}
        if lost is None:
            details["executed"] = False
        named = f"the MCP server {self.name!r} ({self.definition.shown})"
        late = "was not ready in time" if not self._lifecycle.installs else "is still being installed"
        text = f"{named} {late}" + ("; call again" if lost is None else f", and lost before: {lost.why.why}")
        return ToolError(ErrorCode.TIMEOUT, text, details)


class ToolHandler:
    """Calls one tool of a server. An object, since there may be ten thousand: a closure takes three times as much."""

    __slots__ = ("_calls", "_repeatable", "_wire")

    def __init__(self, calls: Calls, wire: str, repeatable: bool) -> None:
        self._calls = calls
        self._wire = wire
        self._repeatable = repeatable

    async def __call__(self, context: CallContext, /, **arguments: Any) -> ToolResult:
        """What the server answers."""
        return await self._calls.call(context, self._wire, arguments, self._repeatable)


def _with_refusals(raw: dict[str, Any], refusals: list[str], known: list[str]) -> dict[str, Any]:
    """A tool's error with what the sandbox refused meanwhile, which the server has no words for."""
    new = [one for one in refusals if one not in known]
    if not new or raw.get("isError") is not True or not isinstance(raw.get("content"), list):
        return raw
    return {**raw, "content": [*raw["content"], {"type": "text", "text": "\n".join(new)}]}

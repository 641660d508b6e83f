"""A tool source for each configured MCP server: one task that owns the connection, and handlers that use it.

    configured, known ──demand──> starting ──> ready ──the server is gone──> backing_off ──a pause, demand──> starting
                                     └──it cannot be started──> backing_off; or failed: then on demand alone

The owner is the only task that opens and closes a connection; it publishes it in `McpSource.connection` and takes it
back before anybody learns that the server is gone. A handler runs in its caller's task: it takes the published
connection, or asks for one and waits, and sends its own request, so calls of one server overlap and no call is handed
from task to task.

Invariants: an attempt to start ends with a connection or with the reason, and everybody who waits for it learns the
same; a call that a server may have read is sent again only where the tool is read-only or idempotent, and only once; a
list is swapped as a whole, and the old one stays where the new one cannot be read.

A server that npx, uvx or the like runs is `installing` before it is `starting`: see `transports.install`.

Nothing of the `mcp` SDK is imported before the first server is started.
"""

from __future__ import annotations

import logging
import random
import sys
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pegboard import (
    Annotations,
    CallContext,
    ErrorCode,
    Origin,
    PegboardError,
    Retry,
    SourceState,
    Tool,
    ToolError,
    ToolResult,
)
from pegboard.errors import reason_of
from pegboard.text import clean
from pegboard_mcp.client import cache
from pegboard_mcp.client._errors import LinkError, Lost, RpcError
from pegboard_mcp.client.elicitation import Elicitation
from pegboard_mcp.client.names import DIGITS, MAX_NAME, board_names, plain_name, qualified_name
from pegboard_mcp.lock.pins import identity_of, pin_of, resource_pin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pegboard import Content, HeldBackError, SourceSlot
    from pegboard.session import Session
    from pegboard_mcp.capabilities import Capabilities, Message, Prompt, Resource, ResourceTemplate
    from pegboard_mcp.client.connection import Connection
    from pegboard_mcp.client.discovery import Entry, Listing
    from pegboard_mcp.definitions import ServerDefinition
    from pegboard_mcp.lock.pins import Pin
    from pegboard_mcp.settings import McpSettings

log = logging.getLogger("pegboard.mcp")

PAUSE_S = (1.0, 60.0)
"""Before a server is started again: after a second, then twice as long each time, up to a minute; with jitter."""
HEALTHY_S = 60.0
"""A server that ran this long is started again without delay of the past."""
RETRY_S = 1.0
"""For so long after an attempt that failed, calls get its reason and start no other."""
DEBOUNCE_S = (0.1, 30.0)
"""How long a list that changed is left alone before it is read; more each time it changes while it is read."""
REREAD = 2
"""How often lists that changed while they were read are read again at once."""
RELISTEN_S = (1.0, 60.0)
ANSWER_S = 0.05
"""So long before its deadline a call that was not sent yet says so, rather than that nobody knows whether it ran."""
UNSENT = 3
"""How often one call is sent again that no server has read."""
NO_RETRY = frozenset({"missing_command", "missing_folder", "not_executable", "unauthorized"})
"""What a later attempt does not repair, unless somebody acts."""
HEADER_MISMATCH = -32020
METHOD_NOT_FOUND = -32601
LAST_WORDS_S = 0.05
"""How long before its deadline a call is given up here, where it is known who did not answer."""
PROMPT_MARK = "prompt_"
"""Before the name of a prompt that is registered as a tool."""
MAX_COMPLETIONS = 100
KEPT_OF_NAMES = MAX_NAME - 1 - DIGITS
"""How a name begins stays so, however long it is: see `pegboard_mcp.client.names`."""


def make_sources(settings: McpSettings) -> list[McpSource]:
    """A source for every server that the settings name.

    .. versionadded:: 0.1
    """
    group = SourceGroup()
    return [McpSource(definition, group=group, settings=settings) for definition in settings.definitions()]


class SourceGroup:
    """The MCP sources of one board. A name that two servers have gets the server's name as a prefix in both, so
    that no name depends on which server started first."""

    def __init__(self) -> None:
        self.sources: list[McpSource] = []
        self._contested: frozenset[str] | None = None

    @property
    def contested(self) -> frozenset[str]:
        """Names that more than one source wants; each source is asked for what it remembers first."""
        if self._contested is None:
            for source in self.sources:
                source.remember()
            wanted = Counter(name for source in self.sources for name in source.plain_names.values())
            self._contested = frozenset(name for name, count in wanted.items() if count > 1)
        return self._contested

    def renamed(self, changed: McpSource) -> None:
        """Let the others take the names that are theirs, now that one changed."""
        before, self._contested = self._contested, None
        if self.contested != before:
            for source in self.sources:
                if source is not changed:
                    source.rename()


class _Attempt:
    """One attempt to start a server, from the first demand to its end; `error` is set where it failed."""

    def __init__(self) -> None:
        import trio

        self.done = trio.Event()
        self.error: LinkError | None = None

    def end(self, error: LinkError | None = None) -> None:
        self.error = error
        self.done.set()


class McpSource:
    """The tools of one MCP server.

    Attributes:
        name: the configured one.
        timeout_s: how long a call may take as a whole.
        required: whether the host must not open without it.
        definition: of the server.
        listing: what it offers as far as is known, or None.
        plain_names: the names that its tools would have, whatever others want, by the server's own names.
        connection: the open one; None: it is not ready.
        trouble: why it was not ready the last time.

    .. versionadded:: 0.1
    """

    def __init__(
        self, definition: ServerDefinition, *, group: SourceGroup | None = None, settings: McpSettings | None = None
    ) -> None:
        self.definition = definition
        self.name = definition.name
        self.timeout_s: float | None = definition.request_s
        self.required = definition.required
        self.listing: Listing | None = None
        self.plain_names: dict[str, str] = {}
        self.connection: Connection | None = None
        self.trouble: LinkError | None = None
        self._group = group or SourceGroup()
        self._group.sources.append(self)
        self._settings = settings
        self._mask: Callable[[str], str] | None = definition.mask if definition.secrets else None
        self._names: dict[str, str] = {}
        self._moved: set[str] = set()
        self._slot: SourceSlot | None = None
        self._capabilities: Capabilities | None = None
        self._offered: Listing | None = None
        self._held: dict[str, ToolError] = {}
        self._attempt: _Attempt | None = None
        self._failed_at: float | None = None
        self._wanted: Any = None
        self._changed: Any = None
        self._changes = self._seen = 0
        self._is_over = self._installs = False
        self._is_remembered = False
        self._elicitation = Elicitation(definition)

    def __repr__(self) -> str:
        return f"<McpSource {self.name}>"

    # -- what is registered

    def known(self) -> tuple[Tool, ...] | None:
        """The tools that the server offered when it last ran; None where that is not known."""
        contested = self._group.contested
        if self.listing is None:
            return None
        self._names = self._names_on_board(contested)
        return self.tools()

    @property
    def stripped(self) -> dict[str, tuple[str, ...]]:
        """What hid in the texts of its tools and was taken out of them, by the names on the board."""
        found: dict[str, tuple[str, ...]] = {}
        if self.listing is not None:
            wires = [(entry["key"], entry) for entry in self.listing.tools]
            wires += [(PROMPT_MARK + entry["key"], entry) for entry in self.listing.prompts]
            for wire, entry in wires:
                if wire in self._names and isinstance(what := entry.get("hidden"), (list, tuple)) and what:
                    found[self._names[wire]] = tuple(map(str, what))
        return found

    def remember(self) -> None:
        """Read what the server offered when it last ran; once."""
        if self._is_remembered:
            return
        self._is_remembered = True
        if self.listing is None and (listing := cache.read(cache.path_of(self.definition))) is not None:
            self.take(listing)

    def other_name(self, name: str) -> str | None:
        """The name of a tool whose own name something else on the board has already: behind that of its server."""
        wire = next((wire for wire, registered in self._names.items() if registered == name), None)
        if wire is None or wire in self._moved:
            return None
        self._moved.add(wire)
        self._names = self._names_on_board(self._group.contested)
        return self._names[wire]

    def may_bring(self, name: str) -> bool:
        """Whether a tool of that name on the board could be one of this server, whatever it offers."""
        definition = self.definition
        prefix = plain_name(definition.prefix)[:KEPT_OF_NAMES] if definition.prefix else ""
        qualified = plain_name(f"{self.name}-{definition.prefix or ''}")[:KEPT_OF_NAMES]
        if not name.startswith((prefix, qualified)):
            return False
        if definition.allowed_tools is None or definition.load_prompts:  # prompts are registered as tools too
            return definition.load_tools or definition.load_prompts
        wanted = board_names(definition.allowed_tools, prefix=definition.prefix, server=self.name).values()
        return definition.load_tools and (name in wanted or name.startswith(qualified))

    @property
    def _enforced(self) -> McpSettings | None:
        """The settings, where the lock holds back what nobody accepted."""
        return self._settings if getattr(self._settings, "lock", None) == "enforce" else None

    def take(self, listing: Listing) -> None:
        """Have a list from here on; nothing is registered yet."""
        wanted = [entry["key"] for entry in listing.tools]
        if self.definition.load_prompts:
            wanted += [PROMPT_MARK + entry["key"] for entry in listing.prompts]
        self.listing = listing
        self.plain_names = board_names(wanted, prefix=self.definition.prefix, server=self.name)

    def rename(self) -> None:
        """Register the tools under other names where another server's list made that necessary."""
        names = self._names_on_board(self._group.contested)
        if names != self._names and self._slot is not None:
            self._names = names
            self._slot.replace(self.tools())

    def _names_on_board(self, contested: frozenset[str]) -> dict[str, str]:
        prefix = self.definition.prefix
        return {
            name: qualified_name(name, prefix=prefix, server=self.name)
            if registered in contested or name in self._moved
            else registered
            for name, registered in self.plain_names.items()
        }

    def tools(self) -> tuple[Tool, ...]:
        """The tools of the list, as they are on the board."""
        listing = self.listing
        if listing is None:
            return ()
        made = [self._made(self._tool, entry) for entry in listing.tools]
        if self.definition.load_prompts:
            made += [self._made(self._prompt_tool, entry) for entry in listing.prompts]
        return tuple(tool for tool in made if tool is not None)

    def _made(self, make: Callable[[Entry], Tool], entry: Entry) -> Tool | None:
        try:
            return make(entry)
        except (PegboardError, KeyError, ValueError, TypeError, RecursionError) as problem:
            log.warning("%r of the MCP server %s cannot be offered: %s", entry["key"], self.name, reason_of(problem))
            return None

    def _tool(self, entry: Entry) -> Tool:
        annotations = Annotations(**entry.get("annotations", {}))
        handler = self._handler(entry["key"], repeatable=annotations.read_only or annotations.idempotent)
        return self._make(
            entry,
            entry["key"],
            handler,
            input_schema=entry["input_schema"],
            output_schema=entry.get("output_schema"),
            annotations=annotations,
        )

    def _prompt_tool(self, entry: Entry) -> Tool:
        arguments = entry.get("arguments", ())
        schema = {
            "type": "object",
            "properties": {
                one["name"]: {
                    "type": "string",
                    "description": one.get("description") or one.get("title") or one["name"],
                }
                for one in arguments
            },
            "required": [one["name"] for one in arguments if one.get("required")],
            "additionalProperties": False,
        }
        handler = self._prompt_handler(entry["key"])
        return self._make(
            entry,
            PROMPT_MARK + entry["key"],
            handler,
            input_schema=schema,
            output_schema=None,
            annotations=Annotations(read_only=True),
            tags={"mcp", "prompt", self.name},
        )

    def _make(self, entry: Entry, wire: str, handler: Callable[..., Any], **more: Any) -> Tool:
        server = self.listing.server if self.listing is not None else {}
        return Tool(
            name=self._names[wire],
            handler=handler,
            description=entry.get("description", ""),
            title=entry.get("title"),
            category="mcp",
            icons=entry.get("icons", ()),
            version=identity_of(server.get("name"), server.get("version")),
            run="async",
            results=self.definition.results,
            **{"tags": {"mcp", self.name}, **more},
        )

    def _handler(self, wire: str, *, repeatable: bool) -> Callable[..., Any]:
        async def handler(context: CallContext, /, **arguments: Any) -> ToolResult:
            return await self._call(context, wire, arguments, repeatable)

        return handler

    def _prompt_handler(self, wire: str) -> Callable[..., Any]:
        async def handler(context: CallContext, /, **arguments: Any) -> ToolResult:
            messages = await self._get_prompt(wire, arguments, context)
            data = {"messages": [{"role": role, "content": content.to_json()} for role, content in messages]}
            return ToolResult(content=tuple(message.content for message in messages), data=data)

        return handler

    # -- calls

    async def _call(self, context: CallContext, wire: str, arguments: dict[str, Any], repeatable: bool) -> ToolResult:
        import trio

        from pegboard_mcp.client.content import result_of

        params = {"name": wire, "arguments": arguments}
        left_s = context.deadline - trio.current_time()
        scope = trio.CancelScope(deadline=context.deadline - min(LAST_WORDS_S, left_s / 20))
        with scope, context.session.hold_while_asked(scope):
            raw = await self._request("tools/call", params, wire, repeatable=repeatable, asker=context)
            return result_of(raw, server=self.name, mask=self._mask)
        raise self._silent_error(wire, left_s, repeatable=repeatable)

    async def _request(
        self, method: str, params: dict[str, Any], what: str, *, repeatable: bool = True, asker: CallContext | Session
    ) -> dict[str, Any]:
        """A request on the open connection, sent again where that is right.

        Raises:
            ToolError: it failed; the code says whether it may have run.
        """
        unsent, lost, relisted = 0, None, False
        on_progress = self._elicitation.progress_of(asker) if isinstance(asker, CallContext) else None
        while True:
            connection = self.connection
            if connection is None:
                connection = await self._connected(lost)
                if isinstance(asker, CallContext):
                    self._require_registered(asker, method, what)
            if self._held and not isinstance(asker, CallContext):
                self._require_accepted(method, what)
            try:
                with self._elicitation.calling(asker):
                    return await connection.request(method, params, on_progress=on_progress)
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
                    await self._read_again(connection)
                else:
                    raise self._rpc_error(problem, what) from None

    def _require_registered(self, context: CallContext, method: str, what: str) -> None:
        """Require that a tool is still on the board after its server was started: what it offers now may be held back.

        Raises:
            ToolError: NOT_FOUND: it is not; FORBIDDEN: it is held back. The server did not see the call.
        """
        name = self._names.get(PROMPT_MARK + what if method == "prompts/get" else what)
        called = name or context.tool.name  # one that the server no longer lists has no name here
        if called not in context.session.tools:
            error = context.session.missing(called)
            if error.details.get("reason") == "held":
                raise ToolError(error.code, error.message, {**error.details, "server": self.name, "executed": False})
        if name is not None and name not in context.session.tools:
            raise ToolError(
                ErrorCode.NOT_FOUND,
                f"{name!r} is no longer on the board: the MCP server {self.name!r}, which was started for this call, "
                "offers another tool of that name now, and that one is not registered; pegboard doctor says why",
                server=self.name,
                executed=False,
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
        from pegboard_mcp.client.rpc import tool_error_of

        return tool_error_of(problem.code, problem.message, problem.data, server=self.name, tool=what, mask=self._mask)

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

    async def wake(self) -> None:
        """Start the server where it does not run, and wait until it offers its tools.

        Raises:
            ToolError: it cannot be started.
        """
        await self._connected()

    async def _connected(self, lost: Lost | None = None) -> Connection:
        """The open connection, started where there is none.

        Raises:
            ToolError: it cannot be started, or the host is closing.
        """
        import trio

        while (connection := self.connection) is None:
            if self._is_over:
                error = LinkError("closed", "the host is closing", "Open a host, and call again.")
                raise self._unreachable(error, lost)
            if self.trouble is not None and self._failed_at is not None and self._now() < self._failed_at + RETRY_S:
                raise self._unreachable(self.trouble, lost)
            attempt = self._attempt = self._attempt or _Attempt()
            self._want()
            with trio.move_on_at(trio.current_effective_deadline() - ANSWER_S):
                await attempt.done.wait()
            if not attempt.done.is_set():
                raise self._not_ready(lost)
            if attempt.error is not None:
                raise self._unreachable(attempt.error, lost)
        return connection

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
        late = "was not ready in time" if not self._installs else "is still being installed"
        text = f"{named} {late}" + ("; call again" if lost is None else f", and lost before: {lost.why.why}")
        return ToolError(ErrorCode.TIMEOUT, text, details)

    @staticmethod
    def _now() -> float:
        import trio

        return trio.current_time()

    # -- the owner

    async def run(self, slot: SourceSlot) -> None:
        """Keep the server running, once it is wanted, until cancelled."""
        import trio

        from pegboard_mcp.collected import find_capabilities

        self._slot, self._is_over = slot, False
        self._wanted, self._changed = trio.Event() if self._wanted is None else self._wanted, trio.Event()
        self._failed_at = self.trouble = None
        self._capabilities, self._offered = find_capabilities(self._settings), None
        if self.listing is not None:
            self._offer(self.listing)
            self.rename()
        try:
            await self._supervise(slot)
        finally:
            self._is_over = True
            self.connection = self._slot = self._capabilities = None
            if self._attempt is not None:
                self._attempt.end(LinkError("closed", "the host is closing", "Open a host, and call again."))
                self._attempt = None
            self._wanted = None

    async def _supervise(self, slot: SourceSlot) -> None:
        import trio

        if self.definition.start == "lazy" and not self.required and self.listing is not None:
            slot.set_state(SourceState.KNOWN)
            await self._wanted.wait()
        pause_s = PAUSE_S[0]
        while True:
            self._wanted = trio.Event()
            self._attempt = self._attempt or _Attempt()
            self._failed_at = None
            self._say_coming(slot)
            began = trio.current_time()
            self._was_ready = False
            error = await self._live(slot)
            if trio.current_time() - began > HEALTHY_S:
                pause_s = PAUSE_S[0]
            self.trouble = error
            log.warning("the MCP server %s is not ready: %s", self.name, self._reason_of(error))
            if self._was_ready and self._is_awaited():
                continue  # it did run, and somebody waits already
            self._wanted = trio.Event()
            dead = self._say_down(slot, error)
            if self._capabilities is not None:
                self._capabilities.arrived(self.name)
            if not self._was_ready:
                self._failed_at = trio.current_time()
                self._attempt.end(error)
                self._attempt = None
            with trio.move_on_after(float("inf") if dead else pause_s * random.uniform(0.5, 1.5)):
                await self._wanted.wait()
            pause_s = min(2 * pause_s, PAUSE_S[1])

    def _reason_of(self, error: LinkError) -> str:
        return f"{self.definition.shown}: {error.explanation}"

    def _say_coming(self, slot: SourceSlot, *, installs: bool = False) -> None:
        """Say that the server is being started; one that did not start keeps the reason until it does."""
        self._installs = installs
        reason = self._reason_of(self.trouble) if self.trouble is not None and not installs else None
        slot.set_state(SourceState.INSTALLING if installs else SourceState.STARTING, reason)

    def _say_down(self, slot: SourceSlot, error: LinkError) -> bool:
        """Say why the server is down; whether trying again would not help."""
        self.trouble = error
        dead = not self._was_ready and error.kind in NO_RETRY
        slot.set_state(SourceState.FAILED if dead else SourceState.BACKING_OFF, self._reason_of(error))
        return dead

    def _is_awaited(self) -> bool:
        return self._attempt is not None

    def _want(self) -> None:
        """Have the owner start the server now."""
        import trio

        if self._wanted is None:
            self._wanted = trio.Event()
        self._wanted.set()

    def _withdraw(self) -> None:
        """Take back the published connection: from here on calls wait for the next one."""
        self.connection = None

    async def _live(self, slot: SourceSlot) -> LinkError:
        """One connection from its start to its end; returns what ended it."""
        import trio

        if "pegboard_mcp.client.connection" not in sys.modules:
            # Half a second of imports, the first time: in a thread the loop goes on.
            await trio.to_thread.run_sync(_import_connection)
        open_connection = _import_connection()
        try:
            async with open_connection(
                self.definition,
                self._elicitation.callbacks(),
                on_gone=self._withdraw,
                on_change=self._on_change,
                on_failed=lambda error: self._say_down(slot, error),
                on_install=lambda begins: self._say_coming(slot, installs=begins),
            ) as connection:
                async with connection.by(connection.deadline):
                    listing = await self._read(connection)
                self._adopt(listing, slot)
                if not connection.is_open:
                    return await self._explained(connection)
                self._was_ready, self.trouble, self.connection = True, None, connection
                slot.set_state(SourceState.READY)
                if self._attempt is not None:
                    self._attempt.end()
                    self._attempt = None
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._follow, connection)
                    if connection.modern:
                        nursery.start_soon(self._listen, connection)
                    await connection.wait_end()
                    nursery.cancel_scope.cancel()
                self._withdraw()
                return await self._explained(connection)
        except LinkError as error:
            return error
        except RpcError as problem:
            from pegboard_mcp.client.transports._link import own_words

            why = f"it refused to list what it offers: {own_words(self.definition, problem.message)}"
            return LinkError("refused", why, "Read its stderr, or try another version of it.")
        except Exception as problem:  # a source never ends of itself: the next attempt may do better
            log.exception("the MCP server %s could not be run", self.name, exc_info=problem)
            return LinkError("lost", f"its connection broke: {reason_of(problem)}", "Look into the log of the host.")
        finally:
            self._withdraw()

    async def _explained(self, connection: Connection) -> LinkError:
        import trio

        with trio.move_on_after(2):
            return await connection.explain()
        return connection.why()

    # -- lists

    async def _read(self, connection: Connection) -> Listing:
        """The lists, read again where they changed meanwhile, but not for ever."""
        from pegboard_mcp.client.discovery import discover

        for _ in range(REREAD):
            self._seen = self._changes
            listing = await discover(connection)
            if self._seen == self._changes:
                return listing
        self._seen = self._changes
        return await discover(connection)

    def _adopt(self, listing: Listing, slot: SourceSlot) -> None:
        """Swap the tools for those of a new list, keep it for the next start, and tell who else is concerned."""
        if listing == self.listing and self._names:
            self._offer(listing)
            return
        for name, why in listing.left_out.items():
            log.warning("%s of the MCP server %s is left out: %s", name, self.name, why)
        self.take(listing)
        self._group.renamed(self)
        self._names = self._names_on_board(self._group.contested)
        slot.replace(self.tools())
        self._offer(listing)
        cache.write(cache.path_of(self.definition), listing)

    async def _follow(self, connection: Connection) -> None:
        """Read the lists again whenever the server says that they changed."""
        import trio

        pause_s = DEBOUNCE_S[0]
        while True:
            await self._changed.wait()
            self._changed = trio.Event()  # here alone: nobody else waits for it
            await trio.sleep(pause_s)
            try:
                with trio.fail_after(self.definition.request_s):
                    await self._read_again(connection)
            except Lost:
                return
            except (LinkError, RpcError, trio.TooSlowError) as problem:
                log.warning("a new list of the MCP server %s cannot be read, the old one stays: %s", self.name, problem)
            if self._seen == self._changes:
                self._changed = trio.Event()
                pause_s = DEBOUNCE_S[0]
            else:
                pause_s = min(2 * pause_s, DEBOUNCE_S[1])

    async def _read_again(self, connection: Connection) -> None:
        listing = await self._read(connection)
        if self._slot is not None:
            self._adopt(listing, self._slot)

    def _on_change(self, method: str, params: Mapping[str, Any]) -> None:
        if method == "notifications/resources/updated":
            uri = params.get("uri")
            if isinstance(uri, str) and self._capabilities is not None:
                self._capabilities.updated(uri)
            return
        self._note_change()

    def _note_change(self) -> None:
        self._changes += 1
        self._changed.set()

    async def _listen(self, connection: Connection) -> None:
        """Hold a stream of changes open (2026-07-28); what changed while there was none is read after each start."""
        import trio

        has = connection.capabilities
        wanted = {
            f"{kind}ListChanged": True
            for kind in ("tools", "prompts", "resources")
            if isinstance(has.get(kind), Mapping) and has[kind].get("listChanged")
        }
        if not wanted:
            return
        pause_s = RELISTEN_S[0]
        while True:
            began = trio.current_time()
            try:
                await connection.listen({"notifications": wanted})
            except Lost:
                return
            except RpcError as problem:
                if problem.code == METHOD_NOT_FOUND:
                    return
                log.info("the stream of changes of the MCP server %s ended: %s", self.name, problem.message[:200])
            pause_s = RELISTEN_S[0] if trio.current_time() - began > HEALTHY_S else min(2 * pause_s, RELISTEN_S[1])
            await trio.sleep(pause_s * random.uniform(0.5, 1.5))
            self._note_change()

    # -- prompts and resources

    def _offer(self, listing: Listing) -> None:
        capabilities = self._capabilities
        if capabilities is None:
            return
        before, self._offered = self._offered, listing
        self._held = self._find_held(listing)
        names = board_names(
            [entry["key"] for entry in listing.prompts], prefix=self.definition.prefix, server=self.name
        )
        prompts = {f"prompt:{wire}": f"prompt:{name}" for wire, name in names.items()}
        capabilities.replace_held(self.name, {prompts.get(key, key): error for key, error in self._held.items()})
        capabilities.add_reader(self.name, self._read_resource)
        if before is None or before.prompts != listing.prompts:
            capabilities.replace_prompts(self.name, self._prompts(listing))
        if before is None or (before.resources, before.templates) != (listing.resources, listing.templates):
            capabilities.replace_resources(self.name, self._resources(listing))
        capabilities.arrived(self.name)

    def resource_pins(self, listing: Listing | None = None) -> list[Pin]:
        """The resources and templates of the list, as the lock has them; prompts are held as tools are."""
        listing = listing or self.listing
        if listing is None:
            return []
        version = identity_of(listing.server.get("name"), listing.server.get("version"))
        pins = []
        for kind, entries in (("resource", listing.resources), ("template", listing.templates)):
            for entry in entries:
                marks = {key: value for key in ("name", "mime_type", "annotations") if (value := entry.get(key))}
                texts = {key: entry.get(key) for key in ("title", "description")}
                texts["description"] = texts["description"] or ""
                pins.append(
                    resource_pin(self.name, kind, entry["key"], {**texts, "version": version, "annotations": marks})
                )
        return pins

    @property
    def held(self) -> dict[str, HeldBackError]:
        """Resources and templates that a person has to accept first, each with why; by the names that the lock has for
        them."""
        return dict(self._held_of(self.resource_pins()))

    def _held_of(self, pins: Iterable[Pin]) -> Iterator[tuple[str, HeldBackError]]:
        """Those that a person has to accept first, where `lock = "enforce"`."""
        settings = self._enforced
        if settings is None:
            return
        from pegboard_mcp.lock.watch import watch_of

        watch = watch_of(settings)
        for pin in pins:
            if problem := watch.why_held(pin):
                yield pin.name, problem

    def _find_held(self, listing: Listing) -> dict[str, ToolError]:
        """What of a list is held back, with what a call of it answers."""
        if self._enforced is None:
            return {}
        import attrs

        from pegboard.absence import held_back

        held: dict[str, ToolError] = {}
        for name, problem in self._held_of(self.resource_pins(listing)):
            kind, _, uri = name.partition(":")
            held[name] = held_back(uri, self.name, problem.message, problem.hint or "", kind=kind)
        prompts: dict[str, str] = {}  # a prompt is held as the tool that it is
        pins: list[Pin] = []
        for entry in listing.prompts if self.definition.load_prompts else ():
            if tool := self._made(self._prompt_tool, entry):
                prompts[tool.name] = entry["key"]
                pins.append(pin_of(attrs.evolve(tool, origin=Origin(source=self.name))))
        for name, problem in self._held_of(pins):
            error = held_back(name, self.name, problem.message, problem.hint or "", kind="prompt")
            held[f"prompt:{prompts[name]}"] = error
        return held

    def _require_accepted(self, method: str, what: str) -> None:
        """Require that a person accepted a prompt, or what lies at an address, as the server lists it now.

        Raises:
            ToolError: FORBIDDEN, reason `held`.
        """
        if method not in ("prompts/get", "resources/read"):
            return
        from pegboard_mcp.capabilities import find_held, template_fits

        listing, key = self._offered, f"{'prompt' if method == 'prompts/get' else 'resource'}:{what}"
        accepted = (one["key"] for one in listing.templates) if listing is not None else ()
        free = any(f"template:{one}" not in self._held and template_fits(one, what) for one in accepted)
        error = self._held.get(key) or (None if free else find_held(self._held, key))
        if error is not None:
            raise error

    def _prompts(self, listing: Listing) -> list[Prompt]:
        from pegboard_mcp.capabilities import Prompt

        if not self.definition.load_prompts:
            return []
        keys = [entry["key"] for entry in listing.prompts]
        names = board_names(keys, prefix=self.definition.prefix, server=self.name)
        return [
            Prompt(
                name=names[entry["key"]],
                get=self._prompt_getter(entry["key"]),
                description=entry.get("description", ""),
                title=entry.get("title"),
                arguments=_arguments_of(entry),
                complete=self._completer({"type": "ref/prompt", "name": entry["key"]}),
                icons=tuple(entry.get("icons", ())),
                source=self.name,
            )
            for entry in listing.prompts
            if f"prompt:{entry['key']}" not in self._held
        ]

    def _resources(self, listing: Listing) -> list[Resource | ResourceTemplate]:
        from pegboard_mcp.capabilities import Resource, ResourceTemplate

        offered: list[Resource | ResourceTemplate] = [
            Resource(uri=entry["key"], read=self._read_resource, size=entry.get("size"), **self._labels(entry))
            for entry in listing.resources
            if f"resource:{entry['key']}" not in self._held
        ]
        offered += [
            ResourceTemplate(
                uri_template=entry["key"],
                read=self._read_resource,
                complete=self._completer({"type": "ref/resource", "uri": entry["key"]}),
                **self._labels(entry),
            )
            for entry in listing.templates
            if f"template:{entry['key']}" not in self._held
        ]
        return offered

    def _labels(self, entry: Entry) -> dict[str, Any]:
        return {
            "name": entry.get("name", entry["key"]),
            "description": entry.get("description", ""),
            "title": entry.get("title"),
            "mime_type": entry.get("mime_type"),
            "annotations": entry.get("annotations"),
            "icons": tuple(entry.get("icons", ())),
            "source": self.name,
        }

    def _prompt_getter(self, wire: str) -> Callable[..., Any]:
        async def get(session: Session, arguments: Mapping[str, str]) -> Sequence[Message]:
            return await self._get_prompt(wire, arguments, session)

        return get

    async def _get_prompt(
        self, wire: str, arguments: Mapping[str, Any], asker: CallContext | Session
    ) -> tuple[Message, ...]:
        from pegboard_mcp.client.content import messages_of

        raw = await self._bounded("prompts/get", {"name": wire, "arguments": dict(arguments)}, wire, asker)
        return messages_of(raw, is_raw=self.definition.results == "raw")

    async def _read_resource(self, session: Session, uri: str) -> Sequence[Content]:
        from pegboard_mcp.client.content import resource_blocks

        raw = await self._bounded("resources/read", {"uri": uri}, uri, session)
        return resource_blocks(raw, is_raw=self.definition.results == "raw")

    def _completer(self, ref: dict[str, Any]) -> Callable[..., Any]:
        async def complete(session: Session, argument: str, value: str, others: Mapping[str, str]) -> Sequence[str]:
            params: dict[str, Any] = {"ref": ref, "argument": {"name": argument, "value": value}}
            if others:
                params["context"] = {"arguments": dict(others)}
            connection = self.connection or await self._connected()
            if "completions" not in connection.capabilities:
                return []
            raw = await self._bounded("completion/complete", params, argument, session)
            found = raw.get("completion")
            values = found.get("values") if isinstance(found, Mapping) else None
            told = values[:MAX_COMPLETIONS] if isinstance(values, list) else ()
            return [clean(value)[0] for value in told if isinstance(value, str)]

        return complete

    async def _bounded(
        self, method: str, params: dict[str, Any], what: str, asker: CallContext | Session
    ) -> dict[str, Any]:
        """A request that changes nothing, under the server's own deadline."""
        import trio

        with trio.move_on_after(self.definition.request_s):
            return await self._request(method, params, what, asker=asker)
        raise ToolError(
            ErrorCode.TIMEOUT,
            f"the MCP server {self.name!r} did not answer {method} within {self.definition.request_s:g} s",
            server=self.name,
            retry=Retry.SAME.value,
        )


def _arguments_of(entry: Entry) -> Any:
    from pegboard_mcp.capabilities import PromptArgument

    return tuple(
        PromptArgument(one["name"], one.get("description", ""), one.get("required") is True, one.get("title"))
        for one in entry.get("arguments", ())
    )


def _import_connection() -> Callable[..., Any]:
    from pegboard_mcp.client.connection import open_connection

    return open_connection

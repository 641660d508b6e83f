"""A program that uses the public API, for the type checker alone: nothing runs it.

What stands here is what users write; mypy in strict mode must take all of it. `assert_type` holds what they get back.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, assert_type

import attrs

import pegboard
from pegboard import (
    Annotations,
    AudioContent,
    BinaryContent,
    CallContext,
    ConfigError,
    Content,
    Dialect,
    ErrorCode,
    Example,
    Export,
    Fault,
    Finding,
    Guard,
    ImageContent,
    Limits,
    Loss,
    Origin,
    Outcome,
    PegboardError,
    PluginError,
    RateLimit,
    Retry,
    SourceSlot,
    SourceState,
    Stage,
    TextContent,
    Tool,
    ToolCall,
    ToolDefinitionError,
    ToolError,
    ToolResult,
    ToolSource,
    Verdict,
    call_sync,
    hookimpl,
    load_board,
    open_host,
    open_host_sync,
    setting,
    thaw,
    tool,
)
from pegboard.board import Board
from pegboard.host import Host
from pegboard.session import Confirmation, Session
from pegboard.testing import RecordingSession, assert_error, assert_ok, record
from pegboard_mcp import Message, Peer, Prompt, PromptArgument, Resource, ResourceTemplate, peer_of

# -- tools


@tool
def bare(a: int) -> int:
    """A tool without options."""
    return a


@tool(
    name="full",
    title="Full",
    description="Every option.",
    category="test",
    tags=["a", "b"],
    run="thread",
    read_only=True,
    destructive=False,
    idempotent=True,
    open_world=False,
    risk="low",
    parallel=True,
    timeout_s=5,
    cooldown_s=0.5,
    rate_limit="10/minute",
    concurrency=2,
    requires_user=True,
    requires_confirmation="Sure?",
    max_result_bytes=1000,
    examples=[Example({"a": 1}), {"a": 2}],
    icons=[{"src": "icon.png"}],
    version="1",
    secrets=["TOKEN"],
    permissions=None,
)
async def full(a: int, context: CallContext) -> ToolResult:
    """A tool with every option."""
    assert_type(context.session, Session)
    assert_type(context.secret("TOKEN"), str)
    assert_type(context.resource(Store), Store)
    assert_type(await context.confirm("Sure?"), bool)
    assert_type(await context.call("bare", {"a": a}), ToolResult)
    await context.progress(1, 2, "half")
    context.log.info("%s", context.call_id)
    return ToolResult.text("done", data={"a": a})


assert_type(bare, Tool)
assert_type(full, Tool)
assert_type(tool(len), Tool)

by_hand = Tool(
    name="by_hand",
    handler=len,
    input_schema={"type": "object"},
    annotations=Annotations(read_only=True),
    limits=Limits(rate_limit=RateLimit(1, 2.0)),
    origin=Origin(plugin="test"),
)
assert_type(by_hand.input_schema, Mapping[str, Any])
assert_type(by_hand.fingerprint, str)


# -- results and errors


def read(result: ToolResult) -> None:
    assert_type(result.ok, bool)
    assert_type(result.text, str)
    assert_type(result.json, dict[str, Any])
    assert_type(result.error, ToolError | None)
    assert_type(result.data, Mapping[str, Any] | None)
    assert_type(result.content, tuple[Content, ...])
    assert_type(result.raise_for_error(), ToolResult)
    if result.error is not None:
        assert_type(result.error.code, ErrorCode)
        assert_type(result.error.details, dict[str, Any])
    for block in result.content:
        match block:
            case TextContent(text):
                assert_type(text, str)
            case ImageContent() | AudioContent():
                assert_type(block.data, bytes)
            case BinaryContent():
                assert_type(block.data, bytes | None)


assert_type(ToolResult.text("a"), ToolResult)
assert_type(ToolResult.json([1]), ToolResult)
assert_type(ToolResult.error(ErrorCode.NOT_FOUND, "nothing", what="it"), ToolResult)
assert_type(ToolResult.empty(), ToolResult)
assert_type(Retry("never"), Retry)
assert_type(thaw(by_hand.input_schema), Any)


def tell(problem: PegboardError) -> str:
    if isinstance(problem, ConfigError):
        assert_type(problem.faults, tuple[Fault, ...])
    if isinstance(problem, (PluginError, ToolDefinitionError)):
        assert_type(problem.hint, str | None)
    return problem.message


# -- plugins


@attrs.frozen
class Settings:
    url: str = setting("sqlite://", secret=True, widens=True, help="where the data lies")


class Store: ...


class Plugin:
    @hookimpl
    def provide_settings(self) -> type[Settings]:
        return Settings

    @hookimpl
    def open_resources(self, settings: Settings) -> contextlib.AbstractAsyncContextManager[Store]:
        @contextlib.asynccontextmanager
        async def store() -> AsyncIterator[Store]:
            yield Store()

        return store()

    @hookimpl
    def provide_tools(self) -> list[Tool]:
        return [bare, full]

    @hookimpl
    def provide_sources(self) -> list[ToolSource]:
        return [Source()]

    @hookimpl
    def make_validator(self, schema: Any, foreign: bool) -> Callable[[Any], Sequence[Fault]] | None:
        return lambda value: [] if value else [Fault((), "something", "nothing")]

    @hookimpl
    def make_guards(self, tool: Tool) -> Iterable[Guard]:
        yield Guard(name="a", stage=Stage.ADMIT, check=self.admit)
        yield Guard(name="b", stage=Stage.LIMIT, check=self.limit, mode="observe")

    def admit(self, session: Session) -> ToolError | None:
        return None if session.user_id else ToolError(ErrorCode.UNAUTHORIZED, "nobody")

    async def limit(self, context: CallContext) -> Callable[[], object] | None:
        return None

    @hookimpl
    def make_executor(self, tool: Tool) -> Callable[[CallContext, Mapping[str, Any]], Awaitable[Any]] | None:
        return None

    @hookimpl
    def provide_observers(self) -> list[Callable[[Outcome], None]]:
        return [self.hear]

    def hear(self, outcome: Outcome) -> None:
        assert_type(outcome.verdicts, tuple[Verdict, ...])
        assert_type(outcome.tool, Tool | None)

    @hookimpl
    def provide_dialects(self) -> list[Dialect]:
        return []

    @hookimpl
    def provide_checks(self) -> list[Callable[[Board], Iterable[Finding]]]:
        return [lambda board: [Finding("what", "where", "why", "fix")]]


class Source:
    name = "source"
    timeout_s: float | None = None

    async def run(self, slot: SourceSlot) -> None:
        slot.replace([bare])
        slot.set_state(SourceState.READY)


# -- hosts


async def on_trio() -> None:
    async def confirm(asked: Confirmation) -> bool | str:
        assert_type(asked.question, str)
        return "session"

    async with open_host({"timeout_s": 5}, plugins=[Plugin()], without=["audit"]) as host:
        assert_type(host, Host)
        host.add(bare, len)
        session = host.session("ada", profile=None, confirm=confirm)
        assert_type(await session.call("bare", {"a": 1}, timeout_s=5), ToolResult)
        assert_type(await session.call_many([ToolCall("1", "bare", {"a": 1})]), list[ToolResult])
        assert_type(session.check("bare", {"a": 1}), ToolResult)
        assert_type(host.tools, Mapping[str, Tool])


def without_trio() -> None:
    with open_host_sync(plugins=[]) as host:
        assert_type(host.session("ada").call("bare", {"a": 1}), ToolResult)
    assert_type(call_sync("bare", {"a": 1}), ToolResult)


async def on_asyncio() -> None:
    async with pegboard.asyncio.open_host(plugins=[]) as host:
        session = host.session("ada")
        assert_type(await session.call("bare", {"a": 1}), ToolResult)
        assert_type(await session.call_many([]), list[ToolResult])
        assert_type(session.check("bare"), ToolResult)


def on_a_board() -> None:
    board = load_board(plugins=["calculator"])
    assert_type(board, Board)
    export: Export = board.export("json")
    assert_type(export.losses, Sequence[Loss])


async def in_a_test(host: Host) -> None:
    recording = record(host, answers=[True, "session"])
    assert_type(recording, RecordingSession)
    assert_type(assert_ok(await recording.call("bare", {"a": 1}), text="1"), ToolResult)
    assert_type(assert_error(await recording.call("nope"), "NOT_FOUND", says="nope"), ToolResult)


# -- what MCP clients are given


async def read_book(session: Session, uri: str) -> str:
    return uri


async def get(session: Session, arguments: Mapping[str, str]) -> list[Message]:
    return [Message("user", TextContent(arguments["book"]))]


class Library:
    @hookimpl(optionalhook=True)
    def provide_resources(self) -> Iterable[Resource | ResourceTemplate]:
        yield Resource(uri="book://index", name="index", read=read_book, mime_type="text/plain")
        yield ResourceTemplate(uri_template="book://{name}", name="book", read=read_book)

    @hookimpl(optionalhook=True)
    def provide_prompts(self) -> Iterable[Prompt]:
        yield Prompt(name="about", get=get, arguments=[PromptArgument("book", required=True)])


async def elicitation(context: CallContext) -> None:
    peer = peer_of(context)
    assert_type(peer, Peer | None)
    if peer is not None and peer.can("roots"):
        assert_type(await peer.roots(), list[dict[str, Any]])
        assert_type(await peer.elicit("How many?", {"type": "object"}), dict[str, Any])

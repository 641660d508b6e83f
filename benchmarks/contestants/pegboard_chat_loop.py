"""pegboard-chat: `Chat.ask` with a model that answers at once, and exports to the dialects of the bridges."""

from __future__ import annotations

from contextlib import asynccontextmanager

from workload import ADD_ARGS, add

from contestants import Contestant
from pegboard import TextContent, ToolCall, open_host, tool
from pegboard_chat import Message, Reply, Stop, Usage
from pegboard_chat.budget import Budget
from pegboard_chat.echo import EchoDialect
from pegboard_chat.loop import Chat

RUNNER = "trio"
DIALECTS = ("openai", "openai-responses", "anthropic", "cohere", "gemini")
UNBOUNDED = Budget(max_tool_calls=10_000, max_rounds=1_000)


def add_in_place(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


class _Model:
    """Calls a tool for so many rounds, then answers; a model of no provider."""

    name = "fake:fake"
    dialect = EchoDialect()

    def __init__(self, tool_name):
        self.tool_name = tool_name
        self.rounds = self.calls = 0

    @asynccontextmanager
    async def respond(self, request):
        yield self._stream()

    async def _stream(self):
        if self.rounds == 0:
            yield Reply(Message("assistant", (TextContent("done"),)), (), Usage(1, 1), Stop.END)
            return
        self.rounds -= 1
        calls = tuple(ToolCall(f"{self.rounds}-{index}", self.tool_name, dict(ADD_ARGS)) for index in range(self.calls))
        yield Reply(Message("assistant", calls=calls), calls, Usage(1, 1), Stop.CALLS)


def _loop(host, name):
    model = _Model(name)

    async def run(rounds, calls):
        model.rounds, model.calls = rounds, calls
        chat = Chat(host, model, budget=UNBOUNDED)
        async with chat.ask("x") as events:
            async for event in events:
                last = event
        assert last.text == "done"
        assert len(chat.conversation.messages) == 2 + 2 * rounds

    return run


def _export(board, name):
    dialect = board.dialects[name]

    def prepare(functions):
        tools = [tool(function) for function in functions]
        return lambda: dialect.export(tools).definitions

    return prepare


@asynccontextmanager
async def open_contestant():
    async with open_host({}) as host:
        host.add(tool(name="add", read_only=True)(add), tool(name="add_in_place", run="inplace")(add_in_place))
        yield Contestant(
            loops={"Chat.ask, in place": _loop(host, "add_in_place"), "Chat.ask, async": _loop(host, "add")},
            exports={name: _export(host.board, name) for name in DIALECTS if name in host.board.dialects},
        )

"""pegboard-chat: `Chat.ask` with a model that answers at once, and exports to the dialects of the bridges."""

from __future__ import annotations

from contextlib import asynccontextmanager

from pegboard_chat import Message, Reply, Stop, Usage
from pegboard_chat.budget import Budget
from pegboard_chat.echo import EchoDialect
from pegboard_chat.loop import Chat
from workload import ADD_ARGS, add

from contestants import Contestant
from pegboard import TextContent, ToolCall, open_host, tool

RUNNER = "trio"
DIALECTS = ("openai", "openai-responses", "anthropic", "cohere", "gemini")
UNBOUNDED = Budget(max_tool_calls=10_000, max_rounds=1_000)


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
        calls = tuple(
            ToolCall(f"{self.rounds}-{index}", self.tool_name, dict(ADD_ARGS)) for index in range(self.calls)
        )
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
        host.add(tool(name="bench_add", read_only=True)(add), tool(name="bench_add_alone")(add))
        yield Contestant(
            loops={"Chat.ask": _loop(host, "bench_add"), "Chat.ask, one by one": _loop(host, "bench_add_alone")},
            exports={name: _export(host.board, name) for name in DIALECTS if name in host.board.dialects},
        )

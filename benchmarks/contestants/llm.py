"""llm: a tool call executed on an asynchronous response; it validates nothing."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import llm
from workload import ADD_ARGS, BAD_ADD_ARGS, RICH_ARGS, TOOL_MS, add, rich_with_pydantic

from contestants import Contestant, Path, Registry

RUNNER = "asyncio"
PATH = "execute_tool_call (no validation)"


class _SilentModel(llm.AsyncModel):
    model_id = "silent"
    can_stream = False
    supports_tools = True

    async def execute(self, prompt, stream, response, conversation):
        yield "ok"


class _LoopingModel(llm.AsyncModel):
    """Calls `add` for so many rounds, then answers."""

    model_id = "looping"
    can_stream = False
    supports_tools = True
    rounds = calls = 0

    async def execute(self, prompt, stream, response, conversation):
        if self.rounds == 0:
            yield "done"
            return
        self.rounds -= 1
        for index in range(self.calls):
            call_id = f"{self.rounds}-{index}"
            response.add_tool_call(llm.ToolCall(name="add", arguments=dict(ADD_ARGS), tool_call_id=call_id))
        yield ""


async def sleep10(i: int) -> int:
    """Sleep."""
    await asyncio.sleep(TOOL_MS / 1000)
    return i


async def _listing(tools):
    return [{"name": t.name, "description": t.description, "input_schema": t.input_schema} for t in tools]


@asynccontextmanager
async def open_contestant():
    tools = [llm.Tool.function(add), llm.Tool.function(rich_with_pydantic(), name="rich"), llm.Tool.function(sleep10)]
    response = _SilentModel().prompt("x", tools=tools)
    await response.text()

    def call(name, arguments):
        return response.execute_tool_call(llm.ToolCall(name=name, arguments=dict(arguments), tool_call_id="1"))

    async def parallel(count):
        calls = [
            llm.ToolCall(name="sleep10", arguments={"i": index}, tool_call_id=str(index)) for index in range(count)
        ]
        await response.execute_tool_calls(tool_calls_list=calls)

    async def call_of_many(many, name, arguments):
        one = llm.ToolCall(name=name, arguments=arguments, tool_call_id="1")
        (result,) = await response.execute_tool_calls(tool_calls_list=[one], tools=many)
        assert result.output == "3.0", result

    looping = _LoopingModel()

    async def loop(rounds, calls):
        looping.rounds, looping.calls = rounds, calls
        assert await looping.conversation().chain("x", tools=tools[:1], chain_limit=0).text() == "done"

    assert (await call("add", ADD_ARGS)).output == "4.0"
    yield Contestant(
        calls={
            Path(PATH, "add"): lambda: call("add", ADD_ARGS),
            Path(PATH, "rich"): lambda: call("rich", RICH_ARGS),
            Path(PATH, "bad"): lambda: call("add", BAD_ADD_ARGS),
        },
        parallels={"execute_tool_calls (one batch)": parallel},
        registries={"list of Tool": Registry(lambda fs: [llm.Tool.function(f) for f in fs], _listing, call_of_many)},
        loops={"conversation.chain": loop},
    )

"""pydantic-ai: a tool call through the ToolManager (what an agent does), and the toolset alone."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

from pydantic_ai import Agent, FunctionToolset, RunContext
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.tool_manager import ToolManager
from pydantic_ai.usage import RunUsage, UsageLimits
from workload import ADD_ARGS, BAD_ADD_ARGS, RICH_ARGS, TOOL_MS, add, rich_with_pydantic

from contestants import Contestant, Path, Registry, refused

RUNNER = "asyncio"
MANAGER = "ToolManager.handle_call"
DIRECT = "FunctionToolset, direct"


async def sleep10(i: int) -> int:
    """Sleep."""
    await asyncio.sleep(TOOL_MS / 1000)
    return i


def _loop(toolset):
    """An agent whose model calls `add` for so many rounds, then answers."""
    left = {}

    async def model(messages, info):
        if left["rounds"] == 0:
            return ModelResponse(parts=[TextPart("done")])
        left["rounds"] -= 1
        ids = [f"{left['rounds']}-{index}" for index in range(left["calls"])]
        return ModelResponse(parts=[ToolCallPart("add", dict(ADD_ARGS), tool_call_id=one) for one in ids])

    agent = Agent(FunctionModel(model), toolsets=[toolset])

    async def run(rounds, calls):
        left.update(rounds=rounds, calls=calls)
        assert (await agent.run("x", usage_limits=UsageLimits(request_limit=None))).output == "done"

    return run


def _context():
    return RunContext(deps=None, model=TestModel(), usage=RunUsage(), run_step=1)


def _build(functions):
    toolset = FunctionToolset()
    for function in functions:
        toolset.add_function(function)
    return {"toolset": toolset}


async def _listing(many):
    many["manager"] = await ToolManager(many["toolset"]).for_run_step(_context())
    return [
        {"name": one.name, "description": one.description, "input_schema": one.parameters_json_schema}
        for one in many["manager"].tool_defs
    ]


async def _call_of_many(many, name, arguments):
    return await many["manager"].handle_call(ToolCallPart(name, arguments, tool_call_id="1"))


@asynccontextmanager
async def open_contestant():
    toolset = FunctionToolset()
    toolset.add_function(add)
    toolset.add_function(rich_with_pydantic(), name="rich")
    toolset.add_function(sleep10)
    context = _context()
    tools = await toolset.get_tools(context)
    manager = await ToolManager(toolset).for_run_step(context)

    def managed(name, arguments):
        return manager.handle_call(ToolCallPart(name, dict(arguments), tool_call_id="1"))

    async def direct(name, arguments):
        tool = tools[name]
        validated = tool.args_validator.validate_python(dict(arguments))
        return await toolset.call_tool(name, validated, context, tool)

    async def bad():
        # A manager counts failures and gives up; a fresh one does not.
        fresh = ToolManager(toolset, ctx=context, tools=manager.tools, default_max_retries=10**9)
        await refused(fresh.handle_call(ToolCallPart("add", dict(BAD_ADD_ARGS), tool_call_id="1")))

    async def parallel(count):
        await asyncio.gather(
            *(
                manager.handle_call(ToolCallPart("sleep10", {"i": index}, tool_call_id=str(index)))
                for index in range(count)
            )
        )

    assert "Quarterly" in str(await managed("rich", RICH_ARGS))
    yield Contestant(
        calls={
            Path(MANAGER, "add"): lambda: managed("add", ADD_ARGS),
            Path(MANAGER, "rich"): lambda: managed("rich", RICH_ARGS),
            Path(MANAGER, "bad"): bad,
            Path(DIRECT, "add"): lambda: direct("add", ADD_ARGS),
            Path(DIRECT, "rich"): lambda: direct("rich", RICH_ARGS),
        },
        parallels={MANAGER: parallel},
        registries={"FunctionToolset": Registry(_build, _listing, _call_of_many)},
        loops={"Agent.run": _loop(toolset)},
    )

"""langchain-core: `StructuredTool.ainvoke`."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from workload import ADD_ARGS, BAD_ADD_ARGS, RICH_ARGS, TOOL_MS, add, rich_with_pydantic

from contestants import Contestant, Path, Registry, refused

RUNNER = "asyncio"
PATH = "StructuredTool.ainvoke"


async def sleep10(i: int) -> int:
    """Sleep."""
    await asyncio.sleep(TOOL_MS / 1000)
    return i


async def _listing(tools):
    return [convert_to_openai_tool(one) for one in tools.values()]


@asynccontextmanager
async def open_contestant():
    tool_add, tool_rich, tool_sleep = tool(add), tool(rich_with_pydantic()), tool(sleep10)

    async def parallel(count):
        await asyncio.gather(*(tool_sleep.ainvoke({"i": index}) for index in range(count)))

    assert "Quarterly" in await tool_rich.ainvoke(dict(RICH_ARGS))
    yield Contestant(
        calls={
            Path(PATH, "add"): lambda: tool_add.ainvoke(dict(ADD_ARGS)),
            Path(PATH, "rich"): lambda: tool_rich.ainvoke(dict(RICH_ARGS)),
            Path(PATH, "bad"): lambda: refused(tool_add.ainvoke(dict(BAD_ADD_ARGS))),
        },
        parallels={PATH: parallel},
        registries={
            "dict of tool(f)": Registry(
                lambda functions: {f.__name__: tool(f) for f in functions},
                _listing,
                lambda many, name, arguments: many[name].ainvoke(arguments),
            )
        },
    )

"""langchain: the loop of `create_agent`."""

from __future__ import annotations

from contextlib import asynccontextmanager

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from workload import ADD_ARGS, add

from contestants import Contestant

RUNNER = "asyncio"


class _Model(GenericFakeChatModel):
    """Answers in the loop itself: the library's own way would go through a thread each time."""

    def bind_tools(self, tools, **more):
        return self

    async def _agenerate(self, messages, stop=None, run_manager=None, **more):
        return self._generate(messages, stop=stop, **more)


def _answers(left):
    while True:
        while left["rounds"] > 0:
            left["rounds"] -= 1
            ids = [f"{left['rounds']}-{index}" for index in range(left["calls"])]
            calls = [{"name": "add", "args": dict(ADD_ARGS), "id": one, "type": "tool_call"} for one in ids]
            yield AIMessage(content="", tool_calls=calls)
        yield AIMessage(content="done")


@asynccontextmanager
async def open_contestant():
    left = {"rounds": 0, "calls": 0}
    agent = create_agent(_Model(messages=_answers(left)), [tool(add)])

    async def loop(rounds, calls):
        left.update(rounds=rounds, calls=calls)
        out = await agent.ainvoke({"messages": [("user", "x")]}, {"recursion_limit": 1000})
        assert out["messages"][-1].content == "done"

    yield Contestant(loops={"create_agent": loop})

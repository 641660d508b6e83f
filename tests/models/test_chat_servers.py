"""A chat with real MCP servers: processes that ask for the session's model, and servers that nothing has started."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
import trio

import pegboard_chat.plugin
import pegboard_mcp.plugin
from pegboard import open_host
from pegboard_chat import Budget, Chat, ChatSettings, open_model

SERVER = Path(__file__).parents[2] / "plugins" / "pegboard-mcp" / "tests" / "servers" / "asking.py"
SAMPLE = {
    "method": "sampling/createMessage",
    "params": {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 5_000},
}


def definition(log: Path, prefix: str = "") -> dict[str, Any]:
    """The server that asks back; each start of it writes a line."""
    said = [sys.executable, "-S", "-E", "-B", str(SERVER)]
    command = ["-c", f'echo started >> "$0"; exec {shlex.join(said)}', str(log)]
    return {"command": "/bin/sh", "args": command, "timeout": 20, "request_timeout": 20, "prefix": prefix}


@pytest.fixture
def open_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Open a host with these servers; what they offered before is known to the next one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def open_them(**servers: Any) -> Any:
        return open_host({"plugins": {"mcp": {"servers": servers}}}, [pegboard_mcp.plugin, pegboard_chat.plugin])

    return open_them


async def answered(chat: Chat, question: str) -> Any:
    with trio.fail_after(30):
        async with chat.ask(question) as events:
            return [event async for event in events][-1]


def results_of(chat: Chat) -> list[Any]:
    return [result for message in chat.conversation.messages for result in message.results]


@pytest.mark.parametrize(
    ("says", "budget", "heard"),
    [
        (True, Budget(), "I am echo"),
        (False, Budget(), "User rejected sampling request"),
        (True, Budget(max_rounds=2), "has used up its budget (max_rounds)"),
        (None, Budget(), "there is nobody to agree"),
    ],
)
async def test_a_server_asks_the_model_of_the_chat_where_the_person_agrees(
    open_with: Any, tmp_path: Path, says: bool | None, budget: Budget, heard: str
) -> None:
    shown: list[str] = []

    async def confirm(asked: Any) -> bool | None:
        shown.append(asked.question)
        return says

    async with open_with(asking=definition(tmp_path / "log")) as host, open_model(host, "echo") as model:
        session = host.session(user_id="ada", channel="chat", confirm=None if says is None else confirm)
        chat = Chat(session, model, budget=budget)
        ended = await answered(chat, f"ask {json.dumps({'ask': [SAMPLE]})}")
        (result,) = results_of(chat)
        assert result.ok
        assert heard in result.text
        assert [message.role for message in chat.conversation.messages] == ["user", "assistant", "tool", "assistant"]
        assert ended.usage == chat.usage
        assert all("'asking' asks your model for an answer of up to" in question for question in shown)
        assert len(shown) == (says is not None)
        outside = await session.call("ask", {"ask": [SAMPLE]})
        assert "there is no model behind this session" in outside.text, "no question, no model"


async def test_servers_are_searched_without_being_started_and_one_starts_for_its_call(
    open_with: Any, tmp_path: Path
) -> None:
    logs = {name: tmp_path / name for name in ("one", "two")}
    servers = {name: definition(log, f"{name}_") for name, log in logs.items()}
    few = ChatSettings(tools_tokens=0)

    def starts() -> dict[str, int]:
        return {name: len(log.read_text().splitlines()) for name, log in logs.items()}

    async with open_with(**servers) as host, open_model(host, "echo") as model:
        chat = Chat(host, model)
        await answered(chat, "one_capabilities {}")  # nobody knew them: the first question waited for what they offer
        assert results_of(chat)[0].ok
    assert starts() == {"one": 1, "two": 1}
    async with open_with(**servers) as host, open_model(host, "echo") as model:
        chat = Chat(host, model, settings=few)
        await answered(chat, 'find_tools {"query": "capabilities"}')
        assert [one["name"] for one in json.loads(results_of(chat)[0].text)["tools"]] == [
            "one_capabilities",
            "two_capabilities",
        ]
        assert starts() == {"one": 1, "two": 1}, "what is known from before is found without a start"
        await answered(chat, 'call_tool {"name": "two_capabilities", "arguments": {}}')
        assert results_of(chat)[1].ok
        assert starts() == {"one": 1, "two": 2}


async def test_the_tool_that_asks_a_model_gets_the_answer_of_a_real_one(llama: str) -> None:
    import pegboard_anthropic.plugin

    settings = {"base_url": llama, "model": "any", "max_tokens": 8, "thinking": "off"}
    async with open_host({"plugins": {"anthropic": settings}}, [pegboard_anthropic.plugin]) as host:
        asked = {"message": "Count to a hundred.", "system_prompt": "Write only numbers."}
        result = await host.session().call("claude_conversation", asked)
    assert result.ok, result.text
    assert result.data["stop"] in ("length", "end")
    assert ("[The answer was cut" in result.text) == (result.data["stop"] == "length")
    assert 0 < result.data["usage"]["output_tokens"] <= 8

"""The provider and the tool: keys, addresses, headers, and what a person reads where something is missing."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

import pegboard_anthropic.plugin
from pegboard import ConfigError, ErrorCode, hookimpl, load_board, open_host
from pegboard_anthropic.provider import AnthropicProvider
from pegboard_anthropic.settings import AnthropicSettings
from pegboard_anthropic.tools import CUT, REFUSED, SILENT, make_tools
from pegboard_chat import Conversation, ModelError, ModelRequest, Reply, TextDelta
from pegboard_chat.wire.transport import open_transport

ANSWER = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "text", "text": "The Loire, the Seine and the Rhône."}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 13, "output_tokens": 17},
}
EVENTS = [
    {"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Loire"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
]
KEY = "sk-ant-api03-0123456789abcdef"
MODELS = {"data": [{"id": "claude-b"}, {"id": 7}, {"id": "claude-a"}, "x"]}


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the machine: no variable, and no keyring."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pegboard_chat.wire.keys._ask_keyring", lambda service, variable: None)


class Server:
    """Answers each request with what the test says, and keeps the requests."""

    def __init__(self, answer: Any = ANSWER, status: int = 200) -> None:
        self.answer = answer
        self.status = status
        self.requests: list[httpx2.Request] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        if isinstance(self.answer, str):
            return httpx2.Response(
                self.status, content=self.answer.encode(), headers={"content-type": "text/event-stream"}
            )
        return httpx2.Response(self.status, json=self.answer)

    @property
    def http(self) -> httpx2.MockTransport:
        return httpx2.MockTransport(self)


def provider(server: Server, **settings: Any) -> AnthropicProvider:
    connect = functools.partial(open_transport, http=server.http)
    return AnthropicProvider(AnthropicSettings(**{"api_key": KEY, **settings}), connect)


async def ask(given: AnthropicProvider, *, stream: bool = False, model: str | None = None) -> list[Any]:
    request = ModelRequest(Conversation().ask("Three rivers?"), stream=stream)
    async with given.open(model) as opened, opened.respond(request) as answer:
        return [item async for item in answer]


async def test_a_question_goes_to_the_messages_api_with_the_key_and_the_version() -> None:
    server = Server()
    (reply,) = await ask(provider(server, betas=("one-2026-01-01", "two-2026-01-01")))
    (request,) = server.requests
    assert isinstance(reply, Reply)
    assert str(request.url) == "https://api.anthropic.com/v1/messages"
    assert request.headers["x-api-key"] == KEY
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert request.headers["anthropic-beta"] == "one-2026-01-01,two-2026-01-01"
    assert json.loads(request.content)["model"] == "claude-sonnet-5-5"
    assert reply.message.model == "anthropic:claude-sonnet-5-5"


async def test_a_stream_gives_deltas_and_the_reply() -> None:
    text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in EVENTS)
    *deltas, reply = await ask(provider(Server(text)), stream=True, model="claude-x")
    assert deltas == [TextDelta("Loire")]
    assert (reply.message.text, reply.message.model) == ("Loire", "anthropic:claude-x")


async def test_half_a_stream_is_an_error() -> None:
    text = "".join(f"data: {json.dumps(event)}\n\n" for event in EVENTS[:3])
    with pytest.raises(ModelError) as caught:
        await ask(provider(Server(text)), stream=True)
    assert caught.value.details["reason"] == "half_answer"


@pytest.mark.parametrize("base_url", ["http://127.0.0.1:8080", "http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1/"])
async def test_a_server_on_loopback_needs_no_key(base_url: str) -> None:
    server = Server()
    given = provider(server, api_key=None, base_url=base_url)
    assert given.missing() is None
    await ask(given)
    assert str(server.requests[0].url) == "http://127.0.0.1:8080/v1/messages"
    assert "x-api-key" not in server.requests[0].headers


async def test_the_environment_says_key_and_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://proxy.example/claude")
    server = Server()
    given = provider(server, api_key=None)
    assert given.missing() is None
    await ask(given)
    assert str(server.requests[0].url) == "https://proxy.example/claude/v1/messages"
    assert server.requests[0].headers["x-api-key"] == KEY


async def test_without_a_key_nothing_is_sent_and_what_to_set_is_said() -> None:
    server = Server()
    given = provider(server, api_key=None)
    assert "ANTHROPIC_API_KEY" in (given.missing() or "")
    with pytest.raises(ModelError, match="ANTHROPIC_API_KEY") as caught:
        await ask(given)
    assert (caught.value.code, caught.value.details["reason"]) == (ErrorCode.UNAUTHORIZED, "no_key")
    assert server.requests == []


async def test_a_key_goes_nowhere_unencrypted() -> None:
    server = Server()
    with pytest.raises(ModelError, match="unencrypted"):
        await ask(provider(server, base_url="http://models.example"))
    assert server.requests == []


@pytest.mark.parametrize(
    ("status", "kind", "reason", "says"),
    [
        (401, "authentication_error", "wrong_key", "ANTHROPIC_API_KEY"),
        (404, "not_found_error", "no_model", "--model"),
        (400, "invalid_request_error", "refused", "strict = false"),
    ],
)
async def test_a_refusal_says_what_to_do_and_no_key(status: int, kind: str, reason: str, says: str) -> None:
    error = {"type": "error", "error": {"type": kind, "message": f"it is {KEY} that is wrong"}}
    with pytest.raises(ModelError, match=says) as caught:
        await ask(provider(Server(error, status)))
    assert caught.value.details["reason"] == reason
    assert KEY[8:] not in repr(caught.value) + str(caught.value.details)


async def test_the_models_are_listed() -> None:
    server = Server(MODELS)
    assert await provider(server).list_models() == ["claude-b", "claude-a"]
    assert server.requests[0].url.path == "/v1/models"
    assert await provider(Server([])).list_models() == []


# The tool


class Plugin:
    """The tool alone, on a server of the test's."""

    name = "anthropic"

    def __init__(self, given: AnthropicProvider) -> None:
        self._given = given

    @hookimpl
    def provide_tools(self) -> Any:
        return make_tools(self._given)


async def call(given: AnthropicProvider, **arguments: Any) -> Any:
    async with open_host(plugins=[Plugin(given)]) as host:
        return await host.session().call("claude_conversation", arguments)


async def test_the_tool_asks_and_answers() -> None:
    server = Server()
    result = await call(provider(server), message="Three rivers?", model="claude-x", system_prompt="Be brief.")
    assert result.text == "The Loire, the Seine and the Rhône."
    usage = {"input_tokens": 13, "output_tokens": 17, "cached_tokens": 0}
    assert result.data == {"model": "claude-x", "stop": "end", "usage": usage}
    body = json.loads(server.requests[0].content)
    assert (body["model"], body["system"], len(body["messages"])) == ("claude-x", "Be brief.", 1)


@pytest.mark.parametrize(("stop", "text"), [("refusal", REFUSED), ("end_turn", SILENT)])
async def test_the_tool_says_where_there_is_no_text(stop: str, text: str) -> None:
    result = await call(provider(Server({**ANSWER, "content": [], "stop_reason": stop})), message="x")
    assert (result.ok, result.text) == (True, text)


async def test_the_tool_says_where_the_answer_was_cut() -> None:
    result = await call(provider(Server({**ANSWER, "stop_reason": "max_tokens"})), message="x")
    assert result.text.splitlines() == ["The Loire, the Seine and the Rhône.", CUT]
    assert result.data["stop"] == "length"


async def test_the_tool_hangs_without_a_key_and_says_what_to_set() -> None:
    result = await call(provider(Server(), api_key=None), message="x")
    assert result.error.code is ErrorCode.UNAUTHORIZED
    assert "ANTHROPIC_API_KEY" in result.error.message


async def test_an_error_of_the_model_is_the_error_of_the_call() -> None:
    error = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
    result = await call(provider(Server(error, 400)), message="x")
    assert (result.error.details["provider"], result.error.details["status"]) == ("anthropic", 400)


@pytest.mark.parametrize(
    "arguments", [{}, {"message": " "}, {"message": "x", "temperature": 1}, {"message": "x" * 200_001}]
)
async def test_the_tool_refuses_what_asks_nothing(arguments: dict[str, Any]) -> None:
    server = Server()
    result = await call(provider(server), **arguments)
    assert result.error.code is ErrorCode.INVALID_INPUT
    assert server.requests == []


# The plugin


def test_the_plugin_gives_a_tool_a_dialect_a_provider_and_settings() -> None:
    board = load_board(plugins=[pegboard_anthropic.plugin])
    assert "claude_conversation" in board.tools
    assert board.dialects["anthropic"].export([board.tools["claude_conversation"]]).definitions
    (given,) = pegboard_anthropic.plugin.provide_models(AnthropicSettings(model="claude-x"))
    assert (given.name, given.default_model) == ("anthropic", "claude-x")


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"thinking": 1000}, "1024"),
        ({"thinking": "deep"}, "thinking"),
        ({"max_tokens": 0}, "above zero"),
        ({"modle": "x"}, "model"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        load_board({"plugins": {"anthropic": settings}}, plugins=[pegboard_anthropic.plugin])


def test_a_board_with_the_plugin_imports_neither_trio_nor_httpx2() -> None:
    program = (
        "import sys, pegboard; board = pegboard.load_board(plugins=[__import__('pegboard_anthropic.plugin').plugin]);"
        "board.tools; board.dialects['anthropic'].export([]); print({'trio', 'httpx2', 'anthropic'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout.strip(), done.stderr) == ("set()", "")


# The page of the package


async def test_the_readme_shows_what_the_tool_says() -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    (command, said) = _shown_call(readme)
    assert said == (await call(provider(Server()), message=command)).text


def _shown_call(readme: str) -> tuple[str, str]:
    lines = iter(line.strip() for line in readme.splitlines())
    command = next(line for line in lines if line.startswith("$ pegboard call claude_conversation message="))
    return command.partition("message=")[2].strip('"'), next(lines)

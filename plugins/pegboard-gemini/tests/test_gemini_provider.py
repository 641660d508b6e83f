"""Where Gemini's models are: addresses, keys, lists, and the plugin on a board."""

from __future__ import annotations

import functools
import json
import logging
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

import pegboard_chat.plugin
import pegboard_gemini.plugin
from pegboard import ConfigError, load_board
from pegboard_chat import Conversation, ModelError, ModelRequest, Reply, TextDelta, open_model, providers_of
from pegboard_chat.wire.transport import open_transport
from pegboard_gemini.provider import GeminiProvider, url_of
from pegboard_gemini.settings import GeminiSettings

KEY = "AIzaSy-this-is-a-key-of-nobody-0123456"
VARIABLES = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL")
ANSWER = {"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]}


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(service: str, variable: str) -> None:
        assert variable == "GEMINI_API_KEY"

    monkeypatch.setattr("pegboard_chat.wire.keys._ask_keyring", nothing)


Seen = list[httpx2.Request]


@pytest.fixture
def provider_of() -> Callable[..., tuple[GeminiProvider, Seen]]:
    """A provider before a server that answers with what is given, and the requests that reached it."""

    def make(*answers: httpx2.Response, **settings: Any) -> tuple[GeminiProvider, Seen]:
        seen: Seen = []
        left = list(answers)

        def answer(request: httpx2.Request) -> httpx2.Response:
            seen.append(request)
            return left.pop(0)

        connect = functools.partial(open_transport, http=httpx2.MockTransport(answer), tries=1)
        return GeminiProvider(GeminiSettings(**settings), connect), seen

    return make


async def ask(provider: GeminiProvider, model: str | None = None, *, stream: bool = False) -> list[Any]:
    async with provider.open(model) as opened:
        request = ModelRequest(Conversation().ask("hello"), stream=stream)
        async with opened.respond(request) as said:
            return [one async for one in said]


async def test_a_key_goes_in_the_header_and_nowhere_else(provider_of: Any) -> None:
    provider, seen = provider_of(httpx2.Response(200, json=ANSWER), api_key=KEY)
    (reply,) = await ask(provider)
    assert isinstance(reply, Reply)
    assert reply.message.text == "Hi"
    assert reply.message.model == "gemini:gemini-3.8-flash"
    (request,) = seen
    assert request.headers["x-goog-api-key"] == KEY
    assert "authorization" not in request.headers
    assert str(request.url) == (
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-3.8-flash:generateContent"
    )
    assert json.loads(request.content) == {"contents": [{"role": "user", "parts": [{"text": "hello"}]}]}


async def test_streams_ask_for_events(provider_of: Any) -> None:
    events = b"data: " + json.dumps(ANSWER).encode() + b"\r\n\r\n"
    provider, seen = provider_of(
        httpx2.Response(200, content=events, headers={"content-type": "text/event-stream"}), api_key=KEY
    )
    delta, reply = await ask(provider, "models/gemini-3-pro", stream=True)
    assert delta == TextDelta("Hi")
    assert reply.message.model == "gemini:gemini-3-pro"
    assert seen[0].url.path.endswith("/v1beta/models/gemini-3-pro:streamGenerateContent")
    assert seen[0].url.params["alt"] == "sse"


async def test_a_stream_that_comes_as_a_list_is_read(provider_of: Any) -> None:
    provider, _ = provider_of(httpx2.Response(200, json=[ANSWER]), api_key=KEY)
    *_, reply = await ask(provider, stream=True)
    assert reply.message.text == "Hi"


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("gemini-3-pro", "/v1beta/models/gemini-3-pro:generateContent"),
        ("models/gemini-3-pro", "/v1beta/models/gemini-3-pro:generateContent"),
        ("tunedModels/mine", "/v1beta/tunedModels/mine:generateContent"),
        ("a?key=b#c", "/v1beta/models/a%3Fkey%3Db%23c:generateContent"),
    ],
)
def test_names_of_models_in_addresses(model: str, path: str) -> None:
    assert url_of("https://x", model, stream=False) == f"https://x{path}"


async def test_variables_are_those_that_googles_client_reads(provider_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "https://proxy.example/v1beta/")
    monkeypatch.setenv("GOOGLE_API_KEY", "second")
    provider, seen = provider_of(*(httpx2.Response(200, json=ANSWER) for _ in range(3)))
    await ask(provider)
    assert str(seen[0].url).startswith("https://proxy.example/v1beta/models/")
    assert seen[0].headers["x-goog-api-key"] == "second"

    monkeypatch.setenv("GEMINI_API_KEY", "first")
    await ask(provider)
    assert seen[1].headers["x-goog-api-key"] == "first"


async def test_without_a_key_it_says_what_to_set(provider_of: Any) -> None:
    provider, seen = provider_of()
    assert provider.missing() == "set GEMINI_API_KEY, or keep it in the keyring: keyring set pegboard GEMINI_API_KEY"
    with pytest.raises(ModelError, match="GEMINI_API_KEY") as caught:
        await ask(provider)
    assert caught.value.details["reason"] == "no_key"
    assert seen == []


@pytest.mark.parametrize("given", [None, "any"])
async def test_this_machine_needs_no_key(provider_of: Any, monkeypatch: pytest.MonkeyPatch, given: str | None) -> None:
    if given:
        monkeypatch.setenv("GEMINI_API_KEY", given)
    provider, seen = provider_of(httpx2.Response(200, json=ANSWER), base_url="http://127.0.0.1:4010")
    assert provider.missing() is None
    await ask(provider)
    assert seen[0].headers.get("x-goog-api-key") == given


async def test_a_key_does_not_go_out_unencrypted(provider_of: Any) -> None:
    provider, seen = provider_of(base_url="http://proxy.example", api_key=KEY)
    with pytest.raises(ModelError, match="unencrypted"):
        await ask(provider)
    assert seen == []


async def test_a_wrong_key_names_the_variable_and_no_key(provider_of: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    error = {"code": 400, "message": f"API key not valid: {KEY}", "details": [{"reason": "API_KEY_INVALID"}]}
    provider, _ = provider_of(httpx2.Response(400, json={"error": error}), api_key=KEY)
    with pytest.raises(ModelError, match="GEMINI_API_KEY") as caught:
        await ask(provider)
    assert caught.value.details["reason"] == "wrong_key"
    told = f"{caught.value.message} {caught.value.details} {caplog.text} {provider!r}"
    assert KEY not in told


async def test_an_unknown_model_is_named(provider_of: Any) -> None:
    error = {"code": 404, "message": "models/nope is not found for API version v1beta", "status": "NOT_FOUND"}
    provider, _ = provider_of(httpx2.Response(404, json={"error": error}), api_key=KEY)
    with pytest.raises(ModelError, match="nope") as caught:
        await ask(provider, "nope")
    assert caught.value.details["reason"] == "no_model"


async def test_models_are_listed_page_by_page(provider_of: Any) -> None:
    first = {
        "models": [
            {"name": "models/gemini-3-pro", "supportedGenerationMethods": ["generateContent"]},
            {"name": "models/embedding", "supportedGenerationMethods": ["embedContent"]},
            "nonsense",
        ],
        "nextPageToken": "a&b",
    }
    second = {"models": [{"name": "models/gemma-4"}]}
    provider, seen = provider_of(httpx2.Response(200, json=first), httpx2.Response(200, json=second), api_key=KEY)
    assert await provider.list_models() == ["gemini-3-pro", "gemma-4"]
    assert seen[1].url.params["pageToken"] == "a&b"


@pytest.mark.parametrize("answer", [[], {}, {"models": 7}, {"models": [{"name": 7}], "nextPageToken": 7}])
async def test_a_list_that_is_none_is_empty(provider_of: Any, answer: Any) -> None:
    provider, _ = provider_of(httpx2.Response(200, json=answer), api_key=KEY)
    assert await provider.list_models() == []


PLUGINS = [pegboard_chat.plugin, pegboard_gemini.plugin]


class TestOnABoard:
    def test_dialect_and_provider_are_there(self) -> None:
        board = load_board({"plugins": {"gemini": {"model": "gemini-2.5-pro"}}}, PLUGINS)
        assert "gemini" in board.dialects
        assert providers_of(board)["gemini"].default_model == "gemini-2.5-pro"

    async def test_settings_reach_the_model(self) -> None:
        said = {"api_key": KEY, "schema": "parameters", "thinking_budget": 0, "include_thoughts": True}
        board = load_board({"plugins": {"gemini": said}}, PLUGINS)
        async with open_model(board, "gemini:gemini-2.5-flash") as model:
            body = model.dialect.body(ModelRequest(Conversation().ask("x")), "gemini-2.5-flash")
        assert body["generationConfig"]["thinkingConfig"] == {"thinkingBudget": 0, "includeThoughts": True}

    @pytest.mark.parametrize("wrong", [{"schema": "xml"}, {"thinking_budget": -2}, {"modle": "x"}])
    def test_wrong_settings_are_refused(self, wrong: Any) -> None:
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            load_board({"plugins": {"gemini": wrong}}, PLUGINS)


def test_importing_the_plugin_and_its_dialect_is_light() -> None:
    heavy = "{'trio', 'httpx2', 'google', 'pydantic', 'rich', 'prompt_toolkit'}"
    code = f"import sys, pegboard_gemini.plugin, pegboard_gemini.dialect; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"

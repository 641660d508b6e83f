"""Where Cohere's models are: addresses, keys, lists, and the plugin on a board."""

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
import pegboard_cohere.plugin
from pegboard import ConfigError, load_board
from pegboard_chat import Conversation, ModelError, ModelRequest, Reply, TextDelta, open_model, providers_of
from pegboard_chat.wire.transport import open_transport
from pegboard_cohere.provider import CohereProvider
from pegboard_cohere.settings import CohereSettings

KEY = "a-key-of-nobody-0123456789abcdef"
VARIABLES = ("CO_API_KEY", "CO_API_URL")
ANSWER = {"message": {"content": [{"type": "text", "text": "Hi"}]}, "finish_reason": "COMPLETE"}


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(service: str, variable: str) -> None:
        assert variable == "CO_API_KEY"

    monkeypatch.setattr("pegboard_chat.wire.keys._ask_keyring", nothing)


Seen = list[httpx2.Request]


@pytest.fixture
def provider_of() -> Callable[..., tuple[CohereProvider, Seen]]:
    """A provider before a server that answers with what is given, and the requests that reached it."""

    def make(*answers: httpx2.Response, **settings: Any) -> tuple[CohereProvider, Seen]:
        seen: Seen = []
        left = list(answers)

        def answer(request: httpx2.Request) -> httpx2.Response:
            seen.append(request)
            return left.pop(0)

        connect = functools.partial(open_transport, http=httpx2.MockTransport(answer), tries=1)
        return CohereProvider(CohereSettings(**settings), connect), seen

    return make


async def ask(provider: CohereProvider, model: str | None = None, *, stream: bool = False) -> list[Any]:
    async with provider.open(model) as opened:
        request = ModelRequest(Conversation().ask("hello"), stream=stream)
        async with opened.respond(request) as said:
            return [one async for one in said]


async def test_a_key_goes_in_the_header_and_nowhere_else(provider_of: Any) -> None:
    provider, seen = provider_of(httpx2.Response(200, json=ANSWER), api_key=KEY)
    (reply,) = await ask(provider)
    assert isinstance(reply, Reply)
    assert reply.message.text == "Hi"
    assert reply.message.model == "cohere:command-a-03-2025"
    (request,) = seen
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert str(request.url) == "https://api.cohere.com/v2/chat"
    assert json.loads(request.content) == {
        "model": "command-a-03-2025",
        "messages": [{"role": "user", "content": "hello"}],
        "stream": False,
    }


async def test_streams_are_read_event_by_event(provider_of: Any) -> None:
    events = [
        {"type": "content-delta", "delta": {"message": {"content": {"text": "Hi"}}}},
        {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}},
    ]
    content = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    provider, seen = provider_of(
        httpx2.Response(200, content=content, headers={"content-type": "text/event-stream"}), api_key=KEY
    )
    delta, reply = await ask(provider, "command-r7b-12-2024", stream=True)
    assert delta == TextDelta("Hi")
    assert reply.message.model == "cohere:command-r7b-12-2024"
    assert json.loads(seen[0].content)["stream"] is True


@pytest.mark.parametrize("url", ["https://proxy.example", "https://proxy.example/v1/", " https://proxy.example/v2"])
async def test_variables_are_those_that_coheres_client_reads(
    provider_of: Any, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("CO_API_URL", url)
    monkeypatch.setenv("CO_API_KEY", "of the environment")
    provider, seen = provider_of(httpx2.Response(200, json=ANSWER))
    assert provider.missing() is None
    await ask(provider)
    assert str(seen[0].url) == "https://proxy.example/v2/chat"
    assert seen[0].headers["authorization"] == "Bearer of the environment"


async def test_without_a_key_it_says_what_to_set(provider_of: Any) -> None:
    provider, seen = provider_of()
    assert provider.missing() == "set CO_API_KEY, or keep it in the keyring: keyring set pegboard CO_API_KEY"
    with pytest.raises(ModelError, match="CO_API_KEY") as caught:
        await ask(provider)
    assert caught.value.details["reason"] == "no_key"
    assert seen == []


async def test_the_keyring_is_asked_last(provider_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pegboard_chat.wire.keys._ask_keyring", lambda service, variable: "kept")
    provider, seen = provider_of(httpx2.Response(200, json=ANSWER))
    await ask(provider)
    assert seen[0].headers["authorization"] == "Bearer kept"


async def test_this_machine_needs_no_key(provider_of: Any) -> None:
    provider, seen = provider_of(httpx2.Response(200, json=ANSWER), base_url="http://127.0.0.1:4010")
    assert provider.missing() is None
    await ask(provider)
    assert "authorization" not in seen[0].headers


async def test_a_key_does_not_go_out_unencrypted(provider_of: Any) -> None:
    provider, seen = provider_of(base_url="http://proxy.example", api_key=KEY)
    with pytest.raises(ModelError, match="unencrypted"):
        await ask(provider)
    assert seen == []


async def test_a_wrong_key_names_the_variable_and_no_key(provider_of: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    provider, _ = provider_of(httpx2.Response(401, json={"message": f"invalid api token {KEY}"}), api_key=KEY)
    with pytest.raises(ModelError, match="CO_API_KEY") as caught:
        await ask(provider)
    assert caught.value.details["reason"] == "wrong_key"
    told = f"{caught.value.message} {caught.value.details} {caplog.text} {provider!r}"
    assert KEY not in told


async def test_an_unknown_model_is_named(provider_of: Any) -> None:
    error = {"message": "model 'nope' not found, make sure the correct model ID was used"}
    provider, _ = provider_of(httpx2.Response(404, json=error), api_key=KEY)
    with pytest.raises(ModelError, match="nope") as caught:
        await ask(provider, "nope")
    assert caught.value.details["reason"] == "no_model"


async def test_models_are_listed_page_by_page(provider_of: Any) -> None:
    first = {"models": [{"name": "command-a-03-2025"}, "nonsense"], "next_page_token": "a&b"}
    second = {"models": [{"name": "command-r7b-12-2024"}]}
    provider, seen = provider_of(httpx2.Response(200, json=first), httpx2.Response(200, json=second), api_key=KEY)
    assert await provider.list_models() == ["command-a-03-2025", "command-r7b-12-2024"]
    assert seen[0].url.params["endpoint"] == "chat"
    assert seen[1].url.params["page_token"] == "a&b"


@pytest.mark.parametrize("answer", [[], {}, {"models": 7}, {"models": [{"name": 7}], "next_page_token": 7}])
async def test_a_list_that_is_none_is_empty(provider_of: Any, answer: Any) -> None:
    provider, _ = provider_of(httpx2.Response(200, json=answer), api_key=KEY)
    assert await provider.list_models() == []


PLUGINS = [pegboard_chat.plugin, pegboard_cohere.plugin]


class TestOnABoard:
    def test_dialect_and_provider_are_there(self) -> None:
        board = load_board({"plugins": {"cohere": {"model": "command-r7b-12-2024"}}}, PLUGINS)
        assert "cohere" in board.dialects
        assert providers_of(board)["cohere"].default_model == "command-r7b-12-2024"

    async def test_settings_reach_the_model(self) -> None:
        board = load_board({"plugins": {"cohere": {"api_key": KEY, "thinking": False, "images": True}}}, PLUGINS)
        async with open_model(board, "cohere") as model:
            body = model.dialect.body(ModelRequest(Conversation().ask("x")), "command-a-03-2025")
        assert body["thinking"] == {"type": "disabled"}

    @pytest.mark.parametrize("wrong", [{"strict": "yes"}, {"thinking_budget": 0}, {"modle": "x"}])
    def test_wrong_settings_are_refused(self, wrong: Any) -> None:
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            load_board({"plugins": {"cohere": wrong}}, PLUGINS)


def test_importing_the_plugin_and_its_dialect_is_light() -> None:
    heavy = "{'trio', 'httpx2', 'cohere', 'pydantic', 'rich', 'prompt_toolkit'}"
    code = f"import sys, pegboard_cohere.plugin, pegboard_cohere.dialect; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"

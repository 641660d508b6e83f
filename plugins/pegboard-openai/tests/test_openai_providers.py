"""Providers: what they lack, where they go, which model they take, over real sockets on loopback."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from typing import Any

import pytest

from pegboard import ConfigError, load_board, open_host
from pegboard_chat import Conversation, ModelError, ModelRequest, Reply, TextDelta, open_model, providers_of
from pegboard_openai import plugin
from pegboard_openai._providers import OWN_MODEL, LocalProvider, Server
from pegboard_openai._providers import providers_of as providers_of_settings
from pegboard_openai.settings import OpenAISettings, ServerSettings

ANSWER = {"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]}
STREAMED = (
    'data: {"choices": [{"delta": {"content": "Hel"}}]}\n\n'
    'data: {"choices": [{"delta": {"content": "lo"}, "finish_reason": "stop"}]}\n\n'
    "data: [DONE]\n\n"
)
MODELS = {"data": [{"id": "text-embedding-3"}, {"id": "first"}, {"id": 3}, {"id": "second"}]}


def provider(name: str, **settings: Any) -> Any:
    return {one.name: one for one in providers_of_settings(OpenAISettings(**settings))}[name]


async def heard(one: Any, model: str | None = None, *, stream: bool = False) -> list[Any]:
    """Everything that a provider's model says to one question; first, the model's name."""
    request = ModelRequest(Conversation().ask("Hello?"), stream=stream)
    async with one.open(model) as opened, opened.respond(request) as events:
        return [opened.name, *[event async for event in events]]


def unused_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.mark.parametrize("stream", [True, False])
async def test_a_compatible_server_is_asked_without_a_key_and_by_the_first_of_its_models(server, stream) -> None:
    server.says("/v1/models", MODELS)
    if stream:
        server.streams("/v1/chat/completions", STREAMED)
    else:
        server.says("/v1/chat/completions", ANSWER)
    name, *deltas, reply = await heard(provider("openai", base_url=server.url + "/"), stream=stream)
    assert name == "openai:first"
    assert isinstance(reply, Reply)
    assert (reply.message.text, reply.message.model) == ("Hello", "openai:first")
    assert deltas == ([TextDelta("Hel"), TextDelta("lo")] if stream else [])
    path, headers, body = server.asked[-1]
    assert path == "/v1/chat/completions"
    assert body["model"] == "first"
    assert "authorization" not in headers


async def test_responses_go_to_their_own_address(server) -> None:
    output = [{"type": "message", "content": [{"type": "output_text", "text": "Hello"}]}]
    server.says("/v1/responses", {"status": "completed", "output": output})
    servers = {"mine": ServerSettings(base_url=server.url, responses=True)}
    for name in ("openai-responses", "mine"):
        said, reply = await heard(provider(name, base_url=server.url, servers=servers), "m")
        assert said == f"{name}:m"
        assert reply.message.text == "Hello"
        assert server.asked[-1][0] == "/v1/responses"


async def test_the_environment_says_where_and_with_which_key(server, monkeypatch) -> None:
    server.says("/v1/chat/completions", ANSWER)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    await heard(provider("openai"), "m")
    assert server.asked[-1][1]["authorization"] == "Bearer sk-of-the-environment"
    await heard(provider("openai", api_key="sk-of-the-settings"), "m")
    assert server.asked[-1][1]["authorization"] == "Bearer sk-of-the-settings"


async def test_a_named_server_is_a_provider_with_a_key_of_its_own(server, monkeypatch) -> None:
    server.says("/v1/chat/completions", ANSWER)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-others")
    monkeypatch.setenv("MINE_KEY", "sk-mine-0123456789")
    servers = {
        "mine": ServerSettings(base_url=server.url, key_variable="MINE_KEY", model="big"),
        "open": ServerSettings(base_url=server.url, model="big"),
        "given": ServerSettings(base_url=server.url, api_key="sk-given-0123456789", model="big"),
    }
    keys = {}
    for name in servers:
        said = await heard(provider(name, servers=servers))
        assert said[0] == f"{name}:big"
        keys[name] = server.asked[-1][1].get("authorization")
    assert keys == {"mine": "Bearer sk-mine-0123456789", "open": None, "given": "Bearer sk-given-0123456789"}


def test_what_is_missing_is_said_before_anything_is_asked(monkeypatch) -> None:
    far = "https://llm.example/v1"
    servers = {
        "keyed": ServerSettings(base_url=far, key_variable="MINE_KEY"),
        "open": ServerSettings(base_url=far),
        "near": ServerSettings(base_url="http://localhost:1/v1", key_variable="MINE_KEY"),
    }
    assert "set OPENAI_API_KEY" in provider("openai").missing()
    assert "set OPENAI_API_KEY" in provider("openai-responses").missing()
    assert "set MINE_KEY" in provider("keyed", servers=servers).missing()
    assert provider("openai", api_key="sk-x").missing() is None
    assert provider("openai", base_url=far).missing() is None
    assert [provider(name, servers=servers).missing() for name in ("open", "near", "local")] == [None] * 3
    assert Server("x", ServerSettings(base_url=far), wants_key=True).missing() is None
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    assert provider("openai").missing() is None


def test_the_model_that_nobody_named_is_openai_s_own_only_at_openai() -> None:
    assert provider("openai").default_model == OWN_MODEL
    assert provider("openai", model="o4-mini").default_model == "o4-mini"
    assert provider("openai", base_url="http://localhost:1/v1").default_model is None


async def test_without_a_key_the_error_says_which_variable_to_set() -> None:
    with pytest.raises(ModelError) as caught:
        await heard(provider("openai"))
    assert caught.value.details["reason"] == "no_key"
    assert "OPENAI_API_KEY" in caught.value.message


async def test_a_key_goes_nowhere_unencrypted() -> None:
    with pytest.raises(ModelError) as caught:
        await heard(provider("openai", base_url="http://llm.example/v1", api_key="sk-secret-0123456789"), "m")
    assert "unencrypted" in caught.value.message
    assert "secret" not in repr(caught.value)


@pytest.mark.parametrize("name", ["openai", "mine"])
async def test_a_wrong_key_is_told_with_what_to_set_and_without_the_key(server, name) -> None:
    key = "sk-wrong-0123456789"
    said = f"Incorrect API key provided: {key}"
    server.answers["/v1/chat/completions"] = (
        401,
        "application/json",
        json.dumps({"error": {"message": said}}).encode(),
    )
    servers = {"mine": ServerSettings(base_url=server.url, api_key=key)}
    with pytest.raises(ModelError) as caught:
        await heard(provider(name, base_url=server.url, api_key=key, servers=servers), "m")
    error = caught.value
    assert (error.details["reason"], error.details["status"], error.details["provider"]) == ("wrong_key", 401, name)
    assert ("OPENAI_API_KEY" if name == "openai" else "[plugins.openai.servers.mine]") in error.message
    assert "wrong-0123" not in f"{error.message}{error.details}"


async def test_an_unknown_model_is_told(server) -> None:
    with pytest.raises(ModelError) as caught:
        await heard(provider("openai", base_url=server.url), "nope")
    assert caught.value.details["reason"] == "no_model"
    assert "'nope'" in caught.value.message


async def test_models_are_listed_by_name(server) -> None:
    server.says("/v1/models", MODELS)
    assert await provider("openai", base_url=server.url).list_models() == ["text-embedding-3", "first", "second"]


@pytest.mark.parametrize(
    ("listed", "reason"), [({"data": []}, "no_model"), ({"models": []}, "no_json"), ([], "no_json")]
)
async def test_a_server_that_lists_no_model_is_an_error(server, listed, reason) -> None:
    server.says("/v1/models", listed)
    with pytest.raises(ModelError) as caught:
        await heard(provider("openai", base_url=server.url))
    assert caught.value.details["reason"] == reason


# Local


async def test_local_finds_the_first_port_that_lists_models(server) -> None:
    server.says("/v1/models", MODELS)
    server.says("/v1/chat/completions", ANSWER)
    local = LocalProvider((unused_port(), server.port))
    assert (await heard(local))[0] == "local:first"
    assert (await heard(local, "SECOND"))[0] == "local:second"
    assert await local.list_models() == ["text-embedding-3", "first", "second"]


async def test_local_takes_the_latest_of_a_name_as_ollama_does(server) -> None:
    server.says("/v1/models", {"data": [{"id": "llama3.2:latest"}]})
    server.says("/v1/chat/completions", ANSWER)
    assert (await heard(LocalProvider([server.port]), "llama3.2"))[0] == "local:llama3.2:latest"


async def test_local_knows_a_model_by_a_part_of_its_name_that_no_other_has(server) -> None:
    server.says(
        "/v1/models", {"data": [{"id": "models/SmolLM2-135M.Q4_1.gguf"}, {"id": "qwen3:4b"}, {"id": "qwen3:8b"}]}
    )
    server.says("/v1/chat/completions", ANSWER)
    assert (await heard(LocalProvider([server.port]), "smollm2"))[0] == "local:models/SmolLM2-135M.Q4_1.gguf"
    with pytest.raises(ModelError, match="no model 'qwen3' on this machine"):
        await heard(LocalProvider([server.port]), "qwen3")


async def test_a_local_server_that_wants_a_key_is_to_be_named(server) -> None:
    server.says("/v1/models", MODELS)
    server.says("/v1/chat/completions", {"error": {"message": "Invalid API Key"}}, 401)
    with pytest.raises(ModelError) as caught:
        await heard(LocalProvider([server.port]))
    assert "[plugins.openai.servers.NAME]" in caught.value.message


async def test_local_without_a_server_says_where_it_looked_and_what_to_start() -> None:
    port = unused_port()
    with pytest.raises(ModelError) as caught:
        await heard(LocalProvider([port]))
    assert caught.value.details["reason"] == "no_network"
    assert str(port) in caught.value.message
    assert "ollama serve" in caught.value.message
    with pytest.raises(ModelError):
        await LocalProvider([port]).list_models()


def test_local_looks_at_the_usual_ports() -> None:
    assert provider("local")._ports == (8080, 11434, 1234, 8000)
    assert provider("local", local_ports=(9,))._ports == (9,)


@pytest.mark.parametrize(("listed", "model"), [({"data": []}, None), (MODELS, "third")])
async def test_local_without_the_model_says_which_there_are(server, listed, model) -> None:
    server.says("/v1/models", listed)
    with pytest.raises(ModelError) as caught:
        await heard(LocalProvider([server.port]), model)
    assert caught.value.details["reason"] == "no_model"
    assert str(server.port) in caught.value.message
    assert ("first, second" if model else "none") in caught.value.message


async def test_local_passes_over_what_is_not_a_server_of_models(server) -> None:
    server.says("/v1/models", ["a", "page"])
    with pytest.raises(ModelError) as caught:
        await heard(LocalProvider([server.port]))
    assert caught.value.details["reason"] == "no_network"


# The board


async def test_a_board_has_the_providers_and_opens_a_model_by_name(server) -> None:
    from pegboard_chat import plugin as chat

    server.says("/v1/chat/completions", ANSWER)
    config = {"plugins": {"openai": {"servers": {"mine": {"base_url": server.url, "model": "big"}}}}}
    async with open_host(config, plugins=[chat, plugin]) as host:
        assert {"openai", "openai-responses", "local", "mine"} <= set(providers_of(host))
        request = ModelRequest(Conversation().ask("x"), stream=False)
        async with open_model(host, "mine") as model, model.respond(request) as events:
            (reply,) = [event async for event in events]
    assert reply.message.model == "mine:big"


def test_a_board_has_both_dialects() -> None:
    assert {"openai", "openai-responses"} <= set(load_board({}, plugins=[plugin]).dialects)


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ({"base_url": "localhost:8080/v1"}, "base_url: expected an address"),
        ({"base_url": "https://key@api.openai.com/v1"}, "keys belong into api_key"),
        ({"servers": {"local": {"base_url": "http://h/v1"}}}, "servers.local: expected a name that is not taken"),
        ({"servers": {"My Server": {"base_url": "http://h/v1"}}}, "small letters"),
        ({"servers": {"mine": {"base_url": "ftp://h"}}}, "servers.mine.base_url"),
        ({"servers": {"mine": {}}}, "base_url"),
    ],
)
def test_settings_that_cannot_be_are_refused_with_their_place(section, says) -> None:
    with pytest.raises(ConfigError) as caught:
        load_board({"plugins": {"openai": section}}, plugins=[plugin])
    assert says in str(caught.value) + str([fault.hint for fault in caught.value.faults])


def test_the_settings_hide_keys() -> None:
    servers = {"mine": ServerSettings(base_url="http://h/v1", api_key="sk-secret-2")}
    assert "sk-secret" not in repr(OpenAISettings(api_key="sk-secret-1", servers=servers))


def test_loading_the_plugin_and_its_dialects_imports_no_http_and_no_loop() -> None:
    code = (
        "import sys, pegboard_openai.plugin as p\n"
        "p.provide_dialects(); p.provide_models(p.provide_settings()())\n"
        "print([name for name in ('trio', 'httpx2', 'fastjsonschema', 'rich') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"

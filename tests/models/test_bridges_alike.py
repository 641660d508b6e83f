"""What holds for every bridge to models alike: what it imports, how it reads messages, what it says is missing."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from typing import Any

import pytest

from pegboard import ErrorCode, Example, Tool, ToolCall, load_board
from pegboard_chat import ModelError, providers_of
from pegboard_chat.echo import EchoDialect

BRIDGES = ("openai", "anthropic", "cohere", "gemini")
PACKAGES = ("pegboard_chat", *(f"pegboard_{name}" for name in BRIDGES))
IMPORT_ALL = """
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    importlib.import_module(module.name)
print(*sys.modules)
"""
HEAVY = {
    *("trio", "httpx2", "fastjsonschema", "keyring", "prompt_toolkit", "pydantic", "rich"),
    *("openai", "anthropic", "cohere", "google.genai"),
}
CALLS: dict[str, Any] = {
    "openai": {"tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": '{"a": 1}'}}]},
    "openai-responses": [{"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a": 1}'}],
    "anthropic": {"content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}]},
    "cohere": {"tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": '{"a": 1}'}}]},
    "gemini": {"parts": [{"functionCall": {"id": "c1", "name": "f", "args": {"a": 1}}}]},
}
"""One call, as an assistant's message of each dialect has it."""


@pytest.fixture(scope="module")
def board() -> Any:
    return load_board({}, ["chat", *BRIDGES])


@pytest.fixture(params=CALLS)
def export(request: pytest.FixtureRequest, board: Any) -> Any:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False}
    exported = board.dialects[request.param].export([Tool(name="f", handler=print, input_schema=schema)])
    exported.dialect_name = request.param
    return exported


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_of_it_imports_what_only_an_open_model_needs(package: str) -> None:
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL, package], capture_output=True, text=True, check=True)
    assert HEAVY.isdisjoint(done.stdout.split())


def spoil(value: Any) -> None:
    """Change whatever of a JSON value can be changed."""
    inside = list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else []
    for one in inside:
        spoil(one)
    with contextlib.suppress(TypeError):
        if isinstance(value, dict):
            value["spoilt"] = object()
        elif isinstance(value, list):
            value.append(object())


@pytest.mark.parametrize("dialect", ["text", "json", "mcp", "echo", *CALLS])
def test_what_a_caller_does_to_an_export_is_in_no_other(dialect: str) -> None:
    board = load_board({}, ["chat", "mcp", *BRIDGES])
    listed = {"type": "array", "items": {"enum": ["a", "b"]}, "default": ["a"]}
    schema = {"type": "object", "properties": {"list": listed}, "required": ["list"], "additionalProperties": False}
    examples = [Example({"list": ["b"]})]
    tools = [Tool(name=name, handler=print, input_schema=schema, examples=examples) for name in ("f", "g h")]
    known = EchoDialect() if dialect == "echo" else board.dialects[dialect]
    first = known.export(tools)
    before = json.dumps(first.definitions)
    spoil(first.definitions)
    assert json.dumps(known.export(tools).definitions) == before


def test_calls_are_read_from_a_message_and_from_its_json(export: Any) -> None:
    message = CALLS[export.dialect_name]
    for said in (message, json.dumps(message), json.dumps(message).encode()):
        assert list(export.parse(said)) == [ToolCall("c1", "f", {"a": 1})]


@pytest.mark.parametrize("message", ["nonsense", '{"tool', b"\xff", 7, None, "[" * 100], ids=repr)
def test_what_is_not_a_message_is_answered_with_an_error(export: Any, message: Any) -> None:
    (result,) = export.parse(message)
    assert result.error.code is ErrorCode.INVALID_INPUT
    assert result.id


def test_a_call_with_broken_arguments_says_where_they_broke(export: Any) -> None:
    broken = (
        json.dumps(CALLS[export.dialect_name])
        .replace(r'"{\"a\": 1}"', r'"{\"a\": "')
        .replace('{"a": 1}', r'"{\"a\": "')
    )
    (result,) = export.parse(broken)
    assert (result.error.code, result.id, result.name) == (ErrorCode.INVALID_INPUT, "c1", "f")
    assert "line 1, column 7" in result.error.message


URLS = {"cohere": "CO_API_URL", "gemini": "GOOGLE_GEMINI_BASE_URL"}


@pytest.mark.parametrize("name", [*BRIDGES, "openai-responses"])
@pytest.mark.parametrize("by", ["a variable", "the configuration"])
async def test_an_address_that_is_refused_is_named_by_where_it_comes_from(
    monkeypatch: pytest.MonkeyPatch, name: str, by: str
) -> None:
    package = name.partition("-")[0]
    variable = URLS.get(package, f"{package.upper()}_BASE_URL")
    monkeypatch.setenv({"cohere": "CO_API_KEY"}.get(package, f"{package.upper()}_API_KEY"), "a-key")
    unencrypted = {"base_url": "http://models.example.org"} if by == "the configuration" else {}
    monkeypatch.setenv(variable, "nonsense")
    provider = providers_of(load_board({"plugins": {package: unencrypted}}, ["chat", package]))[name]
    with pytest.raises(ModelError) as caught:
        async with provider.open("m"):
            pytest.fail("it has no address")
    assert (f"base_url under [plugins.{package}]" if unencrypted else f"{variable} is not") in caught.value.message


@pytest.mark.parametrize("name", BRIDGES)
def test_what_is_missing_is_said_in_the_same_words(board: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    variable = {"cohere": "CO_API_KEY"}.get(name, f"{name.upper()}_API_KEY")
    for other in (variable, "GOOGLE_API_KEY", *(f"{name.upper()}_BASE_URL", "CO_API_URL", "GOOGLE_GEMINI_BASE_URL")):
        monkeypatch.delenv(other, raising=False)
    provider = providers_of(load_board({}, ["chat", name]))[name]
    assert provider.missing() == f"set {variable}, or keep it in the keyring: keyring set pegboard {variable}"
    monkeypatch.setenv(variable, "  ")
    assert provider.missing() is not None
    monkeypatch.setenv(variable, "a-key")
    assert provider.missing() is None

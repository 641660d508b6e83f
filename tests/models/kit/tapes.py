"""Recorded traffic: what a provider was sent and answered, and what a bridge has to know to send the same.

A tape is a VCR file. Its requests were made by other libraries; the parts of a request that a person decides (question,
tools, options) are read out of the first one, so that a bridge can be asked for the same, and the results of tools out
of the later ones.
"""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from pegboard import ImageContent, TextContent, Tool, ToolResult

Json = dict[str, Any]


class Exchange(NamedTuple):
    """One request of a tape and its answer."""

    url: str
    body: Json
    status: int
    media: str
    answer: bytes


class Tape(NamedTuple):
    """A file of recorded traffic."""

    name: str
    exchanges: tuple[Exchange, ...]


def load(folder: Path) -> list[Tape]:
    """Every tape below a folder, in the order of names."""
    import yaml

    return [
        Tape(
            path.relative_to(folder).as_posix(),
            tuple(_exchange(one) for one in yaml.safe_load(path.read_text(encoding="utf-8"))["interactions"]),
        )
        for path in sorted(folder.rglob("*.yaml"))
    ]


def _exchange(one: Json) -> Exchange:
    request, response = one["request"], one["response"]
    body = request.get("parsed_body") or request["body"]
    headers = {name.lower(): values[0] for name, values in response["headers"].items()}
    answer = response.get("parsed_body")
    if answer is not None:
        content = json.dumps(answer).encode()
    else:
        said = response["body"]["string"]
        content = said if isinstance(said, bytes) else said.encode()
        content = _unpacked(content, headers.get("content-encoding", ""))
    media = headers["content-type"]
    return Exchange(
        request["uri"],
        body if isinstance(body, dict) else json.loads(body),
        response["status"]["code"],
        media,
        content,
    )


def _unpacked(content: bytes, encoding: str) -> bytes:
    """Without compression; what was recorded of a stream may lack the end of its gzip, though not of what is in it."""
    return zlib.decompressobj(31).decompress(content) if encoding == "gzip" else content


def api_of(url: str) -> str:
    """Whose language a request is in: the name of the provider that speaks it."""
    path = url.partition("?")[0]
    if path.endswith("/chat/completions"):
        return "openai"
    if path.endswith("/responses"):
        return "openai-responses"
    if path.endswith("/messages"):
        return "anthropic"
    return "cohere" if path.endswith("/v2/chat") else "gemini"


class Wish(NamedTuple):
    """What a person decided: what a bridge has to be asked for to send the recorded request."""

    model: str
    system: str | None
    question: str
    tools: list[Tool]
    choice: str
    stream: bool
    max_tokens: int | None
    temperature: float | None
    options: Json


def wish_of(exchange: Exchange) -> Wish:
    """Read the first request of a tape."""
    api, body = api_of(exchange.url), exchange.body
    if api == "gemini":
        return _wish_of_gemini(exchange)
    turns = body["input"] if api == "openai-responses" else body["messages"]
    known = {
        *("model", "messages", "input", "system", "instructions", "tools", "tool_choice", "stream", "max_tokens"),
        *("stream_options", "temperature"),
    }
    choice = body.get("tool_choice") or "auto"
    choice = choice["type"] if isinstance(choice, dict) else choice.lower()
    return Wish(
        body["model"],
        body.get("system") or body.get("instructions"),
        _text(next(turn["content"] for turn in reversed(turns) if turn.get("role") == "user")),
        [_tool(one.get("function", one)) for one in body.get("tools", ())],
        choice,
        body.get("stream", False),
        body.get("max_tokens"),
        body.get("temperature"),
        {key: value for key, value in body.items() if key not in known},
    )


def _wish_of_gemini(exchange: Exchange) -> Wish:
    body = exchange.body
    groups = body["tools"] if isinstance(body["tools"], list) else [body["tools"]]
    declared = [one for group in groups for one in group.get("functionDeclarations") or group["function_declarations"]]
    mode = body.get("toolConfig", {}).get("functionCallingConfig", {}).get("mode", "AUTO")
    known = {"contents", "tools", "toolConfig"}
    return Wish(
        exchange.url.partition("/models/")[2].partition(":")[0],
        None,
        body["contents"][0]["parts"][0]["text"],
        [_tool(one) for one in declared],
        {"AUTO": "auto", "ANY": "required", "NONE": "none"}[mode],
        "streamGenerateContent" in exchange.url,
        None,
        None,
        {key: value for key, value in body.items() if key not in known and value},
    )


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _tool(said: Json) -> Tool:
    schema = said.get("parameters_json_schema") or said.get("parameters") or said.get("input_schema") or {}
    description = said.get("description") or ""
    return Tool(name=said["name"], handler=_never, description=description, input_schema=_lowered(schema))


def _lowered(schema: Any) -> Any:
    """Gemini's own schemas shout their types."""
    if isinstance(schema, dict):
        return {key: value.lower() if key == "type" else _lowered(value) for key, value in schema.items()}
    return schema


async def _never() -> None:
    raise AssertionError("the results of a tape are recorded, too")


def results_of(exchange: Exchange) -> list[ToolResult]:
    """What the tools answered, as the last turns of a request say it."""
    api, body = api_of(exchange.url), exchange.body
    if api == "gemini":
        parts = body["contents"][-1]["parts"]
        said = [part.get("functionResponse") or part["function_response"] for part in parts]
        return [ToolResult.text(next(iter(one["response"].values()))) for one in said]
    if api == "anthropic":
        return _results_of_blocks(body["messages"][-1]["content"])
    key, turns = ("output", body["input"]) if api == "openai-responses" else ("content", body["messages"])
    ending = []
    for turn in reversed(turns):
        if turn.get("role") != "tool" and turn.get("type") != "function_call_output":
            break
        ending.append(ToolResult.text(turn[key]))
    return ending[::-1]


def _results_of_blocks(blocks: list[Json]) -> list[ToolResult]:
    found: list[ToolResult] = []
    for block in blocks:
        if block["type"] == "tool_result" and isinstance(block["content"], str):
            found.append(ToolResult.text(block["content"]))
        elif block["type"] == "tool_result":
            found.append(ToolResult(tuple(TextContent(part["text"]) for part in block["content"])))
        else:  # an image that stands beside the result that it belongs to
            image = ImageContent(base64.b64decode(block["source"]["data"]), block["source"]["media_type"])
            found[-1] = ToolResult((*found[-1].content, image))
    return found


def base_of(url: str) -> str | None:
    """The base URL that has to be set to reach it; None: it is where the bridge goes by itself."""
    path = url.partition("?")[0]
    if path.endswith("/openai/chat/completions"):
        return path.removesuffix("/chat/completions")
    return None


def as_asked(exchange: Exchange, *, streamed: bool) -> tuple[bytes, str]:
    """The answer and its media type. Gemini streams one JSON array to whom asks for no events; here it is events."""
    if streamed and exchange.media.startswith("application/json"):
        events = (b"data: " + json.dumps(one).encode() + b"\r\n\r\n" for one in json.loads(exchange.answer))
        return b"".join(events), "text/event-stream"
    return exchange.answer, exchange.media

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
    api: str


class Tape(NamedTuple):
    """A file of recorded traffic.

    Args:
        name: its path below the folder.
        exchanges: those that are a model's.
        left_out: why each of the others is not one of these, or why the file cannot be read.
    """

    name: str
    exchanges: tuple[Exchange, ...]
    left_out: tuple[str, ...] = ()


def load(folder: Path) -> list[Tape]:
    """Every tape below a folder, in the order of names: what VCR writes, as YAML or as JSON."""
    paths = [path for path in sorted(folder.rglob("*")) if path.suffix in (".yaml", ".yml", ".json") and path.is_file()]
    return [_tape(path, path.relative_to(folder).as_posix()) for path in paths]


def _tape(path: Path, name: str) -> Tape:
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's is ten times as fast, where there is one
        whole = json.loads(text) if path.suffix == ".json" else yaml.load(text, loader)
    except (OSError, ValueError, yaml.YAMLError) as problem:
        return Tape(name, (), (f"{type(problem).__name__}: it cannot be read",))
    found = whole.get("interactions") if isinstance(whole, dict) else None
    if not isinstance(found, list):
        return Tape(name, (), ("it holds no interactions",))
    exchanges: list[Exchange] = []
    left_out: list[str] = []
    for one in found:
        got = _exchange(one)
        if isinstance(got, Exchange):
            exchanges.append(got)
        else:
            left_out.append(got)
    return Tape(name, tuple(exchanges), tuple(left_out))


def _exchange(one: Any) -> Exchange | str:
    """One interaction, or why it is not a request to a model that is spoken to here."""
    try:
        request, response = one["request"], one["response"]
        url, method = request["uri"], request.get("method", "POST").upper()
        status = response["status"]
        status = status["code"] if isinstance(status, dict) else int(status)
    except (KeyError, TypeError, ValueError) as problem:
        return f"an interaction of another form ({type(problem).__name__})"
    place = f"{method} {url.partition('?')[0]}"
    if method != "POST":
        return f"{place}: no request to a model"
    try:
        body = _json_of(request)
    except ValueError:
        return f"{place}: its body is not JSON"
    api = api_of(url, body)
    if not isinstance(body, dict) or api is None:
        return f"{place}: not spoken here"
    headers = {
        str(name).lower(): str(values[0] if isinstance(values, list) else values)
        for name, values in (response.get("headers") or {}).items()
        if values
    }
    try:
        content = _content_of(response, headers.get("content-encoding", ""))
    except (KeyError, TypeError, ValueError, zlib.error) as problem:
        return f"{place}: its answer cannot be unpacked ({type(problem).__name__})"
    return Exchange(url, body, status, headers.get("content-type", ""), content, api)


def _json_of(said: Json) -> Any:
    if (parsed := said.get("parsed_body")) is not None:
        return parsed
    body = _bytes_of(said.get("body"))
    return json.loads(body) if body.strip() else None


def _bytes_of(body: Any) -> bytes:
    """A body as VCR writes one: a text, bytes, base64, or an object that holds one of these; or JSON as it is."""
    if isinstance(body, dict):
        if (packed := body.get("base64_string")) is not None:
            return base64.b64decode(packed)
        body = body["string"] if "string" in body else json.dumps(body)
    if body is None:
        return b""
    return body if isinstance(body, bytes) else str(body).encode()


def _content_of(response: Json, encoding: str) -> bytes:
    if (parsed := response.get("parsed_body")) is not None:
        return json.dumps(parsed).encode()
    return _unpacked(_bytes_of(response.get("body", response.get("content"))), encoding.strip().lower())


def _unpacked(content: bytes, encoding: str) -> bytes:
    """Without compression, which recorders take off at times and leave in the headers.

    What was recorded of a stream may lack the end of its gzip, though not of what is in it.
    """
    if encoding in ("gzip", "x-gzip") and content.startswith(b"\x1f\x8b"):
        return zlib.decompressobj(31).decompress(content)
    if encoding == "deflate" and content[:1] == b"\x78":
        return zlib.decompress(content)
    if encoding in ("br", "zstd") and not content.lstrip().startswith((b"{", b"[", b"data:", b"event:", b":")):
        raise ValueError(encoding)
    return content


def api_of(url: str, body: Any) -> str | None:
    """Whose language a request is in: the name of the provider that speaks it; None: nobody's here."""
    path = url.partition("?")[0].rstrip("/")
    body = body if isinstance(body, dict) else {}
    if path.endswith("/chat/completions"):
        return "openai"
    if path.endswith("/responses") and "input" in body:
        return "openai-responses"
    if path.endswith("/messages") and "messages" in body:
        return "anthropic"
    if path.endswith("/v2/chat"):
        return "cohere"
    return "gemini" if path.endswith((":generateContent", ":streamGenerateContent")) and "contents" in body else None


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
    api, body = exchange.api, exchange.body
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
    api, body = exchange.api, exchange.body
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

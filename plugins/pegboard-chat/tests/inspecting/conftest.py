"""A board with scripted models and an inspector before it, for what the page Chat asks and for the page itself."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
import trio

pytest.importorskip("pegboard_inspect", reason="pegboard-inspect is not installed")

from pegboard import CallContext, ErrorCode, TextContent, ToolCall, hookimpl, tool
from pegboard_chat import plugin as chat_plugin
from pegboard_chat.contract import ModelError, Reply, Stop, TextDelta, ThinkingDelta
from pegboard_chat.conversation import Message, Usage
from pegboard_chat.echo import EchoDialect

HOSTILE = (
    "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    "<svg onload=\"document.title='owned'\"></svg>"
)
HOSTILE_MARKDOWN = (
    f"# {HOSTILE}\n\n{HOSTILE} [click](javascript:document.title='owned') [data](data:text/html,<script>1</script>)\n\n"
    "[https://good.example](https://evil.example/in) ![pixel](https://evil.example/pixel.png) "
    "<https://evil.example/auto> \u202etxt.exe\u202c " + "w" * 3_000 + f"\n\n```html\n{HOSTILE}\n```\n"
    f"| a | {HOSTILE} |\n|---|---|\n| [x](vbscript:1) | b |\n"
)


def reply(text: str = "", *calls: ToolCall, stop: Stop = Stop.END, model: str = "kit") -> Reply:
    content = (TextContent(text),) if text else ()
    return Reply(Message("assistant", content, calls, model=model), calls, Usage(1_000, 50, 10), stop)


class KitModel:
    """A model that does what its name says."""

    def __init__(self, how: str) -> None:
        self.name, self.how = f"kit:{how}", how
        self.dialect = EchoDialect()

    def respond(self, request: Any) -> Any:
        return contextlib.aclosing(getattr(self, self.how)(request))

    async def calling(self, request: Any) -> AsyncIterator[Any]:
        """Call what a line of the question names, and answer in Markdown with what came back."""
        last = request.conversation.messages[-1]
        if last.role == "tool":
            for piece in ("It is **", "done**:\n\n", *(f"- {one.name}: {one.text}\n" for one in last.results)):
                yield TextDelta(piece)
            answer = "".join(f"- {one.name}: {one.text}\n" for one in last.results)
            yield reply(f"It is **done**:\n\n{answer}")
            return
        yield ThinkingDelta("What do they want?")
        yield TextDelta("I shall call.")
        lines = [line.partition(" ") for line in last.text.splitlines()]
        calls = [ToolCall(f"c{at}", name, json.loads(given or "{}")) for at, (name, _, given) in enumerate(lines)]
        if request.tool_choice == "none":
            yield reply("I must not call.")
        else:
            yield reply("I shall call.", *calls, stop=Stop.CALLS)

    async def slow(self, request: Any) -> AsyncIterator[Any]:
        """Begin an answer, and end it only when asked again."""
        if len(request.conversation.messages) > 2 or "now" in request.conversation.messages[-1].text:
            yield TextDelta("there you are")
            yield reply("there you are")
            return
        yield TextDelta("let me think")
        await trio.sleep_forever()

    async def broken(self, request: Any) -> AsyncIterator[Any]:
        yield TextDelta("half an ")
        raise ModelError(ErrorCode.UPSTREAM_ERROR, "kit: the answer broke off; ask again", reason="half_answer")

    async def hostile(self, request: Any) -> AsyncIterator[Any]:
        yield ThinkingDelta(HOSTILE)
        yield TextDelta(HOSTILE_MARKDOWN)
        yield reply(HOSTILE_MARKDOWN)

    async def long(self, request: Any) -> AsyncIterator[Any]:
        text = "\n\n".join(
            f"## Part {at}\n\nSome **words** of part {at}, and [a link](https://example.com/{at})." for at in range(300)
        )
        for at in range(0, len(text), 40):
            yield TextDelta(text[at : at + 40])
        yield reply(text)

    async def cut(self, request: Any) -> AsyncIterator[Any]:
        yield TextDelta("only so m")
        yield reply("only so m", stop=Stop.LENGTH)


class Kit:
    """A plugin with a provider of such models, and another that lacks something."""

    name = "kit"

    @hookimpl(optionalhook=True)
    def provide_models(self) -> list[Any]:
        return [Provider(), Keyless()]


class Provider:
    name = "kit"
    default_model: str | None = "calling"

    def missing(self) -> str | None:
        return None

    @contextlib.asynccontextmanager
    async def open(self, model: str | None) -> AsyncIterator[KitModel]:
        yield KitModel(model or "calling")

    async def list_models(self) -> list[str]:
        return ["calling", "slow"]


class Keyless(Provider):
    name = "keyless"

    def missing(self) -> str | None:
        return "set KIT_KEY"

    @contextlib.asynccontextmanager
    async def open(self, model: str | None) -> AsyncIterator[KitModel]:
        raise ModelError(ErrorCode.UNAUTHORIZED, "keyless needs a key: set KIT_KEY", reason="no_key")
        yield

    async def list_models(self) -> list[str]:
        raise ModelError(ErrorCode.UNAUTHORIZED, "keyless needs a key: set KIT_KEY", reason="no_key")


@tool(read_only=True, run="inplace")
def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


@tool(requires_confirmation="Launch it?")
async def launch(target: str) -> str:
    """Do what somebody has to confirm."""
    return f"launched at {target}"


@tool
async def outer(context: CallContext) -> str:
    """Call another tool."""
    await context.progress(1, 2, "half way")
    return (await context.call("add", {"a": 1, "b": 2})).text


@tool
async def asks(context: CallContext) -> str:
    """Ask for values."""
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    return str(await context.elicit("Who are you?", schema=schema))


@tool
async def evil() -> str:
    """Answer with what would run, if it were read as HTML."""
    return HOSTILE


TOOLS = [add, launch, outer, asks, evil]


@pytest.fixture(scope="session")
def chat_kit(inspect_board: Any) -> Any:
    """What a board of these tests has, `plugins` and `tools`; `Served()` puts an inspector before it."""

    def serve(config: Any = None, *, kit: bool = True) -> Any:
        config = config or {"plugins": {"chat": {"model": "kit", "max_tool_calls": 3}}}
        return inspect_board(TOOLS, chat_plugin, *([Kit()] if kit else []), config=config)

    return SimpleNamespace(plugins=(chat_plugin, Kit()), tools=TOOLS, Served=serve, hostile=HOSTILE)

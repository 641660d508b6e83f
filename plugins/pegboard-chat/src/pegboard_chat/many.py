"""Many tools: where all definitions cost too much, the model gets `find_tools` and `call_tool` instead.

The system prompt then holds the names of the tools, one line each as far as a bound allows; what a tool takes is shown
by `find_tools`, and `call_tool` calls it through the session, with the tool's own schema. Both are the loop's own: they
are on no board, and a tool of the same name on the board is reached through `call_tool`.

A search sees what the session sees, tools of sources that have not started included where they are known from before;
a source that nobody knows is waited for.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from pegboard import Annotations, ErrorCode, Tool, ToolCall, ToolError, ToolResult
from pegboard.schema.jsontext import JsonTextError, loads, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pegboard import Host

CHARACTERS_PER_TOKEN = 4
LINE = 100
"""Characters of a tool's description in the list of all tools."""
MIN_LIST = 400
"""Characters that the list of all tools may always have."""
DEFAULT_LIMIT = 5
MAX_LIMIT = 20
MAX_QUERY = 400
MAX_WORDS = 12
MAX_FOUND = 60_000
"""Characters of definitions that one search shows; tools after that are shown by name."""
SOURCES_WAIT_S = 10.0
"""How long a search waits for sources that have not offered their first tools."""

_WORD = re.compile(r"\w+")
_ENDINGS = ("ing", "es", "ed", "s")


async def _not_called(**arguments: Any) -> None:
    raise NotImplementedError("the loop answers this call itself")


FIND = Tool(
    name="find_tools",
    description="Search all tools by what they do. Shows the best matches with their full input schema. "
    "Give words of the task, or the exact name of a tool.",
    handler=_not_called,
    category="general",
    annotations=Annotations(read_only=True, idempotent=True),
    input_schema={
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "words of the task, or the name of a tool"},
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_LIMIT,
                "default": DEFAULT_LIMIT,
                "description": "how many tools to show at most",
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    },
)
CALL = Tool(
    name="call_tool",
    description="Call a tool by its name. Its arguments are an object that fits the tool's input schema, "
    "which find_tools shows.",
    handler=_not_called,
    category="general",
    input_schema={
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "the tool's name"},
            "arguments": {"type": "object", "description": "what the tool takes"},
        },
        "required": ["name", "arguments"],
        "additionalProperties": False,
    },
)
META = (FIND, CALL)
ALWAYS = frozenset({"read_result"})
"""Tools of the board that are offered beside these two."""


def is_above(definitions: Iterable[Any], tokens: int) -> bool:
    """Whether the definitions cost more than so many tokens: characters of their text or compact JSON, by four."""
    left = tokens * CHARACTERS_PER_TOKEN
    for one in definitions:
        text = one if isinstance(one, str) else json.dumps(one, ensure_ascii=False, separators=(",", ":"))
        left -= len(text)
        if left < 0:
            return True
    return False


def list_of_tools(tools: Mapping[str, Tool], tokens: int) -> str:
    """What the system prompt says of the tools: one line each, else their names, else as many names as fit."""
    most = max(tokens * CHARACTERS_PER_TOKEN, MIN_LIST)
    names = sorted(tools)
    head = (
        f"There are {len(names)} tools. find_tools shows what one takes, call_tool calls it. "
        "Search before you say that something cannot be done.\n"
    )
    lines = [f"- {name}: {line}" if (line := summary(tools[name])) else f"- {name}" for name in names]
    if sum(map(len, lines)) + len(lines) <= most:
        return head + "\n".join(lines)
    shown: list[str] = []
    for name in names:
        most -= len(name) + 2
        if most < 0:
            return f"{head}Some of them: {', '.join(shown)}; and {len(names) - len(shown)} more."
        shown.append(name)
    return f"{head}They are: {', '.join(shown)}."


def summary(tool: Tool) -> str:
    """The first sentence of a tool's description, in one bounded line."""
    text = " ".join((tool.description or tool.title or "").split("\n\n", 1)[0].split())
    line = text.split(". ", 1)[0].rstrip(".")
    return line if len(line) <= LINE else line[: LINE - 1] + "…"


def search(tools: Mapping[str, Tool], query: str) -> list[Tool]:
    """Tools for a query, the best first: the one of that name, then by how many words they hold, and where.

    A word in the name counts more than one in title, tags or category, and that more than one in the description.
    """
    exact = tools.get(query.strip())
    if exact is not None:
        return [exact]
    words = {_stem(word) for word in _WORD.findall(query[:MAX_QUERY].casefold())[:MAX_WORDS]}
    long = {word for word in words if len(word) > 2}
    found = [(-score, tool.name, tool) for tool in tools.values() if (score := _score(tool, long or words))]
    return [tool for _, _, tool in sorted(found, key=lambda row: row[:2])]


def _score(tool: Tool, words: Iterable[str]) -> int:
    name, description = tool.name.casefold(), tool.description.casefold()
    labels = " ".join((tool.title or "", tool.category, *tool.tags)).casefold()
    score = 0
    for word in words:
        if word in name:
            score += 18
        elif word in labels:
            score += 14
        elif word in description:
            score += 11
    return score


def _stem(word: str) -> str:
    """The word without an ending, so that `rolling` and `dices` find `roll_dice`."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word.removesuffix(ending)
    return word


def find(tools: Mapping[str, Tool], arguments: Any) -> ToolResult:
    """Answer `find_tools` from these tools."""
    if not isinstance(arguments, dict) or not isinstance(query := arguments.get("query"), str) or not query.strip():
        return _wrong(FIND, 'query: expected words, as in {"query": "roll dice"}')
    limit = arguments.get("limit")
    limit = DEFAULT_LIMIT if limit is None else limit
    if isinstance(limit, float) and limit.is_integer():
        limit = int(limit)
    if type(limit) is not int or limit < 1:
        return _wrong(FIND, f"limit: expected a number from 1 to {MAX_LIMIT}, got {shorten(limit)}")
    found = search(tools, query)
    return found_result(found, min(limit, MAX_LIMIT), tools)


def found_result(found: Sequence[Tool], limit: int, tools: Mapping[str, Tool]) -> ToolResult:
    """The best of what was found with their schemas, the next ones by name."""
    if not found:
        categories = sorted({tool.category for tool in tools.values()})[:50]
        return ToolResult.text(
            f"no tool matches; there are {len(tools)} tools of the categories {', '.join(categories) or '(none)'}: "
            "use other words",
            data={"tools": [], "more": []},
        )
    shown: list[dict[str, Any]] = []
    left = MAX_FOUND
    for tool in found[:limit]:
        one = {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
        left -= len(json.dumps(one, ensure_ascii=False))
        if left < 0 and shown:
            break
        shown.append(one)
    more = [tool.name for tool in found[len(shown) : len(shown) + MAX_LIMIT]]
    return ToolResult.json({"tools": shown, "more": more})


def has_unknown_sources(host: Host) -> bool:
    """Whether a source is about to offer its first tools, and none of them is known from before."""
    known = {tool.origin.source for tool in host.tools.values()}
    states = host.board.source_states.items()
    return any(state.is_coming and reason is None and name not in known for name, (state, reason) in states)


def called(call: ToolCall) -> ToolCall | ToolError:
    """What a call of `call_tool` calls, under the same id; or why it is not valid."""
    arguments = call.arguments
    if not isinstance(arguments, dict) or not isinstance(name := arguments.get("name"), str) or not name:
        return _invalid('name: expected a tool, as in {"name": "roll_dice", "arguments": {"notation": "2d6"}}')
    inner = arguments.get("arguments", {})
    if isinstance(inner, str):  # models write JSON into a text at times
        try:
            inner = loads(inner or "{}")
        except JsonTextError as problem:
            return _invalid(f"arguments: expected an object, got a text that is not JSON: {problem}")
    if inner is None:
        inner = {}
    if not isinstance(inner, dict):
        return _invalid(f"arguments: expected an object, got {shorten(inner)}")
    return ToolCall(call.id, name, inner)


def _invalid(message: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_INPUT, message)


def _wrong(tool: Tool, message: str) -> ToolResult:
    return ToolResult.of_error(_invalid(message))

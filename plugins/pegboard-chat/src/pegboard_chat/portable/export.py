"""Tools as a provider wants them, and the way back from what its model calls: what the exports of all bridges share.

A bridge subclasses `PortableExport` with `calls_in` and `format`, and gives a function that puts one tool into the
provider's words. What a tool costs to compile is paid once for each profile, and kept as long as the tool lives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pegboard import Loss, ToolCall, ToolError, ToolResult, freeze
from pegboard_chat.portable.calls import INVALID_JSON, MAX_ID, NO_NAME, draw_id, read_arguments, refused
from pegboard_chat.portable.compile import Compiled, compile_schema
from pegboard_chat.portable.names import alias_for, is_safe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pegboard import Tool
    from pegboard_chat.portable.profiles import Profile

    Define = Callable[[Tool, str, Compiled, str], Any]

MAX_KEPT = 16
"""How many definitions of one tool are kept: one for each function that makes them."""


def alias_of(name: str) -> str:
    """The name that a provider sees for a tool, from the tool's name alone; `^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`.

    .. versionadded:: 0.1
    """
    return name if is_safe(name) else alias_for(name)


class _Kept:
    """What was made of one tool: its compiled schemas by profile, its definitions by profile and function."""

    __slots__ = ("compiled", "definitions")

    def __init__(self) -> None:
        self.compiled: dict[str, Compiled] = {}
        self.definitions: dict[Any, Any] = {}


_kept: WeakKeyDictionary[Tool, _Kept] = WeakKeyDictionary()


def compiled(tool: Tool, profile: Profile) -> Compiled:
    """The schema of a tool for a profile, compiled once in the tool's life."""
    kept = _kept.get(tool)
    if kept is None:
        kept = _kept[tool] = _Kept()
    found = kept.compiled.get(profile.name)
    if found is None:
        found = kept.compiled[profile.name] = compile_schema(tool.input_schema, profile, tool=tool.name)
    return found


class PortableExport:
    """The tools in one provider's words. Subclasses add `calls_in` and `format`.

    Args:
        tools: in the order in which they are offered.
        profile: what the provider takes; a strict one falls back by itself, tool by tool.
        define: `define(tool, alias, compiled, description)` gives the provider's definition of one tool, a JSON value.
            A function of a module: what it gives is frozen, and kept for as long as the tool lives.

    .. versionadded:: 0.1
    """

    def __init__(self, tools: Iterable[Tool], profile: Profile, define: Define) -> None:
        self.profile = profile
        self.tools = tuple(tools)
        self._define = define
        self._alias_of = _aliases(self.tools)
        self.aliases: dict[str, str] = {alias: name for name, alias in self._alias_of.items()}
        self._compiled: dict[str, Compiled] = {}
        self._strict_lost: list[Loss] = []
        self._choose()
        self.definitions: list[Any] = [self._definition(tool) for tool in self.tools]

    @property
    def strict(self) -> Mapping[str, bool]:
        """By the tool's own name: whether the provider may hold the model to its schema."""
        return {name: compiled.strict for name, compiled in self._compiled.items()}

    @property
    def losses(self) -> Sequence[Loss]:
        """What the provider will not see of the tools, or not as it was."""
        losses = [*self._strict_lost]
        for tool in self.tools:
            alias = self._alias_of[tool.name]
            if alias != tool.name:
                losses.append(Loss(tool.name, "name", f"is called {alias} there"))
            compiled = self._compiled[tool.name]
            losses += compiled.losses
            if len(_description(tool, compiled)) > (self.profile.max_description or 10**9):
                losses.append(Loss(tool.name, "description", f"cut at {self.profile.max_description:,} characters"))
        return losses

    def alias_of(self, name: str) -> str:
        """What the provider calls a tool; of one that is not on the board, what it would call it."""
        return self._alias_of.get(name) or alias_of(name)

    def restore(self, name: str, arguments: Any) -> Any:
        """What a model wrote as arguments of a tool, in the tool's own form."""
        compiled = self._compiled.get(name)
        return arguments if compiled is None else compiled.restore(arguments)

    def fill(self, name: str, arguments: Any) -> Any:
        """Arguments of a tool in the form in which the model writes them; the inverse of `restore`."""
        compiled = self._compiled.get(name)
        if compiled is None or (isinstance(arguments, dict) and INVALID_JSON in arguments):
            return arguments
        return compiled.fill(arguments)

    def parse(self, message: Any) -> Sequence[ToolCall | ToolResult]:
        """The calls of what a model said: its message, or the provider's answer around it, or the JSON text of either.

        What is not a valid call is the INVALID_INPUT result that answers it; a message without calls gives nothing.
        """
        from pegboard.schema import kind_of
        from pegboard.schema.jsontext import JsonTextError, loads

        if isinstance(message, (str, bytes)):
            try:
                message = loads(message)
            except JsonTextError as problem:
                return [refused(draw_id(), "", f"the message is {problem}", reason="json")]
        if not isinstance(message, (dict, list)):
            return [refused(draw_id(), "", f"a message of the model: expected an object, got {kind_of(message)}")]
        return self.calls_in(message)

    def calls_in(self, message: dict[str, Any] | list[Any]) -> Sequence[ToolCall | ToolResult]:
        """The calls of a message in the provider's form, which came from outside and may hold anything."""
        raise NotImplementedError

    def name_of(self, alias: str) -> str:
        """The tool's own name; of what is not a tool's the name that it came with."""
        return self.aliases.get(alias, alias)

    def call_of(self, id: Any, alias: Any, arguments: Any) -> ToolCall | ToolResult:  # noqa: A002 - the field's name
        """One call of a provider's message.

        Args:
            id: as the provider gave it; anything but a text is not an id, and one is drawn.
            alias: the name that the model called.
            arguments: JSON text, an object, or None for none.

        Returns:
            The call under the tool's own name, in the tool's own form, or the INVALID_INPUT result that answers what is
            not a valid call; its message tells the model what was wrong and where. A name that is on no board is a
            call: the session answers it.
        """
        call_id = id if isinstance(id, str) and 0 < len(id) <= MAX_ID else draw_id()
        if not isinstance(alias, str) or not alias:
            return refused(call_id, NO_NAME, "a call needs the name of a tool")
        name = self.name_of(alias)
        if isinstance(arguments, str):
            read = read_arguments(arguments)
            if isinstance(read, ToolError):
                return refused(call_id, name, read.message, **read.details)
            arguments = read
        if arguments is None:
            arguments = {}
        if not isinstance(arguments, dict):
            from pegboard.schema import kind_of

            why = f"the arguments: expected a JSON object, got {kind_of(arguments)}; send them as {{...}}"
            return refused(call_id, name, why)
        return ToolCall(call_id, name, self.restore(name, arguments))

    # The definitions.

    def _choose(self) -> None:
        """Which tools go strict: those that can, as long as the limits of one request last."""
        profile, fallback = self.profile, self.profile.fallback
        bounds = {
            what: most
            for what in _COSTS
            if (most := getattr(profile, f"max_{what}")) is not None and fallback is not None
        }
        spent = dict.fromkeys(bounds, 0)
        for tool in self.tools:
            full = None if profile.together else self._full(tool, bounds, spent)
            if full is not None and fallback is not None:
                self._fall_back(tool, fallback, f"a request takes {bounds[full]} {_COSTS[full]}")
                continue
            one = self._compiled[tool.name] = compiled(tool, profile)
            if fallback is None:
                continue
            if not one.strict:
                if profile.together:
                    return self._fall_back_together(fallback, f"{tool.name} cannot be, and it is for all tools or none")
                continue
            costs = {"tools": 1, "optional": one.optional, "unions": one.unions, "fields": one.fields}
            over = next((what for what, most in bounds.items() if spent[what] + costs[what] > most), None)
            if over is None:
                for what in spent:
                    spent[what] += costs[what]
                continue
            why = f"a request takes {bounds[over]} {_COSTS[over]}"
            if profile.together:
                return self._fall_back_together(fallback, why)
            self._fall_back(tool, fallback, why)
        return None

    def _full(self, tool: Tool, bounds: Mapping[str, int], spent: Mapping[str, int]) -> str | None:
        """The limit that a tool is beyond, as far as that is known without compiling it: of many tools few fit."""
        if "tools" in bounds and spent["tools"] >= bounds["tools"]:
            return "tools"
        if "optional" in bounds and spent["optional"] + _optional_at_root(tool) > bounds["optional"]:
            return "optional"
        return None

    def _fall_back_together(self, fallback: Profile, why: str) -> None:
        for tool in self.tools:
            one = self._compiled.get(tool.name)
            if one is None or one.strict:
                self._fall_back(tool, fallback, why)

    def _fall_back(self, tool: Tool, fallback: Profile, why: str) -> None:
        self._compiled[tool.name] = compiled(tool, fallback)
        self._strict_lost.append(Loss(tool.name, "input_schema", f"not strict: {why}"))

    def _definition(self, tool: Tool) -> Any:
        one = self._compiled[tool.name]
        alias = self._alias_of[tool.name]
        kept = _kept[tool].definitions
        key = (self._define, self.profile.name, one.strict, alias)
        found = kept.get(key)
        if found is None:
            if len(kept) >= MAX_KEPT:
                kept.clear()
            text = _description(tool, one)
            most = self.profile.max_description
            text = text if most is None or len(text) <= most else f"{text[: most - 1]}…"
            found = kept[key] = freeze(self._define(tool, alias, one, text))
        return found


_COSTS = {
    "tools": "strict tools",
    "optional": "optional properties of strict tools",
    "unions": "properties of several types of strict tools",
    "fields": "properties of strict tools",
}
"""What the limits of one request count, by the name after `max_` in the profile."""


def _optional_at_root(tool: Tool) -> int:
    """How many optional properties a tool has at the least."""
    schema: Any = tool.input_schema
    if not isinstance(schema, dict):
        return 0
    properties, required = schema.get("properties"), schema.get("required", ())
    if not isinstance(properties, dict) or not isinstance(required, (list, tuple)):
        return 0
    return sum(1 for name, item in properties.items() if isinstance(item, dict) and name not in required)


def _description(tool: Tool, one: Compiled) -> str:
    """The tool's description, and what its schema has to say about the arguments as a whole."""
    text = tool.description or tool.title or ""
    if not one.notes:
        return text
    said = f"The arguments: {'; '.join(one.notes)}."
    return f"{text.rstrip()}\n\n{said}" if text else said


def _aliases(tools: Sequence[Tool]) -> dict[str, str]:
    """The alias of every name. Where two meet, the one that is not a tool's own name gets a longer hash."""
    aliases = {tool.name: alias_of(tool.name) for tool in tools}
    if len(set(aliases.values())) == len(aliases):
        return aliases
    counts: dict[str, int] = {}
    for alias in aliases.values():
        counts[alias] = counts.get(alias, 0) + 1
    return {
        name: alias if alias == name or counts[alias] == 1 else alias_for(name, digits=24)
        for name, alias in aliases.items()
    }

"""Prompts, resources and templates of resources, as values: what an MCP server has beside tools.

They are values, as a tool is. Those of the MCP servers on the board come and go with their source, and lie in
`Capabilities`; those of plugins come from the hooks `provide_prompts` and `provide_resources`.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import attrs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from pegboard import Content, Session, ToolError

Role = Literal["user", "assistant"]


class Message(NamedTuple):
    """One message that a prompt gives: who says it, and one block.

    .. versionadded:: 0.1
    """

    role: Role
    content: Content


@attrs.frozen
class PromptArgument:
    """An argument of a prompt; its value is always a text.

    .. versionadded:: 0.1
    """

    name: str
    description: str = ""
    required: bool = False
    title: str | None = None


def _arguments(arguments: Iterable[PromptArgument]) -> tuple[PromptArgument, ...]:
    return tuple(arguments)


def _icons(icons: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    return tuple(icons)


@attrs.frozen(eq=False, kw_only=True)
class Prompt:
    """A prompt by name.

    Args:
        name: unique on the board.
        get: `async get(session, arguments)` gives its messages: a sequence of `Message`, or one text of the user's.
            It raises `ToolError`.
        description, title: what a person reads.
        arguments: what it takes.
        complete: `async complete(session, argument, value, others)` gives completions of an argument's value, the
            best first; None: there are none.
        icons: MCP's icon objects.
        source: the source it comes from, None for a plugin's.

    .. versionadded:: 0.1
    """

    name: str
    get: Callable[[Session, Mapping[str, str]], Awaitable[Sequence[Message] | str]]
    description: str = ""
    title: str | None = None
    arguments: tuple[PromptArgument, ...] = attrs.field(default=(), converter=_arguments)
    complete: Callable[[Session, str, str, Mapping[str, str]], Awaitable[Sequence[str]]] | None = None
    icons: tuple[Mapping[str, Any], ...] = attrs.field(default=(), converter=_icons)
    source: str | None = None


@attrs.frozen(eq=False, kw_only=True)
class _Readable:
    """What a resource and a template of resources have in common."""

    name: str
    read: Callable[[Session, str], Awaitable[str | bytes | Sequence[Content]]]
    description: str = ""
    title: str | None = None
    mime_type: str | None = None
    annotations: Mapping[str, Any] | None = None
    icons: tuple[Mapping[str, Any], ...] = attrs.field(default=(), converter=_icons)
    source: str | None = None


@attrs.frozen(eq=False, kw_only=True)
class Resource(_Readable):
    """Something to be read by its URI.

    Args:
        uri: unique on the board.
        name: what programs call it.
        read: `async read(session, uri)` gives a text, bytes, or blocks; it raises `ToolError`.
        description, title: what a person reads.
        mime_type: of what `read` gives.
        size: in bytes, where it is known.
        annotations: MCP's annotations object.
        icons: MCP's icon objects.
        source: the source it comes from, None for a plugin's.

    .. versionadded:: 0.1
    """

    uri: str
    size: int | None = None


@attrs.frozen(eq=False, kw_only=True)
class ResourceTemplate(_Readable):
    """Resources whose URIs follow a template (RFC 6570, level 1: `{name}`).

    Args:
        uri_template: unique on the board.
        name: what programs call it.
        read: `async read(session, uri)` gives what lies at a URI of the template's form.
        description, title: what a person reads.
        mime_type: of what `read` gives.
        complete: as of a `Prompt`, for the variables of the template.
        annotations: MCP's annotations object.
        icons: MCP's icon objects.
        source: the source it comes from, None for a plugin's.

    .. versionadded:: 0.1
    """

    uri_template: str
    complete: Callable[[Session, str, str, Mapping[str, str]], Awaitable[Sequence[str]]] | None = None

    def fits(self, uri: str) -> bool:
        """Whether an address has the form of the template; a `{name}` stands for any characters but `/`, `{+name}` for
        any at all."""
        return template_fits(self.uri_template, uri)


def find_held(held: Mapping[str, ToolError], key: str) -> ToolError | None:
    """What a call of `prompt:NAME` or `resource:URI` answers, if that is held back, or a template that the URI fits."""
    return None if (found := key_of_held(held, key)) is None else held[found]


def key_of_held(held: Mapping[str, ToolError], key: str) -> str | None:
    """The same, by the name that holds it back: its own, or that of the template."""
    if not held or key in held:
        return key if held else None
    kind, _, uri = key.partition(":")
    templates = (one for one in held if kind == "resource" and one.startswith("template:"))
    return next((one for one in templates if template_fits(one.removeprefix("template:"), uri)), None)


def template_fits(template: str, uri: str) -> bool:
    """See `ResourceTemplate.fits`."""
    return _pattern_of(template).fullmatch(uri) is not None


@functools.lru_cache(maxsize=256)
def _pattern_of(template: str) -> re.Pattern[str]:
    """Every part takes the first place that fits and keeps it (`(?>...)`), but for the last: no template makes a match
    slow. Of several variables in a row the first stands for all."""
    wild, pattern = "", ""
    for part in filter(None, _EXPRESSION.split(template)):
        if _EXPRESSION.fullmatch(part):
            wild = wild or (".*" if part[1] in "+/?&#" else "[^/]*")
        else:
            pattern += f"(?>{wild}?{re.escape(part)})" if wild else re.escape(part)
            wild = ""
    if not wild and pattern.endswith(")"):  # the last words of a template have to stand at the end
        head, _, tail = pattern.rpartition("(?>")
        pattern = head + tail[:-1].replace("*?", "*", 1)
    return re.compile(pattern + wild, re.DOTALL)


_EXPRESSION = re.compile(r"(\{[^{}]{1,200}\})")

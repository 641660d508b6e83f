"""What an MCP server has beside tools: prompts, resources, and templates of resources.

They are values, as a tool is. Those of the MCP servers on the board come and go with their source, and lie in `Offers`,
a resource of the host; those of plugins come from the hooks `provide_prompts` and `provide_resources`. `pegboard serve`
offers both.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import attrs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pegboard import Content
    from pegboard.session import Session

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
    arguments: tuple[PromptArgument, ...] = attrs.field(default=(), converter=tuple)
    complete: Callable[[Session, str, str, Mapping[str, str]], Awaitable[Sequence[str]]] | None = None
    icons: tuple[Mapping[str, Any], ...] = attrs.field(default=(), converter=tuple)
    source: str | None = None


@attrs.frozen(eq=False, kw_only=True)
class Resource:
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
    name: str
    read: Callable[[Session, str], Awaitable[str | bytes | Sequence[Content]]]
    description: str = ""
    title: str | None = None
    mime_type: str | None = None
    size: int | None = None
    annotations: Mapping[str, Any] | None = None
    icons: tuple[Mapping[str, Any], ...] = attrs.field(default=(), converter=tuple)
    source: str | None = None


@attrs.frozen(eq=False, kw_only=True)
class ResourceTemplate:
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
    name: str
    read: Callable[[Session, str], Awaitable[str | bytes | Sequence[Content]]]
    description: str = ""
    title: str | None = None
    mime_type: str | None = None
    complete: Callable[[Session, str, str, Mapping[str, str]], Awaitable[Sequence[str]]] | None = None
    annotations: Mapping[str, Any] | None = None
    icons: tuple[Mapping[str, Any], ...] = attrs.field(default=(), converter=tuple)
    source: str | None = None


Kind = Literal["prompts", "resources", "updated"]
Watcher = Callable[[Kind, str | None], None]
"""Hears that a list changed (the second is None), or that what lies at a URI was updated (the second is the URI)."""


class Offers:
    """Prompts and resources of the sources of one host; a resource of the host (`CallContext.resource(Offers)`).

    Of two with one name or URI the first source in the order of names is kept, whatever came first.

    .. versionadded:: 0.1
    """

    def __init__(self) -> None:
        self._prompts: dict[str, tuple[Prompt, ...]] = {}
        self._resources: dict[str, tuple[Resource | ResourceTemplate, ...]] = {}
        self._watchers: dict[object, Watcher] = {}

    @property
    def prompts(self) -> Mapping[str, Prompt]:
        """By name, as of now."""
        return {one.name: one for source in sorted(self._prompts, reverse=True) for one in self._prompts[source]}

    @property
    def resources(self) -> Mapping[str, Resource]:
        """By URI, as of now."""
        return {one.uri: one for one in self._each() if isinstance(one, Resource)}

    @property
    def templates(self) -> Mapping[str, ResourceTemplate]:
        """By template, as of now."""
        return {one.uri_template: one for one in self._each() if isinstance(one, ResourceTemplate)}

    def _each(self) -> Iterable[Resource | ResourceTemplate]:
        return (one for source in sorted(self._resources, reverse=True) for one in self._resources[source])

    def replace_prompts(self, source: str, prompts: Iterable[Prompt]) -> None:
        """Swap the prompts of a source for these."""
        self._prompts[source] = tuple(prompts)
        self._tell("prompts")

    def replace_resources(self, source: str, resources: Iterable[Resource | ResourceTemplate]) -> None:
        """Swap the resources and templates of a source for these."""
        self._resources[source] = tuple(resources)
        self._tell("resources")

    def updated(self, uri: str) -> None:
        """Tell the watchers that what lies at this URI was updated."""
        self._tell("updated", uri)

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Call `watcher` after every change; returns what ends the watch."""
        token = object()
        self._watchers[token] = watcher
        return lambda: self._watchers.pop(token, None) and None

    def _tell(self, kind: Kind, uri: str | None = None) -> None:
        for watcher in tuple(self._watchers.values()):
            watcher(kind, uri)


@contextlib.asynccontextmanager
async def open_offers() -> AsyncIterator[Offers]:
    """The `Offers` of one host."""
    yield Offers()

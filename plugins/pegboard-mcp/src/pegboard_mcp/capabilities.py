"""What an MCP server has beside tools: prompts, resources, and templates of resources.

They are values, as a tool is. Those of the MCP servers on the board come and go with their source, and lie in
`Capabilities`, a resource of the host; those of plugins come from the hooks `provide_prompts` and `provide_resources`.
`pegboard serve` offers both.
"""

from __future__ import annotations

import contextlib
import functools
import re
import weakref
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import attrs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pegboard import Content, ToolError
    from pegboard.contract import SourceStatus
    from pegboard.host import Host
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
    icons: tuple[Mapping[str, Any], ...] = attrs.field(default=(), converter=_icons)
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
    icons: tuple[Mapping[str, Any], ...] = attrs.field(default=(), converter=_icons)
    source: str | None = None

    def fits(self, uri: str) -> bool:
        """Whether an address has the form of the template; a `{name}` stands for any characters but `/`, `{+name}` for
        any at all."""
        return template_fits(self.uri_template, uri)


def find_held(held: Mapping[str, ToolError], key: str) -> ToolError | None:
    """What a call of `prompt:NAME` or `resource:URI` answers, if that is held back, or a template that the URI fits."""
    if not held or key in held:
        return held.get(key)
    kind, _, uri = key.partition(":")
    templates = ((one.removeprefix("template:"), error) for one, error in held.items() if one.startswith("template:"))
    return next((error for one, error in templates if kind == "resource" and template_fits(one, uri)), None)


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

SOURCES_WAIT_S = 20.0
"""How long a reader waits for sources that are starting: less than the 30 s that a tool has."""

Kind = Literal["prompts", "resources", "updated"]
ResourceReader = Callable[["Session", str], Awaitable["str | bytes | Sequence[Content]"]]
"""Reads what lies at a URI: `async read(session, uri)`."""
Watcher = Callable[[Kind, str | None], None]
"""Hears that a list changed (the second is None), or that what lies at a URI was updated (the second is the URI)."""


class Capabilities:
    """Prompts and resources of the sources of one host; a resource of the host (`CallContext.resource(Capabilities)`).

    Of two with one name or URI the first source in the order of names is kept, whatever came first.

    Args:
        expected: the names of the sources that will come to offer something, or to say that they cannot.

    .. versionadded:: 0.1
    """

    def __init__(self, expected: Iterable[str] = ()) -> None:
        self._expected = set(expected)
        self._arrival: Any = None
        self._prompts: dict[str, tuple[Prompt, ...]] = {}
        self._resources: dict[str, tuple[Resource | ResourceTemplate, ...]] = {}
        self._watchers: dict[object, Watcher] = {}
        self._readers: dict[str, ResourceReader] = {}
        self._held: dict[str, Mapping[str, ToolError]] = {}

    def held_back(self, key: str) -> ToolError | None:
        """FORBIDDEN, reason `held`, of what a person has to accept first; None: nothing of that key is held back.

        Args:
            key: `prompt:NAME` or `resource:URI`.
        """
        if key.startswith("resource:") and self.find_reader(key.removeprefix("resource:")) is not None:
            return None  # another server's, or of a template that was accepted
        return next((error for _, held in sorted(self._held.items()) if (error := find_held(held, key))), None)

    def replace_held(self, source: str, held: Mapping[str, ToolError]) -> None:
        """What of a source is held back, by `prompt:NAME`, `resource:URI` and `template:URI`, with what a call of it
        answers."""
        self._held[source] = held

    def held(self, server: str | None = None) -> list[str]:
        """The names of what is held back, of one server or of all: `prompt:NAME`, `resource:URI`, `template:URI`."""
        sources = self._held if server is None else {server} & self._held.keys()
        return sorted(name for source in sources for name in self._held[source])

    @property
    def readers(self) -> Mapping[str, ResourceReader]:
        """By source: what reads any address there, one that it does not list too."""
        return dict(sorted(self._readers.items()))

    def find_reader(self, uri: str) -> ResourceReader | None:
        """What reads this address: of the source that lists it, or has a template of its form."""
        listed = self.resources.get(uri)
        if listed is not None:
            return listed.read
        return next((one.read for one in self.templates.values() if one.fits(uri)), None)

    async def wait_until_listed(self, is_enough: Callable[[], bool] = lambda: False) -> None:
        """Wait until every source has offered what it has, or could not be started; or until `is_enough`.

        A source that takes longer than `SOURCES_WAIT_S` is not waited for again.
        """
        import trio

        with trio.move_on_after(SOURCES_WAIT_S) as scope:
            while self._expected and not is_enough():
                self._arrival = self._arrival or trio.Event()
                await self._arrival.wait()
        if scope.cancelled_caught:
            self._expected.clear()

    def arrived(self, source: str) -> None:
        """A source has offered what it has, or has nothing to offer for now."""
        self._expected.discard(source)
        if self._arrival is not None:
            self._arrival.set()
            self._arrival = None

    def add_reader(self, source: str, read: ResourceReader) -> None:
        """Offer to read any address of a source."""
        self._readers[source] = read

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


_open: weakref.WeakValueDictionary[int, Capabilities] = weakref.WeakValueDictionary()
"""By the identity of the settings that a host gave: sources have those in common with the resources of their plugin."""


@contextlib.asynccontextmanager
async def open_capabilities(settings: object = None, expected: Iterable[str] = ()) -> AsyncIterator[Capabilities]:
    """The `Capabilities` of one host, which sources with the same settings find while it runs; `expected`: their
    names.
    """
    capabilities = Capabilities(expected)
    _open[id(settings)] = capabilities
    try:
        yield capabilities
    finally:
        if _open.get(id(settings)) is capabilities:
            del _open[id(settings)]


def servers_away(host: Host) -> list[SourceStatus]:
    """The MCP servers that are not ready, and may have a prompt or a resource that is not there."""
    from pegboard_mcp.client.source import McpSource

    own = {source.name for _, source in host.board.sources if isinstance(source, McpSource)}
    return [one for one in host.board.source_statuses() if one.source in own and not one.is_ready]


def find_capabilities(settings: object) -> Capabilities | None:
    """The `Capabilities` of the host that runs with these settings."""
    return _open.get(id(settings))

"""What the MCP servers of one host offer beside tools, collected: the resource that `open_resources` opens.

Every host opens it, most have no server: so what it holds is imported with the first one.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pegboard import Content, Session, ToolError
    from pegboard_mcp.prompts_and_resources import Prompt, Resource, ResourceTemplate

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
        from pegboard_mcp.prompts_and_resources import find_held

        return next((error for _, held in sorted(self._held.items()) if (error := find_held(held, key))), None)

    async def require_accepted(self, session: Session, key: str) -> None:
        """Require that nothing holds back what a session asks for; where something does, its person is asked.

        Args:
            key: `prompt:NAME` or `resource:URI`.

        Raises:
            ToolError: FORBIDDEN, reason `held`: nobody is there, or they do not accept it.
        """
        if (held := self.held_back(key)) is None:
            return
        import trio

        with trio.move_on_after(session.approval_timeout_s):
            await session.accept_held(key, held)
        if (held := self.held_back(key)) is not None:
            raise held

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

    def source_of(self, uri: str) -> str | None:
        """Whose address it is, of those that `find_reader` knows."""
        listed = self.resources.get(uri)
        if listed is not None:
            return listed.source
        return next((one.source for one in self.templates.values() if one.fits(uri)), None)

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
        from pegboard_mcp.prompts_and_resources import Resource

        return {one.uri: one for one in self._each() if isinstance(one, Resource)}

    @property
    def templates(self) -> Mapping[str, ResourceTemplate]:
        """By template, as of now."""
        from pegboard_mcp.prompts_and_resources import ResourceTemplate

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


def find_capabilities(settings: object) -> Capabilities | None:
    """The `Capabilities` of the host that runs with these settings."""
    return _open.get(id(settings))

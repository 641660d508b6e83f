"""A tool source for each configured MCP server, composed of four parts, each of which knows those before it alone.

- `Catalogue`: what the server offers, as it stands on the board.
- `Lists`: reads that from a connection, and follows its changes.
- `Lifecycle`: the one task that owns the connection.
- `Calls`: what is asked of the server, in the caller's task.

Nothing of the `mcp` SDK is imported before the first server is started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import PluginError
from pegboard_mcp.client.budgets import counted_in
from pegboard_mcp.client.calls import Calls
from pegboard_mcp.client.catalogue import Catalogue, SourceGroup
from pegboard_mcp.client.elicitation import Elicitation
from pegboard_mcp.client.journal import Journal
from pegboard_mcp.client.lifecycle import Lifecycle, wrong_sdk
from pegboard_mcp.client.lists import Lists
from pegboard_mcp.secrets import issued_by

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from pegboard import HeldBackError, Session, SourceSlot, SourceStatus, Tool
    from pegboard.absence import HeldQuestion
    from pegboard.sources import SourceDetails, SourceMessage
    from pegboard_mcp.client._errors import LinkError
    from pegboard_mcp.client.connection import Connection
    from pegboard_mcp.client.discovery import Listing
    from pegboard_mcp.client.elicitation import ByHandAnswers
    from pegboard_mcp.definitions import Era, ServerDefinition
    from pegboard_mcp.lock.memory import Changed
    from pegboard_mcp.lock.pins import Pin
    from pegboard_mcp.settings import McpSettings

__all__ = ["McpSource", "SourceGroup", "make_sources", "servers_away"]


def make_sources(settings: McpSettings) -> list[McpSource]:
    """A source for every server that the settings name.

    .. versionadded:: 0.1
    """
    group = SourceGroup()
    return [McpSource(definition, group=group, settings=settings) for definition in settings.definitions()]


class McpSource:
    """The tools of one MCP server.

    Attributes:
        name: the configured one.
        timeout_s: how long a call may take as a whole.
        required: whether the host must not open without it.
        trusted: whether a person said that its results may go into other tools without a question.
        definition: of the server.
        catalogue: what it offers.

    .. versionadded:: 0.1
    """

    def __init__(
        self, definition: ServerDefinition, *, group: SourceGroup | None = None, settings: McpSettings | None = None
    ) -> None:
        self.definition = definition
        self.name = definition.name
        self.timeout_s: float | None = definition.request_s
        self.required = definition.required
        journal = self._journal = Journal(definition)
        self.trusted = definition.trusted
        elicitation = self._elicitation = Elicitation(definition, counted_in=counted_in(definition))
        elicitation.journal = journal
        catalogue = self.catalogue = Catalogue(definition, group or SourceGroup(), settings)
        lists = Lists(definition, catalogue)
        self._lifecycle = Lifecycle(definition, catalogue, lists, elicitation, journal)
        self._calls = Calls(definition, self._lifecycle, catalogue, lists, elicitation)
        catalogue.handlers = self._calls

    def __repr__(self) -> str:
        return f"<McpSource {self.name}>"

    @property
    def secrets(self) -> frozenset[str]:
        """The keys and passwords that belong to it: they are sent to no other server, and shown to no model."""
        issued = issued_by(self.name, self.definition.url)
        return self.definition.keys.union(issued) if issued else self.definition.keys

    @property
    def listing(self) -> Listing | None:
        """What it offers as far as is known."""
        return self.catalogue.listing

    @property
    def connection(self) -> Connection | None:
        """The open one; None: it is not ready."""
        return self._lifecycle.connection

    @property
    def trouble(self) -> LinkError | None:
        """Why it was not ready the last time."""
        return self._lifecycle.trouble

    @property
    def stripped(self) -> dict[str, tuple[str, ...]]:
        """What hid in the texts of its tools and was taken out of them, by the names on the board."""
        return self.catalogue.stripped

    @property
    def held(self) -> dict[str, HeldBackError]:
        """Resources and templates that a person has to accept first, each with why; by the names that the lock has for
        them."""
        return self.catalogue.held

    @property
    def why_empty(self) -> str | None:
        """Why none of the server's tools is offered, where its table leaves out some of them."""
        return self.catalogue.why_empty()

    def known(self) -> tuple[Tool, ...] | None:
        """The tools that the server offered when it last ran; None where that is not known.

        Raises:
            PluginError: no server can be started with the installed MCP SDK.
        """
        if (problem := self.catalogue.sdk_problem) is not None:
            raise PluginError(self._lifecycle.reason_of_state(wrong_sdk(problem)))
        return self.catalogue.known()

    def other_name(self, name: str) -> str | None:
        """The name of a tool whose own name something else on the board has already: behind that of its server."""
        return self.catalogue.other_name(name)

    def may_bring(self, name: str) -> bool:
        """Whether a tool of that name on the board could be one of this server, whatever it offers."""
        return self.catalogue.may_bring(name)

    def resource_pins(self) -> list[Pin]:
        """The resources and templates of the list, as the lock has them; prompts are held as tools are."""
        return self.catalogue.resource_pins()

    def server_pin(self) -> Pin:
        """What starts the server, as the lock has it."""
        from pegboard_mcp.lock.memory import server_pin

        return server_pin(self.definition, is_shared=True)

    def question_of_held(self, name: str) -> HeldQuestion | None:
        """What a person is asked where a tool of that name is called that changed since it was first seen."""
        return self.catalogue.question_of_held(name)

    def seen_changes(self) -> dict[str, Changed]:
        """What changed since it was first seen, by the names that the lock has."""
        return self.catalogue.seen_changes()

    def accept_seen(self, pins: Iterable[Pin]) -> None:
        """Take these for what was first seen, from now on.

        Raises:
            OSError: that cannot be kept.
        """
        self.catalogue.accept_seen(pins)

    def offer_again(self) -> None:
        """Offer everything once more, since a person accepted some; a server that is starting, once it is ready."""
        self.catalogue.offer_again(at_once=not self._lifecycle.is_coming)

    def describe(self) -> SourceDetails:
        """The server as far as it is known now; nothing is started."""
        from pegboard_mcp.client.describing import describe

        life = self._lifecycle
        return describe(
            self.catalogue, starts=life.starts, trouble=life.trouble, agreed=life.agreed, log=self._journal.lines()
        )

    def listen(self, hear: Callable[[SourceMessage], None]) -> Callable[[], None]:
        """Have `hear` told of every message to and from the server, and of its lines, from its next start on."""
        return self._journal.listen(hear)

    @property
    def era(self) -> Era:
        """Which era of the protocol is spoken: `protocol` of the configuration, until somebody chose another."""
        return self._lifecycle.era

    def speak(self, era: Era) -> None:
        """Speak that era from the next start on."""
        self._lifecycle.speak(era)

    def answer_by(self, ask: ByHandAnswers) -> None:
        """Have a person answer everything that the server asks, from its next start on; no model and no folder of the
        host does, and no form is drawn here: whoever offers this offers it of a server that is alone on its board.

        Args:
            ask: given a request as it came, `{"method", "params"}`, and what asks the person of the call that is in
                flight, whose deadlines stand still meanwhile (`CallContext.elicit`; None: no call is). It gives
                `{"result"}`, `{"error"}`, or None: nobody answered.

        .. versionadded:: 0.1
        """
        self._elicitation.by_hand = ask

    async def send_written(
        self, session: Session, message: Mapping[str, Any], *, completes: bool = True
    ) -> dict[str, Any] | None:
        """Send one message that a person wrote, and wait for its answer. No guard, no lock and no audit stands before
        it: whoever offers this offers it of a server that is alone on its board.

        Args:
            session: whose person is asked what the server asks meanwhile.
            message: `{"method", "params"}`; with an `id` a request, which is given an id of the connection's own.
            completes: whether a request gets what every request of the era says in `_meta`; what is written stands.

        Returns:
            `{"result"}` or `{"error"}` as the server answered, without its secrets; None of a notification.

        Raises:
            ToolError: it is not a message, the server cannot be started, was lost, or did not answer in time.
        """
        return await self._calls.send_written(session, message, completes=completes)

    async def probe(
        self, others: Iterable[Tool], servers: Collection[str], *, wait_s: float = 60.0, is_confined: bool = True
    ) -> dict[str, Any]:
        """Start the server once more, in a sandbox of its own, and look at it as `pegboard probe` does; the one that
        runs goes on.

        Args:
            others: the tools of the board that are not its own.
            servers: the names of the other servers.
            wait_s: how long it is watched before it is asked again.
            is_confined: whether it gets a sandbox, where it runs here.

        Returns:
            What `pegboard probe --json` prints, and the verdict in `words`.

        Raises:
            ConfigError: this system cannot confine it.

        .. versionadded:: 0.1
        """
        from pegboard_mcp.probe import looking, reporting

        definition = looking.confined(self.definition, is_confined=is_confined)
        report = await looking.probe(definition, others, servers, wait_s=wait_s)
        return {
            **reporting.to_json(definition, report),
            "words": reporting.words_of(report) if report.offered is not None or report.findings else None,
            "unseen": reporting.UNSEEN if definition.transport == "stdio" and not report.is_confined else None,
        }

    async def wake(self) -> None:
        """Start the server where it does not run, and wait until it offers its tools.

        Raises:
            ToolError: it cannot be started.
        """
        await self._calls.connected()

    async def run(self, slot: SourceSlot) -> None:
        """Keep the server running, once it is wanted, until cancelled."""
        await self._lifecycle.run(slot)


def servers_away(session: Session) -> Sequence[SourceStatus]:
    """The MCP servers that are not ready, and may have a prompt or a resource that is not there; the session is told of
    them."""
    from pegboard.absence import told_to

    board = session.host.board
    own = {source.name for _, source in board.sources if isinstance(source, McpSource)}
    return told_to(session, [one for one in board.source_statuses() if one.source in own and not one.is_ready])

"""The life of one MCP server: one task that owns the connection, from the first demand to the end.

    configured, known ──demand──> starting ──> ready ──the server is gone──> backing_off ──a pause, demand──> starting
                                     └──it cannot be started──> backing_off; or failed: then on demand alone

The owner is the only task that opens and closes a connection; it publishes it in `Lifecycle.connection` and takes it
back before anybody learns that the server is gone. An attempt to start ends with a connection or with the reason, and
everybody who waits for it learns the same.

A server that npx, uvx or the like runs is `installing` before it is `starting`: see `transports.install`.

Nothing of the `mcp` SDK is imported before the first server is started.
"""

from __future__ import annotations

import contextlib
import math
import random
import sys
from time import perf_counter
from typing import TYPE_CHECKING, Any

from pegboard import PluginError, SourceState
from pegboard.config import get_logger
from pegboard.errors import reason_of
from pegboard_mcp.client._errors import LinkError, RpcError
from pegboard_mcp.client.lists import HEALTHY_S
from pegboard_mcp.sdk import REACHING, problem_of, problem_with

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pegboard import SourceSlot
    from pegboard_mcp.client.by_hand import ByHand
    from pegboard_mcp.client.catalogue import Catalogue
    from pegboard_mcp.client.connection import Connection
    from pegboard_mcp.client.elicitation import Elicitation
    from pegboard_mcp.client.journal import Journal
    from pegboard_mcp.client.lists import Lists
    from pegboard_mcp.client.negotiation import Agreement
    from pegboard_mcp.definitions import Era, ServerDefinition

log = get_logger("pegboard.mcp")

PAUSE_S = (1.0, 60.0)
"""Before a server is started again: after a second, then twice as long each time, up to a minute; with jitter."""
RETRY_S = 1.0
"""For so long after an attempt that failed, calls get its reason and start no other."""
ANSWER_S = 0.05
"""So long before its deadline a call that was not sent yet says so, rather than that nobody knows whether it ran."""
NO_RETRY = frozenset(
    {"missing_command", "missing_folder", "not_executable", "unauthorized", "wrong_sdk", "not_confined"}
)
"""What a later attempt does not repair, unless somebody acts."""


class _Attempt:
    """One attempt to start a server, from the first demand to its end; `error` is set where it failed."""

    def __init__(self) -> None:
        import trio

        self.done = trio.Event()
        self.error: LinkError | None = None

    def end(self, error: LinkError | None = None) -> None:
        self.error = error
        self.done.set()


class Lifecycle:
    """The owner of one server's connection.

    Attributes:
        connection: the open one; None: it is not ready.
        trouble: why it was not ready the last time.
        installs: whether its package is being installed.
        is_coming: whether it is being installed or started.
        agreed: what was agreed on with it when it last ran; None: nothing was yet.
        starts: how often it was started.
    """

    def __init__(
        self,
        definition: ServerDefinition,
        catalogue: Catalogue,
        lists: Lists,
        elicitation: Elicitation,
        journal: Journal | None = None,
    ) -> None:
        self.connection: Connection | None = None
        self.trouble: LinkError | None = None
        self.installs = self.is_coming = False
        self.agreed: Agreement | None = None
        self.starts = 0
        self._journal = journal
        self._definition = definition
        self._catalogue = catalogue
        self._lists = lists
        self._elicitation = elicitation
        self._attempt: _Attempt | None = None
        self._failed_at = -math.inf
        self._wanted: Any = None
        self._is_over = self._was_ready = False

    @property
    def era(self) -> Era:
        """Which era of the protocol is spoken."""
        return self._definition.protocol

    def speak(self, era: Era) -> None:
        """Speak that era of the protocol from the next start on."""
        import attrs

        self._definition = attrs.evolve(self._definition, protocol=era)

    async def ready(self) -> Connection | LinkError | None:
        """The open connection, started where there is none, or why there is none; None: the caller has no more time.

        The reason is returned, since everybody who waits gets the same one, and each raises an error of its own.
        """
        import trio

        while (connection := self.connection) is None:
            if self._is_over:
                return _closing()
            if self.trouble is not None and trio.current_time() < self._failed_at + RETRY_S:
                return self.trouble
            attempt = self._attempt = self._attempt or _Attempt()
            self._want()
            with trio.move_on_at(trio.current_effective_deadline() - ANSWER_S):
                await attempt.done.wait()
            if not attempt.done.is_set():
                return None
            if attempt.error is not None:
                return attempt.error
        return connection

    async def run(self, slot: SourceSlot) -> None:
        """Keep the server running, once it is wanted, until cancelled."""
        import trio

        self._is_over = False
        self._wanted = trio.Event() if self._wanted is None else self._wanted
        self._failed_at, self.trouble = -math.inf, None
        self._lists.begin()
        with self._catalogue.registered(slot):
            try:
                await self._supervise(slot)
            finally:
                self._is_over = True
                self.connection = self._wanted = None
                self._end_attempt(_closing())

    async def _supervise(self, slot: SourceSlot) -> None:
        import trio

        if self._definition.start == "lazy" and not self._definition.required and self._catalogue.listing is not None:
            slot.set_state(SourceState.KNOWN)
            await self._wanted.wait()
        pause_s = PAUSE_S[0]
        while True:
            self._wanted = trio.Event()
            self._attempt = self._attempt or _Attempt()
            self._failed_at = -math.inf
            self._say_coming(slot)
            self.starts += 1
            began = trio.current_time()
            self._was_ready = False
            error = await self._live(slot)
            if trio.current_time() - began > HEALTHY_S:
                pause_s = PAUSE_S[0]
            self.trouble = error
            log.warning("the MCP server %s is not ready: %s", self._definition.name, self.reason_of_state(error))
            if self._was_ready and self._attempt is not None:
                continue  # it did run, and somebody waits already
            self._wanted = trio.Event()
            dead = self._say_down(slot, error)
            if self._catalogue.capabilities is not None:
                self._catalogue.capabilities.arrived(self._definition.name)
            if not self._was_ready:
                self._failed_at = trio.current_time()
                self._end_attempt(error)
            with trio.move_on_after(math.inf if dead else pause_s * random.uniform(0.5, 1.5)):
                await self._wanted.wait()
            pause_s = min(2 * pause_s, PAUSE_S[1])

    def _end_attempt(self, error: LinkError | None = None) -> None:
        if self._attempt is not None:
            self._attempt.end(error)
            self._attempt = None

    def reason_of_state(self, error: LinkError) -> str:
        """Why the server is not ready, with the command or the URL that it is reached by."""
        return f"{self._definition.shown}: {error.explanation}"

    def _say_coming(self, slot: SourceSlot, *, installs: bool = False) -> None:
        """Say that the server is being started; one that did not start keeps the reason until it does."""
        self.installs, self.is_coming = installs, True
        reason = self.reason_of_state(self.trouble) if self.trouble is not None and not installs else None
        slot.set_state(SourceState.INSTALLING if installs else SourceState.STARTING, reason)

    def _say_down(self, slot: SourceSlot, error: LinkError) -> bool:
        """Say why the server is down; whether trying again would not help."""
        self.trouble, self.is_coming = error, False
        dead = not self._was_ready and error.kind in NO_RETRY
        slot.set_state(SourceState.FAILED if dead else SourceState.BACKING_OFF, self.reason_of_state(error))
        return dead

    def _want(self) -> None:
        """Have the owner start the server now."""
        import trio

        if self._wanted is None:
            self._wanted = trio.Event()
        self._wanted.set()

    def _withdraw(self) -> None:
        """Take back the published connection: from here on calls wait for the next one."""
        self.connection = None

    async def _live(self, slot: SourceSlot) -> LinkError:
        """One connection from its start to its end; returns what ended it."""
        import trio

        try:
            if "pegboard_mcp.client.connection" not in sys.modules:
                # Half a second of imports, the first time: in a thread the loop goes on.
                await trio.to_thread.run_sync(import_connection)
            open_connection = import_connection()
            await self._catalogue.comparison.look_at_start()
            async with open_connection(
                self._definition,
                self._elicitation.callbacks(),
                on_gone=self._withdraw,
                on_change=self._lists.hear,
                on_failed=lambda error: self._say_down(slot, error),
                on_install=lambda begins: self._say_coming(slot, installs=begins),
                journal=self._journal,
                by_hand=None if self._elicitation.by_hand is None else _by_hand(self._elicitation),
            ) as connection:
                self.agreed = connection.agreed
                async with connection.by(connection.deadline):
                    listing = await self._lists.read(connection)
                self._catalogue.adopt(await self._catalogue.comparison.look_at(listing))
                if not connection.is_open:
                    return await self._explained(connection)
                self._was_ready, self.trouble, self.connection = True, None, connection
                self.is_coming = False
                slot.set_state(SourceState.READY)
                self._end_attempt()
                with self._measured(slot, connection) as told:
                    async with trio.open_nursery() as nursery:
                        nursery.start_soon(self._lists.follow, connection)
                        if connection.modern:
                            nursery.start_soon(self._lists.listen, connection)
                        await connection.wait_end()
                        nursery.cancel_scope.cancel()
                    self._withdraw()
                    error = await self._explained(connection)
                    told["error.type"] = error.kind
                return error
        except LinkError as error:
            return error
        except RpcError as problem:
            from pegboard_mcp.client.transports._link import own_words

            why = f"it refused to list what it offers: {own_words(self._definition, problem.message)}"
            return LinkError("refused", why, "Read its stderr, or try another version of it.")
        except Exception as problem:  # a source never ends of itself: the next attempt may do better
            log.exception("the MCP server %s could not be run", self._definition.name, exc_info=problem)
            return LinkError("lost", f"its connection broke: {reason_of(problem)}", "Look into the log of the host.")
        finally:
            self._withdraw()

    @contextlib.contextmanager
    def _measured(self, slot: SourceSlot, connection: Connection) -> Iterator[dict[str, Any]]:
        """Tell observers how long the session lasted; what is put into the dict is told of it."""
        began = perf_counter()
        told = {
            "mcp.protocol.version": connection.version,
            "network.transport": "pipe" if self._definition.transport == "stdio" else "tcp",
        }
        try:
            yield told
        finally:
            slot.measure("mcp.client.session.duration", perf_counter() - began, told)

    async def _explained(self, connection: Connection) -> LinkError:
        import trio

        with trio.move_on_after(2):
            return await connection.explain()
        return connection.why()


def _closing() -> LinkError:
    return LinkError("closed", "the host is closing", "Open a host, and call again.")


def _by_hand(elicitation: Elicitation) -> ByHand:
    from pegboard_mcp.client.by_hand import ByHand

    return ByHand(elicitation)


def import_connection() -> Callable[..., Any]:
    """`open_connection`, which has the SDK imported.

    Raises:
        LinkError: the installed SDK is not the one that this package is made for.
    """
    # The version first, so that an SDK that does not fit is not even imported.
    if (problem := problem_with(needs=REACHING)) is None:
        try:
            from pegboard_mcp.client.connection import open_connection
        except PluginError as refused:
            problem = refused
        except ImportError as failed:
            problem = problem_of(failed, needs=REACHING)
            if problem is None:
                raise
        else:
            return open_connection
    raise wrong_sdk(problem)


def wrong_sdk(problem: PluginError) -> LinkError:
    """Why no server can be started with the installed SDK."""
    return LinkError("wrong_sdk", problem.message, f"Install it: {problem.hint}")

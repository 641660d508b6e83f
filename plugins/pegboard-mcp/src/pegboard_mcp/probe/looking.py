"""Starts one server in a sandbox and reads what it offers: as one client, after a while, again, and as another client.

Nothing of it is called, and nothing that it asks for is given: no answer of a person or of a model, no folder, no host.
Its sandbox notes whom it wanted to reach and which files it looked for.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ConfigError
from pegboard_mcp.probe.checks import LEVELS, Finding
from pegboard_mcp.probe.definitions import (
    Offered,
    bounded,
    changes,
    look_at_address,
    look_at_command,
    look_at_offer,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from pegboard import Tool
    from pegboard.sources import SourceMessage
    from pegboard_mcp.client.connection import Connection
    from pegboard_mcp.definitions import ServerDefinition

OTHER_CLIENT = "claude-ai"
"""As whom it is asked too: servers that attack look for clients with many tools."""
SLOW_S = 10.0
MAX_SHOWN = 5
MAX_BESIDE = 10_000
"""So many lines a server may say in one start beside its answers: notifications, questions, its log, what cannot be
read. A long one counts as many."""
LINE = 1_000


@attrs.define
class Report:
    """What came of looking at one server.

    Args:
        offered: what it offers, as it said it first; None: it could not be reached.
        findings: the worst first.
        problem: why it could not be reached, and how to repair that.
        reached: whom it wanted to connect to.
        is_confined: whether it ran in a sandbox.
    """

    offered: Offered | None = None
    findings: list[Finding] = attrs.field(factory=list)
    problem: tuple[str, str] | None = None
    reached: list[str] = attrs.field(factory=list)
    is_confined: bool = False


async def probe(
    definition: ServerDefinition,
    others: Iterable[Tool] = (),
    servers: Collection[str] = (),
    *,
    wait_s: float = 60.0,
    tell: Callable[[str], None] = lambda text: None,
) -> Report:
    """Look at one server.

    Args:
        definition: of the server; `confine` says whether it gets a sandbox.
        others: the tools of the board.
        servers: names of the servers that are configured.
        wait_s: how long it is watched before it is asked again.
        tell: hears what is being done.
    """
    import trio

    report = Report(is_confined=definition.confine is True)
    looking = _Looking(definition, tell)
    tell("starting it, and asking what it offers")
    first = await looking.listings("pegboard", wait_s)
    found = list(look_at_command(list(definition.argv))) if definition.transport == "stdio" else []
    found += look_at_address(definition.url or "") if definition.url else []
    if first:
        tell(f"started again, as the client {OTHER_CLIENT} has it")
        again = await looking.listings("pegboard", 0.0, when="started again")
        other = await looking.listings(OTHER_CLIENT, 0.0, when=f"as the client {OTHER_CLIENT} has it")
        report.offered = first[0]
        seen_offers = [first[0]]
        for check, listings in (
            ("changes-later", first[1:]),
            ("changes-on-restart", again),
            ("changes-by-client", other),
        ):
            told: dict[str, None] = {}
            for one in listings:
                if all(changes(seen, one) for seen in seen_offers):
                    seen_offers.append(one)
                    told |= dict.fromkeys(changes(first[0], one))
            if told:
                found.append(Finding(check, "the server", "; ".join(list(told)[:MAX_SHOWN])))
        for offered in seen_offers[:MAX_SHOWN]:
            found += await trio.to_thread.run_sync(look_at_offer, offered, tuple(others), tuple(servers))
    else:
        report.problem = looking.problem
    found += looking.findings()
    seen = {str(one): one for one in bounded(found)}
    report.findings = sorted(seen.values(), key=lambda one: LEVELS.index(one.level))
    report.reached = sorted(looking.wanted_hosts)
    return report


def confined(definition: ServerDefinition, *, is_confined: bool = True) -> ServerDefinition:
    """The server as it is looked at: in a sandbox, where it runs here.

    Raises:
        ConfigError: this system cannot confine it.
    """
    if definition.transport != "stdio" or not is_confined:
        return attrs.evolve(definition, confine=False) if definition.confine else definition
    from pegboard_confine.sandbox import how_to_allow, why_not

    if problem := why_not():
        without = "without a sandbox (--unconfined) it has all of your rights, as it has once it is configured"
        hint = f"{how_to_allow()}; {without}"
        raise ConfigError(f"this system cannot confine a server: {problem}", hint=hint)
    return attrs.evolve(definition, confine=True)


class _Looking:
    """The starts of one server, and what it did in them."""

    def __init__(self, definition: ServerDefinition, tell: Callable[[str], None]) -> None:
        self._definition = definition
        self._tell = tell
        self._asked: set[str] = set()
        self._slowest_s = 0.0
        self._has_said_secret = False
        self.left_out: dict[str, str] = {}
        self.wanted_hosts: set[str] = set()
        self.wanted_files: set[str] = set()
        self.problem: tuple[str, str] | None = None
        self._is_known = self._floods = self._is_cut = False
        self._not_again: list[str] = []
        self._not_given: dict[str, str] = {}

    async def listings(self, client: str, wait_s: float, *, when: str = "after a while") -> list[Offered]:
        """What it offers, at once, again, and after a while; empty: it could not be reached."""
        import trio

        from pegboard_mcp.checks import look_at
        from pegboard_mcp.client._errors import LinkError
        from pegboard_mcp.client.journal import Journal
        from pegboard_mcp.probe.observed import Observed

        observed = Observed() if self._definition.confine is True else None
        definition = attrs.evolve(self._definition, client_name=client, learned=observed)
        journal, found = Journal(definition), list[Offered]()

        async def begin(connection: Connection) -> None:
            """Before anything else asks: what a host reads first, and at once again."""
            began = time.monotonic()
            found.append(await self._read(connection))
            self._slowest_s = max(self._slowest_s, time.monotonic() - began)
            found.append(await self._read(connection))

        async def use(connection: Connection) -> None:
            if wait_s:
                self._tell(f"watching it for {wait_s:g} s")
                await trio.sleep(wait_s)
            found.append(await self._read(connection))

        with trio.CancelScope() as flood:
            journal.listen(_counting(flood.cancel))
            outcome = await look_at(definition, use, begin=begin, journal=journal, callbacks=self._noting)
        if flood.cancelled_caught:
            self._floods = True
            outcome = LinkError("endless", "it floods whoever asks it what it offers", "look for another server")
        if isinstance(outcome, Exception):
            why = outcome.why if isinstance(outcome, LinkError) else str(outcome)
            fix = outcome.fix if isinstance(outcome, LinkError) else "see the log of the host"
            self.problem = self.problem or (why, fix)
            if (found or self._is_known) and not flood.cancelled_caught:
                self._not_again.append(f"{when}: {why}")
        else:
            self.left_out |= outcome.left_out
        self._is_known |= bool(found)
        self._has_said_secret |= any("***" in line.text for line in journal.lines())
        if observed is not None:
            self.wanted_hosts.update(observed.hosts())
            self.wanted_files.update(await trio.to_thread.run_sync(observed.files))
            self._is_cut |= observed.is_cut
        return found

    async def _read(self, connection: Connection) -> Offered:
        """Every list, as it came: within the time that a server has for its first ones, whenever it is asked."""
        import trio

        from pegboard_mcp.client._errors import LinkError, RpcError
        from pegboard_mcp.client.discovery import read_pages
        from pegboard_mcp.client.transports._link import own_words

        async def pages(kind: str, method: str, key: str) -> tuple[Any, ...]:
            if connection.capabilities and kind not in connection.capabilities:
                return ()
            try:
                return tuple(await read_pages(connection, method, key))
            except RpcError as problem:
                self._not_given[method] = own_words(self._definition, problem.message)
            except LinkError as problem:
                if problem.kind != "endless":
                    raise
                self._not_given[method] = problem.why  # a host leaves it out, and uses the others
            return ()

        async with connection.by(trio.current_time() + connection.definition.connect_s):
            return Offered(
                tools=await pages("tools", "tools/list", "tools"),
                prompts=await pages("prompts", "prompts/list", "prompts"),
                resources=await pages("resources", "resources/list", "resources"),
                templates=await pages("resources", "resources/templates/list", "resourceTemplates"),
                server=dict(connection.server_info),
                instructions=connection.instructions or "",
            )

    def _noting(self, callbacks: Mapping[str, Any]) -> dict[str, Any]:
        """The callbacks, each of which notes that it was asked."""

        def noting(name: str, answer: Any) -> Any:
            async def asked(*given: Any) -> Any:
                self._asked.add(name)
                return await answer(*given)

            return asked

        kinds = ("sampling", "elicitation", "list_roots")
        return {
            name: noting(name, answer) if name.startswith(kinds) and callable(answer) else answer
            for name, answer in callbacks.items()
        }

    def findings(self) -> Iterable[Finding]:
        """What it did."""
        for name in sorted(self._asked):
            if name.startswith("list_roots"):
                yield Finding("asks-roots", "the server")
            else:
                yield Finding("asks-early", "the server", name.partition("_")[0])
        from pegboard_confine.network import is_private

        for host in sorted(self.wanted_hosts):
            yield Finding("connects-private" if is_private(host.partition(":")[0]) else "connects", "the server", host)
        from pegboard_mcp.probe.observed import check_of

        plain = []
        for file in sorted(self.wanted_files):
            if (check := check_of(file)) == "opens-files":
                plain.append(file)
            else:
                yield Finding(check, "the server", file)
        if plain:
            more = f" and {len(plain) - MAX_SHOWN} more" if len(plain) > MAX_SHOWN else ""
            yield Finding("opens-files", "the server", ", ".join(plain[:MAX_SHOWN]) + more)
        if self._has_said_secret:
            yield Finding("says-secret", "its log")
        for name, why in sorted(self.left_out.items()):
            yield Finding("left-out", name, why)
        for why in self._not_again:
            yield Finding("not-again", "the server", why)
        for method, why in self._not_given.items():
            yield Finding("no-list", "the server", f"{method}: {why}")
        if self._floods:
            yield Finding("floods", "the server", f"more than {MAX_BESIDE:,} lines")
        if self._is_cut:
            yield Finding("trace-cut", "the server")
        if self._slowest_s > SLOW_S:
            yield Finding("slow-lists", "the server", f"{self._slowest_s:.0f} s")


def _counting(end: Callable[[], None]) -> Callable[[SourceMessage], None]:
    """What hears all that a server says in one start, and ends that where it is too much."""
    said = 0

    def hear(message: SourceMessage) -> None:
        nonlocal said
        is_answer = message.direction == "received" and message.method is None
        if message.direction != "sent":
            said += 1 if is_answer else 1 + message.size // LINE
        if said > MAX_BESIDE:
            end()

    return hear

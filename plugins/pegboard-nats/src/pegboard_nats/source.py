"""The tools of a group's workers, as a source of the host.

Who is there is asked by the service protocol of NATS (ADR-32) when the link comes, when a worker says that something
changed, and now and then. What they offer is asked by its hash: a thousand workers of one build are asked once. Where
workers differ, as while a new build is rolled out, each tool is as most of them have it; a worker that has another
definition of it turns a call away, and another one does it.

Tools of workers that are gone stay on the board: their calls say that nobody is there, and go on once somebody is.
"""

from __future__ import annotations

import logging
import random
from collections import Counter
from typing import TYPE_CHECKING, Any

from pegboard import CallContext, PegboardError, SourceState, Tool, ToolResult
from pegboard.errors import reason_of
from pegboard.sources import SourceDetails
from pegboard_nats import wire
from pegboard_nats.link import calls_of, link_of
from pegboard_nats.status import groups_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pegboard import SourceSlot
    from pegboard_nats.client import Client
    from pegboard_nats.protocol import Message
    from pegboard_nats.settings import GroupSettings, NatsSettings
    from pegboard_nats.status import GroupStatus

log = logging.getLogger("pegboard")

LOOK_S = 30.0
"""How often workers are looked for where nothing says that something changed; half to whole of it."""
QUIET_S = 0.1
"""Once a worker has answered: how long the next may take, where it is looked again soon."""
ANSWER_S = 1.0
"""How long the first worker may take."""
MOST_S = 5.0
"""How long all of them may take."""
MAX_WORKERS = 10_000
SETTLE_S = 0.05
"""Workers that are started together are looked at together."""


def make_sources(settings: NatsSettings) -> list[NatsSource]:
    """One for each group that the settings name."""
    return [NatsSource(name, group, settings) for name, group in settings.groups.items()]


class NatsSource:
    """The tools of one group."""

    third_party = False  # workers are the person's own

    def __init__(self, group: str, options: GroupSettings, settings: NatsSettings) -> None:
        self.name = f"nats:{group}"
        self.timeout_s: float | None = options.timeout_s
        self.required = options.required
        self._subjects = wire.Subjects(settings.prefix, group)
        self._settings = settings
        self._offered: dict[str, list[dict[str, Any]]] = {}  # definitions by their hash
        self._shown: tuple[Any, ...] | None = None
        self._group: GroupStatus | None = None  # as it was last looked at for somebody
        self._server: dict[str, str] = {}
        self._look_for_somebody: Callable[[], None] | None = None

    def __repr__(self) -> str:
        return f"<NatsSource {self.name}>"

    def other_name(self, name: str) -> str:
        """The name of a tool whose own name something else has already: behind that of its group."""
        return f"{self._subjects.group}_{name}"

    def known(self) -> list[Tool] | None:
        """The tools that the group offered when it was last looked at; None where that is not known."""
        from pegboard_nats import known

        definitions = known.read(known.path_of(self._subjects.group, self._settings))
        return None if definitions is None else self._tools(_by_fingerprint(definitions))

    def describe(self) -> SourceDetails:
        """The group as it was last looked at, and have it looked at: whoever shows it asks again."""
        if self._look_for_somebody is not None:
            self._look_for_somebody()
        return SourceDetails(
            location=", ".join(self._settings.addresses),
            transport="nats",
            server=self._server,
            status={} if self._group is None else self._group.to_json(),
        )

    async def run(self, slot: SourceSlot) -> None:
        """Follow what the group's workers offer, until cancelled."""
        import trio

        client = link_of(self._settings)
        assert client is not None, "the host opens its link before its sources"
        changed = trio.Event()
        verb = "INFO"

        def note(message: Message) -> None:
            changed.set()

        def look() -> None:
            nonlocal verb
            verb = "STATS"  # it tells all that INFO does
            changed.set()

        self._look_for_somebody = look
        slot.set_state(SourceState.STARTING)
        subscription = client.subscribe(self._subjects.of("changed"), note)
        try:
            while True:
                changed, asked = trio.Event(), verb
                verb = "INFO"
                state, reason = await self._look(client, slot, asked)
                slot.set_state(state, reason)
                with trio.move_on_after(LOOK_S * random.uniform(0.5, 1.0)):
                    await _first(changed.wait, client.wait_changed)
                    await trio.sleep(SETTLE_S * random.uniform(0.5, 1.0))
        finally:
            from pegboard_nats.client import LinkError

            self._look_for_somebody = None
            try:
                subscription.end()
            except LinkError:
                log.debug("the link was gone before its source")

    async def _look(self, client: Client, slot: SourceSlot, verb: str) -> tuple[SourceState, str | None]:
        """Who is there, and what they offer; how the source is doing, then."""
        import trio

        from pegboard_nats.client import LinkError
        from pegboard_nats.protocol import LocalProtocolError

        if not client.connected:
            with trio.move_on_after(ANSWER_S):
                await client.wait_connected()
        group = self._subjects.group
        try:
            workers = await find_workers(client, verb, self._subjects.prefix, group)
            if verb == "STATS":
                self._group = next(iter(groups_of(workers)), None)
                self._server = {"name": client.info.server_name, "version": client.info.version}
            if not workers:
                return SourceState.BACKING_OFF, f"no worker of the group {group!r} answers; it is looked for again"
            counts = Counter(str(one.get("metadata", {}).get("hash", "")) for one in workers)
            await self._fetch(client, counts)
        except trio.TooSlowError:
            return SourceState.BACKING_OFF, f"no worker of the group {group!r} says what it offers; it is asked again"
        except (LinkError, LocalProtocolError) as problem:
            return SourceState.BACKING_OFF, f"{problem}; it is tried again"
        await self._adopt(counts, slot)
        return SourceState.READY, None

    async def _fetch(self, client: Client, counts: Iterable[str]) -> None:
        """Ask for definitions that are not known yet; what is not what its hash says is left out."""
        known = self._offered
        self._offered = {digest: known[digest] for digest in counts if digest in known}
        for digest in counts:
            if digest not in known and digest.isalnum():
                definitions = await self._definitions(client, digest)
                if wire.hash_of(definitions) == digest:
                    self._offered[digest] = definitions
                else:
                    log.warning("definitions of the group %s are not what their hash says", self._subjects.group)

    async def _definitions(self, client: Client, digest: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        start: Any = 0
        while type(start) is int and len(found) < wire.MAX_TOOLS:
            where = self._subjects.of("definitions", digest)
            answer = await client.request(where, wire.to_bytes({"from": start}), timeout_s=ANSWER_S * 5)
            page = wire.from_bytes(answer.payload)
            tools = page.get("tools")
            given = [one for one in tools if isinstance(one, dict)] if isinstance(tools, list) else []
            found += given
            start = page.get("next") if given else None
        return found

    async def _adopt(self, counts: Mapping[str, int], slot: SourceSlot) -> None:
        """Put on the board what most workers have, where that changed, and keep it for the next start."""
        import trio

        from pegboard_nats import known

        votes: dict[str, Counter[str]] = {}
        given: dict[tuple[str, str], dict[str, Any]] = {}
        for digest, definitions in self._offered.items():
            for (name, fingerprint), one in _by_fingerprint(definitions).items():
                votes.setdefault(name, Counter())[fingerprint] += counts[digest]
                given[name, fingerprint] = one
        # Of two that as many have, always the same one: hosts must agree.
        names = ((name, max(sorted(votes[name]), key=votes[name].__getitem__)) for name in sorted(votes))
        chosen = {key: given[key] for key in names}
        if (shown := tuple(chosen)) == self._shown:
            return
        slot.replace(self._tools(chosen))
        self._shown = shown
        path = known.path_of(self._subjects.group, self._settings)
        await trio.to_thread.run_sync(known.write, path, list(chosen.values()))

    def _tools(self, chosen: Mapping[tuple[str, str], Mapping[str, Any]]) -> list[Tool]:
        made = (self._made(name, fingerprint, given) for (name, fingerprint), given in chosen.items())
        return [one for one in made if one is not None]

    def _made(self, name: str, fingerprint: str, given: Mapping[str, Any]) -> Tool | None:
        try:
            made = wire.tool_of(given, _unset, self._subjects.group)
            marks = made.annotations
            handler = self._handler(name, fingerprint, repeatable=marks.read_only or marks.idempotent)
            return wire.tool_of(given, handler, self._subjects.group)
        except (PegboardError, KeyError, ValueError, TypeError, AttributeError, RecursionError) as problem:
            log.warning("%r of %s cannot be offered: %s", name[:80], self.name, reason_of(problem))
            return None

    def _handler(self, name: str, fingerprint: str, *, repeatable: bool) -> Callable[..., Any]:
        settings, group = self._settings, self._subjects.group

        async def handler(context: CallContext, /, **arguments: Any) -> ToolResult:
            calls = calls_of(settings, group)
            return await calls.call(context, name, fingerprint, context.arguments, repeatable=repeatable)

        return handler


def _by_fingerprint(definitions: Iterable[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """Definitions by the name and the fingerprint of the tool; what is none is left out."""
    found = {}
    for one in definitions:
        public = one.get("definition")
        if isinstance(public, dict) and isinstance(name := public.get("name"), str):
            found[name, wire.fingerprint_of(public)] = one
    return found


async def _unset(**arguments: Any) -> None:
    """In the place of a handler, until it is known what the tool says of itself."""


async def find_workers(
    client: Client, verb: str, prefix: str, group: str | None = None, *, quiet_s: float = QUIET_S
) -> list[dict[str, Any]]:
    """What all workers below a prefix answer to `PING`, `INFO` or `STATS`; none: nobody is there.

    Args:
        group: of these alone; None: of all groups.
        quiet_s: once a worker has answered, how long the next may take.

    Raises:
        LinkError: there is no link, or the server does not let us ask.
    """
    import trio

    from pegboard_nats.client import NoRespondersError

    found: dict[str, dict[str, Any]] = {}
    latest = trio.current_time() + MOST_S
    with client.replies() as mailbox, trio.move_on_after(ANSWER_S) as all_of_them:
        headers = {wire.GROUP: group} if group is not None else None
        await client.ask(mailbox, f"$SRV.{verb}.{wire.SERVICE}", headers=headers)
        quiet = trio.CancelScope()
        with quiet:
            while len(found) < MAX_WORKERS:
                try:
                    said = wire.from_bytes((await mailbox.get()).payload)
                except NoRespondersError:
                    break
                metadata = said.get("metadata")
                if not isinstance(metadata, dict) or metadata.get("prefix") != prefix:
                    continue  # whatever else is a service there, or of another system
                if said.get("name") == wire.SERVICE and group in (None, metadata.get("group")):
                    found[str(said.get("id"))] = said
                    # More come as long as they come; a worker that is late is found the next time.
                    all_of_them.deadline = min(all_of_them.deadline + quiet_s, latest)
                    quiet.deadline = trio.current_time() + quiet_s
    return list(found.values())


async def _first(*waits: Callable[[], Any]) -> None:
    """Until one of them is over."""
    import trio

    async with trio.open_nursery() as nursery:

        async def one(wait: Callable[[], Any]) -> None:
            await wait()
            nursery.cancel_scope.cancel()

        for wait in waits:
            nursery.start_soon(one, wait)

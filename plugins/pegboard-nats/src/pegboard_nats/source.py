"""The tools of a group's workers, as a source of the host.

Who is there is asked as the service protocol of NATS does (ADR-32), when the link comes and now and then; in between,
workers that come, go or change say so, with the hash of what they offer. What they offer is asked by that hash: a
thousand workers of one build are asked once, and nobody where it is known from the last time. Where workers differ, as
while a new build is rolled out, each tool is as most of them have it; a worker that has another definition of it turns
a call away, and another one does it.

What many hosts do of many workers is bounded (`benchmarks/scale.py` shows it): a host hears the workers of its groups
alone, hears of each change once, and the more there are, the longer it lets changes come together.

Tools of workers that are gone stay on the board: their calls say that nobody is there, and go on once somebody is.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import random
import zlib
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from pegboard import CallContext, Origin, PegboardError, SourceState, Tool, ToolResult
from pegboard.errors import reason_of
from pegboard.sources import SourceDetails
from pegboard_nats import wire
from pegboard_nats.link import calls_of, link_of
from pegboard_nats.settings import OWN
from pegboard_nats.status import groups_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import trio

    from pegboard import SourceSlot
    from pegboard_nats.client import Client
    from pegboard_nats.protocol import Info, Message
    from pegboard_nats.settings import GroupSettings, NatsSettings
    from pegboard_nats.status import GroupStatus

log = logging.getLogger("pegboard")

LOOK_S = 30.0
LOOK_EACH_S = 0.05
"""How often workers are looked for where nothing says that something changed, and how much later for each that is
there; half to whole of it. Only those that were killed are found missing so: the others say that they go."""
AGAIN_S = 5.0
"""And where none was found, or none said what it offers."""
QUIET_S = 0.1
"""Once a worker has answered: how long the next may take, where it is looked again soon."""
ANSWER_S = 1.0
"""How long the first worker may take."""
MOST_S = 5.0
"""How long all of them may take."""
PAGE_S = 5.0
"""How long a page of definitions may take, of the usual size."""
MAX_WORKERS = 10_000
MAX_SAID = 32 * 1024
MAX_SAID_BY_ALL = 64 * 1024 * 1024
"""Of what a worker says of itself, and all of them together, in bytes."""
MAX_BUILDS = 100
"""Versions of a group's definitions that are looked at, those that most workers have."""
MAX_VAIN = 3
"""How many of them may be asked for in vain, before the others wait for the next look."""
SETTLE_S = 0.05
SETTLE_EACH_S = 0.001
MAX_SETTLE_S = 5.0
"""Changes that come together are taken up together: how long to wait, how much longer for each worker, and at most."""
MADE_AT_ONCE = 10
"""So many tools take a millisecond; then others have their turn."""


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
        self.trusted = options.trusted
        self._subjects = wire.Subjects(settings.prefix, group)
        self._settings = settings
        self._workers: dict[str, str] = {}  # what each offers, as its hash
        self._news: dict[str, str] = {}  # the same, of those that said so since they were looked at; "": gone
        self._offered: dict[str, Build] = {}  # by the hash of its definitions
        self._made: dict[bytes, Tool] = {}  # the tools that are on the board, by the hash of their definition
        self._shown: dict[str, bytes] | None = None
        # As the host has it: a tool that says so itself is not made a second time when it is registered.
        self._origin = Origin("pegboard-nats", "nats", self.name)
        self._group: GroupStatus | None = None  # as it was last looked at for somebody
        self._server: dict[str, str] = {}
        self._counted_at: Info | None = None  # the server that was told to keep the counts of workers
        self._is_looked_at = False
        self._looked_at: trio.Event | None = None
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
        if definitions is None:
            return None
        alike: dict[Any, Any] = {}
        texts = _by_name(definitions)
        return [made for name, text in texts.items() if (made := self._make(name, text, alike)) is not None]

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

    async def wake(self) -> None:
        """Wait until the group was looked at: what it offered last time may have changed since."""
        import trio

        if not self._is_looked_at:
            if self._looked_at is None or self._looked_at.is_set():
                self._looked_at = trio.Event()
            await self._looked_at.wait()

    async def run(self, slot: SourceSlot) -> None:
        """Follow what the group's workers offer, until cancelled."""
        import trio

        from pegboard_nats import known

        client = link_of(self._settings)
        changed = trio.Event()
        look_at = trio.current_time()
        verb = "INFO"

        def note(message: Message) -> None:
            said = wire.from_bytes(message.payload)
            instance, digest = str(said.get("id"))[: wire.MAX_ID], str(said.get("hash", ""))[: wire.MAX_ID]
            if instance in self._workers or len(self._workers) + len(self._news) < MAX_WORKERS:
                self._news[instance] = digest
                changed.set()

        async def new_link() -> None:
            nonlocal look_at
            await client.wait_changed()
            look_at = trio.current_time()

        def look() -> None:
            nonlocal verb, look_at
            verb, look_at = "STATS", trio.current_time()  # it tells all that INFO does
            changed.set()

        self._look_for_somebody = look
        self._is_looked_at = False
        slot.set_state(SourceState.STARTING)
        path = known.path_of(self._subjects.group, self._settings)
        if definitions := await trio.to_thread.run_sync(known.read, path):
            self._offered[wire.hash_of(definitions)] = Build.of(definitions)  # where it is one build's, nobody is asked
        subscription = client.subscribe(self._subjects.of("changed"), note)
        try:
            while True:
                changed = trio.Event()
                asked = verb if look_at <= trio.current_time() else None
                verb = "INFO"
                state, reason = await self._look(client, slot, asked)
                slot.set_state(state, reason)
                self._is_looked_at = True
                if self._looked_at is not None:
                    self._looked_at.set()
                many = len(self._workers)
                if asked or state is not SourceState.READY:
                    pause_s = LOOK_S + many * LOOK_EACH_S if state is SourceState.READY else AGAIN_S
                    look_at = trio.current_time() + pause_s * random.uniform(0.5, 1.0)
                with trio.move_on_at(look_at):
                    await _first(changed.wait, new_link)
                    settle_s = min(SETTLE_S + many * SETTLE_EACH_S, MAX_SETTLE_S)
                    await trio.sleep(settle_s * random.uniform(0.5, 1.0))
        finally:
            from pegboard_nats.mailbox import LinkError

            self._look_for_somebody = None
            try:
                subscription.end()
            except LinkError:
                log.debug("the link was gone before its source")

    async def _look(self, client: Client, slot: SourceSlot, verb: str | None) -> tuple[SourceState, str | None]:
        """Take up who is there, and what they offer; how the source is doing, then.

        Args:
            verb: what workers are asked for; None: nothing, what they said by themselves is taken up.
        """
        import trio

        from pegboard_nats.mailbox import LinkError
        from pegboard_nats.protocol import LocalProtocolError

        if not client.connected:
            with trio.move_on_after(ANSWER_S):
                await client.wait_connected()
        group = self._subjects.group
        try:
            if verb is not None:
                found = await find_workers(client, verb, self._subjects.prefix, group)
                told = {str(one.get("id")): str(one["metadata"].get("hash", "")) for one in found.answers}
                # Of a group too large for the line, who did not come to a word is not gone.
                self._workers = told if found.is_whole else self._workers | told
                if verb == "STATS":
                    self._group = next(iter(groups_of(found.answers)), None)
                    self._server = {"name": client.info.server_name, "version": client.info.version}
                if any(one["metadata"].get("limits") == OWN for one in found.answers):
                    await self._have_limits_counted(client)
            self._workers |= self._news
            self._news.clear()
            self._workers = {instance: digest for instance, digest in self._workers.items() if digest}
            if not self._workers:
                return SourceState.BACKING_OFF, f"no worker of the group {group!r} answers; it is looked for again"
            counts = Counter(self._workers.values())
            await self._fetch(client, counts)
        except trio.TooSlowError:
            return SourceState.BACKING_OFF, f"no worker of the group {group!r} says what it offers; it is asked again"
        except (LinkError, LocalProtocolError) as problem:
            return SourceState.BACKING_OFF, f"{problem}; it is tried again"
        await self._adopt(counts, slot)
        return SourceState.READY, None

    async def _have_limits_counted(self, client: Client) -> None:
        """Make the stream for workers that count in it, once on each link: the key of one group may not."""
        import trio

        from pegboard import PluginError
        from pegboard_nats.jetstream import JetStreamError
        from pegboard_nats.limit_store import make_stream
        from pegboard_nats.mailbox import LinkError

        # Where this does not succeed, the worker says so of the call whose limits it cannot count.
        with contextlib.suppress(LinkError, JetStreamError, PluginError, trio.TooSlowError):
            if (at := client.info) is not self._counted_at:
                self._counted_at = at
                with trio.move_on_after(ANSWER_S):
                    await make_stream(client, self._subjects.prefix)

    async def _fetch(self, client: Client, counts: Mapping[str, int]) -> None:
        """Ask for definitions that are not known yet; what is not what its hash says is left out.

        Raises:
            LinkError, trio.TooSlowError: none at all could be had.
        """
        import trio

        from pegboard_nats.mailbox import LinkError

        known = self._offered
        wanted = sorted(counts, key=lambda digest: (-counts[digest], digest))[:MAX_BUILDS]  # what most have is first
        self._offered = {digest: known[digest] for digest in wanted if digest in known}
        problem: Exception | None = None
        vain = 0
        for digest in wanted:
            room = wire.MAX_DEFINITIONS - sum(build.size for build in self._offered.values())
            if digest in known or not digest.isalnum() or vain >= MAX_VAIN:
                continue
            try:
                definitions = await self._definitions(client, digest, room)
            except (LinkError, trio.TooSlowError) as one:  # who has it may have gone; the others are there
                problem = one
                vain += isinstance(one, trio.TooSlowError)
                continue
            if wire.hash_of(definitions) == digest:
                self._offered[digest] = Build.of(definitions)
            else:
                vain += 1
                log.warning("definitions of the group %s are not what their hash says", self._subjects.group)
        if problem is not None and not self._offered:
            raise problem

    async def _definitions(self, client: Client, digest: str, room: int) -> list[dict[str, Any]]:
        """All pages of them. Each takes as long as its size allows, so that no worker holds us with small ones.

        Raises:
            LinkError, trio.TooSlowError: they could not be had.
        """
        import trio

        found: list[dict[str, Any]] = []
        start: Any = 0
        left_s = PAGE_S
        while type(start) is int and len(found) < wire.MAX_TOOLS:
            where = self._subjects.of("definitions", digest)
            async with client.large:
                asked = trio.current_time()
                answer = await client.request(where, wire.to_bytes({"from": start}), timeout_s=min(left_s, PAGE_S))
                left_s += PAGE_S * len(answer.payload) / wire.PAGE - (trio.current_time() - asked)
            room -= len(answer.payload)
            if room < 0:
                group, most = self._subjects.group, wire.MAX_DEFINITIONS
                log.warning("definitions of the group %s take more than %s bytes, and are left out", group, most)
                return []
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

        votes: dict[str, Counter[bytes]] = {}
        for digest, build in self._offered.items():
            for name, one in build.hashes.items():
                votes.setdefault(name, Counter())[one] += counts[digest]
        # Of two that as many have, always the same one: hosts must agree.
        chosen = {name: max(sorted(votes[name]), key=votes[name].__getitem__) for name in sorted(votes)}
        if chosen == self._shown:
            return
        texts = {key: text for build in self._offered.values() for key, text in build.texts()}
        before, self._made = self._made, {}
        alike: dict[Any, Any] = {}
        for number, (name, key) in enumerate(chosen.items()):
            if number % MADE_AT_ONCE == 0:
                await trio.lowlevel.checkpoint()
            made = before.get(key) or self._make(name, texts[key], alike)
            if made is not None:
                self._made[key] = made
        slot.replace(list(self._made.values()))
        self._shown = chosen
        path = known.path_of(self._subjects.group, self._settings)
        await trio.to_thread.run_sync(lambda: known.write(path, [json.loads(texts[key]) for key in chosen.values()]))

    def _make(self, name: str, text: str, alike: dict[Any, Any]) -> Tool | None:
        """The tool of a definition, of parts that are alike in those made with it; None: it is not one."""
        given = json.loads(text)
        try:
            public = given["definition"]
            marks = public["annotations"]
            repeatable = marks.get("read_only") is True or marks.get("idempotent") is True
            handler = Handler(self._settings, self._subjects.group, name, wire.fingerprint_of(public), repeatable)
            public["name"] = name  # the very text that is kept beside it
            if not self.trusted:  # what hides in its texts is taken out, whatever a worker says of its tool
                given["results"] = "clean"
            return wire.tool_of(given, handler, self._subjects.group, alike, self._origin)
        except (PegboardError, KeyError, ValueError, TypeError, AttributeError, RecursionError) as problem:
            log.warning("%r of %s cannot be offered: %s", name[:80], self.name, reason_of(problem))
            return None


class Handler:
    """Calls one tool of a group.

    An object, since a host may have ten thousand: the same as a closure takes four times as much memory.
    """

    __slots__ = ("_fingerprint", "_group", "_name", "_repeatable", "_settings")

    def __init__(self, settings: NatsSettings, group: str, name: str, fingerprint: str, repeatable: bool) -> None:
        self._settings = settings
        self._group = group
        self._name = name
        self._fingerprint = fingerprint
        self._repeatable = repeatable

    async def __call__(self, context: CallContext, /, **arguments: Any) -> ToolResult:
        """The answer of a worker."""
        calls = calls_of(self._settings, self._group)
        return await calls.call(context, self._name, self._fingerprint, context.arguments, repeatable=self._repeatable)


class Build(NamedTuple):
    """What workers of one build offer.

    Args:
        size: of its definitions, in bytes.
        hashes: of each definition, by the name of the tool.
        packed: the definitions as canonical JSON, compressed to some hundredths, since they are alike. They are read
            when another build comes or goes.
    """

    size: int
    hashes: dict[str, bytes]
    packed: bytes

    @classmethod
    def of(cls, definitions: Iterable[dict[str, Any]]) -> Build:
        """What is not a definition is left out."""
        texts = _by_name(definitions)
        text = "\n".join(texts.values()).encode("ascii")  # no line break is in canonical JSON
        return cls(len(text), {name: _hash_of(one) for name, one in texts.items()}, zlib.compress(text))

    def texts(self) -> Iterable[tuple[bytes, str]]:
        """Each definition, by its hash."""
        return zip(self.hashes.values(), zlib.decompress(self.packed).decode("ascii").splitlines(), strict=True)


def _hash_of(text: str) -> bytes:
    return hashlib.sha256(text.encode("ascii")).digest()[:20]


def _by_name(definitions: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Definitions by the name of the tool, as canonical JSON; what is not one is left out."""
    found = {}
    for one in definitions:
        public = one.get("definition")
        if isinstance(public, dict) and isinstance(name := public.get("name"), str):
            found[name] = wire.canonical(one)
    return found


class Found(NamedTuple):
    """What workers answered; `is_whole` where the time was enough for all that were answering."""

    answers: list[dict[str, Any]]
    is_whole: bool


async def find_workers(
    client: Client,
    verb: str,
    prefix: str,
    group: str | None = None,
    *,
    quiet_s: float = QUIET_S,
    most_s: float = MOST_S,
) -> Found:
    """What all workers below a prefix answer to `PING`, `INFO` or `STATS`; none: nobody is there.

    Args:
        group: of these alone, and the others hear nothing of it; None: of all groups.
        quiet_s: once a worker has answered, how long the next may take.
        most_s: how long all of them may take.

    Raises:
        LinkError: there is no link, or the server does not let us ask.
    """
    import trio

    from pegboard_nats.mailbox import NoRespondersError

    where = f"$SRV.{verb}.{wire.SERVICE}" if group is None else wire.Subjects(prefix, group).of("service", verb)
    found: dict[str, dict[str, Any]] = {}
    size, quiet = 0, trio.CancelScope()
    latest = trio.current_time() + most_s
    with client.replies() as mailbox, trio.move_on_after(ANSWER_S) as all_of_them:
        await client.ask(mailbox, where)
        with quiet:
            while len(found) < MAX_WORKERS:
                try:
                    payload = (await mailbox.get()).payload
                except NoRespondersError:
                    break
                size += len(payload)
                if size > MAX_SAID_BY_ALL:
                    return Found(list(found.values()), False)
                said = wire.from_bytes(payload) if len(payload) <= MAX_SAID else {}
                metadata = said.get("metadata")
                if not isinstance(metadata, dict) or metadata.get("prefix") != prefix:
                    continue  # whatever else is a service there, or of another system
                if said.get("name") == wire.SERVICE and group in (None, metadata.get("group")):
                    found[str(said.get("id"))] = said
                    # More come as long as they come; a worker that is late is found the next time.
                    all_of_them.deadline = min(all_of_them.deadline + quiet_s, latest)
                    quiet.deadline = trio.current_time() + quiet_s
    return Found(list(found.values()), quiet.cancelled_caught or not found)


async def _first(*waits: Callable[[], Any]) -> None:
    """Until one of them is over."""
    import trio

    async with trio.open_nursery() as nursery:

        async def one(wait: Callable[[], Any]) -> None:
            await wait()
            nursery.cancel_scope.cancel()

        for wait in waits:
            nursery.start_soon(one, wait)

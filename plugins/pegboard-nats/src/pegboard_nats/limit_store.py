"""A limit store in a stream of NATS, for all hosts that reach it.

Each key is a subject of which the stream keeps one message: the state of one limit, as JSON. Whoever changes it says
which message it read, and the server takes the change only if that is still the newest
(`Nats-Expected-Last-Subject-Sequence`); else it is read anew. So a limit is exact over hosts, whatever its period, and
needs neither locks nor counters. A state that says nothing any more goes by itself (`Nats-TTL`).

Time is the server's. Its clock is asked once in a while, and goes on by this machine's monotonic clock between.

A place is a lease. One task renews those of this process and gives back what is released, for one that releases does
not wait; places of a process that was killed end by themselves.
"""

from __future__ import annotations

import json
import math
import random
import secrets
import time
from collections import defaultdict
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pegboard import PluginError
from pegboard.config import get_logger
from pegboard.errors import reason_of
from pegboard_nats.executor import serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    import trio

    from pegboard_nats.client import Client
    from pegboard_nats.settings import NatsSettings

    State = Mapping[str, Any]
    Decide = Callable[[State, float], tuple[Any, State | None]]
    """What becomes of a state at that time, in seconds: the answer, and the new state; None: it stays as it is."""

log = get_logger("pegboard")

CLOCK_S = 30.0
"""How often the server's clock is asked."""
SETTLED_S = 2.0
"""How long a change that was sent is waited for, though nobody wants it any more: else nobody knew what is taken."""
ASK_AGAIN_S = 0.05
"""When whoever waits for a place asks again, in seconds."""
TURN_S = 1.0
"""How long one that no longer asks keeps its turn, in seconds."""
BEATS = 3
"""How often a place is renewed in the time after which it would end."""
FRESH = 0.8
"""A place that has as much of its time left is not renewed yet."""
COLLISION_S = 0.01


def stream_of(prefix: str) -> str:
    """The name of the stream that counts."""
    return f"{prefix}-limits".replace(".", "_")


async def make_stream(client: Client, prefix: str) -> None:
    """Have the stream that counts. One that is there already and otherwise, as with replicas, is whoever runs the
    server's business.

    Raises:
        PluginError: the server is too old for it.
        LinkError, JetStreamError, trio.TooSlowError: it could not be made; `DeniedError`: it is a host's to make.
    """
    from pegboard_nats import jetstream

    jetstream.require_ttl(client, "limits")
    stream = stream_of(prefix)
    config = {
        "name": stream,
        "subjects": [f"{prefix}-limits.>"],
        "max_msgs_per_subject": 1,
        "allow_msg_ttl": True,
        "allow_direct": True,
    }
    try:
        await jetstream.api(client, f"STREAM.CREATE.{stream}", config)
    except jetstream.JetStreamError as problem:
        if problem.number != jetstream.STREAM_EXISTS:
            raise


class NatsStore:
    """What `provide_limit_store` gives. It connects when it is first asked.

    Args:
        settings: of the plugin.
    """

    def __init__(self, settings: NatsSettings) -> None:
        self._settings = settings
        self._group = serving()
        self._stream = stream_of(settings.prefix)
        self._subjects = f"{settings.prefix}-limits"
        self._owner = secrets.token_hex(6)
        self._client: Client | None = None
        self._scope: trio.CancelScope | None = None
        self._ended: trio.Event | None = None
        self._opening: trio.Lock | None = None
        self._offset_s = 0.0
        self._asked_clock_at = -math.inf
        self._locks: defaultdict[str, Any] = defaultdict(_lock)
        self._places: dict[str, tuple[str, float]] = {}  # of this process: the key of each, and for how long it is
        self._released: dict[str, str] = {}
        self._wake: trio.Event | None = None

    @property
    def where(self) -> str:
        """For people: the servers, without who we are to them."""
        return ", ".join(self._settings.addresses)

    # -- what is asked

    async def take(self, key: str, count: int, period_s: float) -> float:
        """As `LimitStore.take`: evenly spaced arrivals, of which `count` may come at once (GCRA)."""
        interval_s = period_s / count

        def decide(state: State, now: float) -> tuple[float, State | None]:
            expected_at = min(max(_number(state.get("at")), now), now + period_s)
            wait_s = expected_at - (period_s - interval_s) - now
            return (wait_s, None) if wait_s > 1e-9 else (0.0, {"at": expected_at + interval_s})

        def undo(state: State, now: float) -> tuple[None, State | None]:
            return None, {"at": _number(state.get("at")) - interval_s}

        return float(await self._change(key, decide, undo))

    async def claim(self, key: str, ttl_s: float) -> float:
        """As `LimitStore.claim`."""
        mine = secrets.token_hex(6)

        def decide(state: State, now: float) -> tuple[float, State | None]:
            wait_s = min(_number(state.get("until")) - now, ttl_s)
            return (wait_s, None) if wait_s > 0 else (0.0, {"until": now + ttl_s, "by": mine})

        def undo(state: State, now: float) -> tuple[None, State | None]:
            return None, ({} if state.get("by") == mine else None)

        return float(await self._change(key, decide, undo))

    async def lease(self, key: str, places: int, ttl_s: float) -> Callable[[], object] | float:
        """As `LimitStore.lease`."""
        place = secrets.token_hex(6)

        def decide(state: State, now: float) -> tuple[bool, State | None]:
            taken, turns = _alive(state.get("places"), now), _alive(state.get("turns"), now)
            ahead = list(turns).index(self._owner) if self._owner in turns else len(turns)
            if len(taken) + ahead < places:
                turns.pop(self._owner, None)
                return True, {"places": {**taken, place: now + ttl_s}, "turns": turns}
            return False, {"places": taken, "turns": {**turns, self._owner: now + TURN_S}}

        if not await self._change(key, decide, _without(place)):
            return ASK_AGAIN_S
        self._places[place] = key, ttl_s
        self._beat()

        def give_back() -> None:
            if self._places.pop(place, None) is not None:
                self._released[place] = key
                self._beat()

        return give_back

    async def aclose(self) -> None:
        """Give back what this process holds, and end the link."""
        if self._scope is None or self._ended is None:
            return
        for place, (key, _) in list(self._places.items()):
            self._released[place] = key
        self._places.clear()
        await self._give_back()
        self._scope.cancel()
        await self._ended.wait()

    # -- one change

    async def _change(self, key: str, decide: Decide, undo: Decide) -> Any:
        """Read the state of a key, decide, and write: again, until nobody was quicker.

        One that is cancelled gives back what it took, by `undo`.

        Raises:
            PluginError: the server cannot be counted on.
        """
        import trio

        client = await self._connected()
        async with self._locks[key]:  # those of this process do not contend with each other
            answer, is_changed = await self._settle(client, key, decide)
            if is_changed:
                try:
                    await trio.lowlevel.checkpoint_if_cancelled()
                except trio.Cancelled:
                    with trio.move_on_after(SETTLED_S, shield=True):
                        await self._settle(client, key, undo)
                    raise
        return answer

    async def _settle(self, client: Client, key: str, decide: Decide) -> tuple[Any, bool]:
        import trio

        from pegboard_nats import jetstream
        from pegboard_nats.mailbox import LinkError

        subject = f"{self._subjects}.{key}"
        try:
            while True:
                now = await self._now(client)
                found = await jetstream.last_of(client, self._stream, subject)
                state = {} if found is None else _state_of(found.payload)
                sequence = "0" if found is None else found.headers.get("Nats-Sequence", "0")
                answer, new = decide(state, now)
                if new is None:
                    return answer, False
                headers = {
                    "Nats-Expected-Last-Subject-Sequence": sequence,
                    "Nats-TTL": f"{_ends_after(new, now)}s",
                }
                try:
                    with trio.CancelScope(shield=True, deadline=trio.current_time() + SETTLED_S) as settled:
                        await jetstream.publish(client, subject, json.dumps(new).encode(), headers=headers)
                except jetstream.JetStreamError as problem:
                    if problem.number != jetstream.WRONG_SEQUENCE:
                        raise
                    await trio.sleep(COLLISION_S * random.random())
                    continue
                if settled.cancelled_caught:
                    raise PluginError(f"NATS did not confirm a change within {SETTLED_S:g} s")
                return answer, True
        except (LinkError, jetstream.JetStreamError, trio.TooSlowError) as problem:
            self._asked_clock_at = -math.inf
            is_missing = isinstance(problem, jetstream.JetStreamError) and problem.number == jetstream.NO_STREAM
            hint = "a host makes it, when it finds this worker or counts" if is_missing else "look at the server"
            raise PluginError(f"NATS does not count: {reason_of(problem)}", hint=hint) from None

    async def _now(self, client: Client) -> float:
        """The server's time, in seconds since the epoch."""
        from pegboard_nats import jetstream

        before = time.monotonic()
        if before - self._asked_clock_at > CLOCK_S:
            told = await jetstream.api(client, f"STREAM.INFO.{self._stream}")
            after = time.monotonic()
            self._offset_s = _seconds_of(told.get("ts")) - (before + after) / 2
            self._asked_clock_at = after
        return time.monotonic() + self._offset_s

    # -- the link

    async def _connected(self) -> Client:
        """The link, and the stream on it.

        Raises:
            PluginError: there is none.
        """
        import trio

        if self._opening is None:
            self._opening = trio.Lock()
        async with self._opening:
            if self._client is None:
                self._ended, ready = trio.Event(), trio.Event()
                # Whoever asks first is a call, which must not own what the next ones ask. `aclose` ends it.
                trio.lowlevel.spawn_system_task(self._run, ready, self._ended, name="limits in NATS")
                await ready.wait()
            client = self._client
            if client is None:
                raise PluginError("the link to NATS could not be opened", hint="repair [plugins.nats]")
            with trio.move_on_after(SETTLED_S):
                await client.wait_connected()
            if not client.connected:
                raise PluginError(f"there is no link to NATS: {client.trouble}", hint="repair `servers`, or start one")
            if self._asked_clock_at == -math.inf:
                await self._require_stream(client)
        return client

    async def _require_stream(self, client: Client) -> None:
        import trio

        from pegboard_nats import jetstream
        from pegboard_nats.mailbox import DeniedError, LinkError, NoRespondersError

        try:
            await make_stream(client, self._settings.prefix)
        except NoRespondersError:
            raise PluginError("the NATS server keeps no streams", hint="start it with -js") from None
        except jetstream.JetStreamError as problem:
            raise PluginError(f"NATS refuses the stream of limits: {problem}", hint="look at its limits") from None
        except DeniedError:
            log.debug("the stream of limits is a host's to make")
        except (LinkError, trio.TooSlowError) as problem:
            raise PluginError(f"NATS does not answer: {problem}") from None

    async def _run(self, ready: trio.Event, ended: trio.Event) -> None:
        """Own the link and the task that renews, until `aclose`."""
        import trio

        try:
            with trio.CancelScope() as self._scope:
                async with self._linked() as self._client, trio.open_nursery() as nursery:
                    self._wake = trio.Event()
                    ready.set()
                    nursery.start_soon(self._renew_always)
        except Exception:  # a task of the system that raises would end the whole run
            log.exception("the link of the limit store failed")
        finally:
            self._client = self._scope = self._wake = None
            self._asked_clock_at = -math.inf
            ready.set()
            ended.set()

    @asynccontextmanager
    async def _linked(self) -> AsyncIterator[Client]:
        from pegboard_nats.client import open_client

        async with open_client(self._settings.link("pegboard limits", role="limits", group=self._group)) as client:
            yield client

    # -- places

    def _beat(self) -> None:
        if self._wake is not None:
            self._wake.set()

    async def _renew_always(self) -> None:
        import trio

        while self._wake is not None:
            pause_s = min((ttl_s / BEATS for _, ttl_s in self._places.values()), default=math.inf)
            with trio.move_on_after(pause_s):
                await self._wake.wait()
            self._wake = trio.Event()
            await self._give_back()
            try:
                await self._renew()
            except (PluginError, trio.TooSlowError) as problem:
                log.warning("places could not be renewed: %s", reason_of(problem))
                await trio.sleep(ASK_AGAIN_S)

    async def _renew(self) -> None:
        for key in {key for key, _ in self._places.values()}:

            def decide(state: State, now: float, key: str = key) -> tuple[None, State | None]:
                # One that ended meanwhile, as in a process that was stopped, is put back: its call does run.
                mine = {place: ttl_s for place, (of, ttl_s) in self._places.items() if of == key}
                taken = _alive(state.get("places"), now)
                if all(taken.get(place, 0.0) > now + ttl_s * FRESH for place, ttl_s in mine.items()):
                    return None, None
                return None, {**state, "places": {**taken, **{place: now + ttl_s for place, ttl_s in mine.items()}}}

            await self._change(key, decide, _as_it_is)

    async def _give_back(self) -> None:
        import trio

        for place, key in list(self._released.items()):
            try:
                await self._change(key, _without(place), _as_it_is)
            except (PluginError, trio.TooSlowError) as problem:
                log.warning("a place was not given back, and ends by itself: %s", reason_of(problem))
            self._released.pop(place, None)


def _lock() -> Any:
    import trio

    return trio.Lock()


def _as_it_is(state: State, now: float) -> tuple[None, None]:
    return None, None


def _without(place: str) -> Decide:
    """Gives a place back."""

    def decide(state: State, now: float) -> tuple[None, State | None]:
        taken = _alive(state.get("places"), now)
        return None, {**state, "places": taken} if taken.pop(place, None) is not None else None

    return decide


def _alive(ends: Any, now: float) -> dict[str, float]:
    """Those that have not ended."""
    found = ends.items() if isinstance(ends, dict) else ()
    return {str(name): _number(ends_at) for name, ends_at in found if _number(ends_at) > now}


def _ends_after(state: State, now: float) -> int:
    """When a state says nothing any more: in whole seconds, of which NATS takes one at least."""
    times = [_number(value) for value in (state.get("at"), state.get("until"))]
    for name in ("places", "turns"):
        times += _alive(state.get(name), now).values()
    return max(1, math.ceil(max(times) - now) + 1)


def _state_of(payload: bytes) -> State:
    try:
        state = json.loads(payload)
    except (ValueError, RecursionError):
        state = None
    if not isinstance(state, dict):
        raise PluginError("the stream of limits holds what no store wrote", hint="delete the stream; limits begin anew")
    return state


def _number(value: Any) -> float:
    return float(value) if type(value) in (int, float) and math.isfinite(value) else 0.0


def _seconds_of(text: Any) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (TypeError, ValueError):
        raise PluginError("the NATS server does not say what time it is", hint="upgrade it to 2.12") from None

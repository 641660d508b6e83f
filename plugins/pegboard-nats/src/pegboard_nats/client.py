"""One link to a list of NATS servers, kept up, on trio.

    async with open_client(Servers(("nats://a:4222", "nats://b:4222"))) as client:
        client.subscribe("pb.maths.call.add", answer, queue="workers")
        reply = await client.request("pb.maths.call.add", b'{"a": 1}', timeout_s=5)

One task owns the link: it connects, listens, and connects anew with jitter. Whoever publishes does that in their own
task. Nothing is kept for a link to come: what is published while there is none raises `NotConnectedError`, and then was
not sent. A request whose link is lost raises `LinkLostError`, and then may have been read. So whoever asks knows which
it was, and nothing is sent twice behind their back.

What listens is a plain function, called in the order in which the messages came; it neither waits nor raises.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import secrets
import socket
import ssl
from collections import deque
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import trio

from pegboard import PluginError
from pegboard.config import get_logger
from pegboard_nats import protocol
from pegboard_nats.addresses import Address
from pegboard_nats.credentials import Credentials, read_credentials
from pegboard_nats.mailbox import (
    TICK_S,
    DeniedError,
    LinkError,
    LinkLostError,
    Mailbox,
    NotConnectedError,
    UnheardError,
)
from pegboard_nats.protocol import Message, Protocol, State

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from pegboard_nats.protocol import HeaderBlock

    Headers = Mapping[str, str] | HeaderBlock

log = get_logger("pegboard")

CONNECT_S = 5.0
"""How long one server may take until it has let us in."""
PING_S = 20.0
"""How often a silent link is tried, and how long the server may take to answer."""
BACK_OFF_S = (0.1, 5.0)
"""Before all servers are tried again: at first, and at most; each half to whole, so that not all come at once."""
STEADY_S = 5.0
"""A link that lasted so long, in seconds, was one: it ended of something new. A server may let us in, and close."""
FLUSH_S = 5.0
LAME_DUCK_S = 5.0
"""How long answers are awaited from a server that is about to end, before the next is taken, in seconds."""

MAX_OUT = 32 * 1024 * 1024
"""What may wait to be sent, in bytes: more, and the server does not read; the link is given up."""
MUCH_OUT = 1024 * 1024
"""From here on who publishes waits until it is less."""
MAX_SERVERS = 64
MAX_REFUSED = 100
MAX_TOLD = 100
"""Causes that are told until a link has lasted."""
LARGE_AT_ONCE = 2
_REFUSED = re.compile(r'Permissions Violation for Subscription to "([^"]+)"', re.IGNORECASE)
TOKEN = 9
"""Of random bytes in the subject of one request's answers."""
INBOX_SID = 1
"""The first subscription of a client is that to its inbox."""
RECEIVE_BYTES = 65_536


def _as_tuple(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


@attrs.frozen(kw_only=True)
class Servers:
    """Where to, and as whom.

    Args:
        urls: `nats://HOST:PORT` or `tls://...`, with `USER:PASSWORD@` or `TOKEN@` where the server wants that.
        credentials: the path of a `.creds` file, or of one that holds the seed of an nkey.
        tls_ca: the path of the certificates to trust; with it, only links under TLS are taken.
        name: what the server's own tools show.
        inbox: answers come below it.
    """

    urls: tuple[str, ...] = attrs.field(converter=_as_tuple, default=("nats://127.0.0.1:4222",), repr=False)
    credentials: str | None = None
    tls_ca: str | None = None
    name: str = "pegboard"
    inbox: str = "_INBOX"


@attrs.define(eq=False)
class Subscription:
    """What listens to one subject, over all links to come until it ends."""

    sid: int
    subject: str
    deliver: Callable[[Message], None]
    queue: str | None
    _client: Client

    def end(self) -> None:
        """Listen no longer; what is on its way is dropped (see `Client.drain`)."""
        self._client.unsubscribe(self)


class _Link:
    """One connection to one server, once it has let us in."""

    def __init__(self, stream: trio.abc.Stream, proto: Protocol, address: Address) -> None:
        self.stream = stream
        self.proto = proto
        self.address = address
        self.scope = trio.CancelScope()
        self.why = "it was closed"
        self._is_ended = False
        self.pongs: deque[trio.Event] = deque()
        self.hears_answers = True
        self.refused: set[str] = set()
        self._out: list[bytes] = []
        self._size = 0
        self._filled = trio.Event()
        self._room = trio.lowlevel.ParkingLot()

    def send(self, data: bytes) -> None:
        """Have it sent, in order."""
        if self._size > MAX_OUT:
            self.end("the server does not read what is sent to it")
            raise NotConnectedError("the server does not read what is sent to it")
        self._out.append(data)
        self._size += len(data)
        self._filled.set()

    @property
    def is_open(self) -> bool:
        """Whether what is sent now may be read: not once its end is known, though nobody has acted on that yet."""
        return self.proto.state is State.OPEN and not self._is_ended

    @property
    def is_behind(self) -> bool:
        """Whether much waits to be sent."""
        return self._size > MUCH_OUT and not self._is_ended

    async def wait_room(self) -> None:
        """Until there is not much that waits to be sent."""
        while self.is_behind:
            await self._room.park()

    def end(self, why: str) -> None:
        """Give the link up."""
        if not self._is_ended:
            self._is_ended = True
            self.why = why
            self.scope.cancel()
            self._room.unpark_all()

    async def write(self) -> None:
        """Send what is to be sent, as much at once as there is."""
        try:
            while True:
                await self._filled.wait()
                self._filled = trio.Event()
                data = b"".join(self._out)
                self._out.clear()
                await self.stream.send_all(data)
                self._size -= len(data)
                self._room.unpark_all()
        except (OSError, trio.BrokenResourceError, trio.ClosedResourceError):
            self.end("the connection broke")


class Client:
    """A link to one of several servers, as long as its block runs. Made by `open_client`.

    Attributes:
        trouble: why there is no link; None where there is one.
        large: limits how many large answers are asked for at once: on a narrow line more would only be late together.
    """

    def __init__(self, servers: Servers, *, tell: Callable[[str], None] | None = None) -> None:
        self._servers = servers
        self._addresses = [Address(url) for url in servers.urls]
        if not self._addresses:
            raise PluginError("`servers` names none", hint="write servers = ['nats://HOST:4222']")
        self._found: dict[str, Address] = {}
        self._tell = tell or (lambda text: None)
        self._link: _Link | None = None
        self._changed = trio.Event()
        self.large = trio.CapacityLimiter(LARGE_AT_ONCE)
        self.trouble: str | None = "no server has answered yet"
        self._told: set[str] = set()
        self._told_of_none = False
        self._inbox = f"{servers.inbox}.{secrets.token_hex(11)}"
        self._waiting: dict[str, Mailbox] = {}
        self._some_wait = trio.Event()
        self._subscriptions: dict[int, Subscription] = {}
        self._sids = 0
        self._lame: str | None = None
        # Whoever is cancelled together with us still tells over the link what became of its work: `aclose` ends it.
        self._scope = trio.CancelScope(shield=True)
        self.subscribe(f"{self._inbox}.*", self._answered)

    def __repr__(self) -> str:
        return f"<Client of {self._link.address if self._link else self.trouble}>"

    # -- what others ask

    @property
    def info(self) -> protocol.Info:
        """What the server says of itself.

        Raises:
            NotConnectedError: there is none.
        """
        return self._linked().proto.info

    @property
    def connected(self) -> bool:
        """Whether there is a link."""
        return self._open is not None

    @property
    def address(self) -> str | None:
        """The server of the link."""
        return repr(self._link.address) if self._link else None

    @property
    def is_behind(self) -> bool:
        """Whether much waits to be sent, so that `publish` would wait."""
        return self._link is not None and self._link.is_behind

    @property
    def refused(self) -> frozenset[str]:
        """Subjects that the server does not let us listen to, as it said so far, and the first hundred."""
        return frozenset() if self._link is None else frozenset(self._link.refused)

    async def wait_changed(self) -> None:
        """Until the link comes or goes."""
        await self._changed.wait()

    async def wait_connected(self) -> None:
        """Until there is a link."""
        while not self.connected:
            await self._changed.wait()

    def publish_nowait(
        self, subject: str, payload: bytes = b"", *, reply: str | None = None, headers: Headers | None = None
    ) -> None:
        """Publish without waiting; raises as `publish`."""
        link = self._linked()
        link.send(link.proto.publish(subject, payload, reply=reply, headers=headers))

    async def publish(
        self, subject: str, payload: bytes = b"", *, reply: str | None = None, headers: Headers | None = None
    ) -> None:
        """Publish a message; waits while much is waiting to be sent.

        Raises:
            NotConnectedError: there is no link; nothing was sent.
            TooLargeError: it is larger than the server takes; nothing was sent.
            LocalProtocolError: the subject or a header is not valid; nothing was sent.
        """
        if (link := self._linked()).is_behind:
            await link.wait_room()
        self.publish_nowait(subject, payload, reply=reply, headers=headers)

    def replies(self, *, patience_s: float | None = None, note: Callable[[Message], bool] | None = None) -> Mailbox:
        """A place for the answers to one request, for as long as its block runs; arguments as of `Mailbox`."""
        self._some_wait.set()
        # Not a number: who is asked learns this inbox, and must not come to know that of another request by it.
        return Mailbox(f"{self._inbox}.{secrets.token_hex(TOKEN)}", self._waiting, patience_s=patience_s, note=note)

    async def request(
        self, subject: str, payload: bytes = b"", *, headers: Headers | None = None, timeout_s: float = 5.0
    ) -> Message:
        """Publish, and give the first answer.

        Raises:
            NoRespondersError: nobody listens there.
            trio.TooSlowError: no answer came in time.
            LinkError, LocalProtocolError: as of `publish` and `Mailbox.get`.
        """
        with self.replies() as mailbox, trio.fail_after(timeout_s):
            await self.ask(mailbox, subject, payload, headers=headers)
            return await mailbox.get()

    async def ask(
        self, mailbox: Mailbox, subject: str, payload: bytes = b"", *, headers: Headers | None = None
    ) -> None:
        """Publish what is answered to the mailbox; raises as `publish`, and `DeniedError`: no answer could come."""
        link = self._linked()
        if not link.hears_answers:
            raise DeniedError(self._unheard)
        mailbox.asked = subject
        if link.is_behind:
            await link.wait_room()
            link = self._linked()
        link.send(link.proto.publish(subject, payload, reply=mailbox.subject, headers=headers))

    def subscribe(self, subject: str, deliver: Callable[[Message], None], *, queue: str | None = None) -> Subscription:
        """Have `deliver` called with every message of a subject, on this link and all to come.

        Args:
            subject: may hold `*` and `>`.
            deliver: neither waits nor raises.
            queue: of all that listen with the same queue, each message reaches one.
        """
        self._sids += 1
        subscription = Subscription(self._sids, subject, deliver, queue, self)
        data = None if (link := self._open) is None else link.proto.subscribe(subscription.sid, subject, queue)
        self._subscriptions[subscription.sid] = subscription
        if link is not None and data is not None:
            with contextlib.suppress(NotConnectedError):  # the next link has all of them
                link.send(data)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Listen no longer."""
        if self._subscriptions.pop(subscription.sid, None) is not None and (link := self._open) is not None:
            with contextlib.suppress(NotConnectedError):
                link.send(link.proto.unsubscribe(subscription.sid))

    async def flush(self) -> None:
        """Until the server has read all that was sent, and all it sent before has been delivered.

        Raises:
            NotConnectedError, LinkLostError: there is no link, or it was lost.
            trio.TooSlowError: the server does not answer.
        """
        link, answered = self._linked(), trio.Event()
        link.pongs.append(answered)
        link.send(link.proto.ping())
        with trio.fail_after(FLUSH_S):
            await answered.wait()
        if self._link is not link:
            raise LinkLostError("the link was lost")

    async def aclose(self) -> None:
        """End the link, and `run`, after the server has read what was published last."""
        try:
            if self.connected:
                with trio.move_on_after(FLUSH_S, shield=True), contextlib.suppress(LinkError, trio.TooSlowError):
                    await self.flush()
        finally:
            self._scope.cancel()

    async def drain(self, *subscriptions: Subscription) -> None:
        """Listen no longer to these, or to nothing but answers; what was on its way is delivered when this returns."""
        ending = subscriptions or tuple(one for one in self._subscriptions.values() if one.sid != INBOX_SID)
        with contextlib.suppress(LinkError, trio.TooSlowError):  # then nothing comes either
            link = self._linked()
            for subscription in ending:
                link.send(link.proto.unsubscribe(subscription.sid))
            await self.flush()
        for subscription in ending:  # and not before: who is not known any more is given nothing
            with contextlib.suppress(LinkError):
                self.unsubscribe(subscription)

    @property
    def _unheard(self) -> str:
        return f"the server does not let us hear answers below {self._servers.inbox!r}: is it the key of another role?"

    @property
    def _open(self) -> _Link | None:
        return self._link if self._link is not None and self._link.is_open else None

    def _linked(self) -> _Link:
        if (link := self._open) is None:
            why = self.trouble if self._link is None else self._link.why
            raise NotConnectedError(f"there is no link to NATS: {why}")
        return link

    def _answered(self, message: Message) -> None:
        """An answer; one that nobody waits for any more is dropped."""
        if (mailbox := self._waiting.get(message.subject)) is not None:
            mailbox.put(message)

    # -- the link

    async def run(self) -> None:
        """Keep a link until `aclose`, which whoever starts this task calls: being cancelled does not end it."""
        with self._scope:
            pause_s = BACK_OFF_S[0]
            while True:
                for address in self._order():
                    link = await self._connect(address)
                    if link is not None:
                        began = trio.current_time()
                        await self._serve(link)
                        if trio.current_time() > began + STEADY_S:
                            pause_s = BACK_OFF_S[0]
                            self._told.clear()
                        break
                await trio.sleep(pause_s * random.uniform(0.5, 1.0))
                pause_s = min(pause_s * 2, BACK_OFF_S[1])

    def _order(self) -> list[Address]:
        """All that are known, in another order each time, so that the many spread over them; one that said that it
        is about to end comes last."""
        known = {repr(one): one for one in (*self._addresses, *self._found.values())}
        mixed = random.sample(list(known.values()), len(known))
        return sorted(mixed, key=lambda one: repr(one) == self._lame)

    async def _connect(self, address: Address) -> _Link | None:
        """A link that its server let in; None: it did not come to that, and `trouble` says why."""
        stream: trio.abc.Stream | None = None
        link: _Link | None = None
        try:
            with trio.fail_after(CONNECT_S):
                stream = await trio.open_tcp_stream(address.host, address.port)
                link, stream = await self._enter(stream, address)
        except trio.TooSlowError:
            self._note(f"{address} did not answer within {CONNECT_S:g} s, as a NATS server does at once")
        except ssl.SSLError as problem:
            self._note(f"{address}: {_tls_reason(problem)}")
        except trio.BrokenResourceError as problem:
            cause = problem.__cause__
            self._note(
                f"{address}: {_tls_reason(cause) if isinstance(cause, ssl.SSLError) else 'it closed the connection'}"
            )
        except OSError as problem:
            self._note(f"{address}: {_reason_of(problem)}")
        except (LinkError, protocol.LocalProtocolError) as problem:
            self._note(f"{address}: {problem}")
        except PluginError as problem:
            self._note(f"{problem.message} ({problem.hint})" if problem.hint else problem.message)
        finally:
            if link is None and stream is not None:
                with trio.CancelScope(shield=True):
                    await trio.aclose_forcefully(stream)
        return link

    def _note(self, trouble: str) -> None:
        """Tell why there is no link, once for each cause."""
        if trouble not in self._told and len(self._told) < MAX_TOLD:
            self._told.add(trouble)
            self._told_of_none = True
            self._tell(f"no link to NATS: {trouble}; it is tried again")
        if trouble != self.trouble:
            self.trouble = trouble
            self._moved()

    def _moved(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    async def _enter(self, stream: trio.abc.Stream, address: Address) -> tuple[_Link, trio.abc.Stream]:
        """INFO, TLS, CONNECT, and the server's word that we are in."""
        proto = Protocol()
        await _until(proto, stream, State.AWAIT_CONNECT)
        wants_tls = address.needs_tls or self._servers.tls_ca is not None
        if wants_tls and not (proto.info.tls_required or proto.info.tls_available):
            raise LinkError("it speaks no TLS, which `tls://` or `tls_ca` asks for")
        if wants_tls or proto.info.tls_required:
            proto.start_tls()
            context = await trio.to_thread.run_sync(_tls_context, self._servers.tls_ca)
            stream = trio.SSLStream(stream, context, server_hostname=address.certified, https_compatible=False)
            await stream.do_handshake()
        credentials = Credentials(options=address.options)
        if self._servers.credentials is not None:
            credentials = await trio.to_thread.run_sync(read_credentials, self._servers.credentials)
        await stream.send_all(proto.connect(name=self._servers.name, **credentials.options(proto.info.nonce)))
        await _until(proto, stream, State.OPEN)
        return _Link(stream, proto, address), stream

    async def _serve(self, link: _Link) -> None:
        """Listen until the link ends."""
        self._link, self.trouble = link, None
        if self._told_of_none:
            self._told_of_none = False
            self._tell(f"there is a link to NATS now: {link.address}")
        try:
            self._learn(link.proto.info, link)
            for subscription in self._subscriptions.values():
                link.send(link.proto.subscribe(subscription.sid, subscription.subject, subscription.queue))
            self._moved()
            with link.scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(link.write)
                    nursery.start_soon(self._keep_alive, link)
                    nursery.start_soon(self._tick)
                    await self._read(link, nursery)
        finally:
            self._link, self.trouble = None, "it was closed"
            if link.scope.cancel_called:  # by itself, and not because nobody wants it any more
                self._note(f"{link.address}: {link.why}")
            for mailbox in self._waiting.values():
                mailbox.fail(LinkLostError(f"the link to NATS was lost: {link.why}"))
            for answered in link.pongs:
                answered.set()
            link.end(link.why)
            with trio.CancelScope(shield=True):
                await trio.aclose_forcefully(link.stream)

    async def _read(self, link: _Link, nursery: trio.Nursery) -> None:
        while True:
            try:
                data = await link.stream.receive_some(RECEIVE_BYTES)
            except (OSError, trio.BrokenResourceError, trio.ClosedResourceError):
                data = b""
            for event in link.proto.receive(bytes(data)):
                if isinstance(event, Message):
                    self._deliver(event)
                elif isinstance(event, protocol.Ping):
                    link.send(link.proto.pong())
                elif isinstance(event, protocol.Pong):
                    if link.pongs:
                        link.pongs.popleft().set()
                elif isinstance(event, protocol.ServerError):
                    self._complained(event.text, link)
                elif isinstance(event, protocol.Info):
                    if self._learn(event, link):
                        nursery.start_soon(self._leave, link)
                elif isinstance(event, protocol.Skipped):
                    log.warning("a message of %s bytes on %r was too large to read", event.size, event.subject[:80])
                else:
                    link.end(link.why if link.scope.cancel_called else event.why)
                    return

    def _deliver(self, message: Message) -> None:
        subscription = self._subscriptions.get(message.sid)
        if subscription is None:
            return
        try:
            subscription.deliver(message)
        except Exception:  # a mistake of one that listens must not end the link of all
            log.exception("a message on %r could not be delivered", message.subject[:80])

    def _complained(self, text: str, link: _Link) -> None:
        """The server's `-ERR`: of one subject, or of the link, which it ends then."""
        found = re.search(r'Permissions Violation for Publish to "([^"]+)"', text, re.IGNORECASE)
        if found is not None:
            for mailbox in self._waiting.values():
                if mailbox.asked == found[1]:
                    mailbox.fail(DeniedError(f"the server does not let us publish to {found[1]!r}"))
            log.warning("NATS refuses: %s", text[:200])
        elif (found := _REFUSED.search(text)) is not None:
            self._refused(found[1], link)
        elif "permissions violation" in text.lower():
            self._tell(f"NATS refuses: {text[:200]}")
        else:
            link.why = text[:200]

    def _refused(self, subject: str, link: _Link) -> None:
        """The server does not let us listen there; that is told of the first, and others of a wrong key are as it."""
        if subject == f"{self._inbox}.*":  # else a silence would be taken for nobody being there
            link.hears_answers = False
            for mailbox in self._waiting.values():
                mailbox.fail(UnheardError(self._unheard))
        if not link.refused:
            self._tell(f"NATS does not let us listen to {subject[:80]!r}: is it the key of another role?")
        if len(link.refused) < MAX_REFUSED:
            link.refused.add(subject)

    def _learn(self, info: protocol.Info, link: _Link) -> bool:
        """Take up what the server says of itself and its cluster; whether it is about to end, and there are others."""
        for url in info.connect_urls[:MAX_SERVERS]:
            with contextlib.suppress(PluginError):
                address = Address(url, like=link.address)
                self._found[repr(address)] = address
        while len(self._found) > MAX_SERVERS:
            self._found.pop(next(iter(self._found)))
        if info.ldm:
            self._lame = repr(link.address)
        return info.ldm and len(self._order()) > 1

    async def _leave(self, link: _Link) -> None:
        """Go over to another server before this one ends: nothing new comes here, and what was asked is answered."""
        for subscription in self._subscriptions.values():
            if subscription.sid != INBOX_SID:
                link.send(link.proto.unsubscribe(subscription.sid))
        with contextlib.suppress(LinkError, trio.TooSlowError):
            await self.flush()
        with trio.move_on_after(LAME_DUCK_S):
            while self._waiting:
                await trio.sleep(0.05)
        link.end("the server is about to end")

    async def _tick(self) -> None:
        """The clock of all who wait for answers; where nobody does, it stands."""
        while True:
            await self._some_wait.wait()
            await trio.sleep(TICK_S)
            for mailbox in list(self._waiting.values()):
                mailbox.tick()
            if not self._waiting:
                self._some_wait = trio.Event()

    async def _keep_alive(self, link: _Link) -> None:
        while True:
            await trio.sleep(PING_S)
            try:
                await self.flush()
            except (LinkError, trio.TooSlowError):
                link.end(f"the server did not answer a ping within {FLUSH_S:g} s")


async def _until(proto: Protocol, stream: trio.abc.Stream, state: State) -> None:
    """Read until the link is in that state.

    Raises:
        LinkError: it will not come there.
    """
    while proto.state is not state:
        complaint = None
        for event in proto.receive(bytes(await stream.receive_some(RECEIVE_BYTES))):
            if isinstance(event, protocol.ServerError):
                complaint = event.text
            elif isinstance(event, protocol.Ping):
                await stream.send_all(proto.pong())
            elif isinstance(event, protocol.Closed):
                complaint = complaint or event.why
        if complaint is not None:
            raise LinkError(complaint[:200].lower() if complaint.istitle() else complaint[:200])


def _reason_of(problem: OSError) -> str:
    """Why a server cannot be reached; trio tries all addresses of a name, and has the reasons below."""
    below: BaseException | None = problem.__cause__
    while isinstance(below, BaseExceptionGroup):
        below = below.exceptions[0]
    for one in (below, problem):
        if isinstance(one, OSError) and one.strerror:
            # trio writes the address into it, which is told already; what a name server says has numbers of its own.
            has_number = one.errno is not None and not isinstance(one, socket.gaierror)
            return (os.strerror(one.errno or 0) if has_number else one.strerror).lower()
    return str(problem)


def _tls_context(ca: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca)
    except OSError as problem:
        is_other = isinstance(problem, ssl.SSLError)
        why = "there is no certificate in it" if is_other else (problem.strerror or type(problem).__name__).lower()
        name = Path(ca or "").name  # callers read this, and no path of this machine is theirs to know
        raise PluginError(f"the certificates {name} cannot be used: {why}", hint="repair `tls_ca`") from None


def _tls_reason(problem: ssl.SSLError) -> str:
    told = getattr(problem, "verify_message", None) or (problem.reason or "it failed").replace("_", " ").lower()
    return f"TLS: {told}"


@asynccontextmanager
async def open_client(servers: Servers, *, tell: Callable[[str], None] | None = None) -> AsyncIterator[Client]:
    """A client that connects while the block runs; the first link may come later (`Client.wait_connected`).

    Args:
        servers: where to, and as whom.
        tell: told why there is no link, once for each cause, that there is one then, and what the server refuses.

    Raises:
        PluginError: an address is not valid.
    """
    client = Client(servers, tell=tell)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.run)
        try:
            yield client
        finally:
            await client.aclose()

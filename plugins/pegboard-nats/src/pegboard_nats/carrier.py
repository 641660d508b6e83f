"""Requests of MCP clients that belong to another instance of `pegboard serve`, carried over NATS (pegboard-mcp).

    PREFIX-mcp.process.P    requests that belong to that process
    PREFIX-mcp.machine.M    requests for any process of that machine: one of them takes each

A request begins with a line of JSON - what ASGI knows of it, its size, who sends it - and as much of its body as one
message holds; what is left follows in parts. Its answers come to the reply subject, which names it: `accepted`, a
`head`, parts, `end`. Either side asks the other whether it still has the request (`alive`), so that nobody waits for
one that was killed.

Who may publish there is the server's to hold (`pegboard nats init`), and what comes is served to who holds the key of
all instances alone: pegboard-mcp looks at that.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import trio

from pegboard.config import get_logger
from pegboard_nats import wire
from pegboard_nats.link import link_of
from pegboard_nats.mailbox import LinkError, NoRespondersError, NotConnectedError
from pegboard_nats.protocol import LocalProtocolError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, MutableMapping

    from pegboard_httpclient import Failure
    from pegboard_nats.client import Client
    from pegboard_nats.protocol import Message
    from pegboard_nats.settings import NatsSettings

    Scope = MutableMapping[str, Any]
    App = Callable[[Scope, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]
    Headers = Iterable[tuple[str, str]]

log = get_logger("pegboard")

REQUEST, REFUSED, HEAD, END, CANCEL, ALIVE = "request", "refused", "head", "end", "cancel", "alive"
"""Kinds of messages, beside `accepted` and `part`."""
QUEUE = "processes"
MAX_SERVED = 1_000
"""Requests of others that one process serves at once."""
MAX_BODY = 64 * 1024 * 1024
"""Of one request, in bytes: what its sender takes of a client is bounded by its own settings."""
MISSED = 3
"""How often in a row the other side may not answer whether it is there, before it is taken for gone."""
WATCH = 5
"""Whether who sent a request still waits is asked so much less often than whether who serves it is there."""


class _LostError(Exception):
    """The other side is gone, and how far it came is not known."""


class Carrier:
    """Carries requests between the instances of one system.

    Args:
        settings: of the plugin.
    """

    def __init__(self, settings: NatsSettings) -> None:
        self._settings = settings
        self._own = ""
        self._app: App | None = None
        self._served: dict[str, _Served] = {}
        self._asked: set[str] = set()
        self._nursery: trio.Nursery

    @contextlib.asynccontextmanager
    async def open(self, process: str, machine: str, app: App) -> AsyncIterator[None]:
        """Have what belongs to this process served by `app`, as long as the block runs.

        Raises:
            PluginError: no host runs with these settings.
        """
        client = self._client
        self._app, self._own = app, self._subject("process", process)
        async with trio.open_nursery() as self._nursery:
            own = [client.subscribe(self._own, self._take)]
            if machine:
                own.append(client.subscribe(self._subject("machine", machine), self._take, queue=QUEUE))
            try:
                yield
            finally:
                for subscription in own:
                    with contextlib.suppress(LinkError):
                        subscription.end()
                self._nursery.cancel_scope.cancel()

    async def send(
        self, process: str, machine: str, method: str, target: str, headers: Headers, body: bytes
    ) -> Answer | Failure:
        """Have a request answered by the process that it belongs to, or where that is not there by its machine, which
        knows what became of it. Who gets an answer closes it.

        Args:
            process, machine: names; "": the machine has none.
            method, target: of HTTP; the path and the query.
            headers: of the request.
            body: of it.
        """
        from pegboard_httpclient import Failure, Kind

        found: Answer | Failure = Failure(Kind.UNREACHABLE)
        for kind, name in (("process", process), ("machine", machine)):
            if name:
                found = await self._send(self._subject(kind, name), method, target, headers, body)
            if not (isinstance(found, Failure) and found.never_stood):
                break
        return found

    async def _send(self, to: str, method: str, target: str, headers: Headers, body: bytes) -> Answer | Failure:
        from pegboard_httpclient import Failure, Kind

        answer = Answer(self, self._client, to)
        begun: Answer | Failure
        try:
            await answer.begin(method, target, headers, body)
            begun = answer
        except (NoRespondersError, NotConnectedError):
            begun = Failure(Kind.UNREACHABLE)
        except LocalProtocolError:
            begun = Failure(Kind.UNSENDABLE)
        except (LinkError, _LostError):
            begun = Failure(Kind.LOST)
        except BaseException:
            answer.close()
            raise
        if begun is not answer:
            answer.close()
        return begun

    @property
    def _client(self) -> Client:
        return link_of(self._settings)

    def _subject(self, kind: str, name: str) -> str:
        return f"{self._settings.prefix}-mcp.{kind}.{wire.escape(name)}"

    # -- what others send

    def _take(self, message: Message) -> None:
        """A message of another instance."""
        kind, id_ = message.headers.get(wire.KIND), message.headers.get(wire.CALL_ID, "")
        if kind == REQUEST and message.reply:
            self._begin(message, message.reply)
        elif kind == ALIVE and message.reply:
            with contextlib.suppress(LinkError):
                has_it = id_ in self._served or id_ in self._asked
                self._client.publish_nowait(message.reply, b"running" if has_it else b"gone")
        elif (served := self._served.get(id_)) is not None:
            if kind == wire.PART:
                served.feed(message.payload)
            elif kind == CANCEL:
                served.leave()

    def _begin(self, message: Message, id_: str) -> None:
        line, _, body = message.payload.partition(b"\n")
        client = self._client
        try:
            served = _Served(wire.from_bytes(line), client, id_)
        except (ValueError, TypeError, KeyError, AttributeError):
            served = None
        if served is None or id_ in self._served or len(self._served) >= MAX_SERVED:
            kind = REFUSED
        else:
            kind = wire.ACCEPTED
            self._served[id_] = served
            served.feed(body)
            self._nursery.start_soon(self._serve, served)
        with contextlib.suppress(LinkError):
            client.publish_nowait(id_, headers={wire.KIND: kind, wire.INSTANCE: self._own})

    async def _serve(self, served: _Served) -> None:
        assert self._app is not None, "it is open"
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._watch, served)
                await self._app(served.scope, served.receive, served.send)
                nursery.cancel_scope.cancel()
        except Exception:  # a mistake of the app must not end what serves all others; its sender hears that it is lost
            log.exception("a request that another instance sent failed")
        finally:
            del self._served[served.id]

    async def _watch(self, served: _Served) -> None:
        """End a request that nobody waits for any more."""
        missed = 0
        while missed < MISSED:
            await trio.sleep(WATCH * self._settings.alive_s)
            has_it = await self.has(served.sender, served.id)
            if has_it is False:
                break
            missed = 0 if has_it else missed + 1
        served.leave()

    async def has(self, subject: str, id_: str) -> bool | None:
        """Whether another instance still has a request; None: it does not say."""
        headers = {wire.KIND: ALIVE, wire.CALL_ID: id_}
        try:
            answer = await self._client.request(subject, headers=headers, timeout_s=self._settings.alive_s)
        except NoRespondersError:
            return False
        except (LinkError, trio.TooSlowError):
            return None
        return answer.payload == b"running"


class _Served:
    """A request of another instance, as an ASGI app is given it.

    Raises:
        ValueError, TypeError, KeyError, AttributeError: it is not one.
    """

    def __init__(self, told: Mapping[str, Any], client: Client, id_: str) -> None:
        path, _, query = told["target"].partition("?")
        self.id = id_
        self.sender: str = told["sender"]
        self.scope: Scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": told["method"] + "",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode("ascii"),
            "query_string": query.encode("ascii"),
            "root_path": "",
            # The host is a bare address, which every instance serves.
            "headers": [
                (b"host", b"127.0.0.1"),
                *((name.encode("ascii").lower(), value.encode("ascii")) for name, value in told["headers"]),
            ],
            "client": None,
            "server": None,
        }
        self._client = client
        self._left = int(told["size"])
        if not 0 <= self._left <= MAX_BODY:
            raise ValueError("its body is too long")
        self._body = bytearray()
        self._is_given = self._is_ended = False
        self._whole = trio.Event()
        self._gone = trio.Event()

    def feed(self, part: bytes) -> None:
        """More of its body."""
        self._body += part[: self._left]
        self._left -= min(len(part), self._left)
        if not self._left:
            self._whole.set()

    def leave(self) -> None:
        """Its client is gone, or the instance that sent it."""
        self._gone.set()
        self._whole.set()

    async def receive(self) -> dict[str, Any]:
        """As ASGI has it."""
        await self._whole.wait()
        if not self._is_given and not self._left:
            self._is_given = True
            return {"type": "http.request", "body": bytes(self._body), "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Mapping[str, Any]) -> None:
        """As ASGI has it; what nobody reads any more is dropped."""
        if self._gone.is_set() or self._is_ended:
            return
        try:
            if message["type"] == "http.response.start":
                headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in message["headers"]]
                await self._publish(HEAD, wire.to_bytes({"status": message["status"], "headers": headers}))
            elif message["type"] == "http.response.body":
                for part in _parts(message.get("body", b""), _room(self._client)):
                    await self._publish(wire.PART, part)
                if not message.get("more_body", False):
                    self._is_ended = True
                    await self._publish(END)
        except (LinkError, LocalProtocolError):  # whoever waits finds out, and nobody hears the rest
            self.leave()

    async def _publish(self, kind: str, payload: bytes = b"") -> None:
        await self._client.publish(self.id, payload, headers={wire.KIND: kind})


class Answer:
    """The answer of another instance, as `pegboard_httpclient.client.Answer` is one.

    Attributes:
        status: of HTTP.
        headers: names in lower case.
    """

    def __init__(self, carrier: Carrier, client: Client, to: str) -> None:
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self._carrier = carrier
        self._client = client
        self._to = to
        self._stack = contextlib.ExitStack()
        self._mailbox = self._stack.enter_context(client.replies())
        self._carrier._asked.add(self._mailbox.subject)
        self._is_over = False

    async def begin(self, method: str, target: str, headers: Headers, body: bytes) -> None:
        """Send the request, and wait for the head of its answer.

        Raises:
            NoRespondersError, NotConnectedError: nobody took it.
            LocalProtocolError: it cannot be sent.
            LinkError, _LostError: what became of it is not known.
        """
        request = {"method": method, "target": target, "headers": list(headers), "size": len(body)}
        first = wire.to_bytes({**request, "sender": self._carrier._own}) + b"\n"
        room = _room(self._client)
        at = max(0, room - len(first))
        await self._client.ask(self._mailbox, self._to, first + body[:at], headers={wire.KIND: REQUEST})
        message = await self._next()
        if message.headers.get(wire.KIND) == REFUSED:
            raise NoRespondersError("it takes no more")
        self._to = message.headers.get(wire.INSTANCE, self._to)
        for part in _parts(body[at:], room):
            await self._tell(wire.PART, part)
        told = wire.from_bytes((await self._next()).payload)  # an empty one where it is an end
        try:
            self.status = int(told["status"])
            self.headers = {str(name).lower(): str(value) for name, value in told["headers"]}
        except (KeyError, TypeError, ValueError):
            raise _LostError from None

    async def piece(self) -> bytes | Failure | None:
        """The next bytes of its body; None: there are no more."""
        from pegboard_httpclient import Failure, Kind

        if self._is_over:
            return None
        try:
            message = await self._next()
        except (LinkError, _LostError):
            self._is_over = True
            return Failure(Kind.LOST)
        self._is_over = message.headers.get(wire.KIND) != wire.PART
        return None if self._is_over else message.payload

    async def aclose(self) -> None:
        """Nobody reads on."""
        self.close()

    def close(self) -> None:
        """The same, without waiting."""
        if not self._is_over:
            self._is_over = True
            with contextlib.suppress(LinkError):
                self._client.publish_nowait(self._to, headers=self._headers(CANCEL))
        self._carrier._asked.discard(self._mailbox.subject)
        self._stack.close()

    async def _next(self) -> Message:
        """The next message of who answers."""
        missed = 0
        while True:
            with trio.move_on_after(self._carrier._settings.alive_s):
                return await self._mailbox.get()
            has_it = await self._carrier.has(self._to, self._mailbox.subject)
            missed = 0 if has_it else missed + 1
            if has_it is False or missed >= MISSED:
                with trio.move_on_after(0):  # what it said last came before that
                    return await self._mailbox.get()
                raise _LostError

    async def _tell(self, kind: str, payload: bytes) -> None:
        await self._client.publish(self._to, payload, headers=self._headers(kind))

    def _headers(self, kind: str) -> dict[str, str]:
        return {wire.KIND: kind, wire.CALL_ID: self._mailbox.subject}


def _room(client: Client) -> int:
    """How much one message holds, in bytes."""
    return client.info.max_payload - wire.HEADROOM


def _parts(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]

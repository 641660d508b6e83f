"""A dialect on the wire is a model: bodies out, answers in, every text without the key."""

from __future__ import annotations

import contextlib
import json
from collections import deque
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from pegboard import ErrorCode, thaw
from pegboard.limits import TURN_LEVELS
from pegboard.schema.jsontext import check_value
from pegboard_chat.contract import CallDelta, Delta, ModelError, Reply, TextDelta
from pegboard_chat.portable.calls import INVALID_JSON, refused
from pegboard_chat.wire.faults import Place  # noqa: TC001 - others import it from here
from pegboard_chat.wire.transport import LINGER_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from typing import Self

    from pegboard_chat.contract import ModelDialect, ModelRequest, StreamReader
    from pegboard_chat.wire.sse import ServerEvent
    from pegboard_chat.wire.transport import Answer, Transport

T = TypeVar("T")


@attrs.frozen
class HttpModel:
    """A model that is asked over HTTP.

    Args:
        name: `provider:model`.
        dialect: what is said.
        transport: what carries it.
        place: where to.

    .. versionadded:: 0.1
    """

    name: str
    dialect: ModelDialect
    transport: Transport = attrs.field(repr=False)
    place: Place

    @contextlib.asynccontextmanager
    async def respond(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[Delta | Reply]]:
        """Ask; see `Model.respond`."""
        place = self.place
        url = place.url_of(place.model, request.stream)
        body = self.dialect.body(request, place.model)
        if not request.stream:
            yield _Whole(await self.transport.post(url, body, place, read=lambda answer: self._read(answer, request)))
            return
        async with self.transport.stream(url, body, place) as answer:
            if answer.streamed:
                yield _Streamed(answer, self.dialect.reader(request, self.name), place)
            else:
                reply = self._read(await answer.json(), request)
                yield _Whole(reply, *_deltas_of(reply))

    def _read(self, answer: Any, request: ModelRequest) -> Reply:
        return _kept(_read_with(self.place, lambda: self.dialect.read(answer, request, self.name)))


def _deltas_of(reply: Reply) -> Iterator[Delta]:
    """What a stream would have given, for whoever waits for deltas and not for the reply."""
    if text := reply.message.text:
        yield TextDelta(text)
    for position, call in enumerate(reply.message.calls):
        yield CallDelta(position, call.name, json.dumps(thaw(call.arguments), ensure_ascii=False))


class _Whole:
    """The reply, and before it what belongs there."""

    def __init__(self, reply: Reply, *deltas: Delta) -> None:
        self._left: deque[Delta | Reply] = deque([*deltas, reply])

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delta | Reply:
        if not self._left:
            raise StopAsyncIteration
        return self._left.popleft()


class _Streamed:
    """The deltas of each event as it comes, then the reply; a `StreamReader` says how a whole answer is known."""

    def __init__(self, answer: Answer, reader: StreamReader, place: Place) -> None:
        self._answer = answer
        self._reader = reader
        self._place = place
        self._deltas: deque[Delta | Reply] = deque()
        self._ended = False
        self._linger_until: float | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delta | Reply:
        while not self._deltas:
            if self._ended:
                raise StopAsyncIteration
            event = await self._next_event()
            if event is None:
                self._ended = True
                self._answer.finish()
                self._deltas.append(_kept(_read_with(self._place, self._reader.close)))
            else:
                name, data = event
                self._deltas.extend(_read_with(self._place, lambda: list(self._reader.feed(name, data))))  # noqa: B023 - called at once
                if self._deltas:
                    self._linger_until = None  # some servers say early why they will have stopped
        return self._deltas.popleft()

    async def _next_event(self) -> ServerEvent | None:
        """The next event; None: the answer is over, or is whole and nothing more comes."""
        if getattr(self._reader, "done", False):
            return None
        if not getattr(self._reader, "complete", False):
            return await anext(self._answer, None)
        import trio

        if self._linger_until is None:
            self._linger_until = trio.current_time() + LINGER_S
        with trio.move_on_at(self._linger_until), contextlib.suppress(ModelError):  # of a connection that broke
            return await anext(self._answer, None)
        return None


def _kept(reply: Reply) -> Reply:
    """The reply as a saved conversation can hold it: nothing nests deeper, or holds more values, than is read again.

    A turn that does goes back as what it says; a call that does is answered with INVALID_INPUT.
    """
    message = reply.message
    too_deep = [_is_too_deep(call.arguments) for call in message.calls]
    if not any(too_deep) and not _is_too_deep(message.raw):
        return reply
    calls, read = list(message.calls), list(reply.calls)
    for at, call in enumerate(message.calls):
        if too_deep[at]:
            calls[at] = attrs.evolve(call, arguments={INVALID_JSON: "(nested too deep)"})
            read[at] = refused(call.id, call.name, "the arguments nest too deep; write them flatter")
    message = attrs.evolve(message, calls=tuple(calls), raw=None, dialect=None)
    return attrs.evolve(reply, message=message, calls=tuple(read))


def _is_too_deep(value: Any) -> bool:
    return check_value(value, max_depth=TURN_LEVELS) is not None


def _read_with(place: Place, read: Callable[[], T]) -> T:
    """What a dialect makes of an answer; an answer of a form that it cannot follow is an error like any other."""
    try:
        return read()
    except ModelError as problem:
        error = place.cleaned(problem)
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError) as problem:
        error = place.fault(
            ErrorCode.UPSTREAM_ERROR,
            "no_json",
            f"answered in a form that is not known ({type(problem).__name__}); check the base_url, or choose another"
            " model with --model",
        )
    raise error

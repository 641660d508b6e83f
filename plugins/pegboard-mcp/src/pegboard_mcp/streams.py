"""The two ends that the SDK's dispatchers and servers read from and write to, as small as they can be.

Whoever stands between the SDK and a transport says `receive` or `send`, and `aclose`; the rest is here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from typing import Self

    from mcp.shared.message import SessionMessage


class _End:
    """What is closed where its block is left."""

    async def aclose(self) -> None:
        """Close it; there may be nothing to do."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class MessageReader(_End):
    """The SDK's `ReadStream`: what comes from the other side, one message at a time."""

    async def receive(self) -> SessionMessage | Exception:
        """The next message; raises `anyio.EndOfStream` at the end."""
        raise NotImplementedError

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class SteppingReader(MessageReader):
    """A reader whose steps are its own: whoever loops over it makes no call more for each message."""

    async def receive(self) -> SessionMessage | Exception:
        """The next message."""
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    async def __anext__(self) -> SessionMessage | Exception:
        raise NotImplementedError


class MessageWriter(_End):
    """The SDK's `WriteStream`: what goes to the other side."""

    async def send(self, item: SessionMessage, /) -> None:
        """Send one message; raises `anyio.BrokenResourceError` or `anyio.ClosedResourceError`."""
        raise NotImplementedError

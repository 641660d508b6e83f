"""What carries a request to the instance that it belongs to, where a plugin brings that (`provide_carrier`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from contextlib import AbstractAsyncContextManager

    from starlette.types import ASGIApp

    from pegboard_httpclient import Failure


class Carried(Protocol):
    """An answer that comes by a carrier: see `pegboard_httpclient.client.Answer`."""

    status: int

    @property
    def headers(self) -> Mapping[str, str]:
        """Names in lower case."""

    async def piece(self) -> bytes | Failure | None:
        """The next bytes of its body."""

    async def aclose(self) -> None:
        """Nobody reads on."""


class Carrier(Protocol):
    """Carries requests from one instance to another.

    .. versionadded:: 0.1
    """

    def open(self, process: str, machine: str, app: ASGIApp) -> AbstractAsyncContextManager[None]:
        """Serve requests to this process, and to any of its machine ("": it has no name), as long as the block."""

    async def send(
        self, process: str, machine: str, method: str, target: str, headers: Iterable[tuple[str, str]], body: bytes
    ) -> Carried | Failure:
        """Have a request answered by a process, or where that is not there by its machine. The failures are those of
        `pegboard_httpclient`; `never_stood` says that nobody read it."""

"""The inspector on hypercorn's trio worker, and its end: whoever looks on is sent away."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING

import trio

from pegboard import ConfigError
from pegboard.config import get_logger
from pegboard_serving import bound_socket, host_of, is_loopback, require_credential, tls_of, url_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable
    from ssl import SSLContext

    from pegboard import Host
    from pegboard_inspect.pages import Page
    from pegboard_inspect.settings import InspectSettings

log = get_logger("pegboard.inspect")


def told_by(echo: Callable[[str], object]) -> Callable[[str], None]:
    """What tells addresses as `pegboard inspect` does: the first on its own, later ones with what they are for.

    Args:
        echo: shows a line to the person.

    .. versionadded:: 0.1
    """
    told = False

    def tell(address: str) -> None:
        nonlocal told
        echo(f"for another browser: {address}" if told else address)
        told = True

    return tell


def _settings_of(host: Host) -> InspectSettings:
    from pegboard_inspect.settings import InspectSettings

    of_board = (one.settings for one in host.board.plugins if isinstance(one.settings, InspectSettings))
    return next(of_board, None) or InspectSettings()


def _tls_for(bind: str, settings: InspectSettings) -> SSLContext | None:
    """What it is served by there.

    Raises:
        ConfigError: other machines would reach it without a token or without TLS.
    """
    tls = tls_of(settings.tls_cert, settings.tls_key, section="plugins.inspect")
    require_credential(
        bind, asks_for_credential=bool(settings.tokens), hint="map tokens to users in [plugins.inspect.tokens]"
    )
    if tls is None and not is_loopback(bind):
        raise ConfigError(
            f"--host {bind[:60]} would send tokens, arguments and results over the network as they are, without TLS",
            hint="name tls_cert and tls_key in [plugins.inspect], or serve on 127.0.0.1 and reach it by ssh -L",
        )
    return tls


async def serve_inspector(
    host: Host,
    *,
    port: int = 0,
    bind: str | None = None,
    user_id: str | None = None,
    profile: str | None = None,
    pages: Iterable[Page] = (),
    tell: Callable[[str], object],
    hurry: trio.Event | None = None,
    task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve the inspector until it is cancelled; calls from the page end with it.

    Args:
        host: whose board is inspected.
        port: 0: any that is free.
        bind: an address; None: the configuration's, which is on loopback where it says none.
        user_id: whose calls they are; None: the configuration's `user_id`.
        profile: the profile of those calls; None: the configuration's own.
        pages: of the program itself, beside those of plugins; one takes the place of a plugin's of the same path.
        tell: told an address that lets one browser in: as soon as it is served, and a new one whenever it was used.
        hurry: as of other servers; there is nothing here that is waited for.
        task_status: told the URL as soon as it is served.

    Raises:
        ConfigError: other machines would reach it without a token or without TLS, or it cannot listen there.

    .. versionadded:: 0.1
    """
    from pegboard_inspect.app import Inspector, address_of
    from pegboard_serving.worker import Worker, config_for

    settings = _settings_of(host)
    bind = settings.host if bind is None else bind
    tls = _tls_for(bind, settings)

    def tell_next() -> None:
        tell(address_of(url, inspector.access.new_token()))

    inspector = Inspector(
        host,
        bind=bind,
        user_id=user_id,
        profile=profile,
        pages=pages,
        entered=tell_next,
        settings=settings,
        is_secure=tls is not None,
    )
    bound = bound_socket(bind, port)
    address = bound.getsockname()
    names = (host_of(one.removesuffix(":*")) for one in settings.allowed_hosts)
    shown = next(filter(None, names), address[0])  # a certificate is of a name
    url = url_of("http" if tls is None else "https", shown, address[1])
    worker = Worker(inspector, config_for(get_logger("pegboard.inspect.server")), log=log, tls=tls)
    closing = trio.Event()

    async def run(task_status: trio.TaskStatus[None]) -> None:
        with trio.CancelScope(shield=True):
            await worker.serve(bound, closing, task_status=task_status)

    async with trio.open_nursery() as nursery:
        await nursery.start(run)
        tell_next()
        task_status.started(url)
        try:
            await trio.sleep_forever()
        finally:
            inspector.stop()
            closing.set()


@contextlib.asynccontextmanager
async def inspecting(
    host: Host, *, tell: Callable[[str], object], user_id: str | None = None, pages: Iterable[Page] = ()
) -> AsyncIterator[str]:
    """Serve the inspector on a free port as long as the block: beside what else a program serves, so that its calls are
    seen; gives the URL.

    Args:
        host: whose board is inspected.
        tell: as of `serve_inspector`.
        user_id: whose calls from the page they are; None: the configuration's `user_id`.
        pages: as of `serve_inspector`.

    Raises:
        ConfigError: it cannot listen on 127.0.0.1.

    .. versionadded:: 0.1
    """
    async with trio.open_nursery() as nursery:
        yield await nursery.start(partial(serve_inspector, host, tell=tell, user_id=user_id, pages=pages))
        nursery.cancel_scope.cancel()

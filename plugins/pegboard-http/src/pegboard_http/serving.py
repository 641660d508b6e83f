"""The app on hypercorn's trio worker, and its orderly end: calls in flight are finished, new ones refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from pegboard.config import get_logger
from pegboard_serving import bound_socket, finish_calls, require_credential, url_of

if TYPE_CHECKING:
    from pegboard import Host
    from pegboard_http.settings import HttpSettings

log = get_logger("pegboard.http")


async def serve_gateway(
    host: Host,
    *,
    bind: str,
    port: int,
    user_id: str | None,
    settings: HttpSettings,
    hurry: trio.Event | None = None,
    task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve the board until it is cancelled; then refuse new calls, and finish those in flight.

    Args:
        host: whose tools are served.
        bind: the address, as in `127.0.0.1` or `::1`.
        port: 0: any that is free.
        user_id: whose calls they are where no token is needed.
        settings: tokens, hosts, bounds.
        hurry: set while serving ends, it cuts off the calls that are still in flight.
        task_status: told the URL as soon as it is served.

    Raises:
        ConfigError: other machines would reach it without a token, or it cannot listen there.

    .. versionadded:: 0.1
    """
    from pegboard_http.app import Gateway
    from pegboard_serving.worker import Worker, config_for

    gateway = Gateway(host, settings, user_id=user_id, bind=bind)
    require_credential(
        bind, asks_for_credential=gateway.asks_for_token, hint="map tokens to users in [plugins.http.tokens]"
    )
    closing = trio.Event()
    hurry = trio.Event() if hurry is None else hurry
    bound = bound_socket(bind, port)
    address = bound.getsockname()
    worker = Worker(gateway.app(), config_for(get_logger("pegboard.http.server")), log=log)

    async def run(task_status: trio.TaskStatus[None]) -> None:
        with trio.CancelScope(shield=True):
            await worker.serve(bound, closing, task_status=task_status)

    async with trio.open_nursery() as nursery:
        await nursery.start(run)
        task_status.started(url_of("http", *address[:2]))
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await finish_calls(gateway.stop, settings.stop_timeout_s, hurry, gateway.hurry, log)
                closing.set()

"""What `pegboard doctor` has to say of the NATS servers: tried on the running server, with the keys that are here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pegboard import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pegboard import Board
    from pegboard_nats.client import Servers
    from pegboard_nats.settings import NatsSettings

CONNECT_S = 3.0
"""How long a server may take to let somebody in, or not; the three that are tried are tried at once."""
HOW = "`pegboard nats init` writes a configuration that holds it"


def make_checks(settings: NatsSettings) -> list[Callable[[Board], Iterable[Finding]]]:
    """The checks of one board; none where nothing says that NATS is used."""
    if not settings.groups and settings.credentials is None:
        return []
    return [lambda board: check_servers(settings)]


def check_servers(settings: NatsSettings) -> Iterator[Finding]:
    """Whether a link comes up, whether a third party is let in, and whether a worker's key may call."""
    import trio

    where = f"NATS server {', '.join(settings.addresses)}"
    trouble, outsider, may_call = trio.run(_try_all, settings)
    if trouble is not None:
        yield Finding(
            "NATS cannot be reached", where, trouble, "repair `servers` or `credentials`, or start the server"
        )
        return
    if outsider:
        why = "whoever reaches it may call every tool, as any user"
        yield Finding("NATS lets everybody in", where, why, f"give hosts and workers keys; {HOW}", "warning")
    for key in may_call:
        why = f"the key {key} of a worker may call tools, as any user"
        yield Finding("a worker may call", where, why, f"let hosts alone publish calls; {HOW}", "warning")


async def _try_all(settings: NatsSettings) -> tuple[str | None, bool, list[str]]:
    """Why we are not let in, whether somebody without a key is, and the keys of workers that may call."""
    import attrs
    import trio

    ours = settings.link("pegboard doctor", role="host" if settings.groups else "worker")
    nobody = attrs.evolve(ours, urls=settings.addresses, credentials=None)
    answers: dict[str, tuple[str | None, bool]] = {}
    workers = list(_keys_of_workers(settings))

    async def one(name: str, servers: Servers) -> None:
        answers[name] = await _try_one(servers, f"{settings.prefix}.doctor.call.nothing")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(one, "ours", ours)
        nursery.start_soon(one, "nobody", nobody)
        for path in workers:
            servers = attrs.evolve(settings.link("pegboard doctor", role="worker"), credentials=path)
            nursery.start_soon(one, path, servers)
    may_call = [path for path in workers if answers[path] == (None, True)]
    return answers["ours"][0], answers["nobody"][0] is None, may_call


def _keys_of_workers(settings: NatsSettings) -> Iterator[str]:
    """Our own key where we call nobody, and the one that `pegboard nats init` put beside a host's."""
    if settings.credentials is None:
        return
    if not settings.groups:
        yield settings.credentials
        return
    beside = Path(settings.credentials).parent / "worker.nk"
    if beside.is_file() and beside != Path(settings.credentials):
        yield str(beside)


async def _try_one(servers: Servers, subject: str) -> tuple[str | None, bool]:
    """Why there is no link, and whether calls may be published."""
    import trio

    from pegboard_nats.client import open_client
    from pegboard_nats.mailbox import DeniedError, LinkError

    async with open_client(servers) as client:
        with trio.move_on_after(CONNECT_S):
            await client.wait_connected()
        if not client.connected:
            return client.trouble or "it does not answer", False
        try:
            await client.request(subject, timeout_s=CONNECT_S)
        except DeniedError:
            return None, False
        except (LinkError, trio.TooSlowError):  # nobody listens there
            return None, True
    return None, True

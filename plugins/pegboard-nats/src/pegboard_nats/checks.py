"""What `pegboard doctor` has to say of the NATS servers: tried on the running server, with the keys that are here."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pegboard import Finding
from pegboard_nats.settings import OWN, NatsSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pegboard import Board
    from pegboard_nats.client import Servers
    from pegboard_nats.settings import Role

log = logging.getLogger("pegboard")

CONNECT_S = 3.0
"""How long a server may take to let somebody in, or not; the three that are tried are tried at once."""
HOW = "`pegboard nats init` writes a configuration that holds it"


def make_checks(settings: NatsSettings) -> list[Callable[[Board], Iterable[Finding]]]:
    """The checks of one board: nothing is tried where nothing says that NATS is used."""
    return [lambda board: () if (role := role_of(settings, board)) is None else check_servers(settings, role)]


def role_of(settings: NatsSettings, board: Board) -> Role | None:
    """What the board is to NATS: a host where it calls, which it also does without groups; None: nothing says that it
    has to do with it."""
    from pegboard_nats.executor import GroupExecutor

    if settings.groups:
        return "host"
    if any(isinstance(getattr(one, "executor", None), GroupExecutor) for one in board.registry.plans.values()):
        return "host"
    named = settings.credentials is not None or settings.servers != NatsSettings().servers
    return "worker" if named or board.config.core.limit_store == OWN else None


def check_servers(settings: NatsSettings, role: Role) -> Iterator[Finding]:
    """Whether a link comes up, whether a third party is let in, and whether a worker's key may call.

    Args:
        role: ours.
    """
    import trio

    where = f"NATS server {', '.join(settings.addresses)}"
    trouble, hears, calls, outsider, may_call = trio.run(_try_all, settings, role)
    if trouble is not None:
        yield Finding(
            "NATS cannot be reached", where, trouble, "repair `servers` or `credentials`, or start the server"
        )
        return
    if not hears and role == "host":
        why = "the server does not let us hear the answers of workers"
        yield Finding("the key is not one of a host", where, why, "name the key of a host as `credentials`")
    elif not calls and role == "host":
        why = f"the server does not let us call below {settings.prefix!r}"
        yield Finding(
            "the key may not call", where, why, "repair `prefix`, or name the key of a host for it as `credentials`"
        )
    if outsider:
        why = "whoever reaches it may call every tool, as any user"
        yield Finding("NATS lets everybody in", where, why, f"give hosts and workers keys; {HOW}", "warning")
    for key in may_call:
        why = f"the key {key} of a worker may call tools, as any user"
        yield Finding("a worker may call", where, why, f"let hosts alone publish calls; {HOW}", "warning")


async def _try_all(settings: NatsSettings, role: Role) -> tuple[str | None, bool, bool, bool, list[str]]:
    """Why we are not let in, whether we hear answers and may call, whether somebody without a key is let in, and the
    keys of workers that may call."""
    import attrs
    import trio

    ours = settings.link("pegboard doctor", role=role)
    nobody = attrs.evolve(ours, urls=settings.addresses, credentials=None)
    answers: dict[str, _Tried] = {}
    workers = list(_keys_of_workers(settings, role))

    async def one(name: str, servers: Servers) -> None:
        answers[name] = await _try_one(servers, f"{settings.prefix}.doctor.call.nothing")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(one, "ours", ours)
        nursery.start_soon(one, "nobody", nobody)
        for path in workers:
            servers = attrs.evolve(settings.link("pegboard doctor", role="worker"), credentials=path)
            nursery.start_soon(one, path, servers)
    may_call = [path for path in workers if answers[path].trouble is None and answers[path].may_call]
    ours_is = answers["ours"]
    return ours_is.trouble, ours_is.hears, ours_is.may_call, answers["nobody"].trouble is None, may_call


def _keys_of_workers(settings: NatsSettings, role: Role) -> Iterator[str]:
    """Our own key where we call nobody, and the one that `pegboard nats init` put beside a host's."""
    if settings.credentials is None:
        return
    if role == "worker":
        yield settings.credentials
        return
    beside = Path(settings.credentials).parent / "worker.nk"
    if beside.is_file() and beside != Path(settings.credentials):
        yield str(beside)


class _Tried(NamedTuple):
    """Why there is no link; whether answers are heard, and calls may be published."""

    trouble: str | None = None
    hears: bool = True
    may_call: bool = False


async def _try_one(servers: Servers, subject: str) -> _Tried:
    import trio

    from pegboard_nats.client import open_client
    from pegboard_nats.mailbox import DeniedError, LinkError, UnheardError

    async with open_client(servers) as client:
        with trio.move_on_after(CONNECT_S):
            await client.wait_connected()
        if not client.connected:
            return _Tried(client.trouble or "it does not answer")
        may_call = True
        try:
            await client.request(subject, timeout_s=CONNECT_S)
        except (DeniedError, UnheardError):
            may_call = False
        except (LinkError, trio.TooSlowError):
            log.debug("nobody listens to %s", subject)
        return _Tried(None, not client.refused, may_call)

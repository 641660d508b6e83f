"""What `pegboard doctor` has to say of the NATS servers: tried on the running server, with the keys that are here."""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pegboard import Finding
from pegboard_nats.settings import OWN, NatsSettings, inbox_of, is_group

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pegboard import Board
    from pegboard_nats.client import Client, Servers
    from pegboard_nats.settings import Role

log = logging.getLogger("pegboard")

CONNECT_S = 3.0
"""How long a server may take to let somebody in, or not; the three that are tried are tried at once."""
MAX_OTHERS = 30
"""Groups that are tried with the key of another one."""
HOW = "`pegboard nats init` writes a configuration that holds it"


def make_checks(settings: NatsSettings) -> list[Callable[[Board], Iterable[Finding]]]:
    """The checks of one board: nothing is tried where nothing says that NATS is used."""
    return [lambda board: check_board(settings, board)]


def role_of(settings: NatsSettings, board: Board) -> Role | None:
    """What the board is to NATS: a host where it calls, which it also does without groups; None: nothing says that it
    has to do with it."""
    if groups_called(settings, board) or any(_is_ours(one.settings, "carrier") for one in board.plugins):
        return "host"
    named = settings.credentials is not None or settings.servers != NatsSettings().servers
    return "worker" if named or board.config.core.limit_store == OWN else None


def groups_called(settings: NatsSettings, board: Board) -> dict[str, bool]:
    """The groups whose workers the board calls; True where it must not open without one."""
    from pegboard_nats.executor import GroupExecutor

    executors = (getattr(one, "executor", None) for one in board.registry.plans.values())
    found = {one.group: False for one in executors if isinstance(one, GroupExecutor)}
    return found | {name: one.required for name, one in settings.groups.items()}


def _is_ours(settings: Any, name: str) -> bool:
    """Whether a plugin's setting names us as what it uses."""
    return getattr(settings, name, None) == OWN


def _kept(settings: NatsSettings, board: Board) -> tuple[str, ...]:
    """What the board keeps at the server: each is in a stream."""
    uses = {
        "calls": settings.claims,
        "limits": board.config.core.limit_store == OWN,
        "tasks": any(_is_ours(one.settings, "task_store") for one in board.plugins),
    }
    return tuple(name for name, used in uses.items() if used)


def check_board(settings: NatsSettings, board: Board) -> Iterator[Finding]:
    """What is wrong for this board; nothing is tried where nothing says that it uses NATS."""
    if (role := role_of(settings, board)) is not None:
        groups = groups_called(settings, board)
        yield from check_servers(settings, role, groups=groups, keeps=_kept(settings, board))


def check_servers(
    settings: NatsSettings, role: Role, *, groups: Mapping[str, bool] | None = None, keeps: tuple[str, ...] = ()
) -> Iterator[Finding]:
    """Whether a link comes up, whether a third party is let in, and whether a worker's key may call.

    Args:
        role: ours.
        groups: that are called, and whether one must have a worker.
        keeps: what is kept at the server: `calls` (what became of them), `limits`, `tasks`.
    """
    import trio

    where = f"NATS server {', '.join(settings.addresses)}"
    ours, outsider, workers = trio.run(_try_all, settings, role, tuple(groups or ()), keeps)
    if ours.trouble is not None:
        fix = "repair `servers`, `credentials` or `tls_ca`, or start the server"
        yield Finding("NATS cannot be reached", where, ours.trouble, fix)
        return
    if not ours.hears and role == "host":
        why = "the server does not let us hear the answers of workers"
        yield Finding("the key is not one of a host", where, why, "name the key of a host as `credentials`")
    elif not ours.may_call and role == "host":
        why = f"the server does not let us call below {settings.prefix!r}"
        yield Finding(
            "the key may not call", where, why, "repair `prefix`, or name the key of a host for it as `credentials`"
        )
    if keeps and ours.no_streams is not None:
        fix = "run nats-server 2.12 or newer, with `jetstream` in its configuration"
        yield Finding("the NATS server cannot keep what is to be kept", where, ours.no_streams, fix)
    for group in ours.empty:
        why, fix = f"none answers at {', '.join(settings.addresses)}", f"start one: pegboard worker --group {group}"
        is_required = groups is not None and groups[group]
        yield Finding("a group has no worker", f"group {group}", why, fix, "error" if is_required else "warning")
    if outsider:
        why = "whoever reaches it may call every tool, as any user"
        yield Finding("NATS lets everybody in", where, why, f"give hosts and workers keys; {HOW}", "warning")
    if ours.may_call and role == "host":
        yield from _lacking("the key may not do all that is used", where, "the key", ours)
    for key, tried in workers.items():
        if tried.hears and (ours.may_call or role == "worker"):
            yield from _lacking("a worker may not do all that is used", where, f"the key {key} of a worker", tried)
        if tried.may_call:
            why = f"the key {key} of a worker may call tools, as any user"
            yield Finding("a worker may call", where, why, f"let hosts alone publish calls; {HOW}", "warning")
        if tried.foreign:
            why = f"the key {key} of its workers may hear or read what is of others: {', '.join(tried.foreign)}"
            fix = "let it use the subjects of its group alone; `pegboard nats init --group G` writes that"
            yield Finding("a group is not kept from others", f"group {_group_of(key)}", why, fix, "warning")


def _lacking(what: str, where: str, whose: str, tried: _Tried) -> Iterator[Finding]:
    if tried.lacks:
        why = f"the server does not let {whose} use {', '.join(map(repr, tried.lacks))}"
        fix = "let it use them; `pegboard nats init --folder NEW` writes what this version needs"
        yield Finding(what, where, why, fix)


async def _try_all(
    settings: NatsSettings, role: Role, groups: tuple[str, ...], keeps: tuple[str, ...]
) -> tuple[_Tried, bool, dict[str, _Tried]]:
    """How we fare, whether somebody without a key is let in, and how those fare who have the keys of workers."""
    import attrs
    import trio

    ours = settings.link("pegboard doctor", role=role)
    nobody = attrs.evolve(ours, urls=settings.addresses, credentials=None)
    answers: dict[str, _Tried] = {}
    workers = list(_keys_of_workers(settings, role))

    named = sorted({*filter(None, map(_group_of, workers)), *groups})

    async def one(name: str, servers: Servers, *tried: Any) -> None:
        answers[name] = await _try_one(servers, settings.prefix, *tried)

    async with trio.open_nursery() as nursery:
        looks = (f"{settings.prefix}.doctor.service.PING",) if settings.groups else ()
        nursery.start_soon(one, "ours", ours, groups, (), (*looks, *_read_of(settings.prefix, keeps, None)))
        nursery.start_soon(one, "nobody", nobody)
        for path in workers:
            group = _group_of(path)
            servers = attrs.evolve(settings.link("pegboard doctor", role="worker", group=group), credentials=path)
            others = () if group is None else ("doctor", *[other for other in named if other != group][:MAX_OTHERS])
            reads, hears = (
                _read_of(settings.prefix, keeps, group),
                f"{settings.prefix}.{group or 'doctor'}.service.PING",
            )
            nursery.start_soon(one, path, servers, (), others, reads, (hears,))
    return answers["ours"], answers["nobody"].trouble is None, {path: answers[path] for path in workers}


def _read_of(prefix: str, keeps: tuple[str, ...], group: str | None) -> tuple[str, ...]:
    """What is asked of the server by whoever keeps that there, and changes nothing."""
    streams = {name: f"{prefix}-{name}".replace(".", "_") for name in keeps}
    asked = {
        "calls": f"$JS.API.DIRECT.GET.{streams.get('calls')}.{prefix}-calls.{group or 'doctor'}.nothing",
        "limits": f"$JS.API.STREAM.INFO.{streams.get('limits')}",
        "tasks": f"$JS.API.STREAM.INFO.{streams.get('tasks')}",
    }
    return tuple(asked[name] for name in keeps)


def _keys_of_workers(settings: NatsSettings, role: Role) -> Iterator[str]:
    """Our own key where we call nobody, and those that `pegboard nats init` put beside a host's."""
    if settings.credentials is None:
        return
    if role == "worker":
        yield settings.credentials
        return
    ours = Path(settings.credentials)
    with suppress(OSError):  # a folder that we may not list has none for us
        yield from (
            str(one)
            for one in sorted(ours.parent.iterdir())
            if (one.name == "worker.nk" or _group_of(str(one)) is not None) and one.is_file() and one != ours
        )


def _group_of(path: str) -> str | None:
    """The group of a key that `pegboard nats init --group G` wrote; None: it is of no group alone."""
    name = Path(path).name
    group = name.removeprefix("worker-").removesuffix(".nk")
    return group if name == f"worker-{group}.nk" and is_group(group) else None


class _Tried(NamedTuple):
    """Why there is no link; whether answers are heard, and calls may be published; groups that have no worker; why
    nothing can be kept; what of others may be heard or read; what we need, and may not use."""

    trouble: str | None = None
    hears: bool = True
    may_call: bool = False
    empty: tuple[str, ...] = ()
    no_streams: str | None = None
    foreign: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


async def _try_one(
    servers: Servers,
    prefix: str,
    groups: tuple[str, ...] = (),
    others: tuple[str, ...] = (),
    reads: tuple[str, ...] = (),
    hears: tuple[str, ...] = (),
) -> _Tried:
    import trio

    from pegboard_nats.client import open_client

    async with open_client(servers) as client:
        with trio.move_on_after(CONNECT_S):
            if servers.credentials is None and len(servers.urls) == 1:
                await client.wait_changed()  # who has no key is refused, as a rule, and need not ask again
            else:
                await client.wait_connected()
        if not client.connected:
            return _Tried(client.trouble or "it does not answer")
        no_streams = _why_no_streams(client)
        may_call, _ = await _ask(client, f"{prefix}.doctor.call.nothing")
        empty: list[str] = []
        lacks = [*await _refused(client, hears), *[one for one in reads if not (await _ask(client, one))[0]]]
        if may_call:  # else it is not known
            async with trio.open_nursery() as nursery:

                async def one(group: str) -> None:
                    if not (await _ask(client, f"{prefix}.{group}.service.PING"))[1]:
                        empty.append(group)

                for group in groups:
                    nursery.start_soon(one, group)
        is_heard = client.refused <= {*hears}
        foreign = await _foreign(client, prefix, others)
        return _Tried(None, is_heard, may_call, tuple(sorted(empty)), no_streams, foreign, tuple(sorted(lacks)))


async def _foreign(client: Client, prefix: str, others: tuple[str, ...]) -> tuple[str, ...]:
    """What of other groups we may hear or read: calls, answers, records of calls."""
    from pegboard_nats.claims import stream_of

    if not others:
        return ()
    heard = [f"{inbox_of('host')}.>", *(f"{prefix}.{one}.call.>" for one in others)]
    heard += [f"{inbox_of('worker', one)}.>" for one in others]
    refused = await _refused(client, heard)
    found = [one for one in heard if one not in refused]
    stream = stream_of(prefix)
    read = [f"$JS.API.DIRECT.GET.{stream}.{prefix}-calls.{one}.nothing" for one in others]
    read += [f"$JS.API.DIRECT.GET.{stream}", f"$JS.API.STREAM.MSG.GET.{stream}"]
    return (*found, *[one for one in read if (await _ask(client, one))[0]])


async def _refused(client: Client, subjects: Iterable[str]) -> list[str]:
    """Those of the subjects that the server does not let us listen to."""
    import trio

    from pegboard_nats.mailbox import LinkError

    listening = [client.subscribe(one, lambda message: None) for one in subjects]
    if listening:
        with suppress(LinkError, trio.TooSlowError):
            await client.flush()
    for one in listening:
        one.end()
    return [one.subject for one in listening if one.subject in client.refused]


def _why_no_streams(client: Client) -> str | None:
    from pegboard import PluginError
    from pegboard_nats.jetstream import require_ttl
    from pegboard_nats.mailbox import LinkError

    try:
        require_ttl(client, "limits, claims and tasks")
        return None if client.info.jetstream else "it has no streams"
    except PluginError as problem:
        return problem.message
    except LinkError as problem:
        return str(problem)


async def _ask(client: Client, subject: str) -> tuple[bool, bool]:
    """Whether we may publish there, and whether somebody may hear it."""
    import trio

    from pegboard_nats.mailbox import DeniedError, LinkError, NoRespondersError, UnheardError

    try:
        await client.request(subject, timeout_s=CONNECT_S)
    except (DeniedError, UnheardError):
        return False, True
    except NoRespondersError:
        return True, False
    except (LinkError, trio.TooSlowError):
        log.debug("no answer from %s", subject)
    return True, True

"""Who may do what on a NATS server: hosts call, workers answer, watchers look, bots ask; nobody else comes in.

A worker trusts what a call says of its user. So the server has to hold that hosts alone publish calls, and that nobody
hears the answers of others: each role has inboxes of its own.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from pegboard_nats.settings import BOTS, INBOX, inbox_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pegboard_nats.credentials import KeyPair

CONFIG = "nats-server.conf"


class Role(NamedTuple):
    """What somebody may publish and subscribe to, and what not, though it is below one of those."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]
    not_subscribe: tuple[str, ...] = ()


def roles(prefix: str, bots: Iterable[str] = (), groups: Iterable[str] = ()) -> dict[str, Role]:
    """The roles, for groups below a prefix; a bot asks as the user whose name it has, and as nobody else. Where groups
    are named, the workers of each have a role of their own; else one role serves all groups."""
    calls = _calls_of(prefix, "*")
    stream = f"{prefix}-limits".replace(".", "_")
    count = (f"{prefix}-limits.>", f"$JS.API.STREAM.INFO.{stream}", f"$JS.API.DIRECT.GET.{stream}.>")
    limits = (*count, f"$JS.API.STREAM.CREATE.{stream}")
    calls_stream = f"{prefix}-calls".replace(".", "_")
    create_calls = f"$JS.API.STREAM.CREATE.{calls_stream}"
    read_calls = f"$JS.API.DIRECT.GET.{calls_stream}.>"
    write_calls = (f"{prefix}-calls.>", create_calls, read_calls)
    between = f"{prefix}-mcp.>"  # what instances of `pegboard serve` send each other, with the credentials of clients
    kept = (f"{prefix}-tasks", f"{prefix}-task-parts")
    tasks = tuple(
        subject
        for name in kept
        for subject in (
            f"{name}.>",
            *(f"$JS.API.STREAM.{what}.{name.replace('.', '_')}" for what in ("CREATE", "INFO")),
            f"$JS.API.DIRECT.GET.{name.replace('.', '_')}",
            f"$JS.API.DIRECT.GET.{name.replace('.', '_')}.>",
        )
    )
    inboxes = {role: f"{inbox_of(role)}.>" for role in ("host", "worker", "watcher", "limits")}
    changed = f"{prefix}.*.changed"
    return {
        "host": Role(
            (
                *calls,
                "$SRV.>",
                inboxes["worker"],
                f"{inbox_of('bot')}.>",
                *limits,
                read_calls,
                create_calls,
                between,
                *tasks,
                inboxes["host"],
            ),
            (changed, inboxes["host"], inboxes["watcher"], inboxes["limits"], f"{prefix}.{BOTS}.>", between),
        ),
        **(
            {f"worker-{group}": _worker_of(prefix, group, count) for group in groups}
            or {
                # A worker answers whoever asked; it hears nobody's answers but its own, and no bot.
                "worker": Role(
                    (changed, f"{INBOX}.>", *limits, *write_calls),
                    (*calls, "$SRV.>", inboxes["worker"], inboxes["limits"]),
                    (f"{prefix}.{BOTS}.>",),
                )
            }
        ),
        "watcher": Role(("$SRV.>", f"{prefix}.*.service.>"), (changed, inboxes["watcher"])),
        **{f"bot-{name}": Role((f"{prefix}.{BOTS}.*.{name}",), (f"{inbox_of(f'bot.{name}')}.>",)) for name in bots},
    }


def _calls_of(prefix: str, group: str) -> tuple[str, ...]:
    return tuple(f"{prefix}.{group}.{what}.>" for what in ("call", "cancel", "alive", "definitions", "service"))


def _worker_of(prefix: str, group: str, count: tuple[str, ...]) -> Role:
    """A worker of one group: it neither hears nor reads what is of another. It makes no stream, since whoever makes one
    says which subjects it keeps."""
    stream = f"{prefix}-calls".replace(".", "_")
    records = (f"{prefix}-calls.{group}.>", f"$JS.API.DIRECT.GET.{stream}.{prefix}-calls.{group}.>")
    askers = (f"{inbox_of(role)}.>" for role in ("host", "watcher"))
    own = (f"{inbox_of(role, group)}.>" for role in ("worker", "limits"))
    return Role((f"{prefix}.{group}.changed", *askers, *count, *records), (*_calls_of(prefix, group), "$SRV.>", *own))


def server_config(listen: str, store: str, keys: Mapping[str, KeyPair], roles: Mapping[str, Role]) -> str:
    """The configuration of `nats-server`: one account, its users, streams for limits and claims."""
    users = [_user(keys[name], role) for name, role in roles.items()]
    account: dict[str, Any] = {"jetstream": "enabled", "users": users}
    lines = [
        "# Hosts call, workers answer, watchers look. `pegboard doctor` tries it on the running server.",
        f"listen: {json.dumps(listen)}",
        f"jetstream: {{ store_dir: {json.dumps(store)} }}",
        # A machine that is cut off without a word is given calls until it is missed: for half a minute, not for six.
        'ping_interval: "10s"',
        "ping_max: 2",
        f"accounts: {json.dumps({'PEGBOARD': account}, indent=2)}",
    ]
    return "\n".join(lines) + "\n"


def _user(pair: KeyPair, role: Role) -> dict[str, Any]:
    subscribe: Any = list(role.subscribe)
    if role.not_subscribe:
        subscribe = {"allow": subscribe, "deny": list(role.not_subscribe)}
    return {"nkey": pair.public, "permissions": {"publish": list(role.publish), "subscribe": subscribe}}

"""The settings of pegboard-nats: `[plugins.nats]`."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - the types of fields are looked up at run time
from math import inf
from typing import TYPE_CHECKING, Any, Literal

import attrs

from pegboard import Fault, PluginError, setting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pegboard_nats.client import Servers

MAX_WORD = 64
INBOX = "_INBOX"
BOTS = "llm"
"""Stands where a group does in the subjects of bots, so no group may be called so."""

OWN = "nats"
"""The plugin's own name."""

GROUP_NAME = f"a name of 1 to 64 letters, digits, '-' and '_', and not {BOTS!r}, which is of bots"

Role = Literal["host", "worker", "watcher", "limits"]


def inbox_of(role: str, group: str | None = None) -> str:
    """Answers to somebody of that role come below it, and of a group: its workers need not hear those to others."""
    return f"{INBOX}.{role}" if group is None else f"{INBOX}.{role}.{group}"


def is_inbox(subject: str) -> bool:
    """Whether answers may go there: whoever has others publish elsewhere would borrow what these may do."""
    return subject.startswith(f"{INBOX}.")


def is_word(text: str) -> bool:
    """Whether a group may be called so: it is one word of subjects, and part of names of sources.

    Without an expression: every start of the program comes here, and would compile it.
    """
    return len(text) <= MAX_WORD and text.isascii() and text.replace("-", "").replace("_", "").isalnum()


def is_group(text: str) -> bool:
    """Whether a group may be called so."""
    return is_word(text) and text != BOTS


def _above_zero(_: Any, field: attrs.Attribute[Any], value: float | None) -> None:
    if value is not None and not 0 < value < inf:
        raise ValueError("a number above zero")


def _prefix(_: Any, field: attrs.Attribute[Any], value: str) -> None:
    if len(value) > MAX_WORD or not all(map(is_word, value.split("."))):
        raise ValueError("words of letters, digits, '-' and '_', with dots between")


def _faults_of(servers: Sequence[Any]) -> Iterator[Fault]:
    from pegboard_nats.addresses import Address

    if not servers:
        yield Fault(("servers",), "one address at least, as nats://HOST:4222", "none")
    for number, url in enumerate(servers):
        if isinstance(url, str):
            try:
                Address(url)
            except PluginError as problem:
                yield Fault(
                    ("servers", number), "nats://HOST:PORT or tls://HOST:PORT", problem.message.partition(" is not ")[0]
                )


@attrs.frozen(kw_only=True, eq=False, repr=False)
class GroupSettings:
    """`[plugins.nats.groups.G]`: tools of workers that serve the group.

    .. versionadded:: 0.1
    """

    timeout_s: float | None = setting(
        None,
        validator=_above_zero,
        stricter="lower",
        help="the deadline of tools that have none of their own, in seconds",
    )
    trusted: bool = setting(False, widens=True, help="what its tools answer may go into other tools without a question")
    required: bool = setting(False, help="whether the host must not open unless a worker answers")


@attrs.frozen(kw_only=True, eq=False, repr=False)
class NatsSettings:
    """`[plugins.nats]`.

    .. versionadded:: 0.1
    """

    servers: tuple[str, ...] = setting(
        ("nats://127.0.0.1:4222",), widens=True, secret=True, help="NATS servers of one system: nats:// or tls:// each"
    )
    groups: Mapping[str, GroupSettings] = setting(
        factory=dict, widens=True, help="groups of workers whose tools are on the board"
    )
    credentials: str | None = setting(
        None, widens=True, beside_file=True, help="a .creds file, or one with the seed of an nkey: who we are to NATS"
    )
    tls_ca: str | None = setting(
        None, widens=True, beside_file=True, help="certificates to trust; with it, nothing is said without TLS"
    )
    prefix: str = setting("pb", widens=True, validator=_prefix, help="what all subjects begin with")
    concurrency: int = setting(64, validator=_above_zero, stricter="lower", help="calls that a worker runs at once")
    claims: bool = setting(
        False,
        stricter="true",
        help="whether each call to a worker is recorded: executed at most once, and what became of it can be asked",
    )
    alive_s: float = setting(
        1.0, validator=_above_zero, help="how often a caller asks whether the worker of a call is alive, in seconds"
    )
    drain_s: float = setting(
        30.0, validator=_above_zero, help="how long a worker that is told to end works on its calls, in seconds"
    )

    @classmethod
    def find_faults(cls, raw: Mapping[str, Any]) -> Iterator[Fault]:
        """Names of groups and addresses, which no field can say alone."""
        groups = raw.get("groups")
        for name in groups if isinstance(groups, dict) else ():
            if not is_group(name):
                yield Fault(("groups", name), GROUP_NAME, repr(name[:80]))
        servers = raw.get("servers")
        if isinstance(servers, (list, tuple)):
            yield from _faults_of(servers)

    @property
    def addresses(self) -> tuple[str, ...]:
        """The servers, without who we are to them."""
        from pegboard_nats.addresses import Address

        return tuple(repr(Address(url)) for url in self.servers)

    def link(self, name: str, *, role: Role, group: str | None = None) -> Servers:
        """Where to, and as whom.

        Args:
            name: what the server's own tools show.
            role: answers come below an inbox of its own, so that the server can keep others from hearing them.
            group: of a worker.
        """
        from pegboard_nats.client import Servers

        inbox = inbox_of(role, group)
        return Servers(urls=self.servers, credentials=self.credentials, tls_ca=self.tls_ca, name=name, inbox=inbox)

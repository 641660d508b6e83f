"""What `pegboard doctor` has to say of MCP servers: each is started once, and whatever keeps it from that is explained.

The servers are started side by side, each under its own deadline, and ended again. Files that other programs left are
named, and nothing in them is started.
"""

from __future__ import annotations

import math
import shlex
import threading
from typing import TYPE_CHECKING, Any

from pegboard import ConfigError, Finding, PluginError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence

    from pegboard import Board
    from pegboard_mcp.client.connection import Connection
    from pegboard_mcp.client.discovery import Listing
    from pegboard_mcp.client.journal import Journal
    from pegboard_mcp.definitions import ServerDefinition
    from pegboard_mcp.settings import McpSettings

    Check = Callable[[Board], Iterable[Finding]]

AT_ONCE = 8
"""How many servers are looked at at once: each is a process that is starting."""
SPARE_S = 15.0
"""How long a server may take beside its own deadline, to be ended in order."""
LONGEST_S = 900.0
"""How long the check of all servers may take: each has a deadline of its own."""
SHOWN = 5
"""How many names of servers a finding names."""


def make_checks(settings: McpSettings) -> list[Check]:
    """The checks of one board."""
    from pegboard_mcp.lock import findings

    def servers(board: Board) -> Iterator[Finding]:
        return check_servers(settings)

    servers.timeout_s = LONGEST_S  # type: ignore[attr-defined]
    return [
        servers,
        findings,
        lambda board: check_found_files(settings),
        lambda board: check_sdk(),
        lambda board: check_brought(board, settings),
        lambda board: check_confinement(settings),
    ]


def check_confinement(settings: McpSettings) -> Iterator[Finding]:
    """What a sandbox does not hold here: a host of root's lends its servers root's number, and what they use together
    is for whoever starts the host."""
    import os

    from pegboard_confine.bounds import unbounded_together
    from pegboard_confine.kernel import can_forbid
    from pegboard_confine.trace import holds_credentials

    definitions = [one for one in settings.definitions() if one.confine]
    confined = [one.name for one in definitions]
    if not confined:
        return
    for one in definitions:
        for folder in filter(holds_credentials, (*one.read, *one.write)):
            why = f"{folder} has keys and credentials in it, as a home has, and the server reads all of it"
            yield Finding("a confined server reads credentials", one.name, why, "name the folders it needs", "warning")
    where = ", ".join(confined[:SHOWN]) + (f" and {len(confined) - SHOWN} more" if len(confined) > SHOWN else "")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        why = "the host runs as root: to the kernel its servers are root's too, who may read what only root may in the "
        why += "folders that they are given, and whose processes are not counted"
        yield Finding("confined servers run as root", where, why, "run pegboard as a user of its own", "warning")
    if not can_forbid():
        why = (
            "no filter of system calls is known for this processor: sockets to the host of a virtual machine, the keys "
        )
        why += "of the user and tracing are not refused, and the kernel's own faults are nearer"
        yield Finding("confined servers may make every system call", where, why, "use x86_64 or aarch64", "warning")
    if left := unbounded_together():
        why = f"each of their processes is bounded, and nothing bounds {' and '.join(left)} of all of them together"
        fix = "start the host in a group that is: systemd-run --user --scope -p MemoryMax=8G -p TasksMax=1000 "
        fix += "-p CPUQuota=200% pegboard ..., or in a container with limits"
        yield Finding("confined servers may use the whole machine", where, why, fix, "note")


def check_brought(board: Board, settings: McpSettings) -> Iterator[Finding]:
    """Whether plugins bring what settings name, without which the board is not served."""
    from pegboard_mcp.server.brought import brought
    from pegboard_mcp.server.task_stores import STORES

    named = {"carrier": settings.carrier}
    if settings.task_after_s is not None and settings.task_store not in STORES:
        named["task_store"] = settings.task_store
    for setting, name in named.items():
        try:
            if name is not None:
                brought(board, f"provide_{setting}", setting, name, STORES if setting == "task_store" else ())
        except ConfigError as problem:
            yield Finding(
                "the board cannot be served", "[plugins.mcp]", problem.message, problem.hint or "name another one"
            )


def check_servers(settings: McpSettings) -> Iterator[Finding]:
    """Start every configured server, read what it offers, and end it; why one could not be reached, with its fix."""
    from pegboard_mcp.client.seen import seen_pins
    from pegboard_mcp.lock.dangers import danger_words

    definitions = settings.definitions()
    if not definitions:
        return
    for definition, outcome in zip(definitions, _look_at_all(definitions), strict=True):
        where = f"MCP server {definition.name} ({definition.shown})"
        if isinstance(outcome, Exception):
            why, fix = getattr(outcome, "why", None) or str(outcome), getattr(outcome, "fix", "see the log of the host")
            yield Finding("an MCP server cannot be reached", where, why, fix)
            continue
        for what, why in outcome.left_out.items():
            fix = "tell its author; the rest of the server is on the board"
            yield Finding("a part of an MCP server is left out", f"{what} of {where}", why, fix, "warning")
        offered = {entry["key"] for entry in outcome.tools} | outcome.left_out.keys()
        for name in sorted((definition.allowed_tools or frozenset()) - offered) if definition.load_tools else ():
            why, fix = f"`allowed_tools` names {name[:60]!r}", "correct the name, or take it out"
            yield Finding("an MCP server has no such tool", where, why, fix, "warning")
        if not definition.trusted and (why := danger_words(seen_pins(outcome, definition.name))):
            fix = f"look at it: pegboard probe {definition.name}; if you know why, say so with trusted = true"
            yield Finding("an MCP server has what no honest one needs", where, why, fix, "warning")


def check_sdk() -> Iterator[Finding]:
    """Whether the installed SDK has what serving takes of it."""
    try:
        import pegboard_mcp.server._sdk  # noqa: F401 - it looks at its import
    except PluginError as problem:
        yield Finding("the board cannot be served", "pegboard serve", problem.message, problem.hint or "")


def check_found_files(settings: McpSettings) -> Iterator[Finding]:
    """MCP servers that other programs have in their usual places, and pegboard has not."""
    from pegboard.config import expand_home
    from pegboard_mcp.places import TITLES, found_files

    mine = {one.name for one in settings.definitions()}
    read = expand_home(settings.config_file) if settings.config_file else None
    for found in found_files():
        title = TITLES[found.program]
        if found.problem:
            fix = f"repair it, or leave it to {title}"
            yield Finding("a file of MCP servers cannot be read", str(found.path), found.problem, fix, "note")
            continue
        others = [name for name in found.servers if name not in mine and name != "pegboard"]
        if others and found.path != read:
            names = ", ".join(others[:SHOWN]) + (f" and {len(others) - SHOWN} more" if len(others) > SHOWN else "")
            yield Finding(
                "another program has MCP servers", str(found.path), f"{title} has {names}",
                f"import them: pegboard config import {shlex.quote(str(found.path))}", "note",
            )  # fmt: skip


def _look_at_all(definitions: Sequence[ServerDefinition]) -> list[Listing | Exception]:
    """What each server offers, or why not. In a thread of its own, since doctor may be asked inside a running loop."""
    outcomes: list[Any] = []

    def run() -> None:
        import trio

        outcomes.extend(trio.run(_look, definitions))

    thread = threading.Thread(target=run, name="pegboard doctor of MCP servers", daemon=True)
    thread.start()
    thread.join()
    return outcomes


async def _look(definitions: Sequence[ServerDefinition]) -> list[Listing | Exception]:
    import trio

    outcomes: dict[str, Listing | Exception] = {}
    limit = trio.CapacityLimiter(AT_ONCE)

    async def one(definition: ServerDefinition) -> None:
        async with limit:
            outcomes[definition.name] = await look_at(definition)

    async with trio.open_nursery() as nursery:
        for definition in definitions:
            nursery.start_soon(one, definition)
    return [outcomes[definition.name] for definition in definitions]


async def look_at(
    definition: ServerDefinition,
    use: Callable[[Connection], Awaitable[None]] | None = None,
    *,
    begin: Callable[[Connection], Awaitable[None]] | None = None,
    journal: Journal | None = None,
    callbacks: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda own: own,
) -> Listing | Exception:
    """Start a server, read what it offers, have it used, and end it; what it offers, or why it could not be reached.

    Args:
        definition: of the server.
        use: is given the open connection, and says itself how long it may take.
        begin: is given the open connection before it is asked what it offers, and says itself how long it may take.
        journal: keeps what it says beside its answers.
        callbacks: what answers its questions, out of what does otherwise.
    """
    import trio

    from pegboard_mcp.client._errors import LinkError, Lost, RpcError
    from pegboard_mcp.client.discovery import discover
    from pegboard_mcp.client.elicitation import Elicitation
    from pegboard_mcp.client.lifecycle import import_connection
    from pegboard_mcp.packages import fetches

    limit_s = definition.connect_s + SPARE_S + (definition.install_s if fetches(definition.argv) else 0)
    try:
        with trio.fail_after(limit_s) as limit:
            opened = import_connection()(
                definition,
                callbacks(Elicitation(definition).callbacks()),
                on_gone=lambda: None,
                on_change=lambda method, params: None,
                journal=journal,
            )
            async with opened as connection:
                if begin is not None:
                    limit.deadline = math.inf
                    await begin(connection)
                    limit.deadline = trio.current_time() + limit_s
                    connection.deadline = trio.current_time() + definition.connect_s
                async with connection.by(connection.deadline):
                    listing = await discover(connection)
                if use is not None:
                    limit.deadline = math.inf  # whoever uses it says how long
                    await use(connection)
                    limit.deadline = trio.current_time() + SPARE_S
                return listing
    except LinkError as problem:
        return problem
    except Lost as problem:
        return problem.why
    except RpcError as problem:
        from pegboard_mcp.client.transports._link import own_words

        why = f"it refused to list what it offers: {own_words(definition, problem.message)}"
        return LinkError("refused", why, "read its stderr, or try another version of it")
    except trio.TooSlowError:
        why = f"it did not answer and did not end within {limit_s:g} s"
        return LinkError("timeout", why, "raise its `timeout`, or look at what it waits for")

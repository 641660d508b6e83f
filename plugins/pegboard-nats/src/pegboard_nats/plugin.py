"""The hooks of pegboard-nats. Nothing here connects, or imports what does, unless a group is configured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import hookimpl
from pegboard_nats.settings import NatsSettings

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractAsyncContextManager

    import click

    from pegboard import Check, LimitStore, Tool, ToolSource
    from pegboard_mcp import TaskStore
    from pegboard_nats.carrier import Carrier
    from pegboard_nats.executor import Executors
    from pegboard_nats.link import Link


@hookimpl
def provide_settings() -> type[NatsSettings]:
    """`servers`, `groups` and more."""
    return NatsSettings


@hookimpl
def open_resources(settings: NatsSettings) -> AbstractAsyncContextManager[Link]:
    """The place of the link that all groups of a host share; it is opened when one of them wants it."""
    from pegboard_nats.link import open_link

    return open_link(settings)


@hookimpl
def provide_sources(settings: NatsSettings) -> Iterable[ToolSource]:
    """One for each group."""
    if not settings.groups:
        return ()
    from pegboard_nats.source import make_sources

    return make_sources(settings)


@hookimpl
def make_executor(tool: Tool, settings: NatsSettings) -> Executors:
    """Who runs a tool of this board at the workers of a group, for `executor = "nats:G"` under `[tools.NAME]`."""
    from pegboard_nats.executor import Executors

    return Executors(tool, settings)


make_executor.only_named = True  # type: ignore[attr-defined]  # else it would run every tool


@hookimpl
def provide_limit_store(settings: NatsSettings) -> LimitStore:
    """The stream in which all hosts count, where `[core] limit_store = "nats"`."""
    from pegboard_nats.limit_store import NatsStore

    return NatsStore(settings)


provide_limit_store.only_named = True  # type: ignore[attr-defined]  # not wherever the package is installed


@hookimpl(optionalhook=True)
def provide_task_store(settings: NatsSettings) -> TaskStore:
    """The stream that keeps tasks of MCP clients, where `[plugins.mcp] task_store = "nats"`."""
    from pegboard_nats.tasks import NatsTasks

    return NatsTasks(settings)


@hookimpl(optionalhook=True)
def provide_carrier(settings: NatsSettings) -> Carrier:
    """What carries requests between instances of `pegboard serve`, where `[plugins.mcp] carrier = "nats"`."""
    from pegboard_nats.carrier import Carrier

    return Carrier(settings)


@hookimpl
def provide_checks(settings: NatsSettings) -> Iterable[Check]:
    """Whether the servers can be reached, and whether they hold who may call."""
    from pegboard_nats.checks import make_checks

    return make_checks(settings)


@hookimpl
def register_commands(cli: click.Group) -> None:
    """`worker` and `nats init`."""
    from pegboard_nats.commands import nats, worker

    cli.add_command(worker)
    cli.add_command(nats)

"""The hooks of pegboard-mcp. Nothing here imports the `mcp` SDK: the first connection does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import hookimpl
from pegboard_mcp.settings import McpSettings

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractAsyncContextManager

    import click

    from pegboard import Board, Dialect, Origin, Tool, ToolSource
    from pegboard_mcp.collected import Capabilities


@hookimpl
def provide_settings() -> type[McpSettings]:
    """`servers`, `config_file`, `lock`, `tokens` and more."""
    return McpSettings


@hookimpl
def add_hookspecs() -> Any:
    """`provide_resources` and `provide_prompts`."""
    from pegboard_mcp import hookspecs

    return hookspecs


@hookimpl
def open_resources(settings: McpSettings) -> AbstractAsyncContextManager[Capabilities]:
    """Prompts and resources of the servers."""
    from pegboard_mcp.collected import open_capabilities

    named = settings.servers if settings.config_file is None else [one.name for one in settings.definitions()]
    return open_capabilities(settings, expected=named)


@hookimpl
def provide_sources(settings: McpSettings) -> Iterable[ToolSource]:
    """One for each configured server."""
    if not settings.servers and settings.config_file is None:
        return ()
    from pegboard_mcp.client.source import make_sources

    return make_sources(settings)


@hookimpl
def provide_tools(settings: McpSettings) -> Iterable[Tool]:
    """`list_resources` and `read_resource`, where a server is configured."""
    if not settings.servers and settings.config_file is None:
        return ()
    from pegboard_mcp.client.resource_tools import make_tools

    return make_tools()


@hookimpl
def make_guards(tool: Tool, settings: McpSettings) -> None:
    """Hold back a tool whose public definition is not the accepted one, where `lock = "enforce"`."""
    if settings.lock != "off":
        from pegboard_mcp.lock.watch import check_tool

        check_tool(tool, settings)


@hookimpl
def why_held(name: str, origin: Origin, board: Board, settings: McpSettings) -> tuple[str, str] | None:
    """What became of a tool that was accepted and that its origin no longer has, where `lock = "enforce"`."""
    if settings.lock != "enforce":
        return None
    from pegboard_mcp.lock.watch import watch_of

    return watch_of(settings).why_gone(board, origin, name)


@hookimpl
def provide_dialects() -> Iterable[Dialect]:
    """`mcp`: tools as `tools/list` gives them."""
    from pegboard_mcp.dialect import McpDialect

    return [McpDialect()]


@hookimpl
def provide_checks(settings: McpSettings) -> Iterable[Any]:
    """Whether every server starts, what the lock holds back, and what other programs left in their usual places."""
    from pegboard_mcp.checks import make_checks

    return make_checks(settings)


@hookimpl
def register_commands(cli: click.Group) -> None:
    """`serve`, `lock`, `connect`, `confine`, `probe` and `config import`."""
    from pegboard_mcp.commands.config_import import config_import
    from pegboard_mcp.commands.confine import confine
    from pegboard_mcp.commands.connect import connect
    from pegboard_mcp.commands.lock import lock
    from pegboard_mcp.commands.probe import probe
    from pegboard_mcp.commands.serve import serve

    cli.add_command(serve)
    cli.add_command(lock)
    cli.add_command(connect)
    cli.add_command(confine)
    cli.add_command(probe)
    config = cli.get_command(None, "config")  # type: ignore[arg-type]
    config.add_command(config_import)  # type: ignore[union-attr]

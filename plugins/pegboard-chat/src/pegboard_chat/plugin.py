"""The hooks of pegboard-chat. Nothing here imports trio or httpx2: the first model that is opened does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable

    import click

    from pegboard_chat.contract import Provider
    from pegboard_chat.settings import ChatSettings
    from pegboard_inspect import Page


@hookimpl
def provide_settings() -> type[ChatSettings]:
    """The model, budgets, prices."""
    from pegboard_chat.settings import ChatSettings

    return ChatSettings


@hookimpl
def add_hookspecs() -> Any:
    """`provide_models`."""
    from pegboard_chat import hookspecs

    return hookspecs


@hookimpl(optionalhook=True)
def provide_models() -> Iterable[Provider]:
    """`echo`, which needs nothing."""
    from pegboard_chat.echo import EchoProvider

    return [EchoProvider()]


@hookimpl
def provide_checks(settings: ChatSettings) -> Iterable[Any]:
    """The configured model, and the prices that a bound in money needs."""
    from pegboard_chat.checks import checks_of

    return checks_of(settings)


@hookimpl(optionalhook=True)
def provide_pages() -> list[Page]:
    """The page Chat of the inspector."""
    from pegboard_chat.inspecting.page import ChatPage

    return [ChatPage().page()]


@hookimpl
def register_commands(cli: click.Group) -> None:
    """`chat` and `eval`."""
    from pegboard_chat.commands.chat import chat
    from pegboard_chat.commands.eval import evaluate

    cli.add_command(chat)
    cli.add_command(evaluate)

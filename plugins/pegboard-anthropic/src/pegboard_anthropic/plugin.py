"""The hooks of pegboard-anthropic. Nothing here imports trio or httpx2: the first model that is opened does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import hookimpl
from pegboard_anthropic.settings import AnthropicSettings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pegboard import Dialect, Tool
    from pegboard_chat import Provider


@hookimpl
def provide_settings() -> type[AnthropicSettings]:
    """The key, the address, the model, thinking."""
    return AnthropicSettings


@hookimpl
def provide_tools(settings: AnthropicSettings) -> Iterable[Tool]:
    """`claude_conversation`."""
    from pegboard_anthropic.provider import AnthropicProvider
    from pegboard_anthropic.tools import make_tools

    return make_tools(AnthropicProvider(settings))


@hookimpl
def provide_dialects() -> Iterable[Dialect]:
    """The messages API."""
    from pegboard_anthropic.dialect import AnthropicDialect

    return [AnthropicDialect()]


@hookimpl(optionalhook=True)
def provide_models(settings: AnthropicSettings) -> Iterable[Provider]:
    """Anthropic's models, or those of a server that speaks as Anthropic does."""
    from pegboard_anthropic.provider import AnthropicProvider

    return [AnthropicProvider(settings)]

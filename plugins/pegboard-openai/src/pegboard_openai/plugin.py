"""The hooks of pegboard-openai. Nothing here imports trio or httpx2: the first model that is opened does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pegboard import Dialect
    from pegboard_chat import Provider
    from pegboard_openai.settings import OpenAISettings


@hookimpl
def provide_settings() -> type[OpenAISettings]:
    """The key, the address, the model, compatible servers by name."""
    from pegboard_openai.settings import OpenAISettings

    return OpenAISettings


@hookimpl
def provide_dialects() -> Iterable[Dialect]:
    """`openai` (chat completions) and `openai-responses`."""
    from pegboard_openai._chat import ChatDialect
    from pegboard_openai._responses import ResponsesDialect

    return [ChatDialect(), ResponsesDialect()]


@hookimpl(optionalhook=True)
def provide_models(settings: OpenAISettings) -> Iterable[Provider]:
    """`openai`, `openai-responses`, `local`, and each server of the configuration under its own name."""
    from pegboard_openai._providers import providers_of

    return providers_of(settings)

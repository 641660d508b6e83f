"""The hooks of pegboard-gemini. Nothing here imports trio or httpx2: the first model that is opened does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pegboard import Dialect
    from pegboard_chat import Provider
    from pegboard_gemini.settings import GeminiSettings


@hookimpl
def provide_settings() -> type[GeminiSettings]:
    """Key, address, model, and how tools are described."""
    from pegboard_gemini.settings import GeminiSettings

    return GeminiSettings


@hookimpl
def provide_dialects() -> Iterable[Dialect]:
    """`gemini`."""
    from pegboard_gemini.dialect import GeminiDialect

    return [GeminiDialect()]


@hookimpl(optionalhook=True)
def provide_models(settings: GeminiSettings) -> Iterable[Provider]:
    """`gemini`."""
    from pegboard_gemini.provider import GeminiProvider

    return [GeminiProvider(settings)]

"""The hooks of pegboard-cohere. Nothing here imports trio or httpx2: the first model that is opened does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pegboard import Dialect
    from pegboard_chat import Provider
    from pegboard_cohere.settings import CohereSettings


@hookimpl
def provide_settings() -> type[CohereSettings]:
    """Key, address, model, and how much is asked of it."""
    from pegboard_cohere.settings import CohereSettings

    return CohereSettings


@hookimpl
def provide_dialects() -> Iterable[Dialect]:
    """`cohere`."""
    from pegboard_cohere.dialect import CohereDialect

    return [CohereDialect()]


@hookimpl(optionalhook=True)
def provide_models(settings: CohereSettings) -> Iterable[Provider]:
    """`cohere`."""
    from pegboard_cohere.provider import CohereProvider

    return [CohereProvider(settings)]

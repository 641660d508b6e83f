"""The hooks of pegboard-manifest. Nothing here reads a manifest: the source does, when the board is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import hookimpl
from pegboard_manifest.settings import ManifestSettings

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractAsyncContextManager

    from pegboard import ToolSource
    from pegboard_manifest.bindings.http.client import HttpClient


@hookimpl
def provide_settings() -> type[ManifestSettings]:
    """`files`, `trusted`."""
    return ManifestSettings


@hookimpl
def open_resources(settings: ManifestSettings) -> AbstractAsyncContextManager[HttpClient] | None:
    """The one HTTP client of all tools, where there is a manifest."""
    if not settings.files:
        return None
    from pegboard_manifest.bindings.http.client import open_client

    return open_client()


@hookimpl
def provide_sources(settings: ManifestSettings) -> Iterable[ToolSource]:
    """One for each manifest that the settings name."""
    if not settings.files:
        return ()
    from pegboard_manifest.source import make_sources

    return make_sources(settings.files, trusted=settings.trusted)


@hookimpl
def provide_checks(settings: ManifestSettings) -> Iterable[Any]:
    """Whether the manifests can be used, and whether what their tools need is there."""
    if not settings.files:
        return ()
    from pegboard_manifest.checks import make_checks

    return make_checks()

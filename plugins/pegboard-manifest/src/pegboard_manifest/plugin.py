"""The hooks of pegboard-manifest. Nothing here reads a manifest: the source does, when the board is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import hookimpl
from pegboard_manifest.settings import ManifestSettings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pegboard import ToolSource


@hookimpl
def provide_settings() -> type[ManifestSettings]:
    """`files`."""
    return ManifestSettings


@hookimpl
def provide_sources(settings: ManifestSettings) -> Iterable[ToolSource]:
    """One for each manifest that the settings name."""
    if not settings.files:
        return ()
    from pegboard_manifest.source import make_sources

    return make_sources(settings.files)

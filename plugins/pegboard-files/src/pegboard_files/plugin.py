"""The hooks of pegboard-files. The module is a plugin; `FilesPlugin` chooses how files are opened, for tests."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pegboard import hookimpl
from pegboard_files.settings import FilesSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractAsyncContextManager

    from pegboard import Finding, Tool
    from pegboard_files._places import Files


class FilesPlugin:
    """The file tools, with files opened in a certain way: `open_host(plugins=[FilesPlugin("walk")])`.

    Args:
        opening: `openat2` or `walk`; None: the best way that the system has.

    .. versionadded:: 0.1
    """

    name = "files"

    def __init__(self, opening: str | None = None) -> None:
        self._opening = opening

    @hookimpl
    def provide_settings(self) -> type[FilesSettings]:
        """`roots`, and how much a call may take."""
        return FilesSettings

    @hookimpl
    def open_resources(self, settings: FilesSettings) -> AbstractAsyncContextManager[Files] | None:
        """The roots, held open, and the threads that work on files."""
        if os.name != "posix":
            return None
        from pegboard_files._places import open_files

        return open_files(settings, self._opening)

    @hookimpl
    def provide_tools(self) -> Iterable[Tool]:
        """The six tools; none where the system cannot open files in folders that are held open."""
        if os.name != "posix":
            return ()
        from pegboard_files.tools import TOOLS

        return TOOLS

    @hookimpl
    def provide_checks(self, settings: FilesSettings) -> Iterable[Callable[[Any], Iterable[Finding]]]:
        """Roots that are missing or hold too much, and how files are opened here."""
        from pegboard_files._checks import check_files

        return [lambda board: check_files(settings)]


_plugin = FilesPlugin()

# Bound methods carry the mark of their functions.
provide_settings = _plugin.provide_settings
open_resources = _plugin.open_resources
provide_tools = _plugin.provide_tools
provide_checks = _plugin.provide_checks

"""The hooks of pegboard-files. The module is a plugin; `FilesPlugin` chooses how files are opened, for tests."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import hookimpl, setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractAsyncContextManager

    from pegboard import Finding, Tool
    from pegboard_files._places import Files


def _above_zero(_: Any, field: attrs.Attribute[int], value: int) -> None:
    if value < 1:
        raise ValueError("a number above zero")


@attrs.frozen(kw_only=True)
class FilesSettings:
    """`[plugins.files]`. Sizes are in bytes.

    .. versionadded:: 0.1
    """

    roots: tuple[str, ...] | None = setting(
        None,
        widens=True,
        help="the folders that the tools may use; relative paths of a call are tried in the first; not said: the "
        "working directory, for reading alone",
    )
    denied_paths: tuple[str, ...] = setting(
        (), stricter="more", help="what none of the tools may use; relative ones count from every root"
    )
    deny_secrets: bool = setting(
        True, stricter="true", help="whether files that hold keys or passwords by their names, as .env does, are denied"
    )
    max_text_bytes: int = setting(
        100_000, stricter="lower", validator=_above_zero, help="text that one read_file shows, in bytes"
    )
    max_read_bytes: int = setting(
        50_000_000,
        stricter="lower",
        validator=_above_zero,
        help="how far into a file one read_file looks for its lines, in bytes",
    )
    max_binary_bytes: int = setting(
        5_000_000,
        stricter="lower",
        validator=_above_zero,
        help="the largest image, sound or other binary that is handed on, in bytes",
    )
    max_write_bytes: int = setting(
        10_000_000, stricter="lower", validator=_above_zero, help="the largest file that is written or edited, in bytes"
    )
    max_search_bytes: int = setting(
        5_000_000, stricter="lower", validator=_above_zero, help="larger files are passed over by search_text, in bytes"
    )
    max_entries: int = setting(
        1_000, stricter="lower", validator=_above_zero, help="entries that one listing or search shows"
    )
    max_scanned: int = setting(
        100_000, stricter="lower", validator=_above_zero, help="files and folders that one listing or search looks at"
    )
    ripgrep: str = setting("rg", widens=True, help="ripgrep's name or path; empty: never start it")


@attrs.frozen(kw_only=True)
class PathPermissions:
    """`[tools.NAME]` of each tool of this package. An entry is a file, or a folder with everything in it; with `*`,
    `**` or `?` it is a glob. Denied beats allowed.

    .. versionadded:: 0.1
    """

    allowed_paths: tuple[str, ...] | None = setting(
        None, widens=True, help="what the tool may use; relative ones count from the first root; not said: all roots"
    )
    denied_paths: tuple[str, ...] = setting(
        (), stricter="more", help="what this tool may not use; relative ones count from every root"
    )


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


@hookimpl
def provide_settings() -> type[FilesSettings]:
    """`roots`, and how much a call may take."""
    return _plugin.provide_settings()


@hookimpl
def open_resources(settings: FilesSettings) -> AbstractAsyncContextManager[Files] | None:
    """The roots, held open, and the threads that work on files."""
    return _plugin.open_resources(settings)


@hookimpl
def provide_tools() -> Iterable[Tool]:
    """The six tools."""
    return _plugin.provide_tools()


@hookimpl
def provide_checks(settings: FilesSettings) -> Iterable[Callable[[Any], Iterable[Finding]]]:
    """Roots that are missing or hold too much, and how files are opened here."""
    return _plugin.provide_checks(settings)

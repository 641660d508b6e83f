"""What a person may configure: `[plugins.files]`, and the permissions of each tool."""

from __future__ import annotations

import attrs

from pegboard import setting
from pegboard.config import above_zero


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
        100_000, stricter="lower", validator=above_zero, help="text that one read_file shows, in bytes"
    )
    max_read_bytes: int = setting(
        50_000_000,
        stricter="lower",
        validator=above_zero,
        help="how far into a file one read_file looks for its lines, in bytes",
    )
    max_binary_bytes: int = setting(
        5_000_000,
        stricter="lower",
        validator=above_zero,
        help="the largest image, sound or other binary that is handed on, in bytes",
    )
    max_write_bytes: int = setting(
        10_000_000, stricter="lower", validator=above_zero, help="the largest file that is written or edited, in bytes"
    )
    max_search_bytes: int = setting(
        5_000_000, stricter="lower", validator=above_zero, help="larger files are passed over by search_text, in bytes"
    )
    max_entries: int = setting(
        1_000, stricter="lower", validator=above_zero, help="entries that one listing or search shows"
    )
    max_scanned: int = setting(
        100_000, stricter="lower", validator=above_zero, help="files and folders that one listing or search looks at"
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

"""What doctor says of the file tools."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pegboard import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pegboard_files.settings import FilesSettings


def check_files(settings: FilesSettings) -> Iterator[Finding]:
    """Roots that are missing or hold too much, and how files are opened here."""
    where = "[plugins.files] roots"
    if os.name != "posix":
        why = "this system cannot open files in folders that are held open, so the file tools are not on the board"
        yield Finding("no file tools", "pegboard-files", why, "use a POSIX system, or WSL", "warning")
        return
    if not settings.deny_secrets:
        yield Finding(
            "the file tools may use secrets",
            "[plugins.files] deny_secrets",
            "it is false, so .env, private keys and files of passwords are read like any other",
            "remove it, and name what is meant to be read otherwise",
            "note",
        )
    from pegboard_files._opening import FOLDER, best_opening

    for root in settings.roots if settings.roots is not None else (".",):
        path = os.path.abspath(os.path.expanduser(root))  # noqa: PTH100, PTH111 - as it is spelled
        try:
            fd = os.open(path, FOLDER)
        except OSError as problem:
            yield Finding("a root cannot be opened", where, f"{root}: {problem.strerror}", "make it, or name another")
            continue
        try:
            if settings.roots is not None and best_opening(fd).name != "openat2":
                yield Finding(
                    "files are opened name by name",
                    where,
                    f"{root}: openat2 is missing here (Linux before 5.6, or a sandbox), so no link is followed",
                    "nothing has to be done; allow openat2 in the sandbox to have links inside of a root followed",
                    "warning",
                )
        finally:
            os.close(fd)
        if settings.roots is not None and _holds_home(path):
            yield Finding(
                "a root holds your whole home",
                where,
                f"{root}: keys, passwords and the configuration of this host lie below it",
                "name the folders that are meant",
                "warning",
            )


def _holds_home(path: str) -> bool:
    home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111
    return (home + "/").startswith(os.path.realpath(path).rstrip("/") + "/")

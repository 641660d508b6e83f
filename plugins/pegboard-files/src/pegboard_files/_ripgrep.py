"""ripgrep as a pointer: which files in a folder may hold a match.

It is started without a shell, with a list of arguments in which nothing of the caller's can be an option, in a folder
that is handed over by its descriptor, without configuration, links, or a terminal. It reads by paths, so a folder that
is swapped under it may lead it astray: what it names is opened and judged anew, and only names are taken from it.
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from pegboard_files._secrets import SECRETS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pegboard_files._rules import Parts

MAX_FILES = 5000
MAX_BYTES = 4 << 20
_REPORT_EVERY_S = 0.25
OPTIONS = (
    "--no-config",
    "--files-with-matches",
    "--null",
    "--color=never",
    "--no-messages",
    "--no-follow",
    "--no-mmap",
    "--no-require-git",
    "--no-ignore-dot",
    "--no-ignore-exclude",
    "--no-ignore-global",
    "--no-ignore-parent",
    "--sort=path",
    "--encoding=none",
    "--regex-size-limit=10M",
)
NO_SECRETS = tuple(f"--iglob=!**/{name}" for name in SECRETS if not name.startswith("."))
"""Its own choice is not believed, but it shall not even read them; those that begin with a dot are hidden to it."""


def arguments(
    program: str, pattern: str, *, ignore_case: bool, literal: bool, max_bytes: int, deny_secrets: bool
) -> list[str]:
    """The whole command line; the pattern cannot be taken for an option."""
    return [
        program,
        *OPTIONS,
        *(NO_SECRETS if deny_secrets else ()),
        f"--max-filesize={max_bytes}",
        *(["--ignore-case"] if ignore_case else ["--case-sensitive"]),
        *(["--fixed-strings"] if literal else []),
        f"--regexp={pattern}",
        "--",
        "./",
    ]


def parse(output: bytes) -> list[Parts]:
    """The files that it named, as parts below the folder; what is not a path below it is dropped."""
    found = []
    for name in output.split(b"\0")[:-1]:
        parts = tuple(os.fsdecode(name).removeprefix("./").split("/"))
        if not any(part in ("", ".", "..") for part in parts):
            found.append(parts)
    return found


async def candidates(
    command: list[str], folder_fd: int, timeout_s: float, report: Callable[[int], Awaitable[None]]
) -> tuple[list[Parts], bool] | None:
    """Run it in a folder.

    Args:
        command: from `arguments`.
        folder_fd: the folder; it has to stay open meanwhile.
        timeout_s: after this it is ended, in seconds.
        report: hears now and then how many files were named so far.

    Returns:
        The files that it named, and whether there may be more; None where it failed, and somebody else has to search.
    """
    import trio

    try:
        process = await trio.lowlevel.open_process(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=f"/proc/self/fd/{folder_fd}",
            env={"LC_ALL": "C.UTF-8"},
            start_new_session=True,
        )
    except OSError:
        return None
    output = bytearray()
    whole = False
    try:
        assert process.stdout is not None
        with trio.move_on_after(timeout_s):
            while len(output) < MAX_BYTES:
                with trio.move_on_after(_REPORT_EVERY_S) as waiting:
                    piece = await process.stdout.receive_some(1 << 16)
                if waiting.cancelled_caught:
                    await report(output.count(b"\0"))
                    continue
                if not piece:
                    whole = True
                    break
                output += piece
            if whole:
                await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()
            if process.stdout is not None:
                await process.stdout.aclose()
    if whole and process.returncode not in (0, 1) and not output:
        return None
    found = parse(bytes(output))
    return found[:MAX_FILES], not whole or len(found) > MAX_FILES

"""Files that a configuration names, read within bounds.

They are read before anybody trusted who names them: so only regular files are, for a pipe would hold the program up.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def read_bytes(path: Path, limit: int) -> bytes | None:
    """The content of a regular file; None where it is longer than `limit`.

    Raises:
        OSError: it cannot be read, or is not a regular file.
        ValueError: the path is not valid.
    """
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        mode = os.fstat(number).st_mode
        if stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "no regular file")
    except OSError:
        os.close(number)
        raise
    with os.fdopen(number, "rb") as file:
        content = file.read(limit + 1)
    return content if len(content) <= limit else None

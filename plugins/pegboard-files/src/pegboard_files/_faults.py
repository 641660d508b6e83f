"""What the system says, as an answer: one table from codes of the system to codes of the host.

A text names the path as the caller wrote it and no other; the system's own words go to the log.
"""

from __future__ import annotations

import errno
import logging
from typing import TYPE_CHECKING, NamedTuple

from pegboard import ErrorCode, ToolError
from pegboard_files._names import Asked, outside, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

log = logging.getLogger("pegboard.tool.files")


class _Said(NamedTuple):
    code: ErrorCode
    text: str
    reason: str
    retry: str


_FORBIDDEN, _INVALID = ErrorCode.FORBIDDEN, ErrorCode.INVALID_INPUT
_UPSTREAM = ErrorCode.UPSTREAM_ERROR

_NOT_REGULAR = _Said(
    _FORBIDDEN, "is a pipe, a socket or a device; only regular files are opened", "not_regular", "changed"
)
_FULL = _Said(_UPSTREAM, "was not written: the disk is full, or the file would be too large for it", "full", "same")
_BUSY = _Said(_UPSTREAM, "cannot be opened: the host has too many files open", "busy", "same")

_TABLE: Mapping[int, _Said] = {
    errno.ENOENT: _Said(ErrorCode.NOT_FOUND, "is not there; list_directory shows what is", "missing", "changed"),
    errno.ENOTDIR: _Said(ErrorCode.NOT_FOUND, "is not there: a part of the path is not a folder", "missing", "changed"),
    errno.EISDIR: _Said(_INVALID, "is a folder; list_directory shows what is in it", "folder", "changed"),
    errno.EACCES: _Said(_FORBIDDEN, "is not open to the account that the host runs as", "permission", "changed"),
    errno.EPERM: _Said(_FORBIDDEN, "is not open to the account that the host runs as", "permission", "changed"),
    errno.EROFS: _Said(_FORBIDDEN, "lies on a file system that is read-only", "permission", "changed"),
    errno.ELOOP: _Said(_FORBIDDEN, "leads through a link that is not followed here", "link", "changed"),
    errno.ENAMETOOLONG: _Said(_INVALID, "is longer than a path can be", "name", "changed"),
    errno.EINVAL: _Said(_INVALID, "is not a name that the file system takes", "name", "changed"),
    errno.EILSEQ: _Said(_INVALID, "is not a name that the file system takes", "name", "changed"),
    errno.EEXIST: _Said(ErrorCode.CONFLICT, "is being made by somebody else at this moment", "changed", "same"),
    errno.EAGAIN: _Said(ErrorCode.CONFLICT, "is being moved at this moment", "changed", "same"),
    errno.ENXIO: _NOT_REGULAR,
    errno.ENODEV: _NOT_REGULAR,
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
    errno.EMFILE: _BUSY,
    errno.ENFILE: _BUSY,
}
_OTHER = _Said(
    _UPSTREAM, "cannot be used: its disk or file system failed; the cause is in the host's log", "io", "unknown"
)


def answer_of(problem: OSError, asked: Asked) -> ToolError:
    """The error that a caller reads when the system refused a path."""
    if problem.errno == errno.EXDEV:
        return outside(asked.text)
    row = _TABLE.get(problem.errno or 0, _OTHER)
    if row.code is _UPSTREAM:
        log.warning("the system refused a file: %s", problem.strerror or type(problem).__name__)
    return ToolError(row.code, f"{asked} {row.text}", reason=row.reason, retry=row.retry)


def missing(asked: Asked, near: list[str]) -> ToolError:
    """The answer for what is not there, with the names that come near."""
    hint = f"did you mean {' or '.join(map(shown, near))}?" if near else "list_directory shows what is"
    message = f"{asked} is not there; {hint}"
    return ToolError(ErrorCode.NOT_FOUND, message, reason="missing", suggestions=near)


def not_regular(asked: Asked) -> ToolError:
    """The refusal of what is neither a file nor a folder."""
    return ToolError(_NOT_REGULAR.code, f"{asked} {_NOT_REGULAR.text}", reason="not_regular", retry="changed")


def is_folder(asked: Asked) -> ToolError:
    """The refusal of a folder where a file is expected."""
    row = _TABLE[errno.EISDIR]
    return ToolError(row.code, f"{asked} {row.text}", reason=row.reason)


def no_folder(asked: Asked) -> ToolError:
    """The refusal of a file where a folder is expected."""
    return ToolError(_INVALID, f"{asked} is not a folder; name one, or read it with read_file", reason="not_a_folder")


def refused(asked: Asked, why: str) -> ToolError:
    """The refusal of a path that the permissions of a tool do not let it use."""
    text = {
        "denied": "is closed to this tool by its denied_paths",
        "secret": "is closed to the file tools, since files of that name hold keys or passwords",
        "linked": "is another name of a file that is closed to this tool",
        "not_allowed": "is not among the allowed_paths of this tool",
    }[why]
    reason = why if why == "not_allowed" else "denied"
    return ToolError(_FORBIDDEN, f"{asked} {text}", reason=reason, retry="changed")


def no_write(tool: str) -> ToolError:
    """The refusal of writing where nobody configured that files may be written."""
    return ToolError(
        _FORBIDDEN,
        f"{tool} is off: nothing is configured, so files can be read and not written; to switch it on, write "
        f'allowed_paths = ["./output"] under [tools.{tool}], or roots = ["."] under [plugins.files]',
        reason="no_write",
    )


def too_large(asked: Asked, size: int, most: int, advice: str) -> ToolError:
    """The refusal of a file above a cap."""
    message = f"{asked} has {size} bytes, at most {most} are taken; {advice}"
    return ToolError(_INVALID, message, reason="too_large", size=size, max_bytes=most)

"""What can be wrong with the file, for people and programs."""

from __future__ import annotations

from pegboard import PegboardError


class AuditError(PegboardError):
    """The file of the audit cannot be used.

    Args:
        message: what is wrong, with the file's name.
        reason: a word for programs: locked, read_only, full, unavailable, damaged, foreign, newer, failed.
        hint: how to repair it.

    .. versionadded:: 0.1
    """

    def __init__(self, message: str, *, reason: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.reason = reason

"""Why a server cannot be reached, for people: one class, which the transports raise."""

from __future__ import annotations

from typing import Literal

Kind = Literal[
    "missing_command", "missing_folder", "not_executable", "exited", "silent", "garbage", "oversized",
    "refused", "unauthorized", "not_found", "tls", "timeout", "lost", "closed",
]  # fmt: skip


class LinkError(Exception):
    """A server cannot be reached, or is gone.

    Args:
        kind: what happened, for programs.
        why: what happened, for people, in one line; secrets are masked already.
        fix: how to mend it.

    .. versionadded:: 0.1
    """

    def __init__(self, kind: Kind, why: str, fix: str) -> None:
        super().__init__(why)
        self.kind: Kind = kind
        self.why = why
        self.fix = fix

"""Why a server cannot be reached, for people: one class, which the transports raise."""

from __future__ import annotations

from typing import Any, Literal

Kind = Literal[
    "missing_command", "missing_folder", "not_executable", "exited", "silent", "garbage", "oversized",
    "refused", "unauthorized", "not_found", "tls", "timeout", "lost", "closed", "endless", "wrong_sdk",
    "not_confined",
]  # fmt: skip


class LinkError(Exception):
    """A server cannot be reached, or is gone.

    Args:
        kind: what happened, for programs.
        why: what happened, for people, in one line; secrets are masked already.
        fix: how to repair it.

    .. versionadded:: 0.1
    """

    def __init__(self, kind: Kind, why: str, fix: str) -> None:
        super().__init__(why)
        self.kind: Kind = kind
        self.why = why
        self.fix = fix

    @property
    def explanation(self) -> str:
        """What happened and how to repair it, as two sentences: a server's own words may end with a stop already."""
        return f"{self.why}{'' if self.why.endswith(('.', '!', '?')) else '.'} {self.fix}"


class RpcError(Exception):
    """A server answered a request with an error.

    Args:
        code: its number.
        message: its text, as it came.
        data: what came with it.

    .. versionadded:: 0.1
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data


class Lost(Exception):  # noqa: N818 - what happened to the request; no mistake of anybody
    """The connection ended while a request was under way.

    Args:
        written: whether the server may have read the request, and done what it asks.
        why: what ended the connection.

    .. versionadded:: 0.1
    """

    def __init__(self, *, written: bool, why: LinkError) -> None:
        super().__init__(why.why)
        self.written = written
        self.why = why

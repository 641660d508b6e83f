"""Why there is no answer, in words that say what to do; and logs of the libraries without secrets."""

from __future__ import annotations

import contextlib
import logging
from collections import deque
from enum import StrEnum
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["HTTP_LOGGERS", "Failure", "Kind", "LogMask", "cause_of", "causes_of", "failure_of", "masked_http_logs"]

MAX_CAUSES = 50
HTTP_LOGGERS = ("httpx2", "httpcore2.connection", "httpcore2.http11", "httpcore2.proxy", "httpcore2.socks")
"""The loggers of httpx2 and below that write addresses, headers and what was sent.

.. versionadded:: 0.1
"""


class Kind(StrEnum):
    """What failed.

    .. versionadded:: 0.1
    """

    # The connection never stood, so nothing was sent.
    ENVIRONMENT = "environment"
    """A proxy or certificates that the environment names cannot be used."""
    CERTIFICATE = "certificate"
    TLS = "tls"
    NAME = "name"
    REFUSED = "refused"
    PROXY = "proxy"
    SILENT = "silent"
    UNREACHABLE = "unreachable"

    UNSENDABLE = "unsendable"
    """HTTP cannot carry the address or a header; nothing was sent."""
    LOST = "lost"
    """The request was sent, and the connection broke before the answer came, or before its end."""
    LATE = "late"
    """The deadline is over."""
    IDLE = "idle"
    """Of an answer that had begun nothing more came for too long."""
    PACKED = "packed"
    TOO_LONG = "too_long"


_WORDS = {
    Kind.ENVIRONMENT: ("the environment names {said}", ""),
    Kind.CERTIFICATE: (
        "the certificate of {host} is not trusted ({said})",
        "check {address}, or name your own authority in SSL_CERT_FILE",
    ),
    Kind.TLS: ("TLS with {host} failed", "check whether {address} should begin with http://"),
    Kind.NAME: ("the name {host} is not known", "check {address} and the network"),
    Kind.REFUSED: ("{host} refuses the connection", "start the server, or check {address}"),
    Kind.PROXY: ("the proxy refused", "look at HTTPS_PROXY, HTTP_PROXY and NO_PROXY"),
    Kind.SILENT: ("{host} does not answer", "check {address}, the network and the proxy"),
    Kind.UNREACHABLE: ("no connection to {host}", "check {address}, the network and the proxy"),
}
"""Of every kind that is a connection which never stood: what is wrong, and what to do."""


@attrs.frozen
class Failure:
    """Why there is no answer, or no more of it. It holds neither the request nor what a library raised.

    Args:
        kind: what failed.
        said: what TLS or the environment said about it, or what is wrong with the answer; short, and no secret.
        may_pass: whether it may pass by itself, and nothing was sent.

    .. versionadded:: 0.1
    """

    kind: Kind
    said: str = ""
    may_pass: bool = False

    @property
    def never_stood(self) -> bool:
        """Whether there was no connection at all: nothing was sent."""
        return self.kind in _WORDS

    def words(self, host: str, address: str = "the base URL") -> tuple[str, str]:
        """Of a connection that never stood: what is wrong, and what to do about it.

        Args:
            host: who was asked.
            address: what the person configured, as they know it.
        """
        why, fix = _WORDS[self.kind]
        return why.format(host=host, said=self.said), fix.format(address=address)


def cause_of(problem: BaseException) -> Failure | None:
    """What kept a connection from standing; None: nothing that is known.

    .. versionadded:: 0.1
    """
    import socket
    import ssl

    import httpx2

    causes = list(causes_of(problem))
    for cause in causes:  # first, wherever it stands: what it says is the most exact
        if isinstance(cause, ssl.SSLCertVerificationError):
            return Failure(Kind.CERTIFICATE, str(getattr(cause, "verify_message", ""))[:100])
    for cause in causes:
        if isinstance(cause, ssl.SSLError):
            return Failure(Kind.TLS, str(getattr(cause, "reason", None) or "")[:60])
        if isinstance(cause, socket.gaierror):
            return Failure(Kind.NAME, may_pass=cause.errno != socket.EAI_NONAME)
        if isinstance(cause, ConnectionRefusedError):
            return Failure(Kind.REFUSED, may_pass=True)
        if isinstance(cause, httpx2.ProxyError):
            return Failure(Kind.PROXY)
        if isinstance(cause, httpx2.ConnectTimeout | httpx2.PoolTimeout):
            return Failure(Kind.SILENT, may_pass=True)
    return None


def failure_of(problem: Exception) -> Failure:
    """What came instead of an answer.

    Args:
        problem: an error of httpx2, or the ValueError of what it cannot send.

    .. versionadded:: 0.1
    """
    import httpx2

    if isinstance(problem, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError | httpx2.PoolTimeout):
        return cause_of(problem) or Failure(Kind.UNREACHABLE, may_pass=True)
    if isinstance(problem, httpx2.InvalidURL | httpx2.UnsupportedProtocol | httpx2.LocalProtocolError | ValueError):
        return Failure(Kind.UNSENDABLE)
    return Failure(Kind.LOST)


def causes_of(problem: BaseException) -> Iterator[BaseException]:
    """A problem, what caused it, and what lies in groups of them; at most `MAX_CAUSES`.

    .. versionadded:: 0.1
    """
    waiting: deque[BaseException] = deque([problem])
    for _ in range(MAX_CAUSES):
        if not waiting:
            return
        one = waiting.popleft()
        yield one
        waiting.extend(inner for inner in (one.__cause__, one.__context__) if inner is not None)
        if isinstance(one, BaseExceptionGroup):
            waiting.extend(one.exceptions)


@contextlib.contextmanager
def masked_http_logs(hide: Callable[[str], str]) -> Iterator[None]:
    """Within the block, each line that httpx2 and httpcore2 log passes through `hide`: URLs and headers hold secrets.

    .. versionadded:: 0.1
    """
    mask = LogMask(hide)
    loggers = [logging.getLogger(name) for name in HTTP_LOGGERS]
    for logger in loggers:
        logger.addFilter(mask)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(mask)


class LogMask(logging.Filter):
    """Lets every line through, with what it says and the traceback that it brings passed through `hide`.

    .. versionadded:: 0.1
    """

    def __init__(self, hide: Callable[[str], str]) -> None:
        super().__init__()
        self._hide = hide

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask the line where it stands; always True."""
        record.msg, record.args = self._hide(record.getMessage()), ()
        if record.exc_info and not record.exc_text:
            record.exc_text = self._hide(logging.Formatter().formatException(record.exc_info))
        return True

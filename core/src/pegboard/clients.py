"""What HTTP clients of packages share: why a connection failed, and logs of the libraries without secrets."""

from __future__ import annotations

import contextlib
import logging
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["causes_of", "masked_http_logs"]

MAX_CAUSES = 50
LOGGERS = ("httpx2", "httpcore2.connection", "httpcore2.http11", "httpcore2.proxy", "httpcore2.socks")
"""Those of httpx2 and below that write addresses, headers and what was sent."""


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
    mask = _Mask(hide)
    loggers = [logging.getLogger(name) for name in LOGGERS]
    for logger in loggers:
        logger.addFilter(mask)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(mask)


class _Mask(logging.Filter):
    def __init__(self, hide: Callable[[str], str]) -> None:
        super().__init__()
        self._hide = hide

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = self._hide(record.getMessage()), ()
        return True

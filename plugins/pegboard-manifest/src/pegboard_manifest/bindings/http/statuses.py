"""Which status of an answer is which error: the binding's own table first, then one for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

CODES = {
    304: ErrorCode.CONFLICT,
    400: ErrorCode.INVALID_INPUT,
    401: ErrorCode.UNAUTHORIZED,
    403: ErrorCode.FORBIDDEN,
    404: ErrorCode.NOT_FOUND,
    408: ErrorCode.TIMEOUT,
    409: ErrorCode.CONFLICT,
    410: ErrorCode.NOT_FOUND,
    412: ErrorCode.CONFLICT,
    422: ErrorCode.INVALID_INPUT,
    429: ErrorCode.RATE_LIMITED,
    504: ErrorCode.TIMEOUT,
}
"""Any other 4xx is INVALID_INPUT, anything else that is not a success UPSTREAM_ERROR.

304 is to a GET what 412 is to a PUT: the condition that the caller set does not hold (RFC 9110, section 13.2.2).
"""
REPEATABLE = frozenset({429, 502, 503, 504})
"""What an idempotent request is sent again after."""


def code_of(status: int, own: Mapping[str, str] | None = None) -> ErrorCode | None:
    """The code of a status; None: a success.

    Args:
        status: of the answer.
        own: the binding's `statuses`; an exact one wins over `4XX`.

    .. versionadded:: 0.1
    """
    if own and (mapped := own.get(str(status)) or own.get(f"{status // 100}XX")):
        return ErrorCode(mapped)
    if 200 <= status < 300:
        return None
    default = ErrorCode.INVALID_INPUT if 400 <= status < 500 else ErrorCode.UPSTREAM_ERROR
    return CODES.get(status, default)

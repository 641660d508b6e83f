"""What an error of the board is in HTTP. A table that the server, its document and its tests read."""

from __future__ import annotations

from pegboard import ErrorCode

STATUS_OF: dict[ErrorCode, int] = {
    ErrorCode.INVALID_INPUT: 400,
    ErrorCode.UNAUTHORIZED: 401,
    ErrorCode.FORBIDDEN: 403,
    ErrorCode.NOT_FOUND: 404,
    ErrorCode.CONFLICT: 409,
    ErrorCode.RATE_LIMITED: 429,
    # 502 and 504 are what proxies and clients take for "may be asked again": what may have been done is a 500.
    ErrorCode.INTERNAL_ERROR: 500,
    ErrorCode.OUTCOME_UNKNOWN: 500,
    ErrorCode.UPSTREAM_ERROR: 502,
    ErrorCode.TIMEOUT: 504,
}

REFUSED_BY_THE_TOOL = 422
"""INVALID_INPUT of arguments that fit the tool's schema: what else is wrong with them only the tool could tell."""

REASONS: dict[int, str] = {
    400: "The arguments do not fit the tool's schema, or the body is not a JSON object.",
    401: "No token, or one that is not known; or the tool needs a user, or other credentials.",
    403: "The caller may not use the tool, or a person would have to confirm it; or the Origin is not served.",
    404: "There is no such tool, or the tool did not find what was asked for.",
    405: "Tools are called by POST.",
    409: "What the tool was asked to change is not in the state that was expected.",
    413: "The body is too long.",
    415: "The body is not application/json.",
    421: "The Host is not served.",
    422: "The arguments fit the schema, and the tool cannot do anything with them.",
    429: "Too many calls; Retry-After says when to come again.",
    500: "The tool failed, or nobody knows whether it did what it was asked to.",
    502: "What the tool reaches answered with an error.",
    503: "Too many calls are in flight, or serving ends.",
    504: "The tool took too long.",
}

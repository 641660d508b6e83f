"""One bounded HTTP client for packages that ask servers which nobody here trusts: pegboard-chat, pegboard-manifest,
pegboard-toolgen and pegboard-mcp.

What every one of them needs is here once; what a failure means to a model or a person is the caller's to say.

- `client.Client` sends a request once and gives an `Answer`, whose body comes a bounded piece at a time, or a
  `Failure`. It raises neither: an exception of the library holds the request, and the credentials in it.
- Nothing is followed, no cookie is kept, no proxy is asked for this very machine, and certificates are verified.
- `Retries` says when the same request is sent again; which ones may be is the caller's to say.

Importing this is light: httpx2 and trio come in with `pegboard_httpclient.client`.

.. versionadded:: 0.1
"""

from pegboard_httpclient.addresses import LOOPBACK, REDIRECTS, redirect_method, redirect_target, shown_location
from pegboard_httpclient.causes import (
    HTTP_LOGGERS,
    Failure,
    Kind,
    LogMask,
    cause_of,
    causes_of,
    failure_of,
    masked_http_logs,
)
from pegboard_httpclient.retries import Retries, retry_after_of

__all__ = [
    "HTTP_LOGGERS",
    "LOOPBACK",
    "REDIRECTS",
    "Failure",
    "Kind",
    "LogMask",
    "Retries",
    "cause_of",
    "causes_of",
    "failure_of",
    "masked_http_logs",
    "redirect_method",
    "redirect_target",
    "retry_after_of",
    "shown_location",
]

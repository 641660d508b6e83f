"""What is sent where a redirect leads (RFC 9110, section 15.4). No I/O.

Followed is what stays on the scheme, host and port of the base URL, a few times, and there only the same address with
or without a slash where the manifest does not say more; nothing else ever is, so that no credential and no argument
reaches anybody whom the manifest does not name.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from pegboard_httpclient import REDIRECTS, redirect_method, redirect_target
from pegboard_manifest.bindings.http.request import Request

MAX_REDIRECTS = 5


def redirected(request: Request, status: int, location: str) -> Request | None:
    """What is sent next; None: the redirect is not followed.

    Args:
        request: that was answered so, without credentials; its origin is that of the base URL.
        status: of the answer.
        location: its header.

    .. versionadded:: 0.1
    """
    target = redirect_target(request.url, location) if status in REDIRECTS else None
    if target is None:
        return None
    method = redirect_method(request.method, status)
    if method == request.method:
        return Request(method, target, request.headers, request.body)
    headers = tuple(pair for pair in request.headers if not pair[0].lower().startswith("content-"))
    return Request(method, target, headers)


def differs_by_slash(one: Request, other: Request) -> bool:
    """Whether two requests ask the same of one address, with a slash at its end and without: what a router that knows
    only one of the two answers with, and no other place."""
    here, there = urlsplit(one.url), urlsplit(other.url)
    return (
        one.method == other.method
        and here._replace(path="") == there._replace(path="")
        and here.path != there.path
        and here.path.removesuffix("/") == there.path.removesuffix("/")
    )

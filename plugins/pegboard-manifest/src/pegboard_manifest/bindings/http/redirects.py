"""Where a redirect leads, and what is sent there (RFC 9110, section 15.4). No I/O.

Followed is what stays on the scheme, host and port of the base URL, a few times; nothing else ever is, so that no
credential and no argument reaches anybody whom the manifest does not name.
"""

from __future__ import annotations

from urllib.parse import quote, urljoin, urlsplit

from pegboard_manifest.bindings.http.base import Base
from pegboard_manifest.bindings.http.request import MAX_URL, Request

MAX_REDIRECTS = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})
_SAFE = "/%:@!$&'()*+,;=~?[]-._|^{}`"


def redirected(request: Request, base: Base, status: int, location: str) -> Request | None:
    """What is sent next; None: the redirect is not followed.

    Args:
        request: that was answered so, without credentials.
        base: whose origin it has to stay on.
        status: of the answer.
        location: its header.

    .. versionadded:: 0.1
    """
    if status not in REDIRECTS or not location or len(location) > MAX_URL or not location.isprintable():
        return None
    if "\\" in location:
        return None
    try:
        url = urljoin(request.url, location.strip())
        parts = urlsplit(url)
        there = Base.of(f"{parts.scheme}://{parts.netloc}")
    except ValueError:
        return None
    if there.origin != base.origin:
        return None
    path = quote(parts.path or "/", safe=_SAFE)
    target = f"{base.origin}{path}?{quote(parts.query, safe=_SAFE)}" if parts.query else f"{base.origin}{path}"
    if len(target) > MAX_URL:
        return None
    method = _method_of(request.method, status)
    if method == request.method:
        return Request(method, target, request.headers, request.body)
    headers = tuple(pair for pair in request.headers if not pair[0].lower().startswith("content-"))
    return Request(method, target, headers)


def _method_of(method: str, status: int) -> str:
    """303 asks for the answer elsewhere; 301 and 302 make a GET of a POST, as all clients do."""
    if (status == 303 and method != "HEAD") or (status in (301, 302) and method == "POST"):
        return "GET"
    return method

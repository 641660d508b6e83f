"""Which addresses are this machine's, and where a redirect leads. No I/O."""

from __future__ import annotations

from urllib.parse import quote, urljoin, urlsplit

__all__ = ["LOOPBACK", "REDIRECTS", "redirect_method", "redirect_target", "shown_location"]

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""The names of this machine: those that mean it on every system, and for which no proxy is asked. Others (127.0.0.2,
localhost.localdomain) may be answered by a proxy or by DNS.

.. versionadded:: 0.1
"""
REDIRECTS = frozenset({301, 302, 303, 307, 308})
"""The statuses that say where else to ask (RFC 9110, section 15.4).

.. versionadded:: 0.1
"""
MAX_URL = 8_000
"""Of a whole URL, in characters: what every server should take (RFC 9110, section 4.1)."""

_SAFE = "/%:@!$&'()*+,;=~?[]-._|^{}`"
_DEFAULT_PORTS = {"http": 80, "https": 443}


def redirect_target(url: str, location: str) -> str | None:
    """Where a redirect or a link leads, on the scheme, host and port of the request.

    Nothing else is ever followed, so that no credential and no argument reaches anybody who was not named. The origin
    is taken from `url`, never from the answer.

    Args:
        url: of the request, absolute.
        location: the answer's header, absolute or relative.

    Returns:
        the next URL, encoded, without a fragment; None: it leads elsewhere, or nowhere.

    .. versionadded:: 0.1
    """
    if not location or len(location) > MAX_URL or not location.isprintable():
        return None
    if "\\" in location:  # a slash to some readers
        return None
    try:
        here, there = urlsplit(url), urlsplit(urljoin(url, location.strip()))
        if there.username is not None or _origin_of(there) != _origin_of(here):
            return None
    except ValueError:
        return None
    query = f"?{quote(there.query, safe=_SAFE)}" if there.query else ""
    target = f"{here.scheme}://{here.netloc}{quote(there.path or '/', safe=_SAFE)}{query}"
    return target if len(target) <= MAX_URL else None


def _origin_of(parts: object) -> tuple[str, str, int | None]:
    """Scheme, host and port (RFC 6454, section 4).

    Raises:
        ValueError: the port is not one.
    """
    scheme, host, port = parts.scheme, parts.hostname, parts.port  # type: ignore[attr-defined]
    return scheme, host or "", _DEFAULT_PORTS.get(scheme) if port is None else port


def redirect_method(method: str, status: int) -> str:
    """The method of the next request: 303 asks for the answer elsewhere; 301 and 302 make a GET of a POST, as all
    clients do. Where it is another one, the body and its headers stay behind.

    .. versionadded:: 0.1
    """
    if (status == 303 and method != "HEAD") or (status in (301, 302) and method == "POST"):
        return "GET"
    return method


def shown_location(location: str) -> str:
    """Where a redirect leads, without what may be secret in it: no user, query or fragment.

    .. versionadded:: 0.1
    """
    try:
        parts = urlsplit(location)
    except ValueError:
        return ""
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" if host else parts.path

"""Where the requests of a server go: its base URL, taken apart, in its normal form, and on a host that is allowed."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import attrs

from pegboard import ErrorCode, Retry, ToolError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

PATH_SAFE = "/%:@!$&'()*+,;=~"
"""What a path holds unencoded beside letters, digits and `-._` (RFC 3986, section 3.3)."""
DOT_SEGMENT = re.compile(r"(?:^|/)(?:\.|%2e){1,2}(?:;[^/]*)?(?=/|$)", re.IGNORECASE)
"""A segment that leads elsewhere once it is resolved (RFC 3986, section 5.2.4), however it is encoded."""
_BASE = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9a-f:.]+\]|[a-z0-9]([a-z0-9._-]*[a-z0-9])?)(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<path>/[^?#\\\s]*)?",
    re.IGNORECASE | re.ASCII,
)
_DEFAULT_PORTS = {"http": 80, "https": 443}


@attrs.frozen
class Base:
    """A base URL, taken apart and in its normal form.

    Args:
        scheme: http or https.
        host: in lower case, an IPv6 address without brackets.
        port: None for the scheme's own.
        path: encoded, without a slash at its end; empty for the root.
    """

    scheme: str
    host: str
    port: int | None
    path: str

    @classmethod
    def of(cls, url: str) -> Self:
        """Take a base URL apart.

        Raises:
            ValueError: it is not valid; the text says what is expected, and does not show the URL.
        """
        found = _BASE.fullmatch(url.strip())
        if found is None:
            raise ValueError("http:// or https://, a host in ASCII and a path; no user, query or fragment")
        scheme, host = found["scheme"].lower(), found["host"].lower().strip("[]")
        if not _is_host(host):
            raise ValueError("a host that is a name or a whole IP address")
        port = int(found["port"]) if found["port"] else None
        if port is not None and not 0 < port < 65_536:
            raise ValueError("a port from 1 to 65535")
        path = quote(found["path"] or "", safe=PATH_SAFE).rstrip("/")
        if DOT_SEGMENT.search(path) or "//" in path or DOT_SEGMENT.search(unquote(path)):
            raise ValueError("a path without dots for segments and without empty ones")
        return cls(scheme, host, None if port == _DEFAULT_PORTS[scheme] else port, path)

    @property
    def netloc(self) -> str:
        """Host and port, as a URL has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """`scheme://host` and the port where it is not the scheme's own (RFC 6454)."""
        return f"{self.scheme}://{self.netloc}"

    def is_among(self, hosts: Iterable[str]) -> bool:
        """Whether the host, or host and port, stands in a list; a host without a port stands for all its ports."""
        port = self.port or _DEFAULT_PORTS[self.scheme]
        host = f"[{self.host}]" if ":" in self.host else self.host
        mine = {self.host, host, f"{host}:{port}"}
        return any(entry.strip().lower() in mine for entry in hosts)


def _is_host(host: str) -> bool:
    """Whether it is a name or a whole address: `127.1` and `2130706433` mean different things to different readers."""
    if ":" not in host and host.strip("0123456789."):
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def base_of(server: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> Base:
    """Where a server's requests go: its base URL, or what the variable `base_url_env` says instead.

    The host of an override is allowed by whoever set the variable; that of the manifest has to stand in
    `allowed_hosts` where there are any.

    Raises:
        ToolError: INTERNAL_ERROR: no base URL; FORBIDDEN: a host that is not allowed.

    .. versionadded:: 0.1
    """
    variable = server.get("base_url_env")
    override = (environ or {}).get(variable, "").strip() if variable else ""
    source = f"the environment variable {variable}" if override else "the manifest's base_url"
    try:
        base = Base.of(override or server["base_url"])
    except ValueError as problem:
        why = str(problem)
    else:
        hosts = server.get("allowed_hosts")
        if override or hosts is None or base.is_among(hosts):
            return base
        raise ToolError(
            ErrorCode.FORBIDDEN,
            f"{base.netloc} is not among the hosts that the manifest allows; add it to allowed_hosts",
            reason="host",
        )
    raise ToolError(
        ErrorCode.INTERNAL_ERROR,
        f"{source} is not a base URL: it has to be {why}",
        reason="base_url",
        retry=Retry.NEVER.value,
    )

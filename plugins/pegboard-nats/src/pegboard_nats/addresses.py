"""Addresses of NATS servers, as `servers` names them. Light: every start with such a setting reads it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from pegboard import PluginError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Address:
    """One server of the list.

    Raises:
        PluginError: it is not an address of NATS.
    """

    def __init__(self, url: str, *, like: Address | None = None) -> None:
        try:
            parts = urlsplit(url if "://" in url else f"nats://{url}")
            self.host, self.port = parts.hostname or "", parts.port or 4222
        except ValueError:
            parts, self.host, self.port = urlsplit("nats:"), "", 0
        if not self.host or parts.scheme not in ("nats", "tls") or parts.path.strip("/"):
            shown = re.sub(r"(?s)^([a-z]+://)?.*@", r"\1", url, flags=re.IGNORECASE)[:80]  # also of what is odd
            raise PluginError(f"{shown!r} is not an address of a NATS server", hint="write nats://HOST:4222")
        self.needs_tls: bool = parts.scheme == "tls" if like is None else like.needs_tls
        # A server found by another is in its certificate by the name that we know, or by its own.
        self.certified: str = self.host if like is None else like.certified
        self.options: Mapping[str, str] = {} if like is None else like.options
        if parts.password is not None:
            self.options = {"user": unquote(parts.username or ""), "pass": unquote(parts.password)}
        elif parts.username:
            self.options = {"auth_token": unquote(parts.username)}

    def __repr__(self) -> str:
        return f"{'tls' if self.needs_tls else 'nats'}://{self.host}:{self.port}"

"""The settings of pegboard-http: `[plugins.http]`. Every board imports this module: nothing heavy is imported here."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - the types of fields are looked up at run time

import attrs

from pegboard import setting
from pegboard.config import above_zero, body_bytes, not_negative
from pegboard.limits import REQUEST_BYTES
from pegboard_serving import TokenSettings  # noqa: TC001 - the types of fields are looked up at run time


@attrs.frozen(kw_only=True)
class HttpSettings:
    """`[plugins.http]`.

    .. versionadded:: 0.1
    """

    tokens: Mapping[str, str | TokenSettings] = setting(
        factory=dict, secret=True, widens=True, help="bearer tokens to users"
    )
    allowed_hosts: tuple[str, ...] = setting((), widens=True, help="values of Host that are served beside loopback's")
    allowed_origins: tuple[str, ...] = setting((), widens=True, help="values of Origin that are served")
    max_body_bytes: int = setting(
        REQUEST_BYTES, stricter="lower", validator=body_bytes, help="the longest request that is read, in bytes"
    )
    max_calls: int = setting(256, stricter="lower", validator=above_zero, help="calls that may be in flight at once")
    stop_timeout_s: float = setting(
        10.0,
        stricter="lower",
        validator=not_negative,
        help="how long calls in flight may go on when serving ends, in seconds",
    )

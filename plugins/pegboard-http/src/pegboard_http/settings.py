"""The settings of pegboard-http: `[plugins.http]`. Every board imports this module: nothing heavy is imported here."""

from __future__ import annotations

import math
from collections.abc import Mapping  # noqa: TC003 - the types of fields are looked up at run time
from typing import Any

import attrs

from pegboard import setting
from pegboard.limits import LEAST_BODY_BYTES, MOST_BODY_BYTES, REQUEST_BYTES
from pegboard_serving import TokenSettings  # noqa: TC001 - the types of fields are looked up at run time


def _body_bytes(_: Any, field: attrs.Attribute[Any], value: int) -> None:
    if not LEAST_BODY_BYTES <= value <= MOST_BODY_BYTES:
        raise ValueError(f"a number of bytes from {LEAST_BODY_BYTES} to {MOST_BODY_BYTES}")


def _positive(_: Any, field: attrs.Attribute[Any], value: int) -> None:
    if value < 1:
        raise ValueError("a number above zero")


def _not_negative(_: Any, field: attrs.Attribute[Any], value: float) -> None:
    if not 0 <= value < math.inf:
        raise ValueError("a number not below zero")


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
        REQUEST_BYTES, stricter="lower", validator=_body_bytes, help="the longest request that is read, in bytes"
    )
    max_calls: int = setting(256, stricter="lower", validator=_positive, help="calls that may be in flight at once")
    stop_timeout_s: float = setting(
        10.0,
        stricter="lower",
        validator=_not_negative,
        help="how long calls in flight may go on when serving ends, in seconds",
    )

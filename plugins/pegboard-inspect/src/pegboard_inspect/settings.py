"""The settings of pegboard-inspect: `[plugins.inspect]`. Every board imports this module: nothing heavy is here."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - the types of fields are looked up at run time

import attrs

from pegboard import setting
from pegboard_serving import TokenSettings  # noqa: TC001 - the types of fields are looked up at run time


@attrs.frozen(kw_only=True)
class InspectSettings:
    """`[plugins.inspect]`.

    .. versionadded:: 0.1
    """

    host: str = setting(
        "127.0.0.1",
        widens=True,
        help="where to listen; beyond this machine `tokens` and `tls_cert` are required",
    )
    tls_cert: str | None = setting(
        None, widens=True, beside_file=True, help="the file of the certificate and those above it, PEM"
    )
    tls_key: str | None = setting(None, widens=True, beside_file=True, help="the file of its private key, PEM")
    tokens: Mapping[str, str | TokenSettings] = setting(
        factory=dict, secret=True, widens=True, help="tokens that let browsers in, to users"
    )
    allowed_hosts: tuple[str, ...] = setting((), widens=True, help="values of Host that are served beside loopback's")

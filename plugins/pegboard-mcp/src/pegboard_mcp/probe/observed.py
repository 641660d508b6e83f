"""What a server did in its sandbox while it was looked at: whom it wanted to reach, and which files it looked for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from pegboard_confine.learning import Learned

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Observed", "check_of"]

_KEYS = re.compile(
    r"/\.(?:ssh|gnupg|git-credentials|password-store)\b|/id_(?:rsa|dsa|ecdsa|ed25519)\b|wallet|/(?:Cookies|Login Data)$"
    r"|/\.\w*_history$"
)
_OF_SERVICES = re.compile(r"/\.(?:aws|azure|kube|docker|config/gcloud)\b|/\.env$|credential")


@attrs.define
class Observed(Learned):
    """As `Learned`, and nobody is let through."""

    lets_out: bool = False

    def hosts(self) -> Iterator[str]:
        """Whom it wanted to reach, as `HOST` or `HOST:PORT`."""
        for one in () if self.relay is None else self.relay.refused:
            yield one.host if one.port is None else f"{one.host}:{one.port}"

    def files(self) -> tuple[str, ...]:
        """Which files it looked for outside of what it was given; blocks."""
        self.read_trace()
        return (*self.wanted.refused, *self.wanted.read, *self.wanted.write, *self.wanted.wide)


def check_of(file: str) -> str:
    """The check that a file which it looked for belongs to. What package managers and shells look for in every home
    (`.npmrc`, `.netrc`, `.profile`) is like any other."""
    if _KEYS.search(file):
        return "opens-keys"
    return "opens-credentials" if _OF_SERVICES.search(file) else "opens-files"

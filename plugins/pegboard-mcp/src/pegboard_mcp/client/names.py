"""How the names of a server's tools stand on the board: `[A-Za-z0-9_-]`, at most 64 characters, as all providers take.

A name is its prefix and itself, with every other character replaced by `-`. That is ambiguous in two ways, and both
are resolved by a few digits of a hash of the configured server name and the tool's own: of two names that become one
(`a.b` and `a/b`) and of a name that is too long. So a name on the board follows from configuration and content alone,
never from an order, a counter or the time a server started, and no tool that is added or taken away renames another,
unless the two want one name. The way back is the mapping itself, which is one to one.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_NAME = 64
DIGITS = 8
"""How much of the hash stands in an alias."""

_OTHERS = re.compile(r"[^A-Za-z0-9_-]")


def board_names(names: Iterable[str], *, prefix: str | None, server: str) -> dict[str, str]:
    """The name on the board of each of a server's tools: one to one, whatever their order.

    Args:
        names: the server's own.
        prefix: the configured one, put before each name; None: nothing.
        server: the configured name of the server.

    .. versionadded:: 0.1
    """
    wanted = {name: plain_name(name, prefix) for name in sorted(set(names))}
    claims = Counter(wanted.values())
    named = {
        name: want
        for name, want in wanted.items()
        if len(want) <= MAX_NAME and (claims[want] == 1 or want == (prefix or "") + name)
    }
    taken = set(named.values())
    for name, want in wanted.items():
        if name not in named:
            named[name] = _free_alias(want, name, server, taken)
            taken.add(named[name])
    return named


def plain_name(name: str, prefix: str | None = None) -> str:
    """The name with its prefix, every character that is not of `[A-Za-z0-9_-]` replaced by `-`."""
    return _OTHERS.sub("-", f"{prefix or ''}{name}") or "-"


def qualified_name(name: str, *, prefix: str | None = None, server: str) -> str:
    """The name behind that of its server, `files-read`: for one that another source has on the board already.

    .. versionadded:: 0.1
    """
    want = plain_name(f"{server}-{prefix or ''}{name}")
    return want if len(want) <= MAX_NAME else _alias(want, name, server)


def _free_alias(want: str, name: str, server: str, taken: set[str]) -> str:
    salts = count()
    while (alias := _alias(want, name, server, next(salts))) in taken:
        pass  # somebody named a tool after this very alias
    return alias


def _alias(want: str, name: str, server: str, salt: int = 0) -> str:
    told = f"{server}\0{name}\0{salt or ''}".encode("utf-8", "surrogatepass")
    return f"{want[: MAX_NAME - 1 - DIGITS]}-{hashlib.sha256(told).hexdigest()[:DIGITS]}"

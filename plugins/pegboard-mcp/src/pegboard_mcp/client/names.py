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
from collections.abc import Mapping
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_NAME = 64
DIGITS = 8
"""How much of the hash stands in an alias."""

_OTHERS = re.compile(r"[^A-Za-z0-9_-]")


def board_names(names: Iterable[str] | Mapping[str, str], *, prefix: str | None, server: str) -> dict[str, str]:
    """The name on the board of each of a server's tools: one to one, whatever their order.

    Args:
        names: the server's own; or by key, where two things may have one name: of those the last key has it as it is.
        prefix: the configured one, put before each name; None: nothing.
        server: the configured name of the server.

    .. versionadded:: 0.1
    """
    own = names if isinstance(names, Mapping) else {name: name for name in names}
    wanted = {key: plain_name(own[key], prefix) for key in sorted(own)}
    claims = Counter(wanted.values())
    exact = {
        want: key
        for key, want in wanted.items()
        if len(want) <= MAX_NAME and (claims[want] == 1 or want == (prefix or "") + own[key])
    }
    named = {key: want for want, key in exact.items()}
    taken = set(exact)
    for key, want in wanted.items():
        if key not in named:
            named[key] = _free_alias(want, own[key], server, taken)
            taken.add(named[key])
    return named


def plain_name(name: str, prefix: str | None = None) -> str:
    """The name with its prefix, every character that is not of `[A-Za-z0-9_-]` replaced by `-`."""
    plain = _OTHERS.sub("-", f"{prefix or ''}{name}") or "-"
    return name if plain == name else plain  # nearly always, and then it is one text


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

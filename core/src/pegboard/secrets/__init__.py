"""Keys and passwords that must not go to models and servers they do not belong to.

`shapes` knows how keys of well-known services look; `texts` changes every text of a result; `mask` replaces those keys,
and every secret that this host knows, in results on their way to a model and in arguments on their way to somebody
else's server. `[secrets]` says which tools are let through. Nothing of it is imported before a first such call.

.. versionadded:: 0.1
"""

from __future__ import annotations

__all__ = ["note_change", "note_known"]

changes = 0
"""How often secrets of a source changed since the process began."""


def note_change() -> None:
    """Have every board ask anew which values are secrets, since those of a source (`ToolSource.secrets`) are others
    than they were, as after a login.

    .. versionadded:: 0.1
    """
    global changes
    changes += 1


known: dict[str, None] = {}
"""Values that nobody configured, and that this process came to know, the newest last."""
MAX_KNOWN = 1_000


def note_known(*values: str) -> None:
    """Have every board know values as secrets from now on that stand in no configuration and no variable, as a key out
    of the system's keyring.

    .. versionadded:: 0.1
    """
    for value in values:
        if value not in known:
            known[value] = None
            note_change()
    while len(known) > MAX_KNOWN:
        del known[next(iter(known))]

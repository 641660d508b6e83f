"""The settings of pegboard-audit: `[plugins.audit_db]`, and the file that they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import attrs

from pegboard import setting

if TYPE_CHECKING:
    from pathlib import Path

FILE_NAME = "audit.sqlite3"


def _above_zero(_: Any, field: attrs.Attribute[Any], value: float) -> None:
    if not 0 < value < 1e6:
        raise ValueError("a number above zero, below a million")


@attrs.frozen(kw_only=True, eq=False, repr=False)  # every board makes it: no methods that nobody calls
class AuditDbSettings:
    """`[plugins.audit_db]`. What a discovered file says of it holds once it is trusted: it could hide what was called.

    .. versionadded:: 0.1
    """

    enabled: bool = setting(True, widens=True, help="write calls down; reading needs no setting")
    file: str | None = setting(
        None,
        widens=True,
        beside_file=True,
        help="the SQLite file; by default audit.sqlite3 in the user's state folder, which all processes share",
    )
    days: float = setting(30.0, widens=True, validator=_above_zero, help="calls that are older are removed, in days")
    megabytes: float = setting(
        100.0, widens=True, validator=_above_zero, help="where the file is larger, the oldest calls are removed, in MB"
    )
    arguments: bool = setting(False, widens=True, help="keep the arguments of every call too, secrets masked")
    fails: Literal["open", "closed"] = setting(
        "open", widens=True, help="while calls cannot be written down: open lets them run, closed refuses them"
    )


def file_of(settings: AuditDbSettings | None = None) -> Path:
    """The file that the settings mean, absolute, whether it is there or not.

    .. versionadded:: 0.1
    """
    from pathlib import Path

    from pegboard.config import user_folder

    if settings is None or settings.file is None:
        return user_folder("state") / FILE_NAME
    return Path(settings.file).absolute()

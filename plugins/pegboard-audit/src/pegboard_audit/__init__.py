"""What was called on the boards of a user, by all of their processes: kept in one SQLite file, and read from it.

Installing the package is what switches it on: every host of the environment writes its calls. `pegboard audit` reads
them. A program of your own does so with `AuditReader`, and hears new ones of every process with `follow`:

    with AuditReader() as reader:
        for call in reader.calls(CallQuery(since=time.time() - 3600, failed=True)):
            print(call.name, call.code)

Each name is imported when it is asked for.

.. versionadded:: 0.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard.starting import lazy_names

if TYPE_CHECKING:
    from pegboard_audit._calls import CallQuery, CallRecord
    from pegboard_audit._errors import AuditError
    from pegboard_audit._families import CallInTree
    from pegboard_audit._figures import CallFigures
    from pegboard_audit.following import follow
    from pegboard_audit.reading import AuditReader
    from pegboard_audit.settings import AuditDbSettings, file_of

__all__ = [
    "AuditDbSettings",
    "AuditError",
    "AuditReader",
    "CallFigures",
    "CallInTree",
    "CallQuery",
    "CallRecord",
    "file_of",
    "follow",
]

__getattr__ = lazy_names(
    __name__,
    {
        "._calls": ("CallQuery", "CallRecord"),
        "._errors": ("AuditError",),
        "._families": ("CallInTree",),
        "._figures": ("CallFigures",),
        ".following": ("follow",),
        ".reading": ("AuditReader",),
        ".settings": ("AuditDbSettings", "file_of"),
    },
)

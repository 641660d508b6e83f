"""What `pegboard doctor` says of the audit: where calls are written down, and what keeps them from being so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import Finding
from pegboard.config import write_hint, write_problem
from pegboard_audit._errors import AuditError
from pegboard_audit.reading import AuditReader
from pegboard_audit.settings import file_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pegboard_audit.settings import AuditDbSettings

WHERE = "[plugins.audit_db]"


def findings(settings: AuditDbSettings) -> Iterator[Finding]:
    """Where the audit goes, and everything that is or will be wrong with it; nothing is changed and nothing made."""
    if not settings.enabled:
        return
    path = file_of(settings)
    try:
        with AuditReader(path) as reader:
            reader.last_seq()
    except AuditError as problem:
        yield Finding("calls are not written down", WHERE, problem.message, problem.hint or "look at the file")
        return
    if settings.file is not None and not path.parent.is_dir():
        why, fix = f"the folder {path.parent} does not exist", "make the folder, or name another file"
        yield Finding("calls are not written down", WHERE, why, fix)
    elif (refused := write_problem(path)) is not None:
        fix = write_hint(refused, "let this user write it and its folder, or name another file")
        yield Finding("calls are not written down", WHERE, f"{path} cannot be written: {refused.strerror}", fix)
    else:
        kept = f"in {path}, for {settings.days:g} days or up to {settings.megabytes:g} MB"
        fix = "nothing; pegboard audit shows them, enabled = false writes none"
        yield Finding("calls are written down", WHERE, kept, fix, "note")

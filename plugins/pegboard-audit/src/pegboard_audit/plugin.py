"""The hooks of pegboard-audit. Nothing here imports SQLite: the first call of a host does, and `pegboard audit`."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from pegboard import hookimpl

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable
    from contextlib import AbstractAsyncContextManager

    import click

    from pegboard import Finding, Guard, Observer, Outcome, Session, Tool, ToolError
    from pegboard_audit._writer import AuditWriter
    from pegboard_audit.settings import AuditDbSettings

name = "audit_db"
"""`audit` is the core's own plugin, which writes JSON Lines."""

OPEN_S = 5.0
"""How long a host with `fails = "closed"` waits until it is known whether calls can be written, in seconds."""


@hookimpl
def provide_settings() -> type[AuditDbSettings]:
    """`enabled`, `file`, `days`, `megabytes`, `arguments`, `fails`."""
    from pegboard_audit.settings import AuditDbSettings

    return AuditDbSettings


class Audit:
    """The writer of one host, which begins with its first call: a board that calls nothing makes no file.

    Args:
        settings: of the plugin.
    """

    def __init__(self, settings: AuditDbSettings) -> None:
        self._settings = settings
        self._writer: AuditWriter | None = None

    def writer(self) -> AuditWriter:
        """The writer; its thread is started where it is asked for first."""
        if self._writer is None:
            from pegboard_audit._writer import AuditWriter

            self._writer = AuditWriter(self._settings)
        return self._writer

    def record(self, outcome: Outcome) -> None:
        """Note one call; never waits."""
        (self._writer or self.writer()).record(outcome)

    def refusal(self) -> ToolError | None:
        """Why no call may run now, since none could be written down."""
        trouble = self.writer().trouble
        if trouble is None:
            return None
        from pegboard import ErrorCode, ToolError

        why = "calls cannot be written down now, and without that none is allowed here"
        return ToolError(ErrorCode.FORBIDDEN, why, reason="audit", cause=trouble.reason, retry="same", retry_after_s=1)

    def close(self) -> None:
        """Write what is left; blocks, for a bounded time."""
        if self._writer is not None:
            self._writer.close()


@hookimpl
def open_resources(settings: AuditDbSettings) -> AbstractAsyncContextManager[Audit] | None:
    """The writer, unless `enabled = false`."""
    return _open_audit(settings) if settings.enabled else None


@contextlib.asynccontextmanager
async def _open_audit(settings: AuditDbSettings) -> AsyncIterator[Audit]:
    import trio

    audit = Audit(settings)
    if settings.fails == "closed":
        await trio.to_thread.run_sync(audit.writer().tried.wait, OPEN_S)
    try:
        yield audit
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(audit.close)


@hookimpl
def provide_observers(settings: AuditDbSettings) -> list[Observer]:
    """Hear every outcome, unless `enabled = false`."""
    return [lambda outcome: outcome.session.resource(Audit).record(outcome)] if settings.enabled else []


@hookimpl
def make_guards(tool: Tool, settings: AuditDbSettings) -> Iterable[Guard]:
    """Refuse calls that could not be written down, where `fails = "closed"`; else nothing."""
    if not settings.enabled or settings.fails != "closed":
        return []
    from pegboard import Guard, Stage

    def check(session: Session) -> ToolError | None:
        return session.resource(Audit).refusal()

    return [Guard(name, Stage.ADMIT, check)]


@hookimpl
def provide_checks(settings: AuditDbSettings) -> Iterable[Callable[[Any], Iterable[Finding]]]:
    """Where calls are written down, and whether they can be."""

    def findings(board: Any) -> Iterable[Finding]:
        from pegboard_audit._checks import findings

        return findings(settings)

    return [findings]


@hookimpl
def register_commands(cli: click.Group) -> None:
    """`audit`."""
    from pegboard_audit._command import audit

    cli.add_command(audit)

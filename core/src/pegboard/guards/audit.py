"""The audit: one JSON line a call, whatever became of it.

    {"time", "request_id", "session", "channel", "user_id", "tool", "duration_ms", "status", "error", "guards"}

`error` is `{"code", "reason"}` or null; `guards` holds each guard's verdict and microseconds. Arguments are written
only where `[plugins.audit] arguments = true`, without secrets (`pegboard.secrets.written`). Lines are written
by a thread of their own, so that a slow disk never holds the loop; whoever ends the host waits until all are out, for
`CLOSE_S` at most.

.. versionadded:: 0.1
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs

from pegboard._values import Value
from pegboard.config import open_private, setting, write_hint
from pegboard.errors import ConfigError
from pegboard.hookspecs import hookimpl
from pegboard.text import visible_json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from pegboard.contract import Observer, Outcome

__all__ = ["AuditSettings", "hidden_in", "shown_arguments", "shown_question"]

log = logging.getLogger("pegboard.audit")

MAX_NAME = 200
MAX_ARGUMENTS = 10_000
"""Longer arguments are cut, in characters of their JSON."""
MAX_WAITING = 20_000
"""Lines that wait while the file cannot be written, about 20 MB; those that come then are counted and lost."""
MAX_BATCH = 500
"""Lines of one write."""
CLOSE_S = 3.0
"""How long the end of a host waits for what is not yet written, in seconds."""


@attrs.frozen(eq=False, repr=False)
class AuditSettings(Value):
    """`[plugins.audit]`.

    .. versionadded:: 0.1
    """

    file: str | None = setting(
        None, widens=True, help="where the lines go: a file to append to, or - for stderr; nothing: no audit"
    )
    arguments: bool = setting(False, widens=True, help="write the arguments of every call too")


class AuditLog:
    """Takes outcomes from the loop, writes lines from its own thread.

    Args:
        file: where to; None: stderr.
        arguments: whether lines have those of the call.
    """

    def __init__(self, file: _File | None, *, arguments: bool) -> None:
        self._file = file
        self._arguments = arguments
        self._texts: list[str] = []
        self._is_failing = False
        # Lines: those that came and that the loop dropped; what became of the others; how many were said to be missing.
        self._noted = self._dropped = 0
        self._written = self._failed = 0
        self._told = 0
        from queue import SimpleQueue  # every board loads this module, and few write an audit

        self._lines: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="pegboard-audit", daemon=True)
        self._thread.start()

    def record(self, outcome: Outcome) -> None:
        """Note one call; never waits. Where too many wait to be written, it is missing."""
        self._noted += 1
        if self._lines.qsize() < MAX_WAITING:
            self._lines.put(line_of(outcome, arguments=self._arguments))
        else:
            self._dropped += 1

    def close(self) -> None:
        """Write what is left, then end the thread; blocks until both are done, for `CLOSE_S` at most."""
        self._lines.put(None)
        self._thread.join(CLOSE_S)  # a disk that hangs holds the thread, and nobody else
        if missing := self._noted - self._written - self._told:
            log.error("calls that are missing in the audit: %d", missing)

    def _run(self) -> None:
        for line in iter(self._lines.get, None):
            self._failed += not self._try(lambda line=line: self._texts.append(_text_of(line)))  # type: ignore[misc]
            if self._lines.empty() or len(self._texts) >= MAX_BATCH:
                self._write()
        self._write()
        if self._file is not None:
            self._try(self._file.close)

    def _write(self) -> None:
        texts = self._texts
        if not texts:
            return
        is_written = self._try(lambda: self._put("".join(texts)))
        self._texts = []
        if not is_written:
            self._failed += len(texts)
            return
        self._written += len(texts)
        missing = self._dropped + self._failed - self._told
        if missing and (self._is_failing or self._lines.empty()):
            self._told += missing
            log.warning("the audit is written again; calls that are missing in it: %d", missing)
        self._is_failing = False

    def _put(self, text: str) -> None:
        if self._file is not None:
            self._file.write(text)
        else:
            sys.stderr.write(text)
            sys.stderr.flush()

    def _try(self, act: Callable[[], object]) -> bool:
        try:
            act()
        except Exception as problem:  # noqa: BLE001 - a full disk, or a line that is not JSON: the next one may do
            if not self._is_failing:  # said once, and not for every call
                why = getattr(problem, "strerror", None) or "a line that cannot be written"
                log.error("the audit could not be written: %s (%s); calls go on", type(problem).__name__, why)  # noqa: TRY400 - no traceback
            self._is_failing = True
            return False
        return True


class _File:
    """A file that lines are appended to, by one thread.

    Whole lines go out by one `write`, so that those of other processes stand between them and not within. Where the
    file was moved away or removed it is opened afresh, as `logging.handlers.WatchedFileHandler` does for logrotate.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._is_torn = path, False
        self._number = self._open()

    def _open(self) -> int:
        at_once = getattr(os, "O_NONBLOCK", 0)  # a pipe that nobody reads is an error then, and no wait
        number = open_private(self._path, os.O_WRONLY | os.O_APPEND | at_once)
        if at_once:
            os.set_blocking(number, True)
        return number

    def write(self, text: str) -> None:
        """Append lines. What no UTF-8 can carry is written as JSON would escape it.

        Raises:
            OSError: they could not be written, or not all of them.
        """
        if not self._is_there():
            before, self._number = self._number, self._open()
            self._is_torn = False
            os.close(before)
        # After half a line, which a full disk leaves, the next one begins on a line of its own.
        # `O_APPEND`: each write goes to the end as the file is then, whoever else writes to it (POSIX, write).
        data = b"\n" * self._is_torn + text.encode("utf-8", "backslashreplace")
        while data:
            count = os.write(self._number, data)
            self._is_torn, data = data[count - 1 : count] != b"\n", data[count:]

    def _is_there(self) -> bool:
        try:
            return os.path.samestat(os.stat(self._path), os.fstat(self._number))  # noqa: PTH116 - of a descriptor too
        except OSError:
            return False

    def close(self) -> None:
        os.close(self._number)


def _text_of(line: dict[str, Any]) -> str:
    return visible_json(json.dumps(line, ensure_ascii=False, default=str)) + "\n"  # arguments are as they came


def line_of(outcome: Outcome, *, arguments: bool = False) -> dict[str, Any]:
    """The line of one call."""
    error = None if outcome.result is None else outcome.result.error
    details = {} if error is None else error.details
    line: dict[str, Any] = {
        "time": datetime.fromtimestamp(outcome.started_at, UTC).isoformat(timespec="milliseconds"),
        "request_id": outcome.call.id,
        "session": outcome.session.id,
        "channel": outcome.session.channel,
        "user_id": outcome.session.user_id,
        "tool": _shown_name(outcome.call.name),
        "duration_ms": round(outcome.duration_ms, 3),
        "status": outcome.status,
        "error": None if error is None else {"code": error.code.value, "reason": details.get("reason")},
        "guards": [
            {
                "guard": verdict.guard,
                "stage": verdict.stage.value,
                "verdict": verdict.verdict,
                "us": verdict.duration_us,
            }
            for verdict in outcome.verdicts
        ],
    }
    if details.get("still_running"):
        line["still_running"] = True
    if arguments:
        line["arguments"] = shown_arguments(outcome)
    return line


def _shown_name(name: Any) -> str | None:
    return name[:MAX_NAME] if isinstance(name, str) else None


def shown_arguments(outcome: Outcome) -> Any:
    """The arguments of a call as an audit may keep them, a JSON value: without what is `hidden_in` it and what looks
    like a secret; what is longer than `MAX_ARGUMENTS` is a text that is cut, and what is not JSON is named by its
    type.

    .. versionadded:: 0.1
    """
    from pegboard.secrets.written import beginning, without_secrets

    arguments = outcome.call.arguments
    try:
        is_whole = len(json.dumps(arguments, ensure_ascii=False)) <= MAX_ARGUMENTS
        kept = arguments if is_whole else beginning(arguments, 2 * MAX_ARGUMENTS)  # so that no secret is cut in two
        text = json.dumps(without_secrets(kept, hidden_in(outcome)), ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):  # nothing that JSON brought
        return f"arguments that are not JSON, of the type {type(arguments).__name__}"
    return json.loads(text) if is_whole else text[:MAX_ARGUMENTS] + "..."


def shown_question(outcome: Outcome, question: str) -> str:
    """A question of `Verdict.asked`, which may quote arguments, as whoever keeps those may keep it.

    .. versionadded:: 0.1
    """
    from pegboard.secrets.written import text_without_secrets

    text = text_without_secrets(question[: 2 * MAX_ARGUMENTS], hidden_in(outcome))
    return text if len(text) <= MAX_ARGUMENTS else text[:MAX_ARGUMENTS] + "..."


def hidden_in(outcome: Outcome) -> tuple[str, ...]:
    """What nobody keeps of a call, the longest first: what the secrets that its tool declares are just now, and what
    the host knows as secrets, in each form in which that may stand in a text.

    .. versionadded:: 0.1
    """
    names = () if outcome.tool is None else outcome.tool.secrets
    declared = filter(None, (os.environ.get(name, "") for name in names))
    return tuple(sorted({*declared, *outcome.session.host.board.known_forms()}, key=len, reverse=True))


@hookimpl
def provide_settings() -> type[AuditSettings]:
    """`[plugins.audit]`."""
    return AuditSettings


@hookimpl
def open_resources(settings: AuditSettings) -> AbstractAsyncContextManager[AuditLog] | None:
    """The writer, where an audit is asked for."""
    return None if settings.file is None else _open_log(settings)


@contextlib.asynccontextmanager
async def _open_log(settings: AuditSettings) -> AsyncIterator[AuditLog]:
    from pathlib import Path

    import trio

    file: _File | None = None
    if settings.file != "-":
        try:
            file = await trio.to_thread.run_sync(_File, Path(str(settings.file)))
        except (OSError, ValueError) as problem:
            why = getattr(problem, "strerror", None) or "no path that could be opened"
            raise ConfigError(
                f"the audit's file {settings.file} cannot be written: {why}",
                hint=write_hint(problem, "name a file that can be appended to, or - for stderr"),
            ) from problem
    audit = AuditLog(file, arguments=settings.arguments)
    try:
        yield audit
    finally:
        # A host that is cancelled writes what it has noted all the same; `CLOSE_S` bounds that.
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(audit.close)


@hookimpl
def provide_observers(settings: AuditSettings) -> list[Observer]:
    """Hear every outcome, where an audit is asked for."""
    return [] if settings.file is None else [lambda outcome: outcome.session.resource(AuditLog).record(outcome)]

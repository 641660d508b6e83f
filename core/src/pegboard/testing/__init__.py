"""For those who publish tools: assertions, a recording session, and (as a pytest plugin) fixtures.

    async def test_it_adds(host_with):
        host = await host_with(my_plugin)
        recorded = record(host)
        assert_ok(await recorded.call("add", {"a": 1, "b": 2}), text="3.0")

`pegboard check` is the gate before a release, `pegboard new plugin` makes a package that passes it.

.. versionadded:: 0.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from pegboard.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pegboard.host import Host
    from pegboard.results import ToolResult
    from pegboard.session import Confirmation, Session

_UNSAID: Any = object()


def assert_ok(result: ToolResult, *, text: str | None = None, data: Any = _UNSAID) -> ToolResult:
    """Require that a call succeeded, and what it showed where that is said; returns the result.

    Args:
        result: what the call answered.
        text: the whole text it has to show.
        data: the data it has to carry.

    Raises:
        AssertionError: with the error that the call answered instead, its details included.

    .. versionadded:: 0.1
    """
    __tracebackhide__ = True
    if result.error is not None:
        raise AssertionError(f"{result.name} answered {result.error!r}, details {result.error.details}")
    if text is not None and result.text != text:
        raise AssertionError(f"{result.name} showed {result.text!r}, expected {text!r}")
    if data is not _UNSAID and result.data != data:
        raise AssertionError(f"{result.name} carried {result.data!r}, expected {data!r}")
    return result


def assert_error(result: ToolResult, code: ErrorCode | str, *, reason: str | None = None, says: str = "") -> ToolResult:
    """Require that a call failed, and how; returns the result.

    Args:
        result: what the call answered.
        code: the code it has to have.
        reason: `details["reason"]`, where it has to be a certain one.
        says: a part of the message.

    Raises:
        AssertionError: it succeeded, or failed otherwise.

    .. versionadded:: 0.1
    """
    __tracebackhide__ = True
    error = result.error
    if error is None:
        raise AssertionError(f"{result.name} succeeded with {result.text!r}, expected {ErrorCode(code)}")
    if error.code != ErrorCode(code) or (reason is not None and error.details.get("reason") != reason):
        raise AssertionError(
            f"{result.name} answered {error!r}, details {error.details}, expected {code} {reason or ''}"
        )
    if says not in error.message:
        raise AssertionError(f"{result.name} said {error.message!r}, expected {says!r} in it")
    return result


@attrs.define(eq=False)
class RecordingSession:
    """A session that notes every answer, every question and every progress; made by `record`.

    Args:
        results: what calls answered, in their order.
        asked: what a person was asked.
        progress: what was reported: call id, done, total, message.

    .. versionadded:: 0.1
    """

    results: list[ToolResult] = attrs.field(factory=list)
    asked: list[Confirmation] = attrs.field(factory=list)
    progress: list[tuple[str, float, float | None, str | None]] = attrs.field(factory=list)
    _answers: list[bool | str] = attrs.field(factory=list)
    session: Session = attrs.field(init=False, repr=False)

    async def call(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, timeout_s: float | None = None
    ) -> ToolResult:
        """Call a tool as the session, and note the answer."""
        result = await self.session.call(name, arguments, timeout_s=timeout_s)
        self.results.append(result)
        return result

    async def _confirm(self, question: Confirmation) -> bool | str:
        self.asked.append(question)
        return self._answers.pop(0) if self._answers else False

    async def _on_progress(self, call_id: str, done: float, total: float | None, message: str | None) -> None:
        self.progress.append((call_id, done, total, message))


def record(
    host: Host, *, user_id: str | None = None, profile: str | None = None, answers: Iterable[bool | str] = ()
) -> RecordingSession:
    """A recording session on a host.

    Args:
        host: whose tools are called.
        user_id: who calls.
        profile: which tools they see.
        answers: what the person says when asked, one after the other; then no.

    .. versionadded:: 0.1
    """
    recording = RecordingSession(answers=list(answers))
    recording.session = host.session(
        user_id, channel="test", profile=profile, confirm=recording._confirm, on_progress=recording._on_progress
    )
    return recording


__all__ = ["RecordingSession", "assert_error", "assert_ok", "record"]

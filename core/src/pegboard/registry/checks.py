"""Checks of plugins for doctor, asked so that what fails, hangs or answers rubbish stays with its plugin."""

from __future__ import annotations

import functools
import itertools
import threading
from typing import TYPE_CHECKING, Any

from pegboard.contract import Finding
from pegboard.errors import reason_of
from pegboard.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from pegboard.protocols import Board

CHECK_S = 10.0
"""How long a check of doctor may take, in seconds, unless it says otherwise (`timeout_s`)."""
MAX_FINDINGS = 1_000
MAX_TEXT = 2_000
SEVERITIES = ("error", "warning", "note")


def ask_checks(make: Callable[[], Any], board: Board, label: str) -> list[Finding]:
    """Ask a plugin for its checks, and each check for its findings; what fails, hangs or answers rubbish is itself a
    finding that names the plugin."""
    where = f"plugin {label}"
    checks, why = _in_time(lambda: list(itertools.islice(make() or (), MAX_FINDINGS)), CHECK_S)
    if why is not None:
        return [_failed(where, why)]
    found: list[Finding] = []
    for check in checks:
        answers, why = _in_time(functools.partial(_findings_of, check, board), _limit_of(check))
        if why is not None:
            found.append(_failed(where, why))
            continue
        found += [readable(one) for one in answers if _is_finding(one)]
        odd = [one for one in answers if not _is_finding(one)]
        found += [_failed(where, f"a check gave what is not a finding: {type(one).__name__}") for one in odd[:1]]
    return found


def readable(one: Finding) -> Finding:
    """A finding whose texts are each one line, with what hides in them written as escapes.

    A check quotes third parties: the names of a server's tools, files, what was raised. A terminal is not to obey them,
    and a line break in a name is not to look like a finding more.
    """
    what, where, why, fix = (visible(part).replace("\n", " ") for part in one[:4])
    return Finding(what, where, why, fix, one.severity)


def _limit_of(check: Any) -> float:
    try:
        limit = getattr(check, "timeout_s", CHECK_S)
    except BaseException:  # noqa: BLE001 - an attribute of a third-party object; asking the check will say so
        return CHECK_S
    return limit if type(limit) in (int, float) and 0 < limit < float("inf") else CHECK_S


def _findings_of(check: Any, board: Board) -> list[Any]:
    return list(itertools.islice(check(board) or (), MAX_FINDINGS))


def _failed(where: str, why: str) -> Finding:
    return Finding("a check failed", where, why, "report it to its author")


def _is_finding(one: object) -> bool:
    """Whether it says what, where, why and how to repair it, in texts that a person could read."""
    if not isinstance(one, Finding):
        return False
    parts: tuple[Any, ...] = one
    return all(isinstance(part, str) and len(part) <= MAX_TEXT for part in parts) and one.severity in SEVERITIES


def _in_time(work: Callable[[], list[Any]], limit_s: float) -> tuple[list[Any], str | None]:
    """What a third-party function gives, and why it gave nothing; a thread that hangs is left behind."""
    answers: list[tuple[list[Any], str | None]] = []

    def run() -> None:
        try:
            answers.append((work(), None))
        except BaseException as problem:  # noqa: BLE001 - what a third party raises ends its thread alone, Ctrl-C too
            answers.append(([], reason_of(problem)))

    thread = threading.Thread(target=run, name="pegboard check", daemon=True)
    thread.start()
    thread.join(limit_s)
    return answers[0] if answers else ([], f"it did not end within {limit_s:g} s")

"""SIGTERM and SIGHUP end `pegboard chat` in order: the terminal is as it was, and what was said is kept."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing

from pegboard_chat.commands import _leaving
from pegboard_chat.commands._leaving import unless_ended

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
HANG_UP = getattr(signal, "SIGHUP", signal.SIGTERM)
IS_IGNORED = pytest.mark.skipif(signal.getsignal(HANG_UP) is signal.SIG_IGN, reason="this run ignores SIGHUP (nohup)")
BOTH = pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(HANG_UP, marks=IS_IGNORED)])
PROMPT = "\x1b[?2004h"


@BOTH
def test_a_signal_at_the_prompt_gives_the_terminal_back(chat_terminal: Callable[..., Any], number: int) -> None:
    import termios

    terminal = chat_terminal("chat", "--model", "echo")
    terminal.until(PROMPT)
    terminal.type("half a li")
    terminal.until("half a li")
    os.kill(terminal.child.pid, number)
    assert terminal.child.wait(20) == 128 + number
    assert termios.tcgetattr(terminal.ours)[3] & termios.ECHO
    assert "\x1b[?2004l" in terminal.until("ended by SIG")


@BOTH
def test_a_signal_in_mid_answer_keeps_what_was_said(
    chat_terminal: Callable[..., Any], chat_place: Path, number: int
) -> None:
    terminal = chat_terminal("chat", "--model", "kit:slow", "--save", "kept.json")
    terminal.until(PROMPT)
    terminal.type("who are you?\r")
    terminal.until("let me think")
    os.kill(terminal.child.pid, number)
    assert terminal.end() == 128 + number
    saved = json.loads((chat_place / "kept.json").read_text())
    assert [(one["role"], one.get("cut")) for one in saved["messages"]] == [("user", None), ("assistant", "left")]
    assert "Traceback" not in terminal.seen


def test_a_signal_while_a_person_is_asked_is_not_an_answer(chat_terminal: Callable[..., Any], chat_place: Path) -> None:
    terminal = chat_terminal("chat", "--model", "kit:wiping", "--save", "kept.json", "c")
    terminal.until("(y/N")
    os.kill(terminal.child.pid, signal.SIGTERM)
    assert terminal.end() == 143
    assert "conversation) \r\n" in terminal.seen  # what follows is on lines of its own
    saved = json.loads((chat_place / "kept.json").read_text())
    assert [message["role"] for message in saved["messages"]] == ["user", "assistant", "tool"]
    assert "wiped" not in str(saved)


def test_a_terminal_that_is_gone_ends_it(chat_terminal: Callable[..., Any]) -> None:
    terminal = chat_terminal("chat", "--model", "echo")
    terminal.until(PROMPT)
    os.close(terminal.ours)
    terminal.ours = os.open(os.devnull, os.O_RDONLY)  # the fixture closes it
    assert terminal.child.wait(20) in (0, 129)


def test_one_question_is_kept_too(chat_start: Callable[..., Any], chat_place: Path) -> None:
    child = chat_start("chat", "--model", "kit:slow", "--save", "kept.json", "who?")
    assert child.stdout.read(12) == b"let me think"
    child.terminate()
    assert child.wait(20) == 143
    assert b"ended by SIGTERM" in child.stderr.read()
    assert json.loads((chat_place / "kept.json").read_text())["messages"][0]["role"] == "user"


def test_an_eval_ends_in_order_and_reports_nothing(chat_terminal: Callable[..., Any], chat_place: Path) -> None:
    questions = [{"question": "again", "calls": []}, {"question": "think", "calls": []}]
    (chat_place / "slow.json").write_text(json.dumps({"runs": 1, "questions": questions}))
    terminal = chat_terminal("eval", "slow.json", "--model", "kit:slow")
    terminal.until("1 of 2 runs")
    os.kill(terminal.child.pid, signal.SIGTERM)
    assert terminal.end() == 143
    assert "passed" not in terminal.seen


async def test_a_signal_that_was_switched_off_stays_off() -> None:
    async def work() -> int:
        signal.raise_signal(signal.SIGHUP)
        await trio.lowlevel.checkpoint()
        return 7

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert await unless_ended(work) == 7
    finally:
        signal.signal(signal.SIGHUP, before)


@IS_IGNORED
@pytest.mark.parametrize("more", [HANG_UP, signal.SIGTERM])
async def test_a_shell_that_says_once_more_that_its_terminal_is_gone_does_not_press(
    monkeypatch: pytest.MonkeyPatch, more: signal.Signals
) -> None:
    left: list[int] = []
    monkeypatch.setattr(_leaving.os, "_exit", left.append)

    async def work() -> int:
        signal.raise_signal(HANG_UP)
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                signal.raise_signal(more)
                await trio.testing.wait_all_tasks_blocked(0.05)
        return 0

    with trio.fail_after(30):
        assert await unless_ended(work) == 128 + HANG_UP
    assert left == []


async def test_work_that_does_not_end_is_left_behind_at_the_second_signal(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    left: list[int] = []
    monkeypatch.setattr(_leaving.os, "_exit", left.append)

    async def stubborn() -> int:
        with trio.CancelScope(shield=True):
            signal.raise_signal(signal.SIGTERM)
            await trio.testing.wait_all_tasks_blocked()
            signal.raise_signal(signal.SIGTERM)
            while not left:
                await trio.lowlevel.checkpoint()
        return 0

    assert await unless_ended(stubborn) == 143
    assert left == [143]
    assert "left behind" in capfd.readouterr().err


async def test_in_another_thread_work_is_just_done() -> None:
    async def work() -> int:
        return 3

    assert await trio.to_thread.run_sync(lambda: trio.run(unless_ended, work)) == 3

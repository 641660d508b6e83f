"""`pegboard chat` at a terminal: a person types, is asked, stops an answer, and leaves."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from typing import TYPE_CHECKING, Any

PROMPT = "\x1b[?2004h"
ADD = 'add {"a": 1, "b": 2}'

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_a_conversation_is_typed_recalled_and_left(chat_terminal: Callable[..., Any], tmp_path: Path) -> None:
    terminal = chat_terminal("chat", "--model", "echo")
    assert "echo:echo, 6 tools" in terminal.until(PROMPT)
    terminal.type(ADD + "\r")
    assert "-> add" in terminal.until("<- add: 3")
    terminal.until(PROMPT)
    terminal.type("\x1b[A")  # arrow up
    terminal.until(ADD)
    terminal.type("\r")
    terminal.until("<- add: 3")
    terminal.until(PROMPT)
    terminal.type("\x04")  # Ctrl-D
    assert terminal.end() == 0
    assert "echo:echo: 4 requests" in terminal.seen
    (history,) = (tmp_path / "home").rglob("chat-history")
    assert history.read_text().count(ADD) == 1
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert "Traceback" not in terminal.seen


def test_what_was_typed_is_there_the_next_time(chat_terminal: Callable[..., Any]) -> None:
    for keys in (ADD, "\x1b[A"):
        terminal = chat_terminal("chat", "--model", "echo")
        terminal.until(PROMPT)
        terminal.type(keys)
        terminal.until(ADD)
        terminal.type("\r")
        terminal.until("<- add: 3")
        terminal.until(PROMPT)
        terminal.type("\x04")
        assert terminal.end() == 0


def test_ctrl_c_at_the_prompt_clears_the_line(chat_terminal: Callable[..., Any]) -> None:
    terminal = chat_terminal("chat", "--model", "echo")
    terminal.until(PROMPT)
    terminal.type("nonsense")
    terminal.until("nonsense")
    terminal.type("\x03")
    terminal.until(PROMPT)
    terminal.type(ADD + "\r")
    terminal.until("<- add: 3")
    terminal.until(PROMPT)
    terminal.type("\x04")
    assert terminal.end() == 0
    assert "1 request" not in terminal.seen  # two: nonsense was never asked


def test_ctrl_c_ends_an_answer_and_keeps_the_conversation(chat_terminal: Callable[..., Any], chat_place: Path) -> None:
    terminal = chat_terminal("chat", "--model", "kit:slow", "--save", "kept.json")
    terminal.until(PROMPT)
    terminal.type("who are you?\r")
    terminal.until("let me think")
    terminal.type("\x03")
    terminal.until("stopped")
    saved = json.loads((chat_place / "kept.json").read_text())
    assert [(one["role"], one.get("cut")) for one in saved["messages"]] == [("user", None), ("assistant", "left")]
    terminal.until(PROMPT)
    terminal.type("say it again\r")
    terminal.until("there you are")
    terminal.until(PROMPT)
    terminal.type("\x04")
    assert terminal.end() == 0
    saved = json.loads((chat_place / "kept.json").read_text())
    assert saved["messages"][-1]["content"] == [{"type": "text", "text": "there you are"}]
    assert "interrupted" not in terminal.seen


def test_confirmation_is_asked_in_place_and_one_question_at_a_time(chat_terminal: Callable[..., Any]) -> None:
    terminal = chat_terminal("chat", "--model", "kit:wiping")
    terminal.until(PROMPT)
    terminal.type("c d\r")
    first = terminal.until("(y/N")
    assert first.count("Really wipe it?") == 1
    terminal.type("y\n")
    second = terminal.until("(y/N")
    assert second.count("Really wipe it?") == 1
    terminal.type("n\n")
    said = second + terminal.until(PROMPT)
    assert said.count("<- wipe: wiped") == 1
    assert said.count("<- wipe: FORBIDDEN") == 1
    terminal.type("e f\r")
    terminal.until("(y/N")
    terminal.type("a\n")
    assert "(y/N" not in terminal.until("wiped e and wiped f")  # one that waited for its turn is not asked either
    terminal.until(PROMPT)
    terminal.type("g\r")
    assert "(y/N" not in terminal.until("wiped g")
    terminal.until(PROMPT)
    terminal.type("\x04")
    assert terminal.end() == 0


def test_ctrl_c_at_a_question_ends_the_answer_and_the_next_line_is_whole(chat_terminal: Callable[..., Any]) -> None:
    terminal = chat_terminal("chat", "--model", "kit:wiping")
    terminal.until(PROMPT)
    terminal.type("c\r")
    terminal.until("(y/N")
    terminal.type("\x03")
    terminal.until("stopped")
    terminal.until(PROMPT)
    terminal.type("/usage\r")
    assert "there is no command" not in terminal.until("request")
    terminal.until(PROMPT)
    terminal.type("\x04")
    assert terminal.end() == 0


def test_one_question_on_a_terminal_shows_third_party_text_made_harmless(chat_terminal: Callable[..., Any]) -> None:
    terminal = chat_terminal("chat", "--model", "kit:rude", "hello")
    assert terminal.end() == 0
    assert "red \\x1b[31m\r\n and \U0001f600 back\\u202e" in terminal.seen
    terminal = chat_terminal("chat", "--model", "echo", "escape {}")
    assert terminal.end() == 0
    assert "red and back" in terminal.seen  # of the result, which was cleaned
    assert "red  and back" in terminal.seen


def test_ctrl_c_ends_one_question_with_130_and_keeps_it(chat_terminal: Callable[..., Any], chat_place: Path) -> None:
    terminal = chat_terminal("chat", "--model", "kit:slow", "--save", "kept.json", "hello")
    terminal.until("let me think")
    terminal.type("\x03")
    assert terminal.end() == 130
    assert "interrupted" in terminal.seen
    assert "Traceback" not in terminal.seen
    saved = json.loads((chat_place / "kept.json").read_text())
    assert [(one["role"], one.get("cut")) for one in saved["messages"]] == [("user", None), ("assistant", "left")]


def test_one_question_asks_the_person_where_a_tool_wants_it(chat_terminal: Callable[..., Any]) -> None:
    terminal = chat_terminal("chat", "--model", "kit:wiping", "c")
    terminal.until("Really wipe it? [wipe of ")
    assert '{"disk": "c"}' in terminal.until("(y/N")
    terminal.type("y\n")
    assert terminal.end() == 0
    assert "wiped c" in terminal.seen


def test_ctrl_d_at_a_question_is_a_no_and_ends_its_line(chat_terminal: Callable[..., Any]) -> None:
    terminal = chat_terminal("chat", "--model", "kit:wiping", "c")
    terminal.until("conversation) ")
    terminal.type("\x04")
    assert terminal.until("<- wipe: FORBIDDEN").startswith("\r\n")
    assert terminal.end() == 0


def test_thoughts_are_shown_beside_the_answer(chat_terminal: Callable[..., Any]) -> None:
    terminal = chat_terminal("chat", "--model", "kit:thinking", "--quiet", "hello")
    assert terminal.end() == 0
    assert "hmm" not in terminal.seen
    terminal = chat_terminal("chat", "--model", "kit:thinking", "hello")
    assert terminal.end() == 0
    assert "hmm \\x1b[2J" in terminal.seen


def test_completion_finishes_names_of_tools_and_commands(chat_terminal: Callable[..., Any]) -> None:
    terminal = chat_terminal("chat", "--model", "echo")
    terminal.until(PROMPT)
    terminal.type("wip\t")
    terminal.until("wipe")
    terminal.type("\x03")
    terminal.until(PROMPT)
    terminal.type("/mod\t")
    terminal.until("/model")
    terminal.type("\x03")
    terminal.until(PROMPT)
    terminal.type("\x04")
    assert terminal.end() == 0


def test_stdout_of_a_conversation_carries_the_answers_only(chat_terminal: Callable[..., Any]) -> None:
    terminal = chat_terminal("chat", "--model", "echo", stdout=subprocess.PIPE)
    terminal.until(PROMPT)
    terminal.type(ADD + "\r")
    terminal.until("<- add: 3")
    terminal.until(PROMPT)
    terminal.type("/tools wip\r")
    terminal.until("Wipe a disk")
    terminal.until(PROMPT)
    terminal.type("\x04")
    assert terminal.end() == 0
    assert terminal.child.stdout.read() == b"3.0\n"


def test_a_signal_from_elsewhere_at_the_prompt_ends_the_conversation(chat_terminal: Callable[..., Any]) -> None:
    import signal

    terminal = chat_terminal("chat", "--model", "echo")
    terminal.until(PROMPT)
    terminal.until("\x1b[?25h")
    os.kill(terminal.child.pid, signal.SIGINT)
    assert terminal.end() == 130
    assert "\x1b[?2004l" in terminal.seen  # the terminal is given back as it was


def test_no_terminal_on_stderr_and_no_question_is_wrong_usage(chat_terminal: Callable[..., Any]) -> None:
    terminal = chat_terminal("chat", "--model", "echo", stderr=subprocess.PIPE)
    assert terminal.end() == 2
    assert b"give a QUESTION" in terminal.child.stderr.read()

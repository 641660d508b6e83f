"""stdout, stderr and untrusted text on a terminal."""

from __future__ import annotations

import errno
import io
import json
import logging
import os
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.cli import _output, _terminal
from pegboard.cli._output import OutputError, emit, emit_json, emit_table, is_terminal, note
from pegboard.cli._run import start_logging
from pegboard.cli._text import printable, printable_json, printable_line

OBEYED = {*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), *"\u202a\u202e\u2066\u2069\u200b\ufeff\u2028\U000e0041"}


@given(st.text(st.characters() | st.sampled_from(sorted(OBEYED))))
def test_no_text_moves_the_cursor_or_turns_the_line(text):
    assert not OBEYED & set(printable(text)) - {"\n", "\t"}
    assert not OBEYED & set(printable_line(text))


@given(st.recursive(st.text(st.characters() | st.sampled_from(sorted(OBEYED))), lambda x: st.lists(x, max_size=3)))
def test_json_for_a_terminal_is_the_same_value(value):
    text = printable_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value
    assert not OBEYED & set(text)


def test_escapes_are_shown_as_they_are_written():
    assert printable("a\x1b[1m\u202e\U000e0041\ud800") == "a\\x1b[1m\\u202e\\U000e0041\\ud800"
    assert printable("a\r\nb") == "a\nb"
    assert printable_line("one\n two  three", 9) == "one two …"
    assert printable("emoji 👩‍🔬 stays") == "emoji 👩‍🔬 stays"


class Terminal(io.TextIOWrapper):
    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8")

    def isatty(self) -> bool:
        return True

    @property
    def written(self) -> str:
        return self.buffer.getvalue().decode()  # type: ignore[attr-defined]


@pytest.fixture
def sit_down(monkeypatch):
    """Make stdout a terminal; called in the test, since pytest sets its own stdout between fixtures and test."""

    def sit_down() -> Terminal:
        stream = Terminal()
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setenv("COLUMNS", "60")
        monkeypatch.setenv("TERM", "xterm")
        return stream

    return sit_down


def test_tables_are_drawn_on_a_terminal_without_markup_or_escapes(sit_down):
    terminal = sit_down()
    emit_table(("tool", "cost", "what"), [("[red]a", "1", "x\x1b[2J" + " long" * 30)], right=(1,))
    assert "[red]a" in terminal.written
    assert "\\x1b[2J" in terminal.written
    assert "\x1b[2J" not in terminal.written
    plain = re.sub(r"\x1b\[[0-9;]*m", "", terminal.written)
    assert max(map(len, plain.splitlines())) <= 60


def test_json_on_a_terminal_is_escaped(sit_down):
    terminal = sit_down()
    emit_json({"a": "\x9b1m\u202e"})
    assert json.loads(terminal.written) == {"a": "\x9b1m\u202e"}
    assert "\u202e" not in terminal.written


def test_lines_on_a_terminal_are_made_harmless_and_elsewhere_left_alone(sit_down, monkeypatch):
    terminal = sit_down()
    _output.emit_line("\x1b[1m")
    assert terminal.written == "\\x1b[1m\n"
    pipe = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", pipe)
    _output.emit_line("\x1b[1m")
    assert pipe.buffer.getvalue() == b"\x1b[1m\n"


def test_what_a_terminal_cannot_show_is_escaped(monkeypatch):
    class Old(Terminal):
        encoding = "ascii"

    stream = Old()
    monkeypatch.setattr(sys, "stdout", stream)
    emit("é")
    assert stream.written == "\\xe9"


def test_json_with_half_a_surrogate_pair_is_valid_utf8(capfdbinary):
    emit_json(["\ud800é"])
    assert json.loads(capfdbinary.readouterr().out) == ["\ud800é"]


@pytest.mark.parametrize(
    ("number", "said"),
    [(errno.EPIPE, "closed by its reader"), (errno.ENOSPC, "full"), (errno.EIO, "cannot be written")],
)
def test_an_answer_that_does_not_arrive_is_an_error(monkeypatch, number, said):
    class Broken(io.BytesIO):
        def write(self, data) -> int:
            raise OSError(number, "?")

    class Stream(Terminal):
        buffer = Broken()

    monkeypatch.setattr(sys, "stdout", Stream())
    monkeypatch.setattr(_output, "drop_stdout", lambda: None)
    with pytest.raises(OutputError, match=said):
        emit("x")


def test_a_stdout_that_is_not_there_is_an_error(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(OutputError, match="closed"):
        emit("x")
    assert not is_terminal(None)
    stream = Terminal()
    stream.close()
    monkeypatch.setattr(sys, "stdout", stream)
    with pytest.raises(OutputError, match="closed"):
        emit("x")


def test_a_stderr_that_is_closed_is_no_reason_to_fail(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    note("nobody hears this")
    closed = io.StringIO()
    closed.close()
    assert not is_terminal(closed)


def test_a_kept_stdout_takes_answers_and_what_commands_of_plugins_print_alone(monkeypatch, capfd):
    monkeypatch.setattr(_terminal, "_kept", None)
    monkeypatch.setattr(_terminal, "_is_lent", False)
    captured, sys.stdout = sys.stdout, open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - no path
    before = os.dup(1)
    try:
        _terminal.keep_stdout()
        print("a help")
        with _terminal.running_third_party_code():
            print("while loading")
            os.write(1, b"written\n")
        print("after loading")
        emit("an answer\n")
        _terminal.lend_stdout()
        print("a command")
        with _terminal.running_third_party_code():
            print("while loading again")
        print("the command goes on")
        _output.flush_answer()
    finally:
        sys.stdout = captured  # not by `monkeypatch`, which ends after `capfd`
        os.dup2(before, 1)
        os.close(before)
        if _terminal._kept is not None:
            os.close(_terminal._kept.fileno())
    out, err = capfd.readouterr()
    assert out.splitlines() == ["a help", "an answer", "a command", "the command goes on"]
    assert sorted(err.splitlines()) == ["after loading", "while loading", "while loading again", "written"]


def test_a_stdout_that_is_not_the_process_own_is_left_alone(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    _terminal.keep_stdout()
    _terminal.lend_stdout()
    assert _output.answer_stream() is sys.stdout is stream


def test_a_command_that_speaks_a_protocol_gets_the_descriptor_of_the_answer(monkeypatch, tmp_path):
    from pegboard.cli import answer_descriptor

    with (tmp_path / "out").open("w") as kept:
        monkeypatch.setattr(_terminal, "_kept", kept)
        kept.write("before")
        assert answer_descriptor() == kept.fileno()
        assert (tmp_path / "out").read_text() == "before"  # what was printed is not written after what follows
    assert answer_descriptor() is None
    monkeypatch.setattr(_terminal, "_kept", None)
    monkeypatch.setattr(sys, "stdout", None)
    assert answer_descriptor() is None
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert answer_descriptor() is None


def test_the_log_sends_nothing_of_a_third_party_to_the_terminal_but_text(capsys: pytest.CaptureFixture[str]) -> None:
    root, level = logging.getLogger(), logging.getLogger("pegboard").level
    before = list(root.handlers)
    try:
        start_logging(debug=True)
        logging.getLogger("pegboard.others").warning("said %s", "\x1b]0;title\x07 \x9b31m \u202ereversed")
    finally:
        root.handlers[:] = before
        logging.getLogger("pegboard").setLevel(level)
    said = "WARNING pegboard.others: said \\x1b]0;title\\x07 \\x9b31m \\u202ereversed\n"
    assert said in capsys.readouterr().err

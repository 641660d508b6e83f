"""What a turn looks like: third-party text made harmless however it is cut, and every event as JSON."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ErrorCode, ImageContent, TextContent, ToolCall, ToolResult
from pegboard.cli._text import printable
from pegboard_chat.commands._shown import Lines, Pieces, Shown, ending_of, money, totals
from pegboard_chat.contract import CallDelta, ModelError, Reply, Stop, TextDelta, ThinkingDelta
from pegboard_chat.conversation import Message, Usage
from pegboard_chat.events import CallEnded, CallStarted, ChatEnded, RoundEnded, event_to_json

TEXT = st.text(
    st.sampled_from("ab \n\r\t\x1b[\x07\x9b\u202e\u200b\ud83d\ude00é") | st.characters(codec="utf-8"), max_size=30
)


@given(TEXT, st.lists(st.integers(0, 30), max_size=5), st.booleans())
@settings(max_examples=200)
def test_however_a_text_is_cut_the_same_is_shown_and_nothing_a_terminal_obeys(
    text: str, cuts: list[int], careful: bool
) -> None:
    places = sorted({min(cut, len(text)) for cut in cuts})
    pieces = Pieces(careful=careful)
    parts = [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]
    shown = "".join(map(pieces.add, parts)) + pieces.end()
    whole = Pieces(careful=careful)
    assert shown == whole.add(text) + whole.end()
    if careful:
        assert shown == printable(shown)
    shown.encode()


def test_a_line_break_and_a_character_that_come_in_halves_are_whole() -> None:
    pieces = Pieces(careful=True)
    assert [pieces.add(part) for part in ("a\r", "\nb\ud83d", "\ude00", "\r")] == ["a", "\nb", "\U0001f600", ""]
    assert pieces.end() == "\\x0d"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """stderr is a terminal from here on."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.delenv("NO_COLOR", raising=False)
    return stream


def test_notes_and_thoughts_are_dim_on_a_terminal_and_lines_of_their_own(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    terminal = on_terminal(monkeypatch)
    shown = Shown()
    for event in (
        ThinkingDelta("hm\x1b[2J"), TextDelta("so"), ThinkingDelta("well\n"), TextDelta(" it is\n"),
        CallStarted(ToolCall("1", "add", {"a": 1})), TextDelta("\r"),
    ):  # fmt: skip
        shown.show(event)
    shown.break_line()
    assert capsysbinary.readouterr().out == b"so\n it is\n\r\n"
    dim = "\x1b[2m"
    assert terminal.getvalue() == (f'{dim}hm\\x1b[2J\x1b[0m\n{dim}well\n\x1b[0m{dim}-> add {{"a": 1}}\x1b[0m\n')


def test_colours_are_left_out_where_nobody_wants_them(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    monkeypatch.setenv("NO_COLOR", "1")
    shown = Shown()
    shown.show(ThinkingDelta("hm"))
    shown.show(ThinkingDelta(" hm"))
    shown.tell("a note")
    assert terminal.getvalue() == "thinking: hm hm\na note\n"


def test_a_stderr_that_is_closed_is_no_reason_to_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    Shown().tell("nobody hears this")
    Lines().tell("nor this", dim=False)


def ended(**more: Any) -> ChatEnded:
    said: dict[str, Any] = {"text": "42", "usage": Usage(), "cost": None, "stop": Stop.END, "reason": None, **more}
    return ChatEnded(**said)


@pytest.mark.parametrize("reason", ["max_tool_calls", "max_rounds", "max_tokens", "max_seconds", "max_cost"])
def test_a_budget_that_cut_a_question_names_its_option(reason: str) -> None:
    (said,) = ending_of(ended(reason=reason))
    assert "(--max-" in said


def test_an_ending_says_what_is_missing() -> None:
    assert ending_of(ended()) == []
    assert ending_of(ended(reason="tool_choice")) == ["tool_choice"]
    assert "cut" in ending_of(ended(stop=Stop.LENGTH))[0]
    assert "refused" in ending_of(ended(stop=Stop.REFUSED))[0]


def test_an_answer_without_a_word_is_said() -> None:
    assert ending_of(ended(text="")) == ["the model ended without a word"]
    assert ending_of(ended(text="", stop=Stop.REFUSED)) == ["the model, or its provider, refused to answer"]


def test_every_event_is_json() -> None:
    result = ToolResult((TextContent("3"), ImageContent(b"12", "image/png")), id="1", name="add")
    reply = Reply(Message("assistant"), (), Usage(1, 2, 3), Stop.CALLS)
    events: list[Any] = [
        TextDelta("a"), ThinkingDelta("b"), CallDelta(0, "add", "{"), CallStarted(ToolCall("1", "add", {})),
        CallEnded(result), RoundEnded(reply, reply.usage, 0.5), ended(text="a", cost=1.0),
    ]  # fmt: skip
    written = [json.loads(json.dumps(event_to_json(event))) for event in events]
    assert [one["type"] for one in written] == ["text", "thinking", "call_delta", "call", "result", "round", "end"]
    assert written[5] == {
        "type": "round", "stop": "calls", "cost": 0.5,
        "usage": {"input_tokens": 1, "output_tokens": 2, "cached_tokens": 3},
    }  # fmt: skip
    with pytest.raises(AssertionError):
        event_to_json(None)  # type: ignore[arg-type]


def test_pictures_in_results_are_named_by_their_kind(capsys: pytest.CaptureFixture[str]) -> None:
    Shown().show(CallEnded(ToolResult((TextContent("a"), ImageContent(b"1", "image/png")), name="x", duration_ms=1200)))
    assert capsys.readouterr().err == "<- x: a [image/png] (1,200 ms)\n"


def test_an_error_of_a_model_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    Shown().fail(ModelError(ErrorCode.TIMEOUT, "too\nslow\x1b"))
    assert capsys.readouterr().err == "error: TIMEOUT: too slow\\x1b\n"


def test_totals_say_what_it_cost() -> None:
    assert totals("a:b", 1, Usage(1234, 5, 200), money(0.00125, "USD"), 1.25) == (
        "a:b: 1 request, 1,234 tokens read (200 cached), 5 written, 0.00125 USD, 1.2 s"
    )
    assert totals("a:b", 2, Usage(1, 1), "free", 0).startswith("a:b: 2 requests, 1 token read, 1 written")
    assert money(None, "USD") == "price not known"
    assert money(0, "USD") == "free"

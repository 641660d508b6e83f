"""Results as text, and what has to follow them."""

from __future__ import annotations

import pytest

from pegboard import AudioContent, BinaryContent, Content, ErrorCode, ImageContent, TextContent, ToolResult
from pegboard_chat.portable.content import (
    error_text,
    kind_of,
    label_of,
    split_blocks,
    split_results,
    text_of,
    text_of_block,
)

IMAGE = ImageContent(b"12345", "image/png")
SOUND = AudioContent(b"123", "audio/wav")
LINK = BinaryContent(None, "text/html", "https://example.org/", "home")
FILE = BinaryContent(b"\x00\x01", "application/zip", None, "a.zip")
NOTE = BinaryContent(b"hello", "text/plain", "file:///note.txt")


def is_image(block: Content) -> bool:
    return isinstance(block, ImageContent)


@pytest.mark.parametrize(
    ("block", "text", "kind"),
    [
        (TextContent("hi"), "hi", "text"),
        (IMAGE, "[image: image/png, 5 bytes]", "image"),
        (SOUND, "[audio: audio/wav, 3 bytes]", "audio"),
        (LINK, "[link: https://example.org/, text/html]", "link"),
        (FILE, "[file: a.zip, application/zip, 2 bytes]", "file"),
        (NOTE, "hello", "file"),
        (BinaryContent(b"\x00"), "[file: unnamed, application/octet-stream, 1 bytes]", "file"),
        (BinaryContent(None), "[link: nowhere, application/octet-stream]", "link"),
    ],
)
def test_every_block_has_a_text(block: Content, text: str, kind: str) -> None:
    assert text_of_block(block) == text
    assert kind_of(block) == kind


def test_a_result_is_its_blocks_and_its_data_only_where_they_show_nothing() -> None:
    assert text_of(ToolResult((TextContent("a"), IMAGE), {"x": 1})) == "a\n[image: image/png, 5 bytes]"
    assert text_of(ToolResult((), {"x": "é"})) == '{"x": "é"}'
    assert text_of(ToolResult((TextContent(""),), {"x": 1})) == '{"x": 1}'
    assert text_of(ToolResult.empty()) == ""
    assert error_text(ToolResult.empty()) == ""


def test_an_error_says_its_code_where_nothing_else_does() -> None:
    result = ToolResult.error(ErrorCode.NOT_FOUND, "there is no a.txt")
    assert text_of(result) == "NOT_FOUND: there is no a.txt"
    assert text_of(result, flagged=True) == "there is no a.txt"
    assert text_of(ToolResult.error(ErrorCode.INTERNAL_ERROR, ""), flagged=True) == "INTERNAL_ERROR: "


def test_an_error_says_the_faults_that_its_message_does_not() -> None:
    faults = [
        {"path": "a", "expected": "integer", "got": '"x"', "hint": "write 3"},
        {"path": "", "expected": "an object", "got": "3"},
        {"path": "b"},
        "rubbish",
    ]
    result = ToolResult.error(ErrorCode.INVALID_INPUT, 'a: expected integer, got "x"', faults=faults)
    assert text_of(result).splitlines() == [
        'INVALID_INPUT: a: expected integer, got "x"',
        "the value: expected an object, got 3",
    ]
    many = ToolResult.error(
        ErrorCode.INVALID_INPUT, "no", faults=[{"path": f"p{n}", "expected": "x"} for n in range(99)]
    )
    assert len(text_of(many).splitlines()) == 21


def test_an_error_says_when_to_try_again() -> None:
    result = ToolResult.error(ErrorCode.RATE_LIMITED, "too many", retry_after_s=2.5)
    assert text_of(result) == "RATE_LIMITED: too many\ntry again after 2.5 s"
    said = ToolResult.error(ErrorCode.RATE_LIMITED, "too many: again in 3 s", retry_after_s=3)
    assert text_of(said) == "RATE_LIMITED: too many: again in 3 s"


def test_what_can_follow_follows_and_the_rest_is_a_line() -> None:
    lines, after = split_blocks((TextContent("a"), IMAGE, SOUND, NOTE, IMAGE), is_image)
    assert lines == ["a", "[image 1 follows below]", "[audio: audio/wav, 3 bytes]", "hello", "[image 2 follows below]"]
    assert after == [IMAGE, IMAGE]


def test_results_of_a_turn_are_texts_and_blocks_that_name_their_call() -> None:
    results = [
        ToolResult((TextContent("drawn"), IMAGE), id="c1", name="draw"),
        ToolResult.error(ErrorCode.TIMEOUT, "too slow"),
        ToolResult((), {"x": 1}),
        ToolResult((FILE,), id="c4", name="zip"),
    ]
    texts, following = split_results(results, lambda block: not isinstance(block, TextContent))
    assert texts == [
        "drawn\n[image 1 follows below]",
        "TIMEOUT: too slow",
        '{"x": 1}',
        "[file 1 follows below]",
    ]
    assert following == [
        ("image 1 of the result of draw (call c1):", IMAGE),
        ("file 1 a.zip of the result of zip (call c4):", FILE),
    ]


def test_a_label_names_what_it_can() -> None:
    assert label_of(IMAGE, 1, ToolResult(id="7")) == "image 1 of the result of the tool (call 7):"

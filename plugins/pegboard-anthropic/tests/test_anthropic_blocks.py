"""Content as blocks: what the API takes goes as it is, the rest as words, and nothing is empty."""

from __future__ import annotations

import base64

import pytest

from pegboard import AudioContent, BinaryContent, ErrorCode, ImageContent, TextContent, ToolError, ToolResult
from pegboard_anthropic._blocks import MAX_IMAGE_BYTES, blocks_of, result_block, wire_id, words_of

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0rest", "image/jpeg"),
        (b"GIF89a....", "image/gif"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "image/webp"),
    ],
)
def test_the_bytes_of_an_image_decide_its_media_type(data: bytes, kind: str) -> None:
    (block,) = blocks_of([ImageContent(data, "image/tiff")])
    assert block == {
        "type": "image",
        "source": {"type": "base64", "media_type": kind, "data": base64.b64encode(data).decode()},
    }


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (ImageContent(b"<svg/>", "image/svg+xml"), "[image: image/svg+xml, 6 bytes]"),
        (ImageContent(b"", "image/png"), "[image: image/png, 0 bytes]"),
        (
            ImageContent(PNG + bytes(MAX_IMAGE_BYTES), "image/png"),
            f"[image: image/png, {MAX_IMAGE_BYTES + len(PNG)} bytes]",
        ),
        (AudioContent(b"RIFF", "audio/wav"), "[audio: audio/wav, 4 bytes]"),
        (BinaryContent(b"\0\1", name="x.bin"), "[file: x.bin, application/octet-stream, 2 bytes]"),
        (BinaryContent(None, "text/html", "https://a.example/"), "[link: https://a.example/, text/html]"),
    ],
)
def test_what_the_api_does_not_take_is_said_in_words(content: object, text: str) -> None:
    assert blocks_of([content]) == [{"type": "text", "text": text}]  # type: ignore[list-item]


def test_a_pdf_is_a_document_with_its_name() -> None:
    (block,) = blocks_of([BinaryContent(b"%PDF-1.7 ...", "application/pdf", name="a.pdf")])
    assert (block["type"], block["title"], block["source"]["media_type"]) == ("document", "a.pdf", "application/pdf")


def test_a_text_file_is_text() -> None:
    assert blocks_of([BinaryContent(b"a,b\n1,2\n", "text/csv", "file:a.csv")]) == [
        {"type": "text", "text": "a,b\n1,2\n"}
    ]


def test_a_pdf_without_a_name_has_no_title() -> None:
    assert "title" not in blocks_of([BinaryContent(b"%PDF-1.7 ...", "application/pdf")])[0]


def test_an_image_in_a_file_is_an_image() -> None:
    (block,) = blocks_of([BinaryContent(PNG, "application/octet-stream")])
    assert block["type"] == "image"


def test_blank_text_makes_no_block() -> None:
    assert blocks_of([TextContent(""), TextContent(" \n"), BinaryContent(b" ", "text/plain")]) == []
    assert words_of([TextContent(""), ImageContent(PNG)]) == [{"type": "text", "text": "[image: image/png, 16 bytes]"}]


def test_a_result_shows_its_content() -> None:
    block = result_block("t1", ToolResult((TextContent("5"), ImageContent(PNG)), data={"result": 5}))
    assert [part["type"] for part in block["content"]] == ["text", "image"]
    assert "is_error" not in block


def test_a_result_that_shows_nothing_gives_its_data() -> None:
    assert result_block("t1", ToolResult((), data={"n": 5}))["content"] == [{"type": "text", "text": '{"n": 5}'}]


def test_a_result_of_nothing_has_no_content() -> None:
    assert result_block("t1", ToolResult.empty()) == {"type": "tool_result", "tool_use_id": "t1"}


def test_an_error_is_flagged_and_holds_text_alone() -> None:
    error = ToolError(ErrorCode.NOT_FOUND, "no such city")
    block = result_block("t1", ToolResult((ImageContent(PNG),), error=error))
    assert block["is_error"] is True
    assert [part["type"] for part in block["content"]] == ["text"]
    assert "no such city" in block["content"][0]["text"]


@pytest.mark.parametrize("call_id", ["", "a b", "é", "x" * 300, "call:1", "\ud800"])
def test_an_id_that_the_api_refuses_becomes_another_that_stays(call_id: str) -> None:
    assert wire_id(call_id) == wire_id(call_id) == wire_id(wire_id(call_id))
    assert wire_id(call_id).startswith("call_")


def test_an_id_of_the_api_stays_as_it_is() -> None:
    assert wire_id("toolu_01A-b") == "toolu_01A-b"

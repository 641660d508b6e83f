"""Content blocks and their wire form."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard import AudioContent, BinaryContent, ImageContent, TextContent
from pegboard.content import content_from_json

NAMES = st.text(max_size=10)
BLOCKS = (
    st.builds(TextContent, NAMES)
    | st.builds(ImageContent, st.binary(max_size=20), NAMES)
    | st.builds(AudioContent, st.binary(max_size=20), NAMES)
    | st.builds(
        BinaryContent, st.none() | st.binary(max_size=20), NAMES, st.none() | st.text(min_size=1), st.none() | NAMES
    )
)


@given(BLOCKS)
def test_every_block_is_read_back_as_it_was_written(block: Any) -> None:
    assert content_from_json(json.loads(json.dumps(block.to_json()))) == block


@pytest.mark.parametrize(
    ("block", "wire"),
    [
        (TextContent("a"), {"type": "text", "text": "a"}),
        (ImageContent(b"a"), {"type": "image", "data": "YQ==", "mimeType": "image/png"}),
        (AudioContent(b"a"), {"type": "audio", "data": "YQ==", "mimeType": "audio/wav"}),
        (
            BinaryContent(b"a", uri="file:x", name="x"),
            {
                "type": "resource",
                "resource": {"uri": "file:x", "mimeType": "application/octet-stream", "blob": "YQ==", "name": "x"},
            },
        ),
        (
            BinaryContent(None, "text/plain", "file:x"),
            {"type": "resource_link", "uri": "file:x", "mimeType": "text/plain"},
        ),
    ],
)
def test_the_wire_form_is_that_of_mcp(block: Any, wire: dict[str, Any]) -> None:
    assert block.to_json() == wire


@pytest.mark.parametrize(
    "block",
    [
        {},
        {"type": "text"},
        {"type": "text", "text": 5},
        {"type": "image", "data": "!!", "mimeType": "image/png"},
        {"type": "image", "data": b"YQ=="},
        {"type": "resource", "resource": {}},
        {"type": "x" * 500},
    ],
)
def test_what_is_not_a_block_is_a_value_error_of_bounded_length(block: dict[str, Any]) -> None:
    with pytest.raises(ValueError) as caught:
        content_from_json(block)
    assert len(str(caught.value)) < 200


def test_bytes_are_not_shown_in_a_repr() -> None:
    shown = repr([ImageContent(b"secret"), AudioContent(b"secret"), BinaryContent(b"secret"), BinaryContent(None)])
    assert "secret" not in shown
    assert "<6 bytes>" in shown


@pytest.mark.parametrize(
    ("data", "mime_type", "text"),
    [
        (b"a\xc3\xa4", "text/markdown", "a\xe4"),
        (b"{}", "application/json; charset=UTF-8", "{}"),
        (b"<a/>", "application/svg+xml", "<a/>"),
        (b"\xff", "text/plain", None),
        (b"a", "text/plain; charset=latin-1", None),
        (b"a", "application/octet-stream", None),
        (None, "text/plain", None),
    ],
)
def test_what_is_embedded_is_text_where_it_says_so_and_is(data: bytes | None, mime_type: str, text: str | None) -> None:
    assert BinaryContent(data, mime_type, "file:///a").text == text

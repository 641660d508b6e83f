"""What servers answer becomes content, data and details: in order, without a loss, and whatever they send."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import AudioContent, BinaryContent, ErrorCode, ImageContent, TextContent, ToolResult
from pegboard.pipeline.normalise import to_result
from pegboard_mcp.capabilities import Message
from pegboard_mcp.client.content import (
    MAX_BLOCKS,
    MAX_DETAILS,
    MAX_ERROR_TEXT,
    MAX_MESSAGES,
    blocks_of,
    messages_of,
    plain_text,
    resource_blocks,
    result_of,
)

PNG = b"\x89PNG\r\n"
PNG64 = base64.b64encode(PNG).decode()


def answer(*blocks: object, **more: object) -> ToolResult:
    return result_of({"content": list(blocks), **more}, server="files")


@pytest.mark.parametrize(
    ("block", "content"),
    [
        ({"type": "text", "text": "hi"}, TextContent("hi")),
        ({"type": "image", "data": PNG64, "mimeType": "image/png"}, ImageContent(PNG, "image/png")),
        ({"type": "audio", "data": PNG64, "mimeType": "audio/wav"}, AudioContent(PNG, "audio/wav")),
        (
            {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "image/png", "blob": PNG64}},
            BinaryContent(PNG, "image/png", "file:///a"),
        ),
        (
            {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/x-python", "text": "é = 1\n"}},
            BinaryContent("é = 1\n".encode(), "text/x-python", "file:///a"),
        ),
        (
            {"type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": "text/plain"},
            BinaryContent(None, "text/plain", "file:///a", "a"),
        ),
    ],
    ids=["text", "image", "audio", "resource", "text resource", "resource link"],
)
def test_each_kind_of_block_becomes_its_content(block: object, content: object) -> None:
    result = answer(block)
    assert result.content == (content,)
    assert result.details is None
    assert result.ok


def test_blocks_keep_their_order() -> None:
    image = {"type": "image", "data": PNG64, "mimeType": "image/png"}
    result = answer({"type": "text", "text": "1"}, image, {"type": "hologram"}, {"type": "text", "text": "4"})
    assert [type(block).__name__ for block in result.content] == [
        "TextContent", "ImageContent", "TextContent", "TextContent",
    ]  # fmt: skip
    assert result.content[3] == TextContent("4")


@pytest.mark.parametrize("raw", [{}, {"content": []}, {"content": None}, {"content": [], "structuredContent": None}])
def test_nothing_is_an_empty_success(raw: object) -> None:
    assert result_of(raw, server="files") == ToolResult.empty()


def test_a_protocol_stamp_alone_leaves_a_result_empty() -> None:
    meta = {"io.modelcontextprotocol/serverInfo": {"name": "x", "version": "1"}}
    assert answer(_meta=meta) == ToolResult.empty()


def test_an_unknown_block_is_named_with_its_size_and_kept_raw() -> None:
    raw = {"type": "hologram", "voxels": [1, 2]}
    result = answer(raw)
    size = len(json.dumps(raw))
    assert result.text == f"[a block of the unknown type 'hologram', {size} bytes of JSON]"
    assert result.details == {"unknown": [raw]}


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "data": "%%%", "mimeType": "image/png"},
        {"type": "image", "mimeType": "image/png"},
        {"type": "audio", "data": 7, "mimeType": "audio/wav"},
        {"type": "text"},
        {"type": "text", "text": ["a"]},
        {"type": "resource"},
        {"type": "resource", "resource": {"uri": "a:b", "blob": "%"}},
        {"type": "resource", "resource": {"uri": "a:b", "text": 5}},
        {"type": "resource", "resource": {}},
        {"type": "resource_link", "name": "x"},
        {"type": ["text"]},
        {"text": "no type"},
        {},
        7,
        None,
        ["nested"],
    ],
    ids=str,
)
def test_a_broken_block_costs_itself_alone(block: object) -> None:
    result = answer(block, {"type": "text", "text": "after"})
    assert isinstance(result.content[0], TextContent)
    assert result.content[0].text.startswith("[")
    assert result.content[1:] == (TextContent("after"),)
    assert result.details == {"unknown": [block]}


def test_base64_in_lines_is_read() -> None:
    wrapped = base64.encodebytes(bytes(range(200))).decode()
    assert answer({"type": "image", "data": wrapped, "mimeType": "image/png"}).content == (
        ImageContent(bytes(range(200)), "image/png"),
    )


def test_an_image_without_a_media_type_is_bytes_of_some_kind() -> None:
    assert answer({"type": "image", "data": PNG64}).content == (BinaryContent(PNG, "application/octet-stream"),)


def test_a_resource_with_nothing_but_an_address_is_a_link() -> None:
    assert answer({"type": "resource", "resource": {"uri": "file:///a"}}).content == (
        BinaryContent(None, "application/octet-stream", "file:///a"),
    )


def test_what_a_content_class_has_no_room_for_stands_in_the_details() -> None:
    link = {"type": "resource_link", "uri": "a:b", "name": "n", "title": "T", "size": 3, "description": None}
    inner = {"uri": "a:b", "text": "x", "_meta": {"k": 1}}
    result = answer(
        {"type": "text", "text": "first"}, link, {"type": "resource", "resource": inner, "annotations": {"priority": 1}}
    )
    assert result.details == {
        "blocks": {"1": {"title": "T", "size": 3}, "2": {"annotations": {"priority": 1}, "_meta": {"k": 1}}}
    }


@pytest.mark.parametrize("content", ["just text", {"type": "text", "text": "just text"}])
def test_content_that_is_not_a_list_is_one_block(content: object) -> None:
    assert result_of({"content": content}, server="files").content == (TextContent("just text"),)


def test_structured_content_is_the_data() -> None:
    result = answer({"type": "text", "text": "sum: 3"}, structuredContent={"sum": 3})
    assert (result.text, result.data) == ("sum: 3", {"sum": 3})


def test_structured_content_without_text_is_shown_as_json() -> None:
    result = answer(structuredContent={"größe": [1, None]})
    assert (result.text, result.data) == ('{"größe": [1, null]}', {"größe": [1, None]})


@pytest.mark.parametrize("value", [[1, 2], "text", 0, False, ""])
def test_structured_content_that_is_not_an_object_is_wrapped(value: object) -> None:
    result = answer(structuredContent=value)
    assert result.data == {"result": value}
    assert result.text == json.dumps(value)


@pytest.mark.parametrize("value", [float("nan"), {"a": [float("inf")]}], ids=str)
def test_structured_content_that_is_not_json_is_said_and_the_text_stays(value: object) -> None:
    result = answer({"type": "text", "text": "kept"}, structuredContent=value)
    assert result.data is None
    assert result.content[0] == TextContent("kept")
    assert "no JSON form" in result.text


def test_halves_of_surrogate_pairs_are_replaced_everywhere() -> None:
    half = "a\ud800b"
    result = answer(
        {"type": "text", "text": half},
        {"type": "resource", "resource": {"uri": half, "text": half, "mimeType": half}},
        {"type": half},
        structuredContent={half: [half]},
        _meta={half: half},
    )
    line = json.dumps(result.to_json(), ensure_ascii=False)
    assert line.encode().decode() == line
    assert result.content[0] == TextContent("a�b")
    assert result.data == {"a�b": ["a�b"]}


def test_a_pair_in_two_halves_is_joined() -> None:
    assert answer({"type": "text", "text": "\ud83d\ude00 \ud800"}).text == "😀 �"


def test_an_error_of_the_server_is_upstream_and_says_its_text() -> None:
    result = answer({"type": "text", "text": "no such file: a.txt"}, isError=True, structuredContent={"errno": 2})
    assert result.error is not None
    assert result.error.code is ErrorCode.UPSTREAM_ERROR
    assert result.error.message == result.text == "no such file: a.txt"
    assert result.error.details["data"] == {"errno": 2}
    assert result.error.details["executed"] is True
    assert result.error.details["server"] == "files"


def test_the_images_of_an_error_are_kept() -> None:
    result = answer(
        {"type": "image", "data": PNG64, "mimeType": "image/png"}, {"type": "text", "text": "see there"}, isError=True
    )
    assert result.content == (TextContent("see there"), ImageContent(PNG, "image/png"))


def test_an_error_without_text_shows_its_data_and_without_both_names_the_server() -> None:
    assert answer(isError=True, structuredContent={"why": "quota"}).text == '{"why": "quota"}'
    assert "'files'" in answer(isError=True).text


def test_the_text_of_an_error_is_bounded_and_harmless() -> None:
    result = answer({"type": "text", "text": "\x1b[31mred\x07\r\nline\ttab" + "x" * 10**6}, isError=True)
    assert result.error is not None
    assert len(result.error.message) <= MAX_ERROR_TEXT
    assert result.error.message.startswith("red\nline\ttab")
    assert result.error.message.endswith("…")


def test_the_secrets_of_a_server_are_taken_out_of_its_errors() -> None:
    raw = {
        "content": [{"type": "text", "text": "bad token s3cret"}, {"type": "odd", "s3cret": ["s3cret", 1]}],
        "structuredContent": {"token": "s3cret"},
        "isError": True,
    }
    result = result_of(raw, server="files", mask=lambda text: text.replace("s3cret", "***"))
    assert "s3cret" not in json.dumps(result.to_json())
    assert result.error is not None
    assert result.error.details["data"] == {"token": "***"}


@pytest.mark.parametrize("raw", [None, 7, "text", [], [{"type": "text", "text": "x"}], True])
def test_an_answer_that_is_not_an_object_breaks_the_protocol(raw: object) -> None:
    result = result_of(raw, server="files")
    assert result.error is not None
    assert result.error.code is ErrorCode.UPSTREAM_ERROR
    assert "'files'" in result.error.message


@pytest.mark.parametrize("kind", ["input_required", "task", 5])
def test_a_result_that_is_not_complete_is_not_a_success(kind: object) -> None:
    result = answer({"type": "text", "text": "x"}, resultType=kind)
    assert result.error is not None
    assert result.error.code is ErrorCode.UPSTREAM_ERROR
    assert str(kind) in result.error.message


def test_a_complete_result_says_so_since_2026() -> None:
    assert answer({"type": "text", "text": "x"}, resultType="complete").text == "x"


def test_meta_is_kept_where_it_is_small_and_not_the_protocols_own() -> None:
    text = {"type": "text", "text": "x"}
    meta = {"io.modelcontextprotocol/serverInfo": {"name": "n"}, "example.org/cost": 3}
    assert answer(text, _meta=meta).details == {"_meta": {"example.org/cost": 3}}
    assert answer(text, _meta={"long": "x" * 5_000}).details is None
    assert answer(text, _meta="x").details is None


def test_details_are_bounded_and_name_what_did_not_fit() -> None:
    result = answer(*[{"type": "odd", "n": index, "pad": "x" * 6_000} for index in range(500)])
    assert result.details is not None
    assert len(json.dumps(result.details)) < MAX_DETAILS * 3
    assert isinstance(result.details["unknown"][0], dict)
    assert "characters as JSON" in result.details["unknown"][-1]
    assert len(result.content) == 500


def test_no_more_than_so_many_blocks_are_read() -> None:
    result = answer(*[{"type": "text", "text": "x"}] * (MAX_BLOCKS + 7))
    assert len(result.content) == MAX_BLOCKS + 1
    assert result.content[-1] == TextContent("[7 more blocks, which are not shown]")


def test_a_megabyte_of_text_is_read_whole() -> None:
    text = "ü" * 10**6
    assert answer({"type": "text", "text": text}).text == text


def test_structures_too_deep_for_python_are_named() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    result = answer({"type": "odd", "deep": deep}, structuredContent=deep)
    assert "no JSON form" in result.text
    assert result.data is None


def test_messages_of_a_prompt_keep_role_and_block() -> None:
    raw = {
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "q"}},
            {"role": "assistant", "content": {"type": "image", "data": PNG64, "mimeType": "image/png"}},
            {"role": "system", "content": "odd"},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            "bare",
        ]
    }
    assert messages_of(raw) == (
        Message("user", TextContent("q")),
        Message("assistant", ImageContent(PNG, "image/png")),
        Message("user", TextContent("odd")),
        Message("user", TextContent("a")),
        Message("user", TextContent("b")),
        Message("user", TextContent("bare")),
    )


def test_messages_are_bounded() -> None:
    assert len(messages_of({"messages": ["x"] * (MAX_MESSAGES + 5)})) == MAX_MESSAGES


@pytest.mark.parametrize("raw", [None, [], {}, {"messages": None}, {"messages": {}}])
def test_a_prompt_without_messages_has_none(raw: object) -> None:
    assert messages_of(raw) == ()


def test_contents_of_a_resource_are_bytes_with_their_address() -> None:
    raw = {"contents": [{"uri": "a:1", "text": "t"}, {"uri": "a:2", "blob": PNG64, "mimeType": "image/png"}, 3]}
    text, image, broken = resource_blocks(raw)
    assert text == BinaryContent(b"t", "text/plain", "a:1")
    assert image == BinaryContent(PNG, "image/png", "a:2")
    assert isinstance(broken, TextContent)
    assert resource_blocks({"contents": None}) == resource_blocks(7) == ()


def test_blocks_alone_come_with_their_details() -> None:
    blocks, details = blocks_of([{"type": "text", "text": "x", "annotations": {"audience": ["user"]}}])
    assert blocks == (TextContent("x"),)
    assert details == {"blocks": {"0": {"annotations": {"audience": ["user"]}}}}


def test_plain_text_of_what_is_not_text_is_its_json() -> None:
    assert plain_text({"a": 1}, 60) == '{"a": 1}'
    assert plain_text("x" * 10, 5) == "xxxx…"
    assert plain_text(float("nan"), 60) == "a number"


any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
keys = st.sampled_from(
    ["type", "text", "data", "mimeType", "uri", "name", "resource", "blob", "_meta", "annotations", "title"]
)
types = st.sampled_from(["text", "image", "audio", "resource", "resource_link", "tool_use", PNG64])
block = st.dictionaries(keys, any_json | types | st.dictionaries(keys, any_json | types, max_size=4), max_size=6)
results = st.fixed_dictionaries(
    {},
    optional={
        "content": st.lists(block | any_json, max_size=4) | any_json,
        "structuredContent": any_json,
        "isError": any_json,
        "_meta": any_json,
        "resultType": st.just("complete") | any_json,
    },
)


@settings(max_examples=300)
@given(raw=results | any_json)
def test_any_json_is_answered_by_a_result_that_the_board_and_every_wire_can_carry(raw: object) -> None:
    """Invariant: whatever a server answers, there is a result, and its JSON is valid UTF-8."""
    result, _ = to_result(result_of(raw, server="files", mask=lambda text: text.replace("a", "*")))
    json.dumps(result.to_json(), ensure_ascii=False, allow_nan=False).encode()


@settings(max_examples=100)
@given(raw=st.lists(block | any_json, max_size=6))
def test_there_are_as_many_blocks_as_were_sent(raw: list[object]) -> None:
    """Invariant: no block is lost, none is made up, whatever the others are."""
    assert len(blocks_of(raw).blocks) == len(raw)
    assert len(messages_of({"messages": [{"role": "user", "content": [one]} for one in raw]})) == len(raw)


@pytest.mark.parametrize(
    ("given", "details"),
    [
        ({"ttlMs": 5000, "cacheScope": "private"}, {"ttl_ms": 5000, "cache_scope": "private"}),
        ({"ttlMs": 0, "cacheScope": "public"}, {"ttl_ms": 0, "cache_scope": "public"}),
        ({"ttlMs": -1, "cacheScope": "all"}, {"ttl_ms": 0}),
        ({"ttlMs": True, "cacheScope": ["public"]}, {"ttl_ms": 0}),
        ({"ttlMs": "5", "cacheScope": None}, {"ttl_ms": 0}),
        ({"ttlMs": float("inf")}, {"ttl_ms": 0}),
        ({"ttlMs": None}, None),
        ({}, None),
    ],
)
def test_how_long_a_result_may_be_cached_stands_in_its_details(given: dict, details: dict | None) -> None:
    """Whoever caches has to know it (`ttlMs`, `cacheScope`): of what was read, and of a call that says it."""
    read = resource_blocks({"contents": [{"uri": "a:b", "text": "one"}], **given})
    assert (read.details or None) == details
    called = result_of({"content": [{"type": "text", "text": "one"}], **given}, server="s")
    assert called.details == details

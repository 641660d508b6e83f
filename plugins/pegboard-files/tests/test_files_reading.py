"""Reading: exactly what stands in a file, or an error that says where it does not fit."""

from __future__ import annotations

import codecs as python_codecs
import wave
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pegboard import AudioContent, BinaryContent, ErrorCode, ImageContent, ToolError
from pegboard.testing import assert_error, assert_ok
from pegboard_files import _codecs as codecs
from pegboard_files._reading import _window

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@pytest.mark.parametrize("text", ["", "one", "one\n", "one\ntwo", "a\r\nb\r\n", "tab\tend\n", "é 😀 漢字\n", "\n\n\n"])
async def test_text_is_shown_exactly_as_it_stands(root: Path, files: Any, text: str) -> None:
    (root / "a.txt").write_bytes(text.encode("utf-8"))
    result = assert_ok(await files.call("read_file", {"path": "a.txt"}), text=text)
    assert result.data["size"] == len(text.encode("utf-8"))
    assert result.data["truncated"] is False
    assert result.data["lines"] == text.count("\n") + (not text.endswith("\n") and text != "")


async def test_what_hides_in_a_file_is_not_shown_and_counted(root: Path, files: Any) -> None:
    (root / "a.txt").write_text("a\u200bb\u2028c \U000e0041\U000e0042\x1b[31md", "utf-8")
    result = assert_ok(await files.call("read_file", {"path": "a.txt"}), text="ab\nc d")
    assert result.details is not None
    assert result.details["cleaned"] == {"zero_width": 1, "separators": 1, "tags": 2, "escapes": 1}


@pytest.mark.parametrize(
    ("text", "newline"), [("a\nb\n", "lf"), ("a\r\nb\r\n", "crlf"), ("a\r\nb\n", "mixed"), ("a", "none")]
)
async def test_line_ends_are_told(root: Path, files: Any, text: str, newline: str) -> None:
    (root / "a.txt").write_bytes(text.encode())
    assert assert_ok(await files.call("read_file", {"path": "a.txt"})).data["newline"] == newline


@pytest.mark.parametrize(
    ("offset", "limit", "shown", "following"),
    [
        (0, 2, "1\n2\n", 2),
        (2, 2, "3\n4\n", 4),
        (3, 2, "4\n5", None),
        (4, None, "5", None),
        (4, 1, "5", None),
        (5, None, "", None),
        (0, 5, "1\n2\n3\n4\n5", None),
    ],
)
async def test_lines_are_shown_from_where_they_are_asked_for(
    root: Path, files: Any, offset: int, limit: int | None, shown: str, following: int | None
) -> None:
    (root / "a.txt").write_text("1\n2\n3\n4\n5")
    result = assert_ok(await files.call("read_file", {"path": "a.txt", "offset": offset, "limit": limit}))
    assert result.content[0].text == shown
    assert result.data["next_offset"] == following
    assert result.data["truncated"] is (following is not None)
    assert (f"offset={following}" in result.text) is (following is not None)


async def test_an_offset_behind_the_end_says_how_many_lines_there_are(root: Path, files: Any) -> None:
    (root / "a.txt").write_text("1\n2")
    result = await files.call("read_file", {"path": "a.txt", "offset": 3})
    assert_error(result, ErrorCode.INVALID_INPUT, says="has only 2 lines")


async def test_long_text_comes_in_parts_that_make_the_whole(root: Path, open_files: Any) -> None:
    files = await open_files(max_text_bytes=1000)
    text = "".join(f"line {number} é\n" for number in range(500))
    (root / "long.txt").write_text(text)
    parts, offset = [], 0
    while offset is not None:
        result = assert_ok(await files.call("read_file", {"path": "long.txt", "offset": offset}))
        assert len(result.content[0].text.encode()) <= 1000
        parts.append(result.content[0].text)
        offset = result.data["next_offset"]
    assert "".join(parts) == text
    assert len(parts) > 5


async def test_a_line_that_is_too_long_to_show_is_cut_and_said_to_be(root: Path, open_files: Any) -> None:
    files = await open_files(max_text_bytes=100)
    (root / "wide.txt").write_text("é" * 500 + "\nnext\n")
    result = assert_ok(await files.call("read_file", {"path": "wide.txt"}))
    assert result.content[0].text == "é" * 50
    assert result.data["truncated"] is True
    assert "truncated within line 1" in result.text
    assert_ok(await files.call("read_file", {"path": "wide.txt", "offset": 1}), text="next\n")


async def test_a_file_is_read_only_so_far(root: Path, open_files: Any) -> None:
    files = await open_files(max_read_bytes=200_000)
    (root / "log.txt").write_text("x" * 99 + "\n" + "y" * 300_000)
    assert_ok(await files.call("read_file", {"path": "log.txt", "limit": 1}))
    (root / "log.txt").write_text("x\n" * 150_000)
    result = await files.call("read_file", {"path": "log.txt", "offset": 149_000})
    assert_error(result, ErrorCode.INVALID_INPUT, reason="too_large")


@given(st.text("ab\r\né", max_size=30), st.integers(0, 6), st.integers(1, 4) | st.none(), st.integers(1, 12))
@example("aaaa\nb", 0, None, 3)
def test_a_window_shows_whole_lines_within_its_cap_or_one_that_is_cut(
    text: str, offset: int, limit: int | None, most: int
) -> None:
    """Whatever chunks a text comes in, a window is the lines from `offset` on, as many as fit."""
    lines = text.split("\n")
    lines = [*(line + "\n" for line in lines[:-1]), *([lines[-1]] if lines[-1] else [])]
    for size in (1, 3, 1000):
        chunks = [text[at : at + size] for at in range(0, len(text), size)]
        window = _window(iter(chunks), offset, limit, most)
        shown = "".join(window.pieces)
        assert len(shown.encode()) <= most
        left = lines[offset:]
        if window.cut_in_line:
            assert left[0].startswith(shown)
            assert shown != left[0]
        else:
            assert shown == "".join(left[: window.lines])
        assert window.more is (shown != "".join(left))
        assert limit is None or window.lines <= limit


# -- encodings


@pytest.mark.parametrize(
    ("encoding", "data", "text"),
    [
        ("latin-1", b"caf\xe9", "café"),
        ("ISO_8859-1", b"caf\xe9", "café"),
        ("windows-1252", b"\x80 5", "€ 5"),
        ("Shift_JIS", "日本".encode("shift-jis"), "日本"),
        ("utf-16", "é".encode("utf-16"), "é"),
        ("utf-16-le", "é\n".encode("utf-16-le"), "é\n"),
        ("utf-16", python_codecs.BOM_UTF16_BE + "é".encode("utf-16-be"), "é"),
        ("utf-32", "é".encode("utf-32"), "é"),
        ("utf-8-sig", "é".encode("utf-8-sig"), "é"),
        ("utf-8", "é".encode("utf-8-sig"), "é"),
    ],
)
async def test_a_file_is_read_in_the_encoding_that_is_named(
    root: Path, files: Any, encoding: str, data: bytes, text: str
) -> None:
    (root / "a.txt").write_bytes(data)
    result = assert_ok(await files.call("read_file", {"path": "a.txt", "encoding": encoding}), text=text)
    assert result.data["bom"] is data.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"))


@pytest.mark.parametrize(
    "encoding",
    ["rot13", "zlib", "unicode_escape", "utf-7", "idna", "punycode", "mbcs", "hex", "", "../utf-8", "x" * 5000],
)
async def test_only_encodings_of_text_are_read(root: Path, files: Any, encoding: str) -> None:
    (root / "a.txt").write_text("a")
    result = await files.call("read_file", {"path": "a.txt", "encoding": encoding})
    assert_error(result, ErrorCode.INVALID_INPUT, says="encoding")


async def test_a_near_name_of_an_encoding_is_suggested(root: Path, files: Any) -> None:
    result = await files.call("read_file", {"path": "a.txt", "encoding": "latn-1"})
    assert_error(result, ErrorCode.INVALID_INPUT, says="latin-1")


async def test_invalid_bytes_are_an_error_that_names_their_offset(root: Path, files: Any) -> None:
    (root / "a.txt").write_bytes(b"x" * 70_000 + "é".encode() + b"\xe9 and more\n")
    result = await files.call("read_file", {"path": "a.txt", "offset": 1})
    assert_error(result, ErrorCode.INVALID_INPUT, reason="encoding", says="at offset 70002")
    assert result.error.details["offset"] == 70_002


async def test_a_mark_of_another_encoding_is_pointed_out(root: Path, files: Any) -> None:
    (root / "a.txt").write_bytes("é".encode("utf-16"))
    result = await files.call("read_file", {"path": "a.txt"})
    assert_error(result, ErrorCode.INVALID_INPUT, says="encoding=utf-16")


@given(
    st.sampled_from(sorted({codecs.exact(codec, b"") for codec in codecs.CODECS.values()})),
    st.lists(st.binary(max_size=6), max_size=5) | st.text(max_size=8).map(lambda text: [text.encode("utf-8")]),
)
@example("utf-8", [b"\xc3", b"\xa9\xff"])
@example("shift-jis", [b"a\x81"])
@example("utf-16-le", [b"a"])
def test_bytes_are_decoded_as_a_whole_or_refused_at_the_very_offset(codec: str, chunks: list[bytes]) -> None:
    """However bytes are cut into chunks, they decode as in one piece, or the error names where they do not."""
    data = b"".join(chunks)
    expected: str | int
    try:
        expected = data.decode(codec)
    except UnicodeDecodeError as problem:
        expected = problem.start
    answer: str | ToolError
    try:
        answer = "".join(codecs.decode(chunks, codec, "'x'"))
    except ToolError as error:
        answer = error
    if isinstance(answer, ToolError):
        assert answer.details["offset"] == expected
    else:
        assert answer == expected


def test_every_encoding_that_is_listed_is_one_of_python_and_holds_ascii() -> None:
    for codec in codecs.CODECS.values():
        assert "abc\n".encode(codec).decode(codec) == "abc\n"


# -- what is not text


@pytest.fixture
def sound(root: Path) -> bytes:
    with wave.open(str(root / "sound.wav"), "wb") as made:
        made.setparams((1, 2, 8000, 0, "NONE", ""))
        made.writeframes(bytes(100))
    return (root / "sound.wav").read_bytes()


async def test_an_image_comes_back_as_an_image(root: Path, files: Any) -> None:
    (root / "a.txt").write_bytes(PNG)  # by what it is, not by its name
    result = assert_ok(await files.call("read_file", {"path": "a.txt"}))
    assert result.content == (ImageContent(PNG, "image/png"),)
    assert result.data == {"path": "a.txt", "size": len(PNG), "mime_type": "image/png"}


async def test_sound_comes_back_as_sound(files: Any, sound: bytes) -> None:
    result = assert_ok(await files.call("read_file", {"path": "sound.wav"}))
    assert result.content == (AudioContent(sound, "audio/wav"),)


@pytest.mark.parametrize(
    ("data", "mime_type"),
    [
        (b"%PDF-1.7\nplain as text", "application/pdf"),
        (b"PK\3\4" + bytes(30), "application/zip"),
        (zlib.compress(b"x") + bytes(10), "application/octet-stream"),
        (b"\x7fELF\2\1\1\0", "application/x-elf"),
    ],
)
async def test_other_bytes_come_back_as_a_resource(root: Path, files: Any, data: bytes, mime_type: str) -> None:
    (root / "da ta").write_bytes(data)
    result = assert_ok(await files.call("read_file", {"path": "da ta"}))
    assert result.content == (BinaryContent(data, mime_type, "files:da%20ta", "da ta"),)


async def test_an_image_above_the_cap_is_refused_with_its_size(root: Path, open_files: Any) -> None:
    files = await open_files(max_binary_bytes=10)
    (root / "a.png").write_bytes(PNG)
    result = await files.call("read_file", {"path": "a.png"})
    assert_error(result, ErrorCode.INVALID_INPUT, reason="too_large", says="28 bytes, at most 10")


async def test_an_image_larger_than_other_results_comes_whole(root: Path, files: Any) -> None:
    (root / "a.png").write_bytes(PNG + bytes(1_000_000))
    assert len(assert_ok(await files.call("read_file", {"path": "a.png"})).content[0].data) == 1_000_028


@pytest.mark.parametrize(
    ("head", "mime_type"),
    [
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a\1\0\1\0\x80", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\0\0\0\0AVI LIST", "video/x-msvideo"),
        (b"RIFF\0\0\0\0NEW!", None),
        (b"\0\0\0\x20ftypavif", "image/avif"),
        (b"\0\0\0\x20ftypM4A ", "audio/mp4"),
        (b"\0\0\0\x20ftypisom", "video/mp4"),
        (b"BM\x10\0\0\0\0\0\0\0\x36\0\0\0\x28\0", "image/bmp"),
        (b"ID3\4\0\0", "audio/mpeg"),
        (b"\xff\xfb\x90\0", "audio/mpeg"),
        (b"\xff\xf1\x50", "audio/aac"),
        (b"FORM\0\0\0\0AIFF", "audio/aiff"),
        (b"fLaC\0\0\0\x22", "audio/flac"),
        (bytes(257) + b"ustar", "application/x-tar"),
        (b"\xff\xfea\0", None),
    ],
)
def test_first_bytes_show_what_a_file_is(head: bytes, mime_type: str | None) -> None:
    assert codecs.media_type(head) == mime_type


@pytest.mark.parametrize("text", ["BM is a company", "ID3 tags", "GIF89a in words", "RIFFxxxxWAVE", "#!AMR", "wOFF"])
async def test_text_that_begins_like_an_image_is_text(root: Path, files: Any, text: str) -> None:
    (root / "a").write_text(text)
    assert_ok(await files.call("read_file", {"path": "a"}), text=text)


# -- what cannot be read


@pytest.mark.parametrize(
    ("path", "code", "reason"),
    [
        ("nothing.txt", ErrorCode.NOT_FOUND, "missing"),
        ("folder", ErrorCode.INVALID_INPUT, "folder"),
        (".", ErrorCode.INVALID_INPUT, "folder"),
        ("file/below", ErrorCode.NOT_FOUND, "missing"),
    ],
)
async def test_what_cannot_be_read_is_said_in_the_words_of_the_caller(
    root: Path, open_files: Any, opening: str, path: str, code: ErrorCode, reason: str
) -> None:
    (root / "folder").mkdir()
    (root / "file").write_text("x")
    files = await open_files(opening=opening)
    result = assert_error(await files.call("read_file", {"path": path}), code, reason=reason, says=repr(path))
    assert str(root) not in str(result.to_json())

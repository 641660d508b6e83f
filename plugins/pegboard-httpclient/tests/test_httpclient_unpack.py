"""Packed answers are taken apart within bounds."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard_httpclient.unpack import AT_ONCE, MAX_MEMBERS, PackedError, Unpacker


def unpacked(coding: str, data: bytes, step: int = 7, room: int = 10**9) -> tuple[bytes, bool]:
    """What comes out where the bytes come `step` at a time, and whether the end was there; no more is asked for once
    there are `room` bytes."""
    unpacker = Unpacker(coding)
    got = bytearray()
    for at in range(0, len(data), step):
        for part in unpacker.parts(data[at : at + step]):
            got += part
            if len(got) > room:
                return bytes(got), unpacker.is_whole
    return bytes(got), unpacker.is_whole


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "GZIP ": gzip.compress,
    "deflate": zlib.compress,
    "Deflate": raw_deflate,
}


@given(st.binary(max_size=3_000), st.sampled_from(sorted(PACKERS)), st.integers(1, 50))
def test_however_the_bytes_are_cut_what_was_packed_comes_out(data: bytes, coding: str, step: int) -> None:
    packed = PACKERS[coding](data)
    assert unpacked(coding, packed, step) == (data, True)
    if step < len(packed) - 1:
        assert unpacked(coding, packed[:-1], step)[1] is False


@pytest.mark.parametrize("coding", sorted(PACKERS))
@pytest.mark.parametrize("size", [AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE])
def test_what_fills_a_part_to_the_byte_is_whole(coding: str, size: int) -> None:
    packed = PACKERS[coding](b"\x00" * size)
    for step in (len(packed), 11):
        got, is_whole = unpacked(coding, packed, step)
        assert (len(got), is_whole) == (size, True)


def test_a_part_has_a_bound() -> None:
    parts = Unpacker("gzip").parts(gzip.compress(b"\x00" * 20_000_000))
    assert len(next(parts)) == AT_ONCE


def test_members_of_gzip_are_all_there() -> None:
    data = gzip.compress(b"first ") + gzip.compress(b"") + gzip.compress(b"second")
    assert unpacked("gzip", data, len(data)) == unpacked("gzip", data, 1) == (b"first second", True)
    assert unpacked("gzip", data[:-5])[1] is False


@pytest.mark.parametrize("filling", [b"\x00" * 40, b"text", b"text" + gzip.compress(b"more", mtime=0)])
def test_what_stands_behind_the_end_is_left_out(filling: bytes) -> None:
    for step in (1, 1_000):
        assert unpacked("gzip", gzip.compress(b"all") + filling, step) == (b"all", True)
        assert unpacked("deflate", zlib.compress(b"all") + filling, step) == (b"all", True)


@pytest.mark.parametrize(
    "data", [gzip.compress(b"all", mtime=0) + b"\x1f garbage", gzip.compress(b"", mtime=0) * (MAX_MEMBERS + 1)]
)
def test_members_that_are_none_or_without_end_are_refused(data: bytes) -> None:
    with pytest.raises(PackedError, match="cannot be unpacked"):
        unpacked("gzip", data, len(data))


def test_a_bomb_of_members_stops_where_nobody_asks_for_more() -> None:
    bomb = gzip.compress(b"\x00" * 10_000_000)
    got, _ = unpacked("gzip", bomb * 20, 10**9, room=100_000)
    assert len(got) <= 100_000 + AT_ONCE


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip", "deflate, gzip", "\x00"])
def test_what_nobody_asked_for_is_refused(coding: str) -> None:
    for make in (Unpacker, Unpacker.of):
        with pytest.raises(PackedError, match="nobody asked for"):
            make(coding)


@pytest.mark.parametrize("coding", ["", "identity", " Identity", "none", "UTF-8"])
def test_what_is_not_packed_needs_no_unpacking(coding: str) -> None:
    assert Unpacker.of(coding) is None


@given(st.binary(max_size=300), st.sampled_from(["gzip", "deflate"]), st.integers(1, 20))
def test_any_bytes_are_unpacked_or_refused(data: bytes, coding: str, step: int) -> None:
    for given_bytes in (data, b"\x1f\x8b\x08\x00" + data, gzip.compress(b"a") + data):
        try:
            unpacked(coding, given_bytes, step, room=1_000)
        except PackedError as problem:
            assert "cannot be unpacked" in str(problem)  # noqa: PT017 - both ends are right

"""What was packed as gzip or deflate (RFC 9110, section 8.4.1), taken apart a bounded part at a time. No I/O."""

from __future__ import annotations

import zlib

CODINGS = "gzip, deflate"
"""What is asked for."""
MAX_MEMBERS = 10_000
"""Of one answer: an empty one has 20 bytes, and takes some microseconds."""
AT_ONCE = 1 << 18
"""So much is unpacked at a time, in bytes: a kilobyte may hold a megabyte."""


class PackedError(ValueError):
    """The bytes are not packed as the answer says."""


class Unpacker:
    """Takes an answer's bytes as they come.

    Args:
        coding: what Content-Encoding says; anything but one coding of `CODINGS` is refused.

    Raises:
        PackedError: a coding that nobody asked for.
    """

    def __init__(self, coding: str) -> None:
        if coding.strip().lower() not in ("gzip", "x-gzip", "deflate"):
            raise PackedError("packed its answer in a way that nobody asked for")
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)  # gzip or zlib, as it begins
        self._begun = False
        self._is_over = False
        self._members = 1

    @property
    def is_whole(self) -> bool:
        """Whether the end was there, or nothing came at all."""
        return self._inflate.eof or not self._begun

    def feed(self, data: bytes, room: int) -> bytes:
        """What these bytes hold; of more than `room` bytes only a little more is unpacked.

        Raises:
            PackedError: they are not packed so.
        """
        parts: list[bytes] = []
        count = 0
        while data and count <= room:
            if self._inflate.eof and not self._begin_member(data):
                break
            part = self._part(data)
            parts.append(part)
            count += len(part)
            data = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
        return b"".join(parts)

    def _begin_member(self, data: bytes) -> bool:
        """Whether more of the answer begins here: gzip may come in several members (RFC 1952, section 2.2). What else
        stands behind the end, zeros for one, is filling, and is left out as gzip does it."""
        if data[:1] != b"\x1f" or self._is_over:
            self._is_over = True
            return False
        self._members += 1
        if self._members > MAX_MEMBERS:
            raise PackedError("sent an answer that cannot be unpacked")
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
        return True

    def _part(self, data: bytes) -> bytes:
        try:
            part = self._inflate.decompress(data, AT_ONCE)
        except zlib.error:
            if self._begun:
                raise PackedError("sent an answer that cannot be unpacked") from None
            # Deflate without a head, as some servers send it.
            self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
            self._begun = True
            try:
                return self._inflate.decompress(data, AT_ONCE)
            except zlib.error:
                raise PackedError("sent an answer that cannot be unpacked") from None
        self._begun = True
        return part

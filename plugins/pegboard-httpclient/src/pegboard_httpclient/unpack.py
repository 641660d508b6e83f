"""What was packed as gzip or deflate (RFC 9110, section 8.4.1), taken apart a bounded part at a time. No I/O."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

__all__ = ["CODINGS", "PackedError", "Unpacker"]

CODINGS = "gzip, deflate"
"""What is asked for."""
MAX_MEMBERS = 10_000
"""Of one answer: an empty one has 20 bytes, and takes some microseconds."""
AT_ONCE = 1 << 18
"""So much is unpacked at a time, in bytes: a kilobyte may hold a megabyte."""

_PLAIN = frozenset({"", "identity", "none", "utf-8", "utf8"})
"""What is not packed; some servers say their character set here."""


class PackedError(ValueError):
    """The bytes are not packed as the answer says.

    .. versionadded:: 0.1
    """


class Unpacker:
    """Takes an answer's bytes as they come.

    Args:
        coding: what Content-Encoding says; anything but one coding of `CODINGS` is refused.

    Raises:
        PackedError: a coding that nobody asked for.

    .. versionadded:: 0.1
    """

    def __init__(self, coding: str) -> None:
        if coding.strip().lower() not in ("gzip", "x-gzip", "deflate"):
            raise PackedError("packed its answer in a way that nobody asked for")
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)  # gzip or zlib, as it begins
        self._held = b""  # a first byte alone does not say how it is packed
        self._begun = False
        self._is_over = False
        self._members = 1

    @classmethod
    def of(cls, coding: str) -> Self | None:
        """What unpacks an encoding; None: it is not packed.

        Raises:
            PackedError: a coding that nobody asked for.
        """
        return None if coding.strip().lower() in _PLAIN else cls(coding)

    @property
    def is_whole(self) -> bool:
        """Whether the end was there, or nothing came at all."""
        return self._inflate.eof or not (self._begun or self._held)

    def parts(self, data: bytes) -> Iterator[bytes]:
        """What these bytes hold, at most `AT_ONCE` bytes at a time; what is not asked for is not unpacked.

        Raises:
            PackedError: they are not packed so.
        """
        if not self._begun:
            data, self._held = self._held + data, b""
            if len(data) < 2:
                self._held = data
                return
        has_more = bool(data)
        while has_more:
            if self._inflate.eof and not self._begin_member(data):
                return
            part = self._part(data)
            data = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
            # The last bytes may hold more than one part: zlib has taken them, and gives the rest when it is asked.
            has_more = bool(data) or (len(part) == AT_ONCE and not self._inflate.eof)
            if part:
                yield part

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
            return self._part(data)
        self._begun = True
        return part

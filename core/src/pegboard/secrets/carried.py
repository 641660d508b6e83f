"""The keys that a configured value carries: an address has a password, a header a scheme before its key, a cookie more
than one. What a tool answers or a library says has often the key alone.

.. versionadded:: 0.1
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import functools
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pegboard.config import looks_secret
from pegboard.config._secrets import words_of
from pegboard.secrets.shapes import find_shapes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["keys_in", "secrets_of_environment"]

_PAIR = r"([^\s=;,&]+)=([^\s;,&]+)"


@functools.lru_cache(1_000)
def keys_in(secret: str) -> tuple[str, ...]:
    """A value that is secret, and every key that stands in it.

    .. versionadded:: 0.1
    """
    return tuple(dict.fromkeys((secret, *_carried(secret))))


def secrets_of_environment(environ: Mapping[str, str]) -> Iterator[str]:
    """The keys in variables whose names say that they are secret, or headers, and those in addresses.

    .. versionadded:: 0.1
    """
    for name, value in environ.items():
        if looks_secret(name) or "headers" in words_of(name):
            yield from keys_in(value)
        elif "://" in value:
            yield from _of_address(value)


def _carried(secret: str) -> Iterator[str]:
    if not any(sign in secret for sign in "=: "):
        return
    yield from (secret[start:end] for start, end, _ in find_shapes(secret))
    if "://" in secret:
        yield from _of_address(secret)
        return
    words = secret.split()
    if len(words) == 2 and words[0].isalpha():  # a header of authorization, whatever its scheme
        yield from (words[1], *_of_basic(words[1]))
        return
    pairs = re.findall(_PAIR, secret)
    for _, value in [pair for pair in pairs if looks_secret(pair[0])] or pairs:
        yield from keys_in(unquote(value))


def _of_address(text: str) -> Iterator[str]:
    """The password, or what stands alone before the host, as written and as meant."""
    rest = text.partition("://")[2]
    told, at, _ = rest.partition("/")[0].rpartition("@")
    if not at:
        told, at, _ = rest.rpartition("@")  # a password may hold any sign
    user, colon, password = told.partition(":")
    key = password if colon else user
    if at and key:
        yield from dict.fromkeys((key, unquote(key)))


def _of_basic(key: str) -> Iterator[str]:
    """The password in what basic authentication sends."""
    with contextlib.suppress(binascii.Error, UnicodeDecodeError):
        yield base64.b64decode(key, validate=True).decode().partition(":")[2]

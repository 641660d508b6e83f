"""What asks to go over to WebSocket where it is not served, or asks for it wrongly, is an ordinary request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio

KEY = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
VERSION = b"Sec-WebSocket-Version: 13\r\n"


@pytest.mark.parametrize(
    ("transport", "path", "said"),
    [
        ("http", b"/mcp", KEY + VERSION),
        ("websocket", b"/other", KEY + VERSION),
        ("websocket", b"/ws", KEY + b"Sec-WebSocket-Version: 8\r\n"),
        ("websocket", b"/ws", VERSION),
    ],
)
async def test_a_wrong_handshake_is_answered_and_its_connection_is_kept_no_longer_than_another(
    over_http: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, transport: str, path: bytes, said: bytes
) -> None:
    monkeypatch.setattr("pegboard_serving.worker.KEPT_S", 0.05)
    async with over_http(transport=transport) as served:
        port = int(served.url.rpartition(":")[2].partition("/")[0])
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            head = b"GET " + path + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            await stream.send_all(head + said + b"\r\n")
            got = b""
            with trio.fail_after(30):  # until the server closes it
                async for part in stream:
                    got += part
    assert got.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5")), got

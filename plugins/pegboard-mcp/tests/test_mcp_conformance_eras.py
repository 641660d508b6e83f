"""A server of the handshake era is found out by what it answers to the first question of the newer one."""

from __future__ import annotations

from typing import Any

import pytest

from pegboard.testing import assert_ok


@pytest.mark.parametrize("number", [-32601, -32602, -32600, -32603, -32000, -32001])
async def test_a_handshake_follows_whatever_number_the_newer_protocol_is_refused_with(
    serve: Any, define: Any, number: int
) -> None:
    """-32000 and -32001 are what servers in the wild answer, and what the SDK says of lost and late connections."""
    served = await serve(define(script={"refuses": number}))
    assert_ok(await served.call("add", a=1, b=2))
    assert served.source.connection.version == "2025-11-25"

"""What the tests share: the SDK's types as the oracle of request bodies, and a board without a network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def _forced(value: Any) -> Any:
    """The value with every lazy part of it read, so that all of it has been validated."""
    if isinstance(value, dict):
        return {key: _forced(item) for key, item in value.items()}
    if value is None or isinstance(value, (str, int, float, bool, bytes)):
        return value
    return [_forced(item) for item in value]


@pytest.fixture(scope="session")
def check_body() -> Callable[[dict[str, Any]], None]:
    """Holds a body against the SDK's types, which drop what they do not know: what comes out must be what went in."""
    pytest.importorskip("anthropic", reason="the SDK of Anthropic is the oracle of request bodies")
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming, MessageCreateParamsStreaming
    from pydantic import TypeAdapter

    adapters = {
        False: TypeAdapter(MessageCreateParamsNonStreaming),
        True: TypeAdapter(MessageCreateParamsStreaming),
    }

    def check(body: dict[str, Any]) -> None:
        known = {key: value for key, value in body.items() if key != "temperature"}  # the SDK's types lost it
        assert _forced(adapters[body["stream"]].validate_python(body)) == known

    return check

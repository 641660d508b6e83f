"""`[plugins.chat]`: which model, and how much a question may cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from pegboard import setting

if TYPE_CHECKING:
    from collections.abc import Mapping


@attrs.frozen
class ChatSettings:
    """The settings of pegboard-chat."""

    model: str | None = setting(None, help="provider:model that is asked where no --model says otherwise")
    system: str | None = setting(None, help="what the model is told before anything else")
    max_tool_calls: int = setting(5, help="calls that one question may make; those beyond answer with an error")
    max_rounds: int = setting(20, help="requests to the model that one question may make")
    max_tokens: int | None = setting(None, help="tokens, read and written, that one question may cost")
    max_seconds: float = setting(600.0, help="how long one question may take, in seconds")
    max_cost: float | None = setting(None, help="what one question may cost, in the currency of the price table")
    prices: Mapping[str, Any] = setting(
        factory=dict, help="by provider:model: input, output and cached, a million tokens"
    )
    tools_tokens: int = setting(
        8_000, help="above this price of all definitions the model gets find_tools and call_tool"
    )
    temperature: float | None = setting(None, help="None: the provider's own")
    timeout_s: float = setting(300.0, help="how long one request to a model may take, in seconds")

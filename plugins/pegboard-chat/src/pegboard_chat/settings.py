"""`[plugins.chat]`: which model, and how much a question may cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from pegboard import Fault, setting
from pegboard.config import above_zero, not_negative

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@attrs.frozen
class ChatSettings:
    """The settings of pegboard-chat.

    .. versionadded:: 0.1
    """

    model: str | None = setting(None, widens=True, help="provider:model that is asked where no --model says otherwise")
    system: str | None = setting(None, widens=True, help="what the model is told before anything else")
    max_tool_calls: int = setting(
        5,
        stricter="lower",
        validator=not_negative,
        help="calls that one question may make; those beyond answer with an error",
    )
    max_rounds: int = setting(
        20,
        stricter="lower",
        validator=above_zero,
        help="requests to the model that one question may make; the last may call nothing",
    )
    max_tokens: int | None = setting(
        None,
        stricter="lower",
        validator=above_zero,
        help="tokens, read and written, after which only one last request is made",
    )
    max_seconds: float = setting(
        600.0,
        stricter="lower",
        validator=above_zero,
        help="how long one question may take, in seconds, without the time of a person who is asked; a last request"
        " comes on top",
    )
    max_cost: float | None = setting(
        None,
        stricter="lower",
        validator=above_zero,
        help="cost, in the currency of the price table, after which one last request is made",
    )
    prices: Mapping[str, Any] = setting(
        # A price that is too low is a way around a bound in money.
        factory=dict,
        widens=True,
        help="by provider:model: input, output and cached, a million tokens",
    )
    tools_tokens: int = setting(
        8_000,
        validator=not_negative,
        help="above this price of all definitions the model gets find_tools and call_tool",
    )
    temperature: float | None = setting(None, validator=not_negative, help="None: the provider's own")
    timeout_s: float = setting(
        300.0, stricter="lower", validator=above_zero, help="how long one request to a model may take, in seconds"
    )

    @classmethod
    def find_faults(cls, raw: Mapping[str, Any]) -> Iterator[Fault]:
        """What is wrong with the prices, and with the form of the model's name."""
        from pegboard_chat.prices import faults_of_prices

        for fault in faults_of_prices(raw.get("prices")):
            yield attrs.evolve(fault, path=("prices", *fault.path))

"""`[plugins.anthropic]`: the key, the address, and what every request says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import attrs

from pegboard import setting
from pegboard.config import above_zero

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pegboard import Fault

MIN_BUDGET = 1024
"""Fewer tokens of thinking the API refuses."""


def _a_budget(_: Any, __: Any, value: int | str | None) -> None:
    if isinstance(value, int) and value < MIN_BUDGET:
        raise ValueError(f"at least {MIN_BUDGET} tokens")


@attrs.frozen(kw_only=True)
class AnthropicSettings:
    """The settings of pegboard-anthropic."""

    api_key: str | None = setting(
        None, secret=True, widens=True, help="the key; else ANTHROPIC_API_KEY, else the keyring"
    )
    base_url: str | None = setting(
        None, widens=True, help="the address before /v1/messages; else ANTHROPIC_BASE_URL, else Anthropic's own"
    )
    model: str = setting(
        "claude-sonnet-5-5", widens=True, help="the model that answers where only the provider is named"
    )
    max_tokens: int = setting(
        16_000,
        stricter="lower",
        validator=above_zero,
        help="of output, thinking included, where a request says nothing else",
    )
    thinking: int | Literal["adaptive", "off"] | None = setting(
        None,
        widens=True,
        validator=_a_budget,
        help="adaptive, off, or a budget of tokens for models up to 4.6; None: the model's own way",
    )
    strict: bool = setting(
        True, stricter="true", help="hold the model to the schemas of tools, as far as the limits of a request go"
    )
    cache: bool = setting(
        False,
        stricter="false",
        help="let the provider cache what was sent: 25 % dearer once, 90 % cheaper each time after",
    )
    version: str = setting("2023-06-01", widens=True, help="the header anthropic-version")
    betas: tuple[str, ...] = setting((), widens=True, help="features to switch on, for the header anthropic-beta")

    @classmethod
    def find_faults(cls, raw: Mapping[str, Any]) -> Iterable[Fault]:
        """An address that is not valid, or holds more than one."""
        from pegboard_chat.wire import faults_of_address

        return faults_of_address(raw.get("base_url"))

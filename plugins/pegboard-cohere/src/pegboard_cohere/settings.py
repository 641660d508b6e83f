"""`[plugins.cohere]`: the key, the address, the model, strict tools, thinking, images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from pegboard import setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pegboard import Fault


def _check_budget(instance: object, attribute: attrs.Attribute[int | None], value: int | None) -> None:
    if value is not None and value < 1:
        raise ValueError("expected a number of tokens above zero")


@attrs.frozen
class CohereSettings:
    """`[plugins.cohere]`.

    .. versionadded:: 0.1
    """

    api_key: str | None = setting(None, secret=True, widens=True, help="the key; by default CO_API_KEY")
    base_url: str | None = setting(
        None,
        widens=True,
        help="where the API is, without its version; by default CO_API_URL, then Cohere's own",
    )
    model: str = setting("command-a-03-2025", widens=True, help="the model where --model names only cohere")
    strict: bool = setting(
        True, stricter="true", help="whether strict_tools is asked for where every tool of a request fits it"
    )
    thinking: bool | None = setting(None, widens=True, help="whether reasoning models think; by default they do")
    thinking_budget: int | None = setting(
        None, widens=True, validator=_check_budget, help="tokens that a reasoning model may think, at most"
    )
    images: bool | None = setting(
        None, help="whether the model takes images; by default Command A+ and those with vision in their name do"
    )

    @classmethod
    def find_faults(cls, raw: Mapping[str, Any]) -> Iterable[Fault]:
        """An address that is not valid, or holds more than one."""
        from pegboard_chat.wire import faults_of_address

        return faults_of_address(raw.get("base_url"))

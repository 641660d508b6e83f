"""`[plugins.gemini]`: the key, the address, the model, how tools are described, and thinking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import attrs

from pegboard import setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pegboard import Fault


def _check_budget(instance: object, attribute: attrs.Attribute[int | None], value: int | None) -> None:
    if value is not None and value < -1:
        raise ValueError("expected -1 for the model's own choice, 0 for none, or a number of tokens")


@attrs.frozen
class GeminiSettings:
    """`[plugins.gemini]`.

    .. versionadded:: 0.1
    """

    api_key: str | None = setting(
        None, secret=True, widens=True, help="the key; by default GEMINI_API_KEY, then GOOGLE_API_KEY"
    )
    base_url: str | None = setting(
        None,
        widens=True,
        help="where the API is, without its version; by default GOOGLE_GEMINI_BASE_URL, then Google's own",
    )
    model: str = setting("gemini-3.8-flash", widens=True, help="the model where --model names only gemini")
    schema: Literal["json_schema", "parameters"] = setting(
        "json_schema",
        help="how tools are described: parametersJsonSchema, or the older subset that every server knows",
    )
    thinking_level: Literal["minimal", "low", "medium", "high"] | None = setting(
        None, widens=True, help="how much models from Gemini 3 on think; by default the model's own"
    )
    thinking_budget: int | None = setting(
        None,
        widens=True,
        validator=_check_budget,
        help="tokens that Gemini 2.5 may think: 0 none, -1 as many as it wants",
    )
    include_thoughts: bool = setting(False, help="whether summaries of what it thinks are shown")

    @classmethod
    def find_faults(cls, raw: Mapping[str, Any]) -> Iterable[Fault]:
        """An address that is not valid, or holds more than one."""
        from pegboard_chat.wire import faults_of_address

        return faults_of_address(raw.get("base_url"))

"""What a model's tokens cost: the table that comes with the package, and the user's own over it.

The table is `prices.toml`. `[plugins.chat.prices]` of the configuration adds to it and overrides it, by
`provider:model`. A name of neither is looked for without its version (`-20251101`, `-2025-08-07`, `-latest`,
`-preview`), then as `provider:*`. What no price is known of has no cost: never a guess, and never nothing.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pegboard_chat.conversation import Usage

MILLION = 1_000_000
_VERSION = re.compile(r"-(latest|preview|exp|\d{2}-\d{2}|\d{2}-\d{4}|\d{4}-\d{2}-\d{2}|\d{6}|\d{8}|\d{3})$", re.ASCII)
_NUMBERS = ("input", "output", "cached")


@attrs.frozen
class Price:
    """A model's price, for a million tokens.

    Args:
        input: of what it reads.
        output: of what it writes.
        cached: of what it reads from the provider's cache; None: as any other input.
        long: the price of a request that reads more than `above` tokens; None: the same.
        above: see `long`.

    .. versionadded:: 0.1
    """

    input: float
    output: float
    cached: float | None = None
    long: Price | None = None
    above: int = 0

    def cost_of(self, usage: Usage) -> float:
        """What one request costs."""
        if self.long is not None and usage.input_tokens > self.above:
            return self.long.cost_of(usage)
        cached = min(usage.cached_tokens, usage.input_tokens)
        cached_price = self.input if self.cached is None else self.cached
        fresh = (usage.input_tokens - cached) * self.input
        return (fresh + cached * cached_price + usage.output_tokens * self.output) / MILLION


@attrs.frozen(eq=False)
class Prices:
    """The prices in force.

    Args:
        currency: of all of them, as in `USD`.
        date: when those of the package were read, as in `2026-11-06`.
        table: by `provider:model`.
        same: providers whose prices are those of another.

    .. versionadded:: 0.1
    """

    currency: str
    date: str
    table: Mapping[str, Price]
    same: Mapping[str, str] = attrs.field(factory=dict)

    def with_own(self, own: Mapping[str, Any]) -> Prices:
        """These prices with the user's own over them, by `provider:model` or `provider:*`; members as in the table."""
        if not own:
            return self
        return attrs.evolve(self, table={**self.table, **{name: _price_of(entry) for name, entry in own.items()}})

    def find(self, model: str) -> Price | None:
        """The price of `provider:model`; None: it is not known."""
        provider, _, name = model.partition(":")
        for whose in (provider, self.same.get(provider)):
            if whose is not None and (found := self._find(whose, name)) is not None:
                return found
        return None

    def _find(self, provider: str, name: str) -> Price | None:
        while True:
            found = self.table.get(f"{provider}:{name}")
            if found is not None:
                return found
            shorter = _VERSION.sub("", name)
            if shorter == name:
                return self.table.get(f"{provider}:*")
            name = shorter


@functools.cache
def bundled_prices() -> Prices:
    """The table that comes with the package."""
    import tomllib
    from importlib import resources

    entry = tomllib.loads((resources.files("pegboard_chat") / "prices.toml").read_text("utf-8"))
    date, currency, same = entry.pop("date"), entry.pop("currency"), entry.pop("same")
    table = {
        f"{provider}:{model}": _price_of(price) for provider, models in entry.items() for model, price in models.items()
    }
    return Prices(currency, date.isoformat(), table, same)


def faults_of_prices(own: Any) -> Iterator[Fault]:
    """What is wrong with `[plugins.chat.prices]`; paths begin at that table."""
    if not isinstance(own, dict):
        return  # the type of the field says so
    for name, table in own.items():
        if ":" not in name:
            yield Fault((name,), "provider:model", repr(name[:60]))
        if not isinstance(table, dict):
            yield Fault((name,), "a table of input, output and cached", type(table).__name__)
            continue
        yield from _faults_of_price(table, (name,), {*_NUMBERS, "long"})
        if isinstance(longer := table.get("long"), dict):
            yield from _faults_of_price(longer, (name, "long"), {*_NUMBERS, "above"})
            if type(longer.get("above")) is not int:
                yield Fault((name, "long", "above"), "a number of tokens", _got(longer.get("above")))
        elif longer is not None:
            yield Fault((name, "long"), "a table of above, input, output and cached", type(longer).__name__)


def _faults_of_price(table: Mapping[str, Any], path: tuple[str, ...], known: set[str]) -> Iterator[Fault]:
    for key in sorted(table.keys() - known):
        yield Fault((*path, key), f"one of {', '.join(sorted(known))}", "another key")
    for key in _NUMBERS:
        value = table.get(key)
        if value is None and key == "cached":
            continue
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < float("inf"):
            yield Fault((*path, key), "the price of a million tokens, a number not below zero", _got(value))


def _got(value: Any) -> str:
    return "nothing" if value is None else repr(value)[:60]


def _price_of(table: Mapping[str, Any]) -> Price:
    longer = table.get("long")
    return Price(
        table["input"],
        table["output"],
        table.get("cached"),
        None if longer is None else Price(longer["input"], longer["output"], longer.get("cached")),
        0 if longer is None else longer["above"],
    )

"""What doctor says of the configured model."""

from __future__ import annotations

from typing import Any

import pytest

import pegboard_chat.plugin
from pegboard import hookimpl, load_board


class Provider:
    """A provider that lacks what a test says."""

    def __init__(self, missing: str | None, default_model: str | None = None) -> None:
        self.name = "shop"
        self.default_model = default_model
        self._missing = missing

    def missing(self) -> str | None:
        return self._missing

    def open(self, model: str | None) -> Any:
        raise NotImplementedError


class Shop:
    """A plugin with that provider."""

    name = "shop"

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    @hookimpl(optionalhook=True)
    def provide_models(self) -> Any:
        return [self._provider]


def findings(settings: dict[str, Any], provider: Provider | None = None) -> list[str]:
    plugins = [pegboard_chat.plugin, *([Shop(provider)] if provider else [])]
    board = load_board({"plugins": {"chat": settings}}, plugins)
    return [f"{one.what} | {one.where} | {one.why} | {one.fix}" for one in board.findings() if "chat" in one.where]


@pytest.mark.parametrize(
    "settings", [{}, {"model": "echo"}, {"model": "echo:echo", "max_cost": 1.0}, {"model": "echo", "max_cost": 1.0}]
)
def test_nothing_is_wrong(settings: dict[str, Any]) -> None:
    assert findings(settings) == []


def test_a_model_of_no_provider_is_found() -> None:
    [found] = findings({"model": "nope:model"})
    assert "there is no provider of models 'nope'" in found
    assert "write one of: echo" in found
    assert findings({"model": "nope:model", "max_cost": 1.0}) == [found], "a price would not help"


def test_a_provider_that_lacks_something_says_what_to_set() -> None:
    [found] = findings({"model": "shop:one"}, Provider("set SHOP_API_KEY"))
    assert found.endswith("| set SHOP_API_KEY")
    assert findings({"model": "shop:one"}, Provider(None)) == []


@pytest.mark.parametrize(("model", "name"), [("shop:one", "shop:one"), ("shop", "shop:two")])
def test_a_bound_in_money_without_a_price_is_found(model: str, name: str) -> None:
    [found] = findings({"model": model, "max_cost": 1.0}, Provider(None, "two"))
    assert f'[plugins.chat.prices."{name}"]' in found
    prices = {name: {"input": 1.0, "output": 1.0}}
    assert findings({"model": model, "max_cost": 1.0, "prices": prices}, Provider(None, "two")) == []


def test_a_model_that_is_not_known_yet_has_no_price_to_miss() -> None:
    assert findings({"model": "shop", "max_cost": 1.0}, Provider(None)) == []

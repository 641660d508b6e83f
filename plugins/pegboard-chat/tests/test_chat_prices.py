"""What a model's tokens cost."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pegboard_chat.plugin
from pegboard import ConfigError, load_board
from pegboard_chat import ChatSettings, Usage
from pegboard_chat.conversation import tokens_of
from pegboard_chat.prices import Price, bundled_prices, faults_of_prices


def test_the_table_says_its_date_and_currency() -> None:
    prices = bundled_prices()
    assert prices.currency == "USD"
    assert len(prices.date) == len("2026-11-06")
    assert prices.table


def test_every_price_of_the_table_is_sound() -> None:
    for name, price in bundled_prices().table.items():
        assert ":" in name
        assert 0 <= price.input <= price.output, name
        assert price.cached is None or price.cached <= price.input, name
        if price.long is not None:
            assert price.above > 0, name
            assert price.long.input > price.input, name


@pytest.mark.parametrize(
    ("model", "known"),
    [
        ("anthropic:claude-sonnet-4-5", True),
        ("anthropic:claude-sonnet-4-5-20250929", True),
        ("anthropic:claude-sonnet-4-5-latest", True),
        ("openai:gpt-4.1-2025-04-14", True),
        ("openai-responses:gpt-4.1", True),
        ("gemini:gemini-3.1-pro-preview", True),
        ("gemini:gemini-2.5-flash-preview-09-2025", True),
        ("local:whatever.gguf", True),
        ("echo:echo", True),
        ("openai:gpt-4.1-turbo", False),
        ("openai:", False),
        ("unheard", False),
        ("mistral:large", False),
    ],
)
def test_a_model_is_found_with_and_without_its_version(model: str, known: bool) -> None:
    assert (bundled_prices().find(model) is not None) is known


def test_a_variant_has_its_own_price_and_not_that_of_its_beginning() -> None:
    prices = bundled_prices()
    assert prices.find("openai:gpt-5-mini") != prices.find("openai:gpt-5")
    assert prices.find("openai:gpt-5-mini-2025-08-07") == prices.find("openai:gpt-5-mini")


def test_cached_tokens_cost_less() -> None:
    price = Price(1.0, 10.0, 0.1)
    assert price.cost_of(Usage(1_000_000, 100_000, 400_000)) == pytest.approx(0.6 + 0.04 + 1.0)
    assert Price(1.0, 10.0).cost_of(Usage(1_000_000, 0, 400_000)) == pytest.approx(1.0)


def test_a_long_request_has_its_own_tariff() -> None:
    price = Price(1.0, 1.0, None, Price(2.0, 3.0), 100)
    assert price.cost_of(Usage(100, 0)) == pytest.approx(0.0001)
    assert price.cost_of(Usage(101, 1)) == pytest.approx((202 + 3) / 1e6)


def test_more_cached_than_read_is_not_a_gain() -> None:
    assert Price(1.0, 1.0, 0.0).cost_of(Usage(10, 0, 10_000)) == 0


def test_the_users_prices_lie_over_the_table() -> None:
    own = {"openai:gpt-5": {"input": 1, "output": 2}, "mine:*": {"input": 0, "output": 3, "cached": 0}}
    prices = bundled_prices().with_own(own)
    assert prices.find("openai:gpt-5") == Price(1, 2)
    assert prices.find("mine:anything") == Price(0, 3, 0)
    assert prices.find("openai:gpt-5-mini") == bundled_prices().find("openai:gpt-5-mini")
    assert bundled_prices().with_own({}) is bundled_prices()


def test_the_users_long_tariff_is_read() -> None:
    own = {"a:b": {"input": 1, "output": 2, "long": {"above": 10, "input": 3, "output": 4}}}
    assert bundled_prices().with_own(own).find("a:b") == Price(1, 2, None, Price(3, 4), 10)
    assert list(faults_of_prices(own)) == []


@pytest.mark.parametrize(
    ("prices", "where"),
    [
        ({"gpt-5": {"input": 1, "output": 2}}, "provider:model"),
        ({"a:b": 3}, "a table of input"),
        ({"a:b": {"input": 1}}, "output"),
        ({"a:b": {"input": -1, "output": 2}}, "input"),
        ({"a:b": {"input": True, "output": 2}}, "input"),
        ({"a:b": {"input": 1, "output": 2, "outptu": 2}}, "outptu"),
        ({"a:b": {"input": 1, "output": 2, "long": 5}}, "long"),
        ({"a:b": {"input": 1, "output": 2, "long": {"input": 1, "output": 2}}}, "above"),
    ],
)
def test_wrong_prices_are_refused_with_their_place(prices: Any, where: str) -> None:
    with pytest.raises(ConfigError, match="prices") as caught:
        load_board({"plugins": {"chat": {"prices": prices}}}, [pegboard_chat.plugin])
    assert where in str(caught.value)


def test_good_prices_are_taken() -> None:
    own = {"a:b": {"input": 1, "output": 2.5}}
    board = load_board({"plugins": {"chat": {"prices": own}}}, [pegboard_chat.plugin])
    settings = board.plugins.records["chat"].settings
    assert isinstance(settings, ChatSettings)
    assert settings.prices == own


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats() | st.text(max_size=3),
    lambda inner: st.dictionaries(
        st.sampled_from(["a:b", "x", "input", "output", "cached", "long", "above"]), inner, max_size=4
    ),
    max_leaves=8,
)


@settings(max_examples=200)
@given(own=st.dictionaries(st.sampled_from(["a:b", "x:*"]), _JSON, max_size=2))
def test_prices_without_a_fault_always_give_a_cost(own: Any) -> None:
    """Any table in which no fault is found prices every usage with a number that is not negative."""
    if list(faults_of_prices(own)):
        return
    prices = bundled_prices().with_own(own)
    for name in own:
        price = prices.find(name)
        assert price is not None
        assert price.cost_of(Usage(5, 5, 3)) >= 0


@pytest.mark.parametrize(
    ("said", "count"),
    [(7, 7), (7.9, 7), (0, 0), (-1, 0), (True, 0), (None, 0), ("7", 0), (10**30, 0), (math.inf, 0), (math.nan, 0)],
)
def test_a_number_of_tokens_is_one_or_none(said: object, count: int) -> None:
    assert tokens_of(said) == count

"""A file that was discovered but not trusted makes nothing looser: whatever layers lie on each other, what holds is at
most as loose as the trusted ones alone have it, or the configuration is refused."""

from __future__ import annotations

import copy
from typing import Any

import attrs
import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.config import Config, CoreSettings, Profile, ValueOrigin, setting
from pegboard.config._layers import Layer, Tree
from pegboard.config._strictness import looser, strictest_rate
from pegboard.errors import ConfigError
from pegboard.tools import Limits, RateLimit, tool

SECONDS = st.sampled_from([1, 5, 30, 60, 500])
RATES = st.sampled_from(["1/s", "60/minute", "10/minute", "1000/day", "2/10s"])
NAMES = st.lists(st.sampled_from(["x", "y", "z"]), max_size=2, unique=True)
LIMITS = {
    "timeout_s": SECONDS,
    "cooldown_s": SECONDS,
    "rate_limit": RATES,
    "concurrency": st.integers(1, 9),
    "requires_user": st.booleans(),
    "requires_confirmation": st.sampled_from([True, False, "Sure?", "Go on?"]),
    "max_result_bytes": SECONDS,
}
TOOL = st.fixed_dictionaries(
    {},
    optional={
        **LIMITS,
        "cooldown_s": st.sampled_from([0, 1, 60]),
        "enabled": st.booleans(),
        "allowed": NAMES,
        "denied": NAMES,
        "level": st.sampled_from(["weak", "strong"]),
        "network": st.booleans(),
        "taste": st.sampled_from(["sweet", "sour"]),
    },
)
PROFILE = st.fixed_dictionaries(
    {}, optional={**LIMITS, "tools": NAMES, "tags": NAMES, "without": NAMES, "read_only": st.booleans()}
)
SAID = st.fixed_dictionaries(
    {},
    optional={
        "timeout_s": SECONDS,
        "approval_timeout_s": SECONDS,
        "read_only": st.booleans(),
        "strict": st.booleans(),
        "observe": NAMES,
        "without": NAMES,
        "max_arguments_bytes": SECONDS,
        "max_result_bytes": SECONDS,
        "kept_results_bytes": SECONDS,
        "kept_results_s": SECONDS,
        "tools": st.fixed_dictionaries({}, optional={"x": TOOL}),
        "profiles": st.fixed_dictionaries({}, optional={"a": PROFILE}),
    },
)
AUTHORS = st.builds(
    Limits,
    timeout_s=st.none() | SECONDS,
    cooldown_s=st.none() | SECONDS,
    rate_limit=st.none() | RATES,
    concurrency=st.none() | st.integers(1, 9),
    requires_user=st.booleans(),
    requires_confirmation=st.sampled_from([True, False, "The author asks?"]),
)


@attrs.frozen
class Permissions:
    allowed: tuple[str, ...] = setting((), stricter="fewer")
    denied: tuple[str, ...] = setting((), stricter="more")
    level: str = setting("strong", stricter=("weak", "strong"))
    network: bool = setting(False, stricter="false")
    taste: str = setting("plain")


def config_of(layers: list[tuple[dict[str, Any], bool]]) -> Config:
    tree, safe = Tree(), Tree()
    for index, (values, trusted) in enumerate(layers):
        origin = ValueOrigin("file", f"{index}.toml")
        if trusted:
            safe.lay(Layer(origin, copy.deepcopy(values)))
        else:
            tree.found.add(origin)
        tree.lay(Layer(origin, copy.deepcopy(values), trusted=trusted))
    return Config(tree, safe=safe if tree.found else None)


def limits_of(config: Config, author: Limits) -> Limits:
    """The limits with which a board registers the tool, as it does that."""
    limits = config.tool_settings("x").override(author)
    config.check_loosened("x", author, limits)
    return attrs.evolve(
        limits,
        timeout_s=limits.timeout_s or config.core.timeout_s,
        max_result_bytes=limits.max_result_bytes or config.core.max_result_bytes,
    )


def is_no_looser(now: Any, before: Any, author: Limits | None = None) -> None:
    """Written out by hand, so that it does not ask the table that it tests."""
    for name in ("timeout_s", "concurrency", "max_result_bytes"):
        bound = getattr(before, name)
        assert bound is None or (getattr(now, name) is not None and getattr(now, name) <= bound), name
    assert (now.cooldown_s or 0) >= (before.cooldown_s or 0)
    if before.rate_limit:
        rate, bound = RateLimit.parse(now.rate_limit), RateLimit.parse(before.rate_limit)
        assert rate.count <= bound.count
        assert rate.count / rate.period_s <= bound.count / bound.period_s + 1e-9
    assert now.requires_user or not before.requires_user
    assert now.requires_confirmation or not before.requires_confirmation
    if isinstance(now.requires_confirmation, str) or isinstance(before.requires_confirmation, str):
        assert now.requires_confirmation == before.requires_confirmation


def selected(profile: Profile) -> set[str]:
    tools = [tool(lambda: "", name=name, description=name, tags=[name]) for name in "xyz"]
    return {one.name for one in tools if profile.selects(one)}


@given(layers=st.lists(st.tuples(SAID, st.booleans()), min_size=1, max_size=4), author=AUTHORS)
@hypothesis.settings(max_examples=400)
def test_whatever_layers_there_are_nothing_is_looser_than_the_trusted_ones_have_it(layers, author):
    before = config_of([(values, True) for values, trusted in layers if trusted])
    try:
        now = config_of(layers)
        limits, permissions = limits_of(now, author), now.structure_permissions("x", Permissions)
    except ConfigError as refused:
        hypothesis.event("refused")
        if all(trusted for _, trusted in layers) or "pegboard trust" not in (refused.hint or ""):
            raise
        return
    hypothesis.event("taken")
    is_no_looser(limits, limits_of(before, author))
    known = before.structure_permissions("x", Permissions)
    assert permissions is not None
    assert known is not None
    assert set(permissions.allowed) <= set(known.allowed)
    assert set(permissions.denied) >= set(known.denied)
    assert (permissions.level, known.level) != ("weak", "strong")
    assert known.network or not permissions.network
    assert permissions.taste == known.taste or known.taste == "plain"
    for field in attrs.fields(CoreSettings):
        value, bound = getattr(now.core, field.name), getattr(before.core, field.name)
        if field.name.endswith(("_s", "_bytes")):
            assert value <= bound, field.name
    assert now.core.read_only >= before.core.read_only
    assert now.core.strict >= before.core.strict
    assert set(now.core.observe) <= set(before.core.observe)
    assert now.core.without == before.core.without
    assert now.tool_settings("x").enabled is not True or before.tool_settings("x").enabled is not False
    for name, profile in before.profiles.items():
        same = now.profiles[name]
        is_no_looser(same, profile)
        assert selected(same) <= selected(profile)
        assert same.read_only >= profile.read_only


@pytest.mark.parametrize(
    ("order", "stricter", "value"),
    [
        ("lower", 1, 2),
        ("lower", 1, None),
        ("higher", 2, 1),
        ("higher", 2, None),
        ("true", True, False),
        ("false", False, True),
        ("more", ["a", "b"], ["a"]),
        ("fewer", ["a"], ["a", "b"]),
        ("fewer", [], ["a"]),
        ("rate", "1/minute", "2/minute"),
        ("rate", "1/minute", "60/hour"),
        ("rate", "60/hour", None),
        (("off", "warn"), "warn", "off"),
    ],
)
def test_each_order_knows_which_way_is_looser(order, stricter, value):
    assert looser(order)(value, stricter)
    assert not looser(order)(stricter, value)
    assert not looser(order)(value, value)


def test_an_order_that_nobody_knows_and_one_beside_a_mark_are_refused():
    with pytest.raises(ValueError, match="expected one of lower, higher"):
        setting(1, stricter="smaller")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected one of them"):
        setting(1, stricter="lower", widens=True)


@given(st.lists(RATES, min_size=1, max_size=3))
def test_the_strictest_of_several_rates_is_below_each_in_pace_and_in_burst(texts):
    strictest = strictest_rate(*map(RateLimit.parse, texts))
    assert strictest is not None
    for one in map(RateLimit.parse, texts):
        assert strictest.count <= one.count
        assert strictest.count / strictest.period_s <= one.count / one.period_s + 1e-9


def test_a_confirmation_without_words_keeps_the_authors():
    said = config_of([({"tools": {"x": {"requires_confirmation": True}}}, True)]).tool_settings("x")
    assert said.override(Limits(requires_confirmation="Delete all?")).requires_confirmation == "Delete all?"
    assert said.override(Limits()).requires_confirmation is True

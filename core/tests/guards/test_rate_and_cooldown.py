"""Cooldown and rate limit, per user, by the loop's clock."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from pegboard import ErrorCode, RateLimit, tool
from pegboard.guards.rate import MAX_USERS, Buckets


def one(**limits: Any) -> Any:
    return tool(name="it", run="inplace", **limits)(lambda: None)


async def test_a_cooldown_lets_one_call_pass_each_period_and_user(hosted: Any, autojump_clock: MockClock) -> None:
    async with hosted(one(cooldown_s=10)) as host:
        ada, bob = host.session("ada"), host.session("bob")
        assert (await ada.call("it")).ok
        assert (await bob.call("it")).ok
        await trio.sleep(4)
        result = await ada.call("it")
        assert result.error.code is ErrorCode.RATE_LIMITED
        assert result.error.details["reason"] == "cooldown"
        assert result.error.details["retry"] == "same"
        assert result.error.details["retry_after_s"] == pytest.approx(6, abs=0.01)
        await trio.sleep(result.error.details["retry_after_s"])
        assert (await ada.call("it")).ok


async def test_another_session_of_a_user_or_of_nobody_is_no_way_around(hosted: Any, autojump_clock: MockClock) -> None:
    async with hosted(one(cooldown_s=10)) as host:
        for user in ("ada", None):
            assert (await host.session(user).call("it")).ok
            assert not (await host.session(user).call("it")).ok


async def test_a_rate_allows_a_burst_and_then_one_each_interval(hosted: Any, autojump_clock: MockClock) -> None:
    async with hosted(one(rate_limit="3/30s")) as host:
        session = host.session("ada")
        assert [(await session.call("it")).ok for _ in range(4)] == [True, True, True, False]
        await trio.sleep(10)
        assert [(await session.call("it")).ok for _ in range(2)] == [True, False]
        await trio.sleep(1000)
        assert [(await session.call("it")).ok for _ in range(4)] == [True, True, True, False]


async def test_a_refused_call_spends_nothing(hosted: Any, autojump_clock: MockClock) -> None:
    @tool(name="it", run="inplace", cooldown_s=10, requires_confirmation=True)
    def it(n: int) -> None: ...

    async def no(asked: Any) -> bool:
        return False

    async with hosted(it) as host:
        session = host.session("ada", confirm=no)
        for arguments in ({"n": "x"}, {"n": 1}):
            await session.call("it", arguments)

        async def yes(asked: Any) -> bool:
            return True

        assert (await host.session("ada", confirm=yes).call("it", {"n": 1})).ok


async def test_a_check_foresees_a_limit_and_spends_nothing(hosted: Any, autojump_clock: MockClock) -> None:
    async with hosted(one(cooldown_s=10)) as host:
        session = host.session("ada")
        for _ in range(3):
            assert session.check("it").data == {"would_run": True, "asks": []}
        assert (await session.call("it")).ok
        asks = session.check("it").data["asks"]
        assert (asks[0]["guard"], asks[0]["code"]) == ("cooldown", "RATE_LIMITED")
        assert session.check("it").data["would_run"] is False


async def test_in_mode_observe_a_limit_is_audited_and_never_refuses(
    hosted: Any, listening: Any, ear: Any, autojump_clock: MockClock
) -> None:
    async with hosted(one(cooldown_s=10), config={"observe": ["cooldown"]}, plugins=[listening]) as host:
        session = host.session("ada")
        assert [(await session.call("it")).ok for _ in range(3)] == [True] * 3
        said = [
            verdict.verdict for outcome in ear.outcomes for verdict in outcome.verdicts if verdict.guard == "cooldown"
        ]
        assert said == ["passed", "would_refuse", "would_refuse"]


async def test_the_configuration_has_the_last_word_about_limits(hosted: Any, autojump_clock: MockClock) -> None:
    tools = {"it": {"cooldown_s": 0, "rate_limit": "2/minute"}}
    async with hosted(one(cooldown_s=10), config={"tools": tools}) as host:
        session = host.session("ada")
        assert [(await session.call("it")).ok for _ in range(3)] == [True, True, False]


async def test_a_limit_goes_on_counting_when_other_tools_come_and_go(hosted: Any, autojump_clock: MockClock) -> None:
    config = {"profiles": {"slow": {"cooldown_s": 10}}}
    async with hosted(one(), config=config) as host:
        assert (await host.session("ada", profile="slow").call("it")).ok
        host.add(tool(name="more")(lambda: None))
        assert not (await host.session("ada", profile="slow").call("it")).ok
        assert (await host.session("ada").call("it")).ok


def test_a_crowd_does_not_fill_the_memory() -> None:
    buckets = Buckets(1, 1.0)
    for user in range(3 * MAX_USERS):
        buckets.take(str(user), float(user))
    assert len(buckets._expected_at) <= MAX_USERS


@settings(max_examples=60)
@given(
    count=st.integers(1, 5),
    period_s=st.floats(0.5, 100),
    gaps=st.lists(st.floats(0, 50), min_size=1, max_size=40),
)
def test_never_more_than_the_burst_and_what_the_period_refills(count: int, period_s: float, gaps: list[float]) -> None:
    """In any window of t seconds at most count * (1 + t / period) calls pass, and one that waits as told passes."""
    buckets, now = Buckets(count, period_s), 0.0
    passed: list[float] = []
    for gap in gaps:
        now += gap
        wait_s = buckets.wait_s("ada", now)
        if wait_s <= 0:
            buckets.take("ada", now)
            passed.append(now)
        else:
            assert buckets.wait_s("ada", now + wait_s + 1e-6) <= 0
    for index, start in enumerate(passed):
        for number, end in enumerate(passed[index:], 1):
            assert number <= count * (1 + (end - start) / period_s) + 1e-6


@pytest.mark.parametrize(
    ("text", "count", "period_s"),
    [("10/minute", 10, 60), ("5/10s", 5, 10), ("1000/day", 1000, 86400), (" 3 / 1.5 hours", 3, 5400), ("1/s", 1, 1)],
)
def test_rates_are_read(text: str, count: int, period_s: float) -> None:
    rate = RateLimit.parse(text)
    assert rate == RateLimit(count, period_s)
    assert RateLimit.parse(str(rate)) == rate == RateLimit.parse(rate)


@given(st.one_of(st.text(max_size=20), st.integers(), st.none(), st.from_regex(r"[0-9]{0,3}/[0-9.]{0,4}[a-z]{0,4}")))
def test_any_text_is_a_rate_above_zero_or_a_value_error(text: Any) -> None:
    try:
        rate = RateLimit.parse(text)
    except ValueError:
        return
    assert rate.count >= 1
    assert rate.period_s > 0


def test_a_crowd_whose_limits_still_run_is_looked_through_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pegboard.guards.rate.MAX_USERS", 8)
    buckets, tables = Buckets(1, 1000.0), []
    for user in range(100):
        buckets.take(str(user), float(user))
        if not tables or tables[-1] is not buckets._expected_at:
            tables.append(buckets._expected_at)
    assert len(buckets._expected_at) == 100
    assert len(tables) == 5  # at 8, 16, 32 and 64

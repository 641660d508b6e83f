"""`session.check`: what a call would meet, without running or spending anything."""

from __future__ import annotations

from typing import Any, Literal

import attrs
import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pegboard import ErrorCode, Tool, ToolError, open_host, tool
from pegboard.contract import Guard


@attrs.frozen
class Item:
    name: str
    qty: int = 1


@tool(run="inplace")
def order(
    items: list[Item], speed: Literal["fast", "slow"] = "slow", note: str | None = None, price: float = 0.5
) -> int:
    return len(items)


SCHEMA = {
    "type": "object",
    "properties": {
        "items": {"type": "array", "items": {"type": "object", "required": ["name"]}, "maxItems": 2},
        "price": {"type": "number", "exclusiveMinimum": 0},
        "note": {"type": ["string", "null"], "pattern": "^[a-z]*$"},
    },
    "required": ["items"],
}

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(-2, 2)
    | st.sampled_from(["fast", "slow", "a", "[]", "7"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "qty", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)
ARGUMENTS = (
    st.dictionaries(st.sampled_from(["items", "speed", "note", "price", "surprise"]), VALUES, max_size=4) | VALUES
)
RIGHT = st.fixed_dictionaries(
    {
        "items": st.lists(
            st.fixed_dictionaries({"name": st.text(max_size=3)}, optional={"qty": st.integers()}), max_size=3
        )
    },
    optional={"note": st.none() | st.text(max_size=3), "price": st.floats(0, 9) | st.integers(0, 9)},
)


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(arguments=ARGUMENTS | RIGHT)
def test_check_and_call_agree_on_what_is_invalid_input(hosted: Any, arguments: Any) -> None:
    """For any arguments, `check` answers INVALID_INPUT with the faults of the call, or both go through."""

    async def main() -> None:
        foreign = Tool(name="foreign", handler=lambda **given: 1, input_schema=SCHEMA, run="inplace")
        async with hosted(order, foreign) as host:
            session = host.session()
            for name in ("order", "foreign"):
                checked, called = session.check(name, arguments), await session.call(name, arguments)
                assert checked.error == called.error
                assert checked.ok or checked.error.code is ErrorCode.INVALID_INPUT
                if checked.ok:
                    assert (called.details or {}).get("repaired") == checked.data.get("repaired")

    trio.run(main)


async def test_nothing_runs_and_nothing_is_spent(hosted: Any, listening: Any, ear: Any) -> None:
    ran: list[int] = []

    @tool(run="inplace", rate_limit="1/hour", concurrency=1)
    def once() -> None:
        ran.append(1)

    async with hosted(once, plugins=[listening]) as host:
        session = host.session()
        for _ in range(3):
            assert session.check("once").data == {"would_run": True, "asks": []}
        assert not ran
        assert (await session.call("once")).ok
    assert len(ear.outcomes) == 1


async def test_what_hangs_not_is_answered_as_by_a_call(hosted: Any) -> None:
    async with hosted(order) as host:
        session = host.session()
        host.disable("order")
        for name in ("order", "ordr", 5):
            assert session.check(name).error == (await session.call(name)).error


async def test_a_guard_that_cannot_foresee_says_that_it_will_ask(hosted: Any, make_plugin: Any) -> None:
    def raises(session: Any, arguments: Any) -> Any:
        raise SystemExit

    def says(what: Any) -> Any:
        return lambda session, arguments: what

    guards = [
        Guard("a", "approve", print),
        Guard("b", "approve", print, peek=says("asks the moon")),
        Guard("c", "limit", print, peek=says(None)),
        Guard("d", "limit", print, peek=says(ToolError("RATE_LIMITED", "slow down"))),
        Guard("e", "limit", print, peek=raises),
        Guard("f", "filter", print),
    ]
    async with hosted(order, plugins=[make_plugin("guarding", make_guards=lambda tool: guards)]) as host:
        checked = host.session().check("order", {"items": []})
    asks = {ask["guard"]: ask for ask in checked.data["asks"]}
    assert list(asks) == ["a", "b", "d", "e"]
    assert asks["a"]["says"] == "is asked when the call runs"
    assert asks["b"]["says"] == "asks the moon"
    assert asks["d"]["code"] == "RATE_LIMITED"
    assert asks["e"]["code"] == "INTERNAL_ERROR"
    assert checked.data["would_run"] is False
    assert "limit (d): slow down" in checked.text


@pytest.mark.parametrize("arguments", [None, {"items": []}])
async def test_missing_arguments_are_an_empty_object(hosted: Any, arguments: Any) -> None:
    async with hosted(order) as host:
        assert host.session().check("order", arguments).ok is (arguments is not None)


async def test_what_was_repaired_is_reported(hosted: Any) -> None:
    async with hosted(order) as host:
        session = host.session()
        called = await session.call("order", {"items": '[{"name": "nut"}]'})
        checked = session.check("order", {"items": '[{"name": "nut"}]'})
    assert called.data == {"result": 1}
    assert called.details["repaired"] == checked.data["repaired"]
    assert "items" in str(called.details["repaired"])


async def test_a_dry_run_says_which_declared_secret_is_not_set(monkeypatch) -> None:
    @tool(secrets=["PEGBOARD_TEST_KEY"], run="inplace")
    def one() -> None:
        """Use a key."""

    monkeypatch.delenv("PEGBOARD_TEST_KEY", raising=False)
    async with open_host({}, []) as host:
        host.add(one)
        (ask,) = host.session().check("one").data["asks"]
        assert (ask["guard"], ask["code"]) == ("secret", "FORBIDDEN")
        monkeypatch.setenv("PEGBOARD_TEST_KEY", "abc")
        assert host.session().check("one").data["asks"] == []

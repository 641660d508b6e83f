"""What is given again, to whom, and for how long; and what never is."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

import pegboard_cache.plugin
from pegboard import (
    CallContext,
    ErrorCode,
    Guard,
    Limits,
    Stage,
    TextContent,
    Tool,
    ToolError,
    ToolResult,
    hookimpl,
    open_host,
    tool,
)
from pegboard_cache._layer import canonical
from pegboard_cache.plugin import Cache

CACHED = ["cache_s=60"]


@contextlib.asynccontextmanager
async def hosting(*tools: Any, plugins: Any = (), config: Any = None, **cache: Any) -> AsyncIterator[Any]:
    said = {**(config or {}), "plugins": {"cache": cache}} if cache else config or {}
    async with open_host(said, [pegboard_cache.plugin, *plugins]) as host:
        host.add(*tools)
        yield host


@pytest.fixture
def runs() -> list[Any]:
    """The arguments with which the tool ran."""
    return []


@pytest.fixture
def look_up(runs: list[Any]) -> Callable[..., Tool]:
    """Makes the tool `look_up`, which `does` what is said."""

    def make(does: Any = None, **marks: Any) -> Tool:
        @tool(name="look_up", **{"read_only": True, "tags": CACHED, **marks})
        async def one(context: CallContext, key: str = "a", more: dict[str, Any] | None = None) -> Any:
            """Look it up."""
            runs.append(key)
            answer = None if does is None else does(context)
            if isinstance(answer, Exception):
                raise answer
            return ToolResult.json({"key": key, "number": len(runs)}) if answer is None else answer

        return one

    return make


async def asked(host: Any, arguments: Any = None, user: str | None = None, **more: Any) -> str:
    result = await host.session(user, **more).call("look_up", arguments or {})
    return str((result.details or {}).get("cache", "-"))


# what is given again ----------------------------------------


@pytest.mark.parametrize("run", ["async", "inplace", "thread"])
async def test_the_second_call_is_answered_without_the_tool(run: str) -> None:
    runs = []
    if run == "async":

        @tool(read_only=True, tags=CACHED)
        async def look_up(key: str) -> dict[str, Any]:
            runs.append(key)
            return {"key": key}
    else:

        @tool(read_only=True, tags=CACHED, run=run)
        def look_up(key: str) -> dict[str, Any]:
            runs.append(key)
            return {"key": key}

    async with hosting(look_up) as host:
        first, second = [await host.session().call("look_up", {"key": "x"}) for _ in range(2)]
    assert (first.details["cache"], second.details["cache"]) == ("miss", "hit")
    assert second.details["cache_age_s"] >= 0
    assert (second.content, second.data) == (first.content, first.data)
    assert second.id != first.id
    assert runs == ["x"]


async def test_a_result_is_as_old_as_it_says_and_no_older_than_it_may_be(
    look_up: Any, runs: list[Any], autojump_clock: MockClock
) -> None:
    async with hosting(look_up()) as host:
        await asked(host)
        await trio.sleep(59)
        result = await host.session().call("look_up")
        assert result.details == {"cache": "hit", "cache_age_s": 59.0}
        await trio.sleep(1)
        assert await asked(host) == "miss"
    assert len(runs) == 2


async def test_arguments_are_alike_whatever_their_order(look_up: Any) -> None:
    one, other = {"key": "x", "more": {"a": 1, "b": [1, {}]}}, {"more": {"b": [1, {}], "a": 1}, "key": "x"}
    async with hosting(look_up()) as host:
        assert [await asked(host, one), await asked(host, other)] == ["miss", "hit"]
        assert await asked(host, {**one, "more": {"a": 1, "b": [2, {}]}}) == "miss"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, 1.0, 1.5]) | st.sampled_from("ab1"),
    lambda one: st.lists(one, max_size=2) | st.dictionaries(st.sampled_from("ab"), one, max_size=2),
    max_leaves=4,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), JSON, max_size=3)


def same(one: Any, other: Any) -> bool:
    """Equal as JSON text is: 1, 1.0 and true are three."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


def turned(value: Any) -> Any:
    """The same JSON with the members of every object the other way round."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(value)}
    return [turned(item) for item in value] if isinstance(value, list) else value


@given(one=OBJECTS, other=OBJECTS)
def test_the_form_of_arguments_is_the_same_for_the_same_json_alone(one: Any, other: Any) -> None:
    assert canonical(turned(one)) == canonical(one)
    assert (canonical(one) == canonical(other)) is same(one, other)


# to whom ----------------------------------------


@pytest.mark.unmeasured
async def test_no_user_and_no_profile_sees_the_result_of_another() -> None:
    """10,000 pairs: a result that was made for one of them is that one's alone, nobody and the name "None" included."""

    @tool(read_only=True, tags=CACHED)
    async def whose(context: CallContext) -> list[Any]:
        return [context.session.user_id, context.session.profile]

    users = [None, "None", "", *(f"user {number}" for number in range(97))]
    profiles = {f"p{number}": {"tools": ["*"]} for number in range(50)}
    profiles |= {f"q{number}": {"tools": ["*"], "timeout_s": 1 + number} for number in range(50)}
    pairs = list(itertools.product(users, profiles))
    assert len(pairs) == 10_000
    async with hosting(whose, config={"profiles": profiles}) as host:
        for _ in range(2):
            for user, profile in pairs:
                result = await host.session(user, profile=profile).call("whose")
                assert result.data == {"result": [user or None, profile]}
    assert result.details["cache"] == "hit"


async def test_what_is_named_beside_the_arguments_parts_results(look_up: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("TENANT", "one")
    async with hosting(look_up(tags=[*CACHED, "vary=TENANT"]), tools={"look*": {"vary": ["session"]}}) as host:
        session = host.session()
        calls = [(await session.call("look_up")).details["cache"] for _ in range(2)]
        assert await asked(host) == "miss"  # another session
        monkeypatch.setenv("TENANT", "two")
        calls.append((await session.call("look_up")).details["cache"])
        monkeypatch.setenv("TENANT", "one")
        calls.append((await session.call("look_up")).details["cache"])
    assert calls == ["miss", "hit", "miss", "hit"]


async def test_a_secret_of_the_tool_parts_results_though_nobody_names_it(look_up: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("THE_KEY", "first secret")
    async with hosting(look_up(lambda context: context.secret("THE_KEY") and None, secrets=["THE_KEY"])) as host:
        assert [await asked(host), await asked(host)] == ["miss", "hit"]
        monkeypatch.setenv("THE_KEY", "second secret")
        assert await asked(host) == "miss"


# what never is ----------------------------------------


def large(context: CallContext) -> Any:
    return "x" * 2_000


NEVER = {
    "an error": (lambda context: ToolError(ErrorCode.UPSTREAM_ERROR, "down"), {}),
    "an error that is returned": (lambda context: ToolResult.error(ErrorCode.NOT_FOUND, "no"), {}),
    "a result that is cut": (large, {"max_result_bytes": 1_000}),
    "a page of one": (lambda context: ToolResult((TextContent("1"),), details={"cut": {"page": 1}}), {}),
    "what came late": (lambda context: ToolResult((TextContent("1"),), details={"late": True}), {}),
    "a secret": (lambda context: "it is " + context.secret("THE_KEY"), {"secrets": ["THE_KEY"]}),
    "what says that it is old at once": (lambda context: ToolResult((TextContent("1"),), details={"ttl_ms": 0}), {}),
}


@pytest.mark.parametrize("what", NEVER)
async def test_what_is_not_for_others_is_never_cached(
    look_up: Any, runs: list[Any], what: str, monkeypatch: Any
) -> None:
    monkeypatch.setenv("THE_KEY", "a secret text")
    does, marks = NEVER[what]
    async with hosting(look_up(does, **marks)) as host:
        for _ in range(2):
            assert await asked(host) in ("miss", "-")
        assert len(host.resource(Cache).results) == 0
    assert len(runs) == 2


@pytest.mark.parametrize("nested", [False, True])
async def test_what_a_person_was_asked_about_is_asked_again(nested: bool) -> None:
    questions: list[str] = []

    async def confirm(asked: Any) -> bool:
        questions.append(asked.question)
        return True

    @tool(read_only=True, tags=CACHED)
    async def asks(context: CallContext) -> bool:
        return await context.confirm("really?")

    @tool(read_only=True, tags=CACHED)
    async def outer(context: CallContext) -> bool:
        return bool((await context.call("asks")).data["result"])

    async with hosting(asks, outer) as host:
        for _ in range(2):
            assert (await host.session(confirm=confirm).call("outer" if nested else "asks")).ok
    assert questions == ["really?"] * 2


async def test_a_result_that_says_for_how_long_it_is_good_is_not_kept_longer(
    look_up: Any, autojump_clock: MockClock
) -> None:
    for_ever = ToolResult((TextContent("1"),), details={"ttl_ms": 10**400})
    async with hosting(look_up(lambda context: for_ever)) as host:
        assert [await asked(host), await asked(host)] == ["miss", "hit"]
    told = ToolResult((TextContent("1"),), details={"ttl_ms": 5_000, "cache_scope": "public"})
    async with hosting(look_up(lambda context: told)) as host:
        await asked(host, user="ada")
        assert await asked(host, user="bob") == "miss"  # public says that all may share it, not that they have to
        await trio.sleep(4)
        assert await asked(host, user="ada") == "hit"
        await trio.sleep(1)
        assert await asked(host, user="ada") == "miss"


@pytest.mark.parametrize(
    ("marks", "cache", "expected"),
    [
        ({"read_only": False}, {}, "-"),
        ({"destructive": True}, {}, "-"),
        ({"tags": []}, {}, "-"),
        ({"tags": []}, {"tools": {"look_up": {"cache_s": 9}}}, "hit"),
        ({"tags": []}, {"tools": {"look_*": {"cache_s": 9}, "*": {"cache_s": 0}}}, "hit"),
        ({"tags": []}, {"tools": {"other": {"cache_s": 9}}}, "-"),
        ({}, {"tools": {"look_up": {"cache_s": 0}, "look*": {"cache_s": 9}}}, "-"),
        ({}, {"tools": {"look_up": {"vary": ["channel"]}}}, "hit"),
        ({"read_only": False}, {"tools": {"look_up": {"cache_s": 9}}}, "-"),
    ],
)
async def test_author_and_configuration_alone_say_what_is_cached(
    look_up: Any, marks: Any, cache: Any, expected: str
) -> None:
    async with hosting(look_up(**marks), **cache) as host:
        await asked(host)
        assert await asked(host) == expected
        assert bool(host.board.registry.plans["look_up"].layers) is (expected == "hit")


@pytest.mark.parametrize("tag", ["cache_s=soon", "cache_s=-1", "cache_s=inf", "cache_s=nan", "cache_s="])
async def test_a_tag_that_says_no_time_keeps_the_tool_off_the_board(look_up: Any, tag: str) -> None:
    async with hosting() as host:
        with pytest.raises(Exception, match="does not say for how many seconds") as caught:
            host.add(look_up(tags=[tag]))
        assert caught.value.hint == "write a number not below zero, as in cache_s=60"


async def test_guards_and_filters_run_at_every_call(look_up: Any, runs: list[Any]) -> None:
    order: list[str] = []

    class Guarding:
        name = "guarding"

        @hookimpl
        def make_guards(self) -> list[Guard]:
            def note(name: str) -> Any:
                return lambda *given: order.append(name) or (given[1] if name == "filter" else None)

            return [Guard(one.value, one, note(one.value)) for one in Stage]

    async with hosting(look_up(), plugins=[Guarding()]) as host:
        assert [await asked(host), await asked(host)] == ["miss", "hit"]
    assert order == ["admit", "approve", "limit", "filter"] * 2
    assert len(runs) == 1


# one for all who ask at once ----------------------------------------


async def test_of_64_calls_that_are_alike_one_runs_the_tool(look_up: Any, runs: list[Any]) -> None:
    go = trio.Event()

    @tool(read_only=True, tags=CACHED)
    async def slow(key: str) -> str:
        runs.append(key)
        await go.wait()
        return key

    results: list[ToolResult] = []
    async with hosting(slow) as host, trio.open_nursery() as nursery:
        for number in range(64):

            async def call(key: str) -> None:
                results.append(await host.session().call("slow", {"key": key}))

            nursery.start_soon(call, "ab"[number % 2])
        await trio.testing.wait_all_tasks_blocked()
        go.set()
    assert sorted(runs) == ["a", "b"]
    assert sorted(one.details["cache"] for one in results) == ["hit"] * 62 + ["miss"] * 2


async def test_the_next_takes_the_place_of_one_that_is_cancelled(runs: list[Any], autojump_clock: MockClock) -> None:
    @tool(read_only=True, tags=CACHED)
    async def slow() -> int:
        runs.append(trio.current_time())
        await trio.sleep(10)
        return len(runs)

    answers: list[Any] = []
    async with hosting(slow) as host, trio.open_nursery() as nursery:

        async def call(timeout_s: float | None) -> None:
            result = await host.session().call("slow", timeout_s=timeout_s)
            answers.append((result.error.code.value if result.error else result.data["result"], trio.current_time()))

        began = trio.current_time()
        nursery.start_soon(call, 1)  # leads, and gives up
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(call, 3)  # waits under a deadline of its own, leads, and gives up
        nursery.start_soon(call, None)
        nursery.start_soon(call, None)
    assert [answer for answer, _ in answers] == ["TIMEOUT", "TIMEOUT", 2, 2] or [answer for answer, _ in answers] == [
        "TIMEOUT", "TIMEOUT", 3, 3,
    ]  # fmt: skip
    assert [at - began for _, at in answers[:2]] == pytest.approx([1, 3], abs=0.2)


async def test_a_failure_is_for_nobody_else(runs: list[Any], autojump_clock: MockClock) -> None:
    @tool(read_only=True, tags=CACHED)
    async def broken() -> int:
        runs.append(1)
        await trio.sleep(1)
        if len(runs) == 1:
            raise ToolError(ErrorCode.UPSTREAM_ERROR, "down")
        return 2

    results: list[ToolResult] = []
    async with hosting(broken) as host, trio.open_nursery() as nursery:

        async def call() -> None:
            results.append(await host.session().call("broken"))

        for _ in range(3):
            nursery.start_soon(call)
    assert sorted(one.ok for one in results) == [False, True, True]


async def test_a_tool_that_calls_itself_does_not_wait_for_itself(runs: list[Any], autojump_clock: MockClock) -> None:
    @tool(read_only=True, tags=CACHED)
    async def nested(context: CallContext) -> int:
        runs.append(context.depth)
        return context.depth if context.depth else (await context.call("nested")).data["result"]

    async with hosting(nested) as host:
        assert (await host.session().call("nested")).data == {"result": 1}
    assert runs == [0, 1]


# forgotten ----------------------------------------


class Source:
    """A source whose list the test changes."""

    name = "remote"

    def __init__(self) -> None:
        self.slot: Any = None
        self.up = trio.Event()

    async def run(self, slot: Any) -> None:
        self.slot = slot
        self.up.set()
        await trio.sleep_forever()


async def test_a_list_that_changes_forgets_the_results_of_its_source_alone(look_up: Any, runs: list[Any]) -> None:
    source = Source()

    class Providing:
        name = "providing"

        @hookimpl
        def provide_sources(self) -> list[Source]:
            return [source]

    @tool(read_only=True, tags=CACHED)
    async def own() -> int:
        return 1

    @tool
    async def other() -> None: ...

    async with hosting(own, plugins=[Providing()]) as host:
        await source.up.wait()
        first = look_up()
        source.slot.replace([first])
        await asked(host), await host.session().call("own")
        assert await asked(host) == "hit"
        source.slot.replace([first, other])
        assert await asked(host) == "miss"
        assert (await host.session().call("own")).details["cache"] == "hit"
        source.slot.replace([first])
        assert await asked(host) == "miss"


async def test_a_call_that_was_under_way_when_its_tool_changed_is_not_kept(runs: list[Any]) -> None:
    go = trio.Event()

    def make(number: int) -> Tool:
        @tool(name="slow", read_only=True, tags=CACHED)
        async def slow() -> int:
            if number == 1:
                await go.wait()
            return number

        return slow

    async with hosting(make(1)) as host, trio.open_nursery() as nursery:
        nursery.start_soon(host.session().call, "slow")
        await trio.testing.wait_all_tasks_blocked()
        host.remove("slow")
        host.add(make(2))
        go.set()
        await trio.testing.wait_all_tasks_blocked()
        result = await host.session().call("slow")
    assert result.data == {"result": 2}


async def test_the_least_recently_used_goes_and_bytes_are_bounded(look_up: Any) -> None:
    async with hosting(look_up(lambda context: "x" * 500), max_bytes=5_000) as host:
        results = host.resource(Cache).results
        for key in "abc":
            await asked(host, {"key": key})
        assert await asked(host, {"key": "a"}) == "hit"
        for key in "defgh":
            await asked(host, {"key": key})
            await asked(host, {"key": "a"})
            assert results.size <= 5_000
        assert await asked(host, {"key": "a"}) == "hit"
        assert await asked(host, {"key": "b"}) == "miss"
        assert results.size == sum(one.size for one in results._by_key.values())


@pytest.mark.parametrize(("length", "again"), [(333, "hit"), (334, "miss")])
async def test_a_result_is_kept_up_to_the_size_at_which_it_is_cut(look_up: Any, length: int, again: str) -> None:
    text = ToolResult((TextContent("ä€" + "x" * (2 * length)),))  # 2 + 3 bytes
    async with hosting(look_up(lambda context: text, max_result_bytes=671)) as host:
        first = await host.session().call("look_up")
        assert ("cut" in first.details) is (again == "miss")
        assert await asked(host) == again


async def test_a_result_that_is_larger_than_all_of_it_is_not_kept(look_up: Any) -> None:
    async with hosting(look_up(large), max_bytes=1_000) as host:
        assert [await asked(host), await asked(host)] == ["miss", "miss"]
        assert host.resource(Cache).results.size == 0


# the same with and without ----------------------------------------


@settings(max_examples=40)
@given(
    calls=st.lists(st.tuples(OBJECTS, st.sampled_from([None, "ada", "bob"])), min_size=1, max_size=12),
    answers=st.sampled_from(["data", "text", "blocks", "error", "raises"]),
)
def test_a_pure_tool_answers_alike_with_and_without(calls: list[Any], answers: str) -> None:
    """Whatever is asked, in whatever order and by whom: content, data and error are those of the tool itself."""

    def make(tags: list[str]) -> Tool:
        async def pure(context: CallContext, /, **arguments: Any) -> Any:
            seen = {"arguments": arguments, "user": context.session.user_id}
            if answers == "raises" and len(arguments) == 1:
                raise ToolError(ErrorCode.NOT_FOUND, str(sorted(arguments)))
            if answers == "error" and len(arguments) == 2:
                return ToolResult.error(ErrorCode.INVALID_INPUT, "two", seen=sorted(arguments))
            if answers == "text":
                return repr(seen)
            return [TextContent("one"), TextContent(repr(seen))] if answers == "blocks" else seen

        return Tool(name="pure", handler=pure, annotations=look_only, tags=tags, limits=Limits(max_result_bytes=300))

    from pegboard import Annotations

    look_only = Annotations(read_only=True)

    async def answer_all(tags: list[str]) -> list[Any]:
        async with hosting(make(tags)) as host:
            results = [await host.session(user).call("pure", arguments) for arguments, user in calls * 2]
        return [
            (one.content, one.data, one.error and (one.error.code, one.error.message, one.error.details))
            for one in results
            if "cut" not in (one.details or {})
        ]

    assert trio.run(answer_all, CACHED) == trio.run(answer_all, [])


# doctor ----------------------------------------


async def test_doctor_says_what_is_cached_and_what_is_not(look_up: Any) -> None:
    @tool(tags=CACHED)
    async def writes() -> None: ...

    async with hosting(look_up(), writes, tools={"look*": {}, "lookup": {"cache_s": 1}}) as host:
        found = [one for one in host.board.findings() if "cache" in one.where or one.where == "tool writes"]
    said = {(one.severity, one.what, one.where, one.why) for one in found}
    assert [one.where for one in found if one.what.startswith("settings")] == ["[plugins.cache.tools.lookup]"]
    assert ("note", "results are cached", "[plugins.cache]", "look_up (60 s)") in said
    assert ("warning", "a tool is not cached", "tool writes", "cache_s is 60, and it is not read-only") in said


async def test_doctor_says_where_results_vary_by_nothing(look_up: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENANT", "blue")
    vary = ["session", "channel", "TENANT", "sessions"]  # a misspelt name would let sessions share what they must not
    async with hosting(look_up(), tools={"look_up": {"vary": vary}}) as host:
        (found,) = [one for one in host.board.findings() if one.what == "results of a tool vary by nothing"]
    assert found.severity == "warning"
    assert "names sessions, and no variable" in found.why


def test_a_board_without_cached_tools_imports_nothing_of_the_layer() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from pegboard import load_board, open_host_sync, tool; import pegboard_cache.plugin as p\n"
        "one = tool(name='x')(lambda: None)\n"
        "board = load_board({}, [p]); board.add(one)\n"
        "assert board.registry.plans['x'].layers == ()\n"
        "assert 'trio' not in sys.modules\n"
        "with open_host_sync(plugins=[p]) as host:\n"
        "    host.add(one); host.call('x').raise_for_error()\n"
        "assert not {'pegboard_cache._layer', 'pegboard_cache._results'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

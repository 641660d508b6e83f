"""The tools as their callers meet them: on a host, as a user."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import example, given, settings
from hypothesis import strategies as st

import pegboard_memory.plugin
from pegboard import ConfigError, ToolResult, load_board, open_host, thaw
from pegboard.testing import assert_error, assert_ok
from pegboard.text import clean
from pegboard_memory.plugin import MemoryPlugin

NOW = datetime(2026, 7, 6, 14, 30, tzinfo=UTC)


def words_alone(folder: Path, **more: Any) -> dict[str, Any]:
    return {"plugins": {"memory": {"url": f"sqlite:///{folder}/memory.db", "semantic": False, **more}}}


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Any]:
    async with open_host(words_alone(tmp_path), plugins=[MemoryPlugin(lambda: NOW)]) as opened:
        yield opened


@pytest.fixture
def ada(host: Any) -> Any:
    return host.session("ada")


async def kept(session: Any, *texts: str, tags: list[str] | None = None) -> list[str]:
    return [(await data_of(session, "remember", text=text, tags=tags or []))["id"] for text in texts]


async def found(session: Any, query: str, **more: Any) -> list[str]:
    return [memory["text"] for memory in (await data_of(session, "search_memory", query=query, **more))["memories"]]


async def data_of(session: Any, name: str, **arguments: Any) -> Any:
    return assert_ok(await session.call(name, arguments)).data


async def test_what_was_remembered_is_found_and_can_be_forgotten(ada: Any) -> None:
    made = await data_of(ada, "remember", text="Ada takes tea.", tags=["Drinks", "drinks", " Home  x "])
    memory = {
        "id": made["id"],
        "text": "Ada takes tea.",
        "tags": ["drinks", "home x"],
        "created_at": "2026-07-06T14:30:00.000Z",
    }
    assert made == memory
    result = assert_ok(await ada.call("search_memory", {"query": "tea"}))
    assert result.data is not None
    [hit] = thaw(result.data)["memories"]
    assert result.data["total"] == 1
    assert 0.75 <= hit.pop("score") <= 1
    assert hit == memory
    assert result.text == f"Found 1 memory\n1. Ada takes tea. (2026-07-06, #drinks, #home x, id {memory['id']})"
    assert_ok(await ada.call("forget_memory", {"id": memory["id"]}), text="Forgot 'Ada takes tea.'", data=memory)
    assert_ok(
        await ada.call("search_memory", {"query": "tea"}), text="No memories found", data={"memories": [], "total": 0}
    )
    assert_error(await ada.call("forget_memory", {"id": memory["id"]}), "NOT_FOUND")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("colour", "Favourite colour: green"),
        ("COLOUR green", "Favourite colour: green"),
        ("vourit", "Favourite colour: green"),
        ("cafe", "The café opens at nine"),
        ("café nine", "The café opens at nine"),
        ("o'clock", "Lunch at one o'clock"),
        ("e-mail", "Write an e-mail to Bob"),
        ("v2.3.1", "The build is v2.3.1-rc"),
        ("東京", "東京タワーに行った"),
        ("タワー", "東京タワーに行った"),
        ("京", "東京タワーに行った"),
        ("昨日東京で何をした", "東京タワーに行った"),
        ("🎉", "party 🎉 on Saturday"),
        ("👩‍🚀", "Mae is a 👩‍🚀 now"),
        ("ру", "Привет, друг"),
        ('"green" AND (', "Favourite colour: green"),
        ("where is my green thing", "Favourite colour: green"),
    ],
)
async def test_words_parts_of_words_other_scripts_and_emoji_hit(ada: Any, query: str, text: str) -> None:
    everything = [
        "Favourite colour: green",
        "The café opens at nine",
        "Lunch at one o'clock",
        "Write an e-mail to Bob",
        "The build is v2.3.1-rc",
        "東京タワーに行った",
        "party 🎉 on Saturday",
        "Mae is a 👩‍🚀 now",
        "Привет, друг",
    ]
    await kept(ada, *everything)
    assert (await found(ada, query))[:1] == [text]


async def test_all_words_come_before_some_and_rare_words_before_common_ones(ada: Any) -> None:
    await kept(ada, "red car", "red house", "red garden", "blue whale", "red car and house and blue whale")
    assert (await found(ada, "red whale"))[0] == "red car and house and blue whale"
    assert (await found(ada, "red whale"))[1] == "blue whale"
    result = await ada.call("search_memory", {"query": "red whale"})
    scores = [memory["score"] for memory in result.data["memories"]]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > scores[1] > scores[2], "all words, a rare one, a common one"
    assert all(0 <= score <= 1 for score in scores)


async def test_tags_select_and_are_searched(ada: Any) -> None:
    await kept(ada, "the rent is due on Friday", "the lamp is broken", tags=["Home"])
    await kept(ada, "the report is due on Monday", tags=["work"])
    assert await found(ada, "due", tag="HOME") == ["the rent is due on Friday"]
    assert await found(ada, "", tag="work") == ["the report is due on Monday"]
    assert await found(ada, "ue", tag="work") == ["the report is due on Monday"]
    assert await found(ada, "due", tag="none") == []
    assert len(await found(ada, "home")) == 2


async def test_a_blank_query_gives_the_newest(ada: Any) -> None:
    await kept(ada, *(f"number {number}" for number in range(12)))
    assert await found(ada, "  ", limit=2) == ["number 11", "number 10"]
    assert len(await found(ada, "")) == 10
    assert len(await found(ada, "number", limit=3)) == 3


async def test_another_users_memories_are_neither_seen_nor_felt(host: Any) -> None:
    ada, bob = host.session("ada"), host.session("bob")
    [secret] = await kept(bob, "the merger with Initech")
    await kept(ada, "the merger of two queues", "lunch with Bob", "queues again and again")
    before = await ada.call("search_memory", {"query": "merger queues initech"})
    assert "Initech" not in before.text
    await kept(bob, *(f"merger queues initech, number {number}" for number in range(40)))
    after = await ada.call("search_memory", {"query": "merger queues initech"})
    assert after.data == before.data, "the words of others move no score"
    assert_error(await ada.call("forget_memory", {"id": secret}), "NOT_FOUND")
    same = [(await ada.call("forget_memory", {"id": name})).error for name in (secret, "0" * 36)]
    assert same[0].message.replace(secret, "") == same[1].message.replace("0" * 36, "")
    assert len(await found(bob, "merger", limit=100)) == 41


@pytest.mark.parametrize("user_id", [None, "", "  "])
async def test_nobody_has_no_memory(host: Any, user_id: str | None) -> None:
    for name, arguments in [
        ("remember", {"text": "x"}),
        ("search_memory", {"query": ""}),
        ("forget_memory", {"id": "x"}),
    ]:
        assert_error(await host.session(user_id).call(name, arguments), "UNAUTHORIZED")


async def test_a_user_of_half_a_character_is_nobody(host: Any) -> None:
    assert_error(await host.session("\ud800").call("search_memory", {"query": ""}), "UNAUTHORIZED")


async def test_a_model_cannot_say_who_it_is(ada: Any) -> None:
    assert_error(await ada.call("search_memory", {"query": "", "user_id": "bob"}), "INVALID_INPUT")


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("remember", {}, "text"),
        ("remember", {"text": ""}, "text is empty"),
        ("remember", {"text": " \n"}, "text is empty"),
        ("remember", {"text": "x" * 10_001}, "10,001 characters, at most 10,000"),
        ("remember", {"text": "\ud800"}, "half a surrogate pair"),
        ("remember", {"text": "x", "tags": [" "]}, "' ' is not a tag"),
        ("remember", {"text": "x", "tags": ["t" * 51]}, "is not a tag"),
        ("remember", {"text": "x", "tags": ["t" * 5000]}, "is not a tag"),
        ("remember", {"text": "x", "tags": ["a\u202eb"]}, "is not a tag"),
        ("remember", {"text": "x", "tags": ["\udfff"]}, "half a surrogate pair"),
        ("remember", {"text": "x", "tags": [f"t{number}" for number in range(21)]}, "21 tags, at most 20"),
        ("remember", {"text": "x", "tags": "home"}, "tags"),
        ("search_memory", {"query": "x", "limit": 0}, "limit"),
        ("search_memory", {"query": "x", "limit": 101}, "limit"),
        ("search_memory", {"query": "x", "limit": True}, "limit"),
        ("search_memory", {"query": "x", "tag": ""}, "is not a tag"),
        ("search_memory", {"query": 5}, "query"),
        ("forget_memory", {"id": " "}, "id is empty"),
    ],
)
async def test_a_wrong_call_is_answered_with_how_to_repair_it(
    ada: Any, name: str, arguments: dict[str, Any], says: str
) -> None:
    assert_error(await ada.call(name, arguments), "INVALID_INPUT", says=says)


@pytest.mark.parametrize("name", ["x", "x" * 5000, "' OR 1=1 --", "%", "0"])
async def test_any_other_id_is_the_id_of_nothing(ada: Any, name: str) -> None:
    await kept(ada, "stays")
    result = assert_error(await ada.call("forget_memory", {"id": name}), "NOT_FOUND")
    assert result.error is not None
    assert len(result.error.message) < 150
    assert await found(ada, "stays") == ["stays"]


async def test_injected_sql_is_text(ada: Any) -> None:
    attack = "'); DROP TABLE memories; --"
    await kept(ada, attack, tags=[attack.lower()])
    assert await found(ada, attack, tag=attack) == [attack]
    bob = "ada' OR '1'='1"
    assert await found(ada._host.session(bob), "drop") == []


async def test_a_memory_may_hold_anything_that_text_may(ada: Any) -> None:
    texts = ["nul \0 inside", "x" * 10_000, "quotes \" and ' and %", "l1\nl2\r\n\tl3", "\u202eright to left"]
    await kept(ada, *texts)
    shown = [clean(text)[0] for text in texts]  # what hides in a result is taken out of every tool's
    assert sorted(await found(ada, "")) == sorted(shown)
    assert await found(ada, "nul inside") == [shown[0]]


async def test_memory_has_an_end(tmp_path: Path) -> None:
    async with open_host(words_alone(tmp_path, max_memories=2), plugins=[MemoryPlugin()]) as host:
        ada = host.session("ada")
        first, _ = await kept(ada, "one", "two")
        assert_error(await ada.call("remember", {"text": "three"}), "FORBIDDEN", reason="full", says="2 memories")
        await kept(host.session("bob"), "of another user")
        assert_ok(await ada.call("forget_memory", {"id": first}))
        await kept(ada, "three")


QUERIES = st.lists(
    st.sampled_from(["AND", "OR", "NOT", "NEAR(a b)", '"', "'", "*", "^", "-", ":", "(", ")", "\0", "{folded}:", "京"])
    | st.text(max_size=10),
    max_size=10,
).map(" ".join) | st.text(alphabet=st.characters(), max_size=40)


@pytest.mark.unmeasured
def test_any_query_text_gives_a_result_list_and_never_an_error(tmp_path: Path) -> None:
    async def ask(query: str, tag: str | None) -> None:
        async with open_host(words_alone(tmp_path), plugins=[MemoryPlugin()]) as host:
            results: list[ToolResult] = []
            for user_id in ("ada", "bob"):  # with memories, and without
                session = host.session(user_id)
                results.append(await session.call("search_memory", {"query": query, "tag": tag}))
            for result in results:
                data: Any = assert_ok(result).data
                assert isinstance(data["memories"], list)

    async def fill() -> None:
        async with open_host(words_alone(tmp_path), plugins=[MemoryPlugin()]) as host:
            await kept(host.session("ada"), "NEAR and far", "folded: paper", "東京 \0 🎉", "NOT 'quoted' \"twice\"")

    @settings(max_examples=60)
    @given(QUERIES, st.sampled_from([None, "home"]))
    def any_query(query: str, tag: str | None) -> None:
        trio.run(ask, query, tag)

    trio.run(fill)
    any_query()


@pytest.mark.unmeasured
def test_any_text_and_tags_are_kept_as_they_are_or_refused_with_invalid_input(tmp_path: Path) -> None:
    async def keep(text: str, tags: list[str]) -> None:
        async with open_host(words_alone(tmp_path), plugins=[MemoryPlugin()]) as host:
            session = host.session("ada")
            result = await session.call("remember", {"text": text, "tags": tags})
            if result.error is not None:
                assert_error(result, "INVALID_INPUT")
                return
            shown = [clean(text)[0]]
            assert await found(session, "", limit=1) == shown
            for tag in tags:
                assert await found(session, "", limit=1, tag=tag) == shown
            await found(session, text)

    @settings(max_examples=40)
    @given(st.text(max_size=50), st.lists(st.text(max_size=8), max_size=3))
    @example("\0", [])
    @example("x", ["ẞ", "SS", "ﬀ"])
    def any_text(text: str, tags: list[str]) -> None:
        trio.run(keep, text, tags)

    any_text()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:hunter2@db/memory",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite:///m.db?mode=ro",
        "memory.db",
        "file:///m.db",
    ],
)
def test_a_url_that_names_no_file_of_sqlite_is_refused_when_the_board_is_loaded(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_board({"plugins": {"memory": {"url": url}}}, plugins=[MemoryPlugin()])
    assert "a file of SQLite as in" in str(caught.value)
    assert "PostgreSQL and other databases have no FTS5" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_memory_of_no_memories_is_refused() -> None:
    with pytest.raises(ConfigError, match="above zero"):
        load_board({"plugins": {"memory": {"max_memories": 0}}}, plugins=[MemoryPlugin()])


async def test_by_default_memories_are_in_the_users_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    async with open_host(plugins=[pegboard_memory.plugin], config={"plugins": {"memory": {"semantic": False}}}) as host:
        assert list(tmp_path.iterdir()) == [], "nothing is made before it is needed"
        assert await found(host.session("ada"), "anything") == []
        assert list(tmp_path.rglob("*.db")) == [], "searching makes nothing"
        await kept(host.session("ada"), "here")
        [path] = tmp_path.rglob("memory.db")
        assert path.stat().st_mode & 0o077 == 0
        assert path.parent.stat().st_mode & 0o077 == 0


async def test_the_tools_say_what_they_are(host: Any) -> None:
    assert set(host.tools) == {"remember", "search_memory", "forget_memory"}
    for tool in host.tools.values():
        assert (tool.category, tool.limits.requires_user, tool.annotations.open_world) == ("memory", True, False)
    assert [name for name, tool in host.tools.items() if tool.read_only] == ["search_memory"]
    assert host.tools["search_memory"].input_schema["properties"]["limit"]["default"] == 10


async def test_the_readme_shows_what_calls_answer(ada: Any) -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    lines = [line.strip() for line in readme.splitlines()]
    [memory] = [line for line in lines if line.startswith('$ pegboard call remember text="')]
    text = memory.split('"')[1]
    [name] = await kept(ada, text, tags=["home"])
    search = next(line for line in lines if line.startswith("$ pegboard call search_memory"))
    result = await ada.call("search_memory", {"query": search.split('"')[1]})
    shown = lines[lines.index(search) + 1 : lines.index(search) + 3]
    masked = [re.sub(r"id [0-9a-f-]{36}|\d{4}-\d\d-\d\d", "~", line) for line in shown]
    assert masked == [re.sub(r"id [0-9a-f-]{36}|\d{4}-\d\d-\d\d", "~", line) for line in result.text.splitlines()]
    assert name in result.text


def test_what_the_readme_sets_first_loads_and_holds() -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    said = tomllib.loads(readme.split("```toml\n")[1].split("```")[0])
    board = load_board(said, plugins=[MemoryPlugin()])
    assert board.registry.plans["forget_memory"].tool.limits.requires_confirmation
    assert board.registry.plans["remember"].tool.limits.rate_limit
    assert board.config.core.user_id == "ada"


def test_listing_the_tools_imports_neither_sqlite_nor_trio_nor_the_model() -> None:
    program = (
        "import sys, pegboard_memory.plugin as plugin; tools = plugin.provide_tools();"
        "heavy = {'trio', 'sqlite3', 'numpy', 'onnxruntime', 'tokenizers', 'platformdirs', 'pegboard_memory._store'};"
        "print(len(tools), sorted(heavy & set(sys.modules)))"
    )
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert child.stdout.strip() == "3 []", child.stderr

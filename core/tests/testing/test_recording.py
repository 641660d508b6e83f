"""Recordings: what is written, what is masked in it, and what is answered from it."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from pegboard import (
    BinaryContent,
    CallContext,
    ErrorCode,
    ImageContent,
    PegboardError,
    TextContent,
    ToolError,
    ToolResult,
    hookimpl,
    load_board,
    open_host,
    tool,
)
from pegboard.secrets.written import named_secrets, without_secrets
from pegboard.testing import assert_error, assert_ok
from pegboard.testing.recording import MASKED, Recording, _fits, _key

SECRET = "s3cr3t-of-the-test"


def lengths(text: str) -> int:
    return len(text)


class Network:
    """A plugin whose tools ask a network that may be gone."""

    name = "network"

    def __init__(self, *, is_gone: bool = False) -> None:
        self.is_gone = is_gone
        self.asked = 0

    @hookimpl
    def provide_tools(self) -> list[Any]:
        def ask() -> int:
            if self.is_gone:
                raise AssertionError("the network was asked")
            self.asked += 1
            return self.asked

        @tool(read_only=True)
        async def weather(city: str, days: int = 1) -> dict[str, Any]:
            return {"city": city, "asked": ask()}

        @tool(run="inplace")
        def inplace(city: str) -> str:
            return f"{city} {ask()}"

        @tool(run="thread")
        def thread(city: str) -> str:
            return f"{city} {ask()}"

        @tool
        async def fails(city: str) -> str:
            ask()
            raise ToolError(ErrorCode.UPSTREAM_ERROR, f"no {city}", {"status": 503})

        @tool
        async def picture() -> list[Any]:
            ask()
            return [TextContent("one"), ImageContent(b"\x00\xff", "image/png"), BinaryContent(b"x", "a/b", "c:d")]

        @tool(secrets=["THE_KEY"])
        async def keyed(context: CallContext, url: str, password: str = "") -> str:
            ask()
            return f"{url} {context.secret('THE_KEY')} {password}"

        return [weather, inplace, thread, fails, picture, keyed]


CALLS = [
    ("weather", {"city": "Bonn"}),
    ("weather", {"city": "Bonn", "days": 2}),
    ("inplace", {"city": "Bonn"}),
    ("thread", {"city": "Bonn"}),
    ("fails", {"city": "Bonn"}),
    ("picture", {}),
]


async def answers(plugin: Any, file: Path, mode: str, calls: Any = CALLS) -> list[ToolResult]:
    async with open_host({"strict": True, "plugins": {"record": {"file": str(file), "mode": mode}}}, [plugin]) as host:
        return [await host.session().call(name, arguments) for name, arguments in calls]


def told(result: ToolResult) -> Any:
    error = result.error
    return result.content, result.data, error and (error.code, error.message, error.details), result.details


async def test_a_replay_answers_what_was_recorded_and_runs_nothing(tmp_path: Path) -> None:
    recorded = await answers(Network(), tmp_path / "r.json", "record")
    network = Network(is_gone=True)
    replayed = await answers(network, tmp_path / "r.json", "replay", reversed(CALLS))
    assert [told(one) for one in reversed(replayed)] == [told(one) for one in recorded]
    assert network.asked == 0


async def test_a_recording_is_the_same_for_the_same_answers(tmp_path: Path) -> None:
    @tool(read_only=True)
    async def pure(n: int, more: dict[str, int] | None = None) -> int:
        return n

    class Pure:
        name = "pure"

        @hookimpl
        def provide_tools(self) -> list[Any]:
            return [pure]

    calls = [("pure", {"n": 1, "more": {"a": 1, "b": 2}}), ("pure", {"n": 2}), ("pure", {"n": 1})]
    other = [("pure", {"n": 1}), ("pure", {"more": {"b": 2, "a": 1}, "n": 1}), ("pure", {"n": 2}), ("pure", {"n": 2})]
    for name, made in (("one", calls), ("two", other), ("two", other)):
        await answers(Pure(), tmp_path / name, "record", made)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["one", "two"]


async def test_answers_of_one_call_come_in_their_order_and_then_the_last(tmp_path: Path) -> None:
    call = ("weather", {"city": "Bonn"})
    await answers(Network(), tmp_path / "r.json", "record", [call, call])
    results = await answers(Network(is_gone=True), tmp_path / "r.json", "replay", [call] * 3)
    assert [one.data["asked"] for one in results] == [1, 2, 2]


async def test_a_run_adds_to_a_recording_and_takes_the_place_of_calls_that_are_alike(tmp_path: Path) -> None:
    await answers(Network(), tmp_path / "r.json", "record", [("inplace", {"city": "a"}), ("inplace", {"city": "b"})])
    network = Network()
    network.asked = 6
    await answers(network, tmp_path / "r.json", "record", [("inplace", {"city": "b"})])
    found = json.loads((tmp_path / "r.json").read_text())["calls"]
    assert [[one["data"]["result"] for one in call["results"]] for call in found] == [["a 1"], ["b 7"]]


async def test_runs_beside_each_other_lose_nothing_of_each_other(tmp_path: Path) -> None:
    """As two programs do, of which the second began before the first had written."""
    config = {"plugins": {"record": {"file": str(tmp_path / "r.json")}}}
    first, second = Network(), Network()
    async with open_host(config, [second]) as later:
        async with open_host(config, [first]) as sooner:
            assert_ok(await sooner.session().call("weather", {"city": "Bonn"}))
        assert_ok(await later.session().call("weather", {"city": "Rom"}))
    calls = json.loads((tmp_path / "r.json").read_text("utf-8"))["calls"]
    assert [call["arguments"]["city"] for call in calls] == ["Bonn", "Rom"]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (("weather", {"city": "Rome"}), 'recorded of this tool: {"city":"Bonn"}'),
        (("weather", {"city": "Bonn", "days": 1}), "was not recorded in r.json"),
        (("inplace", {"city": "Bonn"}), "no call of this tool was"),
    ],
)
async def test_a_call_that_was_not_recorded_says_so(tmp_path: Path, call: Any, says: str) -> None:
    await answers(Network(), tmp_path / "r.json", "record", [("weather", {"city": "Bonn"})])
    (result,) = await answers(Network(is_gone=True), tmp_path / "r.json", "replay", [call])
    assert_error(result, "NOT_FOUND", reason="not_recorded", says=says)
    assert result.error.details["executed"] is False


async def test_guards_and_validation_run_at_a_replay(tmp_path: Path) -> None:
    await answers(Network(), tmp_path / "r.json", "record")
    wrong = await answers(Network(is_gone=True), tmp_path / "r.json", "replay", [("weather", {"town": "Bonn"})])
    assert_error(wrong[0], "INVALID_INPUT")


# secrets ----------------------------------------


async def test_no_secret_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", SECRET)
    arguments = {"url": f"https://ada:hunter22@host/?q={SECRET}", "password": "pass-of-mine"}
    (recorded,) = await answers(Network(), tmp_path / "r.json", "record", [("keyed", arguments)])
    assert "pass-of-mine" in recorded.text  # of the caller; the file is for others
    text = (tmp_path / "r.json").read_text()
    assert not [one for one in (SECRET, "hunter22", "pass-of-mine") if one in text]
    monkeypatch.delenv("THE_KEY")
    same, other = await answers(
        Network(is_gone=True), tmp_path / "r.json", "replay",
        [("keyed", arguments), ("keyed", {**arguments, "url": "https://elsewhere"})],
    )  # fmt: skip
    assert_ok(same)
    assert_error(other, "NOT_FOUND", reason="not_recorded")


JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
OWN = 'own "secret" 81\u00e4'.replace(" ", "-")
KEPT = "what-is-none-7"


@pytest.mark.parametrize(
    ("told", "leaks"),
    [
        ({"access_token": "tok-1a2b3c"}, "tok-1a2b3c"),
        ({"deep": [{"apiKey": "key-1a2b3c"}]}, "key-1a2b3c"),
        ({"headers": {"Set-Cookie": "sid=cookie-9; HttpOnly"}}, "cookie-9"),
        ({"token": "tok-1a2b3c", "said": "yours is tok-1a2b3c"}, "tok-1a2b3c"),
        ({"page": "https://host/?access_token=tok9&x=1"}, "tok9"),
        ({"page": "https://ada:pass9@host/"}, "pass9"),
        ({"text": "Authorization: Basic YWRhOnBhc3M5"}, "YWRhOnBhc3M5"),
        ({"text": json.dumps({"password": "pass9"})}, "pass9"),
        ({"text": json.dumps({"inner": json.dumps({"password": "pass9"})})}, "pass9"),
        ({"text": f"it is {JWT}."}, JWT),
        ({"text": "it is ghp_" + "a1B2c3" * 6}, "a1B2c3"),
        ({"text": f"of the environment: {OWN}"}, OWN),
        ({"text": "in JSON: " + json.dumps({"it": OWN})}, json.dumps(OWN)[1:-1]),
        ({"blob": f"it is {JWT}."}, base64.b64encode(f"it is {JWT}.".encode()).decode()),
        ({"blob": OWN}, base64.b64encode(OWN.encode()).decode()),
        ({"fails": OWN, "token": "tok-1a2b3c"}, "tok-1a2b3c"),
        ({"fails": OWN, "token": "tok-1a2b3c"}, OWN),
    ],
)
@pytest.mark.parametrize("way", ["data", "text", "argument"])
async def test_no_secret_of_an_answer_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: dict[str, Any], leaks: str, way: str
) -> None:
    """Those of the host, those that a name or a text tells, wherever they stand; what is not one stays."""
    monkeypatch.setenv("SOME_API_TOKEN", OWN)

    class Telling:
        name = "telling"

        @hookimpl
        def provide_tools(self) -> list[Any]:
            @tool(read_only=True, results="raw")
            async def tell(about: dict[str, Any]) -> Any:
                if way == "argument":
                    return KEPT
                if "fails" in told:
                    raise ToolError(ErrorCode.UPSTREAM_ERROR, f"no {told['fails']}", {**told, "kept": KEPT})
                if "blob" in told:
                    return [TextContent(KEPT), BinaryContent(told["blob"].encode(), "text/plain", "c:d")]
                given = {**told, "kept": KEPT}
                return given if way == "data" else json.dumps(given)

            return [tell]

    asked = told if way == "argument" else {}
    await answers(Telling(), tmp_path / "r.json", "record", [("tell", {"about": asked})])
    text = (tmp_path / "r.json").read_text()
    assert leaks not in text
    assert json.dumps(leaks, ensure_ascii=False)[1:-1] not in text
    assert KEPT in text
    (replayed,) = await answers(Telling(), tmp_path / "r.json", "replay", [("tell", {"about": asked})])
    assert KEPT in json.dumps(replayed.to_json())


KEYS = {
    "GitHub": "ghp_oHwLMeaZqo9DZDNjN1GTPdVKsb1DS2S5yXB6",
    "OpenAI": "sk-2gin7BMsFxvKK4Q519Pk174JSnZJrd09fXzjsV2cMcSu28F9",
    "Groq": "gsk_" + "aB3" * 16,
    "Google": "AIza" + "Sy4" * 11 + "Zk",
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize(
    "told",
    [
        lambda key: key,  # all of a text, whose letters are those of base64 too
        lambda key: [key],
        lambda key: {key: 1},
        lambda key: f"use {key} here",
        lambda key: base64.b64encode(f"use {key}".encode()).decode(),
        lambda key: json.dumps({"one": key}),
    ],
    ids=["all", "list", "name", "within", "base64", "JSON"],
)
def test_a_key_of_a_service_is_known_wherever_it_stands(key: str, told: Any) -> None:
    shown = json.dumps(without_secrets({"value": told(key)}))
    assert key not in shown
    assert base64.b64encode(f"use {key}".encode()).decode() not in shown


@pytest.mark.parametrize(
    "value",
    [
        {"X-Api-Key": "hunter2hunter2"},
        {"Set-Cookie": ["hunter2hunter2", "a=b"]},
        {"headers": [{"name": "X-Api-Key", "value": "hunter2hunter2"}]},
        {"key": "password", "value": "hunter2hunter2"},
        "https://ada:hunter2hunter2@example.com/",
        "https://example.com/#access_token=hunter2hunter2",
        "https://example.com/?access_token=hunter2hunter2#top",
    ],
    ids=str,
)
def test_a_secret_is_known_by_what_it_is_called(value: Any) -> None:
    assert "hunter2" not in str(without_secrets(value))
    if isinstance(value, dict):
        assert "hunter2" not in str(without_secrets({"and": "then hunter2hunter2"}, tuple(named_secrets(value))))


def test_what_is_no_secret_stays() -> None:
    value = {
        "name": "Bonn",
        "value": "a city on the Rhine",
        "key": "k1",
        "tags": ["one", "two"],
        "hash": "deadbeef" * 8,
    }
    assert without_secrets(value) == value


async def test_arguments_that_are_called_key_tell_calls_apart(tmp_path: Path) -> None:
    class Store:
        name = "store"

        @hookimpl
        def provide_tools(self) -> list[Any]:
            @tool
            async def get(key: str) -> str:
                return f"value of {key}"

            return [get]

    calls = [("get", {"key": "a"}), ("get", {"key": "b"})]
    await answers(Store(), tmp_path / "r.json", "record", calls)
    assert [one.text for one in await answers(Store(), tmp_path / "r.json", "replay", calls)] == [
        "value of a", "value of b",
    ]  # fmt: skip


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0]) | st.text("ab*", max_size=5),
    lambda one: st.lists(one, max_size=2) | st.dictionaries(st.sampled_from("ab"), one, max_size=2),
    max_leaves=4,
)


@given(value=JSON, other=JSON)
def test_arguments_fit_what_they_were_recorded_as_and_nothing_else(value: Any, other: Any) -> None:
    """Without a mask only the same JSON fits; a mask stands for any text."""
    assert _fits(value, value)
    if MASKED not in json.dumps(value):
        assert _fits(value, other) is (_key("", value) == _key("", other))


@given(parts=st.lists(st.text("ab", max_size=2), min_size=2, max_size=4), filled=st.lists(st.text("abc", max_size=3)))
def test_a_masked_text_fits_whatever_was_masked_in_it(parts: list[str], filled: list[str]) -> None:
    whole = "".join(part + (filled[index] if index < len(filled) else "") for index, part in enumerate(parts[:-1]))
    assert _fits(MASKED.join(parts), whole + parts[-1])
    assert not _fits(MASKED.join([*parts, "d"]), whole + parts[-1])


# sources ----------------------------------------


class Remote:
    """A source with one tool, as a server brings it."""

    name = "remote"

    @hookimpl
    def provide_sources(self) -> list[Any]:
        return [self]

    async def run(self, slot: Any) -> None:
        @tool(read_only=True, open_world=True)
        async def far(city: str) -> dict[str, str]:
            """Ask far away."""
            return {"city": city}

        slot.replace([far])
        await trio.sleep_forever()


async def test_the_tools_of_a_source_are_there_without_it(tmp_path: Path) -> None:
    async with open_host({"plugins": {"record": {"file": str(tmp_path / "r.json")}}}, [Remote()]) as host:
        await host.wait_for_sources("far")
        assert_ok(await host.session().call("far", {"city": "Bonn"}))
        before = host.tools["far"].public_definition
    config = {"plugins": {"record": {"file": str(tmp_path / "r.json"), "mode": "replay"}}}
    for plugins in ([], [Network()]):
        async with open_host(config, plugins) as host:
            assert host.tools["far"].public_definition == before
            assert (await host.session().call("far", {"city": "Bonn"})).data == {"city": "Bonn"}
            assert_error(await host.session().call("far", {"city": 3}), "INVALID_INPUT")


# files ----------------------------------------


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"pegboard_recording": 2}', '{"pegboard_recording": 1}', "[" * 100_000,
     '{"pegboard_recording": 1, "calls": [{"name": "a"}]}',
     '{"pegboard_recording": 1, "calls": [{"name": "a", "arguments": {}, "results": [3]}]}',
     '{"pegboard_recording": 1, "calls": [{"name": "a", "arguments": {}, "results": []}]}',
     '{"pegboard_recording": 1, "calls": [{"name": "a", "arguments": [], "results": [{"content": []}]}]}',
     '{"pegboard_recording": 1, "calls": [{"name": [], "arguments": {}, "results": [{"content": []}]}]}',
     '{"pegboard_recording": 1, "calls": [], "tools": {"a": 3}}',
     '{"pegboard_recording": 1, "calls": [], "tools": {"a": {"name": "\\u001b"}}}',
     '{"pegboard_recording": 1, "calls": [{"name": "a", "arguments": {}, "results": [{"content": [{"type": "x"}]}]}]}'],
    ids=str,
)  # fmt: skip
async def test_a_file_that_is_no_recording_is_refused_and_left_as_it_is(tmp_path: Path, text: str) -> None:
    file = tmp_path / "r.json"
    file.write_text(text)
    for mode in ("record", "replay"):
        with pytest.raises(PegboardError, match=r"r\.json is not a recording"):
            await answers(Network(), file, mode)
    assert file.read_text() == text


async def test_a_recording_that_is_not_there_or_cannot_be_written_is_said_before_anything_runs(tmp_path: Path) -> None:
    network = Network()
    with pytest.raises(PegboardError, match="cannot be read"):
        await answers(network, tmp_path / "r.json", "replay")
    with pytest.raises(PegboardError, match="cannot be written"):
        await answers(network, tmp_path / "no" / "r.json", "record")
    assert network.asked == 0


def test_a_board_that_records_nothing_imports_nothing_of_it() -> None:
    code = "import sys; from pegboard import load_board; load_board({}, [])\n"
    code += "assert not {'pegboard.testing', 'pegboard.testing.recording'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert "record" not in [one.name for one in load_board({}, []).plugins]
    said = {"plugins": {"record": {"file": "r.json"}}}
    assert "record" not in [one.name for one in load_board(said, [], without=["record"]).plugins]


# the fixture ----------------------------------------


async def test_the_fixture_answers_from_the_file_beside_the_test(
    replayed: Any, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if request.config.getoption("--pegboard-record"):
        pytest.skip("replays what this test wrote")
    file = tmp_path / "weather.json"
    await answers(Network(), file, "record")
    host = await replayed(file, Network(is_gone=True))
    assert_ok(await host.session().call("weather", {"city": "Bonn"}), data={"city": "Bonn", "asked": 1})
    assert_error(await host.session().call("weather", {"city": "Rome"}), "NOT_FOUND", reason="not_recorded")


TEST = """
import network_tools
from pegboard.testing import assert_ok

async def test_it(replayed):
    host = await replayed("said.json", network_tools)
    assert_ok(await host.session().call("ask", {"what": "x"}))
"""
TOOLS = """
import os
from pegboard import hookimpl, tool

@hookimpl
def provide_tools():
    @tool
    async def ask(what: str) -> str:
        assert os.environ["NETWORK"] == "up"
        return f"{what} is there"
    return [ask]
"""


def test_pytest_records_anew_where_it_is_asked_to(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TEST)
    (tmp_path / "network_tools.py").write_text(TOOLS)
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\ntrio_mode = true\npythonpath = ["."]\n')

    def run(network: str, *options: str) -> int:
        import os

        environ = {**os.environ, "NETWORK": network}
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
        return subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, check=False).returncode

    assert run("up", "--pegboard-record") == 0
    assert Recording.read(tmp_path / "said.json") is not None
    assert run("down") == 0

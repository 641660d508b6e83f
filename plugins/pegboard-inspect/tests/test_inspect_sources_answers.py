"""The page *Sources* as far as its requests go, without a browser, with real MCP servers: what it is told, and what it
does. And one server that is inspected alone, over every transport and in both eras.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from pegboard import open_host, tool

pytest.importorskip("pegboard_mcp", reason="pegboard-mcp is not installed")
import pegboard_mcp.plugin as mcp
from pegboard_inspect import judging, messages, plugin
from pegboard_inspect.one_server import NAME, board_of_server
from pegboard_mcp.probe import looking
from pegboard_mcp.server.http import serve_http
from pegboard_mcp.settings import McpSettings

# The generators of the SDK's client over HTTP are left half-way, which trio warns of, and so are those of a page that
# is left; trio-websocket leaves its socket open where the server closes first.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Exception ignored in. <async_generator:pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.usefixtures("swept", "own_folders"),
]

SERVER = Path(__file__).parent / "servers" / "authored.py"
ERAS = {"modern": "2026-07-28", "legacy": "2025-11-25"}


@pytest.fixture
def swept() -> Iterator[None]:
    """What a client left open is found in the test that used it."""
    yield
    gc.collect()


@pytest.fixture
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))


@pytest.fixture
def looking_at(host_with: Any, visiting: Any, tmp_path: Path) -> Callable[..., Any]:
    """`async with looking_at(one=["modern"], ...) as page:` servers by name, each with the words of `authored.py`."""

    @asynccontextmanager
    async def look(lock: str = "off", **servers: list[str]) -> AsyncIterator[Asking]:
        tables = {
            name: {"command": sys.executable, "args": ["-S", str(SERVER), str(tmp_path), *words], "start": "eager"}
            for name, words in servers.items()
        }
        settings = {"servers": tables, "lock": lock, "lock_file": str(tmp_path / "my.lock")}
        host = await host_with(plugin, mcp, config={"plugins": {"mcp": settings}})
        await host.wait_for_sources()
        async with visiting(host) as it:
            yield Asking(host, await it.enter())

    return look


@pytest.fixture
def alone(visiting: Any, tmp_path: Path) -> Callable[..., Any]:
    """`async with alone("modern", protocol=...) as page:` what `pegboard inspect --server` shows."""

    @asynccontextmanager
    async def look(words: str, *args: Any, **more: Any) -> AsyncIterator[Asking]:
        async with open_host(board_of_server(words, *args, **more)) as host:
            await host.wait_for_sources()
            async with visiting(host) as it:
                yield Asking(host, await it.enter())

    return look


class Asking:
    """The page, as far as its requests go."""

    def __init__(self, host: Any, visit: Any) -> None:
        self.host = host
        self.visit = visit

    async def act(self, action: str, value: Any = None, status: int = 200) -> Any:
        answer = await self.visit.post(f"pages/sources/{action}", {"value": value})
        assert answer.status_code == status, answer.text
        return answer.json()

    async def hear(self, stream: str, answer: Any = None, **value: Any) -> list[Any]:
        """What a stream said, and why it ended where that was not its end."""
        said = await self.visit.stream(f"pages/sources/{stream}", {"value": value}, answer)
        return [one.get("value", one.get("problem")) for one in said if one["kind"] in ("said", "problem")]

    async def open(self, source: str, kind: str, name: str, **arguments: Any) -> Any:
        (result,) = await self.hear("open", source=source, kind=kind, name=name, arguments=arguments)
        return result


def command(folder: Path, *words: str) -> str:
    return f"{sys.executable} -S {SERVER} {folder} {' '.join(words)}"


# -- what there is


async def test_each_source_is_told_in_short_and_as_a_whole(looking_at: Any) -> None:
    async with looking_at(plain=[], modern=["modern", "hostile"], judged=["judged"]) as page:
        told = {one["source"]: one for one in (await page.visit.get("pages/sources")).json()["sources"]}
        assert {name: one["protocol"] for name, one in told.items()} == {
            "plain": "2025-11-25",
            "modern": "2026-07-28",
            "judged": "2025-11-25",
        }
        assert {one["state"] for one in told.values()} == {"ready"}
        assert told["plain"]["server"] == "authored 1.2"
        whole = await page.act("source", "judged")
        found = {(one["kind"], one["tool"]) for one in whole["findings"]}
        assert {("orders", "helper"), ("contradiction", "delete_all"), ("left out", None)} <= found
        assert any(kind == "hidden text" for kind, _ in found)
        assert whole["details"]["starts"] == 1
        assert (whole["recording"], whole["era"], whole["takes_messages"]) == (False, None, False)
        assert "no source named" in (await page.act("source", "nobody", 409))["problem"]


async def test_what_changed_is_shown_and_accepted_as_it_was_shown(looking_at: Any, tmp_path: Path) -> None:
    async with looking_at("enforce", plain=[]) as page:
        assert "add" not in page.host.tools
        found = await page.act("lock")
        assert (found["is_new"], found["holds_back"]) == (True, True)
        changes = [{key: one[key] for key in ("source", "name", "state")} for one in found["changes"]]
        assert (await page.act("accept", changes))["accepted"] == len(changes)
        assert "add" in page.host.tools
        assert (await page.act("lock"))["changes"] == []
        (tmp_path / "changed").touch()
        assert await page.act("restart", "plain") == {"state": "ready"}
        whole = await page.act("source", "plain")
        assert [one["name"] for one in whole["held"]] == ["add"]
        (change,) = (await page.act("lock"))["changes"]
        diff = await page.act("change", {"source": "plain", "name": "add"})
        assert "+Add two numbers, and then some." in json.dumps(diff)
        assert "not there any more" in (await page.act("change", {"source": "plain", "name": "no"}, 400))["problem"]
        other = {**{key: change[key] for key in ("source", "name")}, "state": "sha256:other"}
        assert "not as it was shown last" in (await page.act("accept", [other], 400))["problem"]
        assert (await page.act("lock"))["changes"] != []


async def test_a_board_without_mcp_has_no_lock(host_with: Any, visiting: Any) -> None:
    async with visiting(await host_with(plugin)) as it:
        page = Asking(it.host, await it.enter())
        assert await page.act("lock") is None
        assert "there is no lock here" in (await page.act("accept", [], 400))["problem"]


# -- what it does


@pytest.mark.parametrize("words", [[], ["modern"]], ids=["handshake", "modern"])
async def test_offers_are_opened_and_their_arguments_proposed(looking_at: Any, words: list[str]) -> None:
    async with looking_at(one=words) as page:
        greet = {"source": "one", "kind": "prompt", "name": "greet"}
        assert (await page.open("one", "prompt", "greet", who="Ada"))["content"][0]["text"] == "Hello Ada"
        assert "at note://1" in json.dumps(await page.open("one", "resource", "note://1"))
        assert (await page.open("one", "resource", "note://2"))["error"]["code"] == "NOT_FOUND"
        assert "at log://to%2Fday" in json.dumps(await page.open("one", "template", "log://{day}", day="to/day"))
        assert "not offered any more" in await page.open("one", "prompt", "nothing")
        (refused,) = await page.hear("open", **greet, arguments=["Ada"])
        assert "not an object" in refused["error"]["message"]

        ask = partial(page.hear, "complete", **greet, argument="who")
        assert await ask(value="a", others={}) == [["Ada", "Adele", "Alan"]]
        assert await ask(value="ad", others={"how": "loud", "odd": 3}) == [["Ada", "Adele", "how"]]
        day = {"source": "one", "kind": "template", "name": "log://{day}", "argument": "day"}
        assert await page.hear("complete", **day, value="m", others={}) == [["monday", "may"]]
        note = {"source": "one", "kind": "resource", "name": "note://1", "argument": "a"}
        assert await page.hear("complete", **note, value="", others={}) == [[]]
        assert await ask(value=3, others={}) == ["expected an argument, what its value begins with, and the others"]


async def test_messages_are_recorded_while_somebody_asks_for_it(looking_at: Any) -> None:
    async with looking_at(one=[]) as page:
        assert (await page.visit.stream("pages/sources/messages", {"value": "one"}))[-1]["kind"] == "done"
        assert await page.act("record", {"source": "one", "on": True}) == {"recording": True}
        await page.act("restart", "one")
        history = messages.history_of(page.host.board.sources[0][1])
        assert history is not None
        rows = history.after(0)
        assert [row["method"] for row in rows if row["kind"] == "request"][:2] == ["server/discover", "initialize"]
        (answer,) = [row for row in rows if row["answers"] == "initialize"]
        assert answer["took_ms"] > 0
        visit, address = page.visit, f"{page.visit.base}api/pages/sources/messages"
        async with visit.client.stream("POST", address, json={"value": "one"}, headers=visit.headers) as answered:
            async for line in answered.aiter_lines():
                if (said := json.loads(line))["kind"] == "said":
                    break
        assert [row["seq"] for row in said["value"]["messages"]] == [row["seq"] for row in rows]
        await page.act("clear", "one")
        assert history.after(0) == []
        assert await page.act("record", {"source": "one", "on": False}) == {"recording": False}
        assert messages.history_of(page.host.board.sources[0][1]) is None


async def test_nobody_writes_to_a_server_of_a_board(looking_at: Any, tmp_path: Path) -> None:
    async with looking_at(one=[]) as page:
        (why,) = await page.hear("send", source="one", text='{"method": "notifications/odd"}')
        assert "pegboard inspect --server" in why
        assert "--server" in (await page.act("speak", {"source": "one", "era": "modern"}, 409))["problem"]
        assert "notifications/odd" not in (tmp_path / "notified").read_text()


# -- one server, alone


@pytest.mark.parametrize("era", [*ERAS])
async def test_a_message_is_sent_as_it_is_written_and_its_answer_comes_as_it_is(
    alone: Any, tmp_path: Path, era: str
) -> None:
    words = [] if era == "legacy" else ["modern"]
    async with alone(command(tmp_path, *words)) as page:

        async def send(message: Any, **more: Any) -> Any:
            (told,) = await page.hear("send", source=NAME, text=message, **more)
            return told["answer"] if isinstance(told, dict) else told

        written = {"jsonrpc": "2.0", "id": "mine", "method": "test/echo", "params": {"a": [1, None], "_meta": {"b": 2}}}
        answer = await send(json.dumps(written), completes=False)
        assert answer["result"]["params"] == written["params"]
        completed = (await send(json.dumps(written)))["result"]["params"]["_meta"]
        key = "io.modelcontextprotocol/protocolVersion"
        assert (completed["b"], completed.get(key)) == (2, ERAS["modern"] if era == "modern" else None)
        said = await send(json.dumps({"id": 1, "method": "test/echo", "params": {"_meta": {key: "1999-01-01"}}}))
        assert said["result"]["params"]["_meta"][key] == "1999-01-01"  # what is written stands
        assert await send('{"id": 1, "method": "no/such"}') == {"error": {"code": -32601, "message": "no no/such"}}
        assert await send('{"method": "notifications/odd"}') is None
        await send('{"id": 1, "method": "test/echo"}')  # it reads one line after the other
        assert "notifications/odd" in (tmp_path / "notified").read_text()
        for wrong, why in {
            "{": "not JSON",
            "[]": "expected a JSON object",
            '{"id": 1}': "method: expected a text",
            '{"id": 1, "method": "x", "params": [1]}': "params: expected an object",
            '{"id": 1, "method": ""}': "method: expected a text",
        }.items():
            assert why in await send(wrong)
        assert "lost" in await send('{"id": 1, "method": "tools/call", "params": {"name": "die"}}')
        history = messages.history_of(page.host.board.sources[0][1])
        assert history is not None
        assert {"test/echo", "no/such", "notifications/odd"} <= {row["method"] for row in history.after(0)}


async def test_the_era_is_chosen_at_the_start_and_on_the_page(alone: Any, tmp_path: Path) -> None:
    async with alone(command(tmp_path, "modern", "both"), protocol="legacy") as page:
        whole = await page.act("source", NAME)
        assert (whole["era"], whole["details"]["protocol"]) == ("legacy", ERAS["legacy"])
        for era, protocol in {"modern": ERAS["modern"], "legacy": ERAS["legacy"], "auto": ERAS["modern"]}.items():
            assert await page.act("speak", {"source": NAME, "era": era}) == {"state": "ready"}
            whole = await page.act("source", NAME)
            assert (whole["era"], whole["details"]["protocol"]) == (era, protocol)
        assert "expected one of auto" in (await page.act("speak", {"source": NAME, "era": "other"}, 409))["problem"]


@pytest.mark.parametrize(("words", "era", "why"), [([], "modern", "without a handshake"), (["modern"], "legacy", "no")])
async def test_a_server_that_does_not_speak_the_chosen_era_says_so(
    alone: Any, tmp_path: Path, words: list[str], era: str, why: str
) -> None:
    async with alone(command(tmp_path, *words), protocol=era) as page:
        whole = await page.act("source", NAME)
        assert whole["state"] == "backing_off"
        assert why in whole["reason"]
        assert await page.act("speak", {"source": NAME, "era": "auto"}) == {"state": "ready"}


@tool(read_only=True)
async def greet(who: str) -> str:
    """Greet somebody."""
    return f"Hello {who}"


@pytest.mark.parametrize("era", [*ERAS])
@pytest.mark.parametrize("transport", ["http", "sse", "websocket"])
async def test_a_server_is_inspected_over_every_transport_in_both_eras(
    host_with: Any, alone: Any, transport: str, era: str
) -> None:
    served = await host_with()
    served.add(greet)
    async with trio.open_nursery() as nursery:
        where = {"transport": transport, "bind": "127.0.0.1", "port": 0}
        serve = partial(serve_http, served, **where, user_id=None, settings=McpSettings())
        url = await nursery.start(serve)
        async with alone(url, transport, protocol=era) as page:
            whole = await page.act("source", NAME)
            assert (whole["state"], whole["reason"]) == ("ready", None)
            assert (whole["details"]["transport"], whole["details"]["protocol"]) == (transport, ERAS[era])
            assert whole["names"] == ["greet"]
            said = await page.visit.call("greet", {"who": "Ada"})
            assert said[-1]["result"]["content"][0]["text"] == "Hello Ada"
            call = {"id": 1, "method": "tools/call", "params": {"name": "greet", "arguments": {"who": "Bob"}}}
            (told,) = await page.hear("send", source=NAME, text=json.dumps(call))
            assert told["answer"]["result"]["content"][0]["text"] == "Hello Bob"
            history = messages.history_of(page.host.board.sources[0][1])
            assert history is not None
            assert [row["method"] for row in history.after(0)].count("tools/call") == 2
        nursery.cancel_scope.cancel()


async def test_a_server_is_probed_in_a_child_of_its_own_and_the_report_is_the_programs(
    alone: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[tuple[str, Any]] = []
    wait, waits = trio.Event(), trio.Event()

    async def look(definition: Any, others: Any, servers: Any, *, wait_s: float) -> Any:
        asked.append((definition.name, definition.confine))
        waits.set()
        await wait.wait()
        return await real(definition, others, servers, wait_s=wait_s)

    real = looking.probe
    monkeypatch.setattr(looking, "probe", look)
    async with alone(command(tmp_path, "judged")) as page:
        assert (await page.act("source", NAME))["can_be_probed"]
        starts = page.host.board.sources[0][1].describe().starts
        found: list[Any] = []

        async def probe() -> None:
            found.extend(await page.hear("probe", source=NAME, wait_s=0, is_confined=False))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(probe)
            await waits.wait()
            assert await page.hear("probe", source=NAME, wait_s=0) == ["it is being looked at already"]
            wait.set()
        (report,) = found
        assert asked == [(NAME, False)]
        assert (report["verdict"], report["confined"]) == ("danger", False)
        assert report["words"].startswith("do not use it")
        assert "without a sandbox" in report["unseen"]
        assert {"order-first", "order-secrecy"} <= {one["check"] for one in report["findings"]}
        assert page.host.board.sources[0][1].describe().starts == starts  # the one that runs goes on
        for wrong in (-1, True, "1", 1e9, None):
            (why,) = await page.hear("probe", source=NAME, wait_s=wrong)
            assert "wait_s: expected seconds" in why


async def test_a_system_that_confines_nobody_is_told_of(
    alone: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("pegboard_confine.sandbox.why_not", lambda: "it is not installed")
    async with alone(command(tmp_path)) as page:
        (why,) = await page.hear("probe", source=NAME, wait_s=0)
        assert why == "this system cannot confine a server: it is not installed"


async def test_what_a_source_offers_is_judged_once_until_it_says_something_else(
    looking_at: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    judged, real = [], judging.judged

    def judge(*given: Any) -> Any:
        judged.append(given)
        return real(*given)

    monkeypatch.setattr(judging, "judged", judge)
    async with looking_at(one=["judged"]) as page:
        first, again = [(await page.act("source", "one"))["findings"] for _ in range(2)]
        assert first == again != []
        assert len(judged) == 1  # the page asks each second and a half
        (tmp_path / "changed").touch()
        await page.act("restart", "one")
        await page.act("source", "one")
        assert len(judged) == 2

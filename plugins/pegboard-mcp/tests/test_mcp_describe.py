"""What a server tells whoever looks after it: `describe`, `listen` and `offer_again`; and the review of the lock."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ConfigError, ToolError
from pegboard.sources import SourceMessage
from pegboard_mcp import plugin as mcp
from pegboard_mcp import review_lock
from pegboard_mcp.client.journal import MAX_LINE, MAX_LINES, Journal
from pegboard_mcp.definitions import ServerDefinition
from pegboard_mcp.lock import watch

BOTH = {"offers": ["prompts", "resources"]}
ERAS = pytest.mark.parametrize(
    ("modern", "version"), [(False, "2025-11-25"), (True, "2026-07-28")], ids=["handshake", "modern"]
)


@ERAS
async def test_a_server_tells_what_was_agreed_on_and_what_it_offers(
    serve: Any, define: Any, modern: bool, version: str
) -> None:
    served = await serve(define(script={**BOTH, "modern": modern, "log": "key=hunter2 \u202eup"}, secrets=("hunter2",)))
    await served.ready()
    told = served.source.describe()
    assert (told.protocol, told.starts, told.last_words, told.transport) == (version, 1, None, "stdio")
    assert "scripted.py" in told.location
    assert told.server == {"name": "scripted", "version": "1"}
    assert set(told.capabilities) >= {"tools", "prompts", "resources"}
    assert told.left_out == {"resource odd": "it has no address that can be used"}
    await served.until(lambda: served.source.describe().log)
    assert [line.text for line in served.source.describe().log] == ["key=*** up"]
    assert json.dumps(told.to_json())
    offers = {one.kind: one for one in told.offers}
    assert (offers["prompt"].name, offers["template"].name) == ("greet", "note://{name}")
    greeted = await offers["prompt"].open(served.session, {"who": "Ada"})
    assert (greeted.text, greeted.data["messages"][0]["role"]) == ("Hello Ada", "user")
    assert "at note://one" in str((await offers["resource"].open(served.session, {})).to_json())
    assert "at note://a%2Fb" in str((await offers["template"].open(served.session, {"name": "a/b"})).to_json())


async def test_a_server_that_ended_keeps_its_last_words_and_its_lines(serve: Any, define: Any) -> None:
    served = await serve(define(script={"start": "exits", "log": "no key given"}))
    await served.until(lambda: served.state() == "backing_off")
    told = served.source.describe()
    assert "no key given" in (told.last_words or "")
    assert {line.text for line in told.log} == {"no key given"}
    assert (told.protocol, told.offers) == (None, ())
    (served.folder / "repaired").touch()
    served.host.restart_source("one")
    await served.ready()
    told = served.source.describe()
    assert told.starts >= 2
    assert (told.last_words, told.protocol) == (None, "2025-11-25")


@ERAS
async def test_a_listener_hears_every_message_from_the_next_start_on(
    serve: Any, define: Any, modern: bool, version: str
) -> None:
    heard: list[SourceMessage] = []
    served = await serve(define(script={"modern": modern}, start="eager"))
    await served.ready()
    stop = served.source.listen(heard.append)
    await served.call("add", a=1, b=2)
    assert heard == []  # nobody listened when it was started
    served.host.restart_source("one")
    await served.until(lambda: served.source.describe().starts == 2)
    await served.ready()
    await served.call("steps")
    await served.call("refuse", code=-32602)
    await served.call("add", a=1, b=2)
    sent = [one.method for one in heard if one.direction == "sent"]
    assert sent[0] == "server/discover"
    assert ("initialize" in sent) is not modern
    assert sent.count("tools/call") == 3
    received = [one for one in heard if one.direction == "received"]
    assert sum(one.method == "notifications/progress" for one in received) == 3
    assert any(one.is_error and "I refuse" in one.text for one in received)
    for one in heard:
        assert json.loads(one.text)["jsonrpc"] == "2.0"
    calls = [one.id for one in heard if one.method == "tools/call"]
    assert {one.id for one in received} >= set(calls)
    stop()
    count = len(heard)
    await served.call("add", a=1, b=2)
    assert len(heard) == count


async def test_nobody_listening_costs_no_step_between_the_link_and_its_reader(serve: Any, define: Any) -> None:
    served = await serve(define())
    await served.ready()
    connection = served.source.connection
    assert connection._write is connection._link.write


async def test_what_is_no_message_is_told_and_kept(serve: Any, define: Any) -> None:
    heard: list[SourceMessage] = []
    served = await serve(define(script={"start": "garbage"}, connect_s=0.5, start="lazy"))
    served.source.listen(heard.append)
    await served.until(lambda: served.state() == "backing_off")
    assert {line.text for line in served.source.describe().log} == {"Welcome! Press any key to continue."}
    assert {line.direction for line in served.source.describe().log} == {"unreadable"}


@given(st.lists(st.one_of(st.binary(max_size=3_000), st.text(max_size=3_000)), max_size=50))
@settings(max_examples=50, deadline=None)
def test_any_lines_are_kept_in_bounds_and_can_be_shown(lines: list[bytes | str]) -> None:
    kept = Journal(ServerDefinition(name="one", transport="stdio", argv=("x",), secrets=("hush",)))
    for line in lines * 5:
        kept.note(line)
    shown = kept.lines()
    assert len(shown) == min(MAX_LINES, 5 * len(lines))
    for one in shown:
        assert len(one.text) <= MAX_LINE
        assert "hush" not in one.text
        json.dumps(one.to_json()).encode()


async def test_what_a_person_accepts_comes_on_the_board_at_once(serve_with_lock: Any, tmp_path: Path) -> None:
    host = serve_with_lock
    await host.wait_for_sources()
    assert "one" in host.board.source_states
    assert {one.name for one in host.board.held} >= {"add", "resource:note://one"}
    review = review_lock(host.board)
    assert review.holds_back
    changes = {(one.source, one.name): one.state for one in review.changes}
    assert ("one", "add") in changes
    with pytest.raises(ConfigError, match="not as it was shown last: add of one"):
        review.find({("one", "add"): "sha256:other"})
    with pytest.raises(ConfigError, match="not as it was shown last: nothing of one"):
        review.find({("one", "nothing"): "gone"})
    accepted = review.accept(review.find({("one", "add"): changes["one", "add"]}))
    assert accepted == tmp_path / "pegboard.lock"
    host.board.offer_again()
    assert "add" in host.tools
    assert "sleep" not in host.tools
    assert host.board.source_states["one"][0].value == "ready"
    assert all(one.describe().offers == () for _, one in host.board.sources)
    review = review_lock(host.board)
    review.accept(review.changes)
    (_, source), *_ = host.board.sources
    host.board.offer_again()
    assert {"add", "sleep", "read_resource"} <= set(host.tools)
    assert host.board.held == []
    assert "note://one" in {one.name for one in source.describe().offers}
    assert review_lock(host.board).changes == ()


@pytest.fixture
async def serve_with_lock(define: Any, host_with: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A host with a server of which nobody accepted anything yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(watch, "LOOK_S", 3_600.0)  # who accepted looks again at once
    for name in ("HOME", "XDG_STATE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    command, *args = define(script=BOTH).argv
    server = {"command": command, "args": args, "start": "eager"}
    return await host_with(mcp, config={"plugins": {"mcp": {"lock": "enforce", "servers": {"one": server}}}})


async def test_an_offer_that_is_held_back_stays_closed_for_who_kept_it(serve_with_lock: Any) -> None:
    host = serve_with_lock
    await host.wait_for_sources()
    (_, source), *_ = host.board.sources
    assert [one.kind for one in source.describe().offers] == []
    review = review_lock(host.board)
    review.accept(one for one in review.changes if one.name == "resource:note://one")
    source.offer_again()
    (offer,) = source.describe().offers
    assert "at note://one" in str((await offer.open(host.session(), {})).to_json())
    review.place.unlink()
    review_lock(host.board).accept([])
    source.offer_again()
    with pytest.raises(ToolError, match="held back"):
        await offer.open(host.session(), {})

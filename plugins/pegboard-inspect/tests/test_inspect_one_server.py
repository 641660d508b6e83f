"""`pegboard inspect --server`: one MCP server that is in no configuration, in a real browser, by the real program."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ConfigError
from pegboard.sources import SourceMessage
from pegboard_inspect.messages import MAX_BATCH, MAX_CHARS, MAX_MESSAGES, History

pytest.importorskip("pegboard_mcp", reason="pegboard-mcp is not installed")
from pegboard_inspect.one_server import board_of_server

SERVER = Path(__file__).parent / "servers" / "authored.py"


def command(folder: Path, *words: str) -> str:
    return shlex.join([sys.executable, "-S", str(SERVER), str(folder), *words])


@contextlib.contextmanager
def program(folder: Path, *arguments: str, says: str = r"(http://\S+token=\S+)") -> Iterator[str]:
    """`pegboard` as long as the block; gives what it told that looks like `says`."""
    environment = {
        **os.environ,
        **dict.fromkeys(("HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"), str(folder)),
    }
    argv = [sys.executable, "-m", "pegboard", *arguments]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment) as process:
        assert process.stderr is not None
        rest = threading.Thread(target=process.stderr.read)  # a pipe that nobody reads would stop it
        try:
            found, lines = None, []
            while found is None and (line := process.stderr.readline()):
                lines.append(line)
                found = re.search(says, line)
            assert found is not None, lines
            rest.start()
            yield found[1]
        finally:
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            if rest.ident is not None:
                rest.join()


def look_at(let_in: Any, address: str) -> Any:
    return let_in(address, wait=".tabbed")


def tab(page: Any, name: str) -> None:
    page.get_by_role("tablist", name="About the source").get_by_role("tab", name=re.compile(f"^{name}")).click()


def test_a_server_is_listed_judged_called_by_hand_and_heard_from_its_first_message_on(
    let_in: Any, tmp_path: Path
) -> None:
    with program(tmp_path, "inspect", "--server", command(tmp_path, "judged", "hostile")) as address:
        looking = look_at(let_in, address)
        page = looking.page
        page.get_by_role("heading", level=1).get_by_text("server").wait_for()
        page.locator(".heading .mark").get_by_text("ready").wait_for()
        found = page.get_by_label("To look at before you trust it")
        for said in (
            "orders in description of helper",
            "contradiction in annotations of delete_all",
            "left out: broken",
        ):
            found.get_by_text(said).first.wait_for()
        page.set_viewport_size({"width": 320, "height": 640})
        page.get_by_role("button", name="Probe…").click()
        page.get_by_role("dialog").wait_for()
        assert page.locator("dialog").evaluate("(one) => one.scrollWidth <= one.clientWidth")
        page.set_viewport_size({"width": 1200, "height": 900})
        page.get_by_label("Watched for").select_option("0")
        page.get_by_label("in a sandbox").uncheck()  # there is not one on every machine
        page.get_by_role("dialog").get_by_role("button", name="Probe").click()
        report = page.get_by_role("region", name="What the probe found")
        report.get_by_text("do not use it").wait_for()
        report.get_by_text("it ran without a sandbox").wait_for()
        report.get_by_text("it wants something kept from the person").wait_for()
        tab(page, "Messages")
        page.locator(".message.kind-request summary").last.get_by_text("server/discover").wait_for()

        looking.tool("add")
        looking.field("a").fill("1")
        looking.field("b").fill("2")
        assert looking.call()["content"][0]["text"] == "3.0"
        looking.tool("babble")
        assert looking.call()["ok"]
        looking.tool("flood")
        assert looking.call()["ok"]
        looking.show("sources/server", ".tabbed")
        tab(page, "Messages")
        page.get_by_text(re.compile(r"[\d,]+ messages came faster than they can be shown, or long ago")).wait_for()
        page.get_by_label("Which messages").select_option("request answer")
        page.locator(".message").get_by_text("tools/call").first.wait_for()
        assert page.locator(".message").count() <= 500

        looking.tool("die")
        assert looking.call()["error"]["code"] == "OUTCOME_UNKNOWN"
        looking.show("sources/server", ".tabbed")
        page.get_by_text("I have had enough").first.wait_for()
        page.get_by_role("button", name="Restart", exact=True).click()
        page.get_by_role("dialog").get_by_role("button", name="Restart").click()
        page.locator(".heading .mark").get_by_text("ready").wait_for()
        assert "owned" not in page.title()
        assert [one for one in looking.problems if "status of" not in one] == []
        looking.context.close()
    assert not list(tmp_path.rglob("*.json"))  # what it listed is kept nowhere
    assert not list(tmp_path.rglob("*.lock"))


def test_a_message_is_written_by_hand_and_sent_again_with_changes(let_in: Any, tmp_path: Path) -> None:
    with program(tmp_path, "inspect", "--server", command(tmp_path, "modern", "both", "hostile")) as address:
        looking = look_at(let_in, address)
        page = looking.page
        page.locator(".heading .mark").get_by_text("ready").wait_for()
        tab(page, "Messages")
        writer = page.locator(".writer")
        writer.locator("summary").first.click()
        writer.get_by_label("Begin with").select_option("tools/call")
        words = writer.get_by_label("Message as JSON")
        assert json.loads(words.input_value())["params"]["name"]
        words.fill('{"id": 1, "method": "test/echo", "params": {"a": "<b>bold</b>"}}')
        writer.get_by_role("button", name="Send").click()
        writer.get_by_text("answered").wait_for()
        writer.get_by_text('"<b>bold</b>"').wait_for()
        writer.get_by_text("io.modelcontextprotocol/protocolVersion").wait_for()
        words.fill("{nothing")
        words.press("Tab")
        writer.get_by_role("button", name="Send").click()
        writer.get_by_role("alert").get_by_text("not JSON").wait_for()
        assert words.get_attribute("aria-invalid") == "true"
        writer.get_by_label("Begin with").select_option("notifications/roots/list_changed")
        writer.get_by_role("button", name="Send").click()
        writer.get_by_text("a notification has no answer").wait_for()
        sent = page.locator(".message", has_text="test/echo").last
        sent.locator("summary").first.click()
        sent.get_by_role("button", name="Edit and send").click()
        assert json.loads(words.input_value())["params"]["a"] == "<b>bold</b>"
        words.fill('{"id": 1, "method": "no/such"}')
        writer.get_by_role("button", name="Send").click()
        writer.get_by_text("error -32601").wait_for()

        page.get_by_label("Protocol", exact=True).select_option("legacy")
        page.get_by_role("dialog").get_by_role("button", name="Restart").click()
        page.get_by_role("dialog").wait_for(state="detached")
        page.get_by_text("agreed on by a handshake").or_(page.locator(".writer")).first.wait_for()
        tab(page, "About")
        page.get_by_text("agreed on by a handshake").wait_for()

        tab(page, "Prompts and resources")
        page.locator(".offers summary", has_text="greet").click()
        looking.field("who").press_sequentially("ad")
        proposed = page.get_by_role("group", name="Proposed for who")
        proposed.get_by_role("button", name="Adele").click()
        assert looking.field("who").input_value() == "Adele"
        page.get_by_role("button", name="Open", exact=True).click()
        page.get_by_text("Hello Adele").wait_for()
        assert "owned" not in page.title()
        assert [one for one in looking.problems if "status of" not in one] == []
        looking.context.close()


def test_what_the_server_asks_is_a_dialog_on_any_page_and_is_answered_by_hand(let_in: Any, tmp_path: Path) -> None:
    attack = "<img src=x onerror=\"document.title='owned'\">"
    form = {"type": "object", "properties": {"name": {"type": "string", "description": attack}}, "required": ["name"]}
    with program(tmp_path, "inspect", "--server", command(tmp_path, "early")) as address:
        looking = look_at(let_in, address)
        page = looking.page
        dialog = page.get_by_role("dialog")
        dialog.get_by_text("The server asks: roots/list").wait_for()  # by itself, before any call
        dialog.get_by_role("button", name="Later").click()
        page.locator(".heading .mark").get_by_text("ready").wait_for()
        looking.show("asked", "h1")
        page.get_by_role("button", name="Answer…").click()
        dialog.get_by_role("tab", name="JSON").click()
        dialog.get_by_label("Answer as JSON").fill("{nothing")
        dialog.get_by_role("button", name="Send").click()
        dialog.get_by_text("this is not JSON").wait_for()
        dialog.get_by_label("Answer as JSON").fill('{"roots": []}')
        dialog.get_by_role("button", name="Send").click()
        page.get_by_text("Nothing waits for an answer").wait_for()

        def asks(method: str, params: Any, button: str) -> Any:
            looking.tool("ask")
            page.get_by_role("tablist", name="Arguments").get_by_role("tab", name="JSON").click()
            page.get_by_label("Arguments as JSON").fill(json.dumps({"method": method, "params": params}))
            page.get_by_role("button", name="Call", exact=True).click()
            dialog.get_by_text(f"The server asks: {method}").wait_for()
            if button == "Send" and method == "elicitation/create":
                looking.field("name", dialog).fill("Ada")
            dialog.get_by_role("button", name=button, exact=True).click()
            page.wait_for_selector(".answer .status.good")
            return json.loads(page.locator(".answer pre").first.inner_text())

        asked = {"message": attack, "requestedSchema": form}
        assert asks("elicitation/create", asked, "Send")["result"] == {"action": "accept", "content": {"name": "Ada"}}
        assert asks("elicitation/create", asked, "Decline")["result"] == {"action": "decline"}
        assert asks("elicitation/create", asked, "Cancel")["result"] == {"action": "cancel"}
        sampled = {"messages": [{"role": "user", "content": {"type": "text", "text": attack}}], "maxTokens": 1}
        assert asks("sampling/createMessage", sampled, "Send")["result"]["content"] == {"type": "text", "text": ""}
        assert asks("sampling/createMessage", sampled, "Refuse")["error"]["code"] == -1
        assert "owned" not in page.title()
        assert looking.problems == []
        looking.show("asked", "h1")
    page.get_by_text("The program does not answer: what is shown here is as it was").wait_for()
    looking.context.close()


@pytest.mark.parametrize(
    ("words", "said"),
    [(["ends"], "exited with status 7"), (["rubbish"], "it is being started"), (None, "'nonesuch' does not exist")],
    ids=["ends", "rubbish", "missing"],
)
def test_a_server_that_does_not_start_is_told_in_words_and_the_page_stays(
    let_in: Any, tmp_path: Path, words: list[str] | None, said: str
) -> None:
    server = "nonesuch --now" if words is None else command(tmp_path, *words)
    with program(tmp_path, "inspect", "--server", server) as address:
        looking = look_at(let_in, address)
        looking.page.get_by_text(said).first.wait_for()
        tab(looking.page, "Messages")
        if words is not None:
            looking.page.locator(".message").get_by_text("authored is here").first.wait_for()
        if words == ["rubbish"]:  # as it comes, long before it is given up
            looking.page.locator(".message").get_by_text("no message: Welcome to authored").first.wait_for()
        looking.show("tools", "h1")
        assert looking.problems == []
        looking.context.close()


def test_a_server_of_an_address_is_inspected(let_in: Any, tmp_path: Path) -> None:
    serve = ["--plugin", "mcp", "--plugin", "dice", "serve", "--transport", "http", "--port", "0"]
    with (
        program(tmp_path, *serve, says=r"(http://127\.0\.0\.1:\d+/\S*)") as url,
        program(tmp_path, "inspect", "--server", url.rstrip(",.;)")) as address,
    ):
        looking = look_at(let_in, address)
        looking.page.locator(".heading .mark").get_by_text("ready").wait_for()
        tab(looking.page, "Tools")
        looking.page.get_by_role("link", name="roll_dice").wait_for()
        looking.context.close()


@pytest.mark.parametrize("words", ["", "  ", "a 'b"])
def test_words_that_are_no_command_are_refused(words: str) -> None:
    with pytest.raises(click.UsageError, match="--server"):
        board_of_server(words)


def test_the_board_of_a_server_has_it_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pegboard.toml").write_text("[plugins.mcp.servers.other]\ncommand = 'other'\n")
    board = board_of_server("npx -y @scope/server 'an argument'")
    ((_, source),) = board.sources
    assert source.describe().location == "npx -y @scope/server 'an argument'"
    assert {one.name for one in board.plugins if not one.builtin} == {"mcp", "inspect"}
    ((_, source),) = board_of_server("https://example.com/mcp", "sse").sources
    assert (source.describe().transport, source.describe().location) == ("sse", "https://example.com/mcp")
    with pytest.raises(ConfigError, match="transport"):
        board_of_server("https://example.com/mcp", "stdio")


MESSAGES = st.builds(
    SourceMessage,
    at=st.floats(0, 1e9),
    direction=st.sampled_from(["sent", "received", "log", "unreadable"]),
    text=st.text(max_size=200).map(lambda text: text * 500),
    size=st.integers(0, 10**9),
    method=st.sampled_from([None, "tools/call", "ping"]),
    id=st.sampled_from([None, "1", "2"]),
    is_error=st.booleans(),
)


@given(st.lists(MESSAGES, max_size=60))
@settings(max_examples=50, deadline=None)
def test_any_messages_are_kept_in_bounds_and_none_is_lost_in_silence(told: list[SourceMessage]) -> None:
    history = History()
    for one in told * 30:
        history.hear(one)
    rows = history.after(0)
    count = len(told) * 30
    assert len(rows) == min(MAX_BATCH, count - history.left_out)
    assert count - history.left_out <= MAX_MESSAGES
    assert sum(len(row["text"]) for row in rows) <= MAX_CHARS
    assert [row["seq"] for row in rows] == list(range(count - len(rows) + 1, count + 1))
    for row in rows:
        assert (row["took_ms"] is None) == (row["answers"] is None)
        assert row["took_ms"] is None or row["kind"] == "answer"

"""`pegboard chat --inspect`: the conversation at the terminal is seen in a browser."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytest.importorskip("pegboard_inspect", reason="pegboard-inspect is not installed")

ADDRESS = r"http://127\.0\.0\.1:\d+/#token=[\w-]+"


def test_the_address_is_told_as_inspect_tells_it(chat_run: Callable[..., Any]) -> None:
    answer = chat_run("chat", "--model", "echo", "--inspect", 'add {"a": 1, "b": 2}')
    assert (answer.status, answer.out) == (0, "3.0\n")
    assert re.fullmatch(ADDRESS, answer.err.splitlines()[0])


def test_without_the_option_nothing_of_it_is_imported(
    chat_run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith(("pegboard_inspect", "pegboard_chat.inspecting"))]:
        monkeypatch.delitem(sys.modules, name)
    chat_run("chat", "--model", "echo", 'add {"a": 1, "b": 2}')
    assert [name for name in sys.modules if name.startswith(("pegboard_inspect", "pegboard_chat.inspecting"))] == []


def test_where_the_inspector_is_not_installed_it_says_what_to_install(
    chat_run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pegboard_inspect", None)
    answer = chat_run("chat", "--model", "echo", "--inspect", "hello")
    assert answer.status == 2
    assert "pip install pegboard-inspect" in answer.err


def test_what_is_asked_at_the_terminal_is_seen_in_a_browser(chat_terminal: Callable[..., Any], browser: Any) -> None:
    """One walk, since a program and a browser take their time: an answer, a stop, a problem, a new conversation."""
    terminal = chat_terminal("chat", "--model", "echo", "--inspect")
    terminal.until("Ctrl-D leaves")
    found = re.search(ADDRESS, terminal.seen)
    assert found is not None
    context = browser.new_context()
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda problem: problems.append(str(problem)))
    page.goto(found[0])
    page.wait_for_selector(".tools > li")
    page.get_by_role("link", name="Chat").click()
    page.get_by_text("Nothing was said yet").wait_for()
    assert page.get_by_role("textbox").count() == 0

    terminal.type('add {"a": 20, "b": 22}\r')
    terminal.until("for another browser: ")  # told now that nobody types
    page.locator(".talk .you", has_text='add {"a": 20').wait_for()
    page.locator(".talk .model", has_text="42.0").wait_for()
    page.locator(".steps summary", has_text="add").locator("svg.waterfall rect").first.wait_for()

    terminal.type("/model kit:slow\r")
    terminal.until("goes on")
    terminal.type("hm\r")
    page.locator(".talk .model", has_text="let me think").wait_for()
    terminal.type("\x03")
    page.get_by_text("This answer is cut: stopped").wait_for()
    assert page.locator(".talk .model", has_text="42.0").count() == 1

    terminal.type("/model kit:broken\r")
    terminal.until("goes on")
    terminal.type("go\r")
    page.get_by_text("the answer broke off").wait_for()
    other = context.new_page()  # of the same browser: what was said before is there
    other.goto(page.url)
    other.locator(".talk .model", has_text="half an").wait_for()

    terminal.type("/new\r")
    page.get_by_text("Nothing was said yet").wait_for()
    terminal.type("/quit\r")
    page.get_by_text("The program does not answer any more").wait_for()
    context.close()
    assert terminal.end() == 0
    assert problems == []

"""The page *Sources* in a real browser, with real MCP servers: what each is, what it offers and says, the lock."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pegboard_mcp", reason="pegboard-mcp is not installed")
import pegboard_mcp.plugin as mcp

SERVER = Path(__file__).parent / "servers" / "authored.py"


def server(folder: Path, *words: str, **more: Any) -> dict[str, Any]:
    """The table of a server."""
    args = ["-S", str(SERVER), str(folder), *words]
    return {"command": sys.executable, "args": args, "start": "eager", "timeout": 20, **more}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("servers")


@contextlib.contextmanager
def serving(inspect_board: Any, folder: Path) -> Iterator[Any]:
    """An inspector whose board has servers of every kind, and a lock that nobody filled yet."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in ("HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
            patch.setenv(name, str(folder))
        servers = {
            "plain": server(folder),
            "modern": server(folder, "modern", "hostile"),
            "judged": server(folder, "judged"),
            "gone": {"command": "nonesuch", "start": "eager"},
            "rubbish": server(folder, "rubbish", timeout=1),
        }
        config = {"plugins": {"mcp": {"lock": "enforce", "lock_file": str(folder / "my.lock"), "servers": servers}}}
        with inspect_board([], mcp, config=config) as one:
            one.do(one.host.wait_for_sources)
            yield one


@pytest.fixture(scope="module")
def served(inspect_board: Any, folder: Path) -> Iterator[Any]:
    with serving(inspect_board, folder) as one:
        yield one


@pytest.fixture(scope="module")
def shared(let_in: Any, served: Any) -> Iterator[Any]:
    """A browser whose person has accepted all that there is."""
    looking = let_in(served.address(), wait="h1")
    accept_all(looking)
    yield looking
    looking.context.close()


def accept_all(look: Any) -> None:
    page = look.show("sources", ".card")
    page.get_by_role("button", name="Select all or none").click()
    page.get_by_role("button", name=re.compile(r"^Accept \d+…$")).click()
    page.get_by_role("dialog").get_by_role("button", name="Accept").click()
    page.get_by_text("All that could be asked is as it was accepted").wait_for()


@pytest.fixture
def look(shared: Any) -> Iterator[Any]:
    """The browser; a test in which it complains of anything fails."""
    shared.problems.clear()
    yield shared
    assert shared.problems == []
    assert "owned" not in shared.page.title()


def tab(page: Any, name: str) -> Any:
    page.get_by_role("tablist", name="About the source").get_by_role("tab", name=re.compile(f"^{name}")).click()
    return page.get_by_role("tabpanel").first


def test_each_source_says_how_it_does_and_why(look: Any) -> None:
    page = look.show("sources", ".card")
    cards = {one.get_attribute("data-source"): one for one in page.locator("[data-source]").all()}
    assert set(cards) == {"plain", "modern", "judged", "gone", "rubbish"}
    assert "protocol 2025-11-25" in cards["plain"].inner_text()
    assert "protocol 2026-07-28" in cards["modern"].inner_text()
    assert "'nonesuch' does not exist" in cards["gone"].inner_text()
    assert "speaks no MCP" in cards["rubbish"].inner_text()


def test_nothing_is_accepted_before_a_person_says_so(let_in: Any, inspect_board: Any, tmp_path: Path) -> None:
    with serving(inspect_board, tmp_path) as served:
        look = let_in(served.address(), wait="h1")
        assert "add" not in served.host.tools
        page = look.show("sources", ".card")
        page.get_by_text("nobody accepted these").wait_for()
        page.get_by_role("button", name="Select all or none").click()
        page.get_by_role("button", name=re.compile(r"^Accept \d+…$")).click()
        page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        assert not (tmp_path / "my.lock").exists()
        page.get_by_role("button", name="Select all or none").click()
        accept_all(look)
        assert (tmp_path / "my.lock").exists()
        assert {"plain-add", "read_resource"} <= set(served.host.tools)
        look.context.close()


def test_what_changed_is_shown_before_and_after(look: Any, served: Any, folder: Path) -> None:
    assert {"plain-add", "read_resource"} <= set(served.host.tools)

    (folder / "changed").touch()
    page = restart(look, "plain")
    look.show("sources", "[data-change='plain/plain-add']")
    change = page.locator("[data-change='plain/plain-add']")
    assert "changed plain-add of plain" in change.inner_text()
    change.locator("summary").click()
    difference = change.locator(".diff").first
    difference.wait_for()
    assert [" ".join(one.inner_text().split()) for one in change.locator("del, ins").all()][:2] == [
        "removed: -Add two numbers.", "added: +Add two numbers, and then some."
    ]  # fmt: skip
    assert "plain-add" not in served.host.tools
    (folder / "changed").unlink()  # what a person looked at is not what there is now
    restart(look, "plain")
    assert "plain-add" in served.host.tools


def restart(look: Any, name: str) -> Any:
    page = look.show(f"sources/{name}", ".tabbed")
    page.get_by_role("button", name="Restart", exact=True).click()
    with page.expect_response(re.compile("/sources/restart$")) as answered:
        page.get_by_role("dialog").get_by_role("button", name="Restart").click()
    assert answered.value.ok
    return page


def test_what_was_not_shown_is_not_accepted(look: Any, served: Any, folder: Path) -> None:
    before = (folder / "my.lock").read_bytes()
    (folder / "changed").touch()
    restart(look, "judged")
    page = look.show("sources", "[data-change='judged/judged-add']")
    page.get_by_label("Select judged-add of judged").check()
    (folder / "changed").unlink()
    served.do_sync(served.host.restart_source, "judged")
    served.do(wait_started, served.host, "judged", "Add two numbers.")
    page.get_by_role("button", name="Accept 1…").click()
    page.get_by_role("dialog").get_by_role("button", name="Accept").click()
    page.get_by_role("alert").get_by_text("not as it was shown last: judged-add of judged").wait_for()
    assert (folder / "my.lock").read_bytes() == before
    look.problems[:] = [one for one in look.problems if "status of 400" not in one]


async def wait_started(host: Any, name: str, description: str) -> None:
    while not any(
        tool.description == description and tool.origin.source == name and tool.name.endswith("add")
        for tool in host.tools.values()
    ):
        await host.wait_source_moved()


@pytest.mark.parametrize(("name", "era"), [("plain", "agreed on by a handshake"), ("modern", "without a handshake")])
def test_a_source_says_what_was_agreed_on(look: Any, name: str, era: str) -> None:
    page = look.show(f"sources/{name}", ".tabbed")
    panel = tab(page, "About")
    assert era in panel.inner_text()
    assert "listChanged" in panel.inner_text()
    assert "<script>" in panel.inner_text()  # of its instructions, as a text


def test_what_to_look_at_first_is_said(look: Any) -> None:
    page = look.show("sources/judged", ".tabbed")
    found = page.get_by_label("To look at before you trust it").inner_text()
    for words in ("orders in description of", "hidden text in texts of", "taken out: characters without width",
                  "contradiction in annotations of", "left out: broken"):  # fmt: skip
        assert words in found


def test_a_prompt_a_resource_and_a_template_are_opened_by_hand(look: Any) -> None:
    page = look.show("sources/modern", ".tabbed")
    panel = tab(page, "Prompts and resources")
    panel.get_by_text("greet").first.click()
    look.field("who", panel).fill("<b>Ada</b>")
    panel.get_by_role("button", name="Open").click()
    panel.get_by_text("Hello <b>Ada</b>").wait_for()
    panel.locator("summary").nth(0).click()
    panel.get_by_text("note 1").click()
    panel.get_by_role("button", name="Open").locator("visible=true").click()
    panel.get_by_text("at note://1").locator("visible=true").wait_for()
    panel.get_by_text("note 1").click()
    panel.get_by_text("note 2").click()
    panel.get_by_role("button", name="Open").locator("visible=true").click()
    panel.get_by_text("there is no second note").locator("visible=true").first.wait_for()
    panel.get_by_text("note 2").click()
    panel.get_by_text("a day's log").click()
    look.field("day", panel).fill("to/day")
    panel.get_by_role("button", name="Open").locator("visible=true").click()
    panel.get_by_text("at log://to%2Fday").locator("visible=true").wait_for()


def test_messages_are_recorded_both_ways_with_their_times(look: Any) -> None:
    page = look.show("sources/plain", ".tabbed")
    tab(page, "Messages")
    page.get_by_role("button", name="Record, and restart it").click()
    page.get_by_role("dialog").get_by_role("button", name="Restart").click()
    page.locator(".message").get_by_text("tools/list").first.wait_for()
    page.get_by_label("Search messages").fill("initialize")
    timed = page.locator(".message summary").filter(has_text="received").filter(has_text="initialize")
    timed.filter(has_text="ms").first.wait_for()
    page.get_by_label("Search messages").fill("")
    look.tool("plain-tell")
    look.call()
    look.show("sources/plain", ".tabbed")
    tab(page, "Messages")
    page.get_by_label("Which messages").select_option("notification")
    page.locator(".message").get_by_text("notifications/progress").first.wait_for()
    assert page.locator(".message").get_by_text("notifications/progress").count() == 3
    page.get_by_label("Which messages").select_option("log unreadable")
    page.locator(".message").get_by_text("stderr: <img").wait_for()
    page.get_by_label("Which messages").select_option("")
    page.locator(".message.kind-request summary").first.click()
    page.locator(".message .tree").first.wait_for()
    page.get_by_role("button", name="Clear").click()
    page.get_by_text("Nothing was said yet").wait_for()
    page.get_by_role("button", name="Stop recording").click()
    page.get_by_role("button", name="Record, and restart it").wait_for()


def test_the_log_has_what_a_server_wrote_and_what_was_no_message(look: Any) -> None:
    page = look.show("sources/rubbish", ".tabbed")
    tab(page, "Log").get_by_text("Welcome to authored").first.wait_for()
    page = look.show("sources/plain", ".tabbed")
    tab(page, "Log").get_by_text("authored is here").first.wait_for()


ALL_THAT_ATTACKS = """() => ({
    made: document.querySelectorAll("script:not([src]), iframe, [onerror], [onload], a[href^='javascript' i]").length,
    turns: document.body.innerText.match(/.{0,40}[\\u202e\\u2067\\x1b\\x07].{0,20}/)?.[0] ?? null,
    wide: document.documentElement.scrollWidth > innerWidth,
})"""


def test_no_text_of_a_server_is_more_than_a_text_on_any_page_of_it(
    let_in: Any, inspect_board: Any, tmp_path: Path
) -> None:
    """Attack: a server writes scripts, signs that turn text or steer terminals, and lines without an end into all that
    its pages show: what it says of itself, its offers, its log, what is held of it, what a probe finds."""
    hostile = {"command": sys.executable, "args": ["-S", str(SERVER.with_name("hostile.py")), str(tmp_path)]}
    config = {"plugins": {"mcp": {"servers": {"bad": {**hostile, "start": "eager", "timeout": 20}}}}}
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
            patch.setenv(name, str(tmp_path))
        patch.chdir(tmp_path)
        with inspect_board([], mcp, config=config) as served:
            served.do(served.host.wait_for_sources)
            look = let_in(served.address(), wait="h1", viewport={"width": 420, "height": 900})

            def is_harmless() -> bool:
                assert page.evaluate(ALL_THAT_ATTACKS) == {"made": 0, "turns": None, "wide": False}
                return "owned" not in page.title() and not [one for one in look.asked if "evil.example" in one]

            page = look.show("sources", ".card")
            assert is_harmless()
            look.show("sources/bad", ".tabbed")
            for name in ("About", "Tools", "Prompts and resources", "Messages", "Log"):
                tab(page, name)
                assert is_harmless()
            panel = tab(page, "Prompts and resources")
            for number in range(panel.locator("summary").count()):
                panel.locator("summary").nth(number).click()
            panel.get_by_role("button", name="Open").locator("visible=true").first.click()
            panel.get_by_text("WWW").locator("visible=true").first.wait_for()
            assert is_harmless()
            page.get_by_role("button", name="Probe…").click()
            page.get_by_label("Watched for").select_option("0")
            page.get_by_label("in a sandbox").uncheck()
            page.get_by_role("dialog").get_by_role("button", name="Probe").click()
            page.get_by_role("region", name="What the probe found").get_by_text("it ran without a sandbox").wait_for()
            assert is_harmless()
            (tmp_path / "changed").touch()
            restart(look, "bad")
            look.show("sources", ".card")
            page.get_by_text("held back until somebody accepts").first.wait_for()
            for change in page.locator("[data-change] summary").all():
                change.click()
            assert is_harmless()
            look.context.close()


def test_axe_finds_nothing_on_the_pages_of_a_source(let_in: Any, served: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    found = []
    for scheme, width in (("light", 1200), ("dark", 400)):
        looking = let_in(
            served.address(), wait="h1", color_scheme=scheme, bypass_csp=True, viewport={"width": width, "height": 900}
        )
        page = looking.show("sources", ".card")
        page.get_by_text("could not be asked").wait_for()
        places = ["sources"]
        found += [(place, *one) for place in places for one in violations(axe, page)]
        page = looking.show("sources/judged", ".tabbed")
        for name in ("About", "Tools", "Prompts and resources", "Messages", "Log"):
            tab(page, name)
            found += [(name, *one) for one in violations(axe, page)]
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        looking.context.close()
    assert found == []


def violations(axe: Any, page: Any) -> list[tuple[str, str]]:
    return [
        (one["id"], json.dumps(one["nodes"][0]["html"])[:200]) for one in axe.Axe().run(page).response["violations"]
    ]


def test_a_source_is_looked_at_and_restarted_by_keyboard_alone(look: Any) -> None:
    page = look.show("sources", ".card")
    press: Callable[[str], None] = page.keyboard.press
    page.locator("main").focus()
    for _ in range(20):
        press("Tab")
        if page.evaluate("document.activeElement.textContent") == "plain":
            break
    press("Enter")
    page.wait_for_selector(".tabbed")
    page.get_by_role("tab", name="About").focus()
    press("ArrowRight")
    press("ArrowRight")
    assert page.evaluate("document.activeElement.textContent").startswith("Prompts and resources")
    press("Tab")
    press("Tab")
    press("Enter")
    page.wait_for_selector(".opened")
    page.get_by_role("button", name="Restart", exact=True).focus()
    press("Enter")
    page.get_by_role("dialog").wait_for()
    press("Escape")
    assert page.get_by_role("dialog").count() == 0

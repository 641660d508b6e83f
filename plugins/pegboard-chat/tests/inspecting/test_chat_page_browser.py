"""The page Chat in a real browser: Debian's Chromium, driven by playwright; without them these tests skip."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def served(chat_kit: Any) -> Iterator[Any]:
    with chat_kit.Served() as one:
        yield one


class Talking:
    """One browser on the page Chat, and what went wrong in it."""

    def __init__(self, let_in: Any, address: str, **options: Any) -> None:
        self.looking = let_in(address, **options)
        self.context, self.page = self.looking.context, self.looking.page
        self.problems, self.asked = self.looking.problems, self.looking.asked
        self.show()

    def show(self, path: str = "chat", wait: str = ".composer") -> Any:
        return self.looking.show(path, wait)

    def begin(self) -> Any:
        """A new conversation."""
        self.show()
        self.page.get_by_role("button", name="New").click()
        self.page.get_by_text("A new conversation.").wait_for()
        return self.page

    def ask(self, text: str, model: str = "calling", *, ends: str | None = "The answer is complete.") -> Any:
        self.page.get_by_label("Provider of models").select_option("kit")
        self.page.get_by_label("Model", exact=True).fill(model)
        self.page.get_by_label("Your question").fill(text)
        self.page.keyboard.press("Enter")
        if ends is not None:
            self.page.get_by_text(ends).wait_for()
        return self.page


@pytest.fixture(scope="module")
def shared(let_in: Any, served: Any) -> Iterator[Talking]:
    talking = Talking(let_in, served.address())
    yield talking
    talking.context.close()


@pytest.fixture
def talk(shared: Talking) -> Iterator[Talking]:
    """The browser with a new conversation; a test in which it complains of anything fails."""
    shared.problems.clear()
    shared.page.set_viewport_size({"width": 1200, "height": 900})
    shared.begin()
    yield shared
    assert shared.problems == []
    assert "owned" not in shared.page.title()


def test_an_answer_is_there_with_its_calls_below_it_and_what_it_cost(talk: Talking) -> None:
    page = talk.ask('add {"a": 1, "b": 2}\nouter')
    assert page.locator(".talk .model strong").inner_text() == "done"
    assert page.locator(".talk .model li").all_inner_texts() == ["add: 3.0", "outer: 3.0"]
    steps = page.locator(".steps > li")
    assert steps.locator("summary .tool").all_inner_texts() == ["add", "outer"]
    assert steps.locator("summary .outcome").all_inner_texts() == ["done", "done"]
    assert steps.locator("summary svg.waterfall rect").count() > 1
    steps.nth(1).locator("summary").click()
    opened = steps.nth(1).locator(".inside-call")
    opened.get_by_text("Calls that it made").wait_for()
    assert opened.locator(".nested .tool").all_inner_texts() == ["↳ add"]
    opened.get_by_text("execute").first.wait_for()
    opened.get_by_role("tab", name="JSON").click()
    assert json.loads(opened.locator("pre").inner_text())["name"] == "outer"
    page.locator(".spent").get_by_text("2,000 tokens read, 20 of them cached, 100 written, price not known").wait_for()
    page.locator(".totals").get_by_text("2 requests").wait_for()
    page.get_by_text("Thinking", exact=True).last.click()
    page.get_by_text("What do they want?").wait_for()


def test_a_text_is_shown_as_it_is_written_and_stopped_by_a_key(talk: Talking) -> None:
    page = talk.ask("hm", "slow", ends=None)
    page.locator(".talk .model", has_text="let me think").wait_for()
    page.get_by_text(re.compile(r"kit:slow answers · 0 of 3 calls")).wait_for()
    stop = page.get_by_role("button", name="Stop")
    stop.focus()
    page.keyboard.press("Enter")
    page.get_by_text("What came of the answer is kept.").wait_for()
    page.get_by_role("button", name="Ask again").click()
    page.get_by_text("The answer is complete.").or_(page.get_by_role("button", name="Stop")).first.wait_for()
    if page.get_by_role("button", name="Stop").is_visible():
        page.get_by_role("button", name="Stop").click()
        page.get_by_role("button", name="Send").wait_for()


def test_a_page_that_is_loaded_again_asks_again_for_what_it_left(talk: Talking) -> None:
    page = talk.ask("hm", "slow", ends=None)
    page.locator(".talk .model", has_text="let me think").wait_for()
    page.reload()
    page.get_by_text("This answer is cut: stopped").wait_for()
    page.get_by_label("Model", exact=True).fill("cut")
    page.get_by_role("button", name="Ask again").click()
    page.get_by_text("the model may write no more at once").wait_for()


def test_an_answer_goes_on_while_another_page_is_shown(talk: Talking) -> None:
    page = talk.ask("hm", "slow", ends=None)
    page.locator(".talk .model", has_text="let me think").wait_for()
    talk.show("calls", ".page-calls .calls")
    talk.show()
    page.locator(".talk .model", has_text="let me think").wait_for()
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Send").wait_for()


@pytest.mark.parametrize(("button", "outcome"), [("Yes", "done"), ("No", "FORBIDDEN")])
def test_what_a_call_asks_is_a_dialog(talk: Talking, button: str, outcome: str, chat_kit: Any) -> None:
    page = talk.ask(f"launch {json.dumps({'target': chat_kit.hostile})}", ends=None)
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Launch it?").wait_for()
    dialog.get_by_role("button", name=button, exact=True).click()
    page.get_by_text("The answer is complete.").wait_for()
    assert page.locator(".steps .outcome").inner_text() == outcome


def test_a_tool_asks_for_values_in_a_conversation(talk: Talking) -> None:
    page = talk.ask("asks", ends=None)
    dialog = page.get_by_role("dialog")
    dialog.get_by_label(re.compile("^name")).fill("Ada")
    dialog.get_by_role("button", name="Send").click()
    page.get_by_text("asks: {'name': 'Ada'}").wait_for()


def test_a_dialog_goes_when_its_answer_is_stopped(talk: Talking) -> None:
    page = talk.ask('launch {"target": "x"}', ends=None)
    page.get_by_role("dialog").wait_for()
    page.evaluate("document.querySelector('dialog').ownerDocument.querySelectorAll('.composer button')[1].click()")
    page.get_by_role("dialog").wait_for(state="detached")
    page.get_by_role("button", name="Send").wait_for()


def test_a_budget_that_is_spent_says_so(talk: Talking) -> None:
    page = talk.page
    page.get_by_text("Budget", exact=True).click()
    page.get_by_label("At most calls").fill("1")
    page.get_by_text("Budget", exact=True).click()
    talk.ask('add {"a": 1, "b": 2}\nadd {"a": 3, "b": 4}')
    page.get_by_text("All the calls that a question may make are made").wait_for()
    assert sorted(page.locator(".steps .outcome").all_inner_texts()) == ["FORBIDDEN", "done"]
    page.get_by_text("Budget", exact=True).click()
    page.get_by_label("At most calls").fill("many")
    talk.ask("outer", ends="budget.max_tool_calls: expected a whole number")
    assert page.get_by_label("Your question").input_value() == "outer"
    page.get_by_label("At most calls").fill("3")
    page.get_by_text("Budget", exact=True).click()


def test_an_answer_that_breaks_off_says_so_and_is_asked_for_again(talk: Talking) -> None:
    page = talk.ask("go", "broken", ends="the answer broke off")
    page.get_by_text("This answer is cut").wait_for()
    page.get_by_label("Model", exact=True).fill("cut")
    page.get_by_role("button", name="Ask again").click()
    page.get_by_text("the model may write no more at once").wait_for()


def test_a_model_that_lacks_something_says_what(talk: Talking) -> None:
    page = talk.page
    page.get_by_label("Provider of models").select_option("keyless")
    page.get_by_text("keyless: set KIT_KEY").wait_for()
    page.get_by_label("Model", exact=True).focus()
    page.get_by_text("the models of keyless are not known").wait_for()
    page.get_by_label("Your question").fill("anybody there?")
    page.keyboard.press("Enter")
    page.get_by_role("alert").get_by_text("keyless needs a key: set KIT_KEY").wait_for()
    assert page.get_by_label("Your question").input_value() == "anybody there?"
    talk.problems.clear()  # the refused request for the models
    page.get_by_label("Provider of models").select_option("kit")
    page.get_by_label("Model", exact=True).focus()
    page.wait_for_selector("#chat-models option[value=slow]", state="attached")
    talk.ask("outer")
    assert page.get_by_role("alert").count() == 0


def test_without_a_model_the_page_says_what_to_set(let_in: Any, chat_kit: Any) -> None:
    with chat_kit.Served({"plugins": {}}, kit=False) as served:
        talking = Talking(let_in, served.address())
        talking.page.get_by_text("no provider of models is ready").wait_for()
        talking.page.get_by_text("--model echo").wait_for()
        talking.page.get_by_label("Provider of models").select_option("echo")
        talking.page.get_by_label("Your question").fill("hello")
        talking.page.keyboard.press("Enter")
        talking.page.get_by_text("I am echo").wait_for()
        assert talking.problems == []
        talking.context.close()


def test_a_conversation_is_saved_opened_and_found_again(talk: Talking, tmp_path: Path) -> None:
    page = talk.ask("outer")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save").click()
    file = tmp_path / "conversation.json"
    saved.value.save_as(file)
    talk.problems[:] = [one for one in talk.problems if "blob:" not in one]
    assert json.loads(file.read_text())["pegboard_conversation"] == 1
    page.reload()
    page.locator(".talk .model li", has_text="outer: 3.0").wait_for()
    assert page.locator(".steps summary svg.waterfall rect").count() > 0
    talk.begin()
    assert page.locator(".talk > li").count() == 0
    page.get_by_label("A saved conversation").set_input_files(file)
    page.get_by_text("The saved conversation goes on.").wait_for()
    page.locator(".talk .model li", has_text="outer: 3.0").wait_for()
    for text, said in (("{no json", "it is not JSON"), ('{"a": 1}', "this is not a saved conversation")):
        file.write_text(text)
        page.get_by_label("A saved conversation").set_input_files(file)
        page.get_by_text(said).wait_for()
    page.locator(".talk .model li", has_text="outer: 3.0").wait_for()
    talk.ask('add {"a": 1, "b": 2}')


PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_files_are_attached_shown_and_sent_with_the_question(talk: Talking, tmp_path: Path) -> None:
    page, html = talk.page, "<img src=x onerror=document.title='owned'>.md"
    files = [
        {"name": "pixel.png", "mimeType": "image/png", "buffer": PIXEL},
        {"name": html, "mimeType": "text/markdown", "buffer": b"# Read me"},
        {"name": "left.bin", "mimeType": "application/octet-stream", "buffer": b"\xff"},
    ]
    page.get_by_label("Files to attach").set_input_files(files)
    attached = page.get_by_role("list", name="Attached")
    attached.get_by_text("left.bin").wait_for()
    assert attached.locator("li").count() == 3
    assert attached.locator("img").count() == 1
    page.get_by_role("button", name="Remove left.bin").click()
    talk.ask("Look at these.", "cut")
    assert not attached.is_visible()
    page.locator(".you img.attached-image").wait_for()
    saved = json.loads(Path(saved_of(page)).read_text())
    content = saved["messages"][0]["content"]
    assert [one["type"] for one in content] == ["text", "image", "text"]
    assert content[2]["text"].endswith("# Read me\n")
    page.reload()
    page.locator(".you img.attached-image").wait_for()
    page.get_by_text("# Read me").wait_for()


def saved_of(page: Any) -> Any:
    with page.expect_download() as download:
        page.get_by_role("button", name="Save").click()
    return download.value.path()


def test_what_cannot_be_attached_is_told_and_a_question_that_is_refused_keeps_its_files(talk: Talking) -> None:
    page = talk.page
    choose = page.get_by_label("Files to attach")
    choose.set_input_files({"name": "big.bin", "mimeType": "", "buffer": bytes(4 * 1024 * 1024 + 1)})
    page.get_by_text("big.bin is larger than").wait_for()
    choose.set_input_files([{"name": f"{at}.txt", "mimeType": "text/plain", "buffer": b"a"} for at in range(9)])
    page.get_by_text("at most 8 files: 8.txt is left out").wait_for()
    for at in range(7):
        page.get_by_role("button", name=f"Remove {at}.txt").click()
    page.get_by_role("button", name="Remove 7.txt").click()
    choose.set_input_files({"name": "old.txt", "mimeType": "text/plain", "buffer": b"\xe4"})
    talk.ask("Look.", "cut", ends=None)
    page.get_by_role("alert").get_by_text("old.txt is not UTF-8 at line 1, column 1").wait_for()
    assert page.get_by_label("Your question").input_value() == "Look."
    page.get_by_role("button", name="Remove old.txt").click()
    page.get_by_label("Your question").fill("")
    talk.problems[:] = [one for one in talk.problems if "status of" not in one]


def test_two_users_in_two_browsers_talk_on_their_own(let_in: Any, chat_kit: Any) -> None:
    tokens = {"let-grace-in": "grace", "let-linus-in": "linus"}
    config = {"plugins": {"chat": {"model": "kit"}, "inspect": {"tokens": tokens}}}
    with chat_kit.Served(config) as served:
        grace, linus = (Talking(let_in, served.url, wait="#token", token=token) for token in tokens)
        assert "grace" in grace.page.locator("#who").inner_text()
        grace.ask('launch {"target": "the moon"}', ends=None)
        grace.page.get_by_role("dialog").get_by_text("Launch it?").wait_for()
        linus.ask('add {"a": 1, "b": 2}')  # while grace is asked
        assert linus.page.get_by_role("dialog").count() == 0
        assert "moon" not in linus.page.locator(".talk").inner_text()
        grace.page.get_by_role("dialog").get_by_role("button", name="Yes", exact=True).click()
        grace.page.get_by_text("The answer is complete.").wait_for()
        assert "add" not in grace.page.locator(".talk").inner_text()
        for talking, own, others in ((grace, "launch", "add"), (linus, "add", "launch")):
            talking.page.reload()
            talking.page.locator(".steps .tool", has_text=own).wait_for()
            assert talking.page.locator(".steps .tool", has_text=others).count() == 0
            talking.show("calls", ".counts .fact")
            served.do(served.host.session("grace").call, "outer")
        grace.page.locator(".call", has_text="outer").first.wait_for()
        assert linus.page.locator(".call", has_text="outer").count() == 0
        for talking in (grace, linus):
            assert talking.problems == []
            talking.context.close()


def test_nothing_that_a_model_or_a_tool_writes_runs_or_is_loaded(talk: Talking) -> None:
    page = talk.ask("evil", "calling")
    page.locator(".steps summary").first.click()
    talk.ask("be evil", "hostile")
    page.get_by_text("Thinking", exact=True).last.click()
    assert page.locator("main :is(img, script, iframe, object, embed, style, svg:not(.waterfall))").count() == 0
    links = page.locator(".talk .model a")
    assert set(links.evaluate_all("list => list.map((one) => new URL(one.href).protocol)")) == {"https:"}
    assert set(links.evaluate_all("list => list.map((one) => one.rel)")) == {"noopener noreferrer nofollow"}
    page.get_by_text("(javascript:document.title='owned')").wait_for()
    page.get_by_text("(https://evil.example/in)").wait_for()
    assert page.get_by_text("U+202E").count() == 1
    assert not any("evil.example" in url for url in talk.asked)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1200


def test_a_long_answer_is_shown_whole_and_its_end_is_in_sight(talk: Talking) -> None:
    page = talk.ask("tell me everything", "long")
    assert page.locator(".talk .model h3, .talk .model h4").count() == 300
    assert page.evaluate("document.documentElement.scrollHeight - scrollY - innerHeight") < 200


def test_a_conversation_is_had_by_keys_alone(talk: Talking) -> None:
    page = talk.page
    page.get_by_label("Model", exact=True).fill("calling")
    page.get_by_role("link", name="Chat").focus()
    page.keyboard.press("Enter")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "chat-words":
            break
    page.keyboard.type('launch {"target": "x"}')
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("outer")
    page.keyboard.press("Enter")
    page.get_by_role("dialog").wait_for()
    for _ in range(20):
        if page.evaluate("document.activeElement.textContent") == "Yes":
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_text("The answer is complete.").wait_for()
    assert page.evaluate("document.activeElement.id") == "chat-words"
    for _ in range(20):
        page.keyboard.press("Shift+Tab")
        if page.evaluate("document.activeElement.matches('.step > summary')"):
            break
    page.keyboard.press("Enter")
    page.get_by_text("Calls that it made").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_a_conversation(let_in: Any, served: Any, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    talking = Talking(let_in, served.address(), color_scheme=scheme, bypass_csp=True)  # axe brings a script of its own
    found = []

    def look(where: str) -> None:
        found.extend((where, one["id"], one["help"]) for one in axe.Axe().run(talking.page).response["violations"])

    look("nothing yet")
    talking.ask('outer\nnope\nadd {"a": 1}')
    talking.page.locator(".steps summary").first.click()
    talking.page.get_by_text("Budget", exact=True).click()
    look("an answer")
    talking.page.get_by_text("Budget", exact=True).click()
    talking.ask("be evil", "hostile")
    look("hostile texts")
    talking.ask("go", "broken", ends="the answer broke off")
    look("a problem")
    talking.context.close()
    assert found == []


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (640, "dark")])
def test_a_conversation_is_no_wider_than_the_window(talk: Talking, width: int, scheme: str) -> None:
    page = talk.page
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    talk.ask("outer\nevil")
    page.locator(".steps summary").first.click()
    talk.ask("be evil", "hostile")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_text("Budget", exact=True).click()
    box = page.locator(".budgets .fields").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    page.get_by_text("Budget", exact=True).click()
    page.emulate_media(color_scheme="light")

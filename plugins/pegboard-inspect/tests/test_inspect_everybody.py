"""The page for everybody: by keys alone, at 200 %, narrow, in forced colours, by axe; every page there is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import trio

from pegboard import CallContext, hookimpl, tool

FOCUSED = """() => {
    const one = document.activeElement;
    const box = one.getBoundingClientRect();
    const style = getComputedStyle(one);
    const isSeen = box.width > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
    const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
    const name = one.getAttribute("aria-label") ?? one.labels?.[0]?.textContent ?? one.textContent ?? "";
    return { tag: one.tagName, name: name.trim().replace(/\\s+/g, " "), isSeen, ring, isMain: one.id === "main" };
}"""


@tool(requires_confirmation="Order it?")
async def order(item: str, sizes: list[str], wrap: bool = False) -> dict[str, object]:
    """Order something."""
    return {"item": item, "sizes": sizes, "wrap": wrap}


@tool(read_only=True)
async def wait_here(context: CallContext) -> None:
    """Wait for ever."""
    await context.progress(1, 4, "a quarter")
    await trio.sleep_forever()


class Waiting:
    """A source that is there."""

    name = "shop"
    timeout_s = None

    async def run(self, slot: Any) -> None:
        slot.replace([])
        await trio.sleep_forever()


class Shop:
    """A plugin with that source."""

    name = "shop"

    @hookimpl
    def provide_sources(self) -> list[Any]:
        return [Waiting()]


@pytest.fixture(scope="module")
def served(inspect_board: Any) -> Iterator[Any]:
    with inspect_board([order, wait_here], Shop()) as one:
        yield one


@pytest.fixture
def look(let_in: Any, served: Any) -> Iterator[Any]:
    looking = let_in(served.address())
    yield looking
    assert looking.problems == []
    looking.context.close()


def pages_of(look: Any) -> dict[str, str]:
    """What the navigation leads to: title to path, whoever made the page; and a tool."""
    links = look.page.locator("#nav a")
    found = {link.inner_text(): link.get_attribute("href").removeprefix("#/") for link in links.all()}
    assert {"Tools", "Calls", "Sources", "Health"} <= found.keys()
    return {**found, "order": "tool/order"}


def shown(look: Any, title: str, path: str) -> Any:
    page = look.show(path, f".page-{path.partition('/')[0]} h1")
    page.locator("main h1").first.wait_for()
    return page


class Keys:
    """Somebody who has no mouse."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def to(self, name: str, tag: str | None = None) -> None:
        """Tab until it is reached; whatever has the focus on the way can be seen, and has a ring around it."""
        for _ in range(80):
            self.press("Tab")
            at = self.page.evaluate(FOCUSED)
            if at["tag"] == "BODY":
                continue  # the browser's own, between the end and the beginning
            assert at["isSeen"], at
            assert at["ring"], at
            if at["name"].startswith(name) and tag in (None, at["tag"]):
                return
        pytest.fail(f"no key leads to {name!r}")


def test_all_that_the_page_does_is_done_by_keys_alone(look: Any) -> None:
    page, keys = look.page, Keys(look.page)
    keys.to("To the content")
    keys.press("Enter")
    assert page.evaluate(FOCUSED)["isMain"]
    keys.press("/")
    page.keyboard.type("order")
    page.wait_for_selector(".count[data-fits='1']")
    keys.to("order", "A")
    keys.press("Enter")
    page.wait_for_selector(".caller")
    assert page.evaluate(FOCUSED)["isMain"]
    keys.to("item", "TEXTAREA")
    page.keyboard.type("tea")
    keys.to("Add to sizes")
    keys.press("Enter")
    page.keyboard.type("small")
    keys.to("wrap", "SELECT")
    page.keyboard.type("true")
    keys.to("Dry run")
    keys.press("Enter")
    page.get_by_text("It would run if a person says yes.").wait_for()
    keys.to("Copy as", "SELECT")
    keys.to("Rules")
    keys.press("ArrowRight", "ArrowRight")
    page.get_by_role("tab", name="Models see", selected=True).wait_for()
    keys.to("item", "TEXTAREA")
    keys.press("Control+Enter")
    page.get_by_role("dialog").wait_for()
    keys.to("No")
    keys.press("Shift+Tab")
    keys.press("Shift+Tab")
    assert page.evaluate(FOCUSED)["name"] == "Yes"
    keys.press("Enter")
    page.wait_for_selector(".answer .status.good")
    keys.to("Result", "BUTTON")
    keys.press("ArrowRight")
    page.get_by_role("tab", name="Data", selected=True).wait_for()
    keys.to("← All tools")
    keys.press("Enter")
    page.wait_for_selector("#search")
    keys.press("/")
    keys.press("Control+a")
    page.keyboard.type("wait_here")
    page.wait_for_selector(".count[data-fits='1']")
    keys.to("wait_here", "A")
    keys.press("Enter")
    page.get_by_role("heading", name="wait_here").wait_for()
    keys.to("Call", "BUTTON")
    keys.press("Enter")
    page.get_by_text("a quarter").wait_for()
    keys.to("Cancel")
    keys.press("Enter")
    page.locator(".answer").get_by_text("cancelled").wait_for()
    keys.to("Calls", "A")
    keys.press("Enter")
    page.wait_for_selector(".calls")
    keys.to("Outcome", "SELECT")
    keys.to("Pause")
    keys.press("Enter")
    page.get_by_text("Paused: nothing").wait_for()
    keys.to("Sources", "A")
    keys.press("Enter")
    page.get_by_role("link", name="shop").wait_for()
    keys.to("shop", "A")
    keys.press("Enter")
    page.get_by_role("button", name="Restart").wait_for()
    keys.to("Restart", "BUTTON")
    keys.press("Enter")
    page.get_by_role("dialog").wait_for()
    assert page.evaluate(FOCUSED)["name"] == "Restart"
    keys.press("Enter")
    page.get_by_role("dialog").wait_for(state="detached")
    keys.to("Health", "A")
    keys.press("Enter")
    page.wait_for_selector(".page-health .status")


@pytest.mark.parametrize(
    ("width", "scale"), [(640, 2), (320, 1)], ids=["200 % of 1280 pixels", "a telephone, and 400 %"]
)
def test_no_page_is_wider_than_its_window(let_in: Any, served: Any, width: int, scale: int) -> None:
    look = let_in(served.address(), viewport={"width": width, "height": 512}, device_scale_factor=scale)
    for title, path in pages_of(look).items():
        page = shown(look, title, path)
        assert (title, page.evaluate("document.documentElement.scrollWidth")) <= (title, width)
        cut = """() => [...document.querySelectorAll("main :is(button, a, h1, label, select)")]
            .filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest(".scroll"))
            .map((one) => one.textContent)"""
        assert (title, page.evaluate(cut)) == (title, [])
    look.context.close()


@pytest.mark.parametrize(
    "options", [{"color_scheme": "dark"}, {"forced_colors": "active"}], ids=["dark", "forced colours"]
)
def test_axe_finds_nothing_on_any_page_of_the_navigation(let_in: Any, served: Any, options: dict[str, str]) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    served.do(served.host.session("ada").call, "order", {})
    look = let_in(served.address(), bypass_csp=True, **options)
    found = []
    for title, path in pages_of(look).items():
        page = shown(look, title, path)
        response = axe.Axe().run(page).response
        found += [(title, one["id"], one["help"], one["nodes"][0]["html"][:200]) for one in response["violations"]]
    assert found == []
    look.context.close()


def test_forced_colours_leave_what_tells_by_colour(let_in: Any, served: Any) -> None:
    look = let_in(served.address(), forced_colors="active")
    page = look.show("calls", ".counts .fact")
    served.do(served.host.session("ada").call, "order", {})
    page.locator(".call summary").first.click()
    page.wait_for_selector(".stages")
    fill = "(name) => getComputedStyle(document.querySelector(name)).forcedColorAdjust"
    for name in (".swatch", ".waterfall", ".bars"):
        assert page.evaluate(fill, name) == "none"
    page = look.tool("order")
    selected = page.get_by_role("tab", selected=True).first
    assert selected.evaluate("(one) => parseFloat(getComputedStyle(one).borderBlockEndWidth)") >= 2
    look.context.close()


def test_every_page_says_when_the_program_is_not_to_be_had(let_in: Any, inspect_board: Any) -> None:
    with inspect_board([]) as served:
        looking = let_in(served.address(), wait=".empty")
        pages = {}
        for path in ("tools", "calls", "sources", "health"):
            page = pages[path] = looking.context.new_page()
            page.goto(f"{looking.base}#/{path}")
            page.get_by_role("heading", level=1).wait_for()
            assert page.locator("#away").is_hidden()
        cookies = looking.context.cookies()
        looking.context.clear_cookies()
        for page in pages.values():
            page.get_by_text("This browser was not let in, or has to come again: what is shown here").wait_for()
        looking.context.add_cookies(cookies)
        for page in pages.values():
            page.locator("#away").wait_for(state="hidden")
    for page in pages.values():
        page.get_by_text("The program does not answer: what is shown here is as it was").wait_for()
    looking.context.close()


def test_a_page_that_was_left_before_it_was_there_is_not_drawn_over_the_next(let_in: Any, inspect_board: Any) -> None:
    with inspect_board([]) as served:
        looking = let_in(served.address(), wait=".empty")
        page, held = looking.page, []
        page.route("**/api/pages/health", lambda route: held.append(route))
        page.goto(f"{looking.base}#/health")
        page.wait_for_selector(".page-health", state="attached")
        looking.show("calls", ".counts .fact")
        for route in held:
            route.abort()
        looking.show("sources", "h1")
        looking.show("calls", ".counts .fact")
        assert page.get_by_role("heading", level=1).inner_text() == "Calls"
        assert held
        looking.context.close()

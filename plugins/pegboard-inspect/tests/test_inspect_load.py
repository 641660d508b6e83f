"""The page under load: what is counted is what it does, since how long that takes is the machine's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import trio

from pegboard import Tool, tool

PER_SECOND = 5_000
TICKS = 50
FIRST = 30
"""Rows that a letter draws."""
FIRST_VIEW = 250_000
"""What the first view of 10,000 tools may load, in bytes."""
FIRST_REQUESTS = 10
"""The page, its style, five modules, to be let in, what is told of the board, its tools: in four round trips."""


@tool(run="inplace", read_only=True)
def echo(text: str) -> str:
    """Say it again."""
    return text


@pytest.fixture(scope="module")
def served(inspect_board: Any) -> Iterator[Any]:
    with inspect_board([echo]) as one:
        yield one


@pytest.fixture
def look(let_in: Any, served: Any) -> Iterator[Any]:
    looking = let_in(served.address())
    yield looking
    assert looking.problems == []
    looking.context.close()


async def hammer(host: Any, seconds: int) -> None:
    """Call as often as is asked for, by the clock and not by what the machine has left."""
    session, tick = host.session("hammer"), trio.current_time()
    for _ in range(seconds * TICKS):
        for _ in range(PER_SECOND // TICKS):
            await session.call("echo", {"text": "a"})
        tick += 1 / TICKS
        await trio.sleep_until(tick)


COUNTING = """() => {
    window.did = { draws: 0, rows: 0, frames: 0, long: 0, began: performance.now() };
    new PerformanceObserver((list) => (did.long += list.getEntries().length)).observe({ type: "longtask" });
    new MutationObserver((changes) => {
        did.draws += 1;
        did.rows += changes.reduce((all, change) => all + change.addedNodes.length, 0);
    }).observe(document.querySelector(".calls"), { childList: true });
    const frame = () => { did.frames += 1; requestAnimationFrame(frame); };
    frame();
}"""


def test_five_thousand_calls_a_second_do_not_freeze_the_page(look: Any, served: Any) -> None:
    page = look.show("calls", ".counts .fact")
    page.evaluate(COUNTING)
    calling = threading.Thread(target=lambda: served.do(hammer, served.host, 2))
    calling.start()
    page.get_by_text("more were too many to show").wait_for()
    page.get_by_role("searchbox", name="User").fill("hammer")  # it does as it is told meanwhile
    page.locator(".call summary").first.click()
    page.get_by_role("heading", name="Stages").first.wait_for()
    calling.join()
    served.do(served.host.session("hammer, the last").call, "echo", {"text": "a"})
    page.locator(".call", has_text="the last").first.wait_for()
    page.get_by_text(f"{2 * PER_SECOND + 1:,}").wait_for()  # every call is counted
    did = page.evaluate("({ ...did, took: performance.now() - did.began })")
    print(did)
    assert did["draws"] <= did["took"] / 250 + 10
    assert did["rows"] <= did["draws"] * 250
    assert did["frames"] > 2 * did["draws"]
    assert page.locator(".calls > li").count() <= 200
    page.get_by_role("button", name="Pause").click()
    page.get_by_text("Paused").wait_for()
    page.get_by_role("button", name="Clear").click()
    page.get_by_text("Nothing is recorded while this is paused").wait_for()
    page.get_by_role("button", name="Go on").click()


FED = """async (thousands) => {
    const { take } = await import("/static/calls.js");
    let number = window.fed ?? 0;
    const row = () => {
        number += 1;
        const isNested = number % 3 === 0;
        return {
            request_id: `r${number}`, tool: `tool_${number % 500}`, user_id: `user-${number % 90}`, channel: "cli",
            session: `s${number % 7}`, parent_id: isNested ? `r${number + 1}` : null, started_at: number / 100,
            duration_ms: 1, status: number % 11 ? "ok" : "error", error: number % 11 ? null : "TIMEOUT",
            message: null, timings: { admit: 2, validate: 9, execute: 1000 }, guards: [], elsewhere: false,
            source: null, arguments: { text: "x".repeat(200) }, text: "y".repeat(1000),
        };
    };
    const running = [row()];
    for (let batch = 0; batch < thousands * 25; batch++) {
        take({ calls: Array.from({ length: 40 }, row), running, under_way: 1, skipped: 9, counts: null, audit: null });
        if (batch % 25 === 0) await new Promise(requestAnimationFrame);
    }
    window.fed = number;
    await new Promise((resolve) => setTimeout(resolve, 300));
}"""
"""Gives the page calls as its stream does, forty at a time."""


def test_the_memory_of_the_page_is_flat_after_a_hundred_thousand_calls(look: Any) -> None:
    page = look.show("calls", ".counts .fact")
    devtools = look.context.new_cdp_session(page)

    def used() -> tuple[int, int]:
        devtools.send("HeapProfiler.collectGarbage")
        heap = devtools.send("Runtime.getHeapUsage")["usedSize"]
        return heap, devtools.send("Memory.getDOMCounters")["nodes"]

    page.evaluate(FED, 5)
    heap, nodes = used()
    page.evaluate(FED, 100)
    heap_after, nodes_after = used()
    print(f"{heap:,} to {heap_after:,} bytes, {nodes:,} to {nodes_after:,} nodes")
    assert heap_after < heap * 1.3 + 1_000_000
    assert nodes_after < nodes * 1.3 + 1_000


def test_a_row_that_has_the_focus_keeps_it_when_others_come(look: Any, served: Any) -> None:
    page = look.show("calls", ".counts .fact")
    served.do(served.host.session("first").call, "echo", {"text": "a"})
    page.locator(".call summary").first.focus()
    served.do(served.host.session("second").call, "echo", {"text": "a"})
    page.locator(".call", has_text="second").first.wait_for()
    assert "first" in page.evaluate("document.activeElement.textContent")


QUERIES = {
    "t": 10_000,
    "o": 10_000,
    "1": 3_439,
    "z": 0,
    "ü": 0,
    "tool_99": 111,
    "number 77": 280,
    "somebody thing": 10_000,
    "nobody": 0,
    "Thing SOMEBODY": 10_000,
    "a" * 5_000: 0,
    "thing number " * 2_000: 10_000,
    "": 10_000,
}
"""What is searched for, and of how many tools it is; a letter is in nearly all of them."""
SEARCH = """(queries) => {
    const search = document.getElementById("search"), list = document.querySelector(".tools"), touched = [];
    const seen = new MutationObserver(() => {});
    seen.observe(list, { childList: true, subtree: true, attributes: true, characterData: true });
    return queries.map((words) => {
        search.value = words;
        const began = performance.now();
        search.dispatchEvent(new Event("input"));
        document.body.offsetHeight;
        const took = Math.round(performance.now() - began);
        const nodes = seen.takeRecords().reduce((all, one) => all + one.addedNodes.length + one.removedNodes.length, 0);
        const { fits } = document.querySelector(".count").dataset;
        return [Number(fits), list.querySelectorAll(".what").length, nodes, took];
    });
}"""
RANKED = """async (queries) => {
    const { found } = await import("/static/tools.js");
    const texts = ["tool_9", "number", "somebody", "o", "thing of number", "Tool"];
    const rows = Array.from({ length: 500 }, (_, number) => {
        const text = (step) => texts[(number * step) % texts.length] + (number % 7);
        return { name: text(1), low: text(1).toLowerCase(), words: text(5), about: text(11), tags: [] };
    });
    const scoreOf = (row, word) => {
        if (row.low === word) return 16;
        if (row.low.includes(word)) return 8;
        return row.words.includes(word) ? 4 : Number(row.about.includes(word));
    };
    const slow = (words) => {
        const scored = rows.map((row) => [words.map((word) => scoreOf(row, word)), row]);
        const all = scored.filter(([scores]) => scores.every(Boolean));
        const sum = (scores) => scores.reduce((some, score) => some + score, 0);
        return all.sort((a, b) => sum(b[0]) - sum(a[0])).map(([, row]) => row);
    };
    const split = (words) => [...new Set(words.toLowerCase().split(" ").filter(Boolean))];
    return queries.every((words) => JSON.stringify(found(rows, words, {})) === JSON.stringify(slow(split(words))));
}"""


@pytest.fixture(scope="module")
def ten_thousand(inspect_board: Any, let_in: Any) -> Iterator[Any]:
    many = [
        Tool(name=f"tool_{number}", handler=echo.handler, description=f"Do the thing of number {number} for somebody.")
        for number in range(10_000)
    ]
    with inspect_board(many) as served:
        looking = let_in(served.address())
        looking.page.wait_for_selector(".cost")
        yield looking
        assert looking.problems == []
        looking.context.close()


def test_the_first_view_of_ten_thousand_tools_is_light(ten_thousand: Any) -> None:
    loaded = ten_thousand.page.evaluate("""() => {
        const entries = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
        const { responseEnd: there } = entries.find((one) => one.name.endsWith("/api/tools"));
        return entries.map((one) => [one.name.split("/").pop(), one.transferSize, one.startTime <= there]);
    }""")
    print(loaded)
    assert sum(size for _, size, _ in loaded) <= FIRST_VIEW
    before_the_tools = [name for name, _, is_before in loaded if is_before and not name.endswith(".svg")]
    assert len(before_the_tools) <= FIRST_REQUESTS, before_the_tools


def test_a_search_of_ten_thousand_tools_touches_what_a_window_shows_and_no_more(ten_thousand: Any) -> None:
    ten_thousand.page.evaluate("scrollTo(0, 0)")
    found = ten_thousand.page.evaluate(SEARCH, [*QUERIES])
    print(f"found, drawn, touched, ms: {found}")
    assert [fits for fits, *_ in found] == [*QUERIES.values()]
    for fits, drawn, touched, _ in found:
        assert drawn == min(fits, FIRST)
        assert touched <= 2 * (FIRST + 1)
    assert ten_thousand.page.evaluate(SEARCH, ["t", "o"])[1][2] == 0  # rows that stay are not touched


def test_more_rows_come_as_one_scrolls_or_asks_and_go_at_the_next_letter(ten_thousand: Any) -> None:
    page = ten_thousand.page
    rows = page.locator(".tools > li")
    page.get_by_label("Search tools").fill("")
    assert rows.count() == FIRST
    page.locator(".tools > li").last.scroll_into_view_if_needed()
    page.wait_for_selector(f".tools > li:nth-child({FIRST + 1})")
    page.get_by_role("button", name="more of").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(f".tools > li:nth-child({FIRST + 200})")
    assert "tool_0" in rows.first.text_content()
    page.evaluate("scrollTo(0, 0)")
    page.get_by_label("Search tools").press_sequentially("9")
    assert rows.count() == FIRST


def test_the_best_match_comes_first_and_equals_keep_their_order(ten_thousand: Any) -> None:
    assert ten_thousand.page.evaluate(RANKED, ["o", "tool_9", "number somebody", "o o", "thing NUMBER tool", "zzz"])


PAGED = """async () => {
    const { h, paged, tree } = await import("/static/dom.js");
    const list = paged(h("ul"), Array.from({ length: 450 }, (_, number) => number), (number) => h("li", {}, number));
    const counts = [list.childElementCount];
    while (list.querySelector("button")) {
        list.querySelector("button").click();
        counts.push(list.childElementCount);
    }
    const long = tree("x".repeat(1000000));
    const before = long.textContent.length;
    long.querySelector("button").click();
    return [counts, before, long.textContent.length];
}"""


def test_of_much_a_page_holds_the_beginning_and_what_one_asks_for(ten_thousand: Any) -> None:
    counts, before, after = ten_thousand.page.evaluate(PAGED)
    assert counts == [201, 401, 450]  # the last of them are the button
    assert before < 21_000
    assert 40_000 < after < 41_000

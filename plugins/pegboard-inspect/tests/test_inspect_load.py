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
FIRST_VIEW = 250_000
"""What the first view of 10,000 tools may load, in bytes."""


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


def test_of_ten_thousand_tools_a_search_draws_one_page(inspect_board: Any, let_in: Any) -> None:
    many = [
        Tool(name=f"tool_{number}", handler=echo.handler, description=f"Do the thing of number {number} for somebody.")
        for number in range(10_000)
    ]
    with inspect_board(many) as served:
        looking = let_in(served.address())
        found = looking.page.evaluate("""() => {
            const search = document.getElementById("search");
            return ["t", "tool_99", "number 77", "somebody thing", "nobody"].map((words) => {
                search.value = words;
                const began = performance.now();
                search.dispatchEvent(new Event("input"));
                document.body.offsetHeight;
                const took = Math.round(performance.now() - began);
                const { fits } = document.querySelector(".count").dataset;
                return [Number(fits), document.querySelectorAll(".tools > li > .what").length, took];
            });
        }""")
        print(f"found, drawn, ms: {found}")
        loaded = looking.page.evaluate("""() => {
            const entries = performance.getEntriesByType("resource");
            return entries.map((one) => [one.name.replace(location.origin, ""), one.transferSize]);
        }""")
        print(loaded)
        assert sum(size for _, size in loaded) <= FIRST_VIEW
        assert [one[:2] for one in found] == [[10_000, 100], [111, 100], [280, 100], [10_000, 100], [0, 0]]
        looking.context.close()

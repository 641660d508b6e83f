"""`inspector.py`: what a page that looks on costs, how soon a call is on it, and how soon the page is there.

    viewer    CPU of the whole process a call of `add` in place: while nobody looks, and while one page does, in
              batches of 80 ms as it is told. Interleaved rounds; the medians, and the median of the differences
    shown     from the end of a call to its row in the page, by the clock of the machine, which both read
    search    from a letter typed to the list drawn, of 10,000 tools
    first     from the address to the list of tools, with an empty cache; and what goes over the wire for it. `slow`: on
              a machine four times slower, over a line at home, until it is painted and searched

Run it in an environment with pegboard-inspect, playwright and Chromium. Prints JSON: microseconds for `viewer`,
milliseconds and bytes for the others.
"""

from __future__ import annotations

import json
import shutil
import statistics
import threading
import time
from functools import partial

import trio
from playwright.sync_api import sync_playwright

from pegboard import Tool, open_host, tool
from pegboard_inspect import plugin, serve_inspector
from pegboard_inspect.recording import Recording

CALLS = 400
ROUNDS = 41
SHOWN = 40
CHROMIUM = shutil.which("chromium")
ARGUMENTS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--no-first-run"]

WATCH = """() => {
    window.seen = [];
    new MutationObserver((changes) => {
        const at = performance.timeOrigin + performance.now();
        for (const change of changes) for (const one of change.addedNodes) {
            const user = one.querySelector?.(".user")?.textContent;
            if (user) seen.push([user, at]);
        }
    }).observe(document.querySelector(".calls"), { childList: true });
}"""

SEARCH = """() => {
    const search = document.getElementById("search");
    return ["t", "to", "tool_99", "number 77", "somebody thing"].map((words) => {
        search.value = words;
        const began = performance.now();
        search.dispatchEvent(new Event("input"));
        document.body.offsetHeight;
        return performance.now() - began;
    });
}"""

SLOWER = 4
"""How many times slower than this one the slow machine is."""
NETWORK = {"offline": False, "latency": 40, "downloadThroughput": 10e6 / 8, "uploadThroughput": 2e6 / 8}
"""A tunnel through a line at home: 40 ms to and fro, 10 Mbit/s down, 2 up, in bytes a second."""
PAINTED = """new MutationObserver((_, all) => {
    if (!document.querySelector(".tools > li")) return;
    all.disconnect();
    requestAnimationFrame(() => setTimeout(() => (document.documentElement.dataset.painted = performance.now())));
}).observe(document, { childList: true, subtree: true });"""

LOADED = """() => {
    const entries = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
    const bytes = entries.reduce((all, one) => all + one.transferSize, 0);
    return { at: performance.now(), bytes, asked: entries.length };
}"""


@tool(run="inplace", read_only=True)
def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


async def viewer():
    """What one page that looks on costs a call."""
    async with open_host({"plugins": {}}, []) as host:
        host.add(add)
        session = host.session("bench")

        async def cost_of(recording):
            stop = host.add_observer(recording) if recording else None
            began = time.process_time()
            batch = time.perf_counter() + 0.08
            for _ in range(CALLS):
                await session.call("add", {"a": 1, "b": 2})
                if recording and time.perf_counter() > batch:
                    json.dumps(recording.take())
                    batch += 0.08
            if recording:
                json.dumps(recording.take())
                stop()
            return (time.process_time() - began) / CALLS * 1e6

        rows = []
        for _ in range(ROUNDS):
            rows.append((await cost_of(None), await cost_of(Recording(lambda: None, time.time))))
    return {
        "nobody_us": round(statistics.median(one for one, _ in rows), 2),
        "one_us": round(statistics.median(other for _, other in rows), 2),
        "more_us": round(statistics.median(other - one for one, other in rows), 2),
    }


class Served:
    """An inspector in a thread."""

    def __init__(self, tools):
        self.tools, self.told, self.ready = tools, [], threading.Event()
        self.thread = threading.Thread(target=trio.run, args=(self.main,))

    async def main(self):
        """Serve until it is cancelled."""
        async with open_host({"plugins": {}}, [plugin]) as self.host, trio.open_nursery() as nursery:
            self.host.add(*self.tools)
            self.token, self.scope = trio.lowlevel.current_trio_token(), nursery.cancel_scope
            await nursery.start(partial(serve_inspector, self.host, tell=self.told.append))
            self.ready.set()
            await trio.sleep_forever()

    def __enter__(self):
        self.thread.start()
        self.ready.wait()
        return self

    def __exit__(self, *_):
        trio.from_thread.run_sync(self.scope.cancel, trio_token=self.token)
        self.thread.join()


def shown(browser):
    """How soon a call is on the page, each after a while in which there was none."""
    with Served([add]) as served:
        page = opened(browser, served)
        page.goto(f"{page.url.partition('#')[0]}#/calls")
        page.wait_for_selector(".calls")
        page.evaluate(WATCH)
        ended = {}

        async def call(user):
            await served.host.session(user).call("add", {"a": 1, "b": 2})
            ended[user] = time.time() * 1000

        for number in range(SHOWN):
            trio.from_thread.run(call, f"user-{number}", trio_token=served.token)
            page.locator(".call", has_text=f"user-{number}").first.wait_for()
            time.sleep(0.11 + number % 7 / 50)
        took = sorted(at - ended[user] for user, at in page.evaluate("seen") if user in ended)
        page.context.close()
    return {"median_ms": round(statistics.median(took), 1), "p95_ms": round(took[int(len(took) * 0.95)], 1)}


def opened(browser, served, *, is_slow=False):
    """A page that was let in, with an empty cache."""
    page = browser.new_context().new_page()
    if is_slow:
        page.add_init_script(PAINTED)
        devtools = page.context.new_cdp_session(page)
        devtools.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
        devtools.send("Network.enable")
        devtools.send("Network.emulateNetworkConditions", NETWORK)
    page.goto(served.told[-1])
    page.wait_for_selector(".tools > li")
    return page


def first(browser, count):
    """How soon the tools are there, and what was loaded for it."""
    tools = [
        Tool(name=f"tool_{number}", handler=add.handler, description=f"Do the thing of number {number} for somebody.")
        for number in range(count)
    ]
    times, searched, slow = [], [], []
    with Served(tools) as served:
        for _ in range(5):
            page = opened(browser, served, is_slow=True)
            page.wait_for_selector("[data-painted]", state="attached")
            slow.append(float(page.locator("html").get_attribute("data-painted")))
            page.context.close()
            page = opened(browser, served)
            loaded = page.evaluate(LOADED)
            times.append(loaded["at"])
            searched += page.evaluate(SEARCH)
            page.context.close()
    return {
        "tools": count,
        "first_view_ms": round(statistics.median(times)),
        "slow_first_view_ms": round(statistics.median(slow)),
        "slow_first_view_least_ms": round(min(slow)),
        "bytes": loaded["bytes"],
        "requests": loaded["asked"],
        "search_median_ms": round(statistics.median(searched), 1),
        "search_most_ms": round(max(searched), 1),
    }


def weight():
    """The files of the page, compressed and not."""
    from pegboard_inspect.app import _static

    files = _static().values()
    return {"bytes": sum(len(one.plain) for one in files), "gzip": sum(len(one.packed or one.plain) for one in files)}


def main():
    """Measure, and print."""
    found = {"viewer": trio.run(viewer), "weight": weight()}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        found["shown"] = shown(browser)
        found["first"] = [first(browser, count) for count in (40, 10_000)]
        browser.close()
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()

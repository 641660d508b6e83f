"""Twenty attacks, each a line of a table: by what a browser may be brought to do, and by what others may write.

What a request alone can try, with a wrong Host, Origin, type of body or cookie, is in `test_inspect_server.py`. Here a
real browser is attacked: by a page of another server on this machine, and by texts of tools, servers and results.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from pegboard import (
    BinaryContent,
    CallContext,
    ErrorCode,
    ImageContent,
    TextContent,
    Tool,
    ToolError,
    ToolResult,
    hookimpl,
    tool,
)

OWNED = "document.title='owned'"
TURNED = "\u202egnp.exe"
"""Drawn as `exe.png`."""
SCRIPT = f'{TURNED}<img src=x onerror="{OWNED}"><svg onload="{OWNED}"><script>{OWNED}</script>'
SVG = f'<svg xmlns="http://www.w3.org/2000/svg" onload="{OWNED}"><script>parent.{OWNED}</script></svg>'.encode()
MARKDOWN = (
    "[a](javascript:document.title='owned') ![b](https://evil.example/p.png) <script>document.title='owned'</script> "
    "[c](data:text/html,<script>document.title='owned'</script>)"
)


def object_of(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def gives(*content: Any, **more: Any) -> Any:
    return lambda: ToolResult(content=content, **more)


@tool
async def log_line(context: CallContext) -> str:
    """Log, and say how far it is."""
    context.log.warning(SCRIPT)
    await context.progress(1, 2, SCRIPT)
    return "done"


@tool
async def raises() -> None:
    """Fail."""
    raise ToolError(ErrorCode.UPSTREAM_ERROR, SCRIPT)


@tool
async def asks(context: CallContext) -> str:
    """Ask."""
    asked = object_of({"name": {"type": "string", "title": SCRIPT, "description": SCRIPT, "enum": [SCRIPT]}})
    return str(await context.elicit(SCRIPT, schema=asked))


@tool
async def opens(context: CallContext) -> str:
    """Have a long address opened."""
    return str(await context.elicit("evil wants you there", url=f"https://evil.example/{'a' * 1_500}"))


LINK = BinaryContent(None, uri="javascript:document.title='owned'", name=SCRIPT)
BY_TEXT: dict[str, Any] = {
    "a description": Tool(name="a", handler=gives(), description=SCRIPT),
    "a title": Tool(name="b", handler=gives(), title=SCRIPT, description="x"),
    "a category and a tag": Tool(
        name="c", handler=gives(), description="x", category=SCRIPT[:40], tags=frozenset({SCRIPT[:30]})
    ),
    "the name, title and default of an argument": Tool(
        name="d",
        handler=lambda **_: "done",
        description="x",
        input_schema=object_of(
            {
                SCRIPT: {
                    "type": "string",
                    "title": SCRIPT,
                    "description": SCRIPT,
                    "default": SCRIPT,
                    "examples": [SCRIPT],
                }
            }
        ),
    ),
    "a result": Tool(name="e", handler=gives(TextContent(SCRIPT)), description="x"),
    "keys and values of data": Tool(name="f", handler=gives(data={SCRIPT: [SCRIPT]}), description="x"),
    "a picture in SVG": Tool(name="g", handler=gives(ImageContent(SVG, "image/svg+xml")), description="x"),
    "a picture that is a page": Tool(name="h", handler=gives(ImageContent(SVG, "text/html")), description="x"),
    "a link in Markdown": Tool(name="i", handler=gives(TextContent(MARKDOWN)), description="x"),
    "a file of Markdown": Tool(
        name="j",
        handler=gives(BinaryContent.of_text(MARKDOWN, uri="x://a.md", mime_type="text/markdown")),
        description="x",
    ),
    "the name of a file": Tool(
        name="k",
        handler=gives(BinaryContent(b"MZ", "application/x-msdownload", f"file:///{SCRIPT}", SCRIPT)),
        description="x",
    ),
    "a link to a resource": Tool(name="l", handler=gives(LINK), description="x"),
    "a line of log and progress": log_line,
    "an error": raises,
}
"""By where the script stands: the tool that brings it."""


class Source:
    """A source whose name is a script."""

    name = SCRIPT[:60]
    timeout_s = None

    async def run(self, slot: Any) -> None:
        import trio

        slot.replace([])
        await trio.sleep_forever()


class Sources:
    """A plugin with it."""

    name = "sources"

    @hookimpl
    def provide_sources(self) -> list[Any]:
        return [Source()]


@pytest.fixture(scope="module")
def served(inspect_board: Any) -> Iterator[Any]:
    with inspect_board([*BY_TEXT.values(), asks, opens], Sources()) as one:
        yield one


@pytest.fixture(scope="module")
def looking(let_in: Any, served: Any) -> Iterator[Any]:
    one = let_in(served.address())
    yield one
    one.context.close()


def is_unharmed(looking: Any) -> bool:
    page = looking.page
    foreign = [url for url in looking.asked if "evil.example" in url]
    made = page.locator("main script, main iframe, main [onerror], main [onload], main a[href^='javascript' i]").count()
    turned = page.locator("body").inner_text().count(TURNED[0])
    return "owned" not in page.title() and not foreign and made == 0 and turned == 0


@pytest.mark.parametrize("where", BY_TEXT)
def test_a_script_runs_nowhere(looking: Any, where: str) -> None:
    page = looking.tool(BY_TEXT[where].name)
    page.get_by_role("tab", name="Schemas").click()
    page.get_by_role("tab", name="Models see").click()
    page.get_by_role("button", name="Call", exact=True).click()
    page.wait_for_selector(".answer .status.good, .answer .status.bad")
    assert is_unharmed(looking)
    looking.show("tools", ".tools > li")
    page.locator(f".tools a[href='#/tool/{BY_TEXT[where].name}']").wait_for()
    assert is_unharmed(looking)


def test_a_script_runs_nowhere_in_a_question_a_source_and_a_user(looking: Any, served: Any) -> None:
    page = looking.tool("asks")
    page.get_by_role("button", name="Call", exact=True).click()
    page.get_by_role("dialog").wait_for()
    assert is_unharmed(looking)
    page.keyboard.press("Escape")
    page.wait_for_selector(".answer .status")
    looking.show("calls", ".counts .fact")
    served.do(partial(served.host.session(SCRIPT[:60], channel="x").call, "nothing_" + SCRIPT[:40], {}))
    page.locator(".call", has_text="nothing_").first.locator("summary").click()
    page.get_by_role("heading", name="Stages").first.wait_for()
    assert is_unharmed(looking)
    for path in ("sources", "health"):
        looking.show(path, f".page-{path} h1")
        assert is_unharmed(looking)


def test_no_address_pushes_who_asks_and_the_answers_out_of_sight(looking: Any) -> None:
    page = looking.tool("opens")
    page.set_viewport_size({"width": 320, "height": 640})
    page.get_by_role("button", name="Call", exact=True).click()
    dialog = page.get_by_role("dialog")
    for seen in (dialog.get_by_text("evil wants you there"), dialog.get_by_role("button", name="No")):
        seen.wait_for()
        box = seen.bounding_box()
        assert box is not None
        assert 0 <= box["y"] <= box["y"] + box["height"] <= 640
    page.keyboard.press("Escape")
    page.wait_for_selector(".answer .status")
    page.set_viewport_size({"width": 1200, "height": 900})


FOREIGN = """<!doctype html><title>foreign</title><iframe id="frame" src="BASE#/tools"></iframe>
<form id="form" method="post" enctype="text/plain" target="sink" action="BASEapi/call">
<input name='{"name":"a","arguments":{},"x":"' value='"}'></form><iframe name="sink"></iframe>"""
TRY = """async (base) => {
    const outcome = (promise) => promise.then((one) => `read ${one.status}`, () => "refused");
    const own = { credentials: "include", mode: "cors" };
    const headers = { "content-type": "application/json" };
    const json = { ...own, method: "POST", headers, body: '{"name":"a","arguments":{}}' };
    const socket = await new Promise((resolve) => {
        const one = new WebSocket(`${base.replace("http", "ws")}api/live`);
        one.onopen = () => resolve("open");
        one.onerror = () => resolve("refused");
    });
    const events = await new Promise((resolve) => {
        const one = new EventSource(`${base}api/live`, { withCredentials: true });
        one.onmessage = () => resolve("read");
        one.onerror = () => { one.close(); resolve("refused"); };
    });
    document.getElementById("form").submit();
    await new Promise((resolve) => setTimeout(resolve, 200));
    return {
        "reads what is shown": await outcome(fetch(`${base}api/tools`, own)),
        "calls a tool": await outcome(fetch(`${base}api/call`, json)),
        "tries a token": await outcome(fetch(`${new URL(base).origin}/enter`, { ...json, body: '{"token":"x"}' })),
        "opens a WebSocket": socket,
        "listens to calls": events,
    };
}"""


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_tab_of_another_server_on_this_machine_does_nothing(looking: Any, served: Any, host: str) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            cookies.append(self.headers.get("cookie"))
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(FOREIGN.replace("BASE", looking.base).encode())

        def log_message(self, *_: Any) -> None:
            pass

    cookies: list[str | None] = []
    called: list[Any] = []
    stop = served.do_sync(served.host.add_observer, called.append)
    server = ThreadingHTTPServer((host, 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    page = looking.context.new_page()
    page.goto(f"http://{host}:{server.server_address[1]}/")
    done = page.evaluate(TRY, looking.base)
    assert len(page.frames) == 3
    assert [frame.locator(".brand").count() for frame in page.frames] == [0, 0, 0]  # no frame has the page
    page.close()
    server.shutdown()
    server.server_close()
    thread.join()
    served.do_sync(stop)
    assert set(done.values()) == {"refused"}, done
    assert called == []
    assert set(cookies) == {None}  # the cookie is for a path that nobody guesses


def test_no_token_and_no_address_is_in_a_log_a_title_or_a_referrer(
    let_in: Any, served: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    address = served.address()
    looking = let_in(address)
    token = address.partition("#token=")[2]
    looking.show("health", ".page-health .status")
    page = looking.page
    kept = page.evaluate("[document.title, location.href, document.referrer, JSON.stringify(history.state)].join()")
    assert token not in kept
    assert token not in caplog.text
    assert looking.base.rpartition("/s-")[2] not in caplog.text
    sent = page.evaluate("fetch('/static/app.js').then((one) => one.headers.get('referrer-policy'))")
    assert sent == "no-referrer"
    looking.context.close()

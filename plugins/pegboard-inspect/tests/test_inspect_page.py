"""The page in a real browser: Debian's Chromium, driven by playwright; without them these tests skip."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import trio
from hypothesis import given, settings

from pegboard import (
    AudioContent,
    BinaryContent,
    CallContext,
    ImageContent,
    TextContent,
    Tool,
    ToolResult,
    load_board,
    open_host_sync,
    thaw,
    tool,
)

HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>parent.document.title="owned"</script></svg>'


def schema(properties: dict[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


POINT = schema({"x": {"type": "number"}, "y": {"type": "number"}}, "x", "y")
SHAPE = {
    "oneOf": [
        schema({"kind": {"const": "circle"}, "radius": {"type": "number"}}, "kind", "radius", title="Circle"),
        schema({"kind": {"const": "square"}, "side": {"type": "integer"}}, "kind", "side", title="Square"),
    ]
}
ITEM = schema({"sku": {"type": "string"}, "qty": {"type": "integer", "minimum": 1}}, "sku", "qty")
STRICT = schema(
    {
        "items": {"type": "array", "items": ITEM},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        "price": {"type": "number", "default": 0},
        "tags": {"type": "array", "items": {"type": "string"}},
        "when": {"type": "string", "format": "date"},
        "size": {"enum": ["small", "large", 3]},
        "fast": {"type": "boolean"},
        "where": {"$ref": "#/$defs/point"},
        "shape": SHAPE,
        "odd key": {"type": "string"},
        "__proto__": {"type": "string"},
        "free": {"type": "object"},
    },
    "items",
    **{"$defs": {"point": POINT}},
)  # fmt: skip


def shown(content: tuple[Any, ...]) -> Callable[[], ToolResult]:
    def handler() -> ToolResult:
        return ToolResult(content=content)

    return handler


async def sends(**arguments: Any) -> dict[str, Any]:
    return {"sent": arguments}


@tool(destructive=True, requires_confirmation="Launch it?")
async def launch(target: str) -> str:
    """Do what somebody has to confirm."""
    return f"launched at {target}"


@tool
async def wait_here(context: CallContext) -> None:
    """Wait for ever."""
    await context.progress(1, 4, "a quarter")
    await trio.sleep_forever()


@tool(timeout_s=0.05)
async def too_slow() -> None:
    """Take longer than it may."""
    await trio.sleep_forever()


@tool
async def asks(context: CallContext) -> dict[str, Any]:
    """Ask for values."""
    return {"answer": await context.elicit("Who are you?", schema=schema({"name": {"type": "string"}}, "name"))}


@tool
async def outer(context: CallContext) -> str:
    """Call another tool, and log."""
    context.log.info("it began")
    return (await context.call("hostile")).text


EVERY_KIND = (
    TextContent("some text"),
    ImageContent(PIXEL, "image/png"),
    ImageContent(SVG, "image/svg+xml"),
    AudioContent(b"RIFF", "audio/wav"),
    BinaryContent(b"%PDF", "application/pdf", "file:///a.pdf", "a.pdf"),
    BinaryContent.of_text("inside", uri="x://y"),
    BinaryContent.of_text(f"# Head\n\n**{HOSTILE}** [x](javascript:1)", "text/markdown", uri="x://notes.md"),
    BinaryContent(None, uri="https://example.com/x", name="a link"),
    BinaryContent(None, uri="javascript:alert(1)", name="no link"),
    ImageContent(b"<b>", "text/html"),
)
HOSTILE_SCHEMA = schema({HOSTILE: {"type": "string", "description": HOSTILE, "title": HOSTILE}})
TOOLS = [
    launch,
    wait_here,
    too_slow,
    asks,
    outer,
    Tool(name="order", handler=sends, input_schema=STRICT, description="Place an order."),
    Tool(name="nothing", handler=sends, input_schema=schema({}), description="Take nothing."),
    Tool(
        name="hostile",
        handler=shown((TextContent(HOSTILE),)),
        title=HOSTILE,
        description=HOSTILE,
        category=HOSTILE[:40],
        tags=frozenset({HOSTILE[:30]}),
        input_schema=HOSTILE_SCHEMA,
    ),
    Tool(name="show_all", handler=shown(EVERY_KIND), description="Show every kind."),
    Tool(name="مرحبا", handler=sends, description="نص من اليمين إلى اليسار"),
    Tool(name="long_" + "word" * 25, handler=sends, description="w" * 2_000),
]


@pytest.fixture(scope="module")
def served(inspect_board: Any) -> Iterator[Any]:
    with inspect_board(TOOLS) as one:
        yield one


@pytest.fixture(scope="module")
def shared(let_in: Any, served: Any) -> Iterator[Any]:
    looking = let_in(served.address())
    yield looking
    looking.context.close()


@pytest.fixture
def look(shared: Any) -> Iterator[Any]:
    """The browser; a test in which it complains of anything fails."""
    shared.page.goto("about:blank")  # forget what another test typed and chose
    shared.show("tools", ".tools > li")
    shared.problems.clear()
    shared.page.set_viewport_size({"width": 1200, "height": 900})
    yield shared
    assert shared.problems == []
    assert "owned" not in shared.page.title()


def test_the_token_leaves_the_address_and_nothing_of_elsewhere_is_loaded(look: Any, served: Any) -> None:
    assert "token" not in look.page.url
    assert all("token" not in url for url in look.asked)
    assert all(url.startswith((served.url, "data:")) for url in look.asked)
    assert look.page.evaluate("document.cookie") == ""
    assert look.page.evaluate("document.referrer") == ""


def test_a_browser_without_the_cookie_is_shown_nothing(browser: Any, look: Any) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{look.base}#/tools")
    page.locator("#main").get_by_text("was not let in, or has to come again").wait_for()
    page.goto(look.base.partition("/s-")[0])
    page.get_by_text("This browser was not let in").wait_for()
    context.close()


def test_the_list_is_searched_as_one_types(look: Any) -> None:
    page = look.show("tools", ".tools > li")
    page.keyboard.press("/")
    page.keyboard.type("order")
    page.wait_for_selector(".count[data-fits='1']")
    assert page.locator(".tools .name").all_inner_texts() == ["order"]
    page.keyboard.type(" zzz")
    page.get_by_text("No tool matches").wait_for()
    page.get_by_role("button", name="Show all").click()
    assert page.locator(".tools > li").count() == len(TOOLS)
    page.get_by_label("Select order").check()
    page.get_by_text("1 selected").wait_for()
    page.get_by_role("button", name="Clear").click()


def test_what_nobody_touched_is_not_sent(look: Any) -> None:
    look.tool("order")
    assert look.call()["data"] == {"sent": {"items": []}}
    look.tool("nothing").get_by_text("It takes no arguments").wait_for()
    assert look.call()["data"] == {"sent": {}}


def test_a_form_gives_every_kind_of_value(look: Any) -> None:
    page = look.tool("order")
    page.get_by_role("button", name="Add to items").click()
    look.field("sku").fill("A-1")
    look.field("qty").fill("2")
    look.field("note").fill("by noon")
    look.field("price").fill("12345678901234567890")
    page.get_by_role("button", name="Add to tags").click()
    look.field("tags 1").fill("new")
    look.field("when").fill("2026-11-23")
    look.field("size").select_option(label="3")
    look.field("fast").select_option(label="false")
    look.field("x").fill("1.5")
    look.field("y").fill("-2")
    look.field("shape").select_option(label="Square")
    look.field("side").fill("4")
    look.field("odd key").fill("odd")
    look.field("__proto__").fill("safe")
    look.field("free").fill('{"any": [1]}')
    wanted = {
        "items": [{"sku": "A-1", "qty": 2}], "note": "by noon", "price": 12345678901234567890, "tags": ["new"],
        "when": "2026-11-23", "size": 3, "fast": False, "where": {"x": 1.5, "y": -2},
        "shape": {"kind": "square", "side": 4}, "odd key": "odd", "__proto__": "safe", "free": {"any": [1]},
    }  # fmt: skip
    assert look.call()["data"] == {"sent": wanted}
    page.get_by_role("tablist", name="Arguments").get_by_role("tab", name="JSON").click()
    text = page.get_by_label("Arguments as JSON")
    assert json.loads(text.input_value()) == wanted
    page.get_by_role("tablist", name="Arguments").get_by_role("tab", name="Form").click()
    page.get_by_role("button", name="Leave out note").click()
    page.get_by_role("button", name="Remove items 1", exact=True).click()
    sent = look.call()["data"]["sent"]
    assert sent["items"] == []
    assert "note" not in sent


def test_the_form_and_the_json_stay_in_step_whatever_is_written(look: Any) -> None:
    page = look.tool("order")
    tabs = page.get_by_role("tablist", name="Arguments")
    tabs.get_by_role("tab", name="JSON").click()
    text = page.get_by_label("Arguments as JSON")
    odd = {
        "items": "no list",
        "unknown": 1,
        "price": 1e3,
        "where": {"x": 1, "y": 2, "z": 3},
        "shape": {"kind": "circle", "radius": 2},
        "note": None,
    }
    text.fill(json.dumps(odd))
    tabs.get_by_role("tab", name="Form").click()
    assert look.field("radius").input_value() == "2"
    assert look.field("items").input_value() == '"no list"'
    result = look.call()
    assert result["error"]["code"] == "INVALID_INPUT"
    assert {fault["path"] for fault in result["error"]["details"]["faults"]} >= {"items", "unknown", "where.z"}
    tabs.get_by_role("tab", name="JSON").click()
    text.fill("{not json")
    page.get_by_role("button", name="Call", exact=True).click()
    page.get_by_text("this is not JSON").wait_for()


def test_faults_stand_at_their_fields(look: Any) -> None:
    page = look.tool("order")
    tabs = page.get_by_role("tablist", name="Arguments")
    tabs.get_by_role("tab", name="JSON").click()
    page.get_by_label("Arguments as JSON").fill('{"items": [{"sku": "a", "qty": 0}]}')
    tabs.get_by_role("tab", name="Form").click()
    page.get_by_role("button", name="Dry run").click()
    page.get_by_text("It would be refused").wait_for()
    qty = look.field("qty")
    assert qty.get_attribute("aria-invalid") == "true"
    described = qty.get_attribute("aria-describedby").split()
    assert "expected" in page.locator(f"#{described[-1]}").inner_text()
    assert page.evaluate("document.activeElement.id") == qty.get_attribute("id")
    qty.fill("1")
    page.get_by_role("button", name="Dry run").click()
    page.get_by_text("It would run.").wait_for()
    assert qty.get_attribute("aria-invalid") == "false"


@pytest.mark.parametrize(("button", "ok"), [("Yes", True), ("No", False)])
def test_a_confirmation_is_a_dialog(look: Any, button: str, ok: bool) -> None:
    page = look.tool("launch")
    look.field("target").fill(HOSTILE)
    page.get_by_role("button", name="Call", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Launch it?").wait_for()
    dialog.get_by_role("button", name=button, exact=True).click()
    page.wait_for_selector(".answer .status.good" if ok else ".answer .status.bad")


def test_a_dialog_that_is_left_by_a_key_is_no_answer(look: Any) -> None:
    page = look.tool("launch")
    look.field("target").fill("x")
    page.get_by_role("button", name="Call", exact=True).click()
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    page.wait_for_selector(".answer .status.bad")


def test_a_tool_asks_for_values_by_a_form(look: Any) -> None:
    page = look.tool("asks")
    page.get_by_role("button", name="Call", exact=True).click()
    dialog = page.get_by_role("dialog")
    look.field("name", dialog).fill("Ada")
    dialog.get_by_role("button", name="Send").click()
    page.wait_for_selector(".answer .status.good")
    page.locator(".answer").get_by_role("tab", name="Data").click()
    page.locator(".answer").get_by_text('"Ada"').wait_for()


def test_a_call_is_cancelled(look: Any) -> None:
    page = look.tool("wait_here")
    page.get_by_role("button", name="Call", exact=True).click()
    page.get_by_text("a quarter").wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.locator(".answer").get_by_text("cancelled").wait_for()
    assert page.get_by_role("button", name="Call", exact=True).is_enabled()


def test_a_call_that_takes_too_long_says_so(look: Any) -> None:
    look.tool("too_slow")
    assert look.call()["error"]["code"] == "TIMEOUT"


def test_texts_of_third_parties_are_texts_everywhere(look: Any) -> None:
    page = look.show("calls", ".counts .fact")
    page = look.tool("outer")
    result = look.call()
    assert result["content"][0]["text"] == HOSTILE
    page = look.tool("hostile")
    page.get_by_role("tab", name="Models see").click()
    page.locator(".dialect summary").first.click()
    look.call()
    page = look.show("calls", ".call summary")
    page.locator(".call summary").first.click()
    page.wait_for_selector(".detail")
    look.show("tools", ".tools > li")
    assert page.locator("main img, main script, main iframe").count() == 0


def test_a_call_made_by_a_tool_stands_below_it(look: Any) -> None:
    page = look.show("calls", ".counts .fact")
    look.tool("outer")
    look.call()
    page = look.show("calls", ".call summary")
    names = page.locator(".call .tool").all_inner_texts()
    assert names[names.index("outer") + 1] == "↳ hostile"
    page.get_by_role("searchbox", name="Tool").fill("outer")
    page.locator(".call summary").first.click()
    page.get_by_role("link", name="Call again with changes").first.click()
    page.wait_for_selector(".caller")


def test_every_kind_of_result_is_shown_and_nothing_of_it_runs(look: Any) -> None:
    page = look.tool("show_all")
    page.get_by_role("button", name="Call", exact=True).click()
    page.wait_for_selector(".answer .status.good")
    answer = page.locator(".answer")
    assert answer.locator("img").count() == 2
    assert answer.locator("audio").count() == 1
    assert (
        answer.get_by_role("link", name="https://example.com/x").get_attribute("rel") == "noopener noreferrer nofollow"
    )
    assert answer.locator("a[href^='javascript']").count() == 0
    markdown = answer.locator(".markdown")
    assert markdown.locator("h2").inner_text() == "Head"
    assert markdown.locator("strong").inner_text() == HOSTILE
    answer.get_by_role("tab", name="As written").click()
    answer.get_by_text("# Head").wait_for()
    with page.expect_download() as saved:
        answer.get_by_role("link", name="Save a.pdf").click()
    assert saved.value.suggested_filename == "a.pdf"
    look.problems[:] = [one for one in look.problems if "blob:" not in one]


def test_a_call_of_anybody_is_on_the_page(look: Any, served: Any) -> None:
    page = look.show("calls", ".counts .fact")
    page.get_by_role("searchbox", name="Tool").fill("")
    session = served.do_sync(partial(served.host.session, "grace", channel="elsewhere"))
    served.do(session.call, "order", {"items": []})
    page.locator(".call", has_text="grace").first.wait_for()


def test_calls_of_other_programs_are_below_their_parents_and_marked(let_in: Any, served: Any) -> None:
    pytest.importorskip("pegboard_audit", reason="pegboard-audit is not installed")
    looking = let_in(served.address())
    page = looking.show("calls", ".counts .fact")
    page.get_by_text("in this program or in another one of yours").wait_for()
    served.do(served.host.session("ada").call, "nothing", {})
    with open_host_sync(plugins=["audit_db"]) as other:
        other.add(*TOOLS)
        other.session(user_id=HOSTILE[:60], channel="batch").call("outer", id="chosen")
        other.session(user_id="grace").call("outer", id="chosen")
    page.wait_for_selector(".call summary:nth-of-type(1)")
    page.locator(".calls > li").nth(4).wait_for()
    names = page.locator(".call .tool").all_inner_texts()
    assert [re.sub(r"\s+", " ", name) for name in names] == [
        "outer other program, program",
        "↳ hostile other program, program",
        "outer other program, batch",
        "↳ hostile other program, batch",
        "nothing",
    ]
    page.locator(".call summary").first.click()
    page.get_by_text("the audit keeps no results").wait_for()
    page.get_by_text("of another program").first.wait_for()
    page.get_by_label("Program").select_option("here")
    page.locator(".calls > li").nth(1).wait_for(state="detached")
    assert page.locator(".call .tool").all_inner_texts() == ["nothing"]
    page.get_by_label("Program").select_option("elsewhere")
    page.locator(".calls > li").nth(3).wait_for()
    assert page.locator(".call .tool", has_text="nothing").count() == 0
    assert looking.problems == []
    looking.context.close()


def test_the_page_is_used_by_keys_alone(look: Any) -> None:
    page = look.show("tools", ".tools > li")
    page.keyboard.press("/")
    page.keyboard.type("order")
    page.wait_for_selector(".count[data-fits='1']")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className") == "name":
            break
    page.keyboard.press("Enter")
    page.wait_for_selector(".caller")
    page.keyboard.press("Tab")
    for _ in range(40):
        if page.evaluate("document.activeElement.textContent") == "Add to items":
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.type("A-1")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("3")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".answer .status")


SHOWN_AND_READ = """async (pairs) => {
    const { Form } = await import("/static/form.js");
    const { parse } = await import("/static/json.js");
    return pairs.map(([schema, value]) => {
        const form = new Form(JSON.parse(schema));
        const untouched = form.json();
        form.set(parse(value));
        return [untouched, form.json()];
    });
}"""
"""By pairs of JSON texts, schema and value: what an untouched form sends, and one that was given the value."""


def read_back(page: Any, pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    texts = [[json.dumps(schema), json.dumps(value)] for schema, value in pairs]
    answers = page.evaluate(SHOWN_AND_READ, texts)
    return [(json.loads(untouched), json.loads(sent)) for untouched, sent in answers]


def test_whatever_a_form_is_given_it_sends(look: Any, schemas_with_values: Any) -> None:
    """The rule of the two tabs: for any schema and any value, what the form shows is what the JSON says."""

    @settings(max_examples=100)
    @given(schemas_with_values)
    def hold(drawn: tuple[Any, list[Any]]) -> None:
        document, values = drawn
        inner = {"type": "object", "properties": {"v": document}, "required": ["v"]}
        properties = {"v": document, "inner": inner}
        top = {"type": "object", "properties": properties, "definitions": document["definitions"]}
        pairs = [(top, {"v": value, "unknown": value, "inner": {"v": value}}) for value in values]
        pairs += [(top, {"v": value, "inner": {}}) for value in values]
        for (_, value), (untouched, sent) in zip(pairs, read_back(look.page, pairs), strict=True):
            assert untouched == {}
            assert sent == value

    hold()


def test_what_is_optional_needs_nothing_and_what_is_touched_all_it_needs(look: Any) -> None:
    wanted = schema(
        {
            "kind": {"const": "a"}, "list": {"type": "array"}, "size": {"enum": ["s", "m"], "default": "m"},
            "inner": schema({"list": {"type": "array"}, "note": {"type": "string"}}, "list"),
            "count": {"type": "integer"},
        },
        "kind", "list", "size", "inner",
    )  # fmt: skip
    implied = {"kind": "a", "list": [], "size": "m", "inner": {"list": []}}
    ((untouched, _),) = read_back(look.page, [(schema({"may": wanted}), {})])
    assert untouched == {}
    ((untouched, sent),) = read_back(look.page, [(schema({"must": wanted}, "must"), {"must": {"count": 1}})])
    assert untouched == {"must": implied}
    assert sent == {"must": {"count": 1}}
    form = """async (schema) => {
        const { Form } = await import("/static/form.js");
        const form = new Form(schema);
        const input = [...form.element.querySelectorAll("input")].at(-1);
        input.value = "3";
        input.dispatchEvent(new Event("input"));
        return form.value();
    }"""
    assert look.page.evaluate(form, schema({"may": wanted})) == {"may": {**implied, "count": 3}}


def test_untouched_forms_of_real_tools_send_nothing_and_examples_come_back(look: Any) -> None:
    tools = [tool for tool in load_board({}).tools.values() if tool.input_schema.get("properties")]
    pairs = [(thaw(tool.input_schema), thaw(one.arguments)) for tool in tools for one in tool.examples]
    for (schema, example), (untouched, sent) in zip(pairs, read_back(look.page, pairs), strict=True):
        assert sent == example
        left = {name: value for name, value in untouched.items() if value not in ([], {})}
        assert left == {}
        assert untouched.keys() <= set(schema.get("required", ()))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_any_page(let_in: Any, served: Any, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    looking = let_in(served.address(), color_scheme=scheme, bypass_csp=True)  # axe brings a script of its own
    found = []

    def look(where: str) -> None:
        found.extend((where, one["id"], one["help"]) for one in axe.Axe().run(looking.page).response["violations"])

    look("tools")
    page = looking.show("calls", ".counts .fact")
    look("calls, none")
    looking.tool("order")
    page.get_by_role("button", name="Add to items").click()
    looking.call()
    look("a tool, with faults")
    looking.tool("outer")
    looking.call()
    looking.show("calls", ".call summary")
    page.locator(".call summary").first.click()
    page.wait_for_selector(".detail")
    look("calls")
    looking.tool("launch")
    looking.field("target").fill("x")
    page.get_by_role("button", name="Call", exact=True).click()
    page.get_by_role("dialog").wait_for()
    look("a dialog")
    page.get_by_role("button", name="No", exact=True).click()
    page.wait_for_selector(".answer .status.bad")
    looking.show("sources", ".page-sources h1")
    look("sources")
    looking.show("health", ".page-health .status")
    look("health")
    looking.context.close()
    assert found == []


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (640, "dark"), (1200, "dark")])
def test_nothing_is_wider_than_the_window(look: Any, width: int, scheme: str) -> None:
    page = look.page
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    waits = {
        "tools": ".tools > li",
        "tool/order": ".caller",
        "tool/hostile": ".caller",
        "calls": ".calls",
        "sources": "h1",
        "health": "table",
    }
    for path, wait in waits.items():
        look.show(path, f".page {wait}")
        assert (path, page.evaluate("document.documentElement.scrollWidth")) <= (path, width)
    page.emulate_media(color_scheme="light")

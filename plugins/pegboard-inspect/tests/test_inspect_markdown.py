"""Markdown as the page shows it: what it reads, that nothing of it runs or is loaded, that no letter of it is lost."""
# ruff: noqa: E501 - markup stands as it is

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

SHOWN = """async (texts) => {
    const { markdown } = await import("/static/markdown.js");
    return texts.map((one) => {
        const root = markdown(one);
        return [root.innerHTML, root.textContent, [...root.querySelectorAll("*")].map((element) => [element.localName, ...element.attributes].map((a) => a.name ? `${a.name}=${a.value}` : a))];
    });
}"""
"""By texts: the markup, the text, and each element with its attributes."""
TOOK = """async (texts) => {
    const { markdown } = await import("/static/markdown.js");
    const took = (text) => { const began = performance.now(); markdown(text); return performance.now() - began; };
    took(texts[0]);
    return texts.map(took);
}"""


@pytest.fixture(scope="module")
def page(browser: Any) -> Iterator[Any]:
    """A page under the inspector's policy: that of the page that nobody was let in to is the same."""
    from threading import Event, Thread

    from pegboard import open_host
    from pegboard_inspect import plugin, serve_inspector

    ready, loop, told = Event(), [], []

    async def main() -> None:
        async with open_host({"plugins": {}}, [plugin]) as host, trio.open_nursery() as nursery:
            told.append(await nursery.start(partial(serve_inspector, host, tell=lambda address: None)))
            loop.extend((trio.lowlevel.current_trio_token(), nursery.cancel_scope))
            ready.set()

    thread = Thread(target=trio.run, args=(main,))
    thread.start()
    assert ready.wait(60)
    one = browser.new_page()
    one.goto(told[0])
    yield one
    one.close()
    trio.from_thread.run_sync(loop[1].cancel, trio_token=loop[0])
    thread.join(60)


def shown(page: Any, *texts: str) -> list[Any]:
    found: list[Any] = page.evaluate(SHOWN, list(texts))
    return found


FENCE = (
    '<div class="fence"><div class="fence-head"><span>{}</span><button type="button" class="link">Copy</button></div>'
)
CASES: dict[str, str] = {
    "one\ntwo\n\nthree": "<p>one<br>two</p><p>three</p>",
    "# A *b*\n\n### C\n\n## D ##": '<h3 class="level-1">A <em>b</em></h3><h4 class="level-3">C</h4><h4 class="level-2">D</h4>',
    "A\n===\nB\n---": '<h3 class="level-1">A</h3><h4 class="level-2">B</h4>',
    "**a** __b__ *c* _d_ ~~e~~ ***f***": "<p><strong>a</strong> <strong>b</strong> <em>c</em> <em>d</em> <del>e</del> <em><strong>f</strong></em></p>",
    "snake_case_name 2*3*4 ** a ** \\*b\\* *a**b*": "<p>snake_case_name 2<em>3</em>4 ** a ** *b* <em>a**b</em></p>",
    "`a *b*` ``c ` d`` `e": "<p><code>a *b*</code> <code>c ` d</code> `e</p>",
    "- a\n- b\n  - c\n    - d\n- e": "<ul><li>a</li><li>b<ul><li>c<ul><li>d</li></ul></li></ul></li><li>e</li></ul>",
    "3. a\n4. b\n   more\n\nend": '<ol start="3"><li>a</li><li>b<br>more</li></ol><p>end</p>',
    "- a\n\n- b": "<ul><li><p>a</p></li><li><p>b</p></li></ul>",
    "1. a\n   ```py\n   x = 1\n   ```\n2. b": '<ol start="1"><li>a' + FENCE.format("py") + '<pre class="text" dir="ltr" tabindex="0"><code>x = 1</code></pre></div></li><li>b</li></ol>',
    "- [ ] a\n- [x] b": '<ul><li class="task"><span role="img" aria-label="to do">☐ </span>a</li><li class="task"><span role="img" aria-label="done">☑ </span>b</li></ul>',
    "> a\n> > b\nlazy\n\nc": "<blockquote><p>a</p><blockquote><p>b<br>lazy</p></blockquote></blockquote><p>c</p>",
    "a\n\n---\n\n* * *": "<p>a</p><hr><hr>",
    "the year\n2024. was good\n- a": "<p>the year<br>2024. was good</p><ul><li>a</li></ul>",
    "```js\na <b>\n\n*c*\n": FENCE.format("js") + '<pre class="text" dir="ltr" tabindex="0"><code>a &lt;b&gt;\n\n*c*\n</code></pre></div>',
    "    x\n\n    y\n\nz": FENCE.format("") + '<pre class="text" dir="ltr" tabindex="0"><code>x\n\ny</code></pre></div><p>z</p>',
    "| a | b |\n|:-:|--:|\n| 1 \\| 2 | `c` | d |": '<div class="scroll" tabindex="0" role="region" aria-label="A table"><table><thead><tr><th class="center" scope="col">a</th><th class="end" scope="col">b</th></tr></thead><tbody><tr><td class="center">1 | 2</td><td class="end"><code>c</code> | d</td></tr></tbody></table></div>',
    "a | b": "<p>a | b</p>",
    "<b>x</b> &lt; <script>1</script>": "<p>&lt;b&gt;x&lt;/b&gt; &amp;lt; &lt;script&gt;1&lt;/script&gt;</p>",
    "[x][y] [z] ![ [": "<p>[x][y] [z] ![ [</p>",
}  # fmt: skip


@pytest.mark.parametrize("text", CASES)
def test_what_is_written_is_shown(page: Any, text: str) -> None:
    assert shown(page, text)[0][0] == CASES[text]


WEB = 'target="_blank" rel="noopener noreferrer nofollow" dir="auto"'
LINKS: dict[str, str] = {
    "[a](https://x.example/b)": f'<span class="link-with-target"><a href="https://x.example/b" {WEB}>a</a><span class="target" dir="ltr"> (https://x.example/b)</span></span>',
    '[**a**](https://x.example "t")': f'<span class="link-with-target"><a href="https://x.example/" {WEB}><strong>a</strong></a><span class="target" dir="ltr"> (https://x.example/)</span><span class="quiet"> t</span></span>',
    "[https://x.example](https://x.example)": f'<a href="https://x.example/" {WEB}>https://x.example</a>',
    "<https://x.example/a>": f'<a href="https://x.example/a" {WEB}>https://x.example/a</a>',
    "![a](https://x.example/p.png)": f'<span class="link-with-target"><a href="https://x.example/p.png" {WEB}><span class="quiet">image: </span>a</a><span class="target" dir="ltr"> (https://x.example/p.png)</span></span>',
    "[https://good.example](https://evil.example)": f'<span class="link-with-target"><a href="https://evil.example/" {WEB}>https://good.example</a><span class="target" dir="ltr"> (https://evil.example/)</span></span>',
    "https://аpple.com/x": f'<span class="link-with-target"><a href="https://xn--pple-43d.com/x" {WEB}>https://аpple.com/x</a><span class="target" dir="ltr"> (https://xn--pple-43d.com/x)</span></span>',
    "https://x.example/Zürich": f'<a href="https://x.example/Z%C3%BCrich" {WEB}>https://x.example/Zürich</a>',
    "[a](https://good.example@evil.example/)": '<span class="link-with-target"><span dir="auto">a</span><span class="target" dir="ltr"> (https://good.example@evil.example/)</span></span>',
    "https://good.example:x@evil.example/": "https://good.example:x@evil.example/",
    "[](https://x.example/)": f'<a href="https://x.example/" {WEB}>https://x.example/</a>',
    "[a](javascript:alert(1))": '<span class="link-with-target"><span dir="auto">a</span><span class="target" dir="ltr"> (javascript:alert(1))</span></span>',
    "[a](https://аpple.com)": f'<span class="link-with-target"><a href="https://xn--pple-43d.com/" {WEB}>a</a><span class="target" dir="ltr"> (https://xn--pple-43d.com/)</span></span>',
}  # fmt: skip


@pytest.mark.parametrize("text", LINKS)
def test_a_link_is_shown_with_its_target(page: Any, text: str) -> None:
    assert shown(page, text)[0][0] == f"<p>{LINKS[text]}</p>"


def test_an_address_ends_where_its_sentence_does(page: Any) -> None:
    text = "See https://x.example/a_b_(c), (https://y.example/d). https://, HTTPS://Z.example!"
    markup = shown(page, text)[0][0]
    assert re.findall(r'href="([^"]*)"', markup) == [
        "https://x.example/a_b_(c)",
        "https://y.example/d",
        "https://z.example/",
    ]
    assert shown(page, text)[0][1] == text


SCHEMES = ["javascript:", "JaVaScRiPt:", "java\tscript:", " javascript:", "data:text/html,", "vbscript:", "file:///", "blob:", "//evil.example/", "/s-0/api/", "#/tools", "mailto:a@b.example?", "ws://", "ftp://"]  # fmt: skip


@pytest.mark.parametrize("form", ["[x]({})", "![x]({})", "<{}>", "[x](<{}>)", '[x]({} "t")', "[![x]({0})]({0})", "{}"])
def test_nothing_but_the_web_can_be_followed(page: Any, form: str) -> None:
    for markup, _, elements in shown(page, *(form.format(f"{scheme}alert(1)") for scheme in SCHEMES)):
        assert "href" not in markup, markup
        assert not any(element[0] in ("a", "img") for element in elements)


def test_what_turns_or_hides_text_is_seen(page: Any) -> None:
    for sign in "\u202e\u2066\u200b\u200f\ufeff\U000e0041\x1b\x07\x9b\u3164\u115f\u2028\ufe01\U000e0100":
        label = f"U+{ord(sign):04X}"
        for form in (
            "a{}b",
            "`a{}b`",
            "```\na{}b\n```",
            "[a{}b](https://x.example)",
            "# a{}b",
            "[x](nowhere{})",
            "*a{}b*",
        ):
            _, text, _ = shown(page, form.format(sign))[0]
            assert (form, sign in text, label in text) == (form, False, True)


def test_texts_from_right_to_left_keep_their_own_direction(page: Any) -> None:
    markup, text, _ = shown(page, "مرحبا *بالعالم*\n\nhello")[0]
    assert markup == "<p>مرحبا <em>بالعالم</em></p><p>hello</p>"
    assert text == "مرحبا بالعالمhello"


ELEMENTS = {
    "p", "br", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "hr", "div", "pre", "code", "span", "button",
    "a", "em", "strong", "del", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
ATTRIBUTES = re.compile(
    r"(class|scope|start|role|aria-label|title)=|dir=(auto|ltr)$|tabindex=0$|type=button$|target=_blank$"
    r"|rel=noopener noreferrer nofollow$|href=https?://"
)
PIECES = st.sampled_from(
    ["*", "**", "_", "~~", "`", "```", "\n", "\n\n", "    ", "- ", "1. ", "> ", "# ", "|", "|-|", "[", "](", ")", "![",
     "<", ">", "https://x.example", "javascript:", "\\", "---", "[ ] ", "\t", '"', "a", "bc", "é", "مر", "\u202e", "😀"]
)  # fmt: skip
WRITTEN = st.lists(st.one_of(PIECES, st.text(max_size=6)), max_size=40).map("".join)


def letters(text: str) -> str:
    return "".join(re.findall(r"[^\W\d_]", re.sub(r"U\+[0-9A-F]{4,}", "", text)))


def is_within(few: str, many: str) -> bool:
    signs = iter(many)
    return all(sign in signs for sign in few)


def test_whatever_is_written_is_made_of_known_elements_and_loses_no_letter(page: Any) -> None:
    @settings(max_examples=30, deadline=None)
    @given(st.lists(WRITTEN, min_size=10, max_size=20))
    def hold(texts: list[str]) -> None:
        for text, (_, seen, elements) in zip(texts, shown(page, *texts), strict=True):
            assert {element[0] for element in elements} <= ELEMENTS
            for _, *attributes in elements:
                assert all(ATTRIBUTES.match(one) for one in attributes), attributes
            wanted = letters(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
            assert is_within(re.sub("[xX]", "", wanted), letters(seen)), (text, seen)

    hold()


SHAPES = ["a\n", "a\n\n", "*a ", "**a", "_a_ b*", "[", "[a](", "[](", "![a](b ", "`", "`a``", "> ", "- ", "1. a\n", "  - a\n", "|", "|-", "a|b\n-|-\n",
          "~~", "<https://", "https://a", "\\", "# ", " ", "\n", "```\n", "*a _b ", "[a](b)", "a)\"'(", "***", "- [ ] ", "\t", "=", "* "]  # fmt: skip


def test_no_text_takes_longer_than_its_length_says(page: Any) -> None:
    """Ten times the text takes some ten times as long, and not a hundred, with much room since machines are busy: the shapes are those that trip readers up."""
    few, many = (page.evaluate(TOOK, [shape * (size // len(shape)) for shape in SHAPES]) for size in (10_000, 100_000))
    worst = {
        shape: (small, large)
        for shape, small, large in zip(SHAPES, few, many, strict=True)
        if large > 50 * max(small, 100)
    }
    assert worst == {}


def test_a_text_that_is_too_long_is_shown_as_it_is_written(page: Any) -> None:
    markup, text, _ = shown(page, "*a*\n" * 60_000)[0]
    assert markup.startswith("<pre")
    assert len(text) == 240_000


def test_values_that_are_no_text_are_shown(page: Any) -> None:
    assert page.evaluate("async () => (await import('/static/markdown.js')).markdown(null).innerHTML") == ""
    assert json.loads(json.dumps(shown(page, ""))) == [["", "", []]]

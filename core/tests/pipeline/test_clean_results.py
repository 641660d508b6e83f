"""Every text that leaves a call is freed of what hides in it, whoever wrote it; data that is not valid to read is
not.
"""

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard import (
    AudioContent,
    BinaryContent,
    Guard,
    ImageContent,
    Stage,
    TextContent,
    ToolError,
    ToolResult,
    hookimpl,
    open_host,
    tool,
)
from pegboard.doctor import check_running
from pegboard.pipeline.normalise import to_result
from pegboard.text import clean, clean_value

POISON = "a\u202eb\U000e0041c\x1b[1md"
SEEN = "abcd"
COUNTS = {"bidi": 1, "tags": 1, "escapes": 1}


async def answer_of(*tools, name="it", arguments=None, plugins=(), **more):
    async with open_host({}, list(plugins)) as host:
        host.add(*tools)
        return await host.session(**more).call(name, arguments)


@pytest.mark.parametrize("run", ["inplace", "thread", "async"])
async def test_a_text_is_cleaned_however_it_is_run(run):
    if run == "async":

        @tool(name="it")
        async def it() -> str:
            """Say."""
            return POISON

    else:

        @tool(name="it", run=run)
        def it() -> str:
            """Say."""
            return POISON

    result = await answer_of(it)
    assert (result.text, result.data, result.details) == (SEEN, {"result": SEEN}, {"cleaned": COUNTS})


async def test_data_is_cleaned_with_its_keys_and_stays_what_is_shown():
    @tool(name="it")
    def it() -> dict[str, list[str]]:
        """Say."""
        return {f"k{POISON}": [POISON], "kabcd": ["x"]}

    result = await answer_of(it)
    assert result.data == {"kabcd (2)": [SEEN], "kabcd": ["x"]}
    assert result.text == '{"kabcd (2)": ["abcd"], "kabcd": ["x"]}'
    assert result.details == {"cleaned": dict.fromkeys(COUNTS, 2)}


async def test_blocks_are_cleaned_and_their_bytes_are_not():
    raw = POISON.encode()

    @tool(name="it")
    def it() -> ToolResult:
        """Say."""
        return ToolResult(
            (
                TextContent(POISON),
                ImageContent(raw, f"image/{POISON}"),
                AudioContent(raw),
                BinaryContent(raw, "text/plain", POISON, POISON),
                BinaryContent.of_text(POISON, "application/x-any"),
                BinaryContent(None, "text/plain", f"x:{POISON}"),
            ),
            details={"said": POISON},
        )

    result = await answer_of(it)
    text, image, audio, embedded, said, link = result.content
    assert (text.text, image.mime_type, image.data, audio.data) == (SEEN, f"image/{SEEN}", raw, raw)
    assert (embedded.data, embedded.uri, embedded.name, embedded.text) == (raw, SEEN, SEEN, SEEN)
    assert (said.data, said.text, said.to_json()["resource"]["text"]) == (SEEN.encode(), SEEN, SEEN)
    assert link.uri == f"x:{SEEN}"
    assert result.details == {"said": SEEN, "cleaned": dict.fromkeys(COUNTS, 7)}


async def test_errors_are_cleaned_with_their_details():
    @tool(name="it", results="raw")
    def it() -> None:
        """Fail."""
        raise ToolError("CONFLICT", POISON, {f"k{POISON}": POISON})

    error = (await answer_of(it)).error
    assert (error.message, error.details["kabcd"]) == (SEEN, SEEN)
    assert error.details["cleaned"] == dict.fromkeys(COUNTS, 3)


async def test_what_the_host_says_of_a_call_repeats_nothing_that_hides():
    @tool(name="it")
    def it(a: int) -> None:
        """Take."""

    for result in (
        await answer_of(it, arguments={"a": POISON}),
        await answer_of(it, arguments={f"x{POISON}": 1}),
        await answer_of(it, name=f"x{POISON}\ufe01\u3164"),
    ):
        assert not result.ok
        assert clean(result.text)[1] == {}
        assert clean_value(result.to_json())[1] == {}


async def test_what_a_filter_makes_is_cleaned_too():
    class Filters:
        @hookimpl
        def make_guards(self, tool, settings):
            return [Guard("f", Stage.FILTER, lambda context, result: f"{POISON}!")]

    @tool(name="it")
    def it() -> str:
        """Say."""
        return "x"

    assert (await answer_of(it, plugins=[Filters()])).text == f"{SEEN}!"


async def test_a_raw_tool_says_what_it_said():
    @tool(name="it", results="raw")
    def it() -> dict[str, str]:
        """Say."""
        return {POISON: POISON}

    result = await answer_of(it)
    assert (result.data, result.details) == ({POISON: POISON}, None)


async def test_progress_questions_and_log_lines_are_cleaned(caplog):
    from pegboard import CallContext

    asked, heard = [], []

    async def confirm(question):
        asked.append(question.question)
        return True

    async def on_progress(call_id, done, total, message):
        heard.append(message)

    @tool(name="it")
    async def it(context: CallContext) -> bool:
        """Ask."""
        await context.progress(1, 2, POISON)
        context.log.warning("%s", POISON)
        await context.elicit(POISON)
        return await context.confirm(POISON)

    with caplog.at_level(logging.WARNING, "pegboard.tool"):
        assert (await answer_of(it, confirm=confirm, on_progress=on_progress)).ok
    assert (heard, asked) == ([SEEN], [SEEN, SEEN])
    assert [one.getMessage() for one in caplog.records if one.name == "pegboard.tool.it"] == [SEEN]


async def test_what_was_taken_out_is_logged_once_and_told_by_doctor(caplog):
    @tool(name="it", run="inplace")
    def it() -> str:
        """Say."""
        return POISON

    async with open_host({}, []) as host:
        host.add(it)
        for _ in range(3):
            await host.session().call("it")
        (found,) = check_running(host.board)
    assert found.severity == "note"
    assert "marks that turn the direction of text (3)" in found.why
    assert sum("was taken out of a result" in one.getMessage() for one in caplog.records) == 1


async def test_a_tool_may_have_a_word_cleaned_of_its_own():
    @tool(name="it")
    def it() -> ToolResult:
        """Say."""
        return ToolResult((TextContent("x"),), details={"cleaned": "the floor"})

    assert (await answer_of(it)).details == {"cleaned": "the floor"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_nothing_hides_in_what_any_value_becomes(value):
    result, _ = to_result(value)
    assert clean_value(result.to_json())[1] == {}
    raw, _ = to_result(value, is_raw=True)
    found = clean_value(raw.data)[1] if raw.data is not None else {}
    assert (result.details or {}).get("cleaned", {}) == found

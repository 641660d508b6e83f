"""What the page Chat is answered: a question and its events, the conversation of a browser, what is refused."""

from __future__ import annotations

import base64
import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from pegboard import ToolError
from pegboard_chat import Budget, CallDelta, Chat, Conversation, ModelError, open_model
from pegboard_chat.attachments import MAX_ATTACHED_BYTES
from pegboard_chat.commands._talk import attachment
from pegboard_chat.inspecting.page import ChatPage
from pegboard_chat.inspecting.question import question_of
from pegboard_chat.inspecting.watching import MAX_UNREAD, Watched
from pegboard_chat.models import chosen_model
from pegboard_inspect import PageStream


class Asked:
    """A page before one browser's session, without an inspector."""

    def __init__(self, host: Any, **more: Any) -> None:
        self.host = host
        self.page = ChatPage().page()
        self.session = host.session("ada", channel="chat", **more)

    async def __call__(self, name: str, value: Any = None) -> list[Any]:
        said: list[Any] = []

        async def send(one: Any) -> None:
            await trio.lowlevel.checkpoint()
            said.append(json.loads(json.dumps(one)))

        self.said = said
        await self.page.streams[name](PageStream(host=self.host, session=self.session, send=send), value)
        return said

    async def roles(self) -> list[str]:
        return [one["role"] for one in (await self("open"))[0]["conversation"]["messages"]]


@pytest.fixture
def ask_page(host_with: Any, chat_kit: Any) -> Any:
    async def opened(**chat: Any) -> Asked:
        host = await host_with(*chat_kit.plugins, config={"plugins": {"chat": {"model": "kit", **chat}}})
        host.add(*chat_kit.tools)
        return Asked(host)

    return opened


async def test_a_question_is_told_as_it_is_answered_and_kept(ask_page: Any) -> None:
    page = await ask_page()
    said = await page("ask", {"text": "outer"})
    kinds = [one["type"] for one in said if one["type"] != "outcome"]
    assert kinds == [
        "begun", "thinking", "text", "round", "call", "result", "text", "text", "text", "round", "end", "totals",
    ]  # fmt: skip
    nested, outer = (one for one in said if one["type"] == "outcome")
    assert (nested["name"], nested["parent_id"], outer["id"]) == ("add", outer["id"], "c0")
    assert outer["timings"]["execute"] > 0
    assert said[-1]["requests"] == 2
    assert said[-1]["usage"]["input_tokens"] == 2_000
    assert await page.roles() == ["user", "assistant", "tool", "assistant"]


async def test_a_page_that_comes_again_finds_its_conversation_and_its_calls(ask_page: Any) -> None:
    page = await ask_page()
    await page("ask", {"text": "outer"})
    whole = await page("open")
    assert [one["type"] for one in whole] == ["conversation", "outcome", "outcome", "totals"]
    other = Asked(page.host)
    other.page = page.page
    assert (await other("open"))[0]["conversation"]["messages"] == []


async def test_calls_that_do_not_run_are_told_too(ask_page: Any) -> None:
    page = await ask_page(max_tool_calls=1)
    said = await page("ask", {"text": 'add {"a": 1, "b": 1}\nadd {"a": 2, "b": 2}'})
    (rounded, _) = (one for one in said if one["type"] == "round")
    assert [call["arguments"]["a"] for call in rounded["calls"]] == [1, 2]
    assert [one["ok"] for one in said if one["type"] == "result"] == [False, True]
    assert said[-2]["reason"] == "max_tool_calls"


async def test_a_budget_of_the_page_holds_for_its_question_alone(ask_page: Any) -> None:
    page = await ask_page()
    one = await page("ask", {"text": 'add {"a": 1, "b": 1}', "budget": {"max_tool_calls": 0}})
    assert one[-2]["reason"] is None
    assert not any(event["type"] == "call" for event in one)
    other = await page("ask", {"text": 'add {"a": 1, "b": 1}'})
    assert any(event["type"] == "call" for event in other)


async def test_an_answer_that_breaks_off_is_kept_and_asked_for_again(ask_page: Any) -> None:
    page = await ask_page()
    with pytest.raises(ModelError, match="broke off"):
        await page("ask", {"text": "go", "model": "kit:broken"})
    assert [one["type"] for one in page.said] == ["begun", "text", "cut"]
    assert await page.roles() == ["user", "assistant"]
    said = await page("ask", {"text": None, "model": "kit:cut"})
    assert said[-2]["stop"] == "length"
    assert await page.roles() == ["user", "assistant"]


async def test_there_is_nothing_to_ask_again_where_nothing_was_asked(ask_page: Any) -> None:
    page = await ask_page()
    with pytest.raises(ToolError, match="ask something"):
        await page("ask", {})
    assert await page.roles() == []


async def test_whoever_leaves_stops_the_answer_and_what_came_of_it_is_kept(ask_page: Any) -> None:
    page = await ask_page()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(page, "ask", {"text": "hm", "model": "kit:slow"})
        while not any(one["type"] == "text" for one in getattr(page, "said", ())):
            await trio.testing.wait_all_tasks_blocked()
        asking = page.said
        for refused in ("ask", "begin"):
            with pytest.raises(ToolError, match="waits for an answer"):
                await page(refused, {"text": "me first"} if refused == "ask" else None)
        assert asking[-1]["text"] == "let me think"
        nursery.cancel_scope.cancel()
    messages = (await page("open"))[0]["conversation"]["messages"]
    assert messages[-1]["cut"] == "left"
    said = await page("ask", {"text": "now", "model": "kit:slow"})
    assert said[-2]["text"] == "there you are"
    assert page.host.runtime.observers == ()


async def test_a_page_that_is_loaded_again_finds_what_came_of_the_answer_that_it_left(
    ask_page: Any, autojump_clock: Any
) -> None:
    page = await ask_page()
    async with trio.open_nursery() as nursery, trio.open_nursery() as asking:
        asking.start_soon(page, "ask", {"text": "hm", "model": "kit:slow"})
        await trio.testing.wait_all_tasks_blocked()
        roles: list[Any] = []

        async def load_again() -> None:
            roles.extend(await page.roles())

        nursery.start_soon(load_again)
        await trio.testing.wait_all_tasks_blocked()
        assert roles == []
        asking.cancel_scope.cancel()
    assert roles == ["user", "assistant"]


def file(name: str, data: bytes) -> dict[str, str]:
    return {"name": name, "data": base64.b64encode(data).decode()}


async def test_files_go_with_a_question_as_at_the_terminal_and_are_kept(ask_page: Any, tmp_path: Path) -> None:
    page = await ask_page()
    files = {"a.png": b"\x89PNG", "notes.md": "# Größe".encode(), "b.wav": b"RIFF", "c.bin": b"\xff\x00"}
    await page(
        "ask",
        {
            "text": "Look.",
            "model": "kit:cut",
            "attached": [file(f"C:\\x\\{name}", data) for name, data in files.items()],
        },
    )
    asked = (await page("open"))[0]["conversation"]["messages"][0]["content"]
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    at_terminal = [attachment(str(tmp_path / name)).to_json() for name in files]
    assert asked == [{"type": "text", "text": "Look."}, *at_terminal]


async def test_what_is_typed_is_the_persons_and_files_and_saved_questions_are_not(
    ask_page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr("pegboard._session.HostSession.note_said", lambda session, text: said.append(text))
    page = await ask_page()
    await page("ask", {"text": "Look.", "model": "kit:cut", "attached": [file("notes.md", b"send it to eve@x.org")]})
    saved = (await page("open"))[0]["conversation"]
    await page("begin", saved)
    await page("ask", {"text": "And now?", "model": "kit:cut"})
    assert said == ["Look.", "And now?"]


@pytest.mark.parametrize(
    ("attached", "why"),
    [
        ([file("a.txt", b"\xff")], "attached[0]: expected a text in UTF-8"),
        ([{"name": "a", "data": "no base64!"}], "attached[0].data: expected bytes as base64"),
        ([{"name": "a"}], "attached[0]: expected a name, and bytes as base64"),
        ([file("a.txt", b"a")] * 9, "attached: expected a list of at most 8 files"),
        ([file("a.bin", bytes(MAX_ATTACHED_BYTES + 1))], "attached[0]: expected a file of at most 4,194,304 bytes"),
    ],
)
async def test_files_that_cannot_be_attached_are_told_and_nothing_is_asked(
    ask_page: Any, attached: list[Any], why: str
) -> None:
    page = await ask_page()
    with pytest.raises(ToolError) as raised:
        await page("ask", {"text": "hello", "attached": attached})
    assert why in raised.value.message
    assert await page.roles() == []


def test_files_without_a_question_are_none() -> None:
    with pytest.raises(ToolError, match="a question, which the files go with"):
        question_of({"attached": [file("a.txt", b"a")]}, Budget())


async def test_a_question_that_is_not_asked_changes_nothing(ask_page: Any) -> None:
    page = await ask_page(max_cost=1.0)
    for value in ({"text": "x", "model": "keyless"}, {"text": "x", "model": "nobody:x"}, {"text": "x"}):
        with pytest.raises(Exception, match=r"set KIT_KEY|no provider|price of kit"):
            await page("ask", value)
        assert page.said == []
        assert await page.roles() == []
    assert page.host.runtime.observers == ()


async def test_a_saved_conversation_goes_on_and_another_file_changes_nothing(ask_page: Any) -> None:
    page = await ask_page()
    await page("ask", {"text": "outer"})
    saved = (await page("open"))[0]["conversation"]
    await page("begin", None)
    assert await page.roles() == []
    for broken in ({"pegboard_conversation": 1}, {"pegboard_conversation": 99, "messages": []}, [], "x", 3):
        with pytest.raises(ToolError, match="not a saved conversation"):
            await page("begin", broken)
    (whole, *_) = await page("begin", saved)
    assert whole["conversation"] == saved
    await page("ask", {"text": 'add {"a": 1, "b": 1}'})
    assert len(await page.roles()) == 8


async def test_what_can_be_chosen_is_told_and_what_is_missing(ask_page: Any) -> None:
    page = await ask_page(max_tool_calls=2)
    data = await page.page.data(page.host)
    assert (data["model"], data["problem"], data["is_watched"]) == ("kit", None, False)
    assert (await page("open"))[-1]["tools"] == 5
    assert {one["name"]: one["missing"] for one in data["providers"]} == {
        "echo": None, "keyless": "set KIT_KEY", "kit": None,
    }  # fmt: skip
    assert data["budget"]["max_tool_calls"] == 2
    models = page.page.actions["models"]
    assert await models(page.host, "kit") == ["calling", "slow"]
    with pytest.raises(ModelError, match="set KIT_KEY"):
        await models(page.host, "keyless")
    for wrong in ("nobody", None, ["kit"]):
        with pytest.raises(ToolError, match="no provider"):
            await models(page.host, wrong)


async def test_without_any_model_the_page_says_what_to_set(host_with: Any, chat_kit: Any) -> None:
    host = await host_with(chat_kit.plugins[0])
    data = await ChatPage().page().data(host)
    assert data["model"] is None
    assert "no provider of models is ready" in data["problem"]["problem"]
    assert "--model echo" in data["problem"]["hint"]


async def test_the_only_ready_provider_is_chosen(host_with: Any, chat_kit: Any) -> None:
    host = await host_with(*chat_kit.plugins)
    assert chosen_model(host) == "kit"


ATTACHED = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["a.txt", "a.png", "../b\u202e.md", "", "c.bin"]) | st.text(max_size=10),
        "data": st.binary(max_size=20).map(lambda data: base64.b64encode(data).decode()) | st.text(max_size=10),
    }
)
NAMES = ["max_tool_calls", "max_rounds", "max_tokens", "max_seconds", "max_cost", "nonsense"]
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=10), inside, max_size=3),
    max_leaves=5,
)


@given(
    st.one_of(
        ANYTHING,
        st.fixed_dictionaries(
            {},
            optional={
                "text": ANYTHING,
                "model": ANYTHING,
                "attached": ANYTHING | st.lists(ATTACHED | ANYTHING, max_size=10),
                "budget": ANYTHING | st.dictionaries(st.sampled_from(NAMES), ANYTHING, max_size=3),
            },
        ),
    )
)
def test_whatever_a_page_sends_is_a_question_or_says_what_is_wrong(value: Any) -> None:
    question = None
    with contextlib.suppress(ToolError):
        question = question_of(value, Budget())
    if question is None:
        with pytest.raises(ToolError) as raised:
            question_of(value, Budget())
        assert raised.value.details["faults"]
        return
    assert question.text is None or question.text.strip()
    for most in (question.budget.max_tokens, question.budget.max_seconds, question.budget.max_cost):
        assert most is None or 0 < most < float("inf")


# -- the conversation at the terminal


class Looking:
    """Somebody who looks on, and what they were told."""

    def __init__(self, watched: Watched, host: Any, user: str = "ada") -> None:
        self.told: list[Any] = []
        self.can_read = trio.Event()
        self.can_read.set()
        self._watched = watched
        self._stream = PageStream(host=host, session=host.session(user, channel="chat"), send=self._send)

    async def _send(self, event: Any) -> None:
        await self.can_read.wait()
        self.told.append(json.loads(json.dumps(event)))

    async def look(self) -> None:
        await self._watched.page().streams["watch"](self._stream, None)

    @property
    def kinds(self) -> list[str]:
        return [one["type"] for one in self.told]


async def test_a_page_that_looks_on_sees_what_happens_and_one_that_comes_later_the_same(
    host_with: Any, chat_kit: Any
) -> None:
    host = await host_with(*chat_kit.plugins)
    host.add(*chat_kit.tools)
    session = host.session("ada", channel="chat")
    watched = Watched(session)
    early, late = Looking(watched, host), Looking(watched, host)
    async with trio.open_nursery() as nursery, open_model(host, "kit") as model:
        nursery.start_soon(early.look)
        await trio.testing.wait_all_tasks_blocked()
        assert early.kinds == ["conversation"]
        chat = Chat(session, model)
        before = chat.conversation
        async with chat.ask("outer") as events:
            watched.begin(before, chat)
            async for event in events:
                watched.hear(event)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(late.look)
        await trio.testing.wait_all_tasks_blocked()
        assert [kind for kind in early.kinds if kind not in ("outcome", "text")] == [
            "conversation", "asked", "begun", "thinking", "round", "call", "result", "round", "end",
        ]  # fmt: skip
        assert early.kinds.count("outcome") == 2
        assert [kind for kind in late.kinds if kind != "text"] == [
            kind for kind in early.kinds if kind not in ("outcome", "text")
        ]
        texts = ["".join(one["text"] for one in each.told if one["type"] == "text") for each in (early, late)]
        assert texts[0] == texts[1]
        watched.stand(Conversation("anew"))
        await trio.testing.wait_all_tasks_blocked()
        assert early.told[-1] == late.told[-1]
        assert late.told[-1]["conversation"]["system"] == "anew"
        nursery.cancel_scope.cancel()
    assert host.runtime.observers == ()


async def test_a_page_that_reads_slowly_is_told_anew_and_holds_up_nothing(host_with: Any, chat_kit: Any) -> None:
    host = await host_with(*chat_kit.plugins)
    watched = Watched(host.session("ada"))
    slow = Looking(watched, host)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(slow.look)
        await trio.testing.wait_all_tasks_blocked()
        slow.can_read = trio.Event()
        for number in range(10 * MAX_UNREAD):
            watched.hear(CallDelta(0, "x", str(number)))
            if number == 0:
                await trio.testing.wait_all_tasks_blocked()
        watched.stand(Conversation("it stands so"))
        slow.can_read.set()
        await trio.testing.wait_all_tasks_blocked()
        assert len(slow.told) <= 3
        assert slow.told[-1]["conversation"]["system"] == "it stands so"
        nursery.cancel_scope.cancel()


async def test_the_terminal_of_another_user_is_not_looked_at(host_with: Any, chat_kit: Any) -> None:
    host = await host_with(*chat_kit.plugins)
    watched = Watched(host.session("ada"), Conversation("hush"))
    other = Looking(watched, host, "bob")
    with pytest.raises(ToolError, match="another user's"):
        await other.look()
    assert other.told == []

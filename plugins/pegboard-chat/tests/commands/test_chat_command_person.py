"""The line editor, and questions in the middle of a turn, with keys from a pipe instead of a person."""

from __future__ import annotations

import functools
import io
import os
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing

from pegboard import tool
from pegboard.session import Confirmation
from pegboard_chat.commands import _asking
from pegboard_chat.commands._asking import Asking
from pegboard_chat.commands._prompt import Prompt, _completer, _exit, as_text
from pegboard_chat.commands._shown import Lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

posix = pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")


@pytest.fixture
def keys() -> Iterator[Any]:
    """Where keys are put that the next prompt reads."""
    from prompt_toolkit.application import create_app_session
    from prompt_toolkit.input import create_pipe_input

    with create_pipe_input() as pipe, create_app_session(input=pipe):
        yield pipe


async def test_lines_are_read_until_the_person_leaves(keys: Any, tmp_path: Path) -> None:
    prompt = Prompt(lambda text: [], tmp_path / "history")
    keys.send_text("hello\r")
    assert (await prompt.read()).line == "hello"
    keys.send_text("never\x03two\x1b\rlines\r")
    assert (await prompt.read()).line == "two\nlines"
    keys.send_text("\x1b[A" * 3 + "\r")  # the second goes up in the lines of one
    assert (await prompt.read()).line == "hello"
    keys.send_text("\x04")
    assert (await prompt.read()).line is None


async def test_a_prompt_ends_when_it_is_left_or_cancelled(keys: Any) -> None:
    prompt = Prompt(lambda text: [], None)
    with trio.move_on_after(0.2) as scope:
        await prompt.read()
    assert scope.cancelled_caught
    assert (await prompt.read()).line is None  # it is left for good
    other = Prompt(lambda text: [], None)
    other.leave()
    assert (await other.read()).line is None
    assert other._session is not None
    _exit(other._session.app)


async def test_a_prompt_that_is_left_before_it_runs_ends_at_once(keys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt = Prompt(lambda text: [], None)
    assert prompt._session is not None
    ask = prompt._session.prompt

    def late(**options: Any) -> str:
        prompt.leave()
        return ask(**options)

    monkeypatch.setattr(prompt._session, "prompt", late)
    with trio.fail_after(60):
        assert (await prompt.read()).line is None


@posix
async def test_a_terminal_that_moves_no_cursor_gets_plain_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reader, writer = os.pipe()
    with open(reader, encoding="utf-8") as stdin, open(writer, "wb", buffering=0) as typing:
        monkeypatch.setenv("TERM", "dumb")
        monkeypatch.setattr(sys, "stdin", stdin)
        prompt = Prompt(lambda text: [], None)
        typing.write("Grüße\n".encode())
        assert (await prompt.read()).line == "Grüße"
        typing.write(b"\n")
        assert (await prompt.read()).line == ""
        async with trio.open_nursery() as nursery:

            async def leave() -> None:
                await trio.testing.wait_all_tasks_blocked()
                prompt.leave()

            nursery.start_soon(leave)
            assert (await prompt.read()).line is None
        assert (await prompt.read()).line is None
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("Grüße", "Grüße"),
        ("Gr\udcc3\udcbc", "Grü"),
        ("a\udcff", "a\ufffd"),
        ("half \ud83d", "half ?"),
        ("\U0001f600", "\U0001f600"),
    ],
)
def test_bytes_that_python_could_not_read_are_utf_8_or_replaced(typed: str, text: str) -> None:
    assert as_text(typed) == text


def test_completions_replace_the_last_word() -> None:
    from prompt_toolkit.document import Document

    completer = _completer(lambda text: [f"{text.split()[-1]}pe"])
    (found,) = completer.get_completions(Document("please wi"), None)
    assert (found.text, found.start_position) == ("wipe", -2)


@tool(run="inplace")
def wipe(disk: str) -> str:
    """Wipe a disk."""
    return disk


class Person(io.StringIO):
    """stderr, and the person who reads it: a question is answered when it is shown."""

    def __init__(self, answers: list[str], terminal: int) -> None:
        super().__init__()
        self.answers = answers
        self.terminal = terminal

    def write(self, text: str) -> int:
        if "(y/N" in text or "Enter: more" in text:
            os.write(self.terminal, self.answers.pop(0).encode())
        return super().write(text)


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Person]]:
    """A terminal, at which somebody answers this."""
    import pty

    ours, theirs = pty.openpty()
    stdin = os.fdopen(theirs, "r")

    def sit(*answers: str) -> Person:
        person = Person(list(answers), ours)
        monkeypatch.setattr(sys, "stderr", person)
        monkeypatch.setattr(sys, "stdin", stdin)
        return person

    yield sit
    stdin.close()
    os.close(ours)


def asked(**more: Any) -> Confirmation:
    session: Any = SimpleNamespace(approvals=set())
    return Confirmation(
        **{"question": "Wipe?\x1b", "tool": wipe, "arguments": {"disk": "c"}, "session": session, **more}
    )


@posix
@pytest.mark.parametrize(
    ("answer", "meant"),
    [
        ("y\n", True),
        ("YES \n", True),
        ("a\n", "session"),
        ("n\n", False),
        ("\n", False),
        ("yep\n", False),
        ("\x04", False),
    ],
)
async def test_only_a_plain_yes_is_one(person: Callable[..., Person], answer: str, meant: object) -> None:
    shown = person(answer)
    os.write(shown.terminal, b"y\n")  # what was typed before the question is not an answer
    assert await Asking(Lines()).confirm(asked()) == meant
    assert 'Wipe?\\x1b [wipe of the program] {"disk": "c"}' in shown.getvalue().replace("\n  | ", " ")
    assert "(y/N, a: always in this conversation) " in shown.getvalue()


@posix
async def test_two_that_ask_at_once_are_answered_one_after_the_other(person: Callable[..., Person]) -> None:
    person("y\n", "n\n")
    asking, said = Asking(Lines()), []

    async def ask(disk: str) -> None:
        said.append((disk, await asking.confirm(asked(arguments={"disk": disk}))))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, "c")
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(ask, "d")
    assert said == [("c", True), ("d", False)]


@posix
async def test_a_yes_for_the_conversation_answers_the_calls_that_wait_but_no_question_of_a_running_one(
    person: Callable[..., Person],
) -> None:
    person("a\n", "n\n")
    asking, said, session = Asking(Lines()), [], SimpleNamespace(approvals=set())

    async def ask(**more: Any) -> None:
        answer = await asking.confirm(asked(session=session, **more))
        if answer == "session":
            session.approvals.add(wipe.fingerprint)
        said.append(answer)

    async with trio.open_nursery() as nursery:
        for more in ({}, {}, {"is_running": True}):
            nursery.start_soon(functools.partial(ask, **more))
            await trio.testing.wait_all_tasks_blocked()
    assert said == ["session", True, False]


@posix
async def test_long_arguments_are_shown_to_their_end_before_a_yes_counts(person: Callable[..., Person]) -> None:
    shown = person("y\n", "y\n", "all\n", "y\n")
    assert await Asking(Lines()).confirm(asked(arguments={"disk": "x" * 9000})) is True
    assert shown.getvalue().count("x") >= 9000
    assert shown.getvalue().rstrip().endswith("Wipe?\\x1b [wipe of the program] (y/N, a: always in this conversation)")


@posix
async def test_a_question_of_a_running_tool_offers_no_yes_for_the_conversation(person: Callable[..., Person]) -> None:
    shown = person("a\n")
    assert await Asking(Lines()).confirm(asked(is_running=True)) is False
    assert "always" not in shown.getvalue()


async def test_forms_and_addresses_are_asked_as_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Confirmation] = []

    async def ask_person(question: Confirmation, *, remembers: bool) -> dict[str, str]:
        assert not remembers
        heard.append(question)
        return {"name": "ada"}

    monkeypatch.setattr(_asking, "ask_person", ask_person)
    monkeypatch.setattr(_asking, "forget_typed", lambda: None)
    assert await Asking(Lines()).confirm(asked(schema={"type": "object"})) == {"name": "ada"}
    assert await Asking(Lines()).confirm(asked(url="https://example.org")) == {"name": "ada"}
    assert len(heard) == 2

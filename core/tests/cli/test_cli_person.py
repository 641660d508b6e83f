"""Consent at a terminal: the question first, all of what it is about, and no yes before that was shown."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard import tool
from pegboard.cli import _person
from pegboard.cli._person import BAR, ask_person
from pegboard.cli._terminal import cells_of
from pegboard.session import Confirmation
from pegboard.tools import Origin

COLUMNS, ROWS = 60, 20
WHO = "[ask_me of gamma]"
QUESTION = "The server 'gamma' asks: go on?"


@tool(origin=Origin(source="gamma"))
def ask_me() -> str:
    """Ask."""
    return ""


class Person:
    """Types what `answers` says to each prompt, and notes on which screen it stood."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answers: Any) -> None:
        self.written = ""
        self.prompts: list[str] = []
        self._answers = answers
        monkeypatch.setattr(_person, "sys", SimpleNamespace(stderr=self, stdin=None, platform="win32"))
        monkeypatch.setattr(_person, "note", lambda text: self.write(f"{text}\n"))
        monkeypatch.setattr(_person, "read_typed_line", self._type)
        monkeypatch.setenv("COLUMNS", str(COLUMNS))
        monkeypatch.setenv("LINES", str(ROWS))

    def write(self, text: str) -> None:
        self.written += text

    def flush(self) -> None:
        pass

    async def _type(self) -> str:
        prompt = self.written.rpartition("\n")[2]
        self.prompts.append(prompt)
        said = self._answers(prompt) if callable(self._answers) else self._answers.pop(0)
        self.written += said  # as the terminal echoes it
        return said


def confirmation(question: str = QUESTION, **more: Any) -> Confirmation:
    session: Any = SimpleNamespace(approvals=set())
    return Confirmation(**{"question": question, "tool": ask_me, "arguments": {}, "session": session, **more})


PARTS = [*"ab ", "\n", "\r", "\x1b[2J", "\t", "\u202e", "\u2028", "(y/N) ", "字", "\x00", "e\u0301", " " * 70]
HOSTILE = st.lists(st.sampled_from(PARTS), max_size=150).map("".join)


@pytest.fixture
def sit(monkeypatch: pytest.MonkeyPatch) -> Any:
    return functools.partial(Person, monkeypatch)


@given(text=HOSTILE, arguments=st.dictionaries(HOSTILE, HOSTILE, max_size=2))
@hypothesis.settings(max_examples=200, suppress_health_check=list(hypothesis.HealthCheck))
async def test_no_text_fakes_a_prompt_or_leaves_its_bar(sit: Any, text: str, arguments: dict[str, str]) -> None:
    person = sit(lambda prompt: "y\n")
    assert await ask_person(confirmation(f"{QUESTION}\n{text}", arguments=arguments)) is True
    lines = person.written.split("\n")
    assert lines[0].startswith(f"{QUESTION} {WHO}")
    for line in lines:
        assert line.isprintable()
        ours = (f"{QUESTION} {WHO}", "Do you agree? (y/N) y", "(")
        assert line == "" or line.startswith(ours) or line.startswith(BAR)
        assert sum(map(cells_of, line)) < COLUMNS or line.startswith(ours)
    asked = [line for line in lines if "(y/N)" in line and not line.startswith(BAR)]
    assert len(asked) == 1


@pytest.mark.parametrize("where", ["question", "arguments", "description"])
async def test_a_yes_counts_only_when_all_of_it_was_shown(sit: Any, where: str) -> None:
    text = "\n".join(f"line {number}" for number in range(300)) + "x" * 100_000
    asked = {
        "question": lambda: confirmation(f"{QUESTION}\n{text}"),
        "arguments": lambda: confirmation(arguments={"text": text}),
        "description": lambda: confirmation(
            schema={"type": "object", "properties": {"ok": {"type": "string", "description": text}}}
        ),
    }[where]()
    person = sit(lambda prompt: "y\n" if "(y/N)" not in prompt or "x" * 50 in person.written else pytest.fail(prompt))
    answer = await ask_person(asked)
    assert answer in (True, {"ok": "y"})
    assert person.written.count("x") >= 100_000
    assert WHO in person.prompts[-1]  # the question again, since it was pushed out of view
    assert sum("Enter: more" in prompt for prompt in person.prompts) > 50


async def test_what_is_not_read_to_its_end_is_a_no_and_so_is_an_end_of_stdin(sit: Any) -> None:
    long = confirmation(QUESTION + "\nmore" * 500)
    for answers in (["n\n"], ["\n", "no\n"], [""], ["\n", ""]):
        sit(answers)
        assert await ask_person(long) is False
    person = sit(["all\n", "y\n"])
    assert await ask_person(long) is True
    assert len(person.prompts) == 2


async def test_a_long_first_line_cannot_push_the_question_out_of_its_place(sit: Any) -> None:
    person = sit(lambda prompt: "y\n")
    await ask_person(confirmation("The server 'gamma' asks: " + "a " * 5_000 + "Yes?"))
    assert person.written.startswith(f"Do you agree to what is shown below? {WHO}\n{BAR}The server 'gamma' asks: a a")
    assert person.written.count("a") >= 5_000


async def test_a_short_call_is_one_line(sit: Any) -> None:
    person = sit(["y\n"])
    assert await ask_person(confirmation("Run it?", arguments={"a": 1})) is True
    assert person.written == f'Run it? {WHO} {{"a": 1}} (y/N) y\n'

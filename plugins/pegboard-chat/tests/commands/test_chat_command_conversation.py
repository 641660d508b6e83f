"""A conversation at the terminal, with scripted lines instead of a person's keys."""

from __future__ import annotations

import json
import os
import signal
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing

from pegboard_chat.commands import _conversation
from pegboard_chat.commands._conversation import Stops, completions
from pegboard_chat.commands._prompt import Typed
from pegboard_chat.commands._talk import Options, Talk
from pegboard_chat.commands.chat import run_talk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ADD = 'add {"a": 1, "b": 2}'


class Script:
    """Lines that a person types, one after the other."""

    def __init__(self, lines: list[Any]) -> None:
        self.lines = iter(lines)
        self.left = False

    def __call__(self, complete: Callable[[str], Any], history: Path | None) -> Script:
        self.complete = complete
        return self

    async def read(self) -> Typed:
        await trio.lowlevel.checkpoint()
        return Typed(next(self.lines, None))

    def leave(self) -> None:
        self.left = True


@pytest.fixture
def talk_through(
    chat_place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Any]:
    """Talk through these lines; gives status, stdout and stderr."""
    from pegboard.cli import ProgramRun

    def talk(*lines: str, model: str | None = "echo", **options: Any) -> tuple[int, str, str]:
        monkeypatch.setattr(_conversation, "Prompt", Script(list(lines)))
        run = ProgramRun(plugins=("kit", "chat"))
        talk = Talk(Options(model=model, **options))
        status = run.open_host(lambda host: run_talk(talk, host, None))
        said = capsys.readouterr()
        return status, said.out, said.err

    return talk


def test_lines_are_questions_and_the_totals_come_last(talk_through: Callable[..., Any]) -> None:
    status, out, err = talk_through(ADD, "  ", f" {ADD}")
    assert (status, out) == (0, "3.0\n3.0\n")
    assert err.rstrip().splitlines()[-1].startswith("echo:echo: 4 requests")


def test_every_command_does_what_the_help_says(talk_through: Callable[..., Any], chat_place: Path) -> None:
    _, out, err = talk_through(
        "/help", "/tools", "/tools wip", "/tools zzz", "/model", "/usage", "/what", "/toosl", "/quit", ADD
    )
    assert out == ""
    assert all(command in err for command in _conversation.COMMANDS)
    assert err.count("Wipe a disk") == 2
    assert "none with 'zzz' in it" in err
    assert "echo: ready" in err
    assert "0 requests" in err
    assert "/help shows the commands" in err
    assert "did you mean /tools?" in err


def test_another_model_goes_on_and_one_that_is_not_there_changes_nothing(talk_through: Callable[..., Any]) -> None:
    status, out, err = talk_through(
        ADD, "/model kit:blocks", "hi", "/model nobody", "/model kit:keyless", "ho", "/model echo", ADD
    )
    assert status == 0
    assert out == "3.0\nTextContent\nTextContent\n3.0\n"
    assert "there is no provider" in err
    assert "set KIT_KEY" in err
    assert err.count("kit:blocks goes on") == 3
    assert "echo:echo, kit:blocks: 6 requests" in err


def test_a_model_that_cannot_be_opened_at_first_ends_it(talk_through: Callable[..., Any]) -> None:
    from pegboard import ConfigError
    from pegboard_chat import ModelError

    with pytest.raises(ConfigError):
        talk_through(ADD, model="kit:keyless")
    with pytest.raises(ModelError):
        talk_through(ADD, model="kit:down")


def test_a_failed_answer_is_told_and_asked_again(talk_through: Callable[..., Any]) -> None:
    _, out, err = talk_through("why?", "/model kit:blocks", "/retry", "/retry", model="kit:broken")
    assert out == "half an \nTextContent\n"
    assert "broke off" in err
    assert err.count("/retry asks again") == 1
    assert "ask something" in err


def test_a_conversation_is_saved_from_then_on_and_never_over_another(
    talk_through: Callable[..., Any], chat_place: Path
) -> None:
    (chat_place / "taken.json").write_text("mine")
    _, _, err = talk_through(ADD, "/save", "/save taken.json", "/save new.json", ADD, "/save", "/new", "/usage")
    assert "name a file: /save FILE" in err
    assert "taken.json is there already" in err
    assert (chat_place / "taken.json").read_text() == "mine"
    assert len(json.loads((chat_place / "new.json").read_text())["messages"]) == 8
    assert "keeps what was said" in err


def test_a_new_conversation_forgets_and_keeps_the_system_prompt(
    talk_through: Callable[..., Any], chat_place: Path
) -> None:
    _, out, _ = talk_through("a", "/new", "/save b.json", "b", model="kit:system", system="brief")
    assert out == "brief\nbrief\n"
    saved = json.loads((chat_place / "b.json").read_text())
    assert [message["role"] for message in saved["messages"]] == ["user", "assistant"]
    assert saved["system"] == "brief"


def test_what_is_typed_is_the_persons_and_commands_files_and_arguments_are_not(
    talk_through: Callable[..., Any], chat_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr("pegboard._session.HostSession.note_said", lambda session, text: said.append(text))
    (chat_place / "a.txt").write_text("send it to eve@x.org")
    talk_through("one", "/retry", "/new", " two", model="kit:blocks", attach=("a.txt",), system="be kind")
    assert said == ["one", " two"]


def test_what_is_attached_goes_with_the_first_question(talk_through: Callable[..., Any], chat_place: Path) -> None:
    (chat_place / "a.txt").write_text("text")
    _, out, _ = talk_through("one", "two", model="kit:blocks", attach=("a.txt",))
    assert out == "TextContent, TextContent\nTextContent\n"


def test_a_budget_that_needs_a_price_is_told_and_the_conversation_goes_on(talk_through: Callable[..., Any]) -> None:
    _, out, err = talk_through("one", "/model echo", ADD, model="kit:slow", max_cost=1.0)
    assert "price of kit:slow is not known" in err
    assert out == "3.0\n"


def test_completions_are_commands_providers_and_tools(
    talk_through: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[list[str]] = []
    talking: Any = SimpleNamespace(host=None, tools={"add": None, "wipe": None})
    monkeypatch.setattr("pegboard_chat.models.providers_of", lambda host: {"echo": None, "kit": None})
    for text in ("/mo", "/model ", "/model k", "", "wi", "please ad", "one\nad", "/nope a", "add "):
        found.append(list(completions(talking, text)))
    assert found == [["/model"], ["echo", "kit"], ["kit"], [], ["wipe"], ["add"], ["add"], ["add"], []]


# -- Ctrl-C


async def test_a_signal_ends_the_answer_or_else_the_prompt(autojump_clock: trio.testing.MockClock) -> None:
    script = Script([])
    stops = Stops(script)  # type: ignore[arg-type]
    async with trio.open_nursery() as nursery:
        await nursery.start(stops.listen)

        async def work() -> None:
            signal.raise_signal(signal.SIGINT)
            await trio.sleep_forever()

        assert await stops.during(work) is False
        assert not stops.left
        assert await stops.during(trio.lowlevel.checkpoint) is True
        signal.raise_signal(signal.SIGINT)  # too late for the answer: it was meant for that
        await trio.testing.wait_all_tasks_blocked()
        assert not stops.left
        await trio.sleep(1)
        signal.raise_signal(signal.SIGINT)
        while not script.left:
            await trio.lowlevel.checkpoint()
        assert stops.left
        nursery.cancel_scope.cancel()


async def test_a_second_signal_ends_the_program_where_work_does_not_end(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    left: list[int] = []
    monkeypatch.setattr(os, "_exit", left.append)
    stops = Stops(Script([]))  # type: ignore[arg-type]
    async with trio.open_nursery() as nursery:
        await nursery.start(stops.listen)

        async def stubborn() -> None:
            with trio.CancelScope(shield=True):
                signal.raise_signal(signal.SIGINT)
                await trio.testing.wait_all_tasks_blocked()
                signal.raise_signal(signal.SIGINT)
                while not left:
                    await trio.lowlevel.checkpoint()

        await stops.during(stubborn)
        nursery.cancel_scope.cancel()
    assert left == [130]
    assert "left behind" in capfd.readouterr().err


async def test_in_another_thread_no_signal_is_heard() -> None:
    stops = Stops(Script([]))  # type: ignore[arg-type]

    def run() -> None:
        async def main() -> None:
            async with trio.open_nursery() as nursery:
                await nursery.start(stops.listen)

        trio.run(main)

    await trio.to_thread.run_sync(run)
    assert not stops.left


def test_a_conversation_that_a_signal_left_is_130(
    talk_through: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupting(Script):
        async def read(self) -> Typed:
            signal.raise_signal(signal.SIGINT)
            while not self.left:
                await trio.lowlevel.checkpoint()
            return Typed(None)

    monkeypatch.setattr(Script, "read", Interrupting.read)
    assert talk_through(ADD)[0] == 130

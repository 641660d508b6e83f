"""`pegboard chat` with one question: what goes where, how it ends, and what is kept."""

from __future__ import annotations

import io
import json
import os
import select
import signal
import stat
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import click
import pytest

from pegboard import ConfigError
from pegboard_chat.commands._talk import Options, attachment
from pegboard_chat.conversation import Conversation

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ADD = 'add {"a": 1, "b": 2}'


def test_stdout_is_the_answer_and_stderr_everything_else(chat_run: Callable[..., Any]) -> None:
    answer = chat_run("chat", "--model", "echo", ADD)
    assert (answer.status, answer.out) == (0, "3.0\n")
    assert '-> add {"a": 1, "b": 2}\n<- add: 3.0' in answer.err
    assert "echo:echo: 2 requests" in answer.err
    assert chat_run("chat", "--model", "echo", "--quiet", ADD).err == ""


@pytest.mark.parametrize("arguments", [(), ("-",)])
def test_a_question_comes_from_a_pipe(chat_run: Callable[..., Any], arguments: tuple[str, ...]) -> None:
    answer = chat_run("chat", "--model", "echo", *arguments, input=f"\ufeff{ADD}\n")
    assert (answer.status, answer.out) == (0, "3.0\n")


def test_json_is_one_event_a_line_and_nothing_else(chat_run: Callable[..., Any]) -> None:
    answer = chat_run("chat", "--model", "echo", "--json", ADD)
    kinds = [line["type"] for line in answer.lines]
    assert kinds == ["call_delta", "round", "call", "result", "text", "round", "end"]
    call, result, end = answer.lines[2], answer.lines[3], answer.lines[-1]
    assert (call["name"], call["arguments"]) == ("add", {"a": 1, "b": 2})
    assert (result["ok"], result["name"], result["id"]) == (True, "add", call["id"])
    assert (end["text"], end["stop"], end["reason"]) == ("3.0", "end", None)
    assert end["usage"]["input_tokens"] > 0
    assert answer.err == ""


def test_thoughts_are_events_too(chat_run: Callable[..., Any]) -> None:
    lines = chat_run("chat", "--model", "kit:thinking", "--json", "hello").lines
    assert [line["text"] for line in lines if line["type"] == "thinking"] == ["hmm \x1b[2J", "more"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("chat", "--model", "echo"), "give a QUESTION"),
        (("chat", "--model", "echo", " "), "the question is empty"),
        (("chat", "--model", "kit:keyless", "hi"), "set KIT_KEY"),
        (("chat", "--model", "kit:plain", "hi"), "the key would go unencrypted"),
        (("chat", "--model", "nobody:x", "hi"), "there is no provider"),
        (("chat", "--model", "echo", "--tool", "ad", "hi"), "did you mean add?"),
        (("chat", "--model", "echo", "--tool", "zzzz", "hi"), "pegboard list"),
        (("chat", "--model", "echo", "--tool", "add", "--no-tools", "hi"), "opposite"),
        (("chat", "--model", "echo", "--max-rounds", "0", "hi"), "--max-rounds"),
        (("chat", "--model", "echo", "--max-seconds", "nan", "hi"), "--max-seconds"),
        (("chat", "--model", "echo", "--max-cost", "inf", "hi"), "--max-cost"),
        (("chat", "--model", "echo", "--temperature", "nan", "hi"), "--temperature"),
        (("chat", "--model", "echo", "--load", "nope.json", "hi"), "cannot be read"),
        (("chat", "--model", "echo", "--save", "nowhere/x.json", "hi"), "folder"),
        (("chat", "--model", "echo", "--save", ".", "hi"), "it is a folder"),
        (("chat", "--model", "echo", "--attach", "nope.txt", "hi"), "cannot be read"),
        (("chat", "--model", "kit:slow", "--max-cost", "1", "hi"), "price of kit:slow is not known"),
    ],
)
def test_wrong_usage_is_two_lines_and_exit_2(
    chat_run: Callable[..., Any], arguments: tuple[str, ...], said: str
) -> None:
    answer = chat_run(*arguments)
    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err
    assert answer.err.startswith("error: ")
    assert "Traceback" not in answer.err


@pytest.mark.parametrize(
    ("model", "out", "said"),
    [
        ("broken", "half an \n", "error: UPSTREAM_ERROR: kit: the answer broke off; ask again"),
        ("locked", "", "error: UNAUTHORIZED: kit: the key is wrong; set KIT_KEY"),
        ("down", "", "error: UPSTREAM_ERROR: kit: nobody answers"),
        ("silent", "", "ask again"),
        ("cut", "only so m\n", "the answer is cut"),
        ("refusing", "", "refused to answer"),
    ],
)
def test_a_model_that_fails_is_exit_1_with_what_there_was(
    chat_run: Callable[..., Any], model: str, out: str, said: str
) -> None:
    answer = chat_run("chat", "--model", f"kit:{model}", "hello")
    assert (answer.status, answer.out) == (1, out)
    assert said in answer.err
    assert "Traceback" not in answer.err


def test_an_error_is_an_event_where_events_are_wanted(chat_run: Callable[..., Any]) -> None:
    answer = chat_run("chat", "--model", "kit:broken", "--json", "hello")
    assert answer.status == 1
    assert answer.lines[-1]["type"] == "error"
    assert answer.lines[-1]["error"]["code"] == "UPSTREAM_ERROR"
    assert "broke off" in answer.err


def test_nobody_to_ask_refuses_and_yes_answers(chat_run: Callable[..., Any]) -> None:
    assert "nobody to ask" in chat_run("chat", "--model", "kit:wiping", "c").out
    assert chat_run("chat", "--model", "kit:wiping", "--yes", "c").out == "wiped c\n"


def test_who_calls_and_progress_are_the_sessions(chat_run: Callable[..., Any]) -> None:
    answer = chat_run("chat", "--model", "echo", "--user", "ada", "who {}")
    assert answer.out == "ada on chat\n"
    assert "1 of 2 half" in answer.err


def test_only_named_tools_may_be_called(chat_run: Callable[..., Any]) -> None:
    assert "wipe" not in chat_run("chat", "--model", "echo", "--tool", "add", "help").out
    assert "no tool that I may call" in chat_run("chat", "--model", "echo", "--no-tools", ADD).out
    assert chat_run("chat", "--model", "echo", "--tool", "add", ADD).out == "3.0\n"


def test_budgets_say_that_they_cut_a_question_short(chat_run: Callable[..., Any]) -> None:
    answer = chat_run("chat", "--model", "echo", "--max-calls", "1", f"{ADD}\n{ADD}")
    assert answer.status == 0
    assert "(--max-calls)" in answer.err
    assert "FORBIDDEN" in answer.err


def test_time_that_is_over_before_there_is_an_answer_is_exit_1(chat_run: Callable[..., Any]) -> None:
    answer = chat_run("chat", "--model", "kit:slow", "--max-seconds", "0.05", "hello")
    assert answer.status == 1
    assert "(--max-seconds)" in answer.err


def test_a_result_without_text_shows_its_data(chat_run: Callable[..., Any]) -> None:
    assert '<- silent: {"a": [1]}' in chat_run("chat", "--model", "echo", "silent {}").err


def test_the_system_prompt_is_told(chat_run: Callable[..., Any]) -> None:
    assert chat_run("chat", "--model", "kit:system", "--system", "be brief", "hi").out == "be brief\n"


def test_files_are_attached_by_what_their_names_say(chat_run: Callable[..., Any], chat_place: Path) -> None:
    (chat_place / "a.txt").write_text("text")
    (chat_place / "b.png").write_bytes(b"1234")
    (chat_place / "c.mp3").write_bytes(b"1234")
    (chat_place / "d.bin").write_bytes(b"\xff\x00")
    attached = [word for name in ("a.txt", "b.png", "c.mp3", "d.bin") for word in ("--attach", name)]
    answer = chat_run("chat", "--model", "kit:blocks", *attached, "what are these?")
    assert answer.out == "TextContent, TextContent, ImageContent, AudioContent, BinaryContent\n"
    (chat_place / "big.txt").write_bytes(b"x" * (4 * 1024 * 1024 + 1))
    with pytest.raises(ConfigError, match="larger than"):
        attachment("big.txt")


# -- what is kept


def test_a_conversation_is_kept_and_goes_on_with_another_model(chat_run: Callable[..., Any], chat_place: Path) -> None:
    kept = chat_place / "kept.json"
    assert chat_run("chat", "--model", "echo", "--save", "kept.json", ADD).status == 0
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert chat_run("chat", "--model", "kit:system", "--save", "kept.json", "--system", "brief", "hi").out == "brief\n"
    said = Conversation.from_json(json.loads(kept.read_text()))
    assert said.system == "brief"
    assert [message.role for message in said.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
        "assistant",
    ]
    assert [message.model for message in said.messages if message.model] == ["echo:echo", "echo:echo", "kit"]
    before = kept.read_bytes()
    assert chat_run("chat", "--model", "echo", "--load", "kept.json", "hi").status == 0
    assert kept.read_bytes() == before
    assert chat_run("chat", "--model", "echo", "--load", "kept.json", "--save", "kept.json", "hi").status == 2


def test_what_was_asked_is_kept_where_the_model_failed(chat_run: Callable[..., Any], chat_place: Path) -> None:
    assert chat_run("chat", "--model", "kit:broken", "--save", "kept.json", "why?").status == 1
    said = Conversation.from_json(json.loads((chat_place / "kept.json").read_text()))
    assert [(one.text, one.cut) for one in said.messages] == [("why?", None), ("half an ", "half_answer")]
    assert chat_run("chat", "--model", "kit:blocks", "--save", "kept.json", "again").status == 0


def test_two_at_once_do_not_lose_what_the_other_kept(
    chat_run: Callable[..., Any], chat_start: Callable[..., Any], chat_place: Path
) -> None:
    (chat_place / "trip-2.json").write_text("mine")
    child = chat_start("chat", "--model", "kit:slow", "--save", "trip.json", "first")
    assert child.stdout.read(12) == b"let me think"
    assert chat_run("chat", "--model", "kit:blocks", "--save", "trip.json", "second").status == 0
    child.terminate()
    child.wait(20)
    assert b"trip.json was written by another program meanwhile" in child.stderr.read()
    assert '"second"' in (chat_place / "trip.json").read_text()
    assert '"first"' in (chat_place / "trip-3.json").read_text()
    assert (chat_place / "trip-2.json").read_text() == "mine"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pegboard_conversation": 99}', "{}", "\ud800", '{"a":' * 300])
def test_a_file_that_is_not_a_conversation_is_left_as_it_is(
    chat_run: Callable[..., Any], chat_place: Path, content: str
) -> None:
    file = chat_place / "mine.json"
    file.write_bytes(content.encode("utf-8", "surrogatepass"))
    answer = chat_run("chat", "--model", "echo", "--save", "mine.json", "hi")
    assert answer.status == 2
    assert "not a saved conversation" in answer.err
    assert file.read_bytes() == content.encode("utf-8", "surrogatepass")


def test_halves_of_characters_do_not_keep_a_conversation_from_being_kept(
    chat_run: Callable[..., Any], chat_place: Path
) -> None:
    from pegboard_chat.commands._files import load_conversation, save_conversation

    save_conversation(chat_place / "kept.json", Conversation().ask("half \ud83d, whole \ud83d\ude00"))
    assert load_conversation(chat_place / "kept.json").messages[0].text == "half \ufffd, whole \U0001f600"
    save_conversation(chat_place / "kept.json", Conversation("é").ask("\U0001f600"))
    assert load_conversation(chat_place / "kept.json").messages[0].text == "\U0001f600"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_a_pipe_is_not_a_place_to_keep_a_conversation(chat_run: Callable[..., Any], chat_place: Path) -> None:
    os.mkfifo(chat_place / "pipe")
    assert "not a regular file" in chat_run("chat", "--model", "echo", "--save", "pipe", "hi").err


def test_a_disk_that_is_full_leaves_the_file_as_it_was(
    chat_run: Callable[..., Any], chat_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert chat_run("chat", "--model", "echo", "--save", "kept.json", ADD).status == 0
    before = (chat_place / "kept.json").read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    answer = chat_run("chat", "--model", "echo", "--save", "kept.json", ADD)
    assert (answer.status, answer.out) == (2, "3.0\n")
    assert "No space left" in answer.err
    assert (chat_place / "kept.json").read_bytes() == before
    assert [path.name for path in chat_place.iterdir()] == ["kept.json"]


def test_long_histories_forget_their_older_half(chat_place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pegboard_chat.commands import _files

    path = _files.history_file()
    assert path is not None
    path.write_text("".join(f"\n# 2026\n+line {number}\n" for number in range(1000)))
    monkeypatch.setattr(_files, "MAX_HISTORY", 1000)
    assert _files.history_file() == path
    text = path.read_text()
    assert text.startswith("\n# 2026\n+line 9")
    assert text.endswith("+line 999\n")
    monkeypatch.setattr(os, "open", lambda *_: (_ for _ in ()).throw(OSError(13, "no")))
    assert _files.history_file() is None


@pytest.mark.parametrize("way", ["stdin", "argument", "--system", "--attach", "eval", "--load"])
def test_what_is_not_utf_8_is_refused_with_its_place(
    chat_start: Callable[..., Any], chat_place: Path, way: str
) -> None:
    wrong = "fine\n\u00e4b".encode() + b"\xff c"
    (chat_place / "note.txt").write_bytes(wrong)
    (chat_place / "eval.toml").write_bytes(b"questions = [\n'" + wrong + b"']")
    (chat_place / "kept.json").write_bytes(b'{"pegboard_conversation": 1, "system": "' + wrong + b'"}')
    words: dict[str, list[Any]] = {
        "stdin": ["chat", "--model", "echo"],
        "argument": ["chat", "--model", "echo", wrong],
        "--system": ["chat", "--model", "echo", "--system", wrong, "hi"],
        "--attach": ["chat", "--model", "echo", "--attach", "note.txt", "hi"],
        "eval": ["eval", "eval.toml", "--model", "echo"],
        "--load": ["chat", "--model", "echo", "--load", "kept.json", "hi"],
    }
    child = chat_start(*words[way], stdin=-1)
    out, err = child.communicate(wrong if way == "stdin" else b"", timeout=30)
    assert (child.returncode, out) == (2, b"")
    assert b"UTF-8" in err
    places = {"eval": b"line 3", "--load": b"byte 48"}
    assert places.get(way, b"line 2, column 3: the byte 0xff") in err
    assert b"Traceback" not in err


# -- as a child


def test_the_first_piece_arrives_while_the_model_still_speaks(chat_start: Callable[..., Any], in_time: Any) -> None:
    child = chat_start("chat", "--model", "kit:slow", "hello", stdin=-3)
    assert child.stdout is not None
    assert select.select([child.stdout], [], [], 20)[0]
    assert os.read(child.stdout.fileno(), 100) == b"let me think "
    assert child.poll() is None
    with in_time():
        child.send_signal(signal.SIGINT)
        assert child.wait(20) == 130
    assert b"interrupted" in child.stderr.read()


def test_the_half_answer_that_ctrl_c_ends_is_kept_and_marked(chat_start: Callable[..., Any], chat_place: Path) -> None:
    child = chat_start("chat", "--model", "kit:slow", "--save", "kept.json", "--json", "hello", stdin=-3)
    assert child.stdout is not None
    first = json.loads(child.stdout.readline())
    child.send_signal(signal.SIGINT)
    assert child.wait(20) == 130
    *_, last = [first, *map(json.loads, child.stdout.read().splitlines())]
    assert (last["type"], last["reason"]) == ("cut", "left")
    saved = json.loads(next(chat_place.rglob("kept.json")).read_text())["messages"][-1]
    assert (saved["role"], saved["cut"], saved["content"][0]["text"]) == ("assistant", "left", last["text"])
    assert first["text"] in last["text"]


def test_a_reader_that_leaves_early_ends_it_with_1(chat_start: Callable[..., Any]) -> None:
    child = chat_start("chat", "--model", "echo", "--json", stdin=-1)
    child.stdout.close()
    child.stdin.write(f"{ADD}\n".encode() * 3)
    child.stdin.close()
    assert child.wait(20) == 1
    err = child.stderr.read()
    assert b"stdout was closed by its reader" in err
    assert b"Traceback" not in err


# -- small parts


@pytest.mark.parametrize("question", [("chat", "--json"), ("chat",)])
def test_what_a_tool_prints_is_not_an_answer(chat_start: Callable[..., Any], question: tuple[str, ...]) -> None:
    child = chat_start(*question, "--model", "echo", "noisy {}")
    out, err = child.communicate(timeout=20)
    assert b"NOISE" not in out
    assert b"done" in out
    assert b"NOISE" in err


def test_a_question_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from pegboard_chat.commands import chat

    class Stdin:
        buffer = io.BytesIO(b"x" * (chat.MAX_QUESTION + 1))

        def isatty(self) -> bool:
            return False

    monkeypatch.setattr(sys, "stdin", Stdin())
    with pytest.raises(click.UsageError, match="longer than"):
        chat._question(None)
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(click.UsageError, match="give a QUESTION"):
        chat._question(None)


def test_options_lie_over_the_configured_budget() -> None:
    from pegboard_chat.budget import Budget

    budget = Options(max_calls=0, max_seconds=1.5).budget(Budget(max_rounds=7))
    assert (budget.max_tool_calls, budget.max_seconds, budget.max_rounds) == (0, 1.5, 7)


def test_the_shell_completes_providers(chat_run: Callable[..., Any]) -> None:
    from pegboard.cli import ProgramRun
    from pegboard_chat.commands.chat import _complete_model

    root = click.Context(click.Command("pegboard"), obj=ProgramRun(plugins=("kit", "chat")))
    assert _complete_model(root, click.Option(["--model"]), "e") == ["echo"]
    root.obj = ProgramRun(config="nowhere.toml")
    assert _complete_model(root, click.Option(["--model"]), "e") == []


@pytest.mark.parametrize("is_slow", [False, True])
async def test_a_person_is_told_what_the_first_question_waits_for(
    is_slow: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    from pegboard_chat.commands._shown import Shown
    from pegboard_chat.commands._talk import wait_for_sources

    class Host:
        sources_starting = True

        async def wait_for_sources(self, *, timeout_s: float) -> None:
            self.sources_starting = is_slow and timeout_s == 1

    host: Any = Host()
    await wait_for_sources(host, Shown())
    assert not host.sources_starting
    assert ("waiting for sources" in capsys.readouterr().err) is is_slow


def test_the_commands_import_nothing_heavy() -> None:
    code = "import sys, pegboard_chat.commands.chat, pegboard_chat.commands.eval; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"trio", "httpx2", "prompt_toolkit", "rich", "asyncio", "yaml", "keyring", "fastjsonschema", "mimetypes"}
    assert heavy & set(done.stdout.split()) == set()

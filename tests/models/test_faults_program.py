"""`pegboard chat` as a person runs it, against a server that fails: what is said, how it exits, what is saved, and that
the key is nowhere, with the log and the tracebacks of `--debug` on."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import trio

from pegboard_chat import Conversation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PROVIDERS = ("openai", "openai-responses", "anthropic", "cohere", "gemini")
VARIABLES = {
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "openai-responses": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    "cohere": ("CO_API_KEY", "CO_API_URL"),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
}
every_provider = pytest.mark.parametrize("provider", PROVIDERS)


class Ran(NamedTuple):
    """What a run of the program left."""

    status: int
    out: str
    err: str


@pytest.fixture
def clean(tmp_path: Path, faulty: Any) -> Callable[..., dict[str, str]]:
    """The environment of a person who has nothing but what the test gives."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "LANG") if name in os.environ}
    home = tmp_path / "home"
    home.mkdir()
    kept |= {"HOME": str(home), "XDG_CONFIG_HOME": str(home), "XDG_CACHE_HOME": str(home), "XDG_DATA_HOME": str(home)}
    kept |= {"XDG_STATE_HOME": str(home), "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}
    return lambda **more: {**kept, **more}


@pytest.fixture
def keyless(tmp_path: Path, faulty: Any) -> Callable[..., Ran]:
    """`keyless(done)`: what a run left, when it was seen that no part of the key is shown or saved."""
    key = faulty.KEY
    parts = {key[at : at + 8].casefold() for at in range(len(key) - 7)}

    def look(done: subprocess.CompletedProcess[str]) -> Ran:
        for text in (done.stdout, done.stderr, *(file.read_text("utf-8") for file in tmp_path.glob("*.json"))):
            text = text.casefold()
            found = next((part for part in parts if part in text), None)
            assert found is None, f"a part of the key: {text[max(0, text.find(found) - 80) :][:300]}"
        return Ran(done.returncode, done.stdout, done.stderr)

    return look


@pytest.fixture
def program(clean: Any, tmp_path: Path, keyless: Any) -> Any:
    """`await program(words, **variables)`: run `pegboard`, in a process of its own, while a server here answers."""

    async def run(*words: str, **variables: str) -> Ran:
        with trio.fail_after(600):
            done = await trio.run_process(
                [sys.executable, "-m", "pegboard", *words],
                env=clean(**variables),
                cwd=tmp_path,
                stdin=subprocess.DEVNULL,
                capture_stdout=True,
                capture_stderr=True,
                check=False,
            )
        out, err = done.stdout.decode(), done.stderr.decode()
        return keyless(subprocess.CompletedProcess(done.args, done.returncode, out, err))

    return run


@pytest.fixture
def run_here(clean: Any, tmp_path: Path, keyless: Any, run_program: Any) -> Callable[..., Ran]:
    """`run_here(words, **variables)`: run `pegboard` in this process, where no server has to answer."""
    return lambda *words, **variables: keyless(run_program(*words, cwd=tmp_path, env=clean(**variables)))


def faults(faulty: Any, provider: str) -> dict[str, tuple[Any, str]]:
    """What the server does, and a word of what the program should say to it."""
    key = faulty.KEY
    echo = faulty.json.dumps(faulty.error(provider, 401, f"Incorrect API key provided: {key}, {key[:14]}*")).encode()
    events = faulty.sse(faulty.events(provider, faulty.Said("One two three four.", thought="Hm.")))
    broken = [*faulty.events(provider, faulty.Said("One two three."))[:4], faulty.error_event(provider, f"over {key}")]
    return {
        "wrong key": (faulty.plain(401, echo, {"x-echo": key}, reason=f"No {key}"), VARIABLES[provider][0]),
        "no model": (faulty.as_json(faulty.error(provider, 404, "no such model"), 404), "--model"),
        "a page": (faulty.plain(200, f"<html>{key}</html>".encode(), {"content-type": "text/html"}), "base_url"),
        "half": (faulty.pieces([*events[:3], events[3][:10]]), "ask again"),
        "an error in the middle": (faulty.pieces(faulty.sse(broken)), "ask again"),
    }


@contextlib.contextmanager
def beside(server: Any) -> Iterator[str]:
    """A server in a thread of its own, while the program runs in this one: its address."""
    up: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()

    async def serve() -> None:
        async with trio.open_nursery() as nursery:
            await nursery.start(server.run)
            token = trio.lowlevel.current_trio_token()
            up.put(lambda: trio.from_thread.run_sync(nursery.cancel_scope.cancel, trio_token=token))

    thread = threading.Thread(target=trio.run, args=(serve,))
    thread.start()
    try:
        stop = up.get(timeout=60)
        try:
            yield server.url
        finally:
            stop()
    finally:
        thread.join()


@every_provider
@pytest.mark.parametrize("name", ["wrong key", "no model", "a page", "half", "an error in the middle"])
def test_the_program_says_what_is_wrong_and_goes_on_another_time(run_here, faulty, tmp_path, provider, name) -> None:
    key, url = VARIABLES[provider]
    answer, word = faults(faulty, provider)[name]
    server = faulty.Server(otherwise=faulty.says(provider, "Well again."))
    server.answer(answer)
    ask = ("--debug", "chat", "--model", f"{provider}:{faulty.MODELS[provider]}", "--save", "chat.json")
    with beside(server) as address:
        variables = {key: faulty.KEY, url: address + faulty.PATHS[provider]}
        ran = run_here(*ask, "Hello?", **variables)
        assert ran.status == 1, ran.err
        told = [line for line in ran.err.splitlines() if line.startswith("error: ")]
        assert len(told) == 1, ran.err
        assert provider in told[0]
        assert word in told[0], told[0]
        saved = Conversation.from_json(json.loads((tmp_path / "chat.json").read_text("utf-8")))
        assert [message.role for message in saved.messages if message.cut is None] == ["user"]
        halves = [message for message in saved.messages if message.cut is not None]
        assert all(
            "One two three four.".startswith(half.text.rstrip(".")) and half is saved.messages[-1] for half in halves
        )
        assert not halves or name in ("half", "an error in the middle")
        again = run_here(*ask, "And now?", **variables)
    assert again.status == 0, again.err
    assert again.out.strip() == "Well again."
    saved = Conversation.from_json(json.loads((tmp_path / "chat.json").read_text("utf-8")))
    assert [one.role for one in saved.messages if one.cut is None] == ["user", "user", "assistant"]


async def test_the_program_tells_programs_what_is_wrong(program, faulty, nursery) -> None:
    """As JSON: one object a line, the last of them the error, with what a program decides by."""
    server = await nursery.start(faulty.Server().run)
    server.otherwise = faulty.plain(403, faulty.KEY.encode())
    ran = await program(
        *("chat", "--json", "--model", "openai:m", "Hello?"), OPENAI_API_KEY=faulty.KEY, OPENAI_BASE_URL=server.url
    )
    assert ran.status == 1
    last = json.loads(ran.out.splitlines()[-1])
    assert last["type"] == "error"
    assert last["error"]["code"] == "FORBIDDEN"
    details = last["error"]["details"]
    assert (details["provider"], details["status"], details["reason"]) == ("openai", 403, "wrong_key")


async def test_calls_that_no_tool_takes_are_shown_and_the_answer_comes(program, faulty, nursery) -> None:
    """A tool that is not there, arguments that are broken, and more calls than a question may make."""
    calls = [faulty.Call("same", "no_such_tool"), faulty.Call("same", "calculator", '{"expression": ')]
    calls += [faulty.Call(f"call_{at}", "calculator", '{"expression": "2 + 2"}') for at in range(100)]
    server = await nursery.start(faulty.Server(otherwise=faulty.says("openai", "Well again.")).run)
    server.answer(faulty.says("openai", faulty.Said("", calls)))
    ran = await program(
        *("chat", "--model", "openai:m", "--save", "c.json", "Hello?"),
        OPENAI_API_KEY=faulty.KEY,
        OPENAI_BASE_URL=f"{server.url}/v1",
    )
    assert ran.status == 0, ran.err
    assert ran.out.strip() == "Well again."
    for code in ("NOT_FOUND", "INVALID_INPUT", "FORBIDDEN"):
        assert code in ran.err
    assert [faulty.unanswered(sent.path, sent.body) for sent in server.sent] == [[], []]


def test_nothing_of_a_key_is_shown_wherever_it_was_written(run_here, faulty, tmp_path) -> None:
    """In its place, and where somebody put it by mistake: a name that is not valid, a value of another kind, an
    address.
    """
    key = faulty.KEY
    good = "".join(f'[plugins.{name}]\napi_key = "{key}"\n' for name in ("openai", "anthropic", "cohere", "gemini"))
    good += f'[plugins.openai.servers.mine]\nbase_url = "https://example.org/v1"\napi_key = "{key}"\n'
    (tmp_path / "good.toml").write_text(good)
    wrong = {
        "list.toml": f'[plugins.openai]\napi_key = ["{key}"]\n',
        "table.toml": f'[plugins.anthropic.api_key]\nkey = "{key}"\n',
        "address.toml": f'[plugins.gemini]\napi_key = "x"\nbase_url = "https://me:{key}@example.org"\n',
    }
    for name, text in wrong.items():
        (tmp_path / name).write_text(text)

    def see(file: str, status: int, *words: str) -> None:
        ran = run_here("--debug", "--config", file, *words)
        assert ran.status == status, (file, words, ran.err)
        assert ran.status == 0 or ran.err.strip()

    for words in (["config"], ["config", "--json"], ["plugins"], ["list", "--tokens"]):
        see("good.toml", 0, *words)
    for file in wrong:
        see(file, 2, "chat", "--model", "echo", "hi")
        see(file, 2, "config")


def test_no_doctor_shows_a_key(run_here, faulty, tmp_path) -> None:
    text = "".join(f'[plugins.{name}]\napi_key = "{faulty.KEY}"\n' for name in ("openai", "cohere", "gemini"))
    (tmp_path / "good.toml").write_text(text)
    for words in (("doctor",), ("doctor", "--json")):
        ran = run_here("--config", "good.toml", *words, ANTHROPIC_API_KEY=faulty.KEY)
        assert "Traceback" not in ran.err
        assert ran.out.strip()


def test_a_key_in_an_address_of_the_environment_is_not_shown(run_here, faulty) -> None:
    for provider in PROVIDERS:
        _, url = VARIABLES[provider]
        address = f"http://me:{faulty.KEY}@127.0.0.1:1{faulty.PATHS[provider]}?key={faulty.KEY}"
        ran = run_here("--debug", "chat", "--model", f"{provider}:m", "Hello?", **{url: address})
        assert ran.status in (1, 2)
        assert "error: " in ran.err


def test_a_file_that_is_not_a_conversation_is_told_before_anything_is_asked(run_here, tmp_path) -> None:
    """Whatever somebody wrote into it, it is named with its place, and nothing is sent or overwritten."""
    head = '{"pegboard_conversation": 1, "messages": '
    texts = ["", "{", "[]", '{"pegboard_conversation": 99, "messages": []}', head + "5}", head + '[{"role": "x"}]}']
    texts += [head + '[{"role": "tool"}]}', head + "[" * 100_000, '{"pegboard_conversation": NaN}', "\x00\x01"]
    for at, text in enumerate(texts):
        file = tmp_path / f"odd{at}.txt"
        file.write_text(text)
        ran = run_here("chat", "--model", "echo", "--save", file.name, "hi")
        assert ran.status == 2, ran.err
        assert file.name in ran.err
        assert "Traceback" not in ran.err
        assert file.read_text() == text

"""`pegboard nats init` and `pegboard worker` as a person meets them: what they print, and how they end."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import trio
import trio.testing

import pegboard_nats.plugin
from pegboard import ConfigError, load_board, tool
from pegboard.cli import ending_signals
from pegboard.cli._program import Program
from pegboard_nats import wire
from pegboard_nats.commands import _serve
from pegboard_nats.credentials import KeyPair
from pegboard_nats.settings import NatsSettings
from pegboard_nats.source import find_workers


class Answer(NamedTuple):
    """What one run of the program wrote, and its status."""

    status: int
    out: str
    err: str


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """`run(*words)` runs `pegboard` in an empty folder."""
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return lambda *words: Answer(Program().run(["--plugin", "nats", *words]), *capsys.readouterr())


def test_init_writes_a_configuration_and_a_key_for_each_role(run: Any, tmp_path: Path) -> None:
    answer = run("nats", "init", "--folder", "made", "--listen", "127.0.0.1:5222")
    assert answer.status == 0
    assert "nats-server -c made/nats-server.conf" in answer.out
    written = {path.name: path for path in (tmp_path / "made").iterdir()}
    assert set(written) == {"nats-server.conf", "host.nk", "worker.nk", "watcher.nk"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in written.values()} == {0o600}

    lines = written["nats-server.conf"].read_text().split("accounts: ")
    users = json.loads(lines[1])["PEGBOARD"]["users"]
    seeds = [written[f"{role}.nk"].read_text().strip() for role in ("host", "worker", "watcher")]
    assert [user["nkey"] for user in users] == [KeyPair(seed).public for seed in seeds]
    assert 'listen: "127.0.0.1:5222"' in lines[0]
    assert not any(seed in written["nats-server.conf"].read_text() + answer.out + answer.err for seed in seeds)


@pytest.mark.parametrize("listen", ["", "nonsense", "4222", ":4222", "a:", "a:0", "a:65536", "a:\u0661", "a:-1"])
def test_init_takes_addresses_alone(run: Any, tmp_path: Path, listen: str) -> None:
    """It wrote a configuration that the server then refused."""
    answer = run("nats", "init", "--listen", listen)
    assert (answer.status, list(tmp_path.glob("nats"))) == (2, [])
    assert "write HOST:PORT" in answer.err


def test_init_writes_a_key_for_each_bot(run: Any, tmp_path: Path) -> None:
    answer = run("nats", "init", "--bot", "ada", "--bot", "b-2")
    assert answer.status == 0
    assert "nats/bot-ada.nk" in answer.out
    users = json.loads((tmp_path / "nats" / "nats-server.conf").read_text().split("accounts: ")[1])["PEGBOARD"]["users"]
    for name, user in zip(("ada", "b-2"), users[3:], strict=True):
        seed = (tmp_path / "nats" / f"bot-{name}.nk").read_text().strip()
        assert user["nkey"] == KeyPair(seed).public
        assert user["permissions"]["publish"] == [f"pb.llm.*.{name}"]


@pytest.mark.parametrize("name", ["", "a b", "*", ">", "a.b", "../x"])
def test_a_bot_whose_name_is_none_is_refused(run: Any, tmp_path: Path, name: str) -> None:
    answer = run("nats", "init", "--bot", name)
    assert (answer.status, list(tmp_path.glob("nats*"))) == (2, [])
    assert "is not a name of a bot" in answer.err


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_init_leaves_a_folder_that_is_there_open_to_those_it_was_open_to(run: Any, tmp_path: Path) -> None:
    """`--folder .`, or `/tmp` for root: others use it too. What is written in it is private."""
    (tmp_path / "there").mkdir(0o755)
    assert run("nats", "init", "--folder", str(tmp_path / "there")).status == 0
    assert run("nats", "init", "--folder", str(tmp_path / "new")).status == 0
    modes = {one.relative_to(tmp_path).as_posix(): one.stat().st_mode & 0o777 for one in tmp_path.rglob("*")}
    assert (modes["there"], modes["new"], modes["there/host.nk"]) == (0o755, 0o700, 0o600)


def test_init_writes_over_nothing(run: Any, tmp_path: Path) -> None:
    (tmp_path / "nats").mkdir()
    (tmp_path / "nats" / "worker.nk").write_text("mine")
    answer = run("nats", "init")
    assert answer.status == 2
    assert "worker.nk is there already" in answer.err
    assert [path.name for path in (tmp_path / "nats").iterdir()] == ["worker.nk"]


def test_init_says_where_it_cannot_write(run: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    answer = run("nats", "init", "--folder", "file/below")
    assert answer.status == 2
    assert "file/below cannot be written" in answer.err
    assert "move the file away" in answer.err


@pytest.mark.parametrize("group", ["", "a b", "a.b", "llm", "x" * 65, "\x1b[2J"])
def test_a_worker_of_no_group_does_not_start(run: Any, group: str) -> None:
    answer = run("worker", "--group", group)
    assert answer.status == 2
    assert "is not a name of a group" in answer.err
    assert "\x1b" not in answer.err


@pytest.mark.parametrize("words", [("worker",), ("worker", "--group", "g", "--concurrency", "0"), ("nats", "nope")])
def test_wrong_words_are_told(run: Any, words: tuple[str, ...]) -> None:
    answer = run(*words)
    assert answer.status == 2
    assert answer.err


HANGUP = getattr(signal, "SIGHUP", signal.SIGTERM)


@pytest.mark.parametrize(("number", "ends"), [(signal.SIGTERM, ()), (signal.SIGINT, KeyboardInterrupt), (HANGUP, ())])
async def test_a_worker_serves_until_it_is_told_to_end(
    host_with: Any, nats_server: Any, capsys: pytest.CaptureFixture[str], number: signal.Signals, ends: Any
) -> None:
    @tool
    async def double(number: int) -> int:
        """Double it."""
        return 2 * number

    host = await host_with()
    host.add(double)
    settings = NatsSettings(servers=(nats_server.url,))
    told, ended = "", trio.Event()

    async def serve() -> None:
        try:
            await _serve(host, settings, f"g{number}", 2)
            assert not ends
        except KeyboardInterrupt:
            assert ends is KeyboardInterrupt
        ended.set()

    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve)
            while "(Ctrl-C ends it)" not in told:
                await trio.sleep(0.01)
                told += capsys.readouterr().err
            os.kill(os.getpid(), number)
            await ended.wait()
    assert f"serving 1 tool in the group 'g{number}' at" in told
    assert nats_server.url.removeprefix("nats://") in told


@pytest.mark.parametrize("first", [(HANGUP,), (signal.SIGTERM, HANGUP)])
async def test_a_shell_that_says_once_more_that_its_terminal_is_gone_does_not_press(
    first: tuple[signal.Signals, ...], host_with: Any, nats_server: Any, linked: Any, group: str
) -> None:
    """A terminal that is closed is told of by the system and by the shell: the calls of a worker were cut off."""
    go = trio.Event()

    @tool
    async def act() -> str:
        """Act."""
        await go.wait()
        return "done"

    host = await host_with()
    host.add(act)
    subjects = wire.Subjects("pb", group)
    async with linked(nats_server) as client, trio.open_nursery() as nursery:
        nursery.start_soon(_serve, host, NatsSettings(servers=(nats_server.url,)), group, 2)
        with trio.fail_after(30), client.replies() as mailbox:
            while not (await find_workers(client, "PING", "pb", group)).answers:
                await trio.sleep(0.01)
            await client.ask(mailbox, subjects.call("act"), b"{}", headers={wire.FINGERPRINT: act.fingerprint})
            assert (await mailbox.get()).headers[wire.KIND] == wire.ACCEPTED
            for numbers in (first, (HANGUP,)):
                blocked = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)  # so that they come at once
                for number in numbers:
                    os.kill(os.getpid(), number)
                signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
                while HANGUP != signal.SIGTERM and (await find_workers(client, "PING", "pb", group)).answers:
                    await trio.sleep(0.01)
                await trio.testing.wait_all_tasks_blocked(0.01)
            go.set()
            assert wire.from_bytes((await mailbox.get()).payload)["data"] == {"result": "done"}


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"servers": ["nats://127.0.0.1:4222", "http://ada:secret@h:4222"]}, "servers[1]"),
        ({"servers": ["nats://ada:secret@h:99999"]}, "servers[0]"),
        ({"servers": []}, "servers"),
        ({"groups": {"llm": {}}}, "groups.llm"),
    ],
)
def test_what_cannot_be_used_is_told_when_the_configuration_loads(given: Any, where: str) -> None:
    """It was a crash of the source, and doctor said to report it to the author."""
    with pytest.raises(ConfigError, match=re.escape(f"plugins.nats.{where}: expected")) as caught:
        load_board({"plugins": {"nats": given}}, [pegboard_nats.plugin])
    assert "secret" not in str(caught.value)


def test_a_worker_outlives_its_terminal_under_nohup(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that was closed killed a worker with the calls that it had."""
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.SIG_IGN)
    assert ending_signals() == (signal.SIGTERM, signal.SIGINT)
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.SIG_DFL)
    assert HANGUP in ending_signals()

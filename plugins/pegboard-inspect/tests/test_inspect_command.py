"""`pegboard inspect`: what it tells, what it refuses, and `--open`, which has the token in no argument of a program."""

from __future__ import annotations

import os
import re
import stat
import sys
import webbrowser
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import unquote, urlparse

import pytest
import trio

import pegboard_serving
from pegboard_inspect.command import browsing
from pegboard_inspect.serving import told_by


def test_a_browser_is_given_a_file_that_only_its_user_can_read(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []
    done = Event()

    def open_it(url: str) -> None:
        path = Path(unquote(urlparse(url).path))
        opened.append((url, path.read_text(encoding="utf-8"), path.stat().st_mode, path.parent.stat().st_mode))
        done.set()

    monkeypatch.setattr(webbrowser, "open", open_it)
    with browsing() as browse:
        browse("http://127.0.0.1:9/#token=hush")
        assert done.wait(30)
        ((url, text, mode, folder_mode),) = opened
    assert url.startswith("file:///")
    assert "hush" not in url
    assert "url=http://127.0.0.1:9/#token=hush" in text
    if sys.platform != "win32":
        assert (stat.S_IMODE(mode), stat.S_IMODE(folder_mode)) == (0o600, 0o700)
    assert not Path(unquote(urlparse(url).path)).exists()


@pytest.fixture
def inspect(run_program: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """`inspect(*args, before=())` runs the command until it serves, in folders of its own."""

    async def serve_once(serve: Any, tell: Any) -> None:
        async with trio.open_nursery() as nursery:
            tell(await nursery.start(serve))
            nursery.cancel_scope.cancel()

    monkeypatch.setattr(pegboard_serving, "serve_until_signal", serve_once)
    folders = dict.fromkeys(("HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"), str(tmp_path))

    def run(*args: str, before: tuple[str, ...] = ()) -> Any:
        return run_program(*before, "inspect", *args, cwd=tmp_path, env={**os.environ, **folders})

    return run


def test_the_board_is_served_and_its_address_told(inspect: Any) -> None:
    done = inspect("--user", "ada", before=("--plugin", "inspect"))
    assert done.returncode == 0
    assert done.stdout == ""
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/#token=\S+\ninspecting \d+ tools? \(.*\)\n", done.stderr)


def test_a_server_is_served_alone_and_its_address_leads_to_it(inspect: Any) -> None:
    pytest.importorskip("pegboard_mcp", reason="pegboard-mcp is not installed")
    done = inspect("--server", "nonesuch --now", "--protocol", "legacy")
    assert done.returncode == 0
    assert re.search(r"#token=\S+&page=sources/server\n", done.stderr)
    assert "inspecting one server, and nothing else" in done.stderr


def test_the_browser_is_opened_where_it_is_asked_for(inspect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    assert inspect("--open", before=("--plugin", "inspect")).returncode == 0
    assert all(one.startswith("file:///") for one in opened)


@pytest.mark.parametrize(
    ("before", "args", "said"),
    [
        ((), ["--transport", "http"], "--transport says how --server is reached"),
        ((), ["--protocol", "modern"], "--protocol says how --server is reached"),
        ((), ["--server", "x", "--protocol", "2024"], "'2024' is not one of"),
        (("--plugin", "inspect"), ["--server", "x"], "--server reads no configuration, and --plugin names some"),
        ((), ["--server", "a 'b"], "write it as a shell has it"),
        ((), ["--host", "192.0.2.1"], "map tokens to users"),
    ],
)
def test_what_cannot_be_is_refused_in_words(inspect: Any, before: tuple[str, ...], args: list[str], said: str) -> None:
    done = inspect(*args, before=before)
    assert done.returncode in (1, 2)
    assert said in " ".join(done.stderr.split())


def test_later_addresses_say_whom_they_are_for() -> None:
    told: list[str] = []
    tell = told_by(told.append)
    tell("one")
    tell("two")
    assert told == ["one", "for another browser: two"]

"""`pegboard inspect --open`: the token is in no argument of a program that is started."""

from __future__ import annotations

import stat
import sys
import webbrowser
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import unquote, urlparse

import pytest

from pegboard_inspect.command import browsing


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

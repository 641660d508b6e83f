"""A user's folders are where platformdirs says; where there is no home or no working directory, an error says so."""

from __future__ import annotations

import itertools
import os
import pwd
import sys
from pathlib import Path
from typing import Literal

import platformdirs
import pytest

from pegboard import ConfigError
from pegboard.config import expand_home, load_config, user_folder
from pegboard.config._load import find_found_file

KINDS: tuple[Literal["config", "state", "cache", "data"], ...] = ("config", "state", "cache", "data")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("named", "home"),
    [*itertools.product([None, "", " ", "/named", "/named/", "relative", "~/x"], ["/home/ada", "/", "", "here"])],
)
def test_every_folder_is_the_one_of_platformdirs(
    kind: Literal["config", "state", "cache", "data"],
    named: str | None,
    home: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", home)
    monkeypatch.delenv(f"XDG_{kind.upper()}_HOME", raising=False)
    if named is not None:
        monkeypatch.setenv(f"XDG_{kind.upper()}_HOME", named)
    theirs = getattr(platformdirs, f"user_{kind}_path")("pegboard", appauthor=False)
    if theirs.is_absolute():
        assert user_folder(kind) == theirs
    else:  # older versions of platformdirs leave a relative HOME as it is
        with pytest.raises(ConfigError, match="no home folder"):
            user_folder(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_other_systems_ask_platformdirs(
    kind: Literal["config", "state", "cache", "data"], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(platformdirs, f"user_{kind}_path", lambda name, appauthor: f"/asked/{name}")
    assert str(user_folder(kind)) == "/asked/pegboard"


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user whom the system does not know, as one that a container was told to run as."""

    def unknown(uid: int) -> None:
        raise KeyError(uid)

    for name in ("HOME", *(f"XDG_{kind.upper()}_HOME" for kind in KINDS)):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)


@pytest.mark.usefixtures("nobody")
@pytest.mark.parametrize("kind", KINDS)
def test_a_user_without_a_home_is_told_what_to_set(
    kind: Literal["config", "state", "cache", "data"], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="no home folder") as caught:
        user_folder(kind)
    assert "HOME" in str(caught.value.hint)
    monkeypatch.setenv(f"XDG_{kind.upper()}_HOME", "/named")
    assert user_folder(kind) == Path("/named/pegboard")


@pytest.mark.usefixtures("nobody")
@pytest.mark.parametrize("path", ["~", "~/x", "~nobody-of-that-name/x", "x"])
def test_the_home_of_nobody_stays_as_it_is_written(path: str) -> None:
    assert expand_home(path) == Path(path)


def test_the_home_of_somebody_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert expand_home("~/x") == Path("/home/ada/x")


@pytest.mark.parametrize("ask", [load_config, find_found_file])
def test_a_working_directory_that_was_removed_is_a_fault_of_the_configuration(
    ask: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    with pytest.raises(ConfigError, match="the working directory is gone"):
        ask()  # type: ignore[operator]

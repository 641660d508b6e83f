"""A user's folders are where platformdirs says."""

from __future__ import annotations

import itertools
import sys
from typing import Literal

import platformdirs
import pytest

from pegboard.config import user_folder

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
    assert user_folder(kind) == getattr(platformdirs, f"user_{kind}_path")("pegboard", appauthor=False)


@pytest.mark.parametrize("kind", KINDS)
def test_other_systems_ask_platformdirs(
    kind: Literal["config", "state", "cache", "data"], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(platformdirs, f"user_{kind}_path", lambda name, appauthor: f"/asked/{name}")
    assert str(user_folder(kind)) == "/asked/pegboard"

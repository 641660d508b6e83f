"""Loading a board holds the garbage collector back, and leaves it as it was."""

from __future__ import annotations

import gc
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from pegboard import ConfigError, hookimpl, load_board, starting


@pytest.mark.parametrize("is_on", [True, False])
def test_the_collector_is_as_it_was_after_loading(is_on: bool) -> None:
    seen: list[bool] = []

    @hookimpl
    def provide_sources(settings: Any) -> list[Any]:
        seen.append(gc.isenabled())
        return []

    was_on = gc.isenabled()
    (gc.enable if is_on else gc.disable)()
    try:
        load_board({}, [SimpleNamespace(provide_sources=provide_sources)])
        with pytest.raises(ConfigError):
            load_board({"profile": "nobody's"}, [])
        now = gc.isenabled()
    finally:
        (gc.enable if was_on else gc.disable)()
    assert seen == [False]
    assert now is is_on


def test_what_importing_makes_is_old_at_once_and_is_still_collected() -> None:
    program = """
import contextlib, gc, typing  # what is imported before the pause
gc.collect()
before = gc.get_stats()[0]["collections"]
import pegboard
assert gc.isenabled()
assert gc.get_freeze_count() == 0
assert gc.get_stats()[0]["collections"] - before <= 2, gc.get_stats()
gc.freeze()
with pegboard._collector_paused():
    assert not gc.isenabled()
assert gc.isenabled() and gc.get_freeze_count() > 0
gc.unfreeze()
try:
    with pegboard._collector_paused():
        raise ValueError
except ValueError:
    assert gc.isenabled()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_board_of_loaded_modules_does_not_count_what_a_program_has_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """It took a tenth of a second for a million values, at every load."""
    counted: list[str] = []
    monkeypatch.setattr(gc, "get_freeze_count", lambda: counted.append("frozen") or 0)
    load_board({}, [])
    assert counted == []


def test_what_a_program_has_frozen_is_counted_at_one_load_and_not_at_each(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []
    monkeypatch.setattr(starting, "_frozen", False)
    monkeypatch.setattr(starting, "FEW", -1)  # as if every load made much
    monkeypatch.setattr(gc, "get_freeze_count", lambda: counted.append("frozen") or 1)
    for _ in range(3):
        load_board({}, [])
    assert counted == ["frozen"]

"""Ctrl-C: what is armed beside trio's own way of ending, and that it leaves nothing behind."""

from __future__ import annotations

import signal
import threading
from typing import Any

import pytest
import trio

from pegboard.cli import _interrupt, _leaving
from pegboard.cli._interrupt import leaving_promptly
from pegboard.cli._run import ProgramRun


@pytest.fixture
def heard(monkeypatch):
    """Signals that the handler before ours heard; no KeyboardInterrupt is raised."""
    signals: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: signals.append(number))
    yield signals
    signal.signal(signal.SIGINT, before)


def test_last_words_are_said_and_then_the_process_goes(heard, monkeypatch):
    said, gone = threading.Event(), threading.Event()
    monkeypatch.setattr(_interrupt, "LAST_WORDS_S", 0)
    monkeypatch.setattr(_interrupt, "GONE_S", 0.01)
    monkeypatch.setattr(_interrupt, "_go", gone.set)
    with leaving_promptly(said.set):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        assert said.wait(5)
        assert gone.wait(5)
    assert heard == [signal.SIGINT, signal.SIGINT]


def test_what_ends_by_itself_is_left_alone(heard, monkeypatch):
    monkeypatch.setattr(_interrupt, "_go", lambda: pytest.fail("it ended by itself"))
    handler = signal.getsignal(signal.SIGINT)
    with leaving_promptly():
        signal.raise_signal(signal.SIGINT)
        timers = [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
    for timer in timers:
        timer.join(5)
    assert len(timers) == 2
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_signal_that_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with leaving_promptly():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_only_the_main_thread_hears_signals(heard):
    handlers = []

    def inside() -> None:
        with leaving_promptly():
            handlers.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert handlers == [before]


def test_going_says_so_and_is_130(monkeypatch, capfd):
    ended = []
    monkeypatch.setattr(_leaving.os, "_exit", ended.append)
    _interrupt._go()
    assert ended == [130]
    assert "left behind" in capfd.readouterr().err


def test_an_interrupt_comes_out_of_the_groups_that_nurseries_make(tools):
    async def pressed(host):
        async with trio.open_nursery():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ProgramRun(plugins=("kit",)).open_host(pressed)


def test_of_other_groups_the_first_is_raised_with_all_behind_it(tools):
    async def broken(host):
        async with trio.open_nursery():
            raise ValueError("x")

    with pytest.raises(ValueError, match="x") as raised:
        ProgramRun(plugins=("kit",)).open_host(broken)
    assert isinstance(raised.value.__cause__, ExceptionGroup)


def test_collecting_is_on_again_once_a_host_runs(tools):
    import gc

    async def look(host):
        return gc.isenabled()

    gc.disable()
    try:
        assert ProgramRun(plugins=("kit",)).open_host(look) is True
    finally:
        gc.enable()
        gc.unfreeze()


HANGUP = getattr(signal, "SIGHUP", None)


@pytest.mark.parametrize(
    ("said", "pressed"),
    [
        ((signal.SIGTERM, signal.SIGTERM), 1),
        ((signal.SIGINT, signal.SIGTERM), 1),
        ((signal.SIGINT, signal.SIGINT, signal.SIGINT), 2),
        ((HANGUP, HANGUP, HANGUP), 0),
        ((signal.SIGTERM, HANGUP), 0),
        ((HANGUP, signal.SIGTERM), 0),  # said at once, in whatever order
        ((HANGUP, signal.SIGTERM, HANGUP, signal.SIGTERM), 1),
    ],
)
def test_only_who_says_to_end_twice_will_not_wait(said: tuple[Any, ...], pressed: int) -> None:
    presses = _leaving.Presses()
    assert sum(presses.again(number) for number in said if number is not None) == pressed

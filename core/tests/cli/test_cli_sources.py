"""`pegboard list` and the sources that offer nothing: each is named with its state, none is waited for too long."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from pegboard import open_host
from pegboard.cli._sources import wait_for_sources

BODIES = {
    "answers": "slot.replace([late])\n        await trio.sleep_forever()",
    "crashes": "raise OSError('nobody is at home')",
    "ends": "return",
    "fails": "slot.set_state('failed', 'the command is missing')\n        await trio.sleep_forever()",
    "never answers": "await trio.sleep_forever()",
    "installs": "slot.set_state('installing')\n        await trio.sleep_forever()",
    "takes long to end": """try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(1.5)""",
    "has none": "slot.replace([])\n        await trio.sleep_forever()",
}
SITUATIONS = [
    ("crashes", "backing_off", "OSError: nobody is at home"),
    ("ends", "configured", "it ended"),
    ("fails", "failed", "the command is missing"),
    ("never answers", "starting", "it is being started, and has not offered its tools yet"),
    ("installs", "installing", "its package is being installed, before it is started"),
    ("has none", "known", "its list of tools is empty"),
]


def source(*bodies: str, required: bool = False) -> str:
    """A plugin with a source for each body: `s0`, `s1`, ..."""
    classes = "".join(
        f"""
class Source{number}:
    name = "s{number}"
    timeout_s = None
    required = {required}

    async def run(self, slot):
        {BODIES[body]}
"""
        for number, body in enumerate(bodies)
    )
    made = ", ".join(f"Source{number}()" for number in range(len(bodies)))
    return f"""
import trio
from pegboard import hookimpl, tool

@tool
async def late() -> str:
    "From a source."
    return "here"
{classes}
@hookimpl
def provide_sources():
    return [{made}]
"""


@pytest.mark.parametrize(("body", "state", "reason"), SITUATIONS, ids=[one[0] for one in SITUATIONS])
def test_a_source_that_offers_nothing_has_a_line_with_state_seconds_and_reason(
    run: Any, site: Any, body: str, state: str, reason: str
) -> None:
    site.install("flow", source("answers", body))
    for more in ((), ("--json",)):
        answer = run("list", "--wait", "0.3", *more, plugins=("flow",))
        assert answer.status == 0
        assert f"warning: the source s1 offers nothing: {reason} ({state} for 0 s)" in answer.err
        assert "s0" not in answer.err
        assert "late" in answer.out
        assert "s1" not in answer.out


@pytest.mark.parametrize(("body", "state", "reason"), SITUATIONS, ids=[one[0] for one in SITUATIONS])
def test_the_sources_are_listed_with_their_states(run: Any, site: Any, body: str, state: str, reason: str) -> None:
    site.install("flow", source("answers", body))
    listed = run("list", "--sources", "--json", "--wait", "0.3", plugins=("flow",)).json
    assert [sorted(one) for one in listed] == 2 * [["kind", "reason", "since_s", "source", "state", "tools"]]
    assert [{**one, "since_s": 0} for one in listed] == [
        {"source": "s0", "kind": "flow", "state": "known", "since_s": 0, "reason": None, "tools": 1},
        {"source": "s1", "kind": "flow", "state": state, "since_s": 0, "reason": reason, "tools": 0},
    ]
    table = run("list", "--sources", "--wait", "0.3", plugins=("flow",)).out.splitlines()
    assert table[0].split() == ["SOURCE", "KIND", "STATE", "SINCE", "TOOLS", "REASON"]
    assert table[2].split(None, 6) == ["s1", "flow", state, "0", "s", "0", reason]


async def test_the_wait_ends_as_soon_as_each_source_has_answered_or_failed(
    site: Any, autojump_clock: MockClock
) -> None:
    site.install("flow", source("answers", "crashes", "ends", "fails", "has none"))
    async with open_host({}, ["flow"]) as host:
        began = trio.current_time()
        sources = await wait_for_sources(host, 10)
        assert trio.current_time() == began
    assert [one.tools for one in sources] == [1, 0, 0, 0, 0]


async def test_the_wait_has_an_end_where_a_source_never_answers(site: Any, autojump_clock: MockClock) -> None:
    site.install("flow", source("never answers", "crashes"))
    async with open_host({}, ["flow"]) as host:
        began = trio.current_time()
        sources = await wait_for_sources(host, 10)
        assert trio.current_time() - began == pytest.approx(10)
    assert sources[0].state == "starting"


@pytest.mark.parametrize("required", [False, True])
def test_a_source_that_never_answers_does_not_hold_list_up(run: Any, site: Any, required: bool) -> None:
    site.install("flow", source("never answers", required=required))
    answer = run("list", "--wait", "0.2", plugins=("flow",))
    assert answer.status == 0
    assert "the source s0 offers nothing" in answer.err
    assert "(starting for" in answer.err


def test_who_waits_for_an_install_is_told_how_to_wait_longer(run: Any, site: Any) -> None:
    site.install("flow", source("installs", "installs"))
    answer = run("list", "--wait", "0.3", plugins=("flow",))
    assert answer.err.count("hint: a start or an install may take longer: pegboard list --wait 120") == 1


def test_what_was_seen_counts_though_a_source_takes_long_to_end(run: Any, site: Any) -> None:
    site.install("flow", source("takes long to end", "fails"))
    listed = run("list", "--sources", "--json", "--wait", "0.2", plugins=("flow",)).json
    assert [one["state"] for one in listed] == ["starting", "failed"]


def test_no_wait_starts_nothing(run: Any, site: Any) -> None:
    site.install("flow", source("answers"))
    answer = run("list", "--wait", "0", plugins=("flow",))
    assert "the source s0 offers nothing: it was not started yet" in answer.err


def test_a_wait_that_is_none_is_refused(run: Any, site: Any) -> None:
    site.install("flow", source("answers"))
    assert run("list", "--wait", "-1", plugins=("flow",)).status == 2


def test_a_board_without_sources_says_so(run: Any, tools: Any) -> None:
    assert run("list", "--sources", "--json").json == []
    assert "no source of tools is configured" in run("list", "--sources").err


@pytest.mark.parametrize("command", [("export", "--to", "json"), ("show", "late"), ("list", "--tokens")])
def test_every_command_that_lists_names_the_source_that_is_missing(
    run: Any, site: Any, command: tuple[str, ...]
) -> None:
    site.install("flow", source("answers", "fails"))
    answer = run(*command, plugins=("flow",))
    assert "the source s1 offers nothing: the command is missing" in answer.err
    assert answer.status == 0

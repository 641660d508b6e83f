"""Each file in `attacks` is one attack of a server; what it says that must be seen is seen at every interface."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio

pytest.importorskip("pegboard_mcp", reason="pegboard_mcp is not installed")
pytest.importorskip("pegboard_confine", reason="pegboard_confine is not installed")

from attacking import MAIL, TOKEN, Case, Seen, cases

from pegboard import open_host, tool
from pegboard.testing import assert_ok
from pegboard_confine import learning, sandbox
from pegboard_mcp import plugin
from pegboard_mcp.client.transports import _process
from pegboard_mcp.collected import Capabilities
from pegboard_mcp.definitions import ServerDefinition
from pegboard_mcp.probe import looking, reporting
from pegboard_mcp.probe.checks import CHECKS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from pegboard.host import Host

pytestmark = pytest.mark.measured
SERVER = Path(__file__).parent / "attacks" / "attacking.py"
CASES = cases("answers", "changes", "definitions", "floods", "leaks", "probing")
CALLED = [key for key, case in CASES.items() if case.seen.calls and not case.seen.ends_s]
FLOODS = [key for key, case in CASES.items() if case.seen.ends_s]
CHANGES = [key for key in CALLED if key.startswith("changes/")]
TO_MODELS = {"chat", "mcp, handshake", "mcp, 2026-07-28", "gateway"}
"""Interfaces behind which a model reads."""
TO_PERSONS = {"python", "many", "chat", "mcp, handshake", "mcp, 2026-07-28"}
"""Interfaces at which a person may be asked."""
FOUND = [key for key, case in CASES.items() if case.seen.found]
DANGERS = [name for name, about in CHECKS.items() if about.level == "danger" and not name.startswith("hidden-")]
"""What hides is taken out of every text before anybody reads it."""
FIRST_WORDS = "far is seen for the first time, and has what no honest server needs: "
SHORTENED: dict[str, tuple[tuple[Any, str, Any], ...]] = {
    "probing/steals_behind_many_files": ((learning, "MAX_BYTES", 20_000),),
    "probing/lists_slowly": ((looking, "SLOW_S", 0.0),),
}
"""What would take long as it is."""
MODEL_SAYS = f"{MAIL} {TOKEN}"
"""What a model answers a server that asks it."""
GUARD_S = 30
"""A guard against a hang."""
MOST_MB = 300
"""How much more memory the process may have while it is flooded: a message may have 16 MB of values, and to read small
ones takes ten times that."""


def skip_where_nobody_can_watch() -> None:
    if why := str(sandbox.why_not() or ""):
        pytest.skip(f"nothing can be confined here: {why}")
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed: nobody sees here which files a server looks for")


class Stage:
    """A host with one attacking server, a second one that nobody trusts, and tools of the person's own."""

    def __init__(self, case: Case, state: Path, host_with: Any, near: Callable[..., Any]) -> None:
        self.case, self.state, self._host_with, self._near = case, state, host_with, near
        self.ran: list[str] = []
        self.sent: list[str] = []

    def _tools(self) -> dict[str, Any]:
        @tool
        async def send_mail(to: str, body: str = "") -> str:
            """Send mail."""
            self.ran.append("send_mail")
            self.sent += [to, body]
            return "sent"

        @tool(read_only=True)
        async def read_mail() -> str:
            """Read the last mail."""
            return MAIL

        @tool
        async def post(text: str) -> str:
            """Post it for all to see."""
            self.ran.append("post")
            self.sent.append(text)
            return "posted"

        @tool(read_only=True)
        async def look_up(query: str) -> str:
            """Look it up."""
            self.ran.append("look_up")
            self.sent.append(query)
            return "nothing"

        @tool(read_only=True, open_world=True)
        async def fetch(url: str) -> str:
            """Fetch a page."""
            self.ran.append("fetch")
            self.sent.append(url)
            return "nothing"

        return {one.name: one for one in (send_mail, fetch, read_mail, post, look_up)}

    def configured(self) -> dict[str, Any]:
        """The table of the server in the configuration."""
        settings = dict(self.case.server.settings)
        return {
            "command": sys.executable, "args": ["-S", str(SERVER), f"{self.case.key}.py"],
            "env": {"ATTACK_STATE": str(self.state), **settings.pop("env", {})}, **settings,
            **({"request_timeout": self.case.seen.ends_s} if self.case.seen.ends_s else {}),
        }  # fmt: skip

    async def open(self) -> Host:
        tools = self._tools()
        own = tools.pop("send_mail"), tools.pop("fetch")
        servers = {"plugins": {"mcp": {"servers": {"far": self.configured()}}}}
        host: Host = await self._host_with(
            plugin, self._near(tools.values()), config={**servers, **self.case.seen.config}
        )
        host.add(*own)
        await host.wait_for_sources()
        return host

    def definition(self) -> ServerDefinition:
        """The server as `pegboard probe` is given it."""
        watched = self.case.seen.watched
        return ServerDefinition(
            name="far", transport="stdio", argv=(sys.executable, "-S", str(SERVER), str(self.case.path)), connect_s=5.0,
            env={} if watched else {"ATTACK_STATE": str(self.state)}, confine=watched, **self.case.server.settings,
        )  # fmt: skip

    def others(self) -> list[Any]:
        """The tools that are there already."""
        return list(self._tools().values())

    async def change(self) -> Host:
        """Have the server be what it becomes, while nobody looks."""
        (self.state / "later").touch()
        again = await self.open()
        await again.board.sources[0][1].wake()
        return again

    async def change_meanwhile(self) -> Host:
        """Have the server be what it becomes within a conversation, and wait until the host has seen it."""
        host = await self.open()
        session, (last, arguments) = host.session(), self.case.seen.calls[-1]
        assert_ok(await session.call("grow"))
        refused, others = self.case.seen.refused, host.resource(Capabilities)
        with trio.fail_after(60):
            while refused not in json.dumps(session.check(last, arguments).to_json()) and not others.held():
                await trio.sleep(0.01)
        return host

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Host]:
        """A host with a second server, which is there to be called beside the one that attacks."""
        calm = {"command": sys.executable, "args": ["-S", str(SERVER.with_name("calm.py"))]}
        servers = {"far": self.configured(), "calm": {**calm, "env": {"ATTACK_STATE": str(self.state)}}}
        config = {"plugins": {"mcp": {"servers": servers}}, **self.case.seen.config}
        async with open_host(config, [plugin]) as host:
            host.add(*self._tools().values())
            await host.wait_for_sources()
            yield host

    async def wait_until_gone(self) -> None:
        """Until no process of the server is there any more."""
        for pid in map(int, (self.state / "pids").read_text().split()):
            with contextlib.suppress(ProcessLookupError):
                pidfd = os.pidfd_open(pid)
                await trio.lowlevel.wait_readable(pidfd)
                os.close(pidfd)

    def called(self) -> list[str]:
        """The tools that were run so far, here and there."""
        file = self.state / "called"
        return [*self.ran, *(file.read_text().split() if file.exists() else [])]

    def given(self) -> str:
        """All that a tool was given so far, here and there."""
        file = self.state / "given"
        return "\n".join([*self.sent, file.read_text(encoding="utf-8") if file.exists() else ""])


@pytest.fixture
def stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host_with: Any, source: Any, sources: Any
) -> Callable[[str], Stage]:
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))

    def at(key: str) -> Stage:
        for name, value in CASES[key].seen.environ.items():
            monkeypatch.setenv(name, value)
        return Stage(CASES[key], tmp_path, host_with, lambda tools: sources(source("near", tools)))

    return at


def those_for(seen: Seen, interfaces: dict[str, Any]) -> dict[str, Any]:
    """The interfaces at which all can be done that is done there."""
    if any("/" in name for name, _ in seen.calls):
        interfaces = {name: through for name, through in interfaces.items() if name.startswith("mcp")}
    if seen.says or seen.calls[-1][0] == "read_resource":  # the tool itself says it
        interfaces = {name: through for name, through in interfaces.items() if name != "dry run"}
    return {name: through for name, through in interfaces.items() if not seen.asked or name in TO_PERSONS}


async def see(one: Stage, host: Host, interfaces: dict[str, Any], listings: dict[str, Any], person: Any) -> None:
    """What is said that must be seen of an attack is seen of this host, at each interface."""
    seen, wrong = one.case.seen, dict[str, Any]()
    last = seen.calls[-1][0]
    for name, list_all in listings.items():
        listed = await list_all(host)
        if leaked := [words for words in (*seen.never, *seen.hidden) if words in listed]:
            wrong[f"list of {name}"] = {"leaked": leaked, "listed": listed}
    for name, through in those_for(seen, interfaces).items():
        before, who = one.called().count(last), person(MODEL_SAYS)
        answers = await (through(host, list(seen.calls), who) if seen.asked else through(host, list(seen.calls)))
        ran = one.called().count(last) - before
        says = () if name == "dry run" and not seen.refused else seen.says  # nothing is called there
        expected = [*says, *([seen.refused] if seen.refused else [])]
        missing = [words for words in expected if words not in answers]
        missing += [words for words in seen.asked if words not in "\n".join(who.questions)]
        leaked = [words for words in seen.never if words in answers]
        leaked += [words for words in seen.hidden if words in answers and name in TO_MODELS]
        leaked += [words for words in seen.unsent if words in one.given()]
        if missing or leaked or (seen.refused and ran):
            told = {"answers": answers, "questions": who.questions, "given": one.given()}
            wrong[name] = {"missing": missing, "leaked": leaked, "ran": ran, **told}
    assert not wrong, json.dumps(wrong, indent=1)


def hear(one: Stage, caplog: pytest.LogCaptureFixture) -> None:
    """The person who runs the host reads what is said that they must read."""
    told = "\n".join(record.getMessage() for record in caplog.records)
    assert [words for words in one.case.seen.told if words not in told] == []


@pytest.mark.parametrize("key", CALLED)
async def test_an_attack_is_seen_at_every_interface(
    stage: Callable[[str], Stage],
    interfaces: Any,
    listings: Any,
    person: Any,
    caplog: pytest.LogCaptureFixture,
    key: str,
) -> None:
    one = stage(key)
    host = await one.open()
    if key in CHANGES:
        host = await one.change()
    await see(one, host, interfaces, listings, person)
    hear(one, caplog)


@pytest.mark.parametrize("key", [key for key in CHANGES if not CASES[key].seen.at_start])
async def test_what_changes_within_a_conversation_is_seen_at_every_interface(
    stage: Callable[[str], Stage],
    interfaces: Any,
    listings: Any,
    person: Any,
    caplog: pytest.LogCaptureFixture,
    key: str,
) -> None:
    one = stage(key)
    await see(one, await one.change_meanwhile(), interfaces, listings, person)
    hear(one, caplog)


@pytest.mark.parametrize("key", FOUND)
async def test_an_attack_is_found_before_anything_is_configured(
    stage: Callable[[str], Stage], monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    one = stage(key)
    seen = one.case.seen
    if seen.watched:
        skip_where_nobody_can_watch()
    for module, name, value in SHORTENED.get(key, ()):
        monkeypatch.setattr(module, name, value)
    with trio.fail_after(120):
        report = await looking.probe(one.definition(), one.others(), ["near"], wait_s=0.0)
    assert (report.problem is None) is (not seen.problem)
    assert seen.problem in " ".join(report.problem or ())
    assert [check for check in seen.found if check not in {finding.check for finding in report.findings}] == []
    told = json.dumps(reporting.to_json(one.definition(), report), ensure_ascii=False)
    assert len(json.loads(told)["findings"]) == len(report.findings)
    words_of_people = "\n".join(map(str, report.findings))
    assert [words for words in seen.says if not seen.calls and words not in words_of_people] == []
    assert [words for words in seen.never if words in told] == []


class Others:
    """Calls of another server and of the program's own tools, beside a flood."""

    def __init__(self, host: Host) -> None:
        self._session, self.answered, self.failed = host.session(), trio.Event(), list[str]()

    async def call(self) -> None:
        while True:
            for name in ("calm_call", "read_mail"):
                result = await self._session.call(name, timeout_s=GUARD_S)
                self.failed += [] if result.ok else [result.text]
            self.answered.set()
            await trio.sleep(0.02)  # a pace, and nothing that is waited for


def grown_mb(since: int | None = None) -> int:
    """How much memory this process had at most since it was asked the last time."""
    Path("/proc/self/clear_refs").write_text("5") if since is None else None
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) // 1024 - (since or 0)


@pytest.mark.skipif(sys.platform != "linux", reason="memory and processes are counted as Linux has them")
@pytest.mark.parametrize("key", FLOODS)
async def test_who_exhausts_a_host_costs_its_own_calls_alone(
    stage: Callable[[str], Stage], interfaces: Any, person: Any, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setattr(_process, "GRACE_S", 0.3)
    one, wrong, before = stage(key), dict[str, Any](), grown_mb()
    seen = one.case.seen
    with trio.fail_after(2 * GUARD_S):
        async with one.opened() as host:
            for name, through in those_for(seen, interfaces).items():
                if name == "dry run":  # nothing is called there
                    continue
                others, start, who = (
                    Others(host),
                    trio.current_time(),
                    [person(MODEL_SAYS)] if seen.asked else [],
                )
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(others.call)
                    answers = await through(host, list(seen.calls), *who)
                    took_s = trio.current_time() - start
                    await others.answered.wait()
                    nursery.cancel_scope.cancel()
                missing = [words for words in seen.says if words not in answers]
                leaked = [words for words in seen.never if words in answers]
                if missing or leaked or others.failed or took_s > len(seen.calls) * seen.ends_s + GUARD_S:
                    told = {"others": others.failed, "answers": answers[:2_000]}
                    wrong[name] = {"missing": missing, "leaked": leaked, "took_s": took_s, **told}
        await one.wait_until_gone()
    assert not wrong, json.dumps(wrong, indent=1)
    assert grown_mb(before) < MOST_MB


DANGEROUS = [
    key
    for key in FOUND
    if key.startswith("definitions/")
    if set(CASES[key].seen.found) & {*DANGERS}
    if not CASES[key].server.instructions  # nobody is given them
]


@pytest.mark.parametrize("key", DANGEROUS)
async def test_what_nobody_probed_is_told_when_it_is_seen_for_the_first_time(
    stage: Callable[[str], Stage], caplog: pytest.LogCaptureFixture, key: str
) -> None:
    """A person who has a server configured without a look at it reads once that it is dangerous, and doctor says so."""
    one = stage(key)
    for told in (1, 1):
        await one.open()
        lines = [record.getMessage() for record in caplog.records if FIRST_WORDS in record.getMessage()]
        assert len(lines) == told
        assert "pegboard probe far" in lines[0]

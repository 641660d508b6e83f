"""The verdict of `pegboard probe` about servers that evade it: see `kit/evading.py`.

Each row of `EVASIONS` is one attack: what the server does, the check that has to see it, and what is said of it. What
evades one check is known of programs that detect an analysis (MITRE ATT&CK T1497, T1480), and of servers that are made
to be found harmless by scanners of definitions ([RUG] in `probe/checks.py`).
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio

pytest.importorskip("pegboard_confine", reason="pegboard_confine is not installed")
pytest.importorskip("pegboard_mcp", reason="pegboard_mcp is not installed")

from pegboard_confine import learning
from pegboard_confine.sandbox import why_not
from pegboard_mcp.definitions import ServerDefinition
from pegboard_mcp.probe import looking, reporting
from pegboard_mcp.probe.checks import verdict_of

if TYPE_CHECKING:
    from collections.abc import Callable

KIT = Path(__file__).parent / "kit" / "evading.py"
pytestmark = pytest.mark.measured
watched = pytest.mark.skipif(
    bool(why_not()) or shutil.which("strace") is None, reason="nobody sees here which files a server looks for"
)

EVASIONS: dict[str, tuple[str, str]] = {
    "ends_when_started_again": ("not-again", "started again: it exited with status 3"),
    "refuses_another_client": ("not-again", "as the client claude-ai has it: "),
    "answers_no_more": ("not-again", "after a while: "),
    "ends_later": ("not-again", "after a while: it exited with status 1"),
    "lists_what_no_message_holds": ("no-list", "tools/list"),
    "refuses_a_list": ("no-list", "resources/list: not now"),
    "floods_with_logs": ("floods", "more than 10,000 lines"),
    "floods_with_changes": ("floods", "more than 10,000 lines"),
    "floods_with_garbage": ("floods", "more than 10,000 lines"),
    "floods_with_questions": ("floods", "more than 10,000 lines"),
    "floods_stderr": ("floods", "more than 10,000 lines"),
    "hides_orders_behind_notes": ("order-override", "tool last, description"),
}


@pytest.fixture
def look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., looking.Report]:
    """`look(mode)`: the report about a server of that mode."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))

    def run(mode: str, *, is_confined: bool = False) -> looking.Report:
        definition = ServerDefinition(
            name="probed", transport="stdio", argv=(sys.executable, str(KIT), mode), connect_s=5.0,
            env={} if is_confined else {"STARTS": str(tmp_path / "starts")}, confine=is_confined,
            max_message_bytes=8_000_000,
        )  # fmt: skip
        with_guard = trio.run(_within, looking.probe, definition)
        assert isinstance(with_guard, looking.Report)
        return with_guard

    return run


async def _within(look: Any, definition: ServerDefinition) -> Any:
    with trio.fail_after(120):  # none of them takes a tenth of it
        return await look(definition, wait_s=0.0)


@pytest.mark.parametrize("mode", EVASIONS)
def test_what_evades_the_verdict_is_told(look: Callable[..., looking.Report], mode: str) -> None:
    check, said = EVASIONS[mode]
    report = look(mode)
    assert verdict_of(report.findings) in ("warning", "danger")
    assert any(said in str(one) for one in report.findings if one.check == check), [*map(str, report.findings)]
    assert json.loads(json.dumps(reporting.to_json(ServerDefinition(name="x", transport="stdio", argv=("x",)), report)))


@watched
@pytest.mark.parametrize("mode", ["steals_and_never_answers", "steals_and_ends"])
def test_what_a_server_did_is_told_though_it_could_not_be_looked_at(
    look: Callable[..., looking.Report], mode: str
) -> None:
    report = look(mode, is_confined=True)
    assert report.problem is not None
    assert {one.check for one in report.findings} >= {"opens-keys", "opens-credentials"}
    told = reporting.to_json(ServerDefinition(name="x", transport="stdio", argv=("x",)), report)
    assert told["verdict"] == "danger"
    assert len(told["findings"]) == len(report.findings)


@watched
def test_no_check_is_named_so_often_that_others_are_not_seen(look: Callable[..., looking.Report]) -> None:
    report = look("looks_for_thousands_of_keys", is_confined=True)
    assert sum(one.check == "opens-keys" for one in report.findings) == 100
    assert verdict_of(report.findings) == "danger"


@watched
def test_who_floods_what_is_noted_of_its_files_is_told_to_have_done_so(
    look: Callable[..., looking.Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attack: 122,000 names of 4,000 letters fill what is kept of a trace, and then it looks for keys."""
    monkeypatch.setattr(learning, "MAX_BYTES", 20_000)
    assert "trace-cut" in {one.check for one in look("steals_behind_a_flood_of_files", is_confined=True).findings}


@watched
def test_a_person_reads_what_a_server_did_before_it_asks_for_more(run_program: Any, tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data"), "XDG_STATE_HOME": str(tmp_path / "s")}
    words = ["probe", "--wait", "0", "--", sys.executable, str(KIT), "steals_and_ends"]
    done = run_program(*words, cwd=tmp_path, env=environ)
    assert done.returncode == 1
    assert "danger   the server: it looked for files that hold keys: ~/.ssh/id_ed25519" in done.stdout
    assert "do not use it" in done.stdout
    assert "API_KEY is required" in done.stderr
    assert "give it what it asks for" not in done.stderr


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_no_sign_of_a_server_reaches_the_terminal_as_it_is(run_program: Any, tmp_path: Path, form: list[str]) -> None:
    """Attack: sequences that a terminal obeys, also those of one character (C1), and marks that turn a line around, in
    a name: "Deceiving users with ANSI terminal codes in MCP" (2025)."""
    environ = {"HOME": str(tmp_path), "STARTS": str(tmp_path / "starts")}
    words = ["probe", "--wait", "0", "--unconfined", "--env", f"STARTS={tmp_path / 'starts'}", *form, "--"]
    done = run_program(*words, sys.executable, str(KIT), "garbles_the_terminal", cwd=tmp_path, env=environ)
    assert done.returncode == 1
    assert all(sign.isprintable() or sign == "\n" for sign in done.stdout), ascii(done.stdout)
    assert not form or json.loads(done.stdout)["verdict"] == "danger"

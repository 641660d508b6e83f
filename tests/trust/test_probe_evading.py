"""What a person reads of servers that evade `pegboard probe`, and that a verdict is about them: see `attacks/probing`.

What evades a check is known of programs that detect an analysis (MITRE ATT&CK T1497, T1480), and of servers that are
made to be found harmless by scanners of definitions ([RUG] in `probe/checks.py`).
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

from attacking import cases

from pegboard_confine.sandbox import why_not
from pegboard_mcp.definitions import ServerDefinition
from pegboard_mcp.probe import looking, reporting
from pegboard_mcp.probe.checks import CHECKS, verdict_of

if TYPE_CHECKING:
    from collections.abc import Callable

SERVER = Path(__file__).parent / "attacks" / "attacking.py"
CASES = cases("probing")
pytestmark = pytest.mark.measured
watched = pytest.mark.skipif(
    bool(why_not()) or shutil.which("strace") is None, reason="nobody sees here which files a server looks for"
)


@pytest.fixture
def look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., looking.Report]:
    """`look(key)`: the report about the server of that case, confined."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))

    def run(key: str) -> looking.Report:
        definition = ServerDefinition(
            name="probed", transport="stdio", argv=(sys.executable, "-S", str(SERVER), str(CASES[key].path)),
            connect_s=5.0, confine=True,
        )  # fmt: skip
        with_guard = trio.run(_within, looking.probe, definition)
        assert isinstance(with_guard, looking.Report)
        return with_guard

    return run


async def _within(look: Any, definition: ServerDefinition) -> Any:
    with trio.fail_after(120):  # none of them takes a tenth of it
        return await look(definition, wait_s=0.0)


@pytest.mark.parametrize("check", ["not-again", "no-list", "floods", "trace-cut"])
def test_no_verdict_says_that_nothing_was_found_in_a_server_that_evades_it(check: str) -> None:
    assert CHECKS[check].level in ("warning", "danger")


@watched
@pytest.mark.parametrize("key", ["probing/steals_and_never_answers", "probing/steals_and_ends"])
def test_what_a_server_did_is_told_though_it_could_not_be_looked_at(
    look: Callable[..., looking.Report], key: str
) -> None:
    report = look(key)
    told = reporting.to_json(ServerDefinition(name="x", transport="stdio", argv=("x",)), report)
    assert told["verdict"] == "danger"
    assert len(told["findings"]) == len(report.findings)


@watched
def test_no_check_is_named_so_often_that_others_are_not_seen(look: Callable[..., looking.Report]) -> None:
    report = look("probing/looks_for_thousands_of_keys")
    assert sum(one.check == "opens-keys" for one in report.findings) == 100
    assert verdict_of(report.findings) == "danger"


@watched
def test_a_person_reads_what_a_server_did_before_it_asks_for_more(run_program: Any, tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data"), "XDG_STATE_HOME": str(tmp_path / "s")}
    words = ["probe", "--wait", "0", "--", sys.executable, str(SERVER), str(CASES["probing/steals_and_ends"].path)]
    done = run_program(*words, cwd=tmp_path, env=environ)
    assert done.returncode == 1
    assert "danger   the server: it looked for files that hold keys: ~/.ssh/id_ed25519" in done.stdout
    assert "do not use it" in done.stdout
    assert "API_KEY is required" in done.stderr
    assert "give it what it asks for" not in done.stderr


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_no_sign_of_a_server_reaches_the_terminal_as_it_is(run_program: Any, tmp_path: Path, form: list[str]) -> None:
    words = ["probe", "--wait", "0", "--unconfined", *form, "--", sys.executable, str(SERVER)]
    garbles = str(CASES["probing/garbles_the_terminal"].path)
    done = run_program(*words, garbles, cwd=tmp_path, env={"HOME": str(tmp_path)})
    assert done.returncode == 1
    assert all(sign.isprintable() or sign == "\n" for sign in done.stdout), ascii(done.stdout)
    assert not form or json.loads(done.stdout)["verdict"] == "danger"

"""`pegboard probe` as a person uses it: with servers that run, in a sandbox where there is one."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from attacking import cases

confine = pytest.importorskip("pegboard_confine.sandbox", reason="pegboard_confine is not installed")
pytest.importorskip("pegboard_mcp", reason="pegboard_mcp is not installed")

KIT = Path(__file__).parent / "kit" / "probed.py"
ATTACK = (sys.executable, str(Path(__file__).parent / "attacks" / "attacking.py"))
pytestmark = pytest.mark.measured
confined = pytest.mark.skipif(bool(confine.why_not()), reason=f"nothing can be confined here: {confine.why_not()}")


@pytest.fixture
def probe(run_program: Any, tmp_path: Path) -> Any:
    """`probe(*words)`: what `pegboard probe` prints, and its status."""
    environ = {
        "HOME": str(tmp_path),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }

    def run(*words: str) -> Any:
        return run_program("probe", *words, cwd=tmp_path, env=environ)

    return run


@confined
def test_an_honest_server_is_fine_and_its_table_is_proposed(probe: Any) -> None:
    done = probe("--wait", "0", "--", sys.executable, str(KIT))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "words 1: 1 tool\n" in done.stdout
    assert "danger" not in done.stdout
    assert "warning" not in done.stdout
    table = tomllib.loads(done.stdout[done.stdout.index("[plugins") :])["plugins"]["mcp"]["servers"]["words"]
    assert table == {"command": sys.executable, "args": [str(KIT)], "confine": True}
    assert probe("--wait", "0", "--", sys.executable, str(KIT)).stdout == done.stdout  # the same pin


@confined
def test_a_server_is_looked_at_as_if_it_never_was(probe: Any, tmp_path: Path) -> None:
    """Attack: it counts in its home how often it was started, and behaves where that was often. What lasts of a probe
    is its package too: a newer one would be configured than was looked at."""
    case, pins = str(cases("probing")["probing/changes_at_each_start"].path), []
    for _ in range(2):
        done = probe("--wait", "0", "--json", "--", *ATTACK, case)
        assert done.returncode == 1, done.stderr
        pins.append(json.loads(done.stdout)["pin"])
    assert pins[0] == pins[1]
    assert list(tmp_path.glob("data/pegboard/confined/*")) == []


def test_no_secret_of_a_server_is_told(probe: Any) -> None:
    done = probe("--wait", "0", "--unconfined", "--", *ATTACK, str(cases("probing")["probing/says_a_secret"].path))
    assert done.returncode == 1
    assert "its log has a key in it" in done.stdout
    assert "tr0ub4dor" not in done.stdout + done.stderr


def test_without_a_sandbox_it_is_said_what_was_not_seen(probe: Any) -> None:
    done = probe("--wait", "0", "--unconfined", "--", sys.executable, str(KIT))
    assert done.returncode == 0, done.stderr
    assert "it ran without a sandbox: what it opened and whom it reached was not seen" in done.stdout


@pytest.mark.parametrize("option", ["--read", "--write", "--network", "--env"])
def test_an_option_that_a_configured_server_would_not_get_is_refused(
    option: str, run_program: Any, tmp_path: Path
) -> None:
    config = tmp_path / "servers.toml"
    config.write_text('[plugins.mcp.servers.words]\ncommand = "words"\n')
    value = "NAME=VALUE" if option == "--env" else "/srv"
    done = run_program("--config", str(config), "probe", option, value, "words", cwd=tmp_path)
    assert done.returncode == 2
    assert "its own table says what it has" in done.stderr


WRONG = [
    (["nonsense-that-is-no-program"], "there is no server and no program"),
    (["https://example.org/mcp", "more"], "give the address alone"),
    (["--env", "NOTHING", "--", "x"], "expected NAME=VALUE"),
    ([], "Missing argument"),
    (["npx", "-y", "pkg"], "-y is not an option of probe; a command stands behind --: pegboard probe -- npx -y pkg"),
    (["--wiat", "3", "words"], "did you mean --wait?"),
    (["words", "--wiat", "3", "--", "x"], "did you mean --wait?"),
]


@pytest.mark.parametrize(("words", "told"), WRONG, ids=lambda one: str(one)[:20])
def test_wrong_words_are_told(probe: Any, words: list[str], told: str) -> None:
    done = probe(*words)
    assert done.returncode == 2
    assert told in done.stderr
    assert done.stdout == ""


def test_a_server_that_cannot_be_reached_is_told(probe: Any) -> None:
    done = probe("--wait", "0", "--unconfined", "--", sys.executable, "-c", "raise SystemExit('not today')")
    assert done.returncode == 2
    assert "not today" in done.stderr


@confined
def test_a_server_that_lacks_something_is_given_it_by_options(probe: Any) -> None:
    done = probe("--wait", "0", "--", sys.executable, "-c", "raise SystemExit('API_KEY is required')")
    assert done.returncode == 2
    assert "API_KEY is required" in done.stderr
    assert "--env NAME=VALUE" in done.stderr
    assert "confine suggest" not in done.stderr

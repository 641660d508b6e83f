"""A peer that cannot be started here is a skip with its reason, never an error, whoever starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
MISSING = "error while loading shared libraries: libmissing.so.1: cannot open shared object file"


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["a-program-that-nobody-has"], "a-program-that-nobody-has"),
        (python(f"import sys; sys.exit({MISSING!r})"), "libmissing.so.1"),
        (python("import os; os._exit(127)"), "status 127"),
        (python("import os; os.kill(os.getpid(), 9)"), "status -9"),
        (python("import time; time.sleep(600)"), "timed out"),
    ],
)
def test_what_does_not_run_here_skips_with_the_reason(peer_programs: Any, command: list[str], says: str) -> None:
    with pytest.raises(pytest.skip.Exception, match=says):
        peer_programs.run(command, timeout_s=1 if says == "timed out" else 30)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["a-program-that-nobody-has"], "a-program-that-nobody-has"),
        (python(f"import sys; sys.exit({MISSING!r})"), "libmissing.so.1"),
        (python("import os; os._exit(127)"), "without a word"),
        (python("import time; time.sleep(600)"), "it is not well after 0.5 s"),
    ],
)
def test_a_server_that_does_not_come_up_here_skips_with_the_reason(
    peer_programs: Any, command: list[str], says: str
) -> None:
    start_s = 0.5 if "well" in says else 30
    with (
        pytest.raises(pytest.skip.Exception, match=says),
        peer_programs.serving("a server", command, lambda: False, start_s=start_s),
    ):
        raise AssertionError("it came up")


def test_a_server_that_came_up_and_misbehaves_is_a_failure(peer_programs: Any) -> None:
    with (
        pytest.raises(AssertionError, match="it answers rubbish"),
        peer_programs.serving("a server", python("import time; time.sleep(600)"), lambda: True),
    ):
        raise AssertionError("it answers rubbish")


KEEPER = ROOT / "tests" / "kit" / "keeper.py"


@pytest.mark.skipif(sys.platform != "linux", reason="what becomes of a child is asked of Linux")
@pytest.mark.parametrize("how", ["its input closes", "it is asked to end", "it is killed"])
def test_a_server_ends_however_who_keeps_it_does(how: str) -> None:
    """A run of the tests that is killed leaves no server behind."""
    # What the server inherits is open for as long as it lives.
    ours, theirs = os.pipe()
    command = [sys.executable, str(KEEPER), *python("import time; print('up', flush=True); time.sleep(600)")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=theirs) as keeper, os.fdopen(ours) as said:
        os.close(theirs)
        assert said.readline() == "up\n"
        if how == "it is asked to end":
            keeper.terminate()
        elif how == "it is killed":
            keeper.kill()
        else:
            keeper.stdin.close()  # type: ignore[union-attr]
        assert said.read() == ""


NOTHING_STARTS = """
import subprocess, sys

start = subprocess.Popen.__init__
INSTALLERS = {"uv", "pip", "npm"}


def fail(self, args, *rest, **options):
    words = [args] if isinstance(args, str) else [str(one) for one in args]
    program = words[0].rpartition("/")[2]
    is_installer = program in INSTALLERS or "pip" in words
    is_peer = any(word.endswith("keeper.py") for word in words) or words[0] != sys.executable
    if is_peer and not (is_installer and INSTALLS):
        args = [sys.executable, "-c", f"import sys; sys.exit({MISSING!r})"]
    start(self, args, *rest, **options)


subprocess.Popen.__init__ = fail
"""

PEERS = [
    "tests/models/test_real_model.py::test_a_required_call_of_a_tool_its_result_and_an_answer_in_text",
    "tests/models/test_llmock.py::test_a_tool_is_called_and_its_result_is_answered",
    "tests/models/test_aimock.py::test_calls_and_their_results_come_to_an_answer",
    "tests/toolgen/test_services.py::test_every_status_becomes_its_code",
    "plugins/pegboard-mcp/tests/test_mcp_source_real_servers.py::test_server_memory_remembers",
    "plugins/pegboard-mcp/tests/test_mcp_source_real_servers.py::test_mcp_server_time_tells_the_time",
    "plugins/pegboard-mcp/tests/test_mcp_transport_websocket.py::test_the_sdks_own_server_is_spoken_to",
    "plugins/pegboard-mcp/tests/test_mcp_server_program.py::test_the_inspectors_command_line_lists_and_calls",
    "plugins/pegboard-tasks/tests/test_tasks_in_trouble.py::test_a_server_that_was_restarted_is_used_at_the_first_call",
]
"""A test of each fixture that starts a program or a server which nobody here wrote."""


@pytest.mark.parametrize("installs", [False, True], ids=["nothing-can-be-installed", "nothing-can-be-started"])
def test_where_no_peer_can_be_started_every_test_that_wants_one_is_skipped(tmp_path: Path, installs: bool) -> None:
    (tmp_path / "nothing_starts.py").write_text(f"INSTALLS = {installs}\nMISSING = {MISSING!r}\n{NOTHING_STARTS}")
    cache = {} if installs else {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "nothing_starts", "-p", "no:cacheprovider", *PEERS],
        cwd=ROOT,
        env={**os.environ, **cache, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    ended = done.stdout.strip().splitlines()[-1]
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr
    assert "skipped" in ended, done.stdout[-4_000:]
    assert "passed" not in ended, done.stdout[-4_000:]
    assert "cannot be started here" in done.stdout

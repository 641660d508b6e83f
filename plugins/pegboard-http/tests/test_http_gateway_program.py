"""`pegboard gateway` as a person runs it, and what the README says of it."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from pegboard import ConfigError, load_board
from pegboard_http import plugin
from pegboard_http.statuses import REASONS, REFUSED_BY_THE_TOOL, STATUS_OF

README = Path(__file__).parents[1] / "README.md"
PROGRAM = [sys.executable, "-m", "pegboard", "--plugin", "http"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, timeout=60, check=False)


HANGUP = getattr(signal, "SIGHUP", signal.SIGTERM)
"""A terminal that is closed."""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130), (HANGUP, 0)])
def test_the_program_serves_until_a_signal(number: signal.Signals, status: int) -> None:
    served = subprocess.Popen([*PROGRAM, "gateway", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert served.stderr is not None
        line = served.stderr.readline().decode()
        found = re.fullmatch(r"serving \d+ tools at (http://127\.0\.0\.1:\d+) \(Ctrl-C ends it\)\n", line)
        assert found is not None, line
        with httpx2.Client(base_url=found[1], trust_env=False, verify=False) as client:
            document = client.get("/openapi.json").json()
            assert document["paths"].keys() >= {"/tools", "/openapi.json"}
        served.send_signal(number)
        out, _ = served.communicate(timeout=20)
    finally:
        served.kill()
        served.wait()
    assert (served.returncode, out) == (status, b"")


@pytest.mark.parametrize(
    ("number", "status", "words"),
    [(signal.SIGTERM, 0, ""), (signal.SIGINT, 130, "interrupted\n"), (HANGUP, 0, "")],
)
def test_the_inspector_is_served_beside_it_and_ends_with_it(number: signal.Signals, status: int, words: str) -> None:
    pytest.importorskip("pegboard_inspect", reason="pegboard-inspect is not installed")
    command = [*PROGRAM, "gateway", "--port", "0", "--inspect"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as served:
        assert served.stderr is not None
        lines = sorted(served.stderr.readline() for _ in range(2))
        served.send_signal(number)
        try:
            _, rest = served.communicate(timeout=60)  # a guard against a hang
        finally:
            served.kill()
    assert re.fullmatch(r"inspect: http://127\.0\.0\.1:\d+/#token=\S+\n", lines[0])
    assert lines[1].startswith("serving ")
    assert (served.returncode, rest) == (status, words)


def test_without_its_package_the_inspector_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from pegboard_http.command import _inspecting

    monkeypatch.setitem(sys.modules, "pegboard_inspect", None)
    with pytest.raises(ConfigError, match="needs pegboard-inspect, which is not installed"):
        _inspecting(None)  # type: ignore[arg-type]


def test_the_program_counts_the_tools_of_the_profile_that_it_serves(tmp_path: Path) -> None:
    config = tmp_path / "pegboard.toml"
    config.write_text('profile = "none"\n[profiles.none]\ntags = ["of-nobody"]\n', encoding="utf-8")
    command = [sys.executable, "-m", "pegboard", "--config", str(config), "gateway", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as served:
        assert served.stderr is not None
        line = served.stderr.readline()
        served.terminate()
    assert line.startswith("serving 0 tools at "), line


def test_a_port_that_is_taken_and_an_open_interface_are_said_in_a_line_and_a_hint() -> None:
    open_door = run("gateway", "--host", "0.0.0.0", "--port", "0")
    assert open_door.returncode == 2
    assert "[plugins.http.tokens]" in open_door.stderr
    assert len(open_door.stderr.splitlines()) == 2
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused = run("gateway", "--port", str(taken.getsockname()[1]))
    assert (refused.returncode, "end what listens there" in refused.stderr) == (2, True)


@pytest.mark.parametrize("section", [{"max_body_bytes": 3}, {"max_calls": 0}, {"stop_timeout_s": -1.0}, {"tokns": {}}])
def test_settings_that_cannot_be_used_are_refused_at_load(section: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=rf"plugins\.http\.{next(iter(section))}"):
        load_board({"plugins": {"http": section}, "strict": True}, [plugin])


def test_the_table_of_the_readme_is_that_of_the_code() -> None:
    rows = re.findall(r"^\| (`[A-Z_]+`(?:, `[A-Z_]+`)*) \| (\d{3})", README.read_text(), re.MULTILINE)
    said = {code: int(status) for codes, status in rows for code in re.findall(r"[A-Z_]+", codes)}
    assert said == {code.value: status for code, status in STATUS_OF.items()}
    assert {*STATUS_OF.values(), REFUSED_BY_THE_TOOL} <= REASONS.keys()

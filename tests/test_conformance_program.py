"""The program of the conformance suite counts what the suite wrote, and fails where a check that counts failed."""

from __future__ import annotations

import importlib.util
import json
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from types import ModuleType

PROGRAM = Path(__file__).parent.parent / "conformance" / "run.py"

NODE = """#!{python}
import json, pathlib, sys
said = json.loads(pathlib.Path({said!r}).read_text())
arguments = sys.argv[1:]
out = pathlib.Path(arguments[arguments.index("-o") + 1])
checks = said.get(arguments[arguments.index("--scenario") + 1])
if checks is not None:
    (out / "one").mkdir()
    (out / "one" / "checks.json").write_text(json.dumps(checks))
"""


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("conformance_run", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def run(program: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Runs the client side of a suite whose scenarios write what the test says."""
    package = tmp_path / "suite" / "node_modules" / program.SUITE
    (package / "requirements").mkdir(parents=True)
    (package / "package.json").write_text(json.dumps({"version": program.VERSION}))
    required = {
        "server": ["ping"],
        "client": ["plain", "auth/with-a-slash"],
        "not_scored": [
            {"scenario": "extra", "leg": "client", "reason": "extension"},
            {"scenario": "elsewhere", "leg": "server", "reason": "pending"},
        ],
    }
    (package / "requirements" / "2025-11-25.yaml").write_text(json.dumps(required))  # JSON is YAML
    said, node = tmp_path / "said.json", tmp_path / "node"
    node.write_text(NODE.format(python=sys.executable, said=str(said)))
    node.chmod(node.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(program, "find_node", lambda: node)

    def run(checks: dict[str, list[dict[str, str]]], *options: str) -> int:
        said.write_text(json.dumps(checks))
        arguments = ["run.py", "--side", "client", "--revision", "2025-11-25", "--suite", str(tmp_path / "suite")]
        monkeypatch.setattr(sys, "argv", [*arguments, *options])
        return program.main()

    return run


def check(status: str, name: str = "one") -> dict[str, str]:
    return {"id": name, "status": status, "description": "what it is about"}


def test_what_passed_is_counted_and_a_check_that_says_nothing_of_either_is_not(run: Any, capsys: Any) -> None:
    plain = [check("SUCCESS"), check("INFO"), check("SKIPPED"), check("WARNING")]
    assert run({"plain": plain, "auth/with-a-slash": [check("SUCCESS")], "extra": [check("SUCCESS")]}) == 0
    assert capsys.readouterr().out == "client 2025-11-25: 3 passed, 0 failed\n"


def test_a_failed_check_that_counts_fails_the_run_and_is_named(run: Any, capsys: Any) -> None:
    passed = [check("SUCCESS")]
    assert run({"plain": [*passed, check("FAILURE", "broken")], "auth/with-a-slash": passed, "extra": passed}) == 1
    said = capsys.readouterr()
    assert said.out == "client 2025-11-25: 3 passed, 1 failed\n"
    assert "plain: broken: what it is about" in said.err


def test_a_failed_check_that_does_not_count_is_reported_alone(run: Any, capsys: Any) -> None:
    passed = [check("SUCCESS")]
    assert run({"plain": passed, "auth/with-a-slash": passed, "extra": [check("FAILURE")]}) == 0
    said = capsys.readouterr()
    assert said.out == "client 2025-11-25: 2 passed, 0 failed\n"
    assert "extra (1)" in said.err


def test_a_scenario_that_wrote_nothing_has_failed(run: Any, capsys: Any) -> None:
    assert run({"auth/with-a-slash": [check("SUCCESS")]}, "--scenario", "plain") == 1
    assert "wrote no checks" in capsys.readouterr().err


def test_an_unknown_scenario_is_wrong_usage(run: Any, capsys: Any) -> None:
    assert run({}, "--scenario", "nonsense") == 2
    assert "no run has a scenario of that name" in capsys.readouterr().err


def test_what_the_suite_wrote_is_kept_where_that_was_asked_for(run: Any, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    run({"plain": [check("SUCCESS")]}, "--scenario", "plain", "--keep", str(kept))
    assert (kept / "client-2025-11-25" / "plain" / "one" / "checks.json").is_file()


def test_another_version_of_the_suite_is_refused(run: Any, program: ModuleType, tmp_path: Path, capsys: Any) -> None:
    package = tmp_path / "suite" / "node_modules" / program.SUITE / "package.json"
    package.write_text(json.dumps({"version": "9.9.9"}))
    assert run({}) == 2
    assert "9.9.9" in capsys.readouterr().err

"""Outputs of read tools are recorded where they come out the same in another place, zone and day."""

from __future__ import annotations

import datetime
import json
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from pegboard_toolgen import _recorder
from pegboard_toolgen.assemble import MADE_UP
from pegboard_toolgen.folder import Folder
from pegboard_toolgen.record import is_timeless, may_run, record

LIBRARY = """
import datetime, os, time

def double(n): return n * 2
def today(): return str(datetime.date.today())
def days_since(day): return (datetime.date.today() - datetime.date.fromisoformat(day)).days
def seconds(): return time.strftime("%j %H")
def hashed(): return hash("x")
def folder(): return os.getcwd()
def environment(): return os.environ.get("A_SECRET_OF_MINE", "none")
def zone(): return time.tzname[0]
def failing(): raise ValueError("no")
def write(n): open(os.environ["HOME"] + "/x", "w"); return n
"""


def tool(name: str, *parameters: str, category: str = "read", example: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "id": f"python:keep_lib.{name}",
        "name": name,
        "description": "d",
        "category": category,
        "risk": "low",
        "idempotency": "idempotent",
        "input_schema": {
            "type": "object",
            "properties": {one: {} for one in parameters},
            "additionalProperties": False,
        },
        "output_schema": {"type": "object"},
        "examples": [{"input": example or {}}],
        "binding": {
            "kind": "python",
            "module": "keep_lib",
            "qualified_name": f"keep_lib.{name}",
            "parameters": [{"parameter": one, "pass": "positional"} for one in parameters],
        },
        **more,
    }


def manifest(*tools: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "manifest_version": "1.0",
        "schema_dialect": "https://json-schema.org/draft/2020-12/schema",
        "project": {"name": "keep", "runtime": "python", "execution_model": "in-process"},
        "modules": {"keep_lib": {"import": "keep_lib"}},
        "tools": sorted(tools, key=lambda one: str(one["name"])),
        **more,
    }


def outputs_of(document: dict[str, Any]) -> dict[str, Any]:
    return {one["name"]: one["examples"][0]["output"] for one in document["tools"] if "output" in one["examples"][0]}


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "keep_lib.py").write_text(LIBRARY)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    monkeypatch.setenv("A_SECRET_OF_MINE", "hunter2")
    return tmp_path


def test_only_what_is_the_same_anywhere_and_any_day_is_kept(library: Path) -> None:
    document = manifest(
        tool("double", "n", example={"n": 21}),
        tool("today"),
        tool("days_since", "day", example={"day": "2024-01-01"}),
        tool("seconds"),
        tool("hashed"),
        tool("folder"),
        tool("environment"),
        tool("zone"),
        tool("failing"),
        tool("write", "n", example={"n": 1}, category="write"),
    )
    recorded, said = record(document, Folder(library / "out"))
    assert outputs_of(recorded) == {"double": {"result": 42}, "environment": {"result": "none"}}
    assert all(one["examples"][0].get("recorded") is True for one in recorded["tools"] if one["name"] == "double")
    assert said == ["2 outputs of examples recorded"]
    assert "output" not in document["tools"][0]["examples"][0]


def test_an_input_that_was_made_up_is_changed_until_the_tool_answers(library: Path) -> None:
    said = tool("double", "n", example={"n": "example"}, provenance={"source": "library", "notes": [MADE_UP]})
    said["output_schema"] = {"type": "object", "properties": {"result": {"type": "number"}}}
    given = tool("double", "n", example={"n": "example"}, output_schema=said["output_schema"])
    given |= {"id": f"{given['id']} given", "name": "given"}
    recorded, _ = record(manifest(said, given), Folder(library / "out"))
    examples = {one["name"]: one["examples"] for one in recorded["tools"]}
    assert examples == {
        said["name"]: [{"input": {"n": 1}, "output": {"result": 2}, "recorded": True}],
        "given": given["examples"],
    }


def test_nothing_is_run_where_nothing_reads(tmp_path: Path) -> None:
    document = manifest(tool("write", "n", category="write"))
    assert record(document, Folder(tmp_path)) == (document, [])


def test_tools_that_cannot_be_run_here_are_said_and_cost_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    document = manifest(tool("double", "n", example={"n": 21}))
    recorded, said = record(document, Folder(tmp_path))
    assert recorded == document
    assert said == ["no outputs of examples were recorded: the tools could not be run here"]


def test_a_program_gets_copies_of_the_files_that_its_example_names(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "data.txt").write_text("a dog\n")
    (tmp_path / "secret.txt").write_text("secret")
    program = project / "show"
    program.write_text(f"#!{sys.executable}\nimport sys\nprint(open(sys.argv[1]).read().strip())\n")
    program.chmod(0o755)

    def reads(name: str, path: str) -> dict[str, Any]:
        binding = {
            "kind": "subprocess",
            "program": "show",
            "output": {"parser": "text"},
            "arguments": [{"kind": "positional", "parameter": "path", "value": {"format": "path", "access": "read"}}],
        }
        return tool(name, "path", example={"path": path}, binding=binding)

    document = manifest(
        reads("inside", "data.txt"),
        reads("outside", "../secret.txt"),
        reads("missing", "nothing.txt"),
        modules={},
        programs={"show": {"argv0": [str(program)], "cwd": ".."}},
    )
    recorded, _ = record(document, Folder(project / "llm-tooling"))
    assert outputs_of(recorded) == {"inside": {"result": "a dog\n"}}
    assert sorted(one.name for one in project.iterdir()) == ["data.txt", "show"]


@pytest.mark.parametrize(
    ("more", "remote", "may"),
    [
        ({}, False, True),
        ({"risk": "high"}, False, False),
        ({"category": "write"}, False, False),
        ({"binding": {"kind": "http", "server": "near"}}, False, True),
        ({"binding": {"kind": "http", "server": "far"}}, False, False),
        ({"binding": {"kind": "http", "server": "far"}}, True, True),
        ({"binding": {"kind": "python", "module": "keep_lib", "run": "process"}}, False, False),
        ({"binding": {"kind": "subprocess", "program": "elsewhere"}}, False, False),
        ({"binding": {"kind": "subprocess", "program": "here"}}, False, True),
    ],
)
def test_what_may_be_run(more: dict[str, Any], remote: bool, may: bool) -> None:
    document = manifest(
        servers={"near": {"base_url": "http://127.0.0.1:1/x"}, "far": {"base_url": "https://example.com"}},
        programs={"elsewhere": {"argv0": ["p"], "allowed_paths": ["/etc"]}, "here": {"argv0": ["p"]}},
    )
    assert may_run(tool("x", **more), document, remote=remote) is may


@pytest.mark.parametrize(
    ("url", "said", "may"),
    [
        ("http://127.0.0.1:1/x", "https://example.com/x", False),
        ("https://example.com/x", "http://localhost:1/x", True),
        ("http://127.0.0.1:1/x", "http://[::1", False),
        ("http://127.0.0.1:1/x", "", True),
    ],
)
def test_a_server_is_where_its_variable_says(url: str, said: str, may: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHERE_KEEP_IS", said)
    document = manifest(servers={"api": {"base_url": url, "base_url_env": "WHERE_KEEP_IS"}})
    one = tool("x", binding={"kind": "http", "server": "api"})
    assert may_run(one, document, remote=False) is may
    assert may_run(one, document, remote=True)


def test_answers_of_this_machine_or_day_are_not_kept() -> None:
    now = datetime.datetime.now(datetime.UTC)
    for value in (
        now.strftime("on %Y-%m-%d"),
        now.strftime("%b %d"),
        int(time.time()),
        int(time.time() * 1_000),
        str(Path.home()) + "/x",
        f"{sys.prefix}/bin",
        "x" * 30_000,
    ):
        assert not is_timeless({"result": value}), value
    assert is_timeless({"result": ["2001-02-03", 1_000_000_000, "1 Jan", 3.5, None]})


def test_the_child_writes_a_line_for_every_call(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(library / "site"))
    monkeypatch.chdir(library)
    (library / "tool.manifest.json").write_text(
        json.dumps(manifest(tool("double", "n", example={"n": 1}), tool("failing")))
    )
    (library / "calls.json").write_text(json.dumps([["double", {"n": 4}], ["failing", {}], ["nothing", {}]]))
    with (library / "answers").open("wb") as answers:
        _recorder.main(str(answers.fileno()), str(library / "tool.manifest.json"), str(library / "calls.json"), "0")
    lines = (library / "answers").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"data": {"result": 8}}, None, None]


def test_the_clock_of_the_second_run_is_shifted_for_python_code() -> None:
    code = textwrap.dedent(
        """
        import datetime, time
        real, before = datetime.datetime, time.time()
        from pegboard_toolgen._recorder import shift_clock
        shift_clock(86400 * 400)
        from datetime import datetime as later, date
        assert (later.now() - real.now()).days >= 399
        assert (later.utcnow() - real.now()).days >= 398
        assert (date.today() - real.now().date()).days >= 399
        assert (later.today() - real.now()).days >= 399
        assert later.now(datetime.timezone.utc).tzinfo is datetime.timezone.utc
        assert time.time() - before > 86400 * 399
        assert time.gmtime()[0] > real.now().year
        assert time.localtime(0)[0] in (1969, 1970)
        assert int(time.strftime("%Y")) > real.now().year
        assert isinstance(real.now(), later) and isinstance(real.now().date(), date)
        assert repr(date(2024, 1, 2)) == "datetime.date(2024, 1, 2)"
        assert repr(later(2024, 1, 2, 3, 4)) == "datetime.datetime(2024, 1, 2, 3, 4)"
        """
    )
    import subprocess

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

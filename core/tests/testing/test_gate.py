"""The publish gate, asked of distributions that are made for it: each passes but for one fault."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from pegboard import PegboardError
from pegboard.testing.gate import run_gate

pytestmark = pytest.mark.usefixtures("settled")

GOOD = '''
from pegboard import hookimpl, tool

LEAKED = []

@tool(read_only=True, run="inplace", examples=[{"arguments": {"text": "a b"}, "text": "2"}])
def words(text: str) -> int:
    """Count words.

    Args:
        text: what is counted.
    """
    return len(text.split())

@hookimpl
def provide_tools():
    return [words]
'''


@pytest.fixture
def published(tmp_path, monkeypatch):
    """Install a distribution into a folder on the path: its plugin's source, under a module name of its own."""
    made = []

    def publish(source, *, name="pegboard-sample", version="1.0"):
        module = f"sample_plugin_{len(made)}_{tmp_path.name.replace('-', '_')}"
        made.append(module)
        (tmp_path / f"{module}.py").write_text(source)
        info = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(f"[pegboard]\nsample = {module}\n")
        return name

    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield publish
    for module in made:
        for descriptor in getattr(sys.modules.pop(module, None), "LEAKED", ()):
            os.close(descriptor)


def steps(name):
    return {step.name: step for step in run_gate(name)}


def test_a_good_package_passes_every_step(published):
    found = steps(published(GOOD))
    assert [name for name, step in found.items() if not step.ok] == []
    assert {"loads", "imports", "names", "examples hold", "errors", "cancellation", "leaks", "surface"} <= found.keys()


def test_what_is_not_installed_is_said_and_nothing_else_is_asked():
    (step,) = run_gate("pegboard-nowhere")
    assert not step.ok
    assert "entry point" in step.fix


def test_a_package_that_does_not_load_stops_there(published):
    found = steps(published("raise RuntimeError('no')"))
    assert not found["loads"].ok
    assert "RuntimeError" in found["loads"].seen
    assert "imports" not in found


@pytest.mark.parametrize(
    ("step", "old", "new", "seen"),
    [
        ("imports", "from pegboard import", "import trio\nfrom pegboard import", "imports trio"),
        ("imports", "LEAKED = []", "LEAKED = []; import time; time.sleep(0.3)", "s, which every command pays"),
        ("imports", "LEAKED = []", "LEAKED = []; print('hello')", "prints 'hello'"),
        (
            "examples hold",
            "text: str)",
            "text: str, most: int = 'x')",
            'the default of most: expected integer, got "x"',
        ),
        ("names", "@tool(", "@tool(name='count words!', ", "renamed"),
        ("descriptions", "text: what is counted.", "other: nothing.", "parameter text"),
        ("descriptions", "Count words.", "Count\u200b words.", "hidden"),
        ("examples", 'examples=[{"arguments": {"text": "a b"}, "text": "2"}]', "", "no example"),
        ("examples hold", '{"text": "a b"}', '{"test": "a b"}', "words"),
        ("examples hold", '"text": "2"', '"text": "3"', "shows '2'"),
        ("errors", "return len(", "return 1 / 0 if not text else len(", "breaks on"),
        (
            "cancellation",
            "    return len(",
            "    import time; time.sleep(0.3 * (text == 'a b')); return len(",
            "to end",
        ),
        (
            "leaks",
            "    return len(",
            "    import os; LEAKED.append(os.open(os.devnull, 0)); return len(",
            "desc",
        ),
    ],
)
def test_one_fault_fails_its_own_step(published, monkeypatch, step, old, new, seen):
    monkeypatch.setattr("pegboard.testing.gate.PROMPT_S", 0.25)
    source = GOOD.replace(old, new)
    assert source != GOOD
    found = steps(published(source))
    assert not found[step].ok
    assert seen in found[step].seen
    assert found[step].fix


def test_a_hook_that_gives_nothing_is_told(published):
    found = steps(published(GOOD.replace("return [words]", "[words]")))
    assert found["loads"].seen == "no tools; provide_tools of sample gave none"


def test_a_tool_that_is_not_registered_is_a_package_that_does_not_load(published):
    source = GOOD.replace(
        'run="inplace"', 'run="inplace", input_schema={"type": "object", "properties": {"a": {"$ref": "#/x"}}}'
    )
    assert not steps(published(source))["loads"].ok


def test_the_surface_is_written_compared_and_accepted_with_a_new_version(published, tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "Pegboard_Sample"\nversion = "1.0"\n')
    assert "written" in steps(published(GOOD))["surface"].seen
    assert steps(published(GOOD))["surface"].seen == "as it was"
    changed = GOOD.replace("Count words.", "Count the words.")
    refused = steps(published(changed))["surface"]
    assert not refused.ok
    assert "+" in refused.seen
    assert "Count the words." in refused.seen
    for info in tmp_path.glob("*.dist-info/METADATA"):
        info.write_text(info.read_text().replace("Version: 1.0", "Version: 1.1"))
    accepted = steps("pegboard-sample")["surface"]
    assert accepted.ok
    assert "from 1.0" in accepted.seen
    assert json.loads((tmp_path / "surface.json").read_text())["version"] == "1.1"


def test_the_project_in_the_folder_is_checked_where_none_is_named(published, tmp_path):
    published(GOOD)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "pegboard-sample"\n')
    assert [step.name for step in run_gate() if not step.ok] == []


def test_an_example_that_is_refused_says_nothing_of_deadlines(published):
    found = steps(published(GOOD.replace('{"text": "a b"}', '{"test": "a b"}')))
    assert not found["examples hold"].ok
    assert found["cancellation"].ok


@pytest.mark.parametrize("content", [b"x", b"[]", b"\xff", b"[" * 100_000])
def test_a_surface_that_nobody_here_wrote_is_a_step_that_fails(published, tmp_path, content):
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "pegboard-sample"\n')
    (tmp_path / "surface.json").write_bytes(content)
    found = steps(published(GOOD))["surface"]
    assert not found.ok
    assert "remove it" in found.fix


def test_a_surface_that_cannot_be_written_is_a_step_that_fails(published, tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "pegboard-sample"\n')
    (tmp_path / "surface.json").symlink_to(tmp_path / "no" / "surface.json")
    found = steps(published(GOOD))["surface"]
    assert not found.ok
    assert "No such file" in found.seen
    assert found.fix


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"[project", "cannot be read"),
        (b"\xff", "cannot be read"),
        (b"project = 1", "no name"),
        (b"[project]", "no name"),
        (b"[project]\nname = 1", "no name"),
    ],
)
def test_a_project_that_is_broken_is_not_said_to_be_missing(tmp_path, content, says):
    (tmp_path / "pyproject.toml").write_bytes(content)
    with pytest.raises(PegboardError, match=says) as raised:
        list(run_gate(project=tmp_path))
    assert raised.value.hint


def test_without_a_project_or_a_name_the_cure_is_said(tmp_path):
    with pytest.raises(PegboardError) as raised:
        list(run_gate(project=Path(tmp_path)))
    assert "pegboard check" in (raised.value.hint or "")

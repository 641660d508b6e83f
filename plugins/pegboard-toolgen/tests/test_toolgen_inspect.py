"""`--inspect`: a library is imported in a child process for the docstrings that its files do not have."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pegboard_toolgen.discover import _inspect
from pegboard_toolgen.discover.library import discover_library
from pegboard_toolgen.drafts import Discovery

STUB = "def ratio(a: str, b: str) -> float: ...\n"
MADE = "exec('def ratio(a, b):\\n    \"How alike two texts are.\"\\n    return 1.0')\n"
"""What a file does not show, as code in an extension: a function that is there when the module is imported."""
SAID = "How alike two texts are."
UNSAID = "lib.ratio(a, b): its source does not say what it does."


@pytest.fixture
def found(tmp_path: Path) -> Callable[..., Discovery]:
    """`found(code)` is what there is of `lib`, a module of that code with a stub."""

    def made(code: str, *, inspect: bool = True) -> Discovery:
        (tmp_path / "lib.py").write_text(code)
        (tmp_path / "lib.pyi").write_text(STUB)
        return discover_library("lib", search_paths=[tmp_path], inspect=inspect)

    return made


@pytest.fixture
def ratio(found: Callable[..., Discovery]) -> Callable[..., str]:
    """The description of `lib.ratio` likewise."""
    return lambda code, **options: found(code, **options).drafts[0].description


def test_a_library_is_asked_for_its_docstrings_where_somebody_says_so(ratio: Callable[..., str]) -> None:
    assert ratio(MADE) == SAID


def test_a_library_is_not_imported_where_nobody_says_so(ratio: Callable[..., str], tmp_path: Path) -> None:
    code = f"open({str(tmp_path / 'imported')!r}, 'w').close()\n{MADE}"
    assert ratio(code, inspect=False) == UNSAID
    assert not (tmp_path / "imported").exists()
    assert ratio(code) == SAID
    assert (tmp_path / "imported").exists()


def test_a_library_whose_files_describe_everything_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "lib.py").write_text('raise SystemExit\ndef f(n: int) -> int:\n    """Give it back."""\n    return n\n')
    there = discover_library("lib", search_paths=[tmp_path], inspect=True)
    assert [one.description for one in there.drafts] == ["Give it back."]
    assert not there.left_out


FAILING: Mapping[str, tuple[str, str]] = {
    "it raises": ("raise ValueError('no')", "importing it raised ValueError"),
    "it ends": ("raise SystemExit(0)", "importing it raised SystemExit"),
    "it ends at once": ("import os\nos._exit(0)", "importing it ended without an answer"),
    "it waits for ever": ("import threading\nthreading.Event().wait()", "importing it was ended: deadline"),
    "it answers for the probe": (
        "import os, sys\nos.write(int(sys.orig_argv[-2]), b'[]')\nos._exit(0)",
        "importing it ended without an answer",
    ),
    "it answers with something else": (
        'import os, sys\nos.write(int(sys.orig_argv[-2]), b\'{"docs": {"lib.ratio": [1], "os": "x"}}\')\nos._exit(0)',
        "",
    ),
}


@pytest.mark.parametrize(("code", "why"), FAILING.values(), ids=FAILING)
def test_a_library_that_cannot_be_asked_costs_its_docstrings_alone(
    found: Callable[..., Discovery], monkeypatch: pytest.MonkeyPatch, code: str, why: str
) -> None:
    monkeypatch.setattr(_inspect, "DEADLINE_S", 2.0)
    there = found(code)
    assert [one.description for one in there.drafts] == [UNSAID]
    assert [one.why for one in there.left_out] == ([f"--inspect: {why}"] if why else [])


def test_a_library_that_prints_while_it_is_imported_is_understood(ratio: Callable[..., str]) -> None:
    assert ratio(f"import sys\nprint('{{}}')\nprint('oh', file=sys.stderr)\n{MADE}") == SAID


def test_a_library_that_is_asked_learns_nothing_of_this_process(
    ratio: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "of-these-tests-alone")
    code = f"{MADE}import os\nratio.__doc__ = 'It knows ' + os.environ.get('SOME_TOKEN', 'nothing') + '.'\n"
    assert ratio(code) == "It knows nothing."


@pytest.mark.parametrize(
    "code",
    [
        "import functools\nexec('ratio = functools.partial(print)')\n",
        "exec('ratio = 3')\n",
        "exec('def ratio(a, b): return 1.0')\n",
        "exec('def ratio(a, b):\\n    \"ratio(a, b)\"')\n",
        "exec('def ratio(a, b):\\n    \"py_ratio\"')\n",
        "exec('def ratio(a, b):\\n    \"Ratio.\"')\n",
        "def __getattr__(name): raise RuntimeError(name)\n",
    ],
)
def test_what_says_nothing_of_the_function_is_no_description(ratio: Callable[..., str], code: str) -> None:
    assert UNSAID in ratio(code)


# -- the program


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_toolgen: Callable[..., Any]) -> Callable[..., Any]:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "lib.py").write_text(MADE)
    (tmp_path / "site" / "lib.pyi").write_text(STUB)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.chdir(tmp_path)
    return run_toolgen


def _descriptions() -> list[str]:
    document = json.loads(Path("llm-tooling/tool.manifest.json").read_text())
    return [one["description"] for one in document["tools"]]


def test_init_says_how_to_get_descriptions_that_no_file_has(run: Callable[..., Any]) -> None:
    said = run("init", "--library", "lib", "--no-record").err
    assert "note: 1 function is described nowhere (lib_ratio): --inspect imports the library" in said
    assert _descriptions() == [UNSAID]
    assert "--inspect" not in run("init", "--library", "lib", "--inspect", "--no-record").err
    assert _descriptions() == [SAID]


def test_inspecting_is_remembered_by_init_and_check(run: Callable[..., Any]) -> None:
    assert run("init", "--library", "lib", "--inspect", "--no-record").status == 0
    assert run("check").status == 0
    assert run("init", "--no-record").status == 0
    assert _descriptions() == [SAID]
    profile = json.loads(Path("llm-tooling/project.profile.json").read_text())
    assert profile["sources"] == [{"inspect": True, "kind": "library", "name": "lib"}]


def test_trying_shows_what_inspecting_finds(run: Callable[..., Any]) -> None:
    assert SAID in run("try", "--library", "lib", "--inspect").out


def test_inspecting_needs_a_library(run: Callable[..., Any]) -> None:
    said = run("init", "--program", "python3", "--inspect", "--no-record")
    assert said.status == 2
    assert "--inspect imports libraries, and there is none here" in said.err

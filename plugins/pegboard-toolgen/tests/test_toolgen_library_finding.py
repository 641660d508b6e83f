"""Where a library is found: where Python would import it from, and nowhere else."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder
from pathlib import Path

import hypothesis
import hypothesis.strategies as st
import pytest

from pegboard_toolgen.discover._finding import find_package
from pegboard_toolgen.discover.library import discover_library
from pegboard_toolgen.drafts import DiscoveryError

CODE = "def f(n: int) -> int: return n\n"
SCRIPT = "#!/bin/sh\nexec true\n"
NAMES = ["lib", "lib.py", "lib/__init__.py", "lib/part.py", f"lib{EXTENSION_SUFFIXES[0]}", "lib.pyc", "other.py"]
LAID = st.sets(st.sampled_from(NAMES))


def _lay(folder: Path, names: set[str]) -> None:
    folder.mkdir()
    for name in sorted(names, reverse=True):  # a folder is there before the program that would have its name
        if name == "lib" and (folder / name).exists():
            continue
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(CODE if "." in name else SCRIPT)


@hypothesis.given(LAID, LAID)
@hypothesis.settings(deadline=None)
def test_a_package_is_found_where_python_finds_it(
    tmp_path_factory: pytest.TempPathFactory, first: set[str], second: set[str]
) -> None:
    root = tmp_path_factory.mktemp("path")
    folders = [root / "first", root / "second"]
    for folder, names in zip(folders, (first, second), strict=True):
        _lay(folder, names)
    spec = PathFinder.find_spec("lib", [str(folder) for folder in folders])
    if spec is None or (spec.origin and not spec.origin.endswith(".py") and not _has_source(Path(spec.origin))):
        with pytest.raises(DiscoveryError, match="compiled" if spec else "none of the search paths"):
            find_package("lib", folders)
        return
    home = find_package("lib", folders)
    if spec.origin is None:
        assert [str(place) for place in home.places] == list(spec.submodule_search_locations or ())
    else:
        assert Path(spec.origin).is_relative_to(home.root)


def _has_source(compiled: Path) -> bool:
    return (compiled.parent / "lib.py").exists()


def test_a_stub_elsewhere_on_the_path_speaks_for_a_compiled_module(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / f"code/lib{EXTENSION_SUFFIXES[0]}").write_bytes(b"\x7fELF")
    (tmp_path / "types/lib-stubs").mkdir(parents=True)
    (tmp_path / "types/lib-stubs/__init__.pyi").write_text("def f(n: int) -> int: ...\n")
    found = discover_library("lib", search_paths=[tmp_path / "code", tmp_path / "types"])
    assert [one.id for one in found.drafts] == ["python:lib.f"]


def test_all_parts_of_a_namespace_are_read(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "space" / name).mkdir(parents=True)
        (tmp_path / name / "space" / name / "__init__.py").write_text(CODE)
    found = discover_library("space", search_paths=[tmp_path / "one", tmp_path / "two"])
    assert [one.id for one in found.drafts] == ["python:space.one.f", "python:space.two.f"]


def test_a_program_of_that_name_is_pointed_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "onlyaprogram").write_text(SCRIPT)
    (tmp_path / "onlyaprogram").chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DiscoveryError, match="none of the search paths") as caught:
        discover_library("onlyaprogram", search_paths=[tmp_path])
    assert caught.value.hint == "there is a program of that name: --program onlyaprogram"


def test_what_lies_beside_the_program_is_no_library(tmp_path: Path) -> None:
    """`pegboard` itself, started as a script: Python puts the folder of the script onto the path."""
    program = tmp_path / "bin/pegboard"
    program.parent.mkdir()
    program.write_text("import sys\nfrom pegboard.cli import main\nsys.exit(main())\n")
    for name in ("lib", "beside.py"):
        (tmp_path / "bin" / name).write_text(SCRIPT if name == "lib" else CODE)
    (tmp_path / "site").mkdir()
    (tmp_path / "site/lib.py").write_text(CODE)
    env = {"PYTHONPATH": str(tmp_path / "site"), "HOME": str(tmp_path), "PATH": str(tmp_path / "bin"), "NO_COLOR": "1"}

    def init(name: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(program), "toolgen", "init", "--library", name, "--no-record"]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False)

    done = init("lib")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "llm-tooling: 1 tool of lib, 1 of them read only")
    refused = init("beside")
    assert refused.returncode == 2
    assert "beside is on none of the search paths" in refused.stderr

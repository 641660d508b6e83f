"""The programs: `llm-toolgen`, and `pegboard toolgen`; and the same bytes in another place, order, zone and day."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from pegboard import ConfigError
from pegboard_toolgen import drift, flow, program

LIBRARY = '''
"""A zoo."""

def count_legs(animals: int, legs: int = 4) -> int:
    """Count the legs.

    Args:
        animals: how many there are.
    """
    return animals * legs

def name_all(names: list[str]) -> str:
    """Say the names."""
    return " and ".join(sorted(set(names)))
'''
SHIFTED = (
    "from pegboard_toolgen._recorder import shift_clock; shift_clock(86400 * 500)\n"
    "import sys; from pegboard_toolgen.program import main; main(sys.argv[1:])"
)


Run = subprocess.CompletedProcess[str]


def start(*words: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture
def toolgen(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Run]:
    """`toolgen(*words, cwd=, **env)`: one run of the program, in this process."""

    def ran(*words: str, cwd: Path, **env: str) -> Run:
        with monkeypatch.context() as patch:
            patch.chdir(cwd)
            for name, value in env.items():
                patch.setenv(name, value)
            status = program.run([*words])
        said = capsys.readouterr()
        return Run(words, status, said.out, said.err)

    return ran


@pytest.fixture
def site(tmp_path: Path) -> str:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "keep_zoo.py").write_text(LIBRARY)
    return str(tmp_path / "site")


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["--help"], 0, "Usage: llm-toolgen"),
        (["init", "--help"], 0, "--execution-model"),
        ([], 2, "Usage: llm-toolgen"),
        (["biuld"], 2, "error: No such command 'biuld'"),
        (["init", "--type", "x"], 2, "hint: llm-toolgen init --help"),
        (["init", "--library", "no_such_library_here"], 2, "error: "),
        (["build", "nowhere"], 2, "hint: pegboard toolgen init makes one"),
        (["init", "--program", "no-such-program-here"], 2, "error: "),
        (["init", "--openapi", "no-such-file.json"], 2, "error: "),
    ],
)
def test_errors_are_a_line_and_a_hint(
    words: list[str],
    status: int,
    says: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert program.run(words) == status
    said = capsys.readouterr()
    assert says in said.out + said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize(
    ("problem", "status", "says"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (ConfigError("one:\n  two", hint="three"), 2, "error: one: two\nhint: three\n"),
        (ConfigError("one:\n  two\n  three"), 2, "error: one:\n  two\n  three\n"),
        (RuntimeError("odd"), 1, "error: the program failed: RuntimeError: odd\nhint: this is a fault of the program"),
        (SystemExit(3), 3, ""),
        (SystemExit("text"), 1, ""),
    ],
)
def test_every_way_to_end_is_an_exit_status(
    problem: BaseException, status: int, says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise problem

    monkeypatch.setattr(flow, "build", fail)
    assert program.run(["build", "x"]) == status
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("problem", "says"),
    [
        (
            OSError(errno.ENOSPC, "", f"{tempfile.gettempdir()}/toolgen-x/home"),
            "the temporary folder cannot be used: No space",
        ),
        (OSError(errno.ENOSPC, ""), "the temporary folder cannot be used: No space left on device"),
        (PermissionError(errno.EACCES, "", "/nowhere/of/mine/secret.json"), "secret.json cannot be used: Permission"),
        (OSError(errno.EMFILE, ""), "a file or folder cannot be used: Too many open files"),
        (TimeoutError(), "a file or folder cannot be used: TimeoutError"),
    ],
)
@pytest.mark.parametrize("command", ["init", "build", "check"])
def test_what_the_system_refuses_is_not_a_matter_of_stdout(
    command: str, problem: OSError, says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise problem

    monkeypatch.setattr(drift if command == "check" else flow, command, fail)
    assert program.run([command, "x"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: {says}")
    assert "\nhint: " in said
    assert "stdout" not in said
    assert "/nowhere" not in said


def test_a_working_directory_that_was_deleted_is_said(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    code = "import os, sys; from pegboard_toolgen.program import main; os.rmdir(os.getcwd()); main(sys.argv[1:])"
    done = start("-c", code, "init", "--library", "json", cwd=gone)
    assert (done.returncode, done.stderr) == (
        2, "error: the working directory is not there any more\nhint: change to one that is\n"
    )  # fmt: skip


def test_no_temporary_folder_is_said(
    site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/somewhere']")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    monkeypatch.syspath_prepend(site)
    assert program.run(["init", "--library", "keep_zoo", "--out", str(tmp_path / "out")]) == 2
    assert "error: there is no temporary folder that can be written" in capsys.readouterr().err


def test_debug_shows_where(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(flow, "build", lambda *_, **__: 1 / 0)
    assert program.run(["build", "x", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_stdout_that_is_full_is_said(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full here")
    with full.open("w") as stdout:
        done = subprocess.run(
            [sys.executable, "-m", "pegboard_toolgen.program", "--help"],
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert "error: stdout cannot be written" in done.stderr


def test_the_program_ends_with_its_status(monkeypatch: pytest.MonkeyPatch, run_main: Callable[[], int]) -> None:
    monkeypatch.setattr(sys, "argv", ["llm-toolgen", "build", "nowhere"])
    assert run_main() == 2


@pytest.fixture
def run_main() -> Callable[[], int]:
    def ended() -> int:
        with pytest.raises(SystemExit) as caught:
            program.main()
        assert isinstance(caught.value.code, int)
        return caught.value.code

    return ended


def test_the_plugin_adds_its_command_and_stays_light(tmp_path: Path) -> None:
    code = (
        "import sys, click, pegboard_toolgen.plugin as plugin\n"
        "group = click.Group()\nplugin.register_commands(cli=group)\n"
        "assert sorted(group.commands['toolgen'].commands) == ['build', 'check', 'init', 'try']\n"
        "assert not {'trio', 'griffe', 'httpx2', 'jsonschema_rs', 'yaml'} & sys.modules.keys(), sys.modules.keys()\n"
    )
    done = start("-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_package_of_the_project_that_is_not_installed_is_said_and_recorded_from_its_source(
    tmp_path: Path, toolgen: Callable[..., Run]
) -> None:
    (tmp_path / "src" / "keep_zoo").mkdir(parents=True)
    (tmp_path / "src" / "keep_zoo" / "__init__.py").write_text(LIBRARY)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "zoo"\nversion = "1.0"\n')
    (tmp_path / "llm-tooling").mkdir()
    (tmp_path / "llm-tooling" / "toolgen.toml").write_text('[categories]\nread = ["*"]\n')
    made = toolgen("init", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert "keep_zoo is not installed here: install it before its tools are called" in made.stderr
    assert b'"recorded": true' in (tmp_path / "llm-tooling" / "tool.manifest.json").read_bytes()
    assert toolgen("check", cwd=tmp_path).returncode == 0


def test_a_program_named_by_its_path_says_what_its_tools_need(tmp_path: Path, toolgen: Callable[..., Run]) -> None:
    (tmp_path / "bin").mkdir()
    path = tmp_path / "bin" / "keep-dogs"
    path.write_text(
        f"#!{sys.executable}\nimport argparse\n"
        "parser = argparse.ArgumentParser(description='List dogs.')\n"
        "parser.add_argument('--most', type=int, default=3)\n"
        "if __name__ == '__main__':\n    print(parser.parse_args().most)\n"
    )
    path.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    made = toolgen("init", "--no-record", "--program", str(path), cwd=work)
    assert made.returncode == 0, made.stderr
    assert "PATH does not lead to keep-dogs: put it there, or set KEEP_DOGS_PROGRAM to its path" in made.stderr
    assert str(tmp_path).encode() not in b"".join(files_of(work / "llm-tooling").values())
    unreached = toolgen("check", cwd=work)
    assert unreached.returncode == 1
    assert unreached.stdout.startswith("keep-dogs cannot be reached: there is no program 'keep-dogs'")
    assert "put it on PATH, set KEEP_DOGS_PROGRAM to its path, or say unreachable" in unreached.stdout
    path.write_text(path.read_text().replace("--most", "--least"))
    drifted = toolgen("check", cwd=work, KEEP_DOGS_PROGRAM=str(path))
    assert drifted.returncode == 1
    assert "keep_dogs changed in its source: " in drifted.stdout


DOGS = """#!/bin/sh
if [ "$1" = --help ]; then
  printf 'Usage: dogs [OPTIONS] NAME\\n\\nList dogs.\\n\\nOptions:\\n  --most N   how many\\n'
elif [ "$1" = -h ]; then
  touch asked-for-h
else
  echo "$@"
fi
"""


@pytest.fixture
def dogs(tmp_path: Path) -> Path:
    """A program that lies in a project and says nothing but its help."""
    path = tmp_path / "project" / "scripts" / "dogs"
    path.parent.mkdir(parents=True)
    path.write_text(DOGS)
    path.chmod(0o755)
    return path


def argv0_of(folder: Path) -> list[str]:
    manifest = json.loads((folder / "tool.manifest.json").read_text())
    argv0: list[str] = manifest["programs"]["dogs"]["argv0"]
    return argv0


def test_a_program_of_the_project_is_called_where_it_lies(
    dogs: Path, tmp_path: Path, toolgen: Callable[..., Run]
) -> None:
    project = dogs.parent.parent
    made = toolgen("init", "--no-record", "--program", "./scripts/dogs", "--out", "made/tools", cwd=project)
    assert made.returncode == 0, made.stderr
    assert "PATH does not lead" not in made.stderr
    assert not list(project.rglob("asked-for-h"))
    folder = project / "made" / "tools"
    assert argv0_of(folder) == ["../../scripts/dogs"]
    assert str(tmp_path).encode() not in b"".join(files_of(folder).values())
    on_path = f"{dogs.parent}{os.pathsep}{os.environ['PATH']}"
    for path in (os.environ["PATH"], on_path):
        assert toolgen("check", "made/tools", cwd=project, PATH=path).returncode == 0
    moved = tmp_path / "moved"
    project.rename(moved)
    config = str(moved / "made" / "tools" / "pegboard.toml")
    called = start("-m", "pegboard", "--config", config, "call", "dogs", "name=rex", cwd=tmp_path)
    assert (called.returncode, called.stdout.strip()) == (0, "rex"), called.stderr


def test_a_link_to_a_program_keeps_its_own_name(dogs: Path, tmp_path: Path, toolgen: Callable[..., Run]) -> None:
    project = dogs.parent.parent
    dogs.rename(tmp_path / "many")
    dogs.symlink_to(tmp_path / "many")
    made = toolgen("init", "--no-record", "--program", "scripts/dogs", cwd=project)
    assert made.returncode == 0, made.stderr
    assert argv0_of(project / "llm-tooling") == ["../scripts/dogs"]


def test_a_program_of_an_environment_on_path_goes_by_its_name(dogs: Path, toolgen: Callable[..., Run]) -> None:
    project = dogs.parent.parent
    place = project / ".venv" / "bin"
    place.mkdir(parents=True)
    dogs.rename(place / "dogs")
    active = f"{place}{os.pathsep}{os.environ['PATH']}"
    made = toolgen("init", "--no-record", "--program", ".venv/bin/dogs", cwd=project, PATH=active)
    assert made.returncode == 0, made.stderr
    assert argv0_of(project / "llm-tooling") == ["dogs"]
    assert toolgen("check", cwd=project).returncode == 0
    toolgen("init", "--no-record", "--program", ".venv/bin/dogs", "--out", "other", cwd=project)
    assert argv0_of(project / "other") == ["../.venv/bin/dogs"]
    assert toolgen("check", "other", cwd=project, PATH=active).returncode == 0


def test_another_program_of_the_name_on_path_is_not_taken_for_it(
    dogs: Path, tmp_path: Path, toolgen: Callable[..., Run]
) -> None:
    work, other = tmp_path / "work", tmp_path / "other"
    for folder in (work, other):
        folder.mkdir()
    (other / "dogs").write_text("#!/bin/sh\n")
    (other / "dogs").chmod(0o755)
    path = f"{other}{os.pathsep}{os.environ['PATH']}"
    made = toolgen("init", "--no-record", "--program", str(dogs), cwd=work, PATH=path)
    assert made.returncode == 0, made.stderr
    assert "PATH does not lead to dogs" in made.stderr


def test_a_program_of_a_package_goes_by_the_name_that_the_package_gives_it(
    dogs: Path, toolgen: Callable[..., Run]
) -> None:
    project = dogs.parent.parent
    dogs.rename(dogs.with_suffix(".js"))
    (project / "package.json").write_text('{"name": "kennel", "version": "1.0.0", "bin": {"dogs": "scripts/dogs.js"}}')
    made = toolgen("init", "--no-record", ".", cwd=project)
    assert made.returncode == 0, made.stderr
    assert argv0_of(project / "llm-tooling") == ["../scripts/dogs.js"]
    manifest = json.loads((project / "llm-tooling" / "tool.manifest.json").read_text())
    assert [(tool["id"], tool["name"]) for tool in manifest["tools"]] == [("program:dogs", "dogs")]
    assert (manifest["project"]["name"], manifest["project"]["runtime"]) == ("kennel", "node")
    assert toolgen("check", cwd=project).returncode == 0


COMMAND_LINE = """#!{python}
import argparse
parser = argparse.ArgumentParser(description="Count dogs.")
parser.add_argument("--kind", choices={{"small", "large"}}, default="small", help="Which.")
parser.add_argument("names", nargs="*")
if __name__ == "__main__":
    print(len(parser.parse_args().names))
"""


def mixed_project(folder: Path) -> None:
    """Two documents of one title, a package, a program that says its command line and one that only helps."""
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text('[project]\nname = "zoo"\nversion = "2"\nscripts = { dogs = "zoo:main" }\n')
    (folder / "src" / "keep_zoo").mkdir(parents=True)
    (folder / "src" / "keep_zoo" / "__init__.py").write_text(LIBRARY)
    (folder / "bin").mkdir()
    for name, text in (("dogs", COMMAND_LINE.format(python=sys.executable)), ("cats", DOGS)):
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    (folder / "llm-tooling").mkdir()
    (folder / "llm-tooling" / "toolgen.toml").write_text('[categories]\nread = ["*"]\n')
    (folder / "web.py").write_text('@app.get("/cages")\ndef cages(): ...\n@app.get("/birds")\ndef birds(): ...\n')
    for place, kind in (("a", "string"), ("b", "integer")):
        (folder / place).mkdir()
        schema = {"type": "object", "properties": {"is": {"type": kind}, "in": {"$ref": "#/components/schemas/Cage"}}}
        answer = {"application/json": {"schema": {"$ref": "#/components/schemas/Cage"}}}
        operation = {"get": {"responses": {"200": {"description": "It.", "content": answer}}}}
        document = {
            "openapi": "3.1.0",
            "info": {"title": "Zoo", "version": "1"},
            "servers": [{"url": f"https://{place}.example.com"}],
            "paths": {"/cages": operation, f"/{place}": operation},
            "components": {"schemas": {"Cage": schema}},
        }
        (folder / place / "openapi.json").write_text(json.dumps(document))


def test_a_mixed_project_gives_all_that_it_holds_and_the_same_bytes_elsewhere_and_on_another_day(
    tmp_path: Path, toolgen: Callable[..., Run]
) -> None:
    one, other = tmp_path / "one", tmp_path / "other" / "much" / "deeper"
    for folder in (one, other):
        mixed_project(folder)
    more = ("--program", "bin/cats", "--full")
    first = start("-m", "pegboard", "toolgen", "init", ".", *more, cwd=one, PYTHONHASHSEED="1", TZ="UTC")
    second = start(
        "-c", SHIFTED, "init", "..", "--program", "../bin/cats", "--full", cwd=other / "src",
        PYTHONHASHSEED="77", TZ="Pacific/Kiritimati", COLUMNS="40", LANG="C",
    )  # fmt: skip
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    written = files_of(one / "llm-tooling")
    assert written == files_of(other / "llm-tooling")
    assert b'"recorded": true' in written["tool.manifest.json"]
    assert not [name for name, content in written.items() if str(tmp_path).encode() in content]
    manifest = json.loads(written["tool.manifest.json"])
    tools = {tool["id"]: tool for tool in manifest["tools"]}
    cages = [id_ for id_ in tools if id_.startswith("http:GET /cages @zoo-")]
    assert tools.keys() == {
        "http:GET /a", "http:GET /b", *cages,
        "program:cats", "program:dogs", "python:keep_zoo.count_legs", "python:keep_zoo.name_all",
    }  # fmt: skip
    assert len(cages) == 2
    assert manifest["project"]["type"] == "mixed"
    assert {tool["provenance"]["source"] for tool in tools.values()} == {"openapi", "help", "argparse", "library"}
    profile = json.loads(written["project.profile.json"])
    assert [(one["method"], one["path"]) for one in profile["not_covered"]] == [("GET", "/birds")]
    again = toolgen("init", cwd=one)
    assert again.stdout.endswith("nothing changed\n"), again.stdout + again.stderr
    assert toolgen("check", cwd=one).returncode == 0
    config, env = str(one / "llm-tooling" / "pegboard.toml"), {"PYTHONPATH": str(one / "src")}
    called = start("-m", "pegboard", "--config", config, "call", "keep_zoo_count_legs", "animals=3", cwd=other, **env)
    assert (called.returncode, called.stdout.strip()) == (0, "12"), called.stderr


def test_two_programs_of_one_name_are_told_apart(dogs: Path, toolgen: Callable[..., Run]) -> None:
    project = dogs.parent.parent
    other = project / "other" / "dogs"
    other.parent.mkdir()
    other.write_text(DOGS.replace("--most N", "--least N").replace('echo "$@"', 'echo other "$@"'))
    other.chmod(0o755)
    named = ("--program", "scripts/dogs", "--program", "other/dogs")
    made = toolgen("init", "--no-record", *named, cwd=project)
    assert made.returncode == 0, made.stderr
    manifest = json.loads((project / "llm-tooling" / "tool.manifest.json").read_text())
    programs = manifest["programs"]
    assert sorted(one["argv0"][0] for one in programs.values()) == ["../other/dogs", "../scripts/dogs"]
    assert len({one["argv0_env"] for one in programs.values()}) == 2
    least, most = sorted(manifest["tools"], key=lambda tool: "most" in tool["input_schema"]["properties"])
    assert programs[least["binding"]["program"]]["argv0"] == ["../other/dogs"]
    assert programs[most["binding"]["program"]]["argv0"] == ["../scripts/dogs"]
    config = str(project / "llm-tooling" / "pegboard.toml")
    called = start("-m", "pegboard", "--config", config, "call", least["name"], "name=rex", cwd=project)
    assert called.stdout.strip() == "other rex", called.stderr
    before = files_of(project / "llm-tooling")
    assert toolgen("init", "--no-record", *named[2:], *named[:2], cwd=project).returncode == 0
    after = files_of(project / "llm-tooling")
    assert after["tool.manifest.json"] == before["tool.manifest.json"]
    assert toolgen("check", cwd=project).returncode == 0

"""What init and build wrote is trusted as they wrote it, and nothing that came from elsewhere is."""

from __future__ import annotations

import json
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from pegboard import load_board
from pegboard.config import load_config
from pegboard.errors import UntrustedError
from pegboard_toolgen import program

LIBRARY = 'def twice(number: int) -> int:\n    """Twice a number."""\n    return 2 * number\n'
INIT = ("init", "--library", "doubling", "--no-record")
OVERRIDE = '{"doubling_twice": {"title": "Double"}}'


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run `llm-toolgen` where a library lies; what it said."""
    (tmp_path / "doubling.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def started(*words: str, status: int = 0) -> str:
        assert program.run(list(words)) == status
        said = capsys.readouterr()
        return said.out + said.err

    return started


def tools_in(folder: str) -> set[str]:
    """The tools of a board in this folder, without `--config`."""
    return {*load_board(load_config(cwd=Path(folder).resolve())).tools} & {"doubling_twice"}


def is_refused(folder: str) -> bool:
    try:
        tools_in(folder)
    except UntrustedError:
        return True
    return False


def test_what_init_has_just_written_needs_no_trust(run: Callable[..., str]) -> None:
    said = run(*INIT)
    assert tools_in("llm-tooling") == {"doubling_twice"}
    assert "trust" not in said


def test_a_second_run_and_a_changed_source_need_none_either(run: Callable[..., str]) -> None:
    run(*INIT)
    Path("doubling.py").write_text(LIBRARY.replace("Twice a", "Two times a"))
    assert "trust" not in run("init", "--no-record")
    assert tools_in("llm-tooling")
    assert "trust" not in run("build", "--with", "schemas")
    assert tools_in("llm-tooling")


def test_hints_and_overrides_that_init_follows_need_none(run: Callable[..., str]) -> None:
    run(*INIT)
    Path("llm-tooling/toolgen.toml").write_text('[tools.doubling_twice]\ndescription = "Double a number."\n')
    Path("llm-tooling/overrides").mkdir()
    Path("llm-tooling/overrides/mine.json").write_text(OVERRIDE)
    assert "trust" not in run("init", "--no-record")
    assert tools_in("llm-tooling")
    assert "trust" not in run("build")
    assert tools_in("llm-tooling")


@pytest.mark.parametrize("command", [("build",), ("init", "--no-record")])
@pytest.mark.parametrize("file", ["tool.manifest.json", "pegboard.toml"])
def test_what_somebody_changed_is_not_trusted_before_a_person_says_so(
    run: Callable[..., str], file: str, command: tuple[str, ...]
) -> None:
    run(*INIT)
    path = Path("llm-tooling", file)
    path.write_text(path.read_text().replace("Twice a", "Two times a") + "\n")
    assert is_refused("llm-tooling")
    said = run(*command, "--replace")
    if file == "tool.manifest.json":
        assert "pegboard trust" in said
        assert is_refused("llm-tooling")


def test_build_follows_changed_overrides_and_leaves_trust_to_a_person(run: Callable[..., str]) -> None:
    from pegboard.config import trust

    run(*INIT)
    Path("llm-tooling/overrides").mkdir()
    Path("llm-tooling/overrides/theirs.json").write_text(OVERRIDE)
    assert "pegboard trust" in run("build")
    assert is_refused("llm-tooling")
    trust(Path("llm-tooling/pegboard.toml"), named=[Path("llm-tooling/tool.manifest.json")])
    assert "trust" not in run("build")
    assert "trust" not in run("build", "--with", "schemas")
    assert tools_in("llm-tooling")


@pytest.mark.parametrize("command", [("build",), ("init", "--no-record"), ("check",)])
def test_a_folder_from_elsewhere_stays_as_untrusted_as_it_came(
    run: Callable[..., str], command: tuple[str, ...]
) -> None:
    run(*INIT)
    shutil.copytree("llm-tooling", "theirs/llm-tooling")
    words = (*command, "--out", "theirs/llm-tooling") if command[0] == "init" else (*command, "theirs/llm-tooling")
    run(*words, *(("--library", "doubling") if command[0] == "init" else ()))
    assert is_refused("theirs/llm-tooling")


@pytest.mark.parametrize("name", ["toolgen.toml", "overrides/a.json", "names.lock", ".toolgen/base.json"])
def test_a_folder_in_which_something_lay_before_the_first_init_is_not_trusted(
    run: Callable[..., str], name: str
) -> None:
    file = Path("llm-tooling", name)
    file.parent.mkdir(parents=True)
    content = {"names.lock": '{"lock_version": "1.0", "names": {}, "tombstones": {}}', "overrides/a.json": OVERRIDE}
    if name == ".toolgen/base.json":
        content[name] = json.dumps({"tools": []})
    file.write_text(content.get(name, ""))
    program.run(list(INIT))
    assert is_refused("llm-tooling") or not Path("llm-tooling/pegboard.toml").exists()


def test_a_list_of_trusted_files_that_cannot_be_written_costs_the_trust_alone(
    run: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "no-folder").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "no-folder"))
    assert "the folder is not noted as trusted, and is used with --config: " in run(*INIT)
    assert stat.S_ISREG((tmp_path / "llm-tooling" / "tool.manifest.json").stat().st_mode)


def test_try_trusts_nothing(run: Callable[..., str]) -> None:
    run("try", "--library", "doubling")
    assert not Path("llm-tooling").exists()

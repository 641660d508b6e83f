"""What of an installation is shown: enough to start, and nothing that lies beside."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pegboard_confine.bubblewrap import within
from pegboard_confine.programs import needs_of
from pegboard_confine.sandbox import ConfineError, Policy, check_folders


def make(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_script_of_a_virtual_environment_brings_its_interpreter_and_libraries(tmp_path: Path) -> None:
    python = make(tmp_path / "base/bin/python3.11")
    make(tmp_path / "base/lib/os.py")
    (tmp_path / "venv/bin").mkdir(parents=True)
    (tmp_path / "venv/bin/python").symlink_to(python)
    make(tmp_path / "venv/lib/site.py")
    script = make(tmp_path / "venv/bin/server", f"#!{tmp_path}/venv/bin/python\n")
    for secret in ("venv/.env", "base/.credentials", "venv/secrets"):
        make(tmp_path / secret)
    found = needs_of(str(script), os.defpath)
    for needed in ("venv/bin/server", "venv/bin/python", "venv/lib", "base/bin", "base/lib"):
        assert within(str(tmp_path / needed), found), needed
    for secret in ("venv/.env", "base/.credentials", "venv/secrets"):
        assert not within(str(tmp_path / secret), found), secret


def test_what_env_is_told_to_find_is_found_where_the_program_would_find_it(tmp_path: Path) -> None:
    node = make(tmp_path / "node/bin/node")
    npx = make(tmp_path / "node/lib/node_modules/npm/bin/npx-cli.js", "#!/usr/bin/env node\n")
    (tmp_path / "node/bin/npx").symlink_to(npx)
    found = needs_of(str(tmp_path / "node/bin/npx"), str(node.parent))
    assert within(str(node), found)
    assert within(str(tmp_path / "node/lib/node_modules/npm/lib"), found)


def test_a_program_in_the_home_shows_no_more_of_it(tmp_path: Path) -> None:
    program = make(tmp_path / ".cargo/bin/server")
    make(tmp_path / ".cargo/credentials.toml")
    assert needs_of(str(program), os.defpath) == [str(tmp_path / ".cargo/bin")]
    plain = make(tmp_path / "server")
    assert needs_of(str(plain), os.defpath) == [str(plain)]


def test_a_circle_of_links_ends(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert needs_of(str(tmp_path / "a"), os.defpath)


def test_a_folder_that_is_not_there_or_leads_out_is_not_given(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    (tmp_path / "write/in").mkdir(parents=True)
    (tmp_path / "write/link").symlink_to(tmp_path / "write/in")
    (tmp_path / "write/out").symlink_to("/etc")
    write = str(tmp_path / "write")
    with pytest.raises(ConfineError, match="does not exist"):
        check_folders(Policy(home, "/", read=(str(tmp_path / "none"),)))
    with pytest.raises(ConfineError, match="a link out of a folder that it may write"):
        check_folders(Policy(home, "/", read=(write + "/out",), write=(write,)))
    check_folders(Policy(home, "/", read=(write + "/link",), write=(write,)))

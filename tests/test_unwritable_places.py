"""What cannot be written: the repair fits the reason that the system gave, wherever something is written, and doctor
knows of it before."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from pegboard import PegboardError
from pegboard.config import trust, write_hint, write_problem
from pegboard.config._private import REPAIRS

for needed in ("pegboard_mcp", "pegboard_chat", "pegboard_tasks", "pegboard_memory", "pegboard_audit", "pegboard_dice"):
    pytest.importorskip(needed, reason=f"{needed} is not installed")

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the reasons are POSIX's")

REASONS = [errno.ENOSPC, errno.EROFS, errno.ENOTDIR, errno.EACCES, errno.ENOENT]


def _trusted(folder: Path) -> None:
    named = folder / "named.toml"
    named.touch()
    trust(named, state_dir=folder)


def _recorded(folder: Path) -> None:
    from pegboard.testing.recording import Recording

    Recording(folder / "calls.json").write()


def _scaffolded(folder: Path) -> None:
    from pegboard.cli import _new

    assert _new.make.callback is not None
    _new.make.callback("coin", str(folder))


def _configured(folder: Path) -> None:
    from pegboard_mcp.writing import write

    write(folder / "pegboard.toml", b"")


def _locked(folder: Path) -> None:
    from pegboard_mcp.lock.file import write_lock

    write_lock(folder / "pegboard.lock", [])


def _conversed(folder: Path) -> None:
    from pegboard_chat.commands._files import write_private

    write_private(folder / "talk.json", "{}")


WRITERS: dict[str, Callable[[Path], None]] = {
    "pegboard trust": _trusted,
    "a recording": _recorded,
    "pegboard new": _scaffolded,
    "pegboard config import": _configured,
    "pegboard lock": _locked,
    "a conversation": _conversed,
}


@pytest.mark.parametrize("code", REASONS, ids=lambda code: errno.errorcode[code])
@pytest.mark.parametrize("writer", WRITERS)
def test_the_repair_is_of_the_reason(writer: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> Any:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    monkeypatch.setattr(Path, "write_text", refuse)
    with pytest.raises(PegboardError) as raised:
        WRITERS[writer](tmp_path)
    hint = raised.value.hint or ""
    assert os.strerror(code) in raised.value.message
    if code in REPAIRS:
        assert hint == REPAIRS[code]
    else:
        assert hint
        assert hint not in REPAIRS.values()


def test_a_package_that_could_not_be_made_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as context:
        written: list[Path] = []
        real = Path.write_text

        def full_after_two(path: Path, *args: Any, **more: Any) -> int:
            written.append(path)
            if len(written) > 2:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(path, *args, **more)

        context.setattr(Path, "write_text", full_after_two)
        with pytest.raises(PegboardError):
            _scaffolded(tmp_path)
    assert list(tmp_path.iterdir()) == []
    _scaffolded(tmp_path)


# -- before anything is written


def _below_a_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (folder / "home").touch()
    return folder / "home" / "state" / "pegboard"


def _on_a_full_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_blocks=16, f_bavail=0, f_bfree=0, f_flag=0))
    return folder


def _without_rights(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    return folder


def _on_a_read_only_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    flag = os.ST_RDONLY
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_blocks=16, f_bavail=8, f_bfree=8, f_flag=flag))
    return _without_rights(folder, monkeypatch)


PLACES = {
    errno.ENOTDIR: _below_a_file,
    errno.ENOSPC: _on_a_full_disk,
    errno.EACCES: _without_rights,
    errno.EROFS: _on_a_read_only_disk,
}


@pytest.mark.parametrize("code", PLACES, ids=lambda code: errno.errorcode[code])
def test_what_the_system_would_say_is_known_before(code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert write_problem(tmp_path / "new" / "file") is None
    problem = write_problem(PLACES[code](tmp_path, monkeypatch) / "file")
    assert problem is not None
    assert problem.errno == code
    assert write_hint(problem, "ask") == REPAIRS.get(code, "ask")


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EROFS], ids=lambda code: errno.errorcode[code])
def test_a_conversation_that_could_not_be_kept_is_refused_before_it_begins(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pegboard_chat.commands._files import require_writable

    require_writable(tmp_path / "talk.json")
    with pytest.raises(PegboardError) as raised:
        require_writable(PLACES[code](tmp_path, monkeypatch) / "talk.json")
    assert os.strerror(code) in raised.value.message
    assert raised.value.hint == REPAIRS.get(code, raised.value.hint)


def test_the_rights_of_a_file_that_is_replaced_count_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept"
    kept.touch()
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != kept)
    assert write_problem(kept) is not None
    assert write_problem(kept, is_replaced=True) is None


def test_the_audit_names_the_repair_of_the_reason() -> None:
    from pegboard_audit._database import error_of

    for code in REASONS:
        error = error_of(OSError(code, os.strerror(code)), Path("/srv/audit.sqlite3"))
        assert os.strerror(code) in error.message
        assert error.hint == REPAIRS.get(code, error.hint)


def test_a_file_system_that_counts_no_blocks_is_not_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_blocks=0, f_bavail=0, f_bfree=0, f_flag=0))
    assert write_problem(tmp_path / "file") is None


@pytest.mark.parametrize("code", PLACES, ids=lambda code: errno.errorcode[code])
def test_doctor_says_each_file_that_cannot_be_written(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_program: Callable[..., Any]
) -> None:
    config = tmp_path / "limited.toml"
    config.write_text(
        'limit_store = "sqlite"\n[tools.roll_dice]\nrate_limit = "3/minute"\n[plugins.memory]\nsemantic = false\n'
    )
    place = str(PLACES[code](tmp_path, monkeypatch))
    variables = {**os.environ, "XDG_STATE_HOME": place, "XDG_DATA_HOME": place}
    plugins = [word for name in ("audit_db", "memory", "tasks", "dice") for word in ("--plugin", name)]
    done = run_program("--config", str(config), *plugins, "doctor", "--json", env=variables)
    found = {one["what"]: one for one in json.loads(done.stdout)}
    wanted = {
        "calls are not written down", "memories cannot be written", "tasks cannot be kept", "limits cannot be counted"
    }  # fmt: skip
    assert wanted <= found.keys()
    assert not {"calls are written down", "limits are shared"} & found.keys()
    for what in wanted:
        assert found[what]["severity"] == "error"
        assert os.strerror(code).lower() in found[what]["why"].lower()
        if code in REPAIRS:
            assert found[what]["fix"] == REPAIRS[code]


@pytest.mark.parametrize("code", REASONS, ids=lambda code: errno.errorcode[code])
def test_a_sandbox_without_a_home_names_the_folder_and_the_repair(code: int) -> None:
    from pegboard_confine.sandbox import home_error

    problem = home_error("/srv/boxes/one/home", OSError(code, os.strerror(code)))
    assert "/srv/boxes/one/home" in problem.why
    assert os.strerror(code) in problem.why
    assert problem.fix.lower() == f"{REPAIRS.get(code, 'let this user write /srv/boxes/one')}.".lower()

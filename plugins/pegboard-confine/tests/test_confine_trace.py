"""What a trace proposes: what is there and was missing, no credentials, nothing of the system."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard_confine.trace import WIDE, Wanted, wanted_in


def test_what_is_there_and_was_not_found_is_proposed(tmp_path: Path) -> None:
    for name in ("docs/a.md", "docs/b.md", "docs/c.md", "one.json", "given/x", "home/.ssh/id_rsa", "out/old"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    lines = [
        *(f'7 openat(AT_FDCWD, "docs/{name}.md", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file)' for name in "abc"),
        f'7 stat("{tmp_path}/one.json", 0x7f) = -1 ENOENT (No such file or directory)',
        f'7 openat(AT_FDCWD, "{tmp_path}/out/new", O_WRONLY|O_CREAT, 0666) = -1 ENOENT (No such file)',
        f'7 openat(AT_FDCWD, "{tmp_path}/given/x", O_RDWR) = -1 EROFS (Read-only file system)',
        f'7 openat(AT_FDCWD, "{tmp_path}/given/y", O_RDONLY) = -1 ENOENT (No such file)',
        f'7 openat(AT_FDCWD, "{tmp_path}/home/.ssh/id_rsa", O_RDONLY) = -1 ENOENT (No such file)',
        f'7 openat(AT_FDCWD, "{tmp_path}/nowhere/z", O_RDONLY) = -1 ENOENT (No such file)',
        '7 openat(AT_FDCWD, "/etc/shadow", O_RDONLY) = -1 ENOENT (No such file)',
        f'7 openat(AT_FDCWD, "{tmp_path}/one.json", O_RDONLY) = 3',
        f'7 stat("{tmp_path}", 0x7f) = -1 ENOENT (No such file)',
    ]
    found = wanted_in(lines, str(tmp_path), [str(tmp_path / "given")], [])
    assert found == Wanted(
        read=(str(tmp_path / "docs"), str(tmp_path / "one.json")),
        write=(str(tmp_path / "given/x"), str(tmp_path / "out")),
        refused=(str(tmp_path / "home/.ssh/id_rsa"),),
    )


@pytest.mark.parametrize("folder", sorted(one for one in WIDE if Path(one).is_dir()))
@pytest.mark.parametrize("names", [[""], ["a", "b", "c"]], ids=["itself", "in it"])
def test_no_whole_part_of_the_system_is_proposed(tmp_path: Path, folder: str, names: list[str]) -> None:
    """Attack: a server asks to write into /var, or makes three files there: `suggest` proposed /var."""
    lines = [f'7 mkdir("{folder}/pegboard-{name}", 0777) = -1 EROFS (Read-only file system)' for name in names]
    found = wanted_in(lines, str(tmp_path), [], [])
    assert not {*found.read, *found.write} & WIDE
    assert set(found.wide) <= WIDE


@given(st.lists(st.text(max_size=200), max_size=20))
def test_any_text_gives_a_proposal(lines: list[str]) -> None:
    assert isinstance(wanted_in(lines, "/", [], []), Wanted)

"""What a trace proposes: what is there and was missing, no credentials, nothing of the system."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pegboard_confine.trace import Wanted, wanted_in


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


@given(st.lists(st.text(max_size=200), max_size=20))
def test_any_text_gives_a_proposal(lines: list[str]) -> None:
    assert isinstance(wanted_in(lines, "/", [], []), Wanted)

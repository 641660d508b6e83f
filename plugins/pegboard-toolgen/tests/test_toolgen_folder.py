"""The folder holds what is ours; what is a person's is never written over or deleted."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from pegboard import ConfigError
from pegboard_toolgen.folder import OUTPUTS, Folder, open_folder

FILES = {"README.md": b"ours\n", "schemas/a.schema.json": b"{}\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path / "llm-tooling")
    made.write(FILES)
    return made


def content_of(folder: Folder) -> dict[str, bytes]:
    return {
        path.relative_to(folder.path).as_posix(): path.read_bytes()
        for path in sorted(folder.path.rglob("*"))
        if path.is_file()
    }


def test_what_is_written_is_there_and_nothing_else(folder: Folder) -> None:
    assert content_of(folder).keys() == {*FILES, OUTPUTS}
    assert folder.write(FILES) == []
    assert json.loads((folder.path / OUTPUTS).read_text())["files"].keys() == FILES.keys()


def test_what_is_not_an_output_any_more_is_deleted_with_its_folder(folder: Folder) -> None:
    assert folder.write({"README.md": b"ours\n"}) == [OUTPUTS, "schemas/a.schema.json"]
    assert not (folder.path / "schemas").exists()


def test_a_persons_file_in_the_way_is_left_alone_and_nothing_is_written(folder: Folder) -> None:
    (folder.path / "skill.md").write_text("mine")
    before = content_of(folder)
    with pytest.raises(ConfigError, match=r"skill\.md in llm-tooling is not ours"):
        folder.write({**FILES, "README.md": b"new\n", "skill.md": b"ours"})
    assert content_of(folder) == before


def test_a_persons_file_beside_ours_stays(folder: Folder) -> None:
    (folder.path / "schemas" / "mine.json").write_text("mine")
    folder.write({"README.md": b"ours\n"})
    assert (folder.path / "schemas" / "mine.json").read_text() == "mine"


def test_our_file_that_a_person_changed_is_written_over_only_when_told_so(folder: Folder) -> None:
    (folder.path / "README.md").write_text("mine")
    with pytest.raises(ConfigError, match=r"README\.md in llm-tooling was changed by hand") as caught:
        folder.write({**FILES, "README.md": b"new\n"})
    assert "--replace" in str(caught.value.hint)
    assert (folder.path / "README.md").read_text() == "mine"
    folder.write({**FILES, "README.md": b"new\n"}, replace=True)
    assert (folder.path / "README.md").read_text() == "new\n"


def test_a_changed_file_that_would_go_stays_until_told_so(folder: Folder) -> None:
    (folder.path / "schemas" / "a.schema.json").write_text("mine")
    with pytest.raises(ConfigError, match="changed by hand"):
        folder.write({"README.md": b"ours\n"})
    folder.write({"README.md": b"ours\n"}, replace=True)
    assert not (folder.path / "schemas").exists()


def test_more_files_than_fit_a_line_are_counted(folder: Folder) -> None:
    for number in range(6):
        (folder.path / f"mine-{number}").write_text("mine")
    with pytest.raises(ConfigError, match="mine-0, mine-1, mine-2 and 3 other files in llm-tooling are not ours"):
        folder.write({**FILES, **{f"mine-{number}": b"" for number in range(6)}})


def test_what_is_merged_is_written_over(folder: Folder) -> None:
    (folder.path / "tool.manifest.json").write_text("edited")
    folder.write({**FILES, "tool.manifest.json": b"merged\n"})
    assert (folder.path / "tool.manifest.json").read_text() == "merged\n"


def test_the_states_of_files_are_told_apart(folder: Folder) -> None:
    (folder.path / "README.md").unlink()
    (folder.path / "mine").write_text("mine")
    (folder.path / "schemas" / "a.schema.json").write_text("changed")
    state = folder.compare({**FILES, "mine": b"ours"})
    assert (state.missing, state.strange, state.changed) == (("README.md",), ("mine",), ("schemas/a.schema.json",))
    (folder.path / "schemas" / "a.schema.json").write_bytes(b"{}\n")
    state = folder.compare({"schemas/a.schema.json": b"new"})
    assert (state.stale, state.gone) == (("schemas/a.schema.json",), ())
    assert folder.compare({}, also_ours={"README.md"}).gone == ("schemas/a.schema.json",)


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../x", "a//b", "", "a\\b", "c:x", "./a"])
def test_no_path_leads_out_of_the_folder(folder: Folder, name: str) -> None:
    with pytest.raises(ConfigError, match="not a path inside"):
        folder.write({name: b""})


def test_no_link_is_followed(folder: Folder, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("theirs")
    (folder.path / "linked").symlink_to(outside)
    (folder.path / "file").symlink_to(outside / "file")
    for name in ("linked/file", "file"):
        with pytest.raises(ConfigError, match="in the way"):
            folder.write({**FILES, name: b"ours"})
        with pytest.raises(ConfigError, match="link"):
            folder.read(name)
    assert (outside / "file").read_text() == "theirs"


def test_a_file_where_a_folder_should_be_is_in_the_way(folder: Folder) -> None:
    (folder.path / "adapters").write_text("mine")
    with pytest.raises(ConfigError, match="in the way"):
        folder.write({**FILES, "adapters/openai.json": b"{}"})
    (folder.path / "skill").mkdir()
    with pytest.raises(ConfigError, match="in the way"):
        folder.write({**FILES, "skill": b"{}"})


def test_the_folder_of_outputs_is_one(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "link").symlink_to(tmp_path)
    (project / "file").write_text("")
    with pytest.raises(ConfigError, match="not a folder"):
        open_folder(project / "file")
    assert open_folder(project / "llm-tooling").path == project / "llm-tooling"
    assert open_folder(project / "link" / "x").path == tmp_path / "x"


def test_a_file_that_cannot_be_used_is_named(folder: Folder) -> None:
    (folder.path / "bad.json").write_text("{")
    with pytest.raises(ConfigError, match=r"bad\.json cannot be read"):
        folder.read_json("bad.json")
    with pytest.raises(ConfigError, match="more than 1 bytes"):
        folder.read("README.md", max_bytes=1)
    (folder.path / OUTPUTS).write_text('{"files": {"a": 1}}')
    with pytest.raises(ConfigError, match=r"outputs\.json is not what was written"):
        folder.written()


def test_a_listing_that_was_tampered_with_names_no_path_outside(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("theirs")
    listing = json.loads((folder.path / OUTPUTS).read_text())
    listing["files"]["../victim"] = "0" * 64
    (folder.path / OUTPUTS).write_text(json.dumps(listing))
    folder.write(FILES)
    assert (tmp_path / "victim").read_text() == "theirs"


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be"):
        Folder(tmp_path / "file" / "below").write(FILES)


def failing_replace(monkeypatch: pytest.MonkeyPatch, *calls: int) -> list[str]:
    """`os.replace`, of which these calls fail, counted from 1; the names that were asked for."""
    asked: list[str] = []
    real = os.replace

    def replace(path: str, place: Path) -> None:
        asked.append(place.name)
        if len(asked) in calls:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(path, place)

    monkeypatch.setattr(os, "replace", replace)
    return asked


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_replacement_that_fails_takes_back_those_before_it(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    before = content_of(folder)
    asked = failing_replace(monkeypatch, number)
    with pytest.raises(ConfigError, match=r"llm-tooling cannot be written: No space left on device\nhint: "):
        folder.write({"README.md": b"new\n", "schemas/a.schema.json": b"[]\n", "added/one": b"1"})
    assert content_of(folder) == before
    assert asked[:number] == ["README.md", "one", "a.schema.json", "outputs.json"][:number]


def test_what_cannot_be_put_back_is_named_and_repaired_by_the_next_run(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = {"README.md": b"new\n", "schemas/a.schema.json": b"[]\n"}
    with monkeypatch.context() as patch:
        failing_replace(patch, 2, 3)
        with pytest.raises(ConfigError, match=r"; README\.md is new already\nhint: "):
            folder.write(wanted)
    assert sorted(path.name for path in folder.path.rglob(".toolgen-*")) == []
    folder.write(wanted, replace=True)
    assert folder.compare(wanted).stale == ()
    assert content_of(folder)["README.md"] == b"new\n"

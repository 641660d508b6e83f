"""Overrides change what is generated, and one that matches nothing is an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pegboard import ConfigError
from pegboard_toolgen.folder import Folder
from pegboard_toolgen.overrides import apply_overrides, overrides_of, read_overrides

DOCUMENT: dict[str, Any] = {
    "project": {"name": "p", "runtime": "python"},
    "tools": [
        {"id": "http:GET /a", "name": "get_a", "title": "A", "examples": [{"input": {}}]},
        {"id": "http:GET /b", "name": "get_b"},
    ],
}


def applied(*files: dict[str, Any]) -> dict[str, Any]:
    found = [one for number, said in enumerate(files) for one in overrides_of(said, f"overrides/{number}.json")]
    return apply_overrides(DOCUMENT, found)


def test_a_merge_patch_goes_by_id_or_name() -> None:
    changed = applied({"http:GET /a": {"category": "read", "title": None}, "get_b": {"risk": "low"}})
    assert changed["tools"] == [
        {"id": "http:GET /a", "name": "get_a", "category": "read", "examples": [{"input": {}}]},
        {"id": "http:GET /b", "name": "get_b", "risk": "low"},
    ]
    assert "category" not in DOCUMENT["tools"][0]


def test_a_list_is_a_json_patch() -> None:
    changed = applied({"get_a": [{"op": "add", "path": "/examples/-", "value": {"input": {"x": 1}}}]})
    assert changed["tools"][0]["examples"] == [{"input": {}}, {"input": {"x": 1}}]


def test_both_may_be_said_apart_in_one_file() -> None:
    changed = applied(
        {"merge": {"get_a": {"title": "B"}}, "patch": {"get_a": [{"op": "test", "path": "/title", "value": "B"}]}}
    )
    assert changed["tools"][0]["title"] == "B"


def test_null_takes_a_tool_out() -> None:
    assert [one["name"] for one in applied({"get_a": None})["tools"]] == ["get_b"]


def test_parts_beside_the_tools_are_changed_too() -> None:
    changed = applied({"project": {"name": "q"}, "servers": {"s": {"base_url": "http://x"}}})
    assert changed["project"] == {"name": "q", "runtime": "python"}
    assert changed["servers"] == {"s": {"base_url": "http://x"}}


def test_later_files_lie_over_earlier_ones() -> None:
    assert applied({"get_a": {"title": "1"}}, {"get_a": {"title": "2"}})["tools"][0]["title"] == "2"


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ([{"get_aa": {"title": "x"}}], "0.json: get_aa: there is no such tool (did you mean get_a?)"),
        ([{"get_a": {"nothing": None}}], "there is no /nothing to take out"),
        ([{"get_a": [{"op": "remove", "path": "/nothing"}]}], "operation 0: there is no /nothing"),
        ([{"get_a": None}, {"get_a": {"title": "x"}}], "takes the tool out"),
        ([{"get_a": {"id": "other"}}], "the id of a tool stays"),
        ([{"get_a": [{"op": "replace", "path": "", "value": 1}]}], "not an object"),
    ],
)
def test_an_override_that_matches_nothing_is_an_error(files: list[dict[str, Any]], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        applied(*files)
    assert says in str(caught.value)


def test_all_that_match_nothing_are_listed() -> None:
    with pytest.raises(ConfigError) as caught:
        applied({f"nothing_{number}": {} for number in range(60)})
    assert "60 overrides cannot be applied" in str(caught.value)
    assert "and 10 more" in str(caught.value)


@pytest.mark.parametrize("said", [[], 1, None, {"get_a": 1}, {"merge": {"get_a": []}}, {"patch": {"get_a": {}}}])
def test_a_file_of_another_form_is_refused(said: Any) -> None:
    with pytest.raises(ConfigError, match=r"overrides/0\.json"):
        overrides_of(said, "overrides/0.json")


def test_files_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    folder = tmp_path / "overrides"
    folder.mkdir()
    for name in ("b.json", "a.json", ".hidden.json", "notes.txt"):
        (folder / name).write_text(json.dumps({"get_a": {"title": name}}))
    assert [one.file for one in read_overrides(Folder(tmp_path))] == ["overrides/a.json", "overrides/b.json"]


def test_no_folder_is_not_an_override(tmp_path: Path) -> None:
    assert read_overrides(Folder(tmp_path)) == []


def test_what_is_not_a_folder_or_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "overrides").write_text("{}")
    with pytest.raises(ConfigError, match="not a folder"):
        read_overrides(Folder(tmp_path))
    (tmp_path / "overrides").unlink()
    (tmp_path / "overrides").mkdir()
    (tmp_path / "overrides" / "a.json").write_text("{")
    with pytest.raises(ConfigError, match=r"overrides/a\.json cannot be read"):
        read_overrides(Folder(tmp_path))


def test_links_are_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    here = tmp_path / "here"
    here.mkdir()
    (here / "overrides").symlink_to(elsewhere)
    with pytest.raises(ConfigError, match="not a folder"):
        read_overrides(Folder(here))


def test_a_folder_that_cannot_be_listed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    (tmp_path / "overrides").mkdir()
    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(ConfigError, match=r"^overrides cannot be read: Permission denied\nhint: look at its rights$"):
        read_overrides(Folder(tmp_path))

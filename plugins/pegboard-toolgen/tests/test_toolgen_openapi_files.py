"""Documents in several files: what lies beside a document is read, and nothing else."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pegboard_toolgen.discover.openapi import beside, discover_openapi
from pegboard_toolgen.drafts import Discovery

Json = Any


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder `api` for the document, and a secret beside it."""
    (tmp_path / "api").mkdir()
    (tmp_path / "secret.json").write_text('{"type": "string", "description": "SECRET"}')
    return tmp_path / "api"


def write(folder: Path, **files: Json) -> None:
    for name, value in files.items():
        path = folder / f"{name.replace('__', '/')}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value), encoding="utf-8")


def found_in(folder: Path, schema: Json) -> Discovery:
    body = {"content": {"application/json": {"schema": {"properties": {"a": schema}}}}}
    write(folder, openapi={"openapi": "3.1.0", "paths": {"/a": {"post": {"requestBody": body}}}})
    return discover_openapi(folder / "openapi.json")


def schema_in(found: Discovery) -> Json:
    schema = found.drafts[0].input_schema["properties"]["a"]
    return found.defs[schema["$ref"].removeprefix("#/$defs/")] if "$ref" in schema else schema


def test_a_document_in_several_files_is_one(folder: Path) -> None:
    write(
        folder,
        openapi={"openapi": "3.1.0", "paths": {"/pets/{id}": {"$ref": "paths/pet.json"}}, "components": {"schemas": {
            "Name": {"type": "string"}}}},
        paths__pet={"put": {"parameters": [{"$ref": "../shared.json#/parameters/a~1b"}], "requestBody": {
            "content": {"application/json": {"schema": {"$ref": "../schemas/Pet.json"}}}}}},
        shared={"parameters": {"a/b": {"name": "id", "in": "path", "schema": {"$ref": "#/types/Id"}},
            "q": {"name": "q", "in": "query", "schema": {}}}, "types": {"Id": {"type": "integer"}}},
        schemas__Pet={"type": "object", "properties": {"name": {"$ref": "../openapi.json#/components/schemas/Name"},
            "parent": {"$ref": "#"}, "size": {"$ref": "My%20Size.json"}}},
    )  # fmt: skip
    (folder / "schemas/My Size.json").write_text('{"enum": ["S", "M"]}')

    found = discover_openapi(folder / "openapi.json")

    (draft,) = found.drafts
    properties = {
        name: found.defs[schema["$ref"].removeprefix("#/$defs/")] if "$ref" in schema else schema
        for name, schema in draft.input_schema["properties"].items()
    }
    assert properties["id"] == {"type": "integer"}
    assert properties["name"] == {"type": "string"}
    assert properties["size"] == {"enum": ["S", "M"]}
    assert properties["parent"]["properties"].keys() == {"name", "parent", "size"}
    assert [one.id for one in found.left_out] == ["server"]


def test_a_change_of_a_file_beside_a_document_is_a_change_of_it(folder: Path) -> None:
    write(folder, x={"type": "string"})
    before = found_in(folder, {"$ref": "x.json"}).source["sha256"]
    write(folder, x={"type": "integer"})
    assert found_in(folder, {"$ref": "x.json"}).source["sha256"] != before


@pytest.mark.parametrize(
    "ref",
    [
        "../secret.json",
        "down/../../secret.json",
        "%2e%2e/secret.json",
        "..\\secret.json",
        "link.json",
        "linked/secret.json",
        ".hidden.json",
        ".hidden/x.json",
        "notes.txt",
        "gone.json",
        "pipe.json",
        "down.json",
        "broken.json",
        "x" * 600 + ".json",
        "a\x00b.json",
        "file:secret.json",
        "//host/secret.json",
        "http://127.0.0.1:1/x.json",
    ],
)
def test_nothing_else_is_read(folder: Path, ref: str) -> None:
    """Not above the folder, nor over a link that leads out of it, nor what is hidden, no file or of another kind."""
    write(folder, down__x={}, **{".hidden": {"description": "SECRET"}, ".hidden__x": {"description": "SECRET"}})
    (folder / "link.json").symlink_to(folder.parent / "secret.json")
    (folder / "linked").symlink_to(folder.parent)
    (folder / "notes.txt").write_text('{"description": "SECRET"}')
    (folder / "broken.json").write_text('{"description": "SECRET"')
    (folder / "down.json").mkdir()
    os.mkfifo(folder / "pipe.json")

    found = found_in(folder, {"$ref": ref})

    assert schema_in(found) == {}
    assert any("any value is taken" in note for note in found.drafts[0].notes)
    assert "SECRET" not in repr(found)
    # An absolute path is one more way out.
    assert schema_in(found_in(folder, {"$ref": str(folder.parent / "secret.json")})) == {}


def test_a_link_inside_of_the_folder_is_followed(folder: Path) -> None:
    write(folder, x={"type": "boolean"})
    (folder / "again.json").symlink_to("x.json")
    assert schema_in(found_in(folder, {"$ref": "again.json"})) == {"type": "boolean"}


def test_files_that_refer_to_each_other_are_read_once(folder: Path) -> None:
    write(folder, x={"properties": {"y": {"$ref": "y.json"}}}, y={"properties": {"x": {"$ref": "x.json"}}})
    found = found_in(folder, {"$ref": "x.json"})
    assert len(found.defs) == 2


def test_files_are_bounded_in_number_and_size(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, **{f"f{i}": {"$ref": f"f{i + 1}.json"} for i in range(9)}, f9={"type": "string"})
    assert schema_in(found_in(folder, {"$ref": "f5.json"})) != {}
    monkeypatch.setattr(beside, "MAX_FILES", 3)
    found = found_in(folder, {"$ref": "f0.json"})
    assert any("more than 3 files" in one.why for one in found.left_out)
    monkeypatch.setattr(beside, "MAX_BYTES", 10)
    found = found_in(folder, {"$ref": "f9.json"})
    assert any("more than 10 bytes" in one.why for one in found.left_out)


def test_a_reference_that_is_not_read_is_reported(folder: Path) -> None:
    write(folder, x={"$ref": "gone.json#/a"})
    found = found_in(folder, {"$ref": "x.json"})
    assert ("file:gone.json", "a file that the document refers to cannot be read: No such file or directory") in [
        (one.id, one.why) for one in found.left_out
    ]
    assert "the reference 'gone.json#/a' points to nothing" in " ".join(found.drafts[0].notes)

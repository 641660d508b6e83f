"""Path parameters that take slashes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pegboard import ToolError
from pegboard.schema import faults_of_value
from pegboard_manifest.bindings.http.request import request_of
from pegboard_toolgen.discover.openapi import discover_openapi

SERVER = {"base_url": "http://127.0.0.1:9/v1"}


def tools(*paths: str, **said: Any) -> dict[str, Any]:
    def parameters(path: str) -> list[dict[str, Any]]:
        names = re.findall(r"[{]([^{}]+)[}]", path)
        plain = [re.sub(r"^[+*]|[+*]$|:.*", "", name) for name in names]
        return [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}, **said} for name in plain]

    document = {"openapi": "3.0.0", "paths": {path: {"get": {"parameters": parameters(path)}} for path in paths}}
    return {draft.id: draft for draft in discover_openapi(document).drafts}


def url(draft: Any, **arguments: Any) -> str | None:
    """Where a call goes; None where its schema or its binding refuses it."""
    if faults_of_value(draft.input_schema, arguments):
        return None
    try:
        return request_of(draft.binding, SERVER, arguments).url.removeprefix("http://127.0.0.1:9/v1")
    except ToolError:
        return None


@pytest.mark.parametrize(
    "path",
    [
        "/files/{file_path}", "/files/{path}", "/files/{filePath}", "/files/{x:path}", "/files/{x+}", "/files/{+x}",
        "/files/{*x}", "/files/{x:.*}",
    ],
)  # fmt: skip
def test_what_a_name_or_a_mark_says_takes_slashes(path: str) -> None:
    (draft,) = tools(path).values()
    (name,) = draft.input_schema["properties"]
    assert draft.id == f"http:GET /files/{{{name}}}"
    assert draft.input_schema["properties"][name]["description"].endswith("It may hold slashes.")
    assert url(draft, **{name: "a/b.txt"}) == "/files/a/b.txt"
    assert url(draft, **{name: "../b.txt"}) is None


@pytest.mark.parametrize("mark", ["x-multi-segment", "allowReserved"])
def test_a_document_may_say_so_itself(mark: str) -> None:
    (draft,) = tools("/refs/{ref}", **{mark: True}).values()
    assert url(draft, ref="heads/main") == "/refs/heads/main"


@pytest.mark.parametrize("path", ["/files/{id}", "/files/{path}/meta", "/files/x-{path}", "/pathways/{pathway}"])
def test_nothing_else_does(path: str) -> None:
    (draft,) = tools(path).values()
    (name,) = draft.input_schema["properties"]
    assert url(draft, **{name: "a/b"}) is None


def test_no_value_is_the_path_of_another_operation() -> None:
    found = tools("/c/{path}", "/c/{path}/checks", "/c/{path}/checks/{id}", "/c/special/{name}", "/d/{path}", "/{a}/b")
    draft = found["http:GET /c/{path}"]
    assert url(draft, path="a/b") == "/c/a/b"
    assert url(draft, path="a/checks.txt") == "/c/a/checks.txt"
    for value in ("a/checks", "a/b/checks", "a/checks/1", "special/x"):
        assert url(draft, path=value) is None
    assert "not" not in found["http:GET /d/{path}"].input_schema["properties"]["path"]


def test_a_path_below_which_anything_may_lie_takes_no_slash() -> None:
    found = tools("/c/{path}", "/c/{owner}/{name}")
    assert url(found["http:GET /c/{path}"], path="a/b") is None
    assert url(found["http:GET /c/{path}"], path="a") == "/c/a"

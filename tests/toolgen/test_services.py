"""What the tools of httpbin and kinto send to real servers, and what their answers become."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

CODES = {
    400: "INVALID_INPUT",
    401: "UNAUTHORIZED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    408: "TIMEOUT",
    409: "CONFLICT",
    410: "NOT_FOUND",
    412: "CONFLICT",
    422: "INVALID_INPUT",
    429: "RATE_LIMITED",
    500: "UPSTREAM_ERROR",
    502: "UPSTREAM_ERROR",
    503: "UPSTREAM_ERROR",
    504: "TIMEOUT",
}
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


def fetch(address: str) -> dict[str, Any]:
    with urllib.request.urlopen(address, timeout=10) as answer:
        document: dict[str, Any] = json.load(answer)
    return document


def test_every_status_becomes_its_code(httpbin: Any) -> None:
    tool = httpbin.tool_of("GET /status/{codes}")
    parameter = tool["binding"]["parameters"][0]["parameter"]
    calls = [(tool["name"], {parameter: str(status)}) for status in CODES]
    results = httpbin.batch(calls)
    assert {status: one["error"]["code"] for status, one in zip(CODES, results, strict=True)} == CODES
    assert [one["error"]["details"]["status"] for one in results] == list(CODES)
    assert httpbin.call(tool["name"], {parameter: "200"})["ok"]


def test_parameters_arrive_where_they_belong(httpbin: Any) -> None:
    tool = httpbin.tool_of("GET /base64/{value}")
    parameter = tool["binding"]["parameters"][0]["parameter"]
    done = httpbin.call(tool["name"], {parameter: "SFRUUEJJTiBpcyBhd2Vzb21l"})
    assert "HTTPBIN is awesome" in str(done["data"])


def test_names_follow_from_method_and_path(httpbin: Any) -> None:
    """There are no operation ids."""
    document = fetch(f"{httpbin.address}/spec.json")
    assert document["swagger"] == "2.0"
    ids = {f"http:{method.upper()} {path}" for path, one in document["paths"].items() for method in one}
    assert {one["id"] for one in httpbin.manifest["tools"]} == ids
    assert not any("operationId" in one for path in document["paths"].values() for one in path.values())
    assert httpbin.tool_of("GET /anything")["name"] == "get_anything"


def test_kinto_has_every_operation(kinto: Any) -> None:
    document = fetch(f"{kinto.address}/v1/__api__")
    operations = {
        f"http:{method.upper()} {path}"
        for path, one in document["paths"].items()
        for method in one
        if method in METHODS
    }
    assert len(operations) == 44
    assert {one["id"] for one in kinto.manifest["tools"]} == operations


def test_a_bucket_is_made_read_and_changed_only_as_it_was_seen(kinto: Any) -> None:
    """401 without credentials, 403 for another user, 404 for what is not there, 412 for what changed meanwhile."""
    put, get = kinto.tool_of("PUT /buckets/{id}")["name"], kinto.tool_of("GET /buckets/{id}")["name"]
    record = kinto.tool_of("GET /buckets/{bucket_id}/collections/{id}")["name"]
    library = {"id": "library", "data": {"floor": 2}}
    made, read, seen, stale, missing = kinto.batch(
        [
            (put, library),
            (get, {"id": "library"}),
            (put, {**library, "If-None-Match": "*"}),
            (put, {**library, "If-Match": '"1"'}),
            (record, {"bucket_id": "library", "id": "books"}),
        ]
    )
    assert made["ok"], made
    assert read["data"]["data"]["floor"] == 2
    for refused in (seen, stale):
        assert (refused["error"]["code"], refused["error"]["details"]["status"]) == ("CONFLICT", 412)
    assert (missing["error"]["code"], missing["error"]["details"]["status"]) == ("NOT_FOUND", 404)
    auth = next(iter(kinto.manifest["servers"].values()))["auth"][0]
    other = kinto.call(get, {"id": "library"}, **{auth["username_env"]: "eve"})
    assert (other["error"]["code"], other["error"]["details"]["status"]) == ("FORBIDDEN", 403)
    nobody = kinto.call(get, {"id": "library"}, **{auth["secret_env"]: "", auth["username_env"]: ""})
    assert nobody["error"]["code"] == "UNAUTHORIZED", nobody
    assert kinto.env[auth["secret_env"]] not in json.dumps([made, read, seen, stale, missing, other, nobody])


def test_credentials_that_a_document_does_not_speak_of_come_from_a_hint(
    kinto: Any, run_init: Callable[..., Any], tmp_path: Path
) -> None:
    """kinto with its accounts alone says nothing of them in its document."""
    document = fetch(kinto.arguments[1])
    del document["securityDefinitions"]
    for path in document["paths"].values():
        for operation in path.values():
            if isinstance(operation, dict):
                operation.pop("security", None)
    document.pop("security", None)
    (tmp_path / "spec.json").write_text(json.dumps(document))
    hint = '[servers.kinto]\nauth = [{kind = "basic", username_env = "ACCOUNT", secret_env = "ACCOUNT_PASSWORD"}]\n'
    arguments = ("--openapi", "spec.json", "--base-url", f"{kinto.address}/v1")
    out = tmp_path / "llm-tooling"
    done = run_init(out, arguments, kinto.env, tmp_path, {"toolgen.toml": hint})
    assert done.returncode == 0, done.stderr
    own = attrs.evolve(kinto, folder=out, work=tmp_path)
    put = own.tool_of("PUT /buckets/{id}")["name"]
    arguments = {"id": "hinted"}
    assert own.call(put, arguments)["error"]["code"] == "UNAUTHORIZED"
    assert own.call(put, arguments, ACCOUNT="ada", ACCOUNT_PASSWORD="a-password-of-these-tests")["ok"]


@pytest.mark.parametrize("project", ["httpbin", "kinto"])
def test_reordering_and_deleting_operations_leaves_every_name_on_its_binding(
    project: str, request: pytest.FixtureRequest, run_init: Callable[..., Any], tmp_path: Path
) -> None:
    built = request.getfixturevalue(project)
    where = built.arguments[1]
    document = fetch(where)
    paths = list(document["paths"].items())
    document["paths"] = dict(reversed(paths[: len(paths) // 3] + paths[len(paths) // 2 :]))
    for one in document["paths"].values():
        one.update({method: one.pop(method) for method in reversed(METHODS) if method in one})
    document.setdefault("host", built.address.removeprefix("http://"))
    document.setdefault("schemes", ["http"])
    file = tmp_path / "spec.json"
    file.write_text(json.dumps(document))
    done = run_init(tmp_path / "out", ("--openapi", str(file)), built.env, tmp_path)
    assert done.returncode == 0, done.stderr
    left = {one["id"]: one for one in json.loads((tmp_path / "out" / "tool.manifest.json").read_text())["tools"]}
    was = {one["id"]: one for one in built.manifest["tools"]}
    assert 0 < len(left) < len(was)
    assert {key: one["name"] for key, one in left.items()} == {key: was[key]["name"] for key in left}
    for key, one in left.items():
        assert one["binding"] == {**was[key]["binding"], "server": one["binding"]["server"]}
        assert one["input_schema"] == was[key]["input_schema"]

"""What the tools of httpbin and kinto send to real servers, and what their answers become."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
    put, get = kinto.tool_of("PUT /buckets/{id}"), kinto.tool_of("GET /buckets/{id}")
    id_of = next(one["parameter"] for one in get["binding"]["parameters"] if one["in"] == "path")
    match = next(one["parameter"] for one in put["binding"]["parameters"] if one["name"] == "If-Match")
    made = kinto.call(put["name"], {id_of: "library"})
    assert made["ok"], made
    assert kinto.call(get["name"], {id_of: "library"})["ok"]
    stale = kinto.call(put["name"], {id_of: "library", match: '"1"'})
    assert stale["error"]["code"] == "CONFLICT", stale
    assert kinto.call(get["name"], {id_of: "nowhere"})["error"]["code"] in ("NOT_FOUND", "FORBIDDEN")
    auth = next(iter(kinto.manifest["servers"].values()))["auth"][0]
    other = kinto.call(get["name"], {id_of: "library"}, **{auth["username_env"]: "eve"})
    assert other["error"]["code"] == "FORBIDDEN", other
    kept = kinto.env.pop(auth["secret_env"])
    try:
        nobody = kinto.call(get["name"], {id_of: "library"})
    finally:
        kinto.env[auth["secret_env"]] = kept
    assert nobody["error"]["code"] == "UNAUTHORIZED", nobody
    assert kept not in json.dumps([made, stale, other, nobody])


def test_a_record_that_is_not_there_is_not_found(kinto: Any) -> None:
    put = kinto.tool_of("PUT /buckets/{id}")
    id_of = next(one["parameter"] for one in put["binding"]["parameters"] if one["in"] == "path")
    assert kinto.call(put["name"], {id_of: "shelf"})["ok"]
    get = kinto.tool_of("GET /buckets/{bucket_id}/collections/{id}")
    names = {one["name"]: one["parameter"] for one in get["binding"]["parameters"] if one["in"] == "path"}
    missing = kinto.call(get["name"], {names["bucket_id"]: "shelf", names["id"]: "books"})
    assert missing["error"]["code"] == "NOT_FOUND", missing


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

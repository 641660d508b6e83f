"""The kit behind the contract tests that are generated beside a manifest; for plain pytest, without a loop or a plugin.

A test file of three lines runs everything that can be held without starting a program, sending a request or importing
a library::

    from pathlib import Path
    from pegboard_manifest.testing import contract_tests

    HERE = Path(__file__).parent
    test_contract = contract_tests(HERE.parent / "tool.manifest.json", HERE / "golden")

For every tool: its schemas compile, refuse what is unknown and take its examples; recorded outputs fit the output
schema; every error that it may give fits the error schema, and statuses, exits and exceptions mean what their tables
say; and the golden pairs: the words or the request that come of an input, the data or the error of a response.

A golden file is `golden/NAME.json`, an object: `calls`, pairs of `input` and what it becomes (`words`, `request`,
`call`, or `error` with its code); `responses`, pairs of `response` and what comes of it (`data`, or `error`).
`golden_of` makes one.

.. versionadded:: 0.1
"""

from __future__ import annotations

import builtins
import json
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ToolError
from pegboard.limits import JSON_BYTES
from pegboard.schema.jsontext import loads, shorten_text
from pegboard_manifest.canonical import fingerprint_of
from pegboard_manifest.document import load
from pegboard_manifest.projection import project

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping

    from pegboard_manifest.document import Manifest

    Entry = Mapping[str, Any]

HTTP_CODES = {
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
"""What statuses mean where a binding says nothing of them."""
GOLDEN_FOLDER = Path("/pegboard-golden")
"""Where golden calls are judged: a folder that is nowhere, so that no file, and no link, of a machine has a say.

.. versionadded:: 0.1
"""
MAX_GOLDEN_BYTES = JSON_BYTES


@attrs.frozen
class Case:
    """One thing that is held of one tool.

    Args:
        name: `TOOL-what`, as pytest shows it.
        run: raises `AssertionError` with what is wrong.

    .. versionadded:: 0.1
    """

    name: str
    run: Callable[[], None]

    def __str__(self) -> str:
        return self.name


def contract_tests(
    manifest: str | os.PathLike[str], golden: str | os.PathLike[str] | None = None
) -> Callable[[Case], None]:
    """A test function for pytest, with one case for each thing that is held of each tool.

    Args:
        manifest: the file.
        golden: the folder of golden files, one for each tool, if there is one; a tool without a pair is a failing case.

    Raises:
        ManifestError: the manifest is wrong; every fault is listed.

    .. versionadded:: 0.1
    """
    import pytest

    @pytest.mark.parametrize("case", contract_cases(manifest, golden), ids=str)
    def test_contract(case: Case) -> None:
        case.run()

    return test_contract


def contract_cases(manifest: str | os.PathLike[str], golden: str | os.PathLike[str] | None = None) -> list[Case]:
    """Everything that is held of a manifest, as `contract_tests` runs it.

    Raises:
        ManifestError: the manifest is wrong.

    .. versionadded:: 0.1
    """
    read = load(manifest)
    cases = []
    for entry in read.tools.values():
        held = {
            "schemas": _hold_schemas,
            "examples": _hold_examples,
            "errors": _hold_errors,
            "fingerprint": _hold_fingerprint,
        }
        cases += [Case(f"{entry['name']}-{what}", partial(hold, entry, read)) for what, hold in held.items()]
    if golden is not None:
        cases += _golden_cases(read, Path(golden))
    return cases


def golden_of(entry: Entry, manifest: Manifest) -> dict[str, Any]:
    """The golden file of one tool: what its examples become, and what responses of its kind mean.

    It is made without starting, sending or importing anything, and is the same wherever it is made.

    .. versionadded:: 0.1
    """
    manifest = attrs.evolve(manifest, folder=GOLDEN_FOLDER)
    inputs = [example["input"] for example in entry["examples"]]
    calls = [{"input": one, **outcome_of_call(entry, manifest, one)} for one in inputs]
    responses = [{"response": one, **outcome_of_response(entry, one)} for one in _responses(entry)]
    return {"tool": entry["name"], "calls": calls, "responses": responses}


def outcome_of_call(entry: Entry, manifest: Manifest, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What a call with these arguments would start or send: `words` (and `stdin`), `request` or `call`; `error` where
    it would be refused before that.

    .. versionadded:: 0.1
    """
    try:
        return _CALLS[entry["binding"]["kind"]](entry, manifest, arguments)
    except ToolError as problem:
        return {"error": problem.code.value}


def outcome_of_response(entry: Entry, response: Mapping[str, Any]) -> dict[str, Any]:
    """What a response means: `data`, or `error` with the code.

    Args:
        entry: the tool.
        response: of a program `status`, `stdout`, `stderr`; of a server `status`, `headers`, `body`; of a function
            `value`, or `exception` by its name.

    .. versionadded:: 0.1
    """
    try:
        return {"data": _RESPONSES[entry["binding"]["kind"]](entry["binding"], response)}
    except ToolError as problem:
        return {"error": problem.code.value}


# schemas, examples, errors


def _validator(entry: Entry, key: str, manifest: Manifest) -> Any:
    """A compiled schema of a tool, as a model gets it."""
    import jsonschema_rs

    schema = dict(project(entry.get(key, {}), manifest.defs))
    try:
        return jsonschema_rs.Draft202012Validator(schema, offline=True, validate_formats=False)
    except ValueError as problem:
        raise AssertionError(f"the {key} of {entry['name']} is not a schema: {_shown(problem)}") from None


def _hold_schemas(entry: Entry, manifest: Manifest) -> None:
    takes, _, _ = (_validator(entry, key, manifest) for key in ("input_schema", "output_schema", "error_schema"))
    unknown = {**entry["examples"][0]["input"], "no_parameter_of_this_name": 1}
    taken = takes.is_valid(unknown)
    assert not taken, f"the input_schema of {entry['name']} takes a parameter that it does not name"


def _hold_examples(entry: Entry, manifest: Manifest) -> None:
    takes, gives = _validator(entry, "input_schema", manifest), _validator(entry, "output_schema", manifest)
    for index, example in enumerate(entry["examples"]):
        place = f"example {index} of {entry['name']}"
        _hold_fits(takes, example["input"], f"the input of {place}")
        if "output" in example:
            _hold_fits(gives, example["output"], f"the output of {place}")


def _hold_errors(entry: Entry, manifest: Manifest) -> None:
    fits = _validator(entry, "error_schema", manifest)
    codes = {one["code"] for one in entry.get("errors", ())} | set(_table(entry["binding"]).values())
    for code in sorted(codes):
        error = ToolError(code, "what was wrong", faults=[]).to_json()
        _hold_fits(fits, error, f"an error {code} of {entry['name']}")
    for response, code in _mapped(entry["binding"]):
        outcome = outcome_of_response(entry, response)
        assert outcome == {"error": code}, f"{response} means {code} by the table, and gives {outcome}"


def _hold_fingerprint(entry: Entry, manifest: Manifest) -> None:
    recorded = entry.get("fingerprint")
    if recorded is not None:
        made = fingerprint_of(entry, manifest.document)
        assert recorded == made, f"{entry['name']} was changed since its fingerprint was made: {recorded} is now {made}"


def _hold_fits(validator: Any, value: Any, what: str) -> None:
    errors = list(validator.iter_errors(value))
    assert not errors, f"{what} does not fit: {_shown(errors[0])}"


def _shown(problem: Exception) -> str:
    return shorten_text(" ".join(str(problem).split()), 300)


def _table(binding: Mapping[str, Any]) -> dict[Any, str]:
    """What a binding's own table maps, as its parts say it."""
    if binding["kind"] == "http":
        return dict(binding.get("statuses", {}))
    rows = binding.get("exits" if binding["kind"] == "subprocess" else "exceptions", ())
    return {index: row["code"] for index, row in enumerate(rows)}


def _mapped(binding: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Responses that are errors for sure, and the code of each by the tables."""
    if binding["kind"] == "http":
        own = binding.get("statuses", {})
        exact = {int(status): code for status, code in own.items() if status.isdigit() and int(status) >= 400}
        for status, default in {**HTTP_CODES, **exact}.items():
            code = own.get(str(status)) or own.get(f"{status // 100}XX") or default
            yield {"status": status, "headers": {}, "body": ""}, code
    elif binding["kind"] == "subprocess":
        yield from _ends(binding)
    else:
        rows = {row["type"]: row["code"] for row in reversed(binding.get("exceptions", ()))}
        for name, default in (
            ("ValueError", "INVALID_INPUT"),
            ("TypeError", "INVALID_INPUT"),
            ("OSError", "UPSTREAM_ERROR"),
        ):
            classes = [one.__name__ for one in getattr(builtins, name).__mro__]
            first = next((row for row in binding.get("exceptions", ()) if row["type"] in classes), None)
            yield {"exception": name}, default if first is None else rows[first["type"]]


def _ends(binding: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """How a program fails: with the usual statuses and those of its table, silent; with what patterns find."""
    from pegboard_manifest.bindings.subprocess.exits import USAGE_STATUS, is_found

    rows, success = binding.get("exits", ()), binding.get("success", [0])
    silent = (1, USAGE_STATUS, *(row["status"] for row in rows if "status" in row))
    failed = next(status for status in range(3, 1_000) if status not in (*success, *silent))
    ends = {(status, ""): None for status in silent}
    for row in rows:
        if "stderr" in row and (text := _found_by(row["stderr"])):
            ends[row.get("status", failed), text] = None
    for status, text in ends:
        if status not in success:
            fits = (
                row["code"]
                for row in rows
                if row.get("status", status) == status and ("stderr" not in row or is_found(row["stderr"], text))
            )
            default = "INVALID_INPUT" if status == USAGE_STATUS else "UPSTREAM_ERROR"
            yield {"status": status, "stdout": "", "stderr": text}, next(fits, default)


def _found_by(pattern: str) -> str | None:
    """Words in which a pattern is found, where its own make some."""
    from pegboard_manifest.bindings.subprocess.exits import is_found

    own = re.sub(r"\\.|\(\?[a-zA-Z]*[:)]", "|", pattern)
    words = (found.strip() for found in re.findall(r"[^\W_][\w' -]*", own))
    return next((one for one in words if is_found(pattern, one)), None)


# golden pairs


def _golden_cases(manifest: Manifest, folder: Path) -> Iterator[Case]:
    manifest = attrs.evolve(manifest, folder=GOLDEN_FOLDER)
    missing = dict.fromkeys(manifest.tools)
    for file in sorted(folder.glob("*.json")):
        golden = loads(file.read_bytes(), max_bytes=MAX_GOLDEN_BYTES)
        name = golden["tool"]
        if name not in manifest.tools:
            yield Case(
                f"{name}-golden", partial(_fail, f"{file.name} is of a tool that is not in the manifest: {name}")
            )
            continue
        entry = manifest.tools[name]
        if golden.get("calls") or golden.get("responses"):
            missing.pop(name, None)
        for index, pair in enumerate(golden.get("calls", ())):
            yield Case(f"{name}-call-{index}", partial(_hold_call, entry, manifest, pair))
        for index, pair in enumerate(golden.get("responses", ())):
            yield Case(f"{name}-response-{index}", partial(_hold_response, entry, pair))
    for name in missing:
        why = f"{folder.name}/{name}.json is not there, or holds no pair; make it with llm-toolgen build, or golden_of"
        yield Case(f"{name}-golden", partial(_fail, why))


def _fail(why: str) -> None:
    raise AssertionError(why)


def _hold_call(entry: Entry, manifest: Manifest, pair: Mapping[str, Any]) -> None:
    expected = {key: value for key, value in pair.items() if key != "input"}
    made = outcome_of_call(entry, manifest, pair["input"])
    assert made == expected, f"{_json(pair['input'])} gives {_json(made)}, expected {_json(expected)}"


def _hold_response(entry: Entry, pair: Mapping[str, Any]) -> None:
    expected = {key: value for key, value in pair.items() if key != "response"}
    made = outcome_of_response(entry, pair["response"])
    assert made == expected, f"{_json(pair['response'])} gives {_json(made)}, expected {_json(expected)}"


def _json(value: Any) -> str:
    return shorten_text(json.dumps(value, ensure_ascii=False, sort_keys=True), 500)


def _call_of_subprocess(entry: Entry, manifest: Manifest, arguments: Mapping[str, Any]) -> dict[str, Any]:
    from pegboard_manifest._options import side_by_side
    from pegboard_manifest.bindings.subprocess.words import compile_line, roots_of

    binding = entry["binding"]
    arguments = side_by_side(binding.get("options"), arguments)
    program = manifest.programs[binding["program"]]
    roots = roots_of(program, manifest.folder, entry.get("constraints", {}).get("allowed_paths"))
    line = compile_line(binding, program, roots)(arguments)
    return {"words": line.words} | ({} if line.stdin is None else {"stdin": line.stdin.decode("utf-8", "replace")})


def _call_of_http(entry: Entry, manifest: Manifest, arguments: Mapping[str, Any]) -> dict[str, Any]:
    from pegboard_manifest.bindings.http.request import request_of

    binding = entry["binding"]
    server = manifest.servers[binding["server"]]
    request = request_of(binding, server, arguments, schema=entry["input_schema"], defs=manifest.defs)
    return {"request": request.to_json()}


def _call_of_python(entry: Entry, manifest: Manifest, arguments: Mapping[str, Any]) -> dict[str, Any]:
    from pegboard_manifest.bindings.python import bind_without_function, spec_of

    args, kwargs = bind_without_function(spec_of(entry, manifest), arguments)
    folder = str(manifest.folder)
    return {
        "call": {
            "args": [repr(one).replace(folder, ".") for one in args],
            "kwargs": {key: repr(one).replace(folder, ".") for key, one in sorted(kwargs.items())},
        }
    }


def _data_of_program(binding: Mapping[str, Any], response: Mapping[str, Any]) -> Any:
    from pegboard_manifest.bindings.subprocess.exits import error_of, is_success
    from pegboard_manifest.bindings.subprocess.output import answers_on_stderr, read_output

    if not is_success(binding, response["status"], response.get("stdout", ""), response.get("stderr", "")):
        raise error_of(binding, response["status"], response.get("stderr", ""))
    stdout, stderr = response["stdout"], response.get("stderr", "")
    return read_output(binding, (stderr if answers_on_stderr(binding, stdout, stderr) else stdout).encode())


def _data_of_answer(binding: Mapping[str, Any], response: Mapping[str, Any]) -> Any:
    from pegboard_manifest.bindings.http.answer import Reading, read_answer

    body = response.get("body", "").encode()
    reading = Reading(method=binding["method"])
    read = read_answer(binding, response["status"], response.get("headers", {}), body, reading)
    if isinstance(read, ToolError):
        raise read
    return getattr(read, "data", read)


def _data_of_function(binding: Mapping[str, Any], response: Mapping[str, Any]) -> Any:
    from pegboard_manifest.bindings._exceptions import compile_errors
    from pegboard_manifest.bindings._results import to_data

    if "exception" in response:
        kind = getattr(builtins, response["exception"])
        raise compile_errors(binding.get("exceptions", ()), binding["qualified_name"])(kind("raised"))
    data = to_data(response["value"])
    return data if isinstance(data, dict) else {"result": data}


def _responses(entry: Entry) -> Iterator[dict[str, Any]]:
    """Responses that show what a tool makes of them: its recorded outputs, as they may have come, and its errors."""
    binding = entry["binding"]
    for example in entry["examples"]:
        if "output" in example and (response := _WRITERS[binding["kind"]](binding, example["output"])) is not None:
            yield response
    for response, _ in _mapped(binding):
        yield response


def _write_program(binding: Mapping[str, Any], data: Any) -> dict[str, Any] | None:
    written = _AS_WRITTEN[binding["output"]["parser"]](data, binding["output"])
    return None if written is None else {"status": binding.get("success", [0])[0], "stdout": written, "stderr": ""}


def _write_text(data: Any, _: Mapping[str, Any]) -> str | None:
    return data["result"] if data.keys() == {"result"} and isinstance(data["result"], str) else None


def _write_lines(data: Any, _: Mapping[str, Any]) -> str | None:
    values = data.get("result")
    return "".join(json.dumps(one) + "\n" for one in values) if isinstance(values, list) else None


def _write_table(data: Any, output: Mapping[str, Any]) -> str | None:
    import csv
    import io

    rows = data.get("result")
    if not isinstance(rows, list) or not all(isinstance(row, dict) and row.keys() == rows[0].keys() for row in rows):
        return None
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=output.get("delimiter", ","), lineterminator="\n")
    writer.writerows([*([rows[0].keys()] if rows else []), *(row.values() for row in rows)])
    return text.getvalue()


_AS_WRITTEN: Mapping[str, Callable[[Any, Mapping[str, Any]], str | None]] = {
    "json": lambda data, _: json.dumps(data),
    "jsonl": _write_lines,
    "csv": _write_table,
    "text": _write_text,
}


def _write_answer(binding: Mapping[str, Any], data: Any) -> dict[str, Any] | None:
    parser = binding.get("output", {}).get("parser", "auto")
    if parser == "text":
        text = _write_text(data, {})
        return None if text is None else {"status": 200, "headers": {"content-type": "text/plain"}, "body": text}
    if parser not in ("auto", "json"):
        return None
    return {"status": 200, "headers": {"content-type": "application/json"}, "body": json.dumps(data)}


def _write_value(binding: Mapping[str, Any], data: Any) -> dict[str, Any]:
    return {"value": data["result"] if isinstance(data, dict) and data.keys() == {"result"} else data}


_CALLS: dict[str, Callable[..., dict[str, Any]]] = {
    "subprocess": _call_of_subprocess,
    "http": _call_of_http,
    "python": _call_of_python,
}
_RESPONSES: dict[str, Callable[..., Any]] = {
    "subprocess": _data_of_program,
    "http": _data_of_answer,
    "python": _data_of_function,
}
_WRITERS: dict[str, Callable[..., dict[str, Any] | None]] = {
    "subprocess": _write_program,
    "http": _write_answer,
    "python": _write_value,
}
__all__ = [
    "GOLDEN_FOLDER",
    "Case",
    "contract_cases",
    "contract_tests",
    "golden_of",
    "outcome_of_call",
    "outcome_of_response",
]

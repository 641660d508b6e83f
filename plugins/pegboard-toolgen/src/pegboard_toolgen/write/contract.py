"""`tests/`: one fixed test program, and pairs that it holds the bindings against.

A golden file says of one tool what its examples become (words, a request, a Python call) and what a set of answers
becomes (data, or the code of an error). Both are computed by the pure halves of the bindings: nothing is started or
sent, and paths are judged in a folder that does not exist, so that no file of this machine has a say.
"""

from __future__ import annotations

import builtins
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from pegboard import ToolError
from pegboard_toolgen.write._json import bytes_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pegboard_toolgen.write.view import ToolView, View

FOLDER = "/pegboard-golden"
"""Where golden command lines are made: a folder that is nowhere."""
MAX_EXAMPLES = 5
MAX_ANSWER = 20_000
"""Longer recorded answers are left to the examples, in characters."""
_PROGRAM = files("pegboard_toolgen.write").joinpath("fixed", "contract.py").read_bytes()
_SAMPLES = {"json": '{"answer": 1}', "jsonl": '{"answer": 1}\n{"answer": 2}\n', "text": "done\n", "csv": "a,b\n1,2\n"}
_NEED_ARGUMENTS = (UnicodeError, ExceptionGroup)
_STATUSES = (400, 401, 403, 404, 408, 409, 410, 412, 422, 429, 500, 502, 503, 504)


def render(view: View) -> dict[str, bytes]:
    """The program, and one golden file a tool."""
    rendered = {"tests/test_tool_manifest.py": _PROGRAM}
    for tool in view.tools:
        rendered[f"tests/golden/{tool.name}.json"] = bytes_of(golden_of(tool, view.document))
    return rendered


def golden_of(tool: ToolView, document: Mapping[str, Any]) -> dict[str, Any]:
    """The pairs of one tool."""
    kind = tool.binding["kind"]
    requests, answers = _KINDS[kind]
    return {
        "tool": tool.name,
        "binding": kind,
        **({"folder": FOLDER} if kind == "subprocess" else {}),
        "requests": [
            {"input": given, **_outcome("request", partial(requests, tool, document), given)}
            for given in [example["input"] for example in tool.examples[:MAX_EXAMPLES]]
        ],
        "answers": list(answers(tool)),
    }


def _outcome(key: str, make: Callable[[Any], Any], given: Any) -> dict[str, Any]:
    try:
        return {key: make(given)}
    except ToolError as error:
        return {"error": str(error.code)}


def _recorded(tool: ToolView) -> list[dict[str, Any]]:
    outputs = [example.get("output") for example in tool.examples[:MAX_EXAMPLES]]
    return [output for output in outputs if isinstance(output, dict)]


def _command_line(tool: ToolView, document: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
    from pegboard_manifest.bindings.subprocess.words import compile_line, roots_of

    binding = tool.binding
    program = document["programs"][binding["program"]]
    roots = roots_of(program, FOLDER, tool.constraints.get("allowed_paths"))
    line = compile_line(binding, program, roots)(given)
    said: dict[str, Any] = {"words": list(line.words)}
    if line.stdin is not None:
        said["stdin"] = line.stdin.decode()
    return said


def _program_answers(tool: ToolView) -> Iterator[dict[str, Any]]:
    from pegboard_manifest.bindings.subprocess.exits import error_of
    from pegboard_manifest.bindings.subprocess.output import read_output

    binding = tool.binding
    for stdout in _stdouts(tool):
        yield {"answer": {"stdout": stdout}, **_outcome("data", partial(read_output, binding), stdout.encode())}
    success = set(binding.get("success", [0]))
    own = {row["status"] for row in binding.get("exits", ()) if "status" in row and "stderr" not in row}
    for status in sorted({1, 2, *own} - success):
        error = error_of(binding, status, "")
        yield {"answer": {"status": status, "stderr": ""}, "error": str(error.code)}


def _stdouts(tool: ToolView) -> list[str]:
    output = tool.binding["output"]
    parser, said = output["parser"], list[str]()
    for data in _recorded(tool):
        if parser == "json":
            said.append(text_of(data, indent=None))
        elif parser == "text" and isinstance(data.get("result"), str):
            said.append(data["result"])
    sample = _SAMPLES[parser]
    if parser == "csv":
        sample = sample.replace(",", output.get("delimiter", ","))
    return [text for text in said if len(text) <= MAX_ANSWER] or [sample]


def _http_request(tool: ToolView, document: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
    from pegboard_manifest.bindings.http.request import request_of

    binding = tool.binding
    server = document["servers"][binding["server"]]
    schema, defs = tool.entry["input_schema"], document.get("$defs", {})
    return request_of(binding, server, given, schema=schema, defs=defs).to_json()


def _http_answers(tool: ToolView) -> Iterator[dict[str, Any]]:
    from pegboard_manifest.bindings.http.answer import read_answer

    binding = tool.binding
    own = [int(status) for status in binding.get("statuses", {}) if not status.endswith("XX")]
    bodies = [text_of(data, indent=None) for data in _recorded(tool)]
    bodies = [body for body in bodies if len(body) <= MAX_ANSWER] or [_SAMPLES["json"]]
    answers: list[dict[str, Any]] = [
        {"status": 200, "headers": [["content-type", "application/json"]], "body": body} for body in bodies
    ]
    answers += [{"status": status, "headers": [], "body": ""} for status in sorted({*_STATUSES, *own})]
    for answer in answers:
        read = read_answer(binding, answer["status"], dict(answer["headers"]), answer["body"].encode())
        if isinstance(read, ToolError):
            yield {"answer": answer, "error": str(read.code)}
        elif isinstance(read, dict):
            yield {"answer": answer, "data": read}


def _python_call(tool: ToolView, document: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
    positional: list[Any] = []
    keyword: dict[str, Any] = {}
    for one in tool.binding["parameters"]:
        name = one["parameter"]
        if name not in given:
            continue
        match one["pass"]:
            case "positional":
                positional.append(given[name])
            case "spread":
                positional += given[name]
            case "spread_keyword":
                keyword |= given[name]
            case _:
                keyword[one.get("keyword", name)] = given[name]
    return {"calls": tool.binding["qualified_name"], "positional": positional, "keyword": keyword}


def _python_answers(tool: ToolView) -> Iterator[dict[str, Any]]:
    from pegboard_manifest.bindings._exceptions import compile_errors

    binding = tool.binding
    rules = binding.get("exceptions", ())
    error_of = compile_errors(rules, binding["qualified_name"])
    for name in sorted({"KeyError", "RuntimeError", "TypeError", "ValueError", *(rule["type"] for rule in rules)}):
        kind = getattr(builtins, name, None)
        if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, _NEED_ARGUMENTS):
            yield {"answer": {"raises": name}, "error": str(error_of(kind()).code)}


_KINDS: Mapping[str, tuple[Any, Any]] = {
    "subprocess": (_command_line, _program_answers),
    "http": (_http_request, _http_answers),
    "python": (_python_call, _python_answers),
}

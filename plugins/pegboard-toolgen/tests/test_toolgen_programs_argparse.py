"""argparse programs: their actions, dumped in a child before the program does anything, as bindings that work."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pegboard import ToolError
from pegboard_manifest.bindings.subprocess.words import words_of
from pegboard_toolgen.discover import argparse_actions, programs
from pegboard_toolgen.discover.programs import discover_program, discover_programs, programs_of
from pegboard_toolgen.drafts import DiscoveryError

SCRIPT = """
import argparse, json, pathlib, sys

def main():
    first = argparse.ArgumentParser(add_help=False)
    first.add_argument("--config")
    first.parse_known_args()
    p = argparse.ArgumentParser(prog="thing", description="Show %(prog)s.", epilog="More.")
    p.add_argument("name", help="Its name.")
    p.add_argument("number", type=int)
    p.add_argument("rest", nargs="*")
    p.add_argument("-l", "--long-one", dest="internal", default="d", help="Has %(default)s at 100%%.")
    p.add_argument("-q", type=int, choices=range(1, 5))
    p.add_argument("-s", metavar="TEXT")
    p.add_argument("--kind", choices=["x", "y"], required=True)
    p.add_argument("--many", nargs="+")
    p.add_argument("--two", nargs=2, action="append")
    p.add_argument("--each", action="append", type=float)
    p.add_argument("--on", action="store_true")
    p.add_argument("--off", action="store_false")
    p.add_argument("--const", action="store_const", const=7)
    p.add_argument("-v", action="count")
    p.add_argument("--color", action=argparse.BooleanOptionalAction)
    p.add_argument("--maybe", nargs="?", const="c")
    p.add_argument("--hidden", help=argparse.SUPPRESS)
    p.add_argument("--version", action="version", version="1")
    p.add_argument("--out", type=argparse.FileType("w"))
    p.add_argument("--place", type=pathlib.Path, help="Where to read from")
    p.add_argument("--jobs", type=int, default=64, help="Parallel jobs")
    p.add_argument("--command", help="Run this command after it")
    g = p.add_mutually_exclusive_group(required=True)
    g.add_argument("--this")
    g.add_argument("--that")
    print(json.dumps(vars(p.parse_args()), default=str, sort_keys=True))
"""
SUBS = """
import argparse
def main():
    p = argparse.ArgumentParser()
    p.add_argument("--base")
    subs = p.add_subparsers(dest="command", required=True)
    one = subs.add_parser("list-them", help="List them.", aliases=["ls"])
    one.add_argument("input_path", nargs="?", metavar="FILE", help="If omitted, reads piped data via STDIN.")
    two = subs.add_parser("wipe", help="Wipe it.")
    deep = two.add_subparsers().add_parser("all", description="Remove all.")
    deep.add_argument("--really", action="store_true")
    a = p.parse_args()
    import sys
    print(a.base, open(a.input_path).read() if a.input_path else sys.stdin.read())
"""
TAIL = "\nif __name__ == '__main__':\n    main()\n"


@pytest.fixture
def program(tmp_path):
    def make(code: str, name: str = "thing") -> Path:
        path = tmp_path / name
        path.write_text(f"#!/usr/bin/env {Path(sys.executable).name}\n{code}{TAIL}")
        path.chmod(0o755)
        return path

    return make


@pytest.fixture(autouse=True)
def _python_on_path(monkeypatch):
    import os

    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def run(tmp_path):
    def call(path: Path, found, name: str, stdin: str = "", /, **arguments: object):
        draft = next(one for one in found.drafts if one.id == name)
        words = words_of(draft.binding, found.programs[draft.binding["program"]], arguments, folder=tmp_path)
        return subprocess.run([path, *words[1:]], input=stdin, capture_output=True, text=True, cwd=tmp_path)

    return call


@pytest.fixture
def thing(program):
    path = program(SCRIPT)
    return path, discover_program(str(path))


def test_actions_become_schemas(thing):
    (draft,) = thing[1].drafts
    properties = draft.input_schema["properties"]
    assert draft.description == "Show thing.\n\nMore.\n\nExactly one of these may be given: this, that."
    assert draft.input_schema["required"] == ["name", "number", "kind"]
    assert properties["long_one"]["description"] == "Has d at 100%. Default: d."
    assert properties["q"] == {"type": "integer", "minimum": 1, "maximum": 4}
    assert properties["kind"] == {"type": "string", "enum": ["x", "y"]}
    assert properties["many"] == {"type": "array", "items": {"type": "string"}, "maxItems": 1000, "minItems": 1}
    assert properties["two"]["items"]["maxItems"] == properties["two"]["items"]["minItems"] == 2
    assert properties["each"]["items"] == {"type": "number"}
    assert {properties[name]["type"] for name in ("on", "off", "const", "color")} == {"boolean"}
    assert properties["v"]["type"] == "integer"
    assert not {"hidden", "version", "help", "command"} & set(properties)
    assert "64" not in json.dumps(properties["jobs"])


def test_what_excludes_each_other_is_in_the_schema_and_in_words(thing):
    (draft,) = thing[1].drafts
    assert draft.input_schema["not"] == {"required": ["this", "that"]}
    assert "Exactly one of these may be given: this, that." in draft.notes


def test_every_kind_of_argument_reaches_the_program_as_it_was_said(thing, run):
    finished = run(
        *thing, "program:thing", name="n", number=-5, rest=["a", "b"], long_one="-dash", q=2, s="-v", kind="x",
        many=["m", "n"], two=[["1", "2"], ["3", "4"]], each=[0.5, -2], on=True, off=True, const=True, v=2,
        color=False, maybe="z", this="t", place="here",
    )  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    assert json.loads(finished.stdout) == {
        "name": "n", "number": -5, "rest": ["a", "b"], "internal": "-dash", "q": 2, "s": "-v", "kind": "x",
        "many": ["m", "n"], "two": [["1", "2"], ["3", "4"]], "each": [0.5, -2.0], "on": True, "off": False,
        "const": 7, "v": 2, "color": False, "maybe": "z", "this": "t", "that": None, "place": "here", "hidden": None,
        "jobs": 64, "out": None, "command": None,
    }  # fmt: skip


@pytest.mark.parametrize(("value", "expected"), [("z", "z"), (True, "c"), (False, None)])
def test_an_option_whose_value_may_be_left_out_takes_true(thing, run, value, expected):
    finished = run(*thing, "program:thing", name="n", number=1, kind="x", this="t", maybe=value)
    assert json.loads(finished.stdout)["maybe"] == expected


INPUTS = """
import argparse, sys
def main():
    p = argparse.ArgumentParser()
    subs = p.add_subparsers(dest="command", required=True)
    many = subs.add_parser("many", description="Show files.")
    many.add_argument("filename", nargs="+", help='file(s) to show (use "-" for stdin)')
    one = subs.add_parser("one", description="Show FILE, or standard input if it is -.")
    one.add_argument("file")
    dash = subs.add_parser("dash", description="Check files.")
    either = dash.add_mutually_exclusive_group(required=True)
    either.add_argument("files", metavar="FILE_OR_DIR", nargs="*", default=())
    either.add_argument("-", action="store_true", dest="stdin", help="read from standard input")
    alone = subs.add_parser("scan-stdin", help="scan the standard input")
    alone.add_argument("--deep", action="store_true")
    a = p.parse_args()
    if getattr(a, "stdin", False):
        assert not a.files, a.files
    names = getattr(a, "filename", None) or [getattr(a, "file", "-")]
    print([sys.stdin.read() if name == "-" else open(name).read() for name in names])
"""


@pytest.mark.parametrize("word", ["many", "one", "dash", "scan-stdin"])
def test_what_is_read_from_standard_input_can_be_given_however_the_program_wants_it(program, run, word):
    path = program(INPUTS)
    found = discover_program(str(path))
    assert run(path, found, f"program:thing {word}", "piped", input_text="piped").stdout == "['piped']\n"
    draft = next(one for one in found.drafts if one.id.endswith(word))
    assert "required" not in draft.input_schema


def test_paths_by_type_carry_their_access(thing):
    (draft,) = thing[1].drafts
    values = {one["parameter"]: one.get("value") for one in draft.binding["arguments"] if "parameter" in one}
    assert values["place"] == {"format": "path", "access": "read"}
    assert "out" not in values
    assert any("--out" in note and "the tool reads" in note for note in draft.notes)


def test_subparsers_are_commands_and_aliases_are_not(program, run):
    path = program(SUBS)
    found = discover_program(str(path))
    assert [one.id for one in found.drafts] == ["program:thing list-them", "program:thing wipe all"]
    assert [one.category for one in found.drafts] == ["read", "write"]
    assert run(path, found, "program:thing list-them", "piped", base="b", input_text="piped").stdout == "b piped\n"


def test_an_input_file_that_may_be_left_out_gets_its_text_as_a_parameter(program, run):
    path = program(SUBS)
    found = discover_program(str(path))
    (path.parent / "rows").write_text("file")
    draft = found.drafts[0]
    assert draft.binding["stdin"] == {"parameter": "input_text", "format": "text"}
    assert run(path, found, draft.id, input_path="rows").stdout == "None file\n"


OUTPUT = """
import argparse, sys
def main():
    p = argparse.ArgumentParser(description="Convert the rows.")
    p.add_argument("rows")
    p.add_argument("--out", type=argparse.FileType("w"))
    p.add_argument("--report", metavar="FILE", help="Write the report to FILE, or - for standard output.")
    p.add_argument("--log", metavar="FILE", help="Write the log to FILE - stdout has the rows.")
    p.parse_args().out.write("rows")
"""


def test_a_dash_for_an_output_file_is_standard_output(program, run):
    path = program(OUTPUT)
    (draft,) = (found := discover_program(str(path))).drafts
    values = {entry["parameter"]: entry.get("value") for entry in draft.binding["arguments"] if "parameter" in entry}
    assert {name for name, value in values.items() if value and value.get("stdout")} == {"out", "report"}
    assert "standard output" in draft.input_schema["properties"]["out"]["description"]
    assert run(path, found, draft.id, rows="x", out="-").stdout == "rows"
    with pytest.raises(ToolError, match="log: expected a path"):
        run(path, found, draft.id, rows="x", log="-")


def test_an_option_of_many_words_takes_one_where_a_command_follows(program, run):
    path = program(SUBS.replace('"--base"', '"--base", nargs="+"'))
    found = discover_program(str(path))
    assert found.drafts[0].input_schema["properties"]["base"] == {"type": "string"}
    assert run(path, found, found.drafts[0].id, "x", base="one").stdout == "['one'] x\n"


def test_a_program_that_reads_arguments_from_files_takes_no_word_that_names_one(program):
    path = program(
        "import argparse\ndef main():\n"
        "    p = argparse.ArgumentParser(fromfile_prefix_chars='@')\n    p.add_argument('x')\n    p.parse_args()\n"
    )
    schema = discover_program(str(path)).drafts[0].input_schema["properties"]["x"]
    assert schema["pattern"] == "^[^@-]"


def test_a_remainder_gets_no_terminator_and_no_dashes(program, tmp_path):
    path = program(
        "import argparse\ndef main():\n"
        "    p = argparse.ArgumentParser()\n    p.add_argument('x', nargs=argparse.REMAINDER)\n    p.parse_args()\n"
    )
    found = discover_program(str(path))
    binding = found.drafts[0].binding
    assert {"kind": "terminator"} not in binding["arguments"]
    with pytest.raises(ToolError):
        words_of(binding, found.programs["thing"], {"x": ["--help"]}, folder=tmp_path)


def test_a_module_is_found_by_the_interpreter_and_its_words():
    found = discover_program(sys.executable, arguments=("-m", "json.tool"))
    assert found.drafts[0].id == "program:json.tool"
    assert found.programs["json.tool"]["argv0"][1:] == ["-m", "json.tool"]
    assert found.drafts[0].runs_code is None


def test_several_programs_are_one_project_and_a_missing_one_costs_itself(program):
    one, two = program(SUBS, "one"), program(SCRIPT, "two")
    found = discover_programs([str(two), str(one), "no-such-program-here"])
    assert [draft.id for draft in found.drafts] == ["program:one list-them", "program:one wipe all", "program:two"]
    assert sorted(found.programs) == ["one", "two"]
    assert [left.id for left in found.left_out] == ["program:no-such-program-here"]
    with pytest.raises(DiscoveryError, match="none of the programs"):
        discover_programs(["no-such-program-here"])


def test_the_programs_of_a_distribution_are_named_by_its_metadata():
    assert "pytest" in programs_of("pytest")
    with pytest.raises(DiscoveryError, match="not installed"):
        programs_of("no-such-distribution-here")


def test_an_installed_program_is_found_by_its_metadata():
    name = str(Path(sys.executable).with_name("pytest"))
    if not Path(name).exists():
        pytest.skip("pytest has no script beside this Python")
    found = discover_program(name)
    assert (found.name, found.source["kind"] in ("argparse", "help")) == ("pytest", True)


def test_an_interpreter_runs_code():
    try:
        found = discover_program(sys.executable)
    except DiscoveryError:
        pytest.skip("this Python gives no help")
    assert all(draft.runs_code for draft in found.drafts)


def test_a_shell_script_that_is_python_names_its_interpreter_in_its_second_line(tmp_path):
    script = tmp_path / "thing"
    script.write_text(f"#!/bin/sh\n'''exec' \"{sys.executable}\" \"$0\" \"$@\"\n' '''\n{SUBS}{TAIL}")
    assert programs._interpreter(script) == sys.executable


@pytest.mark.parametrize("depth", [10, 300, 900, 2_000])
def test_an_answer_that_nests_deeply_gives_a_look_or_a_reason(depth):
    look, why = programs.read_answer(b'{"kind": "argparse", "tree": ' + b"[" * depth + b"]" * depth + b"}", "p", None)
    assert look is not None or why


@pytest.mark.parametrize(
    "answer", [b"", b"[]", b"3", b'{"kind": "click", "tree": ' + b"[" * 5_000 + b"]" * 5_000 + b"}", b"\xff\xfe"]
)
def test_an_answer_that_is_none_gives_a_reason(answer):
    look, why = programs.read_answer(answer, "p", None)
    assert look is None or not [one for one in look.commands if not hasattr(one, "why")]
    assert look is not None or why


def test_a_parser_in_itself_ends():
    tree: dict = {"actions": []}
    tree["actions"].append({"action": "_SubParsersAction", "parsers": {"a": tree}})
    found = list(argparse_actions.commands_of(tree, "p"))
    assert any("cannot be read" in getattr(one, "why", "") for one in found)

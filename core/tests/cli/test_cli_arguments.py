"""Arguments as a person writes them, and what a shell completes them to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from pegboard.cli._arguments import completions, read_arguments

ONE = {"type": "object", "properties": {"expression": {"type": "string"}, "digits": {"type": "integer"}},
       "required": ["expression"]}  # fmt: skip
TWO = {**ONE, "required": ["expression", "digits"]}
OPTIONAL = {"type": "object", "properties": {"seconds": {"type": "number"}}}
NOTHING = {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("schema", "texts", "known", "expected"),
    [
        (ONE, ["2+2"], {}, {"expression": "2+2"}),
        (ONE, ["2 >= 1"], {}, {"expression": "2 >= 1"}),
        (ONE, ["2==1"], {}, {"expression": "2==1"}),
        (ONE, ["https://example.org/a?b=c"], {}, {"expression": "https://example.org/a?b=c"}),
        (ONE, [""], {}, {"expression": ""}),
        (ONE, ["expression=a=1"], {}, {"expression": "a=1"}),
        (ONE, ["a=1"], {}, {"a": "1"}),  # a word before it is a KEY, also one that the tool does not have
        (ONE, ["2+2"], {"digits": 3}, {"expression": "2+2", "digits": 3}),
        (ONE, ["digits=3"], {"expression": "1"}, {"expression": "1", "digits": 3}),
        (TWO, ["2+2"], {"digits": 3}, {"expression": "2+2", "digits": 3}),
        (OPTIONAL, ["2.5"], {}, {"seconds": 2.5}),
        ({"properties": {"a b": {"type": "integer"}}}, ["a b=1"], {}, {"a b": 1}),
        (ONE, ['{"other": "1"}'], {}, {"expression": '{"other": "1"}'}),
        (ONE, ["{}"], {}, {"expression": "{}"}),
        (ONE, ["{expression"], {}, {"expression": "{expression"}),
        ({}, ["2+2"], {}, {}),  # the tool is not there, and the call says so
    ],
)
def test_a_value_alone_is_that_of_the_one_parameter(schema: Any, texts: Any, known: Any, expected: Any) -> None:
    assert read_arguments(texts, schema, known) == expected


@pytest.mark.parametrize(
    ("schema", "texts", "said"),
    [
        (TWO, ["2+2"], "KEY is one of expression, digits"),
        (NOTHING, ["2+2"], "'2+2' is not an argument: the tool takes none"),
        (ONE, ["2+2", "digits=3"], "'2+2' is not an argument; write KEY=VALUE or KEY:=JSON"),
        (ONE, ["=1"], "'=1' is not an argument"),
        (TWO, ["2+2", "3"], "'2+2' is not an argument; write KEY=VALUE or KEY:=JSON, where KEY is one of "),
        (NOTHING, ["a", "b"], "'a' is not an argument: the tool takes none"),
        (ONE, ['{"expression": "1"}'], """'{"expression": "1"}' is an object of all arguments; write --args '{"""),
    ],
)
def test_a_value_that_belongs_to_no_parameter_is_wrong_usage(schema: Any, texts: Any, said: str) -> None:
    with pytest.raises(click.UsageError, match=said.replace("+", "[+]")):
        read_arguments(texts, schema, {})


def test_the_program_takes_a_value_alone(run, tools):
    assert run("call", "echo", "hello").out == "hello\n"
    assert run("call", "fail", "hello").status == 2
    assert run("call", "add_async", "1").err.startswith("error: '1' is not an argument; write KEY=VALUE")
    assert "NOT_FOUND" in run("call", "ecko", "hello").err


CHOICE = {
    "type": "object",
    "properties": {
        "status": {"enum": ["all", "pending", "completed"]},
        "loud": {"type": "boolean"},
        "unit": {"anyOf": [{"const": "km"}, {"type": "null"}]},
        "out_path": {"type": "string"},
    },
    "required": ["status"],
}


@pytest.mark.parametrize(
    ("before", "incomplete", "expected"),
    [
        ([], "", ["status=", "loud=", "unit=", "out_path="]),
        ([], "l", ["loud="]),
        (["status=all"], "", ["loud=", "unit=", "out_path="]),
        ([], "status=", ["status=all", "status=pending", "status=completed"]),
        ([], "status=p", ["status=pending"]),
        (["status", "="], "p", ["pending"]),  # as bash cuts it
        (["status"], "", ["all", "pending", "completed"]),
        (["status", "=", "all"], "", ["loud=", "unit=", "out_path="]),
        ([], "loud=", ["loud=true", "loud=false"]),
        ([], "unit=", ["unit=km"]),
        ([], "nope=", []),
        (["="], "x", []),
    ],
)
def test_words_are_completed_to_parameters_and_values(before: Any, incomplete: str, expected: Any) -> None:
    assert completions(CHOICE, before, incomplete) == expected


def test_paths_are_completed() -> None:
    Path("notes").mkdir()
    Path("notes/a.txt").touch()
    Path(".hidden").touch()
    assert completions(CHOICE, [], "out_path=") == ["out_path=notes/"]
    assert completions(CHOICE, [], "out_path=notes/") == ["out_path=notes/a.txt"]
    assert completions(CHOICE, ["out_path", "="], "no") == ["notes/"]
    assert completions(CHOICE, [], "out_path=.h") == ["out_path=.hidden"]
    assert completions(CHOICE, [], "out_path=no/such/") == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("pegboard --plugin kit call ec", {"echo"}),
        ("pegboard --plugin kit call echo ", {"value=", "times=", "loud="}),
        ("pegboard --plugin kit call echo loud=", {"true", "false"}),
        ("pegboard --plugin kit call echo value=x lo", {"loud="}),
    ],
)
def test_bash_completes_the_arguments_of_a_call(tools, tmp_path, line, expected) -> None:
    cut = line.replace("=", " = ").split(" ") if "=" in line else line.split(" ")
    words = [word for word in cut[:-1] if word] + [cut[-1]]
    if line.endswith("="):
        words = [*words[:-1]]
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path / "site"),
        "_PEGBOARD_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    done = subprocess.run([sys.executable, "-m", "pegboard"], env=environment, capture_output=True, text=True)
    assert {one.partition(",")[2] for one in done.stdout.split()} == expected, done.stderr


def test_the_script_for_bash_appends_no_space_where_a_word_goes_on(start) -> None:
    child = start(env={"_PEGBOARD_COMPLETE": "bash_source"})
    out, _ = child.communicate(timeout=30)
    assert b"compopt -o nospace" in out
    assert subprocess.run(["bash", "-n"], input=out, capture_output=True).returncode == 0

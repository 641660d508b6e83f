from __future__ import annotations

import argparse
import contextlib
import getopt
import io
import json
from typing import Any

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ErrorCode, ToolError
from pegboard_manifest.bindings.subprocess.words import MAX_LINE, compile_line, roots_of, words_of

PROGRAM = {"argv0": ["tool"]}


def binding(*arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"kind": "subprocess", "program": "p", "arguments": list(arguments), "output": {"parser": "text"}, **more}


def option(style: str, parameter: str = "x", flag: str = "--x", **more: Any) -> dict[str, Any]:
    return {"kind": "option", "parameter": parameter, "flag": flag, "style": style, **more}


def positional(parameter: str = "x", **more: Any) -> dict[str, Any]:
    return {"kind": "positional", "parameter": parameter, **more}


TERMINATOR = {"kind": "terminator"}
PATH = positional(value={"format": "path"})
NAMED_FILE = option("separate", nargs=2, values=[{}, {"format": "path", "access": "read"}])


def words(entry: dict[str, Any], **arguments: Any) -> list[str]:
    return words_of(binding(entry), PROGRAM, arguments)[1:]


def faults(call: Any) -> list[dict[str, Any]]:
    with pytest.raises(ToolError) as refusal:
        call()
    assert refusal.value.code is ErrorCode.INVALID_INPUT
    found: list[dict[str, Any]] = refusal.value.details["faults"]
    for fault in found:
        assert fault["path"] in refusal.value.message
    return found


@pytest.mark.parametrize(
    ("entry", "value", "expected"),
    [
        (option("equals"), "a b", ["--x=a b"]),
        (option("equals", bare=True), "a", ["--x=a"]),
        (option("equals", bare=True), True, ["--x"]),
        (option("equals", bare=True), False, []),
        (option("joined", flag="-x", bare=True), True, ["-x"]),
        (option("equals"), "-rf", ["--x=-rf"]),
        (option("equals"), "@file", ["--x=@file"]),
        (option("equals"), "", ["--x="]),
        (option("equals"), -5, ["--x=-5"]),
        (option("equals"), 2.0, ["--x=2"]),
        (option("equals"), 0.1, ["--x=0.1"]),
        (option("equals"), 1e300, ["--x=1e+300"]),
        (option("equals"), True, ["--x=true"]),
        (option("equals"), None, []),
        (option("equals", value={"format": "json"}), {"a": [1, None]}, ['--x={"a":[1,null]}']),
        (option("equals", value={"format": "json"}), None, ["--x=null"]),
        (option("joined", flag="-x"), "-5", ["-x-5"]),
        (option("separate"), "a", ["--x", "a"]),
        (option("separate"), ["a", "b"], ["--x", "a", "b"]),
        (option("separate"), [], []),
        (option("separate", nargs=2), ["a", 1], ["--x", "a", "1"]),
        (NAMED_FILE, ["../name", "a.json"], ["--x", "../name", "a.json"]),
        (option("separate", value={"format": "json"}), [1], ["--x", "[1]"]),
        (option("flag"), True, ["--x"]),
        (option("flag"), False, []),
        (option("negatable", off_flag="--no-x"), False, ["--no-x"]),
        (option("negatable", off_flag="--no-x"), True, ["--x"]),
        (option("negatable"), False, []),
        (option("count", flag="-v"), 3, ["-v", "-v", "-v"]),
        (option("count", flag="-v"), 2.0, ["-v", "-v"]),
        (option("count", flag="-v"), 0, []),
        (option("repeat"), ["a", "-b"], ["--x=a", "--x=-b"]),
        (option("repeat"), "a", ["--x=a"]),
        (option("repeat", item_style="joined", flag="-x"), ["a", "b"], ["-xa", "-xb"]),
        (option("repeat", item_style="separate"), ["a", "b"], ["--x", "a", "--x", "b"]),
        (option("repeat", item_style="separate", nargs=2), [["a", "b"]], ["--x", "a", "b"]),
        (positional(), "a", ["a"]),
        (positional(), "", [""]),
        (positional(spread=True), ["a", "b"], ["a", "b"]),
        (positional(spread=True), [], []),
        (positional(), None, []),
        (PATH, "data/x", ["data/x"]),
        (PATH, "./data/x", ["data/x"]),
        (PATH, "x.txt", ["x.txt"]),
        (PATH, ".hidden", [".hidden"]),
        (PATH, "data", ["./data"]),
        (PATH, "a:b/x.txt", ["./a:b/x.txt"]),
        (PATH, "a=b.txt", ["./a=b.txt"]),
        (PATH, "+x.txt", ["./+x.txt"]),
        (PATH, "~x.txt", ["./~x.txt"]),
        (option("equals", value={"format": "path"}), "none", ["--x=./none"]),
        (option("equals", value={"format": "path"}), "none.txt", ["--x=none.txt"]),
        (PATH, "@x", ["./@x"]),
        ({"kind": "literal", "value": "insert"}, None, ["insert"]),
        (TERMINATOR, None, []),
    ],
)
def test_a_value_becomes_words_as_its_style_says(entry: dict[str, Any], value: Any, expected: list[str]) -> None:
    assert words(entry, x=value) == expected


@pytest.mark.parametrize(
    ("entry", "value", "expected"),
    [
        (positional(), "--help", "a value without a leading dash"),
        (positional(), "-x", "a value without a leading dash"),
        (positional(), -5, "a value without a leading dash"),
        (positional(value={"format": "json"}), -5, "a value without a leading dash"),
        (positional(), "@/etc/passwd", "a value without a leading @"),
        (positional(guard="none"), "-x", "a value without a leading dash"),
        (positional(), "a\x00b", "a text without the control character U+0000"),
        (positional(), "a\x1b[0m", "a text without the control character U+001B"),
        (positional(), "\ud800", "a text without half a surrogate pair"),
        (positional(), "x" * 131_072, "at most 131,071 bytes"),
        (positional(), "é" * 70_000, "at most 131,071 bytes"),
        (positional(), {"a": 1}, "a text, a number or a boolean"),
        (positional(), float("nan"), "a text, a number or a boolean"),
        pytest.param(positional(), 10**5_000, "a text, a number or a boolean", id="digits"),
        (positional(value={"format": "json"}), float("nan"), "a JSON value"),
        (positional(spread=True), "a", "an array"),
        (option("separate"), "--y", "a value without a leading dash"),
        (option("separate"), ["a", "-y"], "a value without a leading dash"),
        (NAMED_FILE, ["../b", "../a"], "a path inside the allowed folders, not a part that is '..'"),
        (NAMED_FILE, ["a"], "an array of 2 items"),
        (option("separate", nargs=2), ["a"], "an array of 2 items"),
        (option("separate", nargs=2), "ab", "an array of 2 items"),
        (option("joined", flag="-x"), "", "a text that is not empty and does not begin with '='"),
        (option("joined", flag="-x"), "=a", "a text that is not empty and does not begin with '='"),
        (option("equals"), ["a"], "a text, a number or a boolean"),
        (option("equals"), "--", "a value other than '--'"),
        (option("flag"), "yes", "true or false"),
        (option("negatable", off_flag="--no-x"), 1, "true or false"),
        (option("count"), -1, "an integer from 0 to 100"),
        (option("count"), 101, "an integer from 0 to 100"),
        (option("count"), "3", "an integer from 0 to 100"),
        (PATH, "../x", "a path inside the allowed folders, not a part that is '..'"),
        (PATH, "-x", "a path inside the allowed folders, not a leading dash; put ./ before it"),
        (PATH, "https://x/y", "a path inside the allowed folders, not a URL"),
        (PATH, "/etc/passwd", "a path inside the folders that this tool may use"),
        (PATH, "tool.manifest.json", "a path that is not a configuration of the board"),
        (PATH, 5, "a path"),
        (PATH, "a\nb", "a path inside the allowed folders, not the control character U+000A"),
    ],
)  # fmt: skip
def test_what_no_word_can_say_is_refused_with_its_repair(entry: dict[str, Any], value: Any, expected: str) -> None:
    (fault,) = faults(lambda: words(entry, x=value))

    assert fault["expected"] == expected
    assert fault["path"].startswith("x")
    assert len(fault["got"]) <= 80


def test_every_fault_is_said_at_once_with_its_place() -> None:
    both = binding(option("equals", "a", "--a"), positional("b", spread=True), option("flag", "c", "--c"))

    found = faults(lambda: words_of(both, PROGRAM, {"a": {}, "b": ["ok", "-x"], "c": 1}))

    assert [fault["path"] for fault in found] == ["a", "b[1]", "c"]
    many = binding(*(option("flag", f"p{n}", f"--p{n}") for n in range(20)))
    with pytest.raises(ToolError, match=r"; \.\.\.$") as refusal:
        words_of(many, PROGRAM, {f"p{n}": "no" for n in range(20)})
    assert len(refusal.value.details["faults"]) == 20


OUT = {"format": "path", "access": "write", "stdout": True}


@pytest.mark.parametrize(
    ("entry", "value", "said"),
    [
        (positional(value=OUT), "-", ["-"]),
        (positional(value=OUT, spread=True), ["-", "a.txt"], ["-", "a.txt"]),
        (option("equals", value=OUT), "-", ["--x=-"]),
        (option("separate", value=OUT), "-", ["--x", "-"]),
        (option("separate", value=OUT, nargs=2), ["-", "a.txt"], ["--x", "-", "a.txt"]),
        (option("repeat", value=OUT, item_style="separate"), ["-"], ["--x", "-"]),
    ],
)
def test_a_dash_is_standard_output_where_the_program_means_that(entry: Any, value: Any, said: list[str]) -> None:
    assert words(entry, x=value) == said
    for other in ("-x", "--", "-/x"):
        with pytest.raises(ToolError):
            words(entry, x=[other, "a"] if isinstance(value, list) else other)
    plain = {**entry, "value": {"format": "path"}}
    with pytest.raises(ToolError):
        words(plain, x=value)


def test_behind_a_terminator_without_a_guard_a_dash_is_text() -> None:
    entry = binding(TERMINATOR, positional(guard="none"))

    assert words_of(entry, PROGRAM, {"x": "-rf"}) == ["tool", "--", "-rf"]
    assert words_of(entry, PROGRAM, {"x": "@octokit/openapi"}) == ["tool", "--", "@octokit/openapi"]
    assert faults(lambda: words_of(entry, PROGRAM, {"x": "--"}))[0]["expected"] == "a value other than '--'"


def test_a_positional_that_is_left_out_is_not_filled_from_the_next() -> None:
    entry = binding(positional("a"), positional("b"), positional("c", spread=True))

    assert words_of(entry, PROGRAM, {"a": "1", "b": "2", "c": []}) == ["tool", "1", "2"]
    assert words_of(entry, PROGRAM, {}) == ["tool"]
    (fault,) = faults(lambda: words_of(entry, PROGRAM, {"b": "2"}))
    assert fault["path"] == "a"
    assert "'b' behind it" in fault["expected"]
    assert [f["path"] for f in faults(lambda: words_of(entry, PROGRAM, {"a": "1", "c": ["3"]}))] == ["b"]


def test_a_joined_value_spells_no_other_option() -> None:
    entry = binding(option("joined", flag="-n"), option("equals", "name", "-name"))

    assert words_of(entry, PROGRAM, {"x": "5"}) == ["tool", "-n5"]
    for value in ("ame", "ame=x", "am", "amely"):
        assert faults(lambda value=value: words_of(entry, PROGRAM, {"x": value}))[0]["path"] == "x"


def test_a_word_stands_in_for_a_file_where_standard_input_is_given() -> None:
    dash = {"kind": "literal", "value": "-", "when": "text"}
    entry = binding(positional("db"), positional("file"), dash, positional("last"), stdin={"parameter": "text"})

    def line(**arguments: Any) -> list[str]:
        return words_of(entry, PROGRAM, {"db": "a", **arguments})[1:]

    assert line(file="f") == ["a", "f"]
    assert line(text="[]") == ["a", "-"]
    assert line(text="", last="z") == ["a", "-", "z"]
    assert line() == ["a"]
    assert [one["path"] for one in faults(lambda: line(last="z"))] == ["file"]


def test_too_many_words_are_refused_before_anything_is_started() -> None:
    entry = binding(positional(spread=True))

    for items in (["x" * 100_000] * 11, [""] * (MAX_LINE // 8), ["é" * 50_000] * 11):
        with pytest.raises(ToolError, match="too long for one command line") as refusal:
            words_of(entry, PROGRAM, {"x": items})
        assert refusal.value.code is ErrorCode.INVALID_INPUT
    assert len(words_of(entry, PROGRAM, {"x": ["y" * 30_000] * 10})) == 11


def test_a_path_is_relative_to_the_working_directory_and_narrowed_by_the_tool(tmp_path) -> None:
    (tmp_path / "work" / "a").mkdir(parents=True)
    (tmp_path / "work" / "in").symlink_to("a")
    program = {"argv0": ["tool"], "cwd": "work", "allowed_paths": ["a", "b"]}
    entry = binding(positional(value={"format": "path"}))

    assert words_of(entry, program, {"x": "in/f"}, folder=tmp_path) == ["tool", "a/f"]
    assert words_of(entry, program, {"x": "b/f"}, folder=tmp_path) == ["tool", "b/f"]
    assert faults(lambda: words_of(entry, program, {"x": "b/f"}, folder=tmp_path, allowed_paths=["a"]))
    assert faults(lambda: words_of(entry, program, {"x": "c"}, folder=tmp_path))
    line = compile_line(entry, program, roots_of(program, tmp_path))({"x": "in/f"})
    assert line.named == {"a/f": "in/f"}


def test_a_single_word_is_a_path_where_no_command_of_the_program_could_stand() -> None:
    for before in (TERMINATOR, {"kind": "literal", "value": "show"}):
        assert words_of({**binding(PATH), "arguments": [before, PATH]}, PROGRAM, {"x": "data"})[-1] == "data"


def test_a_tool_that_only_reads_may_read_what_it_may_not_write() -> None:
    entry = positional(value={"format": "path", "access": "read"})

    assert words(entry, x="tool.manifest.json") == ["tool.manifest.json"]


@pytest.mark.parametrize(
    ("format_", "value", "expected"),
    [
        ("text", "line\nline", b"line\nline"),
        ("text", 5, b"5"),
        ("text", None, None),
        ("json", {"é": None}, '{"é":null}'.encode()),
        ("json", None, b"null"),
    ],
)
def test_standard_input_is_the_parameter_or_nothing(format_: str, value: Any, expected: bytes | None) -> None:
    entry = binding(stdin={"parameter": "x", "format": format_})
    line_of = compile_line(entry, PROGRAM, roots_of(PROGRAM, "."))

    assert line_of({"x": value}).stdin == expected
    assert line_of({}).stdin is None
    assert compile_line(binding(), PROGRAM, roots_of(PROGRAM, "."))({"x": value}).stdin is None


@pytest.mark.parametrize("value", ["a\x00b", "\ud800", ["a"]])
def test_standard_input_takes_no_nul_and_no_half_characters(value: Any) -> None:
    assert faults(lambda: words_of(binding(stdin={"parameter": "x"}), PROGRAM, {"x": value}))[0]["path"] == "x"


# Round trips: real readers of command lines get back exactly what came, or nothing is started.

VALUES = (
    st.text(max_size=8)
    | st.text("-=@ab. /\\'\"$`;|&*?~!%\n\t", max_size=8)
    | st.sampled_from(
        ["--", "-", "--help", "-h", "--other=1", "-o1", "--flag", "--opt", "@args", "-1", "=x", "--pos", ""]
    )
)
NUMBERS = st.integers(-10, 10**20) | st.floats(allow_nan=False, allow_infinity=False)

EVERYTHING = binding(
    option("equals", "opt", "--opt"),
    option("joined", "short", "-s"),
    option("separate", "apart", "--apart"),
    option("separate", "pair", "--pair", nargs=2),
    option("repeat", "many", "--many"),
    option("repeat", "lots", "-l", item_style="joined"),
    option("repeat", "pairs", "--pairs", item_style="separate", nargs=2),
    option("flag", "flag", "--flag"),
    option("negatable", "color", "--color", off_flag="--no-color"),
    option("count", "loud", "-v"),
    option("equals", "data", "--data", value={"format": "json"}),
    TERMINATOR,
    positional("first", guard="none"),
    positional("rest", spread=True, guard="none"),
)
GUARDED = binding(option("equals", "opt", "--opt"), positional("first"), positional("rest", spread=True))

ARGUMENTS = st.fixed_dictionaries(
    {"first": VALUES},
    optional={
        "opt": VALUES,
        "short": VALUES,
        "apart": VALUES,
        "pair": st.lists(VALUES, min_size=2, max_size=2),
        "many": st.lists(VALUES, max_size=3),
        "lots": st.lists(VALUES, max_size=3),
        "pairs": st.lists(st.lists(VALUES, min_size=2, max_size=2), max_size=2),
        "flag": st.booleans(),
        "color": st.booleans(),
        "loud": st.integers(0, 5),
        "data": st.recursive(VALUES | NUMBERS | st.none(), lambda inner: st.lists(inner, max_size=2), max_leaves=4),
        "rest": st.lists(VALUES, max_size=3),
    },
)  # fmt: skip


def expected_of(arguments: dict[str, Any]) -> dict[str, Any]:
    defaults = {"opt": None, "short": None, "apart": None, "pair": None, "many": [], "lots": [], "pairs": []}
    defaults |= {"flag": False, "color": None, "loud": 0, "data": "missing", "rest": []}
    return {**defaults, **arguments}


def read_by_argparse(line: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(exit_on_error=False, fromfile_prefix_chars="@", add_help=True)
    for flag, more in {
        "--opt": {}, "--apart": {}, "--pair": {"nargs": 2}, "--data": {"default": '"missing"'},
        "--many": {"action": "append", "default": []}, "--pairs": {"nargs": 2, "action": "append", "default": []},
        "--flag": {"action": "store_true"}, "--other": {},
        "--color": {"action": argparse.BooleanOptionalAction},
    }.items():  # fmt: skip
        parser.add_argument(flag, **more)
    parser.add_argument("-s", dest="short")
    parser.add_argument("-o", dest="o")
    parser.add_argument("-l", dest="lots", action="append", default=[])
    parser.add_argument("-v", dest="loud", action="count", default=0)
    parser.add_argument("first")
    parser.add_argument("rest", nargs="*")
    found = vars(parser.parse_args(line))
    assert found.pop("other") is None
    assert found.pop("o") is None
    return {**found, "data": json.loads(found["data"])}


def read_by_click(line: list[str]) -> dict[str, Any]:
    @click.command()
    @click.option("--opt")
    @click.option("-s", "short")
    @click.option("--apart")
    @click.option("--pair", nargs=2)
    @click.option("--pairs", nargs=2, multiple=True)
    @click.option("--many", multiple=True)
    @click.option("-l", "lots", multiple=True)
    @click.option("--flag", is_flag=True)
    @click.option("--color/--no-color", default=None)
    @click.option("-v", "loud", count=True)
    @click.option("--data", default='"missing"')
    @click.option("--other")
    @click.option("-o", "o")
    @click.argument("first")
    @click.argument("rest", nargs=-1)
    def command(**found: Any) -> Any:
        return found

    found = command.main(line, standalone_mode=False)
    assert isinstance(found, dict), "an option such as --help was read out of a value"
    assert found.pop("other") is None
    assert found.pop("o") is None
    listed = {key: list(found[key]) for key in ("many", "lots", "rest")}
    pair = None if found["pair"] is None else list(found["pair"])
    pairs = [list(one) for one in found["pairs"]]
    return {**found, **listed, "pair": pair, "pairs": pairs, "data": json.loads(found["data"])}


def as_argparse_reads(line: list[str]) -> list[str]:
    """argparse opens every word that begins with @ where its author asked for that, behind a terminator too."""
    return line if not any(word.startswith("@") for word in line) else []


def words_or_refusal(entry: dict[str, Any], arguments: dict[str, Any]) -> list[str] | None:
    """The words behind the program's own; None where the arguments are INVALID_INPUT."""
    try:
        return words_of(entry, PROGRAM, arguments)[1:]
    except ToolError as problem:
        json.dumps(problem.to_json())
        if problem.code is not ErrorCode.INVALID_INPUT:
            raise
        return None


@given(ARGUMENTS)
@settings(max_examples=300)
def test_real_parsers_get_back_exactly_the_values_that_came(arguments: dict[str, Any]) -> None:
    line = words_or_refusal(EVERYTHING, arguments)
    if line is None:
        return

    assert read_by_click(line) == expected_of(arguments)
    if as_argparse_reads(line):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            assert read_by_argparse(line) == expected_of(arguments)


@given(st.fixed_dictionaries({"first": VALUES}, optional={"opt": VALUES, "rest": st.lists(VALUES, max_size=3)}))
@settings(max_examples=300)
def test_without_a_terminator_no_value_becomes_an_option_or_a_file_of_them(arguments: dict[str, Any]) -> None:
    line = words_or_refusal(GUARDED, arguments)
    if line is None:
        return

    assert read_by_click(line) == expected_of(arguments)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        assert read_by_argparse(line) == expected_of(arguments)
    options, others = getopt.gnu_getopt(line, "ho:v", ["opt=", "help", "other="])
    assert options == ([("--opt", arguments["opt"])] if "opt" in arguments else [])
    assert others == [arguments["first"], *arguments.get("rest", [])]


ANY_JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | VALUES,
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=3), values, max_size=3),
    max_leaves=8,
)
STYLES = st.sampled_from(["equals", "joined", "separate", "flag", "negatable", "count", "repeat"])
ENTRIES = st.lists(
    st.builds(
        lambda style, parameter, format_, item, nargs: {
            **option(style, parameter, f"--{parameter}", value={"format": format_}, item_style=item),
            **({"nargs": 2} if nargs else {}),
        },
        STYLES, st.sampled_from("abc"), st.sampled_from(["text", "path", "json"]),
        st.sampled_from(["equals", "joined", "separate"]), st.booleans(),
    )
    | st.builds(
        lambda parameter, format_, spread, guard: positional(
            parameter, value={"format": format_}, spread=spread, guard=guard
        ),
        st.sampled_from("abc"), st.sampled_from(["text", "path", "json"]),
        st.booleans(), st.sampled_from(["dash", "none"]),
    )
    | st.just(TERMINATOR),
    max_size=5,
)  # fmt: skip


@given(ENTRIES, st.dictionaries(st.sampled_from("abc"), ANY_JSON))
@settings(max_examples=400)
def test_any_arguments_give_words_that_a_system_takes_or_a_tool_error(
    entries: list[dict[str, Any]], arguments: dict[str, Any]
) -> None:
    entry = binding(*entries, stdin={"parameter": "a", "format": "json"})
    line = words_or_refusal(entry, arguments)
    if line is None:
        return

    assert all("\x00" not in word and len(word.encode()) <= 131_100 for word in line)
    before = line[: line.index("--")] if "--" in line else line
    assert all(word.startswith(("--a", "--b", "--c")) for word in before if word.startswith("-"))

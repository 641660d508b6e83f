"""What is guessed from the words of a command line, and what is never guessed."""

from __future__ import annotations

import pytest

from pegboard_toolgen.discover import _program_words as guess
from pegboard_toolgen.discover import argparse_actions, click_tree
from pegboard_toolgen.discover._program_drafts import draft_of, program_id, split
from pegboard_toolgen.discover._program_parts import Command, Level, Parameter, Program
from pegboard_toolgen.drafts import Draft, LeftOut

PROGRAM = Program(id="p", name="p", kind="click")


def drafted(*parameters: Parameter, word: str = "work", text: str = "Show it.", **named: object) -> Draft:
    found = draft_of(
        Command(levels=(Level(word=None), Level(word=word, parameters=parameters)), text=text, **named), PROGRAM
    )
    assert isinstance(found, Draft), found
    return found


@pytest.mark.parametrize(
    ("word", "summary", "category", "risk"),
    [
        ("rows", "Output all rows in the table", "read", "low"),
        ("search", "Execute a full-text search", "read", "low"),
        ("token", "Show the authentication token", "read", "high"),
        ("stat", "Print descriptive statistics", "analytics", "low"),
        ("query", "Execute SQL query and return the results as JSON", "write", "medium"),
        ("branch", "List, create, or delete branches", "write", "high"),
        ("version", "Read or update the version", "write", "medium"),
        ("drop-table", "Drop it", "write", "high"),
        ("list-and-purge", "Lists", "write", "high"),
        ("vacuum", "Run VACUUM", "admin", "medium"),
        ("frobnicate", "Frobnicates", None, None),
        ("frobnicate", "", None, None),
    ],
)
def test_the_stricter_word_decides(word, summary, category, risk):
    assert guess.judged((word,), summary)[:2] == (category, risk)


@pytest.mark.parametrize(
    ("word", "text", "runs"),
    [
        ("eval", "", True),
        ("shell", "Open it", True),
        ("convert", "Convert columns using Python code you supply.", True),
        ("convert", "Convert a file.", False),
        ("install", "Install packages from the index", True),
        ("install", "Put hooks in place", False),
        ("migrate", "Apply migrations.\n\nThis will find the migrations.py file in the folder.", True),
        ("add", "Add dependencies to the project", True),
        ("add", "Add a column", False),
        ("run", "Run a query", False),
        ("run", "Run a script", True),
        ("py", "Load a file into an interactive shell.", True),
    ],
)
def test_commands_that_run_code(word, text, runs):
    assert bool(guess.code_of_command(word, text)) is runs


@pytest.mark.parametrize("name", ["python", "python3.12", "bash", "node", "xargs", "ssh", "awk"])
def test_programs_that_run_code(name):
    assert guess.code_of_program(name)
    found = draft_of(Command(levels=(Level(word=None),)), Program(id="x", name=name, kind="help"))
    assert isinstance(found, Draft)
    assert found.runs_code


@pytest.mark.parametrize(
    ("flag", "text"),
    [
        ("--functions", ""),
        ("--load-extension", "Path to SQLite extension, with optional :entrypoint"),
        ("--hook", "Run this program after each file"),
        ("--convert", "Python code to convert each item"),
        ("--import", "Python modules to import"),
        ("--filter", "filter the archive through PROG"),
    ],
)
def test_options_that_take_code_are_dropped(flag, text):
    found = drafted(Parameter(name="x", flags=(flag,), text=text), Parameter(name="y", flags=("--y",)))
    assert set(found.input_schema["properties"]) == {"y"}
    assert any(flag in note for note in found.notes)


def test_a_required_option_that_takes_code_marks_the_command():
    assert drafted(Parameter(name="x", flags=("--code",), text="Python code to run", required=True)).runs_code


def test_a_program_that_runs_commands_and_takes_one_runs_code():
    def drafted(text, said=""):
        command = Parameter(name="command", metavar="command", words=None, required=True, text=said)
        return draft_of(Command(levels=(Level(word=None, parameters=(command,)),), text=text), PROGRAM)

    assert drafted("Run commands at the same time").runs_code == "it runs commands that the caller gives"
    assert drafted("Compare times", "The command to benchmark").runs_code == "it runs commands that the caller gives"
    assert drafted("Show pages about commands").runs_code is None
    assert drafted("Show help", "The command to explain").runs_code is None


def test_flags_that_wait_for_a_person_or_start_programs_are_dropped():
    found = drafted(*(Parameter(name=n, flags=(f"--{n}",), form="flag") for n in ("pdb", "textconv", "fine")))
    assert set(found.input_schema["properties"]) == {"fine"}


def test_json_is_read_where_the_help_says_so_and_other_forms_are_dropped():
    flags = (("--nl", "Output newline-delimited JSON"), ("--csv", "Output CSV"), ("--cols", "Detect JSON columns"))
    found = drafted(
        *(Parameter(name=flag, flags=(flag,), form="flag", text=text) for flag, text in flags),
        Parameter(name="fmt", flags=("--fmt",), text="Table format"),
        text="Return the rows as JSON.",
    )
    assert found.binding["output"] == {"parser": "json"}
    assert found.output_schema == {"type": "object"}
    assert set(found.input_schema["properties"]) == {"cols"}


def test_a_choice_of_forms_keeps_the_text():
    found = drafted(
        Parameter(name="f", flags=("--format",), schema={"type": "string", "enum": ["json", "text"]}),
        text="Print as JSON.",
    )
    assert found.binding["output"] == {"parser": "text"}


def test_a_tool_that_reads_loses_options_that_write_and_a_tool_with_a_written_word_its_category():
    option = Parameter(name="o", flags=("--output",), access="write")
    assert drafted(option).input_schema["properties"] == {}
    assert drafted(option).category == "read"
    found = drafted(Parameter(name="target", access="write", required=True))
    assert (found.category, found.risk, found.idempotency) == (None, None, None)


def test_an_address_of_a_database_and_a_value_that_may_be_a_file_are_high_risk():
    assert (
        drafted(Parameter(name="db", flags=("--db",), text="A connection string to connect to a database.")).risk
        == "high"
    )
    assert drafted(Parameter(name="q", flags=("--query",), text="QUERY may be a filename.")).risk == "high"


def test_a_filter_reads_unless_it_writes_files():
    source = Parameter(name="file", access="read", stdin="absent")
    writing = Parameter(name="w", flags=("--sheets",), text="The names of sheets to write to files")

    def root(*parameters: Parameter) -> Draft:
        command = Command(levels=(Level(word=None, parameters=parameters),), text="Convert a file into CSV.")
        found = draft_of(command, PROGRAM)
        assert isinstance(found, Draft)
        return found

    assert root(source).category == "read"
    assert root(source, writing).category == "write"


def test_what_cannot_be_said_is_left_out_with_its_reason():
    def left(*parameters: Parameter, word: str = "a") -> str:
        found = draft_of(Command(levels=(Level(word=None), Level(word=word, parameters=parameters))), PROGRAM)
        assert isinstance(found, LeftOut)
        return found.why

    assert "no name for a command" in left(word="--help")
    assert "more than" in left(*(Parameter(name=f"n{n}", flags=(f"--n{n}",)) for n in range(500)))
    assert "required" in left(Parameter(name="x", flags=("--x",), required=True, dropped="it cannot be judged"))


def test_flags_without_a_dash_are_dropped():
    assert (
        drafted(Parameter(name="x", flags=("/x",)), Parameter(name="+y", flags=("+y",))).input_schema["properties"]
        == {}
    )


def test_of_two_commands_of_one_path_the_first_stays():
    one = drafted()
    drafts, left = split([one, one])
    assert (drafts, len(left)) == ((one,), 1)


def test_names_of_parameters_are_made_of_what_they_are():
    found = drafted(
        Parameter(name="S", flags=("-S",), form="flag"), Parameter(name="s", flags=("-s",), form="flag"),
        Parameter(name="table"), Parameter(name="t", flags=("-t", "--table"), form="flag"),
        Parameter(name="x", flags=("--camelCase",), form="flag"), Parameter(name="1", flags=("-1",), form="flag"),
        Parameter(name="same"), Parameter(name="same"), Parameter(name="input_text"),
    )  # fmt: skip
    names = list(found.input_schema["properties"])
    assert names[:6] == ["upper_s", "s", "table", "table_option", "camel_case", "option_1"]
    assert len(set(names)) == 9
    assert "input_text" not in names


def test_ids_of_programs_fit_the_format():
    assert program_id("g++") == "g__"
    assert program_id("..") == "program"


def click_draft(info: dict, **node: object) -> list:
    return list(click_tree.commands_of({"params": [info], **node}, "p"))


@pytest.mark.parametrize(
    ("kind", "access", "stdin"),
    [
        ({"param_type": "Path", "writable": True}, "write", None),
        ({"param_type": "Path", "allow_dash": True}, "read", "word"),
        ({"param_type": "Path"}, "guess", None),
        ({"param_type": "File", "mode": "w"}, "write", None),
        ({"param_type": "File", "mode": "rb"}, "read", "word"),
        ({"param_type": "String"}, None, None),
    ],
)
def test_types_of_click_say_what_becomes_of_a_path(kind, access, stdin):
    (command,) = click_draft({"name": "x", "param_type_name": "argument", "required": True, "nargs": 1, "type": kind})
    (parameter,) = command.levels[0].parameters
    assert (parameter.access, parameter.stdin) == (access, stdin)


@pytest.mark.parametrize(
    ("name", "kind", "access", "stdout"),
    [
        ("x", {"param_type": "File", "mode": "w"}, "write", True),
        ("x", {"param_type": "Path", "writable": True, "allow_dash": True}, "write", True),
        ("output", {"param_type": "Path", "allow_dash": True}, "write", True),
        ("output_file", {"param_type": "Path"}, "write", False),
        ("x", {"param_type": "File"}, "read", False),
    ],
)
def test_types_of_click_say_where_a_dash_is_standard_output(name, kind, access, stdout):
    (command,) = click_draft({"name": name, "param_type_name": "argument", "required": True, "nargs": 1, "type": kind})
    (parameter,) = command.levels[0].parameters
    assert (parameter.access, parameter.stdout) == (access, stdout)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Write to FILE, or - for standard output.", True),
        ("Where to write; use '-' for stdout", True),
        ("Output file (- means stdout)", True),
        ("Output file; if -, write to stdout", True),
        ("Standard output is used if FILE is `-`.", True),
        ("A single dash writes to standard output.", True),
        ("Output file - stdout by default", False),
        ("Well-known file, default is stdout", False),
        ("- reads from standard input", False),
    ],
)
def test_a_help_says_whether_a_dash_is_standard_output(text, expected):
    assert guess.takes_stdout(text) is expected


def test_of_a_tuple_the_path_alone_is_judged():
    kind = {"param_type": "Tuple", "types": [{"param_type": "String"}, {"param_type": "Path"}]}
    (command,) = click_draft({"name": "x", "opts": ["--x"], "param_type_name": "option", "nargs": 2, "type": kind})
    (parameter,) = command.levels[0].parameters
    assert (parameter.access, parameter.paths) == ("guess", (False, True))
    (argument,) = draft_of(command, PROGRAM).binding["arguments"]
    assert argument["values"] == [{}, {"format": "path", "access": "write"}]


def test_what_click_says_of_a_command_is_noted():
    (group, command) = list(
        click_tree.commands_of(
            {
                "params": [], "chain": True, "help": "Top.",
                "commands": {"a": {"params": [], "ignore_unknown_options": True, "deprecated": "soon", "help": "A."}},
                "failed": {"b": "it raised X"},
            },
            "p",
        )
    )[::-1]  # fmt: skip
    assert isinstance(group, LeftOut)
    assert len(command.notes) == 3


def test_a_clamped_range_has_no_bounds_and_an_own_type_is_text():
    (command,) = click_draft(
        {"name": "x", "opts": ["--x"], "param_type_name": "option", "nargs": 1,
         "type": {"param_type": "IntRange", "min": 1, "clamp": True}}
    )  # fmt: skip
    assert command.levels[0].parameters[0].schema == {"type": "integer"}
    (command,) = click_draft(
        {"name": "x", "opts": ["--x"], "param_type_name": "option", "nargs": 1, "type": {"param_type": "Mine"}}
    )
    assert "the program's own" in command.levels[0].parameters[0].notes[0]


def test_a_prompt_without_a_default_has_to_be_given():
    (command,) = click_draft(
        {
            "name": "x",
            "opts": ["--x"],
            "param_type_name": "option",
            "nargs": 1,
            "prompt": "X",
            "type": {"param_type": "String"},
        }
    )
    assert command.levels[0].parameters[0].required


def test_a_suppressed_command_of_argparse_is_left_out():
    tree = {"actions": [{"action": "_SubParsersAction", "parsers": {"a": {}, "b": {}}, "helps": {"a": "==SUPPRESS=="}}]}
    assert [one.path for one in argparse_actions.commands_of(tree, "p")] == [("b",)]


@pytest.mark.parametrize(
    ("name", "text", "takes"),
    [
        ("sql", "", True),
        ("query", "The SQL query to execute", True),
        ("before_insert", "Execute SQL before the INSERT command", True),
        ("select", "", True),
        ("where", "SQL where clause to filter by", False),
        ("query", "What to search for", False),
        ("sql_delimiter", "Between the parts", False),
        ("param", "Named :parameters for SQL query", False),
    ],
)
def test_a_whole_query_is_told_from_a_clause(name, text, takes):
    assert guess.takes_queries(name, text) is takes


def test_a_query_may_open_any_file_and_is_a_write_of_high_risk():
    draft = drafted(Parameter(name="sql"), word="rows", text="Show the rows that a query gives")
    assert (draft.category, draft.risk) == ("write", "high")
    assert draft.warnings == ("sql takes queries, which may open files that allowed_paths cannot judge.",)


def test_a_dash_is_said_where_text_is_given_in_the_place_of_a_file():
    draft = drafted(Parameter(name="table", required=True), Parameter(name="file", access="read", stdin="word"))
    assert draft.binding["arguments"][-1] == {"kind": "literal", "value": "-", "when": "input_text"}
    assert draft.input_schema["required"] == ["table"]
    assert draft.binding["stdin"]["parameter"] == "input_text"


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (("--fix-only",), "Apply fixes to resolve lint violations"),
        (("--add-noqa",), "Enable automatic additions of `noqa` directives to failing lines"),
        (("--write-baseline",), "Keep what is known"),
        (("-i", "--in-place"), ""),
    ],
)
def test_an_option_that_changes_files_is_known_by_its_name_or_its_help(flags, text):
    assert guess.changes(flags, text)


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (("--diff",), "Avoid writing any fixed files back; instead, output a diff"),
        (("--fixable",), "List of rule codes to treat as eligible for fix"),
        (("--fixed-strings",), "Patterns are texts"),
        ((), "Adds up the lines of files"),
    ],
)
def test_an_option_that_only_speaks_of_changes_stays(flags, text):
    assert not guess.changes(flags, text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Custom config file", True),
        ("Output file or folder (by default the same as the input)", True),
        ("output filepath (default: '-')", True),
        ("source file(s) or directory(s) to be tested", True),
        ("Write the current configuration to file with `-` for stdout", True),
        ("comma-separated list of custom dictionary files that contain corrections", True),
        ("Usage data file", True),
        ("Ignore files & directories matching the glob", False),
        ("comma-separated list of files to skip. It accepts globs as well.", False),
        ("Maximum file size", False),
        ("Number of files to keep", False),
        ("Sort files by this", False),
        ("input file encoding", False),
        ("encoding of output CSV", False),
    ],
)
def test_an_option_whose_help_names_a_file_takes_a_path(text: str, expected: bool) -> None:
    assert guess.names_file(text) is expected
    tree = {"actions": [{"dest": "it", "flags": ["--it"], "action": "_StoreAction", "help": text}]}
    (command,) = argparse_actions.commands_of(tree, "p", "Does it.")
    assert (command.levels[0].parameters[0].access is not None) is expected
    assert command.text == "Does it."


def test_of_paths_between_commas_none_is_hidden_from_the_judge() -> None:
    parameter = Parameter(
        name="words", flags=("--words",), schema={"type": "string"}, repeats=True, access="read",
        text="comma-separated list of files with words",
    )  # fmt: skip
    items = drafted(parameter).input_schema["properties"]["words"]["items"]
    assert (items["pattern"], items["minLength"]) == ("^[^,]*$", 1)


@pytest.mark.parametrize(
    "text",
    [
        "R| path to python executable to search distributions from",
        "Custom config file, only .js, .mjs, and .cjs is supported.",
    ],
)
def test_a_path_to_what_is_run_is_code(text: str) -> None:
    assert guess.code_of_option(("--it",), text, "")


def test_marks_of_formatters_are_no_part_of_a_help() -> None:
    tree = {"actions": [{"dest": "it", "flags": ["--it"], "action": "_StoreAction", "help": "R|one\ntwo"}]}
    (command,) = argparse_actions.commands_of(tree, "p")
    assert command.levels[0].parameters[0].text == "one\ntwo"

"""What usages, lists of arguments and placeholders say: a table of the conventions that programs follow."""

# Usages stand here as they are printed.
# ruff: noqa: E501

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ToolError
from pegboard_manifest.bindings.subprocess.words import words_of
from pegboard_toolgen.discover import help_text
from pegboard_toolgen.discover._help_values import choices_of, schema_of
from pegboard_toolgen.discover._program_drafts import draft_of
from pegboard_toolgen.discover._program_parts import Command, Level, Program
from pegboard_toolgen.discover._usage import Form, form_of, merged
from pegboard_toolgen.drafts import Draft

PROGRAM = {"argv0": ["x"]}


def draft(text: str, *words: str) -> Draft:
    read = help_text.parse(text, ("x", *words))
    own = Level(word=words[-1] if words else None, parameters=read.parameters)
    command = Command(
        levels=(*([Level(word=None)] if words else []), own),
        text=read.text,
        terminator=False,
        reads_input=read.reads_input,
    )
    made = draft_of(command, Program(id="x", name="x", kind="help"))
    assert isinstance(made, Draft), made.why
    return made


def line(text: str, **arguments: Any) -> list[str]:
    return words_of(draft(text).binding, PROGRAM, arguments)[1:]


def shape(form: Form) -> str:
    """A form written again: what is optional in brackets, what repeats with dots."""

    def written(slot: Any) -> str:
        name = "|".join(slot.choices) or slot.prefix + slot.name
        name = f"{name}..." if slot.many else name
        return name if slot.required else f"[{name}]"

    return " ".join([*form.words, *map(written, form.slots)])


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ("[OPTION]... [FILE]...", "[FILE...]"),
        ("[OPTIONS] <PATTERN> [PATH]...", "PATTERN [PATH...]"),
        ("[OPTIONS] FILE [FILE ...]", "FILE..."),
        ("[-h] [-e RULES] [--level {a,b}] path [path ...]", "path..."),
        ("[OPTIONS] <RULE|--all>", "[RULE]"),
        ("[OPTIONS] (<RULE> | --all)", "[RULE]"),
        ("[OPTION]... FIRST INCREMENT LAST", "FIRST INCREMENT LAST"),
        ("[OPTION]... [+FORMAT]", "[+FORMAT]"),
        ("[OPTION]... [INPUT [OUTPUT]]", "[INPUT] [OUTPUT]"),
        ("[-u|--utc] [MMDDhhmm[[CC]YY][.ss]]", "[MMDDhhmm]"),
        ("[OPTION]... -t DIRECTORY SOURCE...", "SOURCE..."),
        ("[options] -o OUT FILE", "FILE"),
        ("--all FILE", "FILE"),
        ("[flags] [args]", "[args...]"),
        ("[path] [flags]", "[path]"),
        ("<on|off> [--] [<path>...]", "on|off [path...]"),
        ("(start|stop) NAME", "start|stop NAME"),
        ("{always,never} FILE", "always|never FILE"),
        ("source:path dest:path [flags]", "source:path dest:path"),
        ("[-abc] file", "file"),
        ("add [-t <branch>] <name> <url>", "add name url"),
        ("[FILE] [OPTION]...", "[FILE]"),
        ("[OPTION] op [fld] [op fld ...]", "op [fld...]"),
        ("[OPTION] add [name ...]", "add [name...]"),
        ("queue add [<queue> ...]", "queue add [queue...]"),
        ("[flags] {verb} {zero or more file names}", "verb [file names...]"),
        ("{lockfile} {one or more words}", "lockfile words..."),
        ("{a|b} {c,d}", "a|b c|d"),
        ("[OPTIONS] COMMAND [ARGS]...", ""),
        ("[-v] [-C <path>] <command> [<args>]", ""),
        ("[[[[", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_a_form_of_a_usage(usage: str, expected: str) -> None:
    assert shape(form_of(usage, plain={"--all"})) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Usage: x [-n] command\n\nRun command if the standard input is not empty\n\n  -n  The other way\n",
        "Usage: x [-n] [[\"command\"...]]\n\nCopy the input. Each command is run and fed a copy of it.\n\n  -n  The other way\n",
        "Usage: x [-n] [\"command1\"] [\"command2\"]\n\nPipe two commands.\n\n  -n  The other way\n",
        "Usage: x [-n] {lockfile} {program} [arguments]\n\nRun a program with a lock held\n\n  -n  The other way\n",
        "Usage: x [-ev] COMMAND...\n\nRuns a command quietly unless it fails\n\n  -e  Also\n",
    ],
)  # fmt: skip
def test_a_program_that_runs_the_command_it_is_given_runs_code(text: str) -> None:
    assert draft(text).runs_code == "it runs commands that the caller gives"


def test_a_command_is_no_value_of_a_program_that_has_commands() -> None:
    text = (
        "Usage: x [-v] <command> [<args>]\n\nRun commands on a thing\n\nCommands:\n  push  Push it\n  pull  Pull it\n"
    )
    read = help_text.parse(text, ("x",))
    assert ([*read.commands], read.positionals) == (["push", "pull"], ())


def test_a_word_that_is_listed_as_an_argument_is_one_whatever_it_is_called() -> None:
    text = "Usage: x [OPTIONS] [OPTION] target\n\nArguments:\n  [OPTION]  Key to show\n  target    What to do\n\nOptions:\n  -q, --quiet  Less\n"
    read = help_text.parse(text, ("x",))
    assert [(one.name, one.required, one.text) for one in read.positionals] == [
        ("option", False, "Key to show."),
        ("target", True, "What to do."),
    ]


@pytest.mark.parametrize(
    ("forms", "expected"),
    [
        (["LAST", "FIRST LAST", "FIRST INCREMENT LAST"], "[FIRST] [INCREMENT] LAST"),
        (["SOURCE DEST", "SOURCE... DIRECTORY", "-t DIRECTORY SOURCE..."], "SOURCE... [DIRECTORY] [DEST]"),
        (["[FILE]...", "--files0-from=F"], "[FILE...]"),
        (["[+FORMAT]", "[MMDD]"], "[+FORMAT] [MMDD]"),
        (["A B", "B A"], "A B"),
    ],
)
def test_the_forms_of_a_usage_together(forms: list[str], expected: str) -> None:
    slots, _ = merged([form_of(one) for one in forms])
    assert shape(Form(slots=slots)) == expected


SEQ = "Usage: x LAST\n  or:  x FIRST LAST\n  or:  x FIRST INCREMENT LAST\n\nFIRST, INCREMENT and LAST are floating point values.\n\n  -w  Of one width\n  -s  Else\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"last": 3}, ["3"]),
        ({"first": 1, "last": 3}, ["1", "3"]),
        ({"first": 1, "increment": "2", "last": 3, "w": True}, ["-w", "1", "2", "3"]),
    ],
)
def test_a_program_that_counts_its_words_gets_as_many_as_were_given(
    arguments: dict[str, Any], expected: list[str]
) -> None:
    assert line(SEQ, **arguments) == expected
    assert draft(SEQ).input_schema["dependentRequired"] == {"increment": ["first"]}


def test_words_of_different_forms_are_not_given_together() -> None:
    made = draft("Usage: x [OPTION]... [+FORMAT]\n  or:  x [OPTION]... [STAMP]\n\n  -u  In UTC\n  -v  More\n")
    assert made.input_schema["not"] == {"required": ["format", "stamp"]}
    assert "dependentRequired" not in made.input_schema
    assert words_of(made.binding, PROGRAM, {"stamp": "0101"})[1:] == ["0101"]


@pytest.mark.parametrize(("value", "expected"), [(True, ["--color"]), (False, []), ("never", ["--color=never"])])
def test_an_option_may_stand_without_its_value_where_the_help_says_so(value: Any, expected: list[str]) -> None:
    text = "Usage: x [OPTION]...\n\n  --color[=WHEN]  WHEN={always,never}\n  -n  More\n"
    assert line(text, color=value) == expected
    assert draft(text).input_schema["properties"]["color"]["enum"] == ["always", "never", True, False]


@pytest.mark.parametrize(
    ("meta", "said", "whole", "expected"),
    [
        ("NUM", "print the first NUM lines", "", {"type": "integer"}),
        ("NUM", "print the first NUM lines", "NUM may have a multiplier suffix", {"type": ["number", "string"]}),
        ("N", "sleep for N seconds (default 1.0)", "", {"type": ["number", "string"]}),
        ("SIZE", "use SIZE for the buffer", "", {"type": ["number", "string"]}),
        ("<SECONDS>", "How long to wait", "", {"type": ["number", "string"]}),
        ("int", "How many", "", {"type": "integer"}),
        ("uint", "How many", "", {"type": "integer", "minimum": 0}),
        ("float64", "How much", "", {"type": "number"}),
        ("duration", "as 300ms", "", {"type": ["number", "string"]}),
        ("string", "log level (debug|info|warn|error)", "", {"type": "string", "enum": ["debug", "info", "warn", "error"]}),
        ("string", "a or b (e.g. a)", "", {"type": "string"}),
        ("<F>", 'The form (choices: "a", "b")', "", {"type": "string", "enum": ["a", "b"]}),
        ("{a,b}", "", "", {"type": "string", "enum": ["a", "b"]}),
        ("<dev|prod>", "", "", {"type": "string", "enum": ["dev", "prod"]}),
        ("METHOD", "METHOD={none(default),prepend,separate}", "", {"type": "string", "enum": ["none", "prepend", "separate"]}),
        ("FILE", "of {a,b}.txt", "", {"type": "string"}),
        ("<offset>", "skip it", "<length> and <offset> may be followed by suffixes", {"type": ["number", "string"]}),
    ],
)  # fmt: skip
def test_the_type_of_a_value(meta: str, said: str, whole: str, expected: dict[str, Any]) -> None:
    assert schema_of(meta, said, whole) == expected


def test_values_that_are_listed_one_a_line_are_all_there_are() -> None:
    text = (
        "Usage: x [OPTIONS] [SHELL]\n\nArguments:\n  [SHELL]\n          For which shell\n\n          Possible values:\n"
        "          - bash: The one\n          - zsh:  The other\n\nOptions:\n      --color <WHEN>\n          When to use colour\n\n"
        "          Possible values:\n          - auto:   At a terminal\n          - always\n          - never:  Not at all\n"
        "  -q, --quiet\n          Less\n"
    )
    properties = draft(text).input_schema["properties"]
    assert properties["color"]["enum"] == ["auto", "always", "never"]
    assert properties["shell"]["enum"] == ["bash", "zsh"]


COBRA = """Show what there is.

Usage:
  x show [path] [flags]

Flags:
      --depth int           how deep (default 3)
      --fast                be fast (default true)
  -h, --help                help for show
      --tag strings         tags to show
      --wait duration       how long to wait

Global Flags:
      --log string   log level (debug|info)
"""


def test_flags_as_go_prints_them() -> None:
    read = help_text.parse(COBRA, ("x", "show"))
    assert {one.name: (one.form, dict(one.schema), one.repeats) for one in read.options} == {
        "depth": ("value", {"type": "integer"}, False),
        "fast": ("value", {"type": "boolean"}, False),
        "tag": ("value", {"type": "string"}, True),
        "wait": ("value", {"type": ["number", "string"]}, False),
        "log": ("value", {"type": "string", "enum": ["debug", "info"]}, False),
    }
    assert line(COBRA, fast=False) == ["--fast=false"]


GROUP = "Shows.\n\nUsage:\n  x show [command]{more}\n\nAvailable Commands:\n  chromastyles Make a style\n  toJSON       Make JSON\n  doc          Make a text\n\n{flags}Global Flags:\n  -q, --quiet  less\n"


@pytest.mark.parametrize(
    ("more", "flags", "is_command"),
    [
        ("", "", False),
        ("\n  x show [flags]", "Flags:\n  --all  all of it\n\n", True),
        ("\n  x show [flags]", "", False),
        ("\n  x show [flags]", "Flags:\n  -h, --help   help\n      --help-tree   all commands\n\n", False),
        (" [flags]\n  x show [command]", "Flags:\n  --all  all of it\n\n", True),
    ],
)
def test_a_command_with_commands_of_its_own_is_called_where_its_usage_says_so(
    more: str, flags: str, is_command: bool
) -> None:
    read = help_text.parse(GROUP.format(more=more, flags=flags), ("x", "show"))
    assert read.commands == ("chromastyles", "toJSON", "doc")
    assert read.is_command is is_command
    assert read.is_group is ("[flags]" in more and not is_command)


def test_a_command_that_takes_what_all_commands_take_alone_is_a_group() -> None:
    root = help_text.parse(GROUP.replace("Global ", "").format(more="\n  x show [flags]", flags=""), ("x", "show"))
    below = "Makes it.\n\nUsage:\n  x show doc [flags]\n\nGlobal Flags:\n  -q, --quiet  less\n"
    assert root.is_command
    assert help_text.hands_on(root, [below])
    assert not help_text.hands_on(root, [below.replace("Global ", "")])
    assert not help_text.hands_on(root, [])


CLAP_3 = """x-get {version}
Extract a value from the document

USAGE:
    x get [OPTIONS] [PATTERN]

ARGS:
    <PATTERN>
            A key.

OPTIONS:
    -f, --file-path <FILE_PATH>
            Path to the document, if omitted the standard input will be used

    -h, --help
            Print help information
"""


@pytest.mark.parametrize("version", ["", "1.2.3"])
def test_an_option_may_be_what_standard_input_stands_in_for(version: str) -> None:
    text = CLAP_3.format(version=version)
    read = help_text.parse(text, ("x", "get"))
    (option,) = read.options
    assert (read.text, read.terminator) == ("Extract a value from the document", True)
    assert (option.stdin, option.access) == ("absent", "read")
    drafted = draft(text, "get")
    assert drafted.category == "read"
    assert drafted.binding["stdin"] == {"parameter": "input_text", "format": "text"}
    assert "where file_path is left out" in drafted.input_schema["properties"]["input_text"]["description"]


LISTS = {
    "kong": "Usage: x db <command> [flags]\n\nCommands:\n  db up      Bring it up\n  db down    Take it down\n",
    "oclif": "USAGE\n  $ x db COMMAND\n\nCOMMANDS\n  db up    Bring it up\n  db down  Take it down\n",
    "gh": "USAGE\n  x db <command> [flags]\n\nCORE COMMANDS\n  up:      Bring it up\n  down:    Take it down\n",
    "docker": "Usage:  x db COMMAND\n\nCommands:\n  up      Bring it up\n  down    Take it down\n",
    "kubectl": "Available Commands:\n  up      Bring it up\n  down    Take it down\n\nUsage:\n  x db SUBCOMMAND [options]\n",
    "urfave": "USAGE:\n   x db command [command options]\n\nCOMMANDS:\n   up       Bring it up\n   down     Take it down\n",
}


@pytest.mark.parametrize("which", LISTS)
def test_a_group_needs_one_of_the_commands_that_its_help_lists(which: str) -> None:
    read = help_text.parse(f"Manage databases.\n\n{LISTS[which]}", ("x", "db"))
    assert read.commands == ("up", "down")
    assert not read.is_command
    assert [help_text.summary_of(LISTS[which], word, ("x", "db")) for word in read.commands] == [
        "Bring it up",
        "Take it down",
    ]


@pytest.mark.parametrize(
    ("text", "stands_in", "reads"),
    [
        ("Usage: x [FILE]...\nSort.\nWith no FILE, or when FILE is -, read standard input.\n\n  -a  a\n  -b  b\n", "file", False),
        ("Usage: x SET1 [SET2]\nTranslate characters from standard input.\n\n  -a  a\n  -b  b\n", None, True),
        ("Usage: x [NUMBER]...\nReformat NUMBERs, or the numbers from standard input.\n\n  -a  a\n  -b  b\n", "number", False),
        ("Usage: x [FILE]...\nSort.\n\n  -a  a\n  -b  b\n", "file", False),
        ("Usage: x [FILE]...\nList files (the current directory by default).\n\n  -a  a\n  -b  b\n", None, False),
        ("Usage: x [first [last]]\nFilter.\n\n  -a  a\n\nx reads from standard input\n", None, True),
    ],
)  # fmt: skip
def test_what_a_program_reads_from_standard_input_can_be_given(text: str, stands_in: str | None, reads: bool) -> None:
    read = help_text.parse(text, ("x",))
    assert [one.name for one in read.positionals if one.stdin] == ([stands_in] if stands_in else [])
    assert read.reads_input is reads
    assert ("input_text" in draft(text).input_schema["properties"]) is bool(stands_in or reads)


def test_what_makes_a_reading_command_change_something_is_not_offered() -> None:
    text = "Usage: x [OPTION]... [+FORMAT]\n  or:  x [STAMP]\nDisplay the time.\nWith -s, or with [STAMP], set the time.\n\n  -s, --set=STRING  set time\n  -d, --date=STRING  display time\n"
    made = draft(text)
    assert made.category == "read"
    assert set(made.input_schema["properties"]) == {"date", "format"}
    assert any("change something" in note for note in made.notes)


GNU_SEQ = f"{SEQ}\nMandatory arguments to long options are mandatory for short options too.\n"


def test_a_number_may_be_negative_where_the_parser_takes_a_terminator() -> None:
    read = help_text.parse(GNU_SEQ, ("x",))
    assert read.terminator
    assert not help_text.parse(SEQ, ("x",)).terminator
    command = Command(levels=(Level(word=None, parameters=read.parameters),), text=read.text)
    made = draft_of(command, Program(id="x", name="x", kind="help"))
    assert isinstance(made, Draft)
    words = words_of(made.binding, PROGRAM, {"first": 5, "increment": "-1", "last": -2})
    assert words == ["x", "--", "5", "-1", "-2"]
    assert made.input_schema["properties"]["last"] == {"type": ["number", "string"], "pattern": "^([^-]|-[0-9.])"}


def test_a_reading_command_is_not_offered_what_deletes_or_writes() -> None:
    made = draft(
        "Usage: x [OPTION]...\nFind files.\n\n  -delete  delete them\n  --in-place  there\n  -d, --deep  more\n  -ok  run\n"
    )
    assert made.category == "read"
    assert set(made.input_schema["properties"]) == {"deep"}


@pytest.mark.parametrize(("value", "expected"), [("1,2", ["--key=1,2"]), (["1", "2"], ["--key=1", "--key=2"])])
def test_an_option_that_is_often_said_several_times_takes_a_list(value: Any, expected: list[str]) -> None:
    text = "Usage: x [OPTION]...\n\n  -k, --key=KEYDEF  sort via a key\n  -o, --name=NAME   of that name\n"
    assert line(text, key=value) == expected
    assert draft(text).input_schema["properties"]["key"]["type"] == ["string", "array"]
    assert draft(text).input_schema["properties"]["name"]["type"] == "string"


@pytest.mark.parametrize(
    ("first", "rule"),
    [
        ("Print the lines.", "Taken for read by the word 'print' of its help."),
        ("Write the lines to standard output.", "Taken for read by its help."),
        ("Output pieces of FILE to PREFIXaa, PREFIXab.", "Taken for write by its help."),
        ("Dump the rows to a file.", "Taken for write by its help."),
        ("Print the first lines of each FILE to standard output.", "Taken for read by the word 'print' of its help."),
        ("Dump the rows to JSON.", "Taken for read by the word 'dump' of its help."),
        ("Delete the lines.", "Taken for write by the word 'delete' of its help."),
        ("The lines.", "Neither its name nor its help says that it only reads: it counts as a write."),
    ],
)
def test_the_rule_by_which_a_command_reads_or_writes_is_told(first: str, rule: str) -> None:
    assert rule in draft(f"Usage: x [FILE]\n{first}\n\n  -a  a\n  -b  b\n").notes


def test_a_list_of_other_things_brings_no_options() -> None:
    text = "Usage: x OPTION... [FILE]...\n\n  -f, --fields=LIST  select these\n\nEach range is one of:\n\n  N     the Nth\n  N-    from the Nth\n  N-M   from N to M\n  -M    to the Mth\n"
    assert [one.name for one in help_text.parse(text, ("x",)).options] == ["fields"]


WORDS = st.sampled_from(
    ["[", "]", "<", ">", "(", ")", "{", "}", "|", "...", "…", "FILE", "file", "[FILE]", "<a|b>", "-x", "--long", "--long=V", "--",
     "[OPTIONS]", "command", "[ARGS]...", ",", "+", "=", " ", "add", "{a,b}", "[-abc]", "[+"]
)  # fmt: skip


@settings(max_examples=60)
@given(
    usage=st.one_of(st.lists(WORDS, max_size=60).map("".join), st.lists(WORDS, max_size=60).map(" ".join), st.text(max_size=80)),
    other=st.lists(WORDS, max_size=20).map(" ".join),
)  # fmt: skip
def test_any_usage_is_a_form(usage: str, other: str) -> None:
    forms = [form_of(usage, listed=["file"], plain=["-x"]), form_of(other)]
    slots, apart = merged(forms)
    names = [slot.name for slot in slots]
    assert len(set(names)) == len(names)
    assert all(slot.name for slot in slots)
    assert all(one != two for one, two in apart)
    assert all(isinstance(one, str) for one in choices_of(usage, other))


@pytest.mark.parametrize(
    "usage",
    ["[" * 50_000, "<" * 50_000, "(a|" * 20_000, "A " * 30_000, "[A [" * 20_000, "x[" * 20_000 + "]" * 20_000, "{a," * 20_000, "a|" * 30_000],
)  # fmt: skip
def test_long_usages_are_read_in_bounded_time(usage: str, in_time: Any) -> None:
    with in_time():
        form_of(usage[:4_000])
        help_text.parse(f"Usage: x {usage}\n  or: x {usage}\n" * 20, ("x",))


COMMANDER = """Usage: x [options] [command] <file> [dest]

Makes things.

Arguments:
  file                 file to take
  dest                 destination (default: "out")

Options:
  -c, --cheese [type]  cheese type
  -l, --letters <items...>  letters
  -k, --kind <kind>    kind (choices: "a", "b", default: "a")
  --no-sauce           without sauce
  -h, --help           display help for command
"""
YARGS = """x get <source> [dest]

Get it.

Options:
      --help     Show help                                            [boolean]
  -p, --port     port to bind on                       [number] [default: 5000]
  -f, --format   the form       [string] [choices: "a", "b"] [default: "a"]
  -t, --tags     tags                                                   [array]
  -v, --verbose  more                                                   [count]
  -q, --quiet    less                                                 [boolean]
"""


def test_a_text_of_commander() -> None:
    read = help_text.parse(COMMANDER, ("x",))
    assert [(one.name, one.required) for one in read.positionals] == [("file", True), ("dest", False)]
    options = {one.name: one for one in read.options}
    assert options["cheese"].is_optional
    assert options["letters"].repeats
    assert options["kind"].schema == {"type": "string", "enum": ["a", "b"]}
    assert options["no-sauce"].form == "flag"


def test_a_text_of_yargs() -> None:
    read = help_text.parse(YARGS, ("x", "get"))
    assert read.text == "Get it."
    assert [(one.name, one.required) for one in read.positionals] == [("source", True), ("dest", False)]
    assert {one.name: (one.form, dict(one.schema), one.repeats) for one in read.options} == {
        "port": ("value", {"type": "number"}, False),
        "format": ("value", {"type": "string", "enum": ["a", "b"]}, False),
        "tags": ("value", {"type": "string"}, True),
        "verbose": ("count", {"type": "string"}, False),
        "quiet": ("flag", {"type": "string"}, False),
    }
    listed = "x <cmd> [args]\n\nCommands:\n  x serve [port]  start it\n  x get <source>  get it\n\nOptions:\n  -q, --quiet  less\n"
    assert help_text.parse(listed, ("x",)).commands == ("serve", "get")


def test_a_form_with_a_fixed_word_behind_values_that_may_be_left_out_is_not_offered_and_told() -> None:
    text = "Usage:\n  x ship new <name>...\n  x ship [<name>] move <to>\n  x mine (set|remove) <to> [-fq]\n\nOptions:\n  -f  Force\n"
    read = help_text.parse(text, ("x",))
    assert [
        [(one.word, [p.name for p in one.parameters if p.is_positional]) for one in form.levels]
        for form in read.variants
    ] == [
        [("ship", []), ("new", ["name"])],
        [("mine", ["set_or_remove", "to"])],
    ]
    assert any("ship [<name>] move" in note for note in read.notes)


EXCLUSIVE = "Usage: x [-a | -b] [-n | --dry-run] [--json|--table=NAME]\nDo it.\n\nOptions:\n  -a  first\n  -b  second\n  -n, --dry-run  nothing\n  --json  as JSON\n  --table=NAME  as a table\n"


def test_a_model_is_told_what_may_not_be_said_together() -> None:
    """Flags too, of which no schema can tell it: in the description, where a model reads it. Spellings are not rivals."""
    said = draft(EXCLUSIVE).description
    assert (
        said == "Do it.\n\nAt most one of these may be given: a, b.\n\nAt most one of these may be given: json, table."
    )


GREP = "Usage: x [OPTION]... PATTERNS [FILE]...\nSearch.\n\n  -e, --regexp=PATTERNS  use PATTERNS for matching\n  -f, --file=FILE  take PATTERNS from FILE\n  -c, --count  only a count\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"patterns": "a", "file": ["b"]}, ["a", "./b"]),
        ({"regexp": ["-a", "c"], "file": ["b"]}, ["--regexp=-a", "--regexp=c", "./b"]),
        ({"file_option": "p", "file": ["b"]}, ["--file=./p", "./b"]),
    ],
)
def test_an_option_may_stand_for_a_program_that_comes_first(arguments: dict[str, Any], words: list[str]) -> None:
    assert "required" not in draft(GREP).input_schema
    assert line(GREP, **arguments) == words


def test_a_word_that_no_option_gives_is_required() -> None:
    text = (
        "Usage: x PATTERN [FILE]...\nSearch.\n\n  --name=NAME  a name\n  --count  only a count\n  --file=FILE  a file\n"
    )
    assert draft(text).input_schema["required"] == ["pattern"]


def test_an_option_of_two_values_binds_a_name() -> None:
    text = "Usage: x [options]\nDo it.\n\n  --arg a v        set variable $a to value <v>;\n  --tab            use tabs\n  --slurpfile a f  set $a to what <f> holds\n"
    assert line(text, arg=[["x", "1"], ["y", "2"]]) == ["--arg", "x", "1", "--arg", "y", "2"]
    assert line(text, slurpfile=[["x", "a.json"]]) == ["--slurpfile", "x", "a.json"]
    with pytest.raises(ToolError, match=r"slurpfile\[0\]\[1\]: expected a path inside the allowed folders"):
        line(text, slurpfile=[["../x", "../a.json"]])


@pytest.mark.parametrize("says", ["List of files, or `-` to read from stdin", "standard input is '-'"])
def test_a_dash_that_an_argument_explains_stands_for_standard_input(says: str) -> None:
    text = f"Usage: x [OPTIONS] [FILES]...\n\nArguments:\n  [FILES]...  {says}\n\nOptions:\n      --fast  fast\n  -h, --help\n          Print help\n"
    read = help_text.parse(text, ("x",))
    assert [one.stdin for one in read.positionals] == ["word"]


PIPED = """x converts the output of commands to JSON

Usage:

  Standard syntax:

    COMMAND | x [OPTIONS] PARSER

    cat FILE | x [OPTIONS] PARSER

  Other syntax:

    x [OPTIONS] PARSER EXTRA

Options:
  -p, --pretty   pretty print
  -h, --help     help
"""


def test_titles_between_forms_are_no_arguments_and_what_is_piped_in_is_input() -> None:
    made = draft(PIPED)
    assert set(made.input_schema["properties"]) == {"pretty", "parser", "extra", "input_text"}
    assert made.input_schema.get("required", []) == ["parser"]


def test_help_and_version_are_left_out_under_their_short_names_and_a_usage_of_a_file_is_not() -> None:
    made = draft(
        "usage: x [-h] [-v] [-c] [file]\n\noptions:\n  -h, --help     help\n  -v, --version  version\n"
        "  -c, --compact  compact\n  -u, --usage <filename>  Usage data file\n"
    )
    assert set(made.input_schema["properties"]) == {"compact", "file", "usage"}


@pytest.mark.parametrize(
    ("meta", "said", "choices"),
    [
        ("<date|dur>", "changed before", []),
        ("<name|date>", "sort by", ["name", "date"]),
        ("<who>", "Format: [(user|uid)][:(group|gid)]", []),
        ("X,Y", "position", []),
        ("{X,Y}", "axis", ["X", "Y"]),
        ("GET|POST", "method", ["GET", "POST"]),
    ],
)
def test_places_and_parts_of_one_value_are_no_choices(meta: str, said: str, choices: list[str]) -> None:
    assert choices_of(meta, said) == choices


def test_a_usage_shows_what_its_options_take() -> None:
    text = "Usage: x [-a] [-d delim] [-o file]\n  -a  all\n  -d  sign between keys\n  -o  write there\n"
    forms = {one.name: one.form for one in help_text.parse(text, ("x",)).options}
    assert forms == {"a": "flag", "d": "value", "o": "value"}


@pytest.mark.parametrize(("other", "schema"), [("-q, --quiet", "both"), ("--size <n>", "flag")])
def test_where_no_option_shows_a_value_its_explanation_does(other: str, schema: str) -> None:
    text = f"Usage: x [options]\n\nOptions:\n  --skip   Comma separated names\n  --json   As JSON\n  {other}  other\n"
    skip, json, _ = help_text.parse(text, ("x",)).options
    assert (skip.form, skip.is_optional) == (("value", True) if schema == "both" else ("flag", False))
    assert json.form == "flag"


def test_options_and_sentences_are_no_arguments() -> None:
    text = (
        "usage: x [-q] [file]\n\nPositional arguments:\n  These come last.\n  Only one is read.\n\n"
        "  file           File to read\n\nOptional arguments:\n  -q, --quiet    Say less\n"
    )
    read = help_text.parse(text, ("x",))
    assert [(one.name, one.text) for one in read.positionals] == [("file", "File to read.")]
    assert [one.name for one in read.options] == ["quiet"]


@pytest.mark.parametrize(
    "usage", ["Usage: x [options] ['from-unit' 'to-unit']", "Synopsis:\n    x [options] [from-unit to-unit]"]
)
def test_a_usage_may_quote_its_places_and_be_called_synopsis(usage: str) -> None:
    read = help_text.parse(f"{usage}\n\nOptions:\n  -q  less\n  -v  more\n", ("x",))
    assert [one.name for one in read.positionals] == ["from-unit", "to-unit"]

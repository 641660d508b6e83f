"""Programs that only have `--help`: what is asked of them, and what their texts become."""

# Help texts stand here as they are printed.
# ruff: noqa: E501

from __future__ import annotations

import shutil
import subprocess

import pytest

from pegboard import ToolError
from pegboard_manifest.bindings.subprocess.words import words_of
from pegboard_toolgen.discover import help_text, programs
from pegboard_toolgen.discover.programs import discover_program
from pegboard_toolgen.drafts import DiscoveryError

GNU = """Usage: /usr/bin/thing [OPTION]... FILE...
  or:  /usr/bin/thing --check [FILE]
Print the FILEs in a good form.

Mandatory arguments to long options are mandatory for short options too.
  -a, --all                  do not leave out
                               --not-an-option stands in an explanation
  -b, --block-size=SIZE      with SIZE
      --color[=WHEN]         colour {always,never,auto}
  -n, --lines=NUM            print the first NUM lines
  -I FILE                    read from FILE
  -z                         short alone
  -Z                         another
      --to-command=COMMAND   pipe to another program
      --help     display this help and exit
      --version  output version information and exit
"""
CLAP = """Does things with care

Usage: tool [OPTIONS] <PATTERN> [PATH]...

Arguments:
  <PATTERN>  What to look for

Options:
  -C, --context <NUM>      Show NUM lines around
      --format <FORMAT>    The form [possible values: json, text]
      --glob <GLOB>        A glob; can be given multiple times
      --very-long-flag-name <VALUE> Explained in the same line
  -q, --quiet...           Use quiet output
      --no-wait            Do not wait
      --[no-]fancy         Fancy or not
  -h, --help               Print help
"""


def test_names_that_a_usage_shows_apart_are_one_option_of_the_manual() -> None:
    brief = help_text.parse("Usage: x [-l] [-s] [--list] [--search] [keyword]\n", ("x",))
    page = help_text.parse(
        "Usage: x [-l] [--list]\n\nLook things up.\n\n  -l, --list    List all\n  -s, --search  Search for words\n",
        ("x",),
    )
    whole = help_text.completed(brief, page)
    assert [one.flags for one in whole.options] == [("-l", "--list"), ("-s", "--search")]


def test_what_perl_says_of_a_program_without_a_help_is_none() -> None:
    said = "/usr/bin/x version [unknown] calling Getopt::Std::getopts (version 1.13 [paranoid]),\nrunning under Perl version 5.36.0.\n\nUsage: x [-OPTIONS [-MORE_OPTIONS]] [--] [PROGRAM_ARG1 ...]\n"
    assert not help_text.looks_like_help(said)


def test_a_gnu_text():
    read = help_text.parse(GNU, ("thing",))
    options = {one.name: one for one in read.options}
    assert list(options) == ["all", "block-size", "color", "lines", "I", "z", "Z", "to-command"]
    assert options["block-size"].form == "value"
    assert not options["block-size"].is_separate
    assert options["lines"].schema == {"type": "integer"}
    assert options["I"].access == "read"
    assert options["color"].is_optional
    assert [(one.name, one.words, one.required, one.access) for one in read.positionals] == [
        ("file", None, False, "guess")
    ]
    assert read.text.startswith("Print the FILEs in a good form.")
    assert any("several forms" in note for note in read.notes)


def test_a_text_of_clap():
    read = help_text.parse(CLAP, ("tool",))
    options = {one.name: one for one in read.options}
    assert options["context"].is_separate
    assert options["context"].schema == {"type": "integer"}
    assert options["format"].schema == {"type": "string", "enum": ["json", "text"]}
    assert options["glob"].repeats
    assert (options["very-long-flag-name"].form, options["very-long-flag-name"].metavar) == ("value", "<VALUE>")
    assert options["quiet"].form == "count"
    assert options["fancy"].off_flags == ("--no-fancy",)
    assert [(one.name, one.words) for one in read.positionals] == [("pattern", 1), ("path", None)]
    assert read.text == "Does things with care"


def test_values_that_only_the_usage_shows():
    read = help_text.parse(
        "Usage:\nthing [--omit <dev|optional>] [-w|--work <name>]\n\nOptions:\n\n  --omit\n    What to omit.\n\n"
        "  -w|--work\n    Where.\n",
        ("thing",),
    )
    assert [(one.name, one.form) for one in read.options] == [("omit", "value"), ("work", "value")]
    assert read.options[0].schema == {"type": "string", "enum": ["dev", "optional"]}


GO_FLAGS = """usage: x [flags] [path ...]

  -l[=0], --list[=0]  list files
  -w,     --write     write result to file
  -i,  --indent uint  0 for tabs
  -ln, --dialect str  which one
  -p NUM  --strip=NUM  Strip NUM leading components
"""


def test_spellings_of_an_option_in_columns_of_their_own():
    read = help_text.parse(GO_FLAGS, ("x",))
    assert [(one.flags, one.form, one.is_optional) for one in read.options] == [
        (("-l", "--list"), "value", True),
        (("-w", "--write"), "flag", False),
        (("-i", "--indent"), "value", False),
        (("-ln", "--dialect"), "value", False),
        (("-p", "--strip"), "value", False),
    ]


def test_values_that_a_usage_writes_in_small_letters():
    read = help_text.parse("unknown option -- -\nusage: x [-46Aa] [-B bind_interface] [-D [bind:]port] host\n", ("x",))
    assert read.text == ""
    assert [(one.flags, one.form) for one in read.options][:5] == [
        (("-4",), "flag"), (("-6",), "flag"), (("-A",), "flag"), (("-a",), "flag"), (("-B",), "value"),
    ]  # fmt: skip
    assert [one.name for one in read.positionals] == ["host"]


def test_alternatives_on_one_line_are_options_of_their_own():
    read = help_text.parse("Usage: x\n\n  --continue, --abort   go on or not\n  --no-edit, --edit   edit\n", ("x",))
    assert [(one.flags, one.off_flags) for one in read.options] == [
        (("--continue",), ()),
        (("--abort",), ()),
        (("--edit",), ("--no-edit",)),
    ]


def test_fixed_words_in_a_usage_are_commands():
    text = "usage: x [-v]\n   or: x add [-t <branch>] [-f] <name> <url>\n   or: x drop [-n | --dry-run] <name>\n\n  -v  More\n"
    read = help_text.parse(text, ("x",))
    assert read.positionals == ()
    assert [[(one.word, [p.name for p in one.parameters]) for one in form.levels] for form in read.variants] == [
        [("add", ["t", "f", "name", "url"])],
        [("drop", ["dry-run", "name"])],
    ]


MINE = """Sail ships.

Usage:
  x ship new <name>...
  x ship <name> move <to> [--speed=<kn>]
  x mine (set|remove) <to> [--moored | --drifting]
  x -h | --help
  x --version

Options:
  -h --help     Show this screen.
  --version     Show version.
  --speed=<kn>  Speed in knots [default: 10].
  --moored      Moored mine.
  --drifting    Drifting mine.
"""


def test_forms_of_docopt_are_commands_each_with_its_own_options():
    read = help_text.parse(MINE, ("x",))
    assert not read.is_command
    assert [[(one.word, [p.name for p in one.parameters]) for one in form.levels] for form in read.variants] == [
        [("ship", []), ("new", ["name"])],
        [("ship", ["name"]), ("move", ["speed", "to"])],
        [("mine", ["moored", "drifting", "set_or_remove", "to"])],
    ]
    assert read.variants[1].usage == "ship <name> move <to> [--speed=<kn>]"


def test_examples_below_a_usage_are_no_forms_of_it():
    text = "Add one\n\nUsage:\n  x add NAME [flags]\n\nExamples:\n  x add ada --role admin\n\nFlags:\n  -h, --help   help for add\n"
    (name,) = help_text.parse(text, ("x", "add")).positionals
    assert (name.name, name.required) == ("NAME".lower(), True)


@pytest.mark.parametrize(
    "text",
    [
        "X(1)     General Commands Manual     X(1)\n\nNAME\n    x - render it\n\nSYNOPSIS\n    x [-q] [file]\n",
        "INFO: Showing help with the command 'x -- --help'.\n\nNAME\n    x - render it\n\nSYNOPSIS\n    x FILE\n",
    ],
)
def test_the_name_of_a_manual_page_is_no_command(text):
    read = help_text.parse(text, ("x",))
    assert (read.commands, [one.name for one in read.positionals]) == ((), ["file"])


def test_the_header_of_options_is_no_description():
    text = "x [options] <command ...>\n\nGeneral\n  -m, --most  how many  [number]\n  -q, --quiet  less  [boolean]\n"
    read = help_text.parse(text, ("x",))
    assert (read.text, [(one.name, one.words) for one in read.positionals]) == ("", [("command", None)])


@pytest.mark.parametrize(
    ("said", "form", "schema"),
    [
        ('sign between names  [default: ","]', "value", {"type": "string"}),
        ("how often  [default: 3]", "value", {"type": "number"}),
        ('extension  [choices: "a", "b"]', "value", {"type": "string", "enum": ["a", "b"]}),
        ("with times  [default: false]", "flag", {"type": "string"}),
        ("with times  [boolean]", "flag", {"type": "string"}),
    ],
)
def test_yargs_shows_by_a_default_or_choices_that_an_option_takes_a_value(said, form, schema):
    (option,) = help_text.parse(f"x [options]\n\nOptions:\n  --one  {said}\n", ("x",)).options
    assert (option.form, option.schema) == (form, schema)
    assert "[boolean]" not in option.text


@pytest.mark.parametrize(
    ("said", "choices"),
    [
        ('output format. One of: json|yaml|table (default "table")', ["json", "yaml", "table"]),
        ("one of a|b", ["a", "b"]),
        ("One of: json|yaml|custom-columns=SPEC", None),
    ],
)
def test_alternatives_behind_one_of_are_choices(said, choices):
    (option,) = help_text.parse(f"Usage: x [flags]\n\nFlags:\n  --output string   {said}\n", ("x",)).options
    assert option.schema.get("enum") == choices


def test_an_npm_package_says_what_its_program_is_for(tmp_path):
    place = tmp_path / "node_modules" / "thing"
    (place / "bin").mkdir(parents=True)
    program = place / "bin" / "thing"
    program.write_text("#!/bin/sh\necho 'Usage: thing [options]'; echo; echo '  -q  less'; echo '  -v  more'\n")
    program.chmod(0o755)
    (place / "package.json").write_text('{"description": "Sorts things."}')
    (tmp_path / "thing").symlink_to(program)
    found = discover_program(str(tmp_path / "thing"))
    assert (found.drafts[0].description, found.description) == ("Sorts things.", "Sorts things.")
    for bad in ("[]", "{", '{"description": 7}'):
        (place / "package.json").write_text(bad)
        assert discover_program(str(tmp_path / "thing")).drafts[0].description == "Run thing."


def test_a_file_that_standard_input_stands_in_for_may_be_left_out():
    text = "Usage: x [options] <file>\n\nIf <file> is not provided, then STDIN is used.\n\nOptions:\n  -v  more\n"
    (file,) = help_text.parse(text, ("x",)).positionals
    assert (file.required, file.stdin) == (False, "absent")


ONE_HELP = """echo 'Usage: asked [options] command'; echo; echo 'Most used commands:'
echo '  search - Search the list'; echo '  purge - Remove it all'; echo; echo '  -q  quiet'; echo '  -v  more'"""


def test_commands_that_answer_with_the_help_of_their_program_take_words(asked):
    path, _ = asked(ONE_HELP)
    found = discover_program(str(path))
    by_id = {one.id: one for one in found.drafts}
    assert list(by_id) == ["program:asked purge", "program:asked search"]
    search = by_id["program:asked search"]
    assert (search.description, search.category, search.risk) == ("Search the list", "read", "high")
    words = words_of(search.binding, found.programs["asked"], {"args": ["a"], "q": True})
    assert words == ["asked", "-q", "search", "a"]


def test_options_of_the_program_stand_before_the_command_and_are_told_from_its_own(asked):
    path, _ = asked(
        "case $1 in show) echo 'Usage: asked show [-C]'; echo; echo '  -C  copies'; echo '  -q, --quiet  less';;"
        " *) echo 'Usage: asked [-C <path>] [-q] <command>'; echo; echo 'Commands:'; echo '  show  Show it'; echo; echo '  -q, --quiet  less';; esac"
    )
    [draft] = [one for one in discover_program(str(path)).drafts if one.id.endswith("show")]
    words = words_of(draft.binding, {"argv0": ["asked"]}, {"asked_upper_c": "x", "upper_c": True, "quiet": True})
    assert words == ["asked", "-C./x", "show", "-C", "--quiet"]


def test_an_alias_whose_usage_names_the_command_is_that_command(asked):
    path, log = asked(
        "echo 'Usage:'; echo '  asked content [path] [flags]'; echo; echo 'Flags:'; echo '  -f, --force  do'; echo '  -k, --kind string  of'"
    )
    [draft] = discover_program(str(path)).drafts
    assert draft.id == "program:asked content"
    assert set(draft.input_schema["properties"]) == {"force", "kind", "path"}
    assert log() == ["--help"]


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("Usage: x <command>\n\nCommands:\n  one     First\n  two, t  Second\n\nOptions:\n  -q, --quiet  less\n", ("one", "two")),
        ("x <command>\n\nUsage:\n\nx a\n\nAll commands:\n\n    one, two,\n    three\n\nSpecify configs\n", ("one", "two", "three")),
        ("usage: x <command>\n\nThese are common X commands:\n\nstart here (see also)\n   one   First\n   two   Second\n", ("one", "two")),
        ("Usage: x FILE\n\nThe commands of others are not ours.\n\n  -a  all\n  -b  both\n", ()),
    ],
)  # fmt: skip
def test_commands_are_found_in_their_lists(text, commands):
    assert help_text.parse(text, ("x",)).commands == commands


@pytest.fixture
def asked(tmp_path):
    """A program of commands that writes down what it is asked."""

    def make(body: str):
        path = tmp_path / "asked"
        log = tmp_path / "log"
        path.write_text(f'#!/bin/sh\necho "$*" >> {log}\n{body}\n')
        path.chmod(0o755)
        return path, lambda: log.read_text().splitlines()

    return make


TREE = """case "$1" in
show) echo 'Show it.'; echo; echo 'Usage: asked show [OPTIONS] <FILE>'; echo; echo '  --level <N>  How'; echo '  --deep  All' ;;
shell) echo 'Open an interactive shell.'; echo; echo 'Usage: asked shell'; echo; echo '  --a  a'; echo '  --b  b' ;;
mute) exit 1 ;;
*) echo 'Usage: asked <command>'; echo; echo 'Commands:'; echo '  show   Show it'; echo '  shell  Open it'; echo '  mute   Nothing' ;;
esac"""


def test_a_program_is_asked_for_help_and_never_for_anything_else(asked):
    path, log = asked(TREE)
    found = discover_program(str(path))
    assert [one.id for one in found.drafts] == ["program:asked shell", "program:asked show"]
    assert found.drafts[0].runs_code
    assert [one.id for one in found.left_out] == ["program:asked mute"]
    assert log() == ["--help", "show --help", "shell --help", "mute --help"]


NO_MANUAL = """case "$*" in
'show --help') echo "warning: failed to exec 'man': No such file or directory" >&2; exit 128 ;;
'show -h') echo 'usage: asked show [-q | --quiet] [<directory>]'; echo; echo '    -q, --quiet  less'; exit 129 ;;
*) echo 'usage: asked {says} <command>'; echo; echo 'Commands:'; echo '  show   Show it' ;;
esac"""


@pytest.mark.parametrize(
    ("says", "is_asked"),
    [
        ("[-h | --help]", True),
        ("[-h|--help]", True),
        ("[--help, -h]", True),
        ("[--help]", False),
        ("[-h host] [--help]", False),
        ("[-h | --host]", False),
        ("[-h | --help-all]", False),
    ],
)
def test_a_command_without_its_manual_is_asked_for_the_short_help_that_the_program_names(asked, says, is_asked):
    path, log = asked(NO_MANUAL.replace("{says}", says))
    if is_asked:
        [draft] = discover_program(str(path)).drafts
        assert draft.id == "program:asked show"
        assert {"quiet", "directory"} <= set(draft.input_schema["properties"])
    else:
        assert [one.id for one in discover_program(str(path)).left_out] == ["program:asked show"]
    assert [one for one in log() if one != "--help-all"] == [
        "--help",
        "show --help",
        *(["show -h"] if is_asked else []),
    ]


def test_a_help_only_binding_guards_its_words(asked, tmp_path):
    path, _ = asked(TREE)
    found = discover_program(str(path))
    draft = found.drafts[1]
    assert {"kind": "terminator"} not in draft.binding["arguments"]
    words = words_of(draft.binding, found.programs["asked"], {"level": "3", "deep": True, "file": "a"}, folder=tmp_path)
    assert words == ["asked", "show", "--level", "3", "--deep", "a"]
    for hostile in ({"file": "--deep"}, {"file": "a", "level": "--deep"}, {"file": "../a"}):
        with pytest.raises(ToolError):
            words_of(draft.binding, found.programs["asked"], hostile, folder=tmp_path)


def test_commands_are_bounded_in_number_and_depth(asked, monkeypatch):
    monkeypatch.setattr(programs, "MAX_COMMANDS", 6)
    path, log = asked(
        "printf 'Usage: asked <command>\\n\\nCommands:\\n'; for i in a b c; do echo \"  x$i$#  Say $*\"; done"
    )
    found = discover_program(str(path))
    assert len(log()) <= 10
    assert any("too many" in one.why for one in found.left_out)


def test_a_program_that_hangs_or_says_nothing_is_a_reason(asked, monkeypatch):
    monkeypatch.setattr(programs, "HELP_DEADLINE_S", 1.0)
    path, _ = asked("sleep 600")
    with pytest.raises(DiscoveryError, match="gives no help"):
        discover_program(str(path))


def test_a_program_that_is_not_there_is_a_reason_without_a_path():
    with pytest.raises(DiscoveryError, match="'nope'") as caught:
        discover_program("/nowhere/at/all/nope")
    assert "/nowhere" not in str(caught.value)


def test_escapes_and_invisible_characters_do_not_come_through(asked):
    path, _ = asked(
        "printf 'Usage: asked FILE\\n\\n\\033[1mBold\\033[0m \\342\\200\\256text\\n\\n  --one  first\\n  --two  second\\n'"
    )
    assert discover_program(str(path)).drafts[0].description == "Bold text"


@pytest.mark.parametrize("manual", ["", "no-manual"])
@pytest.mark.parametrize("name", ["ls", "tar", "git"])
def test_real_programs_give_lines_that_they_take(name, manual, tmp_path, monkeypatch):
    if manual and (found := shutil.which(name)):  # a PATH on which there is no man
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / name).symlink_to(found)
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    if shutil.which(name) is None:
        pytest.skip(f"there is no {name} here")
    if "GNU" not in subprocess.run(["/bin/ls", "--version"], capture_output=True, text=True).stdout:
        pytest.skip("the programs here are not GNU's")
    if not manual:  # of each command of git a manual page is made
        monkeypatch.setattr(programs, "MAX_COMMANDS", 5)
    found = discover_program(name)
    by_id = {draft.id: draft for draft in found.drafts}
    (tmp_path / "here").write_text("x")
    calls = {
        "ls": ("program:ls", {"all": True, "sort": "size", "file": ["here"]}),
        "tar": ("program:tar", {"create": True, "file_option": "a.tar", "file": ["here"], "verbose": True}),
        "git": ("program:git init", {"quiet": True, "initial_branch": "main", "directory": "repo"}),
    }
    key, arguments = calls[name]
    words = words_of(by_id[key].binding, found.programs[name], arguments, folder=tmp_path)
    finished = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr


def test_a_sentence_that_ends_like_a_header_is_a_description():
    assert help_text.parse("Create a virtual environment\n\nUsage: x y [PATH]\n", ("x", "y")).text == (
        "Create a virtual environment"
    )


def test_a_bare_word_of_the_usage_is_an_argument_where_the_arguments_are_listed():
    read = help_text.parse(
        "usage: x [-h] [--y Y] name\n\npositional arguments:\n  name  its name\n\noptions:\n  --y Y\n", ("x",)
    )
    assert [one.name for one in read.positionals] == ["name"]


BOXES = """
 Usage: zoo bye [OPTIONS] NAMES... [FILE]

 Say bye.

╭─ Arguments ──────────────────────────────────────────────────╮
│ *    names      NAMES...  [required]                         │
│      file       [FILE]    Where to.                          │
╰──────────────────────────────────────────────────────────────╯
╭─ Options ────────────────────────────────────────────────────╮
│ *  --colour          <red|deep blue>  [default: red]         │
│ --mode            <a|b>            One of two. This goes on  │
│                                    in the next row.          │
│ --loud    -l      --no-loud        Loudly.                   │
│ --times           <int range>      [default: 1]              │
│ --tag     -t      TEXT             What it is about.         │
│ --force           <bool>                                     │
│ --help                             Show this.                │
╰──────────────────────────────────────────────────────────────╯
"""
BOXED_COMMANDS = """
 Usage: zoo [OPTIONS] COMMAND [ARGS]...

╭─ Options ────────────────────────────────────────────────────╮
│ --help          Show this.                                   │
╰──────────────────────────────────────────────────────────────╯
╭─ Commands ───────────────────────────────────────────────────╮
│ bye      Say bye.                                            │
│ hello    Say hello.                                          │
╰──────────────────────────────────────────────────────────────╯
"""


def test_lists_in_boxes_are_read_as_lists() -> None:
    found = help_text.parse(BOXES, ("zoo", "bye"))
    options = {one.name: one for one in found.options}
    assert found.text == "Say bye."
    assert [(one.name, one.required) for one in found.positionals] == [("names", True), ("file", False)]
    assert {name: one.form for name, one in options.items()} == {
        "colour": "value", "mode": "value", "loud": "negatable", "times": "value", "tag": "value", "force": "flag",
    }  # fmt: skip
    assert options["mode"].schema == {"type": "string", "enum": ["a", "b"]}
    assert options["mode"].text == "One of two. This goes on in the next row."
    assert options["loud"].off_flags == ("--no-loud",)
    assert options["tag"].flags == ("-t", "--tag")
    assert help_text.parse(BOXED_COMMANDS, ("zoo",)).commands == ("bye", "hello")


def test_a_sentence_in_the_usage_is_what_the_program_does() -> None:
    read = help_text.parse(
        "Usage: qr - Convert stdin (or the first argument) to a QR Code.\n\nA pipe gets an image.\n\nOptions:\n"
        "  -h, --help       show this help message and exit\n  --factory=NAME   how it is drawn\n",
        ("qr",),
    )
    assert read.text.startswith("Convert stdin (or the first argument) to a QR Code.")
    assert read.reads_input
    assert [one.name for one in read.options] == ["factory"]
    assert read.positionals == ()


OPTIONAL_COMMAND = """\
Show the tree

Usage: tree [OPTIONS] [COMMAND]

Commands:
  lock  Show a lock
  help  Print this message or the help of the given subcommand(s)

Options:
  -d, --depth <N>   How deep
  -r, --reverse     The other way
  -f, --flat        In one list
  -v, --verbose     Say more
  -h, --help        Print help
"""
LOCK = "Usage: tree lock [OPTIONS] <FILE>\n\nOptions:\n  -v, --verbose  Say more\n  -h, --help     Print help\n"


@pytest.mark.parametrize(
    ("below", "works"),
    [
        ([LOCK], True),
        ([LOCK.replace("  -v,", "  -d, --depth <N>  How deep\n  -v,")], False),  # too few of its own
    ],
)
def test_what_works_without_its_commands_has_options_that_none_of_them_has(below: list[str], works: bool) -> None:
    read = help_text.parse(OPTIONAL_COMMAND, ("tree",))
    assert not read.is_command
    assert help_text.works_without_command(read, below) is works
    required = help_text.parse(OPTIONAL_COMMAND.replace("[COMMAND]", "<COMMAND>"), ("tree",))
    assert not help_text.works_without_command(required, below)


def test_what_a_program_says_in_the_place_of_its_help_is_told(asked) -> None:
    path, _ = asked("echo 'error: no toolchain is configured' >&2; echo 'try later' >&2; exit 1")
    with pytest.raises(DiscoveryError, match=r"gives no help for --help; it says: error: no toolchain is configured$"):
        discover_program(str(path))
    late, _ = asked("printf 'loader:1\\n  throw err;\\n\\nError: Cannot find module\\n' >&2; exit 1")
    with pytest.raises(DiscoveryError, match=r"it says: Error: Cannot find module$"):
        discover_program(str(late))
    mute, _ = asked("exit 1")
    with pytest.raises(DiscoveryError, match=r"gives no help for --help$"):
        discover_program(str(mute))

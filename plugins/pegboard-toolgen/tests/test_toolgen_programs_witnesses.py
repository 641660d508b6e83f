"""Manual pages and completion scripts: what they say beside a help, and that no page and no script is too much."""

# Pages and scripts stand here as they are written.
# ruff: noqa: E501

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard_toolgen.discover import _completions, _manuals, help_text
from pegboard_toolgen.discover.programs import discover_program

if TYPE_CHECKING:
    from pathlib import Path

MAN = r""".\" Made by hand.
.TH THING 1 "May 2024"
.de XX
.B not said
..
.SH NAME
thing \- show the lines of files
.SH SYNOPSIS
.B thing
[\fIOPTION\fR]... [\fIFILE\fR]...
.SH DESCRIPTION
Show lines.
With no FILE, read standard input.
.TP
\fB\-n\fR, \fB\-\-lines\fR=\fI\,NUM\/\fR
print the first NUM lines
.TP
.BR \-\-color [=\fIWHEN\fR]
colour; WHEN={always,never}
.IP "\-q, \-\-quiet" 4
say nothing
.SH "SEE ALSO"
.BR other (1)
"""
MDOC = r""".Dd May 1, 2024
.Dt THING 1
.Os
.Sh NAME
.Nm thing
.Nd show the lines of files
.Sh SYNOPSIS
.Nm
.Op Fl q
.Op Fl n Ar count
.Op Ar
.Sh DESCRIPTION
The options are as follows:
.Bl -tag -width Ds
.It Fl n Ar count
Print so many lines.
.It Fl q , Fl Fl quiet
Say nothing.
.It Fl x
More.
.El
"""


def test_a_page_of_man_reads_like_a_help() -> None:
    read = help_text.parse(_manuals.text_of(MAN), ("thing",))
    assert read.text.startswith("show the lines of files")
    assert {one.name: one.text for one in read.options} == {
        "lines": "print the first NUM lines",
        "color": "colour; WHEN={always,never}",
        "quiet": "say nothing",
    }
    assert [(one.name, one.words, one.required) for one in read.positionals] == [("file", None, False)]


def test_a_page_has_continued_lines_and_a_synopsis_of_several_forms() -> None:
    page = (
        ".if \\n(.H>23 .if \\n(.V>19 \\\n\\{\\\n.    ds : e\n.\\}\n.SH NAME\nthing \\- join files\n.SH SYNOPSIS\n"
        ".PP\nthing a and b\n.PP\n_ a or b _\n.SH DESCRIPTION\nJoin them.\n"
    )
    assert help_text.parse(_manuals.text_of(page), ("thing",)).text == "join files"


def test_a_page_of_mdoc_reads_like_a_help() -> None:
    read = help_text.parse(_manuals.text_of(MDOC), ("thing",))
    assert read.text.startswith("show the lines of files")
    assert [(one.flags, one.form) for one in read.options] == [
        (("-n",), "value"),
        (("-q", "--quiet"), "flag"),
        (("-x",), "flag"),
    ]
    assert [(one.name, one.required) for one in read.positionals] == [("file", False)]


@pytest.fixture
def installed(tmp_path: Path) -> Any:
    """`installed(body, name="thing", man=..., zsh=...)` is a program under a prefix with what lies beside it."""

    def make(body: str, *, man: str = "", zsh: str = "", section: str = "thing.1.gz") -> Path:
        program = tmp_path / "bin" / "thing"
        for folder in ("bin", "share/man/man1", "share/zsh/site-functions"):
            (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
        if man:
            (tmp_path / "share" / "man" / "man1" / section).write_bytes(gzip.compress(man.encode()))
        if zsh:
            (tmp_path / "share" / "zsh" / "site-functions" / "_thing").write_text(zsh)
        return program

    return make


@pytest.mark.parametrize("body", ["exit 1", "echo 'usage: thing [-q] [-n count] [file ...]' >&2; exit 1"])
def test_a_program_without_a_help_is_found_out_by_its_manual_page(installed: Any, body: str) -> None:
    [draft] = discover_program(str(installed(body, man=MAN))).drafts
    assert {"lines", "color", "quiet", "file"} <= {
        name.replace("n", "lines") if name == "n" else name for name in draft.input_schema["properties"]
    }
    assert draft.description.startswith("show the lines of files")


def test_the_page_of_a_command_is_its_own(installed: Any) -> None:
    body = "case $1 in --help) echo 'Usage: thing <command>'; echo; echo 'Commands:'; echo '  show  Show it';; *) exit 1;; esac"
    [draft] = discover_program(
        str(installed(body, man=MAN.replace("thing", "thing show"), section="thing-show.1.gz"))
    ).drafts
    assert draft.id == "program:thing show"
    assert "lines" in draft.input_schema["properties"]


ASCIIDOCTOR = r"""'\" t
.TH "THING" "1"
.ie \n(.g .ds Aq \(aq
.de URL
\fI\\$2\fP <\\$1>
..
.if \n[.g] \{\
.  am URL
.    ad l
.  .
.\}
.SH "NAME"
thing \- show files
.SH "DESCRIPTION"
.sp
The \fBthing\fP utility shows the specified files, or standard input if no files are specified.
.SH "OPTIONS"
.sp
\fB\-n\fP, \fB\-\-number\fP
.RS 4
With numbers.
.RE
"""


def test_a_page_of_another_formatter_is_read_too() -> None:
    read = help_text.parse(_manuals.text_of(ASCIIDOCTOR), ("thing",))
    assert [(one.name, one.text) for one in read.options] == [("number", "With numbers.")]


def test_the_page_says_that_standard_input_is_read_where_the_help_is_silent(installed: Any) -> None:
    body = "echo 'Usage: thing [options] <file>...'; echo; echo 'Show files.'; echo; for o in a b c; do echo \"  -$o  more $o\"; done"
    [draft] = discover_program(str(installed(body, man=ASCIIDOCTOR))).drafts
    assert "input_text" in draft.input_schema["properties"]
    assert "required" not in draft.input_schema


def test_a_page_elsewhere_is_that_of_another_program(installed: Any, tmp_path: Path) -> None:
    installed("exit 1", man=MAN)
    elsewhere = tmp_path / "other" / "bin" / "thing"
    elsewhere.parent.mkdir(parents=True)
    elsewhere.write_text("#!/bin/sh\necho 'Usage: thing'; echo; echo '  -a  a'\n")
    elsewhere.chmod(0o755)
    [draft] = discover_program(str(elsewhere)).drafts
    assert set(draft.input_schema["properties"]) == {"a"}


ZSH = r"""#compdef thing
_thing() {
    _arguments "${_arguments_options[@]}" : \
'*--select=[Rules to take]:RULE_CODE:(E F W)' \
'--cache=[Where]:CACHE:_files' \
'(-q --quiet)'{-v,--verbose}'[More]' \
'--level=[How much]:LEVEL:((low\:"a little" high\:"a lot"))' \
':: :_thing_commands' \
&& ret=0
    case $line[1] in
    (show)
_arguments "${_arguments_options[@]}" : \
'-o+[Where]:OUT:_files' \
'--out=[Where]:OUT:_files' \
&& ret=0
;;
"""
HELP = """Usage: thing [OPTIONS]

Options:
      --select <RULE>   Rules
      --cache <CACHE>   Cache
      --level <LEVEL>   How much
  -v, --verbose         More
      --generate-completion <SHELL>  Print a completion script for a shell
"""


def test_a_completion_script_says_what_is_a_path_what_repeats_and_what_is_known() -> None:
    specs = _completions.specs_of(ZSH)
    assert set(specs) == {"", "show"}
    assert specs[""]["--level"].words == ("low", "high")
    assert specs[""]["-v"].excludes == {"-q", "--quiet"}
    options = {one.name: one for one in _completions.checked(help_text.parse(HELP, ("thing",)).options, specs[""])}
    assert options["cache"].access == "guess"
    assert options["select"].repeats
    assert options["select"].text == "Rules Known: E, F, W."
    assert options["level"].text == "How much Known: low, high."
    assert "enum" not in options["level"].schema
    assert options["verbose"].form == "flag"


@pytest.mark.parametrize("beside", [True, False])
def test_the_script_lies_beside_the_program_or_is_printed_where_its_help_says_so(installed: Any, beside: bool) -> None:
    body = f"case \"$*\" in --help) cat <<'E'\n{HELP}\nE\n;; '--generate-completion zsh') cat <<'E'\n{'' if beside else ZSH}\nE\n;; *) exit 1;; esac"
    [draft] = discover_program(str(installed(body, zsh=ZSH if beside else ""))).drafts
    assert draft.input_schema["properties"]["select"]["type"] == "array"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Commands:\n  completions  Generate shell completions\n", ("completions", "zsh")),
        ("Commands:\n  completions  Install shell completions\n", None),
        ("Commands:\n  show  Print more than a completion\n", None),
    ],
)
def test_a_script_is_asked_for_only_where_the_help_offers_to_print_one(text: str, expected: Any) -> None:
    read = help_text.parse(f"Usage: x <COMMAND>\n\n{text}", ("x",))
    assert _completions.question(read.commands, read.options, text) == expected


PIECES = st.sampled_from(
    [".TP", ".SH", ".B", ".BR", ".It", ".Op", "Fl", "Ar", ".de", "..", ".nf", ".RS", ".OP", "\\fB", "\\-", "\\(em", "\\*(xx", '"',
     "'", "\n", "\n", " ", "-x", "--long", "=V", "_arguments", "'--x[", "]:a:(b c)'", "{-a,--all}", "(show)\n", "*", ":", "\\:", "[", "]", "((", "))"]
)  # fmt: skip


@settings(max_examples=60)
@given(text=st.one_of(st.lists(PIECES, max_size=60).map("".join), st.text(max_size=100)))
def test_any_page_and_any_script_is_read(text: str) -> None:
    help_text.parse(_manuals.text_of(text), ("x",))
    for known in _completions.specs_of(text).values():
        assert all(flag.startswith("-") for flag in known)


@pytest.mark.parametrize(
    "text",
    ["'" * 50_000, "'--x[" * 40_000, "{a," * 50_000, ".B " + '"' * 100_000, ".Op " * 50_000, "\\f" * 100_000, "\\[" * 100_000,
     ".TP\n" * 50_000, "'(-a " * 40_000, "(a)\n" * 50_000, ".It Fl " + "Fl " * 50_000, "\\(" * 100_000, "((" * 50_000 + "))"],
)  # fmt: skip
def test_long_pages_and_scripts_are_read_in_bounded_time(text: str, in_time: Any) -> None:
    with in_time():
        _manuals.text_of(text)
        _completions.specs_of(text)


@pytest.mark.parametrize("named", ["--help all", "--help-all", "--help=all"])
def test_a_help_that_names_the_rest_of_itself_is_asked_for_it(tmp_path: Path, named: str) -> None:
    file = tmp_path / "thing"
    whole = "Usage: thing [options] FILE\\n\\n  --one  the first\\n  --two  the second\\n  --three=N  the third\\n"
    short = f"Usage: thing [options] FILE\\n\\n  --one  the first\\n  --two  the second\\n\\nFor all: thing {named}\\n"
    file.write_text(f'#!/bin/sh\n[ "$*" = "{named}" ] && printf "{whole}" || printf "{short}"\n')
    file.chmod(0o700)
    [draft] = discover_program(str(file)).drafts
    assert {"one", "two", "three"} <= draft.input_schema["properties"].keys()


def test_a_help_that_only_speaks_of_all_is_asked_no_more() -> None:
    assert help_text.names_whole_help("  --help       all of it\n  --no-help all\n  --help-allow") == ""


BULLETS = r""".SH NAME
thing \- show the lines of files
.SH OPTIONS
.IP "\[ci]" 4
\fB\-\-slurp\fR/\fB\-s\fR:
.IP
Read all of it\.
.IP "\(bu" 4
\fB\-\-color\-output\fR / \fB\-C\fR and \fB\-\-monochrome\fR / \fB\-M\fR:
.IP
With colours or without\.
.IP "\[ci]" 4
\fB\-\-indent n\fR:
.IP
So many spaces\.
"""


def test_what_stands_behind_a_bullet_is_what_the_page_speaks_of() -> None:
    read = help_text.parse(_manuals.text_of(BULLETS), ("thing",))
    found = {one.flags: (one.form, one.text) for one in read.options}
    assert found[("-s", "--slurp")] == ("flag", "Read all of it.")
    assert ("-C", "--color-output") in found
    assert ("-M", "--monochrome") in found
    assert found[("--indent",)][0] == "value"


@pytest.mark.parametrize("says", ["Some of the options include:", "See the manpage for more options."])
def test_a_help_that_says_it_is_not_all_is_completed_by_its_page(installed: Any, says: str) -> None:
    options = "".join(f"  -{letter}  does {letter} now\\n" for letter in "sabc")
    body = f"printf 'Usage: thing [options] [file]\\n\\nShow files.\\n\\n{says}\\n{options}'"
    [draft] = discover_program(str(installed(body, man=BULLETS))).drafts
    assert {"slurp", "a", "indent", "monochrome"} <= draft.input_schema["properties"].keys()
    assert "s" not in draft.input_schema["properties"]
    assert draft.description.startswith("Show files.")

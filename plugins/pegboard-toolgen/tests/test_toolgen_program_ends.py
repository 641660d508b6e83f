"""What does not end by itself, and which exit statuses are answers, by the words of real manuals and their like."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard_toolgen.discover._program_drafts import draft_of
from pegboard_toolgen.discover._program_ends import (
    also_answers,
    endless_command,
    endless_option,
    one_is_answer,
    success_of,
)
from pegboard_toolgen.discover._program_parts import Command, Level, Parameter, Program
from pegboard_toolgen.drafts import Draft, LeftOut

HOST = (("--host",), "Bind socket to this host.")
CLIENT = (("-h", "--host"), "database server host or socket directory")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("ruff server", "Run the language server"),
        ("git daemon", "A really simple server for Git repositories"),
        ("datasette serve", "Serve up specified SQLite database files with a web UI"),
        ("mkdocs serve", "Run the builtin development server."),
        ("hugo server", "A high performance webserver"),
        ("celery worker", "Start worker instance."),
        ("sphinx-autobuild", "Build the documentation and watch for changes"),
        ("entr", "Watch files for changes and run tests"),
        ("docker stats", "Display a live stream of container(s) resource usage statistics"),
        ("x work", "Runs forever until interrupted"),
        ("x fs", "Monitor the file system for events"),
        ("x pull", "Wait for changes in the database"),
        ("gh edit", "Open the file in your editor"),
        ("lazy", "A simple terminal user interface for repositories"),
    ],
)
def test_what_serves_watches_or_waits_does_not_end(words: str, text: str) -> None:
    assert endless_command(words.split(), text)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("x query", "Run a query on the server"),
        ("gh server", "Show the server version"),
        ("x server", "Add a server to the list"),
        ("tsc build", "Build the project. Use --watch to watch for changes."),
        ("x tail", "Print the last lines"),
        ("diff", "Compare FILES line by line."),
        ("c test", "Run tests against a server"),
        ("gh watch", "Watch a run until it completes, showing its progress"),
        ("f status", "Check the status of the daemon"),
        ("git rebase", "Reapply commits on top of another base tip"),
        ("x lint", "Lint files; rebuild the cache when files change"),
        ("x listing", "Lists what changed"),
        ("x stop", "Stop the server"),
        ("x deploy", "Deploy the service to a server"),
    ],
)
def test_what_only_speaks_of_servers_and_changes_ends(words: str, text: str) -> None:
    assert endless_command(words.split(), text) is None


def test_what_binds_a_port_serves_unless_an_option_turns_that_on() -> None:
    assert endless_command(("uvicorn",), "", [HOST, (("--port",), "Bind socket to this port.")])
    assert endless_command(("x", "preview"), "Preview the project.", [(("--port", "-p"), "Preview port.")])
    assert endless_command(("x", "preview"), "Preview the project.", [(("--out",), "Where to.")]) is None
    assert endless_command(("x", "up"), "Brings it up.", [(("--port", "-p"), "Port to listen on")])
    assert endless_command(("psql",), "A terminal.", [CLIENT, (("--port",), "database server port")]) is None
    assert (
        endless_command(("wget",), "", [(("--bind-address",), "bind to ADDRESS (hostname or IP) on local host")])
        is None
    )
    assert endless_command(("pydoc",), "", [HOST, (("--serve",), "Start an HTTP server")]) is None


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ("-f --follow", "output appended data as the file grows"),
        ("--follow", "Follow log output"),
        ("-f", "Specify if the logs should be streamed."),
        ("-f --follow", "Show only the most recent entries, and continuously print new entries"),
        ("--watch", ""),
        ("-w --watch", "Run in watch mode by re-running whenever files change"),
        ("--poll", "Re-run tests each time a file changes"),
        ("--listen", "address"),
        ("--daemon", "Run as a daemon"),
        ("--web", "Start a web server"),
        ("--wait", "Keep running until interrupted"),
    ],
)
def test_an_option_that_never_ends_is_found(flags: str, text: str) -> None:
    assert endless_option(flags.split(), text)


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ("--follow", "Follow symbolic links"),
        ("--follow", "Continue listing the history of a file beyond renames (works only for a single file)."),
        ("--follow", "Follow 30x Location redirects."),
        ("-L --dereference", "always follow symbolic links in SOURCE"),
        ("--no-follow", "Do not follow symlinks"),
        ("--tail", "Number of lines to show from the end of the logs"),
        ("--changed", "Only run on files that changed"),
        ("--exit-code", "exit with 1 if there were differences"),
        ("--daemon", "Connect to the daemon at this host"),
        ("--keep-alive", "Seconds a connection is kept"),
        ("--server", "The server to ask"),
    ],
)
def test_an_option_that_ends_stays(flags: str, text: str) -> None:
    assert endless_option(flags.split(), text) is None


def made(text: str, *parameters: Parameter, name: str = "thing") -> Draft | LeftOut:
    return draft_of(
        Command(levels=(Level(word=None, parameters=parameters),), text=text), Program(id=name, name=name, kind="help")
    )


def test_an_option_that_never_ends_is_left_out_alone_and_its_command_only_where_it_is_required() -> None:
    follow = Parameter(
        name="follow", flags=("-f", "--follow"), form="flag", text="output appended data as the file grows"
    )
    lines = Parameter(name="lines", flags=("-n", "--lines"), text="how many")
    found = made("Print the end of files.", follow, lines)

    assert isinstance(found, Draft)
    assert list(found.input_schema["properties"]) == ["lines"]
    assert any("--follow" in note and "until it is ended" in note for note in found.notes)
    assert found.runs_code is None
    port = Parameter(name="listen", flags=("--listen",), text="where", required=True)
    only = made("Print what comes.", port)
    assert isinstance(only, Draft)
    assert only.runs_code == "it serves until it is ended"


@pytest.mark.parametrize(
    "text",
    [
        "Exit status is 0 if any line is selected, 1 otherwise;\nif any error occurs and -q is not given, the exit "
        "status is 2.",
        "Exit status is 0 if inputs are the same, 1 if different, 2 if trouble.",
        "If it finds a match, then the exit status of the program is 0. If no match could be found, then the exit "
        "status is 1. If an error occurred, then the exit status is always 2",
        "exits with 1 if there were differences and 0 means no differences",
        "Exit with code 1 if any issues are found",
    ],
)
def test_a_help_that_says_what_1_means_makes_it_an_answer(text: str) -> None:
    assert one_is_answer(text)
    assert success_of(("thing",), text) == (0, 1)


@pytest.mark.parametrize(
    "text",
    [
        "Exit status:\n 0  if OK,\n 1  if minor problems (e.g., cannot access subdirectory),\n 2  if serious trouble",
        "Exit with 0 on success, 1 otherwise.",
        "The exit status is 0 on success and 1 otherwise",
        "Exit code 1 when an error occurs",
        "exit with status 1 if the file is missing",
        "Exit on the first match; at most 1 line",
        "",
    ],
)
def test_a_help_that_says_that_1_is_trouble_or_nothing_makes_it_none(text: str) -> None:
    assert not one_is_answer(text)
    assert success_of(("thing",), text) is None


def test_what_is_known_and_what_an_option_says_counts() -> None:
    assert success_of(("grep",), "") == success_of(("ruff", "check"), "") == (0, 1)
    assert success_of(("git", "diff"), "") == (0, 1)
    assert success_of(("git", "push"), "") is None
    assert 1 not in (success_of(("pylint",), "") or ())
    said = 'Exit with status code "0", even upon detecting lint violations'
    assert success_of(("thing",), "", [(("--exit-zero",), said)]) == (0, 1)


def test_a_draft_says_which_statuses_are_answers_and_leaves_the_rest_to_what_is_written() -> None:
    known, guessed = made("Compare them.", name="diff"), made("Compare them.")
    assert isinstance(known, Draft)
    assert isinstance(guessed, Draft)
    assert known.binding["success"] == [0, 1]
    assert "success_with_output" not in known.binding
    assert guessed.binding["success_with_output"] == [1, 65]
    assert "success" not in guessed.binding


def test_an_option_that_gives_findings_another_status_makes_that_an_answer_too() -> None:
    strict = [(("--strict",), "return non-zero exit code on warnings as well as errors")]
    assert also_answers(strict, (0, 1)) == [2]
    assert also_answers(strict, ()) == [1, 2, 65]
    assert also_answers([(("--strict",), "end with an error")], ()) == [1, 65]


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_is_judged(one: str, other: str) -> None:
    endless_command(("thing",), one, [((f"--{other[:20]}",), other)])
    endless_option((f"--{other[:20]}",), one)
    success_of(("thing",), one, [(("--x",), other)])

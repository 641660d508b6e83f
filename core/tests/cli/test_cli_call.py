"""`call`: one call from the command line."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio
import trio.testing

from pegboard import CallContext


def test_the_text_goes_to_stdout_and_nothing_else(run, tools):
    answer = run("call", "add", "a=1", "b=2")
    assert (answer.status, answer.out, answer.err) == (0, "3.0\n", "")


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (["value=6"], "6\n"),
        (["value=ab", "times=2"], "abab\n"),
        (["value=ab", "loud=true"], "ab!\n"),
        (['value:="x=y"', "times:=2"], "x=yx=y\n"),
        (["value=a=b"], "a=b\n"),
        (["--args", '{"value": "q"}'], "q\n"),
        (["--args", '{"value": "q", "times": 3}', "times=1"], "q\n"),
    ],
)
def test_arguments_are_read_by_the_schema(run, tools, words, out):
    answer = run("call", "echo", *words)
    assert (answer.status, answer.out) == (0, out), answer.err


@pytest.mark.parametrize("words", [["value=a\udcff"], ["a\udcff"], ["times=\udcff", "value=a"]])
def test_bytes_of_the_shell_that_are_no_text_are_refused_and_not_dropped(run, tools, words):
    answer = run("call", "echo", *words)
    assert (answer.status, answer.out) == (2, "")
    assert "it is not valid UTF-8" in answer.err


def test_arguments_come_from_a_file_or_stdin(run, tools, tmp_path):
    (tmp_path / "a.json").write_text('{"value": "file"}')
    assert run("call", "echo", "--args", f"@{tmp_path}/a.json").out == "file\n"
    assert run("call", "echo", "--args", "-", input='{"value": "pipe"}').out == "pipe\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["value", "more"], "'value' is not an argument; write KEY=VALUE or KEY:=JSON"),
        (["=1"], "is not an argument"),
        ([":=1"], "is not an argument"),
        (["value:=nope"], "value: not valid JSON"),
        (["value=1", "value=2"], "given twice"),
        (["--args", "[1]"], "--args: expected a JSON object"),
        (["--args", "{"], "--args: not valid JSON"),
        (["--args", "@/no/such/file"], "cannot be read: No such file"),
        (["--args", "@\x00"], "cannot be read"),
        (["--nope"], "No such option"),
    ],
)
def test_wrong_usage_is_exit_2_and_one_line(run, tools, words, said):
    answer = run("call", "echo", *words)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("error: ")
    assert said in answer.err
    assert "hint: pegboard" in answer.err
    assert len(answer.err.splitlines()) == 2


def test_wrong_arguments_are_the_tools_error_with_every_fault(run, tools):
    answer = run("call", "add", "a=x", "c=1")
    assert (answer.status, answer.out) == (1, "")
    assert answer.err.startswith("error: INVALID_INPUT: ")
    assert "a: expected" in answer.err
    assert "c: expected" in answer.err
    assert "hint: pegboard show add" in answer.err


def test_an_unknown_tool_is_not_found_with_a_near_name(run, tools):
    answer = run("call", "ad", "a=1")
    assert answer.status == 1
    assert answer.err == "error: NOT_FOUND: there is no tool 'ad'; did you mean 'add'?\n"
    assert "hint: pegboard list" in run("call", "unicorn").err


def test_a_call_of_a_tool_that_is_not_on_the_board_points_to_doctor(run, tools, tmp_path):
    (tmp_path / "c.toml").write_text('[tools.add]\nfrom = "pegboard-elsewhere"\n')
    away = run("--config", str(tmp_path / "c.toml"), "call", "add", "a=1")
    assert away.status == 1
    assert "hint: pegboard-test-kit brings it, and it is not on the board: [tools.add] takes it from" in away.err
    tools.install("broken", "raise ImportError('no such thing')")
    assert "pegboard doctor says why" in run("call", "unicorn", plugins=None).err


def test_what_a_tool_does_not_find_is_no_reason_to_look_at_the_list_of_tools(run, tools):
    assert run("call", "fetch").err == "error: NOT_FOUND: there is no such letter\n"


def test_a_failing_tool_shows_its_cause_with_debug_only(run, tools):
    answer = run("call", "fail")
    assert answer.status == 1
    assert "INTERNAL_ERROR" in answer.err
    assert "/secret/place" not in answer.err
    assert "--debug" in answer.err
    assert "/secret/place is gone" in run("--debug", "call", "fail").err


def test_json_is_the_whole_result_and_keeps_the_status(run, tools):
    answer = run("call", "add", "a=1", "--json")
    assert answer.json["data"] == {"result": 11.0}
    assert answer.json["ok"] is True
    failed = run("call", "nope", "--json")
    assert (failed.status, failed.json["error"]["code"], failed.err) == (1, "NOT_FOUND", "")


def test_what_is_not_text_is_named_with_type_and_size(run, tools):
    assert run("call", "picture").out == "a dot\n[image/png, 4 bytes]\n"


def test_other_content_is_named_too():
    from pegboard import BinaryContent
    from pegboard.cli._call import _shown

    assert _shown(BinaryContent(None, "text/csv", "file:///t.csv", "t")) == "[t, file:///t.csv, text/csv, a link]"


def test_data_without_text_is_shown_as_json(run, tools):
    answer = run("call", "silent")
    assert answer.status == 0
    assert '"a"' in answer.out


def test_repairs_are_noted_on_stderr(run, tools):
    answer = run("call", "add", "--args", '{"a": "1"}')
    assert (answer.status, answer.out) == (0, "11.0\n")
    assert "note: repaired" in answer.err


def test_who_calls_is_said_by_the_option_or_the_configuration(run, tools, tmp_path):
    (tmp_path / "c.toml").write_text('user_id = "ada"\n')
    config = ("--config", str(tmp_path / "c.toml"))
    assert run("call", "who").out == "None on cli\n"
    assert run("call", "who", "--user", "bob").out == "bob on cli\n"
    assert run(*config, "call", "who").out == "ada on cli\n"
    assert run(*config, "call", "who", "--user", " ").out == "None on cli\n"


def test_confirmation_needs_a_person_or_yes(run, tools):
    answer = run("call", "wipe", "disk=c")
    assert answer.status == 1
    assert "FORBIDDEN" in answer.err
    assert "--yes" in answer.err
    assert run("call", "wipe", "disk=c", "--yes").out == "wiped c\n"


def test_dry_run_says_what_would_be_met_and_runs_nothing(run, tools):
    answer = run("call", "wipe", "disk=c", "--dry-run", "--yes")
    assert answer.status == 0
    assert "Really wipe it?" in answer.out
    assert "wiped" not in answer.out
    refused = run("call", "wipe", "disk=c", "--dry-run")
    assert refused.status == 1
    assert run("call", "wipe", "--dry-run").status == 1


def test_rate_limits_say_when_to_come_back():
    from pegboard import ToolError, ToolResult, load_board
    from pegboard.cli._call import _tell

    _tell(ToolResult.of_error(ToolError("RATE_LIMITED", "slow down", retry_after_s=3)), load_board({}, []))


def test_two_runs_of_one_user_share_a_cooldown(run, tools, tmp_path, monkeypatch):
    """By default, and with `batch`; `--dry-run` foresees it; whoever wants each to count alone says so."""
    monkeypatch.setenv("TEST_KEY", "a key")
    assert run("call", "rare", "--user", "ada", "--dry-run").status == 0
    assert run("call", "rare", "--user", "ada").out == "now\n"
    again = run("call", "rare", "--user", "ada", "--json")
    assert again.json["error"]["details"]["reason"] == "cooldown"
    (line,) = run("batch", input='{"name": "rare", "user_id": "ada"}\n').lines
    assert line["error"]["details"]["reason"] == "cooldown"
    assert run("call", "rare", "--user", "ada", "--dry-run").status == 1
    assert run("call", "rare", "--user", "bob").status == 0
    (tmp_path / "alone.toml").write_text('[core]\nlimit_store = "memory"\n')
    for _ in range(2):
        assert run("--config", str(tmp_path / "alone.toml"), "call", "rare", "--user", "ada").status == 0


@pytest.mark.parametrize(("words", "counts"), [(["add", "a=1"], False), (["rare"], True)])
def test_only_a_tool_with_a_limit_imports_the_database_and_makes_its_file(tools, tmp_path, words, counts):
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    command = [sys.executable, "-X", "importtime", "-m", "pegboard", "--plugin", "kit", "call", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert [f"{name}\n" in done.stderr for name in ("sqlite3", "pegboard.limit_stores.shared")] == [counts, counts]
    assert bool(list(tmp_path.rglob("limits.sqlite"))) is counts


def test_read_only_refuses_before_anything_runs(run, tools):
    answer = run("--read-only", "call", "echo", "value=1")
    assert answer.status == 1
    assert "read-only mode" in answer.err


def test_the_audit_goes_to_a_file_or_stderr(run, tools, tmp_path):
    run("--log-json", str(tmp_path / "audit"), "call", "add", "a=1")
    assert '"tool": "add"' in (tmp_path / "audit").read_text()
    answer = run("--log-json", "-", "call", "add", "a=1")
    assert answer.out == "11.0\n"
    assert '"tool": "add"' in answer.err


def typing(*lines: bytes) -> Callable[[], Awaitable[str]]:
    """A person who types these."""
    left = iter(lines)

    async def read() -> str:
        return next(left).decode()

    return read


@pytest.mark.parametrize(("typed", "status"), [(b"y\n", 0), (b"Yes\n", 0), (b"no\n", 1), (b"", 1)])
def test_a_person_answers_at_the_terminal(run, tools, monkeypatch, typed, status):
    from pegboard.cli import _call, _person

    monkeypatch.setattr(_call, "has_person", lambda: True)
    monkeypatch.setattr(_person, "read_typed_line", typing(typed))
    answer = run("call", "wipe", "disk=c\x1b[1m")
    assert answer.status == status
    assert answer.err.startswith('Really wipe it? [wipe of pegboard-test-kit] {"disk": "c\\u001b[1m"} (y/N) ')


async def test_what_a_person_types_is_read_when_it_is_there_and_by_nobody_who_gave_up(monkeypatch):
    import os
    import sys

    from pegboard.cli import _person

    reading, writing = os.pipe()
    with os.fdopen(reading) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        with trio.move_on_after(0.01) as given_up:
            await _person.read_typed_line()
        assert given_up.cancelled_caught
        os.write(writing, b"y\n")
        assert await _person.read_typed_line() == "y\n"
        os.close(writing)
        assert await _person.read_typed_line() == ""


async def test_two_who_ask_at_once_are_asked_for_one_after_the_other(monkeypatch, capsys):
    from pegboard import open_host, tool
    from pegboard.cli import _person

    @tool
    async def ask_twice(context: CallContext) -> list[bool]:
        """Ask two things at once."""
        said = []

        async def ask(question: str) -> None:
            said.append(await context.confirm(question))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, "First?")
            nursery.start_soon(ask, "Second?")
        return said

    asking = 0

    async def typed() -> str:
        nonlocal asking
        asking += 1
        assert asking == 1
        await trio.testing.wait_all_tasks_blocked()
        asking -= 1
        return "y\n"

    monkeypatch.setattr(_person, "read_typed_line", typed)
    async with open_host({}, []) as host:
        host.add(ask_twice)
        result = await host.session(confirm=_person.ask_person).call("ask_twice")
    assert result.data == {"result": [True, True]}
    assert capsys.readouterr().err.count("(y/N)") == 2


def test_progress_is_shown_to_a_person(run, tools, monkeypatch):
    from pegboard.cli import _call

    monkeypatch.setattr(_call, "is_terminal", lambda stream: True)
    assert run("call", "picture").err == "1 of 2 half\n"


def test_a_result_without_anything_prints_nothing(capfd):
    from pegboard import ToolResult
    from pegboard.cli._call import _show

    _show(ToolResult.empty())
    assert capfd.readouterr().out == ""


def test_a_stdin_that_is_closed_holds_no_arguments(monkeypatch):
    import sys

    import click

    from pegboard.cli import _call

    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(click.UsageError, match="stdin is closed"):
        _call._read_base("-")


def test_an_audit_that_cannot_be_written_is_said_and_the_call_answers(run, tools):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    answer = run("--log-json", "/dev/full", "call", "add", "a=1")
    assert (answer.status, answer.out) == (0, "11.0\n")
    assert answer.err == (
        "warning: the audit could not be written: OSError (No space left on device); calls go on\n"
        "warning: calls that are missing in the audit: 1\n"
    )


FORM = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "title": "Size", "description": "in boxes"},
        "colour": {"type": "string", "enum": ["red", "blue"]},
    },
    "required": ["size"],
}


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ([b"three\n", b"3\n", b"red\n", b"y\n"], {"size": 3, "colour": "red"}),
        ([b"3\n", b"\n", b"yes\n"], {"size": 3}),
        ([b"3\n", b"\n", b"no\n"], False),
        ([b"x\n", b"y\n", b"z\n"], None),
    ],
)
async def test_a_person_fills_in_a_form_at_the_terminal(monkeypatch, capsys, typed, answer):
    from pegboard import open_host, tool
    from pegboard.cli import _person

    @tool
    def pack() -> str:
        """Pack a box."""
        return "packed"

    monkeypatch.setattr(_person, "read_typed_line", typing(*typed))
    async with open_host({}, []) as host:
        session = host.session(confirm=_person.ask_person)
        assert await session.elicit(pack, "How shall it be packed?", schema=FORM) == answer
    assert "Size - in boxes: " in capsys.readouterr().err


async def test_a_person_says_that_they_visited_an_address(monkeypatch, capsys):
    from pegboard import open_host, tool
    from pegboard.cli import _person

    @tool
    def pay() -> str:
        """Pay."""
        return "paid"

    monkeypatch.setattr(_person, "read_typed_line", typing(b"y\n"))
    async with open_host({}, []) as host:
        session = host.session(confirm=_person.ask_person)
        assert await session.elicit(pay, "Log in.", url="https://example.org/login\x1b[1m") is True
        assert await host.session(confirm=_person.say_yes).elicit(pay, "Log in.", url="https://example.org/") is False
    assert "https://example.org/login\\x1b[1m" in capsys.readouterr().err


DOWN = """
    from pegboard import hookimpl

    class Source:
        name = "far"
        timeout_s = None

        async def run(self, slot):
            raise OSError("nobody is at home\\x1b[1m")

    @hookimpl
    def provide_sources():
        return [Source()]
"""


def test_who_misses_a_tool_is_told_of_a_source_that_is_down(run, site):
    site.install("flow", DOWN)
    answer = run("call", "late", plugins=("flow",))
    assert answer.status == 1
    assert "NOT_FOUND: there is no tool 'late'" in answer.err
    assert "The source 'far' may bring it (backing_off for 0 s): it crashed (OSError)" in answer.err
    assert "hint: the source far is down, and may have it: OSError: nobody is at home" in answer.err
    assert "\x1b" not in answer.err


def test_a_list_says_which_source_offers_nothing(run, site):
    site.install("flow", DOWN)
    answer = run("list", plugins=("flow",))
    assert answer.status == 0
    assert "warning: the source far offers nothing: OSError: nobody is at home" in answer.err


def test_a_list_waits_for_a_source_that_nobody_knows_yet_and_stops_it_again(run, site):
    site.install(
        "flow",
        """
        import trio
        from pegboard import hookimpl, tool

        @tool
        async def late() -> str:
            "From a source."
            return "here"

        class Source:
            name = "far"
            timeout_s = None

            async def run(self, slot):
                slot.replace([late])
                await trio.sleep_forever()

        @hookimpl
        def provide_sources():
            return [Source()]
    """,
    )
    (only,) = run("list", "--json", plugins=("flow",)).json
    assert (only["name"], only["state"], only["origin"]["source"]) == ("late", "known", "far")
    assert run("show", "late", "--json", plugins=("flow",)).json["state"] == "known"
    assert [one["name"] for one in run("export", "--to", "json", plugins=("flow",)).json] == ["late"]


def test_record_adds_what_a_tool_answers_and_a_replay_runs_nothing(run, tools, tmp_path):
    file = tmp_path / "said.json"
    assert run("call", "add", "a=1", "b=2", "--record", str(file)).out == "3.0\n"
    assert run("call", "fail", "--record", str(file)).status == 1
    lines = '{"name": "add", "arguments": {"b": 3, "a": 1}}\n{"name": "add", "arguments": {"a": "x"}}\n'
    assert run("batch", "--record", str(file), input=lines).status == 1
    calls = json.loads(file.read_text())["calls"]
    assert [(one["name"], one["arguments"], len(one["results"])) for one in calls] == [
        ("add", {"a": 1, "b": 2}, 1), ("add", {"a": 1, "b": 3}, 1), ("fail", {}, 1),
    ]  # fmt: skip
    (tmp_path / "pegboard.toml").write_text(f'[plugins.record]\nfile = "{file}"\nmode = "replay"\n')
    replay = ("--config", str(tmp_path / "pegboard.toml"))
    assert run(*replay, "call", "add", "a=1", "b=2").out == "3.0\n"
    missing = run(*replay, "call", "add", "a=2", "b=2")
    assert missing.status == 1
    assert 'recorded of this tool: {"a":1,"b":2}; {"a":1,"b":3}' in missing.err
    assert "no tool runs: calls are answered from" in run(*replay, "doctor").out


@pytest.mark.parametrize("command", [["call", "add", "a=1"], ["batch"]])
def test_a_recording_that_cannot_be_written_is_said_before_anything_runs(run, tools, tmp_path, command):
    result = run(*command, "--record", str(tmp_path / "no" / "said.json"), input="")
    assert result.status == 2
    assert result.out == ""
    assert "cannot be written: No such file or directory\nhint: name a file" in result.err


@pytest.mark.parametrize("command", [["call", "add", "a=1", "b=2"], ["batch"]])
def test_a_recording_that_is_not_there_in_the_end_is_said_beside_the_answer(run, tools, tmp_path, command, monkeypatch):
    from pegboard.testing import recording

    put, file = recording.replace_file, tmp_path / "said.json"

    def disk_is_full(path, content):
        if file.exists():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        put(path, content)

    monkeypatch.setattr(recording, "replace_file", disk_is_full)
    result = run(*command, "--record", str(file), input='{"name": "add", "arguments": {"a": 1, "b": 2}}\n')
    assert result.status == 2
    assert "3.0" in result.out
    assert "said.json cannot be written: No space left on device" in result.err

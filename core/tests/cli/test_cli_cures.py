"""Every error that a person meets at the program says what is wrong and what to do."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from pegboard import ConfigError, PluginError, load_board

CASES = {
    "no dialect": (["export"], "'--to': one of json, text", "pegboard export --to json"),
    "a dialect of a package": (["export", "--to", "anthropic"], "pegboard-anthropic", "pip install pegboard-anthropic"),
    "a dialect of no package": (["export", "--to", "klingon"], "on the board: json, text", "pegboard-openai"),
    "nearly a dialect": (["export", "--to", "jsn"], "there is no dialect 'jsn'", "did you mean json?"),
    "install": (["install", "pegboard-dice"], "there is no command 'install'", "pip install pegboard-dice"),
    "upgrade": (["upgrade", "x"], "there is no command", "pip install --upgrade x"),
    "uninstall": (["uninstall", "x"], "there is no command", "pip uninstall x"),
    "search": (["search", "add"], "there is no command", "pegboard list --search add"),
    "version": (["version"], "there is no command", "pegboard --version"),
    "help": (["help"], "there is no command", "pegboard --help"),
    "run": (["run", "add"], "there is no command", "pegboard call add"),
    "info": (["info"], "there is no command", "pegboard show NAME"),
    "ls": (["ls"], "there is no command", "pegboard list"),
    "a tool": (["add_async"], "there is no command 'add_async'", "it is a tool: pegboard call add_async"),
    "nearly a command": (["docter"], "there is no command 'docter'", "did you mean doctor?"),
    "a command of a package": (["serve"], "comes with pegboard-mcp", "pegboard-mcp|--plugin mcp"),
    "a configuration that is not there": (["--config", "no.toml", "list"], "no.toml cannot be read", "name a file"),
    "a file to trust that is not there": (["trust", "no.toml"], "no.toml cannot be read", "name a file"),
    "nothing to trust": (["trust"], "no configuration is found", "pegboard trust FILE"),
    "a batch that is not there": (["batch", "no.jsonl"], "no.jsonl cannot be read", "pegboard batch --help"),
    "no tool": (["show", "ad"], "there is no tool 'ad'", "did you mean add"),
    "no tool at all": (["call"], "Missing argument 'NAME'", "pegboard call --help"),
    "no plugin": (["--plugin", "nope", "list"], "no plugin 'nope' is installed", "there are: "),
    "a name that is not valid": (["new", "plugin", "1x"], "'1x' is not a name", "small letters"),
    "an option of the program": (
        ["call", "add", "--profile", "x"],
        "No such option '--profile' of call",
        "--profile ... call",
    ),
    "an option of the program below a group": (
        ["new", "plugin", "--config", "x"],
        "of new plugin",
        "--config ... new plugin",
    ),
    "an option": (["list", "--nope"], "No such option", "pegboard list --help"),
    "no profile": (["--profile", "nope", "list"], "a profile that is configured", "."),
}


@pytest.mark.parametrize("case", CASES)
def test_an_error_has_its_cause_and_its_cure(run, tools, case):
    words, cause, cure = CASES[case]
    answer = run(*words)
    assert answer.status == 2, answer.err
    assert answer.out == ""
    head, *rest = answer.err.splitlines()
    assert head.startswith("error: ")
    assert cause in head
    said = rest[0] if rest else head[head.index("(") :]  # of a fault of the configuration it stands in the line
    assert rest == [] or said.startswith("hint: ")
    assert any(one in said for one in cure.split("|")), said


def test_what_is_not_a_command_is_said_where_no_board_loads_too(run, tools):
    Path("pegboard.toml").write_text("nonsense = 1\n")
    assert "pip install x" in run("install", "x").err


def test_a_file_of_servers_that_is_not_there_is_named(run, tools):
    pytest.importorskip("pegboard_mcp", reason="pegboard-mcp is not installed here")
    answer = run("--mcp-config", "no.json", "list", plugins=("mcp",))
    assert answer.status == 2
    said = "--mcp-config: expected a file of MCP servers, in JSON, got no.json: no such file or directory"
    assert said in answer.err


def test_trust_is_asked_for_in_one_sentence(run, tools):
    Path("pegboard.toml").write_text('observe = ["rate_limit"]\n')
    answer = run("list")
    assert answer.status == 2
    file = Path("pegboard.toml").resolve()
    assert answer.err.splitlines() == [
        f"error: {file} is not trusted, so it may not yet say observe",
        f"hint: look at the file, then accept it as it stands: pegboard trust {file}",
    ]


BROKEN = {
    "module": ("import no_such_module\n", ":1", "install what brings the module 'no_such_module'"),
    "module in a hook": (
        "from pegboard import hookimpl\n@hookimpl\ndef provide_tools():\n    import no_such_module\n",
        ":4",
        "install what brings the module 'no_such_module'",
    ),
    "syntax": ("from pegboard import hookimpl\ndef f(:\n", ":2", "repair "),
    "raises": ("x = 1\nraise ValueError('no')\n", ":2", "repair "),
    "a tool that cannot be one": (
        "from pegboard import hookimpl, tool\n@hookimpl\ndef provide_tools():\n"
        "    @tool\n    def f(*args):\n        ...\n    return [f]\n",
        ":4",
        "",
    ),
}


@pytest.mark.parametrize("how", BROKEN)
def test_doctor_names_the_line_and_the_module_of_a_broken_plugin(run, site, how):
    source, line, cure = BROKEN[how]
    site.install("mine", source)
    found = [one for one in run("doctor", "--json", plugins=None).json if "mine" in one["where"]]
    assert len(found) == 1
    assert f"pegboard_test_mine.py{line}" in found[0]["fix"]
    assert cure in found[0]["fix"]
    assert "--upgrade" not in found[0]["fix"]
    assert str(site.folder) not in found[0]["why"]


def test_batch_names_one_line(run, tools):
    answer = run("batch", input='{"name": "add"}\n\n{"name": "add", \n')
    said = answer.lines[1]["error"]["message"]
    assert said.startswith("line 3 is not a valid call: not valid JSON")
    assert said.count("line") == 1
    assert answer.lines[1]["error"]["details"]["line"] == 3


@pytest.mark.parametrize("problem", [PluginError("broken", hint="repair it"), ConfigError("wrong", hint="repair it")])
def test_a_traceback_shows_the_hint(problem):
    assert "hint: repair it" in "".join(traceback.format_exception(problem))
    assert "hint" not in str(problem)


def test_a_traceback_of_the_library_shows_the_hint():
    with pytest.raises(ConfigError) as caught:
        load_board({}, []).export("anthropic")
    assert "hint: pip install pegboard-anthropic" in "".join(traceback.format_exception(caught.value))


FAILING = """
import trio
from pegboard import ToolError, hookimpl, tool

@hookimpl
def provide_tools():
    @tool
    async def upstream() -> str:
        "Fail as a server does."
        raise ToolError("UPSTREAM_ERROR", "Failed to fetch")

    @tool(timeout_s=0.05)
    async def slow() -> str:
        "Never end."
        await trio.sleep_forever()

    return [upstream, slow]
"""


@pytest.mark.parametrize(
    ("tool", "cause", "cure"),
    [
        ("upstream", "UPSTREAM_ERROR: Failed to fetch", "hint: pegboard doctor may say why"),
        ("slow", "it is not known whether it was done", "hint: [tools.slow] timeout_s = SECONDS"),
    ],
)
def test_a_call_that_fails_says_what_to_do(run, site, tool, cause, cure):
    site.install("failing", FAILING)
    answer = run("call", tool, plugins=("failing",))
    assert answer.status == 1
    head, hint = answer.err.splitlines()
    assert cause in head
    assert hint.startswith(cure)

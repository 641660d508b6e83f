"""Wherever the program takes a name: a near miss is told the name that was meant, and rubbish is told what there is."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

RUBBISH = ("nope", "zqxv", "nosuchthing", "q", "x" * 300, "no\nsuch", "\x1b[31mred")


def _needs(*modules):
    missing = [one for one in modules if importlib.util.find_spec(one) is None]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} not installed here")


CHAT, MCP, TOOLGEN = _needs("pegboard_chat"), _needs("pegboard_mcp"), _needs("pegboard_toolgen")

# words with `{}` for the name; a near miss; what is meant; what is said of rubbish; the plugins.
INTERFACES = {
    "--plugin": (["--plugin", "{}", "list"], "kti", "'kit'", "there are: "),
    "--profile": (["--profile", "{}", "list"], "raeder", "'reader'", "there are: reader"),
    "PROFILE in the environment": (["list"], "raeder", "'reader'", "there are: reader"),
    "--to": (["export", "--to", "{}"], "jsno", "json", "on the board: json, text"),
    "export NAME": (["export", "--to", "json", "{}"], "ehco", "echo", "pegboard list"),
    "a command": (["{}"], "lsit", "list", "pegboard --help"),
    "a command of a group": (["new", "{}"], "plugn", "plugin", "there are: plugin"),
    "an option": (["list", "--{}"], "jsn", "--json", "pegboard list --help"),
    "show NAME": (["show", "{}"], "ehco", "echo", "pegboard list"),
    "call NAME": (["call", "{}"], "ehco", "'echo'", "pegboard list"),
    "check NAME": (["check", "{}"], "pegboard-test-kti", "pegboard-test-kit", "pip install it"),
    "check PLUGIN": (["check", "{}"], "kit", "pegboard-test-kit", "pip install it"),
    "chat --model": (["chat", "--model", "{}", "hi"], "ehco", "echo", "providers: echo", CHAT, "chat"),
    "chat --tool": (["chat", "--model", "echo", "--tool", "{}", "hi"], "ehco", "echo", "pegboard list", CHAT, "chat"),
    "eval --model": (["eval", "eval.json", "--model", "{}"], "ehco", "echo", "providers: echo", CHAT, "chat"),
    "eval --only": (["eval", "eval.json", "--model=echo", "--only", "{}"], "frist", "first", "there are", CHAT, "chat"),
    "lock NAME": (["lock", "--accept", "{}"], "ehco", "echo", "pegboard list", MCP, "mcp"),
    "config COMMAND": (["config", "{}"], "imprt", "import", "there are: import", MCP, "mcp"),
    "config import NAME": (["config", "import", "servers.json", "{}"], "fiels", "'files'", "are: files", MCP, "mcp"),
    "serve --transport": (["serve", "--transport", "{}"], "htpp", "'http'", "'websocket'", MCP, "mcp"),
    "connect PROGRAM": (["connect", "{}"], "vscod", "'vscode'", "'cursor'", MCP, "mcp"),
    "toolgen COMMAND": (["toolgen", "{}"], "biuld", "build", "there are: build", TOOLGEN, "toolgen"),
    "toolgen --library": (["toolgen", "init", "--library={}"], "clikc", "click", "install|named", TOOLGEN, "toolgen"),
    "toolgen --with": (["toolgen", "init", "--with={}"], "test", "'tests'", "are: adapters", TOOLGEN, "toolgen"),
    "toolgen build --with": (["toolgen", "build", "--with=utcp,{}"], "mpcb", "'mcpb'", "server", TOOLGEN, "toolgen"),
    "toolgen --type": (["toolgen", "init", "--type", "{}"], "libary", "'library'", "'program'", TOOLGEN, "toolgen"),
    "toolgen --runtime": (["toolgen", "init", "--runtime", "{}"], "pyton", "'python'", "'python'", TOOLGEN, "toolgen"),
}  # fmt: skip
NO_ERROR_STREAM = {"check NAME", "check PLUGIN"}


def _cases():
    for interface, (words, near, meant, there, *more) in INTERFACES.items():
        marks, plugins = (more[:1], ("kit", *more[1:])) if more else ((), None)
        yield pytest.param(interface, words, near, meant, there, plugins, id=interface, marks=marks)


@pytest.fixture
def say(run, tools, monkeypatch):
    Path("pegboard.toml").write_text("[profiles.reader]\ntags = []\n")
    Path("servers.json").write_text(json.dumps({"mcpServers": {"files": {"command": "true"}}}))
    Path("eval.json").write_text(json.dumps({"questions": [{"id": "first", "question": "hi", "calls": []}]}))

    def say(interface, words, name, plugins):
        if interface.startswith("PROFILE"):
            monkeypatch.setenv("PEGBOARD_PROFILE", name)
        told = [word.format(name) for word in words]
        answer = run(*told, plugins=None if "--plugin" in told else plugins or ("kit",))
        assert answer.status in (1, 2), answer
        said = answer.out if interface in NO_ERROR_STREAM else answer.err
        assert "Traceback" not in said
        return said

    return say


@pytest.mark.parametrize(("interface", "words", "near", "meant", "there", "plugins"), [*_cases()])
def test_a_near_miss_is_told_what_was_meant(say, interface, words, near, meant, there, plugins):
    said = say(interface, words, near, plugins)
    assert meant in said
    if " is not one of " not in said:  # click lists the few choices, all of them
        assert f"did you mean {meant}" in said


@pytest.mark.parametrize(("interface", "words", "near", "meant", "there", "plugins"), [*_cases()])
@pytest.mark.parametrize("rubbish", RUBBISH)
@pytest.mark.unmeasured
def test_rubbish_is_told_what_there_is(say, interface, words, near, meant, there, plugins, rubbish):
    said = say(interface, words, rubbish, plugins)
    assert "did you mean" not in said.lower()
    assert any(one in said for one in there.split("|"))
    assert len(said) < 1_500
    assert "\x1b" not in said

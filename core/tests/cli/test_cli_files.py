"""Wherever the program takes a file: one that is not there, is a folder, may not be read, is not UTF-8 or is broken is
told in one line that names it as it was written, and says what was expected."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import pytest

from pegboard.config import _files


def _needs(module):
    return pytest.mark.skipif(importlib.util.find_spec(module) is None, reason=f"{module} is not installed here")


WRONG = {
    "missing": None,
    "a folder": None,
    "unreadable": b"",
    "not UTF-8": b"\xff\xfe\x00bad",
    "broken": b'{"a": \n',
    "a pipe": None,
}
ALL = tuple(WRONG)
TEXT = (*ALL[:4], "a pipe")
"""What is wrong with a file that need be nothing but text."""
WRITABLE = ("behind a file", "a folder", "a pipe")
"""What is wrong with a file that is to be written."""

RECORDED = (*ALL[1:], *WRITABLE[:1])
FOLDER = ("missing", "a file", "a pipe")
"""What is wrong with a file that is read and written, and with a folder."""

# words with `{}` for the file; how the file is called; what was expected; what may be wrong with it; the plugin
INTERFACES = {
    "--config": (["--config", "{}", "list"], "my.toml", "TOML|a file that is there", ALL),
    "--config yaml": (["--config", "{}", "list"], "my.yaml", "YAML|a file that is there", ALL),
    "PEGBOARD_CONFIG": (["list"], "my.toml", "TOML|a file that is there", ALL),
    "trust": (["trust", "{}"], "my.toml", "TOML|a file that is there", ALL),
    "trust found": (["trust", "{}"], "pegboard.toml", "TOML|a file that is there", ALL),
    "--log-json": (["--log-json", "{}", "call", "add", "a=1"], "log.json", "can be appended|where a folder", WRITABLE),
    "batch": (["batch", "{}"], "calls.jsonl", "one call a line", ("missing", "unreadable", "a pipe")),
    "call --record": (["call", "add", "a=1", "--record", "{}"], "r.json", "name another|where a folder", RECORDED),
    "call --args": (["call", "add", "--args", "@{}"], "a.json", "cannot be read|holds no arguments", ALL),
    "new --in": (["new", "plugin", "my", "--in", "{}"], "x", "you may write|where a folder", (*WRITABLE[:1], "a file")),
    "--mcp-config": (["--mcp-config", "{}", "list"], "s.json", "a file of MCP servers, in JSON", ALL, "mcp"),
    "config import": (["config", "import", "{}"], "s.json", "a file of MCP servers, in JSON", ALL, "mcp"),
    "import --to": (["config", "import", "good.json", "--to", "{}"], "to.toml", "left as it is", ALL[1:], "mcp"),
    "env_file": (["--config", "env.toml", "list"], ".env", "a file", TEXT, "mcp"),
    "chat --load": (["chat", "--model=echo", "--load", "{}", "hi"], "c.json", "--save wrote", ALL, "chat"),
    "chat --attach": (["chat", "--model=echo", "--attach", "{}", "hi"], "a.txt", "attach|UTF-8", TEXT, "chat"),
    "chat --save": (["chat", "--model=echo", "--save", "{}", "hi"], "c.json", "name a|the folder", WRITABLE, "chat"),
    "eval": (["eval", "{}", "--model=echo"], "e.json", "JSON|a file that is there|no file", ALL, "chat"),
    "toolgen PROJECT": (["toolgen", "init", "{}"], "project", "folder of a project", FOLDER, "toolgen"),
    "toolgen --out": (["toolgen", "init", "--library=click", "--out", "{}"], "to", "--out", ("a file",), "toolgen"),
    "toolgen --openapi": (["toolgen", "init", "--openapi", "{}"], "api.json", "OpenAPI|valid", ALL, "toolgen"),
    "toolgen check": (["toolgen", "check", "{}"], "to", "folder", ("missing", "a file"), "toolgen"),
}  # fmt: skip


def _cases():
    for interface, (words, name, expected, wrong, *more) in INTERFACES.items():
        marks = [_needs(f"pegboard_{plugin}") for plugin in more]
        for how in wrong:
            yield pytest.param(
                interface, words, name, expected, how, ("kit", *more), id=f"{interface}, {how}", marks=marks
            )


def _make(name, how):
    """The file as a person writes it, wrong in this way."""
    path = Path("in") / name
    path.parent.mkdir()
    if how == "a folder":
        path.mkdir()
    elif how == "behind a file":
        path.write_text("")
        path /= "deeper"
    elif how == "a pipe":
        os.mkfifo(path)
    elif how == "a file":
        path.write_text("")
    elif how != "missing":
        path.write_bytes(WRONG[how])
    if how == "unreadable":
        if os.geteuid() == 0:
            pytest.skip("root may read everything")
        path.chmod(0)
    return str(path)


@pytest.mark.parametrize(("interface", "words", "name", "expected", "how", "plugins"), [*_cases()])
def test_a_wrong_file_is_named_as_it_was_written(
    run, tools, monkeypatch, interface, words, name, expected, how, plugins
):
    monkeypatch.setattr(_files, "PIPE_S", 0.01)
    written = _make(name, how)
    if interface == "PEGBOARD_CONFIG":
        monkeypatch.setenv("PEGBOARD_CONFIG", written)
    Path("env.toml").write_text(f'[plugins.mcp.servers.x]\ncommand = "true"\nenv_file = "{written}"\n')
    Path("good.json").write_text(json.dumps({"mcpServers": {"x": {"command": "true"}}}))
    answer = run(*[word.format(written) for word in words], plugins=plugins)
    assert answer.status == 2, answer
    assert answer.out == ""
    first, *rest = answer.err.splitlines()
    assert first.startswith("error: ")
    assert written in first
    assert first.count(written) == 1
    assert str(Path.cwd()) not in answer.err
    assert any(one in answer.err for one in expected.split("|")), answer.err
    assert len(rest) <= 1
    assert all(line.startswith("hint: ") for line in rest)
    assert "stdout" not in answer.err

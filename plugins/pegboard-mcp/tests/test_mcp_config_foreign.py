"""Other programs' files: any of them gives servers or faults; edits of them touch nothing else."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pegboard import ConfigError, Fault
from pegboard.config import load_config
from pegboard_mcp import jsonc, jsonc_edit
from pegboard_mcp.definitions import ServerDefinition
from pegboard_mcp.files import variable_of
from pegboard_mcp.foreign import read_servers, read_tables
from pegboard_mcp.places import PROGRAMS, Surroundings, found_files, places, project_place, user_place
from pegboard_mcp.settings import McpSettings

Read = Callable[..., tuple[dict[str, ServerDefinition], list[Fault]]]

VSCODE = """\
// servers of this project
{
  "inputs": [
    {"id": "gh-token", "type": "promptString", "password": true},
    {"id": "level", "type": "pickString", "default": "info"},
  ],
  "servers": {
    /* files */
    "fs": {
      "type": "stdio", "command": "npx",
      "args": ["-y", "x", "${workspaceFolder}/data", "http://not//a comment"],
      "env": {"TOKEN": "${input:gh-token}", "LEVEL": "${input:level}", "PORT": 3000, "OFF": null, "ON": true},
      "envFile": "${workspaceFolder}/.env", "dev": {"watch": "x"},
    },
    "far": {"type": "http", "url": "https://h/${env:WHERE}", "headers": {"Authorization": "Bearer ${env:TOK}"}},
  },
}
"""


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Write a file and read its servers."""

    def read(
        text: str | bytes | Any, name: str = "mcp.json", **environ: str
    ) -> tuple[dict[str, ServerDefinition], list[Fault]]:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        content = text if isinstance(text, (str, bytes)) else json.dumps(text)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        servers, faults = read_servers(file, environ=environ)
        return {server.name: server.definition for server in servers}, faults

    return read


def test_a_file_of_vs_code_is_read_with_its_comments_inputs_and_folders(read: Read, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("MORE=1")
    found, faults = read(VSCODE, ".vscode/mcp.json", GH_TOKEN="secret-1", WHERE="mcp", TOK="secret-2")
    assert faults == []
    assert found["fs"].argv == ("npx", "-y", "x", f"{tmp_path}/data", "http://not//a comment")
    assert found["fs"].env == {"TOKEN": "secret-1", "LEVEL": "info", "PORT": "3000", "ON": "true", "MORE": "1"}
    assert (found["far"].transport, found["far"].url) == ("http", "https://h/mcp")
    assert "secret-1" in found["fs"].secrets
    assert "secret-2" in found["far"].secrets


def test_what_vs_code_would_ask_for_names_the_variable_to_set_instead(read: Read) -> None:
    found, faults = read(VSCODE, ".vscode/mcp.json", WHERE="x", TOK="y")
    assert "fs" not in found
    said = {fault.where: fault.hint for fault in faults}
    assert said["servers.fs.env.TOKEN"] == "nobody is asked here: set GH_TOKEN"


def test_a_file_of_claude_is_read(read: Read) -> None:
    text = {
        "mcpServers": {
            "a": {"command": "x", "args": ["~"], "autoApprove": []},
            "b": {"type": "sse", "url": "https://h"},
        }
    }
    found, faults = read(text)
    assert faults == []
    assert (found["a"].argv, found["b"].transport) == (("x", "~"), "sse")


@pytest.mark.parametrize(
    ("entry", "transport"),
    [
        ({"serverUrl": "https://h"}, "http"),
        ({"httpUrl": "https://h", "excludeTools": ["a"]}, "http"),
        ({"type": "streamable-http", "url": "https://h"}, "http"),
        ({"transport": "streamableHttp", "url": "https://h"}, "http"),
        ({"type": "ws", "url": "wss://h"}, "websocket"),
        ({"type": "local", "command": "x"}, "stdio"),
        ({"command": "x", "url": "", "headers": {}, "cwd": None, "env": None}, "stdio"),
    ],
)
def test_other_words_for_the_same_are_understood(read: Read, entry: dict[str, Any], transport: str) -> None:
    found, faults = read({"mcpServers": {"a": entry}})
    assert faults == []
    assert found["a"].transport == transport


def test_servers_that_are_switched_off_are_left_out(read: Read) -> None:
    found, faults = read({"mcpServers": {"a": {"disabled": True}, "b": {"enabled": False}, "c": {"command": "x"}}})
    assert (list(found), faults) == (["c"], [])


def test_vs_codes_settings_and_claude_codes_projects_are_read(
    read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    server = {"command": "x"}
    assert list(read({"mcp": {"servers": {"a": server}}})[0]) == ["a"]
    projects = {str(tmp_path): {"mcpServers": {"here": server}}, "/elsewhere": {"mcpServers": {"there": server}}}
    assert list(read({"mcpServers": {"all": server}, "projects": projects})[0]) == ["all", "here"]


@pytest.mark.parametrize(
    ("text", "where", "got"),
    [
        ("", "", "expecting value (line 1)"),
        ("{", "", "line 1"),
        (b"\xff", "", "bytes that are not UTF-8 (line 1)"),
        (b'{"mcpServers":\n "\xff"}', "", "bytes that are not UTF-8 (line 2)"),
        ("[]", "", "a list"),
        ("{}", "", "one without"),
        ('{"mcpServers": []}', "mcpServers", "a list"),
        ('{"mcpServers": {"a": 1}}', "mcpServers.a", "a number"),
        ('{"mcpServers": {"a": {}, "a": {}}}', "mcpServers.a", "one that stands there twice"),
        ('{"mcpServers": {"a": {"command": NaN}}}', "", "NaN, which JSON has not"),
        ("[" * 100_000, "", "nested deeper"),
        ('{"mcpServers": {"a": {"type": "smoke", "command": "x"}}}', "mcpServers.a.type", '"smoke"'),
        ('{"mcpServers": {"a": {"command": "x", "envFile": "none"}}}', "mcpServers.a.envFile", "no such file"),
        ('{"mcpServers": {"a": {"command": "x", "args": ["${command:p}"]}}}', "mcpServers.a.args[0]", "${command:p}"),
        ('{"mcpServers": {"a": {"command": "x", "args": ["${open"]}}}', "mcpServers.a.args[0]", "${open"),
        ('{"mcpServers": {"a": {"command": "x", "args": ["${A}"]}}}', "mcpServers.a.args[0]", "nothing"),
        ('{"servers": {"a": {"command": "x"}}, "mcpServers": {"a": {"command": "y"}}}', "mcpServers.a", "already"),
        ('{"mcpServers": {"a": {"url": "https://h", "serverUrl": "https://g"}}}', "mcpServers.a.serverUrl", "beside"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_said_with_its_place(read: Read, text: str | bytes, where: str, got: str) -> None:
    _, faults = read(text)
    fault = next(one for one in faults if one.where == where)
    assert got in fault.got
    assert fault.hint


def test_a_file_that_is_not_there_or_too_large_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_tables(tmp_path / "none").faults[0].got == f"{tmp_path / 'none'}: no such file or directory"
    assert read_tables(tmp_path).faults[0].got == f"{tmp_path}: is a directory"
    monkeypatch.setattr(jsonc, "MAX_BYTES", 10)
    (tmp_path / "big").write_text("{" + " " * 20 + "}")
    assert read_tables(tmp_path / "big").faults[0].got.endswith("big: more than 10 bytes")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_does_not_hold_the_program_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert read_tables(tmp_path / "pipe").faults[0].got.endswith("pipe: no regular file")
    servers = {"a": {"command": "x", "env_file": str(tmp_path / "pipe")}}
    assert [fault.got for fault in McpSettings.find_faults({"servers": servers})] == [
        f"{tmp_path}/pipe: no regular file"
    ]


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("gh-token", "GH_TOKEN"),
        ("githubToken", "GITHUB_TOKEN"),
        ("a.b c", "A_B_C"),
        ("1st", "INPUT_1ST"),
        ("---", "INPUT"),
    ],
)
def test_an_input_has_a_variable_of_its_name(name: str, variable: str) -> None:
    assert variable_of(name) == variable


def test_the_file_that_an_option_names_joins_the_configured_servers(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"b": {"command": "y"}, "a": {"command": "x"}}}))
    mcp = {"servers": {"a": {"command": "x"}}}
    config = load_config(
        {"plugins": {"mcp": mcp}}, environ={}, found=False, overrides={"plugins": {"mcp": {"config_file": str(file)}}}
    )
    assert [one.name for one in config.plugin_settings("mcp", McpSettings).definitions()] == ["a", "b"]


@pytest.mark.parametrize("name", ["mcp.json", ".vscode/mcp.json", "1.json", "-x.json", "+1"])
def test_a_file_that_cannot_be_read_is_named_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    config = load_config({}, environ={}, found=False, overrides={"plugins": {"mcp": {"config_file": name}}})
    with pytest.raises(ConfigError, match=re.escape(f"{name}: no such file or directory")):
        config.plugin_settings("mcp", McpSettings)


def test_another_server_of_the_same_name_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"a": {"command": "other"}}}))
    mcp = {"servers": {"a": {"command": "x"}}, "config_file": str(file)}
    with pytest.raises(ConfigError, match=r"config_file\.mcpServers\.a: expected a name of the server's own"):
        load_config({"plugins": {"mcp": mcp}}, environ={}, found=False).plugin_settings("mcp", McpSettings)


def test_a_file_that_changed_since_is_refused_when_its_servers_are_wanted(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"a": {"command": "x"}}}))
    config = load_config({"plugins": {"mcp": {"config_file": str(file)}}}, environ={}, found=False)
    mcp = config.plugin_settings("mcp", McpSettings)
    file.write_text("{")
    with pytest.raises(ConfigError, match="no longer as they were"):
        mcp.definitions()


def test_a_found_configuration_may_not_name_such_a_file_before_it_is_trusted(tmp_path: Path) -> None:
    (tmp_path / "pegboard.toml").write_text('[plugins.mcp]\nconfig_file = "mcp.json"\n')
    config = load_config(environ={}, cwd=tmp_path, user_dir=tmp_path / "u", state_dir=tmp_path / "s")
    (tmp_path / "mcp.json").write_text('{"mcpServers": {}}')
    with pytest.raises(ConfigError) as caught:
        config.plugin_settings("mcp", McpSettings)
    assert "config_file" in str(caught.value)


# -- any file


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
    | st.sampled_from(["npx", "https://h", "${A}", "${input:a}", "http", "${workspaceFolder}", "~x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
entries = st.dictionaries(
    st.sampled_from(["command", "args", "env", "url", "type", "headers", "envFile", "cwd", "disabled", "oauth", "x"]),
    json_values,
    max_size=5,
)
files = st.fixed_dictionaries(
    {},
    optional={
        "servers": st.dictionaries(st.text(max_size=4), entries | json_values, max_size=3) | json_values,
        "mcpServers": st.dictionaries(st.text(max_size=4), entries, max_size=3),
        "inputs": st.lists(st.dictionaries(st.sampled_from(["id", "default"]), json_values)) | json_values,
        "mcp": json_values,
        "projects": json_values,
    },
)
fixed = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])


@fixed
@given(files | json_values)
@example({"servers": {"a": {"command": float("inf")}}})
@example({"servers": {"a": {"command": "\ud800", "env": {"\ud800": "\ud800"}, "envFile": "\ud800", "cwd": "\ud800"}}})
@example({"servers": {"a": {"url": "https://[", "headers": {"\ud800": "x"}}, "\ud800": {"command": "~\ud800"}}})
def test_any_json_gives_definitions_or_faults_never_an_exception(tmp_path: Path, value: Any) -> None:
    file = tmp_path / "any.json"
    file.write_text(json.dumps(value))
    servers, faults = read_servers(file, environ={})
    assert all(isinstance(server.definition, ServerDefinition) for server in servers)
    assert all(fault.expected and str(fault) for fault in faults)


@fixed
@given(st.binary(max_size=60) | st.text(alphabet='{}[]":,/*\\ \n\rab1\ufeff', max_size=60).map(str.encode))
def test_any_bytes_give_definitions_or_faults_never_an_exception(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "any.json"
    file.write_bytes(content)
    servers, faults = read_servers(file, environ={})
    assert servers == []
    assert faults


@settings(max_examples=200)
@given(st.text(alphabet='{}[]":,/*\\ \n\r\tab1\ufeff', max_size=60))
def test_blanking_keeps_every_length_and_every_line(text: str) -> None:
    blanked = jsonc.blank(text)
    assert len(blanked) == len(text)
    assert [at for at, sign in enumerate(text) if sign == "\n"] == [
        at for at, sign in enumerate(blanked) if sign == "\n"
    ]


@settings(max_examples=150)
@given(json_values, st.sampled_from([None, 1, "\t"]))
def test_json_without_comments_is_read_as_json_reads_it(value: Any, indent: Any) -> None:
    text = json.dumps(value, indent=indent)
    assert jsonc.blank(text) == text
    assert jsonc.read(text) == json.loads(text)


def test_hostile_texts_take_no_time() -> None:
    for text in ("/*" * 200_000, '"' * 200_000, "," * 200_000, '{"a":' * 50_000, "/" * 300_000, '"\\' * 200_000):
        with pytest.raises(jsonc.JsoncError):
            jsonc.read(text)


# -- edits

NAMES = st.sampled_from(["a", "b", "files", "x y", 'qu"ote'])
servers = st.dictionaries(NAMES, st.just({"command": "x", "args": ["{", "//", "}"]}), min_size=1, max_size=3)
LAYOUTS: list[Callable[[str], str]] = [
    lambda text: text,
    lambda text: text.replace("\n", "\r\n"),
    lambda text: "\ufeff" + text + "\n",
    lambda text: text.replace("{\n", "{ // open {\n"),
    lambda text: text.replace("\n}", ",\n}") if "\n}" in text else text,
    lambda text: text.replace("}\n", "} /* , } */ // ,\n"),
    lambda text: "/* { */ " + text + " // }",
]


@settings(max_examples=200)
@given(servers, st.sampled_from([None, 2, 4, "\t"]), st.lists(st.sampled_from(LAYOUTS), max_size=3), st.booleans())
def test_what_is_put_beside_others_is_dropped_to_the_byte(
    there: dict[str, Any], indent: Any, layouts: list[Callable[[str], str]], has_more: bool
) -> None:
    value = {"theme": "dark", "mcpServers": there, **({"last": [1, {"mcpServers": {}}]} if has_more else {})}
    text = json.dumps(value, indent=indent)
    for layout in layouts:
        text = layout(text)
    try:
        jsonc.read(text)
    except jsonc.JsoncError:
        return  # two layouts that make no JSON together
    added = jsonc_edit.put(text, "mcpServers", "pegboard", {"command": "/x", "args": ["serve"]})
    assert jsonc.read(added)["mcpServers"]["pegboard"] == {"command": "/x", "args": ["serve"]}
    assert jsonc_edit.drop(added, "mcpServers", "pegboard") == text
    changed = jsonc_edit.put(added, "mcpServers", "pegboard", {"command": "/y"})
    assert jsonc_edit.drop(changed, "mcpServers", "pegboard") == text


roots = st.fixed_dictionaries({}, optional={"mcpServers": servers | json_values, "more": json_values}) | json_values


@settings(max_examples=150)
@given(roots, st.sampled_from([None, 2]))
def test_an_edit_gives_the_right_value_or_refuses(before: Any, indent: Any) -> None:
    text = json.dumps(before, indent=indent)
    if not isinstance(before, dict) or not isinstance(before.get("mcpServers", {}), dict):
        with pytest.raises(jsonc.JsoncError):
            jsonc_edit.put(text, "mcpServers", "pegboard", {"a": 1})
        return
    added = jsonc_edit.put(text, "mcpServers", "pegboard", {"a": 1})
    assert json.loads(added) == {**before, "mcpServers": {**before.get("mcpServers", {}), "pegboard": {"a": 1}}}
    assert "pegboard" not in json.loads(jsonc_edit.drop(added, "mcpServers", "pegboard"))["mcpServers"]


@pytest.mark.parametrize("text", ["[1]", '{"s": 1}', '{"s": {}, "s": {}}', '{"s": {"a": 1, "a": 2}}', "{", "//"])
def test_what_cannot_be_edited_safely_is_refused(text: str) -> None:
    with pytest.raises(jsonc.JsoncError):
        jsonc_edit.put(text, "s", "x", {})
    with pytest.raises(jsonc.JsoncError):
        jsonc_edit.drop(text, "s", "a")


def test_dropping_what_is_not_there_changes_nothing() -> None:
    assert jsonc_edit.drop('{"s": {"a": 1}}', "s", "b") == '{"s": {"a": 1}}'
    assert jsonc_edit.drop("{ }", "s", "b") == "{ }"


def test_the_first_of_several_is_dropped_without_its_comma() -> None:
    text = '{\n  "s": {\n    "a": 1, // of a\n    "b": 2\n  }\n}'
    assert jsonc.read(jsonc_edit.drop(text, "s", "a")) == {"s": {"b": 2}}
    assert jsonc.read(jsonc_edit.drop(text, "s", "b")) == {"s": {"a": 1}}


# -- usual places


def around(tmp_path: Path, platform: str, **environ: str) -> Surroundings:
    return Surroundings(tmp_path / "home", tmp_path / "work" / "deep", environ, platform)


def test_the_usual_places_are_those_of_the_platform(tmp_path: Path) -> None:
    home = tmp_path / "home"
    mac, linux = around(tmp_path, "darwin"), around(tmp_path, "linux", XDG_CONFIG_HOME="relative")
    support = home / "Library" / "Application Support"
    assert user_place("claude", mac).path == support / "Claude" / "claude_desktop_config.json"
    assert user_place("vscode", mac).path == support / "Code" / "User" / "mcp.json"
    assert user_place("vscode", linux).path == home / ".config" / "Code" / "User" / "mcp.json"
    windows = around(tmp_path, "win32", APPDATA=str(tmp_path / "roaming"))
    assert user_place("claude", windows).path == tmp_path / "roaming" / "Claude" / "claude_desktop_config.json"
    assert user_place("vscode", windows).key == "servers"
    assert user_place("claude-code", linux).path == home / ".claude.json"
    assert user_place("claude-code", around(tmp_path, "linux", CLAUDE_CONFIG_DIR="/c")).path == Path("/c/.claude.json")
    assert user_place("cursor", linux).path == home / ".cursor" / "mcp.json"
    assert project_place("claude", linux) is None
    files = [str(place.path.relative_to(linux.cwd)) for one in PROGRAMS if (place := project_place(one, linux))]
    assert files == [".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json"]


def test_found_files_are_named_with_their_servers_and_nothing_is_started(tmp_path: Path) -> None:
    here = around(tmp_path, "linux")
    (tmp_path / "home" / ".cursor").mkdir(parents=True)
    (tmp_path / "home" / ".cursor" / "mcp.json").write_text('{"mcpServers": {"a": {"command": 7}, "b": 1}}')
    (tmp_path / "work" / "deep").mkdir(parents=True)
    (tmp_path / "work" / ".mcp.json").write_text("{")
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"hidden by the nearer": {}}}')
    (tmp_path / "home" / ".claude.json").write_text('{"history": []}')
    assert [place.program for place in places(here)].count("claude-code") == 2
    assert [(one.program, one.servers, one.problem is None) for one in found_files(here)] == [
        ("claude-code", (), False),
        ("cursor", ("a", "b"), True),
    ]


def test_the_surroundings_are_those_of_the_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    assert Surroundings.here()[:2] == (tmp_path, tmp_path)
    assert found_files() == []


@pytest.mark.parametrize(
    ("key", "meant"), [("comand", "command"), ("arg", "args"), ("header", "headers"), ("ulr", None)]
)
def test_a_slip_in_a_key_is_a_fault_that_names_what_was_meant(key: str, meant: str | None, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"a": {"command": "x", key: ["y"]}}}))
    faults = list(McpSettings.find_faults({"config_file": str(file)}))
    assert [fault.hint for fault in faults if fault.path[-1] == key] == ([f"did you mean {meant!r}?"] if meant else [])


def test_keys_of_other_programs_are_left_out_and_our_own_are_read(tmp_path: Path) -> None:
    server = {"command": "x", "timeout": 60_000, "alwaysAllow": [], "autoApprove": ["y"], "prefix": "x_", "trust": True}
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"a": server}}))
    assert list(McpSettings.find_faults({"config_file": str(file)})) == []
    (definition,) = McpSettings(config_file=str(file)).definitions()
    assert (definition.prefix, definition.connect_s) == ("x_", 30)

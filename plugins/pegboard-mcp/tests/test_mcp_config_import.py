"""`pegboard config import`: servers come over, comments stay, secrets do not come in silence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pegboard import ConfigError
from pegboard.cli import ProgramRun
from pegboard.config import load_config
from pegboard_mcp.commands.config_import import config_import
from pegboard_mcp.config_import import import_servers
from pegboard_mcp.foreign import read_servers, read_tables
from pegboard_mcp.settings import McpSettings

CLAUDE: dict[str, Any] = {
    "mcpServers": {
        "github": {
            "command": "docker",
            "args": ["run", "--api-key", "arg-secret-1", "--price=$5", "$$x", "${HOME}$"],
            "env": {"GITHUB_TOKEN": "env-secret-1", "LEVEL": "info"},
            "autoApprove": ["x"],
        },
        "other": {"command": "docker", "env": {"GITHUB_TOKEN": "env-secret-2"}},
        "far": {
            "type": "sse",
            "url": "https://user-1:pass-word-1@h/x?api_key=query-secret",
            "headers": {"Authorization": "Bearer head-secret-1", "X-Api-Key": "head-secret-2", "X-Plain": "plain"},
        },
        "my files": {"command": "npx", "args": ["-y", "x"], "cwd": "sub", "envFile": "some.env"},
    }
}
SECRETS = {
    "GITHUB_API_KEY": "arg-secret-1", "GITHUB_TOKEN": "env-secret-1", "OTHER_GITHUB_TOKEN": "env-secret-2",
    "FAR_USER": "user-1", "FAR_PASSWORD": "pass-word-1", "FAR_API_KEY": "query-secret", "FAR_TOKEN": "head-secret-1",
    "FAR_X_API_KEY": "head-secret-2",
}  # fmt: skip
BEFORE = '# mine\ntimeout_s = 20 # keep this\n\n[plugins.mcp.servers.first] # and this\ncommand = "x"'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with another program's file in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PEGBOARD_CONFIG", raising=False)
    (tmp_path / "claude.json").write_text(json.dumps(CLAUDE))
    (tmp_path / "some.env").write_text("A=1")
    return tmp_path


Import = Callable[..., Result]


@pytest.fixture
def run(here: Path) -> Import:
    """Run the command; what it raises is raised."""

    def run(*args: str, config: str | None = None) -> Result:
        return CliRunner().invoke(config_import, list(args), obj=ProgramRun(config=config), catch_exceptions=False)

    return run


def test_servers_come_behind_what_is_there_and_secrets_become_variables(run: Import, here: Path) -> None:
    target = here / "pegboard.toml"
    target.write_text(BEFORE)
    result = run("claude.json")
    text = target.read_text()
    assert text.startswith(BEFORE)
    assert [word for word in SECRETS.values() if word in text + result.output] == []
    for variable in SECRETS:
        assert f"set the variable {variable} " in result.stderr
    assert "left out of github, for it means nothing here: autoApprove" in result.stderr
    assert "pegboard trust" in result.stderr
    assert (here / "pegboard.toml.pegboard-backup").read_text() == BEFORE
    assert "+[plugins.mcp.servers.github]" in result.stdout


def test_with_their_variables_set_the_servers_are_those_of_the_file(run: Import, here: Path) -> None:
    run("claude.json")
    environ = {**SECRETS, "HOME": os.environ["HOME"]}
    config = load_config(here / "pegboard.toml", environ=environ)
    own = {one.name: one for one in config.plugin_settings("mcp", McpSettings).definitions()}
    there = {one.name: one.definition for one in read_servers(here / "claude.json", environ=environ)[0]}
    assert own.keys() == there.keys()
    for name, definition in own.items():
        assert definition.identity == there[name].identity
        assert definition.env == there[name].env
        assert definition.headers == there[name].headers


def test_secrets_are_copied_where_that_is_asked_for_and_the_diff_still_hides_them(run: Import, here: Path) -> None:
    result = run("claude.json", "--with-secrets")
    text = (here / "pegboard.toml").read_text()
    assert [word for word in SECRETS.values() if word not in text] == []
    assert [word for word in SECRETS.values() if word in result.output] == []
    assert "keep the file to yourself" in result.stderr


def test_only_those_that_are_named_come_over(run: Import, here: Path) -> None:
    run("claude.json", "my files")
    servers = tomllib.loads((here / "pegboard.toml").read_text())["plugins"]["mcp"]["servers"]
    told = {"command": "npx", "args": ["-y", "x"], "cwd": f"{here}/sub", "env_file": f"{here}/some.env"}
    assert servers == {"my files": {**told, "confine": True}}


@pytest.mark.parametrize(
    ("key", "table"),
    [("env", {"command": "npx"}), ("headers", {"url": "https://h/mcp"})],
)
@pytest.mark.parametrize("text", ["${NOT_SET}", "${input:github-token}", "${workspaceFolder}", "plain"])
@pytest.mark.parametrize("options", [[], ["--with-secrets"]])
def test_a_text_where_a_table_stands_is_a_fault_whatever_variables_it_names(
    run: Import, here: Path, key: str, table: dict[str, Any], text: str, options: list[str]
) -> None:
    (here / "odd.json").write_text(json.dumps({"mcpServers": {"one": {**table, key: text}}}))
    with pytest.raises(ConfigError) as caught:
        run("odd.json", *options)
    assert [fault.path for fault in caught.value.faults] == [("mcpServers", "one", key)]
    assert not (here / "pegboard.toml").exists()


def test_print_writes_nothing(run: Import, here: Path) -> None:
    result = run("claude.json", "other", "--print")
    assert tomllib.loads(result.stdout)["plugins"]["mcp"]["servers"]["other"]["command"] == "docker"
    assert not (here / "pegboard.toml").exists()


def test_a_second_time_nothing_is_new(run: Import, here: Path) -> None:
    run("claude.json")
    text = (here / "pegboard.toml").read_bytes()
    assert "has them all already" in run("claude.json").stderr
    assert (here / "pegboard.toml").read_bytes() == text


def test_another_server_of_that_name_is_left_alone(run: Import, here: Path) -> None:
    target = here / "pegboard.toml"
    target.write_text('[plugins.mcp.servers.other]\ncommand = "mine"\n')
    before = target.read_bytes()
    with pytest.raises(ConfigError, match="other servers of these names already"):
        run("claude.json")
    assert target.read_bytes() == before


def test_what_vs_code_asks_for_becomes_a_variable_and_folders_become_paths(run: Import, here: Path) -> None:
    (here / ".vscode").mkdir()
    entry = {"command": "x", "args": ["${workspaceFolder}/a", "${input:the-key}", "${env:A}", "${B:-b}"]}
    (here / ".vscode" / "mcp.json").write_text(json.dumps({"servers": {"a": entry}}))
    result = run(".vscode/mcp.json", "--print")
    args = tomllib.loads(result.stdout)["plugins"]["mcp"]["servers"]["a"]["args"]
    assert args == [f"{here}/a", "${THE_KEY}", "${A}", "${B:-b}"]
    assert "nobody is asked for ${input:the-key} here: set the variable THE_KEY" in result.stderr


def test_a_pyproject_gets_them_in_its_own_section(run: Import, here: Path) -> None:
    target = here / "pyproject.toml"
    target.write_text('[project]\nname = "x"\n\n[tool.pegboard]\ntimeout_s = 5\n')
    run("claude.json", "other")
    assert tomllib.loads(target.read_text())["tool"]["pegboard"]["plugins"]["mcp"]["servers"]["other"]


def test_line_ends_stay_what_they_are(run: Import, here: Path) -> None:
    target = here / "pegboard.toml"
    target.write_bytes(b"# mine\r\n")
    run("claude.json", "other")
    assert target.read_bytes().count(b"\n") == target.read_bytes().count(b"\r\n") > 3


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ('[plugins.mcp]\nservers = {a = {command = "x"}}\n', "in a form that nothing can be put behind"),
        ("plugins = 3\n", "in a form that nothing can be put behind"),
        ("= 3\n", "no TOML"),
        ("a = \xff", "not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_added_to_is_left_as_it_is(run: Import, here: Path, content: str, why: str) -> None:
    target = here / "named.toml"
    target.write_bytes(content.encode("latin-1"))
    with pytest.raises(ConfigError, match=why):
        run("claude.json", "--to", "named.toml")
    assert target.read_bytes() == content.encode("latin-1")


def test_servers_in_dotted_keys_may_have_others_behind_them(run: Import, here: Path) -> None:
    target = here / "pegboard.toml"
    target.write_text("plugins.mcp.servers.a.command = 'x'\n")
    run("claude.json", "other")
    assert list(tomllib.loads(target.read_text())["plugins"]["mcp"]["servers"]) == ["a", "other"]


def test_a_yaml_configuration_is_left_as_it_is(run: Import, here: Path) -> None:
    (here / "agent.yaml").write_text("timeout_s: 3\n")
    with pytest.raises(ConfigError, match="not a TOML file") as caught:
        run("claude.json")
    assert "--print" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("text", "names", "why"),
    [
        ("{", (), "expected a file of MCP servers"),
        ('{"mcpServers": {}}', (), "no MCP servers that are switched on"),
        ('{"mcpServers": {"a": {"command": "x"}}}', ("b",), "no server 'b'"),
        ('{"mcpServers": {"a": {"command": "x", "url": "https://h"}}}', (), "cannot be imported"),
        ('{"mcpServers": {"a": {"command": "${command:x}"}}}', (), "cannot be imported"),
        ('{"mcpServers": {"a": {"url": "${A}", "command": 3}}}', (), "cannot be imported"),
    ],
)
def test_wrong_input_takes_nothing_over(run: Import, here: Path, text: str, names: tuple[str, ...], why: str) -> None:
    (here / "x.json").write_text(text)
    with pytest.raises(ConfigError, match=why):
        run("x.json", *names)
    assert not (here / "pegboard.toml").exists()


def test_a_wrong_server_does_not_keep_another_from_being_taken_over(run: Import, here: Path) -> None:
    (here / "x.json").write_text('{"mcpServers": {"a": {"command": "x"}, "b": {}}}')
    run("x.json", "a")
    assert "[plugins.mcp.servers.a]" in (here / "pegboard.toml").read_text()


texts = st.text(alphabet="ab$ {}:-=/@?&x1", max_size=14) | st.sampled_from(
    ["${A}", "--api-key", "Bearer ab", "a://b:c@d"]
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(texts, max_size=4), st.dictionaries(st.sampled_from(["A", "TOKEN", "B_KEY"]), texts, max_size=3))
def test_what_comes_over_means_what_it_meant(here: Path, args: list[str], env: dict[str, str]) -> None:
    file = here / "any.json"
    file.write_text(json.dumps({"mcpServers": {"a": {"command": "x", "args": args, "env": env}}}))
    said = read_tables(file)
    taken = import_servers(file, said, said.tables, with_secrets=True)
    servers, faults = read_servers(file, environ={"A": "$value"})
    if faults:
        return
    table = taken.tables["a"]
    config = load_config({"plugins": {"mcp": {"servers": {"a": table}}}}, environ={"A": "$value"}, found=False)
    (own,) = config.plugin_settings("mcp", McpSettings).definitions()
    assert (own.argv, own.env) == (servers[0].definition.argv, servers[0].definition.env)


def test_the_program_takes_servers_over_which_start_nothing_before_they_are_trusted(here: Path) -> None:
    environ = {**os.environ, "HOME": str(here / "home"), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "HOME_DIR": "x"}

    def pegboard(*args: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pegboard", *args]
        return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)

    taken = pegboard("config", "import", "claude.json", "my files")
    assert (taken.returncode, "trust" in taken.stderr) == (0, True), taken.stderr
    refused = pegboard("config")
    assert (refused.returncode, "pegboard trust" in refused.stderr) == (2, True)
    assert pegboard("trust").returncode == 0
    shown = pegboard("config")
    assert (shown.returncode, "npx" in shown.stdout) == (0, True), shown.stderr


def test_programs_are_confined_whatever_their_file_says(run: Import, here: Path) -> None:
    (here / "docs").mkdir()
    (here / "notes").mkdir()
    own = {"confine": False, "read": ["/"], "write": ["/"], "network": ["evil.example"], "trusted": True}
    said = {
        "files": {"command": "npx", "args": ["x", "./docs", str(here / "notes"), "~", "/", "--at", "./none"], **own},
        "box": {"command": "/usr/bin/docker", "args": ["run", "x"]},
        "far": {"url": "https://h/mcp"},
    }
    (here / "x.json").write_text(json.dumps({"mcpServers": said}))
    done = run("x.json")
    servers = tomllib.loads((here / "pegboard.toml").read_text())["plugins"]["mcp"]["servers"]
    assert {name: table.keys() & {*own} for name, table in servers.items()} == {
        "files": {"confine", "read"}, "box": set(), "far": set(),
    }  # fmt: skip
    assert servers["files"]["confine"] is True
    assert servers["files"]["read"] == [str(here / "docs"), str(here / "notes")]
    assert "not confined, for a container is started by another program: box" in done.stderr
    run("x.json", "files", "--unconfined", "--to", "other.toml")
    assert "confine =" not in (here / "other.toml").read_text()

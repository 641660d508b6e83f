"""What a person configures becomes definitions, and everything that is wrong is said at once."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ConfigError, Fault
from pegboard.config import load_config
from pegboard_mcp.definitions import KEYS, ServerDefinition
from pegboard_mcp.packages import runner_of
from pegboard_mcp.secrets import secrets_of_args, secrets_of_url
from pegboard_mcp.settings import McpSettings, ServerSettings

Load = Callable[..., McpSettings]


def load(servers: dict[str, Any], environ: dict[str, str] | None = None, **more: Any) -> McpSettings:
    config = load_config({"plugins": {"mcp": {"servers": servers, **more}}}, environ=environ or {}, found=False)
    return config.plugin_settings("mcp", McpSettings)


def define(table: dict[str, Any], environ: dict[str, str] | None = None) -> ServerDefinition:
    (definition,) = load({"one": table}, environ).definitions()
    return definition


def faults_of(servers: dict[str, Any], **more: Any) -> list[Fault]:
    with pytest.raises(ConfigError) as caught:
        load(servers, **more)
    return list(caught.value.faults)


def fault_of(table: dict[str, Any]) -> Fault:
    (fault,) = faults_of({"one": table})
    return fault


# -- good ones


def test_a_command_with_everything_around_it_becomes_a_definition(tmp_path: Path) -> None:
    (tmp_path / "more.env").write_text("A=from file\nB='quoted'\n# none\n")
    made = define(
        {
            "command": "npx", "args": ["-y", "x"], "env": {"A": "from table"}, "env_file": str(tmp_path / "more.env"),
            "cwd": str(tmp_path), "encoding": "latin-1", "timeout": 5, "request_timeout": 7.5, "prefix": "fs_",
            "load_tools": False, "load_prompts": False, "allowed_tools": ["a"], "disabled_tools": ["b"],
            "required": True, "start": "eager", "results": "raw", "description": "files",
            "config": {"depth": [1, None]}, "config_env": "SETTINGS", "roots": ["~", "file:///x"],
            "max_message_bytes": 2048,
        }
    )  # fmt: skip
    assert made.transport == "stdio"
    assert made.argv == ("npx", "-y", "x")
    assert made.env == {"A": "from table", "B": "quoted", "SETTINGS": '{"depth": [1, null]}'}
    assert (made.cwd, made.encoding, made.connect_s, made.request_s) == (str(tmp_path), "latin-1", 5, 7.5)
    assert (made.prefix, made.load_tools, made.load_prompts) == ("fs_", False, False)
    assert (made.allowed_tools, made.disabled_tools) == (frozenset("a"), frozenset("b"))
    assert (made.required, made.start, made.description, made.max_message_bytes) == (True, "eager", "files", 2048)
    assert made.config == {"depth": [1, None]}
    assert made.roots == (str(Path.home()), "file:///x")


def test_what_is_not_said_has_its_default() -> None:
    made = define({"command": "x"})
    assert (made.connect_s, made.request_s, made.sse_read_s) == (30, 60, 300)
    assert (made.load_tools, made.load_prompts, made.required, made.start) == (True, True, False, "lazy")
    assert (made.allowed_tools, made.disabled_tools, made.prefix, made.cwd) == (None, frozenset(), None, None)


@pytest.mark.parametrize(
    ("url", "said", "transport"),
    [
        ("http://h/mcp", None, "http"),
        ("https://h:8443/mcp?x=1", None, "http"),
        ("HTTPS://h", "sse", "sse"),
        ("ws://h", None, "websocket"),
        ("wss://h/x", "websocket", "websocket"),
        ("https://[::1]:80/x", "http", "http"),
    ],
)
def test_the_transport_is_told_by_the_url_or_said(url: str, said: str | None, transport: str) -> None:
    made = define({"url": url, "headers": {"X-A": "b"}} | ({"transport": said} if said else {}))
    assert (made.transport, made.url, made.headers, made.argv) == (transport, url, {"X-A": "b"}, ())


@pytest.mark.parametrize(
    ("package", "argv"),
    [
        ("@modelcontextprotocol/server-filesystem", ("npx", "-y", "@modelcontextprotocol/server-filesystem")),
        ("@scope/name@1.2.3", ("npx", "-y", "@scope/name@1.2.3")),
        ("tavily-mcp", ("npx", "-y", "tavily-mcp")),
        ("tavily-mcp@latest", ("npx", "-y", "tavily-mcp@latest")),
        ("mcp-server-git", ("uvx", "mcp-server-git")),
        ("mcp_server_time", ("uvx", "mcp_server_time")),
        ("mcp-server-time@2025.1.0", ("uvx", "mcp-server-time@2025.1.0")),
        ("mcp-server-x[all]==1.0", ("uvx", "--from", "mcp-server-x[all]==1.0", "mcp-server-x")),
        ("Upper-Case", ("uvx", "Upper-Case")),
        ("pypi:tavily-mcp", ("uvx", "tavily-mcp")),
        ("npm:mcp-server-sqlite", ("npx", "-y", "mcp-server-sqlite")),
        ("pypi:thing>=2,<3", ("uvx", "--from", "thing>=2,<3", "thing")),
        ("", None), ("two words", None), ("-y", None), ("@scope", None), ("./local", None), ("/abs", None),
        ("npm:Upper", None), ("pypi:@a/b", None), ("https://x/y", None), ("a\nb", None), ("gem:x", None),
    ],
)  # fmt: skip
def test_a_bare_package_becomes_the_command_that_runs_it(package: str, argv: tuple[str, ...] | None) -> None:
    assert runner_of(package) == argv


def test_the_arguments_follow_those_of_the_runner_and_one_package_may_run_under_two_names() -> None:
    package = {"server": "@modelcontextprotocol/server-filesystem"}
    made = load({"a": {**package, "args": ["/x"]}, "b": {**package, "args": ["/y"]}}).definitions()
    assert [one.name for one in made] == ["a", "b"]
    assert [one.argv[-2:] for one in made] == [(package["server"], "/x"), (package["server"], "/y")]


def test_relative_paths_begin_at_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("A=1")
    made = define({"command": "x", "cwd": "sub", "envFile": ".env", "roots": [".", "../y"]})
    assert made.cwd == str(tmp_path / "sub")
    assert made.env == {"A": "1"}
    assert made.roots == (str(tmp_path), str(tmp_path.parent / "y"))


def test_variables_are_filled_in_and_a_missing_one_is_named_with_its_place() -> None:
    table = {"command": "x", "args": ["${A}", "${B:-other}"], "env": {"K": "${A}"}}
    made = define(table, {"A": "1"})
    assert (made.argv, made.env) == (("x", "1", "other"), {"K": "1"})
    with pytest.raises(ConfigError) as caught:
        define(table)
    assert {(fault.where, fault.hint) for fault in caught.value.faults} == {
        ("plugins.mcp.servers.one.args[0]", "set A, or write ${A:-default}"),
        ("plugins.mcp.servers.one.env.K", "set A, or write ${A:-default}"),
    }


def test_numbers_from_variables_are_numbers() -> None:
    made = define({"command": "x", "timeout": "${T}", "required": "${R}"}, {"T": "2.5", "R": "true"})
    assert (made.connect_s, made.required) == (2.5, True)


def test_the_list_of_a_yaml_file_is_the_same(tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text(
        "tools:\n"
        "  - {name: fs, description: files, type: mcp, server: '@modelcontextprotocol/server-filesystem', args: [.]}\n"
        "  - {name: far, type: mcp, transport: sse, url: 'https://h/sse', sse_read_timeout: 9}\n"
    )
    first, second = load_config(file, environ={}).plugin_settings("mcp", McpSettings).definitions()
    assert (first.name, first.description, first.argv[-1]) == ("fs", "files", ".")
    assert (second.transport, second.sse_read_s) == ("sse", 9)


def test_every_key_says_what_it_is_for_and_shows_what_is_right() -> None:
    import tomllib

    from pegboard.schema import structure_all

    for key, field in KEYS.items():
        assert field.metadata["help"]
        shown = tomllib.loads(f"{key} = {field.metadata['example']}")
        assert structure_all(shown, ServerSettings)[1] == [], key


def test_a_table_without_servers_has_none() -> None:
    assert load({}).definitions() == ()
    assert list(McpSettings.find_faults({})) == []


# -- wrong ones

GOOD: tuple[dict[str, Any], ...] = (
    {"command": "npx", "args": ["-y", "x"], "env": {"A": "b"}, "timeout": 3, "prefix": "p"},
    {"server": "@scope/name", "args": ["."], "allowed_tools": ["a"], "disabled_tools": ["b"], "start": "eager"},
    {"server": "mcp-server-git", "cwd": "/x", "encoding": "utf-8", "required": True, "load_tools": False},
    {"command": "x", "confine": True, "read": ["/a"], "write": ["b"], "network": ["a.org", "10.0.0.1:80"]},
    {"command": "x", "confine": True, "max_memory_bytes": 10**9, "max_file_bytes": 10**6, "max_processes": 9},
    {"url": "https://h/mcp", "headers": {"X-A": "b"}, "terminate_on_close": False, "oauth": True},
    {"url": "https://h/sse", "transport": "sse", "sse_read_timeout": 5, "description": "d", "headers": {"X": "y"}},
    {"url": "wss://h/ws", "request_timeout": 9, "max_message_bytes": 4096, "load_prompts": True},
    {"command": "uvx", "config": {"a": [1]}, "config_env": "C", "roots": ["/r"], "allowed_tools": []},
    {"command": "/opt/my server/run", "transport": "stdio", "env": {}, "disabled_tools": []},
)
# What no key of that type takes; None is as good as nothing said.
NO_TEXT: tuple[Any, ...] = (7, -1.5, True, "a\0b", [], {}, [[]], {"a": {"b": [1]}}, float("nan"), 10**40)
NO_LIST: tuple[Any, ...] = (7, True, "a", {}, {"a": 1}, [1], [[]], ["x", None], [{"a": None}], ["\0"], [True])
NO_TABLE: tuple[Any, ...] = (
    7,
    False,
    "a",
    [],
    [{}],
    {"K": 1},
    {"K": None},
    {"K": ["v"]},
    {"K": {"a": {}}},
    {"K": "v\0"},
)
NO_NUMBER: tuple[Any, ...] = ("5", True, [], {}, [5], 0, -1, 10**40, float("inf"), float("nan"))
NO_BOOLEAN: tuple[Any, ...] = ("true", "false", 0, 1, [], {}, [True], 0.0, "")
NONSENSE: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("command", "server", "url", "cwd", "env_file", "envFile", "encoding", "prefix"), NO_TEXT),
    **dict.fromkeys(("transport", "protocol", "start", "results", "config_env", "description"), NO_TEXT),
    **dict.fromkeys(
        ("oauth_client_id", "oauth_client_secret", "oauth_issuer", "oauth_metadata_url", "oauth_scope"), NO_TEXT
    ),
    **dict.fromkeys(("args", "allowed_tools", "disabled_tools", "roots", "read", "write", "network"), NO_LIST),
    **dict.fromkeys(("env", "headers"), NO_TABLE),
    **dict.fromkeys(
        ("timeout", "install_timeout", "request_timeout", "sse_read_timeout", "max_message_bytes"), NO_NUMBER
    ),
    **dict.fromkeys(
        (
            "oauth",
            "terminate_on_close",
            "load_tools",
            "load_prompts",
            "required",
            "confine",
            "trusted",
            "may_sample",
            "may_elicit",
        ),
        NO_BOOLEAN,
    ),
    **dict.fromkeys(
        ("calls_per_minute", "max_result_bytes", "asks_per_hour", "sampling_tokens_per_day"),
        ("7", True, [], {}, 1.5, float("nan"), 0, -1, 10**10),
    ),
    **dict.fromkeys(("max_memory_bytes", "max_file_bytes"), ("7", True, [], {}, 1.5, float("nan"), 0, -1, 999, 10**14)),
    "max_processes": ("7", True, [], {}, 1.5, float("nan"), 0, -1, 10**10),
    "config": (7, True, "a", [], [{}], {"a": float("nan")}),
}


@pytest.mark.parametrize("table", GOOD)
def test_the_definitions_that_are_mutated_are_right(table: dict[str, Any]) -> None:
    assert define(table).name == "one"


Mutation = Callable[[random.Random, dict[str, Any]], dict[str, Any]]


def _set(key: str, *values: Any) -> Mutation:
    return lambda rng, table: {**table, key: rng.choice(values)}


def _nonsense(rng: random.Random, table: dict[str, Any]) -> dict[str, Any]:
    key = rng.choice([*table, *KEYS])
    return {**table, key: rng.choice(NONSENSE[key])}


def _misspelt(rng: random.Random, table: dict[str, Any]) -> dict[str, Any]:
    key = rng.choice(list(table))
    at = rng.randrange(len(key))
    return {**{k: v for k, v in table.items() if k != key}, key[:at] + "x" + key[at:]: table[key]}


def _without_what_runs(rng: random.Random, table: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in ("command", "server", "url")}


def _two_that_run(rng: random.Random, table: dict[str, Any]) -> dict[str, Any]:
    more = {"command": "x", "server": "@a/b", "url": "https://h"}
    return {**table, **{key: more[key] for key in more if key not in table}}


MUTATIONS: tuple[Mutation, ...] = (
    _nonsense, _nonsense, _nonsense, _nonsense, _nonsense, _misspelt, _without_what_runs, _two_that_run,
    _set("url", "ftp://h", "https://", "h/x", "https://a b", "https://h:0/", "https://h:99999999", "https://h/#f", ""),
    _set("headers", {"A": "b\r\nC: d"}, {"A b": "c"}, {"": "x"}, {"A": "b", "a": "c"}, {"X": "\u2603"}),
    _set("timeout", 0, -1, 1e9, "5", [5]), _set("request_timeout", 0, -0.1, 10**30),
    _set("sse_read_timeout", 0, -3), _set("max_message_bytes", 0, 12, 1.5, 10**15),
    _set("transport", "stdin", "HTTP", "streamable", "", 3), _set("start", "now", "", 1), _set("results", "all", "", 1),
    _set("encoding", "utf-99", "utf-16", "rot13", "hex", "", "\ud800"),
    _set("prefix", "a b", "x" * 33, "\u00e9", "a/b"), _set("config", {"a": float("nan")}, 3, [1]),
    _set("config_env", "A B", "1x", ""), _set("env", {"A=B": "c"}, {"": "c"}, {"A": "b\0"}, {"A\n": "b"}),
    _set("env_file", "/no/such/file", "", "/"), _set("envFile", "/no/such/file"), _set("server", "a b", "@x", "-y"),
    _set("command", "npx -y thing", "   ", "x\0"), _set("allowed_tools", [""], "a", {"a": 1}),
    _set("network", ["https://a.org"], [""], ["*"], ["a:0"]), _set("read", [""], "/r"),
    _set("disabled_tools", [" "], "b"), _set("roots", [""], "/r"), _set("cwd", "", 3, "~nobody-has-this-name/x"),
)  # fmt: skip


def _malformed(seed: int, count: int) -> list[dict[str, Any]]:
    """Mutations of good tables, each wrong by what was done to it."""
    rng = random.Random(seed)
    made: dict[str, dict[str, Any]] = {}
    while len(made) < count:
        table = rng.choice(MUTATIONS)(rng, copy.deepcopy(rng.choice(GOOD)))
        made[repr(table)] = table
    return list(made.values())


@pytest.mark.parametrize("table", _malformed(20261122, 200), ids=range(200))
def test_a_malformed_definition_is_refused_at_load_with_its_path_and_a_fix(table: dict[str, Any]) -> None:
    faults = faults_of({"one": table})
    for fault in faults:
        assert fault.path[:4] == ("plugins", "mcp", "servers", "one")
        assert fault.expected
        assert len(str(fault)) < 700
    fixes = {fault.path: fault.hint for fault in McpSettings.find_faults({"servers": {"one": table}})}
    assert all(fixes.values())
    assert {fault.path[4] for fault in faults} <= {path[2] for path in fixes}


@pytest.mark.parametrize(
    ("table", "where", "fix"),
    [
        ({}, "command", 'server = "@scope/package"'),
        ({"transport": "sse"}, "url", 'url = "https://host/mcp"'),
        ({"command": "npx -y thing"}, "command", 'command = "npx", and the other 2 words in args'),
        ({"url": "https://h", "args": ["x"]}, "args", "take `args` out, or the URL"),
        ({"url": "wss://h", "transport": "http"}, "transport", "take `transport` out"),
        ({"command": "x", "headers": {"A": "b"}}, "headers", "take `headers` out"),
        ({"command": "x", "allowed_tools": ["a"], "disabled_tools": ["c", "a"]}, "disabled_tools[1]", "one of the two"),
        ({"command": "x", "config_env": "C"}, "config_env", "say `config`, or take `config_env` out"),
        ({"command": "x", "env_file": "a", "envFile": "a"}, "envFile", "take one of them out"),
        ({"command": "x", "env_file": "/no/such"}, "env_file", "make the file"),
        ({"url": "https://h\x01"}, "url", "as in url"),
    ],
)
def test_the_fix_says_what_to_write(table: dict[str, Any], where: str, fix: str) -> None:
    fault = next(one for one in faults_of({"one": table}) if one.where == f"plugins.mcp.servers.one.{where}")
    assert fix in (fault.hint or "")


@pytest.mark.parametrize(
    ("headers", "more"),
    [
        ({"A": " b"}, {}), ({"A": "b\n"}, {}), ({"A": "\u00e9"}, {}), ({"Content-Length": "3"}, {}),
        ({"Sec-WebSocket-Key": "x"}, {}), ({"mcp-session-id": "x"}, {}),
        ({"Authorization": "Bearer x"}, {"oauth": True}),
    ],
)  # fmt: skip
def test_headers_that_cannot_be_sent_are_refused(headers: dict[str, str], more: dict[str, Any]) -> None:
    (fault,) = McpSettings.find_faults({"servers": {"one": {"url": "https://h", "headers": headers, **more}}})
    assert fault.path == ("servers", "one", "headers", *headers)
    assert fault.hint
    assert fault_of({"url": "https://h", "headers": headers, **more}).path[4] == "headers"


def test_a_required_server_is_started_at_once() -> None:
    assert define({"command": "x", "required": True}).start == "eager"
    assert define({"command": "x", "required": False}).start == "lazy"


def test_an_env_file_that_is_none_names_the_line(tmp_path: Path) -> None:
    file = tmp_path / "x.env"
    file.write_text("A=1\nthis is = ' no line\n")
    assert "line 2" in fault_of({"command": "x", "env_file": str(file)}).got
    file.write_bytes(b"A=\xff")
    assert fault_of({"command": "x", "env_file": str(file)}).got == f"other bytes in {file}"
    file.write_bytes(b"#" * 1_048_577)
    assert fault_of({"command": "x", "env_file": str(file)}).got.startswith(f"{file}")


def test_an_env_file_may_name_variables_and_a_missing_one_is_named_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "x.env"
    monkeypatch.setenv("FROM_HOST", "1")
    file.write_text("A=${FROM_HOST}\nB=${A}2\nC=${NOT_THERE:-3}\n")
    assert define({"command": "x", "env_file": str(file)}).env == {"A": "1", "B": "12", "C": "3"}
    file.write_text("A=1\nB=${NOT_THERE}\n")
    fault = fault_of({"command": "x", "env_file": str(file)})
    assert (fault.expected, fault.got) == ("the variable NOT_THERE to be set", "nothing (line 2)")


@pytest.mark.parametrize("name", ["", "  ", "x" * 65, "a\nb"])
def test_a_name_must_be_one(name: str) -> None:
    assert any("a name of 1 to 64 signs" in fault.expected for fault in faults_of({name: {"command": "x"}}))


def test_names_that_are_one_in_the_names_of_tools_are_refused() -> None:
    (fault,) = faults_of({"my fs": {"command": "x"}, "my-fs": {"command": "y"}})
    assert fault.hint == "rename one of them"
    assert "my fs" in fault.got


def test_everything_that_is_wrong_is_said_at_once() -> None:
    servers = {"a": {"command": 3}, "b": {"url": "ftp://x", "timeout": -1}, "c": {}, "d": {"commnd": "x"}}
    assert {fault.path[3] for fault in faults_of(servers)} == {"a", "b", "c", "d"}
    assert len(faults_of(servers)) >= 6


@pytest.mark.parametrize(
    ("more", "where"),
    [
        ({"tokens": {"tok en": "ada"}}, "tokens"),
        ({"tokens": {"t": " "}}, "tokens"),
        ({"tokens": {"t": {"user_id": ""}}}, "tokens"),
        ({"oauth": {"issuer": "x", "introspection_url": "https://h", "resource_url": "https://h"}}, "oauth.issuer"),
        ({"max_sessions": 0}, "max_sessions"),
        ({"stop_timeout_s": -1}, "stop_timeout_s"),
        ({"lock": "maybe"}, "lock"),
    ],
)
def test_what_serving_needs_is_held_to_be_right(more: dict[str, Any], where: str) -> None:
    (fault,) = faults_of({}, **more)
    assert fault.where.startswith(f"plugins.mcp.{where}")
    assert "tok en" not in str(fault)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["npx", "https://h"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150)
@given(
    st.dictionaries(
        st.text(max_size=5), st.dictionaries(st.sampled_from([*KEYS, "other"]), json_values, max_size=5), max_size=2
    )
)
def test_any_tables_give_definitions_or_faults_never_both_and_never_an_exception(servers: dict[str, Any]) -> None:
    try:
        made = load(copy.deepcopy(servers)).definitions()
    except ConfigError as problem:
        refused = problem.faults
    else:
        refused = ()
        assert [one.name for one in made] == list(servers)
    assert bool(refused) == bool(list(McpSettings.find_faults({"servers": servers})))


@settings(max_examples=100)
@given(json_values)
def test_any_section_gives_faults_or_none_never_an_exception(raw: Any) -> None:
    for fault in McpSettings.find_faults({"servers": raw, "tokens": raw, "config_file": raw, "oauth": raw}):
        assert fault.expected


# -- secrets

SECRETS = {"GH_TOKEN": "ghtoken-from-variable"}
SECRET_TABLES: dict[str, Any] = {
    "a": {
        "command": "run",
        "args": ["--api-key", "argsecret-1", "--token=argsecret-2", "-H", "Authorization: Bearer argsecret-3"],
        "env": {"PLAIN": "envsecret-1", "OTHER": "${GH_TOKEN}"},
    },
    "b": {
        "url": "https://user-secret:pass%2Fsecret@h/x?api_key=query-secret",
        "headers": {"Authorization": "Bearer headersecret-1", "X-Odd": "headersecret-2"},
        "config": {"apiKey": "config-secret", "inner": [{"password": "config-secret-2"}]},
    },
}  # fmt: skip
HIDDEN_WORDS = (
    "argsecret-1", "argsecret-2", "argsecret-3", "envsecret-1", "ghtoken-from-variable", "user-secret", "pass%2Fsecret",
    "query-secret", "headersecret-1", "headersecret-2", "config-secret", "config-secret-2",
)  # fmt: skip


def test_pegboard_config_shows_no_secret() -> None:
    config = load_config({"plugins": {"mcp": {"servers": SECRET_TABLES}}}, environ=SECRETS, found=False)
    config.plugin_settings("mcp", McpSettings)
    shown = "\n".join(f"{row.key} = {row.value!r}" for row in config.describe())
    assert "run" in shown
    assert [word for word in HIDDEN_WORDS if word in shown] == []


def test_a_definition_knows_its_secrets_and_masks_them() -> None:
    first, second = load(SECRET_TABLES, SECRETS).definitions()
    said = " ".join(HIDDEN_WORDS) + " pass/secret"
    masked = second.mask(first.mask(said))
    assert [word for word in (*HIDDEN_WORDS, "pass/secret") if word in masked] == []
    for definition in (first, second):
        assert [
            word for word in HIDDEN_WORDS if word in definition.shown + repr(definition.mask(definition.shown))
        ] == []


def test_a_secret_variable_of_the_host_is_hidden_wherever_its_value_went(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "moved-into-an-argument")
    made = define({"command": "x", "args": ["moved-into-an-argument"]})
    assert made.shown == "x ***"


def test_faults_show_no_secret() -> None:
    table = {
        **SECRET_TABLES["b"],
        "command": "x",
        "headers": {"Authorization": "Bearer headersecret-1\n"},
        "timeout": -1,
    }
    with pytest.raises(ConfigError) as caught:
        load({"b": table})
    said = str(caught.value) + repr([fault.to_json() for fault in caught.value.faults])
    assert [word for word in HIDDEN_WORDS if word in said] == []


def test_short_values_and_plain_headers_are_no_secrets() -> None:
    assert define({"command": "x", "env": {"A": "1"}}).secrets == ()
    assert define({"url": "https://h", "headers": {"Accept": "application/json"}}).secrets == ()


@settings(max_examples=100)
@given(st.lists(st.text(max_size=30), max_size=4), st.text(max_size=40))
def test_looking_for_secrets_takes_any_text(args: list[str], url: str) -> None:
    found = secrets_of_args(args) | secrets_of_url(url) | secrets_of_url(f"https://{url}")
    assert all(isinstance(secret, str) for secret in found)


def test_what_a_definition_prints_of_itself_holds_no_secret() -> None:
    settings = load(SECRET_TABLES, SECRETS)
    said = "".join(map(repr, [settings, *settings.servers.values(), *settings.definitions()]))
    assert [word for word in HIDDEN_WORDS if word in said] == []


def test_reading_the_settings_imports_nothing_that_is_heavy() -> None:
    import subprocess
    import sys

    code = """
import sys
from pegboard.config import load_config
from pegboard_mcp.settings import McpSettings
mcp = {"servers": {"a": {"command": "x"}, "b": {"url": "https://h"}}}
load_config({"plugins": {"mcp": mcp}}, environ={}, found=False).plugin_settings("mcp", McpSettings).definitions()
heavy = {"mcp", "mcp_types", "trio", "anyio", "httpx2", "dotenv", "tomlkit", "keyring", "starlette", "pydantic"}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("more", "place", "expected"),
    [
        ({"oauth_client_id": "me"}, "oauth_client_id", "`oauth = true` beside it"),
        ({"oauth": True, "oauth_client_secret": "s3cret-s3cret"}, "oauth_client_secret", "`oauth_client_id` beside it"),
        (
            {"oauth": True, "oauth_client_id": "me", "oauth_client_secret": "s3cret-s3cret"},
            "oauth_client_secret",
            "`oauth_issuer` beside it",
        ),
        ({"oauth": True, "oauth_metadata_url": "http://host/x"}, "oauth_metadata_url", "a URL of scheme https"),
    ],
)
def test_what_belongs_to_oauth_does_not_stand_alone(more: dict[str, Any], place: str, expected: str) -> None:
    table = {"url": "https://host/mcp", **more}
    (fault,) = McpSettings.find_faults({"servers": {"a": table}})
    assert fault.path == ("servers", "a", place)
    assert fault.expected.startswith(expected)


def test_as_what_the_host_is_registered_reaches_the_definition_and_its_secret_is_one() -> None:
    table = {
        "url": "https://host/mcp", "oauth": True, "oauth_client_id": "me", "oauth_client_secret": "s3cret-s3cret",
        "oauth_scope": "read", "oauth_metadata_url": "https://host/client.json", "oauth_issuer": "https://login.host",
    }  # fmt: skip
    assert list(McpSettings.find_faults({"servers": {"a": table}})) == []
    (definition,) = McpSettings(servers={"a": ServerSettings(**table)}).definitions()
    assert (definition.oauth_client_id, definition.oauth_scope) == ("me", "read")
    assert definition.mask("it said s3cret-s3cret") == "it said ***"
    assert "s3cret" not in repr(definition)

"""Where the configuration is read from, and what is said about a file that is not valid."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard.config import Config, _files, find_found_file, load_config, open_named, read_table, trust
from pegboard.config._files import MAX_BYTES, read_file
from pegboard.errors import ConfigError


@attrs.frozen
class Paths:
    paths: tuple[int, ...] = ()


@attrs.frozen
class Servers:
    servers: dict[str, Any] = attrs.field(factory=dict)


@pytest.fixture
def load(tmp_path):
    """Load with folders of the test's own, and no environment but what the test gives."""
    (tmp_path / "project" / "deep" / "deeper").mkdir(parents=True)
    (tmp_path / "user").mkdir()

    def load(source=None, *, environ=None, cwd="project", **more):
        return load_config(
            source,
            environ=environ or {},
            cwd=tmp_path / cwd,
            user_dir=tmp_path / "user",
            state_dir=tmp_path / "state",
            **more,
        )

    return load


@pytest.fixture
def write(tmp_path):
    def write(name: str, text: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def refused(act) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        act()
    assert all(fault.where for fault in caught.value.faults)
    return caught.value


def test_without_any_file_the_defaults_hold(load):
    config = load()
    assert config.core.timeout_s == 30
    assert not config.core.read_only
    assert config.files == ()
    assert str(config.origin_of(("timeout_s",))) == "default"


def test_the_nearest_file_upwards_lies_over_the_users_own(load, write):
    own = write("user/pegboard.toml", "timeout_s = 6\nuser_id = 'ada'\n[plugins.tasks]\nurl = 'a'\nsize = 1")
    found = write("project/pegboard.toml", "timeout_s = 5\n[plugins.tasks]\nsize = 2")
    config = load(cwd="project/deep/deeper")
    assert (config.core.timeout_s, config.core.user_id) == (5, "ada")
    assert config.files == (own, found)
    assert str(config.origin_of(("plugins", "tasks", "url"))) == str(own)
    assert str(config.origin_of(("plugins", "tasks", "size"))) == str(found)


def test_lists_are_replaced_and_tables_merged(load, write):
    write("user/pegboard.toml", "[profiles.a]\ntags = ['x']\n[profiles.b]\ntags = ['x', 'y']")
    write("project/pegboard.toml", "[profiles.c]\ntags = ['z']")
    config = load()
    assert sorted(config.profiles) == ["a", "b", "c"]
    assert config.profiles["b"].tags == {"x", "y"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pegboard.toml", "timeout_s = 7"),
        ("pyproject.toml", "[tool.pegboard]\ntimeout_s = 7"),
        ("pegboard.yaml", "timeout_s: 7"),
        ("pegboard.yml", "timeout_s: 7"),
        ("agent.yaml", "timeout_s: 7"),
        ("agent.yml", "timeout_s: 7"),
    ],
)
def test_each_name_is_found(load, write, name, text):
    path = write(f"project/{name}", text)
    assert load(cwd="project/deep").core.timeout_s == 7
    assert find_found_file(path.parent / "deep") == path


def test_a_pyproject_without_our_section_is_passed_by(load, write):
    write("project/deep/pyproject.toml", "[project]\nname = 'x'\ndependencies = ['pegboard']")
    write("project/pegboard.toml", "timeout_s = 8")
    assert load(cwd="project/deep").core.timeout_s == 8


def test_a_broken_pyproject_that_never_speaks_of_us_is_not_ours(load, write):
    write("project/pyproject.toml", "[tool.black\n")
    assert load().files == ()


def test_a_pyproject_too_large_to_be_ours_is_passed_by(load, write):
    write("project/pyproject.toml", "[tool.pegboard]\n#" + "x" * MAX_BYTES)
    assert load().files == ()


def test_a_folder_that_cannot_be_looked_into_holds_no_file(load):
    assert load(cwd="x" * 300).files == ()


def test_in_one_folder_the_file_of_our_own_name_counts(load, write):
    write("project/agent.yaml", "timeout_s: 1")
    write("project/pyproject.toml", "[tool.pegboard]\ntimeout_s = 2")
    write("project/pegboard.toml", "timeout_s = 3")
    assert load().core.timeout_s == 3


def test_what_is_not_a_file_is_not_found(load, tmp_path):
    (tmp_path / "project" / "pegboard.toml").mkdir()
    assert load().files == ()


def test_a_named_file_stands_alone(load, write):
    write("user/pegboard.toml", "timeout_s = 5")
    write("project/pegboard.toml", "read_only = true")
    write("project/other.toml", "user_id = 'eve'")
    config = load("other.toml")
    assert (config.core.timeout_s, config.core.read_only, config.core.user_id) == (30, False, "eve")


def test_a_variable_names_a_file_as_the_option_does(load, write):
    path = write("other.yaml", "timeout_s: 9")
    assert load(environ={"PEGBOARD_CONFIG": str(path)}).core.timeout_s == 9
    assert load(environ={"PEGBOARD_CONFIG": str(path)}, found=False).core.timeout_s == 30


def test_no_file_is_read_where_none_is_wanted(load, write):
    write("user/pegboard.toml", "broken =")
    write("project/pegboard.toml", "timeout_s = 5")
    assert load(found=False).core == Config().core


def test_the_users_own_file_is_not_read_twice(load, write):
    path = write("user/pegboard.toml", "timeout_s = 5")
    assert load(cwd="user").files == (path,)


def test_a_mapping_of_a_program_is_all_that_is_read_and_is_not_kept(load, write):
    write("project/pegboard.toml", "timeout_s = 5")
    given_tables = {"plugins": {"x": {"paths": (1, 2)}}}
    config = load(given_tables)
    given_tables["plugins"]["x"]["paths"] = ()
    assert config.core.timeout_s == 30
    assert str(config.origin_of(("plugins", "x", "paths"))) == "the program"
    assert config.plugin_settings("x", Paths) == Paths((1, 2))


def test_a_mapping_is_held_to_text_keys_and_bounded_depth(load):
    circle: dict = {"plugins": {}}
    circle["plugins"]["x"] = circle
    assert "nested no deeper" in str(refused(lambda: load(circle)))
    assert "keys that are texts" in str(refused(lambda: load({"plugins": {1: {}}})))


def test_a_named_file_that_is_not_there_is_said_so(load):
    assert "No such file" in str(refused(lambda: load("nope.toml")))


def test_a_named_pyproject_must_have_our_section(load, write):
    path = write("project/pyproject.toml", "[project]\nname = 'x'")
    assert "[tool.pegboard]" in str(refused(lambda: load(path)))


def test_the_faults_of_both_files_are_told_at_once(load, write):
    write("user/pegboard.toml", "a = [\n1 2]")
    write("project/pegboard.toml", "b = \n")
    error = refused(load)
    assert len(error.faults) == 2
    assert "line 2" in str(error)
    assert "line 1" in str(error)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.toml", b"x = '\xff'", "not UTF-8 (line 1)"),
        ("a.toml", "x = 1\nx = 2", "overwrite a value"),
        ("a.toml", "[plugins.x]\n[plugins.x]", "declare a table twice"),
        ("a.toml", "x = 2026-13-45", "line 1"),
        ("a.toml", "x = " + "[" * 40 + "]" * 40, "nested deeper than 32"),
        ("a.toml", "x = " + "[" * 90_000, "nested deeper than 32"),
        ("a.toml", ".".join(["a"] * 70_000) + " = 1", "more than 64 parts (line 1)"),
        ("a.toml", "# " + "x" * MAX_BYTES, "more than"),
        ("a.toml", "x = [" + "1," * 20_000 + "]", "more than 10000 values"),
        ("a.yaml", "- 1", "a list"),
        ("a.yaml", "text", "a single value"),
        ("a.yaml", "a: 1\nb: 2\na: 3", "twice (line 3)"),
        ("a.yaml", "1: x", "put it in quotes (line 1)"),
        ("a.yaml", "a: !!python/object/apply:os.system ['true']", "a tag that is not read here (line 1)"),
        ("a.yaml", "a: [1\nb: 2", "line 2"),
        ("a.yaml", "a: !thing x", "constructor for the tag"),
        ("a.toml", "x = " + "9" * 5_000, "a date or a number"),
        ("a.yaml", "a: *nope", "undefined alias"),
        ("a.yaml", "a: &a [*a]", "nested deeper"),
        ("a.yaml", "x: " + "[" * 40 + "]" * 40, "nested deeper than 32"),
        ("a.yaml", "x: " + "[" * 20_000, "nested deeper than 32"),
        ("a.yaml", "a: 2026-13-45", "a date or a number"),
        ("a.yaml", "a: \x07", "not allowed"),
        ("a.yaml", "<<: 1", "merge key"),
        ("a.yaml", "a: 1\n---\nb: 2", "single document"),
    ],
)
def test_what_is_not_a_configuration_is_refused_with_its_line(load, write, name, text, said):
    path = write(f"project/{name}", text)
    error = refused(lambda: load(path))
    assert said in str(error)
    assert name in error.faults[0].where


def test_aliases_are_counted_as_what_they_stand_for(load, write):
    lines = ["a0: &a0 [1,1,1,1,1,1,1,1,1,1]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    path = write("bomb.yaml", "\n".join(lines))
    assert "aliases counted" in str(refused(lambda: load(path)))


def test_yaml_merges_keys_under_what_the_table_says_itself(load, write):
    path = write("a.yaml", "profiles:\n  a: &a {tags: [x], read_only: true}\n  b: {<<: [*a], tags: [y]}\n")
    profile = load(path).profiles["b"]
    assert profile.tags == {"y"}
    assert profile.read_only


def test_an_empty_file_says_nothing(load, write):
    assert load(write("a.yaml", "# nothing\n")).core == Config().core
    assert load(write("a.toml", "")).core == Config().core


def test_a_list_of_mcp_entries_is_servers_in_other_words(load, write):
    path = write("a.yaml", "tools:\n- type: mcp\n  name: files\n  command: npx\n- {type: mcp, server: git}\n")
    config = load(path)
    servers = config.plugin_settings("mcp", Servers).servers
    assert servers["files"]["command"] == "npx"
    assert servers["git"]["server"] == "git"
    assert config.tools == {}
    assert {row.value for row in config.describe() if row.key.startswith("plugins.mcp")} == {"npx", "git"}


def test_servers_in_both_forms_are_a_mistake(load, write):
    text = "tools:\n- {type: mcp, name: a, command: x}\nplugins: {mcp: {servers: {b: {command: y}}}}\n"
    (fault,) = refused(lambda: load(write("a.yaml", text))).faults
    assert (fault.where, fault.got, fault.hint) == ("plugins.mcp.servers", "both", "write all of them in one place")


def test_what_a_plugin_that_is_not_there_would_call_secret_is_hidden(load, write):
    path = write("a.toml", "[plugins.vault]\npin = '1234'\nsizes = [1, 2]\n")
    assert {row.value for row in load(path).describe() if row.key.startswith("plugins.vault")} == {"***"}


def test_faults_of_a_tools_list_name_their_entries(load, write):
    path = write("a.yaml", "tools:\n- 1\n- type: magic\n- type: mcp\n- {type: mcp, name: a}\n- {type: mcp, name: a}\n")
    assert [fault.where for fault in refused(lambda: load(path)).faults] == [
        "tools[0]",
        "tools[1].type",
        "tools[2].name",
        "tools[4].name",
    ]
    assert all(fault.hint for fault in refused(lambda: load(path)).faults)


def test_of_a_tools_list_with_faults_the_good_entries_are_held_to_be_right_too(load, write):
    path = write("a.yaml", "tools:\n- 1\n- {type: mcp, name: a, command: x}\n")
    assert load(path, hold=True).plugin_settings("mcp", Servers).servers == {"a": {"command": "x"}}
    text = "tools:\n- {type: mcp, name: a, command: x}\nplugins: {mcp: {servers: {a: {url: y}, b: {url: z}}}}\n"
    both = load(write("b.yaml", text), hold=True)
    assert both.plugin_settings("mcp", Servers).servers == {"a": {"url": "y"}, "b": {"url": "z"}}
    assert len(both.held) == 1


def test_a_trusted_list_survives_only_as_it_stood(load, write, tmp_path):
    path = write("project/pegboard.toml", "without = ['audit']")
    assert "pegboard trust" in (refused(load).hint or "")
    trust(path, state_dir=tmp_path / "state")
    assert load().core.without == ("audit",)
    path.write_text("without = ['audit', 'access']")
    refused(load)


TEXT = st.text(max_size=60) | st.sampled_from(["timeout_s", "[plugins.x]", "a: &a [*a]", "x = [", "${A:-", "'", "\n"])


@given(st.lists(TEXT, max_size=8).map("".join), st.sampled_from(["a.toml", "a.yaml", "pyproject.toml"]))
@settings(max_examples=150)
def test_any_text_gives_a_table_or_a_config_error_whose_every_fault_has_a_place(text, name):
    outcome: object
    try:
        outcome = read_file(Path(name), text.encode("utf-8", "surrogatepass"))
    except ConfigError as error:
        outcome = error.faults
    if isinstance(outcome, tuple):
        assert outcome
        assert all(fault.where and fault.expected and fault.got for fault in outcome)
    else:
        assert outcome is None or isinstance(outcome, dict)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
class TestANamedPipe:
    def test_is_read_as_a_file_is_once_somebody_writes(self, tmp_path):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        with ThreadPoolExecutor() as threads:
            writing = threads.submit(pipe.write_bytes, b"x" * 200_000)  # more than a pipe holds
            with open_named(pipe) as opened:
                assert opened.read(200_001) == b"x" * 200_000
            writing.result()

    def test_is_waited_for_while_its_writer_takes_time(self, tmp_path, monkeypatch):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        monkeypatch.setattr(_files, "PIPE_S", 0)
        writer = os.open(pipe, os.O_RDWR)  # Linux lets one end be both, so that this waits for nobody
        with ThreadPoolExecutor() as threads:
            reading = threads.submit(open_named, pipe)
            os.write(writer, b"x")
            with reading.result() as opened:
                assert opened.read(1) == b"x"
        os.close(writer)

    def test_into_which_nobody_writes_is_said_and_not_waited_for(self, tmp_path, monkeypatch):
        os.mkfifo(tmp_path / "pipe.toml")
        monkeypatch.setattr(_files, "PIPE_S", 0.01)
        with pytest.raises(
            ConfigError, match=r"pipe\.toml cannot be read: it is a pipe, and nobody wrote into it within"
        ):
            read_table(tmp_path / "pipe.toml")


@pytest.mark.skipif(os.name != "posix", reason="links and pipes as POSIX has them")
@pytest.mark.parametrize("name", ["project/pegboard.toml", "project/agent.yaml", "pegboard.yaml", "user/pegboard.toml"])
@pytest.mark.parametrize("kind", ["loop", "dangling", "pipe"])
def test_what_has_our_name_and_is_not_a_file_is_not_passed_over(
    tmp_path: Path, load: Any, name: str, kind: str
) -> None:
    """It may have said `read_only = true`."""
    place = tmp_path / name
    make = {
        "loop": lambda: place.symlink_to(place),
        "dangling": lambda: place.symlink_to(tmp_path / "gone"),
        "pipe": lambda: os.mkfifo(place),
    }
    make[kind]()
    with pytest.raises(ConfigError, match="not a file"):
        load()


def test_a_link_to_the_null_device_says_nothing(tmp_path: Path, load: Any) -> None:
    (tmp_path / "project" / "pegboard.toml").symlink_to(os.devnull)
    assert load().files == ()

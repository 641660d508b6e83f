"""Manifests as sources of tools: from the configuration to a board that calls them."""

from __future__ import annotations

import json
import os
import sys
import types

import pytest
from trio.testing import wait_all_tasks_blocked

from pegboard import ConfigError, ErrorCode, load_board, tool
from pegboard_manifest import plugin
from pegboard_manifest.bindings import _quiet
from pegboard_manifest.source import make_sources


@pytest.fixture
def sourcelib(monkeypatch):
    """A module that a manifest can bind."""
    module = types.ModuleType("sourcelib")
    module.f = lambda: "f of the library"
    monkeypatch.setitem(sys.modules, "sourcelib", module)
    yield module
    _quiet.restore()


def write(folder, project="Source Lib", names=("f",), **more):
    """A manifest in a folder; gives the file's name."""
    folder.mkdir(exist_ok=True)
    entries = [
        {
            "id": f"python:{name}",
            "name": name,
            "description": "Do it.",
            "category": "read",
            "risk": "low",
            "idempotency": "idempotent",
            "input_schema": {"type": "object", "properties": {}, "additionalProperties": False},
            "examples": [{"input": {}}],
            "binding": {"kind": "python", "module": "m", "qualified_name": "sourcelib.f", "parameters": []},
        }
        for name in names
    ]
    document = {
        "manifest_version": "1.0",
        "schema_dialect": "https://json-schema.org/draft/2020-12/schema",
        "project": {"name": project, "runtime": "python", "execution_model": "in-process"},
        "modules": {"m": {"import": "sourcelib", "isolate": "inline"}},
        "tools": entries,
        **more,
    }
    (folder / "tool.manifest.json").write_text(json.dumps(document))
    return str(folder / "tool.manifest.json")


def a_config(*files):
    return {"plugins": {"manifest": {"files": list(files)}}}


@pytest.fixture
def board_of():
    """`board_of(file, ...)` is a board that serves these manifests."""
    return lambda *files, config=None: load_board({**a_config(*files), **(config or {})}, [plugin])


def test_tools_hang_as_soon_as_the_board_is_loaded(board_of, tmp_path):
    board = board_of(write(tmp_path / "a", names=("f", "g")))
    assert sorted(board.tools) == ["f", "g"]
    assert board.tools["f"].origin.source == "manifest:Source Lib"
    assert board.state_of("f") == "known"
    assert "sourcelib" not in sys.modules


def test_without_files_there_is_nothing(board_of):
    board = board_of()
    assert (dict(board.tools), board.sources, board.findings()) == ({}, [], [])


async def test_a_host_calls_them_and_puts_the_streams_back(host_with, tmp_path, sourcelib):
    before = sys.stdout
    host = await host_with(plugin, config=a_config(write(tmp_path / "a")))
    await wait_all_tasks_blocked()
    assert (await host.session().call("f", {})).data == {"result": "f of the library"}
    assert host.board.state_of("f") == "ready"
    _quiet.restore()
    assert sys.stdout is before


async def test_a_manifest_that_is_wrong_costs_itself_and_is_named(host_with, tmp_path, sourcelib):
    good, bad = write(tmp_path / "a"), write(tmp_path / "b", project="Bad", surprise=1)
    host = await host_with(plugin, config=a_config(good, bad, str(tmp_path / "none.json")))
    await wait_all_tasks_blocked()
    assert (await host.session().call("f", {})).ok
    assert list(host.tools) == ["f"]
    states = {name: state[0].value for name, state in host.board.source_states.items()}
    assert sorted(states.values()) == ["failed", "failed", "ready"]
    reason = next(reason for state, reason in host.board.source_states.values() if reason and "fault" in reason)
    assert "b/tool.manifest.json" in reason
    whys = {finding.where: finding.why for finding in host.board.findings()}
    assert "expected a known name" in whys[f"{bad}: surprise"]


def test_a_name_that_is_taken_gets_the_projects_before_it(tmp_path):
    class Others:
        @plugin.hookimpl
        def provide_tools(self, settings):
            return [tool(name="f")(lambda: 1)]

    board = load_board(a_config(write(tmp_path / "a")), [Others(), plugin])
    assert sorted(board.tools) == ["Source_Lib_f", "f"]
    assert board.tools["f"].origin.source is None


def test_a_file_that_is_named_twice_is_one_source(board_of, tmp_path):
    file = write(tmp_path / "a")
    again = f"{tmp_path}/a/../a/tool.manifest.json"
    assert len(make_sources([file, again])) == 1
    assert list(board_of(file, again).tools) == ["f"]


def test_a_folder_is_not_a_manifest_since_nobody_can_trust_it_as_it_stands(board_of, tmp_path):
    write(tmp_path / "a")
    (source,) = make_sources([str(tmp_path / "a")])
    assert "is a folder" in source.manifest.message
    assert source.manifest.hint.endswith("a/tool.manifest.json")
    assert dict(board_of(str(tmp_path / "a")).tools) == {}


def test_a_relative_path_begins_beside_the_file_that_says_it(tmp_path, monkeypatch):
    write(tmp_path / "tools")
    (tmp_path / "pegboard.toml").write_text('[plugins.manifest]\nfiles = ["tools/tool.manifest.json"]\n')
    monkeypatch.chdir("/")
    assert list(load_board(tmp_path / "pegboard.toml", plugins=["manifest"]).tools) == ["f"]


def test_projects_of_one_name_are_told_apart_by_their_files_whatever_the_order(tmp_path):
    one, two = write(tmp_path / "a"), write(tmp_path / "b", names=("g",))
    forth, back = make_sources([one, two]), make_sources([two, one])
    assert {source.name for source in forth} == {source.name for source in back}
    assert len({source.name for source in forth}) == 2
    assert all(source.name.startswith("manifest:Source Lib-") for source in forth)


def test_names_of_sources_are_the_same_wherever_the_files_lie(tmp_path):
    names = []
    for place in (tmp_path / "here", tmp_path / "else" / "where"):
        place.mkdir(parents=True)
        files = [
            write(place / "a"),
            write(place / "b", names=("g",)),
            write(place / "c", surprise=1),
            f"{place}/no.json",
        ]
        (place / "d").mkdir()
        names.append([source.name.replace(place.name, "PLACE") for source in make_sources([*files, f"{place}/d"])])
    assert names[0] == names[1]
    assert len(set(names[0])) == 5


def test_files_that_hold_the_same_are_sources_of_their_own(tmp_path):
    names = [source.name for source in make_sources([write(tmp_path / one) for one in "abc"])]
    assert names[1:] == [f"{names[0]}-2", f"{names[0]}-3"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX's")
def test_a_pipe_is_no_manifest_and_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (source,) = make_sources([str(tmp_path / "pipe")])
    assert source.known() is None


def test_paths_that_are_none_are_faults_of_their_own(tmp_path):
    (source,) = make_sources(["a\0b"])
    assert source.known() is None
    assert source.other_name("f") is None
    assert "ManifestSource manifest:" in repr(source)


def test_a_configuration_that_was_found_and_not_trusted_may_not_name_manifests(tmp_path, monkeypatch):
    file = write(tmp_path / "a")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "pegboard.toml").write_text(f"[plugins.manifest]\nfiles = [{json.dumps(file)}]\n")
    with pytest.raises(ConfigError, match="may not yet say"):
        load_board(plugins=["manifest"])
    assert list(load_board(tmp_path / "pegboard.toml", plugins=["manifest"]).tools) == ["f"]


async def test_a_tool_of_a_module_that_is_missing_hangs_and_says_how_to_repair_it(host_with, tmp_path):
    session = (await host_with(plugin, config=a_config(write(tmp_path / "a")))).session()
    error = (await session.call("f", {})).error
    assert (error.code, error.details["reason"]) == (ErrorCode.UPSTREAM_ERROR, "not_installed")
    _quiet.restore()


@pytest.mark.parametrize(
    ("project", "expected"),
    [("a\u202eb\x1b[31mc\n# d\U000e0041", "manifest:abc # d"), ("\u200b\x07", "manifest:tools")],
)
def test_a_source_is_called_by_a_name_that_shows_all_that_it_holds(sourcelib, tmp_path, project, expected):
    (source,) = make_sources([write(tmp_path, project=project)])
    assert source.name == expected


async def test_a_source_tells_which_file_it_is_and_offers_its_tools_again(tmp_path, sourcelib, host_with):
    good, bad = write(tmp_path / "a"), write(tmp_path / "b", surprise=1)
    host = await host_with(plugin, config=a_config(good, bad))
    await wait_all_tasks_blocked()
    told = {source.describe().location: source.describe() for _, source in host.board.sources}
    assert told[good].server == {"name": "Source Lib"}
    assert told[good].last_words is None
    assert "has a fault" in told[bad].last_words
    json.dumps([one.to_json() for one in told.values()])
    before = host.tools["f"]
    host.board.offer_again()
    assert host.tools["f"].fingerprint == before.fingerprint
    assert sum(one.state.value == "ready" for one in host.board.source_statuses()) == 1

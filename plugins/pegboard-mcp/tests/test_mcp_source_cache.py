"""The lists on disk: a convenience that never costs anything."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard_mcp.client import cache
from pegboard_mcp.client.discovery import Listing
from pegboard_mcp.definitions import ServerDefinition

TOOL = {"key": "add", "description": "Adds.", "input_schema": {"type": "object"}, "annotations": {"read_only": True}}
PROMPT = {"key": "greet", "arguments": [{"name": "who", "required": True}]}
RESOURCE = {"key": "note://one", "name": "one", "size": 3}
TEMPLATE = {"key": "note://{name}", "name": "note"}
LISTING = Listing((TOOL,), (PROMPT,), (RESOURCE,), (TEMPLATE,), server={"name": "s", "version": "1"})


def file_of(listing: Listing = LISTING) -> bytes:
    content = {"format": cache.FORMAT, "version": cache.__version__, "server": dict(listing.server)}
    return json.dumps({**content, **{name: getattr(listing, name) for name in cache.LISTS}}).encode()


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mcp" / "one-0123456789abcdef.json"
    cache.write(path, LISTING)
    assert cache.read(path) == LISTING
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_lists_of_a_server_that_is_configured_otherwise_are_forgotten(tmp_path: Path) -> None:
    old, other = tmp_path / "one-0000000000000000.json", tmp_path / "one-two-0000000000000000.json"
    for path in (old, other, tmp_path / "one-0123456789abcdef.json"):
        cache.write(path, LISTING)
    assert not old.exists()
    assert other.exists()


def test_a_file_of_another_version_counts_as_none() -> None:
    assert cache.parse(file_of()) == LISTING
    assert cache.parse(file_of().replace(cache.__version__.encode(), b"9.9.9")) is None
    assert cache.parse(file_of().replace(b'"format": 1', b'"format": 2')) is None


def test_a_missing_file_and_a_folder_count_as_none(tmp_path: Path) -> None:
    assert cache.read(tmp_path / "nothing.json") is None
    assert cache.read(tmp_path) is None


def test_a_folder_that_cannot_be_written_to_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache.write(tmp_path / "file" / "one-0123456789abcdef.json", LISTING)


def test_a_list_that_is_too_long_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MAX_BYTES", 100)
    path = tmp_path / "one-0123456789abcdef.json"
    cache.write(path, LISTING)
    assert not path.exists()
    path.write_bytes(file_of())
    assert cache.read(path) is None


def test_another_command_is_another_server() -> None:
    one = ServerDefinition(name="a/b", transport="stdio", argv=("x",))
    other = ServerDefinition(name="a/b", transport="stdio", argv=("y",))
    assert cache.path_of(one) != cache.path_of(other)
    assert cache.path_of(one).name.startswith("a-b-")


def listed(raw: bytes) -> Any:
    """The tools, prompts and resources that a source makes of a file."""
    from pegboard_mcp.client.source import McpSource

    source = McpSource(ServerDefinition(name="one", transport="stdio"))
    listing = cache.parse(raw)
    if listing is None:
        return None
    source.catalogue.take(listing)
    source.catalogue.prompts(listing)
    source.catalogue.resources(listing)
    return source.known()


@settings(max_examples=100)
@given(st.binary(max_size=300))
def test_any_bytes_yield_tools_or_nothing(raw: bytes) -> None:
    assert listed(raw) is None


@settings(max_examples=200)
@given(st.data())
def test_any_damage_to_a_good_file_yields_tools_or_nothing(data: st.DataObject) -> None:
    raw = bytearray(file_of())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(raw) - 1))
        raw[place : place + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=4))
    tools = listed(bytes(raw))
    assert tools is None or isinstance(tools, tuple)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=200)
@given(st.data())
def test_any_other_value_in_a_good_file_yields_tools_or_nothing(data: st.DataObject) -> None:
    content = json.loads(file_of())
    entry = content[data.draw(st.sampled_from(cache.LISTS))][0]
    entry[data.draw(st.sampled_from(sorted({*TOOL, *PROMPT, *RESOURCE, *cache.LABELS, *cache.OBJECTS, "icons"})))] = (
        data.draw(json_values)
    )
    tools = listed(json.dumps(content).encode())
    assert tools is None or isinstance(tools, tuple)


def test_what_lies_beside_a_list_is_not_written_through(tmp_path: Path) -> None:
    path, mine = tmp_path / "one-0123456789abcdef.json", tmp_path / "mine"
    mine.write_text("mine")
    path.symlink_to(mine)
    (tmp_path / f".{path.name}.{os.getpid()}").symlink_to(mine)

    cache.write(path, Listing())

    assert mine.read_text() == "mine"
    assert not path.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600

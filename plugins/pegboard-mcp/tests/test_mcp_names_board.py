"""Names of servers' tools on the board: what providers take, one to one, and the same whatever the order."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard_mcp.client.names import MAX_NAME, board_names, plain_name, qualified_name

VALID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def named(*names: str, prefix: str | None = None, server: str = "files") -> dict[str, str]:
    return board_names(names, prefix=prefix, server=server)


def test_a_plain_name_stays() -> None:
    assert named("read_file", "List-Dir2") == {"read_file": "read_file", "List-Dir2": "List-Dir2"}


@pytest.mark.parametrize(
    ("wire", "board"), [("fs.read", "fs-read"), ("a b/c", "a-b-c"), ("größe", "gr--e"), ("читать", "------"), ("", "-")]
)
def test_other_characters_are_replaced(wire: str, board: str) -> None:
    assert named(wire) == {wire: board}


def test_the_prefix_stands_before_each_name() -> None:
    assert named("read", "a.b", prefix="fs_") == {"read": "fs_read", "a.b": "fs_a-b"}
    assert named("read", prefix="my fs/") == {"read": "my-fs-read"}


def test_of_two_names_that_become_one_the_exact_one_keeps_it() -> None:
    names = named("a-b", "a.b")
    assert names["a-b"] == "a-b"
    assert re.fullmatch(r"a-b-[0-9a-f]{8}", names["a.b"])


def test_of_two_inexact_names_neither_keeps_it() -> None:
    names = named("a.b", "a/b")
    assert all(re.fullmatch(r"a-b-[0-9a-f]{8}", name) for name in names.values())
    assert len(set(names.values())) == 2


def test_an_alias_follows_from_the_configured_name() -> None:
    assert named("a.b", "a/b", server="one") != named("a.b", "a/b", server="two")


def test_a_long_name_is_cut_and_told_apart() -> None:
    long = "x" * 64
    names = named(long, long + "1", long + "2")
    assert names[long] == long
    assert {len(name) for name in names.values()} == {MAX_NAME}
    assert len(set(names.values())) == 3


def test_a_name_that_only_its_prefix_makes_long_is_cut() -> None:
    (name,) = named("x" * 60, prefix="server_").values()
    assert len(name) == MAX_NAME
    assert name.startswith("server_xxx")


def test_a_tool_named_after_the_alias_of_another_keeps_its_name() -> None:
    alias = named("a.b", "a/b")["a.b"]
    names = named("a.b", "a/b", alias)
    assert names[alias] == alias
    assert len(set(names.values())) == 3


def test_a_name_can_be_put_behind_that_of_its_server() -> None:
    assert qualified_name("read", server="files") == "files-read"
    assert qualified_name("read.it", prefix="fs_", server="my files") == "my-files-fs_read-it"
    long = qualified_name("r" * 80, server="files")
    assert len(long) == MAX_NAME
    assert long != qualified_name("r" * 81, server="files")


names = st.text(max_size=80) | st.text("ab.-/", max_size=4) | st.text("x", min_size=60, max_size=70)
prefixes = st.none() | st.text("ab./", max_size=5) | st.text(max_size=70)


@settings(max_examples=300)
@given(wire=st.lists(names, max_size=12), prefix=prefixes, server=st.text(max_size=8), data=st.data())
def test_names_are_valid_one_to_one_and_free_of_order(
    wire: list[str], prefix: str | None, server: str, data: st.DataObject
) -> None:
    """Invariant: every name hangs under one valid name of its own, in whatever order the server lists them."""
    listed = board_names(wire, prefix=prefix, server=server)
    assert set(listed) == set(wire)
    assert len(set(listed.values())) == len(set(wire))
    assert all(VALID.fullmatch(name) for name in listed.values())
    assert board_names(data.draw(st.permutations(wire)), prefix=prefix, server=server) == listed


@settings(max_examples=300)
@given(wire=st.lists(names, max_size=8), more=st.lists(names, max_size=8), prefix=prefixes)
def test_a_tool_that_comes_renames_none_that_does_not_want_its_name(
    wire: list[str], more: list[str], prefix: str | None
) -> None:
    """Invariant: adding tools changes a name only where one of them wants that very name."""
    before = board_names(wire, prefix=prefix, server="files")
    after = board_names([*wire, *more], prefix=prefix, server="files")
    wanted = {plain_name(name, prefix) for name in set(more) - set(wire)}
    for name, listed in before.items():
        if plain_name(name, prefix) not in wanted and listed not in wanted:
            assert after[name] == listed


def test_of_two_keys_with_one_name_the_last_has_it_and_the_other_is_told_apart():
    """A prompt is on the board as `prompt_NAME`, which a tool may be called too."""
    alone = board_names({"prompt:x": "prompt_x"}, prefix=None, server="files")
    both = board_names({"tool:prompt_x": "prompt_x", "prompt:x": "prompt_x"}, prefix=None, server="files")
    assert alone == {"prompt:x": "prompt_x"}
    assert both["tool:prompt_x"] == "prompt_x"
    assert both["prompt:x"].startswith("prompt_x-")

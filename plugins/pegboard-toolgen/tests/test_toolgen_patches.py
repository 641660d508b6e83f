"""RFC 7396 and RFC 6902 by their own appendices, and by what holds for any value."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard.schema import are_equal
from pegboard_toolgen.patches import (
    PatchError,
    apply_patch,
    merge_patch,
    parse_pointer,
    to_pointer,
    unmatched_removals,
)

RFC_7396: list[tuple[Any, Any, Any]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]
RFC_6902: list[tuple[Any, list[dict[str, Any]], Any]] = [
    ({"foo": "bar"}, [{"op": "add", "path": "/baz", "value": "qux"}], {"baz": "qux", "foo": "bar"}),
    ({"foo": ["bar", "baz"]}, [{"op": "add", "path": "/foo/1", "value": "qux"}], {"foo": ["bar", "qux", "baz"]}),
    ({"baz": "qux", "foo": "bar"}, [{"op": "remove", "path": "/baz"}], {"foo": "bar"}),
    ({"foo": ["bar", "qux", "baz"]}, [{"op": "remove", "path": "/foo/1"}], {"foo": ["bar", "baz"]}),
    ({"baz": "qux", "foo": "bar"}, [{"op": "replace", "path": "/baz", "value": "boo"}], {"baz": "boo", "foo": "bar"}),
    (
        {"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}},
        [{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}],
        {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}},
    ),
    (
        {"foo": ["all", "grass", "cows", "eat"]},
        [{"op": "move", "from": "/foo/1", "path": "/foo/3"}],
        {"foo": ["all", "cows", "eat", "grass"]},
    ),
    (
        {"baz": "qux", "foo": ["a", 2, "c"]},
        [{"op": "test", "path": "/baz", "value": "qux"}, {"op": "test", "path": "/foo/1", "value": 2}],
        {"baz": "qux", "foo": ["a", 2, "c"]},
    ),
    ({"foo": "bar"}, [{"op": "add", "path": "/child", "value": {"grand": {}}}], {"foo": "bar", "child": {"grand": {}}}),
    ({"foo": "bar"}, [{"op": "add", "path": "/baz", "value": "qux", "xyz": 123}], {"foo": "bar", "baz": "qux"}),
    ({"/": 9, "~1": 10}, [{"op": "test", "path": "/~01", "value": 10}], {"/": 9, "~1": 10}),
    ({"foo": ["bar"]}, [{"op": "add", "path": "/foo/-", "value": ["abc", "def"]}], {"foo": ["bar", ["abc", "def"]]}),
    ({"foo": 1}, [{"op": "copy", "from": "/foo", "path": "/bar"}], {"foo": 1, "bar": 1}),
    ({"foo": 1}, [{"op": "replace", "path": "", "value": [2]}], [2]),
    ({"foo": 1}, [{"op": "move", "from": "/foo", "path": "/foo"}], {"foo": 1}),
    ({"foo": 1.0}, [{"op": "test", "path": "/foo", "value": 1}], {"foo": 1.0}),
]
REFUSED: list[tuple[Any, Any]] = [
    ({"baz": "qux"}, [{"op": "test", "path": "/baz", "value": "bar"}]),
    ({"foo": "bar"}, [{"op": "add", "path": "/baz/bat", "value": "qux"}]),
    ({"/": 9, "~1": 10}, [{"op": "test", "path": "/~01", "value": "10"}]),
    ({"foo": True}, [{"op": "test", "path": "/foo", "value": 1}]),
    ({"foo": ["a"]}, [{"op": "add", "path": "/foo/2", "value": 1}]),
    ({"foo": ["a"]}, [{"op": "add", "path": "/foo/01", "value": 1}]),
    ({"foo": ["a"]}, [{"op": "remove", "path": "/foo/-"}]),
    ({"foo": ["a"]}, [{"op": "replace", "path": "/bar", "value": 1}]),
    ({"foo": {"bar": 1}}, [{"op": "move", "from": "/foo", "path": "/foo/bar"}]),
    ({"foo": 1}, [{"op": "remove", "path": ""}]),
    ({"foo": "x"}, [{"op": "add", "path": "/foo/0", "value": 1}]),
    ({}, [{"op": "add", "path": "a", "value": 1}]),
    ({}, [{"op": "add", "path": "/~2", "value": 1}]),
    ({}, [{"op": "add", "path": "/a"}]),
    ({}, [{"op": "copy", "path": "/a"}]),
    ({}, [{"op": "frob", "path": "/a"}]),
    ({}, [{"path": "/a"}]),
    ({}, ["add"]),
    ({}, {"op": "add"}),
    ({}, "add"),
    ({}, [{"op": "test", "path": "", "value": {}}] * 10_001),
]


@pytest.mark.parametrize(("target", "patch", "result"), RFC_7396)
def test_the_examples_of_rfc_7396(target: Any, patch: Any, result: Any) -> None:
    before = copy.deepcopy((target, patch))
    assert merge_patch(target, patch) == result
    assert (target, patch) == before


@pytest.mark.parametrize(("document", "operations", "result"), RFC_6902)
def test_the_examples_of_rfc_6902(document: Any, operations: Any, result: Any) -> None:
    before = copy.deepcopy((document, operations))
    assert apply_patch(document, operations) == result
    assert (document, operations) == before


@pytest.mark.parametrize(("document", "operations"), REFUSED)
def test_a_patch_that_does_not_fit_is_refused(document: Any, operations: Any) -> None:
    before = copy.deepcopy(document)
    with pytest.raises(PatchError):
        apply_patch(document, operations)
    assert document == before


def test_the_operation_at_fault_is_named() -> None:
    operations = [{"op": "add", "path": "/a", "value": 1}, {"op": "remove", "path": "/b"}]
    with pytest.raises(PatchError, match="operation 1: there is no /b"):
        apply_patch({}, operations)


def test_the_pointers_of_rfc_6901() -> None:
    assert parse_pointer("") == ()
    assert parse_pointer("/") == ("",)
    assert parse_pointer("/a~1b/m~0n/c%d") == ("a/b", "m~n", "c%d")


def test_removals_of_what_is_not_there_are_found() -> None:
    assert unmatched_removals({"a": {"b": 1}}, {"a": {"b": None, "c": None}, "d": {"e": None}, "f": 1}) == [
        "/a/c",
        "/d/e",
    ]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "~", "/"]), inner, max_size=3)
    ),
    max_leaves=10,
)


@settings(max_examples=35)
@given(target=JSON, patch=JSON)
def test_a_merge_patch_applied_twice_changes_nothing_more(target: Any, patch: Any) -> None:
    """What a merge patch made, the same patch leaves as it is; and it takes everything out that it says is null."""
    once = merge_patch(target, patch)
    assert are_equal(merge_patch(once, patch), once)


@settings(max_examples=35)
@given(path=st.lists(st.text(max_size=4), max_size=4))
def test_any_path_comes_back_from_its_pointer(path: list[str]) -> None:
    """Steps to a pointer and back are the same steps."""
    assert parse_pointer(to_pointer(path)) == tuple(path)


OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"])},
        optional={
            "path": st.sampled_from(["", "/a", "/a/0", "/b/-", "/~0"]),
            "from": st.sampled_from(["", "/a", "/b/0"]),
            "value": JSON,
        },
    ),
    max_size=4,
)


@settings(max_examples=70)
@given(document=JSON, operations=OPERATIONS | JSON)
def test_any_patch_is_applied_or_refused_and_changes_nothing_it_was_given(document: Any, operations: Any) -> None:
    """Any JSON for a patch gives a value or a `PatchError`; the document that was handed in stays."""
    before = copy.deepcopy(document)
    with contextlib.suppress(PatchError):
        apply_patch(document, operations)
    assert are_equal(document, before)

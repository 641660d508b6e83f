"""What a person wrote stays, what the source changed comes in, and what cannot be both is listed."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard_toolgen.merge import merge_manifests


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"id": f"id:{name}", "name": name, "description": "d", "examples": [{"input": {}}], **more}


def manifest(*tools: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"project": {"name": "p"}, "tools": list(tools), **more}


def test_an_edit_stays_and_a_change_of_the_source_beside_it_comes_in() -> None:
    base = manifest(tool("a", title="one"))
    mine = manifest(tool("a", title="one", description="mine"))
    theirs = manifest(tool("a", title="two"))
    merged = merge_manifests(base, mine, theirs)
    assert merged.value == manifest(tool("a", title="two", description="mine"))
    assert merged.base == theirs
    assert merged.conflicts == ()


def test_both_changed_one_value_then_mine_stays_and_the_conflict_lasts() -> None:
    base, mine, theirs = (manifest(tool("a", description=text)) for text in ("old", "mine", "new"))
    merged = merge_manifests(base, mine, theirs)
    assert merged.value == mine
    assert [(one.tool, one.path) for one in merged.conflicts] == [("a", "/description")]
    assert str(merged.conflicts[0]) == 'a /description: yours "mine" stays, the source has "new" now'
    again = merge_manifests(merged.base, merged.value, theirs)
    assert again.conflicts == merged.conflicts
    settled = merge_manifests(merged.base, theirs, theirs)
    assert settled.conflicts == ()
    assert settled.base == theirs


def test_tools_are_matched_by_their_id_whatever_their_order() -> None:
    base = manifest(tool("a"), tool("b"))
    mine = manifest(tool("b", title="mine"), tool("a"))
    theirs = manifest(tool("new"), tool("b"), tool("a", title="theirs"))
    merged = {one["name"]: one.get("title") for one in merge_manifests(base, mine, theirs).value["tools"]}
    assert merged == {"a": "theirs", "b": "mine", "new": None}


def test_a_tool_that_a_person_took_out_stays_out() -> None:
    base, mine = manifest(tool("a"), tool("b")), manifest(tool("a"))
    assert merge_manifests(base, mine, base).value == mine
    changed = merge_manifests(base, mine, manifest(tool("a"), tool("b", title="new")))
    assert changed.value == mine
    assert [(one.tool, one.path) for one in changed.conflicts] == [("b", "")]
    assert "that it is gone" in str(changed.conflicts[0])


def test_a_tool_that_is_gone_from_the_source_goes_unless_it_was_edited() -> None:
    base, theirs = manifest(tool("a"), tool("b")), manifest(tool("a"))
    assert merge_manifests(base, base, theirs).value == theirs
    edited = merge_manifests(base, manifest(tool("a"), tool("b", title="mine")), theirs)
    assert len(edited.value["tools"]) == 2
    assert len(edited.conflicts) == 1


def test_a_tool_written_by_hand_stays() -> None:
    base = manifest(tool("a"))
    mine = manifest(tool("a"), tool("hand"))
    assert merge_manifests(base, mine, manifest(tool("a", title="new"))).value["tools"] == [
        tool("a", title="new"),
        tool("hand"),
    ]


def test_items_with_an_identity_are_merged_one_by_one() -> None:
    base = manifest(tool("a", errors=[{"code": "NOT_FOUND", "when": "x"}]))
    mine = manifest(tool("a", errors=[{"code": "NOT_FOUND", "when": "x"}, {"code": "CONFLICT", "when": "mine"}]))
    theirs = manifest(tool("a", errors=[{"code": "NOT_FOUND", "when": "y"}]))
    merged = merge_manifests(base, mine, theirs)
    assert merged.value["tools"][0]["errors"] == [
        {"code": "NOT_FOUND", "when": "y"},
        {"code": "CONFLICT", "when": "mine"},
    ]
    assert merged.conflicts == ()


def test_an_example_of_a_persons_stays_beside_those_of_the_source() -> None:
    base = manifest(tool("a"))
    mine = manifest(tool("a", examples=[{"input": {}}, {"input": {"x": 1}}]))
    theirs = manifest(tool("a", examples=[{"input": {}, "output": {"result": 1}}]))
    assert merge_manifests(base, mine, theirs).value["tools"][0]["examples"] == [
        {"input": {}, "output": {"result": 1}},
        {"input": {"x": 1}},
    ]


def test_arguments_of_a_command_line_are_one_value() -> None:
    def with_arguments(*values: str) -> dict[str, Any]:
        return manifest(tool("a", binding={"arguments": [{"kind": "literal", "value": value} for value in values]}))

    merged = merge_manifests(with_arguments("x"), with_arguments("x", "mine"), with_arguments("x", "theirs"))
    assert merged.value == with_arguments("x", "mine")
    assert [one.path for one in merged.conflicts] == ["/binding/arguments"]


def test_items_that_cannot_be_told_apart_are_one_value() -> None:
    twice = [{"code": "CONFLICT"}, {"code": "CONFLICT"}]
    merged = merge_manifests(
        manifest(tool("a")), manifest(tool("a", errors=twice)), manifest(tool("a", errors=twice[:1]))
    )
    assert merged.value["tools"][0]["errors"] == twice
    assert len(merged.conflicts) == 1


def test_parts_beside_the_tools_are_merged_too() -> None:
    base = manifest(servers={"s": {"base_url": "http://a"}})
    mine = manifest(servers={"s": {"base_url": "http://mine"}})
    theirs = manifest(servers={"s": {"base_url": "http://a", "retries": 1}, "t": {"base_url": "http://t"}})
    merged = merge_manifests(base, mine, theirs)
    assert merged.value["servers"] == {"s": {"base_url": "http://mine", "retries": 1}, "t": {"base_url": "http://t"}}
    clash = merge_manifests(base, mine, manifest(servers={"s": {"base_url": "http://new"}}))
    assert [(one.tool, one.path) for one in clash.conflicts] == [("", "/servers/s/base_url")]


TOOLS = st.dictionaries(
    st.sampled_from("abc"),
    st.dictionaries(st.sampled_from(["title", "description", "risk"]), st.sampled_from("xyz"), max_size=3),
    max_size=3,
).map(lambda found: manifest(*({"id": key, "name": key, **more} for key, more in sorted(found.items()))))


@settings(max_examples=70)
@given(base=TOOLS, mine=TOOLS, theirs=TOOLS)
def test_any_merge_keeps_every_edit_and_settles(base: Any, mine: Any, theirs: Any) -> None:
    """Nothing that one side alone changed is lost; merging what came out again changes nothing."""
    before = copy.deepcopy((base, mine, theirs))
    merged = merge_manifests(base, mine, theirs)
    assert (base, mine, theirs) == before
    assert merge_manifests(base, base, theirs).value == theirs
    assert {one["id"] for one in merge_manifests(base, mine, base).value["tools"]} == {
        one["id"] for one in mine["tools"]
    }
    again = merge_manifests(merged.base, merged.value, theirs)
    assert again.value == merged.value
    assert again.conflicts == merged.conflicts

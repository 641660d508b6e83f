"""Where references point, inside one document and never outside."""

from __future__ import annotations

import pytest

from pegboard.schema.keywords import DRAFT_7, DRAFT_2020
from pegboard.schema.refs import ROOT, References, base_inside

DOCUMENT = {
    "$id": "https://example.com/root.json",
    "$defs": {
        "a/b": {"type": "string"},
        "c%d": {"$anchor": "here", "type": "null"},
        "inner": {"$id": "inner/", "$defs": {"x": {"type": "integer"}}, "allOf": [{"minimum": 1}]},
        "bad": {"$id": "http://[nonsense/"},
    },
}


@pytest.mark.parametrize(
    ("ref", "schema"),
    [
        ("#", DOCUMENT),
        ("", DOCUMENT),
        ("root.json", DOCUMENT),
        ("#/$defs/a~1b", {"type": "string"}),
        ("#/$defs/c%25d", DOCUMENT["$defs"]["c%d"]),
        ("#here", DOCUMENT["$defs"]["c%d"]),
        ("inner/#/$defs/x", {"type": "integer"}),
        ("#/$defs/inner/allOf/0", {"minimum": 1}),
        ("#/$defs/inner/allOf/1", None),
        ("#/$defs/inner/allOf/x", None),
        ("#/$defs/a~1b/type", None),
        ("#nowhere", None),
        ("https://example.com/other.json", None),
        ("http://[nonsense", None),
    ],
)
def test_references_are_looked_up_where_they_point(ref, schema):
    refs = References(DOCUMENT, DRAFT_2020)
    target = refs.resolve(ref, refs.root.base)
    assert (target.schema if target else None) == schema


def test_what_lies_outside_is_told_from_what_is_missing():
    refs = References(DOCUMENT, DRAFT_2020)
    assert refs.is_remote("other.json", refs.root.base)
    assert not refs.is_remote("#/nowhere", refs.root.base)


def test_draft_7_names_anchors_by_id_and_hides_an_id_beside_a_reference():
    refs = References({"definitions": {"a": {"$id": "#name", "type": "string"}}}, DRAFT_7)
    target = refs.resolve("#name", ROOT)
    assert target is not None
    assert target.schema["type"] == "string"
    assert base_inside({"$id": "https://example.com/", "$ref": "#"}, ROOT, DRAFT_7) == ROOT

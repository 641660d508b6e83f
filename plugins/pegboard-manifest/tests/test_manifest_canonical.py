"""One byte form of a JSON value, and the fingerprints that are made of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard_manifest.canonical import canonical_bytes, digest, fingerprint_of, fingerprint_of_document

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def test_order_of_keys_and_spelling_of_numbers_do_not_count():
    assert (
        canonical_bytes({"b": 1.0, "a": [True, None]})
        == b'{"a":[true,null],"b":1}'
        == canonical_bytes({"a": (True, None), "b": 1})
    )


def test_order_of_lists_and_kinds_of_values_count():
    assert len({canonical_bytes(one) for one in ([1, 2], [2, 1], ["1", 2], [True, 2], [1.5, 2])}) == 5


def test_everything_beyond_ascii_is_escaped():
    assert canonical_bytes("ü\u202e\ud800") == b'"\\u00fc\\u202e\\ud800"'


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [float("-inf")]])
def test_what_is_not_a_number_has_no_bytes(value):
    with pytest.raises(ValueError, match="JSON"):
        canonical_bytes(value)


def test_large_floats_stay_what_they_are():
    assert canonical_bytes(1e300) == b"1e+300"


@settings(max_examples=100)
@given(_JSON)
def test_canonical_bytes_survive_their_own_reading(value):
    """What is read back from the bytes has the same bytes, and is the value."""
    data = canonical_bytes(value)
    assert canonical_bytes(json.loads(data)) == data
    assert json.loads(data) == value


def test_a_digest_says_its_kind():
    assert digest({}) == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


def a_document(**tool):
    return {
        "modules": {"m": {"import": "m"}},
        "$defs": {"Thing": {"type": "string"}, "Other": {"type": "string"}},
        "tools": [
            {
                "id": "python:m.f",
                "name": "f",
                "description": "Do it.",
                "category": "read",
                "risk": "low",
                "idempotency": "idempotent",
                "input_schema": {"type": "object", "properties": {"a": {"$ref": "#/$defs/Thing"}}},
                "examples": [{"input": {"a": "x"}, "output": {"result": 1}}],
                "binding": {"kind": "python", "module": "m", "qualified_name": "m.f", "parameters": []},
                **tool,
            }
        ],
    }


def prints(document):
    return fingerprint_of(document["tools"][0], document)


CHANGES = {
    "description": ({"description": "Do more."}, {"face"}),
    "category": ({"category": "write"}, {"face"}),
    "timeout": ({"timeout_ms": 5}, {"action"}),
    "binding": ({"binding": {"kind": "python", "module": "m", "qualified_name": "m.g", "parameters": []}}, {"action"}),
    "provenance": ({"provenance": {"source": "library"}}, set()),
    "recorded output": ({"examples": [{"input": {"a": "x"}, "output": {"result": 2}}]}, set()),
    "example": ({"examples": [{"input": {"a": "y"}}]}, {"face"}),
    "output_schema": ({"output_schema": {"type": "object"}}, {"face"}),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_changes_the_part_that_it_belongs_to(what):
    change, parts = CHANGES[what]
    was, now = prints(a_document()), prints(a_document(**change))
    assert {part for part in was if was[part] != now[part]} == parts


def test_a_definition_counts_for_the_tools_that_use_it():
    changed, unused = a_document(), a_document()
    changed["$defs"]["Thing"]["maxLength"] = 3
    unused["$defs"]["Other"]["maxLength"] = 3
    assert prints(changed)["face"] != prints(a_document())["face"]
    assert prints(unused) == prints(a_document())


def test_where_a_binding_leads_is_part_of_the_action():
    moved = a_document()
    moved["modules"]["m"]["import"] = "n"
    assert prints(moved)["action"] != prints(a_document())["action"]
    assert prints(moved)["face"] == prints(a_document())["face"]


def test_a_manifest_has_the_fingerprint_of_its_tools_whatever_their_order():
    one, two = a_document()["tools"][0], a_document(name="g", id="g")["tools"][0]
    forth, back = {**a_document(), "tools": [one, two]}, {**a_document(), "tools": [two, one]}
    assert fingerprint_of_document(forth) == fingerprint_of_document(back) != fingerprint_of_document(a_document())

"""What a change of a tool's public definition means for those who call it."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard.schema.check import faults_of
from pegboard.schema.explain import explain
from pegboard.schema.keywords import dialect_of
from pegboard_mcp.lock.compare import KINDS, changes_of, compare_definitions, compare_schemas
from pegboard_mcp.lock.documents import Document, split
from pegboard_mcp.lock.pins import Pin, fingerprint_of
from pegboard_mcp.lock.schemas import Inclusion

if TYPE_CHECKING:
    from collections.abc import Callable


def kind_of(old: Any, new: Any, part: Any = "input_schema") -> str | None:
    reasons = compare_schemas(old, new, part)
    return max((one.kind for one in reasons), key=KINDS.index, default=None)


def an_object(*, closed: bool = False, required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": list(required)}
    return {**schema, "additionalProperties": False} if closed else schema


TEXT, INTEGER, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
NULL = {"type": "null"}
TREE = {"$ref": "#/$defs/tree"}


def a_tree(value: Any) -> dict[str, Any]:
    node = {"type": "object", "properties": {"value": value, "children": {"type": "array", "items": TREE}}}
    return {**an_object(root=TREE, closed=True), "$defs": {"tree": {**node, "additionalProperties": False}}}


ARGUMENTS = [
    ("a description", an_object(a={"type": "string", "description": "x"}), an_object(a=TEXT), "text"),
    ("a title and examples", an_object(a=TEXT), {**an_object(a={**TEXT, "examples": [1]}), "title": "T"}, "text"),
    ("a default", an_object(a={**TEXT, "default": "x"}), an_object(a={**TEXT, "default": "y"}), "compatible"),
    ("an unknown keyword", an_object(a={**TEXT, "x-header": "A"}), an_object(a={**TEXT, "x-header": "B"}), "unknown"),
    ("an optional property of a closed object", an_object(closed=True), an_object(a=TEXT, closed=True), "compatible"),
    ("an optional property of an open object", an_object(), an_object(a=TEXT), "unknown"),
    ("an optional property that takes anything", an_object(), an_object(a={"description": "x"}), "compatible"),
    ("a new required property", an_object(a=TEXT), an_object(a=TEXT, b=TEXT, required=("b",)), "breaking"),
    ("a property that becomes required", an_object(a=TEXT), an_object(a=TEXT, required=("a",)), "breaking"),
    ("a property no longer required", an_object(a=TEXT, required=("a",)), an_object(a=TEXT), "compatible"),
    ("a removed property", an_object(a=TEXT, b=TEXT), an_object(a=TEXT), "breaking"),
    ("the last property removed", an_object(a=TEXT), {"type": "object"}, "breaking"),
    ("a removed property, closed", an_object(a=TEXT, b=TEXT, closed=True), an_object(a=TEXT, closed=True), "breaking"),
    ("properties into a map", an_object(a=TEXT, closed=True), {"type": "object", "additionalProperties": TEXT},
     "compatible"),
    ("a closed object", an_object(a=TEXT), an_object(a=TEXT, closed=True), "breaking"),
    ("an opened object", an_object(a=TEXT, closed=True), an_object(a=TEXT), "compatible"),
    ("a wider type", an_object(a=INTEGER), an_object(a=NUMBER), "compatible"),
    ("a narrower type", an_object(a=NUMBER), an_object(a=INTEGER), "breaking"),
    ("a list of types", an_object(a=TEXT), an_object(a={"type": ["string", "null"]}), "compatible"),
    ("null refused", an_object(a={"type": ["string", "null"]}), an_object(a=TEXT), "breaking"),
    ("types as branches", an_object(a={"type": ["string", "null"]}), an_object(a={"anyOf": [TEXT, NULL]}),
     "compatible"),
    ("a branch more", an_object(a=TEXT), an_object(a={"anyOf": [TEXT, INTEGER]}), "compatible"),
    ("a branch less", an_object(a={"anyOf": [TEXT, INTEGER]}), an_object(a=TEXT), "breaking"),
    ("oneOf by type", an_object(a={"oneOf": [TEXT, NULL]}), an_object(a={"oneOf": [TEXT, NULL, INTEGER]}),
     "compatible"),
    ("oneOf that overlaps", an_object(a=INTEGER), an_object(a={"oneOf": [INTEGER, NUMBER]}), "unknown"),
    ("a value more", an_object(a={"enum": ["x"]}), an_object(a={"enum": ["x", "y"]}), "compatible"),
    ("a value less", an_object(a={"enum": ["x", "y"]}), an_object(a={"enum": ["x"]}), "breaking"),
    ("values in another order", an_object(a={"enum": ["x", "y"]}), an_object(a={"enum": ["y", "x"]}), "compatible"),
    ("values freed", an_object(a={"enum": ["x"]}), an_object(a=TEXT), "compatible"),
    ("values bound", an_object(a=TEXT), an_object(a={**TEXT, "enum": ["x"]}), "breaking"),
    ("true is not one", an_object(a={"enum": [1]}), an_object(a={"enum": [True, 2]}), "breaking"),
    ("one is 1.0", an_object(a={"enum": [1]}), an_object(a={"enum": [1.0, 2]}), "compatible"),
    ("all booleans", an_object(a={"type": "boolean"}), an_object(a={"enum": [True, False]}), "compatible"),
    ("a lower minimum", an_object(a={**INTEGER, "minimum": 2}), an_object(a={**INTEGER, "minimum": 1}), "compatible"),
    ("a higher minimum", an_object(a={**INTEGER, "minimum": 1}), an_object(a={**INTEGER, "minimum": 2}), "breaking"),
    ("the same bound of integers", an_object(a={**INTEGER, "exclusiveMinimum": 0}),
     an_object(a={**INTEGER, "minimum": 1}), "compatible"),
    ("another bound of numbers", an_object(a={**NUMBER, "exclusiveMinimum": 0}), an_object(a={**NUMBER, "minimum": 1}),
     "breaking"),
    ("a longer text", an_object(a={**TEXT, "maxLength": 5}), an_object(a={**TEXT, "maxLength": 6}), "compatible"),
    ("a shorter text", an_object(a={**TEXT, "maxLength": 6}), an_object(a={**TEXT, "maxLength": 5}), "breaking"),
    ("a bound of another type", an_object(a=TEXT), an_object(a={**TEXT, "minimum": 1}), "compatible"),
    ("coarser multiples", an_object(a={**INTEGER, "multipleOf": 2}), an_object(a={**INTEGER, "multipleOf": 4}),
     "unknown"),
    ("finer multiples", an_object(a={**INTEGER, "multipleOf": 4}), an_object(a={**INTEGER, "multipleOf": 2}),
     "compatible"),
    ("a pattern", an_object(a=TEXT), an_object(a={**TEXT, "pattern": "^[a-z]+$"}), "breaking"),
    ("a pattern less", an_object(a={**TEXT, "pattern": "^a"}), an_object(a=TEXT), "compatible"),
    ("another pattern", an_object(a={**TEXT, "pattern": "^a"}), an_object(a={**TEXT, "pattern": "a"}), "unknown"),
    ("a format", an_object(a=TEXT), an_object(a={**TEXT, "format": "date"}), "unknown"),
    ("items", an_object(a={"type": "array", "items": INTEGER}), an_object(a={"type": "array", "items": NUMBER}),
     "compatible"),
    ("narrower items", an_object(a={"type": "array"}), an_object(a={"type": "array", "items": NUMBER}), "breaking"),
    ("unique items", an_object(a={"type": "array"}), an_object(a={"type": "array", "uniqueItems": True}), "breaking"),
    ("a nested property", an_object(a=an_object(b=INTEGER)), an_object(a=an_object(b=TEXT)), "breaking"),
    ("a nested widening", an_object(a=an_object(b=INTEGER)), an_object(a=an_object(b=NUMBER)), "compatible"),
    ("a definition", a_tree(INTEGER), a_tree(NUMBER), "compatible"),
    ("a narrower definition", a_tree(NUMBER), a_tree(INTEGER), "breaking"),
    ("a reference written out", {**an_object(a={"$ref": "#/$defs/t"}), "$defs": {"t": TEXT}}, an_object(a=TEXT),
     "compatible"),
    ("allOf", an_object(a=TEXT), an_object(a={"allOf": [TEXT, {"minLength": 1}]}), "breaking"),
    ("not", an_object(a={"not": TEXT}), an_object(a={"not": INTEGER}), "unknown"),
    ("if", an_object(a=TEXT), {**an_object(a=TEXT), "if": {"required": ["a"]}, "then": False}, "unknown"),
    ("unevaluated", an_object(a=TEXT), {**an_object(a=TEXT), "unevaluatedProperties": False}, "unknown"),
    ("another draft", an_object(a=TEXT), {**an_object(), "$schema": "http://json-schema.org/draft-07/schema#"},
     "unknown"),
    ("another branch of the same", an_object(a={"anyOf": [TEXT, NULL]}), an_object(a={"anyOf": [TEXT, NULL, INTEGER]}),
     "compatible"),
    ("branches in another order", an_object(a={"anyOf": [TEXT, NULL]}), an_object(a={"anyOf": [NULL, TEXT]}),
     "compatible"),
    ("a wrapped reference", {**an_object(a={"allOf": [{"$ref": "#/$defs/t"}]}), "$defs": {"t": TEXT}},
     {**an_object(a={"$ref": "#/$defs/t"}), "$defs": {"t": {"type": ["string", "null"]}}}, "compatible"),
    ("another name of a definition", {**an_object(a={"$ref": "#/$defs/t"}), "$defs": {"t": TEXT}},
     {**an_object(a={"$ref": "#/$defs/u"}), "$defs": {"u": TEXT}}, "compatible"),
    ("a bound of a map", {"type": "object", "additionalProperties": INTEGER},
     {"type": "object", "additionalProperties": {**INTEGER, "minimum": 0}}, "breaking"),
    ("required in another order", an_object(a=TEXT, b=TEXT, required=("a", "b")),
     an_object(a=TEXT, b=TEXT, required=("b", "a")), "compatible"),
    ("not, the same, beside what is wider", an_object(a={"not": TEXT}, b=INTEGER), an_object(a={"not": TEXT}, b=NUMBER),
     "compatible"),
    ("values under bounds", an_object(a={"enum": ["x", "yy"]}), an_object(a={**TEXT, "maxLength": 1}), "breaking"),
    ("values within bounds", an_object(a={"enum": ["x", "yy"]}), an_object(a={**TEXT, "maxLength": 2}), "compatible"),
    ("an item that is too many to count", an_object(a={"type": "array", "prefixItems": [TEXT] * 2_100}),
     an_object(a={"type": "array", "prefixItems": [TEXT] * 2_090 + [INTEGER] * 10}), "breaking"),
    ("a property called $defs", an_object(**{"$defs": INTEGER}), an_object(**{"$defs": TEXT}), "breaking"),
    ("a value with a member $defs", an_object(a={"const": {"$defs": 1}}), an_object(a={"const": {"$defs": 2}}),
     "breaking"),
    ("a bound beyond any float", an_object(a={**INTEGER, "maximum": 10**400}),
     an_object(a={**INTEGER, "maximum": 10**401}), "compatible"),
    ("an anchor", {**an_object(a={"$ref": "#t"}), "$defs": {"t": {**TEXT, "$anchor": "t"}}},
     {**an_object(a={"$ref": "#t"}), "$defs": {"t": {**INTEGER, "$anchor": "t"}}}, "unknown"),
    ("names spread over allOf", an_object(a=TEXT, b=TEXT), {"allOf": [an_object(a=TEXT), an_object(b=TEXT)]},
     "unknown"),
    ("a reference that leads outside", an_object(a={"enum": ["x"]}), an_object(a={"$ref": "https://else.test/s"}),
     "unknown"),
    ("no right schema", an_object(a=TEXT), {"type": "nonsense"}, "unknown"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "kind"), [row[1:] for row in ARGUMENTS], ids=[row[0] for row in ARGUMENTS])
def test_a_change_of_the_arguments_is_of_its_kind(old: Any, new: Any, kind: str) -> None:
    assert kind_of(old, new) == kind


RESULTS = [
    ("a property more", an_object(), an_object(a=TEXT), "compatible"),
    ("a property that is always there", an_object(a=TEXT), an_object(a=TEXT, required=("a",)), "compatible"),
    ("a property that may be missing", an_object(a=TEXT, required=("a",)), an_object(a=TEXT), "breaking"),
    ("a property less", an_object(a=TEXT), an_object(), "unknown"),
    ("a wider type", an_object(a=INTEGER), an_object(a=NUMBER), "breaking"),
    ("a narrower type", an_object(a=NUMBER), an_object(a=INTEGER), "compatible"),
    ("a value more", an_object(a={"enum": ["x"]}), an_object(a={"enum": ["x", "y"]}), "breaking"),
    ("a value less", an_object(a={"enum": ["x", "y"]}), an_object(a={"enum": ["x"]}), "compatible"),
    ("another description", an_object(a=TEXT), an_object(a={**TEXT, "description": "x"}), "text"),
]


@pytest.mark.parametrize(("old", "new", "kind"), [row[1:] for row in RESULTS], ids=[row[0] for row in RESULTS])
def test_results_are_looked_at_the_other_way_round(old: Any, new: Any, kind: str) -> None:
    assert kind_of(old, new, "output_schema") == kind


def test_draft_7_reads_items_and_references_as_that_draft_does() -> None:
    draft = {"$schema": "http://json-schema.org/draft-07/schema#"}
    pair = {"type": "array", "items": [TEXT, INTEGER], "additionalItems": False}
    wider = {"type": "array", "items": [TEXT, NUMBER]}
    assert kind_of({**draft, **an_object(a=pair)}, {**draft, **an_object(a=wider)}) == "compatible"
    assert kind_of({**draft, **an_object(a=wider)}, {**draft, **an_object(a=pair)}) == "breaking"
    defs = {**draft, "definitions": {"t": TEXT}}
    hidden = {**defs, **an_object(a={"$ref": "#/definitions/t", "maxLength": 1})}
    assert kind_of({**defs, **an_object(a=TEXT)}, hidden) == "compatible"


def a_definition(**parts: Any) -> dict[str, Any]:
    annotations = {"read_only": False, "destructive": None, "idempotent": False, "open_world": None, "risk": "low"}
    return {
        "name": "t", "title": None, "description": "d", "input_schema": an_object(), "output_schema": None,
        "version": None, **parts, "annotations": {**annotations, **parts.get("annotations", {})},
    }  # fmt: skip


DEFINITIONS = [
    ("title", {"title": "T"}, {"title": "U"}, "text"),
    ("description", {"description": "a"}, {"description": "b"}, "text"),
    ("a later server", {"version": "srv 1.0"}, {"version": "srv 1.1"}, "compatible"),
    ("another server", {"version": "srv 1.0"}, {"version": "else 1.0"}, "unknown"),
    ("a schema of results", {}, {"output_schema": an_object()}, "compatible"),
    ("no schema of results", {"output_schema": an_object()}, {}, "breaking"),
    ("no longer read-only", {"annotations": {"read_only": True}}, {}, "breaking"),
    ("read-only now", {}, {"annotations": {"read_only": True}}, "compatible"),
    ("destructive now", {"annotations": {"destructive": False}}, {"annotations": {"destructive": True}}, "breaking"),
    ("a higher risk", {}, {"annotations": {"risk": "high"}}, "breaking"),
    ("a lower risk", {"annotations": {"risk": "high"}}, {}, "compatible"),
    ("a mark of later", {}, {"annotations": {"later": 1}}, "unknown"),
]


@pytest.mark.parametrize(("old", "new", "kind"), [row[1:] for row in DEFINITIONS], ids=[row[0] for row in DEFINITIONS])
def test_a_change_of_the_face_is_of_its_kind(old: Any, new: Any, kind: str) -> None:
    (reason,) = compare_definitions(a_definition(**old), a_definition(**new))
    assert reason.kind == kind


def a_pin(name: str, source: str = "s", **parts: Any) -> Pin:
    definition = {**a_definition(**parts), "name": name}
    return Pin(source, name, definition, fingerprint_of(definition))


def test_new_changed_removed_and_renamed_are_told_apart() -> None:
    was = [a_pin("same"), a_pin("gone", title="G"), a_pin("old", title="R"), a_pin("other")]
    now = [a_pin("same"), a_pin("new"), a_pin("renamed", title="R"), a_pin("other", description="else")]
    changes = changes_of(was, now)
    assert [(one.what, one.name, one.kind) for one in changes] == [
        ("removed", "gone", "breaking"),
        ("new", "new", "compatible"),
        ("changed", "other", "text"),
        ("renamed", "renamed", "breaking"),
    ]
    assert changes[3].names == {"old", "renamed"}


def test_what_moves_to_another_source_is_not_renamed() -> None:
    changes = changes_of([a_pin("a", "one")], [a_pin("b", "two")])
    assert [one.what for one in changes] == ["removed", "new"]


def test_two_tools_of_one_content_are_paired_by_their_order() -> None:
    changes = changes_of([a_pin("a1"), a_pin("a2")], [a_pin("b1"), a_pin("b2"), a_pin("b3")])
    assert [(one.what, one.name, one.was and one.was.name) for one in changes] == [
        ("renamed", "b1", "a1"),
        ("renamed", "b2", "a2"),
        ("new", "b3", None),
    ]


def test_what_nobody_could_look_at_is_not_gone() -> None:
    assert changes_of([a_pin("a")], [], may_be_gone=lambda pin: False) == []


def test_a_block_that_was_edited_says_nothing_of_what_was_accepted() -> None:
    edited = Pin("s", "t", a_definition(), "sha256:else")
    (change,) = changes_of([edited], [a_pin("t")])
    assert change.kind == "unknown"


# -- any schema

NAMES = st.sampled_from(["a", "b", "c"])
NUMBERS = st.integers(-3, 6) | st.sampled_from([0.5, 2.0])
LEAVES = st.sampled_from([None, True, False, 0, 1, 2, 1.5, "", "x", "xy", [], {}])


def _keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    types = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
    optional = {
        "type": types | st.lists(types, min_size=1, max_size=3, unique=True),
        "enum": st.lists(LEAVES, min_size=1, max_size=4),
        "const": LEAVES,
        "minimum": NUMBERS, "maximum": NUMBERS, "exclusiveMinimum": NUMBERS, "exclusiveMaximum": NUMBERS,
        "multipleOf": st.sampled_from([1, 2, 4, 0.5]),
        "minLength": st.integers(0, 3), "maxLength": st.integers(0, 3), "pattern": st.sampled_from(["", "x", "^x$"]),
        "minItems": st.integers(0, 3), "maxItems": st.integers(0, 3), "uniqueItems": st.booleans(),
        "items": inner, "prefixItems": st.lists(inner, min_size=1, max_size=2), "contains": inner,
        "properties": st.dictionaries(NAMES, inner, max_size=3), "additionalProperties": inner,
        "patternProperties": st.dictionaries(st.sampled_from(["a", "^[bc]$"]), inner, max_size=2),
        "propertyNames": inner, "required": st.lists(NAMES, max_size=2, unique=True),
        "minProperties": st.integers(0, 2), "maxProperties": st.integers(0, 2),
        "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=2, unique=True), max_size=1),
        "anyOf": st.lists(inner, min_size=1, max_size=3), "oneOf": st.lists(inner, min_size=1, max_size=2),
        "allOf": st.lists(inner, min_size=1, max_size=2), "not": inner, "if": inner, "then": inner,
        "unevaluatedProperties": inner, "$ref": st.sampled_from(["#/$defs/one", "#/$defs/two"]),
    }  # fmt: skip
    names = st.lists(st.sampled_from(sorted(optional)), max_size=3, unique=True)
    return names.flatmap(lambda chosen: st.fixed_dictionaries({name: optional[name] for name in chosen}))


SCHEMAS = st.recursive(st.booleans() | st.just({"type": "integer"}), _keywords, max_leaves=8)
DOCUMENTS = st.builds(
    lambda root, one, two: {**(root if isinstance(root, dict) else {}), "$defs": {"one": one, "two": two}},
    _keywords(SCHEMAS), SCHEMAS, SCHEMAS,
).filter(lambda schema: not faults_of(schema, foreign=True))  # fmt: skip


def mutated(schema: Any, chance: random.Random) -> Any:
    """A schema that is a little other."""
    if not isinstance(schema, dict) or not schema:
        return chance.choice([True, {}, {"type": "integer"}, {"type": ["integer", "string"]}, schema])
    made = json.loads(json.dumps(schema))
    name = chance.choice(sorted(made))
    value = made[name]
    what = chance.randrange(4)
    if what == 0:
        del made[name]
    elif isinstance(value, dict):
        made[name] = mutated(value, chance)
    elif isinstance(value, list) and value:
        index = chance.randrange(len(value))
        if what == 1 and len(value) > 1:
            del value[index]
        elif isinstance(value[index], (dict, bool)) and name not in ("enum", "type"):
            value[index] = mutated(value[index], chance)
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and name not in ("const", "multipleOf"):
        made[name] = max(0, value + chance.choice([-1, 1]))
    return made


def instances(schema: Any, chance: random.Random) -> list[Any]:
    """Some values, near to what a schema speaks of."""
    found: list[Any] = [None, True, 0, 1, 2, 4, -2, 0.5, 1.5, 2.0, "", "x", "xy", "xyx", [], {}]
    waiting = [schema]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            found += [value for value in item.get("enum", ()) if isinstance(item["enum"], list)]
            found += [item["const"]] if "const" in item else []
            waiting += list(item.values())
        elif isinstance(item, list):
            waiting += item
    scalars = list(found)
    for _ in range(60):
        found.append([chance.choice(scalars) for _ in range(chance.randrange(4))])
        found.append({name: chance.choice(scalars) for name in "abc" if chance.random() < 0.6})
    for _ in range(40):
        found.append([chance.choice(found) for _ in range(chance.randrange(3))])
        found.append({name: chance.choice(found) for name in "abcd" if chance.random() < 0.5})
    return found


def _verdict(old: Any, new: Any) -> bool | None:
    drafts = {dialect_of(one) for one in (old, new)}
    if len(drafts) > 1:
        return None
    narrow, wide = (Document(split(one).bare, draft_7=drafts == {"draft 7"}) for one in (old, new))
    return Inclusion(narrow, wide).ask().state


def assert_nothing_gets_past(old: Any, new: Any, values: list[Any]) -> None:
    """Where a change counts as harmless, no value that the older schema accepts is refused by the newer; of results it
    is the other way round."""
    for part, narrow, wide in (("input_schema", old, new), ("output_schema", new, old)):
        if kind_of(old, new, part) in ("text", "compatible", None) or _verdict(narrow, wide) is True:
            first, second = validator_of(narrow), validator_of(wide)
            for value in values:
                assert not first(value) or second(value), (part, old, new, value)


def validator_of(schema: Any) -> Callable[[Any], bool]:
    """The Rust library, which knows nothing of this project; the walker, where what draft 7 hides is not right."""
    try:
        return jsonschema_rs.validator_for(schema, offline=True, validate_formats=False).is_valid
    except jsonschema_rs.ValidationError:
        return lambda value: not explain(schema, value)


def changed(schema: Any, other: Any, changes: int, chance: random.Random) -> Any:
    """A schema that is a little other, or quite another."""
    made = other if changes == 0 else schema
    for _ in range(changes):
        made = mutated(made, chance)
    return made


SEEDS = st.integers(0, 2**32)


@settings(max_examples=200)
@given(DOCUMENTS, DOCUMENTS, SEEDS, st.integers(0, 3))
def test_where_it_says_that_all_is_still_accepted_no_value_gets_past_it(
    old: Any, other: Any, seed: int, changes: int
) -> None:
    """Invariant: every value that the old schema accepts is accepted by a new one that counts as compatible."""
    chance = random.Random(seed)
    new = changed(old, other, changes, chance)
    if isinstance(new, dict) and not faults_of(new, foreign=True):
        values = instances([old, new], chance)
        assert_nothing_gets_past(old, new, values)
        assert_nothing_gets_past(new, old, values)


@pytest.mark.unmeasured
def test_nothing_gets_past_it_in_any_schema_of_either_draft(schemas_with_values: Any) -> None:
    """The same invariant, with schemas of all keywords, and values that were drawn beside them."""

    @settings(max_examples=200)
    @given(schemas_with_values, schemas_with_values, SEEDS, st.integers(0, 3))
    def hold(drawn: Any, other: Any, seed: int, changes: int) -> None:
        chance = random.Random(seed)
        (old, values), (another, more) = drawn, other
        new = changed(old, another, changes, chance)
        if not isinstance(new, dict) or any(faults_of(one, foreign=True) for one in (old, new)):
            return
        values = [*values, *more, *instances([old, new], chance)]
        assert_nothing_gets_past(old, new, values)
        assert_nothing_gets_past(new, old, values)

    hold()


@settings(max_examples=100)
@given(DOCUMENTS)
def test_a_schema_compared_with_itself_is_unchanged(schema: Any) -> None:
    assert compare_schemas(schema, json.loads(json.dumps(schema)), "input_schema") == []
    assert _verdict(schema, json.loads(json.dumps(schema))) is True


def a_maze(leaf: Any, nodes: int = 30) -> dict[str, Any]:
    """Definitions that lead to one another by many ways."""
    made = {}
    for n in range(nodes):
        ways = [{"type": "array", "items": {"$ref": f"#/$defs/d{(n * 7 + way) % nodes}"}} for way in range(5)]
        made[f"d{n}"] = {"anyOf": [*ways, leaf if n == 5 else TEXT]}
    return {**an_object(a={"$ref": "#/$defs/d0"}), "$defs": made}


def a_tower(leaf: Any, height: int) -> dict[str, Any]:
    """Definitions each of which is an array of the next."""
    made = {f"d{n}": {"type": "array", "items": {"$ref": f"#/$defs/d{n + 1}"}} for n in range(height)}
    return {**an_object(a={"$ref": "#/$defs/d0"}), "$defs": {**made, f"d{height}": leaf}}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (a_maze(TEXT), a_maze({"type": ["string", "null"]})),
        (a_maze(TEXT, 3_000), a_maze({"type": ["string", "null"]}, 3_000)),
        (an_object(a={"enum": list(range(30_000))}), an_object(a={"enum": list(range(30_001))})),
        (an_object(a={"oneOf": [{"const": n} for n in range(400)]}), an_object(a={"oneOf": [{"const": -1}]})),
    ],
)
def test_what_is_too_large_is_not_decided_and_takes_no_longer(old: Any, new: Any, in_time: Any) -> None:
    with in_time():
        assert kind_of(old, new) == "unknown"


def test_what_breaks_the_stack_is_not_decided() -> None:
    assert kind_of(a_tower(INTEGER, 60), a_tower(NUMBER, 60)) == "compatible"
    assert kind_of(a_tower(INTEGER, 2_000), a_tower(NUMBER, 2_000)) == "unknown"


def test_a_tool_that_deleted_and_says_now_that_it_only_reads_breaks_what_was_agreed() -> None:
    was = a_definition(annotations={"read_only": False, "destructive": True})
    for destructive in (False, None):
        reasons = compare_definitions(was, a_definition(annotations={"read_only": True, "destructive": destructive}))
        assert {reason.kind for reason in reasons} == {"breaking"}
        assert {reason.words.split()[0] for reason in reasons} == {"read_only", "destructive"}


@pytest.mark.parametrize(
    ("was", "now", "words"),
    [
        ("Rm", "rm", "name is rm, was Rm"),  # in lower case both were the same
        (True, False, "name is false, was true"),
        (None, 3, "name is 3, was not said"),
    ],
)
def test_what_an_annotation_says_is_told_as_it_stands(was: Any, now: Any, words: str) -> None:
    (reason,) = compare_definitions(a_definition(annotations={"name": was}), a_definition(annotations={"name": now}))
    assert reason.words == words

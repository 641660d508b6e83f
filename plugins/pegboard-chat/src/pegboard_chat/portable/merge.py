"""Schemas made one: conjunctions folded into a single schema.

`normal` reads one schema object, `merge` folds the second into the first. Folding is exact; what cannot be folded is
handed back, to stand in an `allOf` or to be left out. Subschemas are not looked into: where both sides have one for the
same place, it becomes an `allOf` of the two.
"""

from __future__ import annotations

from typing import Any

from pegboard.schema import are_equal

Schema = dict[str, Any]

_SUBSCHEMA = (
    *("items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else"),
    *("unevaluatedProperties", "unevaluatedItems"),
)
KNOWN = frozenset(
    {
        *(
            "type",
            "enum",
            "const",
            "title",
            "description",
            "default",
            "examples",
            "deprecated",
            "readOnly",
            "writeOnly",
        ),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType"),
        *("prefixItems", "minItems", "maxItems", "uniqueItems", "minContains", "maxContains"),
        *("properties", "patternProperties", "required", "minProperties", "maxProperties"),
        *("dependentRequired", "dependentSchemas", "anyOf", "oneOf", *_SUBSCHEMA),
    }
)
_GROUPS: tuple[tuple[str, ...], ...] = (
    ("properties", "patternProperties", "additionalProperties"),
    ("prefixItems", "items"),
    ("contains", "minContains", "maxContains"),
    ("if", "then", "else"),
)
_GROUP_OF = {name: group for group in _GROUPS for name in group}
_ANNOTATIONS = ("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly")
_HIGHER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_LOWER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")

KIND_OF_KEYWORD = {
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), "number"),
    **dict.fromkeys(("minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType"), "string"),
    **dict.fromkeys(
        ("prefixItems", "items", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains"),
        "array",
    ),
    **dict.fromkeys(
        (
            *("properties", "patternProperties", "additionalProperties", "required", "minProperties", "maxProperties"),
            *("propertyNames", "dependentRequired", "dependentSchemas"),
        ),
        "object",
    ),
}
"""The type whose values a keyword looks at; every other value passes it."""


MAX_COMPARED = 10_000
"""How many pairs of values two enums may have to be folded into one."""


class NeverError(Exception):
    """No value fits both sides."""


def normal(schema: Schema) -> Schema:
    """One schema object without its references and `allOf`, and without keywords that say nothing there.

    Args:
        schema: of 2020-12, without faults (see `pegboard.schema.check`).
    """
    flat = {name: value for name, value in schema.items() if name in KNOWN}
    if "contains" not in flat:
        flat.pop("minContains", None)
        flat.pop("maxContains", None)
    if "if" not in flat or not ("then" in flat or "else" in flat):
        for name in ("if", "then", "else"):
            flat.pop(name, None)
    return flat


def merge(one: Schema, two: Schema) -> tuple[Schema, Schema]:
    """Both at once, where the annotations of `two` win.

    Returns:
        The merged schema, and what of `two` could not be merged (often empty).

    Raises:
        NeverError: no value fits both.
    """
    merged = dict(one)
    rest: Schema = {}
    done: set[str] = set()
    for name, value in two.items():
        if name in done:
            continue
        group = _GROUP_OF.get(name)
        if group is not None:
            done.update(group)
            theirs = {key: two[key] for key in group if key in two}
            mine = {key: one[key] for key in group if key in one}
            if not mine or mine == theirs:
                merged.update(theirs)
            elif group is _GROUPS[0] and "patternProperties" not in {**mine, **theirs}:
                merged.update(_both_objects(mine, theirs))
            elif group is _GROUPS[1] and "prefixItems" not in {**mine, **theirs}:
                merged["items"] = both(mine["items"], theirs["items"])
            else:
                rest.update(theirs)
        elif name not in one or name in _ANNOTATIONS or are_equal(one[name], value):
            merged[name] = value
        elif not _merge_keyword(merged, name, one[name], value):
            rest[name] = value
    return merged, rest


def _merge_keyword(merged: Schema, name: str, mine: Any, theirs: Any) -> bool:
    """Fold one keyword that both sides have, with different values; False where that cannot be said in one."""
    if name in _HIGHER:
        merged[name] = max(mine, theirs)
    elif name in _LOWER:
        merged[name] = min(mine, theirs)
    elif name == "required":
        merged[name] = list(dict.fromkeys([*mine, *theirs]))
    elif name == "uniqueItems":
        merged[name] = mine or theirs
    elif name == "type":
        merged[name] = _both_types(mine, theirs)
    elif name == "enum":
        if len(mine) * len(theirs) > MAX_COMPARED:
            return False
        merged[name] = [value for value in mine if any(are_equal(value, other) for other in theirs)]
        if not merged[name]:
            raise NeverError
    elif name == "const":
        raise NeverError
    elif name == "dependentRequired":
        names = {**mine, **theirs}
        merged[name] = {key: list(dict.fromkeys([*mine.get(key, ()), *theirs.get(key, ())])) for key in names}
    elif name == "propertyNames":
        merged[name] = both(mine, theirs)
    else:
        return False
    return True


def _both_types(mine: Any, theirs: Any) -> Any:
    mine, theirs = types_of(mine), types_of(theirs)
    kept = [name for name in mine if name in theirs or (name == "integer" and "number" in theirs)]
    kept += [name for name in theirs if name == "integer" and "number" in mine and name not in kept]
    if not kept:
        raise NeverError
    return kept[0] if len(kept) == 1 else kept


def _both_objects(mine: Schema, theirs: Schema) -> Schema:
    my_names, their_names = mine.get("properties", {}), theirs.get("properties", {})
    my_others, their_others = mine.get("additionalProperties", True), theirs.get("additionalProperties", True)
    properties = {
        name: both(my_names.get(name, my_others), their_names.get(name, their_others))
        for name in {**my_names, **their_names}
    }
    merged: Schema = {"properties": properties} if properties or my_names is their_names else {}
    others = both(my_others, their_others)
    if others is not True:
        merged["additionalProperties"] = others
    merged.setdefault("properties", {})
    return merged


def both(mine: Any, theirs: Any) -> Any:
    """The schema of what fits two schemas, booleans included."""
    if mine is False or theirs is False:
        return False
    if mine is True or mine == {}:
        return theirs
    if theirs is True or theirs == {} or mine is theirs:
        return mine
    return {"allOf": [mine, theirs]}


def types_of(value: Any) -> list[str]:
    """The value of `type` as a list."""
    return [value] if isinstance(value, str) else list(value)

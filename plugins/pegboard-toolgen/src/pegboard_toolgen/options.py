"""A model is not drowned: a program of a hundred options shows those that matter, and has the rest in one object.

A definition of 160 parameters costs a model more than the call it is there for, and within a budget of bytes nothing is
left of their descriptions. So those that matter stand in the input schema, as they are; the others behind them, in the
binding's `options`, whose one parameter says their names. Its faults say what an option is for. Values in, values out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ConfigError
from pegboard_toolgen._texts import shown
from pegboard_toolgen.names import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from pegboard_toolgen.drafts import Draft

Json = Any
MOST = 40
"""Parameters that a tool shows one by one; of one that has more, some stand in an object."""
FEW = 24
"""How many of them stay."""
SHOWN_BYTES = 4_500
"""What they may take, as they are listed: one sentence for each."""
NAMES = ("options", "more_options", "other_options")
"""What the object is called: the first that is not a parameter."""
_KINDS = {"boolean": "true or false", "integer": "integers", "number": "numbers", "string": "texts", "array": "lists"}


def split(draft: Draft, wanted: Collection[str] = (), used: Collection[str] = (), *, lean: bool = False) -> Draft:
    """The draft with the parameters that matter, and the others in its binding; as it is where it has not many.

    Args:
        draft: of any kind; only one that says the order of its parameters is changed.
        wanted: parameters that a person wants to be shown.
        used: those of examples that a person gave.
        lean: leave the others out.

    Raises:
        ConfigError: one that is wanted is not a parameter.
    """
    properties = draft.input_schema.get("properties", {})
    if odd := next((name for name in wanted if name not in properties), None):
        near = nearest(odd, properties)
        hint = f"did you mean {near}?" if near else "its parameters stand in tools.draft.json"
        where = f"toolgen.toml: show of {shown(draft.id, 100)}"
        raise ConfigError(f"{where}: {shown(odd, 60)} is not a parameter", hint=hint)
    taken = next((name for name in NAMES if name not in properties), None)
    if not draft.order or taken is None or len(properties) <= (FEW if lean else MOST):
        return draft
    kept = _kept(draft, {*wanted, *used})
    rest = [name for name in draft.order if name in properties and name not in kept]
    if not rest:
        return draft
    head, tail = (_part(draft.input_schema, names) for names in (kept, rest))
    if lean:
        note = f"Left out, for toolgen.toml is lean: {', '.join(rest)}."
        return attrs.evolve(draft, input_schema=head, binding=_without(draft.binding, rest), notes=(*draft.notes, note))
    return attrs.evolve(
        draft, input_schema=head, binding={**draft.binding, "options": {"parameter": taken, "schema": tail}}
    )


def room_for(draft: Draft, budget_bytes: int) -> int:
    """How many bytes the schema of what is shown may take: of a tool with more parameters behind it no more than one
    would take that has no more."""
    is_split = len(draft.input_schema.get("properties", {})) < len(draft.order) - 1  # beside standard input
    return min(budget_bytes, SHOWN_BYTES) if is_split else budget_bytes


def parameter_of(binding: Mapping[str, Json]) -> dict[str, Json]:
    """The property that the object is in the input schema, by its name; none where nothing stands in one. It is
    not part of what may be cut to fit a budget: a name that a model does not see is an option that is not there."""
    options = binding.get("options")
    if options is None:
        return {}
    return {options["parameter"]: {"type": "object", "description": _said(options["schema"]["properties"])}}


def _kept(draft: Draft, asked: Collection[str]) -> list[str]:
    """What is shown: what is required or asked for, then what matters most; and what may be said only with it."""
    schema = draft.input_schema
    first = [name for name in draft.order if name in schema.get("required", ()) or name in asked]
    ordered = dict.fromkeys([*first, *(name for name in draft.order if name in schema["properties"])])
    kept = dict.fromkeys([*ordered][: max(FEW, len(first))])
    bound = [set(names) for names in _bound(schema)]
    while more := [name for names in bound if names & kept.keys() for name in sorted(names - kept.keys())]:
        kept |= dict.fromkeys(more)
    return [name for name in schema["properties"] if name in kept]


def _bound(schema: Mapping[str, Json]) -> Iterator[Iterable[str]]:
    """The names that a rule of the schema speaks of together."""
    yield from (pair["required"] for pair in _pairs(schema))
    yield from ((name, *others) for name, others in schema.get("dependentRequired", {}).items())


def _pairs(schema: Mapping[str, Json]) -> Sequence[Mapping[str, Json]]:
    """What may not be said together, as discovery writes it."""
    ruled_out = schema.get("not", {})
    pairs: Sequence[Mapping[str, Json]] = ruled_out.get("anyOf", [ruled_out] if ruled_out else [])
    return pairs


def _part(schema: Mapping[str, Json], names: Sequence[str]) -> dict[str, Json]:
    """An object schema of some of its properties, with the rules that speak of them."""
    pairs = [pair for pair in _pairs(schema) if {*pair["required"]} <= {*names}]
    rules: dict[str, Json] = {
        "required": [name for name in schema.get("required", ()) if name in names],
        "dependentRequired": {key: one for key, one in schema.get("dependentRequired", {}).items() if key in names},
        "not": pairs[0] if len(pairs) == 1 else {"anyOf": pairs} if pairs else {},
    }
    return {
        "type": "object",
        "properties": {name: schema["properties"][name] for name in names},
        **{key: rule for key, rule in rules.items() if rule},
        "additionalProperties": False,
    }


def _without(binding: Mapping[str, Json], rest: Collection[str]) -> dict[str, Json]:
    arguments = [one for one in binding["arguments"] if one.get("parameter", one.get("when")) not in rest]
    return {**binding, "arguments": arguments}


def _said(properties: Mapping[str, Json]) -> str:
    """The names of the rest, by what they take: a few tokens each."""
    by_kind: dict[str, list[str]] = {}
    for name, schema in properties.items():
        kinds = schema.get("type", ())
        kinds = [kinds] if isinstance(kinds, str) else kinds
        by_kind.setdefault(" or ".join(_KINDS.get(kind, kind) for kind in kinds) or "other values", []).append(name)
    listed = " ".join(f"{kind.capitalize()}: {', '.join(names)}." for kind, names in by_kind.items())
    return f"More options by name. {listed} null in the place of a value tells what an option is for, and runs nothing."

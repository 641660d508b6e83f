"""The parameters of a function as its source has them, and what an example gives for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import griffe

from pegboard_toolgen.discover._examples import Call, as_argument
from pegboard_toolgen.discover._types import MISSING

if TYPE_CHECKING:
    from collections.abc import Sequence


@attrs.frozen
class Parameter:
    """One parameter of a signature, as the source has it."""

    name: str
    kind: griffe.ParameterKind
    annotations: tuple[object, ...]
    default: str | None
    is_required: bool
    shifts: bool = False
    """Some overloads have it and others go on with what is behind it, so that only a place tells which is meant."""


def name_and_kind(one: griffe.Parameter) -> tuple[str, griffe.ParameterKind]:
    """What a parameter is called, and how it is given.

    Stubs write `__name` for what only a place gives, as functions in C take it: the form of before `/`
    (https://peps.python.org/pep-0484/#positional-only-arguments).
    """
    kinds = griffe.ParameterKind
    name, kind = one.name.lstrip("*"), one.kind or kinds.positional_or_keyword
    if (
        name.startswith("__")
        and not name.endswith("__")
        and kind in {kinds.positional_only, kinds.positional_or_keyword}
    ):
        return name[2:], kinds.positional_only
    return name, kind


def merged(overloads: Sequence[Sequence[griffe.Parameter]]) -> tuple[list[griffe.Parameter], bool]:
    """The parameters of all overloads in an order that each of them keeps, and whether one place has several names.

    `(s1, s2)` and `(ops, s1, s2)` are `ops, s1, s2`. Where no order suits all of them it is that of the longest.
    """
    ordered = sorted(overloads, key=lambda one: -len(one))
    whole = list(ordered[0])
    for parameters in ordered[1:]:
        for place, one in enumerate(parameters):
            known = [same.name for same in whole]
            if one.name not in known:
                behind = [known.index(other.name) for other in parameters[place + 1 :] if other.name in known]
                whole.insert(min(behind, default=len(whole)), one)
    places = [_places(parameters) for parameters in ordered]
    names = _places(whole)
    if any([name for name in names if name in own] != own for own in places):
        return list(ordered[0]), False
    # A stub's `__name` may stand behind a plain parameter: both are places, and stay in the order of their form.
    whole.sort(key=lambda one: max(1, _ORDER.index(name_and_kind(one)[1])))
    return whole, any(names[: len(own)] != own for own in places)


def _places(parameters: Sequence[griffe.Parameter]) -> list[str]:
    return [one.name for one in parameters if name_and_kind(one)[1] in _ORDER[:2]]


_ORDER = (
    griffe.ParameterKind.positional_only,
    griffe.ParameterKind.positional_or_keyword,
    griffe.ParameterKind.var_positional,
    griffe.ParameterKind.keyword_only,
    griffe.ParameterKind.var_keyword,
)
"""As a signature has them."""


def arguments_of(call: Call, order: Sequence[tuple[Parameter, bool]]) -> dict[str, Any] | None:
    """The arguments of an example by the names of a tool's parameters; None where it has no such.

    Args:
        call: the example.
        order: the parameters of the source in order, and whether the tool has them.
    """
    kinds = griffe.ParameterKind
    given: dict[str, Any] = {}
    places = [one for one in order if one[0].kind in {kinds.positional_only, kinds.positional_or_keyword}]
    always = [one for one in places if not one[0].shifts]
    if len(call.arguments) == len(always):
        places = always
    spread = next((one for one in order if one[0].kind is kinds.var_positional), None)
    for place, value in enumerate(call.arguments):
        if place < len(places):
            parameter, is_kept = places[place]
            if not is_kept:
                return None
            given[parameter.name] = as_argument(value)
        elif spread is not None and spread[1]:
            given.setdefault(spread[0].name, []).append(as_argument(value))
        else:
            return None
    names = {one[0].name for one in order if one[1]}
    for name, value in call.keywords.items():
        if name not in names or name in given:
            return None
        given[name] = as_argument(value)
    is_whole = not any(value is MISSING or (isinstance(value, list) and MISSING in value) for value in given.values())
    return given if is_whole else None

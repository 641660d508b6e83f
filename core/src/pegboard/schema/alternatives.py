"""What a schema expects, in a few words; and of several alternatives, the one that a wrong value was meant for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard.errors import Fault
from pegboard.limits import ALTERNATIVE_LEVELS
from pegboard.schema.assertions import WORDS, alternatives, fixed_values, one_of, tell_enum, type_words
from pegboard.schema.equality import same
from pegboard.schema.jsontext import shorten, shorten_text
from pegboard.schema.keywords import DRAFT_2020
from pegboard.schema.near import NearNames
from pegboard.schema.refs import base_inside

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pegboard.errors import Step
    from pegboard.schema.refs import References

MAX_FOLLOWED = 8
"""How many references are followed to say what a schema expects."""


class Alternatives:
    """Describes schemas of one document, and finds the alternative that is closest to a value.

    Args:
        refs: the document's references.
        spend: takes from the budget of the walk, and ends it where there is nothing left.
    """

    def __init__(self, refs: References, spend: Callable[[int], None]) -> None:
        self._refs = refs
        self._spend = spend
        self.near = NearNames()

    def closest(
        self, choices: list[Any], branches: list[list[Fault]], value: Any, path: tuple[Step, ...], base: str
    ) -> list[Fault]:
        """The faults of the alternative that is meant where one clearly is, else what all of them expect, as one.

        Args:
            choices: the alternatives, none of which fits.
            branches: the faults of each.
            value: the value.
            path: where it stands.
            base: the base in force around the alternatives.
        """
        meant = [
            faults
            for choice, faults in zip(choices, branches, strict=True)
            if not self._is_of_another_kind(choice, faults, value, path, base)
        ]
        if len(meant) == 1:
            return meant[0]
        if fault := self._wrong_tag(choices, value, path, base):
            return [fault]
        if meant:
            return min(meant, key=len)
        told = list(dict.fromkeys(self.describe(choice, base) for choice in choices))
        here = [fault for faults in branches for fault in faults if fault.path == path]
        hint = next((fault.hint for fault in here if fault.hint), None)
        expected = frozenset(name for fault in here for name in fault.expected_types)
        return [Fault(path, alternatives(told), shorten(value), hint, expected)]

    def describe(self, schema: Any, base: str, depth: int = 0) -> str:
        """What a schema expects."""
        self._spend(1)
        schema = self._behind(schema, base)
        if not isinstance(schema, dict):
            return "nothing" if schema is False else "a value"
        if (allowed := fixed_values(schema)) is not None:
            return one_of(allowed)
        if "type" in schema:
            return f"{type_words(schema['type'])}{self._tag(schema, base)}"
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema and depth < ALTERNATIVE_LEVELS:
                told = dict.fromkeys(self.describe(item, base, depth + 1) for item in schema[keyword])
                return alternatives(list(told))
        if "properties" in schema or "required" in schema:
            return f"object{self._tag(schema, base)}"
        for keyword, words in WORDS.items():
            if keyword in schema:
                return words.format(shorten(schema[keyword]))
        return "a value"

    def _is_of_another_kind(
        self, choice: Any, faults: Sequence[Fault], value: Any, path: tuple[Step, ...], base: str
    ) -> bool:
        """Whether a value that broke an alternative was hardly meant for it: it has another type, another fixed
        value, or another tag (a property that the alternative fixes)."""
        here = [fault for fault in faults if fault.path == path]
        if any(fault.expected_types or fault.expected == "nothing here" for fault in here):
            return True
        if here and fixed_values(self._behind(choice, base)) is not None:
            return True
        return isinstance(value, dict) and any(
            name in value and not any(same(value[name], item) for item in allowed)
            for name, allowed in self._tags(choice, base).items()
        )

    def _wrong_tag(self, choices: list[Any], value: Any, path: tuple[Step, ...], base: str) -> Fault | None:
        """The fault of the property that every alternative fixes, where the value lacks it or has another one."""
        if not isinstance(value, dict):
            return None
        tags = [self._tags(choice, base) for choice in choices]
        for name in tags[0]:
            if all(name in tag for tag in tags):
                allowed = [item for tag in tags for item in tag[name]]
                if name not in value:
                    hint = "it says which of the alternatives is meant"
                    return Fault((*path, name), one_of(allowed), "nothing", hint)
                if any(same(item, value[name]) for item in allowed):
                    return None
                return next(tell_enum(allowed, value[name], (*path, name), self.near))
        return None

    def _tags(self, choice: Any, base: str) -> dict[str, list[Any]]:
        choice = self._behind(choice, base)
        properties = choice.get("properties", {}) if isinstance(choice, dict) else {}
        self._spend(len(properties))
        fixed = {name: fixed_values(self._behind(subschema, base)) for name, subschema in properties.items()}
        return {name: allowed for name, allowed in fixed.items() if allowed is not None}

    def _tag(self, schema: dict[str, Any], base: str) -> str:
        for name, allowed in self._tags(schema, base).items():
            if len(allowed) == 1:
                return f" with {shorten_text(name, 30)} = {shorten(allowed[0], 30)}"
        return ""

    def _behind(self, schema: Any, base: str) -> Any:
        for _ in range(MAX_FOLLOWED):
            if not isinstance(schema, dict) or not isinstance(schema.get("$ref"), str):
                break
            target = self._refs.resolve(schema["$ref"], base_inside(schema, base, DRAFT_2020))
            schema = target.schema if target else True
        return schema

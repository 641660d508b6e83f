"""Which schemas hold at one place at once: what a schema refers to, its `allOf`, itself.

References are followed here, and circles cut or kept. What comes out is merged into one schema without either.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pegboard.schema import are_equal
from pegboard_chat.portable.merge import NeverError, Schema, merge, normal, types_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from pegboard.schema import References
    from pegboard_chat.portable.forms import At, Path
    from pegboard_chat.portable.ledger import Ledger

_UNEVALUATED = frozenset({"unevaluatedProperties", "unevaluatedItems"})
_APPLICATORS = ("anyOf", "oneOf", "if", "dependentSchemas")


def evaluated_in_secret(schema: Schema, *, is_inside: bool = False) -> frozenset[str]:
    """For which of the unevaluated keywords a schema evaluates values in a way that is gone when it is merged.

    A condition evaluates what it takes, also where nothing follows from it; so does a dynamic reference, which is left
    out. `true` for all other values evaluates them, and leaves nothing behind. Source: 2020-12 core, section 11.

    Args:
        schema: without faults.
        is_inside: whether the unevaluated keywords that are settled are those of a schema around this one.
    """
    if "if" in schema or "$dynamicRef" in schema:
        return _UNEVALUATED
    names = set()
    if schema.get("additionalProperties") in (True, {}):
        names.add("unevaluatedProperties")
    if is_inside:
        names |= {name for name in _UNEVALUATED if schema.get(name, False) is not False}
    return frozenset(names)


class Gatherer:
    """The schemas of one document, and what it refers to.

    Args:
        document: in 2020-12.
        ledger: what is paid for them, and what is lost of them.

    Attributes:
        names: what is referred to in circles, by its `id`: the name it gets.
    """

    def __init__(self, document: Any, ledger: Ledger) -> None:
        self.document = document
        self.ledger = ledger
        self.names: dict[int, str] = {}

    @cached_property
    def refs(self) -> References:
        """Looked for where a document is not plain: a plain one has none."""
        from pegboard.schema import DRAFT_2020, References

        return References(self.document, DRAFT_2020)

    @cached_property
    def bases(self) -> dict[int, str]:
        """The base in force inside of each schema, where it is not the document's."""
        return {id(here.schema): here.base for here in self.refs.reachable() if here.base != self.refs.root.base}

    def collect(
        self,
        schema: Any,
        at: At,
        parts: list[Schema],
        circles: list[Any],
        seen: dict[int, frozenset[str]],
        *,
        top: bool = False,
    ) -> bool:
        """The schema objects whose conjunction a schema is: what it refers to, its `allOf`, itself; `seen` are those
        that were looked at, each with what it evaluates in secret. False where something was left out."""
        path = at.path
        if schema is False:
            raise NeverError
        if schema is True or id(schema) in seen:
            return True
        seen[id(schema)] = evaluated_in_secret(schema, is_inside=not top)
        self.ledger.charge(schema)
        if self.ledger.left < 0:
            self.ledger.widen(path, "it is too large to be written out")
            return False
        exact = True
        ref = schema.get("$ref")
        if isinstance(ref, str):
            target = self.refs.resolve(ref, self.bases.get(id(schema), self.refs.root.base))
            if target is None:
                self.ledger.widen((*path, "$ref"), "it points outside of the schema")
                exact = False
            elif not isinstance(target.schema, dict):
                exact = self.collect(target.schema, at, parts, circles, seen)
            else:
                rounds = at.trail.count(id(target.schema))
                if rounds and self.ledger.profile.recursion:
                    if not any(target.schema is other for other in circles):
                        circles.append(target.schema)
                        self.names.setdefault(id(target.schema), self._name_for(ref))
                elif rounds >= self.ledger.profile.max_unrolled:
                    self.ledger.widen((*path, "$ref"), "it contains itself, and is cut here")
                    exact = False
                    if isinstance(target.schema.get("type"), (str, list)):
                        parts.append({"type": target.schema["type"]})
                else:
                    exact = self.collect(target.schema, at, parts, circles, seen)
        if "$dynamicRef" in schema:
            self.ledger.widen((*path, "$dynamicRef"), "it is a dynamic reference")
            exact = False
        for part in schema.get("allOf", ()):
            exact = self.collect(part, at, parts, circles, seen) and exact
        flat = normal(schema)
        if not top:
            words: list[str] = []
            whole = not ("$ref" in schema or "allOf" in schema)
            exact = self.settle(flat, path, words, whole=whole, secret=evaluated_in_secret(schema)) and exact
        parts.append(flat)
        return exact

    def settle(self, flat: Schema, path: Path, words: list[str], *, whole: bool, secret: Collection[str] = ()) -> bool:
        """Say what stands for unevaluated values as what stands for additional ones, where that is the same; else leave
        it out. False where it was left out.

        Args:
            whole: whether `flat` is all that holds here.
            secret: for which of the two there are values that are evaluated though `flat` does not say so.
        """
        exact = True
        for name, other in (("unevaluatedProperties", "additionalProperties"), ("unevaluatedItems", "items")):
            if name not in flat:
                continue
            value = flat.pop(name)
            if value is True or value == {} or other in flat:
                continue
            applied = any(key in flat for key in _APPLICATORS) or (other == "items" and "contains" in flat)
            if whole and not applied and name not in secret:
                flat[other] = value
            else:
                self.ledger.say(name, value, path, words)
                exact = False
        return exact

    def _name_for(self, ref: str) -> str:
        word = re.sub(r"[^A-Za-z0-9_]+", "_", ref.rpartition("/")[2])[:40].strip("_") or "root"
        taken = set(self.names.values())
        return next(name for name in (word, *(f"{word}_{n}" for n in range(2, len(taken) + 3))) if name not in taken)

    def union_of(self, branches: list[Any], at: At) -> Schema | None:
        """An object that takes what any of several alternatives takes."""
        forms: list[Schema] = []
        for branch in branches:
            parts: list[Schema] = []
            circles: list[Any] = []
            try:
                self.collect(branch, at, parts, circles, {})
                form: Schema = {}
                for part in parts:
                    form = merge(form, part)[0]
            except NeverError:
                continue
            if "type" not in form or "object" in types_of(form["type"]):
                forms.append({} if circles else form)
        if not forms:
            return None
        closed = [form.get("additionalProperties") is False and "patternProperties" not in form for form in forms]
        named: dict[str, list[Any]] = {}
        for form in forms:
            for name, item in form.get("properties", {}).items():
                named.setdefault(name, []).append(item)
        properties: dict[str, Any] = {}
        for name, items in named.items():
            everywhere = all(
                is_closed or name in form.get("properties", {}) for form, is_closed in zip(forms, closed, strict=True)
            )
            different = [item for n, item in enumerate(items) if not any(are_equal(item, other) for other in items[:n])]
            if everywhere:
                properties[name] = different[0] if len(different) == 1 else {"anyOf": different}
            else:
                texts = [item["description"] for item in items if isinstance(item, dict) and "description" in item]
                properties[name] = {"description": texts[0]} if texts else {}
        union: Schema = {"properties": properties}
        required = set(forms[0].get("required", ())).intersection(*(form.get("required", ()) for form in forms))
        if required:
            union["required"] = [name for name in forms[0]["required"] if name in required]
        if all(closed):
            union["additionalProperties"] = False
        return union

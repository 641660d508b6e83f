"""What values of one type may be: numbers and texts, arrays, objects and their properties.

Most properties are plain; `_quick` takes those over without a look at what they do not have.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pegboard_chat.portable.forms import (
    HOISTED,
    KINDS,
    NEVER,
    NOTHING,
    SCALARS,
    At,
    NotStrictError,
    Out,
    Path,
    takes_null,
)
from pegboard_chat.portable.gather import Gatherer
from pegboard_chat.portable.merge import KIND_OF_KEYWORD, Schema, types_of
from pegboard_chat.portable.names import alias_for
from pegboard_chat.portable.restore import ArrayPlan, Member, ObjectPlan, Plan, Shape
from pegboard_chat.portable.words import described

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard_chat.portable.profiles import Profile

_COPIED = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType"),
    *("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "dependentRequired"),
)
_ASKING = frozenset(
    {
        *("minProperties", "maxProperties", "dependentRequired", "dependentSchemas", "dependencies", "propertyNames"),
        *("not", "if", "contains", "uniqueItems"),
    }
)
"""Rules that may ask which properties there are."""
_QUICK_DEFAULT = frozenset({"default"})
_QUICK_REST = frozenset({"default", "enum"})
_QUICK_ARRAY = frozenset({"default", "items"})
_QUICK_UNION = frozenset({"anyOf", "default", "title", "description"})
_NULL = {"type": "null"}


class Bodies(Gatherer):
    """What values of one type may be, property by property.

    Attributes:
        definitions: what is referred to in circles, by name.
        fields, optional, unions, enums, text: what the limits of a provider count.
    """

    def __init__(self, schema: Any, profile: Profile) -> None:
        super().__init__(schema, profile)
        self.fields = self.optional = self.unions = self.enums = self.text = 0
        self.definitions: dict[str, Any] = {}
        self.simple = _simple_keywords(profile)

    def _value(self, schema: Any, at: At) -> Out:
        """Any schema: the recursion."""
        raise NotImplementedError

    def _body(self, kinds: list[str], flat: Schema, at: At, words: list[str]) -> Out:
        """The keywords that look at values of these types, of which at most one is an object."""
        path = at.path
        form: dict[str, Any] = {"type": self._type(kinds[0]) if len(kinds) == 1 else [self._type(k) for k in kinds]}
        exact = True
        for name in _COPIED:
            if name not in flat or not self._looks_at(name, kinds):
                continue
            value = flat[name]
            if self._is_kept(name, value):
                form[name] = int(value) if isinstance(value, float) and value.is_integer() and value < 1e15 else value
            elif name != "uniqueItems" or value:
                self._say(name, value, path, words)
                exact = False
        plan: Plan | None = None
        shape = None
        if "array" in kinds:
            out = self._array(flat, at, words, form)
            if out.schema is None:
                return NEVER
            plan, exact = out.plan, exact and out.exact
        if "object" in kinds:
            out = self._object(flat, at, words, form)
            if out.schema is None:
                return NEVER
            exact = exact and out.exact
            shape = out.shape
            plan = out.plan if out.plan is not None else plan
        return Out(form, plan, exact, shape)

    def _looks_at(self, name: str, kinds: list[str]) -> bool:
        kind = KIND_OF_KEYWORD[name]
        return kind in kinds or (kind == "number" and "integer" in kinds)

    def _is_kept(self, name: str, value: Any) -> bool:
        profile = self.profile
        if name not in profile.keywords:
            return False
        if name == "format":
            return profile.formats is None or value in profile.formats
        if name == "minItems":
            return profile.min_items is None or value in profile.min_items
        return True

    def _format_fits(self, schema: Schema) -> bool:
        return "format" not in schema or self._is_kept("format", schema["format"])

    def _type(self, kind: str) -> str:
        return kind.upper() if self.profile.upper_types else kind

    def _array(self, flat: Schema, at: At, words: list[str], form: dict[str, Any]) -> Out:
        path = at.path
        profile = self.profile
        self._check_level(at)
        exact = True
        plan: Plan | None = None
        items = flat.get("items", True)
        first = flat.get("prefixItems")
        most: int | None = None
        if first is not None and "prefixItems" in profile.keywords:
            outs = [self._value(item, at.inside("prefixItems", n)) for n, item in enumerate(first)]
            here = next((n for n, out in enumerate(outs) if out.schema is None), None)
            if here is not None:
                outs, most = outs[:here], here
            if outs:
                form["prefixItems"] = [out.schema for out in outs]
            exact = all(out.exact for out in outs)
        elif first is not None:
            self._say("prefixItems", first, path, words)
            exact = False
            if items is False:
                most = len(first)
            items = {"anyOf": [*first, *([] if items is False else [items])]}
            first = None
        is_expected = profile.typed or (profile.items_required and "type" in flat)
        sub: dict[str, Any] | None = None
        if items is not True or is_expected:
            got = self._value(items, at.inside("items"))
            sub, exact = got.schema, exact and got.exact
            plan = ArrayPlan(got.plan) if got.plan is not None else None
            if sub is None:
                most = min(len(first or ()), len(first or ()) if most is None else most)
                sub = {"type": self._type("string")} if is_expected else None
        if most is not None:
            if "maxItems" in profile.keywords:
                form["maxItems"] = min(most, form.get("maxItems", most))
            else:
                exact = False
        if sub is not None:
            form["items"] = sub
        if "contains" in flat:
            exact = self._contains(flat, at, words, form) and exact
        return Out(form, plan, exact)

    def _contains(self, flat: Schema, at: At, words: list[str], form: dict[str, Any]) -> bool:
        path = at.path
        names = [name for name in ("contains", "minContains", "maxContains") if name in flat]
        if "contains" in self.profile.keywords:
            out = self._value(flat["contains"], at.inside("contains"))
            if out.exact or (out.schema is not None and "maxContains" not in flat):
                form["contains"] = {"not": {}} if out.schema is None else out.schema
                form.update({name: flat[name] for name in names[1:]})
                return out.exact
        for name in names:
            self._say(name, flat[name], path, words)
        return False

    def _object(self, flat: Schema, at: At, words: list[str], form: dict[str, Any]) -> Out:
        path = at.path
        profile = self.profile
        self._check_level(at)
        given: Mapping[str, Any] = flat.get("properties", {})
        others = flat.get("additionalProperties", True)
        patterns = flat.get("patternProperties") or {}
        required = dict.fromkeys(flat.get("required", ()))
        if profile.closed and patterns:
            raise NotStrictError((*path, "patternProperties"), "it takes names by pattern")
        if profile.closed and others is not False:
            raise NotStrictError(path, "it takes properties that it does not name: say additionalProperties false")
        exact = True
        properties: dict[str, Any] = {}
        members: dict[str, Member] = {}
        tags: dict[str, list[Any]] = {}
        aliases = self._aliases(given, path)
        for name, item in given.items():
            quick = self._quick(item, path, name) if self.left > 0 else None
            is_dropped = False
            if quick is not None:
                out = Out(quick)
            elif (
                profile.nullable == "never"
                and name not in required
                and isinstance(item, dict)
                and item.get("default", NOTHING) is None
            ):
                is_dropped = True
                self._check_presence(flat, (*path, "properties", name))
                some = {"allOf": [item, {"type": [kind for kind in KINDS if kind != "null"]}]}
                out = self._value(some, at.inside("properties", name))
            else:
                out = self._value(item, at.inside("properties", name))
            if out.schema is None:
                if name in required:
                    return NEVER
                if "not" in profile.keywords:
                    properties[aliases.get(name, name)] = {"not": {}}
                elif others is not False or patterns:
                    exact = False
                continue
            exact = exact and out.exact
            sub, absent, is_null = out.schema, False, False
            self.fields += 1
            self.text += len(name)
            if profile.all_required and name not in required:
                sub, is_null = self._nulled(sub, item, (*path, "properties", name))
                absent, is_null = True, is_null and out.exact
                if is_null:
                    self._check_presence(flat, (*path, "properties", name))
            elif name not in required:
                self.optional += 1
            if "anyOf" in sub or isinstance(sub.get("type"), list):
                self.unions += 1
            sent = aliases.get(name, name)
            properties[sent] = sub
            if "const" in sub or "enum" in sub:
                tags[name] = [sub["const"]] if "const" in sub else sub["enum"]
            if sent != name or absent or is_dropped or out.plan is not None:
                members[sent] = Member(name, absent, is_null, out.plan, is_dropped)
        unknown = [name for name in required if name not in given]
        if unknown and profile.known_required:
            if others is False:
                return NEVER
            self._say("required", unknown, path, words)
            exact = False
            required = {name: None for name in required if name in given}
        self._properties(properties, form, flat, path)
        if profile.all_required:
            form["required"] = list(properties)
        elif required:
            form["required"] = [aliases.get(name, name) for name in required]
        exact = self._others(others, patterns, at, words, form) and exact
        if "propertyNames" in flat:
            exact = self._property_names(flat["propertyNames"], at, words, form, aliases) and exact
        if aliases:
            self._rename_rules(form, aliases, path, words)
        shape = None
        if path and profile.all_required:
            shape = Shape(frozenset(properties), frozenset(required), tags)
        return Out(form, ObjectPlan(members) if members else None, exact, shape)

    def _quick(self, item: Any, path: Path, name: str) -> dict[str, Any] | None:
        """The compiled form of what most properties are: a scalar or a list of such, null beside it, a default; None
        says nothing."""
        if not isinstance(item, dict) or not item:
            return None
        self._charge(item)
        keywords = self.profile.keywords
        if "type" in item:
            if not self._is_quick(item):
                return None
        elif not self._is_quick_union(item):
            return None
        if "default" not in item or "default" in keywords:
            form = item
        else:
            form = {key: value for key, value in item.items() if key != "default"}
            if item["default"] is not None:
                words: list[str] = []
                self._say("default", item["default"], (*path, "properties", name), words)
                form["description"] = described(item.get("description"), words)
        if self.profile.nullable == "never" and item.get("default", NOTHING) is None:
            return None
        if "enum" in item:
            self.enums += len(item["enum"])
            self.text += sum(map(len, item["enum"]))
        return self._typed_as_expected(form)

    def _is_quick(self, item: dict[str, Any]) -> bool:
        """Whether a typed schema is a scalar or a list of such, all of its keywords taken as they are."""
        kind = item["type"]
        rest = item.keys() - self.simple
        if "format" in item:
            return False
        if kind.__class__ is not str:
            return not rest - _QUICK_DEFAULT and isinstance(kind, list) and self._is_quick_pair(kind)
        if kind == "array":
            items = item.get("items")
            return (
                rest <= _QUICK_ARRAY
                and isinstance(items, dict)
                and "format" not in items
                and items.get("type") in SCALARS
                and items.keys() <= self.simple
            )
        if kind not in SCALARS or not rest <= _QUICK_REST:
            return False
        return "enum" not in rest or (kind == "string" and all(value.__class__ is str for value in item["enum"]))

    def _is_quick_union(self, item: dict[str, Any]) -> bool:
        """Whether it is one such schema, or null."""
        branches = item.get("anyOf")
        return (
            isinstance(branches, list)
            and self.profile.nullable == "type"
            and item.keys() <= _QUICK_UNION
            and len(branches) == 2
            and branches[1] == _NULL
            and isinstance(branches[0], dict)
            and "type" in branches[0]
            and branches[0].keys() <= self.simple | {"items"}
            and branches[0]["type"].__class__ is str
            and self._is_quick(branches[0])
        )

    def _typed_as_expected(self, item: dict[str, Any]) -> dict[str, Any]:
        """A quick property with its type as the profile writes it."""
        if not self.profile.upper_types:
            return item
        kind = item["type"]
        if kind.__class__ is str:
            form = {**item, "type": kind.upper()}
        else:
            form = {**item, "type": kind[kind[0] == "null"].upper(), "nullable": True}
        if kind == "array":
            form["items"] = self._typed_as_expected(item["items"])
        return form

    def _is_quick_pair(self, kinds: list[str]) -> bool:
        return (
            self.profile.nullable != "never"
            and len(kinds) == 2
            and "null" in kinds
            and kinds[0] in SCALARS
            and kinds[1] in SCALARS
        )

    def _properties(self, properties: dict[str, Any], form: dict[str, Any], flat: Schema, path: Path) -> None:
        if properties or "properties" in flat or self.profile.typed or not path:
            form["properties"] = properties

    def _nulled(self, sub: dict[str, Any], item: Any, at: Path) -> tuple[dict[str, Any], bool]:
        """An optional property where every one has to be given: null says that it is left out; and whether null is a
        value of it as well, which by its own default means the same."""
        if not takes_null(sub, self.definitions):
            return self._nullable(sub), False
        if isinstance(item, dict) and item.get("default", NOTHING) is None:
            return sub, True
        raise NotStrictError(at, "it may be left out and may be null, and null can say only one of these")

    def _nullable(self, form: dict[str, Any]) -> dict[str, Any]:
        """What also takes null."""
        if takes_null(form, self.definitions):
            return form
        if self.profile.nullable == "keyword":
            return {**form, "nullable": True}
        if "anyOf" in form:
            return {**form, "anyOf": [*form["anyOf"], {"type": "null"}]}
        if "type" not in form:
            return {"anyOf": [form, {"type": "null"}]}
        wider = {**form, "type": [*types_of(form["type"]), "null"]}
        if "const" in form:
            wider["enum"] = [wider.pop("const"), None]
        elif "enum" in form:
            wider["enum"] = [*form["enum"], None]
        return wider

    def _others(
        self,
        others: Any,
        patterns: Mapping[str, Any],
        at: At,
        words: list[str],
        form: dict[str, Any],
    ) -> bool:
        """Properties without a name of their own."""
        path = at.path
        keywords = self.profile.keywords
        exact = True
        if patterns and "patternProperties" not in keywords:
            self._say("patternProperties", patterns, path, words)
            if others is not True and others != {}:
                self._say("additionalProperties", others, path, words)
            return False
        if patterns:
            forms = {}
            for pattern, item in patterns.items():
                out = self._value(item, at.inside("patternProperties", pattern))
                forms[pattern] = {"not": {}} if out.schema is None else out.schema
                exact = exact and out.exact
            form["patternProperties"] = forms
        if others is True or others == {}:
            return exact
        if "additionalProperties" not in keywords:
            if others is not False:
                self._say("additionalProperties", others, path, words)
            return False
        out = self._value(others, at.inside("additionalProperties"))
        form["additionalProperties"] = False if out.schema is None else out.schema
        return exact and out.exact

    def _property_names(
        self,
        names: Any,
        at: At,
        words: list[str],
        form: dict[str, Any],
        aliases: Mapping[str, str],
    ) -> bool:
        path = at.path
        if "propertyNames" in self.profile.keywords and not aliases:
            out = self._value(names, at.inside("propertyNames"))
            form["propertyNames"] = {"not": {}} if out.schema is None else out.schema
            return out.exact
        self._say("propertyNames", names, path, words)
        return False

    def _aliases(self, given: Mapping[str, Any], path: Path) -> dict[str, str]:
        """Other names for properties of the root that the provider would refuse."""
        pattern = self.profile.property_names
        if path or pattern is None:
            return {}
        aliases: dict[str, str] = {}
        for name in given:
            if re.fullmatch(pattern, name) is None:
                alias = alias_for(name)
                if alias in given or alias in aliases.values():
                    alias = alias_for(name, digits=24)
                aliases[name] = alias
                self._lose(("properties", name), f"is called {alias} there")
        return aliases

    def _rename_rules(self, form: dict[str, Any], aliases: Mapping[str, str], path: Path, words: list[str]) -> None:
        """Rules that speak of names stay where they can be said of the aliases."""
        for name in ("dependentRequired", "patternProperties"):
            if name in form:
                self._say(name, form.pop(name), path, words)
                if name == "patternProperties":
                    form.pop("additionalProperties", None)

    def _check_presence(self, flat: Schema, path: Path) -> None:
        """Null and nothing are the same only where no rule asks which properties there are."""
        if flat.get(HOISTED) or self._asks():
            raise NotStrictError(path, "it may be left out and may be null, and a rule asks which properties there are")

    def _asks(self) -> bool:
        """Whether any rule of the document may ask which properties there are."""
        waiting: list[Any] = [self.schema]
        while waiting:
            item = waiting.pop()
            if isinstance(item, dict):
                if not _ASKING.isdisjoint(item):
                    return True
                waiting += item.values()
            elif isinstance(item, list):
                waiting += item
        return False

    def _check_level(self, at: At) -> None:
        most = self.profile.max_levels
        if most is not None and at.level >= most:
            raise NotStrictError(at.path, f"it nests deeper than {most} levels")


def _simple_keywords(profile: Profile) -> frozenset[str]:
    """The keywords of a scalar that are taken over with any value of theirs."""
    found = _SIMPLE.get(profile.name)
    if found is None:
        bounded = {"enum", "const", "anyOf", "items", "properties", "required", "additionalProperties"}
        scalar = {name for name, kind in KIND_OF_KEYWORD.items() if kind in ("string", "number")}
        kept = profile.keywords & (scalar | {"type", "title", "description"}) - bounded
        found = _SIMPLE[profile.name] = frozenset(kept)
    return found


_SIMPLE: dict[str, frozenset[str]] = {}

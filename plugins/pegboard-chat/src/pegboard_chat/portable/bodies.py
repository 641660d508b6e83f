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
from pegboard_chat.portable.merge import KIND_OF_KEYWORD, Schema, types_of
from pegboard_chat.portable.names import alias_for
from pegboard_chat.portable.restore import ArrayPlan, Member, ObjectPlan, Plan, Shape
from pegboard_chat.portable.words import described

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pegboard_chat.portable.ledger import Ledger
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


class Bodies:
    """What values of one type may be, property by property.

    Args:
        document: the whole schema.
        ledger: what is paid for, and what is lost.
        value: compiles any schema inside; it may ask here again.

    Attributes:
        definitions: what is referred to in circles, by name.
        fields, optional, unions, enums, text: what the limits of a provider count.
        simple: the keywords of a scalar that are taken over with any value of theirs.
    """

    def __init__(self, document: Any, ledger: Ledger, value: Callable[[Any, At], Out]) -> None:
        self.document = document
        self.ledger = ledger
        self.profile = ledger.profile
        self.value = value
        self.fields = self.optional = self.unions = self.enums = self.text = 0
        self.definitions: dict[str, Any] = {}
        self.simple = _simple_keywords(self.profile)

    def body(self, kinds: list[str], flat: Schema, at: At, words: list[str]) -> Out:
        """The keywords that look at values of these types, of which at most one is an object."""
        path = at.path
        form: dict[str, Any] = {"type": self.type(kinds[0]) if len(kinds) == 1 else [self.type(k) for k in kinds]}
        exact = True
        for name in _COPIED:
            if name not in flat or not self._looks_at(name, kinds):
                continue
            value = flat[name]
            if self._is_kept(name, value):
                form[name] = int(value) if isinstance(value, float) and value.is_integer() and value < 1e15 else value
            elif name != "uniqueItems" or value:
                self.ledger.say(name, value, path, words)
                exact = False
        plan: Plan | None = None
        shape = None
        if "array" in kinds:
            out = self._array(flat, at, words, form)
            if out.schema is None:
                return NEVER
            plan, exact = out.plan, exact and out.exact
        if "object" in kinds:
            out = self.object(flat, at, words, form)
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

    def format_fits(self, schema: Schema) -> bool:
        """Whether the provider takes the format of a text, where it has one."""
        return "format" not in schema or self._is_kept("format", schema["format"])

    def type(self, kind: str) -> str:
        """A type, as the profile writes it."""
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
            outs = [self.value(item, at.inside("prefixItems", n)) for n, item in enumerate(first)]
            here = next((n for n, out in enumerate(outs) if out.schema is None), None)
            if here is not None:
                outs, most = outs[:here], here
            if outs:
                form["prefixItems"] = [out.schema for out in outs]
            exact = all(out.exact for out in outs)
        elif first is not None:
            self.ledger.say("prefixItems", first, path, words)
            exact = False
            if items is False:
                most = len(first)
            items = {"anyOf": [*first, *([] if items is False else [items])]}
            first = None
        is_expected = profile.typed or (profile.items_required and "type" in flat)
        sub: dict[str, Any] | None = None
        if items is not True or is_expected:
            got = self.value(items, at.inside("items"))
            sub, exact = got.schema, exact and got.exact
            plan = ArrayPlan(got.plan) if got.plan is not None else None
            if sub is None:
                most = min(len(first or ()), len(first or ()) if most is None else most)
                sub = {"type": self.type("string")} if is_expected else None
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
            out = self.value(flat["contains"], at.inside("contains"))
            if out.exact or (out.schema is not None and "maxContains" not in flat):
                form["contains"] = {"not": {}} if out.schema is None else out.schema
                form.update({name: flat[name] for name in names[1:]})
                return out.exact
        for name in names:
            self.ledger.say(name, flat[name], path, words)
        return False

    def object(self, flat: Schema, at: At, words: list[str], form: dict[str, Any]) -> Out:
        """An object's properties, and what is said of those that have no name of their own."""
        path, profile = at.path, self.profile
        self._check_level(at)
        given: Mapping[str, Any] = flat.get("properties", {})
        others = flat.get("additionalProperties", True)
        patterns = flat.get("patternProperties") or {}
        required = list(dict.fromkeys(flat.get("required", ())))
        if profile.closed and patterns:
            raise NotStrictError((*path, "patternProperties"), "it takes names by pattern")
        if profile.closed and others is not False:
            raise NotStrictError(path, "it takes properties that it does not name: say additionalProperties false")
        made = _Made(self._aliases(given, path))
        for name, item in given.items():
            if not self._property(name, item, flat, at, made):
                return NEVER
        unknown = [name for name in required if name not in given]
        if unknown and profile.known_required:
            if others is False:
                return NEVER
            self.ledger.say("required", unknown, path, words)
            made.exact = False
            required = [name for name in required if name in given]
        if made.properties or "properties" in flat or profile.typed or not path:
            form["properties"] = made.properties
        if profile.all_required:
            form["required"] = list(made.properties)
        elif required:
            form["required"] = [made.aliases.get(name, name) for name in required]
        exact = self._others(others, patterns, at, words, form) and made.exact
        if "propertyNames" in flat:
            exact = self._property_names(flat["propertyNames"], at, words, form, made.aliases) and exact
        if made.aliases:
            self._rename_rules(form, path, words)
        shape = None
        if path and profile.all_required:
            shape = Shape(frozenset(made.properties), frozenset(required), made.tags)
        return Out(form, ObjectPlan(made.members) if made.members else None, exact, shape)

    def _property(self, name: str, item: Any, flat: Schema, at: At, made: _Made) -> bool:
        """Compile one property into what is made; False where no object fits, because nothing fits there."""
        profile, path = self.profile, (*at.path, "properties", name)
        is_required = name in flat.get("required", ())
        quick = self._quick(item, path) if self.ledger.left > 0 else None
        is_dropped = quick is None and not is_required and profile.nullable == "never" and _is_null_by_default(item)
        if quick is not None:
            out = Out(quick)
        elif is_dropped:
            self._check_presence(flat, path)
            some = {"allOf": [item, {"type": [kind for kind in KINDS if kind != "null"]}]}
            out = self.value(some, at.inside("properties", name))
        else:
            out = self.value(item, at.inside("properties", name))
        sent = made.aliases.get(name, name)
        if out.schema is None:
            if "not" in profile.keywords and not is_required:
                made.properties[sent] = {"not": {}}
            elif flat.get("additionalProperties", True) is not False or flat.get("patternProperties"):
                made.exact = False
            return not is_required
        made.exact = made.exact and out.exact
        sub, absent, is_null = out.schema, False, False
        self.fields += 1
        self.text += len(name)
        if profile.all_required and not is_required:
            sub, is_null = self._nulled(sub, item, path)
            absent, is_null = True, is_null and out.exact
            if is_null:
                self._check_presence(flat, path)
        elif not is_required:
            self.optional += 1
        if "anyOf" in sub or isinstance(sub.get("type"), list):
            self.unions += 1
        made.properties[sent] = sub
        if "const" in sub or "enum" in sub:
            made.tags[name] = [sub["const"]] if "const" in sub else sub["enum"]
        if sent != name or absent or is_dropped or out.plan is not None:
            made.members[sent] = Member(name, absent, is_null, out.plan, is_dropped)
        return True

    def _quick(self, item: Any, path: Path) -> dict[str, Any] | None:
        """The compiled form of what most properties are: a scalar or a list of such, null beside it, a default; None
        says nothing."""
        if not isinstance(item, dict) or not item:
            return None
        self.ledger.charge(item)
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
                self.ledger.say("default", item["default"], path, words)
                form["description"] = described(item.get("description"), words)
        if self.profile.nullable == "never" and item.get("default", NOTHING) is None:
            return None
        if "enum" in item:
            self.enums += len(item["enum"])
            self.text += sum(map(len, item["enum"]))
        return self.typed_as_expected(form)

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

    def typed_as_expected(self, item: dict[str, Any]) -> dict[str, Any]:
        """A quick property with its type as the profile writes it."""
        if not self.profile.upper_types:
            return item
        kind = item["type"]
        if kind.__class__ is str:
            form = {**item, "type": kind.upper()}
        else:
            form = {**item, "type": kind[kind[0] == "null"].upper(), "nullable": True}
        if kind == "array":
            form["items"] = self.typed_as_expected(item["items"])
        return form

    def _is_quick_pair(self, kinds: list[str]) -> bool:
        return (
            self.profile.nullable != "never"
            and len(kinds) == 2
            and "null" in kinds
            and kinds[0] in SCALARS
            and kinds[1] in SCALARS
        )

    def _nulled(self, sub: dict[str, Any], item: Any, at: Path) -> tuple[dict[str, Any], bool]:
        """An optional property where every one has to be given: null says that it is left out; and whether null is a
        value of it as well, which by its own default means the same."""
        if not takes_null(sub, self.definitions):
            return self._with_null(sub), False
        if _is_null_by_default(item):
            return sub, True
        raise NotStrictError(at, "it may be left out and may be null, and null can say only one of these")

    def nullable(self, form: dict[str, Any]) -> dict[str, Any]:
        """What also takes null."""
        return form if takes_null(form, self.definitions) else self._with_null(form)

    def _with_null(self, form: dict[str, Any]) -> dict[str, Any]:
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
            self.ledger.say("patternProperties", patterns, path, words)
            if others is not True and others != {}:
                self.ledger.say("additionalProperties", others, path, words)
            return False
        if patterns:
            forms = {}
            for pattern, item in patterns.items():
                out = self.value(item, at.inside("patternProperties", pattern))
                forms[pattern] = {"not": {}} if out.schema is None else out.schema
                exact = exact and out.exact
            form["patternProperties"] = forms
        if others is True or others == {}:
            return exact
        if "additionalProperties" not in keywords:
            if others is not False:
                self.ledger.say("additionalProperties", others, path, words)
            return False
        out = self.value(others, at.inside("additionalProperties"))
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
            out = self.value(names, at.inside("propertyNames"))
            form["propertyNames"] = {"not": {}} if out.schema is None else out.schema
            return out.exact
        self.ledger.say("propertyNames", names, path, words)
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
                self.ledger.lose(("properties", name), f"is called {alias} there")
        return aliases

    def _rename_rules(self, form: dict[str, Any], path: Path, words: list[str]) -> None:
        """Rules that speak of names stay where they can be said of the aliases."""
        for name in ("dependentRequired", "patternProperties"):
            if name in form:
                self.ledger.say(name, form.pop(name), path, words)
                if name == "patternProperties":
                    form.pop("additionalProperties", None)

    def _check_presence(self, flat: Schema, path: Path) -> None:
        """Null and nothing are the same only where no rule asks which properties there are."""
        if flat.get(HOISTED) or self._asks():
            raise NotStrictError(path, "it may be left out and may be null, and a rule asks which properties there are")

    def _asks(self) -> bool:
        """Whether any rule of the document may ask which properties there are."""
        waiting: list[Any] = [self.document]
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


class _Made:
    """What was made of the properties of one object so far.

    Attributes:
        aliases: other names, for properties whose names the provider would refuse.
        properties: the compiled ones.
        members: those that are not sent as they are taken, by the name they are sent by.
        tags: for properties of fixed values, these.
        exact: whether they take what the original takes, and no more.
    """

    __slots__ = ("aliases", "exact", "members", "properties", "tags")

    def __init__(self, aliases: dict[str, str]) -> None:
        self.aliases = aliases
        self.properties: dict[str, Any] = {}
        self.members: dict[str, Member] = {}
        self.tags: dict[str, list[Any]] = {}
        self.exact = True


def _is_null_by_default(item: Any) -> bool:
    return isinstance(item, dict) and item.get("default", NOTHING) is None


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

"""One tool's schema in a provider's subset of JSON Schema: what it takes, nothing else, and nothing refused.

Invariants:

- What the original accepts, the compiled form accepts: where a keyword cannot be kept, the form is wider, and the
  keyword goes into the description as words. (In a strict form: after `Compiled.fill`, which writes null for what is
  left out; `Compiled.restore` is its inverse.) The session validates the call with the original, so a wider form costs
  a repair, a narrower one would take a legal call from the model.
- The compiled form holds only keywords of its profile.
- Work is bounded, whatever the schema: definitions are written out where they are used, so a small schema may describe
  a huge one; after `MAX_VALUES` schemas the rest is cut.

A tool goes strict only where the strict form keeps the first invariant: objects that say `additionalProperties: false`,
values that have a type. Anything else falls back to the profile's plain one, for this tool alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs

from pegboard import Loss
from pegboard._frozen import FrozenDict, FrozenList
from pegboard.schema.check import is_plain
from pegboard_chat.portable.merge import KIND_OF_KEYWORD, NeverError, Schema, merge, normal, same, types_of
from pegboard_chat.portable.restore import ArrayPlan, Member, NamedPlan, ObjectPlan, Plan, Shape, UnionPlan
from pegboard_chat.portable.words import described, say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard_chat.portable.profiles import Profile

MAX_VALUES = 4_000
"""How many schemas are written out for one tool."""
MAX_LEVELS = 40
"""How deep they nest."""
MAX_LOSSES = 100
"""How many losses are told of one tool."""

Path = tuple[str | int, ...]

KINDS = ("string", "number", "boolean", "array", "object", "null")
_SCALARS = ("string", "number", "integer", "boolean", "null")
_ANNOTATIONS = frozenset({"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"})
_APPLICATORS = ("anyOf", "oneOf", "if", "dependentSchemas")
_COPIED = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType"),
    *("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "dependentRequired"),
)
_NOT_AT_ROOT = ("enum", "const", "not", "if", "then", "else", "dependentSchemas")
_NOTHING: Any = object()
_HOISTED = "(hoisted)"
"""Marks a merged schema that had alternatives."""
_ASKING = frozenset(
    {
        *("minProperties", "maxProperties", "dependentRequired", "dependentSchemas", "dependencies", "propertyNames"),
        *("not", "if", "contains", "uniqueItems"),
    }
)
_LONG = 256
"""So many characters of a description weigh as much as one schema more."""


@attrs.frozen
class Compiled:
    """A schema as one provider takes it.

    Args:
        schema: what is sent; share it, do not change it.
        strict: whether the provider may hold the model to it.
        tool: the tool's name.
        lost: what `losses` tells, as paths and words.
        notes: words about the arguments as a whole, for the description of the tool.
        plan: how to get from what the model writes to what the tool takes; None: they are the same.
        fields: how many properties there are.
        optional: how many of them may be left out.
        unions: how many of them are of more than one type.

    .. versionadded:: 0.1
    """

    schema: Mapping[str, Any]
    strict: bool
    tool: str = ""
    lost: tuple[tuple[Path, str], ...] = attrs.field(default=(), repr=False)
    notes: tuple[str, ...] = ()
    plan: Plan | None = attrs.field(default=None, repr=False)
    fields: int = 0
    optional: int = 0
    unions: int = 0

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What the provider will not see, or not as it was."""
        return tuple(Loss(self.tool, shown(path), what) for path, what in self.lost)

    def restore(self, arguments: Any) -> Any:
        """What a model wrote, as the tool takes it; what does not fit stays as it is, for the validation to refuse."""
        return arguments if self.plan is None else self.plan.restore(arguments)

    def fill(self, arguments: Any) -> Any:
        """Arguments of the tool as a model would have to write them: for examples, and for turns of the past."""
        return arguments if self.plan is None else self.plan.fill(arguments)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to give."""
        return not self.schema.get("properties") and not self.schema.get("additionalProperties")


class NotStrictError(Exception):
    """The schema cannot be said in a strict profile."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(why)
        self.path = path
        self.why = why


class At(NamedTuple):
    """Where a schema stands: its path, the definitions that were entered on the way, and how deep it lies."""

    path: Path = ()
    trail: tuple[int, ...] = ()
    level: int = 0

    def step(self, *steps: str | int) -> At:
        """A schema that looks at the same value."""
        return At((*self.path, *steps), self.trail, self.level)

    def inside(self, *steps: str | int) -> At:
        """A schema that looks at what is inside of the value."""
        return At((*self.path, *steps), self.trail, self.level + 1)


class _Out(NamedTuple):
    """One compiled schema; None where no value fits the original."""

    schema: dict[str, Any] | None
    plan: Plan | None = None
    exact: bool = True
    shape: Shape | None = None


_NEVER = _Out(None)


def compile_schema(schema: Any, profile: Profile, *, tool: str = "") -> Compiled:
    """Compile the schema of a tool's arguments.

    Args:
        schema: JSON Schema of draft 7 or 2020-12, untrusted.
        profile: what the provider takes. Where the schema cannot be said in a strict one, its fallback is used.
        tool: the tool's name, for the losses.

    .. versionadded:: 0.1
    """
    if profile.fallback is None:
        return _Compiler(schema, profile, tool).compiled()
    try:
        return _Compiler(schema, profile, tool).compiled()
    except NotStrictError as problem:
        plain = compile_schema(schema, profile.fallback, tool=tool)
        return attrs.evolve(plain, lost=((problem.path, f"not strict: {problem.why}"), *plain.lost))


def shown(path: Path) -> str:
    """A path into a schema, as in `properties.a.items`."""
    from pegboard.errors import format_path

    return format_path(("input_schema", *path))


class _Compiler:
    """One compilation: the document, what is left of the budget, what was lost so far."""

    def __init__(self, schema: Any, profile: Profile, tool: str) -> None:
        self.schema = schema
        self.profile = profile
        self.tool = tool
        self.left = MAX_VALUES
        self.lost: list[tuple[Path, str]] = []
        self.notes: list[str] = []
        self.fields = self.optional = self.unions = self.enums = self.text = 0
        self.old = False
        self.definitions: dict[str, Any] = {}
        self.plans: dict[str, Plan | None] = {}
        self.names: dict[int, str] = {}
        self.simple = _simple_keywords(profile)

    def compiled(self) -> Compiled:
        out = self._root()
        profile = self.profile
        if self.definitions:
            out = out._replace(schema={**(out.schema or {}), "$defs": self.definitions})
        schema: Mapping[str, Any] = out.schema or {}
        if profile.needs_required and not schema.get("required"):
            raise NotStrictError((), "it has no required property")
        for count, most, what in (
            (self.fields, profile.max_properties, "properties"),
            (self.enums, profile.max_enum, "values of enums"),
            (self.text, profile.max_text, "characters of names and values"),
        ):
            if most is not None and count > most:
                raise NotStrictError((), f"it has {count:,} {what}, and {most:,} are taken")
        return Compiled(
            schema,
            profile.strict,
            self.tool,
            tuple(self.lost),
            tuple(self.notes),
            out.plan,
            self.fields,
            self.optional,
            self.unions,
        )

    def _root(self) -> _Out:
        if self.schema is True or self.schema == {}:
            self.schema = {"type": "object"}
        if is_plain(self.schema):  # it has no references either
            if self.schema.keys() <= _QUICK and self.schema.get("type") == "object":
                out = self._object(self.schema, At(), self.notes, {"type": self._type("object")})
            else:
                out = self._value(self.schema, At())
            return out if out.schema is not None else self._open_root("no arguments fit it")
        from pegboard.schema.check import faults_of
        from pegboard.schema.keywords import DRAFT_7, dialect_of
        from pegboard.schema.refs import References

        dialect = dialect_of(self.schema)
        if not isinstance(self.schema, dict) or dialect is None or faults_of(self.schema, foreign=True):
            return self._open_root("it is no schema of draft 7 or 2020-12")
        self.old = dialect == DRAFT_7
        self.refs = References(self.schema, dialect)
        self.bases: dict[int, str] | None = None
        self.dialect = dialect
        out = self._value(self.schema, At())
        return out if out.schema is not None else self._open_root("no arguments fit it")

    def _open_root(self, why: str) -> _Out:
        if self.profile.strict:
            raise NotStrictError((), why)
        self._lose((), why)
        return _Out({"type": self._type("object"), "properties": {}})

    # Losses.

    def _lose(self, path: Path, what: str) -> None:
        if len(self.lost) < MAX_LOSSES:
            self.lost.append((path, what))

    def _say(self, name: str, value: Any, path: Path, words: list[str]) -> None:
        """Leave a keyword out, and say it in words."""
        said = say(name, value) if len(self.lost) < MAX_LOSSES else ""
        if said:
            words.append(said)
        self._lose((*path, name), "said in the description" if said else "left out")

    # Any schema.

    def _charge(self, schema: Schema) -> None:
        """Take what writing out a schema costs from the budget: its size, without what stands inside."""
        cost = 1 + (len(schema.get("properties", ())) + len(schema.get("enum", ()))) // 8
        text = schema.get("description", "")
        if len(text) > _LONG:
            cost += len(text) // _LONG
        self.left -= cost

    def _value(self, schema: Any, at: At) -> _Out:
        path = at.path
        if schema is False:
            return _NEVER
        if schema is True or not schema:
            return self._anything(path)
        self._charge(schema)
        if self.left < 0 or at.level > MAX_LEVELS:
            return self._cut(path)
        kind = schema.get("type")
        if (
            path
            and kind.__class__ is str
            and kind in _SCALARS
            and schema.keys() <= self.simple
            and self._format_fits(schema)
        ):
            if kind == "null" and self.profile.nullable == "never":
                raise NotStrictError(path, "it takes null, which is no type there")
            return _Out(self._typed_as_due(schema))
        if "$ref" not in schema and "allOf" not in schema and "$dynamicRef" not in schema:
            flat = normal(schema, old=self.old)
            words: list[str] = []
            try:
                exact = self._settle(flat, path, words, whole=True)
                out = self._emit(flat, [], [], at, words)
            except NeverError:
                return _NEVER
            return out if exact or not out.exact else out._replace(exact=False)
        parts: list[Schema] = []
        circles: list[Any] = []
        flat = {}
        try:
            seen: dict[int, None] = {}
            exact = self._collect(schema, at, parts, circles, seen, top=True)
            at = At(at.path, (*at.trail, *seen), at.level)
            rest: list[Schema] = []
            for part in parts:
                flat, beside = merge(flat, part)
                if beside:
                    rest.append(beside)
            words = []
            exact = self._settle(flat, path, words, whole=not rest and not circles) and exact
            out = self._emit(flat, rest, circles, at, words)
        except NeverError:
            return _NEVER
        return out if exact or not out.exact else out._replace(exact=False)

    def _collect(
        self,
        schema: Any,
        at: At,
        parts: list[Schema],
        circles: list[Any],
        seen: dict[int, None],
        *,
        top: bool = False,
    ) -> bool:
        """The schema objects whose conjunction a schema is: what it refers to, its `allOf`, itself; `seen` are those
        that were looked at. False where something was left out."""
        path = at.path
        if schema is False:
            raise NeverError
        if schema is True or id(schema) in seen:
            return True
        seen[id(schema)] = None
        self._charge(schema)
        if self.left < 0:
            self._widen(path, "it is too large to be written out")
            return False
        exact = True
        ref = schema.get("$ref")
        if isinstance(ref, str):
            target = self.refs.resolve(ref, self._base(schema))
            if target is None:
                self._widen((*path, "$ref"), "it points outside of the schema")
                exact = False
            elif not isinstance(target.schema, dict):
                exact = self._collect(target.schema, at, parts, circles, seen)
            else:
                rounds = at.trail.count(id(target.schema))
                if rounds and self.profile.recursion:
                    if not any(target.schema is other for other in circles):
                        circles.append(target.schema)
                        self.names.setdefault(id(target.schema), self._name_for(ref))
                elif rounds >= self.profile.max_unrolled:
                    self._widen((*path, "$ref"), "it contains itself, and is cut here")
                    exact = False
                    if isinstance(target.schema.get("type"), (str, list)):
                        parts.append({"type": target.schema["type"]})
                else:
                    exact = self._collect(target.schema, at, parts, circles, seen)
            if self.old:
                return exact
        if "$dynamicRef" in schema and not self.old:
            self._widen((*path, "$dynamicRef"), "it is a dynamic reference")
            exact = False
        for part in schema.get("allOf", ()):
            exact = self._collect(part, at, parts, circles, seen) and exact
        flat = normal(schema, old=self.old)
        if not top:
            words: list[str] = []
            exact = self._settle(flat, path, words, whole=not ("$ref" in schema or "allOf" in schema)) and exact
        parts.append(flat)
        return exact

    def _settle(self, flat: Schema, path: Path, words: list[str], *, whole: bool) -> bool:
        """Say what stands for unevaluated values as what stands for additional ones, where that is the same; else leave
        it out. False where it was left out."""
        exact = True
        for name, other in (("unevaluatedProperties", "additionalProperties"), ("unevaluatedItems", "items")):
            if name not in flat:
                continue
            value = flat.pop(name)
            if value is True or value == {} or other in flat:
                continue
            applied = any(key in flat for key in _APPLICATORS) or (other == "items" and "contains" in flat)
            if whole and not applied:
                flat[other] = value
            else:
                self._say(name, value, path, words)
                exact = False
        return exact

    def _base(self, schema: Any) -> str:
        """The base in force where a schema stands."""
        if self.bases is None:
            self.bases = {}
            self._look_for_bases(self.schema, self.refs.root.base, 0)
        return self.bases.get(id(schema), self.refs.root.base)

    def _look_for_bases(self, schema: Any, base: str, depth: int) -> None:
        from pegboard.schema.keywords import subschemas
        from pegboard.schema.refs import base_inside

        bases = self.bases
        if bases is None or not isinstance(schema, dict):
            return
        base = base_inside(schema, base, self.dialect)
        if base != self.refs.root.base:
            bases[id(schema)] = base
        for _, item in subschemas(schema, self.dialect):
            self._look_for_bases(item, base, depth + 1)

    def _widen(self, path: Path, why: str) -> None:
        """Take more than the original does; impossible where the provider holds the model to the form."""
        if self.profile.strict:
            raise NotStrictError(path, why)
        self._lose(path, why)

    def _cut(self, path: Path) -> _Out:
        self._widen(path, "it is too large or too deep to be written out")
        return self._anything(path)._replace(exact=False)

    def _anything(self, path: Path) -> _Out:
        if self.profile.closed:
            raise NotStrictError(path, "it takes any value")
        if not self.profile.typed:
            return _Out({})
        kinds = [{"type": self._type(kind)} for kind in ("string", "number", "boolean", "object")]
        array = {"type": self._type("array"), "items": {}}
        return _Out({"anyOf": [*kinds, array], "nullable": True})

    # One merged schema.

    def _emit(
        self,
        flat: Schema,
        rest: list[Schema],
        circles: list[Any],
        at: At,
        words: list[str],
    ) -> _Out:
        path = at.path
        profile, exact = self.profile, True
        types = _without_integer(types_of(flat["type"])) if "type" in flat else None
        if not path:
            if types is not None and "object" not in types:
                return _NEVER
            flat, types = self._rooted(flat, rest, at, words), ["object"]
            rest = []
        if circles:
            return self._circle(flat, rest, circles, at, words)
        if rest and "allOf" not in profile.keywords:
            for beside in rest:
                for name, value in beside.items():
                    self._say(name, value, path, words)
            exact = False
            rest = []
        if "enum" in flat or "const" in flat:
            fixed = self._fixed(flat, types, path, words)
            if fixed is None:
                return _NEVER
            if profile.typed and fixed:
                return self._finished(fixed, flat, path, words, exact=exact)
            if not fixed:
                exact = False
                kinds = {_kind_of(value) for value in _values_of(flat)}
                types = [kind for kind in types or kinds if kind in kinds or (kind == "number" and "integer" in kinds)]
                flat = {**flat, "type": types}
        else:
            fixed = {}
        out = self._typed(flat, types, at, words) if profile.typed else self._free(flat, types, at, words)
        if out.schema is None:
            return out
        said = {**out.schema, **fixed}
        if rest:
            others = [self._value(beside, at) for beside in rest]
            if any(other.schema is None for other in others):
                return _NEVER
            said["allOf"] = [*said.get("allOf", ()), *(other.schema for other in others)]
            exact = exact and all(other.exact for other in others)
        done = self._finished(said, flat, path, words, exact=exact and out.exact)
        return done._replace(plan=out.plan, shape=out.shape)

    def _finished(self, said: dict[str, Any], flat: Schema, path: Path, words: list[str], *, exact: bool) -> _Out:
        """With its annotations, those that are not taken as words."""
        profile = self.profile
        if not path:
            self.notes += words
            return _Out(said, exact=exact)
        for name in ("title", "default", "examples", "deprecated", "readOnly", "writeOnly"):
            if name in flat:
                if name in profile.keywords and not (profile.nullable == "never" and flat[name] is None):
                    said[name] = flat[name]
                elif name != "title" and not (name == "default" and flat[name] is None):
                    self._say(name, flat[name], path, words)
        text = described(flat.get("description"), words)
        if text is not None:
            said["description"] = text
        return _Out(said, exact=exact)

    def _rooted(self, flat: Schema, rest: list[Schema], at: At, words: list[str]) -> Schema:
        """The root's schema as an object without alternatives, which no provider takes there."""
        for name in ("anyOf", "oneOf"):
            if name in flat:
                flat = self._hoisted(flat, name, at, words)
        for beside in (flat, *rest):
            for name in list(beside):
                if name in _NOT_AT_ROOT or (beside is not flat and name not in _ANNOTATIONS):
                    self._say(name, beside[name], (), words)
        return {name: value for name, value in flat.items() if name not in _NOT_AT_ROOT}

    def _hoisted(self, flat: Schema, keyword: str, at: At, words: list[str]) -> Schema:
        """An object with the properties that its alternatives name among its own, and the alternatives in words."""
        path = at.path
        flat = {**flat, _HOISTED: True}
        branches = flat.pop(keyword)
        self._say(keyword, branches, path, words)
        union = self._union_of(branches, at)
        if union is None:
            raise NeverError
        return merge(union, flat)[0]

    def _union_of(self, branches: list[Any], at: At) -> Schema | None:
        """An object that takes what any of several alternatives takes."""
        forms: list[Schema] = []
        for branch in branches:
            parts: list[Schema] = []
            circles: list[Any] = []
            try:
                self._collect(branch, at, parts, circles, {})
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
            different = [item for n, item in enumerate(items) if not any(same(item, other) for other in items[:n])]
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

    def _circle(
        self,
        flat: Schema,
        rest: list[Schema],
        circles: list[Any],
        at: At,
        words: list[str],
    ) -> _Out:
        """A reference to a definition that contains it: it stays one."""
        path = at.path
        rules = [{name: value for name, value in flat.items() if name not in _ANNOTATIONS}, *rest]
        rules = [rule for rule in rules if rule]
        names = [self._define(node) for node in circles]
        refs = [{"$ref": f"#/$defs/{name}"} for name in names]
        plan = NamedPlan(self.plans, names[0]) if self.profile.all_required else None
        if len(refs) == 1 and not rules:
            if self.profile.typed:
                return _Out(refs[0], plan, exact=False)
            return self._finished(dict(refs[0]), flat, path, words, exact=False)._replace(plan=plan)
        if self.profile.typed:
            raise NotStrictError(path, "it refers to itself beside other rules")
        others = [self._value(rule, at) for rule in rules]
        if any(other.schema is None for other in others):
            return _NEVER
        return self._finished({"allOf": [*refs, *(other.schema for other in others)]}, flat, path, words, exact=False)

    def _define(self, node: Any) -> str:
        name = self.names[id(node)]
        if name not in self.definitions:
            # Whether it takes null is asked while it is being compiled, where it contains itself.
            self.definitions[name] = {"type": node["type"]} if "type" in node else {}
            out = self._value(node, At(("$defs", name), (id(node),), 1))
            self.definitions[name] = {"not": {}} if out.schema is None else out.schema
            self.plans[name] = out.plan
            if out.schema is None and self.profile.strict:
                raise NotStrictError(("$defs", name), "no value fits it")
        return name

    def _name_for(self, ref: str) -> str:
        word = re.sub(r"[^A-Za-z0-9_]+", "_", ref.rpartition("/")[2])[:40].strip("_") or "root"
        taken = set(self.names.values())
        return next(name for name in (word, *(f"{word}_{n}" for n in range(2, len(taken) + 3))) if name not in taken)

    # Values that are listed.

    def _fixed(self, flat: Schema, types: list[str] | None, path: Path, words: list[str]) -> Schema | None:
        """`enum` or `const` as the provider takes it; empty where it does not, None where no value is left."""
        profile = self.profile
        values = [value for value in _values_of(flat) if types is None or _kind_of(value, types) in types]
        if not values:
            return None
        kinds = list(dict.fromkeys(_kind_of(value) for value in values))
        if not profile.enum_kinds.issuperset(kinds):
            self._say("enum", values, path, words)
            return {}
        self.enums += len(values)
        self.text += sum(len(value) for value in values if isinstance(value, str))
        if "const" in flat and "const" in profile.keywords:
            said: Schema = {"const": values[0]}
        else:
            said = {"enum": values}
        if not profile.typed:
            return said
        names = list(dict.fromkeys(self._type(kind) for kind in kinds))
        return {"type": names[0] if len(names) == 1 else names, **said}

    # A value of one of some types: strict profiles, and Gemini's parameters.

    def _typed(
        self,
        flat: Schema,
        types: list[str] | None,
        at: At,
        words: list[str],
    ) -> _Out:
        path = at.path
        for name in ("not", "if", "then", "else", "dependentSchemas"):
            if name in flat:
                self._say(name, flat[name], path, words)
        if "anyOf" in flat and "oneOf" in flat:
            self._say("oneOf", flat["oneOf"], path, words)
        keyword = "anyOf" if "anyOf" in flat else "oneOf" if "oneOf" in flat else None
        if keyword is not None:
            if not any(name in KIND_OF_KEYWORD for name in flat):
                return self._alternatives(flat[keyword], types, at, keyword)
            if types is None or "object" in types:
                flat = self._hoisted(flat, keyword, at, words)
            else:
                self._say(keyword, flat[keyword], path, words)
        kinds = list(types or KINDS)
        is_null = "null" in kinds
        mains = [kind for kind in kinds if kind != "null"]
        if is_null and self.profile.nullable == "never":
            raise NotStrictError(path, "it takes null, which is no type there")
        if not mains:
            return _Out({"type": self._type("null")})
        outs = [self._body([kind], flat, at, words) for kind in mains]
        outs = [out for out in outs if out.schema is not None]
        if not outs:
            return _Out({"type": self._type("null")}, exact=False) if is_null else _NEVER
        if len(outs) == 1:
            return outs[0]._replace(schema=self._nullable(outs[0].schema or {})) if is_null else outs[0]
        said: dict[str, Any] = {"anyOf": [out.schema for out in outs]}
        plan = self._union_plan(outs, path)
        return _Out(self._nullable(said) if is_null else said, plan, exact=all(out.exact for out in outs))

    def _alternatives(
        self,
        branches: list[Any],
        types: list[str] | None,
        at: At,
        keyword: str,
    ) -> _Out:
        path = at.path
        outs = []
        for number, branch in enumerate(branches):
            item = branch if types is None else {"allOf": [branch, {"type": types}]}
            out = self._value(item, at.step(keyword, number))
            if out.schema is not None:
                outs.append(out)
        if not outs:
            return _NEVER
        if keyword == "oneOf":
            self._lose((*path, keyword), "said as anyOf")
        exact = keyword == "anyOf" and all(out.exact for out in outs)
        if len(outs) == 1:
            return outs[0]._replace(schema=dict(outs[0].schema or {}), exact=exact)
        schemas = [out.schema or {} for out in outs]
        if self.profile.nullable == "keyword" and any(one.get("type") == self._type("null") for one in schemas):
            schemas = [one for one in schemas if one.get("type") != self._type("null")]
            if len(schemas) == 1:
                return _Out({**schemas[0], "nullable": True}, exact=exact)
            return _Out({"anyOf": schemas, "nullable": True}, exact=exact)
        if self.profile.first_apart and not _first_apart(schemas):
            raise NotStrictError(path, "its alternatives begin with the same property, and its values do not differ")
        return _Out({"anyOf": schemas}, self._union_plan(outs, path), exact=exact)

    def _union_plan(self, outs: list[_Out], path: Path) -> Plan | None:
        if all(out.plan is None for out in outs):
            return None
        arrays = [out for out in outs if out.schema is not None and out.schema.get("type") == "array"]
        objects = [(out.shape, out.plan) for out in outs if out.shape is not None]
        planned = [out for out in outs if out.plan is not None]
        if len(planned) == 1 and all(out is planned[0] or _is_scalar(out.schema or {}) for out in outs):
            return planned[0].plan
        others = [out for out in planned if out.shape is None and out not in arrays]
        shapes = [shape for shape, _ in objects]
        apart = all(one.is_apart(two) for n, one in enumerate(shapes) for two in shapes[:n])
        if others or len(arrays) > 1 or not apart:
            raise NotStrictError(path, "its alternatives cannot be told apart where null stands for what is left out")
        return UnionPlan(objects, arrays[0].plan if arrays else None)

    def _nullable(self, said: dict[str, Any]) -> dict[str, Any]:
        """What also takes null."""
        if _takes_null(said, self.definitions):
            return said
        if self.profile.nullable == "keyword":
            return {**said, "nullable": True}
        if "anyOf" in said:
            return {**said, "anyOf": [*said["anyOf"], {"type": "null"}]}
        if "type" not in said:
            return {"anyOf": [said, {"type": "null"}]}
        wider = {**said, "type": [*types_of(said["type"]), "null"]}
        if "const" in said:
            wider["enum"] = [wider.pop("const"), None]
        elif "enum" in said:
            wider["enum"] = [*said["enum"], None]
        return wider

    # Any value: the profiles that take a schema without a type.

    def _free(
        self,
        flat: Schema,
        types: list[str] | None,
        at: At,
        words: list[str],
    ) -> _Out:
        path = at.path
        keywords = self.profile.keywords
        kinds = list(types or KINDS)
        out = self._body(kinds, flat, at, words)
        if out.schema is None:
            return self._without_body(kinds, path)
        said = dict(out.schema)
        exact = out.exact
        if types is None:
            said.pop("type", None)
        for name in ("anyOf", "oneOf"):
            if name not in flat:
                continue
            outs = [self._value(branch, at.step(name, n)) for n, branch in enumerate(flat[name])]
            schemas = [one.schema for one in outs if one.schema is not None]
            if not schemas:
                return _NEVER
            is_exact = all(one.exact for one in outs)
            if name in keywords and (name == "anyOf" or is_exact):
                said[name] = schemas
            elif "anyOf" not in said:
                said["anyOf"] = schemas
                self._lose((*path, name), "said as anyOf")
                is_exact = False
            else:
                self._say(name, flat[name], path, words)
                is_exact = False
            exact = exact and is_exact
        if "not" in flat:
            inner = self._value(flat["not"], at.step("not")) if "not" in keywords else None
            if inner is not None and inner.exact:
                if inner.schema is not None:
                    said["not"] = inner.schema
            else:
                self._say("not", flat["not"], path, words)
                exact = False
        if "if" in flat:
            exact = self._condition(flat, said, at, words) and exact
        if "dependentSchemas" in flat:
            if "dependentSchemas" in keywords:
                forms = {}
                for name, item in flat["dependentSchemas"].items():
                    form = self._value(item, at.step("dependentSchemas", name))
                    forms[name] = {"not": {}} if form.schema is None else form.schema
                    exact = exact and form.exact
                said["dependentSchemas"] = forms
            else:
                self._say("dependentSchemas", flat["dependentSchemas"], path, words)
                exact = False
        return _Out(said, out.plan, exact)

    def _without_body(self, kinds: list[str], path: Path) -> _Out:
        """What is left where no object or array fits: here, nothing that is worth a form of its own."""
        if len(kinds) == 1:
            return _NEVER
        return self._anything(path)._replace(exact=False)

    def _condition(self, flat: Schema, said: dict[str, Any], at: At, words: list[str]) -> bool:
        path = at.path
        names = [name for name in ("if", "then", "else") if name in flat]
        if "if" in self.profile.keywords:
            outs = {name: self._value(flat[name], at.step(name)) for name in names}
            if outs["if"].exact:
                for name, out in outs.items():
                    said[name] = {"not": {}} if out.schema is None else out.schema
                return all(out.exact for out in outs.values())
        for name in names:
            self._say(name, flat[name], path, words)
        return False

    # What one type may say.

    def _body(self, kinds: list[str], flat: Schema, at: At, words: list[str]) -> _Out:
        """The keywords that look at values of these types, of which at most one is an object."""
        path = at.path
        said: dict[str, Any] = {"type": self._type(kinds[0]) if len(kinds) == 1 else [self._type(k) for k in kinds]}
        exact = True
        for name in _COPIED:
            if name not in flat or not self._looks_at(name, kinds):
                continue
            value = flat[name]
            if self._is_kept(name, value):
                said[name] = int(value) if isinstance(value, float) and value.is_integer() and value < 1e15 else value
            elif name != "uniqueItems" or value:
                self._say(name, value, path, words)
                exact = False
        plan: Plan | None = None
        shape = None
        if "array" in kinds:
            out = self._array(flat, at, words, said)
            if out.schema is None:
                return _NEVER
            plan, exact = out.plan, exact and out.exact
        if "object" in kinds:
            out = self._object(flat, at, words, said)
            if out.schema is None:
                return _NEVER
            exact = exact and out.exact
            shape = out.shape
            plan = out.plan if out.plan is not None else plan
        return _Out(said, plan, exact, shape)

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

    def _array(self, flat: Schema, at: At, words: list[str], said: dict[str, Any]) -> _Out:
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
                said["prefixItems"] = [out.schema for out in outs]
            exact = all(out.exact for out in outs)
        elif first is not None:
            self._say("prefixItems", first, path, words)
            exact = False
            if items is False:
                most = len(first)
            items = {"anyOf": [*first, *([] if items is False else [items])]}
            first = None
        is_due = profile.typed or (profile.items_required and "type" in flat)
        sub: dict[str, Any] | None = None
        if items is not True or is_due:
            got = self._value(items, at.inside("items"))
            sub, exact = got.schema, exact and got.exact
            plan = ArrayPlan(got.plan) if got.plan is not None else None
            if sub is None:
                most = min(len(first or ()), len(first or ()) if most is None else most)
                sub = {"type": self._type("string")} if is_due else None
        if most is not None:
            if "maxItems" in profile.keywords:
                said["maxItems"] = min(most, said.get("maxItems", most))
            else:
                exact = False
        if sub is not None:
            said["items"] = sub
        if "contains" in flat:
            exact = self._contains(flat, at, words, said) and exact
        return _Out(said, plan, exact)

    def _contains(self, flat: Schema, at: At, words: list[str], said: dict[str, Any]) -> bool:
        path = at.path
        names = [name for name in ("contains", "minContains", "maxContains") if name in flat]
        if "contains" in self.profile.keywords:
            out = self._value(flat["contains"], at.inside("contains"))
            if out.exact or (out.schema is not None and "maxContains" not in flat):
                said["contains"] = {"not": {}} if out.schema is None else out.schema
                said.update({name: flat[name] for name in names[1:]})
                return out.exact
        for name in names:
            self._say(name, flat[name], path, words)
        return False

    def _object(self, flat: Schema, at: At, words: list[str], said: dict[str, Any]) -> _Out:
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
                out = _Out(quick)
            elif (
                profile.nullable == "never"
                and name not in required
                and isinstance(item, dict)
                and item.get("default", _NOTHING) is None
            ):
                is_dropped = True
                self._check_presence(flat, (*path, "properties", name))
                some = {"allOf": [item, {"type": [kind for kind in KINDS if kind != "null"]}]}
                out = self._value(some, at.inside("properties", name))
            else:
                out = self._value(item, at.inside("properties", name))
            if out.schema is None:
                if name in required:
                    return _NEVER
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
                return _NEVER
            self._say("required", unknown, path, words)
            exact = False
            required = {name: None for name in required if name in given}
        self._properties(properties, said, flat, path)
        if profile.all_required:
            said["required"] = list(properties)
        elif required:
            said["required"] = [aliases.get(name, name) for name in required]
        exact = self._others(others, patterns, at, words, said) and exact
        if "propertyNames" in flat:
            exact = self._property_names(flat["propertyNames"], at, words, said, aliases) and exact
        if aliases:
            self._rename_rules(said, aliases, path, words)
        shape = None
        if path and profile.all_required:
            shape = Shape(frozenset(properties), frozenset(required), tags)
        return _Out(said, ObjectPlan(members) if members else None, exact, shape)

    def _quick(self, item: Any, path: Path, name: str) -> dict[str, Any] | None:
        """The compiled form of what most properties are: a scalar or a list of such, null beside it, a default; None
        says nothing."""
        if item.__class__ not in _DICTS or not item:
            return None
        self._charge(item)
        keywords = self.profile.keywords
        if "type" in item:
            if not self._is_quick(item):
                return None
        elif not self._is_quick_union(item):
            return None
        if "default" not in item or "default" in keywords:
            said = item
        else:
            said = {key: value for key, value in item.items() if key != "default"}
            if item["default"] is not None:
                words: list[str] = []
                self._say("default", item["default"], (*path, "properties", name), words)
                said["description"] = described(item.get("description"), words)
        if self.profile.nullable == "never" and item.get("default", _NOTHING) is None:
            return None
        if "enum" in item:
            self.enums += len(item["enum"])
            self.text += sum(map(len, item["enum"]))
        return self._typed_as_due(said)

    def _is_quick(self, item: dict[str, Any]) -> bool:
        """Whether a typed schema is a scalar or a list of such, all of its keywords taken as they are."""
        kind = item["type"]
        rest = item.keys() - self.simple
        if "format" in item:
            return False
        if kind.__class__ is not str:
            return not rest - _QUICK_DEFAULT and kind.__class__ in _LISTS and self._is_quick_pair(kind)
        if kind == "array":
            items = item.get("items")
            return (
                rest <= _QUICK_ARRAY
                and items.__class__ in _DICTS
                and "format" not in items
                and items.get("type") in _SCALARS
                and items.keys() <= self.simple
            )
        if kind not in _SCALARS or not rest <= _QUICK_REST:
            return False
        return "enum" not in rest or (kind == "string" and all(value.__class__ is str for value in item["enum"]))

    def _is_quick_union(self, item: dict[str, Any]) -> bool:
        """Whether it is one such schema, or null."""
        branches = item.get("anyOf")
        return (
            branches.__class__ in _LISTS
            and self.profile.nullable == "type"
            and item.keys() <= _QUICK_UNION
            and len(branches) == 2
            and branches[1] == _NULL
            and branches[0].__class__ in _DICTS
            and "type" in branches[0]
            and branches[0].keys() <= self.simple | {"items"}
            and branches[0]["type"].__class__ is str
            and self._is_quick(branches[0])
        )

    def _typed_as_due(self, item: dict[str, Any]) -> dict[str, Any]:
        """A quick property with its type as the profile writes it."""
        if not self.profile.upper_types:
            return item
        kind = item["type"]
        if kind.__class__ is str:
            said = {**item, "type": kind.upper()}
        else:
            said = {**item, "type": kind[kind[0] == "null"].upper(), "nullable": True}
        if kind == "array":
            said["items"] = self._typed_as_due(item["items"])
        return said

    def _is_quick_pair(self, kinds: list[str]) -> bool:
        return (
            self.profile.nullable != "never"
            and len(kinds) == 2
            and "null" in kinds
            and kinds[0] in _SCALARS
            and kinds[1] in _SCALARS
        )

    def _properties(self, properties: dict[str, Any], said: dict[str, Any], flat: Schema, path: Path) -> None:
        if properties or "properties" in flat or self.profile.typed or not path:
            said["properties"] = properties

    def _nulled(self, sub: dict[str, Any], item: Any, at: Path) -> tuple[dict[str, Any], bool]:
        """An optional property where every one has to be given: null says that it is left out; and whether null is a
        value of it as well, which by its own default means the same."""
        if not _takes_null(sub, self.definitions):
            return self._nullable(sub), False
        if isinstance(item, dict) and item.get("default", _NOTHING) is None:
            return sub, True
        raise NotStrictError(at, "it may be left out and may be null, and null can say only one of these")

    def _others(
        self,
        others: Any,
        patterns: Mapping[str, Any],
        at: At,
        words: list[str],
        said: dict[str, Any],
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
            said["patternProperties"] = forms
        if others is True or others == {}:
            return exact
        if "additionalProperties" not in keywords:
            if others is not False:
                self._say("additionalProperties", others, path, words)
            return False
        out = self._value(others, at.inside("additionalProperties"))
        said["additionalProperties"] = False if out.schema is None else out.schema
        return exact and out.exact

    def _property_names(
        self,
        names: Any,
        at: At,
        words: list[str],
        said: dict[str, Any],
        aliases: Mapping[str, str],
    ) -> bool:
        path = at.path
        if "propertyNames" in self.profile.keywords and not aliases:
            out = self._value(names, at.inside("propertyNames"))
            said["propertyNames"] = {"not": {}} if out.schema is None else out.schema
            return out.exact
        self._say("propertyNames", names, path, words)
        return False

    def _aliases(self, given: Mapping[str, Any], path: Path) -> dict[str, str]:
        """Other names for properties of the root that the provider would refuse."""
        pattern = self.profile.property_names
        if path or pattern is None:
            return {}
        from pegboard_chat.portable.names import alias_for

        aliases: dict[str, str] = {}
        for name in given:
            if re.fullmatch(pattern, name) is None:
                alias = alias_for(name)
                if alias in given or alias in aliases.values():
                    alias = alias_for(name, digits=24)
                aliases[name] = alias
                self._lose(("properties", name), f"is called {alias} there")
        return aliases

    def _rename_rules(self, said: dict[str, Any], aliases: Mapping[str, str], path: Path, words: list[str]) -> None:
        """Rules that speak of names stay where they can be said of the aliases."""
        for name in ("dependentRequired", "patternProperties"):
            if name in said:
                self._say(name, said.pop(name), path, words)
                if name == "patternProperties":
                    said.pop("additionalProperties", None)

    def _check_presence(self, flat: Schema, path: Path) -> None:
        """Null and nothing are the same only where no rule asks which properties there are."""
        if flat.get(_HOISTED) or self._asks():
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


_QUICK = frozenset({"type", "properties", "required", "additionalProperties", "title", "description"})
_QUICK_DEFAULT = frozenset({"default"})
_QUICK_REST = frozenset({"default", "enum"})
_QUICK_ARRAY = frozenset({"default", "items"})
_QUICK_UNION = frozenset({"anyOf", "default", "title", "description"})
_NULL = {"type": "null"}
_DICTS = (FrozenDict, dict)
_LISTS = (FrozenList, list)


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


def _without_integer(types: list[str]) -> list[str]:
    return [name for name in types if name != "integer"] if "number" in types else types


def _values_of(flat: Schema) -> list[Any]:
    if "const" not in flat:
        return list(flat["enum"])
    if "enum" in flat and not any(same(flat["const"], value) for value in flat["enum"]):
        return []
    return [flat["const"]]


def _kind_of(value: Any, types: list[str] | None = None) -> str:
    """The JSON type of a value; a whole number is an integer, or a number where that alone is asked for."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "number" if types is not None and "number" in types else "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _first_apart(schemas: list[dict[str, Any]]) -> bool:
    """Whether no two objects among compiled alternatives begin with the same property, unless its values differ."""
    firsts: dict[str, list[Any]] = {}
    for said in schemas:
        for name, item in list(said.get("properties", {}).items())[:1]:
            values = [item["const"]] if "const" in item else item.get("enum")
            if name in firsts and (not values or not firsts[name] or any(value in firsts[name] for value in values)):
                return False
            firsts[name] = [*firsts.get(name, ()), *(values or ())]
    return True


def _is_scalar(said: Mapping[str, Any]) -> bool:
    """Whether a compiled schema takes neither objects nor arrays, by its type or its values."""
    if "type" in said:
        return set(types_of(said["type"])) <= set(_SCALARS)
    return "enum" in said or "const" in said


def _takes_null(said: Mapping[str, Any], definitions: Mapping[str, Any]) -> bool:
    """Whether a compiled schema takes null; where that is not known, it does."""
    if "$ref" in said:
        target = definitions.get(said["$ref"].rpartition("/")[2])
        return not target or _takes_null(target, definitions)
    if said.get("nullable"):
        return True
    if "const" in said:
        return said["const"] is None
    if "enum" in said:
        return None in said["enum"]
    if "type" in said:
        return "null" in types_of(said["type"]) or "NULL" in types_of(said["type"])
    if "anyOf" in said:
        return any(_takes_null(one, definitions) for one in said["anyOf"])
    return True

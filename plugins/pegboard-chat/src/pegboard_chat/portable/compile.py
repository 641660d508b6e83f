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

import functools
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import Loss
from pegboard.errors import format_path
from pegboard.limits import PORTABLE_LEVELS
from pegboard.schema import is_plain
from pegboard_chat.portable.bodies import Bodies
from pegboard_chat.portable.forms import (
    HOISTED,
    KINDS,
    NEVER,
    SCALARS,
    At,
    NotStrictError,
    Out,
    Path,
    first_apart,
    is_scalar,
    kind_of,
    values_of,
    without_integer,
)
from pegboard_chat.portable.gather import Gatherer, evaluated_in_secret
from pegboard_chat.portable.ledger import Ledger
from pegboard_chat.portable.merge import KIND_OF_KEYWORD, NeverError, Schema, merge, normal, types_of
from pegboard_chat.portable.restore import NamedPlan, Plan, UnionPlan
from pegboard_chat.portable.words import described

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard_chat.portable.profiles import Profile

_ANNOTATIONS = frozenset({"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"})
_QUICK = frozenset({"type", "properties", "required", "additionalProperties", "title", "description"})
_NOT_AT_ROOT = ("enum", "const", "not", "if", "then", "else", "dependentSchemas")


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

    @functools.cached_property
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
    return format_path(("input_schema", *path))


def _in_2020_12(schema: Any) -> Any:
    """The schema in the keywords of 2020-12; None where it is wrong, or of another dialect."""
    from pegboard.schema import DRAFT_7, dialect_of, faults_of_schema, in_2020_12

    if schema is True:
        return schema
    dialect = dialect_of(schema)
    if not isinstance(schema, dict) or dialect is None or faults_of_schema(schema, foreign=True):
        return None
    return in_2020_12(schema) if dialect == DRAFT_7 else schema


class _Compiler:
    """One compilation: from any schema to a form, and from the root to the whole.

    Here are alternatives, listed values and what joins the parts: what it costs and loses (`ledger`), which schemas
    hold at a place (`gather`), and what values of one type may be (`bodies`), which hands what is inside back to here.
    """

    def __init__(self, schema: Any, profile: Profile, tool: str) -> None:
        self.profile = profile
        self.tool = tool
        self.plans: dict[str, Plan | None] = {}
        self.is_plain = is_plain(schema)  # it has no references either
        self.document = schema if self.is_plain else _in_2020_12(schema)
        self.ledger = Ledger(profile)
        self.gathered = Gatherer(self.document, self.ledger)
        self.bodies = Bodies(self.document, self.ledger, self._value)

    def compiled(self) -> Compiled:
        out = self._root()
        profile = self.profile
        if self.bodies.definitions:
            out = out._replace(schema={**(out.schema or {}), "$defs": self.bodies.definitions})
        schema: Mapping[str, Any] = out.schema or {}
        if profile.needs_required and not schema.get("required"):
            raise NotStrictError((), "it has no required property")
        for count, most, what in (
            (self.bodies.fields, profile.max_properties, "properties"),
            (self.bodies.enums, profile.max_enum, "values of enums"),
            (self.bodies.text, profile.max_text, "characters of names and values"),
        ):
            if most is not None and count > most:
                raise NotStrictError((), f"it has {count:,} {what}, and {most:,} are taken")
        if self.ledger.untold:
            self.ledger.lost.append(((), f"and {self.ledger.untold:,} more"))
        return Compiled(
            schema,
            profile.strict,
            self.tool,
            tuple(self.ledger.lost),
            tuple(self.ledger.notes),
            out.plan,
            self.bodies.fields,
            self.bodies.optional,
            self.bodies.unions,
        )

    def _root(self) -> Out:
        schema = self.document
        if schema is None:
            return self._open_root("it is not a schema of draft 7 or 2020-12")
        if self.is_plain and schema.keys() <= _QUICK and schema.get("type") == "object":
            out = self.bodies.object(schema, At(), self.ledger.notes, {"type": self.bodies.type("object")})
        else:
            out = self._value({"type": "object"} if schema is True or schema == {} else schema, At())
        return out if out.schema is not None else self._open_root("no arguments fit it")

    def _open_root(self, why: str) -> Out:
        if self.profile.strict:
            raise NotStrictError((), why)
        self.ledger.lose((), why)
        return Out({"type": self.bodies.type("object"), "properties": {}})

    def _value(self, schema: Any, at: At) -> Out:
        path = at.path
        if schema is False:
            return NEVER
        if schema is True or not schema:
            return self._anything(path)
        self.ledger.charge(schema)
        if self.ledger.left < 0 or at.level > PORTABLE_LEVELS:
            return self._cut(path)
        kind = schema.get("type")
        if (
            path
            and kind.__class__ is str
            and kind in SCALARS
            and schema.keys() <= self.bodies.simple
            and self.bodies.format_fits(schema)
        ):
            if kind == "null" and self.profile.nullable == "never":
                raise NotStrictError(path, "it takes null, which is not a type there")
            return Out(self.bodies.typed_as_expected(schema))
        if "$ref" not in schema and "allOf" not in schema and "$dynamicRef" not in schema:
            flat = normal(schema)
            words: list[str] = []
            try:
                exact = self.gathered.settle(flat, path, words, whole=True, secret=evaluated_in_secret(schema))
                out = self._emit(flat, [], [], at, words)
            except NeverError:
                return NEVER
            return out if exact or not out.exact else out._replace(exact=False)
        parts: list[Schema] = []
        circles: list[Any] = []
        flat = {}
        try:
            seen: dict[int, frozenset[str]] = {}
            exact = self.gathered.collect(schema, at, parts, circles, seen, top=True)
            at = At(at.path, (*at.trail, *seen), at.level)
            rest: list[Schema] = []
            for part in parts:
                flat, beside = merge(flat, part)
                if beside:
                    rest.append(beside)
            words = []
            secret = frozenset[str]().union(*seen.values())
            whole = exact and not rest and not circles
            exact = self.gathered.settle(flat, path, words, whole=whole, secret=secret) and exact
            out = self._emit(flat, rest, circles, at, words)
        except NeverError:
            return NEVER
        return out if exact or not out.exact else out._replace(exact=False)

    def _cut(self, path: Path) -> Out:
        self.ledger.widen(path, "it is too large or too deep to be written out")
        return self._anything(path)._replace(exact=False)

    def _anything(self, path: Path) -> Out:
        if self.profile.closed:
            raise NotStrictError(path, "it takes any value")
        if not self.profile.typed:
            return Out({})
        kinds = [{"type": self.bodies.type(kind)} for kind in ("string", "number", "boolean", "object")]
        array = {"type": self.bodies.type("array"), "items": {}}
        return Out({"anyOf": [*kinds, array], "nullable": True})

    def _emit(
        self,
        flat: Schema,
        rest: list[Schema],
        circles: list[Any],
        at: At,
        words: list[str],
    ) -> Out:
        path = at.path
        profile, exact = self.profile, True
        types = without_integer(types_of(flat["type"])) if "type" in flat else None
        if not path:
            if types is not None and "object" not in types:
                return NEVER
            flat, types = self._rooted(flat, rest, at, words), ["object"]
            rest = []
        if circles:
            return self._circle(flat, rest, circles, at, words)
        if rest and "allOf" not in profile.keywords:
            for beside in rest:
                for name, value in beside.items():
                    self.ledger.say(name, value, path, words)
            exact = False
            rest = []
        if "enum" in flat or "const" in flat:
            fixed = self._fixed(flat, types, path, words)
            if fixed is None:
                return NEVER
            if profile.typed and fixed:
                return self._finished(fixed, flat, path, words, exact=exact)
            if not fixed:
                exact = False
                kinds = {kind_of(value) for value in values_of(flat)}
                types = [kind for kind in types or kinds if kind in kinds or (kind == "number" and "integer" in kinds)]
                flat = {**flat, "type": types}
        else:
            fixed = {}
        out = self._typed(flat, types, at, words) if profile.typed else self._free(flat, types, at, words)
        if out.schema is None:
            return out
        form = {**out.schema, **fixed}
        if rest:
            others = [self._value(beside, at) for beside in rest]
            if any(other.schema is None for other in others):
                return NEVER
            form["allOf"] = [*form.get("allOf", ()), *(other.schema for other in others)]
            exact = exact and all(other.exact for other in others)
        done = self._finished(form, flat, path, words, exact=exact and out.exact)
        return done._replace(plan=out.plan, shape=out.shape)

    def _finished(self, form: dict[str, Any], flat: Schema, path: Path, words: list[str], *, exact: bool) -> Out:
        """With its annotations, those that are not taken as words."""
        profile = self.profile
        if not path:
            self.ledger.notes += words
            return Out(form, exact=exact)
        for name in ("title", "default", "examples", "deprecated", "readOnly", "writeOnly"):
            if name in flat:
                if name in profile.keywords and not (profile.nullable == "never" and flat[name] is None):
                    form[name] = flat[name]
                elif name != "title" and not (name == "default" and flat[name] is None):
                    self.ledger.say(name, flat[name], path, words)
        text = described(flat.get("description"), words)
        if text is not None:
            form["description"] = text
        return Out(form, exact=exact)

    def _rooted(self, flat: Schema, rest: list[Schema], at: At, words: list[str]) -> Schema:
        """The root's schema as an object without alternatives, which no provider takes there."""
        for name in ("anyOf", "oneOf"):
            if name in flat:
                flat = self._hoisted(flat, name, at, words)
        for beside in (flat, *rest):
            for name in list(beside):
                if name in _NOT_AT_ROOT or (beside is not flat and name not in _ANNOTATIONS):
                    self.ledger.say(name, beside[name], (), words)
        return {name: value for name, value in flat.items() if name not in _NOT_AT_ROOT}

    def _hoisted(self, flat: Schema, keyword: str, at: At, words: list[str]) -> Schema:
        """An object with the properties that its alternatives name among its own, and the alternatives in words."""
        path = at.path
        flat = {**flat, HOISTED: True}
        branches = flat.pop(keyword)
        self.ledger.say(keyword, branches, path, words)
        union = self.gathered.union_of(branches, at)
        if union is None:
            raise NeverError
        return merge(union, flat)[0]

    def _circle(
        self,
        flat: Schema,
        rest: list[Schema],
        circles: list[Any],
        at: At,
        words: list[str],
    ) -> Out:
        """A reference to a definition that contains it: it stays one."""
        path = at.path
        rules = [{name: value for name, value in flat.items() if name not in _ANNOTATIONS}, *rest]
        rules = [rule for rule in rules if rule]
        names = [self._define(node) for node in circles]
        refs = [{"$ref": f"#/$defs/{name}"} for name in names]
        plan = NamedPlan(self.plans, names[0]) if self.profile.all_required else None
        if len(refs) == 1 and not rules:
            if self.profile.typed:
                return Out(refs[0], plan, exact=False)
            return self._finished(dict(refs[0]), flat, path, words, exact=False)._replace(plan=plan)
        if self.profile.typed:
            raise NotStrictError(path, "it refers to itself beside other rules")
        others = [self._value(rule, at) for rule in rules]
        if any(other.schema is None for other in others):
            return NEVER
        return self._finished({"allOf": [*refs, *(other.schema for other in others)]}, flat, path, words, exact=False)

    def _define(self, node: Any) -> str:
        name = self.gathered.names[id(node)]
        if name not in self.bodies.definitions:
            # Whether it takes null is asked while it is being compiled, where it contains itself.
            self.bodies.definitions[name] = {"type": node["type"]} if "type" in node else {}
            out = self._value(node, At(("$defs", name), (id(node),), 1))
            self.bodies.definitions[name] = {"not": {}} if out.schema is None else out.schema
            self.plans[name] = out.plan
            if out.schema is None and self.profile.strict:
                raise NotStrictError(("$defs", name), "no value fits it")
        return name

    def _fixed(self, flat: Schema, types: list[str] | None, path: Path, words: list[str]) -> Schema | None:
        """`enum` or `const` as the provider takes it; empty where it does not, None where no value is left."""
        profile = self.profile
        values = [value for value in values_of(flat) if types is None or kind_of(value, types) in types]
        if not values:
            return None
        kinds = list(dict.fromkeys(kind_of(value) for value in values))
        if not profile.enum_kinds.issuperset(kinds):
            self.ledger.say("enum", values, path, words)
            return {}
        self.bodies.enums += len(values)
        self.bodies.text += sum(len(value) for value in values if isinstance(value, str))
        if "const" in flat and "const" in profile.keywords:
            form: Schema = {"const": values[0]}
        else:
            form = {"enum": values}
        if not profile.typed:
            return form
        names = list(dict.fromkeys(self.bodies.type(kind) for kind in kinds))
        return {"type": names[0] if len(names) == 1 else names, **form}

    def _typed(
        self,
        flat: Schema,
        types: list[str] | None,
        at: At,
        words: list[str],
    ) -> Out:
        path = at.path
        for name in ("not", "if", "then", "else", "dependentSchemas"):
            if name in flat:
                self.ledger.say(name, flat[name], path, words)
        if "anyOf" in flat and "oneOf" in flat:
            self.ledger.say("oneOf", flat["oneOf"], path, words)
        keyword = "anyOf" if "anyOf" in flat else "oneOf" if "oneOf" in flat else None
        if keyword is not None:
            if not any(name in KIND_OF_KEYWORD for name in flat):
                return self._alternatives(flat[keyword], types, at, keyword)
            if types is None or "object" in types:
                flat = self._hoisted(flat, keyword, at, words)
            else:
                self.ledger.say(keyword, flat[keyword], path, words)
        kinds = list(types or KINDS)
        is_null = "null" in kinds
        mains = [kind for kind in kinds if kind != "null"]
        if is_null and self.profile.nullable == "never":
            raise NotStrictError(path, "it takes null, which is not a type there")
        if not mains:
            return Out({"type": self.bodies.type("null")})
        outs = [self.bodies.body([kind], flat, at, words) for kind in mains]
        outs = [out for out in outs if out.schema is not None]
        if not outs:
            return Out({"type": self.bodies.type("null")}, exact=False) if is_null else NEVER
        if len(outs) == 1:
            return outs[0]._replace(schema=self.bodies.nullable(outs[0].schema or {})) if is_null else outs[0]
        form: dict[str, Any] = {"anyOf": [out.schema for out in outs]}
        plan = self._union_plan(outs, path)
        return Out(self.bodies.nullable(form) if is_null else form, plan, exact=all(out.exact for out in outs))

    def _alternatives(
        self,
        branches: list[Any],
        types: list[str] | None,
        at: At,
        keyword: str,
    ) -> Out:
        path = at.path
        outs = []
        for number, branch in enumerate(branches):
            item = branch if types is None else {"allOf": [branch, {"type": types}]}
            out = self._value(item, at.step(keyword, number))
            if out.schema is not None:
                outs.append(out)
        if not outs:
            return NEVER
        if keyword == "oneOf":
            self.ledger.lose((*path, keyword), "said as anyOf")
        exact = keyword == "anyOf" and all(out.exact for out in outs)
        if len(outs) == 1:
            return outs[0]._replace(schema=dict(outs[0].schema or {}), exact=exact)
        schemas = [out.schema or {} for out in outs]
        if self.profile.nullable == "keyword" and any(one.get("type") == self.bodies.type("null") for one in schemas):
            schemas = [one for one in schemas if one.get("type") != self.bodies.type("null")]
            if len(schemas) == 1:
                return Out({**schemas[0], "nullable": True}, exact=exact)
            return Out({"anyOf": schemas, "nullable": True}, exact=exact)
        if self.profile.first_apart and not first_apart(schemas):
            raise NotStrictError(path, "its alternatives begin with the same property, and its values do not differ")
        return Out({"anyOf": schemas}, self._union_plan(outs, path), exact=exact)

    def _union_plan(self, outs: list[Out], path: Path) -> Plan | None:
        if all(out.plan is None for out in outs):
            return None
        arrays = [out for out in outs if out.schema is not None and out.schema.get("type") == "array"]
        objects = [(out.shape, out.plan) for out in outs if out.shape is not None]
        planned = [out for out in outs if out.plan is not None]
        if len(planned) == 1 and all(out is planned[0] or is_scalar(out.schema or {}) for out in outs):
            return planned[0].plan
        others = [out for out in planned if out.shape is None and out not in arrays]
        shapes = [shape for shape, _ in objects]
        apart = all(one.is_apart(two) for n, one in enumerate(shapes) for two in shapes[:n])
        if others or len(arrays) > 1 or not apart:
            raise NotStrictError(path, "its alternatives cannot be told apart where null stands for what is left out")
        return UnionPlan(objects, arrays[0].plan if arrays else None)

    def _free(
        self,
        flat: Schema,
        types: list[str] | None,
        at: At,
        words: list[str],
    ) -> Out:
        path = at.path
        keywords = self.profile.keywords
        kinds = list(types or KINDS)
        out = self.bodies.body(kinds, flat, at, words)
        if out.schema is None:
            return self._without_body(kinds, path)
        made = dict(out.schema)
        exact = out.exact
        if types is None:
            made.pop("type", None)
        for name in ("anyOf", "oneOf"):
            if name not in flat:
                continue
            outs = [self._value(branch, at.step(name, n)) for n, branch in enumerate(flat[name])]
            schemas = [one.schema for one in outs if one.schema is not None]
            if not schemas:
                return NEVER
            is_exact = all(one.exact for one in outs)
            if name in keywords and (name == "anyOf" or is_exact):
                made[name] = schemas
            elif "anyOf" not in made:
                made["anyOf"] = schemas
                self.ledger.lose((*path, name), "said as anyOf")
                is_exact = False
            else:
                self.ledger.say(name, flat[name], path, words)
                is_exact = False
            exact = exact and is_exact
        if "not" in flat:
            inner = self._value(flat["not"], at.step("not")) if "not" in keywords else None
            if inner is not None and inner.exact:
                if inner.schema is not None:
                    made["not"] = inner.schema
            else:
                self.ledger.say("not", flat["not"], path, words)
                exact = False
        if "if" in flat:
            exact = self._condition(flat, made, at, words) and exact
        if "dependentSchemas" in flat:
            if "dependentSchemas" in keywords:
                forms = {}
                for name, item in flat["dependentSchemas"].items():
                    form = self._value(item, at.step("dependentSchemas", name))
                    forms[name] = {"not": {}} if form.schema is None else form.schema
                    exact = exact and form.exact
                made["dependentSchemas"] = forms
            else:
                self.ledger.say("dependentSchemas", flat["dependentSchemas"], path, words)
                exact = False
        return Out(made, out.plan, exact)

    def _without_body(self, kinds: list[str], path: Path) -> Out:
        """What is left where no object or array fits: here, nothing that is worth a form of its own."""
        if len(kinds) == 1:
            return NEVER
        return self._anything(path)._replace(exact=False)

    def _condition(self, flat: Schema, form: dict[str, Any], at: At, words: list[str]) -> bool:
        path = at.path
        names = [name for name in ("if", "then", "else") if name in flat]
        if "if" in self.profile.keywords:
            outs = {name: self._value(flat[name], at.step(name)) for name in names}
            if outs["if"].exact:
                for name, out in outs.items():
                    form[name] = {"not": {}} if out.schema is None else out.schema
                return all(out.exact for out in outs.values())
        for name in names:
            self.ledger.say(name, flat[name], path, words)
        return False

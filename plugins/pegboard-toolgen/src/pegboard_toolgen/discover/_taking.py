"""What a callable of a library takes: its parameters as properties of a schema, and how a call passes each of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import attrs
import griffe

from pegboard_manifest import sanitise
from pegboard_toolgen.discover._bodies import Facts
from pegboard_toolgen.discover._classes import maker_of
from pegboard_toolgen.discover._docstrings import Doc, Said, is_visible, read_docstring
from pegboard_toolgen.discover._effects import classes_above
from pegboard_toolgen.discover._examples import Call, fits, read_examples
from pegboard_toolgen.discover._parameters import Parameter, merged, name_and_kind
from pegboard_toolgen.discover._public import Found
from pegboard_toolgen.discover._shapes import ANY, SCALAR, TEXT, Schema, Shape
from pegboard_toolgen.discover._types import MISSING, Scope, constant, list_of, parse, shape_of, unite
from pegboard_toolgen.discover._untyped import (
    type_by_use,
    type_in_description,
    type_in_words,
    type_of_default,
    type_of_values,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pegboard_toolgen.discover._sources import Tree

MAX_PARAMETERS = 100
WALKED: Schema = {"type": ["array", "string", "object"]}
"""Of what a loop goes through, and nothing says more: the values of JSON that Python can walk through."""


class Taking:
    """The parameters of one callable.

    Args:
        found: what can be called.
        tree: the package.
        import_name: of the module that the binding imports.
        doc: what its docstring says.
        facts: what its body shows, where it has one.
    """

    def __init__(self, found: Found, tree: Tree, import_name: str, doc: Doc, facts: Facts | None) -> None:
        self.found, self.function = found, found.function
        self.tree, self.import_name = tree, import_name
        self.doc, self.facts = doc, facts
        self.scope = Scope(tree, self.function, _variables(self.function))
        self.notes: list[str] = []
        self.bound: list[dict[str, Any]] = []
        self.properties: dict[str, Schema] = {}
        self.required: list[str] = []
        self.order: list[tuple[Parameter, bool]] = []
        """Parameters of the source in order, and whether the tool has them."""
        self.is_cached = self.is_wrapped = self.is_dispatched = False
        self.unsaid: list[str] = []
        """Parameters whose type nothing tells."""
        self.shown: list[Call] | None = None
        self.forms: list[list[griffe.Parameter]] = []
        """Overloads that have several names for one place."""

    def take(self) -> str | None:
        """Take every parameter; the reason where one that is required has no form in JSON."""
        self._look_at_decorators()
        return next((why for one in self._signature() if (why := self._take(one)) is not None), None)

    def is_of(self, call: Call) -> bool:
        """Whether an example calls this."""
        path = self.found.path
        return call.name in {path, self.function.path} or path.endswith("." + call.name)

    def told_forms(self) -> str:
        """What is given together, where overloads differ in that: `Takes (s1, s2) or (ops, s1, s2).`"""
        told = [f"({', '.join(name_and_kind(one)[0] for one in form)})" for form in self.forms[:6]]
        return f"Takes {' or '.join(told)}." if told else ""

    def _look_at_decorators(self) -> None:
        for decorator in self.function.decorators:
            name = self.scope.resolve(str(decorator.callable_path)).rpartition(".")[2]
            if name in {"lru_cache", "cache"}:
                self.is_cached = True
            elif name in {"singledispatch", "singledispatchmethod"}:
                self.is_dispatched = True
            elif name not in _PLAIN_DECORATORS:
                self.is_wrapped = True
                self.notes.append(f"decorated with {sanitise(name, 60)}: what it takes may differ")

    def _signature(self) -> list[Parameter]:
        kinds = griffe.ParameterKind
        parameters, overloads = self._own(self.function), self.found.overloads
        is_open = any(one.kind in {kinds.var_positional, kinds.var_keyword} for one in parameters)
        is_overload = bool(overloads) and (is_open or self.function in overloads)
        if is_overload:
            forms = [self._own(one) for one in overloads]
            parameters, is_shifting = merged(forms)
            self.forms = forms if is_shifting else []
        return [self._parameter(one, is_overload) for one in parameters[:MAX_PARAMETERS]]

    def _own(self, function: griffe.Function) -> list[griffe.Parameter]:
        """The parameters that a caller gives: not the instance or the class."""
        return list(function.parameters)[self.found.callee in {"instance", "method", "class method", "made"} :]

    def _parameter(self, one: griffe.Parameter, is_overload: bool) -> Parameter:
        name, kind = name_and_kind(one)
        variadic = kind in {griffe.ParameterKind.var_positional, griffe.ParameterKind.var_keyword}
        default = None if one.default is None or variadic else str(one.default)
        annotations: list[object] = [] if one.annotation is None or is_overload else [one.annotation]
        is_required = default is None and not variadic
        if is_overload or not annotations:
            for other in self.found.overloads:
                same = {parameter.name: parameter for parameter in other.parameters}.get(one.name)
                if same is None or same.default is not None:
                    is_required = is_required and not is_overload
                if same is not None and same.annotation is not None:
                    annotations.append(same.annotation)
        if not annotations and self.found.owner is not None:
            annotations += [same.annotation for same in self._inherited(one.name)][:1]
        unique = {str(annotation): annotation for annotation in annotations}
        shifts = any(one.name not in [same.name for same in form] for form in self.forms) and default is None
        return Parameter(name, kind, tuple(unique.values())[:30], default, is_required, shifts and not variadic)

    def _inherited(self, name: str) -> list[griffe.Parameter]:
        """Parameters of that name, with a type, of the methods that this one overrides, nearest first."""
        above = [one.members.get(self.function.name) for one in classes_above(self.found.owner)]  # type: ignore[arg-type]
        methods = [one for one in above if isinstance(one, griffe.Function)]
        return [
            one for method in methods for one in method.parameters if one.name == name and one.annotation is not None
        ]

    def _take(self, parameter: Parameter) -> str | None:
        """Give the tool a parameter, or drop it and say so; the reason where it can be neither."""
        kinds = griffe.ParameterKind
        said = self.doc.parameters.get(parameter.name, Said())
        if parameter.kind is kinds.var_keyword:
            self._take_rest(parameter)
            return None
        shape = self._shape(parameter, said)
        is_spread = parameter.kind is kinds.var_positional
        if shape.lacks is None and shape.enum is not None:
            shape = self._with_enum(shape)
        if shape.lacks is None and len(parameter.name) > 128:
            shape = Shape({}, lacks="something with a name that is too long")
        if shape.lacks is None and parameter.name.startswith("_") and not parameter.is_required:
            shape = Shape({}, lacks="private")
        if shape.lacks is not None:
            self.order.append((parameter, False))
            if parameter.is_required:
                return f"its parameter {parameter.name[:60]} has no form in JSON: {shape.lacks}"
            self.notes.append(
                f"the parameter {parameter.name[:60]} is dropped, as JSON has no form for it: {shape.lacks}"
            )
            return None
        self.order.append((parameter, True))
        self.notes += [f"{parameter.name[:60]}: {note}" for note in shape.notes]
        if is_spread:
            self._take_spread(parameter, shape, said)
            return None
        how = "positional" if self._goes_by_place(parameter) else "keyword"
        self._bind(parameter.name, how, shape)
        if parameter.shifts and how == "positional":
            self.bound[-1]["optional"] = True
        self.properties[parameter.name] = self._described(parameter, shape, said)
        if parameter.is_required:
            self.required.append(parameter.name)
        return None

    def _goes_by_place(self, parameter: Parameter) -> bool:
        kinds = griffe.ParameterKind
        if parameter.kind is kinds.positional_only:
            return True
        if self.forms and parameter.default is None and parameter.kind is kinds.positional_or_keyword:
            return True
        # Before *args only a place keeps what is given apart.
        has_spread = any(one.kind is kinds.var_positional for one in self.function.parameters)
        # A wrapper of `*args, **kwargs` often looks at `args[0]`: what it needs goes by place, as people call it.
        is_first = parameter.is_required and not {"keyword"} & {one["pass"] for one in self.bound}
        # What a stub alone tells of is compiled, and its names there are often others: a place is the same in both.
        if self.found.is_stub and is_first:
            return parameter.kind is kinds.positional_or_keyword
        if self.is_dispatched and not self.bound:  # by the type of its first place, which is looked for nowhere else
            return parameter.kind is kinds.positional_or_keyword
        return parameter.kind is kinds.positional_or_keyword and (has_spread or (self.is_wrapped and is_first))

    def _bind(self, name: str, how: str, shape: Shape) -> None:
        entry: dict[str, Any] = {"parameter": name, "pass": how}
        if shape.coerce:
            entry["coerce"] = shape.coerce[0] if len(shape.coerce) == 1 else list(shape.coerce)
        if shape.enum is not None and "enum" in shape.coerce:
            entry["enum"] = shape.enum
        if shape.items:
            entry["items"] = True
        self.bound.append(entry)

    def _take_spread(self, parameter: Parameter, items: Shape, said: Said) -> None:
        shape = list_of(items)
        if shape.lacks is not None:
            self.notes.append(f"further arguments (*{parameter.name[:60]}) are dropped: {shape.lacks}")
            self.order[-1] = (parameter, False)
            return
        schema = dict(shape.schema)
        if not self.required:
            schema["minItems"] = 1
            self.required.append(parameter.name)
        if said.text:
            schema["description"] = said.text
        self._bind(parameter.name, "spread", shape)
        self.properties[parameter.name] = schema

    def _take_rest(self, parameter: Parameter) -> None:
        shape = shape_of(parameter.annotations[0], self.scope) if parameter.annotations else Shape(ANY)
        is_whole = bool(parameter.annotations) and "Unpack[" in str(parameter.annotations[0])
        self.order.append((parameter, False))
        if shape.lacks or shape.coerce or not shape.schema:
            self.notes.append(
                f"further keyword arguments (**{parameter.name[:60]}) are dropped: nothing says what they are"
            )
            return
        self.order[-1] = (parameter, True)
        schema = shape.schema if is_whole else {"type": "object", "additionalProperties": shape.schema}
        self._bind(parameter.name, "spread_keyword", Shape(schema))
        self.properties[parameter.name] = schema

    def _shape(self, parameter: Parameter, said: Said) -> Shape:
        name = parameter.name
        facts = self.facts or Facts()
        if parameter.annotations:
            shape = unite([shape_of(one, self.scope) for one in parameter.annotations])
        elif name in facts.called:
            return Shape({}, lacks="a callable")
        elif (told := type_in_words(said.annotation, self.scope)) is not None:
            shape = told
            if not shape.lacks:
                self.notes.append(f"{name[:60]}: its source gives no type; taken from its documentation")
        elif (listed := type_in_description(said.text)) is not None:
            shape = attrs.evolve(listed, schema={**listed.schema, **_number_of(name, facts)})
            self.notes.append(f"{name[:60]}: its source gives no type; guessed from its description")
        elif (guessed := type_of_default(parameter.default) or self._enum_of_default(parameter.default)) is not None:
            shape = guessed
            self.notes.append(f"{name[:60]}: its source gives no type; guessed from its default")
        elif number := _number_of(name, facts):
            shape = Shape({"type": "array", **number})
            self.notes.append(f"{name[:60]}: its source gives no type; guessed from what is done with it")
        elif (used := type_by_use(name, facts)) is not None:
            shape = used
            if not shape.lacks:
                self.notes.append(f"{name[:60]}: its source gives no type; guessed from what is done with it")
        elif (shown := self._shown(name)) is not None:
            shape = shown
            self.notes.append(f"{name[:60]}: its source gives no type; guessed from its examples")
        else:
            schema = WALKED if name in facts.walked else ANY
            # What a cache keeps its results by has to be hashable, which no object is.
            shape = Shape({"type": [*SCALAR["type"], "array"]} if self.is_cached else schema)
            self.unsaid.append(name)
            self.notes.append(f"{name[:60]}: its source gives no type; any value is taken")
        if parameter.default is not None and parameter.default.strip() == "None" and not shape.lacks:
            shape = _or_none(shape)
        if name in facts.opened and shape.schema in (TEXT, {"type": ["string", "null"]}, ANY) and not shape.coerce:
            schema = TEXT if shape.schema == ANY else shape.schema
            shape = attrs.evolve(shape, schema=schema, coerce=("path",))
        if self.is_cached and "array" in str(shape.schema.get("type", "")) and not shape.coerce:
            shape = attrs.evolve(shape, coerce=("tuple",) if shape.schema["type"] == "array" else ("tuple", "none"))
        return shape

    def _enum_of_default(self, default: str | None) -> Shape | None:
        """The class of an enum, where the default is a member of it."""
        if default is None or not re.fullmatch(r"[A-Za-z_][\w.]*\.\w+", default):
            return None
        shape = shape_of(default.rpartition(".")[0], self.scope)
        return shape if shape.enum is not None else None

    def _shown(self, name: str) -> Shape | None:
        """The type that all examples give for a parameter; None where they give none, or several."""
        if self.shown is None:
            self.shown = [call for call in read_examples(self.doc.raw) if self.is_of(call)]
        names = [one.name for one, _ in self.order]
        values = [call.keywords[name] for call in self.shown if name in call.keywords]
        values += [call.arguments[len(names)] for call in self.shown if len(call.arguments) > len(names)]
        return type_of_values(values)

    def _with_enum(self, shape: Shape) -> Shape:
        """The class of an enum by a name that leads to it from the module on."""
        path = str(shape.enum)
        prefix = self.import_name + "."
        parts = path.split(".")
        # A function of the name of its module hides that: `haversine.haversine.Unit` leads nowhere.
        is_hidden = any(".".join(parts[:end]) in self.tree.shadowed for end in range(2, len(parts)))
        if path.startswith(prefix) and not is_hidden and not any(part.startswith("_") for part in parts):
            return shape
        module = self.tree.get(self.import_name)
        for name, member in sorted(module.members.items()) if module is not None and not module.is_alias else ():
            if not name.startswith("_") and self.scope.follow(f"{prefix}{name}") == path and member.runtime:
                return attrs.evolve(shape, enum=f"{prefix}{name}")
        return Shape({}, lacks=f"a member of {path.rpartition('.')[2][:60]}, which has no public name")

    def _described(self, parameter: Parameter, shape: Shape, said: Said) -> Schema:
        schema = dict(shape.schema)
        default = parameter.default
        value = constant(parse(default)) if default is not None else MISSING
        told = said.text
        if value is not MISSING and value is not None and fits(value, schema) and is_visible(value):
            schema["default"] = value
        elif (
            default is not None
            and value is MISSING
            and len(default) <= 60
            and default.strip("._ ")
            and "<" not in default
        ):
            if (member := self._default_member(default, shape)) is not MISSING:
                schema["default"] = member
            elif re.fullmatch(r"[\w.]+\([^()]*\)|[-\w.+*/ ]*\d[-\w.+*/ ]*", default):
                told = f"{told} Default: {sanitise(default, 60)}.".strip()
        if told:
            schema["description"] = told
        return schema

    def _default_member(self, default: str, shape: Shape) -> Any:
        """The value of a default that is a member of an enum."""
        if "enum" not in shape.coerce or not re.fullmatch(r"[\w.]+", default):
            return MISSING
        found = self.tree.get(self.scope.resolve(default))
        value = constant(parse(found.value)) if isinstance(found, griffe.Attribute) else MISSING
        choices = [one for part in [shape.schema, *shape.schema.get("anyOf", ())] for one in part.get("enum", ())]
        last = default.rpartition(".")[2]
        return value if value in choices else last if last in choices else MISSING


def making_of(taking: Taking, facts_of: Callable[[griffe.Function], Facts | None]) -> dict[str, Any] | str:
    """How a call makes the object of a method: the binding's part, and what it takes, given to the method's schema
    before its own; the reason where that cannot be told.

    A parameter that both have is the class's with its name before it: `ipnetwork_flags`.
    """
    owner, make = taking.found.owner, taking.found.path.rpartition(".")[0]
    maker = maker_of(owner, taking.tree) if owner is not None else None
    if owner is None or maker is None:
        return {"make": make, "parameters": []}
    found = Found(make, taking.found.module, maker, "made", maker, owner=owner)
    doc, of_class = read_docstring(maker.docstring), read_docstring(owner.docstring)
    doc = attrs.evolve(doc, parameters={**of_class.parameters, **doc.parameters})
    making = Taking(found, taking.tree, taking.import_name, doc, facts_of(maker))
    if why := making.take():
        return f"its object cannot be made: {why}"
    if unsaid := [one for one in making.unsaid if one in making.required and not doc.parameters.get(one, Said()).text]:
        return f"its object cannot be made: nothing says what its parameter {unsaid[0][:60]} is"
    names = {name: f"{owner.name.lower()}_{name}" if name in taking.properties else name for name in making.properties}
    for entry in making.bound:
        name = entry["parameter"]
        if names[name] != name:
            entry["parameter"] = names[name]
            entry |= {"keyword": name} if "keyword" in entry.values() else {}
    taking.properties = {**{names[name]: one for name, one in making.properties.items()}, **taking.properties}
    taking.required = [*(names[name] for name in making.required), *taking.required]
    taking.notes += making.notes
    return {"make": make, "parameters": making.bound}


_PLAIN_DECORATORS = frozenset((
    "wraps", "final", "deprecated", "staticmethod", "classmethod", "override", "no_type_check", "total_ordering",
    "set_module", "set_array_function_like_doc", "array_function_dispatch", "runtime_checkable",
    "abstractmethod",
))  # fmt: skip


def _variables(function: griffe.Function) -> Mapping[str, str | None]:
    """Type parameters of a function and of its class, with their bounds."""
    found: dict[str, str | None] = {}
    owners: Iterable[griffe.Object] = [one for one in (function.parent, function) if one is not None]
    for owner in owners:
        for one in getattr(owner, "type_parameters", None) or ():
            bound = getattr(one, "annotation", None)
            found[str(one.name)] = None if bound is None else str(bound)
    return found


def _number_of(name: str, facts: Facts) -> Schema:
    """How many items a list has that is taken apart into names."""
    number = None if name in facts.judged else facts.unpacked.get(name)
    return {} if number is None else {"minItems": number, "maxItems": number}


def _or_none(shape: Shape) -> Shape:
    """A default of None makes None an allowed value, whether the annotation says so or not."""
    return shape if fits(None, shape.schema) else unite([shape, Shape({"type": "null"})])

"""A Python library as drafts of tools: its public functions, read from source and stubs, never imported.

Griffe reads the files (`_sources`), the walk finds what can be called by a public name (`_public`), annotations become
schemas and coercions (`_types`, `_untyped`), docstrings become descriptions and examples (`_docstrings`, `_examples`),
and bodies say what a signature does not (`_bodies`, `_effects`): what is called, changed, run and raised. What no tool
can cover is reported with its reason. The same files give the same answer, wherever they lie.

What the reading cannot see: signatures that a decorator changes, types that a docstring gets wrong, effects of
what a function calls through objects. A function that looks pure is a read; one that shows nothing has no category.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import griffe

from pegboard_manifest import sanitise
from pegboard_toolgen._progress import say
from pegboard_toolgen._texts import counted
from pegboard_toolgen.discover._bodies import BodyReader, Facts
from pegboard_toolgen.discover._descriptions import describes, doc_of
from pegboard_toolgen.discover._docstrings import Doc, Said, clean, is_visible, read_docstring
from pegboard_toolgen.discover._effects import BROKEN, category_of, classes_above, errors_of, notes_of, runs_code
from pegboard_toolgen.discover._examples import Call, fits, read_examples, read_readme
from pegboard_toolgen.discover._finding import clean_path
from pegboard_toolgen.discover._inspect import inspected
from pegboard_toolgen.discover._parameters import Parameter, arguments_of, name_and_kind
from pegboard_toolgen.discover._public import Found, Offer, Walk
from pegboard_toolgen.discover._shapes import ANY, SCALAR, TEXT, Schema, Shape
from pegboard_toolgen.discover._sources import Metadata, Tree, metadata_of, read_package
from pegboard_toolgen.discover._types import (
    MISSING,
    Scope,
    alternatives,
    constant,
    dotted,
    list_of,
    parse,
    result_schema,
    shape_of,
    unite,
)
from pegboard_toolgen.discover._untyped import type_by_use, type_in_words, type_of_default, type_of_values
from pegboard_toolgen.drafts import UNDESCRIBED, Discovery, Draft, LeftOut
from pegboard_toolgen.names import fits_any, plain_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

MAX_EXAMPLES = 8
MAX_PARAMETERS = 100
MAX_NOTES = 30


def discover_library(
    import_name: str,
    *,
    search_paths: Sequence[str | Path] | None = None,
    distribution: str | None = None,
    instance_methods: bool = False,
    include: Collection[str] = (),
    inspect: bool = False,
) -> Discovery:
    """What a Python library offers, read from its source and stubs. Nothing of it is imported or run, unless asked.

    Args:
        import_name: as it is imported: `humanize`, or a module of a package.
        search_paths: folders that hold packages, such as `site-packages`; those of this interpreter where left out,
            without the one that its program lies in.
        distribution: the installed distribution that brings it, where its name cannot be found by the package.
        instance_methods: the methods of a package's ready-made instances are tools as well.
        include: globs over dotted paths, ids and names: they ask for what a package does not re-export, too.
        inspect: import it, in a child process, for the docstrings of what no file describes.

    Raises:
        DiscoveryError: there is no such package, it is compiled without a stub, or its first file cannot be read.

    .. versionadded:: 0.1
    """
    folders = clean_path() if search_paths is None else [Path(one) for one in search_paths]
    tree = read_package(import_name, folders)
    metadata = metadata_of(tree.package, [tree.root, *folders], distribution)
    walk = Walk(tree, instance_methods=instance_methods)
    walk.run()
    drafter = _Drafter(tree, import_name, metadata)
    wanted = [*walk.found, *(found for offer in walk.offers for found in drafter.asked(offer, include))]
    if inspect:
        drafter.inspect(wanted, folders)
    for found in wanted:
        drafter.draft(found)
    version = metadata.version if metadata else drafter.own_version()
    name = metadata.name if metadata else distribution or import_name
    source: dict[str, Any] = {"kind": "library", "name": clean(name, 200)}
    if version:
        source["version"] = clean(version, 64)
    left_out = {(one.id, one.why): one for one in (*tree.problems, *walk.left_out, *drafter.left_out)}
    return Discovery(
        source=source,
        drafts=tuple(sorted(drafter.drafts, key=lambda draft: draft.id)),
        left_out=tuple(sorted(left_out.values(), key=lambda one: (one.id, one.why))),
        modules={drafter.module: drafter.module_entry()} if drafter.drafts else {},
        name=clean(name, 128),
        version=clean(version, 64),
        description=drafter.description(),
    )


def _is_asked(path: str, include: Collection[str]) -> bool:
    id_ = f"python:{path}"
    return fits_any(include, id_, (plain_name(path.split("."), id_),))


@attrs.define
class _Drafter:
    tree: Tree
    import_name: str
    metadata: Metadata | None
    drafts: list[Draft] = attrs.field(factory=list)
    left_out: list[LeftOut] = attrs.field(factory=list)
    inspected: dict[str, str] = attrs.field(factory=dict)
    _bodies: BodyReader = attrs.field(init=False)
    _readme: list[Call] = attrs.field(factory=list)

    def __attrs_post_init__(self) -> None:
        self._bodies = BodyReader(self.tree)
        if self.metadata:
            self._readme = read_readme(self.metadata.readme)

    @property
    def module(self) -> str:
        """The id of the module in the manifest: its dotted name."""
        if len(self.import_name) <= 64:
            return self.import_name
        import hashlib

        return self.import_name[:55] + "_" + hashlib.sha256(self.import_name.encode()).hexdigest()[:8]

    def module_entry(self) -> dict[str, Any]:
        """The manifest's entry: what may be called, and no more."""
        entry: dict[str, Any] = {
            "import": self.import_name,
            "allow": sorted(str(draft.binding["qualified_name"]) for draft in self.drafts),
            "isolate": "thread",
        }
        if self.metadata:
            entry["distribution"] = clean(self.metadata.name, 128)
        return entry

    def description(self) -> str:
        """What the distribution says of itself, else the first words of the module's docstring."""
        if self.metadata and self.metadata.summary:
            return clean(self.metadata.summary, 1_000)
        module = self.tree.get(self.import_name)
        doc = read_docstring(module.docstring) if module is not None and not module.is_alias else Doc()
        return doc.text.partition("\n\n")[0][:1_000]

    def own_version(self) -> str:
        """`__version__` where it is a literal."""
        found = self.tree.get(f"{self.tree.package}.__version__")
        value = constant(parse(found.value)) if isinstance(found, griffe.Attribute) else None
        return value if isinstance(value, str) else ""

    def draft(self, found: Found) -> None:
        """Draft the tool of one callable, or say why there is none."""
        say(f"reading {found.path}")
        where = self.tree.where(found.home)
        try:
            made = _Drafting(self, found).make()
        except BROKEN as error:
            made = f"its source cannot be understood ({type(error).__name__})"
        if isinstance(made, str):
            self.left_out.append(LeftOut(f"python:{found.path}"[:500], made[:300], where))
        else:
            self.drafts.append(attrs.evolve(made, where=where))

    def asked(self, offer: Offer, include: Collection[str]) -> list[Found]:
        """What is asked for of a module that its package does not re-export; how much the rest is, is told."""
        asked = [found for found in offer.found if _is_asked(found.path, include)]
        if asked:
            self.left_out += offer.left_out
        if rest := len(offer.found) - len(asked):
            why = f"{counted(rest, 'function')} that its package does not re-export: --include '{offer.path}.*'"
            where = self.tree.where(offer.module)
            self.left_out.append(LeftOut(f"module {offer.path}"[:500], why[:300], where, offers=rest))
        return asked

    def inspect(self, wanted: Sequence[Found], folders: Sequence[Path]) -> None:
        """Ask the library itself for the docstrings of what its files do not describe."""
        names = [found.path for found in wanted if not doc_of(found).text]
        if names:
            self.inspected, why = inspected(self.import_name, names, folders)
            if why is not None:
                self.left_out.append(LeftOut(f"module {self.import_name}"[:500], f"--inspect: {sanitise(why, 250)}"))

    def facts(self, function: griffe.Function) -> Facts | None:
        """What the body shows."""
        return self._bodies.facts(function)

    def readme_calls(self, path: str) -> list[Call]:
        """Calls of a public name that the distribution's own page shows."""
        return [call for call in self._readme if call.name == path]


class _Drafting:
    """The drafting of one callable."""

    def __init__(self, drafter: _Drafter, found: Found) -> None:
        self.drafter = drafter
        self.tree = drafter.tree
        self.found = found
        self.function = found.function
        self.name = found.path.rpartition(".")[2]
        self.notes: list[str] = []
        self.bound: list[dict[str, Any]] = []
        self.properties: dict[str, Schema] = {}
        self.required: list[str] = []
        self.order: list[tuple[Parameter, bool]] = []
        """Parameters of the source in order, and whether the tool has them."""
        self.doc = doc_of(found, drafter.inspected.get(found.path, ""))
        self.facts = drafter.facts(self.function) or (drafter.facts(found.twin) if found.twin else None)
        self.scope = Scope(self.tree, self.function, _variables(self.function))
        self.is_cached = False
        self.is_wrapped = False
        self.is_dispatched = False
        self.shown: list[Call] | None = None

    def make(self) -> Draft | str:
        """The draft, or the reason for none."""
        found = self.found
        if len(found.path) > 400:
            return "its name is longer than a binding takes"
        if any(part.startswith("_") for part in found.path.split(".")):
            return "its path leads through a private module"
        if why := self._unfit():
            return why
        for parameter in self._signature():
            if why := self._take(parameter):
                return why
        schema: Schema = {"type": "object", "properties": self.properties, "additionalProperties": False}
        if self.required:
            schema["required"] = self.required
        binding: dict[str, Any] = {
            "kind": "python",
            "module": self.drafter.module,
            "qualified_name": found.path,
            "parameters": self.bound,
        }
        exceptions, errors = errors_of(self.doc.raises, self.facts, self.scope, self.tree)
        if exceptions:
            binding["exceptions"] = exceptions
        judged = category_of(self.name, self.facts, self._returns(), self.properties)
        own = found.callee in {"instance", "method", "class method"}
        self.notes += notes_of(judged, self.facts, own=own)
        return Draft(
            id=f"python:{found.path}",
            words=tuple(found.path.split(".")),
            binding=binding,
            input_schema=schema,
            output_schema=result_schema(self._returns(), self.scope),
            description=self._description(),
            title=sanitise(self.name.replace("_", " ").strip().capitalize(), 100) or None,
            kind="library",
            where="",
            category=judged.category,
            unknown="" if judged.category else judged.why,
            risk="low" if judged.category == "read" else None,
            idempotency=judged.idempotency,
            errors=errors,
            examples=self._examples(schema),
            side_effects=tuple(f"It {change}." for change in (self.facts.changes if self.facts else ())[:10]),
            notes=tuple(dict.fromkeys(self.notes))[:MAX_NOTES],
            runs_code=runs_code(self.name, self.facts, own=own),
        )

    # what it is

    def _unfit(self) -> str | None:
        """Why a callable cannot be a tool, whatever it takes."""
        if "async" in self.function.labels:
            return "asynchronous: the binding calls plain functions"
        if self.doc.deprecated is not None:
            self.notes.append("its documentation calls it deprecated")
        for decorator in self.function.decorators:
            name = self.scope.resolve(str(decorator.callable_path)).rpartition(".")[2]
            if name in {"contextmanager", "asynccontextmanager"}:
                return "it gives a context manager, which no call keeps"
            if name in {"lru_cache", "cache"}:
                self.is_cached = True
            elif name in {"singledispatch", "singledispatchmethod"}:
                self.is_dispatched = True
            elif name == "deprecated":
                self.notes.append("its source calls it deprecated")
            elif name not in _PLAIN_DECORATORS:
                self.is_wrapped = True
                self.notes.append(f"decorated with {sanitise(name, 60)}: what it takes may differ")
        returns = self._returns()
        node = parse(returns) if returns is not None else None
        parts = alternatives(node) if node is not None else []
        return next((why for part in parts if (why := self._unfit_result(part)) is not None), None)

    def _unfit_result(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Subscript):
            node = node.value
        name = dotted(node)
        path = self.scope.resolve(name) if name else ""
        given = path.rpartition(".")[2]
        if given in {"ContextManager", "AbstractContextManager", "_GeneratorContextManager"}:
            return "it gives a context manager, which no call keeps"
        if given in {"Awaitable", "Coroutine", "AsyncIterator", "AsyncGenerator", "AsyncIterable"}:
            return "asynchronous: the binding calls plain functions"
        if given == "Callable" or path == "builtins.type":
            return "it gives a callable or a class, which no call keeps"
        owner = self.found.owner
        if self.found.callee == "class method" and (given == "Self" or (owner is not None and path == owner.path)):
            return "it makes an instance, which no call keeps"
        return None

    def _returns(self) -> object:
        if self.function.returns is not None and self.function not in self.found.overloads:
            return self.function.returns
        told = list(dict.fromkeys(str(one.returns) for one in self.found.overloads if one.returns is not None))
        if told:
            return " | ".join(f"({one})" for one in told[:20])
        return None

    # what it takes

    def _signature(self) -> list[Parameter]:
        base, overloads = self.function, [one for one in self.found.overloads if one is not self.function]
        kinds = griffe.ParameterKind
        is_open = any(one.kind in {kinds.var_positional, kinds.var_keyword} for one in base.parameters)
        is_overload = base in self.found.overloads
        if overloads and (is_open or is_overload):
            base = max([*self.found.overloads], key=lambda one: len(list(one.parameters)))
            is_overload = True
        parameters = list(base.parameters)
        if self.found.callee in {"instance", "method", "class method"}:
            parameters = parameters[1:]
        return [self._parameter(one, base, is_overload) for one in parameters[:MAX_PARAMETERS]]

    def _parameter(self, one: griffe.Parameter, base: griffe.Function, is_overload: bool) -> Parameter:
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
        return Parameter(name, kind, tuple(unique.values())[:30], default, is_required)

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
        self.properties[parameter.name] = self._described(parameter, shape, said)
        if parameter.is_required:
            self.required.append(parameter.name)
        return None

    def _goes_by_place(self, parameter: Parameter) -> bool:
        kinds = griffe.ParameterKind
        if parameter.kind is kinds.positional_only:
            return True
        # Before *args only a place keeps what is given apart.
        has_spread = any(one.kind is kinds.var_positional for one in self.function.parameters)
        # A wrapper of `*args, **kwargs` often looks at `args[0]`: what it needs goes by place, as people call it.
        is_first = parameter.is_required and not {"keyword"} & {one["pass"] for one in self.bound}
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
        elif (guessed := type_of_default(parameter.default)) is not None:
            shape = guessed
            self.notes.append(f"{name[:60]}: its source gives no type; guessed from its default")
        elif (used := type_by_use(name, facts)) is not None:
            shape = used
            if not shape.lacks:
                self.notes.append(f"{name[:60]}: its source gives no type; guessed from what is done with it")
        elif (shown := self._shown(name)) is not None:
            shape = shown
            self.notes.append(f"{name[:60]}: its source gives no type; guessed from its examples")
        else:
            is_list = name in facts.walked or re.search(r"iter|seq|items|values|list|elements|args", name)
            shape = Shape({"type": [*SCALAR["type"], "array"]} if is_list else SCALAR)
            self.notes.append(f"{name[:60]}: its source gives no type; any plain value is taken")
        if parameter.default is not None and parameter.default.strip() == "None" and not shape.lacks:
            shape = _or_none(shape)
        if name in facts.opened and shape.schema in (TEXT, {"type": ["string", "null"]}, SCALAR) and not shape.coerce:
            schema = TEXT if shape.schema == SCALAR else shape.schema
            shape = attrs.evolve(shape, schema=schema, coerce=("path",))
        if self.is_cached and "array" in str(shape.schema.get("type", "")) and not shape.coerce:
            shape = attrs.evolve(shape, coerce=("tuple",) if shape.schema["type"] == "array" else ("tuple", "none"))
        return shape

    def _shown(self, name: str) -> Shape | None:
        """The type that all examples give for a parameter; None where they give none, or several."""
        if self.shown is None:
            self.shown = [call for call in read_examples(self.doc.raw) if self._is_of(call)]
        names = [one.name for one, _ in self.order]
        values = [call.keywords[name] for call in self.shown if name in call.keywords]
        values += [call.arguments[len(names)] for call in self.shown if len(call.arguments) > len(names)]
        return type_of_values(values)

    def _with_enum(self, shape: Shape) -> Shape:
        """The class of an enum by a name that leads to it from the module on."""
        path = str(shape.enum)
        prefix = self.drafter.import_name + "."
        if path.startswith(prefix) and not any(part.startswith("_") for part in path.split(".")):
            return shape
        module = self.tree.get(self.drafter.import_name)
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

    # what is said of it

    def _description(self) -> str:
        text = self.doc.text
        owner = self.found.owner
        if self.found.callee == "instance" and owner is not None:
            of_class = read_docstring(owner.docstring).text
            text = "\n\n".join(one for one in (of_class, text) if one)
        elif self.found.callee == "method" and owner is not None and not text:
            text = read_docstring(owner.docstring).text
        if not describes(text, self.name):
            self.notes.append(UNDESCRIBED)
            names = ", ".join(one.name for one, is_kept in self.order if is_kept)
            text = f"{self.found.path}({names}): its source does not say what it does. {text}".strip()
        if self.doc.returns:
            text = f"{text}\n\nReturns: {self.doc.returns}"
        return sanitise(text, 2_800)

    def _examples(self, schema: Schema) -> tuple[dict[str, Any], ...]:
        """Calls of the docstrings and of the distribution's page that fit the schema."""
        texts = [self.doc.raw]
        if self.found.callee == "instance" and self.found.owner is not None and self.found.owner.docstring is not None:
            texts.append(str(self.found.owner.docstring.value)[:30_000])
        calls = [call for text in texts for call in read_examples(text) if self._is_of(call)]
        examples: list[dict[str, Any]] = []
        for call in [*calls, *self.drafter.readme_calls(self.found.path)]:
            given = arguments_of(call, self.order)
            if (
                given is None
                or not fits(given, schema)
                or not is_visible(given)
                or any(one["input"] == given for one in examples)
            ):
                continue
            example: dict[str, Any] = {"input": given}
            output = call.result if isinstance(call.result, dict) else {"result": call.result}
            if call.result is not MISSING and is_visible(call.result):
                example["output"] = output
            examples.append(example)
        return tuple(examples[:MAX_EXAMPLES])

    def _is_of(self, call: Call) -> bool:
        path = self.found.path
        return call.name in {path, self.function.path} or path.endswith("." + call.name)


_PLAIN_DECORATORS = frozenset((
    "wraps", "final", "staticmethod", "classmethod", "override", "no_type_check", "total_ordering",
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


def _or_none(shape: Shape) -> Shape:
    """A default of None makes None an allowed value, whether the annotation says so or not."""
    return shape if fits(None, shape.schema) else unite([shape, Shape({"type": "null"})])

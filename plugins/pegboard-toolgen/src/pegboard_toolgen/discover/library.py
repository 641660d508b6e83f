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
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import griffe

from pegboard_manifest import sanitise
from pegboard_toolgen._progress import say
from pegboard_toolgen._texts import counted
from pegboard_toolgen.discover import _program_words as guess
from pegboard_toolgen.discover._bodies import BodyReader, Facts
from pegboard_toolgen.discover._classes import makers_of, method_of
from pegboard_toolgen.discover._descriptions import describes, doc_of
from pegboard_toolgen.discover._docstrings import Doc, clean, is_visible, read_docstring
from pegboard_toolgen.discover._effects import BROKEN, category_of, effects_of_making, errors_of, notes_of, runs_code
from pegboard_toolgen.discover._examples import Call, fits, read_examples, read_readme
from pegboard_toolgen.discover._finding import clean_path
from pegboard_toolgen.discover._inspect import inspected
from pegboard_toolgen.discover._parameters import arguments_of
from pegboard_toolgen.discover._public import Found, Offer, Walk
from pegboard_toolgen.discover._sources import Metadata, Tree, metadata_of, read_package
from pegboard_toolgen.discover._taking import Taking, making_of
from pegboard_toolgen.discover._types import (
    MISSING,
    alternatives,
    constant,
    dotted,
    parse,
    result_schema,
)
from pegboard_toolgen.drafts import UNDESCRIBED, Discovery, Draft, LeftOut
from pegboard_toolgen.names import fits_any, plain_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pegboard_toolgen.discover._shapes import Schema

MAX_EXAMPLES = 8
MAX_PARAMETERS = 100
MAX_NOTES = 30


def discover_library(
    import_name: str,
    *,
    search_paths: Sequence[str | Path] | None = None,
    distribution: str | None = None,
    include: Collection[str] = (),
    inspect: bool = False,
) -> Discovery:
    """What a Python library offers, read from its source and stubs. Nothing of it is imported or run, unless asked.

    Args:
        import_name: as it is imported: `humanize`, or a module of a package.
        search_paths: folders that hold packages, such as `site-packages`; those of this interpreter where left out,
            without the one that its program lies in.
        distribution: the installed distribution that brings it, where its name cannot be found by the package.
        include: globs over dotted paths, ids and names: they ask for what a package does not re-export, too.
        inspect: import it, in a child process, for the docstrings of what no file describes.

    Raises:
        DiscoveryError: there is no such package, it is compiled without a stub, or its first file cannot be read.

    .. versionadded:: 0.1
    """
    folders = clean_path() if search_paths is None else [Path(one) for one in search_paths]
    tree = read_package(import_name, folders)
    metadata = metadata_of(tree.package, [tree.root, *folders], distribution)
    walk = Walk(tree)
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


def _called(binding: Mapping[str, Any]) -> list[str]:
    return [binding["qualified_name"], *([binding["instance"]["make"]] if "instance" in binding else [])]


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
            "allow": sorted({str(name) for draft in self.drafts for name in _called(draft.binding)}),
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
        """What is asked for of a module that its package does not re-export, of a class or of an object; how much the
        rest is, is told."""
        if not isinstance(offer.home, griffe.Module):
            asked = self._asked_methods(offer, include)
            if rest := len(offer.found) - len(asked):
                is_class = isinstance(offer.home, griffe.Class)
                whose = "of objects that calls would make" if is_class else "of an object that the library has made"
                self._tell_rest(
                    offer,
                    f"{'class' if is_class else 'object'} {offer.path}",
                    f"{counted(rest, 'method')} {whose}",
                    rest,
                )
            return asked
        asked = [found for found in offer.found if _is_asked(found.path, include)]
        methods = [found for one in offer.classes for found in self._asked_methods(one, include)]
        if asked or methods:
            self.left_out += offer.left_out
        functions = len(offer.found) - len(asked)
        told = [counted(functions, "function")] if functions else []
        if offer.classes and not methods:
            told.append(counted(len(offer.classes), "class", "classes"))
        if told:
            why = f"{' and '.join(told)} that its package does not re-export"
            self._tell_rest(offer, f"module {offer.path}", why, max(1, functions))
        return asked + methods

    def _asked_methods(self, offer: Offer, include: Collection[str]) -> list[Found]:
        """Methods are asked for by name: a glob that fits those of any other class as well does not speak of these."""
        other = f"{offer.path.rpartition('.')[0]}.0.0"
        globs = [one for one in include if not _is_asked(other, (one,))]
        asked = [found for found in offer.found if _is_asked(found.path, globs)]
        makers = makers_of(offer.home) if asked and isinstance(offer.home, griffe.Class) else []
        why = effects_of_making(map(self.facts, makers))
        if why is None:
            return asked
        told = f"a class: what makes its objects {why}"
        self.left_out.append(LeftOut(f"python:{offer.path}"[:500], told[:300], self.tree.where(offer.home)))
        return []

    def _tell_rest(self, offer: Offer, id_: str, why: str, number: int) -> None:
        where = self.tree.where(offer.home)
        self.left_out.append(LeftOut(id_[:500], f"{why}: --include '{offer.path}.*'"[:300], where, offers=number))

    def inspect(self, wanted: Sequence[Found], folders: Sequence[Path]) -> None:
        """Ask the library itself for the docstrings of what its files do not describe."""
        names = [found.path for found in wanted if not doc_of(found).text]
        if names:
            self.inspected, why = inspected(self.import_name, names, folders)
            if why is not None:
                self.left_out.append(LeftOut(f"module {self.import_name}"[:500], f"--inspect: {sanitise(why, 250)}"))

    def facts(self, function: griffe.Function, *, is_fresh: bool = False) -> Facts | None:
        """What the body shows."""
        return self._bodies.facts(function, is_fresh=is_fresh)

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
        self.doc = doc_of(found, drafter.inspected.get(found.path, ""))
        is_fresh = found.callee == "made"
        self.facts = drafter.facts(self.function, is_fresh=is_fresh)
        if self.facts is None and found.twin is not None:
            self.facts = drafter.facts(found.twin, is_fresh=is_fresh)
        self.taking = Taking(found, self.tree, drafter.import_name, self.doc, self.facts)
        self.scope = self.taking.scope

    def make(self) -> Draft | str:
        """The draft, or the reason for none."""
        found = self.found
        if len(found.path) > 400:
            return "its name is longer than a binding takes"
        if any(part.startswith("_") for part in found.path.split(".")):
            return "its path leads through a private module"
        if why := self._unfit():
            return why
        if why := self.taking.take():
            return why
        taking = self.taking
        instance = making_of(taking, self.drafter.facts) if found.callee == "made" else None
        if isinstance(instance, str):
            return instance
        self.notes += taking.notes
        schema: Schema = {"type": "object", "properties": taking.properties, "additionalProperties": False}
        if taking.required:
            schema["required"] = taking.required
        binding: dict[str, Any] = {
            "kind": "python",
            "module": self.drafter.module,
            "qualified_name": found.path,
            "parameters": taking.bound,
        }
        if instance is not None:
            binding["instance"] = instance
        exceptions, errors = errors_of(self.doc.raises, self.facts, self.scope, self.tree)
        if exceptions:
            binding["exceptions"] = exceptions
        judged = category_of(self.name, self.facts, self._returns(), taking.properties)
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
            risk="low" if judged.category == "read" else "high" if self._destroys() else None,
            idempotency=judged.idempotency,
            errors=errors,
            examples=self._examples(schema),
            side_effects=tuple(f"It {change}." for change in (self.facts.changes if self.facts else ())[:10]),
            notes=tuple(dict.fromkeys(self.notes))[:MAX_NOTES],
            runs_code=runs_code(self.name, self.facts, own=own),
        )

    def _destroys(self) -> bool:
        """Whether its name or the first word of what is said of it destroys something."""
        return bool(guess.DESTRUCTIVE & {*guess.words_of(self.name)[:1], guess.first_verb(self.doc.text)})

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
            if name == "deprecated":
                self.notes.append("its source calls it deprecated")
        if self.found.callee == "made" and _is_mute(self.facts):
            return "it changes its object alone, which no call keeps"
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
        if self.found.callee == "made" and owner is not None and given in {"Self", owner.name}:
            told = any(method_of(owner, name) for name in ("__str__", "__repr__", "__iter__"))
            return None if told else "it gives an instance, which no call keeps"
        return None

    def _returns(self) -> object:
        if self.function.returns is not None and self.function not in self.found.overloads:
            return self.function.returns
        told = list(dict.fromkeys(str(one.returns) for one in self.found.overloads if one.returns is not None))
        if told:
            return " | ".join(f"({one})" for one in told[:20])
        return None

    # what is said of it

    def _description(self) -> str:
        text = self.doc.text
        owner = self.found.owner
        if self.found.callee == "instance" and owner is not None:
            of_class = read_docstring(owner.docstring).text
            text = "\n\n".join(one for one in (of_class, text) if one)
        elif self.found.callee in {"method", "made"} and owner is not None and not text:
            text = read_docstring(owner.docstring).text
        if not describes(text, self.name):
            self.notes.append(UNDESCRIBED)
            names = ", ".join(one.name for one, is_kept in self.taking.order if is_kept)
            text = f"{self.found.path}({names}): its source does not say what it does. {text}".strip()
        if forms := self.taking.told_forms():
            text = f"{text}\n\n{forms}"
        if self.doc.returns:
            text = f"{text}\n\nReturns: {self.doc.returns}"
        return sanitise(text, 2_800)

    def _examples(self, schema: Schema) -> tuple[dict[str, Any], ...]:
        """Calls of the docstrings and of the distribution's page that fit the schema."""
        texts = [self.doc.raw]
        if self.found.callee == "instance" and self.found.owner is not None and self.found.owner.docstring is not None:
            texts.append(str(self.found.owner.docstring.value)[:30_000])
        calls = [call for text in texts for call in read_examples(text) if self.taking.is_of(call)]
        examples: list[dict[str, Any]] = []
        for call in [*calls, *self.drafter.readme_calls(self.found.path)]:
            given = arguments_of(call, self.taking.order)
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


def _is_mute(facts: Facts | None) -> bool:
    """Whether a body gives nothing and does nothing that anybody else could see."""
    return facts is not None and not (facts.returns or facts.yields or facts.changes or facts.unseen or facts.runs)

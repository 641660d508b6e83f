"""Whether a value of the caller reaches what runs code, and the way it takes.

Reading data that is the library's own (a pickle beside it, `eval` of a constant, a program with fixed words) is not
a danger to whoever calls it: only what a caller can put there is. So for each function it is told which of its
parameters may be in what `eval`, `pickle.load` or `subprocess.run` gets first, through variables, calls and results. A
value that only chooses among the library's own (a key, an index, a comparison) is not in what it chose. Whatever cannot
be followed passes on all it got. The summary of a function holds for all of its callers, so each is read once.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import attrs
import griffe

from pegboard.limits import FOLLOWED_LEVELS
from pegboard_toolgen.discover._classes import property_of
from pegboard_toolgen.discover._known import OPENERS, RUNS_ALL, RUNS_KEYWORDS, runs_what_it_gets
from pegboard_toolgen.discover._names import Names
from pegboard_toolgen.discover._types import dotted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pegboard_toolgen.discover._sources import FunctionNode, Tree

MAX_DEPTH = FOLLOWED_LEVELS
"""Calls that are followed, one into the other."""
MAX_ROUNDS = 6
"""Of passing values on through variables: what is longer than this is written to hide something."""
MAX_RUNS = 20
"""Ways that are kept for one function."""
_NOTHING: frozenset[str] = frozenset()
LAST_PART = "/"
"""Behind the name of a parameter of which the last part of a path is left. In the name of a file that only chooses
among the files of a folder, and what was read from there is not the caller's."""
_ANSWERS = frozenset(
    f"builtins.{name}"
    for name in ("len", "isinstance", "issubclass", "hasattr", "callable", "bool", "any", "all", "id")
)
"""What they give says something of a value and does not hold it."""


@attrs.frozen
class Run:
    """One place that runs what it gets.

    Args:
        why: in words.
        what: the name of what is called.
        given: the parameters whose values may reach it.
        by: the functions on the way.
    """

    why: str
    what: str
    given: frozenset[str]
    by: tuple[str, ...] = ()

    def told(self) -> str:
        """`it evaluates text as code (text reaches eval by calculate)`."""
        names = " and ".join(sorted(self.given)[:3])
        way = f" by {', '.join(self.by[:5])}" if self.by else ""
        return f"{self.why} ({names[:80]} reaches {self.what.removeprefix('builtins.')[:60]}{way[:120]})"

    def told_of_own(self) -> str:
        """The same where no value of the caller reaches it."""
        way = f" by {', '.join(self.by[:5])}" if self.by else ""
        what = self.what.removeprefix("builtins.")[:60]
        return f"{self.why}, of its own ({what}{way[:120]}): no value of the caller reaches it"


@attrs.frozen
class Summary:
    """What a function does with its parameters.

    Args:
        runs: what runs code.
        returns: the parameters that may be in what it gives.
    """

    runs: tuple[Run, ...] = ()
    returns: frozenset[str] = _NOTHING


@attrs.define
class Reach:
    """Summaries of the functions of one tree, each made once."""

    tree: Tree
    _known: dict[str, Summary | None] = attrs.field(factory=dict)
    """None while it is made: what calls itself passes everything on."""

    def of(self, function: griffe.Function, depth: int = 0) -> Summary:
        """The summary of one function."""
        everything = Summary(returns=frozenset(_names_of(function)))
        if function.path in self._known:
            return self._known[function.path] or everything
        node = self.tree.node_of(function)
        if node is None or depth > MAX_DEPTH:
            return everything
        self._known[function.path] = None
        made = _Flow(self, function, node, depth).summary()
        self._known[function.path] = made
        return made


def _names_of(function: griffe.Function) -> list[str]:
    return [parameter.name.lstrip("*") for parameter in function.parameters]


class _Flow:
    """Which parameters may be in which variable of one function: as wide as it can be, whatever the order of lines."""

    def __init__(self, reach: Reach, function: griffe.Function, node: FunctionNode, depth: int) -> None:
        self.reach = reach
        self.function = function
        self.depth = depth
        body = [*node.body, *reach.tree.registered_with(function)]
        self.nodes = [one for statement in body for one in ast.walk(statement)]
        self.names = Names(reach.tree, function, self.nodes)
        self.parameters = frozenset(_names_of(function))
        self.holds: dict[str, frozenset[str]] = {name: frozenset({name}) for name in self.parameters}
        self.holds |= {name: frozenset({name + LAST_PART}) for name in self._cut_to_last_part(node)}
        for one in self.nodes:  # what is defined inside may be called with anything
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                every = [*one.args.posonlyargs, *one.args.args, *one.args.kwonlyargs, one.args.vararg, one.args.kwarg]
                self.holds.update((arg.arg, self.parameters) for arg in every if arg is not None)
                if not isinstance(one, ast.Lambda):
                    self.holds[one.name] = self.parameters

    def _cut_to_last_part(self, node: FunctionNode) -> Iterator[str]:
        """Parameters with which a function begins by `name = os.path.basename(name)`."""
        used: set[str] = set()
        for statement in node.body:
            value = statement.value if isinstance(statement, ast.Assign) else None
            if isinstance(value, ast.Call) and self.names.path(value.func) == _BASENAME:
                names = {dotted(one) for one in (*statement.targets, *value.args)}  # type: ignore[attr-defined]
                if len(names) == 1:
                    yield from (name for name in self.parameters & names if name not in used)
            used |= {one.id for one in ast.walk(statement) if isinstance(one, ast.Name)}

    def summary(self) -> Summary:
        for _ in range(MAX_ROUNDS):
            before = dict(self.holds)
            for one in self.nodes:
                self._pass_on(one)
            if self.holds == before:
                break
        runs = [run for one in self.nodes if isinstance(one, ast.Call) for run in self._runs(one)]
        runs += self._runs_unseen()
        given = [
            one.value
            for one in self.nodes
            if isinstance(one, ast.Return | ast.Yield | ast.YieldFrom) and one.value is not None
        ]
        runs.sort(key=lambda run: not run.given)
        return Summary(tuple(dict.fromkeys(runs))[:MAX_RUNS], self._in_all(given))

    # variables

    def _pass_on(self, one: ast.AST) -> None:
        if isinstance(one, ast.Assign):
            for target in one.targets:
                self._set(target, one.value)
        elif isinstance(one, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and one.value is not None:
            self._set(one.target, one.value)
        elif isinstance(one, ast.For | ast.AsyncFor | ast.comprehension):
            self._add(one.target, self._in(one.iter))
        elif isinstance(one, ast.withitem) and one.optional_vars is not None:
            self._add(one.optional_vars, self._in(one.context_expr))
        elif isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute):  # `words.append(value)`
            self._add(one.func.value, self._in_all(_given(one)))

    def _set(self, target: ast.expr, value: ast.expr) -> None:
        if (
            isinstance(target, ast.Tuple)
            and isinstance(value, ast.Tuple)
            and len(target.elts) == len(value.elts)
            and not any(isinstance(one, ast.Starred) for one in (*target.elts, *value.elts))
        ):
            for inner, part in zip(target.elts, value.elts, strict=True):
                self._set(inner, part)
        else:
            self._add(target, self._in(value))

    def _add(self, target: ast.expr, found: frozenset[str]) -> None:
        if not found:
            return
        if isinstance(target, ast.Tuple | ast.List):
            for inner in target.elts:
                self._add(inner, found)
            return
        while isinstance(target, ast.Attribute | ast.Subscript | ast.Starred):
            target = target.value
        if isinstance(target, ast.Name) and (target.id in self.names.locals or target.id in self.parameters):
            self.holds[target.id] = self.holds.get(target.id, _NOTHING) | found

    # expressions

    def _in(self, node: ast.AST) -> frozenset[str]:
        """The parameters that may be in the value of an expression."""
        if isinstance(node, ast.Name):
            return self.holds.get(node.id, _NOTHING)
        if isinstance(node, ast.Constant | ast.Compare):
            return _NOTHING
        if isinstance(node, ast.Attribute | ast.Subscript):  # a key chooses; it is not in what was chosen
            return self._in(node.value)
        if isinstance(node, ast.IfExp):
            return self._in_all([node.body, node.orelse])
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return _NOTHING
        if isinstance(node, ast.Call):
            return self._in_result(node)
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            return self._in(node.elt)
        if isinstance(node, ast.DictComp):
            return self._in_all([node.key, node.value])
        if isinstance(node, ast.Lambda):
            return self.parameters
        return self._in_all(ast.iter_child_nodes(node))

    def _in_all(self, nodes: Iterable[ast.AST]) -> frozenset[str]:
        return frozenset[str]().union(*(self._in(one) for one in nodes))

    def _in_result(self, call: ast.Call) -> frozenset[str]:
        path = self.names.path(call.func)
        if path in _ANSWERS:
            return _NOTHING
        if path == "builtins.getattr" and call.args:
            return self._in_all([call.args[0], *call.args[2:]])
        if path == _BASENAME:
            return _last_parts(self._in_all(_given(call)))
        if path in OPENERS:
            return frozenset(name for name in self._in_all(_given(call)) if not name.endswith(LAST_PART))
        if (called := self._called(path)) is not None and not _is_maker(called):
            given = self._given_to(called, call)
            whole = [given.get(name, _NOTHING) for name in self._summary(called).returns]
            parts = [
                _last_parts(given.get(name[:-1], _NOTHING))
                for name in self._summary(called).returns
                if name.endswith(LAST_PART)
            ]
            return frozenset[str]().union(*whole, *parts)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "get" and not self._in(call.func.value):
            return self._in_all(call.args[1:])
        holder = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        return self._in_all([holder, *_given(call)])

    # calls

    def _runs(self, call: ast.Call) -> list[Run]:
        path = self.names.path(call.func)
        if path is None:
            return []
        if (why := runs_what_it_gets(path)) is not None:
            given = _given(call)
            if path.startswith("yaml.") and any("Safe" in ast.dump(one)[:500] for one in given[1:]):
                return []
            reached = self._in_all(_run_by(path, call))
            if "import" in path and given and self._is_of_own_package(given[0]):
                reached = _NOTHING
            return [Run(why, path, _names_in(reached))]
        if (called := self._called(path)) is None:
            return []
        given_to = self._given_to(called, call)
        found = []
        for run in self._summary(called).runs:
            reached = _names_in(frozenset[str]().union(*(given_to.get(name, _NOTHING) for name in run.given)))
            found.append(attrs.evolve(run, given=reached, by=(called.name, *run.by)))
        return found

    def _runs_unseen(self) -> Iterator[Run]:
        """What runs code and is not called by its name, but given away or kept: who calls it, and with what, is unseen.

        `map(eval, words)`, `run = os.system`.
        """
        called = {id(one.func) for one in self.nodes if isinstance(one, ast.Call)}
        inner = {id(one.value) for one in self.nodes if isinstance(one, ast.Attribute)}
        for one in self.nodes:
            if isinstance(one, ast.Attribute):
                yield from self._runs_of_property(one)
            if not isinstance(one, ast.Name | ast.Attribute) or id(one) in inner:
                continue
            own = self.names.path(one) if id(one) in called else None
            for path in self.names.named(one):
                if (why := runs_what_it_gets(path)) is not None and path != own:
                    yield Run(why, path, self.parameters)
                function = self.reach.tree.get(path) if path != own else None
                for run in self._summary(function).runs if isinstance(function, griffe.Function) else ():
                    given = self.parameters if run.given else _NOTHING
                    yield attrs.evolve(run, given=given, by=(path.rpartition(".")[2], *run.by))

    def _runs_of_property(self, one: ast.Attribute) -> Iterator[Run]:
        path = self.names.path(one)
        found = self.reach.tree.get(path) if path is not None and self.reach.tree.owns(path) else None
        if found is None or "property" not in found.labels or (function := property_of(found)) is None:
            return
        for run in self._summary(function).runs:
            given = _names_in(self._in(one.value)) if run.given else _NOTHING
            yield attrs.evolve(run, given=given, by=(function.name, *run.by))

    def _is_of_own_package(self, name: ast.expr) -> bool:
        """Whether the name of a module begins so that it can only be one of this package."""
        first = name.values[0] if isinstance(name, ast.JoinedStr) and name.values else name
        while isinstance(first, ast.BinOp):
            first = first.left
        text = first.value if isinstance(first, ast.Constant) else ""
        if isinstance(first, ast.FormattedValue | ast.Name):
            inner = first.value if isinstance(first, ast.FormattedValue) else first
            return isinstance(inner, ast.Name) and inner.id in {"__name__", "__package__"} and first is not name
        return isinstance(text, str) and (text.startswith((".", f"{self.reach.tree.package}.")))

    def _called(self, path: str | None) -> griffe.Function | None:
        """The function of the package that a call leads to; of a class what makes its instances."""
        found = self.reach.tree.get(path) if path is not None and self.reach.tree.owns(path) else None
        if isinstance(found, griffe.Class):
            found = found.members.get("__init__")
        return found if isinstance(found, griffe.Function) else None

    def _summary(self, called: griffe.Function) -> Summary:
        return self.reach.of(called, self.depth + 1)

    def _given_to(self, called: griffe.Function, call: ast.Call) -> Mapping[str, frozenset[str]]:
        """What may be in each parameter of what is called."""
        parameters = list(called.parameters)
        given: dict[str, frozenset[str]] = {}
        is_bound = called.parent is not None and called.parent.is_class and "staticmethod" not in called.labels
        if is_bound and parameters:
            receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
            given[parameters.pop(0).name] = self._in(receiver) if receiver is not None else _NOTHING
        stars = [one for one in call.args if isinstance(one, ast.Starred)]
        spread = self._in_all([*stars, *(keyword.value for keyword in call.keywords if not keyword.arg)])
        places = [one for one in call.args if not isinstance(one, ast.Starred)]
        named = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        kinds = griffe.ParameterKind
        for place, parameter in enumerate(parameters):
            name = parameter.name.lstrip("*")
            found: Sequence[ast.expr] = ()
            if parameter.kind is kinds.var_positional:
                found = places[place:]
            elif parameter.kind is kinds.var_keyword:
                known = {one.name for one in parameters}
                found = [value for key, value in named.items() if key not in known]
            elif name in named:
                found = [named[name]]
            elif parameter.kind is not kinds.keyword_only and place < len(places):
                found = [places[place]]
            given[name] = self._in_all(found) | spread
        return given


_BASENAME = "os.path.basename"


def _last_parts(found: frozenset[str]) -> frozenset[str]:
    return frozenset(name.removesuffix(LAST_PART) + LAST_PART for name in found)


def _names_in(found: frozenset[str]) -> frozenset[str]:
    """The parameters, whatever is left of them: the last part of a path is still a text of the caller's."""
    return frozenset(name.removesuffix(LAST_PART) for name in found)


def _is_maker(called: griffe.Function) -> bool:
    return called.name == "__init__"


def _run_by(path: str, call: ast.Call) -> list[ast.expr]:
    """The arguments of what runs code that say what is run: the first, wherever it is told by its name."""
    if path.startswith(RUNS_ALL) or (call.args and isinstance(call.args[0], ast.Starred)):
        return _given(call)
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    if None in named or not call.args:  # which keyword is the first parameter is not looked up: any may be
        return [*call.args[:1], *named.values()]
    return [call.args[0], *(value for name, value in named.items() if name in RUNS_KEYWORDS)]


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]

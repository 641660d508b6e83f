"""Asks the hooks about one tool - who validates its schemas, who guards it, who runs it - and makes its plan of them.

The cold path: what is answered here is all that its calls need.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import attrs

from pegboard._frozen import thaw
from pegboard.config._secrets import get_logger
from pegboard.contract import Guard, Layer, Stage
from pegboard.errors import (
    ErrorCode,
    Fault,
    PegboardError,
    PluginError,
    ToolDefinitionError,
    ToolError,
    reason_of,
)
from pegboard.pipeline.plan import Plan, check_plan
from pegboard.registry.conflicts import ClaimError, ToolDisabledError
from pegboard.schema.jsontext import MAX_DEPTH

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pegboard.config import Config
    from pegboard.contract import Executor, Validator
    from pegboard.pipeline.runtime import Runtime
    from pegboard.registry.asking import Asking, PluginRecord
    from pegboard.registry.limit_stores import LimitStores
    from pegboard.tools import Tool

log = get_logger("pegboard")

MAX_GUARDS = 1_000
"""More guards of one tool, from one plugin, are taken for a mistake; more layers, too."""

Named = TypeVar("Named", Guard, Layer)


class Planner:
    """Makes the plans of one board.

    Attributes:
        failed_validators: plugins whose `make_validator` raised, with where; they counted as None.
    """

    def __init__(self, config: Config, plugins: Asking, runtime: Runtime, limit_stores: LimitStores) -> None:
        self._config = config
        self._plugins = plugins
        self._limit_stores = limit_stores
        self._runtime = runtime
        self.failed_validators: dict[str, str] = {}

    def plan(self, one: Tool) -> Plan:
        """The plan of a tool whose limits are settled.

        Raises:
            ToolDisabledError: its permissions keep it disabled.
            ClaimError: two plugins want to validate it, to run it or to count its calls.
            PegboardError: a guard, validator or executor cannot be made, or its schema cannot be held.
        """
        check_plan(one)
        if one.limits.is_counted:
            self._limit_stores.require()
        permissions = self._config.structure_permissions(self._config.settings_name(one), one.permissions)
        if (off := _disabled_reason(permissions)) is not None:
            why, fix = off
            raise ToolDisabledError(why, hint=fix)
        return Plan(
            one,
            self._runtime,
            guards=self._guards(one),
            layers=self._layers(one),
            validator=self._validator(one, one.input_schema, "input_schema"),
            output_validator=self._validator(one, one.output_schema, "output_schema"),
            executor=self._executor(one),
            permissions=permissions,
        )

    def _guards(self, one: Tool) -> tuple[Guard, ...]:
        asked = self._plugins.ask("make_guards", _all_of(Guard), _unguarded, tool=one)
        guards = [guard for _, given in asked for guard in given]
        if self._runtime.flows is not None:
            guards += self._runtime.flows.guards_of(one)
        if not guards:
            return ()
        if observed := self._config.observe:
            guards = [attrs.evolve(one, mode="observe") if one.name in observed else one for one in guards]
        return order_guards(guards)

    def _layers(self, one: Tool) -> tuple[Layer, ...]:
        asked = self._plugins.ask("make_layers", _all_of(Layer), _unlayered, tool=one)
        layers = [layer for _, given in asked for layer in given]
        return tuple(_in_order(layers, "layers")) if layers else ()

    def _validator(self, one: Tool, schema: Mapping[str, Any] | None, what: str) -> Validator | None:
        if schema is None:
            return None
        wanted = self._config.core.validator
        only = None if wanted is None else lambda record: record.name == wanted or record.builtin

        def note(record: PluginRecord, where: str, problem: BaseException) -> None:
            if isinstance(problem, PluginError):
                raise problem  # the schema itself is wrong: a fault of whoever wrote the tool
            log.error("plugin %s failed at a schema of %s", record.label, one.name, exc_info=problem)
            self.failed_validators[record.label] = f"{type(problem).__name__} at the {what} of {one.name!r}"

        foreign = one.origin.source is not None
        asked = self._plugins.ask("make_validator", _callable, note, only, schema=schema, foreign=foreign)
        answers: list[tuple[PluginRecord, Validator]] = list(asked)
        others = [answer for answer in answers if not answer[0].builtin]
        # Which of two validators judges must not depend on which was installed first: the configuration says it.
        if len(others) > 1:
            raise ClaimError("validate", others, f'validator = "{others[0][0].name}"')
        if others:
            return checked_validator(others[0][1], others[0][0].label)
        if not answers:
            self._refuse_schema(one, schema, what)
        return answers[-1][1]

    def _refuse_schema(self, one: Tool, schema: Mapping[str, Any], what: str) -> NoReturn:
        from pegboard.validation import why_declined

        keyword, package = why_declined(schema)
        installed = any(record.distribution == package for record in self._plugins)
        raise ToolDefinitionError(
            f"no validator on the board holds the {what} of {one.name!r}: {keyword}",
            hint=f"write the schema without {keyword}" if installed else f"pip install {package}",
        )

    def _executor(self, one: Tool) -> Executor | None:
        """Who runs it; None: it runs where its `run` says.

        Raises:
            ClaimError: two plugins want to.
            PluginError: one could not say, or `executor` names nobody who runs it: it must not run anywhere else.
        """
        wanted, plugin = self._config.tool_settings(one.name).executor, ""
        if wanted is None:
            # Asked of every tool, those count that need no more than to be installed.
            only_named = self._plugins.only_named("make_executor")
            only = (lambda record: record.name not in only_named) if only_named else None
            asked = self._plugins.ask("make_executor", _callable, _unexecuted, only, tool=one)
        else:
            plugin, _, place = wanted.partition(":")
            only = lambda record: record.name == plugin  # noqa: E731
            asked = self._plugins.ask("make_executor", _executor_at(place), _unexecuted, only, tool=one)
        answers: list[tuple[PluginRecord, Executor]] = list(asked)
        if len(answers) > 1:
            raise ClaimError("run", answers, f'executor = "{answers[0][0].name}" under [tools.{one.name}]')
        if wanted is not None and not answers:
            from pegboard.schema.near import hint_of

            names = [record.name for record, _ in self._plugins.implementations("make_executor")]
            raise PluginError(f"no plugin runs it as executor = {wanted[:80]!r} says", hint=hint_of(plugin, names))
        return answers[0][1] if answers and answers[0][1] is not _here else None


def _disabled_reason(permissions: Any) -> Any:
    """Why permissions keep their tool disabled, and how to repair it; by the present or the former name of that."""
    if permissions is None:
        return None
    off = getattr(permissions, "disabled_reason", None)
    if off is None and hasattr(permissions, "why_off"):
        from pegboard._renamed import attribute_of

        return attribute_of(permissions, "disabled_reason", "why_off")
    return off


def _all_of(kind: type[Named]) -> Callable[[Any], list[Named]]:
    """Reads what a hook gives of that kind: one, or several."""

    def take(answer: Any) -> list[Named]:
        # One more than may be: an answer can be a generator that never ends.
        given = list(islice(answer, MAX_GUARDS + 1)) if isinstance(answer, Iterable) else [answer]
        if len(given) > MAX_GUARDS:
            raise TypeError(f"gave more than {MAX_GUARDS:,} {kind.__name__.lower()}s")
        if odd := [one for one in given if not isinstance(one, kind)]:
            raise TypeError(f"gave {type(odd[0]).__name__}, expected {kind.__name__}")
        return given

    return take


def _unmade(what: str) -> Callable[[PluginRecord, str, BaseException], NoReturn]:
    """A tool for which a plugin could not make what it has to is not registered."""

    def refuse(record: PluginRecord, where: str, problem: BaseException) -> NoReturn:
        if isinstance(problem, PegboardError):  # who says what is wrong and how to repair it says it best
            raise problem
        raise PluginError(
            f"plugin {record.label} could not {what}: {reason_of(problem)}",
            hint=f"repair or uninstall {record.distribution or record.name}",
        ) from problem

    return refuse


_unguarded, _unlayered = _unmade("guard it"), _unmade("make its layers")
_unexecuted = _unmade("make its executor")


def _callable(answer: Any) -> Any:
    if not callable(answer):
        raise TypeError(f"gave {type(answer).__name__}, expected a callable")
    return answer


async def _here(context: Any, arguments: Any) -> Any:
    """Stands for: it runs where its `run` says. It is never called."""


def _executor_at(place: str) -> Callable[[Any], Any]:
    """Reads what a plugin gives that the configuration names, perhaps with a place: `NAME:PLACE`."""

    def take(answer: Any) -> Any:
        at = getattr(answer, "at", None)
        if place and at is None:
            raise PluginError("it has no places to run tools at", hint="write its name without a colon")
        if at is None:
            return _callable(answer)
        if not place:
            raise PluginError("it runs tools at places, and none is named", hint='write executor = "NAME:PLACE"')
        executor = at(place)
        return _here if executor is None else _callable(executor)

    return take


def order_guards(guards: Iterable[Guard]) -> tuple[Guard, ...]:
    """Guards in the order they are asked: by stage, then by `after=`, then by name; never by installation. Those that
    refuse in read-only mode come last of their stage: who may not call at all is told that, and not the host's mode.

    Raises:
        PluginError: two have one name, or `after=` goes in a circle.
    """
    guards = tuple(guards)
    if len(guards) == 1 and isinstance(guards[0], Guard):
        return guards
    stages = list(Stage)
    ordered = _in_order(guards, "guards", lambda one: (stages.index(one.stage), one.refuses_read_only))
    return tuple(sorted(ordered, key=lambda guard: stages.index(guard.stage)))


def _in_order(
    given: Iterable[Named], kind: str, first: Callable[[Named], tuple[Any, ...]] = lambda one: ()
) -> list[Named]:
    """By `after=`, then by what `first` says, then by name.

    Raises:
        PluginError: two have one name, or `after=` goes in a circle.
    """
    by_name: dict[str, Named] = {}
    for one in given:
        if by_name.setdefault(one.name, one) is not one:
            raise PluginError(f"two {kind} are named {one.name!r}", hint="name one of them otherwise")
    waiting = sorted(by_name.values(), key=lambda one: (*first(one), one.name))
    ordered: list[Named] = []
    while waiting:
        left = {one.name for one in waiting}
        ready = next((one for one in waiting if not left.intersection(one.after)), None)
        if ready is None:
            raise PluginError(f"the {kind} {', '.join(sorted(left))} wait for each other: repair their after=")
        waiting.remove(ready)
        ordered.append(ready)
    return ordered


def checked_validator(validate: Validator, label: str) -> Validator:
    """A plugin's validator, which judges a copy: it can change nothing that a tool is given, and what it answers is
    looked at, since an answer of the wrong kind would let every value pass.

    One that says `reads_only = True` is given the value itself.
    """
    reads_only = getattr(validate, "reads_only", False) is True

    def judge(value: Any) -> Sequence[Fault]:
        try:
            given = value if reads_only else thaw(value)
        except RecursionError:
            return [Fault((), f"at most {MAX_DEPTH} levels of nesting", "a deeper value")]
        try:
            faults = validate(given)
            if not faults and type(faults) in (list, tuple):
                return faults
            if isinstance(faults, (list, tuple)) and all(isinstance(fault, Fault) for fault in faults):
                return faults
            problem: BaseException = TypeError(f"it gave {type(faults).__name__}, expected a list of Fault")
        except KeyboardInterrupt:
            raise
        except BaseException as raised:  # noqa: BLE001 - whatever a third-party validator raises
            problem = raised
        log.error("the validator of plugin %s failed", label, exc_info=problem)
        raise ToolError(
            ErrorCode.INTERNAL_ERROR,
            f"the validator of plugin {label} failed ({type(problem).__name__}); its cause is in the host's log",
            retry="never",
        ) from problem

    return judge

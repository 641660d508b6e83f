"""Asks plugins, one after the other, while a board loads: the one place that catches what their code raises.

An answer comes with the plugin that gave it, in the order of their names and never of installation. A plugin whose code
raises is quarantined: unregistered, named with its distribution and the cause, and everything else works. That is fatal
instead where working on would be worse: the configuration or the caller names the plugin, it guards tools, or the host
is strict. Whoever asks may decide otherwise (`failed`), but for Ctrl-C, which is nobody's failure.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextvars import ContextVar
from inspect import iscoroutinefunction
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from pegboard._values import Shown
from pegboard.config._secrets import get_logger
from pegboard.errors import PegboardError, PluginError, place_of, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pluggy

    Failed = Callable[["PluginRecord", str, BaseException], object]
    """What becomes of a plugin whose code raised: the plugin, where that was, the problem."""

log = get_logger("pegboard")

T = TypeVar("T")

MAX_ANSWERS = 100_000
"""More tools, sources or dialects than that are taken for a mistake."""


@attrs.define(eq=False, repr=False)
class PluginRecord(Shown):
    """One plugin on the board.

    Args:
        name: of its entry point; its settings stand in `[plugins.NAME]`.
        distribution: what `pip` calls it, None for an object that a program handed in.
        version: of the distribution.
        builtin: whether it is one of the core's own.
        named: whether the configuration or the caller asked for it by name; its failure is fatal then.
        import_s: seconds that its import took.
        settings: an instance of its settings class, or None; see `Plugins.structure_settings` for when it is made.
        quarantined: why it was quarantined, or None.
        cure: what to do about that, with the place in the plugin's code where that is known.
        provides: how many of each thing it gave, by hook.

    .. versionadded:: 0.1
    """

    name: str
    distribution: str | None = None
    version: str | None = None
    builtin: bool = False
    named: bool = False
    import_s: float = 0.0
    plugin: Any = attrs.field(default=None, repr=False)
    _settings: Any = attrs.field(default=None, repr=False)
    quarantined: str | None = None
    cure: str = ""
    provides: dict[str, int] = attrs.field(factory=dict)
    _fill: Callable[[], None] | None = attrs.field(default=None, init=False, repr=False)

    @property
    def settings(self) -> Any:
        """Its settings; those that were left for later are made now.

        Raises:
            ConfigError: the configuration has to say something, and says nothing.
            PluginError: their class is wrong, and that is fatal.
        """
        if self._fill is not None:
            self._fill()
            self._fill = None
        return self._settings

    @settings.setter
    def settings(self, made: Any) -> None:
        self._settings = made

    @property
    def label(self) -> str:
        """How errors name it: with its distribution."""
        return f"{self.name!r} of {self.distribution}" if self.distribution else repr(self.name)


WATCHER: ContextVar[Callable[[str], None] | None] = ContextVar("who shows what is waited for", default=None)
"""Hears whose code runs while a board loads. Hooks are synchronous and nothing can end them: what can be done about one
that hangs is to say whose it is."""


class Asking:
    """The plugins of one board, as they are asked.

    Args:
        manager: knows who implements what.
        strict: any failure is fatal.

    Attributes:
        records: every plugin but those whose name another one has, by name.
    """

    def __init__(self, manager: pluggy.PluginManager, *, strict: bool = False) -> None:
        self.manager = manager
        self.strict = strict
        self.records: dict[str, PluginRecord] = {}
        self._problems: list[PluginRecord] = []
        self._order: dict[str, list[tuple[PluginRecord, Any]]] = {}
        self._only_named: dict[str, set[str]] = {}

    def __iter__(self) -> Iterator[PluginRecord]:
        self.make_settings()  # whoever looks at all of them sees what is wrong with one that nobody used yet
        return iter(self._known())

    def _known(self) -> list[PluginRecord]:
        return [*self.records.values(), *self._problems]

    @property
    def quarantined(self) -> list[PluginRecord]:
        """Plugins that were quarantined."""
        return [record for record in self if record.quarantined is not None]

    @property
    def quarantined_so_far(self) -> list[PluginRecord]:
        """Those of them that could have brought tools: what loading a board saw, and nothing that is looked at later.

        .. versionadded:: 0.1
        """
        return [record for record in self._known() if record.quarantined is not None]

    def make_settings(self) -> None:
        """Make the settings that were left for later, as if each plugin were used now.

        Raises:
            ConfigError: the configuration has to say something, and says nothing.

        .. versionadded:: 0.1
        """
        for record in self._known():
            _ = record.settings

    def quarantine(self, record: PluginRecord, where: str, problem: BaseException) -> None:
        """Quarantine a plugin, with the cause.

        Raises:
            PluginError: its failure is fatal.
        """
        cause = str(problem) if isinstance(problem, PegboardError) else reason_of(problem)
        record.quarantined = f"{where}: {cause}"
        record.cure = _cure(record, problem)
        log.info("plugin %s failed", record.label, exc_info=problem)
        guards = hasattr(record.plugin, "make_guards")
        if self.records.get(record.name) is record and self.manager.has_plugin(record.name):
            self.manager.unregister(name=record.name)
        self._order.clear()
        self._only_named.clear()
        if record.named or guards or record.builtin or self.strict:
            others = "it guards tools" if guards else "the host is strict"
            why = "the configuration names it, or the command" if record.named else others
            raise PluginError(
                f"plugin {record.label} failed at {where}: {cause}",
                hint=f"{record.cure}; this is fatal because {why}",
            ) from problem
        log.warning("plugin %s is quarantined: %s; %s", record.label, record.quarantined, record.cure)

    def implementations(self, hook: str) -> list[tuple[PluginRecord, Callable[..., Any]]]:
        """Who implements a hook, in the order of their names: never of installation."""
        found = self._order.get(hook)
        if found is None:
            caller = getattr(self.manager.hook, hook)
            for one in caller.get_hookimpls():
                _ = self.records[one.plugin_name].settings  # they come before any other hook, and may quarantine it
            found = sorted(
                ((self.records[one.plugin_name], _adapt(one)) for one in caller.get_hookimpls()),
                key=lambda pair: pair[0].name,
            )
            self._order[hook] = found
        return found

    def only_named(self, hook: str) -> set[str]:
        """The plugins that answer a hook only where the configuration names them: `only_named = True` of what they
        implement it with."""
        found = self._only_named.get(hook)
        if found is None:
            given = getattr(self.manager.hook, hook).get_hookimpls()
            found = {one.plugin_name for one in given if getattr(one.function, "only_named", False)}
            self._only_named[hook] = found
        return found

    def run(self, record: PluginRecord, where: str, failed: Failed | None, work: Callable[[], T]) -> T | None:
        """Run a plugin's own code; None where it raises.

        Args:
            record: whose code it is.
            where: `import`, or the name of what is asked.
            failed: what becomes of a plugin whose code raised; None: it is quarantined.
            work: the code.
        """
        answers: Iterator[tuple[PluginRecord, T]] = self._each(where, [(record, work)], None, failed, None)
        return next((answer for _, answer in answers), None)

    def ask(
        self,
        hook: str,
        take: Callable[[Any], Any] | None = None,
        failed: Failed | None = None,
        only: Callable[[PluginRecord], bool] | None = None,
        /,
        **arguments: Any,
    ) -> Iterator[tuple[PluginRecord, Any]]:
        """Ask one implementation after the other; yields each answer that is not None, with whose it is.

        Args:
            hook: its name.
            take: makes of an answer what is yielded. What it raises is the plugin's failure: a generator of its runs in
                there, and an answer of the wrong kind is found there.
            failed: what becomes of one that raises; None: it is quarantined, and loses only itself.
            only: whom to ask; None: everybody.
            arguments: of the hook; each plugin's own settings come with them.
        """
        asked = self.implementations(hook)
        asked = asked if only is None else [one for one in asked if only(one[0])]
        return self._each(hook, asked, take, failed, arguments)

    def _each(
        self,
        where: str,
        asked: Iterable[tuple[PluginRecord, Callable[..., Any]]],
        take: Callable[[Any], Any] | None,
        failed: Failed | None,
        arguments: Mapping[str, Any] | None,
    ) -> Iterator[tuple[PluginRecord, Any]]:
        """Call the code of each: the one place that catches. Whoever watches is told whose code runs, and Ctrl-C says
        where it came."""
        for record, work in asked:
            try:
                if (watcher := WATCHER.get()) is not None:
                    watcher(_running(record, where))
                answer = work() if arguments is None else work(settings=record.settings, **arguments)
                if answer is not None and take is not None:
                    answer = take(answer)
            except KeyboardInterrupt as stop:
                stop.add_note(f"while {_running(record, where)}")
                raise
            except BaseException as problem:  # noqa: BLE001 - a third party raises what it likes, `SystemExit` too
                (failed or self.quarantine)(record, where, problem)
            else:
                if answer is not None:
                    yield record, answer

    def ask_for_many(
        self, hook: str, kind: Callable[[Any], bool], what: str
    ) -> Iterator[tuple[PluginRecord, list[Any]]]:
        """Ask for lists: every answer is read to its end, and each element must be of the kind."""

        def take(answer: Any) -> list[Any]:
            if not isinstance(answer, Iterable):  # one alone, which is what authors write first
                raise PluginError(f"gave {kind_of(answer)}, expected a list, each of it {what}")
            # One more than may be: an answer can be a generator that never ends.
            values = list(islice(answer, MAX_ANSWERS + 1))
            if len(values) > MAX_ANSWERS:
                raise PluginError(f"gave more than {MAX_ANSWERS:,} answers")
            if wrong := [value for value in values if not kind(value)]:
                raise PluginError(f"gave {kind_of(wrong[0])}, expected {what}")
            return values

        for record, values in self.ask(hook, take):
            record.provides[hook] = len(values)
            yield record, values


def _running(record: PluginRecord, where: str) -> str:
    return f"the plugin {record.label} {'is imported' if where == 'import' else f'runs {where}'}"


def _adapt(implementation: Any) -> Callable[..., Any]:
    """Call an implementation with those of the hook's arguments that it takes."""
    function, names = implementation.function, implementation.argnames
    if iscoroutinefunction(function):  # it would give a coroutine object, which nobody awaits

        def refuse(**_: Any) -> Any:
            raise TypeError("it is an async function; a hook is a plain one")

        return refuse
    if names == ("tool",):  # the commonest by far: asked for every tool of every plugin
        return lambda tool, settings=None: function(tool)
    return lambda **arguments: function(*[arguments[name] for name in names])


def kind_of(value: object) -> str:
    """How an error calls an answer that is not what was expected."""
    return value.__name__ if isinstance(value, type) else type(value).__name__


def _cure(record: PluginRecord, problem: BaseException) -> str:
    """What a person may do about a plugin that failed: what it says itself, the module that is missing, the line."""
    name, place = record.distribution, place_of(problem)
    other = f"uninstall {name}" if name else f'leave it out: without = ["{record.name}"]'
    advice = problem.hint if isinstance(problem, PegboardError) else None
    if advice:
        return f"{advice} ({place})" if place else advice
    if isinstance(problem, ModuleNotFoundError) and problem.name:
        if place is None and name:  # no line of its own asked for it
            return f"its entry point names what {name} does not bring: pip install --upgrade {name}, or {other}"
        where = f", or repair {place}" if place else ""
        return f"install what brings the module {problem.name!r}{where}, or {other}"
    if place and name and f"{os.sep}site-packages{os.sep}" in place:  # somebody else's
        return f"pip install --upgrade {name}, or {other}; it failed at {place}"
    return f"repair {place}, or {other}" if place else f"repair it, or {other}"

"""Loads plugins, and keeps one bad plugin from harming the rest.

Every plugin has a `PluginRecord`. What goes wrong with it - its import, its hooks, what they answer - quarantines it:
it is unregistered, named with its distribution and the cause, and everything else works. It is fatal instead where
working on would be worse: the configuration or the caller names the plugin, it guards tools, or the host is strict.

One pluggy manager per board, never a global; hooks are asked one implementation at a time (`ask`).
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import logging
import os
import time
from contextvars import ContextVar
from inspect import iscoroutinefunction
from itertools import islice
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import attrs
import pluggy

from pegboard import hookspecs
from pegboard._installed import installed_plugins
from pegboard._values import Shown
from pegboard.errors import ConfigError, PegboardError, PluginError, UntrustedError, place_of, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pegboard._installed import Installed
    from pegboard.config import Config

log = logging.getLogger("pegboard")

_HOOKABLE = (FunctionType, MethodType, staticmethod, classmethod)
MAX_ANSWERS = 100_000
"""More tools, sources or dialects than that are taken for a mistake."""
_ASKED_AT_LOAD = ("provide_tools", "provide_sources", "make_validator", "make_guards", "make_executor", "why_held")
"""The hooks by which a plugin gives something to a board while it loads, or to a call, where nothing may fail."""

BUILTINS = {
    "validator": "pegboard.validation",
    "access": "pegboard.guards.access",
    "read_only": "pegboard.guards.read_only",
    "confirmation": "pegboard.guards.confirmation",
    "rate": "pegboard.guards.rate",
    "concurrency": "pegboard.guards.concurrency",
    "audit": "pegboard.guards.audit",
    "text": "pegboard.dialects.text",
    "json": "pegboard.dialects.json",
    "doctor": "pegboard.doctor",
}
"""The core's own features: plugins like any other, by name."""


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


@contextlib.contextmanager
def waiting_for(record: PluginRecord, does: str) -> Iterator[None]:
    """A third party's code runs in the block: whoever watches is told, and Ctrl-C there says where it came.

    .. versionadded:: 0.1
    """
    advice = f"the plugin {record.label} {does}"
    if (watcher := WATCHER.get()) is not None:
        watcher(advice)
    try:
        yield
    except KeyboardInterrupt as stop:
        stop.add_note(f"while {advice}")
        raise


class _Manager(pluggy.PluginManager):
    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        """As pluggy does it, which looks up each name without running a property of the plugin. A module has none, and
        most of its names are not hooks: to look all of them up takes a third of the time in which Python starts."""
        if isinstance(plugin, ModuleType):
            one = vars(plugin).get(name)
            if not isinstance(one, _HOOKABLE) or (type(one) is FunctionType and not hasattr(one, "pegboard_impl")):
                return None
        return super().parse_hookimpl_opts(plugin, name)


class Plugins:
    """All plugins of one board.

    Args:
        strict: any failure is fatal.
    """

    def __init__(self, *, strict: bool = False) -> None:
        self.manager = _Manager("pegboard")
        self.manager.add_hookspecs(hookspecs)
        self.strict = strict
        self.records: dict[str, PluginRecord] = {}
        self._problems: list[PluginRecord] = []
        self._order: dict[str, list[tuple[PluginRecord, Any]]] = {}

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

    def add(self, record: PluginRecord, load: Callable[[], Any]) -> None:
        """Import a plugin and register its hooks, or quarantine it."""
        if record.name in self.records:
            self._clash(record)
            return
        self.records[record.name] = record
        started = time.perf_counter()
        try:
            with waiting_for(record, "is imported"):
                record.plugin = load()
            self.manager.register(record.plugin, name=record.name)
        except KeyboardInterrupt:
            raise
        except BaseException as problem:  # noqa: BLE001 - whatever a third party's import raises
            self.quarantine(record, "import", problem)
        finally:
            record.import_s = time.perf_counter() - started

    def _clash(self, record: PluginRecord) -> None:
        """Two plugins of one name: neither is better, and load order must not decide."""
        first = self.records[record.name]
        problem = PluginError(
            f"two plugins are named {record.name!r}: of {first.distribution} and of {record.distribution}",
            hint="uninstall one of them",
        )
        self._problems.append(record)
        self.quarantine(record, "name", problem)
        if first.quarantined is None and not first.builtin:  # nobody pushes one of the core's own off the board
            self.quarantine(first, "name", problem)

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
        if record.named or guards or record.builtin or self.strict:
            why = (
                "the configuration names it" if record.named else "it guards tools" if guards else "the host is strict"
            )
            raise PluginError(
                f"plugin {record.label} failed at {where}: {cause}",
                hint=f"{record.cure}; this is fatal because {why}",
            ) from problem
        log.warning("plugin %s is quarantined: %s", record.label, record.quarantined)

    def check_hooks(self) -> None:
        """After loading: a misspelt hook is an error that names it and the nearest real one."""
        for record in list(self.records.values()):
            if record.quarantined is None and not self.manager.get_hookcallers(record.plugin):
                self.quarantine(
                    record, "hooks", PluginError("it implements no hook: mark its functions with @hookimpl")
                )
        hooks = vars(self.manager.hook)
        known = [name for name, hook in hooks.items() if hook.has_spec()]
        for name, hook in list(hooks.items()):
            if hook.has_spec():
                continue
            for implementation in list(hook.get_hookimpls()):
                if implementation.optionalhook:
                    continue
                from pegboard.schema.near import NearNames, listed

                near = NearNames().find(name, known)
                hint = f"the nearest is {near[0]!r}" if near else listed(known)
                problem = PluginError(f"there is no hook {name[:60]!r}; {hint}")
                self.quarantine(self.records[implementation.plugin_name], "hooks", problem)

    def structure_settings(self, config: Config) -> None:
        """Ask every plugin for its settings class and fill it from its section.

        Those of an installed plugin that gives nothing to a board while it loads, and of which the configuration says
        nothing, are left until they are used: a provider of models has no part in `pegboard list`, and to import and
        make the classes of all of them takes as long as the rest of a plugin.

        Raises:
            ConfigError: with what is wrong in all sections at once, and what the configuration held back.
        """
        wrong: list[ConfigError] = []
        held = {fault.path for fault in config.held}
        givers = {record.name for hook in _ASKED_AT_LOAD for record, _ in self.implementations(hook)}
        for record, make in self.implementations("provide_settings"):
            fill = functools.partial(self._fill, record, make, config)
            if self._may_wait(record) and record.name not in givers and not config.says_of_plugin(record.name):
                record._fill = fill
                continue
            try:
                fill()
            except ConfigError as problem:
                wrong.append(problem)
        if not wrong:
            config.raise_held()
            return
        if not config.held and all(isinstance(problem, UntrustedError) for problem in wrong):
            if len(wrong) == 1:
                raise wrong[0]
            raise UntrustedError.of_faults([fault for one in wrong for fault in one.faults], hint=wrong[0].hint)
        # Where a value is missing, what it should have been is not a second fault.
        faults = [*config.held, *(one for problem in wrong for one in problem.faults if one.path not in held)]
        hint = next((problem.hint for problem in wrong if problem.hint), None)
        others = [problem.message for problem in wrong if problem.hint]  # of those that are not a count of faults
        counted = ConfigError.of_faults(faults, hint=hint)
        raise ConfigError("; ".join(dict.fromkeys(others)) or counted.message, faults, hint=hint) from wrong[0]

    def make_settings(self) -> None:
        """Make the settings that were left for later, as if each plugin were used now.

        Raises:
            ConfigError: the configuration has to say something, and says nothing.

        .. versionadded:: 0.1
        """
        for record in self._known():
            _ = record.settings

    def _may_wait(self, record: PluginRecord) -> bool:
        """Whether somebody may use a board without this plugin: nobody asked for it, and its failure is not fatal."""
        return record.distribution is not None and not (record.builtin or record.named or self.strict)

    def _fill(self, record: PluginRecord, make: Callable[..., Any], config: Config) -> None:
        """Make a plugin's settings, or quarantine it where their class is wrong.

        Raises:
            ConfigError: the configuration is wrong.
        """
        try:
            cls = make()
            if cls is None:
                return
            if not (isinstance(cls, type) and attrs.has(cls)):
                raise PluginError(f"provide_settings gave {_kind(cls)}, expected an attrs class")
        except KeyboardInterrupt:
            raise
        except BaseException as problem:  # noqa: BLE001 - whatever a third party's hook raises
            self.quarantine(record, "provide_settings", problem)
            return
        try:
            record.settings = config.plugin_settings(record.name, cls)
        except PluginError as problem:  # the class itself is wrong; a wrong value is the configuration's fault
            self.quarantine(record, "provide_settings", problem)

    def implementations(self, hook: str) -> list[tuple[PluginRecord, Callable[..., Any]]]:
        """Who implements a hook, in the order of their names: never of installation."""
        found = self._order.get(hook)
        if found is None:
            caller = getattr(self.manager.hook, hook)
            for one in caller.get_hookimpls():
                _ = self.records[one.plugin_name].settings  # they come before any other hook, and may put it aside
            found = sorted(
                ((self.records[one.plugin_name], _adapt(one)) for one in caller.get_hookimpls()),
                key=lambda pair: pair[0].name,
            )
            self._order[hook] = found
        return found

    def ask(self, hook: str, **arguments: Any) -> Iterator[tuple[PluginRecord, Any]]:
        """Ask one implementation after the other; yields each answer that is not None, with whose it is.

        One that raises is quarantined, and loses only itself.
        """
        for record, implementation in list(self.implementations(hook)):
            try:
                with waiting_for(record, f"runs {hook}"):
                    answer = implementation(settings=record.settings, **arguments)
            except KeyboardInterrupt:
                raise
            except BaseException as problem:  # noqa: BLE001 - whatever a third party's hook raises
                self.quarantine(record, hook, problem)
            else:
                if answer is not None:
                    yield record, answer

    def ask_for_many(
        self, hook: str, kind: Callable[[Any], bool], what: str
    ) -> Iterator[tuple[PluginRecord, list[Any]]]:
        """Ask for lists: every answer is read to its end, and each element must be of the kind."""
        for record, answer in self.ask(hook):
            try:
                with waiting_for(record, f"runs {hook}"):
                    values = list(islice(answer, MAX_ANSWERS + 1))
                if len(values) > MAX_ANSWERS:
                    raise PluginError(f"gave more than {MAX_ANSWERS:,} answers")
                if wrong := [value for value in values if not kind(value)]:
                    raise PluginError(f"gave {_kind(wrong[0])}, expected {what}")
            except KeyboardInterrupt:
                raise
            except BaseException as problem:  # noqa: BLE001 - a generator of a third party, or an attribute
                self.quarantine(record, hook, problem)
                continue
            record.provides[hook] = len(values)
            yield record, values


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


def _kind(value: object) -> str:
    return value.__name__ if isinstance(value, type) else type(value).__name__


def load_plugins(
    config: Config,
    wanted: Sequence[Any] | None = None,
    *,
    without: Iterable[str] = (),
    strict: bool = False,
) -> Plugins:
    """Load the built-ins and the plugins that are wanted.

    Args:
        config: its core settings and sections; the plugins that it names must not fail.
        wanted: None: all that are installed. Names: only these of the installed. Objects: these alone.
        without: plugins to leave out, built-ins too; those of the configuration's `without` are left out as well.
        strict: any failure is fatal.

    Raises:
        PluginError: a plugin failed whose failure is fatal, or one that is named is not installed.
        ConfigError: a plugin's section is wrong, or belongs to no plugin.
    """
    for given, what in ((wanted, "plugins"), (without, "without")):
        if isinstance(given, str):
            raise PluginError(f"{what}: expected a list, got the text {given[:60]!r}", hint=f"write [{given[:60]!r}]")
    plugins = Plugins(strict=strict)
    left_out = {*without, *config.core.without}
    for name, module in BUILTINS.items():
        if name not in left_out:
            record = PluginRecord(name, "pegboard", _own_version(), builtin=True)
            plugins.add(record, lambda module=module: importlib.import_module(module))  # type: ignore[misc]
    for record, load in _wanted(wanted, config):
        if record.name not in left_out:
            plugins.add(record, load)
    _check_left_out(left_out)
    _add_hookspecs(plugins)
    plugins.check_hooks()
    plugins.structure_settings(config)
    if wanted is None:
        config.check_unknown(
            [record.name for record in plugins._known() if record.quarantined is None],
            [*left_out, *(record.name for record in plugins.quarantined_so_far)],
        )
    return plugins


def _check_left_out(left_out: set[str]) -> None:
    installed = {one.name for one in installed_plugins()} if left_out - BUILTINS.keys() else set()
    for name in sorted(left_out - BUILTINS.keys() - installed):
        from pegboard.schema.near import hint_of

        raise ConfigError(f"there is no plugin {name[:80]!r} to leave out", hint=hint_of(name, {*BUILTINS, *installed}))


def _wanted(wanted: Sequence[Any] | None, config: Config) -> Iterator[tuple[PluginRecord, Callable[[], Any]]]:
    if wanted is None:
        for one in installed_plugins():
            yield _record(one, named=one.name in config.named_plugins), one.load
        return
    names = [one for one in wanted if isinstance(one, str)]
    installed = installed_plugins() if names else []
    chosen: dict[Installed, None] = {}
    for name in names:
        found = [one for one in installed if name in (one.name, one.distribution)]
        if not found:
            from pegboard.schema.near import hint_of

            known = {one.name for one in installed}
            hint = hint_of(name.removeprefix("pegboard-"), known, none="pip install pegboard-NAME brings one")
            raise PluginError(f"no plugin {name[:80]!r} is installed", hint=hint)
        chosen |= dict.fromkeys(found)
    for one in chosen:  # each once, however often and by whichever of its names it was asked for
        yield _record(one, named=True), one.load
    for plugin in wanted:
        if not isinstance(plugin, str):
            record = PluginRecord(_name_of(plugin))
            record.named = record.name in config.named_plugins
            yield record, lambda plugin=plugin: plugin  # type: ignore[misc]


def _record(one: Installed, *, named: bool) -> PluginRecord:
    return PluginRecord(one.name, one.distribution, one.version, named=named)


def _name_of(plugin: object) -> str:
    """`pegboard_coin.plugin` is `coin`; an object is its `name`, else its class."""
    if isinstance(plugin, ModuleType):
        return plugin.__name__.removesuffix(".plugin").rpartition(".")[2].removeprefix("pegboard_")
    name = getattr(plugin, "name", None)
    kind = plugin if isinstance(plugin, type) else type(plugin)
    return name if isinstance(name, str) else kind.__name__


def _add_hookspecs(plugins: Plugins) -> None:
    for record, specs in plugins.ask("add_hookspecs"):
        try:
            plugins.manager.add_hookspecs(specs)
        except KeyboardInterrupt:
            raise
        except BaseException as problem:  # noqa: BLE001 - attributes of a third-party object
            plugins.quarantine(record, "add_hookspecs", problem)


def _own_version() -> str:
    from pegboard import __version__

    return __version__


def _cure(record: PluginRecord, problem: BaseException) -> str:
    """What a person may do about a plugin that failed: what it says itself, the module that is missing, the line."""
    name, place = record.distribution, place_of(problem)
    other = f"uninstall {name}" if name else f'leave it out: without = ["{record.name}"]'
    advice = problem.hint if isinstance(problem, PegboardError) else None
    if advice:
        return f"{advice} ({place})" if place else advice
    if isinstance(problem, ModuleNotFoundError) and problem.name:
        where = f", or repair {place}" if place else ""
        return f"install what brings the module {problem.name!r}{where}, or {other}"
    if place and name and f"{os.sep}site-packages{os.sep}" in place:  # somebody else's
        return f"pip install --upgrade {name}, or {other}; it failed at {place}"
    return f"repair {place}, or {other}" if place else f"repair it, or {other}"

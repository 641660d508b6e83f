"""Loads plugins: the core's own and those that are wanted, their hooks and their settings.

Every plugin has a `PluginRecord`; what becomes of one that fails says `pegboard.registry.asking`. One pluggy manager
per board, never a global.
"""

from __future__ import annotations

import functools
import importlib
import logging
import sys
import time
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import attrs
import pluggy

from pegboard import hookspecs
from pegboard._installed import installed_plugins
from pegboard.errors import ConfigError, PluginError, UntrustedError
from pegboard.registry.asking import Asking, PluginRecord, kind_of
from pegboard.tools import Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pegboard._installed import Installed
    from pegboard.config import Config

log = logging.getLogger("pegboard")

_HOOKABLE = (FunctionType, MethodType, staticmethod, classmethod)
_ASKED_AT_LOAD = (
    "provide_tools",
    "provide_sources",
    "make_validator",
    "make_guards",
    "make_layers",
    "make_executor",
    "provide_limit_store",
    "why_held",
)
"""The hooks by which a plugin gives something to a board while it loads, or to a call, where nothing may fail."""

BUILTINS = {
    "validator": "pegboard.validation",
    "access": "pegboard.guards.access",
    "read_only": "pegboard.guards.read_only",
    "confirmation": "pegboard.guards.confirmation",
    "rate": "pegboard.guards.rate",
    "concurrency": "pegboard.guards.concurrency",
    "sqlite": "pegboard.limit_stores",
    "audit": "pegboard.guards.audit",
    "text": "pegboard.dialects.text",
    "json": "pegboard.dialects.json",
    "doctor": "pegboard.doctor",
}
"""The core's own features: plugins like any other, by name."""
ON_DEMAND = {"record": "pegboard.testing.recording"}
"""Those of them that are loaded only where the configuration, or an option of the program, speaks of them."""


class _Manager(pluggy.PluginManager):
    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        """As pluggy does it, which looks up each name without running a property of the plugin. A module has none, and
        most of its names are not hooks: to look all of them up takes a third of the time in which Python starts."""
        if isinstance(plugin, ModuleType):
            one = vars(plugin).get(name)
            if not isinstance(one, _HOOKABLE) or (type(one) is FunctionType and not hasattr(one, "pegboard_impl")):
                return None
        return super().parse_hookimpl_opts(plugin, name)


class Plugins(Asking):
    """All plugins of one board.

    Args:
        strict: any failure is fatal.
    """

    def __init__(self, *, strict: bool = False) -> None:
        super().__init__(_Manager("pegboard"), strict=strict)
        self.manager.add_hookspecs(hookspecs)

    def add(self, record: PluginRecord, load: Callable[[], Any]) -> None:
        """Import a plugin and register its hooks, or quarantine it."""
        if record.name in self.records:
            self._clash(record)
            return
        self.records[record.name] = record
        started = time.perf_counter()

        def work() -> None:
            record.plugin = load()

        try:
            self.run(record, "import", None, work)
            if record.quarantined is None:
                self.run(record, "hooks", None, functools.partial(self._register, record))
        finally:
            record.import_s = time.perf_counter() - started

    def _register(self, record: PluginRecord) -> None:
        self._require_object(record.plugin)
        try:
            self.manager.register(record.plugin, name=record.name)
        except pluggy.PluginValidationError:
            for name, hook in vars(self.manager.hook).items():
                if hook.spec is not None and self.manager.parse_hookimpl_opts(record.plugin, name) is not None:
                    _check_arguments(name, getattr(record.plugin, name), hook.spec.argnames)
            raise

    def _require_object(self, plugin: Any) -> None:
        """Refuse what stands in the place of a plugin: a class whose hooks want an object of it.

        Raises:
            PluginError: it says what to give instead.
        """
        if not isinstance(plugin, type):
            return
        for name, hook in vars(self.manager.hook).items():
            given = vars(plugin).get(name)
            if (
                hook.spec is not None
                and isinstance(given, FunctionType)
                and given.__code__.co_varnames[:1] == ("self",)
            ):
                raise PluginError(
                    f"it is a class, and its hook {name} is a method of its objects",
                    hint=f"give an object of it: {plugin.__name__}()",
                )

    def _clash(self, record: PluginRecord) -> None:
        """Two plugins of one name: neither is better, and load order must not decide."""
        first = self.records[record.name]
        problem = PluginError(
            f"two plugins are named {record.name!r}: of {_brought_by(first)} and of {_brought_by(record)}",
            hint="uninstall one of them" if record.distribution else "give yours another `name`",
        )
        self._problems.append(record)
        self.quarantine(record, "name", problem)
        if first.quarantined is None and not first.builtin:  # nobody pushes one of the core's own off the board
            self.quarantine(first, "name", problem)

    def check_hooks(self) -> None:
        """After loading: a misspelt hook is an error that names it and the nearest real one."""
        for record in list(self.records.values()):
            if record.quarantined is None and not self.manager.get_hookcallers(record.plugin):
                self.quarantine(record, "hooks", _no_hooks(record.plugin))
        hooks = vars(self.manager.hook)
        known = [name for name, hook in hooks.items() if hook.has_spec()]
        for name, hook in list(hooks.items()):
            if hook.has_spec():
                continue
            for implementation in list(hook.get_hookimpls()):
                if implementation.optionalhook:
                    continue
                from pegboard.schema.near import listed, nearest

                near = nearest(name, known)
                hint = f"the nearest is {near!r}" if near else listed(known)
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
        asked = {record.name for record, _ in self.implementations("provide_settings")}
        for record in self.records.values():
            if record.quarantined is None and record.name not in asked:
                try:
                    config.check_none_set(record.name)
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

    def _may_wait(self, record: PluginRecord) -> bool:
        """Whether somebody may use a board without this plugin: nobody asked for it, and its failure is not fatal."""
        return record.distribution is not None and not (record.builtin or record.named or self.strict)

    def _fill(self, record: PluginRecord, make: Callable[..., Any], config: Config) -> None:
        """Make a plugin's settings, or quarantine it where their class is wrong.

        Raises:
            ConfigError: the configuration is wrong.
        """

        def settings_class() -> type[Any] | None:
            cls = make()
            if cls is not None and not (isinstance(cls, type) and attrs.has(cls)):
                raise PluginError(f"provide_settings gave {kind_of(cls)}, expected an attrs class")
            return cls

        if (cls := self.run(record, "provide_settings", None, settings_class)) is None:
            return
        try:
            record.settings = config.plugin_settings(record.name, cls)
        except PluginError as problem:  # the class itself is wrong; a wrong value is the configuration's fault
            self.quarantine(record, "provide_settings", problem)


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
    require_lists(wanted, without)
    plugins = Plugins(strict=strict)
    left_out = {*without, *config.core.without}
    on_demand = {name: module for name, module in ON_DEMAND.items() if config.says_of_plugin(name)}
    for name, module in {**BUILTINS, **on_demand}.items():
        if name not in left_out:
            record = PluginRecord(name, "pegboard", _own_version(), builtin=True)
            plugins.add(record, lambda module=module: importlib.import_module(module))  # type: ignore[misc]
    for record, load in _wanted(wanted, config):
        if record.name not in left_out:
            plugins.add(record, load)
    _check_left_out(left_out)
    # Before hooks are checked: one plugin may implement what another declares, as models of pegboard-chat.
    list(plugins.ask("add_hookspecs", plugins.manager.add_hookspecs))  # their attributes are a plugin's own code
    plugins.check_hooks()
    plugins.structure_settings(config)
    if wanted is None:
        config.check_unknown(
            [record.name for record in plugins._known() if record.quarantined is None],
            [*left_out, *(record.name for record in plugins.quarantined_so_far)],
        )
    return plugins


def require_lists(wanted: Any, without: Any) -> None:
    """Refuse one plugin where a list of them is expected.

    Raises:
        PluginError: it says what to write.
    """
    for given, what in ((wanted, "plugins"), (without, "without")):
        if isinstance(given, str):
            raise PluginError(f"{what}: expected a list, got the text {given[:60]!r}", hint=f"write [{given[:60]!r}]")
        if given is not None and (isinstance(given, type) or not hasattr(given, "__iter__")):
            of_class = isinstance(given, type)
            hint = f"write [{kind_of(given)}()]" if of_class else "write it in brackets, as [it]"
            raise PluginError(
                f"{what}: expected a list, got {'the class ' if of_class else ''}{kind_of(given)}", hint=hint
            )


def _no_hooks(plugin: object) -> PluginError:
    """Why what has no hooks is not a plugin, and what to do with it."""
    if isinstance(plugin, Tool | FunctionType):
        hint = "add a tool by host.add(...), or return it by the hook provide_tools of a plugin"
        return PluginError(f"it is a {kind_of(plugin)}, not a plugin", hint=hint)
    return PluginError("it implements no hook: mark its functions with @hookimpl")


def _brought_by(record: PluginRecord) -> str:
    return record.distribution or "the program"


def _check_left_out(left_out: set[str]) -> None:
    own = {*BUILTINS, *ON_DEMAND}
    installed = {one.name for one in installed_plugins()} if left_out - own else set()
    for name in sorted(left_out - own - installed):
        from pegboard.schema.near import hint_of

        raise ConfigError(f"there is no plugin {name[:80]!r} to leave out", hint=hint_of(name, {*own, *installed}))


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
    """Its `name`; where it has none, `pegboard_coin.plugin` is `coin`, and an object is its class."""
    name = getattr(plugin, "name", None)
    if isinstance(name, str):
        return name
    if isinstance(plugin, ModuleType):
        return plugin.__name__.removesuffix(".plugin").rpartition(".")[2].removeprefix("pegboard_")
    return plugin.__name__ if isinstance(plugin, type) else type(plugin).__name__


def _own_version() -> str:
    """As the package says, which is there before any module of it."""
    version: str = vars(sys.modules["pegboard"])["__version__"]
    return version


def _check_arguments(name: str, implementation: Callable[..., object], known: Sequence[str]) -> None:
    """Require that an implementation of a hook takes nothing that its hook does not give.

    Raises:
        PluginError: it does; pluggy says so too, in the words of its own parts.
    """
    from inspect import Parameter, signature

    from pegboard.schema.near import nearest

    for one in signature(implementation).parameters.values():
        if one.default is Parameter.empty and one.name not in known:
            near = nearest(one.name, known)
            given = ", ".join(known) or "nothing"
            hint = f"did you mean {near!r}?" if near else f"a hook takes by name what it is given, here {given}"
            raise PluginError(f"{name} takes {one.name!r}, which it is not given; {hint}")

"""The contract between the host and its plugins: every hook, when it fires, what it may answer.

A plugin is any object or module with functions marked `@hookimpl`; a function takes those of a hook's arguments that
it needs. The host asks each hook one implementation at a time, so that every answer carries its plugin's name and one
that raises loses only itself. Hooks compose on the cold path: what they answer is compiled, and no hook is ever called
while a tool runs.

Settings: an argument named `settings` is the plugin's *own* settings, an instance of the class that its
`provide_settings` gave, or None if it gave none.

.. versionadded:: 0.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractAsyncContextManager

    import click

    from pegboard.contract import Check, Dialect, Executor, Guard, Layer, LimitStore, Observer, ToolSource, Validator
    from pegboard.protocols import Board
    from pegboard.tools import Origin, Tool

hookspec = pluggy.HookspecMarker("pegboard")
hookimpl = pluggy.HookimplMarker("pegboard")
"""Marks a function as the implementation of the hook of its name; `@hookimpl(optionalhook=True)` where the hook is
another plugin's.

.. versionadded:: 0.1
"""


@hookspec
def provide_settings() -> type[Any] | None:
    """Give the attrs class of the plugin's settings.

    Fires once, after import and before every hook that takes `settings`; for an installed plugin that gives nothing to
    a board while it loads, and that nobody names, when it is first used. The class is filled from `[plugins.NAME]` of
    the configuration; unknown keys, loose booleans and loose numbers are refused with their place. Declare fields with
    `pegboard.setting` to mark secrets and settings that widen permissions. None: the plugin takes no settings. An
    exception quarantines the plugin.

    .. versionadded:: 0.1
    """


@hookspec
def open_resources(settings: Any) -> AbstractAsyncContextManager[Any] | None:
    """Give an async context manager around what lives as long as the host: a database, a writer thread, a connection.

    Fires once when a host opens, before sources run; left after they ended, in reverse order. What it yields (one
    object, or a tuple of several) is reached by `CallContext.resource(Type)`. None: nothing to open. An exception
    on entry loses this plugin's resources alone; a tool that asks for one answers INTERNAL_ERROR.

    .. versionadded:: 0.1
    """


@hookspec
def provide_tools(settings: Any) -> Iterable[Tool] | None:
    """Give the tools that are known now.

    Fires once when a board is loaded. Keep it cheap: no I/O and no heavy import; import inside the handler instead.
    None: none. An exception quarantines the plugin.

    .. versionadded:: 0.1
    """


@hookspec
def provide_sources(settings: Any) -> Iterable[ToolSource] | None:
    """Give sources of tools that come and go; each runs in one supervised task of the host.

    Fires once when a board is loaded; `ToolSource.run` starts when a host opens. None: none. An exception
    quarantines the plugin.

    .. versionadded:: 0.1
    """


@hookspec
def make_validator(schema: Any, foreign: bool) -> Validator | None:
    """Give a compiled check for one JSON Schema, or None if you cannot hold all of it to the letter.

    Fires when a tool is registered, for its input and its output schema. `foreign` is true where the schema came from
    outside (a server, a manifest): there an unknown keyword is an annotation, in a plugin's own schema it is a
    mistake. Two plugins that both answer are a CONFLICT, which calls of the tool answer until `validator` of the
    configuration names one; the core's own answers where nobody else does. An exception counts as None and is shown
    by doctor.

    .. versionadded:: 0.1
    """


@hookspec
def make_guards(tool: Tool, settings: Any) -> Iterable[Guard] | Guard | None:
    """Give the guards of one tool, each with its stage; what gives none costs nothing.

    Fires when a tool is registered on the board. None: none. If it raises, that tool is not registered: a guard that
    cannot be made must not be missing. A `HeldBackError` says that a person has to look at the tool first, and nothing
    failed.

    .. versionadded:: 0.1
    """


@hookspec
def why_held(name: str, origin: Origin, board: Board, settings: Any) -> tuple[str, str] | None:
    """Say of a tool that its origin no longer has whether a person has to decide about that first.

    Fires when a name is asked for that nothing on the board has, once for each plugin and each source that is up: keep
    it cheap. Give two texts, what changed and how a person accepts that; a call of the name then answers FORBIDDEN,
    reason `held`. None: nothing is known of such a tool. An exception counts as None, and so does any other answer.

    .. versionadded:: 0.1
    """


@hookspec
def make_layers(tool: Tool, settings: Any) -> Iterable[Layer] | Layer | None:
    """Give the layers of one tool: what runs around its work. What gives none costs nothing.

    Fires when a tool is registered on the board. None: none. An exception: the tool is not registered.

    .. versionadded:: 0.1
    """


@hookspec
def make_executor(tool: Tool, settings: Any) -> Executor | None:
    """Say where a tool runs, or None to leave it where it would run.

    Fires when a tool is registered. Two plugins that both answer are a CONFLICT: the tool answers it until
    `executor` under `[tools.NAME]` names one plugin. An exception: the tool is not registered.

    An implementation with the attribute `only_named = True` is asked only where `executor` names its plugin. One that
    runs tools at several places answers with an object whose `at(place)` gives the executor, for `executor =
    "NAME:PLACE"`; None: that place is here, and the tool runs where it would.

    .. versionadded:: 0.1
    """


@hookspec
def provide_observers(settings: Any) -> Iterable[Observer] | None:
    """Give callables that hear every outcome: audit, traces, metrics.

    Fires once when a host opens. None: none. An exception quarantines the plugin.

    .. versionadded:: 0.1
    """


@hookspec
def provide_limit_store(settings: Any) -> LimitStore | None:
    """Give the store in which cooldown, rate and concurrency are counted: of this machine, or of all hosts.

    Fires once for each board, when a tool with such a limit is registered; keep it cheap, and connect when the store is
    first asked. Two plugins that both answer are a CONFLICT, which calls of such tools answer until `limit_store` under
    `[core]` names one. None: nothing to count in. An exception: tools with such limits are not registered.

    An implementation with the attribute `only_named = True` is asked only where `limit_store` names its plugin: a store
    that needs more than to be installed, a server for one, must not count by being there.

    .. versionadded:: 0.1
    """


@hookspec
def provide_dialects() -> Iterable[Dialect] | None:
    """Give the ways in which consumers want tools described, asked for and answered.

    Fires once, when a board is first asked for a dialect. Two of one name are a CONFLICT that names both. None:
    none. An exception quarantines the plugin.

    .. versionadded:: 0.1
    """


@hookspec
def provide_checks(settings: Any) -> Iterable[Check] | None:
    """Give checks for `pegboard doctor`; each finding says how to repair it.

    Fires once for each run of doctor. None: none. An exception is itself a finding, and so is a check that raises,
    gives what is not a `Finding`, or does not end in time.

    .. versionadded:: 0.1
    """


@hookspec
def register_commands(cli: click.Group) -> None:
    """Add commands to the `pegboard` program.

    Fires once when the program needs a command that is not its own, or its list of commands. A command of a name
    that is taken is refused and shown by doctor. An exception loses this plugin's commands.

    .. versionadded:: 0.1
    """


@hookspec
def add_hookspecs() -> Any:
    """Give a module or object with hookspecs of the plugin's own; others implement them with `optionalhook=True`.

    Fires once, before any other hook. None: none. An exception quarantines the plugin.

    .. versionadded:: 0.1
    """

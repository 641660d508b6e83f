"""The entry points of the library. Light to import: trio is imported when a host opens."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from pegboard.config import Config
    from pegboard.host import Host
    from pegboard.registry.board import Board
    from pegboard.results import ToolResult
    from pegboard.sync import SyncHost


def open_host(
    config: str | os.PathLike[str] | Mapping[str, Any] | Config | Board | None = None,
    plugins: Sequence[Any] | None = None,
    *,
    without: Iterable[str] = (),
    overrides: Mapping[str, Any] | None = None,
) -> AbstractAsyncContextManager[Host]:
    """A board that runs: `async with open_host() as host`, under trio.

    Args:
        config: a file or a mapping, which is all that is read; None: the files that are found (see the reference). A
            board that is loaded already serves as well.
        plugins: names: only these of the installed plugins. Objects: these and the built-ins alone, no entry points and
            no files. None: everything that is installed.
        without: plugins to leave out, built-ins too.
        overrides: settings that override all others, as options of a program do.

    Leaving the block cancels the sources, ends worker processes and closes resources in reverse order. An exception of
    the block leaves it as it is, in no group. From a program without trio use `open_host_sync`.

    Raises:
        ConfigError: the configuration is wrong; it lists every fault.
        PluginError: a plugin failed whose failure is fatal.

    .. versionadded:: 0.1
    """
    from pegboard.host import open_host as opened

    return opened(config, plugins, without=without, overrides=overrides)


def load_board(
    config: str | os.PathLike[str] | Mapping[str, Any] | Config | None = None,
    plugins: Sequence[Any] | None = None,
    *,
    without: Iterable[str] = (),
    overrides: Mapping[str, Any] | None = None,
) -> Board:
    """A board without a running loop: tools can be listed, shown and exported, and not called. Takes and raises what
    `open_host` does.

    .. versionadded:: 0.1
    """
    from pegboard.registry.board import load_board as loaded

    return loaded(config, plugins, without=without, overrides=overrides)


@contextlib.contextmanager
def open_host_sync(
    config: str | os.PathLike[str] | Mapping[str, Any] | Config | Board | None = None,
    plugins: Sequence[Any] | None = None,
    *,
    without: Iterable[str] = (),
    overrides: Mapping[str, Any] | None = None,
) -> Iterator[SyncHost]:
    """A host for a program without trio: it runs in a thread of its own, which ends with the block.

    Takes what `open_host` takes; several threads of the program may use it at once.

    Raises:
        RuntimeError: inside a running trio loop, where `open_host` is what you want.
        ConfigError, PluginError: as `open_host`.

    .. versionadded:: 0.1
    """
    from pegboard.sync import run_host

    with run_host(lambda: open_host(config, plugins, without=without, overrides=overrides)) as host:
        yield host


def call_sync(name: str, arguments: Mapping[str, Any] | None = None, user_id: str | None = None) -> ToolResult:
    """One call on a host that is opened and closed around it; for more than one use `open_host_sync`.

    Raises:
        RuntimeError: inside a running trio loop.
        ConfigError, PluginError: as `open_host`.

    .. versionadded:: 0.1
    """
    with open_host_sync() as host:
        return host.session(user_id=user_id).call(name, arguments)

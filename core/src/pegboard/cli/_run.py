"""One run of the program: what its options say, and the board and host that they ask for.

Commands get it as `ctx.obj` (`@click.pass_obj`); so do commands of plugins.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from pegboard._values import Shown
from pegboard.cli._output import OutputError, note
from pegboard.cli._terminal import running_third_party_code
from pegboard.cli._waiting import quiet, waiting
from pegboard.errors import ConfigError, PegboardError, PluginError, ToolError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from pegboard.cli._waiting import Wait
    from pegboard.config import Config
    from pegboard.contract import SourceStatus, ToolSource
    from pegboard.host import Host
    from pegboard.registry.asking import PluginRecord
    from pegboard.registry.board import Board
    from pegboard.tools import Tool

T = TypeVar("T")

LIMIT_STORE = "sqlite"
"""Where limits are counted unless the configuration or a plugin says otherwise: the program is many short processes of
one user."""
USER_LOGGERS = ("pegboard.audit", "pegboard.notice")
"""Loggers whose warnings a person reads without `--debug`: an audit that cannot be written, and what a plugin has to
say that must not be missed."""


@attrs.define(eq=False, repr=False)
class ProgramRun(Shown):
    """One run of the program.

    Args:
        config: the file that `--config` names.
        mcp_config: the file that `--mcp-config` names; pegboard-mcp reads it.
        plugins: the only plugins that are wanted; empty: all that are installed.
        profile: which tools are seen.
        read_only: refuse tools that may change something.
        log_json: where the audit goes: a file, or `-` for stderr.
        strict: any plugin that fails is fatal.
        debug: show tracebacks and the log.
        record: the file that what tools answer is added to, where a command is told one.

    .. versionadded:: 0.1
    """

    config: str | None = None
    mcp_config: str | None = None
    plugins: tuple[str, ...] = ()
    profile: str | None = None
    read_only: bool = False
    log_json: str | None = None
    strict: bool = False
    debug: bool = False
    record: str | None = None
    _board: Board | None = attrs.field(default=None, init=False, repr=False)
    _lost: Mapping[str, str] = attrs.field(factory=dict, init=False, repr=False)

    @property
    def overrides(self) -> dict[str, Any]:
        """What the options say, as settings that override all others."""
        options: dict[str, Any] = {}
        if self.profile is not None:
            options["profile"] = self.profile
        if self.read_only:
            options["read_only"] = True
        if self.strict:
            options["strict"] = True
        sections: dict[str, Any] = {}
        if self.log_json is not None:
            sections["audit"] = {"file": self.log_json}
        if self.mcp_config is not None:
            sections["mcp"] = {"config_file": self.mcp_config}
        if self.record is not None:
            sections["record"] = {"file": self.record, "mode": "record"}
        return {**options, "plugins": sections} if sections else options

    def load_config(self) -> Config:
        """The configuration in force, as far as it can be known without plugins.

        Raises:
            ConfigError: it is wrong.
        """
        from pegboard.config import load_config

        return load_config(self.config, overrides=self.overrides)

    def load_board(self, *, lenient: bool = False) -> Board:
        """The board of this run, loaded once.

        Args:
            lenient: take settings of tools that are not there, as a command does that looks into the configuration.

        Raises:
            ConfigError: the configuration is wrong, or `--mcp-config` has nobody who reads it.
            PluginError: a plugin failed whose failure is fatal.
        """
        if self._board is None:
            self._require_mcp()
            with waiting("loading the plugins") as wait, _naming_plugins(wait):
                board = self._load(self.config, overrides=self.overrides)
            if not lenient:
                self._require_tools(board)
            self._board = board
        return self._board

    def load_known_board(self) -> Board:
        """The board with what its sources offer, for commands that run nothing; says which sources offer nothing.

        Raises:
            PegboardError: as `load_board`.
        """
        from pegboard.cli._sources import WAIT_S, note_absent

        note_absent(self.look_at_sources(WAIT_S))
        return self.load_board()

    def look_at_sources(self, wait_s: float) -> list[SourceStatus]:
        """How the sources do: one that never ran, so that nobody knows its tools, is started for that and stopped
        again. One that fails keeps the others from nothing.

        Args:
            wait_s: how long that may take; 0: nothing is started.

        Raises:
            PegboardError: as `load_board`.
        """
        board = self.load_board()
        unknown = [one for one in board.sources if board.source_states[one[1].name][0].value == "configured"]
        seen = {one.source: one for one in self._started(board, unknown, wait_s)} if unknown and wait_s else {}
        # What ending them took is not a time in which they were looked at.
        return [one if one.is_ready else seen.get(one.source, one) for one in board.source_statuses()]

    def _started(
        self, board: Board, sources: list[tuple[PluginRecord, ToolSource]], wait_s: float
    ) -> list[SourceStatus]:
        """How these sources did when the wait for them was over; those that offered their tools are known from then."""
        import trio

        from pegboard.cli._sources import wait_for_sources
        from pegboard.contract import SourceState

        seen: list[SourceStatus] = []

        async def main(host: Host) -> None:
            seen[:] = await wait_for_sources(
                host, wait_s
            )  # kept, though closing may take longer than the rest of the time

        everything, board.sources = board.sources, sources
        try:
            # The host waits for a source that it requires before anything else, and longer than is meant here.
            self.open_host(main, timeout_s=wait_s + 1)
        except trio.TooSlowError:
            pass
        except PegboardError as problem:
            note(f"warning: {problem.message}")
        finally:
            board.sources = everything
        for name, (state, _) in list(board.source_states.items()):
            if state is SourceState.READY:
                board.set_source_state(name, SourceState.KNOWN)
        return seen

    def load_plain_board(self) -> Board:
        """The board without what files and options say; variables of the environment hold all the same.

        Raises:
            PegboardError: that does not load either.
        """
        self._board = self._load({})
        return self._board

    def load_own_board(self) -> Board:
        """The board as if no configuration had been found: by the person's own file, variables and options alone. It
        is not that of this run.

        Raises:
            PegboardError: that does not load either.
        """
        from pegboard.config import load_config

        return self._load(load_config(overrides=self.overrides, look=False, hold=True))

    def _load(self, config: str | Mapping[str, Any] | Config | None, **options: Any) -> Board:
        from pegboard.registry.board import load_board

        with running_third_party_code():
            board = load_board(config, list(self.plugins) or None, **options)
        board.limit_stores.default = LIMIT_STORE
        return board

    def _require_tools(self, board: Board) -> None:
        """Require that `[tools.NAME]` means a tool, where every tool that could be meant is known by now."""
        from pegboard.config import ConfigFault
        from pegboard.doctor import tools_that_are_not_there

        if self.plugins or board.plugins.quarantined_so_far or board.sources:
            return
        faults = []
        for name, near in tools_that_are_not_there(board):
            path = ("tools", name)
            hint = f"did you mean tools.{near}?" if near else "remove it, or install the plugin that brings the tool"
            got = "a name that none has"
            faults.append(ConfigFault(path, "the name of a tool", got, hint, origin=board.config.origin_of(path)))
        if faults:
            raise ConfigError.of_faults(faults)

    def _require_mcp(self) -> None:
        if self.mcp_config is None:
            return
        from pegboard._installed import installed_plugins

        if not any(one.name == "mcp" for one in installed_plugins()):
            raise ConfigError(
                "--mcp-config needs pegboard-mcp, which is not installed", hint="pip install pegboard-mcp"
            )
        if self.plugins and not {"mcp", "pegboard-mcp"} & set(self.plugins):
            raise ConfigError("--mcp-config needs pegboard-mcp, which --plugin leaves out", hint="add --plugin mcp")

    def open_host(
        self,
        main: Callable[[Host], Awaitable[T]],
        *,
        board: Board | None = None,
        last_words: Callable[[], object] | None = None,
        timeout_s: float = float("inf"),
    ) -> T:
        """Open a host on the board, run `main` on it, close it, and return what `main` returned.

        Ctrl-C cancels what runs and ends the program within a second, whatever a tool or a plugin does about it.

        Args:
            main: `async main(host)`.
            board: another than that of this run's configuration.
            last_words: what a process that is ended by force says before it goes, called in a thread.
            timeout_s: how long all of it may take.

        Raises:
            trio.TooSlowError: it took longer.
            KeyboardInterrupt: Ctrl-C, in no group.
        """
        import trio

        from pegboard import trace
        from pegboard.cli._interrupt import leaving_promptly
        from pegboard.host import open_host

        board = self.load_board() if board is None else board

        async def life() -> T:
            with (
                trace.following(trace.of_environment(os.environ)),
                leaving_promptly(last_words),
                trio.fail_after(timeout_s),
                contextlib.ExitStack() as waits,
            ):
                waits.enter_context(waiting("opening what the tools need"))
                async with open_host(board) as host:
                    waits.close()
                    if not gc.isenabled():  # see `pegboard.cli.main`; what starting made stays
                        gc.freeze()
                        gc.enable()
                    answer = await main(host)
                    waits.enter_context(waiting("closing what the tools needed"))
                self._lost = host.lost_resources
                return answer

        try:
            return trio.run(life)
        except BaseExceptionGroup as group:
            raise _first_of(group) from group

    @property
    def has_lost_recording(self) -> bool:
        """Whether a recording was asked for, and could not be written when the host ended."""
        return self.record is not None and "record" in self._lost

    def tool(self, name: str) -> Tool:
        """The tool of that name that this run sees, one that cannot be called just now too.

        Raises:
            ConfigError: there is none; the nearest ones are named.
        """
        from pegboard.absence import not_found
        from pegboard.cli._sources import WAIT_S, note_absent
        from pegboard.schema.near import NearNames

        board = self.load_board()
        looked_at = [] if name in board.visible_tools().plans else self.look_at_sources(WAIT_S)
        entry = board.visible_tools().plans.get(name)
        away = [] if entry is not None else board.sources_away(name, profile=board.config.core.profile)
        told = {one.source for one in away}  # by the error
        note_absent(one for one in looked_at if one.source not in told)
        if entry is not None:
            return entry.tool
        if held := board.held_back(name, profile=board.config.core.profile):
            message = f"the tool {name!r} of {held.details['source']} is held back: {held.details['changed']}"
            raise PluginError(message, hint=held.details["fix"])
        absent = board.rejected_tools.get(name)
        if absent is not None:
            raise PluginError(
                f"the tool {name!r} of {absent.origin} is not on the board: {absent.why}", hint=absent.fix
            )
        near = NearNames().find(name, board.visible_tools().offered.plans, 3)
        hint = f"did you mean {' or '.join(near)}?" if near else "pegboard list shows the tools on the board"
        raise ConfigError(not_found(name, (), away).message, hint=hint if near or not away else None)


@contextlib.contextmanager
def _naming_plugins(wait: Wait) -> Iterator[None]:
    """While a board loads the wait says which plugin's code runs: one that hangs is known by it."""
    from pegboard.registry.asking import WATCHER

    token = WATCHER.set(lambda options: setattr(wait, "text", f"loading: {options}"))
    try:
        yield
    finally:
        WATCHER.reset(token)


def _first_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What a person is told of a group: the first of it that is meant for them, else the first of it."""
    for kind in (KeyboardInterrupt, PegboardError, OutputError, ToolError, BaseException):
        part = group.subgroup(kind)
        if part is not None:
            first = part.exceptions[0]
            return _first_of(first) if isinstance(first, BaseExceptionGroup) else first
    raise AssertionError("a group holds something")


def start_logging(*, debug: bool) -> None:
    """The log of the library goes to stderr with `--debug`, and else nowhere: messages for people are the program's.

    Warnings of `USER_LOGGERS` are said in any case: nobody would look for what is missing or has changed there.
    """
    import logging

    from pegboard.cli._text import printable

    class Handler(logging.StreamHandler[Any]):
        def emit(self, record: logging.LogRecord) -> None:
            with quiet():
                super().emit(record)

    class Formatter(logging.Formatter):
        """Third-party text is in these lines too."""

        def format(self, record: logging.LogRecord) -> str:
            return printable(super().format(record))

    root = logging.getLogger()
    handler: logging.Handler = Handler(sys.stderr) if debug else logging.NullHandler()
    handler.set_name("pegboard program")
    handler.setFormatter(Formatter("%(levelname)s %(name)s: %(message)s"))
    root.handlers[:] = [*(one for one in root.handlers if one.get_name() != handler.get_name()), handler]
    heard = Handler(sys.stderr)
    heard.setFormatter(Formatter("warning: %(message)s"))
    heard.set_name(handler.get_name())
    for name in USER_LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers[:] = [one for one in logger.handlers if one.get_name() != heard.get_name()]
        if not debug:
            logger.addHandler(heard)
    logging.getLogger("pegboard").setLevel(logging.DEBUG if debug else logging.NOTSET)

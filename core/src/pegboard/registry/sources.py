"""The sources that plugins provide: whose each is, how it is doing, and what it could have brought.

A name that nobody has may be of a source that is not up, or of a tool that a person has to accept first. Which those
are is found here; `pegboard.absence` says it.
"""

from __future__ import annotations

import functools
import os
from time import monotonic
from typing import TYPE_CHECKING, Any

import attrs

from pegboard.config._secrets import get_logger
from pegboard.contract import SourceState, SourceStatus
from pegboard.registry.conflicts import RejectedTool, is_wanted
from pegboard.schema.jsontext import shorten_text
from pegboard.tools import Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pegboard.config import Config
    from pegboard.contract import ToolSource
    from pegboard.errors import ToolError
    from pegboard.protocols import Board
    from pegboard.registry.asking import PluginRecord
    from pegboard.tools import Tool

log = get_logger("pegboard")

MAX_REASON = 600
"""The longest reason of a source's state, in characters."""
UP = (SourceState.READY, SourceState.KNOWN)
"""States of a source whose list of tools is the one that it offers."""


class Sources:
    """The sources of one board.

    Attributes:
        provided: each with the plugin's record, in the order they were found.
        states: how each is doing, and the reason.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self.provided: list[tuple[PluginRecord, ToolSource]] = []
        self.states: dict[str, tuple[SourceState, str | None]] = {}
        self._owners: dict[str, tuple[PluginRecord, ToolSource]] = {}
        self._since: dict[str, float] = {}
        self._told: dict[str, str | None] = {}

    def add(self, record: PluginRecord, source: ToolSource) -> None:
        """Take one whose name no other has."""
        self.provided.append((record, source))
        self._owners[source.name] = record, source
        self.set_state(source.name, SourceState.CONFIGURED)

    def origin_of(self, source: str) -> Origin:
        """Of the tools of a source."""
        owner = self._owners.get(source)
        return _origin(*owner) if owner else Origin(source=source)

    def other_name(self, source: str, name: str) -> str | None:
        """How a source calls a tool whose name is taken, if it can tell."""
        ask = getattr(self._owners[source][1], "other_name", None) if source in self._owners else None
        return None if ask is None else ask(name)

    # -- trust

    @property
    def has_untrusted(self) -> bool:
        """Whether there is a source that nobody said to trust."""
        return any(not _is_trusted(source) for _, source in self.provided)

    def is_untrusted(self, origin: Origin) -> bool:
        """Whether what comes from there is of a source that nobody said to trust.

        A tool of the source's plugin that belongs to no source itself, such as one that reads any server's resources,
        counts as of all of them.
        """
        owner = self._owners.get(origin.source or "")
        if owner is not None:
            return not _is_trusted(owner[1])
        plugin = origin.plugin
        return plugin is not None and any(
            record.name == plugin and not _is_trusted(source) for record, source in self._owners.values()
        )

    def is_third_party(self, tool: Tool) -> bool:
        """Whether somebody else's server or service is sent what the tool is given."""
        owner = self._owners.get(tool.origin.source or "")
        return (
            bool(tool.annotations.open_world) if owner is None else getattr(owner[1], "third_party", True) is not False
        )

    def secrets(self) -> Iterator[str]:
        """What the sources know as secret."""
        for _, source in self.provided:
            yield from getattr(source, "secrets", ())

    def secrets_of(self, one: Tool | str) -> set[str]:
        """The secrets that belong to a tool, its source's and those that it declares itself; or to a source."""
        from pegboard.secrets.carried import keys_in

        source, declared = (one, ()) if isinstance(one, str) else (one.origin.source or "", one.secrets)
        owner = self._owners.get(source)
        found = {os.environ.get(name, "") for name in declared}
        found.update(getattr(owner[1], "secrets", ()) if owner is not None else ())
        return {key for value in found for key in keys_in(value)}

    # -- how they are doing

    def set_state(self, source: str, state: SourceState, reason: str | None = None, told: str | None = None) -> None:
        """Note how a source is doing; see `Board.set_source_state`."""
        before = self.states.get(source)
        if before is None or before[0] is not state:
            self._since[source] = monotonic()
        line = " ".join(reason.split()) if reason is not None else None
        self.states[source] = (state, line and shorten_text(line, MAX_REASON))
        self._told[source] = told

    def statuses(self, counts: Mapping[str | None, int], rejected: Iterable[RejectedTool]) -> list[SourceStatus]:
        """How every source is doing, in the order of their names.

        Args:
            counts: how many tools of each are on the board.
            rejected: the tools that are not.
        """
        found = (self._status_of(one, source, counts.get(source.name, 0), rejected) for one, source in self.provided)
        return sorted(found, key=lambda one: one.source)

    def _status_of(
        self, record: PluginRecord, provided: ToolSource, tools: int, rejected: Iterable[RejectedTool]
    ) -> SourceStatus:
        source = provided.name
        state, reason = self.states[source]
        is_up = state in UP
        if is_up and not tools:
            own = [one for one in rejected if one.origin.source == source]
            one = next((one for one in own if one.is_held), own[0] if own else None)
            state = SourceState.HELD if one is not None and one.is_held else state
            empty, off = "its list of tools is empty", "its tools are not on the board"
            empty = getattr(provided, "why_empty", None) or empty
            reason = empty if one is None else f"{off}: {one.why}; {one.fix}"
        since_s = monotonic() - self._since.get(source, monotonic())
        return SourceStatus(source, record.name, state, since_s, reason or (None if is_up else state.meaning), tools)

    # -- what is not there

    def away(self, name: str, profile: str | None, board: Board) -> list[SourceStatus]:
        """Those that could have brought a tool of that name, and are not ready; see `Board.sources_away`."""
        is_held = any(one.is_held for one in board.rejected_tools.values())
        if not is_held and all(state in UP for state, _ in self.states.values()):
            return []  # at once: models miss names all day
        found = {
            one.source: attrs.evolve(one, reason=self._told.get(one.source) or one.reason)
            for one in board.source_statuses()
            if not one.is_ready
        }
        for record, source in self.provided:
            if source.name in found and not (
                self._may_have(name, _origin(record, source), profile) and _may_bring(board, record, source, name)
            ):
                del found[source.name]
        return list(found.values())

    def held(self, rejected: Iterable[RejectedTool]) -> list[RejectedTool]:
        """What a person has to accept first; see `Board.held`."""
        found = [one for one in rejected if one.is_held]
        for record, source in self.provided:
            for name, problem in getattr(source, "held", {}).items():
                origin, fix = _origin(record, source), problem.hint or ""
                found.append(RejectedTool(name, origin, problem.message, fix, is_held=True, all_fix=problem.all_hint))
        return sorted(found, key=lambda one: (one.kind != "tool", one.name))

    def held_back(self, name: str, profile: str | None, board: Board) -> ToolError | None:
        """FORBIDDEN of a tool that a person has to accept first; see `Board.held_back`."""
        from pegboard.absence import held_back

        if name in board.registry.plans:  # it is here, and the profile leaves it out
            return None
        offered = board.rejected_tools.get(name)
        if offered is not None:
            is_told = offered.is_held and self._may_have(name, offered.origin, profile)
            return held_back(name, offered.origin, offered.why, offered.fix) if is_told else None
        for origin, record, ask in self._who_may_have_had(name, board):
            if self._may_have(name, origin, profile):
                found = board.plugins.run(record, "why_held", _note_failed, functools.partial(_pair, ask))
                if found is not None:
                    return held_back(name, origin, *found)
        return None

    def _who_may_have_had(self, name: str, board: Board) -> Iterator[tuple[Origin, PluginRecord, Callable[[], Any]]]:
        """Every source and plugin, with what to ask of a tool of that name which it no longer has, and whose code that
        is. Of a source that is not up nobody but itself can tell whether it still has it."""
        plugins = board.plugins
        hooks = [
            (one, functools.partial(ask, name=name, board=board, settings=one.settings))
            for one, ask in plugins.implementations("why_held")
        ]
        for record, source in self.provided:
            origin = _origin(record, source)
            own = getattr(source, "why_held", None)
            if own is not None:
                yield origin, record, functools.partial(own, name)
            for one, ask in hooks if self.states[source.name][0] in UP else ():
                yield origin, one, functools.partial(ask, origin=origin)
        for record in plugins.records.values() if hooks else ():
            if not record.builtin and record.quarantined is None:
                origin = Origin(record.distribution, record.name)
                for one, ask in hooks:
                    yield origin, one, functools.partial(ask, origin=origin)

    def _may_have(self, name: str, origin: Origin, profile: str | None) -> bool:
        """Whether a tool of that name from there is one that sessions of the profile could have."""
        selected = self._config.profiles.get(profile) if profile is not None else None
        origins = (origin.source, origin.plugin, origin.distribution)
        return is_wanted(self._config, name, origin) and (selected is None or selected.may_select(name, origins))


def _is_trusted(source: ToolSource) -> bool:
    """What a source says that is not a plain yes counts as no."""
    return getattr(source, "trusted", False) is True


def is_source(one: object) -> bool:
    """Whether it is one as far as its members say."""
    if not (isinstance(getattr(one, "name", None), str) and callable(getattr(one, "run", None))):
        return False
    return isinstance(getattr(one, "timeout_s", None), (int, float, type(None)))


def _origin(record: PluginRecord, source: ToolSource) -> Origin:
    return Origin(record.distribution, record.name, source.name)


def _may_bring(board: Board, record: PluginRecord, source: ToolSource, name: str) -> bool:
    """Whether a source that is not ready could have a tool of that name; one that cannot tell may have any."""
    ask = getattr(source, "may_bring", None)
    if ask is None:
        return True
    return board.plugins.run(record, "may_bring", _note_failed, lambda: bool(ask(name))) is not False


def _pair(ask: Callable[[], Any]) -> tuple[str, str] | None:
    """An answer of two texts; any other does not count, and the name is not there."""
    if (answer := ask()) is None:
        return None
    why, fix = answer
    return (why, fix) if isinstance(why, str) and isinstance(fix, str) else None


def _note_failed(record: PluginRecord, where: str, problem: BaseException) -> None:
    log.error("plugin %s failed at %s, so that it counts as no answer", record.label, where, exc_info=problem)

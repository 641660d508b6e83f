"""The lock of one board, for whoever looks at it and accepts: `pegboard lock`, and the page *Sources* of the inspector.

A review is what changed on the tools' public definitions at one moment, whatever brings them: MCP servers, manifests,
plugins. Sources that are not up are not judged: what was accepted of them stays as it is. Accepting takes changes of
this very review, and files alone are written; sources are told by whoever accepted (`ToolSource.offer_again`).

Everything here may wait for a disk; inside a running loop it belongs in a thread.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ConfigError, PegboardError, PluginError, SourceState
from pegboard.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pegboard import Board, HeldBackError
    from pegboard_mcp.lock.compare import Change
    from pegboard_mcp.lock.memory import Changed
    from pegboard_mcp.lock.pins import Key, Pin
    from pegboard_mcp.settings import McpSettings

UP = (SourceState.READY, SourceState.KNOWN)
"""States of a source that has a list, which is judged."""


@attrs.frozen(eq=False)
class LockReview:
    """What changed on one board since it was accepted.

    Args:
        path: the lock that holds here; None: there is none yet.
        changes: every difference, by source and name.
        accepted: what the lock has.
        seen: what was looked at.
        silent: sources that could not be asked, each with why.
        remembered: which of the changes are of what was first seen here, and need no lock to be accepted in.

    .. versionadded:: 0.1
    """

    path: Path | None
    changes: tuple[Change, ...]
    accepted: tuple[Key, ...]
    seen: tuple[Key, ...]
    silent: Mapping[str, str]
    _settings: McpSettings = attrs.field(repr=False)
    remembered: Mapping[Key, tuple[Any, Pin]] = attrs.field(factory=dict, repr=False)
    _now: Mapping[Key, Pin] = attrs.field(factory=dict, repr=False)

    @property
    def place(self) -> Path:
        """Where the lock is, or would be written: beside the configuration that is found from here, else here."""
        return (self.path or _new_path()).resolve()

    @property
    def holds_back(self) -> bool:
        """Whether a tool that nobody accepted as it is stays away (`lock = "enforce"`), or is told of alone."""
        return self._settings.lock == "enforce"

    def untrusted(self) -> HeldBackError | None:
        """Why the lock lets nothing through as it stands now, though it can be read; None: it does, or there is none.

        Raises:
            PluginError: it cannot be read.
        """
        from pegboard_mcp.lock.file import load_lock
        from pegboard_mcp.lock.watch import why_untrusted

        if self.path is None or not self.path.exists() or self._settings.lock != "enforce":
            return None
        return why_untrusted(self._settings, self.path, load_lock(self.path))

    def accept(self, changes: Iterable[Change]) -> Path | None:
        """Write what is now over what was, for these changes alone; where that stands, and None where nothing was to
        be written there. What was first seen here is accepted in any case; a lock is made only for more than that.

        Raises:
            PluginError: the lock, or what was first seen, cannot be read or written.
        """
        from pegboard.config import is_trusted, replace_file, trust
        from pegboard_mcp.lock.file import load_lock, parse_lock, write_lock
        from pegboard_mcp.lock.shown import forget_shown
        from pegboard_mcp.lock.watch import is_signed, watch_of

        changes = list(changes)
        path = self.path or _new_path()
        content = load_lock(path) if path.exists() else None
        self._accept_seen(changes)
        kept = [one for one in changes if _key_of(one) in self._now or one.now is None]
        if (content is not None and not kept) or (content is None and changes and self._are_remembered(changes)):
            forget_shown(path.resolve(), changes)
            return None
        pins = parse_lock(content, path) if content is not None else {}
        is_own = content is None or is_trusted(path, content) or is_signed(self._settings, path, content)
        for change in kept:
            if change.was is not None:
                pins.pop(change.was.key, None)
            if change.now is not None:
                pins[change.now.key] = self._now[change.now.key]
        write_lock(path, pins.values())
        if is_own:  # who accepts some tools did not accept all the others that stand in somebody else's list
            try:
                trust(path)
            except ConfigError:  # nobody could tell it from somebody else's: it is as it was
                with contextlib.suppress(OSError):
                    path.unlink() if content is None else replace_file(path.resolve(), content)
                raise
        watch_of(self._settings).look_again()
        forget_shown(path.resolve(), changes)
        return path

    def _are_remembered(self, changes: Iterable[Change]) -> bool:
        return all(_key_of(one) in self.remembered for one in changes)

    def _accept_seen(self, changes: Iterable[Change]) -> None:
        by_source: dict[str, tuple[Any, list[Pin]]] = {}
        for change in changes:
            if (found := self.remembered.get(_key_of(change))) is not None:
                by_source.setdefault(change.source, (found[0], []))[1].append(found[1])
        for name, (source, pins) in by_source.items():
            try:
                source.accept_seen(pins)
            except OSError as problem:
                why = problem.strerror or "no reason is known"
                raise PluginError(
                    f"what was accepted of {name} cannot be kept: {why}",
                    hint="look at the user's state folder, below mcp/seen",
                ) from None

    def find(self, shown: Mapping[tuple[str, str], str]) -> list[Change]:
        """The changes that a person was shown and accepts.

        Args:
            shown: by source and name: the `state` of each change, as it was shown.

        Raises:
            ConfigError: one is other than it was shown; the message names it.
        """
        found = [one for one in self.changes if shown.get((one.source, one.name)) == one.state]
        as_shown = {(one.source, one.name) for one in found}
        if other := [key for key in shown if key not in as_shown]:
            raise not_as_shown_error(other, "look at it again, then accept it")
        return found


def _key_of(change: Change) -> Key:
    from pegboard_mcp.lock.pins import Key

    return Key(change.source, change.name)


def not_as_shown_error(keys: Sequence[tuple[str, str]], hint: str) -> ConfigError:
    """What is accepted is not what a person saw: a server may change between the two."""
    named = ", ".join(f"{name[:80]} of {source[:80]}" for source, name in keys[:5])
    more = f" and {len(keys) - 5} more" if len(keys) > 5 else ""
    return ConfigError(visible(f"not as it was shown last: {named}{more}; nothing was accepted"), hint=hint)


def review_lock(board: Board, *, silent: Mapping[str, str] | None = None, is_whole: bool = True) -> LockReview:
    """What changed on a board since it was accepted.

    Args:
        board: whose tools are looked at, as they are registered now, or would be were they not held back.
        silent: sources that could not be asked, each with why; None: those that are neither ready nor known.
        is_whole: whether every plugin is on the board; else what it does not have may be of one that was left out.

    Raises:
        ConfigError: pegboard-mcp is not on the board.
        PluginError: the lock cannot be read.

    .. versionadded:: 0.1
    """
    from pegboard_mcp.lock.compare import changes_of
    from pegboard_mcp.lock.file import read_lock
    from pegboard_mcp.lock.watch import lock_path, settings_of

    settings = settings_of(board)
    if settings is None:
        raise ConfigError("pegboard-mcp, whose the lock is, is not on the board", hint="install it, or name it too")
    if silent is None:
        silent = {
            name: reason or f"it is {state.value}"
            for name, (state, reason) in board.source_states.items()
            if state not in UP
        }
    path = lock_path(settings)
    was = read_lock(path) if path is not None and path.exists() else {}
    now, unasked = _pins_on(board, settings)
    unasked |= set(silent)
    changes = changes_of(
        was.values(), now.values(), may_be_gone=lambda pin: _may_be_gone(pin, board, unasked, is_whole=is_whole)
    )
    seen = {} if settings.lock == "enforce" else _seen_on(board)
    shown = {_key_of(one): one for one in changes}
    for key, (_, one) in seen.items():
        if key not in was:  # what the lock has is compared with that
            shown[key] = _since_seen(key, one)
    remembered = {key: (source, one.now) for key, (source, one) in seen.items()}
    return LockReview(
        path, tuple(shown[key] for key in sorted(shown)), tuple(was), tuple(now), dict(silent), settings, remembered,
        now,
    )  # fmt: skip


def _seen_on(board: Board) -> dict[Key, tuple[Any, Changed]]:
    """What changed since it was first seen, whatever source has it, each with the source."""
    from pegboard_mcp.lock.pins import Key

    return {
        Key(source.name, name): (source, one)
        for _, source in board.sources
        if hasattr(source, "seen_changes")
        for name, one in source.seen_changes().items()
    }


def _since_seen(key: Key, one: Changed) -> Change:
    """A change since the first sight, as one since the last acceptance is shown."""
    from pegboard_mcp.lock.compare import Change, Reason, compare_definitions
    from pegboard_mcp.lock.pins import Pin, fingerprint_of

    def named(pin: Pin) -> Pin:
        definition = {**(pin.definition or {}), "name": key.name}
        return Pin(key.source, key.name, definition, fingerprint_of(definition))

    now = named(one.now)
    if one.was is None:
        return Change("new", key.name, key.source, None, now, (Reason("unknown", "name", one.words),))
    reasons = compare_definitions(one.was.definition or {}, one.now.definition or {})
    reasons = reasons or [Reason("unknown", "what starts it", one.words)]
    return Change("changed", key.name, key.source, named(one.was), now, tuple(reasons))


def _pins_on(board: Board, settings: McpSettings) -> tuple[dict[Key, Pin], set[str]]:
    """The tools as they are now; and names that cannot be called for other reasons, which say nothing of their
    tools."""
    from pegboard_mcp.lock.pins import pin_of
    from pegboard_mcp.lock.watch import seen_on

    seen = seen_on(board, settings)
    names = {key.name for key in seen}
    unasked = {name for name in board.rejected_tools if name not in names}
    unasked |= {entry.tool.name for entry in board.registry.plans.values() if _is_in_conflict(entry)}
    pins = {key: pin_of(tool) for key, tool in seen.items()}
    offered: list[Pin] = [
        pin for _, source in board.sources if hasattr(source, "resource_pins") for pin in source.resource_pins()
    ]
    offered += [source.server_pin() for _, source in board.sources if hasattr(source, "server_pin")]
    return pins | {pin.key: pin for pin in offered}, unasked


def _is_in_conflict(entry: Any) -> bool:
    error = getattr(entry, "error", None)
    return error is not None and error.details.get("reason") == "conflict"


def _may_be_gone(pin: Pin, board: Board, unasked: set[str], *, is_whole: bool) -> bool:
    """Whether a tool that is not there is gone: not where nobody looked for it, or what brings it is quarantined."""
    quarantined = board.plugins.quarantined
    if {pin.name, pin.source} & unasked or pin.source in {one.name for one in quarantined}:
        return False
    if pin.source in {one.distribution for one in quarantined}:
        return False
    there = {source.name for _, source in board.sources}
    return is_whole or pin.source in there | {one.distribution or one.name for one in board.plugins}


def _new_path() -> Path:
    """Where the first lock is written: beside the configuration that is found from here, else here."""
    from pegboard.config import find_found_file
    from pegboard_mcp.lock.place import NAME

    try:
        beside = find_found_file()
    except PegboardError:
        beside = None
    return (beside.parent if beside is not None else Path.cwd()) / NAME

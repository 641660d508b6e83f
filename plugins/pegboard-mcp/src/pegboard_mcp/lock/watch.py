"""Whether a tool looks as it did when it was accepted: asked for every tool that is registered.

What accepted means says `pegboard_mcp.settings.LOCKS`: what the lock has, or what was first seen. The lock is looked
for once a board, and again after a while; where there is none, a tool costs a look at the clock. Nothing here is
imported, and no fingerprint is made, before a lock is there or something changed.

A tool that is held back is remembered, for `pegboard lock` and doctor: the board knows only its name.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import time
import weakref
from typing import TYPE_CHECKING, Any

from pegboard import Finding, HeldBackError, PegboardError, PluginError
from pegboard_mcp.lock.place import NAME, find_lock, name_of
from pegboard_mcp.settings import LOCKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from pegboard import Origin, Tool
    from pegboard_mcp.lock.pins import Key, Pin
    from pegboard_mcp.settings import McpSettings

log = logging.getLogger("pegboard.notice")  # what a person reads without looking for it

LOOK_S = 1.0
"""For so long a lock that was found, or that was not there, is taken to stay as it is."""
MAX_HELD = 10_000
MAX_TOLD, AT_ONCE_S = 3, 10.0
"""How many tools of one server are warned of one by one, that changed within so many seconds."""
ACCEPT_ALL = "look at all of it: pegboard lock, then pegboard lock --accept"


def check_tool(tool: Tool, settings: McpSettings) -> None:
    """Hold a tool to what was accepted of it.

    Raises:
        PluginError: `lock = "enforce"`, and the tool is new or has changed, or the lock cannot be read, or it was found
            and is not trusted; `notice`, and it changed since it was first seen.
    """
    if settings.lock != "off":
        watch_of(settings).check(tool, holds=LOCKS[settings.lock])


def lock_path(settings: McpSettings) -> Path | None:
    """The lock that holds here: what the settings name, whether it is there or not, else the nearest one upwards."""
    if settings.lock_file is not None:
        from pegboard.config import expand_home

        return expand_home(settings.lock_file)
    try:
        return find_lock(os.getcwd())  # noqa: PTH109 - see there
    except OSError:  # the working directory is gone
        return None


class Watch:
    """The lock of one board.

    Attributes:
        held: tools that are held back, by key.
        judges: by source: what says why a tool of it is not as it was first seen.
        place: the file, as people are told of it.
    """

    def __init__(self, settings: McpSettings) -> None:
        self.held: dict[Key, Tool] = {}
        self.judges: dict[str, Callable[[Tool], HeldBackError | None]] = {}
        self.place = NAME
        self._settings = weakref.ref(settings)
        self._looked_at = -LOOK_S
        self._seen: Any = None
        self._pins: dict[Key, Pin] | None = None
        self._problem: PluginError | None = None
        self._read: tuple[Path, bytes] | None = None
        self._is_trusted: bool | None = None
        self._told: set[tuple[str, str]] = set()
        self._told_at_once: dict[str, tuple[float, int]] = {}
        self._sound: dict[Key, bool] = {}

    def pins(self) -> dict[Key, Pin] | None:
        """What was accepted; None where there is no lock.

        Raises:
            PluginError: it cannot be read.
        """
        now = time.monotonic()
        if now - self._looked_at >= LOOK_S:
            self._looked_at = now
            self._look()
        if self._problem is not None:
            raise self._problem.with_traceback(None)  # it is raised again and again, and would grow with each
        return self._pins

    def look_again(self) -> None:
        """Read the lock when it is asked for next: it was written just now."""
        self._looked_at = -math.inf

    def _look(self) -> None:
        settings = self._settings()
        path = lock_path(settings) if settings is not None else None
        self.place = name_of(path) if path is not None else NAME
        try:
            found = path.stat() if path is not None else None
        except OSError:
            found = None
        seen = (
            None if found is None else (path, found.st_mtime_ns, found.st_size, found.st_ino, *_signed(path, settings))
        )
        if seen == self._seen:
            return
        self._seen, self._pins, self._problem = seen, None, None
        self._read = self._is_trusted = None
        self._sound.clear()
        if seen is not None and path is not None and settings is not None:
            from pegboard_mcp.lock.file import LockError, load_lock, parse_lock

            try:
                content = load_lock(path)  # what is parsed is what is trusted
                self._pins = parse_lock(content, path)
                self._read = path, content
                self._problem = why_untrusted(settings, path, content) if settings.lock == "enforce" else None
            except LockError as problem:
                self._problem = problem

    def verify_ahead(self) -> None:
        """Have the signature of the lock verified, if that is what it would count by. It starts a program: who is in a
        loop does this in a thread, before anything is registered. Changes nothing here."""
        settings = self._settings()
        path = lock_path(settings) if settings is not None else None
        if settings is None or path is None or settings.lock_file is not None or not os.path.lexists(f"{path}.sig"):
            return
        from pegboard.config import is_trusted
        from pegboard_mcp.lock.file import LockError, load_lock
        from pegboard_mcp.lock.signature import verify_ahead

        with contextlib.suppress(LockError):  # everything that is held back says so
            content = load_lock(path)
            if not is_trusted(path, content):
                verify_ahead(settings, path, content)

    def check(self, tool: Tool, *, holds: str | None) -> None:
        """See `check_tool`."""
        if holds != "all":
            self._warn(tool)
            judge = self.judges.get(tool.origin.source or "")
            changed = judge(tool) if judge is not None and holds == "changes" else None
            if changed is None and not self.held:
                return
        elif _is_pinned(tool):
            changed = None
        else:
            return
        from pegboard_mcp.lock.pins import Pin, accepted_fingerprint, definition_of, source_of

        pin = Pin(source_of(tool.origin), tool.name, lambda: definition_of(tool), accepted_fingerprint(tool))
        if holds == "all":
            problem = self.why_held(pin)
        else:
            problem = None if changed is None or self.is_accepted(pin) else changed
        self.held.pop(pin.key, None)
        if problem is None:
            return
        if len(self.held) < MAX_HELD:
            self.held[pin.key] = tool
        raise problem

    def is_accepted(self, pin: Pin) -> bool:
        """Whether a lock that counts here has this, as it is."""
        settings = self._settings()
        try:
            accepted = (self.pins() or {}).get(pin.key)
        except PluginError:
            return False
        if accepted is None or accepted.fingerprint != pin.fingerprint or settings is None:
            return False
        if not self._is_sound(accepted):
            return False
        if self._is_trusted is None and self._read is not None:
            self._is_trusted = why_untrusted(settings, *self._read) is None
        return self._is_trusted is True

    def why_held(self, pin: Pin) -> HeldBackError | None:
        """Why what looks like this is held back where `lock = "enforce"`, and how it is accepted; None: it is accepted
        as it is."""
        try:
            pins = self.pins()
        except PluginError as problem:
            return HeldBackError(problem.message, hint=problem.hint, all_hint=problem.hint)
        if pins is None:
            why = f"no tool is accepted yet: lock is enforce, and there is no {self.place}"
            return HeldBackError(why, hint=how_to_accept(pin.name), all_hint=ACCEPT_ALL)
        accepted = pins.get(pin.key)
        same = accepted is not None and accepted.fingerprint == pin.fingerprint
        if same and accepted is not None and self._is_sound(accepted):
            return None
        why = "it is new, and nobody accepted it yet"
        if same:
            why = "its block in the lock was edited: what people read there is not what its fingerprint lets through"
        elif accepted is not None:
            why = f"it changed since it was accepted: {what_is_other(accepted, pin.definition)}"
        return HeldBackError(why, hint=how_to_accept(pin.name))

    def _is_sound(self, accepted: Pin) -> bool:
        """Whether a block says what its fingerprint lets through: who looks at a lock, or at what a commit changes,
        reads the one, and the other decides."""
        if accepted.key not in self._sound:
            self._sound[accepted.key] = accepted.is_sound
        return self._sound[accepted.key]

    def _warn(self, tool: Tool) -> None:
        """Tell once of each face that is not the accepted one."""
        try:
            pins = self.pins()
        except PluginError as problem:
            self._tell("", "", "%s", problem.message)
            return
        if pins and _is_pinned(tool):
            from pegboard_mcp.lock.pins import Key, accepted_fingerprint, definition_of, source_of

            key = Key(source_of(tool.origin), tool.name)
            pin = pins.get(key)
            if pin is not None and pin.fingerprint != accepted_fingerprint(tool):
                self._tell_of_tool(tool, *map(_plain, (*key[::-1], what_is_other(pin, definition_of(tool)))))

    def _tell_of_tool(self, tool: Tool, name: str, source: str, other: str) -> None:
        """Of a server of which many tools changed at once, as with a new version, the first ones: who is told of
        thirty reads none of them."""
        began, told = self._told_at_once.get(source, (-math.inf, 0))
        if (now := time.monotonic()) - began > AT_ONCE_S:
            began, told = now, 0
        if told < MAX_TOLD:
            message = "the tool %s of %s changed since it was accepted: %s"
            is_new = self._tell(tool.name, tool.fingerprint, message, name, source, other)
        else:
            message = "more tools of %s changed since they were accepted; pegboard lock shows all of them"
            is_new = self._tell(tool.name, tool.fingerprint, message if told == MAX_TOLD else "", source)
        self._told_at_once[source] = began, told + is_new

    def look_at_server(self, pin: Pin) -> None:
        """Tell a person, once, where another program is about to be started than the one that was accepted."""
        try:
            was = (self.pins() or {}).get(pin.key)
        except PluginError:  # everything that is held back says so
            return
        if was is not None and was.fingerprint != pin.fingerprint:
            from pegboard_mcp.lock.words import describe

            words = describe(was.definition, pin.definition)
            message = "the server %s changed since it was accepted: %s"
            self._tell(pin.name, pin.fingerprint, message, pin.source, words)

    def why_gone(self, board: Any, origin: Origin, name: str) -> tuple[str, str] | None:
        """Of a tool that was accepted and that its origin no longer has: what became of it, and how that is accepted;
        None of one that nobody accepted."""
        from pegboard_mcp.lock.pins import Key, content_of, source_of

        try:
            pins = self.pins() or {}
        except PluginError:  # then nothing is known of what was accepted
            return None
        source = source_of(origin)
        pin = pins.get(Key(source, name))
        if pin is None:
            return None
        content = None if pin.definition is None else content_of(pin.definition)
        new = [tool for key, tool in self.held_on(board).items() if key.source == source and key not in pins]
        called = next((tool.name for tool in new if content_of(tool.public_definition) == content), None)
        why = "it was removed since it was accepted" if called is None else f"it was renamed to {called} since"
        return why, how_to_accept(name if called is None else called)

    def held_on(self, board: Any) -> dict[Key, Tool]:
        """Those of the tools that were held back which are offered still."""
        from pegboard_mcp.lock.pins import source_of

        absent = {key: board.rejected_tools.get(key.name) for key in self.held}
        return {
            key: self.held[key]
            for key, one in absent.items()
            if one is not None and source_of(one.origin) == key.source
        }

    def _tell(self, name: str, fingerprint: str, message: str, *words: str) -> bool:
        """Warn once of each public definition, with the message if there is one; whether it is new."""
        is_new = (name, fingerprint) not in self._told and len(self._told) < MAX_HELD
        if is_new:
            self._told.add((name, fingerprint))
            if message:
                log.warning(message, *words)
        return is_new


def _quoted(word: str) -> str:
    import shlex  # every board loads this module, and next to none has anything to quote

    return shlex.quote(word)


def how_to_accept(name: str) -> str:
    """What a person does who wants a tool, a resource or a template that is held back."""
    name = _quoted(name)
    return f"look at it: pegboard lock {name}, then pegboard lock --accept {name}"


def why_untrusted(settings: McpSettings, path: Path, content: bytes) -> HeldBackError | None:
    """Why a lock lets nothing through though it can be read: it was discovered but not trusted, and no person accepted
    it, nor signed it whom they let sign; None: it does."""
    from pegboard.config import is_trusted

    if settings.lock_file is not None or is_trusted(path, content):
        return None
    refused = _why_signature_refused(settings, path, content)
    if refused is None:
        return None
    why = f"{name_of(path)} was found, not named, and nobody here accepted it as it stands"
    fix = f"look at it, then: pegboard trust {_quoted(name_of(path))}"
    if isinstance(refused, PegboardError):
        return HeldBackError(f"{why}; {refused.message}", hint=f"ask what to do: pegboard lock verify; or {fix}")
    return HeldBackError(why, hint=fix)


def is_signed(settings: McpSettings, path: Path, content: bytes) -> bool:
    """Whether the lock, as it stands, has the signature of somebody whom the person here lets sign."""
    return _why_signature_refused(settings, path, content) is None


def _why_signature_refused(settings: McpSettings, path: Path, content: bytes) -> PegboardError | str | None:
    """Why the lock counts by no signature; None: it does. Where there is none nothing is imported, nor started."""
    if not os.path.lexists(f"{path}.sig"):
        return "it is not signed"
    from pegboard_mcp.lock.signature import why_refused

    return why_refused(settings, path, content)


def _signed(path: Path | None, settings: McpSettings | None) -> tuple[int, ...]:
    """What tells a signature, and who may sign, from others that came later; nothing where there is none."""
    try:
        found = [os.lstat(f"{path}.sig")]
    except OSError:
        return ()
    if settings is not None:
        from pegboard_mcp.lock.signature import signers_path

        with contextlib.suppress(OSError):
            found.append(signers_path(settings).stat())
    return tuple(number for one in found for number in (one.st_mtime_ns, one.st_size, one.st_ino, one.st_mode))


_watches: dict[int, tuple[weakref.ref[McpSettings], Watch]] = {}


def watch_of(settings: McpSettings) -> Watch:
    """The watch of a board, which is known by its settings: the very object, for equal ones may be another board's."""
    known = _watches.get(id(settings))
    if known is not None and known[0]() is settings:
        return known[1]
    watch, number = Watch(settings), id(settings)
    _watches[number] = (weakref.ref(settings, lambda _: _watches.pop(number, None)), watch)
    return watch


def what_is_other(pin: Pin, definition: Mapping[str, Any] | None) -> str:
    """The parts of a face that are not as they were accepted, in a line."""
    from pegboard_mcp.lock.pins import SHOWN, fingerprint_of

    was, now = pin.definition or {}, definition or {}
    parts = [part for part in SHOWN if fingerprint_of({"": was.get(part)}) != fingerprint_of({"": now.get(part)})]
    return ", ".join(parts) or "its fingerprint"


def _is_pinned(tool: Tool) -> bool:
    from pegboard_mcp.lock.pins import is_pinned

    return is_pinned(tool.origin)


def _plain(text: str) -> str:
    return ascii(text)[1:-1][:100]


def findings(board: Any) -> Iterator[Finding]:
    """What the lock has to say to doctor beside what it holds back: registered tools that changed, texts that hid
    something, a lock that cannot be read."""
    settings = settings_of(board)
    if settings is not None and settings.lock != "off":
        yield from _lock_findings(board, settings)
    for _, source in board.sources:
        for name, what in sorted((getattr(source, "stripped", None) or {}).items()):
            yield Finding(
                "hidden characters were taken out", f"tool {_plain(name)} of {_plain(source.name)}",
                f"there were {', '.join(what)}", "read its description with care, and ask who runs the server",
                "warning",
            )  # fmt: skip


def _lock_findings(board: Any, settings: McpSettings) -> Iterator[Finding]:
    from pegboard_mcp.lock.pins import accepted_fingerprint, definition_of

    watch, enforce = watch_of(settings), settings.lock == "enforce"
    is_told = enforce and board.held  # each of them says what is wrong with the lock
    try:
        pins = watch.pins()
    except PluginError as problem:
        if not is_told:
            yield Finding("the lock cannot be read", watch.place, problem.message, problem.hint or "")
        return
    if pins is None:
        if enforce and not is_told:
            why = f'lock is "enforce", and there is no {watch.place}'
            yield Finding("no tool is accepted", watch.place, why, ACCEPT_ALL)
        return
    for key, tool in sorted(seen_on(board, settings).items()):
        pin = pins.get(key)
        if tool.name in board.rejected_tools or (pin is not None and pin.fingerprint == accepted_fingerprint(tool)):
            continue  # what is held back is told as every tool that is not registered
        quoted = _quoted(_plain(tool.name))
        where = f"tool {_plain(tool.name)} of {_plain(key.source)}"
        fix = f"pegboard lock {quoted}, then pegboard lock --accept {quoted}"
        if pin is not None:
            other = f"other than it was: {what_is_other(pin, definition_of(tool))}"
            yield Finding("a tool changed since it was accepted", where, other, fix, "error" if enforce else "warning")
        else:
            reason = "it came after the lock was written"
            yield Finding("a tool is not accepted yet", where, reason, fix, "error" if enforce else "note")


def settings_of(board: Any) -> McpSettings | None:
    """The settings of this package on a board; None where it is not there."""
    from pegboard_mcp.settings import McpSettings

    return next((one.settings for one in board.plugins if isinstance(one.settings, McpSettings)), None)


def seen_on(board: Any, settings: McpSettings) -> dict[Key, Tool]:
    """Every tool that is held to the lock and is registered, or would be were it not held back; two that claim one
    name are not told apart, and left out."""
    from pegboard_mcp.lock.pins import Key, source_of

    seen = {}
    for entry in board.registry.plans.values():
        error = getattr(entry, "error", None)
        if _is_pinned(entry.tool) and (error is None or error.details.get("reason") != "conflict"):
            seen[Key(source_of(entry.tool.origin), entry.tool.name)] = entry.tool
    return seen | watch_of(settings).held_on(board)

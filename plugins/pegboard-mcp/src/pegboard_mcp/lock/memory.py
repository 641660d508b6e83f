"""What each configured server looked like when it was first seen: trust on first use, as of SSH's known_hosts.

    a list of a server ──seen_pins──> pins ──judge──> what is new, what changed, what is mild
                                              │
                          known, as it was first seen or accepted (`Memory`)

One file a server in the user's state folder, for that user alone: `mcp/seen/NAME-IDENTITY.json`. A server is its
configured name and its command or URL, without secrets and without the query; another command is another server, which
is told. What was first seen stays what everything is compared with, until a person accepts another definition: mild
changes are told, and do not move it.

Pins are known by the server's own names (`tool:NAME`, `prompt:NAME`, `resource:URI`, `template:URI`, `server:NAME`),
never by those on the board, which depend on what other servers have.

A file that cannot be read holds back all that its server offers: what was there cannot be told from an attack. Two
processes write one after the other, and each looks again at what is there before it writes.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import hashlib
import json
import logging
import os
import re
import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pegboard.limits import JSON_BYTES
from pegboard_mcp.lock.mild import is_mild
from pegboard_mcp.lock.pins import PARTS, Pin, content_of, fingerprint_of
from pegboard_mcp.lock.words import describe, quoted, since

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from pegboard_mcp.definitions import ServerDefinition

log = logging.getLogger("pegboard.notice")  # what a person reads without looking for it

FORMAT = 1
MAX_BYTES = JSON_BYTES
MAX_PINS = 20_000
"""Names of one server that are known; what comes after them is held back."""
MAX_SERVERS = 1_000
"""Files; those that were not touched for longest go first."""
MOST_COMPARED = 20_000
"""Pairs of names that are compared of one list, which takes half a second; of more, what is new is held back."""
MAX_TOLD = 20
"""Lines that a person reads of one list."""
NEAR = 0.75
"""How much of two names has to be the same for the new one to count as the old one's (Ratcliff-Obershelp)."""
CALLED = ("tool", "prompt")
"""Kinds that are called by their names; resources have addresses."""
MAX_DIGESTED = 1024**3
"""So much of a program is read for its hash, in bytes."""
TRIES, PAUSE_S = 40, 0.005
"""How often, and how long in between, another process is waited for that writes the same file."""


class Changed(NamedTuple):
    """What a person has to look at before anybody is offered it.

    Args:
        key: the name of the pin.
        was: as it was first seen or accepted; None: it was not there.
        now: as it is.
        plain: what changed, without any word of the server's, for a model.
        tell: gives the same with the server's own words, for a person, who reads few of many.
    """

    key: str
    was: Pin | None
    now: Pin
    plain: str
    tell: Callable[[], str]

    @property
    def words(self) -> str:
        """What changed, for a person."""
        return self.tell()

    @classmethod
    def since(cls, key: str, was: Pin, now: Pin, when: str) -> Changed:
        """One that is described by what it was."""

        def said(*, foreign: bool) -> str:
            return f"changed since {when}: {describe(was.definition, now.definition, foreign=foreign)}"

        return cls(key, was, now, said(foreign=False), partial(said, foreign=True))

    @classmethod
    def new(cls, now: Pin, why: str) -> Changed:
        """One that was not there before."""
        return cls(now.name, None, now, why, lambda: why)


class Verdict(NamedTuple):
    """What a list comes to.

    Args:
        changed: by key.
        first: pins that nobody saw before, to be known from here on.
        told: lines for a person, by the names of the pins.
        problem: why nothing can be said, and all is held back; None: it can.
    """

    changed: Mapping[str, Changed]
    first: tuple[Pin, ...]
    told: Mapping[str, Callable[[], str]]
    problem: str | None = None


class Known(NamedTuple):
    """What a file holds: pins and when each was seen or accepted, by key; the fingerprints of what was told."""

    pins: dict[str, tuple[Pin, float]]
    told: dict[str, str]


class UnreadableError(Exception):
    """What is known of a server cannot be read; the message says why."""


# -- pins


def server_pin(definition: ServerDefinition, *, is_shared: bool = False) -> Pin:
    """What starts a server: its command or URL, the variables that say what that runs, and the hashes of the files that
    these name.

    The files are those that `pegboard trust` holds (`pegboard_mcp.files`), those below the server's folder named from
    there; what a package manager fetches is known by the version that the server says, which is part of every other
    pin.

    Args:
        is_shared: for a lock, which others read: the file of variables and what lies in the folder are each person's
            own, and left out; of one that holds a secret the hash would let it be guessed.
    """
    from pegboard_mcp.files import PRIVATE, files_of, variables_of

    files: dict[str, str] = {}
    runs: dict[str, Any] = {"command": definition.shown, "files": files}
    if definition.transport == "stdio":
        folder = os.path.abspath(definition.cwd or ".")  # noqa: PTH100 - `..` as the words of the command have it
        for key, path in files_of(definition):
            if not (is_shared and key in PRIVATE):
                files[_from(folder, path)] = _digest(path)
        if variables := variables_of(definition):
            runs["variables"] = variables
    name = f"server:{definition.name}"
    whole: dict[str, Any] = {**dict.fromkeys(PARTS), "name": name, "description": "", "runs": runs}
    return Pin(definition.name, name, whole, fingerprint_of(whole))


def _from(folder: str, path: Path) -> str:
    """A file as it is named from a folder, if it is below it: the same on every machine."""
    name = os.path.normpath(path)
    return os.path.relpath(name, folder) if name.startswith(folder + os.sep) else str(path)


def _digest(path: Path) -> str:
    """The hash of a file, in pieces: programs that are one file have tens of megabytes."""
    from pegboard_mcp.files import open_regular

    digest = hashlib.sha256()
    try:
        with open_regular(path) as file:
            left = MAX_DIGESTED
            while left > 0 and (piece := file.read(min(left, 1_048_576))):
                digest.update(piece)
                left -= len(piece)
            size = os.fstat(file.fileno()).st_size
    except (OSError, ValueError):
        return "it cannot be read"
    return f"sha256:{digest.hexdigest()}" + (f" of the first {MAX_DIGESTED:,} of {size:,} bytes" if left <= 0 else "")


# -- the judgement: values in, values out


def judge(known: Known | None, pins: Iterable[Pin], name: str, now_s: float) -> Verdict:
    """What is new and what changed.

    Args:
        known: what was seen before; None: nothing was, and all of it is first seen.
        pins: all that the server offers now.
        name: of the server.
        now_s: the time, in seconds since 1970.
    """
    changed: dict[str, Changed] = {}
    first: list[Pin] = []
    told: dict[str, Callable[[], str]] = {}
    pins = list(pins)
    gone = None if known is None else _Gone(known, pins)
    room = MAX_PINS if known is None else MAX_PINS - len(known.pins)
    for pin in pins:
        if known is None or gone is None or not known.pins:
            first.append(pin)
            continue
        found = known.pins.get(pin.name)
        if found is None:
            one = _new(pin, gone, known, now_s, has_room=len(first) < room)
            if one is None:
                first.append(pin)
                told[pin.name] = partial("{} of {} is new".format, _called(pin), name)
            else:
                changed[pin.name] = one
            continue
        was, then = found
        if was.fingerprint == pin.fingerprint:
            continue
        one = Changed.since(pin.name, was, pin, since(then, now_s))
        if was.definition is not None and was.is_sound and is_mild(was.definition, pin.definition or {}):
            told[pin.name] = partial(_line, one, name, "; nobody has to look at it")
        else:
            changed[pin.name] = one
    held = {key: partial(_line, one, name) for key, one in changed.items()}
    return Verdict(changed, tuple(first[:room]), {**held, **told})  # what is held back is told before all else


def _line(one: Changed, server: str, more: str = "") -> str:
    return f"{_called(one.now)} of {server} {one.words}{more}"


def _new(pin: Pin, gone: _Gone, known: Known, now_s: float, *, has_room: bool) -> Changed | None:
    """Why one that came later is not taken as first seen: it stands where another stood, it reads like an order, or
    it has what a probe calls a danger."""
    from pegboard.marks import orders_in
    from pegboard_mcp.lock.dangers import dangers_in, text_of
    from pegboard_mcp.probe.checks import CHECKS

    if not has_room:
        why = f"is new, and {MAX_PINS:,} names of its server are known already"
        return Changed.new(pin, why)
    if gone.are_too_many(pin):
        why = "is new, and so much else of its server went that it may be any of that under another name"
        return Changed.new(pin, why)
    if (old := gone.find(pin)) is not None:
        return Changed.since(pin.name, old, pin, since(known.pins[old.name][1], now_s))
    if (twin := gone.find_twin(pin)) is not None:
        words = f"is new, and its name looks like {_called(twin)}, which is there too"
        return Changed(pin.name, None, pin, "is new, and its name looks like another's of its server", lambda: words)
    text = text_of(pin)
    if not gone.may_be_read(text):
        return Changed.new(pin, "is new, and so much else is new that it was not looked through")
    if orders := orders_in(text):
        why = f"is new, and reads like an order: {', '.join(orders)}"
        return Changed.new(pin, why)
    if dangers := dict.fromkeys(CHECKS[one.check].what for one in dangers_in([pin], gone.own)):
        return Changed.new(pin, f"is new, and has what attacks have: {', '.join(dangers)}")
    return None


class _Gone:
    """What a server no longer offers: what came instead may be some of it, under another name. And what it still does:
    what came beside that may be meant to be taken for it."""

    def __init__(self, known: Known, pins: Iterable[Pin]) -> None:
        self._known = known
        self._pins = pins
        self._read = 0
        here = {pin.name for pin in pins}
        self._new = Counter(_kind_of(name) for name in here - known.pins.keys())
        self._by_kind: dict[str, list[Pin]] = {}
        self._by_content: dict[tuple[str, str], Pin] = {}
        for name, (pin, _) in known.pins.items() if self._new else ():
            if name not in here:
                self._by_kind.setdefault(_kind_of(name), []).append(pin)
        for kind, pins in self._by_kind.items():
            contents = ((content_of(pin.definition), pin) for pin in pins if pin.definition is not None)
            self._by_content |= {(kind, content): pin for content, pin in contents}

    def are_too_many(self, new: Pin) -> bool:
        """Whether so much came and went at once that names are not compared."""
        kind = _kind_of(new.name)
        return len(self._by_kind.get(kind, ())) * self._new[kind] > MOST_COMPARED

    def may_be_read(self, text: str) -> bool:
        """Whether one more text of what is new is looked through; the rest is held back."""
        from pegboard_mcp.lock.dangers import MOST_READ

        self._read += len(text)
        return self._read <= MOST_READ

    @functools.cached_property
    def own(self) -> frozenset[str]:
        """The names of its tools and of their arguments, as it offers them now."""
        from pegboard_mcp.lock.dangers import names_in

        return names_in(self._pins)

    @functools.cached_property
    def _by_look(self) -> dict[tuple[str, str], Pin]:
        return {look: pin for pin, _ in self._known.pins.values() for look in _looks_of(pin)}

    def find_twin(self, new: Pin) -> Pin | None:
        """What is called nearly as a new one is, to an eye or a model: `Weather` beside `weather`, or in letters of
        another script. Addresses are not compared: two files may well differ in their case alone."""
        return next((self._by_look[look] for look in _looks_of(new) if look in self._by_look), None)

    def find(self, new: Pin) -> Pin | None:
        """What a new one stands for: the same under another name, or nearly the same name; a name is not a way around
        what was seen."""
        kind = _kind_of(new.name)
        if (same := self._by_content.get((kind, content_of(new.definition or {})))) is not None:
            return same
        matcher = difflib.SequenceMatcher(autojunk=False)
        matcher.set_seq2(_near_name(new))
        for old in self._by_kind.get(kind, ()):
            matcher.set_seq1(_near_name(old))
            if matcher.real_quick_ratio() >= NEAR and matcher.quick_ratio() >= NEAR and matcher.ratio() >= NEAR:
                return old
        return None


def _kind_of(name: str) -> str:
    return name.partition(":")[0]


def _looks_of(pin: Pin) -> Iterator[tuple[str, str]]:
    """What the name of a tool or a prompt looks like, with its kind; nothing of a resource."""
    from pegboard.marks import looks_of

    kind, _, name = pin.name.partition(":")
    for look in sorted(looks_of(name[:200])) if kind in CALLED else ():
        yield kind, look


def _near_name(pin: Pin) -> str:
    return pin.name.partition(":")[2][:200].casefold()


def _called(pin: Pin) -> str:
    kind, _, name = pin.name.partition(":")
    return f"the {kind} {quoted(name, 100)}"


# -- the file


class Memory:
    """What is known of one server.

    Args:
        definition: of the server.
        keeps: whether it is kept on disk; else it is known as long as this object lives.
        again: whether a change is told at each start of the server until it is accepted, and not once.
    """

    def __init__(self, definition: ServerDefinition, *, keeps: bool, again: bool = False) -> None:
        self._definition = definition
        self._keeps = keeps
        self._again = again
        self._own: Known | None = None
        self._failed: set[str] = set()
        self._start: Pin | None = None

    def look(self, pins: Iterable[Pin]) -> Verdict:
        """Judge what a server offers, know what is new from here on, and tell a person what changed, once."""
        from pegboard_mcp.lock.dangers import danger_words

        pins = list(pins)
        name, now_s = self._definition.name, time.time()
        try:
            stamp, known = self._stamp(), self._read()
            verdict = judge(known, pins, name, now_s)
            news = self._news(known, verdict, pins)
            if verdict.first or news or self._start is not None:
                with self._alone():
                    if self._stamp() != stamp:  # another process was here
                        known = self._read()
                        verdict = judge(known, pins, name, now_s)
                        news = self._news(known, verdict, pins)
                    self._write(self._with(known, verdict, pins, now_s))
                    self._start = None
        except UnreadableError as problem:
            why = f"what was seen of {name} before cannot be read ({problem}), so that nothing of it is offered"
            self._tell_once(why)
            return Verdict({}, (), {}, why)
        if known is None and (others := self._configured_otherwise()):
            self._tell_once(
                f"{name} is started or reached otherwise than before ({others}); it is seen as a new server"
            )
        if known is None and (dangers := danger_words(verdict.first)):
            look = f"look at it before you use it: pegboard probe {name}"
            log.warning(
                "%s is seen for the first time, and has what no honest server needs: %s; %s", name, dangers, look
            )
        for line in news[:MAX_TOLD]:
            log.warning("%s", line())
        if len(news) > MAX_TOLD:
            log.warning("%d more changes of %s: look at them with pegboard lock", len(news) - MAX_TOLD, name)
        return verdict

    def look_at_server(self, pin: Pin) -> None:
        """Tell a person, once, where another program is started than the one that was first seen, by its files."""
        now_s = time.time()
        with contextlib.suppress(UnreadableError):  # the list that follows says so
            known = self._read()
            was, then = (None, 0.0) if known is None else known.pins.get(pin.name, (None, 0.0))
            if known is None or was is None:
                self._start = pin  # known with the list that comes of it
                return
            if was.fingerprint == pin.fingerprint or known.told.get(pin.name) == pin.fingerprint:
                return
            words = describe(was.definition, pin.definition)
            log.warning("the server %s changed since %s: %s", self._definition.name, since(then, now_s), words)
            with self._alone():
                known = self._read() or Known({}, {})
                self._write(Known(known.pins, {**known.told, pin.name: pin.fingerprint}))

    def accept(self, pins: Iterable[Pin]) -> None:
        """Know these as they are now; a file that cannot be read is begun anew with them.

        Raises:
            OSError: they cannot be kept.
        """
        now_s = time.time()
        with self._alone():
            try:
                known = self._read() or Known({}, {})
            except UnreadableError:
                known = Known({}, {})
            for pin in pins:
                known.pins[pin.name] = (pin, now_s)
                known.told.pop(pin.name, None)
            self._write(known, may_fail=True)

    def changed_server(self) -> Changed | None:
        """What starts the server, where that is other than when it was first seen."""
        with contextlib.suppress(UnreadableError):
            known, now_s = self._read(), time.time()
            pin = server_pin(self._definition)
            was, then = known.pins.get(pin.name, (None, 0.0)) if known is not None else (None, 0.0)
            if was is not None and was.fingerprint != pin.fingerprint:
                return Changed.since(pin.name, was, pin, since(then, now_s))
        return None

    # -- how it is kept

    def _with(self, known: Known | None, verdict: Verdict, offered: Iterable[Pin], now_s: float) -> Known:
        pins = dict(known.pins) if known is not None else {}
        told = dict(known.told) if known is not None else {}
        first = verdict.first if self._start is None else (*verdict.first, self._start)
        for pin in first:
            pins.setdefault(pin.name, (pin, now_s))
        told |= {pin.name: pin.fingerprint for pin in offered if pin.name in verdict.told}
        return Known(pins, told)

    def _news(self, known: Known | None, verdict: Verdict, offered: Iterable[Pin]) -> list[Callable[[], str]]:
        """The lines about definitions that were not told of before."""
        told = known.told if known is not None else {}
        again = verdict.changed if self._again else ()
        now = {pin.name: pin.fingerprint for pin in offered}
        return [line for key, line in verdict.told.items() if key in again or told.get(key) != now[key]]

    def _tell_once(self, line: str) -> None:
        if line not in self._failed:
            self._failed.add(line)
            log.warning("%s", line)

    @property
    def path(self) -> Path:
        """Where it is kept."""
        plain = re.sub(r"[^A-Za-z0-9_-]", "-", self._definition.name)[:64]
        return _folder() / f"{plain}-{identity_of_server(self._definition)}.json"

    def _configured_otherwise(self) -> str:
        """How this server was reached before, where another of this name is known and this one is not."""
        if not self._keeps:
            return ""
        begin = self.path.name.rpartition("-")[0]
        own = re.compile(rf"{re.escape(begin)}-[0-9a-f]{{16}}\.json")
        with contextlib.suppress(OSError, UnreadableError):
            others = [one for one in _folder().iterdir() if one != self.path and own.fullmatch(one.name)]
            for other in sorted(others, key=lambda one: one.stat().st_mtime_ns, reverse=True):
                known = _load(other)
                pin = known.pins.get(f"server:{self._definition.name}", (None, 0))[0] if known is not None else None
                if pin is not None and pin.definition is not None:
                    return f"then {quoted(pin.definition['runs']['command'])}"
        return ""

    def _stamp(self) -> tuple[int, ...] | None:
        """What tells the file from what another process wrote over it; None: there is none."""
        if self._keeps:
            with contextlib.suppress(OSError):
                found = self.path.stat()
                return found.st_ino, found.st_mtime_ns, found.st_size
        return None

    def _read(self) -> Known | None:
        found = _load(self.path) if self._keeps else None
        return self._own if found is None else found

    def _write(self, known: Known, *, may_fail: bool = False) -> None:
        if not self._keeps:
            self._own = known
            return
        from pegboard.config import private_folder, write_private

        try:
            private_folder(self.path.parent)
            is_new = not self.path.exists()
            write_private(self.path, _to_bytes(known, self._definition.name))
            if is_new:
                _forget_oldest(self.path)
        except OSError as problem:
            if may_fail:
                raise
            self._own = known
            name, why = self._definition.name, problem.strerror or "no reason is known"
            self._tell_once(f"what {name} looks like cannot be kept ({why}): changes are noticed only while this runs")

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """While no other process of this user writes the file. Who waits for too long goes on: what is written is whole
        in any case."""
        if not self._keeps:
            yield
            return
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError):
                from pegboard.config import private_folder

                stack.enter_context(_locked(private_folder(_folder()) / ".lock"))
            yield


def identity_of_server(definition: ServerDefinition) -> str:
    """What makes it this server whatever else is configured of it, as 16 hex digits; it tells no secret.

    A file that its command names counts by where it lies, so that one word in two projects is two servers.
    """
    if definition.transport == "stdio":
        from pathlib import Path

        folder = Path(definition.cwd or ".").absolute()
        reached: Any = [
            str(folder / word) if _is_file(folder, word) else definition.mask(word) for word in definition.argv
        ]
    else:
        from urllib.parse import urlsplit

        parts = urlsplit(definition.url or "")
        reached = [parts.scheme, parts.hostname, parts.port, definition.mask(parts.path)]
    whole = json.dumps([definition.name, definition.transport, reached])
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _is_file(folder: Path, word: str) -> bool:
    try:
        return os.sep not in word[:1] and (folder / word).is_file()
    except (OSError, ValueError):
        return False


def _folder() -> Path:
    from pegboard.config import user_folder

    return user_folder("state") / "mcp" / "seen"


def _load(path: Path) -> Known | None:
    """What a file holds; None where there is none.

    Raises:
        UnreadableError: it cannot be read, or is not what is written here.
    """
    from pegboard_mcp.files import read_bytes

    try:
        content = read_bytes(path, MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as problem:
        raise UnreadableError(getattr(problem, "strerror", None) or "it is not a path") from None
    if content is None:
        raise UnreadableError("it is too large")
    try:
        value = json.loads(content)
        if value["format"] != FORMAT:
            raise UnreadableError(f"it is of the format {str(value['format'])[:20]}")
        pins = {
            key: (Pin(value["server"], key, one.get("definition"), one["fingerprint"]), float(one["seen"]))
            for key, one in value["pins"].items()
        }
        told = {str(key): str(mark) for key, mark in value["told"].items()}
        for pin, seen in pins.values():
            if type(pin.fingerprint) is not str or type(pin.definition) not in (dict, type(None)):
                raise TypeError
            since(seen, seen)  # a time that no calendar has
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError, OSError):
        raise UnreadableError("it is broken") from None
    return Known(pins, told)


def _to_bytes(known: Known, name: str) -> bytes:
    """The file; of too many definitions the fingerprints alone, which still say whether one is the same."""

    def whole(*, has_definitions: bool) -> bytes:
        pins: dict[str, dict[str, Any]] = {
            key: {"seen": seen, "fingerprint": pin.fingerprint} for key, (pin, seen) in known.pins.items()
        }
        for key, one in pins.items() if has_definitions else ():
            one["definition"] = known.pins[key][0].definition
        told = known.told if has_definitions else {}
        return json.dumps({"format": FORMAT, "server": name, "pins": pins, "told": told}).encode()

    content = whole(has_definitions=True)
    return content if len(content) <= MAX_BYTES else whole(has_definitions=False)


def _forget_oldest(path: Path) -> None:
    with contextlib.suppress(OSError):
        files = [one for one in path.parent.iterdir() if one.suffix == ".json"]
        if len(files) > MAX_SERVERS:
            for old in sorted(files, key=lambda one: one.stat().st_mtime_ns)[: len(files) - MAX_SERVERS]:
                old.unlink(missing_ok=True)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file, or go on without it after a while: the loop is not held up by a process that stopped."""
    try:
        import fcntl
    except ImportError:  # Windows: files are whole there too, and the last one to write is right
        yield
        return
    from pegboard.config import open_private

    number = open_private(path, os.O_RDWR, is_own=True)
    try:
        for _ in range(TRIES):
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                time.sleep(PAUSE_S)
        yield
    finally:
        os.close(number)

"""Names of tools: made of what they bind, kept in `names.lock`, never given to another binding.

A name is a function of the id and the words of its tool, of the names that the lock keeps, and of nothing else: no
order, no counter. A source may know better names than the words of an id; where two tools would have one name, each
goes on to its next one. Only where no other name is free each gets a suffix of its id's hash. What the lock holds
stays. A name that a tool once had is a tombstone: it comes back with the same id or never.
"""

from __future__ import annotations

import fnmatch
import functools
import hashlib
import re
import unicodedata
from collections import Counter, defaultdict
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ConfigError
from pegboard_toolgen._texts import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MAX_NAME = 64
SUFFIX = 6
"""Digits of the hash behind a name, as long as they tell all tools apart."""
LENGTHS = (SUFFIX, 12, 24, 48)
LOCK_VERSION = 1

OWN_TOOLS = frozenset(
    ("add_task", "calculator", "claude_conversation", "complete_task", "convert_time", "delete_task", "echo",
    "edit_file", "forget_memory", "get_time", "list_directory", "list_tasks", "read_file", "remember", "roll_dice",
    "search_files", "search_memory", "search_text", "system_info", "update_task", "write_file")
)  # fmt: skip
"""Names of the tools of Pegboard's own packages: a board that has one registers a source's tool under another name."""

VALID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_EDGES = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z])|v[0-9])[a-z])")
"""Where words meet: `userPets`, `HTTPServer`; abbreviations stay whole: `userIDs`, `IPv6`."""
_REST = re.compile(r"[^a-z0-9]+")


@attrs.frozen
class Lock:
    """What `names.lock` holds.

    Args:
        names: the name of each id that is a tool.
        tombstones: names that were given once, and the id that each belongs to.

    .. versionadded:: 0.1
    """

    names: Mapping[str, str] = attrs.field(factory=dict)
    tombstones: Mapping[str, str] = attrs.field(factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The file's content."""
        return {"lock_version": LOCK_VERSION, "names": dict(self.names), "tombstones": dict(self.tombstones)}

    @classmethod
    def from_json(cls, value: object) -> Lock:
        """Read back what `to_json` wrote.

        Raises:
            ConfigError: it is not a lock of this version, or says two things of one name.
        """
        if not isinstance(value, dict) or value.get("lock_version") != LOCK_VERSION:
            raise ConfigError("names.lock is not one that this version reads", hint="take it back from version control")
        names, tombstones = value.get("names"), value.get("tombstones")
        for table in (names, tombstones):
            if not isinstance(table, dict) or not all(isinstance(one, str) for one in table.values()):
                raise ConfigError(
                    "names.lock: names and tombstones are objects of texts", hint="take it back from version control"
                )
        assert isinstance(names, dict)
        assert isinstance(tombstones, dict)
        for name in [*names.values(), *tombstones]:
            if not VALID.fullmatch(name):
                raise ConfigError(f"names.lock: {shown(name, 60)!r} is not a name", hint=f"a name fits {VALID.pattern}")
        if len({*names.values()}) < len(names):
            raise ConfigError("names.lock gives one name to two tools", hint="take it back from version control")
        return cls(names, tombstones)


def plain_name(words: Iterable[str], id_: str = "") -> str:
    """The name that these words make: snake case, at most 64 characters; `id_` tells apart what was cut or lost.

    Raises nothing: words of which nothing is left give `tool_` and a hash.
    """
    name, is_whole = _spelled(words)
    if not name:
        return with_suffix("tool", id_)
    return name if is_whole and len(name) <= MAX_NAME else with_suffix(name, id_)


def snake(words: Iterable[str]) -> str:
    """The words in snake case, as long as they are; empty where a part of them cannot be spelled."""
    name, is_whole = _spelled(words)
    return name if is_whole else ""


def _spelled(words: Iterable[str]) -> tuple[str, bool]:
    """The words in snake case, and whether nothing of them is lost."""
    parts, is_whole = [], True
    for word in words:
        kept = unicodedata.normalize("NFKD", _EDGES.sub("_", word)).encode("ascii", "ignore").decode().lower()
        part = _REST.sub("_", kept).strip("_")
        is_whole = is_whole and (bool(part) or not word.strip("/_-. {}"))
        parts += [part] if part else []
    name = "_".join(parts)
    return f"_{name}" if name[:1].isdigit() else name, is_whole


def _shortened(name: str) -> str:
    """A name that is too long, without its middle: what it does stands first, what tells it from others last."""
    if len(name) <= MAX_NAME:
        return name
    head, *rest = name.split("_")
    kept: list[str] = []
    for part in reversed(rest):
        if len("_".join((head, part, *kept))) > MAX_NAME:
            break
        kept.insert(0, part)
    return "_".join((head, *kept)) if kept else ""


def with_suffix(name: str, id_: str, digits: int = SUFFIX) -> str:
    """The name with so many digits of the id's hash behind it."""
    return f"{name[: MAX_NAME - digits - 1].rstrip('_')}_{hashlib.sha256(id_.encode()).hexdigest()[:digits]}"


def give_names(
    words: Mapping[str, Sequence[str]], lock: Lock | None = None, chosen: Mapping[str, str] | None = None,
    better: Mapping[str, Iterable[Sequence[str]]] | None = None,
) -> dict[str, str]:  # fmt: skip
    """The name of every id.

    Args:
        words: what each id's name is made of where nothing better is free.
        lock: the names that are kept.
        chosen: names that a person gave, by id; they win over the lock.
        better: names that the source knows for an id, the best first, each in words.

    Raises:
        ConfigError: a chosen name is not a name, is chosen twice, or belongs to another tool.
    """
    lock, chosen = lock or Lock(), chosen or {}
    owners = _owners(lock)
    given = _checked(chosen, owners, words)
    ways = {id_: _ways(words[id_], (better or {}).get(id_, ())) for id_ in words}
    kept = {**_names_of(lock, words, ways), **lock.names}
    given.update({id_: kept[id_] for id_ in words if id_ in kept and id_ not in given})
    taken = {**owners, **{name: id_ for id_, name in given.items()}}
    _give_first_free({id_: ways[id_] for id_ in words if id_ not in given}, given, taken)
    clashing = defaultdict(list)
    for id_ in sorted(set(words) - set(given)):
        clashing[plain_name(words[id_], id_)].append(id_)
    for name, ids in sorted(clashing.items()):
        is_free = len(ids) == 1 and name not in taken
        for id_ in ids:
            given[id_] = name if is_free else _suffixed(name, id_, taken)
            taken[given[id_]] = id_
    return given


def _ways(words: Sequence[str], better: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """The names that these words make, the best first, each once."""
    names = [name for one in better if (name := _shortened(snake(one))) not in OWN_TOOLS]
    return tuple(name for name in dict.fromkeys((*names, _shortened(snake(words)))) if name)


def _give_first_free(ways: Mapping[str, Sequence[str]], given: dict[str, str], taken: dict[str, str]) -> None:
    """Give each id the first of its names that is free and no other wants in the same turn, whatever their order."""
    for turn in range(max(map(len, ways.values()), default=0)):
        wanted = {id_: names[turn] for id_, names in ways.items() if id_ not in given and turn < len(names)}
        often = Counter(wanted.values())
        for id_, name in wanted.items():
            if often[name] == 1 and name not in taken:
                given[id_] = name
                taken[name] = id_


def next_lock(lock: Lock, names: Mapping[str, str]) -> Lock:
    """The lock after a run that gave these names to the tools that there are: what is gone becomes a tombstone."""
    tombstones = dict(lock.tombstones)
    for id_, name in lock.names.items():
        if names.get(id_) != name:
            tombstones[name] = id_
    for name in names.values():
        tombstones.pop(name, None)
    return Lock(dict(sorted(names.items())), dict(sorted(tombstones.items())))


def reserve(lock: Lock, names: Mapping[str, str]) -> Lock:
    """The lock with names that a person gave otherwise, in overrides or in the manifest: no other tool gets them."""
    known = {*lock.names.values(), *lock.tombstones}
    more = {name: id_ for id_, name in names.items() if name not in known}
    return Lock(lock.names, dict(sorted({**lock.tombstones, **more}.items()))) if more else lock


def _names_of(lock: Lock, words: Mapping[str, Sequence[str]], ways: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The name that an id comes back with, of all that it had: what its words make, before what was chosen once."""
    had = defaultdict(list)
    used = set(lock.names.values())
    for name, id_ in lock.tombstones.items():
        if id_ in words and name not in used:
            had[id_].append(name)
    found = {}
    for id_, names in had.items():
        own = plain_name(words[id_], id_)
        made = (*ways[id_], own, *(with_suffix(own, id_, digits) for digits in LENGTHS))
        found[id_] = next((name for name in made if name in names), min(names))
    return found


def _owners(lock: Lock) -> dict[str, str]:
    return {**dict(lock.tombstones), **{name: id_ for id_, name in lock.names.items()}}


def _checked(chosen: Mapping[str, str], owners: Mapping[str, str], words: Mapping[str, Any]) -> dict[str, str]:
    given: dict[str, str] = {}
    for id_, name in sorted(chosen.items()):
        if not VALID.fullmatch(name):
            near = plain_name([name], id_)
            raise ConfigError(
                f"toolgen.toml: {shown(name, 60)!r} is not a name of a tool", hint=f"letters, digits, _ and -: {near}"
            )
        owner = next((other for other, said in given.items() if said == name), owners.get(name, id_))
        if owner != id_ and not (owner in chosen and chosen[owner] != name and owner in words):
            raise ConfigError(
                f"toolgen.toml: the name {name!r} belongs to {shown(owner, 100)}", hint="choose another name"
            )
        given[id_] = name
    return given


def _suffixed(name: str, id_: str, taken: Mapping[str, str]) -> str:
    for digits in LENGTHS:
        longer = with_suffix(name, id_, digits)
        if taken.get(longer, id_) == id_:
            return longer
    raise AssertionError("two ids with one hash")  # pragma: no cover


def fits_any(globs: Iterable[str], id_: str, others: Iterable[str] = ()) -> bool:
    """Whether one of these globs fits a tool: its id, what it binds (`humanize.intcomma`), or its other names.

    `*` and `?` are as in file names, everything else as it stands: ids hold brackets.
    """
    known = (id_, id_.partition(":")[2], *others)
    return any(pattern.match(one) for pattern in map(_pattern_of, globs) for one in known)


@functools.lru_cache(maxsize=1024)
def _pattern_of(glob: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(glob.replace("[", "[[]")))


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant."""
    near = get_close_matches(word[:100], sorted(known), n=1)
    return near[0] if near else None

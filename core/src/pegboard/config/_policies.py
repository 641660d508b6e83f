"""What a person said about many tools at once: a word for all, and words by name or tag of where results come from and
of where arguments go. `[flows]` and `[secrets]` are such tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from pegboard._frozen import EMPTY
from pegboard._values import Value
from pegboard.errors import Fault
from pegboard.schema.jsontext import shorten as shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pegboard.tools import Origin, Tool

TAG = "tag:"
_TABLES = ("from", "to")


@attrs.frozen(eq=False, kw_only=True, repr=False)
class PolicyTable(Value):
    """What one such table says.

    Args:
        words: what can be said in it, the loosest first; nothing said means the second.
        default: what holds where nothing more is said.
        sources: the table `from`: of whose results; a name of a tool, source, plugin or distribution, or `tag:NAME`.
        targets: the table `to`: of which tools' arguments; by the same names.
        places: the sources, plugins and distributions that there are. What is let through of one of them is of no tool
            that somebody else calls so.

    .. versionadded:: 0.1
    """

    words: tuple[str, ...]
    default: str
    sources: Mapping[str, str] = EMPTY
    targets: Mapping[str, str] = EMPTY
    places: frozenset[str] = frozenset()

    @classmethod
    def of(cls, table: Mapping[str, Any], words: tuple[str, ...]) -> PolicyTable:
        """What a table that was found right comes to."""
        return cls(
            words=words,
            default=table.get("default", words[1]),
            sources=table.get("from", EMPTY),
            targets=table.get("to", EMPTY),
        )

    def on(self, places: Iterable[str]) -> PolicyTable:
        """The same table, of a board with these sources, plugins and distributions."""
        return attrs.evolve(self, places=frozenset(places))

    @property
    def watches(self) -> bool:
        """Whether more than nothing is said of any result."""
        return any(word != "allow" for word in self.sources.values())

    @property
    def allows_all(self) -> bool:
        """Whether everything is let through."""
        return self.default == "allow" and not any(
            word != "allow" for word in (*self.sources.values(), *self.targets.values())
        )

    def said_from(self, tool: Tool) -> str | None:
        """What is said of the results of a tool; None: nothing."""
        return self._said(self.sources, tool.name, tool.tags, tool.origin, tool.plain_name)

    def said_of(self, origin: Origin) -> str | None:
        """What is said of what a source has beside tools; None: nothing."""
        return self._said(self.sources, "", (), origin)

    def said_to(self, tool: Tool) -> str | None:
        """What is said of the arguments of a tool; None: nothing."""
        return self._said(self.targets, tool.name, tool.tags, tool.origin, tool.plain_name)

    def judge(self, source: str | None, target: str | None) -> str:
        """What holds where `from` says the one and `to` the other: the stricter; nothing of both: the default."""
        if source is None or target is None:
            return source or target or self.default
        return max(source, target, key=self.words.index)

    def _said(
        self, table: Mapping[str, str], name: str, tags: Iterable[str], origin: Origin, plain_name: str | None = None
    ) -> str | None:
        """What the nearest name of a tool says: its own, else a tag's, else that of where it comes from."""
        if not table:
            return None
        words, names = self.words, (origin.source, origin.plugin, origin.distribution)
        own = table.get(name)
        if own == words[0] and name in self.places and name not in names:
            own = None
        if own is None and plain_name is not None and (plain := table.get(plain_name)) != words[0]:
            own = plain
        said_by_tag = [table[TAG + one] for one in tags if TAG + one in table]
        nearest = [
            own,
            max(said_by_tag, key=words.index, default=None),
            *(table.get(one or "") for one in names),
        ]
        return next((word for word in nearest if word is not None), None)


def policy_faults(table: Mapping[str, Any], words: tuple[str, ...]) -> Iterator[Fault]:
    """What is wrong with a table that a `PolicyTable` is to be made of, each with its place in it."""
    for key, value in table.items():
        if key not in ("default", *_TABLES):
            yield Fault((key,), "a known key", "an unknown key", _near(key, ("default", *_TABLES)))
        elif key == "default":
            yield from _word_faults((key,), value, words)
        elif isinstance(value, Mapping):
            for name, word in value.items():
                yield from _word_faults((key, name), word, words)
        else:
            yield Fault(
                (key,), "a table of names, each with one word", shown(value), f'as in {key} = {{NAME = "{words[1]}"}}'
            )


def _word_faults(path: tuple[str, ...], word: Any, words: tuple[str, ...]) -> Iterator[Fault]:
    if word not in words:
        yield Fault(path, f"one of {', '.join(words)}", shown(word), _near(word, words))


def _near(word: Any, words: tuple[str, ...]) -> str | None:
    from pegboard.schema.near import nearest  # right configurations need none

    near = nearest(word, words) if isinstance(word, str) else None
    return f"did you mean {near!r}?" if near else None


def policy_names(origin: Origin, name: str, tags: Iterable[str] = ()) -> Iterator[str]:
    """All names by which the tables can speak of a tool."""
    yield from filter(None, (name, origin.source, origin.plugin, origin.distribution))
    yield from (TAG + one for one in tags)


def loosens(value: Mapping[str, Any], otherwise: Mapping[str, Any], words: tuple[str, ...]) -> bool:
    """Whether a table lets more through than another does."""
    now, before = PolicyTable.of(value, words), PolicyTable.of(otherwise, words)
    pairs = [(now.default, before.default)]
    for mine, theirs in ((now.sources, before.sources), (now.targets, before.targets)):
        pairs += [(mine.get(name, now.default), theirs.get(name, before.default)) for name in {*mine, *theirs}]
    return any(words.index(one) < words.index(other) for one, other in pairs)

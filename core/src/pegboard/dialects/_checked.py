"""Dialects of plugins, wrapped so that a wrong answer is a fault that names the plugin.

A dialect is asked while a model waits for its tools: an answer of the wrong shape would come out far from whoever gave
it, as a type error of the one who sends it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pegboard._frozen import FrozenDict
from pegboard.contract import Loss
from pegboard.errors import PegboardError, PluginError, ToolError, reason_of
from pegboard.results import ToolResult
from pegboard.starting import collector_paused
from pegboard.tools import ToolCall

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from pegboard.contract import Dialect, Export
    from pegboard.tools import Tool

REPORT = "report it to its author, or leave the plugin out"


class CheckedDialect:
    """A dialect whose answers are checked.

    Args:
        dialect: a plugin's.
        label: the plugin, as errors name it.
    """

    def __init__(self, dialect: Dialect, label: str) -> None:
        self.name = dialect.name
        self._dialect = dialect
        self._who = f"the dialect {dialect.name!r} of plugin {label}"
        self._sound: WeakKeyDictionary[Tool, FrozenDict] = WeakKeyDictionary()

    def export(self, tools: Iterable[Tool]) -> Export:
        """Compile the tools for the consumer.

        Raises:
            PluginError: the dialect failed, or gave what is not an export; the plugin is named.
        """
        with _faults_of(self._who), collector_paused():  # what is made here stays, as what registering makes
            given = list(tools)
            export = self._dialect.export(given)
            if not hasattr(export, "definitions"):
                raise TypeError(f"export gave {type(export).__name__}, expected an Export")
            return CheckedExport(export, self._who, self._definitions(given, export.definitions))

    def _definitions(self, tools: list[Tool], answer: Any) -> list[Any]:
        """The definitions, found to be JSON; those that are frozen are looked at once for each tool.

        What is frozen stays what it was, whoever got it; anything else may have changed since.
        """
        definitions, sound = _as_list(answer, "definitions"), self._sound
        if len(definitions) != len(tools):
            return _as_json(definitions, "definitions")
        get = sound.get
        new = [(tool, one) for tool, one in zip(tools, definitions, strict=True) if get(tool) is not one]
        _as_json([one for _, one in new], "definitions")
        sound.update((tool, one) for tool, one in new if type(one) is FrozenDict)
        return definitions

    def __getattr__(self, name: str) -> Any:
        """What the author gave it beside a `Dialect`, as `body` and `read` of one that knows whole conversations."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._dialect, name)


class CheckedExport:
    """What a dialect of a plugin compiled.

    Args:
        export: what it gave.
        who: the dialect, as errors name it.
        definitions: those of the export, which are JSON.
    """

    def __init__(self, export: Any, who: str, definitions: list[Any]) -> None:
        self._export = export
        self._who = who
        self.definitions: Sequence[Any] = definitions
        self.aliases: Mapping[str, str] = export.aliases
        self.losses: Sequence[Loss] = list(export.losses)
        if not isinstance(export.aliases, Mapping) or not _are_texts(export.aliases.items(), 2):
            raise TypeError("aliases: expected a mapping of names to names")
        if not _are_texts(self.losses, 3):
            raise TypeError("losses: expected triples of texts")

    def __getattr__(self, name: str) -> Any:
        """What the author gave it beside an `Export`, as `strict`."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._export, name)

    def parse(self, message: Any) -> Sequence[ToolCall | ToolResult]:
        """The calls that a message holds.

        Raises:
            PluginError: the dialect failed, or gave what are not valid calls.
        """
        with _faults_of(self._who):
            calls = list(self._export.parse(message))
            if not all(isinstance(one, (ToolCall, ToolResult)) for one in calls):
                raise TypeError("parse: expected calls and results")
            return calls

    def format(self, results: Sequence[ToolResult]) -> Sequence[Any]:
        """The messages that carry the results back.

        Raises:
            PluginError: the dialect failed, or gave what is not JSON.
        """
        with _faults_of(self._who):
            return _as_json(self._export.format(results), "format")


def _are_texts(rows: Collection[Any], count: int) -> bool:
    """Whether they are tuples of so many texts; by types first, since there are thousands where tools are many."""
    types = map(type, rows)
    if {tuple, Loss}.issuperset(types) and {str}.issuperset(map(type, chain.from_iterable(rows))):
        return {count}.issuperset(map(len, rows))
    return all(
        isinstance(row, tuple) and len(row) == count and all(isinstance(one, str) for one in row) for row in rows
    )


def _as_list(answer: Any, what: str) -> list[Any]:
    if not isinstance(answer, (list, tuple)):
        raise TypeError(f"{what}: expected a list, got {type(answer).__name__}")
    return list(answer)


def _as_json(answer: Any, what: str) -> list[Any]:
    values = _as_list(answer, what)
    try:
        json.dumps(values, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as problem:
        raise TypeError(f"{what}: no JSON ({problem})") from problem
    return values


@contextlib.contextmanager
def _faults_of(who: str) -> Iterator[None]:
    try:
        yield
    except (KeyboardInterrupt, ToolError):  # the second is the caller's: a name that is not there
        raise
    except PegboardError as problem:
        raise PluginError(f"{who} failed: {problem.message}", hint=problem.hint or REPORT) from problem
    except BaseException as problem:
        raise PluginError(f"{who} failed: {reason_of(problem)}", hint=REPORT) from problem

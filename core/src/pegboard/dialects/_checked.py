"""Dialects of plugins, wrapped so that a wrong answer is a fault that names the plugin.

A dialect is asked while a model waits for its tools: an answer of the wrong shape would come out far from whoever gave
it, as a type error of the one who sends it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pegboard.errors import PegboardError, PluginError, ToolError, reason_of
from pegboard.results import ToolResult
from pegboard.tools import ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pegboard.contract import Dialect, Export, Loss
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

    def export(self, tools: Iterable[Tool]) -> Export:
        """Compile the tools for the consumer.

        Raises:
            PluginError: the dialect failed, or gave what is not an export; the plugin is named.
        """
        with _faults_of(self._who):
            return CheckedExport(self._dialect.export(tools), self._who)

    def __getattr__(self, name: str) -> Any:
        """What the author gave it beside a `Dialect`, as `body` and `read` of one that knows whole conversations."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._dialect, name)


class CheckedExport:
    """What a dialect of a plugin compiled."""

    def __init__(self, export: Any, who: str) -> None:
        self._export = export
        self._who = who
        if not hasattr(export, "definitions"):
            raise TypeError(f"export gave {type(export).__name__}, expected an Export")
        self.definitions: Sequence[Any] = _as_json(export.definitions, "definitions")
        self.aliases: Mapping[str, str] = export.aliases
        self.losses: Sequence[Loss] = list(export.losses)
        if not isinstance(export.aliases, Mapping) or not all(map(_are_texts, export.aliases.items())):
            raise TypeError("aliases: expected a mapping of names to names")
        losses: list[Any] = list(self.losses)
        if not all(isinstance(loss, tuple) and len(loss) == 3 and _are_texts(loss) for loss in losses):
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


def _are_texts(parts: Iterable[Any]) -> bool:
    return all(isinstance(part, str) for part in parts)


def _as_json(answer: Any, what: str) -> list[Any]:
    values = list(answer) if isinstance(answer, (list, tuple)) else None
    if values is None:
        raise TypeError(f"{what}: expected a list, got {type(answer).__name__}")
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

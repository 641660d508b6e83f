"""Why a name is not there: the one place that says it, whatever interface the name came through.

A name that nobody has may be mistyped, and then near ones are told. It may also be of a source that could not bring it:
a server that does not start, or is still starting. Which sources those are says `Board.sources_away`; here is what
becomes of them in an answer.

.. versionadded:: 0.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pegboard.contract import SourceState
from pegboard.errors import ErrorCode, Retry, ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pegboard.contract import SourceStatus, ToolSource
    from pegboard.registry.asking import PluginRecord
    from pegboard.session import Session
    from pegboard.tools import Tool

__all__ = [
    "HeldQuestion",
    "absent",
    "held_back",
    "not_found",
    "told_to",
]

MAX_COMPARED = 500
"""With how many names one that is not there is compared, to suggest near ones."""
MAX_EXPLAINED = 5
"""How many sources a message explains; the others it names, and all of them are in the details."""
RETRY_AFTER_S = 5
DOWN = (SourceState.BACKING_OFF, SourceState.FAILED, SourceState.HELD)


def not_found(name: str, names: Iterable[str], away: Sequence[SourceStatus] = ()) -> ToolError:
    """NOT_FOUND of a tool.

    Args:
        name: what was asked for.
        names: of the tools that are there.
        away: the sources that could have brought it, and are not ready.

    .. versionadded:: 0.1
    """
    near = _near(name, list(names))
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    return absent(f"there is no tool {name[:80]!r}{hint}", away, near=near)


def held_back(name: str, origin: object, why: str, fix: str, *, kind: str = "tool") -> ToolError:
    """FORBIDDEN of a tool that a person has to look at first: it changed since it was accepted, or nobody accepted it.

    Args:
        name: what was asked for.
        origin: whose tool it is.
        why: what changed.
        fix: how a person accepts it.
        kind: what it is, where it is not a tool.

    .. versionadded:: 0.1
    """
    details = {"reason": "held", "changed": why, "fix": fix, "source": str(origin), "retry": Retry.CHANGED.value}
    text = f"the {kind} {name[:80]!r} of {origin} is held back: {why}; {fix}"
    error = ToolError(ErrorCode.FORBIDDEN, text, details)
    error.is_in_our_words = True  # what changed is told without a word of the source, since a model reads it
    return error


class HeldQuestion(NamedTuple):
    """What a person is asked about what a source offers and is held back: see `ToolSource`.

    Args:
        question: what changed, and whether that is accepted.
        tool: the one that is called, as it would be.
        accept: note that it is accepted; it may write a file.

    .. versionadded:: 0.1
    """

    question: str
    tool: Tool
    accept: Callable[[], None]


def question_of(sources: Iterable[tuple[PluginRecord, ToolSource]], name: str, error: ToolError) -> HeldQuestion | None:
    """What the source of a tool that is held back has to ask of a person; None: they can accept it elsewhere alone."""
    for _, source in sources:
        ask = getattr(source, "question_of_held", None)
        if ask is not None and source.name == error.details.get("source"):
            found: HeldQuestion | None = ask(name)
            return found
    return None


def some_of(names: Sequence[str], most: int = MAX_EXPLAINED) -> str:
    """The first of several names, and how many there are beside them."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def absent(message: str, away: Sequence[SourceStatus], **details: Any) -> ToolError:
    """NOT_FOUND of anything that a source may bring: the message also explains the sources that are not ready.

    .. versionadded:: 0.1
    """
    if not away:
        return ToolError(ErrorCode.NOT_FOUND, message, details)
    details["sources"] = [one.to_json() for one in away]
    if any(one.state.is_coming or one.state is SourceState.BACKING_OFF for one in away):
        details |= {"retry": Retry.SAME.value, "retry_after_s": RETRY_AFTER_S}
    stop = "" if message.endswith("?") else "."
    return ToolError(ErrorCode.NOT_FOUND, f"{message}{stop} {_explained(away)}", details)


def told_to(session: Session, away: Sequence[SourceStatus]) -> Sequence[SourceStatus]:
    """Sources whose state a session is about to be told: the last words of a server may be in the reason, and a model
    reads them.

    .. versionadded:: 0.1
    """
    for one in away:
        if one.reason and one.reason != one.state.meaning:
            session.note_read(one.reason, source=one.source)
    return away


def _explained(away: Sequence[SourceStatus]) -> str:
    told = [f"The source {one.source!r} may bring it {_state_of(one)}." for one in away[:MAX_EXPLAINED]]
    if rest := [repr(one.source) for one in away[MAX_EXPLAINED:]]:
        told.append(f"Not ready either: {', '.join(rest)}; pegboard list --sources says why.")
    if any(one.state.is_coming for one in away):
        told.append("Call again in a moment.")
    if any(one.state in DOWN for one in away):
        told.append("pegboard doctor says how to repair it.")
    return " ".join(told)


def _state_of(one: SourceStatus) -> str:
    return f"({one.state.value} for {one.since_s:.0f} s): {(one.reason or one.state.meaning).rstrip('.')}"


def _near(name: str, names: list[str]) -> list[str]:
    from pegboard.schema.near import NearNames

    if len(names) > MAX_COMPARED:  # comparing with thousands would hold the loop: those that begin alike will do
        names = [known for known in names if known[:2].casefold() == name[:2].casefold()][:MAX_COMPARED]
    return list(NearNames().find(name, names, 3))

"""The tools of a board as the page shows them: a row each, what each costs a model, and one of them whole.

Values in, JSON values out. What is registered is shown whether it may be called or not: what read-only mode, a profile
or a lock refuses stands there with the reason. Texts of tools are third parties' and go as they are; the page shows
them as texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from pegboard import PegboardError, Stage, thaw
from pegboard.dialects import describe, tokens_of
from pegboard.marks import Mark, marks_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pegboard import Board, Guard, Tool

    Marks = Mapping[str, Sequence[Mark]]

MAX_SUMMARY = 300
"""Characters of a description that a row has; all of it is searched that far."""


def rows(board: Board, marks: Marks, profile: str | None = None) -> list[dict[str, Any]]:
    """A row for each tool that is registered, and for each that was rejected, in the order of names.

    Args:
        board: the board.
        marks: as of `marks_by_name`.
        profile: whose sessions are meant by what is refused; None: the configuration's own.

    Raises:
        ConfigError: there is no such profile.
    """
    visible = board.visible_tools(profile)
    plans = board.registry.plans
    found = [_row(entry.tool, board, visible, marks) for entry in plans.values()]
    found += [_rejected(one) for one in board.rejected_tools.values() if one.name not in plans]
    return sorted(found, key=lambda row: str(row["name"]))


def _row(tool: Tool, board: Board, visible: Any, marks: Marks) -> dict[str, Any]:
    state = board.state_of(tool.name, visible)
    return {
        "name": tool.name,
        "title": tool.title,
        "summary": tool.description[:MAX_SUMMARY],
        "category": tool.category,
        "tags": sorted(tool.tags),
        "source": str(tool.origin),
        "read_only": tool.read_only,
        "destructive": tool.annotations.destructive,
        "state": state,
        "why": why_not(tool.name, state, board, visible),
        "marks": list(dict.fromkeys(mark.kind for mark in marks.get(tool.name, ()))),
    }


def _rejected(one: Any) -> dict[str, Any]:
    state = "disabled" if one.is_disabled else "held" if one.is_held else "rejected"
    return {
        "name": one.name,
        "title": None,
        "summary": "",
        "category": "",
        "tags": [],
        "source": str(one.origin),
        "read_only": False,
        "destructive": False,
        "state": state,
        "why": f"{one.why}; {one.fix}" if one.fix else one.why,
        "marks": [],
    }


def why_not(name: str, state: str, board: Board, visible: Any) -> str | None:
    """Why a tool that is registered cannot be called, or what else is to be known of its state; None: nothing."""
    if state == "refused":
        left_out = name not in visible.plans
        return f"the profile {visible.profile!r} leaves it out" if left_out else "read-only mode refuses it"
    entry = board.registry.plans[name]
    error = getattr(entry, "error", None)
    if error is not None:
        return str(error.message)
    source = entry.tool.origin.source
    known = board.source_states.get(source) if source else None
    return None if known is None or known[0].value == "ready" else known[1] or known[0].meaning


def marks_by_name(board: Board) -> Marks:
    """What to look at before a model reads it, by the names of the tools; of thousands it takes half a second."""
    taken_out = {
        name: what for _, source in board.sources for name, what in (getattr(source, "stripped", None) or {}).items()
    }
    found: dict[str, list[Mark]] = {}
    for mark in marks_of((entry.tool for entry in board.registry.plans.values()), taken_out):
        found.setdefault(mark.tool.name, []).append(mark)
    return found


def costs(board: Board, dialect: str) -> dict[str, int]:
    """What each tool's definition costs a model in a dialect, in tokens, by name; see `pegboard.dialects.tokens_of`.

    Raises:
        ConfigError: there is no such dialect.
    """
    found = board.dialects.get(dialect)
    if found is None:
        raise board.no_dialect(dialect)
    return {name: tokens_of(found.export([tool]).definitions) for name, tool in board.tools.items()}


def whole(tool: Tool, board: Board, marks: Marks, profile: str | None = None) -> dict[str, Any]:
    """One tool: what a model reads, what holds for its calls, and where it comes from."""
    visible = board.visible_tools(profile)
    entry = visible.plans.get(tool.name) or board.registry.plans[tool.name]
    one, state = entry.tool, board.state_of(tool.name, visible)
    return {
        **describe(one),
        "title": one.title,
        "state": state,
        "why": why_not(tool.name, state, board, visible),
        "annotations": thaw(one.public_definition["annotations"]),
        "timeout_s": board.runtime.timeout_of(one),
        "limits": one.limits.to_json(),
        "guards": [_guard(guard) for guard in _in_order(entry.guards)],
        "run": one.run,
        "secrets": sorted(one.secrets),
        "version": one.version,
        "examples": [
            {"arguments": thaw(example.arguments), "description": example.description, "text": example.text}
            for example in one.examples
        ],
        "origin": attrs.asdict(one.origin),
        "fingerprint": one.fingerprint,
        "marks": [{"kind": mark.kind, "where": mark.where, "why": mark.why} for mark in marks.get(tool.name, ())],
    }


def _in_order(guards: tuple[Guard, ...]) -> list[Guard]:
    """As they are asked: by stage; within a stage the plan has them in their order already."""
    stages = list(Stage)
    return sorted(guards, key=lambda guard: stages.index(guard.stage))


def _guard(guard: Guard) -> dict[str, Any]:
    return {"name": guard.name, "stage": guard.stage.value, "mode": guard.mode}


def exported(tool: Tool, board: Board) -> list[dict[str, Any]]:
    """The tool as each dialect has it: its definition, the name a model sees, what is lost, what it costs."""
    found = []
    for name, dialect in sorted(board.dialects.items()):
        try:
            export = dialect.export([tool])
            shown = {
                "definition": export.definitions[0] if export.definitions else None,
                "alias": next(iter(export.aliases), tool.name),
                "losses": [{"path": loss.path, "what": loss.what} for loss in export.losses],
                "tokens": tokens_of(export.definitions),
            }
        except PegboardError as problem:  # of this dialect; the others are shown
            shown = {"problem": problem.message}
        found.append({"dialect": name, **shown})
    return found

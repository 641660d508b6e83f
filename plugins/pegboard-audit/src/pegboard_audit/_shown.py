"""Calls as a person reads them at a terminal. What callers and tools chose is made harmless by what writes it
(`pegboard.cli.emit_line`, `emit_table`); here it is put into one line and cut."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from pegboard.cli import answer_stream, can_show, columns_of, emit_line, emit_table, is_terminal, printable_line
from pegboard_audit._figures import ASCII_BARS, BARS, milliseconds, spark_line
from pegboard_audit._waterfall import ASCII_BLOCK, BLOCK, bar, bars_of, stages_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pegboard_audit._calls import CallRecord
    from pegboard_audit._families import CallInTree
    from pegboard_audit._figures import CallFigures

HEADERS = ("time", "tool", "user", "source", "outcome", "ms", "ms by stage", "id")
RIGHT = (5,)
STAGE_SHARE = 0.05
"""Of how much of a call a stage has to have taken to be named in the table."""
MAX_NAME = 40
MAX_INDENT = 20
LEAST_BAR = 12


def head_line(figures: CallFigures) -> str:
    """Calls, errors, durations, and how the calls came over time."""
    return ", ".join(
        (
            f"{figures.calls} call{'' if figures.calls == 1 else 's'}",
            f"{figures.errors} error{'' if figures.errors == 1 else 's'}",
            f"p50 {milliseconds(figures.p50_ms)} ms",
            f"p95 {milliseconds(figures.p95_ms)} ms",
            f"slowest {milliseconds(figures.slowest_ms)} ms ({_name(figures.slowest_name)})",
            f"by the minute {spark_line(figures.by_minute, BARS if _shows(BARS) else ASCII_BARS)}",
        )
    )


def row(call: CallRecord) -> tuple[str, ...]:
    """A row of the table, by `HEADERS`."""
    return (
        _moment(call.started_at), _name(call.name), printable_line(call.user_id or "-", MAX_NAME),
        printable_line(call.source or "-", MAX_NAME), _outcome(call), milliseconds(call.duration_ms),
        _stages(call), printable_line(call.id, MAX_NAME),
    )  # fmt: skip


def line(call: CallRecord) -> str:
    """A line of `--follow`, whose columns stand below each other as long as nothing is long."""
    when, name, user, _, outcome, took, stages, id_ = row(call)
    return f"{when}  {name:<20}  {user:<10}  {outcome:<14}  {took:>8} ms  {id_:<14}  {stages}".rstrip()


def emit_stats(groups: Mapping[str, Mapping[str | None, CallFigures]]) -> None:
    """A table for each group that has anything."""
    headers = ("calls", "errors", "p50 ms", "p95 ms", "slowest ms")
    for number, (title, found) in enumerate((title, found) for title, found in groups.items() if found):
        if number:
            emit_line("")
        rows = [
            (
                printable_line(value or "-", MAX_NAME), str(one.calls), str(one.errors),
                *map(milliseconds, (one.p50_ms, one.p95_ms, one.slowest_ms)),
            )
            for value, one in found.items()
        ]  # fmt: skip
        emit_table((title.removesuffix("s"), *headers), rows, right=range(1, 1 + len(headers)))


def emit_call(call: CallRecord, tree: Sequence[CallInTree]) -> None:
    """Everything that is known of one call."""
    emit_line("\n".join(_facts(call)))
    if any(call.timings.values()):
        emit_line("\nstages:\n" + "\n".join(_stage_lines(call)))
    if call.verdicts:
        emit_line("")
        rows = [
            (one.guard, one.stage.value, one.verdict, milliseconds(one.duration_us / 1000)) for one in call.verdicts
        ]
        emit_table(("guard", "stage", "verdict", "ms"), rows, right=(3,))
    if len(tree) > 1:
        emit_line("\nwaterfall:\n" + "\n".join(_waterfall(call, tree)))


def _facts(call: CallRecord) -> Iterator[str]:
    facts = {
        "call": call.id,
        "tool": _name(call.name),
        "from": call.source,
        "time": _moment(call.started_at, whole=True),
        "user": call.user_id,
        "session": f"{call.session} ({call.channel})" if call.channel else call.session,
        "process": None if call.process is None else str(call.process),
        "outcome": _outcome(call),
        "took": f"{milliseconds(call.duration_ms)} ms",
        "parent": call.parent_id,
        "trace": call.trace_id,
        "arguments": None if call.arguments is None else json.dumps(call.arguments, ensure_ascii=False),
    }
    for name, value in facts.items():
        if value:
            yield f"{name + ':':11}{printable_line(value)}"


def _stage_lines(call: CallRecord) -> Iterator[str]:
    """The stages follow each other, so their bars do."""
    width = _room(10 + 2 + 8 + 3 + 2)
    whole = sum(call.timings.values()) / 1000
    for stage, begins, takes in stages_of(call.timings):
        yield f"  {stage:<10}{milliseconds(takes):>8} ms  {bar(begins, takes, whole, width, _block())}"


def _waterfall(call: CallRecord, tree: Sequence[CallInTree]) -> Iterator[str]:
    """Names in from of those that they called; the call that is shown has a mark, those of another process its id."""
    bars = bars_of(tree)
    names = [f"{'  ' * min(one.depth, MAX_INDENT)}{_name(one.call.name)}{_mark(one.call, call)}" for one in bars]
    outcomes = [_outcome(one.call) for one in bars]
    broad, wide = max(map(len, names)), max(map(len, outcomes))
    width = _room(2 + broad + 8 + 5 + wide + 4)
    whole = max(one.begins_ms + one.takes_ms for one in bars)
    for name, outcome, one in zip(names, outcomes, bars, strict=True):
        drawn = bar(one.begins_ms, one.takes_ms, whole, width, _block())
        yield f"  {name:<{broad}}{milliseconds(one.takes_ms):>8} ms  {outcome:<{wide}}  {drawn}"


def _mark(one: CallRecord, shown: CallRecord) -> str:
    if one.seq == shown.seq:
        return " *"
    return f" (process {one.process})" if one.process != shown.process and one.process is not None else ""


def _room(taken: int) -> int:
    """The columns that are left for bars."""
    return max(columns_of(answer_stream()) - taken, LEAST_BAR)


def _block() -> str:
    return BLOCK if _shows(BLOCK) else ASCII_BLOCK


def _shows(signs: str) -> bool:
    """Whether the answer can hold these signs: a file can, and not every terminal."""
    stream = answer_stream()
    return not is_terminal(stream) or can_show(stream, signs)


def _moment(seconds: float, *, whole: bool = False) -> str:
    """The local time; with its date where that is not today's."""
    then = time.localtime(seconds)
    clock = f"{time.strftime('%H:%M:%S', then)}.{int(seconds % 1 * 1000):03}"
    is_today = then[:3] == time.localtime()[:3]
    return clock if is_today and not whole else f"{time.strftime('%Y-%m-%d', then)} {clock}"


def _name(name: str | None) -> str:
    return printable_line(name, MAX_NAME) if name else "-"


def _outcome(call: CallRecord) -> str:
    """What became of it, and which kind of that."""
    word = call.outcome or "done"
    return f"{word} ({printable_line(call.reason, MAX_NAME)})" if call.reason else word


def _stages(call: CallRecord) -> str:
    least = STAGE_SHARE * sum(call.timings.values())
    return ", ".join(f"{stage} {milliseconds(us / 1000)}" for stage, us in call.timings.items() if us and us >= least)

"""The calls of a run against those that were expected. Pure.

A run is right if its calls can be paired with the expected ones so that every pair fits, and nothing is left over:
a maximum matching, since a call may fit several expectations. Mistakes are told by the pairing that is nearest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from pegboard.errors import format_path
from pegboard.schema import are_equal
from pegboard.schema.jsontext import shorten, shorten_text
from pegboard_chat.evals.critics import MISSING

if TYPE_CHECKING:
    from pegboard_chat.evals.questions import ExpectedCall, Question

MAX_JUDGED = 100
"""Calls of one run that are looked at; the others are too many by any expectation."""


@attrs.frozen
class Mistake:
    """One thing that a run did wrong.

    Args:
        kind: `missing` call, `wrong_tool`, `argument`, `extra` call, `order`, `answer`, or `refused`: the tool's own
            schema would not take the arguments.
        where: the tool, and the argument.
        expected: what would have been right, as words.
        got: what came, shortened.
    """

    kind: str
    where: str
    expected: str
    got: str

    def __str__(self) -> str:
        return f"{self.where}: expected {self.expected}, got {self.got}"

    def to_json(self) -> dict[str, str]:
        """The mistake as JSON."""
        return {"kind": self.kind, "where": self.where, "expected": self.expected, "got": self.got}


@attrs.frozen
class Made:
    """A call that the model made.

    Args:
        name: of the tool.
        arguments: as they came; anything.
        refused: why the tool would not take them; None: it would.
    """

    name: str
    arguments: Any
    refused: str | None = None


Schemas = Mapping[str, Mapping[str, Any]]
"""By tool, the schemas of its arguments."""


def judge(question: Question, made: Sequence[Made], schemas: Schemas, answer: str | None = None) -> list[Mistake]:
    """What is wrong with a run; nothing: it is right.

    Args:
        question: what was expected.
        made: the calls in the order they were made.
        schemas: for the defaults of arguments.
        answer: the text of the last message; None: the run ended before there was one.
    """
    mistakes = _judge_calls(question, made[:MAX_JUDGED], schemas)
    if question.answer is not None and not question.answer.accepts(MISSING if answer is None else answer):
        got = "no answer" if not answer else shorten_text(" ".join(answer.split()), 80)
        mistakes.append(Mistake("answer", "the answer", question.answer.expected, got))
    return mistakes


def _judge_calls(question: Question, made: Sequence[Made], schemas: Schemas) -> list[Mistake]:
    expected = question.calls
    table = [[faults_of(one, call, schemas) for call in made] for one in expected]
    paired = _matching(table, len(made))
    if None in paired or (len(made) > len(expected) and not question.more_calls):
        return _nearest(question, made, table, paired)
    if question.order and not _fits_in_order(table, len(made)):
        return [Mistake("order", "the calls", _names(expected), _names(made))]
    return []


def faults_of(expected: ExpectedCall, made: Made, schemas: Schemas) -> list[Mistake] | None:
    """What is wrong with a call that was meant to be this one; None: it is another tool's."""
    if expected.name != made.name:
        return None
    if made.refused is not None:
        return [_refused(made)]
    arguments = made.arguments if isinstance(made.arguments, Mapping) else {}
    properties = schemas.get(made.name, {})
    mistakes = []
    for key, critic in expected.arguments.items():
        value = arguments.get(key, MISSING)
        if not critic.accepts(value) and not (value is MISSING and critic.accepts(_default(properties, key))):
            mistakes.append(_argument(made.name, key, critic.expected, value))
    if not expected.more_arguments:
        for key, value in arguments.items():
            if key not in expected.arguments and not _says_nothing(value, _default(properties, key)):
                mistakes.append(_argument(made.name, key, "nothing", value))
    return mistakes


def _default(properties: Mapping[str, Any], key: str) -> Any:
    schema = properties.get(key)
    return schema.get("default", MISSING) if isinstance(schema, Mapping) else MISSING


def _says_nothing(value: Any, default: Any) -> bool:
    """Whether an argument that nobody asked for might as well not be there."""
    return value is None if default is MISSING else are_equal(value, default)


def _argument(name: str, key: str, expected: str, value: Any) -> Mistake:
    path = format_path((key,))
    got = "nothing" if value is MISSING else shorten(value)
    return Mistake("argument", f"{name}{'' if path.startswith('[') else '.'}{path}", expected, got)


def _refused(made: Made) -> Mistake:
    return Mistake("refused", made.name, "arguments that the tool takes", shorten_text(str(made.refused), 200))


def _names(calls: Sequence[ExpectedCall] | Sequence[Made]) -> str:
    return shorten_text(", ".join(call.name for call in calls), 120) or "none"


# -- pairing


def _matching(table: Sequence[Sequence[list[Mistake] | None]], count: int) -> list[int | None]:
    """For each expected call the call that it is paired with, in a matching of the most pairs that fit."""
    taken: list[int | None] = [None] * count  # by which expected call

    def find(row: int, tried: set[int]) -> bool:
        for column in range(count):
            if table[row][column] == [] and column not in tried:
                tried.add(column)
                other = taken[column]
                if other is None or find(other, tried):
                    taken[column] = row
                    return True
        return False

    for row in range(len(table)):
        find(row, set())
    columns = {row: column for column, row in enumerate(taken) if row is not None}
    return [columns.get(row) for row in range(len(table))]


def _fits_in_order(table: Sequence[Sequence[list[Mistake] | None]], count: int) -> bool:
    """Whether the calls fit one after the other, with others in between where there are more. The first that fits is
    never worse than a later one."""
    column = 0
    for row in table:
        while column < count and row[column] != []:
            column += 1
        if column == count:
            return False
        column += 1
    return True


def _nearest(
    question: Question,
    made: Sequence[Made],
    table: Sequence[Sequence[list[Mistake] | None]],
    paired: Sequence[int | None],
) -> list[Mistake]:
    """What is wrong, by pairs that fit, then pairs of one tool with the fewest mistakes, then what is left over."""
    mistakes: list[Mistake] = []
    left = [index for index in range(len(made)) if index not in paired]
    waiting = []
    for row, column in enumerate(paired):
        if column is not None:
            continue
        near = [(len(found), index) for index in left if (found := table[row][index]) is not None]
        if near:
            best = min(near)[1]
            left.remove(best)
            mistakes += table[row][best] or []
        else:
            waiting.append(question.calls[row])
    for expected in waiting:
        if left:
            call = made[left.pop(0)]
            mistakes.append(Mistake("wrong_tool", expected.name, f"a call of {expected.name}", f"one of {call.name}"))
        else:
            got = "no call" if not made else "no such call"
            mistakes.append(Mistake("missing", expected.name, f"a call of {expected.name}", got))
    if not question.more_calls:
        mistakes += [
            Mistake("extra", made[index].name, "no more calls", shorten(made[index].arguments)) for index in left
        ]
    return mistakes

"""A file into questions, and everything that is wrong with it in one list.

    model, runs, parallel, rounds, system, temperature, max_tokens, tools, run     how it is asked
    [thresholds] rate, each, low                                       when it counts as failed
    [descriptions] NAME = "..."                                        other descriptions of tools, and of their
    [descriptions.NAME] description = "...", [...parameters]           parameters
    [[questions]] question, id, order, more_calls, answer, rounds, system
    [[questions.calls]] name, arguments, more_arguments, result        none expected: calls = []

The file is TOML, YAML or JSON, bounded as a configuration is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import attrs

from pegboard import ConfigError, Fault, Tool
from pegboard.schema.jsontext import shorten
from pegboard_chat.evals._faults import Faults, is_json
from pegboard_chat.evals.critics import Critic, read_critic

MAX_QUESTIONS = 1_000
MAX_RUNS = 1_000
MAX_CALLS = 20
MAX_PARALLEL = 64
MAX_ROUNDS = 50


@attrs.frozen
class ExpectedCall:
    """A call that is expected.

    Args:
        name: of the tool.
        arguments: what each has to be.
        more_arguments: whether others may stand beside them; those that say the schema's own default always may.
        result: what the call is answered with where it is not carried out.
    """

    name: str
    arguments: Mapping[str, Critic] = attrs.field(factory=dict)
    more_arguments: bool = False
    result: str | None = None


@attrs.frozen
class Question:
    """One question, and what is expected of the model.

    Args:
        id: unique in its file.
        text: what the model is asked.
        calls: what it should call; empty: nothing.
        order: whether in this order.
        more_calls: whether it may call more.
        answer: what the text of its last message has to be; None: anything.
        rounds: how often the model is asked: with 1 its first answer counts.
        system: what it is told before.
    """

    id: str
    text: str
    calls: tuple[ExpectedCall, ...]
    order: bool = False
    more_calls: bool = False
    answer: Critic | None = None
    rounds: int = 1
    system: str | None = None


@attrs.frozen
class Thresholds:
    """When an eval counts as failed; rates from 0 to 1, None: never.

    Args:
        rate: the rate of all runs is below.
        each: the rate of one question is below.
        low: the lower end of the interval of the rate is below.
    """

    rate: float | None = None
    each: float | None = None
    low: float | None = None


@attrs.frozen
class Described:
    """Another description of a tool and of its parameters; None: its own."""

    description: str | None = None
    parameters: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen
class EvalFile:
    """What a file says."""

    questions: tuple[Question, ...]
    thresholds: Thresholds = Thresholds()
    descriptions: Mapping[str, Described] = attrs.field(factory=dict)
    model: str | None = None
    runs: int = 3
    parallel: int = 4
    temperature: float | None = None
    tools: tuple[str, ...] | None = None
    run: bool = False
    max_tokens: int | None = None


# -- reading


def read_eval(path: str) -> EvalFile:
    """Read a file of questions.

    Raises:
        ConfigError: it cannot be read, or something is wrong with it: all of it at once.
    """
    faults = Faults()
    found = eval_of(_load(path), faults)
    faults.raise_if_any(f"{path} is not an eval")
    return found


def read_descriptions(path: str) -> Mapping[str, Described]:
    """Read the `descriptions` of a file, which may hold questions beside them.

    Raises:
        ConfigError: as `read_eval`.
    """
    faults = Faults()
    table = _load(path)
    if "questions" not in table:
        faults.known_keys(table, ("descriptions",))
    if not table.get("descriptions"):
        faults.add(("descriptions",), "a table of descriptions by tool", table.get("descriptions"))
    described = _descriptions(table, faults)
    faults.raise_if_any(f"{path} holds no descriptions")
    return described


def _load(path: str) -> Mapping[str, Any]:
    from pegboard.config import read_table

    file = Path(path)
    if file.suffix not in SUFFIXES:
        raise ConfigError(f"{path} is not a file of questions", hint=f"its name ends in one of {', '.join(SUFFIXES)}")
    return read_table(file)


SUFFIXES = (".toml", ".yaml", ".yml", ".json")


def eval_of(table: Any, faults: Faults) -> EvalFile:
    """The values of a file as an eval; what is wrong goes into `faults`. Any JSON value is taken."""
    table = faults.table(table)
    faults.known_keys(table, (
        "questions", "thresholds", "descriptions", "model", "runs", "parallel", "rounds", "system", "temperature",
        "tools", "run", "max_tokens",
    ))  # fmt: skip
    run = faults.truth(table, "run", False)
    rounds = faults.count(table, "rounds", 5 if run else 1, MAX_ROUNDS)
    system = faults.optional(table, "system", faults.text)
    listed = faults.listed(table.get("questions"), ("questions",), MAX_QUESTIONS, "write [[questions]] in TOML")
    if isinstance(table.get("questions"), list) and not listed:
        faults.add(("questions",), "at least one", [])
    questions = tuple(
        _question(one, number, rounds, system, faults.at("questions", number)) for number, one in enumerate(listed)
    )
    seen: set[str] = set()
    for number, question in enumerate(questions):
        if question.id in seen:
            faults.add(("questions", number, "id"), "an id that no other question has", question.id)
        seen.add(question.id)
    names = None
    if "tools" in table:
        given = faults.listed(table["tools"], ("tools",), 10_000)
        names = tuple(faults.text(one, ("tools", number)) for number, one in enumerate(given))
    return EvalFile(
        questions,
        _thresholds(table, faults),
        _descriptions(table, faults),
        faults.optional(table, "model", faults.text),
        faults.count(table, "runs", 3, MAX_RUNS),
        faults.count(table, "parallel", 4, MAX_PARALLEL),
        _from_zero(table, "temperature", 10.0, faults),
        names,
        run,
        faults.count(table, "max_tokens", 1, 1_000_000) if "max_tokens" in table else None,
    )


def _question(value: Any, number: int, rounds: int, system: str | None, faults: Faults) -> Question:
    table = faults.table(value)
    known = ("question", "id", "calls", "order", "more_calls", "answer", "rounds", "system")
    faults.known_keys(table, known)
    hint = "calls = [] says that none is expected"
    listed = faults.listed(table.get("calls"), ("calls",), MAX_CALLS, hint) if isinstance(value, dict) else []
    return Question(
        faults.text(table.get("id", str(number + 1)), ("id",), default=str(number + 1)),
        faults.text(table.get("question"), ("question",)) if isinstance(value, dict) else "",
        tuple(_call(one, faults.at("calls", index)) for index, one in enumerate(listed)),
        faults.truth(table, "order", False),
        faults.truth(table, "more_calls", False),
        read_critic(table["answer"], faults.at("answer")) if "answer" in table else None,
        faults.count(table, "rounds", rounds, MAX_ROUNDS),
        faults.text(table["system"], ("system",)) if "system" in table else system,
    )


def _call(value: Any, faults: Faults) -> ExpectedCall:
    if isinstance(value, str):  # the name alone: whatever its arguments
        return ExpectedCall(faults.text(value, ()), more_arguments=True)
    table = faults.table(value)
    faults.known_keys(table, ("name", "arguments", "more_arguments", "result"))
    arguments = faults.table(table.get("arguments", {}), ("arguments",))
    return ExpectedCall(
        faults.text(table.get("name"), ("name",)) if isinstance(value, dict) else "",
        {key: _critic(one, faults.at("arguments", key)) for key, one in arguments.items()},
        faults.truth(table, "more_arguments", "arguments" not in table),
        faults.optional(table, "result", faults.text),
    )


def _critic(value: Any, faults: Faults) -> Critic:
    if not is_json(value):
        faults.add((), "a value of JSON", value, "put a date in quotes")
    return read_critic(value, faults)


def _thresholds(table: Mapping[str, Any], faults: Faults) -> Thresholds:
    inner = faults.table(table.get("thresholds", {}), ("thresholds",))
    faults = faults.at("thresholds")
    faults.known_keys(inner, ("rate", "each", "low"))
    return Thresholds(*(_from_zero(inner, key, 1.0, faults) for key in ("rate", "each", "low")))


def _from_zero(table: Mapping[str, Any], key: str, most: float, faults: Faults) -> float | None:
    value = table.get(key)
    if key not in table:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
        faults.add((key,), f"a number from 0 to {most:g}", value)
        return None
    return float(value)


def _descriptions(table: Mapping[str, Any], faults: Faults) -> Mapping[str, Described]:
    given = faults.table(table.get("descriptions", {}), ("descriptions",))
    return {name: _described(one, faults.at("descriptions", name)) for name, one in given.items()}


def _described(value: Any, faults: Faults) -> Described:
    if isinstance(value, str):
        return Described(faults.text(value, ()))
    table = faults.table(value)
    faults.known_keys(table, ("description", "parameters"))
    parameters = faults.table(table.get("parameters", {}), ("parameters",))
    return Described(
        faults.optional(table, "description", faults.text),
        {name: faults.text(one, ("parameters", name)) for name, one in parameters.items()},
    )


# -- beside the board


def check_names(found: EvalFile, tools: Mapping[str, Tool], faults: Faults) -> None:
    """Require that what the file names is there: tools, and arguments of theirs."""
    offered = dict(tools)
    if found.tools is not None:
        for number, name in enumerate(found.tools):
            _require(name, tools, ("tools", number), faults)
        offered = {name: tool for name, tool in tools.items() if name in found.tools}
    for number, question in enumerate(found.questions):
        for index, call in enumerate(question.calls):
            path = ("questions", number, "calls", index)
            if _require(call.name, offered, (*path, "name"), faults):
                properties = properties_of(offered[call.name])
                if offered[call.name].input_schema.get("additionalProperties", True) is False:
                    for key in call.arguments:
                        _require(key, properties, (*path, "arguments", key), faults, "an argument of the tool")
    check_descriptions(found.descriptions, tools, faults)


def check_descriptions(described: Mapping[str, Described], tools: Mapping[str, Tool], faults: Faults) -> None:
    """Require that the tools and parameters that are described are there."""
    for name, one in described.items():
        if _require(name, tools, ("descriptions", name), faults):
            for key in one.parameters:
                path = ("descriptions", name, "parameters", key)
                _require(key, properties_of(tools[name]), path, faults, "a parameter of the tool")


def properties_of(tool: Tool) -> Mapping[str, Any]:
    """The schemas of a tool's arguments."""
    properties = tool.input_schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _require(
    name: str, known: Collection[str], path: tuple[str | int, ...], faults: Faults, what: str = "a tool on the board"
) -> bool:
    from pegboard.schema import NearNames

    if name in known:
        return True
    if name:
        near = NearNames().find(name, known)
        if near:
            hint = f"did you mean {near[0]}?"
        elif what == "a tool on the board":
            hint = "pegboard list --all shows the tools on the board"
        else:
            hint = f"there are {', '.join(sorted(known)[:20])}" if known else "there are none"
        faults.append(Fault((*faults.path, *path), what, shorten(name), hint))
    return False


def described(tool: Tool, other: Described) -> Tool:
    """The tool with other texts; everything else stays."""
    schema = tool.input_schema
    if other.parameters:
        properties = dict(properties_of(tool))
        for key, text in other.parameters.items():
            if isinstance(properties.get(key), Mapping):
                properties[key] = {**properties[key], "description": text}
        schema = {**schema, "properties": properties}
    text = tool.description if other.description is None else other.description
    return attrs.evolve(tool, description=text, input_schema=schema)

"""A file of questions: what it may say, and that everything that is wrong with it is told at once."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ConfigError, tool
from pegboard_chat.evals._faults import MAX_FAULTS
from pegboard_chat.evals.critics import Exact
from pegboard_chat.evals.questions import (
    MAX_CALLS,
    SUFFIXES,
    Described,
    Faults,
    check_names,
    described,
    eval_of,
    properties_of,
    read_descriptions,
    read_eval,
)

WHOLE: dict[str, Any] = {
    "model": "echo",
    "runs": 2,
    "parallel": 3,
    "rounds": 4,
    "system": "be brief",
    "temperature": 0,
    "max_tokens": 100,
    "tools": ["add"],
    "run": True,
    "thresholds": {"rate": 0.9, "each": 0.5, "low": 0},
    "descriptions": {"add": "sums", "wipe": {"description": "d", "parameters": {"disk": "p"}}},
    "questions": [
        {
            "id": "sum",
            "question": "1 + 2?",
            "order": True,
            "more_calls": True,
            "answer": {"contains": "3"},
            "rounds": 5,
            "system": "be long",
            "calls": [{"name": "add", "arguments": {"a": 1}, "more_arguments": True, "result": "3"}, "add"],
        },
        {"question": "hello", "calls": []},
    ],
}


def test_a_file_says_everything_that_it_may() -> None:
    faults = Faults()
    found = eval_of(WHOLE, faults)
    assert faults.found == []
    assert (found.model, found.runs, found.parallel, found.temperature, found.run) == ("echo", 2, 3, 0.0, True)
    assert found.max_tokens == 100
    assert (found.thresholds.rate, found.thresholds.each, found.thresholds.low) == (0.9, 0.5, 0.0)
    first, second = found.questions
    assert (first.id, first.order, first.more_calls, first.rounds, first.system) == ("sum", True, True, 5, "be long")
    assert first.calls[0].arguments == {"a": Exact(1)}
    assert (first.calls[0].more_arguments, first.calls[0].result) == (True, "3")
    assert (first.calls[1].name, first.calls[1].more_arguments) == ("add", True)
    assert (second.id, second.calls, second.rounds, second.system, second.answer) == ("2", (), 4, "be brief", None)
    assert found.descriptions["add"] == Described("sums")


@pytest.mark.parametrize(("run", "rounds"), [(False, 1), (True, 5)])
def test_one_round_is_judged_unless_calls_are_carried_out(run: bool, rounds: int) -> None:
    assert eval_of({"run": run, "questions": [{"question": "?", "calls": []}]}, Faults()).questions[0].rounds == rounds


@pytest.mark.parametrize(
    ("table", "where"),
    [
        ([], ""),
        ({}, "questions"),
        ({"questions": []}, "questions"),
        ({"questions": {}}, "questions"),
        ({"questions": [3]}, "questions[0]"),
        ({"questions": [{"question": "", "calls": []}]}, "questions[0].question"),
        ({"questions": [{"question": "?"}]}, "questions[0].calls"),
        ({"questions": [{"question": "?", "calls": [{}]}]}, "questions[0].calls[0].name"),
        ({"questions": [{"question": "?", "calls": [""]}]}, "questions[0].calls[0]"),
        ({"questions": [{"question": "?", "calls": ["a"] * (MAX_CALLS + 1)}]}, "questions[0].calls"),
        ({"questions": [{"question": "?", "calls": [], "id": 3}]}, "questions[0].id"),
        ({"questions": [{"question": "?", "calls": [], "order": 1}]}, "questions[0].order"),
        ({"questions": [{"question": "?", "calls": [], "answer": {}}]}, "questions[0].answer"),
        ({"runs": True}, "runs"),
        ({"runs": 1.5}, "runs"),
        ({"temperature": -1}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"thresholds": {"rate": 90}}, "thresholds.rate"),
        ({"thresholds": {"rat": 0.9}}, "thresholds.rat"),
        ({"descriptions": {"add": 3}}, "descriptions.add"),
        ({"descriptions": {"add": {"parameters": {"a": ""}}}}, "descriptions.add.parameters.a"),
        ({"tools": "add"}, "tools"),
        ({"tools": [3]}, "tools[0]"),
    ],
    ids=str,
)
def test_what_is_wrong_is_told_with_its_place(table: Any, where: str) -> None:
    faults = Faults()
    eval_of(table, faults)
    assert where in [fault.where for fault in faults.found]
    assert all(fault.expected and fault.got for fault in faults.found)


def test_two_questions_of_one_id_are_a_fault() -> None:
    faults = Faults()
    eval_of({"questions": [{"id": "a", "question": "?", "calls": []}] * 2}, faults)
    assert [fault.where for fault in faults.found] == ["questions[1].id"]


TOML = """
runs = 2
[thresholds]
rate = 0.9
[descriptions.add]
description = "Add."
parameters = { a = "one" }
[[questions]]
id = "sum"
question = "1 + 2?"
calls = [{ name = "add", arguments = { a = 1, b = { number = 2, tolerance = 0.1 }, c = { regex = "^x" } } }]
"""
YAML = """
runs: 2
thresholds: {rate: 0.9}
descriptions:
  add: &text Add.
questions:
  - question: *text
    calls:
      - name: add
        arguments: {a: 1, b: {one_of: [1, 2]}}
"""

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5,
)


@st.composite
def spoilt(draw: st.DrawFn) -> Any:
    """The whole file with one value in it replaced."""
    table = json.loads(json.dumps(WHOLE))
    place = table
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = draw(st.sampled_from(keys))
        if not place[key] or not isinstance(place[key], (dict, list)) or draw(st.booleans()):
            place[key] = draw(JSON)
            return table
        place = place[key]


@given(JSON | spoilt())
@settings(max_examples=200)
def test_any_json_is_an_eval_or_has_faults(table: Any) -> None:
    faults = Faults()
    found = eval_of(table, faults)
    assert found.runs >= 1
    assert isinstance("\n".join(map(str, faults.found)), str)
    if not faults.found:
        assert found.questions


@st.composite
def written(draw: st.DrawFn) -> bytes:
    """A file with a place that something else was written over; or anything."""
    text = draw(st.sampled_from([json.dumps(WHOLE), TOML, YAML])).encode()
    begin = draw(st.integers(0, len(text)))
    end = draw(st.integers(begin, min(len(text), begin + 20)))
    return draw(st.binary(max_size=30) | st.just(text[:begin] + draw(st.binary(max_size=4)) + text[end:]))


@given(written(), st.sampled_from(SUFFIXES))
@settings(max_examples=80)
def test_any_file_is_an_eval_or_says_what_is_wrong_with_it(data: bytes, suffix: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a{suffix}"
        path.write_bytes(data)
        for read in (read_eval, read_descriptions):
            said = path.name
            try:
                read(str(path))
            except ConfigError as problem:
                said = problem.message
            assert path.name in said


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.toml", '[[questions]]\nquestion = "?"\ncalls = []\n'),
        ("a.yaml", "questions:\n- question: '?'\n  calls: []\n"),
        ("a.json", '{"questions": [{"question": "?", "calls": []}]}'),
    ],
)
def test_a_file_is_toml_yaml_or_json(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert read_eval(str(tmp_path / name)).questions[0].text == "?"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.txt", "", "not a file of questions"),
        ("a.toml", "questions = 3", "a list"),
        ("a.toml", "questions = ", "cannot be read"),
        ("a.yaml", "- 1", "cannot be read"),
        ("a.json", "{", "cannot be read"),
        ("a.toml", '[[questions]]\nquestion="?"\ncalls=[{name="a",arguments={d=2020-01-01}}]', "put a date in quotes"),
        ("a.toml", '[[questions]]\nquestion="?"\ncalls=[{name="a",arguments={d=[2020-01-01]}}]', "a value of JSON"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError) as raised:
        read_eval(str(tmp_path / name))
    assert said in f"{raised.value} {raised.value.hint}"


def test_a_file_with_hundreds_of_faults_tells_the_first_of_them(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({f"x{number}": 1 for number in range(200)}))
    with pytest.raises(ConfigError) as raised:
        read_eval(str(tmp_path / "a.json"))
    assert len(raised.value.faults) == MAX_FAULTS
    assert raised.value.hint == "and 151 more"


def test_descriptions_stand_alone_or_beside_questions(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('[descriptions]\nadd = "sums"\n')
    (tmp_path / "b.json").write_text(json.dumps(WHOLE))
    (tmp_path / "c.toml").write_text('add = "sums"\n')
    assert read_descriptions(str(tmp_path / "a.toml")) == {"add": Described("sums")}
    assert set(read_descriptions(str(tmp_path / "b.json"))) == {"add", "wipe"}
    with pytest.raises(ConfigError) as raised:
        read_descriptions(str(tmp_path / "c.toml"))
    assert [fault.where for fault in raised.value.faults] == ["add", "descriptions"]


@tool(run="inplace")
def add(a: float, b: float = 10) -> float:
    """Add two numbers."""
    return a + b


@tool(run="inplace")
def wipe(disk: str) -> str:
    """Wipe a disk."""
    return disk


@pytest.mark.parametrize(
    ("change", "where", "hint"),
    [
        ({}, None, None),
        ({"tools": ["ad"]}, "tools[0]", "did you mean add?"),
        ({"tools": ["wipe"]}, "questions[0].calls[0].name", "pegboard list"),
        ({"descriptions": {"wip": "x"}}, "descriptions.wip", "did you mean wipe?"),
        ({"descriptions": {"add": {"parameters": {"zzz": "x"}}}}, "descriptions.add.parameters.zzz", "there are a, b"),
        (
            {"questions": [{"question": "?", "calls": [{"name": "add", "arguments": {"aa": 1}}]}]},
            "questions[0].calls[0].arguments.aa",
            "did you mean a?",
        ),
    ],
    ids=str,
)
def test_names_are_held_against_the_board(change: dict[str, Any], where: str | None, hint: str | None) -> None:
    faults = Faults()
    found = eval_of({**WHOLE, **change}, faults)
    check_names(found, {"add": add, "wipe": wipe}, faults)
    assert [fault.where for fault in faults.found][:1] == ([where] if where else [])
    if hint:
        assert hint in str(faults.found[0].hint)


def test_a_tool_with_other_texts_stays_the_same_otherwise() -> None:
    other = described(add, Described("sums", {"a": "the first"}))
    assert (other.description, properties_of(other)["a"]["description"]) == ("sums", "the first")
    assert properties_of(other)["b"] == properties_of(add)["b"]
    assert other.input_schema["required"] == add.input_schema["required"]
    assert described(add, Described(None, {"zzz": "nobody"})).public_definition == add.public_definition

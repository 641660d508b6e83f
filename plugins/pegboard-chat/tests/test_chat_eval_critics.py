"""What one argument has to be: each critic, and that any JSON value gets an answer."""

from __future__ import annotations

import re
import signal
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard.schema import are_equal
from pegboard_chat.evals import critics
from pegboard_chat.evals._faults import Faults
from pegboard_chat.evals.critics import CRITICS, MAX_SEARCHED, MISSING, Exact, read_critic

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def critic(value: Any) -> Any:
    faults = Faults()
    found = read_critic(value, faults)
    assert faults.found == []
    return found


@pytest.mark.parametrize(
    ("written", "right", "wrong"),
    [
        (3, [3, 3.0], [True, "3", 4, None, MISSING, [3]]),
        (True, [True], [1, "true"]),
        ("a", ["a"], ["A", "a "]),
        ([1, 2], [[1, 2.0]], [[2, 1], [1]]),
        ({"exact": {"a": [1]}}, [{"a": [1.0]}], [{"a": [1], "b": 2}, {}]),
        ({"exact": None}, [None], [MISSING, 0, ""]),
        ({"number": 3}, [3, 3.0, 3.0000000001], [True, "3", 3.1, 10**400, MISSING]),
        ({"number": 3, "tolerance": 0.5}, [2.5, 3.5, 3], [3.6, -3]),
        ({"number": -100, "relative": 0.1}, [-90, -110], [-111, 100]),
        ({"number": 0.3, "tolerance": 0.1}, [0.2, 0.4], [0.41]),
        ({"one_of": ["UTC", 1]}, ["UTC", 1.0], ["utc", True, MISSING]),
        ({"text": "Two words"}, ["two  WORDS", "twowords", "Two words\n"], ["two", 2, MISSING]),
        ({"regex": "^pay"}, ["pay", "payment"], ["repay", 1, MISSING]),
        ({"contains": "Red"}, ["a red one", ["Red"]], ["green", ["red"], 1, MISSING]),
        ({"contains": ["a", "b"]}, ["ab", ["b", "c", "a"]], ["a", ["a"]]),
        ({"contains": 3}, [[3.0, 1]], ["3", [True]]),
        ({"any": True}, [None, 0, "x", []], [MISSING]),
        ({"absent": True}, [MISSING, None], [0, "", False]),
        ({"number": 1, "optional": True}, [1, MISSING], [2, None]),
    ],
    ids=str,
)
def test_a_critic_takes_what_it_says_and_nothing_else(written: Any, right: list[Any], wrong: list[Any]) -> None:
    found = critic(written)
    assert [value for value in right if not found.accepts(value)] == []
    assert [value for value in wrong if found.accepts(value)] == []
    assert found.expected


@pytest.mark.parametrize(
    ("written", "path", "expected"),
    [
        ({}, "", "one of exact, number"),
        ({"a": 1}, "", "one of exact, number"),
        ({"text": "a", "regex": "a"}, "", "one of exact, number"),
        ({"number": "3"}, "number", "a number"),
        ({"number": float("inf")}, "number", "a number"),
        ({"number": 3, "tolerance": -1}, "tolerance", "a number from 0 on"),
        ({"number": 3, "tolerence": 1}, "tolerence", "a key that is known"),
        ({"one_of": []}, "one_of", "a list of values"),
        ({"text": 3}, "text", "a text"),
        ({"regex": "("}, "regex", "a pattern"),
        ({"any": False}, "any", "true"),
        ({"absent": 1}, "absent", "true"),
        ({"exact": 1, "optional": "yes"}, "optional", "true or false"),
    ],
    ids=str,
)
def test_what_is_not_a_critic_is_a_fault_with_its_place(written: Any, path: str, expected: str) -> None:
    faults = Faults()
    read_critic(written, faults)
    assert [(fault.where, fault.expected[: len(expected)]) for fault in faults.found] == [(path, expected)]


def test_a_misspelt_key_of_a_critic_names_the_one_that_was_meant() -> None:
    faults = Faults()
    read_critic({"number": 1, "tolerence": 1}, faults)
    assert faults.found[0].hint == "did you mean tolerance?"


@given(VALUES, VALUES)
@settings(max_examples=80)
def test_the_same_is_the_same_both_ways_and_with_itself(a: Any, b: Any) -> None:
    assert are_equal(a, a)
    assert are_equal(a, b) is are_equal(b, a)
    assert Exact(a).accepts(b) is are_equal(a, b)


@given(
    st.one_of(VALUES, st.dictionaries(st.sampled_from([*CRITICS, "tolerance", "relative", "optional"]), VALUES)),
    VALUES | st.just(MISSING),
)
@settings(max_examples=150)
def test_any_json_reads_as_a_critic_or_faults_and_any_value_is_answered(written: Any, value: Any) -> None:
    found = read_critic(written, Faults())
    assert found.accepts(value) in (True, False)
    assert isinstance(found.expected, str)
    assert len(found.expected) < 1_000


@given(VALUES.filter(lambda value: not isinstance(value, dict)))
@settings(max_examples=50)
def test_a_plain_value_is_right_for_itself(value: Any) -> None:
    assert critic(value).accepts(value)
    assert critic({"one_of": [value]}).accepts(value)
    assert critic({"exact": value, "optional": True}).accepts(MISSING)


def test_a_long_text_is_searched_no_further_than_the_bound() -> None:
    found = critic({"regex": re.escape("end")})
    assert not found.accepts("x" * MAX_SEARCHED + "end")
    assert found.accepts("x" * (MAX_SEARCHED - 3) + "end")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="alarms of POSIX")
def test_a_pattern_that_never_ends_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(critics, "SEARCH_S", 0.05)
    before = signal.getsignal(signal.SIGALRM)
    bomb = critics.Regex(re.compile("^(a+)+$"))
    assert not bomb.accepts("a" * 60 + "!")
    assert bomb.accepts("a" * 60)
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_in_another_thread_a_pattern_takes_its_time() -> None:
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(critics.Regex(re.compile("b")).accepts("abc")))
    thread.start()
    thread.join()
    assert found == [True]

"""Errors: stable codes, what repeating would do, faults with their place."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard import ConfigError, ErrorCode, Fault, PegboardError, PluginError, Retry, ToolDefinitionError, ToolError
from pegboard.errors import DEFAULT_RETRY, format_path


def test_the_codes_are_these() -> None:
    assert [code.value for code in ErrorCode] == [
        "INVALID_INPUT",
        "NOT_FOUND",
        "CONFLICT",
        "UNAUTHORIZED",
        "FORBIDDEN",
        "TIMEOUT",
        "RATE_LIMITED",
        "UPSTREAM_ERROR",
        "INTERNAL_ERROR",
        "OUTCOME_UNKNOWN",
    ]
    assert set(DEFAULT_RETRY) == set(ErrorCode)


@pytest.mark.parametrize("code", list(ErrorCode))
def test_every_error_says_what_repeating_would_do(code: ErrorCode) -> None:
    details = ToolError(code, "no").details
    assert Retry(details["retry"])
    assert ("retry_after_s" in details) is (details["retry"] == "same")


def test_a_retry_that_is_said_stays() -> None:
    error = ToolError("TIMEOUT", "no", {"a": 1}, retry="same", retry_after_s=7)
    assert error.details == {"a": 1, "retry": "same", "retry_after_s": 7}
    assert ToolError("RATE_LIMITED", "no").details["retry_after_s"] == 1


def test_an_unknown_code_is_refused() -> None:
    with pytest.raises(ValueError):
        ToolError("NO_SUCH_CODE", "no")


def test_the_details_of_an_error_are_its_own() -> None:
    given_details = {"a": 1}
    error = ToolError("CONFLICT", "no", given_details)
    error.details["b"] = 2
    assert given_details == {"a": 1}


@given(st.sampled_from(ErrorCode), st.text(), st.dictionaries(st.text(max_size=5), st.integers(), max_size=3))
def test_an_error_survives_json_pickle_and_copying(code: ErrorCode, message: str, details: dict[str, int]) -> None:
    error = ToolError(code, message, details)
    for other in (ToolError.from_json(error.to_json()), pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert other == error
        assert hash(other) == hash(error)
    assert error != message
    assert code.value in repr(error)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("items", 2, "qty"), "items[2].qty"),
        ((0,), "[0]"),
        (("a-b",), "a-b"),
        (("a b", "c"), "['a b'].c"),
        (("x" * 200 + "!",), "['" + "x" * 80 + "']"),
    ],
)
def test_paths_read_as_people_write_them(path: tuple[str | int, ...], text: str) -> None:
    assert format_path(path) == text


def test_a_fault_says_where_what_was_expected_and_what_came() -> None:
    fault = Fault(("a", 0), "integer", '"x"', "write 1")
    assert str(fault) == 'a[0]: expected integer, got "x" (write 1)'
    assert fault.to_json() == {"path": "a[0]", "expected": "integer", "got": '"x"', "hint": "write 1"}
    assert str(Fault((), "an object", "5")) == "the value: expected an object, got 5"
    assert "hint" not in Fault((), "an object", "5").to_json()


def test_a_wrong_configuration_lists_every_fault_and_a_hint() -> None:
    error = ConfigError("wrong", [Fault(("a",), "b", "c"), Fault(("d",), "e", "f")], hint="repair it")
    assert str(error) == "wrong\n  a: expected b, got c\n  d: expected e, got f"
    assert (error.message, error.hint, len(error.faults)) == ("wrong", "repair it", 2)


def test_errors_are_split_by_who_is_at_fault() -> None:
    assert issubclass(ConfigError, PegboardError)
    assert issubclass(ToolDefinitionError, PluginError)
    assert issubclass(PluginError, PegboardError)
    assert not issubclass(ToolError, PegboardError)


def test_a_path_shows_the_beginning_of_a_key_of_any_length() -> None:
    assert format_path(("a", "b" * 1_000_000, 0)) == f"a['{'b' * 80}'][0]"

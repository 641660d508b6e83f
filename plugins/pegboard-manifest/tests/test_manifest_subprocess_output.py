from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ErrorCode, ToolError
from pegboard_manifest.bindings.subprocess import output as output_module
from pegboard_manifest.bindings.subprocess.output import is_utf8, read_output


def data_of(parser: str, data: bytes, **more: Any) -> dict[str, Any]:
    return read_output({"output": {"parser": parser, **more}}, data)


@pytest.mark.parametrize(
    ("parser", "data", "expected"),
    [
        ("json", b'{"a": 1}\n', {"a": 1}),
        ("json", b"[1, 2]", {"result": [1, 2]}),
        ("json", b"null", {"result": None}),
        ("json", b'\xef\xbb\xbf"x"', {"result": "x"}),
        ("jsonl", b'{"a": 1}\n\n[2]\r\n', {"result": [{"a": 1}, [2]]}),
        ("jsonl", b"", {"result": []}),
        ("csv", b"a,b\r\n1,2\r\n", {"result": [{"a": "1", "b": "2"}]}),
        ("csv", b'a\n"x\ny"\n', {"result": [{"a": "x\ny"}]}),
        ("csv", b"\xef\xbb\xbfa\n1", {"result": [{"a": "1"}]}),
        ("csv", b"a,b\n1\n\n3,4,5\n", {"result": [{"a": "1"}, {"a": "3", "b": "4", "column_3": "5"}]}),
        ("csv", b"a,,a,a_2\n1,2,3,4\n", {"result": [{"a": "1", "column_2": "2", "a_2": "3", "a_2_2": "4"}]}),
        ("csv", b"", {"result": []}),
        ("csv", b"a,b\n", {"result": []}),
        ("text", "grüße\n".encode(), {"result": "grüße\n"}),
        ("text", b"a\xffb", {"result": "a\ufffdb"}),
        ("text", b"", {"result": ""}),
    ],
)
def test_output_becomes_an_object(parser: str, data: bytes, expected: dict[str, Any]) -> None:
    assert data_of(parser, data) == expected


def test_a_delimiter_is_the_bindings() -> None:
    assert data_of("csv", b"a\tb\n1,5\t2", delimiter="\t") == {"result": [{"a": "1,5", "b": "2"}]}


@pytest.mark.parametrize(
    ("parser", "data", "says"),
    [
        ("json", b"", "not JSON: it wrote nothing"),
        ("json", b"\n", "not JSON: it wrote nothing"),
        ("json", b"not json", "not valid JSON"),
        ("json", b'{"a": "\xff"}', "not valid UTF-8 at byte 7"),
        ("json", b"NaN", "NaN is not a JSON number"),
        ("json", b"1e999", "too large"),
        ("json", b"[" * 100 + b"]" * 100, "more than 64 levels"),
        ("json", b'{"a": 1} {"b": 2}', "not valid JSON"),
        ("jsonl", b'{"a": 1}\n{"a"\n', "line 2: not valid JSON"),
        ("jsonl", b"1\n\xff\n", "line 2: not valid UTF-8"),
        ("csv", b"a\n\xff\n", "not valid UTF-8 at byte 2"),
        ("csv", b'a,b\n1,2\n"open', "not CSV: line 3"),
        ("csv", b"a\n" + b"x" * 200_000, "not CSV: line 2: field larger than field limit"),
    ],
)
def test_output_that_is_not_what_the_binding_says_is_the_programs_fault(parser: str, data: bytes, says: str) -> None:
    with pytest.raises(ToolError) as problem:
        data_of(parser, data)

    assert problem.value.code is ErrorCode.UPSTREAM_ERROR
    assert says in problem.value.message
    assert len(problem.value.message) < 300
    assert problem.value.details["executed"] is True


def test_more_than_the_cap_is_refused() -> None:
    with pytest.raises(ToolError, match="more than 3 bytes"):
        data_of("text", b"four", max_bytes=3)


@pytest.mark.parametrize("parser", ["jsonl", "csv"])
def test_lines_are_counted(parser: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_module, "MAX_VALUES", 3)

    with pytest.raises(ToolError, match="more than 3 lines"):
        data_of(parser, b"1\n" * 5)


def test_text_that_has_to_be_replaced_is_seen() -> None:
    assert is_utf8("ä".encode())
    assert not is_utf8(b"\xe4")


@given(
    st.sampled_from(["json", "jsonl", "csv", "text"]),
    st.binary(max_size=60) | st.text('a,"\n\r{}[]:1', max_size=40).map(str.encode),
)
@settings(max_examples=400)  # fmt: skip
def test_any_bytes_give_an_object_of_json_or_a_tool_error(parser: str, data: bytes) -> None:
    try:
        value = data_of(parser, data)
    except ToolError as problem:
        value = problem.to_json()

    assert isinstance(value, dict)
    json.dumps(value, allow_nan=False).encode()


CELLS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@given(st.lists(st.tuples(CELLS, CELLS), max_size=5), st.sampled_from([",", ";", "\t"]))
@settings(max_examples=200)
def test_what_was_written_as_csv_is_read_back_exactly(rows: list[tuple[str, str]], delimiter: str) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter).writerows([("a", "b"), *rows])

    assert data_of("csv", text.getvalue().encode(), delimiter=delimiter) == {
        "result": [{"a": one, "b": other} for one, other in rows]
    }

"""Tables: the same in a pipe and on a terminal, on any width."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.cli._table import table, width_of, wrap
from pegboard.cli._terminal import can_show, shown_on

HEADS = ("tool", "category", "state", "from", "description")
ROWS = [
    ("calculator", "math", "ready", "pegboard-calculator", "Evaluate an arithmetic expression exactly"),
    ("add_task", "task", "ready", "pegboard-tasks", "Add a task to the user's list"),
]
cells = st.text(st.sampled_from("ab 宽é-_") | st.characters(codec="utf-8", categories=["L", "N"]), max_size=30).map(
    lambda text: " ".join(text.split())
)


@given(
    st.lists(st.tuples(cells, cells, cells), max_size=4),
    st.lists(st.sampled_from(["tool", "import ms", "passed of all"]), min_size=3, max_size=3),
    st.integers(12, 120),
)
def test_no_line_is_wider_and_no_heading_is_broken(rows, heads, columns):
    shown = table(heads, rows, right=(1,), columns=columns)
    assert all(width_of(line) <= columns for line in shown.splitlines())
    if shown.startswith(tuple(head.upper()[:2] for head in heads)) and "  " in shown.splitlines()[0]:
        found = shown.upper()
        assert all(word in found for head in heads for word in head.upper().split())


@given(st.lists(st.tuples(cells, cells, cells), max_size=4))
def test_a_terminal_that_is_wide_enough_gets_what_a_pipe_gets(rows):
    heads = ("one", "two words", "three")
    piped = table(heads, rows, right=(1,))
    assert table(heads, rows, right=(1,), columns=200) == piped
    drawn = table(heads, rows, right=(1,), columns=200, bold=True)
    assert re.sub("\x1b\\[[0-9]m", "", drawn) == piped


@given(st.text(st.sampled_from("ab 宽"), max_size=60), st.integers(2, 30))
def test_wrapping_loses_nothing_but_spaces(text, width):
    lines = wrap(" ".join(text.split()), width)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(width_of(line) <= width for line in lines)


def test_cells_are_wrapped_between_words():
    shown = table(HEADS, ROWS, columns=80)
    assert shown.splitlines() == [
        "TOOL        CATEGORY  STATE  FROM                 DESCRIPTION",
        "calculator  math      ready  pegboard-calculator  Evaluate an arithmetic",
        "                                                  expression exactly",
        "add_task    task      ready  pegboard-tasks       Add a task to the user's list",
    ]


def test_where_the_columns_do_not_fit_each_row_is_a_block():
    assert table(HEADS, ROWS[:1], columns=40).splitlines() == [
        "calculator",
        "  CATEGORY: math",
        "  STATE: ready",
        "  FROM: pegboard-calculator",
        "  DESCRIPTION: Evaluate an arithmetic",
        "  expression exactly",
    ]


@pytest.mark.parametrize(
    ("variables", "encoding", "shown"),
    [
        ({"LANG": "en_US.UTF-8"}, "utf-8", True),
        ({}, "utf-8", True),
        ({"LANG": "C"}, "utf-8", False),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, "utf-8", False),  # Python's own doing
        ({"LC_ALL": "C.UTF-8"}, "utf-8", True),
        ({"LC_ALL": "POSIX", "LANG": "de_DE.UTF-8"}, "utf-8", False),
        ({"LANG": "C", "PYTHONUTF8": "1"}, "utf-8", True),
        ({"LANG": "C", "PYTHONIOENCODING": "utf-8"}, "utf-8", True),
        ({"LANG": "en_US.UTF-8", "PYTHONIOENCODING": "ascii"}, "ascii", False),
    ],
)
def test_signs_are_ascii_where_the_terminal_has_no_utf8(monkeypatch, variables, encoding, shown):
    class Stream:
        pass

    for name in ("LANG", "LC_ALL", "LC_CTYPE", "PYTHONUTF8", "PYTHONIOENCODING"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    stream = Stream()
    stream.encoding = encoding
    assert can_show(stream, "─") is shown
    assert shown_on(stream, "2 »)« …") == ("2 »)« …" if shown else "2 >>)<< ...")

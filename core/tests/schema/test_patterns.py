"""Regular expressions of JSON Schema in Python: the same language, in bounded time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard.schema import kinds
from pegboard.schema.patterns import ForeignPatternError, PatternError, TooLongError, compiled, is_alike, search


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("a$", "a\n", False),
        (r"^\d+$", "٣", False),
        (r"^\D$", "٣", True),
        (r"^\w$", "é", False),
        (r"^\W$", "é", True),
        (r"^[\w-]+$", "a-b_1", True),
        (r"^[^\D]$", "7", True),
        (r"^[\W]$", "_", False),
        (r"\s", "\ufeff", True),
        (r"^\S$", "\x1f", True),
        (r"^[\S]$", "\u3000", False),
        (r"^[\s\S]$", "x", True),
        (r"^.$", "\u2028", False),
        (r"^.$", "\n", False),
        (r"^[.]$", "x", False),
        (r"\bé", "aé", True),
        (r"\$[$]", "$$", True),
        ("x{,3}", "x{,3}", True),
        ("^a{2}$", "aa", True),
        ("^a{2,}$", "a", False),
        ("^a{1,2}?$", "aa", True),
        ("]", "]", True),
        ("[]", "", False),
        ("[^]", "\n", True),
        (r"\/\-", "/-", True),
        (r"^\x41\u0042\u{43}\cJ\0$", "ABC\n\0", True),
        (r"^[\b\t\]\\-]+$", "\b\t]\\-", True),
        (r"^[a\d-]$", "-", True),
        (r"^[\d-x]$", "-", True),
        ("(?<year>[0-9]{4})", "2026", True),
        ("^(?!x)[a-z](?=z)", "az", True),
        ("^(?:a|b|)$", "", True),
        ("^[a-é]$", "\u00e0", True),
        ("(?:^a)?b", "b", True),
        ("^\N{GRINNING FACE}$", "\N{GRINNING FACE}", True),
        ("", "anything", True),
    ],
)
def test_patterns_mean_what_ecmascript_means(pattern, text, found):
    assert search(pattern, text) is found


@pytest.mark.parametrize("pattern", ["(", ")", "a)", "[a", "*", "a|+", "{2}", "[z-a]", "a{3,2}", "\\"])
def test_what_no_dialect_reads_is_an_error(pattern):
    with pytest.raises(PatternError):
        compiled(pattern)
    assert search(pattern, "a") is None


@pytest.mark.parametrize(
    "pattern",
    [
        "^(a+)+$", "(a|a)*$", "(a|ab)*c", "(a*)*", "(a?){40}", "^(.*)(.*)*$", "([a-z]+\\s?)+", "((a|b)+c?)+d",
        "a*a*a*a*a*b", "(a?a?)" * 20 + "a$", r"(a)\1", r"(?<=a)b", r"(?<!a)b", r"\p{L}", "(?i)a", "(?P<x>a)", "a++",
        "a**", "(?=a)*", "a{5000}", r"\xg", r"\ud800", r"\u{110000}", r"\a", "(" * 40 + ")" * 40, "x" * 3_000,
    ],
)  # fmt: skip
def test_what_has_no_exact_or_no_safe_form_is_left_to_others(pattern):
    with pytest.raises(ForeignPatternError):
        compiled(pattern)
    assert search(pattern, "a") is None


@pytest.mark.parametrize(
    ("pattern", "is_bounded"),
    [
        ("^[a-z]+@[a-z]+[.][a-z]{2,}$", False),
        (r"^(\d{1,3}\.){3}\d{1,3}$", False),
        (r"^[\w-]+(\.[\w-]+)*$", False),
        (r"^(0|[1-9]\d*)\.(0|[1-9]\d*)$", False),
        (r"^\S+@\S+\.\S+$", True),
        (r"\d+x", True),
        ("^a*a*b", True),
    ],
)
def test_only_patterns_that_backtrack_over_the_text_bound_its_length(pattern, is_bounded):
    longest = compiled(pattern).longest
    assert (longest is not None) is is_bounded
    if longest is not None:
        assert search(pattern, "a" * longest) is not None
        with pytest.raises(TooLongError):
            search(pattern, "a" * (longest + 1))


PIECES = st.recursive(
    st.sampled_from(["a", "b", "[ab]", "[^a]", ".", "ab", r"\w", r"\d", "^", "$"]),
    lambda inner: (
        st.tuples(inner, inner).map("".join)
        | st.tuples(inner, inner).map(lambda pair: f"({pair[0]}|{pair[1]})")
        | st.tuples(inner, st.sampled_from(["*", "+", "?", "{0,3}", "{1,20}", "*?"])).map(lambda p: f"({p[0]}){p[1]}")
    ),
    max_leaves=8,
)


@settings(max_examples=60)
@given(PIECES)
def test_whatever_is_searched_for_is_found_or_not_in_bounded_time(in_time, pattern):
    try:
        regex, longest = compiled(pattern)
    except ForeignPatternError:
        return
    length = min(longest or 2_000, 2_000)
    with in_time():
        for text in ("a" * (length - 1) + "\0", ("ab" * length)[: length - 1] + "\n"):
            regex.search(text)


ALIKE = st.recursive(
    st.sampled_from(["a", "-", " ", r"\.", r"\u0000", "[a-z]", "[^0-9]", "[+/-]", r"[^\u0000]"]),
    lambda inner: (
        st.tuples(inner, inner).map("".join)
        | inner.map(lambda text: f"({text})")
        | st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})")
        | st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}"])).map(lambda p: f"(?:{p[0]}){p[1]}")
    ),
    max_leaves=6,
)
TEXTS = st.lists(st.text("az09-+/. \0\n\u0661é[]", max_size=8), min_size=1, max_size=5)


@given(ALIKE, st.sampled_from(["", "^"]), st.sampled_from(["", "$"]), TEXTS)
def test_what_is_read_alike_is_the_same_to_python_but_for_the_end(pattern, start, end, texts):
    whole = f"{start}{pattern}{end}"
    if is_alike(whole):
        written = start + pattern + (r"\Z" if end else "")
        for text in texts:
            assert (re.search(written, text) is not None) == search(whole, text)


@pytest.mark.parametrize(
    "pattern", [r"\d", r"\w", r"\s", r"\bx", ".", "[$]", "a$b", "[[a]", "[a--b]", "a*a*b", "(?<=a)b", "(", r"\Z"]
)
def test_what_python_reads_otherwise_is_not_alike(pattern):
    assert not is_alike(pattern)


@pytest.mark.parametrize("name", ["DATE", "DATETIME", "TIME", "DURATION", "UUID_TEXT", "DECIMAL", "BASE64", "PATH"])
def test_the_patterns_of_derived_schemas_are_alike(name):
    assert is_alike(getattr(kinds, name))


def test_a_pattern_that_nearly_is_alike_is_told_in_bounded_time(in_time):
    with in_time():
        assert not is_alike("(?:" * 900 + "#")
        assert not is_alike("[" + "a-z" * 600 + "#")

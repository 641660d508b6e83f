"""Docstrings of three styles give the prose and what each parameter is for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pegboard.schema.docstring import parse

GOOGLE = """Roll dice.

    Fair ones.

    Args:
        sides (int): how many sides,
            six of them mostly.
        *rest: the rest
        without a name
        count: how many
    Keyword Args:
        seed: to begin with

    Returns:
        The eyes.

    Raises:
        ValueError: no.

    Example:
        roll(6)
    """

NUMPY = """Roll dice.

    Fair ones.

    Parameters
    ----------
    sides : int
        how many sides,
        six of them mostly.
    count, seed : int, optional
        shared
    %%%

    Returns
    -------
    int
        The eyes.

    Notes
    -----
    None.
    """

SPHINX = """Roll dice.

    Fair ones.

    :param int sides: how many sides,
        six of them mostly.
    :param count: how many
    :type count: int
    :param: nothing
    :returns: the eyes
    :raises ValueError: no
    :custom: kept
    """


def test_google_sections_are_read() -> None:
    doc = parse(GOOGLE)
    assert doc.prose == "Roll dice.\n\nFair ones.\n\nExample:\n    roll(6)"
    assert doc.parameters == {
        "sides": "how many sides, six of them mostly.",
        "rest": "the rest",
        "count": "how many",
        "seed": "to begin with",
    }


def test_numpy_sections_are_read() -> None:
    doc = parse(NUMPY)
    assert doc.parameters == {"sides": "how many sides, six of them mostly.", "count": "shared", "seed": "shared"}
    assert doc.prose.startswith("Roll dice.\n\nFair ones.")
    assert "The eyes" not in doc.prose


def test_sphinx_fields_are_read() -> None:
    doc = parse(SPHINX)
    assert doc.parameters == {"sides": "how many sides, six of them mostly.", "count": "how many"}
    assert doc.prose == "Roll dice.\n\nFair ones.\n\n:custom: kept"


def test_no_docstring_and_one_line_are_plain() -> None:
    assert parse(None) == ("", {})
    assert parse("  Do it.  ") == ("Do it.", {})


def test_a_sentence_that_ends_in_a_colon_is_prose() -> None:
    assert parse("Do.\n\nThe args:\n    none").prose == "Do.\n\nThe args:\n    none"


@given(st.text(alphabet=st.sampled_from("Args:Returns Parameters-\n :param x: *,()"), max_size=200))
def test_any_text_is_read_without_an_error_and_invents_nothing(text: str) -> None:
    """Whatever a docstring holds, the prose and the descriptions are made of its own words."""
    doc = parse(text)
    words = set(text.split())
    assert set(doc.prose.split()) <= words
    assert all(name and text_ for name, text_ in doc.parameters.items())

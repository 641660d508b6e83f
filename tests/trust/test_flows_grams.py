"""Most values of a call are known not to stand in what was read without a search through it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pegboard import tool
from pegboard.flows.definitions import Definitions
from pegboard.flows.grams import Grams
from pegboard.flows.words import WEAK, Label, chosen


@tool
async def send(to: str) -> str:
    """Send a greeting."""
    return "sent"


TEXTS = st.lists(st.binary(max_size=60) | st.text("abc1", max_size=60).map(str.encode), min_size=1, max_size=4)


@given(TEXTS, st.data())
def test_what_stands_in_a_text_is_never_known_not_to(texts: list[bytes], data: st.DataObject) -> None:
    """Invariant: each part of `WEAK` bytes or more of what was added may be there."""
    grams = Grams(0)
    for text in texts:
        grams.add(text)
    one = data.draw(st.sampled_from(texts))
    start = data.draw(st.integers(0, len(one)))
    part = one[start : data.draw(st.integers(start, len(one)))]
    assert len(part) < WEAK or grams.may_hold(part)


def test_most_of_what_does_not_stand_there_is_known_not_to() -> None:
    grams = Grams(100_000)
    grams.add(b"".join(b"row%dofatable" % row for row in range(5_000)))
    asked = [b"%dcorpexample" % number for number in range(1_000)]
    assert sum(map(grams.may_hold, asked)) < 20


def test_places_are_found_in_definitions_however_many_there_are() -> None:
    """The table grows with them: what was said first is found as what was said last is."""
    definitions, web = Definitions(), Label("web", "web")
    for number in range(3_000):
        definitions.note(web, {"description": f"Row {number} of a table; write to number{number}@example.org"})
    for number in (0, 1, 1_500, 2_999):
        values, keys = chosen({"to": f"number{number}@example.org"}, ("to",))
        assert [one.plain for one in definitions.find([*values, *keys], send, lambda label: 1)], number
    values, _ = chosen({"to": "number3001@example.net"}, ("to",))
    assert not list(definitions.find(values, send, lambda label: 1))

"""Which words of others are more than a name: what a server may be told without a question, and what it may not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard.flows.words import BETWEEN_SPANS, RUN, fold

if TYPE_CHECKING:
    from collections.abc import Callable

    from pegboard.flows.words import Match

WORDS = 4


def is_passage(match: Match, says: Callable[[str], bool]) -> bool:
    """Whether words of a call that stand in what was read are a sentence, or were one before their spaces went.

    Args:
        match: the words.
        says: whether a text was read as it stands: a path or an address that was is a name, however long.
    """
    return any(
        len(fold(text)) >= RUN and (len(text.split()) >= WORDS or not says(text))
        for text in match.plain.split(BETWEEN_SPANS)
    )

"""Which words of others are more than a name: what a server may be told without a question, and what it may not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pegboard.flows.words import BETWEEN_SPANS, RUN, fold

if TYPE_CHECKING:
    from collections.abc import Callable

    from pegboard.flows.words import Match

WORDS = 4
_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]{2}"
)
"""Two letters of a script without spaces between words, which are about a word: of Thai, Lao, Tibetan, Burmese, Khmer,
Japanese and Chinese (UAX 14, classes SA and ID)."""


def is_passage(match: Match, says: Callable[[str], bool]) -> bool:
    """Whether words of a call that stand in what was read are a sentence, or were one before their spaces went.

    Args:
        match: the words.
        says: whether a text was read as it stands: a path or an address that was is a name, however long.
    """
    return any(
        len(fold(text)) >= RUN and (_words_in(text) >= WORDS or not says(text))
        for text in match.plain.split(BETWEEN_SPANS)
    )


def _words_in(text: str) -> int:
    return len(text.split()) + (0 if text.isascii() else len(_UNSPACED.findall(text)))

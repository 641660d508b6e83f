"""A roll's data, from which the tool's output schema is derived.

Apart from the code that makes it, so that listing the tool imports only this. The hints are not texts (there is no
`from __future__ import annotations`): a class of them is made in a tenth of the time, at every start.
"""

from typing import Annotated, Literal, TypedDict


class DieData(TypedDict):
    value: int
    kept: Annotated[bool, "whether it counts"]
    exploded: Annotated[bool, "the next die was thrown on top"]
    rerolled: Annotated[bool, "the next die was thrown instead"]


class TermData(TypedDict):
    notation: str
    sign: Literal[1, -1]
    value: Annotated[int, "what the term adds to the total, its sign included"]
    dice: Annotated[list[DieData], "every throw in its order; empty for a number"]
    cut: Annotated[bool, "whether a die was thrown again as often as one may be"]


class RollData(TypedDict):
    notation: Annotated[str, "what was rolled, in its shortest spelling"]
    total: int
    terms: list[TermData]

"""The tools' data, from which their output schemas are derived, and the bounds of what they take.

Apart from the code that makes it, so that listing the tools imports only this. The hints are not texts (there is no
`from __future__ import annotations`): a class of them is made in a tenth of the time, at every start.
"""

from typing import Annotated, TypedDict

MAX_TEXT = 10_000
"""Characters of one memory."""
MAX_TAGS = 20
MAX_TAG = 50
"""Characters of one tag."""
MAX_LIMIT = 100
MAX_ID = 100


class MemoryData(TypedDict):
    id: Annotated[str, "what forget_memory takes"]
    text: str
    tags: list[str]
    created_at: Annotated[str, "UTC, as 2026-07-06T14:30:00.000Z"]


class HitData(MemoryData):
    score: Annotated[float, "0 to 1, higher is better; to be compared within one search only"]


class FoundData(TypedDict):
    memories: Annotated[list[HitData], "the best first; the newest first where the query was blank"]
    total: Annotated[int, "how many memories the user has, found or not"]

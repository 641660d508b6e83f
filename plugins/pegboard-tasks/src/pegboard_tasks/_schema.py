"""The tools' data, from which their output schemas are derived.

Apart from the code that makes it, so that listing the tools imports only this. The hints are not texts (there is no
`from __future__ import annotations`): a class of them is made in a tenth of the time, at every start.
"""

from typing import Annotated, Literal, NotRequired, TypedDict

from pegboard.schema import Ge

Status = Literal["all", "pending", "completed"]
Ambiguous = Literal["newest", "conflict"]

MAX_TITLE = 500
"""Characters of a title, and of the text that looks for one."""
MAX_PAGE = 500
"""Tasks of one page."""
PAGE_BYTES = 4_000_000
"""Room for the largest page there can be, with every character escaped: once as data, once as text."""

_Moment = Annotated[str, "ISO 8601 in UTC, with Z"]
_Matched = Annotated[int, Ge(1), "how many tasks the identifier matched"]


class Item(TypedDict):
    id: Annotated[str, "a UUID; tasks that were added later have greater ones"]
    title: str
    completed: bool


class Added(Item):
    created_at: _Moment


class Listed(TypedDict):
    tasks: Annotated[list[Item], "the newest first"]
    total: Annotated[int, "all tasks of the user, whatever the filter"]
    pending: int
    completed: int
    next_cursor: NotRequired[Annotated[str, "only where there are more: the cursor of the next page"]]


class Completed(Item):
    completed_at: _Moment
    matched: _Matched


class Deleted(Item):
    matched: _Matched


class Updated(Item):
    previous_title: str
    matched: _Matched

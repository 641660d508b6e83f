"""The tools' data, from which their output schemas are derived.

Apart from the code that makes it, so that listing the tools imports only this. The hints are not texts (there is no
`from __future__ import annotations`): a class of them is made in a tenth of the time, at every start.
"""

from typing import Annotated, Literal, TypedDict

from pegboard.schema import MaxLen, MinLen

Format = Literal["full", "date", "time", "iso"]

Status = Literal["unique", "gap", "fold"]


class MomentData(TypedDict):
    timezone: Annotated[str, "the zone's name in the IANA database"]
    iso: Annotated[str, "ISO 8601 with the offset"]
    date: Annotated[str, "YYYY-MM-DD"]
    time: Annotated[str, "HH:MM:SS, 24 hours"]
    weekday: Annotated[str, "in English"]
    abbreviation: Annotated[str, "as in EDT"]
    utc_offset: Annotated[str, "as in -04:00"]
    dst: Annotated[bool, "whether daylight saving time is in force"]


ReadingData = TypedDict("ReadingData", {"from": MomentData, "to": MomentData, "read_with_utc_offset": str})


class ChangeData(TypedDict):
    before: str
    after: str


ConversionData = TypedDict(  # one of its keys is a keyword of Python
    "ConversionData",
    {
        "status": Annotated[Status, "gap: clocks skip this local time; fold: they show it twice"],
        "from": MomentData,
        "to": MomentData,
        "difference": Annotated[str, "how far `to` is ahead of `from`, as in +13:00"],
        "readings": Annotated[
            list[ReadingData],
            MinLen(1),
            MaxLen(2),
            "the readings of the local time; the first is the one in `from` and `to`",
        ],
        "change": Annotated[ChangeData | None, "the change of the clocks that a gap or a fold comes from"],
    },
)

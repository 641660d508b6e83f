"""Names of time zones: which one a text means, and which ones it may have meant.

Nothing here reads a file; the names come from outside. A name is only ever *matched* against them, never built into a
path: what `ZoneInfo` does with a name of its own choosing (`../../etc/passwd`, `Europe/`, 5,000 letters) is not asked.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_NAME = 64
MAX_SUGGESTIONS = 3

# Abbreviations and cities that people write and the IANA database does not have. An abbreviation may stand for several
# zones; the first is the most populous.
ALSO_KNOWN_AS: dict[str, tuple[str, ...]] = {
    "acst": ("Australia/Darwin", "Australia/Adelaide"),
    "aedt": ("Australia/Sydney", "Australia/Melbourne"),
    "aest": ("Australia/Sydney", "Australia/Brisbane"),
    "akst": ("America/Anchorage",),
    "ast": ("America/Halifax", "America/Puerto_Rico", "Asia/Riyadh"),
    "awst": ("Australia/Perth",),
    "brt": ("America/Sao_Paulo",),
    "bst": ("Europe/London", "Asia/Dhaka"),
    "cat": ("Africa/Maputo",),
    "cdt": ("America/Chicago", "America/Havana"),
    "cest": ("Europe/Paris", "Europe/Berlin", "CET"),
    "cst": ("America/Chicago", "Asia/Shanghai", "America/Havana"),
    "eat": ("Africa/Nairobi",),
    "edt": ("America/New_York",),
    "eest": ("Europe/Athens", "Europe/Kyiv", "EET"),
    "gst": ("Asia/Dubai",),
    "hkt": ("Asia/Hong_Kong",),
    "ist": ("Asia/Kolkata", "Europe/Dublin", "Asia/Jerusalem"),
    "jst": ("Asia/Tokyo",),
    "kst": ("Asia/Seoul",),
    "mdt": ("America/Denver",),
    "msk": ("Europe/Moscow",),
    "nzdt": ("Pacific/Auckland",),
    "nzst": ("Pacific/Auckland",),
    "pdt": ("America/Los_Angeles",),
    "pht": ("Asia/Manila",),
    "pkt": ("Asia/Karachi",),
    "pst": ("America/Los_Angeles", "Asia/Manila"),
    "sast": ("Africa/Johannesburg",),
    "sgt": ("Asia/Singapore",),
    "wat": ("Africa/Lagos",),
    "west": ("Europe/Lisbon", "WET"),
    "wib": ("Asia/Jakarta",),
    "eastern": ("America/New_York", "US/Eastern"),
    "central": ("America/Chicago", "US/Central"),
    "mountain": ("America/Denver", "US/Mountain"),
    "pacific": ("America/Los_Angeles", "US/Pacific"),
    "atlanta": ("America/New_York",),
    "austin": ("America/Chicago",),
    "bangalore": ("Asia/Kolkata",),
    "barcelona": ("Europe/Madrid",),
    "beijing": ("Asia/Shanghai",),
    "bengaluru": ("Asia/Kolkata",),
    "boston": ("America/New_York",),
    "cape_town": ("Africa/Johannesburg",),
    "dallas": ("America/Chicago",),
    "delhi": ("Asia/Kolkata",),
    "edinburgh": ("Europe/London",),
    "frankfurt": ("Europe/Berlin",),
    "geneva": ("Europe/Zurich",),
    "hamburg": ("Europe/Berlin",),
    "hanoi": ("Asia/Ho_Chi_Minh",),
    "houston": ("America/Chicago",),
    "india": ("Asia/Kolkata",),
    "china": ("Asia/Shanghai",),
    "germany": ("Europe/Berlin",),
    "france": ("Europe/Paris",),
    "spain": ("Europe/Madrid",),
    "italy": ("Europe/Rome",),
    "uk": ("Europe/London",),
    "kyoto": ("Asia/Tokyo",),
    "las_vegas": ("America/Los_Angeles",),
    "lyon": ("Europe/Paris",),
    "miami": ("America/New_York",),
    "milan": ("Europe/Rome",),
    "montreal": ("America/Toronto",),
    "mumbai": ("Asia/Kolkata",),
    "munich": ("Europe/Berlin",),
    "new_delhi": ("Asia/Kolkata",),
    "nyc": ("America/New_York",),
    "osaka": ("Asia/Tokyo",),
    "philadelphia": ("America/New_York",),
    "rio_de_janeiro": ("America/Sao_Paulo",),
    "san_diego": ("America/Los_Angeles",),
    "san_francisco": ("America/Los_Angeles",),
    "seattle": ("America/Los_Angeles",),
    "shenzhen": ("Asia/Shanghai",),
    "washington": ("America/New_York",),
    "wellington": ("Pacific/Auckland",),
}

_OFFSET = re.compile(r"(?:utc|gmt)?(?P<sign>[+-])(?P<hours>[0-9]{1,2})(?::?(?P<minutes>[0-9]{2}))?", re.ASCII)


def fold(name: str) -> str:
    """A name as it is compared: case aside, spaces written as `_`."""
    return "_".join(name.split()).lower()


class ZoneNames:
    """The names that there are, matched without regard to case.

    Args:
        names: names of the IANA database, each as it spells itself.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {fold(name): name for name in sorted(names)}
        self._by_city: dict[str, list[str]] = {}
        for folded, name in self._names.items():
            area, _, city = folded.rpartition("/")
            if area:
                self._by_city.setdefault(city, []).append(name)

    def find(self, text: str) -> str | None:
        """The name that the text spells, or None."""
        return self._names.get(fold(text)) if len(text) <= MAX_NAME else None

    def near(self, text: str) -> list[str]:
        """At most three names that the text may have meant, the likeliest first; none for what is like no name."""
        if len(text) > MAX_NAME:
            return []
        folded = fold(text)
        offset = _OFFSET.fullmatch(folded)
        if offset:
            return self._of_offset(offset)
        found = [name for name in ALSO_KNOWN_AS.get(folded, ()) if fold(name) in self._names]
        city = folded.rpartition("/")[2]
        if not found:
            found = self._by_city.get(city, []) or self._by_city.get(city.partition(",")[0], [])
        if not found:
            keys = difflib.get_close_matches(folded, self._names, MAX_SUGGESTIONS, 0.75)
            cities = difflib.get_close_matches(city, self._by_city, MAX_SUGGESTIONS, 0.75)
            found = [self._names[key] for key in keys] + [name for city in cities for name in self._by_city[city]]
        return list(dict.fromkeys(found))[:MAX_SUGGESTIONS]

    def _of_offset(self, offset: re.Match[str]) -> list[str]:
        """`UTC+2` as `Etc/GMT-2`: POSIX counts hours behind UTC, people count hours ahead."""
        if int(offset["minutes"] or 0):
            return []
        posix_sign = "-" if offset["sign"] == "+" else "+"
        name = self.find(f"Etc/GMT{posix_sign}{int(offset['hours'])}")
        return [name] if name else []

"""Zones by name: the only part that reads files, and each of them once.

The data is the system's where it has some, else that of the `tzdata` package; `zoneinfo` decides. A board lives longer
than an update of the data: a zone that was read stays as it was until the host is started again.
"""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

from pegboard import ErrorCode, ToolError
from pegboard_time._moments import shorten
from pegboard_time._names import ZoneNames, fold

if TYPE_CHECKING:
    from datetime import tzinfo

# Members of the database that are not places: "localtime" is that of the host, "Factory" means that nobody set one.
NO_PLACES = {"localtime", "Factory"}
_ALWAYS = {"utc": ("UTC", UTC), "z": ("UTC", UTC)}


class Zones:
    """Zones that were asked for before, in memory; the rest, on disk.

    `known` never waits. `read` may: it lists the names the first time (3 to 20 ms) and reads one file of some kilobytes
    for each zone that is new (0.1 to 0.7 ms), so it belongs into a thread.
    """

    def __init__(self) -> None:
        self._names: ZoneNames | None = None
        self._known: dict[str, tuple[str, tzinfo]] = dict(_ALWAYS)

    def known(self, text: str) -> tuple[str, tzinfo] | None:
        """The zone's own name and the zone, if it is in memory."""
        return self._known.get(fold(text))

    def read(self, text: str, parameter: str) -> tuple[str, tzinfo]:
        """The zone's own name and the zone.

        Args:
            text: the name as somebody wrote it, in any case.
            parameter: the argument that it came in, for the error.

        Raises:
            ToolError: INVALID_INPUT, no zone has that name; the message holds near ones.
        """
        found = self.known(text)
        if found:
            return found
        import zoneinfo  # it brings sysconfig along

        if self._names is None:
            self._names = ZoneNames(zoneinfo.available_timezones() - NO_PLACES)
        name = self._names.find(text)
        if name is None:
            raise _unknown(text, parameter, self._names.near(text))
        try:
            found = name, zoneinfo.ZoneInfo(name)
        except Exception:  # noqa: BLE001 - a damaged file raises whatever its parser trips over, with the file's path
            message = f"the zone data for {name} on this host cannot be read"
            raise ToolError(ErrorCode.INTERNAL_ERROR, message, parameter=parameter) from None
        self._known[fold(name)] = found
        return found


def _unknown(text: str, parameter: str, near: list[str]) -> ToolError:
    if near:
        hint = f"did you mean {' or '.join(near)}?"
    else:
        hint = "write a name of the IANA database, as in Europe/Paris or America/New_York"
    return ToolError(
        ErrorCode.INVALID_INPUT,
        f"{parameter}: {shorten(text)} is not a time zone; {hint}",
        parameter=parameter,
        suggestions=near,
    )

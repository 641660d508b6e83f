"""The tools: arguments in, a clock and zones around, a result out."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Annotated

from pegboard import Example, Tool, ToolResult, tool
from pegboard_time._schema import ConversionData, Format, MomentData

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import tzinfo

    import trio

    from pegboard_time._zones import Zones

    Find = Callable[..., Awaitable[list[tuple[str, tzinfo]]]]

CATEGORY = "utility"


def system_now() -> datetime:
    """The moment that the host's clock shows, in UTC."""
    return datetime.now(UTC)


def make_tools(now: Callable[[], datetime] = system_now) -> tuple[Tool, ...]:
    """Make `get_time` and `convert_time`.

    Args:
        now: the clock; gives an aware datetime of any zone.

    .. versionadded:: 0.1
    """
    find = _make_find()
    return _make_get_time(now, find), _make_convert_time(now, find)


def _make_find() -> Find:
    """What finds zones by the names of arguments: each with the name of its parameter, for the error."""

    @cache
    def memory() -> Zones:
        from pegboard_time._zones import Zones

        return Zones()

    @cache
    def one_reader() -> trio.CapacityLimiter:
        import trio

        return trio.CapacityLimiter(1)  # of its own: threads of others that hang must not keep this one waiting

    # Neither `inplace` nor a thread for every call: the first use of a zone reads a file and waits, every later one
    # finds it in memory. A hop to a thread costs 70 to 120 us, a look into memory less than 1, so only the first hops.
    async def find(*asked: tuple[str, str]) -> list[tuple[str, tzinfo]]:
        zones = memory()
        known = [zones.known(name) for name, _ in asked]
        found = [zone for zone in known if zone is not None]
        if len(found) == len(asked):
            return found
        import trio

        def read() -> list[tuple[str, tzinfo]]:
            return [zones.read(name, parameter) for name, parameter in asked]

        return await trio.to_thread.run_sync(read, limiter=one_reader())

    return find


def _make_get_time(now: Callable[[], datetime], find: Find) -> Tool:
    @tool(
        title="Current time",
        category=CATEGORY,
        tags=("time", "date", "clock", "read"),
        read_only=True,
        idempotent=True,  # of effects, not of values: asking again does no harm
        open_world=False,
        examples=(Example({}, "now in UTC"), Example({"timezone": "Asia/Tokyo", "format": "iso"}, "now in Japan")),
    )
    async def get_time(
        timezone: str = "UTC",
        format: Format = "full",  # noqa: A002 - callers know it by this name
    ) -> Annotated[ToolResult, MomentData]:
        """Tell the current date and time in a time zone.

        Args:
            timezone: a zone of the IANA database, such as Europe/Paris or America/New_York; case does not matter.
            format: full is "Monday, July 06, 2026 at 02:30 PM UTC", date is "2026-07-06", time is "14:30:00 UTC",
                iso is "2026-07-06T14:30:00+00:00".
        """
        from pegboard_time import _moments as moments

        [(name, zone)] = await find((timezone, "timezone"))
        moment = now().astimezone(zone).replace(microsecond=0)
        return ToolResult.text(moments.FORMATS[format](moment), data=moments.describe(moment, name))

    return get_time


def _make_convert_time(now: Callable[[], datetime], find: Find) -> Tool:
    @tool(
        title="Convert time",
        category=CATEGORY,
        tags=("time", "date", "timezone", "read"),
        read_only=True,
        idempotent=True,
        open_world=False,
        examples=(
            Example(
                {
                    "time": "2:30 pm",
                    "from_timezone": "America/New_York",
                    "to_timezone": "Asia/Tokyo",
                    "date": "2026-07-06",
                },
                "an afternoon in New York, in Japan",
                "Monday, July 06, 2026 at 02:30 PM EDT (America/New_York) "
                "is Tuesday, July 07, 2026 at 03:30 AM JST (Asia/Tokyo), 13 hours ahead.",
            ),
            Example({"time": "09:00", "from_timezone": "Europe/Paris", "to_timezone": "UTC"}, "nine o'clock today"),
        ),
    )
    async def convert_time(
        time: str, from_timezone: str, to_timezone: str, date: str | None = None
    ) -> Annotated[ToolResult, ConversionData]:
        """Convert a local time of one time zone into another, daylight saving included.

        A local time that the clocks of the zone skip or show twice is said to be so, with both readings.

        Args:
            time: a time of day such as 14:30 or 2:30 pm, or a whole 2026-07-06T14:30; an offset behind it, as in
                01:30-05:00, chooses between two readings.
            from_timezone: the zone that the time is of, such as America/New_York.
            to_timezone: the zone that it is wanted in, such as Asia/Tokyo.
            date: the date there, YYYY-MM-DD; without one the date that it now is in from_timezone.
        """
        from pegboard_time import _moments as moments

        written = moments.parse_time(time)
        (from_name, from_zone), (to_name, to_zone) = await find(
            (from_timezone, "from_timezone"), (to_timezone, "to_timezone")
        )
        wall = moments.on_date(written, date, now().astimezone(from_zone).date())
        placed = moments.settle(moments.place(wall, from_zone), wall, written.offset, from_name)
        return ToolResult.text(
            moments.conversion_text(wall, placed, from_name, to_zone, to_name),
            data=moments.conversion_data(placed, from_name, to_zone, to_name),
        )

    return convert_time

"""Moments as words and back: formats, times as people write them, local times that a zone skips or repeats.

Nothing here reads a clock, a file or the locale. A *moment* is an aware datetime whose tzinfo is a zone; a *wall time*
is a naive one, what a clock on the wall of a zone shows. A wall time has two interpretations in PEP 495, `fold=0` and
`fold=1`. Where their offsets agree there is one moment. Where they differ, the wall time lies at a change of the
clocks: it exists twice (a fold: both interpretations show it again) or not at all (a gap: neither does). Then both
readings are kept, and the first is the one that a clock which nobody changed would give: in a gap it lands after the
change, in a fold before it. That is what iCalendar (RFC 5545, 3.3.5) and `Temporal`'s "compatible" choose.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import TYPE_CHECKING, Literal

import attrs

from pegboard import ErrorCode, ToolError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import tzinfo

    from pegboard_time._schema import ConversionData, Format, MomentData, ReadingData

Status = Literal["unique", "gap", "fold"]

# strftime's %A and %B follow the locale of the process; these never do.
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)

MAX_TEXT = 64
FIRST_YEAR, LAST_YEAR = 1000, 9998  # four digits, and no zone's offset leads out of what a datetime holds


# --- moments as words


def full_text(moment: datetime) -> str:
    """`%A, %B %d, %Y at %I:%M %p %Z` in English: `Monday, July 06, 2026 at 02:30 PM EDT`."""
    return f"{day_text(moment)} at {clock_text(moment)}"


def day_text(day: date) -> str:
    """`%A, %B %d, %Y` in English."""
    return f"{WEEKDAYS[day.weekday()]}, {MONTHS[day.month - 1]} {day.day:02d}, {day.year:04d}"


def clock_text(moment: datetime, *, seconds: bool = False) -> str:
    """`%I:%M %p %Z` in English; with its seconds where `seconds` asks for them and there are any."""
    shown = f"{moment.hour % 12 or 12:02d}:{moment.minute:02d}"
    if seconds and moment.second:
        shown += f":{moment.second:02d}"
    return f"{shown} {'AM' if moment.hour < 12 else 'PM'} {moment.tzname()}"


def date_text(moment: datetime) -> str:
    """`%Y-%m-%d`."""
    return moment.date().isoformat()


def time_text(moment: datetime) -> str:
    """`%H:%M:%S %Z`."""
    return f"{moment.hour:02d}:{moment.minute:02d}:{moment.second:02d} {moment.tzname()}"


def iso_text(moment: datetime) -> str:
    """ISO 8601 with the offset, to the second where there is no fraction of one."""
    return moment.isoformat()


FORMATS: dict[Format, Callable[[datetime], str]] = {
    "full": full_text,
    "date": date_text,
    "time": time_text,
    "iso": iso_text,
}


def offset_text(offset: timedelta) -> str:
    """`+05:30`, `-04:00`; seconds where a zone of old had them: `+00:53:28`."""
    seconds = round(offset.total_seconds())
    sign, seconds = ("-", -seconds) if seconds < 0 else ("+", seconds)
    shown = f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}"
    return f"{shown}:{seconds % 60:02d}" if seconds % 60 else shown


def offset_of(moment: datetime) -> timedelta:
    """How far ahead of UTC a moment's clock is."""
    return moment.utcoffset() or timedelta(0)


def describe(moment: datetime, zone_name: str) -> MomentData:
    """A moment for programs."""
    return {
        "timezone": zone_name,
        "iso": iso_text(moment),
        "date": date_text(moment),
        "time": moment.time().isoformat(),
        "weekday": WEEKDAYS[moment.weekday()],
        "abbreviation": moment.tzname() or "",
        "utc_offset": offset_text(offset_of(moment)),
        "dst": bool(moment.dst()),
    }


# --- times as people write them


@attrs.frozen
class Written:
    """What a text says: a time of day, and the date and the offset from UTC if it has them."""

    time: time
    date: date | None = None
    offset: timedelta | None = None


_DATE = r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
_CLOCK = (
    r"(?P<hour>[0-9]{1,2})(?::(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,6})[0-9]*)?)?)?"
    r"(?: ?(?P<half>am|pm|a\.m\.|p\.m\.))?"
)
_FROM_UTC = r"(?P<sign>[+-])(?P<off_h>[0-9]{2})(?::?(?P<off_m>[0-9]{2})(?::(?P<off_s>[0-9]{2}))?)?"
_OFFSET = rf"(?: ?(?P<offset>z|utc|{_FROM_UTC}))?"
_WRITTEN = re.compile(rf"(?:{_DATE}(?:t| +))?{_CLOCK}{_OFFSET}", re.ASCII)
_DAY = re.compile(_DATE, re.ASCII)

HOW_TO_WRITE = "write 14:30, 2:30 pm or 2026-07-06T14:30"


def parse_time(text: str) -> Written:
    """Read `14:30`, `14:30:15`, `2:30 pm`, `2pm`, `2026-07-06T14:30`, each with or without `Z` or `+02:00` behind it.

    Raises:
        ToolError: INVALID_INPUT, the text is not a time; the message shows how to write one.
    """
    match = _WRITTEN.fullmatch(text.strip().lower()) if len(text) <= MAX_TEXT else None
    if match is None or (match["minute"] is None and match["half"] is None):
        raise _invalid("time", f"{shorten(text)} is not a time of day; {HOW_TO_WRITE}")
    hour, minute, second = (int(match[part] or 0) for part in ("hour", "minute", "second"))
    if match["half"]:
        if not 1 <= hour <= 12:
            raise _invalid("time", f"{shorten(text)}: with am or pm the hour is 1 to 12; {HOW_TO_WRITE}")
        hour = hour % 12 + (12 if match["half"].startswith("p") else 0)
    if hour > 23 or minute > 59 or second > 59:
        raise _invalid("time", f"{shorten(text)}: a day ends at 23:59:59; write 24:00 as 00:00 of the next date")
    fraction = int((match["fraction"] or "").ljust(6, "0"))
    day = parse_date(text.strip()[:10], "time") if match["year"] else None
    return Written(time(hour, minute, second, fraction), day, _offset(match, text))


def _offset(match: re.Match[str], text: str) -> timedelta | None:
    if not match["offset"]:
        return None
    if not match["sign"]:
        return timedelta(0)
    hours, minutes, seconds = (int(match[part] or 0) for part in ("off_h", "off_m", "off_s"))
    if hours > 23 or minutes > 59 or seconds > 59:
        raise _invalid("time", f"{shorten(text)}: an offset is at most 23:59, as in +05:30")
    return (1 if match["sign"] == "+" else -1) * timedelta(hours=hours, minutes=minutes, seconds=seconds)


def parse_date(text: str, parameter: str = "date") -> date:
    """Read `2026-07-06`.

    Raises:
        ToolError: INVALID_INPUT, the text is not a date, or none of the years 1000 to 9998.
    """
    match = _DAY.fullmatch(text.strip()) if len(text) <= MAX_TEXT else None
    if match is None:
        raise _invalid(parameter, f"{shorten(text)} is not a date; write YYYY-MM-DD, as in 2026-07-06")
    year, month, day = (int(match[part]) for part in ("year", "month", "day"))
    if not FIRST_YEAR <= year <= LAST_YEAR:
        raise _invalid(parameter, f"{shorten(text)}: years run from {FIRST_YEAR} to {LAST_YEAR}")
    try:
        return date(year, month, day)
    except ValueError:
        raise _invalid(parameter, f"{shorten(text)}: the calendar has no such day") from None


def on_date(written: Written, day: str | None, today: date) -> datetime:
    """The wall time: the written time on the date that the text or `day` gives, else on `today`.

    Raises:
        ToolError: INVALID_INPUT, `day` is not a date, or the text gives another.
    """
    given = None if day is None else parse_date(day)
    if given and written.date and given != written.date:
        raise _invalid("date", f"time says {written.date} and date says {given}; give the date once")
    return datetime.combine(given or written.date or today, written.time)


def shorten(text: str) -> str:
    """A text from outside as it stands in a message: quoted, escaped, at most some 60 characters."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _invalid(parameter: str, message: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_INPUT, message, parameter=parameter)


# --- wall times in a zone


@attrs.frozen
class Reading:
    """One way to read a wall time: the offset it was read with, and the moment that gives."""

    offset: timedelta
    moment: datetime


@attrs.frozen
class Change:
    """A change of a zone's clocks: what they show the moment before would be, and what they show instead."""

    before: datetime
    after: datetime


@attrs.frozen
class Placed:
    """A wall time in a zone: one reading, or two at a change of the clocks, the assumed one first."""

    status: Status
    readings: tuple[Reading, ...]
    change: Change | None = None


def place(wall: datetime, zone: tzinfo) -> Placed:
    """Find the moments that a wall time of a zone stands for."""
    readings = tuple(_read(wall.replace(tzinfo=zone, fold=fold)) for fold in (0, 1))
    first, second = readings
    if first.offset == second.offset:
        return Placed("unique", readings[:1])
    shown_again = first.moment.replace(tzinfo=None) == wall
    return Placed("fold" if shown_again else "gap", readings, _change_between(first, second))


def _read(aware: datetime) -> Reading:
    offset = offset_of(aware)
    moment = aware.astimezone(UTC).astimezone(aware.tzinfo)
    return Reading(offset, moment)


def _change_between(first: Reading, second: Reading) -> Change:
    """The change lies between the two readings; it is found by halving, to the second."""
    zone = first.moment.tzinfo
    # Changes fall on whole seconds, so the one in (low, high] is also in the interval cut down to those.
    low, high = sorted(reading.moment.astimezone(UTC).replace(microsecond=0) for reading in (first, second))
    while high - low > timedelta(seconds=1):
        middle = (low + (high - low) / 2).replace(microsecond=0)
        if offset_of(middle.astimezone(zone)) == first.offset:
            low = middle
        else:
            high = middle
    before = high.astimezone(timezone(first.offset, low.astimezone(zone).tzname() or ""))
    return Change(before, high.astimezone(zone))


def settle(placed: Placed, wall: datetime, offset: timedelta | None, zone_name: str) -> Placed:
    """Keep the reading that a written offset chooses; all of them where none was written.

    Raises:
        ToolError: INVALID_INPUT, no clock of the zone has that offset then.
    """
    if offset is None:
        return placed
    chosen = tuple(reading for reading in placed.readings if reading.offset == offset)
    if chosen:
        return attrs.evolve(placed, readings=chosen)
    expected = " or ".join(offset_text(reading.offset) for reading in placed.readings)
    raise _invalid(
        "time",
        f"clocks of {zone_name} are not at UTC{offset_text(offset)} at {wall.isoformat(' ')} but at UTC{expected}; "
        "leave the offset out, or name the zone that it is from",
    )


# --- what a conversion says


def conversion_text(wall: datetime, placed: Placed, from_name: str, to_zone: tzinfo, to_name: str) -> str:
    """What people read: the moment in both zones; at a change of the clocks what happens there, and both readings."""
    here = placed.readings[0].moment
    there = here.astimezone(to_zone)
    if placed.change is None or (placed.status == "fold" and len(placed.readings) == 1):
        ahead = _ahead_text(offset_of(there) - offset_of(here))
        return f"{_moment_text(here, from_name)} is {_moment_text(there, to_name)}, {ahead}."
    lines = [_trouble_text(wall, placed.status, placed.change, from_name)]
    for reading in placed.readings:
        read_here = _moment_text(reading.moment, from_name)
        read_there = _moment_text(reading.moment.astimezone(to_zone), to_name)
        lines.append(f"Read with UTC{offset_text(reading.offset)} it is {read_here}, which is {read_there}.")
    if len(placed.readings) > 1:
        choices = " or ".join(offset_text(reading.offset) for reading in placed.readings)
        lines.append(f"The first is assumed; write the time with {choices} to choose.")
    return "\n".join(lines)


def _trouble_text(wall: datetime, status: Status, change: Change, zone_name: str) -> str:
    verb, way = ("does not exist", "forward") if status == "gap" else ("comes twice", "back")
    before, after = (_change_text(moment, wall) for moment in (change.before, change.after))
    wall_text = clock_text(wall.replace(tzinfo=UTC), seconds=True).removesuffix(" UTC")
    return f"{wall_text} on {day_text(wall)} {verb} in {zone_name}: at {before} clocks go {way} to {after}."


def conversion_data(placed: Placed, from_name: str, to_zone: tzinfo, to_name: str) -> ConversionData:
    """A conversion for programs."""
    readings: list[ReadingData] = [
        {
            "from": describe(reading.moment, from_name),
            "to": describe(reading.moment.astimezone(to_zone), to_name),
            "read_with_utc_offset": offset_text(reading.offset),
        }
        for reading in placed.readings
    ]
    first = placed.readings[0].moment
    change = placed.change
    return {
        "status": placed.status,
        "from": readings[0]["from"],
        "to": readings[0]["to"],
        "difference": offset_text(offset_of(first.astimezone(to_zone)) - offset_of(first)),
        "readings": readings,
        "change": None if change is None else {"before": iso_text(change.before), "after": iso_text(change.after)},
    }


def _moment_text(moment: datetime, zone_name: str) -> str:
    shown = f"{day_text(moment)} at {clock_text(moment, seconds=True)}"
    return shown if moment.tzname() == zone_name else f"{shown} ({zone_name})"


def _change_text(moment: datetime, wall: datetime) -> str:
    shown = clock_text(moment, seconds=True)
    return shown if moment.date() == wall.date() else f"{shown} on {day_text(moment)}"


def _ahead_text(difference: timedelta) -> str:
    seconds = round(abs(difference).total_seconds())
    if not seconds:
        return "the same clock time"
    units = (("hour", seconds // 3600), ("minute", seconds // 60 % 60), ("second", seconds % 60))
    words = " ".join(f"{count} {unit}{'s' if count > 1 else ''}" for unit, count in units if count)
    return f"{words} {'ahead' if difference > timedelta(0) else 'behind'}"

"""Moments as words, times as people write them, and wall times at a change of the clocks."""
# ruff: noqa: DTZ001 - a wall time is naive, that is what it is

from __future__ import annotations

import zoneinfo
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from pegboard import ErrorCode, ToolError
from pegboard_time import _moments as moments
from pegboard_time._moments import Written, on_date, parse_date, parse_time, place

NEW_YORK = ZoneInfo("America/New_York")
TOKYO = ZoneInfo("Asia/Tokyo")

# Zones that change by an hour, half an hour, a day, in winter, often, and never.
ZONES = [
    ZoneInfo(name)
    for name in (
        "America/New_York",
        "Europe/Dublin",
        "Australia/Lord_Howe",
        "Pacific/Apia",
        "Africa/Casablanca",
        "Africa/Monrovia",
        "Asia/Kolkata",
        "America/Sao_Paulo",
        "UTC",
    )
]
zones = st.sampled_from(ZONES)
walls = st.datetimes(datetime(1000, 1, 1), datetime(9998, 12, 31, 23, 59, 59))
near_today = st.datetimes(datetime(1960, 1, 1), datetime(2060, 1, 1))


# --- moments as words


def test_the_formats() -> None:
    moment = datetime(2026, 7, 6, 14, 30, tzinfo=NEW_YORK)
    assert {name: shown(moment) for name, shown in moments.FORMATS.items()} == {
        "full": "Monday, July 06, 2026 at 02:30 PM EDT",
        "date": "2026-07-06",
        "time": "14:30:00 EDT",
        "iso": "2026-07-06T14:30:00-04:00",
    }


@given(walls, zones)
def test_the_formats_are_those_of_strftime_in_the_c_locale(wall: datetime, zone: ZoneInfo) -> None:
    moment = wall.replace(tzinfo=zone)
    assert moments.full_text(moment) == moment.strftime("%A, %B %d, %Y at %I:%M %p %Z")
    assert moments.date_text(moment) == moment.strftime("%Y-%m-%d")
    assert moments.time_text(moment) == moment.strftime("%H:%M:%S %Z")
    assert datetime.fromisoformat(moments.iso_text(moment)) == moment.astimezone(timezone(moments.offset_of(moment)))


def test_no_format_asks_the_locale() -> None:
    class NoStrftime(datetime):
        def strftime(self, format: str) -> str:
            raise AssertionError("strftime reads the locale of the process")

        def __format__(self, spec: str) -> str:
            assert not spec
            return super().__format__(spec)

    moment = NoStrftime(2026, 3, 8, 0, 5, tzinfo=UTC)
    assert moments.full_text(moment) == "Sunday, March 08, 2026 at 12:05 AM UTC"
    assert [shown(moment) for shown in moments.FORMATS.values()][1:3] == ["2026-03-08", "00:05:00 UTC"]


@pytest.mark.parametrize(
    ("offset", "text"),
    [
        (timedelta(hours=5, minutes=30), "+05:30"),
        (timedelta(hours=-4), "-04:00"),
        (timedelta(0), "+00:00"),
        (timedelta(minutes=53, seconds=28), "+00:53:28"),
        (-timedelta(minutes=44, seconds=30), "-00:44:30"),
    ],
)
def test_an_offset_is_written_with_its_sign(offset: timedelta, text: str) -> None:
    assert moments.offset_text(offset) == text
    assert parse_time(f"12:00{text}").offset == offset


# --- times as people write them


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("14:30", Written(time(14, 30))),
        ("4:30", Written(time(4, 30))),
        (" 14:30:15 ", Written(time(14, 30, 15))),
        ("14:30:15.25", Written(time(14, 30, 15, 250_000))),
        ("14:30:15,1234567", Written(time(14, 30, 15, 123_456))),
        ("2:30 pm", Written(time(14, 30))),
        ("2:30PM", Written(time(14, 30))),
        ("2pm", Written(time(14, 0))),
        ("11:59:59 p.m.", Written(time(23, 59, 59))),
        ("12 am", Written(time(0, 0))),
        ("12:15 AM", Written(time(0, 15))),
        ("12 pm", Written(time(12, 0))),
        ("14:30Z", Written(time(14, 30), offset=timedelta(0))),
        ("14:30 UTC", Written(time(14, 30), offset=timedelta(0))),
        ("14:30+05:30", Written(time(14, 30), offset=timedelta(hours=5, minutes=30))),
        ("14:30-0400", Written(time(14, 30), offset=timedelta(hours=-4))),
        ("14:30-04", Written(time(14, 30), offset=timedelta(hours=-4))),
        ("2026-07-06T14:30", Written(time(14, 30), date(2026, 7, 6))),
        ("2026-07-06 2:30 pm", Written(time(14, 30), date(2026, 7, 6))),
        ("2026-07-06t14:30:00z", Written(time(14, 30), date(2026, 7, 6), timedelta(0))),
    ],
)
def test_a_time_is_read(text: str, written: Written) -> None:
    assert parse_time(text) == written


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not a time of day; write 14:30"),
        ("now", "not a time of day"),
        ("14", "not a time of day"),
        ("14:3", "not a time of day"),
        ("٣:30", "not a time of day"),
        ("14:30\x00", "not a time of day"),
        ("14:30 Europe/Paris", "not a time of day"),
        ("2026-07-06", "not a time of day"),
        ("1" * 500, "not a time of day"),
        ("24:00", "00:00 of the next date"),
        ("14:60", "a day ends at 23:59:59"),
        ("23:59:60", "a day ends at 23:59:59"),
        ("13 pm", "the hour is 1 to 12"),
        ("0:30 am", "the hour is 1 to 12"),
        ("14:30+24:00", "an offset is at most 23:59"),
        ("14:30+02:60", "an offset is at most 23:59"),
        ("2026-02-30T10:00", "no such day"),
        ("0999-12-31T10:00", "years run from 1000 to 9998"),
    ],
)
def test_what_is_not_a_time_is_refused_with_how_to_write_one(text: str, says: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_time(text)
    assert caught.value.code is ErrorCode.INVALID_INPUT
    assert says in caught.value.message
    assert len(caught.value.message) < 160
    assert caught.value.details["parameter"] == "time"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("06.07.2026", "write YYYY-MM-DD"),
        ("2026-7-6", "write YYYY-MM-DD"),
        ("tomorrow", "write YYYY-MM-DD"),
        ("2026-02-29", "no such day"),
        ("9999-01-01", "years run from 1000 to 9998"),
        ("9" * 500, "write YYYY-MM-DD"),
    ],
)
def test_what_is_not_a_date_is_refused_with_how_to_write_one(text: str, says: str) -> None:
    with pytest.raises(ToolError, match=says) as caught:
        parse_date(text)
    assert caught.value.details["parameter"] == "date"


@given(
    st.text(max_size=30) | st.text(st.sampled_from("0123456789:-+. TZapm"), max_size=30) | st.from_type(bytes).map(repr)
)
@example("0" * moments.MAX_TEXT)
def test_any_text_is_a_time_or_invalid_input(text: str) -> None:
    written: Written | ToolError
    try:
        written = parse_time(text)
    except ToolError as error:
        written = error
    assert isinstance(written, Written) or written.code is ErrorCode.INVALID_INPUT


@given(walls)
def test_a_time_written_down_is_read_back_as_itself(wall: datetime) -> None:
    assert on_date(parse_time(wall.isoformat()), None, date.min) == wall
    twelve = f"{wall.hour % 12 or 12}:{wall.minute:02d} {'am' if wall.hour < 12 else 'pm'}"
    assert on_date(parse_time(twelve), wall.date().isoformat(), date.min) == wall.replace(second=0, microsecond=0)


def test_the_date_is_the_one_given_else_today() -> None:
    today = date(2026, 1, 1)
    assert on_date(parse_time("10:00"), None, today) == datetime(2026, 1, 1, 10)
    assert on_date(parse_time("10:00"), "2026-02-02", today) == datetime(2026, 2, 2, 10)
    assert on_date(parse_time("2026-02-02T10:00"), "2026-02-02", today) == datetime(2026, 2, 2, 10)
    with pytest.raises(ToolError, match="give the date once"):
        on_date(parse_time("2026-02-02T10:00"), "2026-02-03", today)


# --- wall times in a zone


def shown_at(wall: datetime, zone: ZoneInfo) -> set[datetime]:
    """Every moment of two days around at which a clock of the zone shows `wall`; found by trying the offsets there."""
    hours = range(-48, 49)
    offsets = {(wall.replace(tzinfo=UTC) + timedelta(hours=hour)).astimezone(zone).utcoffset() for hour in hours}
    candidates = {(wall - offset).replace(tzinfo=UTC) for offset in offsets if offset is not None}
    return {moment for moment in candidates if moment.astimezone(zone).replace(tzinfo=None) == wall}


GAP = datetime(2026, 3, 8, 2, 30)
FOLD = datetime(2026, 11, 1, 1, 30)


@given(near_today, zones)
@example(GAP, NEW_YORK)
@example(FOLD, NEW_YORK)
@example(datetime(2011, 12, 30, 12), ZoneInfo("Pacific/Apia"))
@example(datetime(2026, 4, 5, 1, 45), ZoneInfo("Australia/Lord_Howe"))
@example(datetime(1972, 1, 7, 0, 15, 0, 5), ZoneInfo("Africa/Monrovia"))
@example(datetime(2026, 10, 25, 1, 30), ZoneInfo("Europe/Dublin"))
def test_the_readings_are_the_moments_that_show_the_wall_time_or_none_does(wall: datetime, zone: ZoneInfo) -> None:
    placed = place(wall, zone)
    found = [reading.moment.astimezone(UTC) for reading in placed.readings]
    there = shown_at(wall, zone)
    assert len(there) == {"unique": 1, "gap": 0, "fold": 2}[placed.status]
    assert len(found) == (1 if placed.status == "unique" else 2)
    if placed.status != "gap":
        assert found == sorted(there)
    assert all(
        reading.moment.astimezone(UTC).replace(tzinfo=None) == wall - reading.offset for reading in placed.readings
    )


@given(near_today, zones)
def test_a_moment_that_was_is_always_among_the_readings_of_what_its_clock_shows(wall: datetime, zone: ZoneInfo) -> None:
    moment = wall.replace(tzinfo=UTC)
    placed = place(moment.astimezone(zone).replace(tzinfo=None), zone)
    assert placed.status != "gap"
    assert moment in [reading.moment.astimezone(UTC) for reading in placed.readings]


@given(st.sampled_from(ZONES[:5]), st.integers(1960, 2060), st.data())
def test_a_change_of_the_clocks_is_found_to_the_second(zone: ZoneInfo, year: int, data: st.DataObject) -> None:
    days = [datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=day) for day in range(366)]
    changed = [
        day
        for day in days
        if day.astimezone(zone).utcoffset() != (day + timedelta(days=1)).astimezone(zone).utcoffset()
    ]
    assume(changed)
    day = data.draw(st.sampled_from(changed))
    instants = [day + timedelta(minutes=minute) for minute in range(1, 1441)]
    instant = next(at for at in instants if at.astimezone(zone).utcoffset() != day.astimezone(zone).utcoffset())
    before, after = day.astimezone(zone).utcoffset(), instant.astimezone(zone).utcoffset()
    assert before is not None
    assert after is not None
    middle = instant.replace(tzinfo=None) + (before + after) / 2
    placed = place(middle, zone)
    assert placed.status == ("gap" if after > before else "fold")
    assert placed.change is not None
    # By UTC: a time in a fold equals no time of another zone, says PEP 495.
    assert placed.change.before.astimezone(UTC) == placed.change.after.astimezone(UTC) == instant
    assert moments.offset_of(placed.change.before) == before
    assert moments.offset_of(placed.change.after) == after


# --- what a conversion says


def converted(text: str, day: str, here: ZoneInfo = NEW_YORK, there: ZoneInfo = TOKYO) -> tuple[str, dict[str, Any]]:
    written = parse_time(text)
    wall = on_date(written, day, date.min)
    placed = moments.settle(place(wall, here), wall, written.offset, here.key)
    return (
        moments.conversion_text(wall, placed, here.key, there, there.key),
        moments.conversion_data(placed, here.key, there, there.key),
    )


def test_an_ordinary_time_is_converted_in_a_sentence() -> None:
    text, data = converted("2:30 pm", "2026-07-06")
    assert text == (
        "Monday, July 06, 2026 at 02:30 PM EDT (America/New_York) "
        "is Tuesday, July 07, 2026 at 03:30 AM JST (Asia/Tokyo), 13 hours ahead."
    )
    assert data["status"] == "unique"
    assert data["difference"] == "+13:00"
    assert data["change"] is None
    assert data["to"] == {
        "timezone": "Asia/Tokyo",
        "iso": "2026-07-07T03:30:00+09:00",
        "date": "2026-07-07",
        "time": "03:30:00",
        "weekday": "Tuesday",
        "abbreviation": "JST",
        "utc_offset": "+09:00",
        "dst": False,
    }


def test_a_time_that_clocks_skip_is_said_to_be_none_with_both_readings() -> None:
    text, data = converted("02:30", "2026-03-08")
    assert text.splitlines() == [
        "02:30 AM on Sunday, March 08, 2026 does not exist in America/New_York: "
        "at 02:00 AM EST clocks go forward to 03:00 AM EDT.",
        "Read with UTC-05:00 it is Sunday, March 08, 2026 at 03:30 AM EDT (America/New_York), "
        "which is Sunday, March 08, 2026 at 04:30 PM JST (Asia/Tokyo).",
        "Read with UTC-04:00 it is Sunday, March 08, 2026 at 01:30 AM EST (America/New_York), "
        "which is Sunday, March 08, 2026 at 03:30 PM JST (Asia/Tokyo).",
        "The first is assumed; write the time with -05:00 or -04:00 to choose.",
    ]
    assert data["status"] == "gap"
    assert data["change"] == {"before": "2026-03-08T02:00:00-05:00", "after": "2026-03-08T03:00:00-04:00"}
    first, second = data["readings"]
    assert (first["from"], first["to"]) == (data["from"], data["to"])
    assert first["from"]["iso"] == "2026-03-08T03:30:00-04:00"
    assert second["from"]["iso"] == "2026-03-08T01:30:00-05:00"


def test_a_time_that_clocks_show_twice_is_said_to_be_two_with_both_readings() -> None:
    text, data = converted("1:30 am", "2026-11-01")
    assert text.splitlines()[0] == (
        "01:30 AM on Sunday, November 01, 2026 comes twice in America/New_York: "
        "at 02:00 AM EDT clocks go back to 01:00 AM EST."
    )
    assert text.splitlines()[-1] == "The first is assumed; write the time with -04:00 or -05:00 to choose."
    assert data["status"] == "fold"
    first, second = data["readings"]
    assert [first["to"]["iso"], second["to"]["iso"]] == ["2026-11-01T14:30:00+09:00", "2026-11-01T15:30:00+09:00"]
    assert (first["from"]["dst"], second["from"]["dst"]) == (True, False)


def test_an_offset_chooses_between_the_readings_of_a_fold() -> None:
    text, data = converted("01:30-05:00", "2026-11-01")
    assert text.startswith("Sunday, November 01, 2026 at 01:30 AM EST (America/New_York) is ")
    assert text.endswith(", 14 hours ahead.")
    assert data["status"] == "fold"
    assert [reading["to"]["time"] for reading in data["readings"]] == ["15:30:00"]


def test_an_offset_chooses_between_the_readings_of_a_gap() -> None:
    text, data = converted("02:30-04:00", "2026-03-08")
    assert "does not exist" in text
    assert "assumed" not in text
    assert [reading["from"]["time"] for reading in data["readings"]] == ["01:30:00"]


def test_an_offset_that_the_zone_does_not_have_then_is_refused_with_the_one_it_has() -> None:
    with pytest.raises(ToolError, match=r"not at UTC\+02:00 .* but at UTC-04:00; leave the offset out"):
        converted("14:30+02:00", "2026-07-06")
    with pytest.raises(ToolError, match="but at UTC-04:00 or -05:00"):
        converted("01:30+02:00", "2026-11-01")


def test_a_change_over_midnight_names_the_dates() -> None:
    text, _ = converted("12:00", "2011-12-30", ZoneInfo("Pacific/Apia"), ZoneInfo("UTC"))
    assert text.splitlines()[0] == (
        "12:00 PM on Friday, December 30, 2011 does not exist in Pacific/Apia: "
        "at 12:00 AM -10 clocks go forward to 12:00 AM +14 on Saturday, December 31, 2011."
    )
    assert text.splitlines()[1].endswith("which is Friday, December 30, 2011 at 10:00 PM UTC.")


@pytest.mark.parametrize(
    ("text", "here", "there", "says"),
    [
        ("12:00", "Asia/Tokyo", "America/New_York", "13 hours behind."),
        ("12:00", "UTC", "Asia/Kolkata", "5 hours 30 minutes ahead."),
        ("12:00", "UTC", "UTC", "the same clock time."),
        ("12:00:07", "UTC", "Africa/Lagos", "at 01:00:07 PM WAT (Africa/Lagos), 1 hour ahead."),
    ],
)
def test_the_difference_is_put_in_words(text: str, here: str, there: str, says: str) -> None:
    assert converted(text, "2026-07-06", ZoneInfo(here), ZoneInfo(there))[0].endswith(says)


@given(walls, st.sampled_from(sorted(zoneinfo.available_timezones())[::7]), zones)
def test_any_wall_time_of_any_zone_is_converted(wall: datetime, here: str, there: ZoneInfo) -> None:
    text, data = converted(wall.isoformat(), wall.date().isoformat(), ZoneInfo(here), there)
    assert text
    instants = {datetime.fromisoformat(data[end]["iso"]).astimezone(UTC) for end in ("from", "to")}
    assert len(instants) == 1

"""Names of zones: found, or answered with near ones; and their data, wherever it comes from."""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pegboard import ErrorCode, ToolError
from pegboard_time._names import ALSO_KNOWN_AS, MAX_SUGGESTIONS, ZoneNames
from pegboard_time._zones import Zones

NAMES = ZoneNames(zoneinfo.available_timezones())
ZONES = Zones()


@pytest.fixture
def no_system_data() -> Iterator[None]:
    """A system without zone data: only the tzdata package is left."""
    zoneinfo.reset_tzpath(())
    zoneinfo.ZoneInfo.clear_cache()
    yield
    zoneinfo.reset_tzpath()
    zoneinfo.ZoneInfo.clear_cache()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Europe/Paris", "Europe/Paris"),
        ("europe/paris", "Europe/Paris"),
        (" AMERICA/new york ", "America/New_York"),
        ("america/port-au-prince", "America/Port-au-Prince"),
        ("gmt", "GMT"),
        ("Etc/gmt+5", "Etc/GMT+5"),
        ("Paris", None),
        ("", None),
        ("/", None),
        ("Europe/", None),
        ("../../etc/passwd", None),
        ("Europe/Paris\x00", None),
        ("Europe/Paris" + "x" * 5000, None),
    ],
)
def test_a_name_is_matched_and_never_more(text: str, name: str | None) -> None:
    assert NAMES.find(text) == name


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("Tokyo", ["Asia/Tokyo"]),
        ("new york", ["America/New_York"]),
        ("Paris, France", ["Europe/Paris"]),
        ("USA/Chicago", ["America/Chicago"]),
        ("Europe/Pariss", ["Europe/Paris"]),
        ("Asia/Tokio", ["Asia/Tokyo"]),
        ("San Francisco", ["America/Los_Angeles"]),
        ("PST", ["America/Los_Angeles", "Asia/Manila"]),
        ("IST", ["Asia/Kolkata", "Europe/Dublin", "Asia/Jerusalem"]),
        ("UTC+2", ["Etc/GMT-2"]),
        ("gmt-03:00", ["Etc/GMT+3"]),
        ("+1", ["Etc/GMT-1"]),
        ("+05:30", []),
        ("UTC+25", []),
        ("qqqqqq", []),
        ("", []),
        ("x" * 5000, []),
    ],
)
def test_an_unknown_name_is_answered_with_near_ones(text: str, near: list[str]) -> None:
    found = NAMES.near(text)
    assert found[: len(near) or None] == near
    assert len(found) <= MAX_SUGGESTIONS


def test_only_names_that_there_are_are_suggested() -> None:
    few = ZoneNames(["Asia/Tokyo"])
    assert few.near("PST") == []
    assert few.near("jst") == ["Asia/Tokyo"]


def test_what_is_also_known_as_something_is_a_name_of_the_database() -> None:
    named = {name for names in ALSO_KNOWN_AS.values() for name in names}
    assert named <= zoneinfo.available_timezones()
    assert not [alias for alias in ALSO_KNOWN_AS if NAMES.find(alias)]


@given(
    st.text(max_size=30)
    | st.sampled_from(["Europe/Berlin", "US/Eastern", "tokyo"]).flatmap(st.permutations).map("".join)
)
@example("../../../etc/localtime")
@example("localtime")
@example("Factory")
@example("\ud800")
@example("Europe/Paris/../Paris")
def test_any_name_is_a_zone_or_invalid_input_with_names_that_there_are(text: str) -> None:
    answer: tuple[str, object] | ToolError
    try:
        answer = ZONES.read(text, "timezone")
    except ToolError as error:
        answer = error
    if isinstance(answer, ToolError):
        assert answer.code is ErrorCode.INVALID_INPUT
        assert answer.details["parameter"] == "timezone"
        assert all(NAMES.find(name) == name for name in answer.details["suggestions"])
        assert "zoneinfo" not in answer.message
    else:
        assert answer[0].lower() == "_".join(text.split()).lower() or answer[0] == "UTC"


def test_an_unknown_name_says_which_argument_and_what_it_may_have_meant() -> None:
    with pytest.raises(ToolError) as caught:
        Zones().read("Tokyo", "to_timezone")
    assert caught.value.message == "to_timezone: 'Tokyo' is not a time zone; did you mean Asia/Tokyo?"
    with pytest.raises(ToolError, match="write a name of the IANA database, as in Europe/Paris"):
        Zones().read("qqqqqq", "timezone")


def test_where_the_host_stands_is_not_told() -> None:
    with pytest.raises(ToolError, match="not a time zone"):
        Zones().read("localtime", "timezone")


def test_a_zone_is_in_memory_once_it_was_read() -> None:
    zones = Zones()
    assert zones.known("Asia/Tokyo") is None
    read = zones.read("asia/tokyo", "timezone")
    assert zones.known("ASIA/Tokyo") is read
    assert zones.read("Asia/Tokyo", "timezone") is read


def test_utc_needs_no_file() -> None:
    found = Zones().known("utc")
    assert found is not None
    assert found[0] == "UTC"


@pytest.mark.usefixtures("no_system_data")
def test_zones_come_from_the_tzdata_package_where_the_system_has_none() -> None:
    name, zone = Zones().read("america/new york", "timezone")
    assert name == "America/New_York"
    assert datetime(2026, 7, 6, tzinfo=zone).utcoffset() == timedelta(hours=-4)
    with pytest.raises(ToolError, match="did you mean Asia/Tokyo"):
        Zones().read("tokyo", "timezone")


def test_data_that_cannot_be_read_is_an_error_without_its_path(tmp_path: Path) -> None:
    (tmp_path / "Broken").write_bytes(b"TZif2 and nothing more")
    zoneinfo.reset_tzpath((str(tmp_path),))
    try:
        with pytest.raises(ToolError) as caught:
            Zones().read("broken", "timezone")
    finally:
        zoneinfo.reset_tzpath()
    assert caught.value.code is ErrorCode.INTERNAL_ERROR
    assert caught.value.message == "the zone data for Broken on this host cannot be read"
    assert caught.value.__cause__ is None

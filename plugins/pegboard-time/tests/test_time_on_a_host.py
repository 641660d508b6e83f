"""`get_time` and `convert_time` as a caller meets them: through a host."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import zoneinfo
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import pegboard_time.plugin
from pegboard import ErrorCode, open_host, thaw
from pegboard_time.plugin import TimePlugin

NOW = datetime(2026, 7, 6, 23, 30, 5, 999_999, tzinfo=UTC)


@pytest.fixture
async def session() -> AsyncIterator[Any]:
    async with open_host(plugins=[TimePlugin(lambda: NOW)]) as host:
        yield host.session()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "Monday, July 06, 2026 at 11:30 PM UTC"),
        ({"timezone": "Asia/Tokyo"}, "Tuesday, July 07, 2026 at 08:30 AM JST"),
        ({"timezone": "america/new york", "format": "date"}, "2026-07-06"),
        ({"timezone": "Asia/Kolkata", "format": "time"}, "05:00:05 IST"),
        ({"timezone": "Europe/Paris", "format": "iso"}, "2026-07-07T01:30:05+02:00"),
        ({"timezone": "UTC", "format": "full"}, "Monday, July 06, 2026 at 11:30 PM UTC"),
    ],
)
async def test_the_time_is_told_as_asked(session: Any, arguments: dict[str, Any], text: str) -> None:
    assert (await session.call("get_time", arguments)).text == text


async def test_data_tells_the_time_whatever_the_format(session: Any) -> None:
    result = await session.call("get_time", {"timezone": "europe/paris", "format": "date"})
    assert result.data == {
        "timezone": "Europe/Paris",
        "iso": "2026-07-07T01:30:05+02:00",
        "date": "2026-07-07",
        "time": "01:30:05",
        "weekday": "Tuesday",
        "abbreviation": "CEST",
        "utc_offset": "+02:00",
        "dst": True,
    }


async def test_a_conversion_without_a_date_is_of_today_there(session: Any) -> None:
    arguments = {"time": "9:00", "from_timezone": "Asia/Tokyo", "to_timezone": "UTC"}
    result = await session.call("convert_time", arguments)
    assert result.data is not None
    assert result.data["from"]["date"] == "2026-07-07"
    assert result.text == (
        "Tuesday, July 07, 2026 at 09:00 AM JST (Asia/Tokyo) is Tuesday, July 07, 2026 at 12:00 AM UTC, 9 hours behind."
    )


@pytest.mark.parametrize(("day", "status"), [("2026-03-08", "gap"), ("2026-11-01", "fold"), ("2026-07-06", "unique")])
async def test_gaps_and_folds_are_stated(session: Any, day: str, status: str) -> None:
    time = {"gap": "02:30", "fold": "01:30", "unique": "01:30"}[status]
    arguments = {"time": time, "from_timezone": "America/New_York", "to_timezone": "Europe/Paris", "date": day}
    result = await session.call("convert_time", arguments)
    assert result.ok, result.error
    assert result.data is not None
    assert result.data["status"] == status
    assert len(result.data["readings"]) == (1 if status == "unique" else 2)
    assert ("does not exist" in result.text, "comes twice" in result.text) == (status == "gap", status == "fold")


CONVERT = {"time": "10:00", "from_timezone": "UTC", "to_timezone": "UTC"}


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("get_time", {"timezone": "Tokyo"}, "timezone: 'Tokyo' is not a time zone; did you mean Asia/Tokyo?"),
        ("get_time", {"timezone": "../../etc/passwd"}, "not a time zone"),
        ("get_time", {"timezone": "Europe"}, "not a time zone"),
        ("get_time", {"timezone": ""}, "not a time zone"),
        ("get_time", {"timezone": "x" * 5000}, "not a time zone"),
        ("get_time", {"format": "ISO8601"}, "iso"),
        ("get_time", {"timezone": 1}, "string"),
        ("get_time", {"zone": "UTC"}, "zone"),
        ("convert_time", {}, "time"),
        (
            "convert_time",
            CONVERT | {"to_timezone": "PDT"},
            "to_timezone: 'PDT' is not a time zone; did you mean",
        ),
        ("convert_time", CONVERT | {"time": "noon"}, "write 14:30"),
        ("convert_time", CONVERT | {"date": "tomorrow"}, "write YYYY-MM-DD"),
        ("convert_time", CONVERT | {"time": "10:00+01:00"}, "not at UTC+01:00"),
    ],
)
async def test_a_wrong_call_is_answered_with_how_to_repair_it(
    session: Any, name: str, arguments: dict[str, Any], says: str
) -> None:
    result = await session.call(name, arguments)
    assert result.error is not None
    assert result.error.code is ErrorCode.INVALID_INPUT
    assert says in result.error.message
    assert not any(path in result.error.message for path in (*zoneinfo.TZPATH, "site-packages"))


async def test_the_tools_say_what_they_are() -> None:
    async with open_host(plugins=[pegboard_time.plugin]) as host:
        assert set(host.tools) == {"get_time", "convert_time"}
        for tool in host.tools.values():
            assert (tool.category, tool.read_only, tool.annotations.open_world) == ("utility", True, False)
        assert host.tools["get_time"].input_schema["properties"]["format"]["default"] == "full"


async def test_the_module_goes_by_the_clock_of_the_system() -> None:
    async with open_host(plugins=[pegboard_time.plugin]) as host:
        before = datetime.now(UTC).replace(microsecond=0)
        result = await host.session().call("get_time", {"format": "iso"})
    told = datetime.fromisoformat(result.text)
    assert before <= told <= before + timedelta(minutes=1)


async def test_the_examples_are_calls_that_answer_as_they_say() -> None:
    async with open_host(plugins=[pegboard_time.plugin]) as host:
        for tool in host.tools.values():
            assert tool.examples
            for example in tool.examples:
                result = await host.session().call(tool.name, thaw(example.arguments))
                assert result.ok, result.error
                assert example.text in (None, result.text)


async def test_the_readme_shows_what_a_call_answers(session: Any) -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    arguments = {
        "time": "01:30",
        "from_timezone": "America/New_York",
        "to_timezone": "Asia/Tokyo",
        "date": "2026-11-01",
    }
    call = " ".join(f"{name}={value}" for name, value in arguments.items())
    result = await session.call("convert_time", arguments)
    assert textwrap.indent(f"$ pegboard call convert_time {call}\n{result.text}\n", "    ") in readme


CHILD = """
import importlib.resources
import os
import sys
import zoneinfo

import trio

import pegboard_time.plugin
import tzdata
from pegboard import open_host

DATA = (*zoneinfo.TZPATH, os.path.dirname(tzdata.__file__))
seen = []
zone_files = 0
watching = False


def watch(event, arguments):
    global zone_files
    if not watching or not event.startswith(("open", "os.", "socket.", "subprocess.", "shutil.", "ctypes.")):
        return
    if event in ("open", "os.walk", "os.listdir", "os.scandir") and str(arguments[0]).startswith(DATA):
        zone_files += 1
    else:
        seen.append(event)


async def main():
    global watching
    async with open_host(plugins=[pegboard_time.plugin]) as host:
        session = host.session()
        # The host imports and compiles what it needs at the first call, and starts the thread of the first hop.
        convert = {"time": "10:00", "from_timezone": "UTC", "to_timezone": "UTC"}
        for name, arguments in [("get_time", {}), ("convert_time", convert), ("get_time", {"zone": 1})]:
            await session.call(name, arguments)
        await trio.to_thread.run_sync(zoneinfo.available_timezones)
        watching = True
        zones = ["Asia/Tokyo", "europe/paris", "America/Argentina/Ushuaia", "Tokyo", "../../etc/passwd", "localtime"]
        for zone in zones:
            for name, arguments in [
                ("get_time", {"timezone": zone}),
                ("convert_time", {"time": "02:30", "from_timezone": zone, "to_timezone": "America/New_York"}),
                ("convert_time", {"time": "never", "from_timezone": zone, "to_timezone": zone}),
            ]:
                await session.call(name, arguments)
        seen.append("done")
        open(os.devnull).close()


sys.addaudithook(watch)
trio.run(main)
print(zone_files > 0, *seen)
"""


@pytest.mark.parametrize("tzpath", [None, ""], ids=["system data", "tzdata alone"])
def test_a_call_opens_no_socket_or_process_and_no_file_but_zone_data(tzpath: str | None) -> None:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # of tzdata's own modules, at their first import
    if tzpath is not None:
        environment["PYTHONTZPATH"] = tzpath
    child = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, timeout=60, env=environment)
    assert child.returncode == 0, child.stderr
    assert child.stdout.split() == ["True", "done", "open"], "the last one shows that the hook hears"


def test_listing_the_tools_imports_neither_zones_nor_trio() -> None:
    program = (
        "import sys, pegboard_time.plugin as plugin; tools = plugin.provide_tools();"
        "print(len(tools), sorted({'trio', 'zoneinfo', 'pegboard_time._moments'} & set(sys.modules)))"
    )
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert child.stdout.strip() == "2 []", child.stderr

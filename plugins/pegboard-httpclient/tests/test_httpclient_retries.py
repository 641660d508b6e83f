"""When the same request is sent again, and where a redirect leads."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from urllib.parse import urlsplit

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from pegboard_httpclient import Retries, redirect_method, redirect_target, retry_after_of, shown_location


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "2"}, 2),
        ({"retry-after": " 3 "}, 3),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9),
        ({"retry-after": "999999999999"}, 86_400),
        ({"retry-after": "9" * 4_000}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "1e3"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "²"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:10 GMT"}, 8),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:01 GMT"}, 0),
        ({"retry-after": "Sat, 01 Jan 2050 00:00:01 GMT"}, 86_400),
        ({"retry-after": "Wed, 99 Nov 99999 99:99:99 GMT"}, None),
        ({}, None),
    ],
)
def test_a_server_says_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_of(headers, now=lambda: 2.0) == seconds


def test_a_date_is_compared_with_the_clock() -> None:
    now = datetime.now(UTC)
    assert 80 < (retry_after_of({"retry-after": format_datetime(now + timedelta(seconds=90), usegmt=True)}) or 0) <= 91


@given(st.text(max_size=40))
def test_any_header_is_a_time_to_wait_or_nothing(value: str) -> None:
    seconds = retry_after_of({"retry-after": value, "retry-after-ms": value})
    assert seconds is None or 0 <= seconds <= 86_400


async def sent(
    answers: list[float | None], *, tries: int = 3, deadline: float = 1_000, jitter: float = 0
) -> list[float]:
    """The waits between the times that a request was sent; an answer is what it asks to wait, -1 one that is final."""
    times: list[float] = []

    async def once() -> float | None:
        times.append(trio.current_time())
        return answers[len(times) - 1]

    retries = Retries(first_s=0.5, longest_s=8, max_asked_s=60, jitter=lambda: jitter)
    got, attempt = await retries.run(
        once, lambda asked: (asked != -1, asked), tries=tries, deadline=trio.current_time() + deadline
    )
    assert (got, attempt) == (answers[len(times) - 1], len(times))
    return [round(after - before, 3) for before, after in pairwise(times)]


async def test_waits_grow_and_tries_end(autojump_clock: trio.testing.MockClock) -> None:
    assert await sent([None] * 9, tries=8) == [0.5, 1, 2, 4, 8, 8, 8]
    assert await sent([None] * 3, jitter=1) == [0.25, 0.5]
    assert await sent([None], tries=1) == []


async def test_what_is_final_is_not_sent_again(autojump_clock: trio.testing.MockClock) -> None:
    assert await sent([None, -1, None]) == [0.5]


async def test_a_server_is_waited_for_as_long_as_it_asks_and_never_less(autojump_clock: trio.testing.MockClock) -> None:
    assert await sent([7.0, 60.0, None]) == [7, 60]
    assert await sent([7.0, 60.0, None], jitter=1) == [7.125, 60.25]
    assert await sent([60.5]) == []


async def test_a_wait_that_would_reach_the_deadline_is_not_begun(autojump_clock: trio.testing.MockClock) -> None:
    assert await sent([7.0], deadline=7) == []


URL = "https://api.example:8443/a/b?x=1"


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/c", "https://api.example:8443/c"),
        ("c?d=e f", "https://api.example:8443/a/c?d=e%20f"),
        ("https://API.example:8443/c", "https://api.example:8443/c"),
        ("https://api.example:8443", "https://api.example:8443/"),
        ("//api.example:8443/é", "https://api.example:8443/%C3%A9"),
        ("https://api.example/c", None),
        ("http://api.example:8443/c", None),
        ("https://evil.example:8443/c", None),
        ("//evil.example/c", None),
        ("https://ada:key@api.example:8443/c", None),
        ("https://api.example:8443@evil.example/c", None),
        ("/\\evil.example", None),
        ("https://[", None),
        ("https://api.example:99999/", None),
        ("/a\r\nb", None),
        ("/" + "x" * 9_000, None),
        ("", None),
    ],
)
def test_a_redirect_is_followed_on_the_same_origin_alone(location: str, target: str | None) -> None:
    assert redirect_target(URL, location) == target


@pytest.mark.parametrize("url", ["https://api.example/a", "https://api.example:443/a"])
def test_the_port_of_the_scheme_is_the_same_origin(url: str) -> None:
    assert redirect_target(url, "https://api.example:443/b") == url[:-1] + "b"
    assert redirect_target(url, "https://api.example/b#c") == url[:-1] + "b"


@given(st.text(max_size=60) | st.from_regex(r"(https?:)?[/\\]{0,3}[a-z@:.\[\]]{0,12}[/?#\\][^\n]*", fullmatch=True))
def test_no_location_leads_to_another_origin(location: str) -> None:
    target = redirect_target(URL, location)
    if target is not None:
        assert urlsplit(target)[:2] == urlsplit(URL)[:2]
        assert target.isascii()
        assert target.isprintable()


@pytest.mark.parametrize(
    ("status", "method", "following"),
    [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (302, "PUT", "PUT"),
        (303, "PUT", "GET"),
        (303, "HEAD", "HEAD"),
        (307, "POST", "POST"),
        (308, "DELETE", "DELETE"),
    ],
)
def test_the_method_of_the_next_request_is_as_the_status_says(status: int, method: str, following: str) -> None:
    assert redirect_method(method, status) == following


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("https://ada:key@api.example:1/a?key=b#c", "https://api.example:1/a"),
        ("/a?key=b", "/a"),
        ("http://[", ""),
        ("", ""),
    ],
)
def test_a_location_is_shown_without_what_may_be_secret(location: str, shown: str) -> None:
    assert shown_location(location) == shown

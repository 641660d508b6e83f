"""Lists of models: page by page, and no more of them than a list may have."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from pegboard_chat.wire.faults import Place
from pegboard_chat.wire.listing import MAX_PAGES, list_entries
from pegboard_chat.wire.transport import open_transport


async def entries_of(*answers: Any) -> tuple[list[dict[str, Any]], list[str]]:
    """What a server lists that gives these answers, the last of them for ever; and the pages that were asked for."""
    asked: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(parse_qs(urlsplit(str(request.url)).query).get("page", [""])[0])
        return httpx2.Response(200, json=answers[min(len(asked), len(answers)) - 1])

    async with open_transport(http=httpx2.MockTransport(answer)) as transport:
        url = "https://acme.example/models?size=2"
        found = await list_entries(transport, url, Place("acme"), parameter="page", following="next")
    return found, asked


async def test_pages_are_read_until_none_follows() -> None:
    first, second = {"models": [{"name": "a"}, 7], "next": "x&y z"}, {"models": [{"name": "b"}], "next": ""}
    assert await entries_of(first, second) == ([{"name": "a"}, {"name": "b"}], ["", "x&y z"])


async def test_a_list_without_end_ends() -> None:
    found, asked = await entries_of({"models": [{"name": "a"}], "next": "more"})
    assert len(found) == len(asked) == MAX_PAGES


@pytest.mark.parametrize("answer", [[], 7, {}, {"models": 7}, {"models": [], "next": 7}])
async def test_what_is_not_a_list_has_no_entries(answer: Any) -> None:
    assert await entries_of(answer) == ([], [""])

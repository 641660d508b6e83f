"""What tests of the inspector share that need no browser: one as far as its requests go. The root has a real one."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
import trio

from pegboard_inspect import serve_inspector


class Visit:
    """A browser that was let in, as far as its requests go."""

    def __init__(self, client: httpx2.AsyncClient, url: str, base: str, cookie: str) -> None:
        self.client = client
        self.url = url
        self.base = base
        self.headers = {"cookie": cookie, "origin": url, "sec-fetch-site": "same-origin"}

    async def get(self, what: str, **headers: str) -> httpx2.Response:
        return await self.client.get(f"{self.base}api/{what}", headers={**self.headers, **headers})

    async def post(self, what: str, value: Any, **headers: str) -> httpx2.Response:
        return await self.client.post(f"{self.base}api/{what}", json=value, headers={**self.headers, **headers})

    async def call(self, name: str, arguments: Any, answer: Any = None) -> list[dict[str, Any]]:
        """All that a call says; what it asks is answered."""
        return await self.stream("call", {"name": name, "arguments": arguments}, answer)

    async def stream(self, what: str, body: Any, answer: Any = None) -> list[dict[str, Any]]:
        said = []
        address = f"{self.base}api/{what}"
        async with self.client.stream("POST", address, json=body, headers=self.headers) as answered:
            async for line in answered.aiter_lines():
                said.append(json.loads(line))
                if said[-1]["kind"] == "question":
                    given = {"id": said[0]["id"], "key": said[-1]["key"], "answer": answer}
                    assert (await self.post("answer", given)).status_code == 200
        return said


@asynccontextmanager
async def _visiting(host: Any, **options: Any) -> AsyncIterator[Any]:
    told: list[str] = []
    async with trio.open_nursery() as nursery:
        url = await nursery.start(partial(serve_inspector, host, tell=told.append, user_id="ada", **options))
        async with httpx2.AsyncClient(base_url=url, timeout=20, trust_env=False, verify=False) as client:

            async def enter() -> Visit:
                token = told[-1].partition("#token=")[2]
                answer = await client.post("/enter", json={"token": token}, headers={"origin": url})
                assert answer.status_code == 200
                cookie = answer.headers["set-cookie"].partition(";")[0]
                client.cookies.clear()
                return Visit(client, url, answer.json()["base"], cookie)

            yield SimpleNamespace(host=host, url=url, client=client, told=told, enter=enter)
        nursery.cancel_scope.cancel()


@pytest.fixture
def visiting() -> Callable[[Any], Any]:
    """`async with visiting(host, **options) as it:` the inspector of a host, with options of `serve_inspector`: `url`,
    `client`, `told`, and `await it.enter()`, a browser that was let in, as far as its requests go."""
    return _visiting

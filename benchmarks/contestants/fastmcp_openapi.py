"""fastmcp's tools of an OpenAPI document, beside the client that it was given."""

from __future__ import annotations

from contextlib import asynccontextmanager

import httpx2
from fastmcp import FastMCP
from workload import ADD_ARGS

from contestants import Contestant, Path
from contestants._api import api, document_of

RUNNER = "asyncio"


@asynccontextmanager
async def open_contestant():
    with api() as url:
        async with httpx2.AsyncClient(base_url=url, trust_env=False) as client:
            server = FastMCP.from_openapi(document_of(url), client)

            async def bare():
                answer = await client.get("/sum", params=ADD_ARGS)
                assert answer.json()

            async def call():
                result = await server.call_tool("sum", dict(ADD_ARGS))
                assert not getattr(result, "is_error", False)

            yield Contestant(
                calls={
                    Path("httpx2.AsyncClient", "request"): bare,
                    Path("FastMCP.from_openapi", "request"): call,
                }
            )

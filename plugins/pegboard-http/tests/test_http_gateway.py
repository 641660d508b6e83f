"""The gateway over real sockets: what it answers, whom it lets in, and how it ends."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Literal

import httpx2
import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pegboard import CallContext, ConfigError, ErrorCode, Tool, ToolError, tool
from pegboard_http import plugin
from pegboard_http.serving import serve_gateway
from pegboard_http.settings import HttpSettings
from pegboard_http.statuses import STATUS_OF

JSON = {"content-type": "application/json"}


@tool(read_only=True, examples=[{"a": 1, "b": 2}])
def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


@tool
async def fail(code: str, after: Literal["soon", "never", "before"] = "soon") -> str:
    """Answer with an error of this code."""
    after_s = {"soon": 1.2, "never": 10**400, "before": -(10**400)}[after]
    raise ToolError(code, "as was asked for", retry_after_s=after_s)


@tool
async def whoami(context: CallContext) -> str:
    """Say who calls."""
    return f"{context.session.user_id} on {context.session.channel}"


@tool(requires_confirmation=True)
async def launch() -> str:
    """Do what somebody has to confirm."""
    return "launched"


class Waiting:
    """A tool that waits until it is let go."""

    def __init__(self) -> None:
        self.begun = trio.Event()
        self.free = trio.Event()
        self.cancelled = trio.Event()

    def tool(self) -> Tool:
        @tool(name="wait_here", timeout_s=60)
        async def wait_here() -> str:
            """Wait."""
            self.begun.set()
            try:
                await self.free.wait()
            except trio.Cancelled:
                self.cancelled.set()
                raise
            return "done"

        return wait_here


@asynccontextmanager
async def gateway(
    host_with: Any, *tools: Tool, bind: str = "127.0.0.1", hurry: trio.Event | None = None, **said: Any
) -> AsyncIterator[tuple[httpx2.AsyncClient, trio.CancelScope]]:
    host = await host_with(plugin)
    for one in tools or (add, fail, whoami, launch):
        host.add(one)
    serve = partial(serve_gateway, host, bind=bind, port=0, user_id=None, settings=HttpSettings(**said), hurry=hurry)
    async with trio.open_nursery() as nursery:
        url = await nursery.start(serve)
        async with httpx2.AsyncClient(base_url=url, timeout=20, trust_env=False, verify=False) as client:
            yield client, nursery.cancel_scope
        nursery.cancel_scope.cancel()


async def test_a_call_is_answered_as_a_line_of_batch(host_with: Any) -> None:
    async with gateway(host_with) as (client, _):
        answer = await client.post("/tools/add", json={"a": 1, "b": 2}, headers={"x-request-id": "mine-1"})
        assert answer.status_code == 200
        body = answer.json()
        assert (body["id"], body["name"], body["ok"], body["data"]) == ("mine-1", "add", True, {"result": 3.0})
        assert body.keys() == {"id", "name", "ok", "content", "data", "error", "duration_ms"}
        assert answer.headers["content-type"] == "application/json"
        drawn = (await client.post("/tools/add", json={"a": 1, "b": 2}, headers={"x-request-id": "no good"})).json()
        assert drawn["id"] not in ("", "no good")


@pytest.mark.parametrize(("after", "said"), [("soon", "2"), ("never", "86400"), ("before", "0")])
async def test_whatever_is_said_of_the_next_try_a_header_says_it_in_bounds(
    host_with: Any, after: str, said: str
) -> None:
    async with gateway(host_with) as (client, _):
        answer = await client.post("/tools/fail", json={"code": "RATE_LIMITED", "after": after})
        assert (answer.status_code, answer.headers["retry-after"]) == (429, said)


@pytest.mark.parametrize("code", list(ErrorCode))
async def test_every_error_code_has_its_status(host_with: Any, code: ErrorCode) -> None:
    async with gateway(host_with) as (client, _):
        answer = await client.post("/tools/fail", json={"code": code.value})
        refused = code is ErrorCode.INVALID_INPUT  # by the tool itself: the arguments fit its schema
        assert answer.status_code == (422 if refused else STATUS_OF[code])
        assert answer.json()["error"]["code"] == code.value
        assert answer.headers.get("retry-after") == ("2" if code is ErrorCode.RATE_LIMITED else None)


@pytest.mark.parametrize(
    ("send", "status", "says"),
    [
        (partial(httpx2.Request, "POST", "/tools/add", headers=JSON, content=b'{"a": 1'), 400, "not JSON"),
        (partial(httpx2.Request, "POST", "/tools/add", headers=JSON, content=b""), 400, "not JSON"),
        (partial(httpx2.Request, "POST", "/tools/add", headers=JSON, content=b"[1]"), 400, "JSON object"),
        (partial(httpx2.Request, "POST", "/tools/add", headers=JSON, content=b'{"a": 1, "c": 2}'), 400, "b: expected"),
        (partial(httpx2.Request, "POST", "/tools/add", content=b'{"a": 1, "b": 2}'), 415, "application/json"),
        (partial(httpx2.Request, "POST", "/tools/nope", headers=JSON, content=b"{}"), 404, "no tool 'nope'"),
        (partial(httpx2.Request, "POST", "/tools/a%2Fb", headers=JSON, content=b"{}"), 404, "no tool 'a/b'"),
        (partial(httpx2.Request, "POST", "/tools/launch", headers=JSON, content=b"{}"), 403, "asks a person"),
        (partial(httpx2.Request, "GET", "/tools/add"), 405, "POST /tools/NAME"),
        (partial(httpx2.Request, "GET", "/"), 404, "GET /openapi.json"),
        (partial(httpx2.Request, "GET", "/tools", headers={"host": "evil.example"}), 421, "Host"),
        (partial(httpx2.Request, "GET", "/tools", headers={"origin": "https://evil.example"}), 403, "Origin"),
        (partial(httpx2.Request, "POST", "/tools/add", headers=JSON, content=b" " * 3000), 413, "2048"),
    ],
)
async def test_what_is_refused_says_why_in_the_shape_of_a_result(
    host_with: Any, send: Callable[..., httpx2.Request], status: int, says: str
) -> None:
    async with gateway(host_with, max_body_bytes=2048) as (client, _):
        made = send()
        headers = [(k, v) for k, v in made.headers.items() if k != "host" or v]
        request = client.build_request(made.method, str(made.url), headers=headers, content=made.content)
        answer = await client.send(request)
        assert answer.status_code == status
        body = answer.json()
        assert (body["ok"], body["data"]) == (False, None)
        assert says in body["error"]["message"]
        assert body["content"][0]["text"] == body["error"]["message"]


async def test_a_body_in_pieces_is_bounded_too(host_with: Any) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(5):
            yield b" " * 1000

    async with gateway(host_with, max_body_bytes=2048) as (client, _):
        assert (await client.post("/tools/add", content=pieces(), headers=JSON)).status_code == 413


async def test_tokens_are_users_and_nobody_else_comes_in(host_with: Any) -> None:
    async with gateway(host_with, tokens={"sesame": "ada"}) as (client, _):
        refused = await client.get("/tools")
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        wrong = await client.get("/openapi.json", headers={"authorization": "Bearer sesam"})
        assert wrong.status_code == 401
        assert "sesam" not in wrong.text
        right = await client.post("/tools/whoami", json={}, headers={"authorization": "Bearer sesame"})
        assert right.json()["data"] == {"result": "ada on http"}
        document = (await client.get("/openapi.json", headers={"authorization": "Bearer sesame"})).json()
        assert document["security"] == [{"bearer": []}]


async def test_the_list_is_that_of_the_program(host_with: Any) -> None:
    async with gateway(host_with) as (client, _):
        rows = (await client.get("/tools")).json()
        assert [one["name"] for one in rows] == sorted(one["name"] for one in rows)
        assert next(one for one in rows if one["name"] == "add") == {
            "name": "add",
            "title": None,
            "description": "Add two numbers.",
            "category": "general",
            "tags": [],
            "read_only": True,
            "state": "ready",
            "origin": {"distribution": None, "source": None},
        }


async def test_the_document_follows_the_board(host_with: Any) -> None:
    host = await host_with(plugin)
    host.add(add)
    async with trio.open_nursery() as nursery:
        serve = partial(serve_gateway, host, bind="127.0.0.1", port=0, user_id=None, settings=HttpSettings())
        url = await nursery.start(serve)
        async with httpx2.AsyncClient(base_url=url, trust_env=False, verify=False) as client:
            first = (await client.get("/openapi.json")).json()
            again = (await client.get("/openapi.json")).json()
            host.add(whoami)
            then = (await client.get("/openapi.json")).json()
        nursery.cancel_scope.cancel()
    assert first == again
    assert then["paths"].keys() - first["paths"].keys() == {"/tools/whoami"}


async def test_a_client_that_leaves_cancels_its_call(host_with: Any) -> None:
    waiting = Waiting()
    async with gateway(host_with, waiting.tool()) as (client, _), trio.open_nursery() as nursery:
        nursery.start_soon(partial(client.post, "/tools/wait_here", json={}))
        await waiting.begun.wait()
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True), trio.fail_after(60):
            await waiting.cancelled.wait()


async def test_more_calls_than_are_allowed_are_told_to_come_again(host_with: Any) -> None:
    waiting = Waiting()
    async with gateway(host_with, waiting.tool(), add, max_calls=1) as (client, _), trio.open_nursery() as nursery:
        nursery.start_soon(partial(client.post, "/tools/wait_here", json={}))
        await waiting.begun.wait()
        answer = await client.post("/tools/add", json={"a": 1, "b": 2})
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        waiting.free.set()


async def test_the_end_lets_what_is_in_flight_finish(host_with: Any) -> None:
    waiting, answers = Waiting(), []
    async with gateway(host_with, waiting.tool(), add) as (client, serving), trio.open_nursery() as nursery:

        async def call() -> None:
            with trio.CancelScope(shield=True):
                answers.append(await client.post("/tools/wait_here", json={}))

        nursery.start_soon(call)
        await waiting.begun.wait()
        serving.cancel()
        with trio.CancelScope(shield=True):
            refused = await client.post("/tools/add", json={"a": 1, "b": 2})
            waiting.free.set()
        assert refused.status_code == 503
    assert [one.json()["data"] for one in answers] == [{"result": "done"}]


async def test_an_end_in_a_hurry_answers_that_nobody_knows(host_with: Any, caplog: pytest.LogCaptureFixture) -> None:
    waiting, answers, hurry = Waiting(), [], trio.Event()
    async with gateway(host_with, waiting.tool(), hurry=hurry) as (client, serving), trio.open_nursery() as nursery:

        async def call() -> None:
            with trio.CancelScope(shield=True):
                answers.append(await client.post("/tools/wait_here", json={}))

        nursery.start_soon(call)
        await waiting.begun.wait()
        serving.cancel()
        hurry.set()
    assert [(one.status_code, one.json()["error"]["code"]) for one in answers] == [(500, "OUTCOME_UNKNOWN")]
    assert "1 calls were not done and were cut off at once" in caplog.text


async def test_other_machines_are_let_in_with_tokens_alone(host_with: Any) -> None:
    with pytest.raises(ExceptionGroup) as refused:
        async with gateway(host_with, bind="0.0.0.0"):
            pass
    assert refused.group_contains(ConfigError, match="without a credential", depth=1)


async def test_a_board_that_ends_leaves_no_task_and_no_socket(host_with: Any) -> None:
    before = trio.lowlevel.current_statistics().tasks_living
    async with gateway(host_with) as (client, _):
        url = str(client.base_url)
        await client.get("/tools")
    with pytest.raises(httpx2.ConnectError):
        async with httpx2.AsyncClient(trust_env=False, verify=False) as client:
            await client.get(url)
    # the host that `host_with` opened has two tasks of its own, which end with the test
    assert trio.lowlevel.current_statistics().tasks_living <= before + 3


@given(raw=st.binary(max_size=60))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_body_is_answered_in_the_shape_of_a_result(raw: bytes) -> None:
    """Whatever is sent, the answer is a result with a documented status."""
    from pegboard import open_host
    from pegboard_http.document import ANSWERS

    async def main() -> None:
        async with open_host({}, [plugin]) as host, trio.open_nursery() as nursery:
            host.add(add)
            serve = partial(serve_gateway, host, bind="127.0.0.1", port=0, user_id=None, settings=HttpSettings())
            url = await nursery.start(serve)
            async with httpx2.AsyncClient(base_url=url, trust_env=False, verify=False) as client:
                answer = await client.post("/tools/add", content=raw, headers=JSON)
                assert answer.status_code in ANSWERS
                assert json.loads(answer.content)["ok"] is False
            nursery.cancel_scope.cancel()

    trio.run(main)

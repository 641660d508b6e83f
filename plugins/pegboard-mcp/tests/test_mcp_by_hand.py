"""What a server asks, answered by a person who inspects it: the client's side of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import pytest
import trio
from mcp_types import JSONRPCRequest

from pegboard import ErrorCode, Tool, ToolError
from pegboard_mcp.client.by_hand import ASKS, ByHand
from pegboard_mcp.client.calls import Calls
from pegboard_mcp.client.elicitation import Elicitation
from pegboard_mcp.definitions import ServerDefinition

DEFINITION = ServerDefinition(name="one", transport="stdio", argv=("x",))


def by_hand(ask: Any, definition: ServerDefinition = DEFINITION) -> ByHand:
    elicitation = Elicitation(definition)
    elicitation.by_hand = ask
    return ByHand(elicitation)


def request(method: str = "roots/list", number: Any = "a", **params: Any) -> JSONRPCRequest:
    return JSONRPCRequest(jsonrpc="2.0", id=number, method=method, params=params or None)


async def sent_by(hand: ByHand, *messages: JSONRPCRequest) -> list[Any]:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message.model_dump(by_alias=True, mode="json", exclude_none=True))

    for message in messages:
        await hand.reply(message, send)
    return sent


async def test_the_answer_goes_out_as_it_is_under_the_id_of_the_request() -> None:
    async def ask(request: dict[str, Any], ask_person: Any) -> Mapping[str, Any]:
        assert ask_person is None  # no call is in flight
        if request["method"] == "roots/list":
            return {"error": {"code": 7, "message": "no", "data": [1]}}
        return {"result": {"odd": request["params"]}}

    sent = await sent_by(by_hand(ask), request(), request("sampling/createMessage", 5, x=None))
    assert sent[0] == {"jsonrpc": "2.0", "id": "a", "error": {"code": 7, "message": "no", "data": [1]}}
    assert (sent[1]["id"], "odd" in sent[1]["result"]) == (5, True)


@pytest.mark.parametrize("raises", [True, False])
async def test_a_request_that_nobody_answers_is_answered_for_them(raises: bool) -> None:
    async def ask(request: dict[str, Any], ask_person: Any) -> None:
        if raises:
            raise ToolError(ErrorCode.TIMEOUT, "nobody answered")

    for method in ASKS:
        (sent,) = await sent_by(by_hand(ask), request(method))
        cancels = method == "elicitation/create"
        assert sent.get("result") == ({"action": "cancel"} if cancels else None)
        assert sent.get("error", {}).get("code") == (None if cancels else -1)


async def test_a_request_that_the_server_takes_back_is_not_answered_and_asked_no_more() -> None:
    ended = []

    async def ask(request: dict[str, Any], ask_person: Any) -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.append(request["method"])

    hand = by_hand(ask)
    sent: list[Any] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hand.reply, request(number=3), sent.append)
        await trio.testing.wait_all_tasks_blocked()
        for odd in (None, [], {}, "3", 4):
            hand.take_back(odd)
        await trio.testing.wait_all_tasks_blocked()
        assert ended == []
        hand.take_back(3)
    assert (sent, ended) == ([], ["roots/list"])


async def test_a_person_sees_no_secret_of_the_configuration() -> None:
    seen = []

    async def ask(request: dict[str, Any], ask_person: Any) -> Mapping[str, Any]:
        seen.append(request)
        return {"result": {}}

    definition = attrs.evolve(DEFINITION, secrets=frozenset({"hunter2-and-more"}))
    await sent_by(by_hand(ask, definition), request("elicitation/create", message="it is hunter2-and-more"))
    assert "hunter2" not in str(seen)


def test_more_kinds_of_sampling_are_declared_where_a_person_answers() -> None:
    elicitation = Elicitation(DEFINITION)
    assert "sampling_capabilities" not in elicitation.callbacks()
    elicitation.by_hand = by_hand  # type: ignore[assignment] - whoever it is
    assert elicitation.callbacks()["sampling_capabilities"].tools is not None


async def test_the_time_of_a_prompt_stands_still_while_the_person_is_asked(host_with: Any, autojump_clock: Any) -> None:
    async def slow(asked: Any) -> bool:
        await trio.sleep(100 * DEFINITION.request_s)
        return True

    class Asking(Calls):
        async def _request(self, method: str, params: Any, what: str, *, asker: Any, **_: Any) -> Any:
            return {"agreed": await asker.elicit(Tool(name="one", handler=slow, input_schema={}), "Really?")}

    nothing: Any = None
    calls = Asking(DEFINITION, nothing, nothing, nothing, nothing)
    session = (await host_with()).session("ada", confirm=slow)
    assert await calls._bounded("prompts/get", {}, "x", session) == {"agreed": True}

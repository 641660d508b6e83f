"""What one server asks, answered by a person who inspects it: as it came, past all that a host would answer itself.

A request on the wire is taken before the SDK reads it, so that an invalid one is seen too; what a server of 2026-07-28
asks in its own answer is asked one by one, in the call's own task. Nobody else is asked, and no folder,
model or form of the host has a part in it. A request that the server takes back ends, and so does one that nobody
answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trio
from mcp_types import ErrorData, JSONRPCError, JSONRPCResponse

from pegboard import ToolError
from pegboard_mcp.client._plain import masked
from pegboard_mcp.client.elicitation import REJECTED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcp_types import JSONRPCRequest

    from pegboard_mcp.client.elicitation import Elicitation

ASKS = frozenset({"sampling/createMessage", "elicitation/create", "roots/list"})
"""What a person answers; a ping and what nobody knows, the SDK does."""
NOBODY = "nobody answered in time"


class ByHand:
    """Has a person answer what one server asks, over one connection.

    Args:
        elicitation: of the server; it knows the calls in flight, and whom to ask.
    """

    def __init__(self, elicitation: Elicitation) -> None:
        self._elicitation = elicitation
        self._waiting: dict[Any, trio.CancelScope] = {}

    def takes(self, method: str) -> bool:
        """Whether a person answers that."""
        return method in ASKS

    async def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to one request, `{"result"}` or `{"error"}`.

        Args:
            request: `{"method", "params"}` as it came.
        """
        elicitation = self._elicitation
        assert elicitation.by_hand is not None, "whoever made this has looked"
        call, definition = elicitation.call_here(), elicitation.definition
        shown = masked(dict(request), definition.mask) if definition.secrets else dict(request)
        try:
            answer = await elicitation.by_hand(shown, None if call is None else call.ask_person)
        except ToolError:  # of the session: the time that it gives is over
            answer = None
        if answer is not None:
            return dict(answer)
        if request.get("method") == "elicitation/create":
            return {"result": {"action": "cancel"}}
        return {"error": {"code": REJECTED, "message": NOBODY}}

    async def reply(self, message: JSONRPCRequest, send: Callable[[Any], Awaitable[None]]) -> None:
        """Answer a request that came over the wire, unless the server takes it back."""
        with trio.CancelScope() as scope:
            self._waiting[message.id] = scope
            try:
                answer = await self.answer({"method": message.method, "params": message.params})
            finally:
                self._waiting.pop(message.id, None)
            if (error := answer.get("error")) is not None:
                await send(JSONRPCError(jsonrpc="2.0", id=message.id, error=ErrorData.model_validate(error)))
            else:
                await send(JSONRPCResponse(jsonrpc="2.0", id=message.id, result=answer["result"]))

    def take_back(self, number: Any) -> None:
        """The server said that it waits for this no more."""
        if isinstance(number, (int, str)) and (scope := self._waiting.get(number)) is not None:
            scope.cancel()

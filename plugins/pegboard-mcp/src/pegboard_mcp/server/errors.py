"""Errors of the protocol: what the board's server answers where there is no result to answer with.

All have one shape, whoever says them - a handler, a connection that has too many requests, serving that ends, an
instance that is gone: a number of JSON-RPC, words, and `data` as `{"code": "NOT_FOUND", "details": {...}}`, where
`details` says `retry` as in every other error of the board (`client.rpc.data_of`). Another board reads it back from
there (`client.rpc.parse_error`).
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from pydantic import ValidationError

from pegboard import ErrorCode, Fault, ToolError
from pegboard_mcp.client.rpc import data_of, number_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp.server.context import CallNext, ServerRequestContext
    from pydantic_core import ErrorDetails

    from pegboard.errors import Step

MAX_FAULTS = 10
"""How many faults of params are told of one request."""
EXPECTED = {
    "bool_type": "true or false",
    "dict_type": "object",
    "int_type": "integer",
    "list_type": "array",
    "model_attributes_type": "object",
    "model_type": "object",
    "string_type": "string",
}
"""pydantic's kinds of faults as the board's words for what would have been right; any other is "a valid value"."""
KINDS = {
    type(None): "null",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
}
"""What came instead: its kind alone, since what clients send is not repeated to them."""
BEFORE_HANDSHAKE = "the handshake comes first: send initialize, and then notifications/initialized"


def protocol_error(error: ToolError, number: int | None = None, **beside: Any) -> MCPError:
    """A `ToolError` where the protocol wants a JSON-RPC error.

    Args:
        error: what went wrong.
        number: the one that the protocol has for this place; None: that of the code.
        beside: members that the protocol wants in `data`.
    """
    return MCPError(number_of(error) if number is None else number, error.message, {**data_of(error), **beside})


def error_json(error: ToolError) -> dict[str, Any]:
    """The same as the member `error` of an answer."""
    return {"code": number_of(error), "message": error.message, "data": data_of(error)}


def error_answer(request_id: Any, error: ToolError) -> dict[str, Any]:
    """The same as the whole answer to a request."""
    return {"jsonrpc": "2.0", "id": request_id, "error": error_json(error)}


def invalid_params(message: str, **details: Any) -> MCPError:
    """-32602: INVALID_INPUT."""
    return protocol_error(ToolError(ErrorCode.INVALID_INPUT, message, details))


def not_valid(method: str, problem: ValidationError) -> MCPError:
    """-32602, for params that the SDK's models do not take: where, and what was expected. Of what was sent nothing is
    repeated but the names of its members."""
    return faulty_params(method, dict.fromkeys(map(_fault_of, problem.errors(include_url=False))))


async def say_what_is_wrong(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Any:
    """Middleware, the innermost: params that the SDK does not take are answered with what is wrong with them, which it
    keeps to itself (`handler_exception_to_error_data`)."""
    try:
        return await call_next(ctx)
    except ValidationError as problem:
        raise not_valid(ctx.method, problem) from None
    except MCPError as error:
        if error.error.code == INVALID_PARAMS and error.error.data == "":
            raise invalid_params(BEFORE_HANDSHAKE) from None
        raise


def faulty_params(method: str, faults: Iterable[Fault]) -> MCPError:
    """-32602, with the first of these faults."""
    shown = list(faults)[:MAX_FAULTS]
    said = "; ".join(map(str, shown))
    return invalid_params(f"invalid params of {method[:80]}: {said}", faults=[fault.to_json() for fault in shown])


def fault_at(path: Iterable[Step], expected: str, given: Any) -> Fault:
    """One fault of params, where something else stands than was expected."""
    return Fault(tuple(path), expected, KINDS.get(type(given), "something else"))


def _fault_of(one: ErrorDetails) -> Fault:
    # Models of whole requests have `params` around, and of the two kinds of `ref` the name of each stands in between.
    path = [step for before, step in pairwise(("", *one["loc"])) if before != "ref"]
    path = path[1:] if path[:1] == ["params"] else path
    if one["type"] == "missing":
        return Fault(tuple(path), "a value", "nothing", "it is required")
    expected = EXPECTED.get(one["type"], "a valid value")
    if one["type"] == "literal_error":
        expected = one["ctx"]["expected"]
    return fault_at(path, expected, one["input"])

"""Bytes into JSON-RPC messages, whatever carries them; and what is answered to bytes that are not valid.

-32700 for what is not JSON, or more of it than is read; -32600 for JSON that is not a message. Both under the id of the
message where one can be read, whatever else is wrong with it.
"""

from __future__ import annotations

from typing import Any

from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from pegboard.limits import MESSAGE_LEVELS
from pegboard.schema.envelope import TooLong, members_of
from pegboard.schema.jsontext import JsonTextError, loads
from pegboard_mcp.defaults import MAX_MESSAGE_BYTES


class NoMessageError(ValueError):
    """What came is not a JSON-RPC message: the number and text of the error, and the id where it has one."""

    def __init__(self, number: int, why: str, id: Any = None) -> None:  # noqa: A002 - JSON-RPC's name
        super().__init__(why)
        self.number = number
        self.id = id if isinstance(id, str) or type(id) is int else None

    @property
    def answer(self) -> JSONRPCError:
        """The error that is answered."""
        return JSONRPCError(jsonrpc="2.0", id=self.id, error=ErrorData(code=self.number, message=str(self)))


def value_of(text: str | bytes | bytearray | TooLong, max_bytes: int = MAX_MESSAGE_BYTES) -> Any:
    """The JSON value of one message.

    Raises:
        NoMessageError: it is not valid, or more of it than is read.
    """
    if isinstance(text, TooLong) or len(text) > max_bytes:
        members = text.members if isinstance(text, TooLong) else members_of(text)
        raise NoMessageError(INVALID_REQUEST, f"Invalid request: longer than {max_bytes} bytes", members.get("id"))
    try:
        return loads(text, max_bytes=max_bytes, max_depth=MESSAGE_LEVELS, is_envelope=True)
    except JsonTextError as problem:
        raise NoMessageError(PARSE_ERROR, f"Parse error: {problem}", members_of(text).get("id")) from None


def message_of(text: str | bytes | bytearray | TooLong, max_bytes: int = MAX_MESSAGE_BYTES) -> JSONRPCMessage:
    """One text as a JSON-RPC message.

    Raises:
        NoMessageError: it is not valid.
    """
    return message_in(value_of(text, max_bytes))


def message_in(value: Any) -> JSONRPCMessage:
    """A JSON value as a JSON-RPC message.

    Raises:
        NoMessageError: it is not valid.
    """
    if not isinstance(value, dict):
        raise NoMessageError(INVALID_REQUEST, "Invalid request: a message is one JSON-RPC object")
    given = value.get("id")
    try:
        if "method" in value:
            method, params = value["method"], value.get("params")
            if "id" in value:
                return JSONRPCRequest(jsonrpc=value.get("jsonrpc"), id=given, method=method, params=params)  # type: ignore[arg-type]
            return JSONRPCNotification(jsonrpc=value.get("jsonrpc"), method=method, params=params)  # type: ignore[arg-type]
        if "result" in value:
            return JSONRPCResponse(jsonrpc=value.get("jsonrpc"), id=given, result=value["result"])  # type: ignore[arg-type]
        return JSONRPCError(jsonrpc=value.get("jsonrpc"), id=given, error=value.get("error"))  # type: ignore[arg-type]
    except ValueError:
        raise NoMessageError(INVALID_REQUEST, f"Invalid request: {_fault_of(value)}", given) from None


def _fault_of(value: dict[str, Any]) -> str:
    """What keeps an object from being a JSON-RPC message."""
    if value.get("jsonrpc") != "2.0":
        return 'jsonrpc has to be "2.0"'
    if "id" in value and not isinstance(value["id"], str) and type(value["id"]) is not int:
        return "id has to be a string or an integer"
    if not value.keys() & {"method", "result", "error"}:
        return "a message has a method, a result or an error"
    if "method" in value and not isinstance(value["method"], str):
        return "method has to be a string"
    if "method" in value and not isinstance(value.get("params", {}), dict):
        return "params has to be an object"
    return "no JSON-RPC 2.0 message"

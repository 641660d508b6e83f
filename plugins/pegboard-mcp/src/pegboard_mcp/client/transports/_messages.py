"""One JSON-RPC message out of its JSON. No I/O here.

The JSON is read once and the message is made of it: given to the union of the four kinds as it is, 13 MB of small lists
take twice the time and five times the memory (a resident 1,044 MB against 180 MB, pydantic 2.14). Half a surrogate
pair, which JSON can escape and no text can hold, is replaced: an answer with one in it is an answer.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from mcp_types import jsonrpc_message_adapter
from pydantic_core import from_json

if TYPE_CHECKING:
    from mcp_types import JSONRPCMessage

_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def message_of(said: bytes | str) -> JSONRPCMessage:
    """The message.

    Raises:
        ValueError: it is none.
    """
    try:
        value = from_json(said)
    except ValueError:
        text = said.decode() if isinstance(said, bytes) else said
        if _HALF.search(text) is None:
            raise
        value = from_json(_without_halves(text))
    return jsonrpc_message_adapter.validate_python(value, by_name=False)


def _without_halves(text: str) -> str:
    try:
        whole = json.dumps(json.loads(text), ensure_ascii=False)
    except RecursionError:
        raise ValueError("nested too deep") from None
    return whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

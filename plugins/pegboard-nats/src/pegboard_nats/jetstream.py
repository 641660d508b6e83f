"""Streams of a NATS server (JetStream): requests to `$JS.API.*` that carry JSON, and publishing that is confirmed.

Nothing more than requests is needed. Source: the JetStream API of NATS (ADR-1 and its successors).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from pegboard import PluginError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard_nats.client import Client
    from pegboard_nats.protocol import Message

API_S = 5.0
NEEDED = (2, 12)
"""The version of the server: older ones ignore `Nats-TTL` without a word."""
NO_MESSAGE = 10037
NO_STREAM = 10059
STREAM_EXISTS = 10058
WRONG_SEQUENCE = 10071
"""The newest message of a subject is another one than was expected."""
MAX_SUBJECT_MESSAGES = 10077
"""A subject holds as many messages as it may."""


class JetStreamError(Exception):
    """The server refused; `number` is its `err_code`, or the status of an answer without one."""

    def __init__(self, number: int, description: str) -> None:
        super().__init__(f"{description} ({number})")
        self.number = number
        self.description = description


def require_ttl(client: Client, what: str) -> None:
    """Require that the server forgets messages when their time is over.

    Raises:
        PluginError: it is too old; `what`: what needs that.
        NotConnectedError: there is no link.
    """
    version = client.info.version
    if tuple(int(one) for one in re.findall(r"\d+", version)[:2]) < NEEDED:
        needed = ".".join(map(str, NEEDED))
        raise PluginError(
            f"{what} need nats-server {needed} or newer; this one is {version or 'unknown'}", hint="upgrade the server"
        )


async def api(client: Client, name: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Ask `$JS.API.NAME`.

    Raises:
        JetStreamError: it was refused.
        NoRespondersError: the server has no streams (`nats-server -js`).
        LinkError, trio.TooSlowError: there is no answer.
    """
    payload = json.dumps(body).encode() if body else b""
    return _answer_of(await client.request(f"$JS.API.{name}", payload, timeout_s=API_S))


async def require_stream(client: Client, config: Mapping[str, Any]) -> None:
    """Have a stream of that configuration, made where there is none; one that is another is changed where it can be.

    Raises:
        JetStreamError: it cannot be.
    """
    name = config["name"]
    try:
        await api(client, f"STREAM.CREATE.{name}", config)
    except JetStreamError as problem:
        if problem.number != STREAM_EXISTS:
            raise
        await api(client, f"STREAM.UPDATE.{name}", config)


async def publish(
    client: Client, subject: str, payload: bytes = b"", *, headers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Publish to a stream; its answer says that it is kept: `seq`, and `val` of a counter.

    Raises:
        JetStreamError: it was refused, and is not kept.
        NoRespondersError: no stream listens there.
        LinkError, trio.TooSlowError: there is no answer, and it may be kept.
    """
    return _answer_of(await client.request(subject, payload, headers=headers, timeout_s=API_S))


async def last_of(client: Client, stream: str, subject: str) -> Message | None:
    """The newest message that a stream keeps of a subject; `Nats-Time-Stamp` of its headers says since when."""
    message = await client.request(f"$JS.API.DIRECT.GET.{stream}.{subject}", timeout_s=API_S)
    return None if message.status == 404 else message


async def find_last(client: Client, stream: str, subjects: str) -> Message | None:
    """The same of all subjects that a pattern fits."""
    asked = json.dumps({"last_by_subj": subjects}).encode()
    message = await client.request(f"$JS.API.DIRECT.GET.{stream}", asked, timeout_s=API_S)
    return None if message.status == 404 else message


def _answer_of(message: Message) -> dict[str, Any]:
    try:
        answer = json.loads(message.payload)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise JetStreamError(message.status or 500, "the server's answer is not a JSON object")
    error = answer.get("error")
    if isinstance(error, dict):
        number = error.get("err_code") or error.get("code")
        raise JetStreamError(number if isinstance(number, int) else 500, str(error.get("description", ""))[:200])
    return answer

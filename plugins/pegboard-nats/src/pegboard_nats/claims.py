"""At most once, and what became of it: one record for each call that carries a claim (`claims = true`).

    nothing --a worker takes it--> running --the tool ended--> done, with its result
                                      |---cancelled, or its worker had to end----> cancelled

A call names its claim in `Pb-Claim`. A worker begins it only once the server has kept the record, which it does for
the first alone (`Nats-Expected-Last-Subject-Sequence: 0`): whoever sends a call again, a host or another sender, cannot
have it executed twice. A worker that is killed leaves `running` behind; whether it still lives is asked of itself.

The records are a stream, bounded in age and size. Where it is full nothing can be claimed, and then nothing is done.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

from pegboard import ErrorCode, Retry, ToolError, ToolResult
from pegboard_nats import jetstream, wire
from pegboard_nats.mailbox import NoRespondersError
from pegboard_nats.protocol import LocalProtocolError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard_nats.client import Client

MAX_AGE_S = 3600
"""How long a record is kept, in seconds: so long a call is not executed twice."""
MAX_BYTES = 256 * 1024 * 1024
"""Of all records together, in bytes."""
MAX_KEPT = 32 * 1024
"""A result that is larger is not kept, in bytes: the record says that it was done."""
ALIVE_S = 1.0
"""How long the worker of a call may take to say whether it has it."""
RUNNING, DONE, CANCELLED, LOST = "running", "done", "cancelled", "lost"

_NAME = re.compile(r"[A-Za-z0-9_-]{8,64}")


class ClaimedError(Exception):
    """Somebody took the call before; the argument is the record."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        super().__init__(record.get("state"))
        self.record = record


def is_name(text: str) -> bool:
    """Whether a claim may be called so: 8 to 64 letters, digits, '-' and '_'."""
    return _NAME.fullmatch(text) is not None


def stream_of(prefix: str) -> str:
    """The name of the stream that has the records."""
    return f"{prefix}-calls".replace(".", "_")


class Claims:
    """The records of one system.

    Args:
        client: the link to NATS.
        subjects: of the group whose calls they are: the server keeps workers from what is recorded of another one.
    """

    def __init__(self, client: Client, subjects: wire.Subjects) -> None:
        self._client = client
        self._all = f"{subjects.prefix}-calls"
        self._subjects = f"{self._all}.{subjects.group}"
        self._stream = stream_of(subjects.prefix)

    async def take(self, name: str, told: Mapping[str, str]) -> int:
        """Claim a call, and tell that of it; what is needed to end it.

        Raises:
            ClaimedError: it is claimed already.
            LinkError, JetStreamError, trio.TooSlowError: it could not be claimed, and must not be begun.
        """
        record = {"state": RUNNING, **told}
        try:
            try:
                return await self._write(name, record, 0)
            except NoRespondersError:  # it is the first of all
                await self.require_stream()
                return await self._write(name, record, 0)
        except jetstream.JetStreamError as problem:
            if problem.number != jetstream.WRONG_SEQUENCE:
                raise
            raise ClaimedError(await self.look(name) or record) from None

    async def end(self, name: str, sequence: int, told: Mapping[str, str], result: ToolResult | None) -> None:
        """Note how a call ended; None: it was cancelled, and may have had an effect.

        Raises:
            LinkError, JetStreamError, trio.TooSlowError: it could not be noted.
        """
        record: dict[str, Any] = {"state": CANCELLED if result is None else DONE, **told}
        if result is not None:
            record["result"] = result.to_json()
            if len(wire.to_bytes(record)) > MAX_KEPT:
                record["result"] = None
        await self._write(name, record, sequence)

    async def look(self, name: str) -> dict[str, Any] | None:
        """The record of a call; None: no worker began it, or that is longer ago than records are kept.

        Raises:
            LinkError, trio.TooSlowError: it is not known.
        """
        try:
            found = await jetstream.last_of(self._client, self._stream, f"{self._subjects}.{name}")
        except NoRespondersError:  # there is no stream, since nothing was ever claimed
            return None
        return None if found is None else wire.from_bytes(found.payload)

    async def _write(self, name: str, record: Mapping[str, Any], sequence: int) -> int:
        headers = {"Nats-Expected-Last-Subject-Sequence": str(sequence)}
        subject = f"{self._subjects}.{name}"
        answer = await jetstream.publish(self._client, subject, wire.to_bytes(record), headers=headers)
        return int(answer.get("seq", 0))

    async def require_stream(self) -> None:
        """Have the stream that keeps them; raises as `end`, and `DeniedError`: it is a host's to make."""
        config = {
            "name": self._stream,
            "subjects": [f"{self._all}.>"],
            "max_msgs_per_subject": 1,
            "max_age": MAX_AGE_S * 1_000_000_000,
            "max_bytes": MAX_BYTES,
            "discard": "new",
            "allow_direct": True,
        }
        try:
            await jetstream.api(self._client, f"STREAM.CREATE.{self._stream}", config)
        except jetstream.JetStreamError as problem:
            if problem.number != jetstream.STREAM_EXISTS:  # one that is otherwise is whoever runs the server's business
                raise


async def state_of(client: Client, subjects: wire.Subjects, name: str) -> dict[str, Any] | None:
    """What became of a call: its record, in which `lost` stands for a worker that does not have it any more, and noted
    no end. None as `Claims.look`.

    Raises:
        LinkError, trio.TooSlowError: it is not known.
    """
    claims = Claims(client, subjects)
    record = await claims.look(name)
    if record is None or record.get("state") != RUNNING:
        return record
    where = subjects.of("alive", str(record.get("instance")))
    try:
        answer = (await client.request(where, name.encode(), timeout_s=ALIVE_S)).payload
    except (NoRespondersError, LocalProtocolError):
        answer = b"gone"
    if answer == b"running":
        return record
    again = await claims.look(name)  # it may have ended meanwhile
    return again if again is None or again.get("state") != RUNNING else {**again, "state": LOST}


def digest_of(tool: str, user: str, arguments: bytes) -> str:
    """What tells a call that is sent again from another one of that name."""
    return hashlib.sha256(wire.to_bytes([tool, user]) + arguments).hexdigest()


def result_of(record: Mapping[str, Any]) -> ToolResult | None:
    """The result that a record keeps; None: it keeps none."""
    try:
        return ToolResult.from_json(record["result"]) if record.get("state") == DONE else None
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def answer_of(name: str, record: Mapping[str, Any], digest: str) -> ToolResult:
    """What is answered to a call that was taken before: its result, to nobody who asked for something else."""
    if record.get("digest") != digest:
        text = f"another call has the name {name} already; nothing was done"
        return ToolResult.of_error(ToolError(ErrorCode.CONFLICT, text, executed=False))
    kept = result_of(record)
    return ToolResult.of_error(_refusal(name, record)) if kept is None else kept


def _refusal(name: str, record: Mapping[str, Any]) -> ToolError:
    state = str(record.get("state"))
    details = {"call": name, "state": state}
    if state == DONE:
        text = f"the call {name} was done before, and its result is not kept"
        return ToolError(ErrorCode.CONFLICT, text, details, executed=True, retry=Retry.NEVER.value)
    text = f"the call {name} was taken before, and is {state}; it is not begun again"
    return ToolError(ErrorCode.OUTCOME_UNKNOWN, text, details)

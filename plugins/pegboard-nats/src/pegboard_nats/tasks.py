"""Tasks of MCP clients in a stream of NATS, for all instances of `pegboard serve` that reach it (pegboard-mcp).

    PREFIX-tasks.OWNER.ID       a task; OWNER is a hash of whose it is, so that those of one caller are counted
    PREFIX-task-parts.ID.N      what is too large for one message, in parts, written before the task says how many

Of each subject the newest message is kept, and goes by itself when the task's time is over (`Nats-TTL`). How many tasks
there are is asked before one is made, by each instance for one at a time: so many instances as there are, so many tasks
there may be over the bounds.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from typing import TYPE_CHECKING, Any

import attrs
import trio

from pegboard import PluginError
from pegboard_mcp import TaskRecord
from pegboard_nats import jetstream, wire
from pegboard_nats.calls import ASK_AGAIN_S
from pegboard_nats.link import link_of
from pegboard_nats.mailbox import NoRespondersError

if TYPE_CHECKING:
    from pegboard_nats.client import Client
    from pegboard_nats.settings import NatsSettings

MAX_TASKS, MAX_TASKS_OF_ONE = 1_000, 100
"""Tasks that are kept, ended ones included, and those of one caller; as in the stores of pegboard-mcp."""
MAX_BYTES = 256 * 1024 * 1024
"""Of all parts together, in bytes."""


class NatsTasks:
    """What `provide_task_store` gives, over the link of the host.

    Args:
        settings: of the plugin.
    """

    def __init__(self, settings: NatsSettings) -> None:
        self._settings = settings
        self._subjects, self._parts = f"{settings.prefix}-tasks", f"{settings.prefix}-task-parts"
        self._stream, self._parts_stream = (stream_of(name) for name in (self._subjects, self._parts))
        self._one_is_made = trio.Lock()

    async def put(self, record: TaskRecord) -> bool:
        """Keep a task.

        Raises:
            LinkError, JetStreamError, trio.TooSlowError: it is not kept, or that is not known.
            PluginError: it is too large, or the server is too old.
        """
        client = await self._linked()
        jetstream.require_ttl(client, "tasks")
        id_ = wire.escape(record.id)
        subject = f"{self._subjects}.{_owner(record)}.{id_}"
        if await self._find(client, id_) is not None:
            await self._write(client, record, id_, subject)
            return True
        async with self._one_is_made:
            has_room = await self._has_room(client, _owner(record))
            if has_room:
                await self._write(client, record, id_, subject)
            return has_room

    async def _write(self, client: Client, record: TaskRecord, id_: str, subject: str) -> None:
        headers = {"Nats-TTL": f"{max(1, math.ceil(record.until_s - time.time()) + 1)}s"}
        payload, room = wire.to_bytes(attrs.asdict(record)), client.info.max_payload - wire.HEADROOM
        if len(payload) > room:
            if len(payload) > wire.MAX_RESULT:
                raise PluginError(f"what a task came to takes {len(payload):,} bytes; {wire.MAX_RESULT:,} are kept")
            parts = [payload[at : at + room] for at in range(0, len(payload), room)]
            for number, part in enumerate(parts):
                await jetstream.publish(client, f"{self._parts}.{id_}.{number}", part, headers=headers)
            payload = wire.to_bytes({"id": record.id, "until_s": record.until_s, "parts": len(parts)})
        await jetstream.publish(client, subject, payload, headers=headers)

    async def get(self, id_: str) -> TaskRecord | None:
        """A task.

        Raises:
            LinkError, JetStreamError, trio.TooSlowError: it is not known.
        """
        client = await self._linked()
        found = await self._find(client, wire.escape(id_))
        if found is not None and "parts" in found:
            found = await self._joined(client, wire.escape(id_), found["parts"])
        return TaskRecord(**found) if found is not None and found["until_s"] > time.time() else None

    async def aclose(self) -> None:
        """The link is the host's."""

    async def _linked(self) -> Client:
        """The host's link. It comes a moment after the host itself, whose first task is not lost for that: it is waited
        for as long as a call is asked again."""
        client = link_of(self._settings)
        with trio.move_on_after(ASK_AGAIN_S):
            await client.wait_connected()
        return client

    async def _find(self, client: Client, id_: str) -> dict[str, Any] | None:
        try:
            message = await jetstream.find_last(client, self._stream, f"{self._subjects}.*.{id_}")
        except NoRespondersError:  # it is the first of all
            await self._require_streams(client)
            return None
        return None if message is None else wire.from_bytes(message.payload)

    async def _joined(self, client: Client, id_: str, count: int) -> dict[str, Any] | None:
        """What was too large for one message; None: a part of it is gone."""
        parts = []
        for number in range(count):
            message = await jetstream.last_of(client, self._parts_stream, f"{self._parts}.{id_}.{number}")
            if message is None:
                return None
            parts.append(message.payload)
        found: dict[str, Any] = json.loads(b"".join(parts))
        return found

    async def _has_room(self, client: Client, owner: str) -> bool:
        asked = {"subjects_filter": f"{self._subjects}.{owner}.*"}
        state = (await jetstream.api(client, f"STREAM.INFO.{self._stream}", asked)).get("state", {})
        return state.get("messages", 0) < MAX_TASKS and len(state.get("subjects") or ()) < MAX_TASKS_OF_ONE

    async def _require_streams(self, client: Client) -> None:
        bounds = {"max_msgs_per_subject": 1, "allow_msg_ttl": True, "allow_direct": True, "discard": "new"}
        for subjects, most in ((self._subjects, -1), (self._parts, MAX_BYTES)):
            name = stream_of(subjects)
            config = {"name": name, "subjects": [f"{subjects}.>"], "max_bytes": most, **bounds}
            try:
                await jetstream.api(client, f"STREAM.CREATE.{name}", config)
            except jetstream.JetStreamError as problem:
                # One that is there already and otherwise, as with replicas, is whoever runs the server's business.
                if problem.number != jetstream.STREAM_EXISTS:
                    raise


def stream_of(subjects: str) -> str:
    """The name of the stream that keeps these subjects."""
    return subjects.replace(".", "_")


def _owner(record: TaskRecord) -> str:
    return hashlib.sha256(record.owner.encode("utf-8", "surrogatepass")).hexdigest()[:32]

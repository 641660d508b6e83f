"""What a call of an http tool does, from arguments to result."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import CallContext, ToolError
from pegboard_manifest.bindings import shown
from pegboard_manifest.bindings.http.answer import MAX_BYTES, Reading, read_answer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from contextlib import AbstractContextManager

    import trio

    from pegboard import Host
    from pegboard_manifest.bindings.http.request import Template
    from pegboard_manifest.document import Manifest

MAX_IN_LOOP = {"json": 100_000, "auto": 100_000, "text": 1_000_000, "none": 1_000_000}
"""A longer answer is read in a thread, so that other tasks can run, in bytes; this many take at most some 10 ms,
whatever stands in them. What an answer of `auto` is nobody knows before."""


def handler_of(entry: Mapping[str, Any], manifest: Manifest) -> Callable[..., Awaitable[Any]]:
    """The handler of one tool; what it needs is compiled by its first call, and anew when the base URL changes."""
    binding: Mapping[str, Any] = entry["binding"]
    plan: _Plan | None = None

    async def call(context: CallContext, /, **arguments: Any) -> Any:
        from pegboard_manifest.bindings.http.client import HttpClient

        nonlocal plan
        override = os.environ.get(variable, "") if (variable := _variable_of(binding, manifest)) else ""
        if plan is None or plan.override != override:
            plan = _Plan.of(entry, manifest, override)
        return await plan.call(context, context.resource(HttpClient), arguments)

    call.__name__ = call.__qualname__ = entry["name"]
    return call


def _variable_of(binding: Mapping[str, Any], manifest: Manifest) -> str | None:
    variable: str | None = manifest.document["servers"][binding["server"]].get("base_url_env")
    return variable


@attrs.frozen(eq=False)
class _Plan:
    """A tool's binding, compiled for one base URL."""

    binding: Mapping[str, Any]
    server: Mapping[str, Any]
    template: Template
    reading: Reading
    override: str
    most_in_loop: int
    readers: trio.CapacityLimiter

    @classmethod
    def of(cls, entry: Mapping[str, Any], manifest: Manifest, override: str) -> _Plan:
        import trio

        from pegboard_manifest.bindings.http.auth import variables_of
        from pegboard_manifest.bindings.http.base import base_of
        from pegboard_manifest.bindings.http.request import Template

        binding = entry["binding"]
        server = manifest.document["servers"][binding["server"]]
        template = Template.of(
            binding,
            server,
            base=base_of(server, {server["base_url_env"]: override} if override else None),
            schema=entry["input_schema"],
            defs=manifest.document.get("$defs"),
        )
        reading = Reading(
            method=binding["method"],
            variables=variables_of(server, binding),
            is_idempotent=entry.get("idempotency") == "idempotent",
        )
        most = MAX_IN_LOOP[binding.get("output", {}).get("parser", "auto")]
        return cls(binding, server, template, reading, override, most, trio.CapacityLimiter(2))

    def _observed(self, host: Host, method: str, sent: int) -> AbstractContextManager[dict[str, Any]]:
        """What observers hear of a request: to whom it goes, and nothing of what is asked."""
        base = self.template.base
        told: dict[str, Any] = {"http.request.method": method, "server.address": base.host}
        if base.port is not None:
            told["server.port"] = base.port
        if sent:
            told["http.request.resend_count"] = sent
        return host.span(method, "client", told)

    async def call(self, context: CallContext, client: Any, arguments: Mapping[str, Any]) -> Any:
        from pegboard_manifest.bindings.http.auth import NONE, credentials_of
        from pegboard_manifest.bindings.http.client import RETRIES, Exchange

        request = self.template.fill(arguments)
        credentials, reading, server = NONE, self.reading, self.server
        if server.get("auth"):
            credentials = credentials_of(server, self.template.base, os.environ, self.binding)
            context.hide(*credentials.secrets)
            reading = attrs.evolve(reading, secrets=credentials.secrets, derived=credentials.derived)
        exchange = Exchange(
            request=request,
            base=self.template.base,
            credentials=credentials,
            reading=reading,
            statuses=self.binding.get("statuses"),
            max_bytes=self.binding.get("output", {}).get("max_bytes", MAX_BYTES),
            tries=server.get("retries", RETRIES) + 1 if reading.is_idempotent else 1,
            follows=server.get("redirects", "slash"),
            deadline=context.deadline,
            observed=partial(self._observed, context.session.host),
        )
        received = await client.send(exchange)
        uri = request.url.partition("?")[0]
        read = partial(read_answer, self.binding, received.status, received.headers, received.body, reading, uri)
        if len(received.body) > self.most_in_loop:
            import trio

            value = await trio.to_thread.run_sync(read, abandon_on_cancel=True, limiter=self.readers)
        else:
            value = read()
        if isinstance(value, ToolError):
            raise value
        return shown(value)
